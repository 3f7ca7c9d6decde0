/*
 * The files of Unix sockets. The kernel makes one where a socket is bound and leaves it there, so
 * that the next who wants to listen finds the name taken by nobody. Whether anybody listens is
 * asked by connecting, without waiting: only a refusal says that nobody does.
 *
 * A socket that is bound and does not listen yet refuses too, and two who find the same file
 * abandoned would each remove what stands there, the second one the other's new file. So whoever
 * binds, listens and replaces does so with a lock: a file beside the socket's, there for as long
 * as that takes.
 *
 * A file is removed by its identity, so that one which a later server has put in its place stays.
 */
#include "net/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/environment.h"
#include "ring/descriptor.h"
#include "ring/file.h"
#include "ring/socket.h"

static const char lock_suffix[] = ".lock";

struct lock {
	char path[GYRE_SOCKET_ADDRESS_BYTES_MAX + sizeof(lock_suffix)];
	int fd;
};

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

	if (gy_file_status(path_of(address), &status) < 0 || !S_ISSOCK(status.st_mode)) {
		return false;
	}
	fd = gy_socket_open(AF_UNIX, address->type | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return false;
	}
	r = gy_socket_connect(fd, (const struct sockaddr *)&address->storage, address->bytes);
	(void)gy_descriptor_close(fd);
	return r == -ECONNREFUSED;
}

int gy_socket_file_permit(const struct gyre_socket_address *address, uint32_t mode)
{
	bool has_none = mode == 0 || !gy_socket_file_is_one(address);

	return has_none ? 0 : gy_file_set_mode(path_of(address), (mode_t)mode);
}

/* ---- the lock ---- */

/* Another user might hold the lock for ever. */
static bool is_trusted(int fd)
{
	struct stat status;

	return gy_descriptor_status(fd, &status) == 0 &&
	       (status.st_uid == gy_environment_user() || status.st_uid == 0);
}

/* Whoever had it before has removed it: then others may have made a new one. */
static bool is_at(int fd, const char *path)
{
	struct stat carried;
	struct stat found;

	return gy_descriptor_status(fd, &carried) == 0 && gy_file_status(path, &found) == 0 &&
	       carried.st_dev == found.st_dev && carried.st_ino == found.st_ino;
}

static int try_lock(struct lock *lock)
{
	int r;

	lock->fd = gy_file_open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock->fd < 0) {
		return lock->fd;
	}
	r = is_trusted(lock->fd) ? gy_file_lock(lock->fd) : -EACCES;
	if (r == 0 && !is_at(lock->fd, lock->path)) {
		r = -EAGAIN;
	}
	if (r < 0) {
		(void)gy_descriptor_close(lock->fd);
	}
	return r;
}

/* The kernel takes it from a holder that is killed. */
static int take_lock(struct lock *lock, const struct gyre_socket_address *address)
{
	int r;

	(void)snprintf(lock->path, sizeof(lock->path), "%s%s", path_of(address), lock_suffix);
	do {
		r = try_lock(lock);
	} while (r == -EAGAIN);
	return r;
}

static void release_lock(struct lock *lock)
{
	(void)gy_file_remove(lock->path); /* first, so that nobody holds one that is not there */
	(void)gy_descriptor_close(lock->fd);
}

/* ---- binding ---- */

/* With the lock. */
static int bind_there(int fd, const struct gyre_socket_address *address, uint32_t mode, int backlog)
{
	const struct sockaddr *name = (const struct sockaddr *)&address->storage;
	/* The file is never more open than it is to be: the kernel takes the mode of the socket. */
	int r = mode == 0 ? 0 : gy_descriptor_set_mode(fd, (mode_t)mode);

	if (r == 0) {
		r = gy_socket_bind(fd, name, address->bytes);
	}
	if (r == -EADDRINUSE && is_abandoned(address) && gy_file_remove(path_of(address)) == 0) {
		r = gy_socket_bind(fd, name, address->bytes);
	}
	if (r < 0) {
		return r;
	}
	r = gy_socket_file_permit(address, mode); /* what the process's mask has taken away */
	if (r == 0 && address->type != SOCK_DGRAM) {
		r = gy_socket_listen(fd, backlog);
	}
	if (r < 0) {
		(void)gy_file_remove(path_of(address));
	}
	return r;
}

int gy_socket_file_bind(int fd, const struct gyre_socket_address *address, uint32_t mode,
			int backlog)
{
	struct lock lock;
	int r = take_lock(&lock, address);

	if (r == 0) {
		r = bind_there(fd, address, mode, backlog);
		release_lock(&lock);
	}
	return r;
}

bool gy_socket_file_is_strange(const struct gyre_socket_address *address)
{
	struct stat status;

	return gy_socket_file_is_one(address) && gy_file_status(path_of(address), &status) == 0 &&
	       !S_ISSOCK(status.st_mode);
}

void gy_socket_file_set(struct gy_socket_file *file, const struct gyre_socket_address *address)
{
	struct stat status;

	*file = (struct gy_socket_file){ 0 };
	if (gy_socket_file_is_one(address) && gy_file_status(path_of(address), &status) == 0) {
		(void)strncpy(file->path, path_of(address), sizeof(file->path) - 1);
		file->device = status.st_dev;
		file->inode = status.st_ino;
	}
}

void gy_socket_file_remove(struct gy_socket_file *file)
{
	struct stat status;

	if (file->path[0] != '\0' && gy_file_status(file->path, &status) == 0 &&
	    status.st_dev == file->device && status.st_ino == file->inode) {
		/* One that cannot be removed is found abandoned one day. */
		(void)gy_file_remove(file->path);
	}
	file->path[0] = '\0';
}
