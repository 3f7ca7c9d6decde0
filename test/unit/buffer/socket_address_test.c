/* Socket addresses as text: what is read, what is refused, and that what is written can be read. */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"
#include "buffer/socket_address.h"

TestSuite(socket_address, .timeout = 30);

static struct gyre_socket_address parse(const char *text)
{
	struct gyre_socket_address address = { 0 };

	cr_assert_eq(gyre_socket_address_parse(text, &address), 0, "%s", text);
	return address;
}

static void expect_written(const char *text, const char *as)
{
	struct gyre_socket_address address = parse(text);
	struct gyre_socket_address again;
	char written[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int r = gyre_socket_address_format(&address, sizeof(written), written);

	cr_assert_eq(r, (int)strlen(as), "%s: %d", text, r);
	cr_expect_str_eq(written, as);
	again = parse(written);
	cr_expect(gyre_socket_address_equal(&address, &again), "%s", text);
}

Test(socket_address, is_written_as_it_was_read)
{
	static const char *const texts[] = {
		"tcp://127.0.0.1:7000",	  "udp://0.0.0.0:0",	   "tcp://[::1]:65535",
		"udp://[2001:db8::1]:53", "tcp://[fe80::1%lo]:80", "unix:/run/a.socket",
		"unix:relative",	  "unix:@abstract",	   "unix+dgram:/run/b c:d",
		"unix+dgram:@x",
	};

	for (size_t i = 0; i < gy_countof(texts); i++) {
		expect_written(texts[i], texts[i]);
	}
}

Test(socket_address, has_its_kind_in_its_scheme_whatever_comes_behind)
{
	static const char *const datagrams[] = { "udp://127.0.0.1:1", "UDP://a.name:1",
						 "udp://?",	      "unix+dgram:/a",
						 "Unix+Dgram:@a",     "unix+dgram:" };
	static const char *const streams[] = { "tcp://[::1]:1", "Tcp://a.name:1", "tcp://",
					       "unix:/a", "UNIX:@udp://" };
	static const char *const none[] = { "",		  "udp:", "udp:/",     "unix+dgram",
					    " udp://a:1", "fd:3", "udpx://a:1" };

	for (size_t i = 0; i < gy_countof(datagrams); i++) {
		cr_expect_eq(gyre_socket_address_text_type(datagrams[i]), SOCK_DGRAM);
	}
	for (size_t i = 0; i < gy_countof(streams); i++) {
		cr_expect_eq(gyre_socket_address_text_type(streams[i]), SOCK_STREAM);
	}
	for (size_t i = 0; i < gy_countof(none); i++) {
		cr_expect_eq(gyre_socket_address_text_type(none[i]), -EINVAL, "%s", none[i]);
	}
	cr_expect_eq(gyre_socket_address_text_type(NULL), -EINVAL);
}

Test(socket_address, is_written_in_its_shortest_form)
{
	expect_written("tcp://[0:0:0:0:0:0:0:1]:0080", "tcp://[::1]:80");
	expect_written("tcp://*:80", "tcp://[::]:80");
	expect_written("TCP://127.0.0.1:1", "tcp://127.0.0.1:1");
	expect_written("Udp://[::1]:1", "udp://[::1]:1");
	expect_written("UNIX:/A", "unix:/A");
	expect_written("Unix+Dgram:@A", "unix+dgram:@A");
	expect_written("tcp://[fe80::1%1]:80", "tcp://[fe80::1%lo]:80");
	expect_written("tcp://[fe80::1%1000000]:80", "tcp://[fe80::1%1000000]:80");
}

Test(socket_address, has_the_family_kind_and_port_of_its_text)
{
	struct gyre_socket_address four = parse("tcp://192.0.2.7:7000");
	struct gyre_socket_address six = parse("udp://[::1]:53");
	struct gyre_socket_address un = parse("unix+dgram:/run/a");

	cr_expect_eq(four.storage.ss_family, AF_INET);
	cr_expect_eq(four.type, SOCK_STREAM);
	cr_expect_eq(four.bytes, sizeof(struct sockaddr_in));
	cr_expect_eq(gyre_socket_address_port(&four), 7000);
	cr_expect_eq(six.storage.ss_family, AF_INET6);
	cr_expect_eq(six.type, SOCK_DGRAM);
	cr_expect_eq(gyre_socket_address_port(&six), 53);
	cr_expect_eq(un.storage.ss_family, AF_UNIX);
	cr_expect_eq(un.type, SOCK_DGRAM);
	cr_expect_eq(gyre_socket_address_port(&un), 0);
	cr_expect_eq(gyre_socket_address_port(NULL), 0);
}

Test(socket_address, refuses_what_is_none)
{
	static const char *const wrong[] = {
		"",
		"7000",
		"localhost:7000",
		"http://localhost:7000",
		"tcp://1.2.3:1",
		"tcp://1.2.3.4.5:1",
		"tcp://1.2.3.256:1",
		"tcp://127.0.0.1.:1",
		"tcp://127.1:1",
		"tcp://2130706433:1",
		"tcp://017700000001:1",
		"tcp://0x7f000001:1",
		"tcp://0x7f.1:1",
		"tcp://1.0X7F:1",
		"tcp://1.0x:1",
		"tcp://host.1:1",
		"tcp://host.0xa.:1",
		"udp://1.2.3:1",
		"tcp:127.0.0.1:1",
		"tcp://",
		"tcp://:7000",
		"tcp://localhost",
		"tcp://localhost:",
		"tcp://localhost:65536",
		"tcp://localhost:123456",
		"tcp://localhost:-1",
		"tcp://localhost:+1",
		"tcp://localhost: 1",
		"tcp://localhost:http",
		"tcp://::1:7000",
		"tcp://[::1:7000",
		"tcp://[]:7000",
		"tcp://[::1]",
		"tcp://[::1]x:1",
		"tcp://[:1",
		"tcp://[127.0.0.1]:1",
		"tcp://[name]:1",
		"tcp://[::1%]:1",
		"tcp://a b:1",
		"tcp://a/b:1",
		"tcp://u@b:1",
		"tcp://*a:1",
		"tcp://fe80%lo:1",
		"tcp://[:1",
		"unix:",
		"unix:@",
		"unix+dgram:",
		"unix+stream:/a",
		"unix",
	};

	for (size_t i = 0; i < gy_countof(wrong); i++) {
		struct gyre_socket_address address = { .bytes = 77 };

		cr_expect_eq(gyre_socket_address_parse(wrong[i], &address), -EINVAL, "%s",
			     wrong[i]);
		cr_expect_eq(address.bytes, 77, "%s: the output is untouched", wrong[i]);
	}
	cr_expect_eq(gyre_socket_address_parse(NULL, &(struct gyre_socket_address){ 0 }), -EINVAL);
	cr_expect_eq(gyre_socket_address_parse("unix:a", NULL), -EINVAL);
}

Test(socket_address, leaves_names_to_be_looked_up)
{
	struct gyre_socket_address address;
	static const char *const names[] = {
		"tcp://localhost:7000", "tcp://1.2.3.a:1", "tcp://0x7g:1",
		"tcp://x0:1",		"tcp://1a:1",	   "tcp://1..:1",
		"tcp://0x7f.0xh:1",	"tcp://1.2.3-4:1", "tcp://.:1",
	};
	struct gy_socket_text parts;

	for (size_t i = 0; i < gy_countof(names); i++) {
		cr_expect_eq(gyre_socket_address_parse(names[i], &address), -ENOENT, "%s",
			     names[i]);
	}
	cr_assert_eq(gy_socket_text_parse("udp://a-host.example.:53", &parts), 0);
	cr_expect_str_eq(parts.host, "a-host.example.");
	cr_expect_eq(parts.port, 53);
	cr_expect_eq(parts.type, SOCK_DGRAM);
	cr_expect_eq(parts.address.bytes, 0);
	cr_assert_eq(gy_socket_text_parse("tcp://[::1]:53", &parts), 0);
	cr_expect_str_eq(parts.host, "", "it is no name");
}

Test(socket_address, refuses_scopes_that_the_machine_has_not)
{
	struct gyre_socket_address address;

	cr_expect_eq(gyre_socket_address_parse("tcp://[fe80::1%no-such-if]:1", &address), -ENODEV);
	cr_expect_eq(gyre_socket_address_parse("tcp://[fe80::1%0]:1", &address), -ENODEV);
	cr_expect_eq(gyre_socket_address_parse("tcp://[fe80::1%4294967297]:1", &address), -ENODEV);
	cr_expect_eq(gyre_socket_address_parse(
			     "tcp://[fe80::1%a-name-that-no-interface-may-have]:1", &address),
		     -ENODEV);
}

static int parse_long(const char *scheme, size_t bytes, const char *end)
{
	struct gyre_socket_address address;
	char text[512];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s", scheme);

	memset(text + at, 'a', bytes);
	(void)snprintf(text + at + bytes, sizeof(text) - at - bytes, "%s", end);
	return gyre_socket_address_parse(text, &address);
}

Test(socket_address, has_bounds_on_paths_and_hosts)
{
	cr_expect_eq(parse_long("unix:", 107, ""), 0);
	cr_expect_eq(parse_long("unix:", 108, ""), -ENAMETOOLONG);
	cr_expect_eq(parse_long("unix:@", 106, ""), 0);
	cr_expect_eq(parse_long("unix:@", 107, ""), -ENAMETOOLONG);
	cr_expect_eq(parse_long("tcp://", 255, ":1"), -ENOENT);
	cr_expect_eq(parse_long("tcp://", 256, ":1"), -ENAMETOOLONG);
}

Test(socket_address, fits_into_the_text_that_is_promised_and_into_no_less)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct gyre_socket_address address;

	memset(un.sun_path, 'a', sizeof(un.sun_path));
	gy_socket_address_set(&address, SOCK_DGRAM, (const struct sockaddr *)&un, sizeof(un));
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), text), 11 + 108);
	address = parse("tcp://1.2.3.4:5");
	memset(text, 'z', sizeof(text));
	cr_expect_eq(gyre_socket_address_format(&address, 15, text), -EMSGSIZE);
	cr_expect_eq(text[0], 'z', "untouched");
	cr_expect_eq(gyre_socket_address_format(&address, 16, text), 15);
	cr_expect_eq(text[16], 'z');
}

Test(socket_address, is_not_written_when_it_cannot_be)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_socket_address address = parse("tcp://[::1]:5");
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0a\0b" };

	cr_expect_eq(gyre_socket_address_format(NULL, sizeof(text), text), -EINVAL);
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), NULL), -EINVAL);
	address.bytes--;
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), text), -EINVAL);
	cr_expect_eq(gyre_socket_address_port(&address), 0);
	address = parse("tcp://1.2.3.4:5");
	address.type = SOCK_RAW;
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), text), -EINVAL);
	address = (struct gyre_socket_address){ .type = SOCK_STREAM };
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), text), -EINVAL);
	gy_socket_address_set(&address, SOCK_STREAM, (const struct sockaddr *)&un, 6);
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), text), -EINVAL);
	address.bytes = sizeof(un) + 1;
	cr_expect_eq(gyre_socket_address_format(&address, sizeof(text), text), -EINVAL);
}

static void expect_equal(const char *a, const char *b, bool equal)
{
	struct gyre_socket_address one = parse(a);
	struct gyre_socket_address other = parse(b);

	cr_expect_eq(gyre_socket_address_equal(&one, &other), equal, "%s and %s", a, b);
	cr_expect_eq(gyre_socket_address_equal(&other, &one), equal, "%s and %s", b, a);
}

Test(socket_address, is_equal_only_to_the_same_address_and_kind)
{
	struct gyre_socket_address none = { 0 };
	struct gyre_socket_address some = parse("unix:/a");

	expect_equal("tcp://1.2.3.4:5", "tcp://1.2.3.4:5", true);
	expect_equal("tcp://1.2.3.4:5", "udp://1.2.3.4:5", false);
	expect_equal("tcp://1.2.3.4:5", "tcp://1.2.3.4:6", false);
	expect_equal("tcp://1.2.3.4:5", "tcp://1.2.3.5:5", false);
	expect_equal("tcp://1.2.3.4:5", "tcp://[::1]:5", false);
	expect_equal("tcp://[::1]:5", "tcp://[::1]:5", true);
	expect_equal("tcp://[::1]:5", "tcp://[::2]:5", false);
	expect_equal("tcp://[::1]:5", "tcp://[::1]:6", false);
	expect_equal("tcp://[fe80::1%1]:5", "tcp://[fe80::1%2]:5", false);
	expect_equal("unix:/a", "unix:/a", true);
	expect_equal("unix:/a", "unix:/b", false);
	expect_equal("unix:/a", "unix:/ab", false);
	expect_equal("unix:a", "unix:@a", false);
	cr_expect(gyre_socket_address_equal(NULL, NULL));
	cr_expect(gyre_socket_address_equal(&none, NULL));
	cr_expect_not(gyre_socket_address_equal(&some, NULL));
	cr_expect_not(gyre_socket_address_equal(&none, &some));
}

Test(socket_address, of_a_path_is_equal_with_and_without_its_final_0)
{
	struct gyre_socket_address one = parse("unix:/a");
	struct gyre_socket_address other = one;

	other.bytes--;
	cr_expect(gyre_socket_address_equal(&one, &other));
}

Test(socket_address, is_told_of_a_socket_and_of_its_peer)
{
	struct gyre_socket_address address;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
	cr_assert_eq(gy_socket_address_of_peer(fds[0], &address), 0);
	cr_expect_eq(address.type, SOCK_DGRAM);
	cr_assert_eq(gy_socket_address_of(fds[0], &address), 0);
	cr_assert_eq(gyre_socket_address_format(&address, sizeof(text), text), 11);
	cr_expect_str_eq(text, "unix+dgram:", "without a name");
	(void)close(fds[0]);
	(void)close(fds[1]);
	cr_expect_eq(gy_socket_address_of(fds[0], &address), -EBADF);
}

Test(socket_address, can_be_given_another_port)
{
	struct gyre_socket_address four = parse("tcp://1.2.3.4:5");
	struct gyre_socket_address six = parse("tcp://[::1]:5");

	gy_socket_address_set_port(&four, 6);
	gy_socket_address_set_port(&six, 6);
	cr_expect_eq(gyre_socket_address_port(&four), 6);
	cr_expect_eq(gyre_socket_address_port(&six), 6);
}
