/*
 * Sockets that listen already when the program starts, or are bound for datagrams: given by a
 * supervisor, as systemd does. They are the descriptors from 3 on, LISTEN_FDS of them, with the
 * names in LISTEN_FDNAMES, and meant for the process of LISTEN_PID alone. Any other descriptor can
 * be given by its number.
 *
 * What is used is a duplicate: the socket itself stays open, and goes on collecting connections for
 * whoever listens on it next.
 */
#include "net/inherit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/environment.h"
#include "buffer/socket_address.h"
#include "net/sockets.h"
#include "ring/descriptor.h"
#include "ring/socket.h"

enum { FIRST_FD = 3, FDS_MAX = 4096 };

static const char scheme[] = "fd:";

bool gy_inherit_is_meant(const char *text)
{
	return strncasecmp(text, scheme, sizeof(scheme) - 1) == 0;
}

/* A decimal number up to @max; -1 for what is none. */
static int number_of(const char *text, long max)
{
	size_t digits = text == NULL ? 0 : strspn(text, "0123456789");
	long number;

	if (digits == 0 || digits > 9 || text[digits] != '\0') {
		return -1;
	}
	number = strtol(text, NULL, 10);
	return number > max ? -1 : (int)number;
}

/* Whether the descriptor after @skipped names is called @name. */
static bool is_called(const char *names, int skipped, const char *name)
{
	size_t bytes = strlen(name);

	for (; skipped > 0 && names != NULL; skipped--) {
		names = strchr(names, ':');
		names = names == NULL ? NULL : names + 1;
	}
	return names != NULL && strcspn(names, ":") == bytes && memcmp(names, name, bytes) == 0;
}

static bool listens(int fd)
{
	int listens = 0;

	return gy_socket_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, sizeof(listens)) == 0 &&
	       listens != 0;
}

static int take(int fd, const struct gy_listen_params *listening, int *ret_fd)
{
	struct gyre_socket_address address;
	int r = gy_socket_address_of(fd, &address);

	if (r < 0) {
		return r;
	}
	if (listening->datagrams ? address.type != SOCK_DGRAM
				 : address.type != SOCK_STREAM || !listens(fd)) {
		return -EINVAL;
	}
	if (!listening->datagrams) {
		r = gy_sockets_adopt(fd, &address, listening);
		if (r < 0) {
			return r;
		}
	}
	r = gy_descriptor_duplicate(fd, 0);
	if (r < 0) {
		return r;
	}
	*ret_fd = r;
	return 0;
}

static int take_named(const char *name, const struct gy_listen_params *listening, uint32_t max,
		      int *ret_fds)
{
	int count = number_of(gy_environment_value("LISTEN_FDS"), FDS_MAX);
	uint32_t taken = 0;
	int r = 0;

	if (count < 0 || number_of(gy_environment_value("LISTEN_PID"), INT32_MAX) !=
				 (int)gy_environment_process()) {
		return -ENOENT;
	}
	for (int i = 0; i < count && r == 0; i++) {
		if (is_called(gy_environment_value("LISTEN_FDNAMES"), i, name)) {
			r = taken == max ? -ENOBUFS
					 : take(FIRST_FD + i, listening, &ret_fds[taken]);
			taken += r == 0;
		}
	}
	if (r == 0 && taken == 0) {
		r = -ENOENT;
	}
	while (r < 0 && taken > 0) {
		(void)gy_descriptor_close(ret_fds[--taken]);
	}
	return r < 0 ? r : (int)taken;
}

static const char *remedy(const struct gy_listen_params *listening, int error)
{
	switch (error) {
	case -ENOENT:
		return "no socket of that name was given to this process: see LISTEN_FDS, "
		       "LISTEN_PID and LISTEN_FDNAMES in sd_listen_fds(3)";
	case -ENOBUFS:
		return "there are more sockets of that name than loops";
	default:
		return listening->datagrams ? "it must be a socket of datagrams"
					    : "it must be a stream socket that listens";
	}
}

int gy_inherit(const struct gy_listen_params *listening, uint32_t max, int *ret_fds)
{
	const char *name = listening->text + sizeof(scheme) - 1;
	int fd = number_of(name, INT32_MAX);
	int r;

	if (fd >= 0) {
		r = take(fd, listening, ret_fds);
		r = r < 0 ? r : 1;
	} else {
		r = take_named(name, listening, max, ret_fds);
	}
	if (r < 0) {
		gy_log(listening->log, GYRE_LOG_ERROR, "cannot %s %s: %s; %s",
		       listening->datagrams ? "receive from" : "listen on", listening->text,
		       strerror(-r), remedy(listening, r));
	}
	return r;
}
