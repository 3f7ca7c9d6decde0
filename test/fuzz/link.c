/*
 * A link from any bytes, from its greeting on, on the side that has dialled and on the one that was
 * dialled. What comes of a stream does not depend on the pieces that it comes in; no message comes
 * of it before the greeting; what is sent is handled or counted as lost; what the link says itself
 * is frames that a peer understands; and when it has ended nothing is left of it.
 */
#include <string.h>

#include "../unit/remote/bare.h"
#include "fuzz.h"

enum {
	DIALLED = 1 << 0,
	GREETED = 1 << 1,
	SECRET = 1 << 2,
	TALKS = 1 << 3, /* it has said something, which may be credited */
	LATE = 1 << 4,	/* time passes at the end */
	FRAMES_SAID = 3,
	HEARD_BYTES = 1 << 16,
	PIECES_MAX = 64,
};

static const char secret_text[] = "known to few";
static const struct gyre_node_options options = { .message_bytes_max = 1 << 14,
						  .greeting_ns = GYRE_MILLISECONDS(20),
						  .away_ns = GYRE_MILLISECONDS(30) };

/* What a stream has done to its link. What comes of the messages depends on when actors run. */
struct outcome {
	uint64_t alive;
	uint64_t open;
	uint64_t bytes;
	uint64_t frames;
	uint64_t not_understood;
};

/* An input may have stopped its actor, which others are to find. */
static struct bare *take(bool secret)
{
	static struct bare bare;
	static bool is_ready;

	if (is_ready && gy_house_find(&bare.rig.home, bare.adder.slot, bare.adder.cookie) == NULL) {
		bare_fini(&bare);
		is_ready = false;
	}
	if (!is_ready) {
		bare_init(&bare, &options);
		is_ready = true;
	}
	bare_forget(&bare);
	bare_share(&bare, secret ? secret_text : "");
	return &bare;
}

/* A hello that the node likes, with a proof if it has to be one. */
static void greet(struct bare *bare, bool secret)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	unsigned char proof[GY_WIRE_WORD_BYTES + GY_PROOF_BYTES];
	const struct gy_frame frame = { .kind = GY_WIRE_PROOF, .bytes = GY_PROOF_BYTES };
	struct gy_hello hello = bare_hello();

	hello.proves = secret;
	bare_feed(bare, bytes, gy_hello_put(&hello, bytes), sizeof(bytes));
	if (secret) {
		uint32_t head = gy_wire_put(&frame, proof);

		bare_prove(bare, secret_text, &hello, proof + head);
		bare_feed(bare, proof, sizeof(proof), sizeof(proof));
	}
	fuzz_require(bare->link->stage == GY_LINK_STAGE_OPEN, "the greeting was not liked");
}

static void begin(struct bare *bare, unsigned mode)
{
	if ((mode & DIALLED) != 0) {
		bare_dial(bare);
	} else {
		bare_accept(bare);
	}
	if ((mode & GREETED) != 0) {
		greet(bare, (mode & SECRET) != 0);
	}
	for (uint64_t i = 0; (mode & TALKS) != 0 && (mode & DIALLED) != 0 && i < FRAMES_SAID; i++) {
		(void)bare_notify(bare, i);
	}
}

/* What it says. */
static void hear(struct bare *bare, bool was_open)
{
	static unsigned char bytes[HEARD_BYTES];
	size_t count = bare_hear(bare, bytes, sizeof(bytes));

	for (size_t at = 0; at < count;) {
		int64_t length = gy_wire_bytes(bytes + at, count - at);

		fuzz_require(length > 0 && (size_t)length <= count - at, "it said no frame");
		fuzz_require(was_open || gy_wire_kind(bytes + at) <= GY_WIRE_REFUSE,
			     "it said more than a greeting");
		at += (size_t)length;
	}
}

/* The rest of the input, in pieces of up to @piece bytes; 0 for all at once. */
static struct outcome play(struct fuzz fuzz, unsigned mode, size_t piece)
{
	struct bare *bare = take((mode & SECRET) != 0);
	struct bare_sums before;
	struct bare_sums after;
	struct outcome outcome;

	begin(bare, mode);
	before = bare_sums(bare);
	for (size_t at = 0; at < fuzz.count;) {
		size_t count = piece == 0 ? fuzz.count : 1 + fuzz_below(&fuzz, piece);

		count = count < fuzz.count - at ? count : fuzz.count - at;
		bare_feed(bare, fuzz.bytes + at, count,
			  piece == 0 ? count : 1 + fuzz_below(&fuzz, count));
		at += count;
	}
	after = bare_sums(bare);
	outcome = (struct outcome){ .alive = bare_is_alive(bare),
				    .open = gy_link_has(bare->link, GY_LINK_FLAG_COUNTED_OPEN),
				    .bytes = after.bytes,
				    .frames = after.frames,
				    .not_understood = after.dropped[GYRE_DROP_NOT_UNDERSTOOD] -
						      before.dropped[GYRE_DROP_NOT_UNDERSTOOD] };
	fuzz_require(outcome.open || after.sent == before.sent, "a message before the greeting");
	if ((mode & LATE) != 0) {
		bare_wait(bare, GYRE_MILLISECONDS(100));
		fuzz_require(outcome.open || !bare_is_alive(bare), "it greets for ever");
	}
	hear(bare, outcome.open);
	bare_hang_up(bare);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	unsigned mode = fuzz_byte(&fuzz);
	const struct outcome whole = play(fuzz, mode, 0);
	const struct outcome pieces = play(fuzz, mode, 1 + fuzz_below(&fuzz, PIECES_MAX));

	fuzz_require(memcmp(&whole, &pieces, sizeof(whole)) == 0, "it depends on the pieces");
	return 0;
}
