/*
 * A type may encode a message as no bytes at all: then none travel, and nothing of what is in
 * memory here goes along.
 */
#include <criterion/criterion.h>

#include <errno.h>

#include "base/atomic.h"
#include "remote/pair.h"

struct blank {
	uint64_t secret; /* that is not encoded */
};

static uint32_t decoded; /* atomic */

static int encode_blank(const void *payload, struct gyre_encoder *out)
{
	(void)payload;
	(void)out;
	return 0;
}

static int decode_blank(void *payload, struct gyre_decoder *in)
{
	(void)gy_fetch_add(&decoded, 1);
	((struct blank *)payload)->secret = 1;
	return in->left == 0 ? 0 : -EPROTO;
}

static void end_blank(struct blank *blank)
{
	(void)blank;
}

static const struct gyre_encoding blank_encoding = { .version = 1,
						     .encode = encode_blank,
						     .decode = decode_blank };
GYRE_MESSAGE_ENCODED(blank, 0x1130, blank_encoding, end_blank);

static int answer_blank(struct gyre_stack *stack)
{
	const struct blank *asked = gyre_message(stack, blank);

	expect(asked != NULL && asked->secret == 1);
	return gyre_reply(stack, gyre_new(stack, blank, UINT64_MAX));
}

static const struct gyre_class answering_class = { .name = "answering",
						   .behaviour.ask = answer_blank };

static int ask_blank(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, pair_find("other"), gyre_new(stack, blank, UINT64_MAX), 0,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_get(&frame->future, blank)->secret == 1);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(no_bytes, travel_for_a_message_that_encodes_none)
{
	static const struct gyre_type *const types[] = { &gyre_type_blank, NULL };
	const struct gyre_node_options options = { .types = types };
	const struct pair pair = {
		.script = ask_blank, .class = &answering_class, .first = options, .second = options
	};

	pair_play(&pair);
	cr_expect_eq(decoded, 2);
}
