/*
 * The text of a socket address, taken apart, for those who have to look up the host in it; and
 * addresses as the kernel and resolvers give them.
 */
#ifndef GY_BUFFER_SOCKET_ADDRESS_H
#define GY_BUFFER_SOCKET_ADDRESS_H

#include <gyre/socket_address.h>

enum { GY_HOST_BYTES_MAX = 256 }; /* with its final 0 */

struct gy_socket_text {
	struct gyre_socket_address address; /* of 0 bytes when @host has to be looked up */
	uint16_t port;
	int type;
	char host[GY_HOST_BYTES_MAX]; /* a name, or "" */
};

/* As gyre_socket_address_parse(), but a host's name is no failure. */
int gy_socket_text_parse(const char *text, struct gy_socket_text *ret_parts);

/* @address of @bytes, of a socket of @type; what is longer than an address is cut off. */
void gy_socket_address_set(struct gyre_socket_address *address, int type,
			   const struct sockaddr *from, socklen_t bytes);
void gy_socket_address_set_port(struct gyre_socket_address *address, uint16_t port);

/* The address that a socket is bound to, or connected with; a negative errno. */
int gy_socket_address_of(int fd, struct gyre_socket_address *ret_address);
int gy_socket_address_of_peer(int fd, struct gyre_socket_address *ret_address);

#endif
