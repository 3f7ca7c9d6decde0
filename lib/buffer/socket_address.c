/*
 * Socket addresses as text. The text is a scheme, which gives the kind of socket, and what the
 * scheme's family has behind it: a host and a port, or a path. One table of schemes serves both
 * directions, so that what is written can be read.
 *
 * Whatever looks like an address is one, and all else that may stand in a name is a name, but what
 * ends in a number: resolvers take such for IPv4 in ways of their own, octal and hexadecimal and
 * with parts left out, and no domain of the first level is one. The parser does not guess: an IPv6
 * address stands in brackets and nothing else does, a port is decimal.
 */
#include "buffer/socket_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/macros.h"
#include "ring/host.h"
#include "ring/socket.h"

enum { PORT_DIGITS_MAX = 5 };

_Static_assert(sizeof(struct sockaddr_storage) == GYRE_SOCKET_ADDRESS_BYTES_MAX, "as promised");

struct scheme {
	const char *text;
	bool unix_path;
	int type;
};

static const struct scheme schemes[] = {
	{ "tcp://", false, SOCK_STREAM },
	{ "udp://", false, SOCK_DGRAM },
	{ "unix:", true, SOCK_STREAM },
	{ "unix+dgram:", true, SOCK_DGRAM },
};

/* ---- parsing ---- */

static int parse_path(const char *path, int type, struct gyre_socket_address *address)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t bytes = strlen(path);
	bool abstract = path[0] == '@';

	if (bytes == 0 || (abstract && bytes == 1)) {
		return -EINVAL;
	}
	if (bytes >= sizeof(un.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(un.sun_path, path, bytes);
	if (abstract) {
		un.sun_path[0] = '\0';
	}
	bytes += offsetof(struct sockaddr_un, sun_path) + (abstract ? 0 : 1);
	gy_socket_address_set(address, type, (const struct sockaddr *)&un, (socklen_t)bytes);
	return 0;
}

static int parse_port(const char *text, uint16_t *ret_port)
{
	size_t digits = strlen(text);
	unsigned long port;

	if (digits == 0 || digits > PORT_DIGITS_MAX || strspn(text, "0123456789") != digits) {
		return -EINVAL;
	}
	port = strtoul(text, NULL, 10);
	if (port > UINT16_MAX) {
		return -EINVAL;
	}
	*ret_port = (uint16_t)port;
	return 0;
}

static int parse_scope(const char *text, uint32_t *ret_scope)
{
	size_t bytes = strlen(text);

	if (bytes == 0) {
		return -EINVAL;
	}
	if (bytes >= IF_NAMESIZE) {
		return -ENODEV;
	}
	if (strspn(text, "0123456789") == bytes) {
		unsigned long number = strtoul(text, NULL, 10);

		if (number == 0 || number > INT32_MAX) {
			return -ENODEV;
		}
		*ret_scope = (uint32_t)number;
		return 0;
	}
	return gy_interface_index(text, ret_scope);
}

/* @host is what stands in brackets, and may be changed. */
static int parse_six(char *host, struct gy_socket_text *parts)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(parts->port) };
	char *percent = strchr(host, '%');
	int r = 0;

	if (percent != NULL) {
		*percent = '\0';
	}
	if (inet_pton(AF_INET6, host, &six.sin6_addr) != 1) {
		return -EINVAL;
	}
	if (percent != NULL) {
		r = parse_scope(percent + 1, &six.sin6_scope_id);
	}
	if (r == 0) {
		gy_socket_address_set(&parts->address, parts->type, (const struct sockaddr *)&six,
				      sizeof(six));
	}
	return r;
}

/* Whether it may be a host's name; names of other alphabets are left to resolvers. */
static bool is_name(const char *host)
{
	for (; *host != '\0'; host++) {
		if ((unsigned char)*host <= ' ' || *host == '\x7f' ||
		    strchr("/@[]%?#*\\:\"", *host) != NULL) {
			return false;
		}
	}
	return true;
}

/* Whether its last label, but for the root's, is one: decimal, or hexadecimal with or without
 * digits. */
static bool ends_in_number(const char *host)
{
	size_t bytes = strlen(host);
	size_t end = bytes > 0 && host[bytes - 1] == '.' ? bytes - 1 : bytes;
	size_t begin = end;
	const char *label;

	while (begin > 0 && host[begin - 1] != '.') {
		begin--;
	}
	label = host + begin;
	if (begin == end) {
		return false;
	}
	return strspn(label, "0123456789") >= end - begin ||
	       (strncasecmp(label, "0x", 2) == 0 &&
		strspn(label + 2, "0123456789abcdefABCDEF") >= end - begin - 2);
}

static int parse_host(const char *host, struct gy_socket_text *parts)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(parts->port) };

	if (strcmp(host, "*") == 0) {
		char any[] = "::";

		return parse_six(any, parts);
	}
	if (inet_pton(AF_INET, host, &four.sin_addr) == 1) {
		gy_socket_address_set(&parts->address, parts->type, (const struct sockaddr *)&four,
				      sizeof(four));
		return 0;
	}
	return is_name(host) && !ends_in_number(host) ? 0 : -EINVAL;
}

static int parse_host_and_port(const char *text, struct gy_socket_text *parts)
{
	const char *colon = strrchr(text, ':');
	size_t bytes = colon == NULL ? 0 : (size_t)(colon - text);
	int r;

	if (bytes == 0) {
		return -EINVAL;
	}
	r = parse_port(colon + 1, &parts->port);
	if (r < 0) {
		return r;
	}
	if (bytes >= sizeof(parts->host)) {
		return -ENAMETOOLONG;
	}
	memcpy(parts->host, text, bytes);
	if (text[0] != '[') {
		return parse_host(parts->host, parts);
	}
	if (text[bytes - 1] != ']') {
		return -EINVAL;
	}
	parts->host[bytes - 1] = '\0';
	return parse_six(parts->host + 1, parts);
}

static const struct scheme *find_scheme(const char *text)
{
	for (size_t i = 0; i < gy_countof(schemes); i++) {
		if (strncasecmp(text, schemes[i].text, strlen(schemes[i].text)) == 0) {
			return &schemes[i];
		}
	}
	return NULL;
}

int gy_socket_text_parse(const char *text, struct gy_socket_text *ret_parts)
{
	const struct scheme *scheme = find_scheme(text);
	struct gy_socket_text parts = { 0 };
	int r;

	if (scheme == NULL) {
		return -EINVAL;
	}
	text += strlen(scheme->text);
	parts.type = scheme->type;
	r = scheme->unix_path ? parse_path(text, scheme->type, &parts.address)
			      : parse_host_and_port(text, &parts);
	if (r == 0) {
		*ret_parts = parts;
		ret_parts->host[0] = parts.address.bytes == 0 ? parts.host[0] : '\0';
	}
	return r;
}

int gyre_socket_address_text_type(const char *text)
{
	const struct scheme *scheme = text == NULL ? NULL : find_scheme(text);

	return scheme == NULL ? -EINVAL : scheme->type;
}

int gyre_socket_address_parse(const char *text, struct gyre_socket_address *ret_address)
{
	struct gy_socket_text parts;
	int r;

	if (text == NULL || ret_address == NULL) {
		return -EINVAL;
	}
	r = gy_socket_text_parse(text, &parts);
	if (r == 0 && parts.address.bytes == 0) {
		r = -ENOENT;
	}
	if (r == 0) {
		*ret_address = parts.address;
	}
	return r;
}

/* ---- formatting ---- */

struct text {
	char bytes[GYRE_SOCKET_ADDRESS_TEXT_MAX];
};

static int format_path(const char *scheme, const struct gyre_socket_address *address,
		       struct text *text)
{
	struct sockaddr_un un;
	size_t bytes = address->bytes - offsetof(struct sockaddr_un, sun_path);
	bool abstract;

	if (address->bytes > sizeof(un) ||
	    address->bytes < offsetof(struct sockaddr_un, sun_path)) {
		return -EINVAL;
	}
	memcpy(&un, &address->storage, address->bytes);
	abstract = bytes > 0 && un.sun_path[0] == '\0';
	if (abstract) {
		un.sun_path[0] = '@';
		if (bytes == 1 || memchr(un.sun_path, '\0', bytes) != NULL) {
			return -EINVAL;
		}
	}
	return snprintf(text->bytes, sizeof(text->bytes), "%s%.*s", scheme, (int)bytes,
			un.sun_path);
}

static int format_six(const char *scheme, const struct gyre_socket_address *address,
		      struct text *text)
{
	struct sockaddr_in6 six;
	char host[INET6_ADDRSTRLEN];
	char scope[1 + IF_NAMESIZE] = "";

	memcpy(&six, &address->storage, sizeof(six));
	(void)inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof(host));
	if (six.sin6_scope_id != 0) {
		scope[0] = '%';
		if (gy_interface_name(six.sin6_scope_id, scope + 1) < 0) {
			(void)snprintf(scope + 1, sizeof(scope) - 1, "%u", six.sin6_scope_id);
		}
	}
	return snprintf(text->bytes, sizeof(text->bytes), "%s[%s%s]:%u", scheme, host, scope,
			(unsigned)ntohs(six.sin6_port));
}

static int format_four(const char *scheme, const struct gyre_socket_address *address,
		       struct text *text)
{
	struct sockaddr_in four;
	char host[INET_ADDRSTRLEN];

	memcpy(&four, &address->storage, sizeof(four));
	(void)inet_ntop(AF_INET, &four.sin_addr, host, sizeof(host));
	return snprintf(text->bytes, sizeof(text->bytes), "%s%s:%u", scheme, host,
			(unsigned)ntohs(four.sin_port));
}

/* AF_UNSPEC for what is too short for its family. */
static int family_of(const struct gyre_socket_address *address)
{
	int family = address->storage.ss_family;

	if ((family == AF_INET && address->bytes >= sizeof(struct sockaddr_in)) ||
	    (family == AF_INET6 && address->bytes >= sizeof(struct sockaddr_in6)) ||
	    (family == AF_UNIX && address->bytes >= sizeof(sa_family_t))) {
		return family;
	}
	return AF_UNSPEC;
}

static const char *scheme_of(const struct gyre_socket_address *address)
{
	for (size_t i = 0; i < gy_countof(schemes); i++) {
		if (schemes[i].type == address->type &&
		    schemes[i].unix_path == (address->storage.ss_family == AF_UNIX)) {
			return schemes[i].text;
		}
	}
	return NULL;
}

static int format(const struct gyre_socket_address *address, struct text *text)
{
	const char *scheme = scheme_of(address);

	if (scheme == NULL) {
		return -EINVAL;
	}
	switch (family_of(address)) {
	case AF_INET:
		return format_four(scheme, address, text);
	case AF_INET6:
		return format_six(scheme, address, text);
	case AF_UNIX:
		return format_path(scheme, address, text);
	default:
		return -EINVAL;
	}
}

int gyre_socket_address_format(const struct gyre_socket_address *address, size_t bytes,
			       char *ret_text)
{
	struct text text;
	int r;

	if (address == NULL || ret_text == NULL) {
		return -EINVAL;
	}
	r = format(address, &text);
	if (r < 0) {
		return r;
	}
	if ((size_t)r >= bytes) {
		return -EMSGSIZE;
	}
	memcpy(ret_text, text.bytes, (size_t)r + 1);
	return r;
}

/* ---- looking at addresses ---- */

uint16_t gyre_socket_address_port(const struct gyre_socket_address *address)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	switch (address == NULL ? AF_UNSPEC : family_of(address)) {
	case AF_INET:
		memcpy(&four, &address->storage, sizeof(four));
		return ntohs(four.sin_port);
	case AF_INET6:
		memcpy(&six, &address->storage, sizeof(six));
		return ntohs(six.sin6_port);
	default:
		return 0;
	}
}

static bool same_six(const struct gyre_socket_address *a, const struct gyre_socket_address *b)
{
	struct sockaddr_in6 one;
	struct sockaddr_in6 other;

	memcpy(&one, &a->storage, sizeof(one));
	memcpy(&other, &b->storage, sizeof(other));
	return one.sin6_port == other.sin6_port && one.sin6_scope_id == other.sin6_scope_id &&
	       memcmp(&one.sin6_addr, &other.sin6_addr, sizeof(one.sin6_addr)) == 0;
}

static bool same_four(const struct gyre_socket_address *a, const struct gyre_socket_address *b)
{
	struct sockaddr_in one;
	struct sockaddr_in other;

	memcpy(&one, &a->storage, sizeof(one));
	memcpy(&other, &b->storage, sizeof(other));
	return one.sin_port == other.sin_port && one.sin_addr.s_addr == other.sin_addr.s_addr;
}

/* How much of the path counts: its final 0 may have been left out or not. */
static size_t path_bytes(const struct gyre_socket_address *address)
{
	const char *path = (const char *)&address->storage + offsetof(struct sockaddr_un, sun_path);
	size_t bytes = address->bytes - offsetof(struct sockaddr_un, sun_path);

	return bytes == 0 || path[0] == '\0' ? bytes : strnlen(path, bytes);
}

bool gyre_socket_address_equal(const struct gyre_socket_address *a,
			       const struct gyre_socket_address *b)
{
	if (a == NULL || b == NULL || a->bytes == 0 || b->bytes == 0) {
		return (a == NULL || a->bytes == 0) == (b == NULL || b->bytes == 0);
	}
	if (a->type != b->type || a->storage.ss_family != b->storage.ss_family ||
	    family_of(a) == AF_UNSPEC || family_of(b) == AF_UNSPEC) {
		return false;
	}
	switch (a->storage.ss_family) {
	case AF_INET:
		return same_four(a, b);
	case AF_INET6:
		return same_six(a, b);
	default:
		return path_bytes(a) == path_bytes(b) &&
		       memcmp(&a->storage, &b->storage,
			      offsetof(struct sockaddr_un, sun_path) + path_bytes(a)) == 0;
	}
}

/* ---- addresses of the kernel ---- */

void gy_socket_address_set(struct gyre_socket_address *address, int type,
			   const struct sockaddr *from, socklen_t bytes)
{
	*address = (struct gyre_socket_address){ .bytes = bytes, .type = type };
	if (bytes > sizeof(address->storage)) {
		address->bytes = sizeof(address->storage);
	}
	memcpy(&address->storage, from, address->bytes);
}

void gy_socket_address_set_port(struct gyre_socket_address *address, uint16_t port)
{
	uint16_t value = htons(port);

	switch (family_of(address)) {
	case AF_INET:
		memcpy((char *)&address->storage + offsetof(struct sockaddr_in, sin_port), &value,
		       sizeof(value));
		break;
	case AF_INET6:
		memcpy((char *)&address->storage + offsetof(struct sockaddr_in6, sin6_port), &value,
		       sizeof(value));
		break;
	default:
		break;
	}
}

typedef int (*name_fn)(int fd, struct sockaddr_storage *ret_name, socklen_t *ret_bytes);

static int address_of(int fd, name_fn get, struct gyre_socket_address *ret_address)
{
	struct sockaddr_storage storage;
	socklen_t bytes;
	int type;
	int r = gy_socket_option(fd, SOL_SOCKET, SO_TYPE, &type, sizeof(type));

	if (r == 0) {
		r = get(fd, &storage, &bytes);
	}
	if (r == 0) {
		gy_socket_address_set(ret_address, type, (const struct sockaddr *)&storage, bytes);
	}
	return r;
}

int gy_socket_address_of(int fd, struct gyre_socket_address *ret_address)
{
	return address_of(fd, gy_socket_name, ret_address);
}

int gy_socket_address_of_peer(int fd, struct gyre_socket_address *ret_address)
{
	return address_of(fd, gy_socket_peer, ret_address);
}
