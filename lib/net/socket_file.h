/*
 * Files of Unix sockets; see socket_file.c.
 */
#ifndef GY_NET_SOCKET_FILE_H
#define GY_NET_SOCKET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gyre/socket_address.h>

struct gy_socket_file {
	char path[GYRE_SOCKET_ADDRESS_BYTES_MAX]; /* "" for none */
	dev_t device;
	ino_t inode;
};

/* Whether a socket bound to @address has a file. */
bool gy_socket_file_is_one(const struct gyre_socket_address *address);
/* Gives the file of a Unix socket its mode, if it has a file and @mode is not 0. */
int gy_socket_file_permit(const struct gyre_socket_address *address, uint32_t mode);
/* Binds a Unix socket to its path, where an abandoned file may stand, and has it listen unless it
 * is for datagrams: in one step for all who do the same there. @mode 0 is as usual. */
int gy_socket_file_bind(int fd, const struct gyre_socket_address *address, uint32_t mode,
			int backlog);
/* Whether the file that stands there is no socket's. */
bool gy_socket_file_is_strange(const struct gyre_socket_address *address);
/* The file that was made there, or none if @address has none. */
void gy_socket_file_set(struct gy_socket_file *file, const struct gyre_socket_address *address);
/* Removes the file if it is still the same; then there is none. */
void gy_socket_file_remove(struct gy_socket_file *file);

#endif
