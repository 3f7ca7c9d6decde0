/*
 * Options of sockets. Most are a number that is kept, and heeded where it makes a difference in a
 * network that is made up; others do something at once. What is not known here is refused, so that
 * nobody relies on it; gyre does without groups.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/time.h>

#include "base/macros.h"
#include "sim/net/socket.h"

enum { BUFFER_BYTES_MAX = 212992, SEND_BYTES_MIN = 4608, RECEIVE_BYTES_MIN = 2304 };

struct number {
	int level;
	int name;
	int least;
	int most;
	uint32_t at; /* in the options */
};

#define NUMBER(LEVEL, NAME, LEAST, MOST, FIELD)                                         \
	{                                                                               \
		LEVEL, NAME, LEAST, MOST, offsetof(struct gy_sim_socket_options, FIELD) \
	}

static const struct number numbers[] = {
	NUMBER(SOL_SOCKET, SO_REUSEADDR, 0, 1, reuse_address),
	NUMBER(SOL_SOCKET, SO_REUSEPORT, 0, 1, reuse_port),
	NUMBER(SOL_SOCKET, SO_BROADCAST, 0, 1, broadcast),
	NUMBER(SOL_SOCKET, SO_KEEPALIVE, 0, 1, keep_alive),
	NUMBER(SOL_SOCKET, SO_PRIORITY, 0, 6, priority),
	NUMBER(SOL_SOCKET, SO_BUSY_POLL, 0, INT32_MAX, busy_poll),
	NUMBER(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, 1, no_port),
	NUMBER(IPPROTO_IP, IP_TOS, 0, 255, type_of_service[0]),
	NUMBER(IPPROTO_IP, IP_MULTICAST_ALL, 0, 1, multicast_all[0]),
	NUMBER(IPPROTO_IPV6, IPV6_V6ONLY, 0, 1, six_only),
	NUMBER(IPPROTO_IPV6, IPV6_TCLASS, 0, 255, type_of_service[1]),
	NUMBER(IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, 1, multicast_all[1]),
	NUMBER(IPPROTO_TCP, TCP_NODELAY, 0, 1, no_delay),
	NUMBER(IPPROTO_TCP, TCP_CORK, 0, 1, cork),
	NUMBER(IPPROTO_TCP, TCP_QUICKACK, 0, 1, quick_ack),
	NUMBER(IPPROTO_TCP, TCP_KEEPIDLE, 1, 32767, keep_idle_s),
	NUMBER(IPPROTO_TCP, TCP_KEEPINTVL, 1, 32767, keep_interval_s),
	NUMBER(IPPROTO_TCP, TCP_KEEPCNT, 1, 127, keep_count),
	NUMBER(IPPROTO_TCP, TCP_USER_TIMEOUT, 0, INT32_MAX, user_timeout_ms),
	NUMBER(SOL_SOCKET, SO_NO_CHECK, 0, 1, no_check),
	NUMBER(SOL_UDP, UDP_SEGMENT, 0, UINT16_MAX, segment),
	NUMBER(SOL_UDP, UDP_GRO, 0, 1, gro),
};

/* Whether a socket has options of a level at all. */
static bool has_level(const struct gy_sim_socket *socket, int level)
{
	bool is_ip = socket->domain != AF_UNIX;

	switch (level) {
	case SOL_SOCKET:
		return true;
	case IPPROTO_IP:
		return is_ip;
	case IPPROTO_IPV6:
		return socket->domain == AF_INET6;
	case IPPROTO_TCP:
		return is_ip && socket->type == SOCK_STREAM;
	case SOL_UDP:
		return is_ip && socket->type == SOCK_DGRAM;
	default:
		return false;
	}
}

static const struct number *find_number(int level, int name)
{
	for (size_t i = 0; i < gy_countof(numbers); i++) {
		if (numbers[i].level == level && numbers[i].name == name) {
			return &numbers[i];
		}
	}
	return NULL;
}

static int *place_of(struct gy_sim_socket *socket, const struct number *number)
{
	return (int *)(void *)((unsigned char *)&socket->options + number->at);
}

/* ---- asking ---- */

/* Gives as much of a value as there is room for. */
static int give(void *ret_value, socklen_t *bytes, const void *value, size_t value_bytes)
{
	if (*bytes > value_bytes) {
		*bytes = (socklen_t)value_bytes;
	}
	memcpy(ret_value, value, *bytes);
	return 0;
}

static int give_number(void *ret_value, socklen_t *bytes, int value)
{
	return give(ret_value, bytes, &value, sizeof(value));
}

static int give_time(void *ret_value, socklen_t *bytes, uint64_t ns)
{
	const struct timeval time = { .tv_sec = (time_t)(ns / 1000000000),
				      .tv_usec = (suseconds_t)(ns / 1000 % 1000000) };

	return give(ret_value, bytes, &time, sizeof(time));
}

static int give_credentials(const struct gy_sim_socket *socket, void *ret_value, socklen_t *bytes)
{
	struct ucred credentials = { .uid = (uid_t)-1, .gid = (gid_t)-1 };

	if (socket->domain == AF_UNIX) {
		gy_sim_local_credentials(socket, &credentials);
	}
	return give(ret_value, bytes, &credentials, sizeof(credentials));
}

static int protocol_of(const struct gy_sim_socket *socket)
{
	if (socket->domain == AF_UNIX) {
		return 0;
	}
	return socket->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
}

/* Of one that listens: its queue, as Linux tells it. Nothing of connections. */
static int give_info(const struct gy_sim_socket *socket, void *ret_value, socklen_t *bytes)
{
	struct tcp_info info = { .tcpi_state = socket->listening   ? TCP_LISTEN
					       : socket->connected ? TCP_ESTABLISHED
								   : TCP_CLOSE };

	if (socket->listening) {
		gy_sim_listener_queue(socket, &info.tcpi_unacked, &info.tcpi_sacked);
	}
	return give(ret_value, bytes, &info, sizeof(info));
}

static int give_of_socket(struct gy_sim_socket *socket, int name, void *ret_value, socklen_t *bytes)
{
	switch (name) {
	case SO_TYPE:
		return give_number(ret_value, bytes, socket->type);
	case SO_DOMAIN:
		return give_number(ret_value, bytes, socket->domain);
	case SO_PROTOCOL:
		return give_number(ret_value, bytes, protocol_of(socket));
	case SO_ACCEPTCONN:
		return give_number(ret_value, bytes, socket->listening ? 1 : 0);
	case SO_ERROR:
		return give_number(ret_value, bytes, -gy_sim_socket_take_error(socket));
	case SO_SNDBUF:
		return give_number(ret_value, bytes, (int)socket->options.send_bytes);
	case SO_RCVBUF:
		return give_number(ret_value, bytes, (int)socket->options.receive_bytes);
	case SO_LINGER:
		return give(ret_value, bytes, &socket->options.linger,
			    sizeof(socket->options.linger));
	case SO_RCVTIMEO:
		return give_time(ret_value, bytes, socket->options.receive_timeout_ns);
	case SO_SNDTIMEO:
		return give_time(ret_value, bytes, socket->options.send_timeout_ns);
	case SO_PEERCRED:
		return give_credentials(socket, ret_value, bytes);
	default:
		return -ENOPROTOOPT;
	}
}

int gy_sim_socket_option(struct gy_sim_socket *socket, int level, int name, void *ret_value,
			 socklen_t *bytes)
{
	static const char congestion[16] = "cubic";
	const struct number *number = find_number(level, name);

	if (!has_level(socket, level)) {
		return level == SOL_UDP ? -ENOPROTOOPT : -EOPNOTSUPP;
	}
	if (number != NULL) {
		return give_number(ret_value, bytes, *place_of(socket, number));
	}
	if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
		return give(ret_value, bytes, congestion, sizeof(congestion));
	}
	if (level == IPPROTO_TCP && name == TCP_INFO) {
		return give_info(socket, ret_value, bytes);
	}
	return level == SOL_SOCKET ? give_of_socket(socket, name, ret_value, bytes) : -ENOPROTOOPT;
}

/* ---- setting ---- */

static int take(const void *value, socklen_t bytes, void *ret_value, size_t value_bytes)
{
	if (value == NULL || bytes < value_bytes) {
		return -EINVAL;
	}
	memcpy(ret_value, value, value_bytes);
	return 0;
}

static int set_number(struct gy_sim_socket *socket, const struct number *number, int value)
{
	int least = number->most == 1 ? INT32_MIN : number->least;

	if (value < least || (number->most != 1 && value > number->most) ||
	    (number->level == IPPROTO_IPV6 && number->name == IPV6_V6ONLY && socket->bound)) {
		return -EINVAL;
	}
	*place_of(socket, number) = number->most == 1 ? value != 0 : value;
	if (gy_sim_socket_ops_of(socket)->options_changed != NULL) {
		gy_sim_socket_ops_of(socket)->options_changed(socket);
	}
	return 0;
}

/* Linux gives twice of what is asked for, up to a limit. */
static uint32_t buffer_bytes(int asked, uint32_t least)
{
	uint32_t bytes = asked < 0 || asked > BUFFER_BYTES_MAX ? BUFFER_BYTES_MAX : (uint32_t)asked;

	return 2 * bytes < least ? least : 2 * bytes;
}

static int set_buffer(const void *value, socklen_t bytes, uint32_t least, uint32_t *ret_bytes)
{
	int asked;
	int r = take(value, bytes, &asked, sizeof(asked));

	if (r == 0) {
		*ret_bytes = buffer_bytes(asked, least);
	}
	return r;
}

static int set_time(const void *value, socklen_t bytes, uint64_t *ret_ns)
{
	struct timeval time;
	int r = take(value, bytes, &time, sizeof(time));

	if (r == 0 && (time.tv_usec < 0 || time.tv_usec >= 1000000)) {
		r = -EDOM;
	}
	if (r == 0) {
		*ret_ns = time.tv_sec < 0 ? 0
					  : (uint64_t)time.tv_sec * 1000000000 +
						    (uint64_t)time.tv_usec * 1000;
	}
	return r;
}

static int set_of_socket(struct gy_sim_socket *socket, int name, const void *value, socklen_t bytes)
{
	struct gy_sim_socket_options *options = &socket->options;

	switch (name) {
	case SO_SNDBUF:
		return set_buffer(value, bytes, SEND_BYTES_MIN, &options->send_bytes);
	case SO_RCVBUF:
		return set_buffer(value, bytes, RECEIVE_BYTES_MIN, &options->receive_bytes);
	case SO_LINGER:
		return take(value, bytes, &options->linger, sizeof(options->linger));
	case SO_RCVTIMEO:
		return set_time(value, bytes, &options->receive_timeout_ns);
	case SO_SNDTIMEO:
		return set_time(value, bytes, &options->send_timeout_ns);
	default:
		return -ENOPROTOOPT;
	}
}

static bool is_of_groups(int level, int name)
{
	if (level == IPPROTO_IP) {
		return name == IP_MULTICAST_IF || name == IP_MULTICAST_TTL ||
		       name == IP_MULTICAST_LOOP || name == MCAST_JOIN_GROUP ||
		       name == MCAST_LEAVE_GROUP || name == IP_ADD_MEMBERSHIP;
	}
	return level == IPPROTO_IPV6 && (name == IPV6_MULTICAST_IF || name == IPV6_MULTICAST_HOPS ||
					 name == IPV6_MULTICAST_LOOP || name == MCAST_JOIN_GROUP ||
					 name == MCAST_LEAVE_GROUP || name == IPV6_JOIN_GROUP);
}

int gy_sim_socket_set_option(struct gy_sim_socket *socket, int level, int name, const void *value,
			     socklen_t bytes)
{
	const struct number *number = find_number(level, name);
	int asked;
	int r;

	if (!has_level(socket, level)) {
		return level == SOL_UDP ? -ENOPROTOOPT : -EOPNOTSUPP;
	}
	if (number != NULL) {
		r = take(value, bytes, &asked, sizeof(asked));
		return r < 0 ? r : set_number(socket, number, asked);
	}
	if (level == IPPROTO_TCP && name == TCP_CONGESTION) {
		return 0;
	}
	if (is_of_groups(level, name)) {
		return -EOPNOTSUPP;
	}
	return level == SOL_SOCKET ? set_of_socket(socket, name, value, bytes) : -ENOPROTOOPT;
}
