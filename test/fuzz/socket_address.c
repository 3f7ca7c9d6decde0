/*
 * Socket addresses from any text. What is taken is written and read again, and must be the same;
 * what is refused leaves the output alone. The bytes are then taken for an address of the kernel's,
 * of any family, length and kind, whose text must fit, and be readable if there is one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/socket_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void write_and_read(const struct gyre_socket_address *address)
{
	struct gyre_socket_address again;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int r = gyre_socket_address_format(address, sizeof(text), text);

	check(r > 0 && strlen(text) == (size_t)r);
	check(gyre_socket_address_parse(text, &again) == 0);
	check(gyre_socket_address_equal(address, &again));
	check(gyre_socket_address_port(address) == gyre_socket_address_port(&again));
}

/* No name is one that resolvers take for an IPv4 address: those that they do end in a number. */
static bool is_number(const char *host)
{
	struct in_addr four;

	return inet_aton(host, &four) != 0;
}

static void read_text(const char *text)
{
	struct gyre_socket_address address = { .bytes = 77 };
	struct gy_socket_text parts = { .port = 77 };
	int r = gyre_socket_address_parse(text, &address);
	int whole = gy_socket_text_parse(text, &parts);

	check(whole == (r == -ENOENT ? 0 : r));
	check(r == 0 || address.bytes == 77);
	check(whole == 0 || parts.port == 77);
	check(r != -ENOENT || (parts.host[0] != '\0' && parts.address.bytes == 0));
	check(r != -ENOENT || !is_number(parts.host));
	check(whole < 0 || gyre_socket_address_text_type(text) == parts.type);
	if (r == 0) {
		write_and_read(&address);
	}
}

static void read_address(const uint8_t *data, size_t size)
{
	struct gyre_socket_address address = { .type = data[0] % 4 };
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int r;

	size = size - 1 < sizeof(address.storage) ? size - 1 : sizeof(address.storage);
	memcpy(&address.storage, data + 1, size);
	address.bytes = (socklen_t)size;
	(void)gyre_socket_address_port(&address);
	r = gyre_socket_address_format(&address, sizeof(text), text);
	check(r == -EINVAL || (r > 0 && strlen(text) == (size_t)r));
	check(r < 0 || gyre_socket_address_equal(&address, &address));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)malloc(size + 1);

	if (text == NULL) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	read_text(text);
	free(text);
	if (size > 0) {
		read_address(data, size);
	}
	return 0;
}
