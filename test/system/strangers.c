/*
 * Peers of a node that are none: they speak to it by plain sockets. What the tests of nodes do with
 * many connections, or with what no node says.
 *
 * usage: system-strangers PORT links COUNT          greets on so many connections, each as another
 *                                                   node, and keeps them until its input ends
 *        system-strangers PORT silent COUNT         keeps so many on which it says nothing
 *        system-strangers PORT version MIN MAX      greets with those versions of the protocol
 *        system-strangers PORT garbage SEED COUNT   says anything on so many connections
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/random.h"
#include "remote/wire.h"

enum { FIRST_ID = 1000, GARBAGE_BYTES = 4096, NODE_ID = 1 };

static uint16_t port;

static void fail(const char *what)
{
	(void)fprintf(stderr, "strangers: %s\n", what);
	_Exit(1);
}

static int dial(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		fail("it cannot be dialled");
	}
	return fd;
}

/* What is said to one that has hung up is lost. */
static void say(int fd, const void *bytes, size_t count)
{
	(void)send(fd, bytes, count, MSG_NOSIGNAL);
}

static void greet(int fd, uint16_t id, uint16_t version_min, uint16_t version_max)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	const struct gy_hello hello = { .version_min = version_min,
					.version_max = version_max,
					.node = id,
					.expected = NODE_ID,
					.incarnation = 1,
					.message_bytes_max = 1 << 24,
					.window_bytes = 1 << 22,
					.cluster = "gyre" };

	say(fd, bytes, gy_hello_put(&hello, bytes));
}

/* The kind of the first frame that comes; 0 at the end. Its first byte goes to @ret_first. */
static unsigned hear(int fd, unsigned char *ret_first)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	ssize_t count = recv(fd, bytes, GY_WIRE_WORD_BYTES + 1, MSG_WAITALL);

	*ret_first = bytes[GY_WIRE_WORD_BYTES];
	return count <= GY_WIRE_WORD_BYTES ? 0 : bytes[GY_WIRE_WORD_BYTES - 1];
}

static void wait_for_end_of_input(void)
{
	char byte;

	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0) {
	}
}

static void keep_links(uint32_t count, bool greeted)
{
	for (uint32_t i = 0; i < count; i++) {
		unsigned char first;
		int fd = dial(); /* closed with the process */

		if (greeted) {
			greet(fd, (uint16_t)(FIRST_ID + i), GY_WIRE_VERSION, GY_WIRE_VERSION);
			if (hear(fd, &first) != GY_WIRE_HELLO) {
				fail("a greeting was not answered");
			}
		}
	}
	(void)printf("%" PRIu32 " are open\n", count);
	wait_for_end_of_input();
}

static void greet_as(uint16_t version_min, uint16_t version_max)
{
	unsigned char first;
	int fd = dial();
	unsigned kind;

	greet(fd, FIRST_ID, version_min, version_max);
	kind = hear(fd, &first);
	if (kind == GY_WIRE_REFUSE) {
		(void)printf("refused for %u\n", first);
	} else {
		(void)printf(kind == GY_WIRE_HELLO ? "taken\n" : "hung up on\n");
	}
	(void)close(fd);
}

/* Every other connection is greeted before. */
static void say_garbage(uint64_t seed, uint32_t count)
{
	unsigned char bytes[GARBAGE_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		int fd = dial();

		if (i % 2 != 0) {
			greet(fd, FIRST_ID, GY_WIRE_VERSION, GY_WIRE_VERSION);
		}
		for (size_t at = 0; at < sizeof(bytes); at++) {
			bytes[at] = (unsigned char)gy_random_next(&seed);
		}
		say(fd, bytes, 1 + gy_random_next(&seed) % sizeof(bytes));
		(void)close(fd);
	}
	(void)printf("said\n");
}

int main(int argc, char **argv)
{
	uint64_t numbers[2] = { 0 };

	if (argc < 4) {
		return 2;
	}
	port = (uint16_t)strtoul(argv[1], NULL, 0);
	for (int i = 3; i < argc && i < 5; i++) {
		numbers[i - 3] = strtoull(argv[i], NULL, 0);
	}
	if (strcmp(argv[2], "links") == 0 || strcmp(argv[2], "silent") == 0) {
		keep_links((uint32_t)numbers[0], argv[2][0] == 'l');
	} else if (strcmp(argv[2], "version") == 0) {
		greet_as((uint16_t)numbers[0], (uint16_t)numbers[1]);
	} else if (strcmp(argv[2], "garbage") == 0) {
		say_garbage(numbers[0], (uint32_t)numbers[1]);
	} else {
		return 2;
	}
	return 0;
}
