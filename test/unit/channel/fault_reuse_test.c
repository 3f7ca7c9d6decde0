/*
 * Descriptors and memory that are used again: a channel ends under load, and the next connection
 * has its descriptor's number, and its place in memory, at once. Nothing of the old one reaches it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

TestSuite(fault_reuse, .timeout = 110);

enum { ROUNDS = 1000, LINES = 8, UNDER_WAY = 10000 };

/* Each has bytes of its own in both directions. */
struct line {
	struct rig_stream stream;
	struct gyre_channel *channel;
	uint64_t expected; /* by the handler */
	bool wrong;
	bool gone;
};

static struct rig rig;
static struct line lines[LINES];
static uint64_t opened;

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct line *line = (struct line *)gyre_context_arg(ctx);
	unsigned char bytes[65536];
	size_t count = gyre_buffer_copy(data, 0, bytes, sizeof(bytes));

	line->wrong = line->wrong || line->gone || !rig_check(bytes, count, line->expected);
	line->expected += count;
	(void)gyre_context_write(ctx, data);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	((struct line *)gyre_context_arg(ctx))->gone = true;
}

static const struct gyre_handler checking = { .read = on_read, .inactive = on_inactive };
static const struct gyre_handler *const checkers[] = { &checking, NULL };

static void open_line(struct line *line)
{
	uint64_t base = ++opened << 32;

	*line = (struct line){ .expected = base };
	line->stream = (struct rig_stream){ .sent = base, .received = base };
	line->stream.fd = rig_open(&rig, checkers, line, NULL, &line->channel);
}

static void load(void)
{
	for (size_t i = 0; i < LINES; i++) {
		lines[i].stream.total = lines[i].stream.received + UNDER_WAY;
		rig_stream_send(&lines[i].stream);
		if ((opened + i) % 3 != 0) {
			rig_stream_receive(&lines[i].stream);
		}
	}
	rig_turn(&rig);
}

static uint64_t closed_count(void)
{
	return gy_channels_counters(&rig.home)->closed;
}

/* Ends it in one of three ways, with operations under way, and waits no longer than need be. */
static void end_line(struct line *line, uint32_t round)
{
	uint64_t closed = closed_count();

	if (round % 3 == 0) {
		gyre_channel_abort(line->channel, -ECANCELED);
	} else if (round % 3 == 1) {
		(void)shutdown(line->stream.fd, SHUT_RDWR);
	} else {
		gyre_context_close(gyre_channel_tail(line->channel));
		gyre_channel_abort(line->channel, -ECANCELED);
	}
	while (closed_count() == closed) {
		load();
	}
}

Test(fault_reuse, of_a_descriptor_under_load_lets_nothing_of_the_old_channel_reach_the_new)
{
	uint32_t numbers = 0;
	uint32_t places = 0;

	rig_init(&rig, NULL);
	for (size_t i = 0; i < LINES; i++) {
		open_line(&lines[i]);
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct line *line = &lines[round % LINES];
		const struct gyre_channel *place = line->channel;
		int number = line->channel->endpoint.fd;
		int far = line->stream.fd;

		load();
		end_line(line, round);
		cr_assert(line->gone && !line->wrong && !line->stream.wrong, "round %u", round);
		(void)close(far); /* so that the two numbers are the lowest that are free */
		open_line(line);
		numbers += line->channel->endpoint.fd == number;
		places += line->channel == place;
	}
	cr_expect_eq(numbers, ROUNDS);
	cr_expect_eq(places, ROUNDS);
	for (size_t i = 0; i < LINES; i++) {
		cr_expect(!lines[i].wrong && !lines[i].stream.wrong);
		(void)close(lines[i].stream.fd);
	}
	rig_fini(&rig);
}

Test(fault_reuse, of_a_place_in_memory_gives_operations_generations_of_their_own)
{
	rig_init(&rig, NULL);
	open_line(&lines[0]);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const struct gyre_channel *place = lines[0].channel;
		uint16_t generation;
		int far = lines[0].stream.fd;

		rig_turn(&rig);
		generation = place->receive.generation;
		gyre_channel_abort(lines[0].channel, -ECANCELED);
		while (closed_count() == round) {
			rig_turn(&rig);
		}
		open_line(&lines[0]);
		(void)close(far);
		rig_turn(&rig);
		cr_assert_eq(lines[0].channel, place);
		cr_assert_neq(place->receive.generation, generation, "round %u", round);
	}
	(void)close(lines[0].stream.fd);
	rig_fini(&rig);
}
