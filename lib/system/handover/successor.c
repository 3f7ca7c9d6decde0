/*
 * Succeeding: the new process asks the old one for its sockets, message by message, before its
 * loops turn; so it may wait, with a limit for each. The first message has the very socket by which
 * it came, on which it will wait for its own successor: so the path always leads to somebody.
 *
 * An old process that ends in the midst of that is no reason to fail. What had come is given up,
 * for it is not all, and the search begins again: it finds nobody, so that this one is the first,
 * or another that was quicker. Where nobody was found and then the place is taken, it begins again
 * too.
 */
#include <gyre/handover.h>

#include <errno.h>
#include <string.h>
#include <sys/time.h>

#include "net/bind.h"
#include "net/fd_passing.h"
#include "net/socket_file.h"
#include "net/socket_registry.h"
#include "ring/descriptor.h"
#include "ring/socket.h"
#include "system/handover/handover.h"
#include "system/system.h"

enum { MESSAGES_MAX = 65536, BACKLOG = 4, MODE = 0600, ENDS_MAX = 64 };

static const uint64_t patience_ns = GYRE_SECONDS(GYRE_HANDOVER_SECONDS);

static const char *remedy(int error)
{
	switch (error) {
	case -EACCES:
		return "it is of another user, or its path may not be used: one user has to run "
		       "both processes";
	case -ETIMEDOUT:
		return "the old process does not answer: end it, and start this one again";
	case -EMFILE:
		return "too few descriptors are allowed: see `ulimit -n`";
	case -ECONNABORTED:
		return "the old process has refused, and goes on: see its log";
	case -ENODATA:
		return "one after the other that was found there has ended: see their logs";
	case -EPROTO:
		return "what answers there is no system that hands over now: it may be of "
		       "another version; end it, and start this one again";
	default:
		return "it must be unix:PATH, where PATH can be a socket of this user's";
	}
}

static int explain(const struct gyre_system *system, int error)
{
	gy_log(&system->log, GYRE_LOG_ERROR, "cannot succeed anybody at handover %s: %s; %s",
	       system->options.handover, strerrordesc_np(-error), remedy(error));
	return error;
}

/* ---- the messages ---- */

static int take(struct gyre_system *system, const struct gy_fd_message *passing)
{
	struct gy_succession *succession = system->succession;

	if ((passing->kind == GY_FD_MESSAGE_LISTENER || passing->kind == GY_FD_MESSAGE_DATAGRAMS) &&
	    succession->listen_fd >= 0) {
		return gy_passed_sockets_add(&system->homes, passing);
	}
	if (passing->kind == GY_FD_MESSAGE_SELF && succession->listen_fd < 0 &&
	    passing->count == 1) {
		succession->listen_fd = passing->fds[0];
		/* The predecessor does the same; a loop must never wait here. */
		return gy_descriptor_set_nonblocking(passing->fds[0]);
	}
	for (uint32_t i = 0; i < passing->count; i++) {
		(void)gy_descriptor_close(passing->fds[i]);
	}
	return -EPROTO;
}

static int ask(int fd, struct gy_fd_message *ret_passing)
{
	const char asks = GY_SUCCESSOR_ASKS;
	int64_t sent;
	int r;

	do { /* a call with a time-out is interrupted when a ring of this thread is taken down */
		sent = gy_socket_send(fd, &asks, 1, 0);
	} while (sent == -EINTR);
	r = sent == 1 ? gy_fd_message_receive(fd, ret_passing) : (int)sent;
	if (r == -EPIPE || r == -ECONNRESET) {
		return -ENODATA; /* it has gone */
	}
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

/* It stops, as by a signal, and says so again and again: this one comes after it, as the first. */
static int await_end(const struct gyre_system *system)
{
	struct gy_fd_message passing = { .kind = GY_FD_MESSAGE_ENDS };
	int r = 0;

	gy_log(&system->log, GYRE_LOG_INFO,
	       "handover at %s: the process that runs there is being stopped; waiting for its end",
	       system->options.handover);
	while (r == 0 && passing.kind == GY_FD_MESSAGE_ENDS) {
		r = gy_fd_message_receive(system->succession->predecessor_fd, &passing);
	}
	if (r == 0) {
		return -EPROTO;
	}
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

static int ask_for_all(struct gyre_system *system)
{
	struct gy_succession *succession = system->succession;
	struct gy_fd_message passing;
	int r = gy_fd_message_check_peer(succession->predecessor_fd);

	if (r == -EPERM) {
		return -EACCES;
	}
	for (uint32_t i = 0; i < MESSAGES_MAX && r == 0; i++) {
		r = ask(succession->predecessor_fd, &passing);
		if (r == 0 && passing.kind == GY_FD_MESSAGE_END) {
			return succession->listen_fd >= 0 ? 0 : -EPROTO;
		}
		if (r == 0 && passing.kind == GY_FD_MESSAGE_REFUSED) {
			return -ECONNABORTED;
		}
		if (r == 0 && passing.kind == GY_FD_MESSAGE_ENDS) {
			return await_end(system);
		}
		if (r == 0) {
			r = take(system, &passing);
		}
	}
	return r == 0 ? -EPROTO : r;
}

/* ---- finding each other ---- */

/* Nobody is there: this is the first. */
static int open_point(struct gy_succession *succession, const struct gyre_socket_address *address)
{
	int fd = gy_socket_open(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0) {
		return fd;
	}
	if (gy_socket_file_is_one(address)) {
		r = gy_socket_file_bind(fd, address, MODE, BACKLOG);
	} else {
		r = gy_socket_bind(fd, (const struct sockaddr *)&address->storage, address->bytes);
		r = r < 0 ? r : gy_socket_listen(fd, BACKLOG);
	}
	if (r < 0) {
		(void)gy_descriptor_close(fd);
		return r;
	}
	succession->listen_fd = fd;
	return r;
}

/* Connects. Like sending above this is interrupted, and then has done nothing. */
static int connect_to(int fd, const struct gyre_socket_address *address)
{
	int r;

	do {
		r = gy_socket_connect(fd, (const struct sockaddr *)&address->storage,
				      address->bytes);
	} while (r == -EINTR);
	return r;
}

/* -ENOENT or -ECONNREFUSED when nobody is there. */
static int find_predecessor(struct gy_succession *succession,
			    const struct gyre_socket_address *address)
{
	const struct timeval patience = { .tv_sec = GYRE_HANDOVER_SECONDS };
	int fd = gy_socket_open(AF_UNIX, SOCK_SEQPACKET, 0);
	int r;

	if (fd < 0) {
		return fd;
	}
	r = gy_socket_set_option(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (r == 0) {
		r = gy_socket_set_option(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	}
	if (r == 0) {
		r = connect_to(fd, address);
	}
	if (r < 0) {
		(void)gy_descriptor_close(fd);
		return r == -EAGAIN ? -ETIMEDOUT : r;
	}
	succession->predecessor_fd = fd;
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0) {
		(void)gy_descriptor_close(*fd);
		*fd = -1;
	}
}

/* Restores the state before the predecessor was found. */
static void forget(struct gyre_system *system)
{
	struct gy_succession *succession = system->succession;

	(void)gy_passed_sockets_drop(&system->homes);
	close_one(&succession->listen_fd);
	close_one(&succession->predecessor_fd);
}

/* Succeeds somebody, or is the first; -ENODATA for somebody who has ended. -EADDRINUSE when another
 * became the first in the meantime, or is about to: a name without a file is taken before its
 * socket listens. @ret_killed: whether one before this was killed, it seems. */
static int settle(struct gyre_system *system, const struct gyre_socket_address *address,
		  bool *ret_killed)
{
	int r = find_predecessor(system->succession, address);

	if (r == 0) {
		r = ask_for_all(system);
	} else if (r == -ENOENT || r == -ECONNREFUSED) {
		*ret_killed = *ret_killed || r == -ECONNREFUSED;
		return open_point(system->succession, address);
	}
	if (r == -ENODATA || r == -ECONNRESET) {
		forget(system);
		*ret_killed = true;
		return -ENODATA;
	}
	return r;
}

static int settle_at_last(struct gyre_system *system, const struct gyre_socket_address *address)
{
	uint64_t end_ns = gy_clock_machine_ns() + patience_ns;
	uint32_t ends = 0;
	bool killed = false;
	int r;

	do {
		r = settle(system, address, &killed);
	} while (
		(r == -ENODATA && ++ends < ENDS_MAX) ||
		(r == -EADDRINUSE && !gy_socket_file_is_strange(address) && gy_bind_pause(end_ns)));
	if (r == 0 && killed && system->succession->predecessor_fd < 0) {
		system->net.bound_until_ns = gy_clock_machine_ns() + patience_ns;
	}
	return r;
}

static int begin(struct gyre_system *system, struct gyre_socket_address *address)
{
	int r = gyre_socket_address_parse(system->options.handover, address);

	if (r == 0 && (address->storage.ss_family != AF_UNIX || address->type != SOCK_STREAM)) {
		r = -EINVAL;
	}
	if (r < 0) {
		return r;
	}
	address->type = SOCK_SEQPACKET;
	return settle_at_last(system, address);
}

int gy_succession_begin(struct gyre_system *system)
{
	struct gyre_socket_address address;
	int r;

	if (system->options.handover == NULL) {
		return 0;
	}
	system->succession = (struct gy_succession *)gy_memory_get(sizeof(*system->succession));
	if (system->succession == NULL) {
		return -ENOMEM;
	}
	system->succession->listen_fd = -1;
	system->succession->predecessor_fd = -1;
	r = begin(system, &address);
	if (r < 0) {
		return explain(system, r);
	}
	gy_log(&system->log, GYRE_LOG_INFO, "handover at %s: %s", system->options.handover,
	       system->succession->predecessor_fd >= 0 ? "succeeds a running process"
						       : "is the first");
	gy_socket_file_set(&system->succession->file, &address);
	return gy_handover_spawn(system);
}

void gy_succession_give_up(struct gyre_system *system)
{
	struct gy_succession *succession = system->succession;
	char byte;

	if (succession != NULL && succession->predecessor_fd >= 0 && !succession->told &&
	    gy_socket_receive(succession->predecessor_fd, &byte, 1, MSG_DONTWAIT) == 0) {
		(void)gy_descriptor_close(succession->predecessor_fd);
		succession->predecessor_fd = -1;
		gy_socket_registry_keep(&system->homes);
	}
}

/* Without a start all is the predecessor's as before. */
void gy_succession_end(struct gyre_system *system)
{
	struct gy_succession *succession = system->succession;

	(void)gy_passed_sockets_drop(&system->homes);
	if (succession != NULL) {
		if (succession->predecessor_fd < 0 || succession->told) {
			gy_socket_file_remove(&succession->file);
		}
		close_one(&succession->listen_fd);
		close_one(&succession->predecessor_fd);
		gy_memory_put(succession);
		system->succession = NULL;
	}
}
