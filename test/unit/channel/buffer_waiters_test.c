/*
 * Channels that have something to receive while there are fewer buffers than channels. Peers write
 * between two turns of the loop, so what is there when is known.
 */
#include <criterion/criterion.h>

#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"
#include "ring_engine.h"

enum {
	CROWD = 60,
	FEW = 20,
	BUFFER_BYTES = 65536,
	READS_MAX = 16384,
	ROUNDS = 20,
	MANY_ROUNDS = 60,
	LITTLE_BYTES = BUFFER_BYTES / 4,
	PIECE_BYTES = 24 * 1024, /* two and a part of a third fit into a buffer */
	SOON = 16,
	MUCH_BYTES = 1 << 20, /* in two rounds */
	SOME_BYTES = 3 * BUFFER_BYTES,
	LEAD_MAX = 40,
};

static struct rig rig;

/* What was read, in order. */
struct crowd {
	struct member {
		struct crowd *crowd;
		int index;
		int fd; /* the peer's */
		struct gyre_channel *channel;
		size_t written;
		size_t bytes;
	} of[CROWD];
	int members;
	size_t total; /* of each */
	size_t step;  /* so much is written at once; more when that was read */
	int reads;
	int who[READS_MAX];
	size_t sizes[READS_MAX];
};

static struct crowd crowd;

static void take(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct member *member = (struct member *)gyre_context_arg(ctx);

	cr_assert_lt(member->crowd->reads, READS_MAX);
	member->crowd->who[member->crowd->reads] = member->index;
	member->crowd->sizes[member->crowd->reads++] = gyre_buffer_bytes(data);
	member->bytes += gyre_buffer_bytes(data);
	gyre_buffer_destroy(data);
}

static const struct gyre_handler taking = { .name = "taking", .read = take };
static const struct gyre_handler *const taking_only[] = { &taking, NULL };

static void gather(int members, size_t step, size_t total)
{
	const struct rig_options options = { .buffer_count = 64, .buffer_bytes = BUFFER_BYTES };

	rig_init(&rig, &options);
	crowd = (struct crowd){ .members = members, .step = step, .total = total };
	for (int i = 0; i < crowd.members; i++) {
		struct member *member = &crowd.of[i];

		*member = (struct member){ .crowd = &crowd, .index = i };
		member->fd = rig_open_tcp(&rig, taking_only, member, NULL, &member->channel);
	}
	rig_settle(&rig);
}

static void disperse(void)
{
	for (int i = 0; i < crowd.members; i++) {
		(void)close(crowd.of[i].fd);
	}
	rig_fini(&rig);
}

/* The next step, as far as there is room for it. */
static void write_some(struct member *member)
{
	static const unsigned char bytes[MUCH_BYTES];
	size_t end = member->bytes - member->bytes % crowd.step + crowd.step;
	size_t count = (end < crowd.total ? end : crowd.total) - member->written;
	ssize_t sent = count == 0 ? 0 : send(member->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);

	member->written += sent > 0 ? (size_t)sent : 0;
}

static bool all_have_all(struct rig *r, void *arg)
{
	bool all = true;

	(void)r;
	(void)arg;
	for (int i = 0; i < crowd.members; i++) {
		write_some(&crowd.of[i]);
		all = all && crowd.of[i].bytes == crowd.total;
	}
	return all;
}

static bool are_too_few(void)
{
	return gy_channels_counters(&rig.home)->buffer_stalls > 0;
}

Test(buffer_waiters, come_in_the_order_of_the_queue)
{
	gather(FEW, BUFFER_BYTES, BUFFER_BYTES);
	cr_assert(rig_until(&rig, all_have_all, NULL));
	for (int i = 0; i < FEW; i++) {
		cr_expect_eq(crowd.who[i], i);
	}
	cr_expect(are_too_few() || !rig_channels(&rig)->pages_are_shared);
	disperse();
}

/* How many of the next reads are others' until one is of @who. */
static int distance_to(int from, int who)
{
	int at = from;

	while (at < crowd.reads && crowd.who[at] != who) {
		at++;
	}
	return at - from;
}

/* Nor does one overtake that found buffers at first and received on and on. Each who has read is
 * sent more at once. */
Test(buffer_waiters, of_all_that_wait_come_before_the_next_of_one_who_has_received)
{
	int had[CROWD] = { 0 };

	ONLY_OF_IO_URING("epoll decides whose turn it is");
	gather(CROWD, LITTLE_BYTES, (size_t)ROUNDS * LITTLE_BYTES);
	cr_assert(rig_until(&rig, all_have_all, NULL));
	for (int i = 0; i < crowd.reads && are_too_few(); i++) {
		int who = crowd.who[i];

		had[who]++;
		for (int other = 0; other < CROWD; other++) {
			cr_assert_leq(had[who], had[other] + 2, "%d has read %d times, %d %d", who,
				      had[who], other, had[other]);
		}
	}
	disperse();
}

static bool has_one_more(struct rig *r, void *arg)
{
	(void)r;
	return ((const struct member *)arg)->bytes == crowd.total + 1;
}

Test(buffer_waiters, of_those_that_have_nothing_to_receive_hold_up_nobody)
{
	gather(CROWD, BUFFER_BYTES, BUFFER_BYTES);
	cr_assert(rig_until(&rig, all_have_all, NULL));
	for (int i = CROWD - 1; i >= 0; i--) {
		cr_assert_eq(write(crowd.of[i].fd, "x", 1), 1);
		cr_assert(rig_until(&rig, has_one_more, &crowd.of[i]), "%d waits for others", i);
	}
	disperse();
}

Test(buffer_waiters, that_the_end_of_a_buffer_cuts_short_go_on_before_those_that_wait)
{
	ONLY_OF_IO_URING("epoll decides whose turn it is");
	gather(CROWD, PIECE_BYTES, PIECE_BYTES);
	cr_assert(rig_until(&rig, all_have_all, NULL));
	for (int i = 0; i < crowd.reads; i++) {
		int distance = distance_to(i + 1, crowd.who[i]);

		cr_expect(i + 1 + distance == crowd.reads || distance <= SOON,
			  "%d has to wait for %d others", crowd.who[i], distance);
	}
	disperse();
}

/* How often the next read was another's. */
static int count_changes(void)
{
	int changes = 0;

	cr_assert(rig_until(&rig, all_have_all, NULL));
	for (int i = 1; i < crowd.reads; i++) {
		changes += crowd.who[i] != crowd.who[i - 1];
	}
	return changes;
}

Test(buffer_waiters, of_one_with_much_to_receive_come_in_a_row)
{
	int changes;

	gather(CROWD, MUCH_BYTES, MUCH_BYTES);
	changes = count_changes();
	cr_expect(changes < crowd.reads / 4 * 3 || !are_too_few(), "%d changes in %d reads",
		  changes, crowd.reads);
	disperse();
}

/* The most steps that one was ahead of another that had more to read. */
static size_t greatest_lead(void)
{
	size_t bytes[CROWD] = { 0 };
	size_t lead = 0;

	for (int i = 0; i < crowd.reads; i++) {
		size_t *mine = &bytes[crowd.who[i]];

		*mine += crowd.sizes[i];
		for (int other = 0; other < crowd.members; other++) {
			size_t ahead = *mine > bytes[other] ? *mine - bytes[other] : 0;

			lead = ahead > lead ? ahead : lead;
		}
	}
	return lead / crowd.step;
}

/* Its receive does not find the buffers empty, and would go on as long as its peer does. */
Test(buffer_waiters, are_let_in_by_one_whose_peer_sends_on_and_on)
{
	size_t lead;

	gather(FEW, SOME_BYTES, (size_t)MANY_ROUNDS * SOME_BYTES);
	cr_assert(rig_until(&rig, all_have_all, NULL));
	lead = greatest_lead();
	cr_expect(lead <= LEAD_MAX || !are_too_few(), "one was %zu steps ahead", lead);
	disperse();
}

/* What comes there may be the credit that lets others send. */
Test(buffer_waiters, do_not_come_in_a_row_while_one_waits_that_reads_whatever_its_output_does)
{
	int in_a_row;
	int changes;

	gather(CROWD, MUCH_BYTES, MUCH_BYTES);
	in_a_row = count_changes();
	disperse();
	gather(CROWD, MUCH_BYTES, MUCH_BYTES);
	for (int i = 0; i < CROWD; i++) {
		crowd.of[i].channel->keep_reading = true;
	}
	changes = count_changes();
	cr_expect(changes > in_a_row / 4 * 5 || !are_too_few() ||
			  !rig_channels(&rig)->pages_are_shared,
		  "%d changes, and %d in a row", changes, in_a_row);
	disperse();
}
