/*
 * Taps: a handler that keeps what comes to it for the test, and passes it on. What the test has it
 * do reaches it by the address of its channel, as a message that becomes an event of the pipeline;
 * so it runs where handlers do, and behind all that has come before.
 */
#include <gyre/tap.h>

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/kit/kit.h"

/* What has come. */
struct tapped {
	struct gy_list of_tap;
	struct gyre_tapped it;
	unsigned char bytes[];
};

/* What the test has a tap do. It stays until the end, for its message may end later. */
struct gy_tap_order {
	struct gy_list of_tap;
	struct gyre_test *test;
	gyre_tap_do_fn function; /* NULL: nothing any more */
	void *arg;
	int result;
	bool carried_out;
	bool done;
};

struct gyre_tap {
	struct gy_list of_test;
	struct gyre_test *test;
	struct gyre_handler_context *ctx; /* NULL: in no pipeline */
	struct gyre_address channel;
	struct gy_list items; /* that the test has not taken yet */
	struct gy_list orders;
	struct tapped *last; /* that was taken last */
	bool was_added;
	gyre_init_channel_fn init; /* of a channel that was opened with it; may be NULL */
	void *init_arg;
};

static void finish(struct gy_tap_order *order, int result)
{
	order->result = result;
	order->done = true;
	gy_test_changed(order->test);
}

void gy_tap_call_end(struct gy_tap_call *call)
{
	if (call->order != NULL && !call->order->done) {
		finish(call->order, -EPIPE);
	}
}

/* ---- life ---- */

struct gyre_tap *gyre_tap_create(struct gyre_test *test)
{
	struct gyre_tap *tap = (struct gyre_tap *)gy_sim_get(sizeof(*tap));

	tap->test = test;
	gy_list_init(&tap->items);
	gy_list_init(&tap->orders);
	gy_list_append(&test->taps, &tap->of_test);
	return tap;
}

static void free_items(struct gyre_tap *tap)
{
	while (!gy_list_empty(&tap->items)) {
		struct tapped *item = gy_container_of(tap->items.next, struct tapped, of_tap);

		gy_list_remove(&item->of_tap);
		gy_sim_put(item);
	}
	gy_sim_put(tap->last);
}

static void free_orders(struct gyre_tap *tap)
{
	while (!gy_list_empty(&tap->orders)) {
		struct gy_tap_order *order =
			gy_container_of(tap->orders.next, struct gy_tap_order, of_tap);

		gy_list_remove(&order->of_tap);
		gy_sim_put(order);
	}
}

void gy_test_free_taps(struct gyre_test *test)
{
	while (!gy_list_empty(&test->taps)) {
		struct gyre_tap *tap = gy_container_of(test->taps.next, struct gyre_tap, of_test);

		free_items(tap);
		free_orders(tap);
		gy_list_remove(&tap->of_test);
		gy_sim_put(tap);
	}
}

/* ---- the handler ---- */

static struct gyre_tap *tap_of(const struct gyre_handler_context *ctx)
{
	return (struct gyre_tap *)gyre_context_arg(ctx);
}

/* Adds what has come, with room for @it->count bytes. */
static struct tapped *add(const struct gyre_handler_context *ctx, const struct gyre_tapped *it)
{
	struct gyre_tap *tap = tap_of(ctx);
	struct tapped *item = (struct tapped *)gy_sim_get(sizeof(*item) + it->count);

	item->it = *it;
	item->it.bytes = item->bytes;
	gy_list_append(&tap->items, &item->of_tap);
	gy_test_changed(tap->test);
	return item;
}

static int added(struct gyre_handler_context *ctx)
{
	struct gyre_tap *tap = tap_of(ctx);

	/* A failing allocation is meant for what is tested, not for this. */
	gy_sim_allocations_spare(tap->test->host, true);
	tap->channel = gyre_channel_address(gyre_context_channel(ctx));
	gy_sim_allocations_spare(tap->test->host, false);
	tap->ctx = ctx;
	tap->was_added = true;
	gy_test_changed(tap->test);
	return gyre_address_is_nobody(tap->channel) ? -ENOMEM : 0;
}

static void removed(struct gyre_handler_context *ctx)
{
	tap_of(ctx)->ctx = NULL;
}

static void see_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct gyre_tapped it = { .kind = GYRE_TAPPED_READ,
					.count = gyre_buffer_bytes(data) };

	(void)gyre_buffer_copy(data, 0, add(ctx, &it)->bytes, it.count);
	gyre_context_fire_read(ctx, data);
}

static void see_read_end(struct gyre_handler_context *ctx)
{
	(void)add(ctx, &(struct gyre_tapped){ .kind = GYRE_TAPPED_READ_END });
	gyre_context_fire_read_end(ctx);
}

static void run(struct gyre_handler_context *ctx, struct gy_tap_order *order)
{
	if (order->function != NULL) {
		order->carried_out = true;
		finish(order, order->function(ctx, order->arg));
	}
}

static void see_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		      const void *event)
{
	bool kept = type->destroy == NULL && type->bytes != GYRE_BYTES_VARY;
	const struct gyre_tapped it = { .kind = GYRE_TAPPED_EVENT,
					.type = type,
					.count = kept ? type->bytes : 0 };
	struct tapped *item;

	if (type->id == GYRE_ID(gy_tap_call)) {
		run(ctx, ((const struct gy_tap_call *)event)->order);
		return;
	}
	item = add(ctx, &it);
	if (kept && it.count > 0) {
		memcpy(item->bytes, event, it.count);
	} else if (!kept) {
		item->it.bytes = NULL;
	}
	gyre_context_fire_event(ctx, type, event);
}

static void see_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)add(ctx, &(struct gyre_tapped){ .kind = GYRE_TAPPED_WRITABILITY, .error = writable });
	gyre_context_fire_writability(ctx, writable);
}

static void see_exception(struct gyre_handler_context *ctx, int error)
{
	(void)add(ctx, &(struct gyre_tapped){ .kind = GYRE_TAPPED_EXCEPTION, .error = error });
	gyre_context_fire_exception(ctx, error);
}

static void see_inactive(struct gyre_handler_context *ctx)
{
	const struct gyre_tapped it = {
		.kind = GYRE_TAPPED_INACTIVE,
		.error = gyre_channel_reason(gyre_context_channel(ctx)),
	};

	(void)add(ctx, &it);
	gyre_context_fire_inactive(ctx);
}

int gyre_tap_add(struct gyre_channel *channel, struct gyre_position position, struct gyre_tap *tap)
{
	static const struct gyre_handler handler = {
		.name = "tap",
		.added = added,
		.removed = removed,
		.read = see_read,
		.read_end = see_read_end,
		.event = see_event,
		.writability = see_writability,
		.exception = see_exception,
		.inactive = see_inactive,
	};

	return tap->ctx != NULL ? -EBUSY : gyre_pipeline_add(channel, position, &handler, tap);
}

/* A channel that was just opened is made by its loop. */
static bool is_in_pipeline(const struct gyre_tap *tap)
{
	return gy_test_wait_until(tap->test, &tap->was_added) && tap->ctx != NULL;
}

static int init_tapped(struct gyre_channel *channel, void *arg)
{
	struct gyre_tap *tap = (struct gyre_tap *)arg;
	int r = tap->init == NULL ? 0 : tap->init(channel, tap->init_arg);

	return r < 0 ? r : gyre_tap_add(channel, GYRE_LAST, tap);
}

struct gyre_tap *gyre_tap_open_at(struct gyre_test *test,
				  const struct gyre_acceptor_options *options,
				  struct gyre_test_channel **ret_peer, const char *place)
{
	static const struct gyre_acceptor_options none;
	struct gyre_acceptor_options tapped = options == NULL ? none : *options;
	struct gyre_tap *tap = gyre_tap_create(test);
	struct gyre_test_channel *peer;

	tap->init = tapped.init_channel;
	tap->init_arg = tapped.init_arg;
	tapped.init_channel = init_tapped;
	tapped.init_arg = tap;
	peer = gyre_test_channel_open_at(test, &tapped, place);
	if (peer == NULL) {
		return NULL;
	}
	if (!is_in_pipeline(tap)) {
		gy_test_fail(test, place, "the channel was not made: its init_channel has failed");
		return NULL;
	}
	*ret_peer = peer;
	return tap;
}

/* ---- what it does ---- */

static struct gy_tap_order *make_order(struct gyre_tap *tap, gyre_tap_do_fn function, void *arg)
{
	struct gy_tap_order *order = (struct gy_tap_order *)gy_sim_get(sizeof(*order));

	*order = (struct gy_tap_order){ .test = tap->test, .function = function, .arg = arg };
	gy_list_append(&tap->orders, &order->of_tap);
	return order;
}

/* Waits for an order that was sent. */
static void wait_for(struct gy_tap_order *order)
{
	if (!gy_test_wait_until(order->test, &order->done)) {
		order->function = NULL;
		order->result = -ETIME;
	}
}

static const char *why(const struct gyre_tap *tap, int error)
{
	if (tap->ctx == NULL) {
		return "it is in no pipeline";
	}
	return error == -EPIPE ? "the channel closes, or a handler in front keeps the event"
			       : strerrordesc_np(-error);
}

static int carry_out(struct gyre_tap *tap, struct gy_tap_order *order)
{
	struct gyre_system *system = tap->test->system;
	int r = -EPIPE;

	if (is_in_pipeline(tap)) {
		r = gyre_system_notify(system, tap->channel,
				       gyre_system_new(system, gy_tap_call, order));
	}
	if (r == 0) {
		wait_for(order);
		r = order->result;
	}
	return r == -ESRCH && !order->carried_out ? -EPIPE : r;
}

int gyre_tap_do_at(struct gyre_tap *tap, gyre_tap_do_fn function, void *arg, const char *place)
{
	struct gy_tap_order *order = make_order(tap, function, arg);
	int r = carry_out(tap, order);

	if (!order->carried_out) {
		gy_test_fail(tap->test, place, "the tap cannot do this: %s", why(tap, r));
	}
	return r;
}

struct writing {
	struct gyre_test *test;
	const void *bytes;
	size_t count;
};

static int write_bytes(struct gyre_handler_context *ctx, void *arg)
{
	const struct writing *writing = (const struct writing *)arg;
	struct gyre_buffer *buffer;
	int r;

	gy_sim_allocations_spare(writing->test->host, true);
	buffer = gyre_context_buffer(ctx);
	r = gyre_buffer_append(buffer, writing->bytes, writing->count);
	gy_sim_allocations_spare(writing->test->host, false);
	gy_assert(r == 0);
	return gyre_context_write(ctx, buffer);
}

int gyre_tap_write_at(struct gyre_tap *tap, const void *bytes, size_t count, const char *place)
{
	struct writing writing = { .test = tap->test,
				   .bytes = bytes,
				   .count = gy_test_count_of(bytes, count) };

	return gyre_tap_do_at(tap, write_bytes, &writing, place);
}

/* ---- what has come ---- */

/* The next thing, which stays where it is; NULL if none has come in time. */
static struct tapped *next_until(struct gyre_tap *tap, uint64_t until_ns)
{
	struct gy_list *first = gy_test_first(tap->test, &tap->items, until_ns);

	return first == NULL ? NULL : gy_container_of(first, struct tapped, of_tap);
}

const struct gyre_tapped *gyre_tap_take(struct gyre_tap *tap, uint64_t within_ns)
{
	struct tapped *item = next_until(tap, gy_test_until(tap->test, within_ns));

	if (item == NULL) {
		return NULL;
	}
	gy_list_remove(&item->of_tap);
	gy_sim_put(tap->last);
	tap->last = item;
	return &item->it;
}

/* A thing, or what is expected, in words. */
struct words {
	char text[320];
};

static struct words words_of(const struct gyre_tapped *it)
{
	struct words words;
	char *text = words.text;
	const struct gy_test_shown bytes =
		gy_test_show(it->bytes, it->kind == GYRE_TAPPED_READ ? it->count : 0);
	const char *error = it->error == 0 ? "no error" : strerrordesc_np(-it->error);

	switch (it->kind) {
	case GYRE_TAPPED_READ:
		(void)snprintf(text, sizeof(words.text), "the read %s", bytes.text);
		break;
	case GYRE_TAPPED_READ_END:
		(void)snprintf(text, sizeof(words.text), "the end of the peer's side");
		break;
	case GYRE_TAPPED_EVENT:
		(void)snprintf(text, sizeof(words.text), "the event %s", it->type->name);
		break;
	case GYRE_TAPPED_WRITABILITY:
		(void)snprintf(text, sizeof(words.text), "that output is %s",
			       it->error == 0 ? "unwelcome" : "welcome");
		break;
	case GYRE_TAPPED_EXCEPTION:
		(void)snprintf(text, sizeof(words.text), "the exception: %s", error);
		break;
	case GYRE_TAPPED_INACTIVE:
		(void)snprintf(text, sizeof(words.text), "the end of the channel: %s", error);
		break;
	}
	return words;
}

static bool equal(const struct gyre_tapped *expected, const struct gyre_tapped *it)
{
	if (it->kind != expected->kind || it->error != expected->error) {
		return false;
	}
	if (it->kind == GYRE_TAPPED_EVENT) {
		return it->type->id == expected->type->id;
	}
	return it->kind != GYRE_TAPPED_READ ||
	       (it->count == expected->count &&
		(it->count == 0 || memcmp(it->bytes, expected->bytes, it->count) == 0));
}

/* Takes the next thing; NULL if it is not @expected, and then the test has failed, with *@ret_error
 * for what. */
static const struct gyre_tapped *expect(struct gyre_tap *tap, const struct gyre_tapped *expected,
					uint64_t within_ns, const char *place, int *ret_error)
{
	const struct gyre_tapped *it = gyre_tap_take(tap, within_ns);
	const struct words wanted = words_of(expected);

	if (it == NULL) {
		gy_test_fail(tap->test, place, "expected %s, and got nothing in time", wanted.text);
		*ret_error = -ETIMEDOUT;
		return NULL;
	}
	if (!equal(expected, it)) {
		gy_test_fail(tap->test, place, "expected %s, and got %s", wanted.text,
			     words_of(it).text);
		*ret_error = -EBADMSG;
		return NULL;
	}
	*ret_error = 0;
	return it;
}

const struct gyre_tapped *gyre_tap_expect_at(struct gyre_tap *tap, enum gyre_tapped_kind kind,
					     int error, uint64_t within_ns, const char *place)
{
	const struct gyre_tapped expected = { .kind = kind, .error = error };
	int r;

	if (kind == GYRE_TAPPED_READ || kind == GYRE_TAPPED_EVENT) {
		gy_test_fail(tap->test, place, "reads and events have calls of their own");
		return NULL;
	}
	return expect(tap, &expected, within_ns, place, &r);
}

int gyre_tap_expect_read_at(struct gyre_tap *tap, const void *bytes, size_t count,
			    uint64_t within_ns, const char *place)
{
	const struct gyre_tapped expected = { .kind = GYRE_TAPPED_READ,
					      .bytes = bytes,
					      .count = gy_test_count_of(bytes, count) };
	int r;

	(void)expect(tap, &expected, within_ns, place, &r);
	return r;
}

const void *gyre_tap_expect_event_at(struct gyre_tap *tap, const struct gyre_type *type,
				     uint64_t within_ns, const char *place)
{
	const struct gyre_tapped expected = { .kind = GYRE_TAPPED_EVENT, .type = type };
	int r;
	const struct gyre_tapped *it = expect(tap, &expected, within_ns, place, &r);

	if (it == NULL) {
		return NULL;
	}
	if (it->bytes == NULL) {
		gy_test_fail(tap->test, place,
			     "the event %s owns something or has a tail, and "
			     "cannot be kept",
			     type->name);
	}
	return it->bytes;
}

int gyre_tap_expect_none_at(struct gyre_tap *tap, uint64_t for_ns, const char *place)
{
	const struct tapped *item = next_until(tap, gy_test_until(tap->test, for_ns));

	if (item != NULL) {
		gy_test_fail(tap->test, place, "expected nothing, and got %s",
			     words_of(&item->it).text);
		return -EBADMSG;
	}
	return 0;
}
