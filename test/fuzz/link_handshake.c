/*
 * The hello from any bytes. What is taken has a name that ends, can be said again, and is heard as
 * the same; what is refused leaves the output alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "remote/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void say_and_hear(const struct gy_hello *hello)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	uint32_t count = gy_hello_put(hello, bytes);
	struct gy_hello again;

	check(count <= sizeof(bytes) && gy_wire_bytes(bytes, count) == count);
	check(gy_hello_get(bytes + GY_WIRE_WORD_BYTES, count - GY_WIRE_WORD_BYTES, &again) == 0);
	check(again.node == hello->node && again.expected == hello->expected);
	check(again.incarnation == hello->incarnation && again.over == hello->over &&
	      again.port == hello->port);
	check(again.proves == hello->proves);
	check(again.window_bytes == hello->window_bytes);
	check(again.message_bytes_max == hello->message_bytes_max);
	check(memcmp(again.nonce, hello->nonce, sizeof(again.nonce)) == 0);
	check(strcmp(again.cluster, hello->cluster) == 0);
	check(strcmp(again.address, hello->address) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gy_hello hello = { .node = 77, .window_bytes = 77 };
	int r = gy_hello_get(data, size, &hello);

	if (r < 0) {
		check(r == -EPROTO && hello.node == 77 && hello.window_bytes == 77);
	} else {
		check(memchr(hello.cluster, '\0', sizeof(hello.cluster)) != NULL);
		check(memchr(hello.address, '\0', sizeof(hello.address)) != NULL);
		say_and_hear(&hello);
	}
	return 0;
}
