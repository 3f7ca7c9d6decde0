/*
 * UDP. A datagram that has come waits in the queue of its socket, or is dropped where that is full.
 * Where nobody takes it the sender is told, and hears of it with its next call if it is connected.
 * There are no groups: gyre does without.
 *
 * A batch (UDP_SEGMENT) that stays in its host gets to a socket with UDP_GRO as one, as over
 * Linux's loopback, and is cut for any other; one that leaves is cut before, and each datagram has
 * its own way.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/macros.h"
#include "sim/net/socket.h"

enum { DATAGRAM_BYTES_MAX = 65507, OVERHEAD_BYTES = 512, SEGMENTS_MAX = 128 };

struct datagram {
	struct gy_list item;
	struct gy_sim_endpoint from;
	uint32_t segment; /* of a batch; 0: it is one */
	size_t count;
	unsigned char bytes[];
};

struct datagrams {
	struct gy_sim_socket socket;
	struct gy_list queue;
	size_t held; /* what those in the queue take of the buffer */
	bool in_shut;
	bool out_shut;
};

static struct datagrams *datagrams_of(const struct gy_sim_socket *socket)
{
	return (struct datagrams *)(uintptr_t)socket;
}

static struct datagram *first_of(const struct datagrams *datagrams)
{
	return gy_list_empty(&datagrams->queue)
		       ? NULL
		       : gy_container_of(datagrams->queue.next, struct datagram, item);
}

struct gy_sim_socket *gy_sim_datagram_open(struct gy_sim_host *host, int domain)
{
	struct datagrams *datagrams = (struct datagrams *)gy_sim_get(sizeof(*datagrams));

	gy_sim_socket_init(&datagrams->socket, &gy_sim_datagram_ops, host, domain, SOCK_DGRAM);
	gy_list_init(&datagrams->queue);
	return &datagrams->socket;
}

static uint32_t datagram_events(const struct gy_sim_file *file)
{
	const struct datagrams *datagrams =
		gy_container_of(file, const struct datagrams, socket.file);
	uint32_t events = EPOLLOUT;

	events |= gy_list_empty(&datagrams->queue) ? 0U : EPOLLIN;
	events |= datagrams->in_shut ? EPOLLIN | EPOLLRDHUP : 0U;
	events |= datagrams->in_shut && datagrams->out_shut ? EPOLLHUP : 0U;
	return events | (datagrams->socket.error != 0 ? EPOLLERR : 0U);
}

static void drop_first(struct datagrams *datagrams)
{
	struct datagram *datagram = first_of(datagrams);

	datagrams->held -= datagram->count + OVERHEAD_BYTES;
	gy_list_remove(&datagram->item);
	gy_sim_put(datagram);
}

static void datagram_close(struct gy_sim_file *file)
{
	struct datagrams *datagrams = gy_container_of(file, struct datagrams, socket.file);

	while (first_of(datagrams) != NULL) {
		drop_first(datagrams);
	}
	gy_sim_socket_fini(&datagrams->socket);
	gy_sim_put(datagrams);
}

static int datagram_connect(struct gy_sim_socket *socket, const struct sockaddr *to,
			    socklen_t bytes)
{
	int r;

	if (bytes >= sizeof(to->sa_family) && to->sa_family == AF_UNSPEC) {
		socket->connected = false;
		return 0;
	}
	r = gy_sim_ip_set_peer(socket, to, bytes);
	socket->connected = socket->connected || r >= 0;
	return r < 0 ? r : 0;
}

static int datagram_shutdown(struct gy_sim_socket *socket, int how)
{
	struct datagrams *datagrams = datagrams_of(socket);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) {
		return -EINVAL;
	}
	if (!socket->connected) {
		return -ENOTCONN;
	}
	datagrams->in_shut = datagrams->in_shut || how != SHUT_WR;
	datagrams->out_shut = datagrams->out_shut || how != SHUT_RD;
	gy_sim_file_changed(&socket->file, datagram_events(&socket->file));
	return 0;
}

/* ---- sending ---- */

static int target_of(const struct gy_sim_socket *socket, const struct msghdr *message,
		     struct gy_sim_endpoint *ret_to)
{
	int r;

	if (message->msg_name == NULL || message->msg_namelen == 0) {
		*ret_to = socket->peer;
		return socket->connected ? 0 : -EDESTADDRREQ;
	}
	r = gy_sim_endpoint_read(socket, (const struct sockaddr *)message->msg_name,
				 message->msg_namelen, ret_to);
	return r == 0 && ret_to->port == 0 ? -EINVAL : r;
}

/* A part of what a call sends. */
struct part {
	size_t skip;
	size_t count;
	uint32_t segment; /* if it is a batch */
};

static void send_packet(const struct gy_sim_socket *socket, uint32_t host,
			const struct gy_sim_endpoint *to, const struct msghdr *message,
			const struct part *part)
{
	struct gy_sim_packet *packet =
		gy_sim_packet_create(socket->file.host->sim, GY_SIM_DATAGRAM, part->count);

	packet->from = socket->file.host->index;
	packet->to = host;
	packet->source = socket->name;
	packet->target = *to;
	if (gy_sim_is_any(&to->ip)) {
		packet->target.ip = socket->name.ip;
	}
	packet->segment = part->segment;
	(void)gy_sim_gather(message->msg_iov, (uint32_t)message->msg_iovlen, part->skip,
			    packet->bytes, part->count);
	gy_sim_packet_send(packet, NULL);
}

static void send_all(const struct gy_sim_socket *socket, uint32_t host,
		     const struct gy_sim_endpoint *to, const struct msghdr *message,
		     uint32_t segment)
{
	size_t count = gy_sim_slices_bytes(message->msg_iov, (uint32_t)message->msg_iovlen);
	struct part part = { .count = count };

	if (segment == 0 || count <= segment || host == socket->file.host->index) {
		part.segment = count <= segment ? 0 : segment;
		send_packet(socket, host, to, message, &part);
		return;
	}
	for (; part.skip < count; part.skip += segment) {
		part.count = count - part.skip < segment ? count - part.skip : segment;
		send_packet(socket, host, to, message, &part);
	}
}

/* The bytes of each datagram of a batch: what the message says, or the option; 0: it is none. */
static int read_segment(const struct gy_sim_socket *socket, const struct msghdr *message,
			uint32_t *ret_segment)
{
	struct cmsghdr *head = CMSG_FIRSTHDR((struct msghdr *)(uintptr_t)message);
	uint16_t segment;

	*ret_segment = (uint32_t)socket->options.segment;
	if (message->msg_controllen == 0) {
		return 0;
	}
	if (head == NULL || head->cmsg_level != SOL_UDP || head->cmsg_type != UDP_SEGMENT ||
	    head->cmsg_len != CMSG_LEN(sizeof(segment))) {
		return -EINVAL;
	}
	memcpy(&segment, CMSG_DATA(head), sizeof(segment));
	*ret_segment = segment;
	return 0;
}

/* Whether a batch cannot be cut: into too many, or without checksums. */
static bool is_uncut(const struct gy_sim_socket *socket, size_t count, uint32_t segment)
{
	return segment != 0 && count > segment &&
	       (count > (size_t)segment * SEGMENTS_MAX || socket->options.no_check != 0);
}

static int64_t datagram_send(struct gy_sim_socket *socket, const struct msghdr *message, int flags)
{
	size_t count = gy_sim_slices_bytes(message->msg_iov, (uint32_t)message->msg_iovlen);
	struct in6_addr own = socket->name.ip;
	struct gy_sim_endpoint to;
	uint32_t segment = 0;
	int r = gy_sim_socket_take_error(socket);

	if (r == 0) {
		r = target_of(socket, message, &to);
	}
	if (r == 0) {
		r = (flags & MSG_OOB) != 0 ? -EOPNOTSUPP : read_segment(socket, message, &segment);
	}
	if (r < 0) {
		return r;
	}
	if (datagrams_of(socket)->out_shut || count > DATAGRAM_BYTES_MAX) {
		return datagrams_of(socket)->out_shut ? -EPIPE : -EMSGSIZE;
	}
	if (gy_sim_refuses("a datagram")) {
		return -ENOBUFS;
	}
	r = is_uncut(socket, count, segment) ? -EINVAL : gy_sim_ip_prepare(socket, &to);
	if (r >= 0) {
		send_all(socket, (uint32_t)r, &to, message, segment);
	}
	if (!socket->connected) {
		socket->name.ip = own; /* the next one may go elsewhere */
	}
	return r < 0 ? r : (int64_t)count;
}

/* ---- receiving ---- */

/* Tells of what size the datagrams of a batch are, where there is room for it. */
static void give_segment(const struct gy_sim_socket *socket, uint32_t segment, size_t room,
			 struct msghdr *message)
{
	struct cmsghdr head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_UDP,
				.cmsg_type = UDP_GRO };
	int value = (int)segment;

	message->msg_controllen = 0;
	if (segment == 0 || socket->options.gro == 0) {
		return;
	}
	if (room < CMSG_LEN(sizeof(value))) {
		message->msg_flags |= MSG_CTRUNC;
		return;
	}
	memcpy(message->msg_control, &head, sizeof(head));
	memcpy((unsigned char *)message->msg_control + CMSG_LEN(0), &value, sizeof(value));
	message->msg_controllen = room < CMSG_SPACE(sizeof(value)) ? CMSG_LEN(sizeof(value))
								   : CMSG_SPACE(sizeof(value));
}

static int64_t datagram_receive(struct gy_sim_socket *socket, struct msghdr *message, int flags)
{
	struct datagrams *datagrams = datagrams_of(socket);
	struct datagram *datagram = first_of(datagrams);
	struct sockaddr_storage name;
	size_t count;
	size_t whole;
	int r = gy_sim_socket_take_error(socket);

	if (r < 0 || datagram == NULL) {
		return r < 0 ? r : (datagrams->in_shut ? 0 : -EAGAIN);
	}
	count = gy_sim_scatter(message->msg_iov, (uint32_t)message->msg_iovlen, datagram->bytes,
			       datagram->count);
	whole = datagram->count;
	message->msg_flags = count < whole ? MSG_TRUNC : 0;
	give_segment(socket, datagram->segment,
		     message->msg_control == NULL ? 0 : message->msg_controllen, message);
	if (message->msg_name != NULL) {
		socklen_t bytes = (socklen_t)gy_sim_endpoint_name(socket, &datagram->from, &name);

		memcpy(message->msg_name, &name,
		       bytes < message->msg_namelen ? bytes : message->msg_namelen);
		message->msg_namelen = bytes;
	}
	if ((flags & MSG_PEEK) == 0) {
		drop_first(datagrams);
	}
	return (int64_t)((flags & MSG_TRUNC) != 0 ? whole : count);
}

static uint32_t datagram_unread(const struct gy_sim_socket *socket)
{
	const struct datagram *datagram = first_of(datagrams_of(socket));

	return datagram == NULL ? 0 : (uint32_t)datagram->count;
}

static uint32_t datagram_unsent(const struct gy_sim_socket *socket)
{
	(void)socket;
	return 0;
}

/* ---- arriving ---- */

/* How well a socket fits a datagram: its own peer's best; 0: not at all. */
static uint32_t fitness(const struct gy_sim_socket *socket, const struct gy_sim_endpoint *from,
			const struct gy_sim_endpoint *to)
{
	uint32_t fits =
		socket->file.ops == &gy_sim_datagram_ops.file ? gy_sim_ip_fits(socket, to) : 0;

	if (fits == 0 || !socket->connected) {
		return fits;
	}
	return gy_sim_endpoint_equal(&socket->peer, from) ? fits + 2 : 0;
}

/* Of several sockets that share a port one sender's datagrams all go to the same. */
static struct gy_sim_socket *find(const struct gy_sim_host *host,
				  const struct gy_sim_endpoint *from,
				  const struct gy_sim_endpoint *to)
{
	const struct gy_list *sockets = &host->net->sockets;
	struct gy_sim_socket *found = NULL;
	uint32_t best = 0;
	uint32_t count = 0;
	uint32_t chosen;

	for (const struct gy_list *item = sockets->next; item != sockets; item = item->next) {
		uint32_t fits =
			fitness(gy_container_of(item, struct gy_sim_socket, of_host), from, to);

		count = fits > best ? 0 : count;
		best = fits > best ? fits : best;
		count += fits > 0 && fits == best;
	}
	chosen = count == 0 ? 0 : (from->port * 31U + from->ip.s6_addr[15]) % count;
	for (const struct gy_list *item = sockets->next; item != sockets && count > 0;
	     item = item->next) {
		struct gy_sim_socket *socket = gy_container_of(item, struct gy_sim_socket, of_host);

		if (fitness(socket, from, to) == best && chosen-- == 0) {
			found = socket;
			break;
		}
	}
	return found;
}

static void trace(const struct gy_sim_host *host, const struct gy_sim_packet *packet,
		  const char *what)
{
	char source[GY_SIM_ENDPOINT_TEXT_MAX];
	char target[GY_SIM_ENDPOINT_TEXT_MAX];

	gy_sim_endpoint_write(&packet->source, source);
	gy_sim_endpoint_write(&packet->target, target);
	gy_sim_trace(host->sim, host, "datagram of %s to %s %s", source, target, what);
}

static void refuse(struct gy_sim_host *host, const struct gy_sim_packet *packet)
{
	struct gy_sim_packet *refusal = gy_sim_packet_create(host->sim, GY_SIM_REFUSAL, 0);

	trace(host, packet, "finds nobody");
	refusal->from = host->index;
	refusal->to = packet->from;
	refusal->source = packet->target;
	refusal->target = packet->source;
	gy_sim_packet_send(refusal, NULL);
}

static void take_refusal(const struct gy_sim_host *host, const struct gy_sim_packet *packet)
{
	struct gy_sim_socket *socket = find(host, &packet->source, &packet->target);

	if (socket != NULL && socket->connected) {
		socket->error = ECONNREFUSED;
		gy_sim_file_changed(&socket->file, EPOLLERR | EPOLLIN | EPOLLOUT);
	}
}

static void take_part(struct gy_sim_host *host, struct datagrams *datagrams,
		      const struct gy_sim_packet *packet, size_t skip, size_t count)
{
	struct datagram *datagram;

	if (datagrams->held + count > datagrams->socket.options.receive_bytes) {
		trace(host, packet, "finds no room");
		return;
	}
	datagram = (struct datagram *)gy_sim_get(sizeof(*datagram) + count);
	datagram->from = packet->source;
	datagram->segment = count == packet->count ? packet->segment : 0;
	datagram->count = count;
	memcpy(datagram->bytes, packet->bytes + skip, count);
	gy_list_append(&datagrams->queue, &datagram->item);
	datagrams->held += count + OVERHEAD_BYTES;
	gy_sim_file_changed(&datagrams->socket.file, EPOLLIN);
}

static void take(struct gy_sim_host *host, struct datagrams *datagrams,
		 const struct gy_sim_packet *packet)
{
	if (packet->segment == 0 || datagrams->socket.options.gro != 0) {
		take_part(host, datagrams, packet, 0, packet->count);
		return;
	}
	for (size_t skip = 0; skip < packet->count; skip += packet->segment) {
		size_t left = packet->count - skip;

		take_part(host, datagrams, packet, skip,
			  left < packet->segment ? left : packet->segment);
	}
}

void gy_sim_datagram_arrive(struct gy_sim_host *host, struct gy_sim_packet *packet)
{
	struct gy_sim_socket *socket;

	if (packet->kind == GY_SIM_REFUSAL) {
		take_refusal(host, packet);
		return;
	}
	socket = find(host, &packet->source, &packet->target);
	if (socket == NULL) {
		refuse(host, packet);
	} else {
		take(host, datagrams_of(socket), packet);
	}
}

const struct gy_sim_socket_ops gy_sim_datagram_ops = {
	.file = {
		.name = "UDP",
		.type = S_IFSOCK,
		.events = datagram_events,
		.read = gy_sim_socket_read,
		.write = gy_sim_socket_write,
		.close = datagram_close,
	},
	.bind = gy_sim_ip_bind,
	.connect = datagram_connect,
	.shutdown = datagram_shutdown,
	.send = datagram_send,
	.receive = datagram_receive,
	.name = gy_sim_ip_name,
	.unread = datagram_unread,
	.unsent = datagram_unsent,
};
