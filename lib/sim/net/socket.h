/*
 * The network, inside: hosts have addresses, ports and sockets, and packets go over links from one
 * host to another. net.c has links and packets, names.c has addresses and ports. A kind of socket
 * is a file with operations of its own: stream.c and tcp.c have those of TCP, listener.c those of
 * them that listen, datagram.c UDP, and local*.c Unix sockets, which need no packets.
 *
 * As with other files no operation waits: it is -EAGAIN where it would have to, and socket_calls.c
 * waits and tries again.
 */
#ifndef GY_SIM_SOCKET_H
#define GY_SIM_SOCKET_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sim/sim.h"

struct gy_sim_stream;

enum {
	GY_SIM_SOMAXCONN = 4096,
	GY_SIM_ENDPOINT_TEXT_MAX = INET6_ADDRSTRLEN + 9,
	GY_SIM_BUFFER_BYTES = 128 * 1024,
};

/* ---- addresses ---- */

/* Where a socket of IP is. An address of IPv4 is mapped into IPv6. */
struct gy_sim_endpoint {
	struct in6_addr ip;
	uint16_t port;
};

/* The name of a Unix socket: a path without its final 0, or an abstract name with its first. */
struct gy_sim_local_name {
	uint32_t bytes; /* 0: it has none */
	char text[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* ---- sockets ---- */

/* Those of a single number, as setsockopt() has it, are int. */
struct gy_sim_socket_options {
	int reuse_address;
	int reuse_port;
	int broadcast;
	int priority;
	int busy_poll;
	int six_only;
	int no_port; /* IP_BIND_ADDRESS_NO_PORT */
	int multicast_all[2];
	int type_of_service[2];
	int no_delay;
	int cork;
	int quick_ack;
	int keep_alive;
	int keep_idle_s;
	int keep_interval_s;
	int keep_count;
	int user_timeout_ms;
	int segment; /* UDP_SEGMENT */
	int gro;     /* UDP_GRO */
	int no_check;
	struct linger linger;
	uint32_t receive_bytes; /* what the buffers have room for */
	uint32_t send_bytes;
	uint64_t receive_timeout_ns; /* 0: none */
	uint64_t send_timeout_ns;
};

struct gy_sim_socket {
	struct gy_sim_file file; /* its ops are those of a struct gy_sim_socket_ops */
	struct gy_list of_host;	 /* in the order of their making */
	int domain;
	int type;
	int error; /* that was not told yet, a positive errno */
	bool bound;
	bool listening;
	bool connected;
	bool accepted; /* shares its port with the listener */
	struct gy_sim_endpoint name;
	struct gy_sim_endpoint peer;
	struct gy_sim_socket_options options;
};

struct gy_sim_socket_ops {
	struct gy_sim_file_ops file; /* first */
	int (*bind)(struct gy_sim_socket *socket, const struct sockaddr *name, socklen_t bytes);
	int (*listen)(struct gy_sim_socket *socket, uint32_t backlog);
	/* -EINPROGRESS if it has begun, -EALREADY if it had; to be tried again after EPOLLOUT. */
	int (*connect)(struct gy_sim_socket *socket, const struct sockaddr *to, socklen_t bytes);
	/* The next connection, which stays where it is until gy_sim_socket_ops.accepted. */
	int (*next)(struct gy_sim_socket *socket, struct gy_sim_socket **ret_next);
	void (*accepted)(struct gy_sim_socket *socket, struct gy_sim_socket *next);
	int (*shutdown)(struct gy_sim_socket *socket, int how);
	int64_t (*send)(struct gy_sim_socket *socket, const struct msghdr *message, int flags);
	int64_t (*receive)(struct gy_sim_socket *socket, struct msghdr *message, int flags);
	/* @peer: that of the peer. The bytes of the name, or a negative errno. */
	int (*name)(const struct gy_sim_socket *socket, bool peer,
		    struct sockaddr_storage *ret_name);
	uint32_t (*unread)(const struct gy_sim_socket *socket);
	uint32_t (*unsent)(const struct gy_sim_socket *socket);
	/* Something was set that it has to heed now; NULL: nothing is. */
	void (*options_changed)(struct gy_sim_socket *socket);
};

extern const struct gy_sim_socket_ops gy_sim_stream_ops;
extern const struct gy_sim_socket_ops gy_sim_datagram_ops;
extern const struct gy_sim_socket_ops gy_sim_local_ops;

static inline const struct gy_sim_socket_ops *gy_sim_socket_ops_of(const struct gy_sim_socket *s)
{
	return (const struct gy_sim_socket_ops *)(const void *)s->file.ops;
}

/* listener.c: how many connections wait in its queue, and how many may. */
void gy_sim_listener_queue(const struct gy_sim_socket *socket, uint32_t *ret_waiting,
			   uint32_t *ret_most);

/* socket.c: sets up the common part, and lists the socket with its host. */
void gy_sim_socket_init(struct gy_sim_socket *socket, const struct gy_sim_socket_ops *ops,
			struct gy_sim_host *host, int domain, int type);
void gy_sim_socket_fini(struct gy_sim_socket *socket);
/* The error that was not told yet, as a negative errno, and forgets it. */
int gy_sim_socket_take_error(struct gy_sim_socket *socket);
/* read() and write() of sockets. */
int64_t gy_sim_socket_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset);
int64_t gy_sim_socket_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			    uint64_t offset);
/* NULL, with -EBADF or -ENOTSOCK. */
struct gy_sim_socket *gy_sim_socket_at(int fd, int *ret_error);

/* ---- transfer_calls.c: waiting ---- */

/* When a time-out that begins now ends; 0 is none. */
uint64_t gy_sim_until_ns(uint64_t timeout_ns);
/* gy_sim_file_wait(), but looks again where a socket is ready and has to wait all the same: nothing
 * tells when the queue of another one has room. */
int gy_sim_socket_wait(struct gy_sim_socket *socket, uint32_t events, int flags, uint64_t until_ns);

/* ---- socket_options.c ---- */

int gy_sim_socket_option(struct gy_sim_socket *socket, int level, int name, void *ret_value,
			 socklen_t *bytes);
int gy_sim_socket_set_option(struct gy_sim_socket *socket, int level, int name, const void *value,
			     socklen_t bytes);

/* ---- names.c: addresses and ports ---- */

bool gy_sim_is_any(const struct in6_addr *ip);
bool gy_sim_is_loopback(const struct in6_addr *ip);
bool gy_sim_endpoint_equal(const struct gy_sim_endpoint *a, const struct gy_sim_endpoint *b);
void gy_sim_endpoint_write(const struct gy_sim_endpoint *endpoint,
			   char ret_text[GY_SIM_ENDPOINT_TEXT_MAX]);
/* The address of a host, of IPv4 or of IPv6. */
struct in6_addr gy_sim_host_ip(uint32_t host, bool six);
/* The host of a name; -ENOENT. */
int gy_sim_net_find(const struct gyre_sim *sim, const char *name);
/* The host that has an address, as seen from @from; -ENETUNREACH, -EHOSTUNREACH. */
int gy_sim_net_route(const struct gy_sim_host *from, const struct in6_addr *to);
/* What an address of a call means to a socket of @domain; -EAFNOSUPPORT, -EINVAL, -ENETUNREACH. */
int gy_sim_endpoint_read(const struct gy_sim_socket *socket, const struct sockaddr *name,
			 socklen_t bytes, struct gy_sim_endpoint *ret_endpoint);
/* The other way; its bytes. */
int gy_sim_endpoint_name(const struct gy_sim_socket *socket, const struct gy_sim_endpoint *endpoint,
			 struct sockaddr_storage *ret_name);
int gy_sim_ip_bind(struct gy_sim_socket *socket, const struct sockaddr *name, socklen_t bytes);
int gy_sim_ip_name(const struct gy_sim_socket *socket, bool peer,
		   struct sockaddr_storage *ret_name);
/* Whether nobody else has the socket's name, or lets it in; -EADDRINUSE. */
int gy_sim_ip_check(const struct gy_sim_socket *socket);
/* Gives a socket that is about to send to @to the address and port that it has not; the host that
 * @to is at, or a negative errno. */
int gy_sim_ip_prepare(struct gy_sim_socket *socket, const struct gy_sim_endpoint *to);
/* Likewise, of a socket that connects to @to, which becomes its peer. */
int gy_sim_ip_set_peer(struct gy_sim_socket *socket, const struct sockaddr *to, socklen_t bytes);
/* How well a socket fits what comes to @to: 0, not at all; 1, any address does; 2, its own. */
uint32_t gy_sim_ip_fits(const struct gy_sim_socket *socket, const struct gy_sim_endpoint *to);

/* ---- net.c: hosts, links, packets ---- */

struct gy_sim_net_host {
	struct gy_sim_link_state *links; /* from it to each host: net.c */
	struct gy_list sockets;
	struct gy_list ended; /* connections of TCP without a descriptor */
	bool crashed;
	uint16_t next_port;
	uint32_t next_auto;	     /* the abstract name that is given next */
	struct gy_list socket_files; /* of Unix sockets; they survive crashes */
	ino_t next_inode;
	struct gy_list asking; /* of c-ares: lookups.c */
};

enum gy_sim_packet_kind {
	GY_SIM_DATAGRAM,
	GY_SIM_REFUSAL, /* nobody takes datagrams there */
	GY_SIM_SYN,
	GY_SIM_SYN_ACK,
	GY_SIM_ACK,
	GY_SIM_DATA,
	GY_SIM_FIN,
	GY_SIM_PROBE, /* asks for an acknowledgement */
	GY_SIM_RESET,
};

struct gy_sim_packet {
	struct gy_list item; /* of the network, or of a link that is clogged */
	struct gy_sim_timer timer;
	struct gyre_sim *sim;
	uint32_t from; /* hosts */
	uint32_t to;
	enum gy_sim_packet_kind kind;
	struct gy_sim_endpoint source;
	struct gy_sim_endpoint target;
	/* Of TCP: each direction of a connection counts its bytes from 0; its end counts as one. */
	uint64_t connection;
	bool to_client;
	uint64_t sequence;
	uint64_t acknowledged;
	uint64_t window_end; /* up to where the other side may send */
	uint32_t
		segment; /* of a batch of datagrams: the bytes of each but the last; 0: it is one */
	size_t count;
	unsigned char bytes[];
};

struct gy_sim_packet *gy_sim_packet_create(struct gyre_sim *sim, enum gy_sim_packet_kind kind,
					   size_t count);
/*
 * Sends a packet and takes it. With @ordered_ns, which tells when the last one of its kind comes,
 * it does not overtake that.
 */
void gy_sim_packet_send(struct gy_sim_packet *packet, uint64_t *ordered_ns);
/* What a packet there and one back take at most. */
uint64_t gy_sim_net_round_trip_ns(const struct gyre_sim *sim, uint32_t from, uint32_t to);
/* Whether what is sent now is neither lost nor held up, and finds a host that hears it. */
bool gy_sim_net_is_undisturbed(const struct gyre_sim *sim, uint32_t from, uint32_t to);
/* Whether a host is there to answer, be it that nobody listens. */
bool gy_sim_net_answers(const struct gy_sim_host *host);

/* The two ends of a connection of TCP, by its number. */
struct gy_sim_connection {
	struct gy_sim_stream *client;
	struct gy_sim_stream *server;
};

struct gy_sim_net {
	struct gy_list packets; /* under way */
	struct gy_list own;	/* of hosts to themselves, in their order */
	struct gy_list spare;	/* packets that are used again */
	bool delivering;
	struct gy_sim_connection *connections;
	uint32_t connections_room;
	uint32_t connections_count;
};

void gy_sim_stream_arrive(struct gy_sim_host *host, struct gy_sim_packet *packet);
void gy_sim_datagram_arrive(struct gy_sim_host *host, struct gy_sim_packet *packet);
/* A link between two hosts works again. */
void gy_sim_streams_retry(struct gy_sim_host *host, uint32_t peer);
/* Ends the connections of a host that has crashed, unheard. */
void gy_sim_streams_drop(struct gy_sim_host *host);

/* ---- lookups.c ---- */

void gy_sim_lookups_drop(struct gy_sim_host *host);

struct gy_sim_socket *gy_sim_stream_open(struct gy_sim_host *host, int domain);
struct gy_sim_socket *gy_sim_datagram_open(struct gy_sim_host *host, int domain);
struct gy_sim_socket *gy_sim_local_open(struct gy_sim_host *host, int type);
void gy_sim_socket_files_fini(struct gy_sim_host *host);
/* Connects two new Unix sockets with each other. */
void gy_sim_local_pair(struct gy_sim_socket *a, struct gy_sim_socket *b);
/* The process that is at the other end; none where the socket is not connected. */
void gy_sim_local_credentials(const struct gy_sim_socket *socket, struct ucred *ret_credentials);

#endif
