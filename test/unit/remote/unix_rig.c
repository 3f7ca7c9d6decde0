/*
 * Plain calls: what they find is the kernel's, not gyre's.
 */
#include "remote/unix_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 16, MODE_OF_ALL = 0777 };

static char folder[] = "/tmp/gyre-unix-XXXXXX";

void unix_open(void)
{
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chmod(folder, MODE_OF_ALL), 0);
}

void unix_close(void)
{
	must_hold(rmdir(folder) == 0, "no file of a socket is left");
}

struct unix_place unix_place(const char *name)
{
	struct unix_place place;

	(void)snprintf(place.path, sizeof(place.path), "%s/%s", folder, name);
	(void)snprintf(place.text, sizeof(place.text), "unix:%s", place.path);
	return place;
}

bool unix_exists(const struct unix_place *place)
{
	struct stat status;

	return lstat(place->path, &status) == 0;
}

static struct sockaddr_un name_of(const struct unix_place *place)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s", place->path);
	return name;
}

int unix_listen(const struct unix_place *place)
{
	const struct sockaddr_un name = name_of(place);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ||
			listen(fd, BACKLOG) < 0)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

int unix_connect(const struct unix_place *place)
{
	const struct sockaddr_un name = name_of(place);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

void unix_dial(struct stranger *stranger, const struct unix_place *place)
{
	stranger->listener = -1;
	stranger->literal = false;
	stranger->fd = unix_connect(place);
	cr_assert_geq(stranger->fd, 0, "%s", strerror(errno));
}

void unix_listen_as(struct stranger *stranger, const struct unix_place *place)
{
	stranger->fd = -1;
	stranger->literal = false;
	stranger->listener = unix_listen(place);
	cr_assert_geq(stranger->listener, 0, "%s", strerror(errno));
}
