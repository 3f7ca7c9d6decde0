/*
 * A lookup by c-ares, which knows /etc/hosts and /etc/resolv.conf, asks for both families and sorts
 * what it finds as RFC 6724 says. It has no threads: it is told when its sockets can be read or
 * written and when time has passed, and answers by a callback, maybe at once.
 *
 * Both families are asked for together, and c-ares answers when it has heard of both. There are
 * name servers that never say anything about one; so after a little while each is asked for by
 * itself too, and whatever has addresses first is the answer.
 *
 * It closes its sockets when it likes, and the ring may have a poll under way on one. So what is
 * polled is a duplicate of the descriptor, which is closed when the poll is over.
 */
#include "net/connect/resolve.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "buffer/socket_address.h"
#include "net/socket_option.h"
#include "ring/descriptor.h"
#include "ring/socket.h"

enum { SERVERS_BYTES_MAX = 1024 }; /* with the terminator */

static const uint64_t patience_ns = GYRE_MILLISECONDS(250);

/* ---- sockets ---- */

static void polled(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_resolve_socket *s = gy_container_of(op, struct gy_resolve_socket, poll);

	if (completion->result > 0) {
		s->fired |= (uint32_t)completion->result;
	} else if (completion->result != -ECANCELED) {
		s->fired |= POLLERR;
	}
	s->cancelled = false;
	gy_endpoint_ready(s->resolve->endpoint);
}

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_resolve_socket *s = gy_container_of(op, struct gy_resolve_socket, close);

	gy_assert(s->closing && !s->poll.armed);
	(void)completion; /* whatever it says, the descriptor is gone */
	s->fd = -1;
	s->closing = false;
	gy_endpoint_ready(s->resolve->endpoint);
}

/* The one for a socket of c-ares, or a free one for -1; NULL when there is none. */
static struct gy_resolve_socket *find(struct gy_resolve *resolve, int theirs)
{
	for (size_t i = 0; i < GY_RESOLVE_SOCKETS; i++) {
		struct gy_resolve_socket *s = &resolve->sockets[i];

		if (theirs < 0 ? s->fd < 0 : s->fd >= 0 && !s->closing && s->theirs == theirs) {
			return s;
		}
	}
	return NULL;
}

/* Nobody would hear of the answer. */
static void fail(struct gy_resolve *resolve, int error)
{
	gy_assert(error < 0);
	resolve->done = true;
	resolve->error = error;
	gy_endpoint_ready(resolve->endpoint);
}

static void add(struct gy_resolve *resolve, int theirs, uint32_t events)
{
	struct gy_resolve_socket *s = find(resolve, -1);
	int fd = s == NULL ? -ENOBUFS : gy_descriptor_duplicate(theirs, 0);

	gy_assert(theirs >= 0);
	if (fd < 0) {
		fail(resolve, fd);
		return;
	}
	s->fd = fd;
	s->theirs = theirs;
	s->wanted = events;
	s->fired = 0;
}

/* What c-ares waits for on a socket of its own, when that changes; nothing when it is to be closed.
 */
static void poll_changed(void *arg, ares_socket_t theirs, int readable, int writable)
{
	struct gy_resolve *resolve = (struct gy_resolve *)arg;
	struct gy_resolve_socket *s = find(resolve, theirs);
	uint32_t events = (readable != 0 ? POLLIN : 0U) | (writable != 0 ? POLLOUT : 0U);

	if (s == NULL && events != 0) {
		add(resolve, theirs, events);
	} else if (s != NULL) {
		s->wanted = events;
		s->closing = events == 0;
	}
}

/* Arms, cancels or closes, as is due; -EAGAIN when the ring has no room for it. */
static int update_poll(struct gy_resolve *resolve, struct gy_resolve_socket *s)
{
	struct gy_ring *ring = resolve->channels->pools.ring;
	int r = 0;

	gy_assert(!s->closing || s->fd >= 0);
	gy_assert(!s->close.armed || !s->poll.armed);
	if (s->poll.armed) {
		if ((s->closing || s->wanted != s->armed) && !s->cancelled) {
			r = gy_ring_cancel(ring, &s->poll);
			s->cancelled = r == 0;
		}
	} else if (s->closing) {
		r = s->close.armed ? 0 : gy_ring_close(ring, &s->close, s->fd);
	} else if (s->fd >= 0 && s->wanted != 0) {
		s->armed = s->wanted;
		r = gy_ring_poll(ring, &s->poll, s->fd, s->wanted);
	}
	return r;
}

/* ---- what c-ares calls for its sockets: results as of system calls, with errno ---- */

static int64_t with_errno(int64_t result)
{
	if (result >= 0) {
		return result;
	}
	errno = (int)-result;
	return -1;
}

static ares_socket_t open_theirs(int domain, int type, int protocol, void *arg)
{
	struct gy_resolve *resolve = (struct gy_resolve *)arg;
	int fd = gy_socket_open(domain, type | SOCK_NONBLOCK, protocol);

	if (fd == -EMFILE || fd == -ENFILE) {
		resolve->lack = -EMFILE;
	}
	if (fd >= 0 && type == SOCK_STREAM) { /* as c-ares does with sockets that it makes */
		(void)gy_socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	}
	return (ares_socket_t)with_errno(fd);
}

static int close_theirs(ares_socket_t theirs, void *arg)
{
	(void)arg;
	return (int)with_errno(gy_descriptor_close(theirs));
}

static int connect_theirs(ares_socket_t theirs, const struct sockaddr *to, ares_socklen_t bytes,
			  void *arg)
{
	(void)arg;
	return (int)with_errno(gy_socket_connect(theirs, to, bytes));
}

static ares_ssize_t receive_theirs(ares_socket_t theirs, void *memory, size_t bytes, int flags,
				   struct sockaddr *ret_from, ares_socklen_t *from_bytes, void *arg)
{
	struct iovec part = { .iov_base = memory, .iov_len = bytes };
	struct msghdr message = { .msg_name = ret_from,
				  .msg_namelen = from_bytes == NULL ? 0 : *from_bytes,
				  .msg_iov = &part,
				  .msg_iovlen = 1 };
	int64_t r = gy_socket_receive_message(theirs, &message, flags);

	(void)arg;
	if (r >= 0 && from_bytes != NULL) {
		*from_bytes = message.msg_namelen;
	}
	return (ares_ssize_t)with_errno(r);
}

static ares_ssize_t send_theirs(ares_socket_t theirs, const struct iovec *parts, int count,
				void *arg)
{
	/* The kernel only reads them. */
	const struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts,
					.msg_iovlen = (size_t)count };

	(void)arg;
	return (ares_ssize_t)with_errno(gy_socket_send_message(theirs, &message, 0));
}

static const struct ares_socket_functions socket_functions = {
	.asocket = open_theirs,
	.aclose = close_theirs,
	.aconnect = connect_theirs,
	.arecvfrom = receive_theirs,
	.asendv = send_theirs,
};

/* ---- the answer ---- */

static int errno_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return 0;
	case ARES_ENOMEM:
		return -ENOMEM;
	case ARES_ETIMEOUT:
		return -ETIMEDOUT;
	case ARES_EBADSTR:
		return -EINVAL; /* the servers */
	case ARES_ECONNREFUSED:
	case ARES_ESERVFAIL:
	case ARES_EREFUSED:
	case ARES_EFORMERR:
	case ARES_ENOTIMP:
	case ARES_EBADRESP:
		return -EAGAIN;
	default:
		return -ENXIO;
	}
}

/* Families by turns, beginning with that of the best address, as RFC 8305 says. */
static void interleave(struct gy_resolve *resolve, const struct ares_addrinfo *found)
{
	const struct ares_addrinfo_node *next[2] = { found->nodes, found->nodes };
	int families[2];

	if (found->nodes == NULL) {
		return;
	}
	families[0] = found->nodes->ai_family;
	families[1] = families[0] == AF_INET ? AF_INET6 : AF_INET;
	for (size_t turn = 0;
	     (next[0] != NULL || next[1] != NULL) && resolve->count < GY_RESOLVE_ADDRESSES_MAX;
	     turn = 1 - turn) {
		while (next[turn] != NULL && next[turn]->ai_family != families[turn]) {
			next[turn] = next[turn]->ai_next;
		}
		if (next[turn] != NULL) {
			struct gyre_socket_address *to = &resolve->addresses[resolve->count++];

			gy_socket_address_set(to, resolve->type, next[turn]->ai_addr,
					      next[turn]->ai_addrlen);
			gy_socket_address_set_port(to, resolve->port);
			next[turn] = next[turn]->ai_next;
		}
	}
}

static void answered(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
	struct gy_resolve *resolve = (struct gy_resolve *)arg;

	(void)timeouts;
	if (!resolve->done) {
		resolve->done = true;
		resolve->error = errno_of(status);
		if (resolve->error == -EAGAIN && resolve->lack < 0) {
			/* c-ares takes a socket that cannot be opened for a server that refuses. */
			resolve->error = resolve->lack;
		}
		if (found != NULL) {
			interleave(resolve, found);
		}
		if (resolve->error == 0 && resolve->count == 0) {
			resolve->error = -ENXIO;
		}
	}
	if (found != NULL) {
		ares_freeaddrinfo(found);
	}
}

/* About one family: only addresses count, for what has failed is heard of by the first question. */
static void answered_singly(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
	if (status == ARES_SUCCESS && found != NULL && found->nodes != NULL) {
		answered(arg, status, timeouts, found);
	} else if (found != NULL) {
		ares_freeaddrinfo(found);
	}
}

static void ask(struct gy_resolve *resolve, int family, ares_addrinfo_callback callback)
{
	const struct ares_addrinfo_hints hints = { .ai_family = family,
						   .ai_socktype = resolve->type };

	ares_getaddrinfo(resolve->ares, resolve->host, NULL, &hints, callback, resolve);
}

/* ---- name servers ---- */

/* An address with a port or without; one of IPv6 stands in brackets if a port follows. c-ares knows
 * neither scopes nor "*", and takes ports out of range for others. */
static bool is_server(const char *server, size_t bytes)
{
	const char *colon = memchr(server, ':', bytes);
	bool is_six = colon != NULL && memchr(colon + 1, ':', bytes - (size_t)(colon + 1 - server));
	bool is_bare = is_six && *server != '[';
	bool has_port = !is_bare && (colon != NULL || *server == '[');
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_socket_address address;
	struct sockaddr_in in;
	int length = snprintf(text, sizeof(text), "udp://%s%.*s%s%s", is_bare ? "[" : "",
			      (int)bytes, server, is_bare ? "]" : "", has_port ? "" : ":53");

	if (length < 0 || (size_t)length >= sizeof(text) || *server == '*' ||
	    memchr(server, '%', bytes) != NULL || gyre_socket_address_parse(text, &address) < 0) {
		return false;
	}
	memcpy(&in, &address.storage, sizeof(in)); /* the port stands there in both families */
	return in.sin_port != 0;
}

int gy_resolve_check_servers(const char *servers)
{
	if (servers == NULL) {
		return 0;
	}
	if (strnlen(servers, SERVERS_BYTES_MAX) == SERVERS_BYTES_MAX) {
		return -ENAMETOOLONG;
	}
	for (;;) {
		size_t bytes = strcspn(servers, ",");

		if (bytes == 0 || !is_server(servers, bytes)) {
			return -EINVAL;
		}
		if (servers[bytes] == '\0') {
			return 0;
		}
		servers += bytes + 1;
	}
}

/* ---- the whole ---- */

static void patience_ended(struct gy_timer *timer)
{
	struct gy_resolve *resolve = gy_container_of(timer, struct gy_resolve, patience);

	resolve->impatient = true;
	gy_endpoint_ready(resolve->endpoint);
}

static void timer_ended(struct gy_timer *timer)
{
	struct gy_resolve *resolve = gy_container_of(timer, struct gy_resolve, timer);

	resolve->timed_out = true;
	gy_endpoint_ready(resolve->endpoint);
}

void gy_resolve_init(struct gy_resolve *resolve, struct gy_endpoint *endpoint,
		     struct gy_channels *channels)
{
	*resolve = (struct gy_resolve){ .endpoint = endpoint, .channels = channels };
	gy_timer_init(&resolve->timer, timer_ended);
	gy_timer_init(&resolve->patience, patience_ended);
	for (size_t i = 0; i < GY_RESOLVE_SOCKETS; i++) {
		resolve->sockets[i].fd = -1;
		resolve->sockets[i].resolve = resolve;
		gy_op_init(&resolve->sockets[i].poll, polled);
		gy_op_init(&resolve->sockets[i].close, closed);
	}
}

static int open_ares(struct gy_resolve *resolve, const char *servers)
{
	struct ares_options options = {
		.sock_state_cb = poll_changed,
		.sock_state_cb_data = resolve,
	};
	int r = ares_init_options(&resolve->ares, &options, ARES_OPT_SOCK_STATE_CB);

	if (r != ARES_SUCCESS) {
		resolve->ares = NULL;
		return r;
	}
	ares_set_socket_functions(resolve->ares, &socket_functions, resolve);
	return servers == NULL ? ARES_SUCCESS : ares_set_servers_ports_csv(resolve->ares, servers);
}

static void update_polls(struct gy_resolve *resolve)
{
	for (size_t i = 0; i < GY_RESOLVE_SOCKETS; i++) {
		if (update_poll(resolve, &resolve->sockets[i]) < 0) {
			gy_endpoint_ready(resolve->endpoint);
		}
	}
}

static void start_timer(struct gy_resolve *resolve)
{
	struct gy_wheel *wheel = &resolve->channels->home->loop.wheel;
	struct timeval left;

	gy_timer_stop(wheel, &resolve->timer);
	if (!resolve->done && ares_timeout(resolve->ares, NULL, &left) != NULL) {
		gy_timer_start(wheel, &resolve->timer,
			       GYRE_SECONDS(left.tv_sec) + GYRE_MICROSECONDS(left.tv_usec));
	}
}

void gy_resolve_start(struct gy_resolve *resolve, const char *host, uint16_t port, int type,
		      const char *servers)
{
	int r;

	gy_assert(resolve->ares == NULL);
	resolve->host = host;
	resolve->impatient = false;
	resolve->done = false;
	resolve->lack = 0;
	resolve->count = 0;
	resolve->port = port;
	resolve->type = type;
	r = open_ares(resolve, servers);
	if (r != ARES_SUCCESS) {
		answered(resolve, r, 0, NULL);
		return;
	}
	ask(resolve, resolve->family, answered);
	if (!resolve->done && resolve->family == AF_UNSPEC) {
		gy_timer_start(&resolve->channels->home->loop.wheel, &resolve->patience,
			       patience_ns);
	}
	update_polls(resolve);
	start_timer(resolve);
}

void gy_resolve_process(struct gy_resolve *resolve)
{
	const uint32_t failed = POLLERR | POLLHUP;

	for (size_t i = 0; i < GY_RESOLVE_SOCKETS && resolve->ares != NULL; i++) {
		struct gy_resolve_socket *s = &resolve->sockets[i];
		uint32_t fired = s->fired;

		s->fired = 0;
		if (fired != 0 && s->fd >= 0 && !s->closing) {
			bool reads = (fired & (POLLIN | failed)) != 0;
			bool writes = (fired & (POLLOUT | failed)) != 0;

			ares_process_fd(resolve->ares, reads ? s->theirs : ARES_SOCKET_BAD,
					writes ? s->theirs : ARES_SOCKET_BAD);
		}
	}
	if (resolve->timed_out && resolve->ares != NULL) {
		ares_process_fd(resolve->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	}
	resolve->timed_out = false;
	if (resolve->impatient && !resolve->done && resolve->ares != NULL) {
		ask(resolve, AF_INET6, answered_singly);
		ask(resolve, AF_INET, answered_singly);
	}
	resolve->impatient = false;
	update_polls(resolve);
	if (resolve->ares != NULL) {
		start_timer(resolve);
	}
}

bool gy_resolve_end(struct gy_resolve *resolve)
{
	bool quiet = true;

	gy_timer_stop(&resolve->channels->home->loop.wheel, &resolve->timer);
	gy_timer_stop(&resolve->channels->home->loop.wheel, &resolve->patience);
	if (resolve->ares != NULL) {
		ares_destroy(resolve->ares); /* and its callback is called, if it was not */
		resolve->ares = NULL;
	}
	update_polls(resolve);
	for (size_t i = 0; i < GY_RESOLVE_SOCKETS; i++) {
		quiet = quiet && resolve->sockets[i].fd < 0;
	}
	return quiet;
}
