/*
 * Somebody between two who share a key, who changes what they say: each byte of a connection, and
 * each record of it, in both directions. What is changed is never handled: the receiver gets what
 * was sent before it, and the connection breaks.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "channel/tls/tls.h"
#include "tls_rig.h"

TestSuite(tls_relay, .timeout = 240);

enum {
	HEADER_BYTES = 5,
	RECORD_BYTES_MAX = 1 << 14, /* what is said at the end, so that nobody waits for more */
	STREAM_BYTES = 2 * RECORD_BYTES_MAX,
	TEXTS = 4, /* each way */
	TEXT_BYTES = 20,
	SAID_BYTES = TEXTS * TEXT_BYTES + RECORD_BYTES_MAX,
};

enum deed {
	NOTHING,
	ALTER,	/* a bit of a byte */
	OMIT,	/* a byte */
	INSERT, /* a byte */
	DROP,	/* a record */
	REPEAT, /* it */
	SWAP,	/* it and the next */
	FORGE,	/* one before it, of the length of a message */
	REPLAY, /* one before it, that was sent before */
};

struct mischief {
	enum deed deed;
	bool to_client;
	size_t at; /* the byte, or the record, of its direction */
};

/* One direction, as the relay sees it. */
struct lane {
	struct tls_rig *from;
	struct tls_rig *to;
	size_t bytes;	/* so far */
	size_t records; /* likewise */
	size_t first_bytes;
	unsigned char first[STREAM_BYTES]; /* the first record that is encrypted */
	size_t held_bytes;
	unsigned char held[STREAM_BYTES]; /* to be swapped */
	size_t bytes_before;		  /* the long message at the end */
	size_t records_before;
};

static struct tls_rig server;
static struct tls_rig client;
static struct lane lanes[2]; /* to the server, to the client */
static struct gyre_tls_context *context;
static unsigned char said[SAID_BYTES]; /* by each side */

static void feed(struct lane *lane, const unsigned char *bytes, size_t count)
{
	if (count > 0) {
		codec_rig_feed(&lane->to->rig, bytes, count, count);
		codec_rig_run(&lane->to->rig);
	}
}

/* ---- the deeds ---- */

static void forge(struct lane *lane)
{
	unsigned char record[HEADER_BYTES + TEXT_BYTES + 17] = { 23, 3, 3, 0, TEXT_BYTES + 17 };

	feed(lane, record, sizeof(record));
}

static void change_record(struct lane *lane, const struct mischief *it, const unsigned char *record,
			  size_t count)
{
	switch (it->deed) {
	case DROP:
		return;
	case SWAP:
		memcpy(lane->held, record, count);
		lane->held_bytes = count;
		return;
	case REPEAT:
		feed(lane, record, count);
		break;
	case REPLAY:
		feed(lane, lane->first, lane->first_bytes);
		break;
	default:
		forge(lane);
		break;
	}
	feed(lane, record, count);
}

static void change_byte(struct lane *lane, const struct mischief *it, unsigned char *record,
			size_t count)
{
	size_t at = it->at - lane->bytes;

	if (it->deed == ALTER) {
		record[at] ^= 1;
		feed(lane, record, count);
		return;
	}
	feed(lane, record, at);
	if (it->deed == INSERT) {
		feed(lane, (const unsigned char *)"", 1);
	}
	feed(lane, record + at + (it->deed == OMIT), count - at - (it->deed == OMIT));
}

static void pass_record(struct lane *lane, const struct mischief *it, unsigned char *record,
			size_t count)
{
	bool here = it->to_client == (lane == &lanes[1]);
	bool of_bytes = it->deed >= ALTER && it->deed <= INSERT;

	if (record[0] == SSL3_RT_APPLICATION_DATA && lane->first_bytes == 0) {
		memcpy(lane->first, record, count);
		lane->first_bytes = count;
	}
	if (here && of_bytes && it->at >= lane->bytes && it->at < lane->bytes + count) {
		change_byte(lane, it, record, count);
	} else if (here && it->deed > INSERT && it->at == lane->records) {
		change_record(lane, it, record, count);
	} else {
		feed(lane, record, count);
		feed(lane, lane->held, lane->held_bytes);
		lane->held_bytes = 0;
	}
	lane->bytes += count;
	lane->records++;
}

/* Whatever the relay is given are whole records. */
static bool relay(struct lane *lane, const struct mischief *it)
{
	static unsigned char bytes[STREAM_BYTES];
	size_t count = codec_rig_output(&lane->from->rig, bytes, sizeof(bytes));

	for (size_t at = 0; at < count;) {
		size_t length = HEADER_BYTES + ((size_t)bytes[at + 3] << 8 | bytes[at + 4]);

		cr_assert_leq(at + length, count);
		pass_record(lane, it, bytes + at, length);
		at += length;
	}
	return count > 0;
}

/* ---- the play ---- */

static void settle(const struct mischief *it)
{
	bool more = true;

	while (more) {
		more = relay(&lanes[0], it);
		more = relay(&lanes[1], it) || more;
	}
}

static void say(struct tls_rig *from, size_t at, size_t count)
{
	(void)tls_rig_write(from, said + at, count); /* or it has ended */
}

/* Whether it was all; and if not, what was said at first. */
static bool has_heard_all(const struct tls_rig *rig)
{
	size_t count = rig->rig.log.bytes_count;

	cr_assert_leq(count, sizeof(said));
	cr_assert_eq(memcmp(rig->rig.log.bytes, said, count), 0);
	return count == sizeof(said);
}

static void talk(const struct mischief *it)
{
	settle(it);
	for (size_t i = 0; i < TEXTS; i++) {
		say(&client, i * TEXT_BYTES, TEXT_BYTES);
		say(&server, i * TEXT_BYTES, TEXT_BYTES);
		settle(it);
	}
	for (size_t i = 0; i < 2; i++) {
		lanes[i].bytes_before = lanes[i].bytes;
		lanes[i].records_before = lanes[i].records;
	}
	say(&client, TEXTS * TEXT_BYTES, RECORD_BYTES_MAX);
	say(&server, TEXTS * TEXT_BYTES, RECORD_BYTES_MAX);
	settle(it);
}

/* Whether it is broken; or the handshake waits for what never comes, and ends by its time-out. */
static bool breaks(const struct mischief *it)
{
	const struct gyre_tls_options options = { .context = context, .any_name = true };
	struct tls_rig *victim = it->to_client ? &client : &server;
	bool broken;
	bool all;

	memset(lanes, 0, sizeof(lanes));
	lanes[0].from = lanes[1].to = &client;
	lanes[0].to = lanes[1].from = &server;
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), 0);
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &options), 0);
	talk(it);
	broken = tls_rig_error(victim) != 0 || victim->sessions == 0;
	all = has_heard_all(&client);
	all = has_heard_all(&server) && all;
	cr_assert_neq(broken, all, "%d at %zu", (int)it->deed, it->at);
	cr_assert(victim->sessions == 1 || victim->rig.log.bytes_count == 0);
	tls_rig_reset(&server);
	tls_rig_reset(&client);
	return broken;
}

static void begin(void)
{
	static const struct gy_tls_key key = { .name = "name", .bytes = "bytes" };

	cr_assert_eq(gy_tls_context_create_keyed(NULL, &key, 1, &context), 0);
	for (size_t i = 0; i < sizeof(said); i++) {
		said[i] = (unsigned char)(i * 7 + i / 256);
	}
	tls_rig_init(&server);
	tls_rig_init(&client);
}

static void end(void)
{
	tls_rig_fini(&server);
	tls_rig_fini(&client);
	gyre_tls_context_unref(context);
}

/* An untouched connection, to learn how long it is. */
static void measure(size_t ret_bytes[2], size_t ret_records[2])
{
	const struct mischief none = { .deed = NOTHING };

	cr_assert_not(breaks(&none));
	for (int i = 0; i < 2; i++) {
		ret_bytes[i] = lanes[i].bytes_before;
		ret_records[i] = lanes[i].records_before;
		cr_assert_gt(ret_records[i], TEXTS);
	}
}

/* The version that stands before what is not encrypted means nothing in TLS 1.3. */
static void play_bytes(enum deed deed)
{
	size_t bytes[2];
	size_t records[2];

	measure(bytes, records);
	for (size_t side = 0; side < 2; side++) {
		for (size_t at = 0; at < bytes[side]; at++) {
			const struct mischief it = { deed, side == 1, at };
			bool idle = deed == ALTER && (at == 1 || at == 2);

			cr_assert(breaks(&it) || idle, "byte %zu to side %zu", at, side);
		}
	}
}

static void play_records(enum deed deed)
{
	size_t bytes[2];
	size_t records[2];

	measure(bytes, records);
	for (size_t side = 0; side < 2; side++) {
		for (size_t at = deed == REPLAY ? 2 : 0; at < records[side]; at++) {
			const struct mischief it = { deed, side == 1, at };

			cr_assert(breaks(&it), "record %zu to side %zu", at, side);
		}
	}
}

Test(tls_relay, that_alters_a_bit_breaks_the_connection, .init = begin, .fini = end)
{
	play_bytes(ALTER);
}

Test(tls_relay, that_omits_a_byte_breaks_the_connection, .init = begin, .fini = end)
{
	play_bytes(OMIT);
}

Test(tls_relay, that_inserts_a_byte_breaks_the_connection, .init = begin, .fini = end)
{
	play_bytes(INSERT);
}

Test(tls_relay, that_drops_a_record_breaks_the_connection, .init = begin, .fini = end)
{
	play_records(DROP);
}

Test(tls_relay, that_repeats_a_record_breaks_the_connection, .init = begin, .fini = end)
{
	play_records(REPEAT);
}

Test(tls_relay, that_swaps_two_records_breaks_the_connection, .init = begin, .fini = end)
{
	play_records(SWAP);
}

Test(tls_relay, that_makes_up_a_record_breaks_the_connection, .init = begin, .fini = end)
{
	play_records(FORGE);
}

Test(tls_relay, that_says_again_what_was_said_breaks_the_connection, .init = begin, .fini = end)
{
	play_records(REPLAY);
}
