/*
 * Passing sockets: messages with descriptors, and the store of what has come. The kernel makes a
 * descriptor that is sent one of the receiver too; the socket, with all that waits in its backlog,
 * is the same. What comes from another process is looked at in full before it is believed.
 */
#include "net/fd_passing.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/environment.h"
#include "base/memory/memory.h"
#include "net/net_state.h"
#include "ring/descriptor.h"
#include "ring/socket.h"

/* "gyr" and a version. */
static const uint32_t magic = 0x67797201;

struct head {
	uint32_t magic;
	uint32_t kind;
	uint32_t serial;
	uint32_t count;
	char text[GY_FD_MESSAGE_TEXT_MAX + 1];
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(GY_FD_MESSAGE_FDS_MAX * sizeof(int))];
};

int gy_fd_message_send(int fd, const struct gy_fd_message *passing)
{
	struct head head = { .magic = magic,
			     .kind = passing->kind,
			     .serial = passing->serial,
			     .count = passing->count };
	struct iovec bytes = { &head, sizeof(head) };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	int64_t r;

	gy_assert(passing->count <= GY_FD_MESSAGE_FDS_MAX);
	memcpy(head.text, passing->text, sizeof(head.text));
	if (passing->count > 0) {
		struct cmsghdr *rights = &control.align;

		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(passing->count * sizeof(int));
		memcpy(CMSG_DATA(rights), passing->fds, passing->count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(passing->count * sizeof(int));
	}
	r = gy_socket_send_message(fd, &message, MSG_DONTWAIT);
	return r < 0 ? (int)r : 0;
}

/* The kernel puts all of a message together. */
static void take_descriptors(struct msghdr *message, struct gy_fd_message *passing)
{
	const struct cmsghdr *rights = CMSG_FIRSTHDR(message);

	if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
		passing->count = (uint32_t)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(passing->fds, CMSG_DATA(rights), passing->count * sizeof(int));
	}
}

static bool is_of(int fd, int name, int value)
{
	int is = -1;

	return gy_socket_option(fd, SOL_SOCKET, name, &is, sizeof(is)) == 0 && is == value;
}

/* Whether the descriptors are what messages of their kind have. */
static bool are_as_said(const struct gy_fd_message *passing)
{
	int type = passing->kind == GY_FD_MESSAGE_SELF	     ? SOCK_SEQPACKET
		   : passing->kind == GY_FD_MESSAGE_LISTENER ? SOCK_STREAM
							     : SOCK_DGRAM;

	if (passing->kind == GY_FD_MESSAGE_END || passing->kind >= GY_FD_MESSAGE_REFUSED) {
		return passing->count == 0;
	}
	for (uint32_t i = 0; i < passing->count; i++) {
		if (!is_of(passing->fds[i], SO_TYPE, type) ||
		    (type != SOCK_DGRAM && !is_of(passing->fds[i], SO_ACCEPTCONN, 1))) {
			return false;
		}
	}
	return passing->kind == GY_FD_MESSAGE_SELF ? passing->count == 1 : passing->count > 0;
}

static int check(const struct head *head, int64_t bytes, const struct msghdr *message,
		 uint32_t count)
{
	if (bytes == 0) {
		return -ENODATA;
	}
	if ((message->msg_flags & MSG_CTRUNC) != 0) {
		return -EMFILE; /* there was no room for all descriptors */
	}
	return bytes != (int64_t)sizeof(*head) || (message->msg_flags & MSG_TRUNC) != 0 ||
			       head->magic != magic || head->count != count ||
			       head->kind < GY_FD_MESSAGE_SELF || head->kind > GY_FD_MESSAGE_ENDS ||
			       memchr(head->text, '\0', sizeof(head->text)) == NULL
		       ? -EPROTO
		       : 0;
}

int gy_fd_message_receive(int fd, struct gy_fd_message *ret_passing)
{
	struct head head = { 0 };
	struct iovec bytes = { &head, sizeof(head) };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct gy_fd_message passing = { 0 };
	int64_t got;
	int r;

	do {
		got = gy_socket_receive_message(fd, &message, 0);
	} while (got == -EINTR);
	if (got < 0) {
		return got == -ECONNRESET ? -ENODATA : (int)got;
	}
	take_descriptors(&message, &passing);
	r = check(&head, got, &message, passing.count);
	passing.kind = head.kind;
	if (r == 0 && !are_as_said(&passing)) {
		r = -EPROTO;
	}
	if (r < 0) {
		while (passing.count > 0) {
			(void)gy_descriptor_close(passing.fds[--passing.count]);
		}
		return r;
	}
	passing.serial = head.serial;
	memcpy(passing.text, head.text, sizeof(passing.text));
	*ret_passing = passing;
	return 0;
}

int gy_fd_message_read_successor(int fd)
{
	unsigned char said[2] = { 0 };
	int64_t got = gy_socket_receive(fd, said, sizeof(said), MSG_DONTWAIT);

	if (got < 0) {
		return got == -EINTR ? -EAGAIN : got == -ECONNRESET ? -ENODATA : (int)got;
	}
	if (got == 0) {
		return -ENODATA;
	}
	return got == 1 && (said[0] == GY_SUCCESSOR_ASKS || said[0] == GY_SUCCESSOR_RUNS) ? said[0]
											  : -EPROTO;
}

/* In this order: it may say that it runs, and end, at any time. */
bool gy_fd_message_is_wanted(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };
	char said = 0;

	if (gy_descriptor_poll(&end, 1, 0) <= 0) {
		return true;
	}
	return gy_socket_receive(fd, &said, sizeof(said), MSG_PEEK | MSG_DONTWAIT) > 0 &&
	       said == GY_SUCCESSOR_RUNS;
}

bool gy_fd_message_is_refused(int fd)
{
	char said;

	return gy_socket_receive(fd, &said, sizeof(said), MSG_PEEK | MSG_DONTWAIT) > 0;
}

int gy_fd_message_check_peer(int fd)
{
	struct ucred peer;
	int r = gy_socket_option(fd, SOL_SOCKET, SO_PEERCRED, &peer, sizeof(peer));

	if (r < 0) {
		return r;
	}
	return peer.uid == gy_environment_user() || peer.uid == 0 ? 0 : -EPERM;
}

/* ---- what was received ---- */

/* The record of the message before, if this one has more sockets of the same listener. */
static struct gy_passed_sockets *find_last(const struct gy_homes *homes,
					   const struct gy_fd_message *passing)
{
	struct gy_passed_sockets *last = gy_container_of(homes->net->passed_sockets.previous,
							 struct gy_passed_sockets, item);

	return gy_list_empty(&homes->net->passed_sockets) || last->serial != passing->serial ||
			       last->kind != passing->kind
		       ? NULL
		       : last;
}

static int append(struct gy_homes *homes, const struct gy_fd_message *passing)
{
	struct gy_passed_sockets *passed = find_last(homes, passing);
	bool is_new = passed == NULL;
	int *fds;

	if (is_new) {
		passed = (struct gy_passed_sockets *)gy_memory_get(sizeof(*passed));
		if (passed == NULL) {
			return -ENOMEM;
		}
		passed->kind = passing->kind;
		passed->serial = passing->serial;
		memcpy(passed->text, passing->text, sizeof(passed->text));
	}
	gy_assert(passing->count > 0 && passed->kind == passing->kind);
	fds = (int *)gy_memory_resize(passed->fds, passed->count * sizeof(int),
				      (passed->count + passing->count) * sizeof(int));
	if (fds == NULL) {
		if (is_new) {
			gy_memory_put(passed);
		}
		return -ENOMEM;
	}
	memcpy(fds + passed->count, passing->fds, passing->count * sizeof(int));
	passed->fds = fds;
	passed->count += passing->count;
	if (is_new) {
		gy_list_append(&homes->net->passed_sockets, &passed->item);
	}
	return 0;
}

int gy_passed_sockets_add(struct gy_homes *homes, const struct gy_fd_message *passing)
{
	int r;

	(void)pthread_mutex_lock(&homes->placing);
	r = passing->count == 0 ? -EPROTO : append(homes, passing);
	(void)pthread_mutex_unlock(&homes->placing);
	for (uint32_t i = 0; i < passing->count && r < 0; i++) {
		(void)gy_descriptor_close(passing->fds[i]);
	}
	return r;
}

struct gy_passed_sockets *gy_passed_sockets_take(struct gy_homes *homes,
						 enum gy_fd_message_kind kind, const char *text)
{
	for (struct gy_list *item = homes->net->passed_sockets.next;
	     item != &homes->net->passed_sockets; item = item->next) {
		struct gy_passed_sockets *passed =
			gy_container_of(item, struct gy_passed_sockets, item);

		if (passed->kind == kind && strcmp(passed->text, text) == 0) {
			gy_list_remove(item);
			return passed;
		}
	}
	return NULL;
}

void gy_passed_sockets_destroy(struct gy_passed_sockets *passed)
{
	if (passed == NULL) {
		return;
	}
	for (uint32_t i = 0; i < passed->count; i++) {
		(void)gy_descriptor_close(passed->fds[i]);
	}
	gy_memory_put(passed->fds);
	gy_memory_put(passed);
}

uint32_t gy_passed_sockets_drop(struct gy_homes *homes)
{
	uint32_t dropped = 0;

	(void)pthread_mutex_lock(&homes->placing);
	while (!gy_list_empty(&homes->net->passed_sockets)) {
		struct gy_passed_sockets *passed = gy_container_of(homes->net->passed_sockets.next,
								   struct gy_passed_sockets, item);

		gy_list_remove(&passed->item);
		gy_passed_sockets_destroy(passed);
		dropped++;
	}
	(void)pthread_mutex_unlock(&homes->placing);
	return dropped;
}
