/* Writes whose end somebody hears of: handlers by a callback, actors by an answer. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "rig.h"

TestSuite(write_promise, .timeout = 60);

enum { MAX = 100000, TOLD_MAX = 64 };

static const struct rig_options marks = { .low_bytes = 10000,
					  .high_bytes = 20000,
					  .max_bytes = MAX };

static struct rig rig;
static struct gyre_channel *channel;
static struct gyre_address address;
static int fd;

static struct {
	uint32_t count;
	uintptr_t order[TOLD_MAX];
	int error;
	size_t queued; /* when told */
	bool inactive_before;
	uint32_t inactive;
	uint32_t depth;
	uint32_t depth_max;
} told;

static void on_inactive(struct gyre_handler_context *ctx)
{
	(void)ctx;
	told.inactive++;
}

static const struct gyre_handler quiet = { .name = "quiet", .inactive = on_inactive };
static const struct gyre_handler *const quiet_only[] = { &quiet, NULL };

static void begin(void)
{
	int bytes = 1;

	memset(&told, 0, sizeof(told));
	rig_init(&rig, &marks);
	fd = rig_open(&rig, quiet_only, NULL, NULL, &channel);
	address = gyre_channel_address(channel);
	/* The kernel takes little at a time: writes are short. */
	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)),
		     0);
	rig_settle(&rig);
}

static void end(void)
{
	(void)close(fd);
	rig_fini(&rig);
}

static struct gyre_buffer *bytes_of(size_t count)
{
	static unsigned char bytes[2 * MAX];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

static void on_written(struct gyre_channel *of, int error, void *arg)
{
	told.queued = gyre_channel_queued_bytes(of);
	told.order[told.count++ % TOLD_MAX] = (uintptr_t)arg;
	told.error = error;
	told.inactive_before = told.inactive > 0;
}

static int write_then(size_t count, uintptr_t number)
{
	return gyre_context_write_then(gyre_channel_tail(channel), bytes_of(count), on_written,
				       (void *)number);
}

static void drain_peer(void)
{
	unsigned char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
}

/* As many as @arg points to have been told, and the peer reads. */
static bool are_told(struct rig *r, void *arg)
{
	(void)r;
	drain_peer();
	return told.count >= *(const uint32_t *)arg;
}

static void wait_for(uint32_t count)
{
	cr_assert(rig_until(&rig, are_told, &count), "%u of %u", told.count, count);
}

static bool is_inactive(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return told.inactive > 0;
}

/* ---- callbacks ---- */

Test(write_promise, tells_when_the_kernel_has_the_bytes_and_not_within_the_call, .init = begin,
     .fini = end)
{
	cr_assert_eq(write_then(100, 1), 0);
	cr_expect_eq(told.count, 0);
	rig_settle(&rig);
	cr_expect_eq(told.count, 1);
	cr_expect_eq(told.error, 0);
}

Test(write_promise, waits_for_the_last_of_many_short_writes, .init = begin, .fini = end)
{
	cr_assert_eq(write_then(80000, 1), 0);
	rig_settle(&rig);
	cr_expect_eq(told.count, 0);
	wait_for(1);
	cr_expect_eq(told.queued, 0);
}

Test(write_promise, does_not_wait_for_bytes_behind_it, .init = begin, .fini = end)
{
	cr_assert_eq(write_then(1000, 1), 0);
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), bytes_of(90000)), 0);
	rig_settle(&rig);
	cr_expect_eq(told.count, 1, "the peer reads nothing");
	cr_expect_gt(told.queued, 0);
	drain_peer();
}

Test(write_promise, waits_for_bytes_before_it, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), bytes_of(90000)), 0);
	cr_assert_eq(write_then(1, 1), 0);
	rig_settle(&rig);
	cr_expect_eq(told.count, 0);
	wait_for(1);
}

Test(write_promise, tells_of_many_in_their_order, .init = begin, .fini = end)
{
	for (uintptr_t i = 0; i < 50; i++) {
		cr_assert_eq(write_then(1500, i), 0);
	}
	wait_for(50);
	for (uintptr_t i = 0; i < 50; i++) {
		cr_expect_eq(told.order[i], i);
	}
	/* And anew, counted from nothing. */
	cr_assert_eq(write_then(50000, 50), 0);
	rig_settle(&rig);
	cr_expect_eq(told.count, 50);
	wait_for(51);
}

Test(write_promise, tells_of_no_bytes_at_all, .init = begin, .fini = end)
{
	cr_assert_eq(write_then(0, 1), 0);
	cr_expect_eq(told.count, 0);
	rig_settle(&rig);
	cr_expect_eq(told.count, 1);
}

static void write_again(struct gyre_channel *of, int error, void *arg)
{
	uint32_t *left = (uint32_t *)arg;

	told.depth++;
	told.depth_max = told.depth > told.depth_max ? told.depth : told.depth_max;
	told.error = error;
	if (*left > 0) {
		(*left)--;
		(void)gyre_context_write_then(gyre_channel_tail(of), bytes_of(*left % 2),
					      write_again, arg);
	} else {
		told.count++;
	}
	told.depth--;
}

Test(write_promise, lets_its_callback_write_the_next_without_recursion, .init = begin, .fini = end)
{
	uint32_t left = 10000;

	cr_assert_eq(gyre_context_write_then(gyre_channel_tail(channel), bytes_of(1), write_again,
					     &left),
		     0);
	wait_for(1);
	cr_expect_eq(left, 0);
	cr_expect_eq(told.depth_max, 1);
}

Test(write_promise, is_kept_when_the_channel_closes_in_good_order, .init = begin, .fini = end)
{
	cr_assert_eq(write_then(80000, 1), 0);
	gyre_context_close(gyre_channel_tail(channel));
	rig_settle(&rig);
	cr_expect_eq(told.count, 0);
	wait_for(1);
	cr_expect_eq(told.error, 0);
}

Test(write_promise, fails_with_the_reason_of_an_abort_before_handlers_hear_of_it, .init = begin,
     .fini = end)
{
	cr_assert_eq(write_then(80000, 1), 0);
	cr_assert_eq(write_then(100, 2), 0);
	rig_settle(&rig);
	gyre_channel_abort(channel, -EIO);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(told.count, 2);
	cr_expect_eq(told.error, -EIO);
	cr_expect(!told.inactive_before);
}

Test(write_promise, fails_when_there_was_no_reason_with_a_word_for_that, .init = begin, .fini = end)
{
	cr_assert_eq(write_then(80000, 1), 0);
	rig_settle(&rig);
	gyre_channel_abort(channel, 0);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(told.error, -EPIPE);
}

Test(write_promise, fails_when_the_peer_goes_away, .init = begin, .fini = end)
{
	cr_assert_eq(write_then(80000, 1), 0);
	rig_settle(&rig);
	cr_assert_eq(shutdown(fd, SHUT_RDWR), 0);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(told.count, 1);
	cr_expect_lt(told.error, 0);
}

Test(write_promise, is_not_given_for_what_is_refused, .init = begin, .fini = end)
{
	struct gyre_handler_context *tail = gyre_channel_tail(channel);

	cr_expect_eq(gyre_context_write_then(NULL, bytes_of(1), on_written, NULL), -EINVAL);
	cr_expect_eq(gyre_context_write_then(tail, bytes_of(1), NULL, NULL), -EINVAL);
	cr_expect_eq(gyre_context_write_then(tail, NULL, on_written, NULL), -ENOMEM);
	cr_expect_eq(write_then(MAX + 1, 1), -ENOBUFS);
	cr_expect_eq(write_then(1, 1), -EPIPE);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(told.count, 0);
	rig.warnings_expected = 1;
}

/* ---- actors ---- */

enum { SENDERS_MAX = 8 };

struct sender {
	size_t count;
	uint64_t timeout_ns;
	int r; /* of the call */
	int error;
	uint64_t bytes;
};

static struct sender senders[SENDERS_MAX];
static uint32_t senders_count;
static uintptr_t ended[SENDERS_MAX];
static uint32_t ended_count;

struct which {
	struct sender *sender;
};
GYRE_MESSAGE(which, 0x1051);

struct sending_frame {
	struct gyre_future future;
	struct sender *sender;
};

static int send_bytes(struct gyre_stack *stack)
{
	static const unsigned char bytes[2 * MAX];
	struct sending_frame *frame = (struct sending_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->sender = gyre_message(stack, which)->sender;
	frame->sender->r = gyre_send_bytes(stack, address, bytes, frame->sender->count,
					   frame->sender->timeout_ns, &frame->future);
	GYRE_AWAIT(stack, frame->sender->r);
	frame->sender->error = gyre_future_error(&frame->future);
	if (frame->sender->error == 0) {
		frame->sender->bytes = gyre_future_get(&frame->future, gyre_sent)->bytes;
	}
	ended[ended_count++] = (uintptr_t)(frame->sender - senders);
	return 0;
	GYRE_END(stack);
}

static const struct gyre_class sending_class = { .name = "sending",
						 .frame_bytes = sizeof(struct sending_frame),
						 .mount = send_bytes };

static struct sender *start_sender(size_t count, uint64_t timeout_ns)
{
	struct sender *sender = &senders[senders_count++];
	struct gyre_mail *mail = gyre_new(&rig_stack(&rig)->head, which, .sender = sender);
	struct gyre_address unused;

	*sender = (struct sender){ .count = count, .timeout_ns = timeout_ns, .error = 1 };
	cr_assert_eq(gy_spawn(&rig.home,
			      &(struct gy_spawn_order){ .class = &sending_class, .argument = mail },
			      0, &unused),
		     0);
	return sender;
}

static bool have_ended(struct rig *r, void *arg)
{
	(void)r;
	drain_peer();
	return ended_count >= *(const uint32_t *)arg;
}

static void wait_for_senders(uint32_t count)
{
	cr_assert(rig_until(&rig, have_ended, &count), "%u of %u", ended_count, count);
}

static bool have_ended_unread(struct rig *r, void *arg)
{
	(void)r;
	return ended_count >= *(const uint32_t *)arg;
}

Test(write_promise, answers_an_actor_that_sends, .init = begin, .fini = end)
{
	struct sender *sender = start_sender(70000, 0);

	rig_settle(&rig);
	cr_expect_eq(ended_count, 0);
	wait_for_senders(1);
	cr_expect_eq(sender->error, 0);
	cr_expect_eq(sender->bytes, 70000);
}

Test(write_promise, keeps_actors_waiting_while_the_channel_is_not_writable, .init = begin,
     .fini = end)
{
	for (uint32_t i = 0; i < 5; i++) {
		(void)start_sender(MAX, 0);
	}
	rig_settle(&rig);
	cr_expect_leq(gyre_channel_queued_bytes(channel), MAX);
	wait_for_senders(5);
	for (uint32_t i = 0; i < 5; i++) {
		cr_expect_eq(ended[i], i);
		cr_expect_eq(senders[i].error, 0);
	}
}

/* Not one of them has been written, whose end would be heard of. */
Test(write_promise, wakes_actors_that_wait_behind_the_output_of_others, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), bytes_of(MAX)), 0);
	(void)start_sender(10, 0);
	rig_settle(&rig);
	cr_expect_eq(ended_count, 0);
	wait_for_senders(1);
	cr_expect_eq(senders[0].error, 0);
}

Test(write_promise, of_an_actor_ends_with_its_time_out, .init = begin, .fini = end)
{
	uint32_t two = 2;
	const struct sender *written = start_sender(MAX, GYRE_MILLISECONDS(20));
	const struct sender *waiting = start_sender(10, GYRE_MILLISECONDS(20));

	rig_pass(&rig, GYRE_MILLISECONDS(100));
	cr_assert(rig_until(&rig, have_ended_unread, &two));
	cr_expect_eq(written->error, -ETIMEDOUT);
	cr_expect_eq(waiting->error, -ETIMEDOUT);
	ended_count = 0;
	(void)start_sender(10, 0);
	wait_for_senders(1);
	cr_expect_eq(rig.home.counters.dropped[GYRE_DROP_EXPIRED], 1, "that was not written");
	cr_expect_eq(rig.home.counters.dropped[GYRE_DROP_LATE], 2);
}

static uint32_t mails_count(const struct gy_mails *mails)
{
	uint32_t count = 0;

	for (const struct gy_node *node = mails->first; node != NULL; node = node->next) {
		count++;
	}
	return count;
}

/* Each awaits its answer, and would send again. */
Test(write_promise, of_actors_that_gave_up_do_not_pile_up_behind_a_silent_peer, .init = begin,
     .fini = end)
{
	const uint64_t short_ns = GYRE_MILLISECONDS(20);

	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), bytes_of(MAX)), 0);
	(void)start_sender(10, GYRE_SECONDS(3600));
	for (uint32_t count = 1; count < SENDERS_MAX; count++) {
		(void)start_sender(10, short_ns);
		rig_pass(&rig, GYRE_MILLISECONDS(100));
		cr_assert(rig_until(&rig, have_ended_unread, &count));
	}
	cr_expect_leq(mails_count(&channel->mailbox->sends), 4, "%u",
		      mails_count(&channel->mailbox->sends));
	wait_for_senders(SENDERS_MAX);
	cr_expect_eq(senders[0].error, 0, "it has waited");
	for (uint32_t i = 1; i < SENDERS_MAX; i++) {
		cr_expect_eq(senders[i].error, -ETIMEDOUT);
	}
}

Test(write_promise, of_an_actor_fails_when_the_channel_ends, .init = begin, .fini = end)
{
	uint32_t two = 2;
	const struct sender *written = start_sender(MAX, 0);
	const struct sender *waiting = start_sender(10, 0);

	rig_settle(&rig);
	gyre_channel_abort(channel, -EIO);
	cr_assert(rig_until(&rig, have_ended_unread, &two));
	cr_expect_eq(written->error, -EIO);
	cr_expect_eq(waiting->error, -EIO);
}

Test(write_promise, of_an_actor_fails_when_the_address_is_stale, .init = begin, .fini = end)
{
	const struct sender *sender;

	gyre_channel_abort(channel, 0);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	sender = start_sender(10, 0);
	wait_for_senders(1);
	cr_expect_eq(sender->error, -ESRCH);
}

Test(write_promise, of_an_actor_fails_for_what_is_too_large, .init = begin, .fini = end)
{
	const struct sender *large = start_sender(MAX + 1, 0);
	const struct sender *nothing = start_sender(0, 0);

	wait_for_senders(2);
	cr_expect_eq(large->error, -EMSGSIZE);
	cr_expect_eq(nothing->error, 0);
	cr_expect_eq(told.inactive, 0, "the channel stays");
}

Test(write_promise, of_an_actor_refuses_misuse, .init = begin, .fini = end)
{
	struct gyre_stack *stack = &rig_stack(&rig)->head;
	struct gyre_future future;

	cr_expect_eq(gyre_send_bytes(stack, address, NULL, 1, 0, &future), -EINVAL);
	cr_expect_eq(gyre_send_bytes(stack, address, "x", 1, 0, NULL), -EINVAL);
}
