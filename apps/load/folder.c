/*
 * The folder of Unix sockets of datagrams, which must have names for their answers to come to. An
 * abstract one, as the kernel would choose it, is known in one network namespace only. Where the
 * server is found by a path, which others can reach too, the sockets have paths as well: in a
 * folder of their own, which goes when they are gone, whatever ends the program but SIGKILL. So
 * signals that end programs are blocked from then on, and end the run.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "load.h"

/* Whether it is a Unix socket of datagrams that has a file. */
static bool is_path(const char *text)
{
	struct gyre_socket_address address;
	struct sockaddr_un un;

	if (gyre_socket_address_text_type(text) != SOCK_DGRAM ||
	    gyre_socket_address_parse(text, &address) < 0 || address.storage.ss_family != AF_UNIX) {
		return false;
	}
	memcpy(&un, &address.storage, sizeof(un));
	return un.sun_path[0] != '\0';
}

static void block_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int load_folder_make(struct load_settings *settings)
{
	const char *parent = getenv("TMPDIR");
	int bytes;

	if (!is_path(settings->to)) {
		return 0;
	}
	bytes = snprintf(settings->folder, sizeof(settings->folder), "%s/gyre-load-XXXXXX",
			 parent == NULL || *parent == '\0' ? "/tmp" : parent);
	if (bytes >= (int)sizeof(settings->folder)) {
		settings->folder[0] = '\0';
		return -ENAMETOOLONG;
	}
	block_signals();
	if (mkdtemp(settings->folder) == NULL) {
		settings->folder[0] = '\0';
		return -errno;
	}
	/* As with abstract names, servers of all users can answer; others do not know the name. */
	(void)umask(0);
	return chmod(settings->folder, S_IRWXU | S_IXGRP | S_IXOTH) < 0 ? -errno : 0;
}

void load_folder_remove(const struct load_settings *settings)
{
	if (settings->folder[0] != '\0') {
		(void)rmdir(settings->folder);
	}
}

const char *load_folder_name(const struct load_settings *settings, uint32_t number, char *text)
{
	if (settings->folder[0] == '\0') {
		return NULL;
	}
	(void)snprintf(text, LOAD_NAME_MAX, "unix+dgram:%s/%u", settings->folder, (unsigned)number);
	return text;
}
