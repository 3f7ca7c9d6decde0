/*
 * Sockets on their way from one process to its successor. They go over a Unix socket of whole
 * messages, each of which has those of one listener, or of one address for datagrams, with the text
 * that they were opened by; where they are very many there are several.
 */
#ifndef GY_NET_FD_PASSING_H
#define GY_NET_FD_PASSING_H

#include "actor/home.h"

enum {
	GY_FD_MESSAGE_FDS_MAX = 253, /* of one message, as the kernel has it */
	GY_FD_MESSAGE_TEXT_MAX = 511,
};

enum gy_fd_message_kind {
	GY_FD_MESSAGE_SELF = 1,	 /* the socket by which successors come */
	GY_FD_MESSAGE_LISTENER,	 /* those of a listener */
	GY_FD_MESSAGE_END,	 /* that was all */
	GY_FD_MESSAGE_DATAGRAMS, /* those of one address for datagrams */
	GY_FD_MESSAGE_REFUSED,	 /* the predecessor goes on; the last message */
	GY_FD_MESSAGE_ENDS,	 /* it stops, for good: more messages, until it has */
};

/* The bytes that a successor sends. */
enum { GY_SUCCESSOR_ASKS = 'n', GY_SUCCESSOR_RUNS = 'r' };

struct gy_fd_message {
	uint32_t kind;
	uint32_t serial; /* of those that belong together */
	uint32_t count;	 /* of @fds */
	char text[GY_FD_MESSAGE_TEXT_MAX + 1];
	int fds[GY_FD_MESSAGE_FDS_MAX];
};

/* Sends a message with copies of its descriptors. Does not wait: -EAGAIN. */
int gy_fd_message_send(int fd, const struct gy_fd_message *passing);
/* The next message, whose descriptors are the caller's, and what they should be; -ENODATA when
 * there is no sender any more, -EPROTO for what is no such message, -EMFILE when there is no room
 * for its descriptors. On failure none is left. */
int gy_fd_message_receive(int fd, struct gy_fd_message *ret_passing);
/* What a successor has said; does not wait. -EAGAIN for nothing, -ENODATA when it has gone, -EPROTO
 * for nonsense. */
int gy_fd_message_read_successor(int fd);
/* Whether the successor is there still, or has run and said so. Reads nothing. */
bool gy_fd_message_is_wanted(int fd);
/* Whether the predecessor has said something unasked, which is that it goes on. Reads nothing. */
bool gy_fd_message_is_refused(int fd);
/* -EPERM unless the process at the other end is of the same user, or the superuser's. */
int gy_fd_message_check_peer(int fd);

/* ---- what was received, until it is listened on; guarded by homes->placing ---- */

struct gy_passed_sockets {
	struct gy_list item; /* in net->passed_sockets */
	enum gy_fd_message_kind kind;
	uint32_t serial;
	uint32_t count;
	char text[GY_FD_MESSAGE_TEXT_MAX + 1];
	int *fds;
};

/* Takes the descriptors, whatever is returned. Without the mutex. */
int gy_passed_sockets_add(struct gy_homes *homes, const struct gy_fd_message *passing);
/* The first of that kind and text, from now on the caller's; NULL for none. */
struct gy_passed_sockets *gy_passed_sockets_take(struct gy_homes *homes,
						 enum gy_fd_message_kind kind, const char *text);
/* Closes its descriptors and frees it; NULL is allowed. */
void gy_passed_sockets_destroy(struct gy_passed_sockets *passed);
/* Closes what nobody listens on; how many addresses that were. Without the mutex. */
uint32_t gy_passed_sockets_drop(struct gy_homes *homes);

#endif
