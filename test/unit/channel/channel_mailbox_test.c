/* The addresses of channels: who reaches them by these, what with, and for how long. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/move.h>
#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "channel/exchange/exchange.h"
#include "rig.h"

TestSuite(channel_address, .timeout = 60);

struct word {
	uint64_t value;
};
GYRE_MESSAGE(word, 0x1041);

struct token {
	uint64_t value;
};

static uint32_t destroyed;

static void token_destroy(struct token *token)
{
	destroyed += token->value != 0;
}
GYRE_MESSAGE_OWNING(token, 0x1042, token_destroy);

enum { HEARD_MAX = 64 };

static struct {
	uint64_t values[HEARD_MAX];
	uint32_t count;
	uint32_t closed;
	struct gyre_address sender;
	struct gyre_address at_end;
	bool keeps; /* moves tokens out */
	uint64_t kept;
	int taken;
	int stashed;
} heard;

static struct rig rig;
static struct gyre_channel *channel;
static struct gyre_address address;
static int fd;

/* Writes a byte for each word, and so shows that handlers may. */
static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_buffer *buffer;
	struct token token;

	if (type->id != GYRE_ID(word) && type->id != GYRE_ID(token)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	heard.values[heard.count++ % HEARD_MAX] = ((const struct word *)event)->value;
	heard.sender = gyre_sender(stack);
	heard.taken = gyre_take(stack) != NULL;
	heard.stashed = gyre_stash(stack);
	if (heard.keeps && gyre_move(stack, token, &token) == 0) {
		heard.kept = token.value;
	}
	buffer = gyre_context_buffer(ctx);
	(void)gyre_buffer_append(buffer, "w", 1);
	(void)gyre_context_write(ctx, buffer);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	heard.at_end = gyre_channel_address(gyre_context_channel(ctx));
	heard.closed++;
}

static const struct gyre_handler listening = { .name = "listening",
					       .event = on_event,
					       .inactive = on_inactive };
static const struct gyre_handler *const listeners[] = { &listening, NULL };
static const struct gyre_handler *const nobody_listens[] = { NULL };

static void begin_with(const struct gyre_handler *const *handlers)
{
	memset(&heard, 0, sizeof(heard));
	destroyed = 0;
	rig_init(&rig, &(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	fd = rig_open(&rig, handlers, NULL, NULL, &channel);
	address = gyre_channel_address(channel);
}

static void begin(void)
{
	begin_with(listeners);
	rig_settle(&rig);
}

static void end(void)
{
	(void)close(fd);
	rig_fini(&rig);
}

static int send_word(struct gyre_address to, uint64_t value)
{
	struct gyre_stack *stack = &rig_stack(&rig)->head;

	return gyre_notify(stack, to, gyre_new(stack, word, value));
}

static int send_token(struct gyre_address to, uint64_t value)
{
	struct gyre_stack *stack = &rig_stack(&rig)->head;

	return gyre_notify(stack, to, gyre_new(stack, token, value));
}

static uint64_t dropped(enum gyre_drop reason)
{
	return rig.home.counters.dropped[reason];
}

static bool is_closed(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return heard.closed > 0;
}

static void close_peer_and_wait(void)
{
	(void)shutdown(fd, SHUT_RDWR);
	cr_assert(rig_until(&rig, is_closed, NULL));
	rig_settle(&rig);
}

/* ---- what it costs ---- */

/* Pools give powers of two. */
static size_t in_pool(size_t bytes)
{
	return gy_sizes_bytes(gy_sizes_class(bytes));
}

Test(channel_address, and_an_exchange_cost_an_idle_channel_at_most_a_kibibyte)
{
	size_t bytes = sizeof(struct gyre_channel) + sizeof(struct gy_context) +
		       in_pool(sizeof(struct gy_channel_mailbox)) +
		       2 * sizeof(struct gy_channel_mailbox_slot) +
		       in_pool(sizeof(struct gy_exchange));

	cr_expect_leq(bytes, 1024, "%zu", bytes);
}

Test(channel_address, is_not_paid_for_by_channels_that_nobody_addresses)
{
	rig_init(&rig, NULL);
	fd = rig_open(&rig, nobody_listens, NULL, NULL, &channel);
	rig_settle(&rig);
	cr_expect_null(channel->mailbox);
	cr_expect_eq(rig_channels(&rig)->mailboxes.used, 0);
	end();
}

/* ---- delivery ---- */

static uint32_t bytes_read;

static void count_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	bytes_read += (uint32_t)gyre_buffer_bytes(data);
	gyre_buffer_destroy(data);
}

static void read_on(struct gyre_handler_context *ctx, const struct gyre_type *type,
		    const void *event)
{
	(void)type;
	(void)event;
	gyre_channel_set_auto_read(gyre_context_channel(ctx), true);
}

Test(channel_address, brings_a_message_that_lets_reading_go_on_with_what_has_come_meanwhile)
{
	static const struct gyre_handler reading = { .name = "reading",
						     .read = count_bytes,
						     .event = read_on };
	static const struct gyre_handler *const readers[] = { &reading, NULL };

	bytes_read = 0;
	begin_with(readers);
	rig_settle(&rig);
	/* In one of these the message is there in the same turn as the byte. */
	for (uint32_t turns = 0; turns < 4; turns++) {
		gyre_channel_set_auto_read(channel, false);
		rig_settle(&rig);
		cr_assert_eq(write(fd, "x", 1), 1);
		for (uint32_t i = 0; i < turns; i++) {
			rig_turn(&rig);
		}
		cr_assert_eq(send_word(address, turns), 0);
		rig_settle(&rig);
		cr_expect_eq(bytes_read, turns + 1, "%u turns: %u", turns, bytes_read);
	}
	end();
}

Test(channel_address, is_the_same_whenever_it_is_asked_for, .init = begin, .fini = end)
{
	cr_expect(!gyre_address_is_nobody(address));
	cr_expect(gyre_address_equal(address, gyre_channel_address(channel)));
	cr_expect(!gyre_address_equal(address, gy_house_address(rig.house)));
}

Test(channel_address, brings_messages_to_the_pipeline_in_the_order_of_the_calls, .init = begin,
     .fini = end)
{
	for (uint64_t i = 0; i < 20; i++) {
		cr_assert_eq(send_word(address, i), 0);
	}
	cr_expect_eq(heard.count, 0, "not inside of the sender's call");
	rig_settle(&rig);
	cr_assert_eq(heard.count, 20);
	for (uint64_t i = 0; i < 20; i++) {
		cr_expect_eq(heard.values[i], i);
	}
}

Test(channel_address, tells_handlers_who_has_sent, .init = begin, .fini = end)
{
	cr_assert_eq(send_word(address, 1), 0);
	rig_settle(&rig);
	cr_expect(gyre_address_equal(heard.sender, gy_house_address(rig.house)));
	cr_expect_eq(heard.taken, 0);
	cr_expect_eq(heard.stashed, -EINVAL);
}

Test(channel_address, lets_handlers_write_on_a_message, .init = begin, .fini = end)
{
	char byte = 0;

	cr_assert_eq(send_word(address, 1), 0);
	rig_settle(&rig);
	cr_expect_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 1);
	cr_expect_eq(byte, 'w');
}

Test(channel_address, is_good_before_the_channel_is_active)
{
	begin_with(listeners);
	cr_assert_eq(send_word(address, 7), 0);
	rig_settle(&rig);
	cr_expect_eq(heard.count, 1);
	cr_expect_eq(heard.values[0], 7);
	end();
}

Test(channel_address, counts_each_message_as_sent_and_as_handled_once, .init = begin, .fini = end)
{
	uint64_t sent = rig.home.counters.sent;
	uint64_t handled = rig.home.counters.handled;

	for (uint64_t i = 0; i < 5; i++) {
		cr_assert_eq(send_word(address, i), 0);
	}
	rig_settle(&rig);
	cr_expect_eq(rig.home.counters.sent - sent, 5);
	cr_expect_eq(rig.home.counters.handled - handled, 5);
}

Test(channel_address, loses_what_no_handler_wants_with_a_reason)
{
	begin_with(nobody_listens);
	cr_assert_eq(send_token(address, 1), 0);
	rig_settle(&rig);
	rig.warnings_expected = 1;
	cr_assert_not_null(strstr(rig.last_log, " is sent the notice token from [0:0:1], which"),
			   "%s", rig.last_log);
	cr_expect_eq(dropped(GYRE_DROP_UNHANDLED), 1);
	cr_expect_eq(destroyed, 1);
	end();
}

/* ---- what messages own ---- */

Test(channel_address, has_what_a_message_owns_destroyed_once, .init = begin, .fini = end)
{
	cr_assert_eq(send_token(address, 1), 0);
	rig_settle(&rig);
	cr_expect_eq(heard.count, 1);
	cr_expect_eq(destroyed, 1);
}

Test(channel_address, lets_a_handler_keep_what_a_message_owns, .init = begin, .fini = end)
{
	heard.keeps = true;
	cr_assert_eq(send_token(address, 9), 0);
	rig_settle(&rig);
	cr_expect_eq(heard.kept, 9);
	cr_expect_eq(destroyed, 0);
}

Test(channel_address, has_what_came_too_late_destroyed_once, .init = begin, .fini = end)
{
	close_peer_and_wait();
	cr_expect_eq(send_token(address, 1), -ESRCH);
	cr_expect_eq(destroyed, 1);
}

/* ---- the end ---- */

Test(channel_address, is_stale_when_the_channel_is_closed, .init = begin, .fini = end)
{
	close_peer_and_wait();
	cr_expect_eq(send_word(address, 1), -ESRCH);
	cr_expect_eq(dropped(GYRE_DROP_NO_ACTOR), 1);
	cr_expect_eq(heard.count, 0);
}

Test(channel_address, is_stale_as_soon_as_the_channel_is_closing, .init = begin, .fini = end)
{
	gyre_context_close(gyre_channel_tail(channel));
	cr_expect_eq(send_word(address, 1), -ESRCH);
	cr_expect_eq(dropped(GYRE_DROP_NO_ACTOR), 1);
}

Test(channel_address, loses_what_waits_when_the_channel_ends_with_a_reason, .init = begin,
     .fini = end)
{
	cr_assert_eq(send_token(address, 1), 0);
	gyre_channel_abort(channel, -EIO);
	rig_settle(&rig);
	cr_expect_eq(heard.count, 0);
	cr_expect_eq(dropped(GYRE_DROP_STOPPED), 1);
	cr_expect_eq(destroyed, 1);
}

Test(channel_address, can_be_asked_for_until_the_last_call, .init = begin, .fini = end)
{
	close_peer_and_wait();
	cr_expect(gyre_address_equal(heard.at_end, address));
}

Test(channel_address, is_another_when_the_slot_is_used_again, .init = begin, .fini = end)
{
	struct gyre_address next;

	close_peer_and_wait();
	(void)close(fd);
	fd = rig_open(&rig, listeners, NULL, NULL, &channel);
	next = gyre_channel_address(channel);
	cr_expect_eq(next.slot, address.slot);
	cr_expect_neq(next.cookie, address.cookie);
	cr_expect_eq(send_word(address, 1), -ESRCH);
	cr_expect_eq(send_word(next, 2), 0);
	rig_settle(&rig);
	cr_expect_eq(heard.count, 1);
	cr_expect_eq(heard.values[0], 2);
}

Test(channel_address, stays_apart_from_those_of_hundreds_of_others)
{
	enum { COUNT = 200 };
	struct gyre_address addresses[COUNT];
	int fds[COUNT];

	begin();
	for (int i = 0; i < COUNT; i++) {
		struct gyre_channel *one;

		fds[i] = rig_open(&rig, listeners, NULL, NULL, &one);
		addresses[i] = gyre_channel_address(one);
	}
	for (int i = 0; i < COUNT; i += 2) {
		cr_assert_eq(send_word(addresses[i], 1), 0);
	}
	rig_settle(&rig);
	cr_expect_eq(heard.count, COUNT / 2);
	for (int i = 0; i < COUNT; i++) {
		char byte;

		cr_expect_eq(recv(fds[i], &byte, 1, MSG_DONTWAIT), i % 2 == 0 ? 1 : -1);
		(void)close(fds[i]);
	}
	end();
}

Test(channel_address, of_no_channel_at_all_finds_nobody, .init = begin, .fini = end)
{
	struct gyre_address wrong = address;

	wrong.slot += 1000;
	cr_expect_eq(send_word(wrong, 1), -ESRCH);
	wrong = address;
	wrong.cookie++;
	cr_expect_eq(send_word(wrong, 1), -ESRCH);
	cr_expect_eq(dropped(GYRE_DROP_NO_ACTOR), 2);
}

/* ---- closing by address ---- */

Test(channel_address, closes_the_channel_by_a_stop_before_what_waits, .init = begin, .fini = end)
{
	cr_assert_eq(send_word(address, 1), 0);
	cr_assert_eq(gyre_stop(&rig_stack(&rig)->head, address), 0);
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	cr_expect_eq(heard.count, 0);
	cr_expect_eq(dropped(GYRE_DROP_STOPPED), 1);
	cr_expect_eq(gyre_stop(&rig_stack(&rig)->head, address), -ESRCH);
}

Test(channel_address, closes_the_channel_by_a_poison_after_what_waits, .init = begin, .fini = end)
{
	char bytes[4];

	cr_assert_eq(send_word(address, 1), 0);
	cr_assert_eq(gyre_poison(&rig_stack(&rig)->head, address), 0);
	cr_assert_eq(send_word(address, 2), 0);
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	cr_expect_eq(heard.count, 1);
	cr_expect_eq(dropped(GYRE_DROP_STOPPED), 1);
	cr_expect_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), 1, "what was written arrives");
}

static int outcome = 1;

static int ask_channel(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, address, gyre_new(stack, word, .value = 1), 0, future));
	outcome = gyre_future_error(future);
	return 0;
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct gyre_future),
						.mount = ask_channel };

static void spawn_asking(void)
{
	struct gyre_address asking;

	cr_assert_eq(
		gy_spawn(&rig.home, &(struct gy_spawn_order){ .class = &asking_class }, 0, &asking),
		0);
	rig_settle(&rig);
}

Test(channel_address, answers_asks_that_nobody_takes, .init = begin, .fini = end)
{
	rig.warnings_expected = 1;
	spawn_asking();
	cr_expect_eq(outcome, -ENOSYS, "%d", outcome);
	cr_expect_eq(dropped(GYRE_DROP_UNHANDLED), 1);
}

static int stop_channel_gracefully(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, address, GYRE_SECONDS(1), future));
	outcome = gyre_future_error(future);
	(void)gyre_watch(stack, address);
	GYRE_END(stack);
}

static uint32_t terminated;

static int count_terminated(struct gyre_stack *stack)
{
	terminated += gyre_message(stack, gyre_terminated) != NULL;
	return gyre_return(stack);
}

static const struct gyre_class watching_class = { .name = "watching",
						  .frame_bytes = sizeof(struct gyre_future),
						  .mount = stop_channel_gracefully,
						  .behaviour = { .event = count_terminated } };

static int write_nothing(struct gyre_handler_context *ctx, uint64_t id,
			 const struct gyre_type *type, const void *message)
{
	(void)ctx;
	(void)id;
	(void)type;
	(void)message;
	outcome = 2;
	return 0;
}

static const struct gyre_exchange_options asking_options = { .ask = write_nothing };

static int open_exchange(struct gyre_handler_context *ctx)
{
	return gyre_exchange_open(ctx, &asking_options);
}

static const struct gyre_handler exchanging = { .name = "exchanging", .added = open_exchange };
static const struct gyre_handler *const exchanging_only[] = { &exchanging, NULL };

Test(channel_address, closes_the_channel_by_a_graceful_stop_that_nobody_waits_for, .init = begin,
     .fini = end)
{
	cr_assert_eq(send_word(address, 1), 0);
	cr_assert_eq(gyre_stop_gracefully(&rig_stack(&rig)->head, address, GYRE_SECONDS(1), NULL),
		     0);
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	cr_expect_eq(heard.count, 1);
}

Test(channel_address, is_not_one_to_watch_or_to_stop_gracefully)
{
	struct gyre_address watching;

	begin_with(exchanging_only);
	cr_assert_eq(gy_spawn(&rig.home, &(struct gy_spawn_order){ .class = &watching_class }, 0,
			      &watching),
		     0);
	rig_settle(&rig);
	cr_expect_eq(outcome, -ENOSYS, "%d", outcome);
	rig.warnings_expected = 1;
	cr_expect_not_null(strstr(rig.last_log, "which is dropped: no handler of its pipeline"));
	cr_expect_eq(terminated, 1);
	cr_expect(!gy_channel_is_closed(channel));
	end();
}

Test(channel_address, fails_asks_at_once_when_it_is_stale, .init = begin, .fini = end)
{
	close_peer_and_wait();
	spawn_asking();
	cr_expect_eq(outcome, -ESRCH, "%d", outcome);
}

Test(channel_address, is_taken_back_with_the_actor_that_owns_the_channel, .init = begin,
     .fini = end)
{
	cr_assert_eq(send_token(address, 1), 0);
	gy_house_request_stop(rig.house, 0);
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	rig_settle(&rig);
	cr_expect_eq(heard.count + dropped(GYRE_DROP_STOPPED), 1);
	cr_expect_eq(destroyed, 1);
}
