/*
 * Socket addresses: the place of a socket, as a value, together with the kind of socket that its
 * text asked for. The families are IPv4, IPv6 and Unix.
 *
 * - tcp://HOST:PORT and udp://HOST:PORT, a stream or datagrams; HOST is a name, an IPv4 address of
 *   four decimal numbers, or an IPv6 address in brackets, with a scope as in [fe80::1%eth0]
 * - unix:PATH and unix+dgram:PATH, a stream or datagrams; "@NAME" as PATH is an abstract name
 *
 * Schemes may be written in capitals. A name does not end in a number: "1.2.3" and "0x7f.1", which
 * resolvers take for IPv4 addresses, are refused.
 */
#ifndef GYRE_SOCKET_ADDRESS_H
#define GYRE_SOCKET_ADDRESS_H

#include <sys/socket.h>

#include <gyre/api.h>

GYRE_BEGIN_DECLS

/** GYRE_SOCKET_ADDRESS_BYTES_MAX - the longest address, in bytes: a struct sockaddr_storage */
#define GYRE_SOCKET_ADDRESS_BYTES_MAX 128

/** GYRE_SOCKET_ADDRESS_TEXT_MAX - the longest text of an address, in bytes, with its final 0 */
#define GYRE_SOCKET_ADDRESS_TEXT_MAX 160

/**
 * struct gyre_socket_address - an address of a socket
 * @bytes: how many bytes of @storage are used; 0 is no address
 * @type: SOCK_STREAM or SOCK_DGRAM
 * @storage: as the kernel knows it, of the family in its ss_family
 */
struct gyre_socket_address {
	socklen_t bytes;
	int type;
	struct sockaddr_storage storage;
};

/**
 * gyre_socket_address_parse() - parses the text of an address, without a host's name
 * @text: as described at the head of this file. "*" as HOST is every address of the machine, the
 *   same as [::], which includes IPv4 where gyre binds it
 * @ret_address: the address
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL        an argument is NULL, or @text cannot be understood
 *   -ENAMETOOLONG  a Unix path of more than 107 bytes, or a host of more than 255
 *   -ENODEV        the machine has no interface with the scope's name
 *   -ENOENT        HOST is a name, which has to be looked up
 *   others         the kernel would not say what the scope's name stands for
 * Ownership: @text stays the caller's.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API int gyre_socket_address_parse(const char *text, struct gyre_socket_address *ret_address);

/**
 * gyre_socket_address_text_type() - the kind of socket that the text of an address asks for
 * @text: as described at the head of this file
 *
 * Only the scheme is looked at: the rest may be a name, or wrong. So a program knows whether an
 * address is for gyre_system_listen() or for gyre_system_datagram_open() before the address is
 * looked up.
 *
 * Return: SOCK_STREAM or SOCK_DGRAM, or a negative errno.
 * Errors:
 *   -EINVAL  @text is NULL or does not begin with a scheme; "fd:", which sockets of either kind are
 *            given by, is none
 * Ownership: @text stays the caller's.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API int gyre_socket_address_text_type(const char *text);

/**
 * gyre_socket_address_format() - writes an address as text that can be parsed again
 * @address: the address
 * @bytes: how many bytes @ret_text has, at least GYRE_SOCKET_ADDRESS_TEXT_MAX for any address
 * @ret_text: the text, with its final 0
 *
 * A Unix socket without a name, which most that connect are, is "unix:": this names nobody and
 * cannot be parsed again.
 *
 * Return: the number of bytes written, without the final 0, or a negative errno.
 * Errors:
 *   -EINVAL    an argument is NULL, @address is of no known family or kind, or there is a 0 in its
 *              abstract name
 *   -EMSGSIZE  @bytes is too small
 * Ownership: nothing changes hands.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API int gyre_socket_address_format(const struct gyre_socket_address *address, size_t bytes,
					char *ret_text);

/**
 * gyre_socket_address_port() - the port of an address
 * @address: the address; NULL is no address
 *
 * Return: the port in the byte order of the machine, or 0 when there is none.
 * Ownership: nothing changes hands.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API uint16_t gyre_socket_address_port(const struct gyre_socket_address *address);

/**
 * gyre_socket_address_equal() - whether two addresses and their kinds of socket are equal
 * @a: the first; NULL is no address
 * @b: the second; NULL is no address
 *
 * Return: true if they are equal.
 * Ownership: nothing changes hands.
 * Context: any thread.
 * Since: 0.1
 */
GYRE_API bool gyre_socket_address_equal(const struct gyre_socket_address *a,
					const struct gyre_socket_address *b);

GYRE_END_DECLS

#endif
