/*
 * Sockets, where no operation of a ring is needed: opened, named, connected, asked and set up, and
 * messages that are sent and received by hand. With ring/descriptor.h, ring/file.h, ring/host.h and
 * ring/signal.h this is the seam to the kernel beside the ring: nothing above this floor makes such
 * a call itself (scripts/check_seam.py), and a simulator puts sockets of its own behind these.
 *
 * Each call returns 0, a count or a descriptor, or a negative errno; outputs are untouched on
 * failure. -EINTR is the caller's to repeat. Any thread. A call waits only where that is said, and
 * then only on a socket that is not nonblocking.
 */
#ifndef GY_RING_SOCKET_H
#define GY_RING_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A new socket, closed by exec(). @type as of socket(), with SOCK_NONBLOCK or without. */
int gy_socket_open(int domain, int type, int protocol);
int gy_socket_bind(int fd, const struct sockaddr *name, socklen_t bytes);
int gy_socket_listen(int fd, int backlog);
/* Waits for the peer. */
int gy_socket_connect(int fd, const struct sockaddr *to, socklen_t bytes);
/* A descriptor of the next connection in the backlog of @fd: nonblocking, and closed by exec().
 * Waits for one. */
int gy_socket_accept(int fd);
/* Ends one direction or both; @how as of shutdown(). */
int gy_socket_shutdown(int fd, int how);

/* The own name, and that of the peer. */
int gy_socket_name(int fd, struct sockaddr_storage *ret_name, socklen_t *ret_bytes);
int gy_socket_peer(int fd, struct sockaddr_storage *ret_name, socklen_t *ret_bytes);

/* An option of exactly @bytes; another size of the kernel's is -EINVAL, and @ret_value undefined.
 */
int gy_socket_option(int fd, int level, int name, void *ret_value, socklen_t bytes);
int gy_socket_set_option(int fd, int level, int name, const void *value, socklen_t bytes);

/*
 * Bytes or a message, with @flags of send() and recv(). No call raises SIGPIPE. Sending waits for
 * room and receiving for bytes, but not with MSG_DONTWAIT.
 */
int64_t gy_socket_send(int fd, const void *bytes, size_t count, int flags);
int64_t gy_socket_send_message(int fd, const struct msghdr *message, int flags);
int64_t gy_socket_receive(int fd, void *memory, size_t bytes, int flags);
/* Descriptors that come with a message are closed by exec(). */
int64_t gy_socket_receive_message(int fd, struct msghdr *message, int flags);

/* ---- the state of a socket, as the kernel knows it now ---- */

/* Bytes that the peer's kernel has not acknowledged; 0 where none are known. Our end counts as one.
 */
uint64_t gy_socket_unsent_bytes(int fd);
/* Bytes that have come and were not received; 0 where none are known. */
uint64_t gy_socket_unread_bytes(int fd);
/* The error that has befallen a socket since it was asked for last, as a negative errno; or 0. */
int gy_socket_error(int fd);
/* Whether it is a Unix socket. */
bool gy_socket_is_local(int fd);
/* Makes the close of a socket cut off what has not been sent. */
void gy_socket_reset_on_close(int fd);

#endif
