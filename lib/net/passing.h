/*
 * Sockets that listen, on their way from one process to its successor. They go over a Unix socket
 * of whole messages, each of which has the sockets of one listener, with the text that it was
 * opened by; of a listener with very many there are several.
 */
#ifndef GY_NET_PASSING_H
#define GY_NET_PASSING_H

#include "actor/house.h"

enum {
	GY_PASSING_FDS_MAX = 253, /* of one message, as the kernel has it */
	GY_PASSING_TEXT_MAX = 511,
};

enum gy_passing_kind {
	GY_PASSING_SELF = 1, /* the socket by which successors come */
	GY_PASSING_LISTENER, /* those of a listener */
	GY_PASSING_END,	     /* that was all */
};

struct gy_passing {
	uint32_t kind;
	uint32_t serial; /* of the listener */
	uint32_t count;	 /* of @fds */
	char text[GY_PASSING_TEXT_MAX + 1];
	int fds[GY_PASSING_FDS_MAX];
};

/* Sends a message with copies of its descriptors. Does not wait: -EAGAIN. */
int gy_passing_send(int fd, const struct gy_passing *passing);
/* The next message, whose descriptors are the caller's; -ENODATA when there is no sender any more,
 * -EPROTO for what is no such message. */
int gy_passing_receive(int fd, struct gy_passing *ret_passing);
/* -EPERM unless the process at the other end is of the same user. */
int gy_passing_check_peer(int fd);

/* ---- what was received, until it is listened on; guarded by homes->placing ---- */

struct gy_passed {
	struct gy_list item; /* in homes->passed */
	uint32_t serial;
	uint32_t count;
	char text[GY_PASSING_TEXT_MAX + 1];
	int *fds;
};

/* Takes the descriptors, whatever is returned. Without the mutex. */
int gy_passed_add(struct gy_homes *homes, const struct gy_passing *passing);
/* The first of that text, from now on the caller's; NULL for none. */
struct gy_passed *gy_passed_take(struct gy_homes *homes, const char *text);
/* Not its descriptors. */
void gy_passed_free(struct gy_passed *passed);
/* Closes what nobody listens on; how many listeners' sockets that were. Without the mutex. */
uint32_t gy_passed_drop(struct gy_homes *homes);

#endif
