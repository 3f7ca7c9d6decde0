/* The memory of an encoder, which a loop keeps for the next message. */
#include <criterion/criterion.h>

#include <errno.h>

#include "remote/message/encoder.h"

enum { MAX = 100000 };

static struct gyre_encoder kept;

static void forget(void)
{
	gy_encoder_fini(&kept);
}

TestSuite(encoder, .timeout = 20, .fini = forget);

/* Encodes so many bytes; returns where they were. */
static const unsigned char *encode(size_t count)
{
	static const unsigned char bytes[MAX];
	struct gyre_encoder out;
	const unsigned char *at;

	gy_encoder_begin(&out, &kept, MAX);
	cr_assert_eq(out.count, 0);
	gyre_encode_bytes(&out, bytes, count);
	cr_assert_eq(out.error, 0);
	cr_assert_eq(out.count, count);
	at = out.bytes;
	gy_encoder_end(&out, &kept);
	return at;
}

Test(encoder, leaves_its_memory_to_the_next_message)
{
	const unsigned char *at = encode(10);

	cr_assert_not_null(at);
	cr_expect_eq(kept.bytes, at);
	cr_expect_eq(kept.count, 0);
	cr_expect_eq(encode(200), at);
	cr_expect_eq(kept.bytes, at);
}

Test(encoder, that_has_encoded_nothing_has_no_memory)
{
	cr_expect_null(encode(0));
	cr_expect_null(kept.bytes);
}

Test(encoder, does_not_keep_the_memory_of_a_large_message)
{
	(void)encode(10);
	(void)encode(MAX);
	cr_expect_null(kept.bytes);
	cr_expect_eq(kept.room, 0);
}

Test(encoder, inside_of_another_has_memory_of_its_own)
{
	struct gyre_encoder outer;
	const unsigned char *outside;

	(void)encode(10);
	gy_encoder_begin(&outer, &kept, MAX);
	gyre_encode_bytes(&outer, "outside", 7);
	outside = outer.bytes;
	cr_expect_neq(encode(10), outside);
	gy_encoder_end(&outer, &kept);
	cr_expect_neq(kept.bytes, outside, "one is kept, and the other freed");
}

Test(encoder, that_failed_leaves_what_it_had)
{
	struct gyre_encoder out;
	const unsigned char *at = encode(10);

	gy_encoder_begin(&out, &kept, 4);
	gyre_encode_bytes(&out, "12345", 5);
	cr_expect_eq(out.error, -EMSGSIZE);
	gy_encoder_end(&out, &kept);
	cr_expect_eq(kept.bytes, at);
	cr_expect_eq(encode(10), at);
}
