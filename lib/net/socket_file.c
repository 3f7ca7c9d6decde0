/*
 * The files of Unix sockets. The kernel makes one where a socket is bound and leaves it there, so
 * that the next who wants to listen finds the name taken by nobody. Whether anybody listens is
 * asked by connecting, without waiting: only a refusal says that nobody does.
 *
 * A file is removed by its identity, so that one which a later server has put in its place stays.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/net.h"

static const char *path_of(const struct gyre_socket_address *address)
{
	return (const char *)&address->storage + offsetof(struct sockaddr_un, sun_path);
}

bool gy_socket_file_is_one(const struct gyre_socket_address *address)
{
	return address->storage.ss_family == AF_UNIX && path_of(address)[0] != '\0';
}

/* Whether it is a socket's file that nobody listens on. */
static bool is_abandoned(const struct gyre_socket_address *address)
{
	struct stat status;
	int fd;
	int r;

	if (lstat(path_of(address), &status) < 0 || !S_ISSOCK(status.st_mode)) {
		return false;
	}
	fd = socket(AF_UNIX, address->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return false;
	}
	r = connect(fd, (const struct sockaddr *)&address->storage, address->bytes) < 0 ? errno : 0;
	(void)close(fd);
	return r == ECONNREFUSED;
}

int gy_socket_file_permit(const struct gyre_socket_address *address, uint32_t mode)
{
	bool has_none = mode == 0 || !gy_socket_file_is_one(address);

	return has_none || chmod(path_of(address), (mode_t)mode) == 0 ? 0 : -errno;
}

int gy_socket_file_bind(int fd, const struct gyre_socket_address *address, uint32_t mode)
{
	const struct sockaddr *name = (const struct sockaddr *)&address->storage;
	int r;

	/* The file is never more open than it is to be: the kernel takes the mode of the socket. */
	if (mode != 0 && fchmod(fd, (mode_t)mode) < 0) {
		return -errno;
	}
	r = bind(fd, name, address->bytes) < 0 ? -errno : 0;
	if (r == -EADDRINUSE && is_abandoned(address) && unlink(path_of(address)) == 0) {
		r = bind(fd, name, address->bytes) < 0 ? -errno : 0;
	}
	if (r < 0) {
		return r;
	}
	r = gy_socket_file_permit(address, mode); /* what the process's mask has taken away */
	if (r < 0) {
		(void)unlink(path_of(address));
	}
	return r;
}

void gy_socket_file_set(struct gy_socket_file *file, const struct gyre_socket_address *address)
{
	struct stat status;

	*file = (struct gy_socket_file){ 0 };
	if (gy_socket_file_is_one(address) && lstat(path_of(address), &status) == 0) {
		(void)strncpy(file->path, path_of(address), sizeof(file->path) - 1);
		file->device = status.st_dev;
		file->inode = status.st_ino;
	}
}

void gy_socket_file_remove(struct gy_socket_file *file)
{
	struct stat status;

	if (file->path[0] != '\0' && lstat(file->path, &status) == 0 &&
	    status.st_dev == file->device && status.st_ino == file->inode) {
		(void)unlink(file->path); /* what cannot be removed is found abandoned one day */
	}
	file->path[0] = '\0';
}
