/*
 * Asks of actors to the peer. The mail is kept as long as it can be answered; the asker's promise
 * has the time-out. Where answers come in order, an ask that has timed out must keep its place, and
 * its answer is dropped at the asker.
 *
 * Where answers have ids an ask need not keep its place: when others wait for one the exchange
 * checks now and then for asks that are past their deadlines, and gives these up. Their ids are
 * kept for a while, so that answers that come later are recognised.
 *
 * A peer that leaves out an answer for good has stalled. Where answers come in order, it has
 * stalled when the oldest ask has been the oldest for too long; where they have ids, when nothing
 * at all has come since an ask was written. Then the channel ends, for only another connection can
 * go on. One time is kept for this, which asks and answers overwrite; the timer compares it when it
 * fires, and is started anew if it was for an earlier time. A time in which the channel itself held
 * reading back begins and ends with a call, and is left out: what was silent before it counts on.
 */
#include <errno.h>

#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "channel/exchange/exchange.h"

enum { MAX_DEFAULT = 1, PENDING_MAX_DEFAULT = 1024, LATE_MAX = 1024 };

static const uint64_t check_ns = GYRE_MILLISECONDS(50);
static const uint64_t stall_default_ns = GYRE_SECONDS(30);

struct asked {
	struct gy_table_item item; /* its key is the id; in the table where there are ids */
	struct gy_list link;
	struct gyre_mail *mail; /* NULL when it was given up */
};

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value == 0 ? fallback : value;
}

static uint32_t asks_max(const struct gy_exchange *exchange)
{
	return or_default(exchange->options->asks_max, MAX_DEFAULT);
}

static struct asked *asked_of(struct gy_list *link)
{
	return gy_container_of(link, struct asked, link);
}

static struct gy_sizes *parts_of(const struct gy_exchange *exchange)
{
	return &gy_exchange_home(exchange)->parts;
}

/* ---- stalls ---- */

static uint64_t now_of(const struct gy_exchange *exchange)
{
	return gy_exchange_home(exchange)->loop.now_ns;
}

/* Whether its answer may be awaited for ever. */
static bool is_patient(const struct gyre_mail *ask)
{
	return ask->deadline == 0;
}

static uint64_t stall_of(const struct gy_exchange *exchange)
{
	uint64_t stall_ns = exchange->options->ask_stall_ns;

	return stall_ns == 0 ? stall_default_ns : stall_ns;
}

/* When an answer must have come; never is UINT64_MAX. */
static uint64_t stall_end_of(const struct gy_exchange *exchange)
{
	uint64_t stall_ns = stall_of(exchange);

	return exchange->asks.silent_ns == 0 || stall_ns == GYRE_ASK_STALL_NEVER
		       ? UINT64_MAX
		       : exchange->asks.silent_ns + stall_ns;
}

/* Whether the channel itself holds reading back. */
static bool is_held(const struct gy_exchange *exchange)
{
	const uint32_t unread = GY_NO_READ_NOT_ASKED | GY_NO_READ_STARVED | GY_NO_READ_FULL;

	return (exchange->mailbox->channel->state & unread) != 0;
}

/* From now on an answer is awaited. */
static void await(struct gy_exchange *exchange)
{
	uint64_t now_ns = now_of(exchange);

	exchange->asks.silent_ns = now_ns;
	exchange->asks.held_ns = is_held(exchange) ? now_ns : 0;
	exchange->mailbox->channel->times_reads = true;
}

static void leave_out_held(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	uint64_t now_ns = now_of(exchange);

	gy_assert(asks->silent_ns != 0 && asks->held_ns >= asks->silent_ns);
	asks->silent_ns += now_ns - asks->held_ns;
	asks->held_ns = now_ns;
}

void gy_asks_note_reads(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;

	if (asks->silent_ns == 0) {
		return;
	}
	if (asks->held_ns != 0) {
		leave_out_held(exchange);
	}
	asks->held_ns = is_held(exchange) ? now_of(exchange) : 0;
}

/* @ask, the last in flight, is about to be written; whether the time counts from there. */
static bool begin_silence(struct gy_exchange *exchange, const struct gyre_mail *ask)
{
	struct gy_asks *asks = &exchange->asks;

	if (asks->silent_ns != 0 || is_patient(ask) ||
	    (!exchange->options->ids && asks->count > 1)) {
		return false;
	}
	await(exchange);
	return true;
}

/* An answer has come, and is dealt with. */
static void break_silence(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	bool awaited = !exchange->options->ids && !gy_list_empty(&asks->in_flight) &&
		       !is_patient(asked_of(asks->in_flight.next)->mail);

	if (awaited) {
		await(exchange);
	} else {
		asks->silent_ns = 0;
	}
}

void gy_asks_connected(struct gy_exchange *exchange)
{
	if (exchange->asks.silent_ns != 0) {
		await(exchange);
	}
}

/* The timer has fired. What has been received by then has been delivered. */
static void end_if_stalled(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	struct gyre_channel *channel = exchange->mailbox->channel;

	asks->overdue = false;
	if (asks->silent_ns == 0) {
		return;
	}
	gy_assert((asks->held_ns != 0) == is_held(exchange));
	if (asks->held_ns != 0) {
		leave_out_held(exchange);
	} else if (channel->unconnected) {
		await(exchange);
	} else if (now_of(exchange) >= stall_end_of(exchange)) {
		gy_channel_fail(channel, -ETIMEDOUT);
	}
}

/* ---- giving up ---- */

static void forget(struct gy_exchange *exchange, struct asked *asked)
{
	if (exchange->options->ids) {
		gy_table_remove(&exchange->asks.by_id, parts_of(exchange), &asked->item);
	}
	gy_list_remove(&asked->link);
	gy_sizes_delete(parts_of(exchange), asked, sizeof(*asked));
}

static void forget_late(struct gy_exchange *exchange, struct asked *asked)
{
	gy_assert(exchange->asks.late_count > 0);
	exchange->asks.late_count--;
	forget(exchange, asked);
}

static void give_up(struct gy_exchange *exchange, struct asked *asked)
{
	struct gy_asks *asks = &exchange->asks;

	gy_mail_put(gy_exchange_home(exchange), asked->mail);
	asked->mail = NULL;
	gy_assert(asks->count > 0);
	asks->count--;
	asks->barrier = false;
	gy_list_remove(&asked->link);
	if (asks->late_count == LATE_MAX) {
		forget_late(exchange, asked_of(asks->late.next));
	}
	gy_list_append(&asks->late, &asked->link);
	asks->late_count++;
}

static void give_up_dead(struct gy_exchange *exchange)
{
	uint64_t sure_ns = gy_exchange_home(exchange)->loop.sure_ns;
	struct gy_list *link = exchange->asks.in_flight.next;

	while (link != &exchange->asks.in_flight) {
		struct asked *asked = asked_of(link);

		link = link->next;
		if (gy_deadline_passed(asked->mail->deadline, sure_ns)) {
			give_up(exchange, asked);
		}
	}
}

static void timer_fired(struct gy_timer *timer)
{
	struct gy_exchange *exchange = gy_container_of(timer, struct gy_exchange, asks.timer);

	if (exchange->asks.hurried) {
		give_up_dead(exchange);
	}
	exchange->asks.hurried = false;
	exchange->asks.overdue = true;
	gy_exchange_ready(exchange);
}

void gy_asks_init(struct gy_exchange *exchange)
{
	gy_list_init(&exchange->asks.in_flight);
	gy_list_init(&exchange->asks.late);
	gy_timer_init(&exchange->asks.timer, timer_fired);
}

/* ---- asking ---- */

void gy_asks_add(struct gy_exchange *exchange, struct gyre_mail *ask)
{
	struct gy_asks *asks = &exchange->asks;

	if (asks->pending_count >=
	    or_default(exchange->options->asks_pending_max, PENDING_MAX_DEFAULT)) {
		gy_drop(gy_exchange_home(exchange), ask,
			gy_channel_mailbox_address(exchange->mailbox), GYRE_DROP_MAILBOX_FULL,
			-ENOBUFS);
		return;
	}
	gy_mails_push(&asks->pending, ask);
	asks->pending_count++;
	gy_exchange_ready(exchange);
}

static bool is_barrier(const struct gy_exchange *exchange, const struct gyre_mail *ask)
{
	gyre_filter_fn filter = exchange->options->ask_barrier;

	return filter != NULL && filter(ask->type, ask->payload);
}

/* Whether the first that is pending may be written; its time-out may have passed. */
static bool may_write(const struct gy_exchange *exchange)
{
	const struct gy_asks *asks = &exchange->asks;

	return asks->pending.first != NULL && gy_exchange_may_write(exchange) && !asks->barrier &&
	       asks->count < asks_max(exchange) &&
	       (asks->count == 0 || !is_barrier(exchange, gy_mail_of(asks->pending.first)));
}

/* An id that none in flight has; one that was given up loses it. */
static uint64_t next_id(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	uint64_t id_max = exchange->options->id_max == 0 ? UINT32_MAX : exchange->options->id_max;

	while (true) {
		struct gy_table_item *item;

		asks->id = asks->id >= id_max ? 1 : asks->id + 1;
		item = gy_table_find(&asks->by_id, asks->id);
		if (item == NULL) {
			return asks->id;
		}
		if (gy_container_of(item, struct asked, item)->mail == NULL) {
			forget_late(exchange, gy_container_of(item, struct asked, item));
			return asks->id;
		}
	}
}

/* Gives @ask a place in flight; NULL when there is no memory. */
static struct asked *place(struct gy_exchange *exchange, struct gyre_mail *ask)
{
	struct gy_asks *asks = &exchange->asks;
	struct asked *asked = (struct asked *)gy_sizes_new(parts_of(exchange), sizeof(*asked));

	if (asked == NULL) {
		return NULL;
	}
	*asked = (struct asked){ .mail = ask };
	if (exchange->options->ids) {
		asked->item.key = next_id(exchange);
		if (gy_table_add(&asks->by_id, parts_of(exchange), &asked->item) < 0) {
			gy_sizes_delete(parts_of(exchange), asked, sizeof(*asked));
			return NULL;
		}
	}
	gy_list_append(&asks->in_flight, &asked->link);
	asks->count++;
	asks->barrier = is_barrier(exchange, ask);
	return asked;
}

static void end(struct gy_exchange *exchange, struct asked *asked)
{
	gy_assert(exchange->asks.count > 0);
	exchange->asks.count--;
	exchange->asks.barrier = false;
	forget(exchange, asked);
}

static void write_ask(struct gy_exchange *exchange, struct gyre_mail *ask)
{
	struct gy_home *home = gy_exchange_home(exchange);
	struct asked *asked;
	bool silent;
	int r;

	if (gy_deadline_passed(ask->deadline, home->loop.sure_ns)) {
		gy_drop(home, ask, gy_channel_mailbox_address(exchange->mailbox), GYRE_DROP_EXPIRED,
			-ETIMEDOUT);
		return;
	}
	asked = place(exchange, ask);
	if (asked == NULL) {
		gy_drop(home, ask, gy_channel_mailbox_address(exchange->mailbox),
			GYRE_DROP_NO_MEMORY, -ENOMEM);
		return;
	}
	gy_count(&home->counters.handled, 1);
	home->steps++;
	silent = begin_silence(exchange, ask);
	gy_exchange_begin_message(exchange);
	r = exchange->options->ask(exchange->ctx, asked->item.key, ask->type, ask->payload);
	gy_exchange_end_message(exchange);
	if (r < 0 && !exchange->closed) {
		exchange->asks.silent_ns = silent ? 0 : exchange->asks.silent_ns;
		end(exchange, asked);
		gy_fail_ask(home, ask, r);
	}
}

static void start_timer(struct gy_exchange *exchange, uint64_t delay_ns)
{
	gy_timer_start(&gy_exchange_home(exchange)->loop.wheel, &exchange->asks.timer, delay_ns);
}

/* When to look for a stall: while the channel does not read the time stands still. */
static uint64_t look_in(const struct gy_exchange *exchange)
{
	uint64_t now_ns = now_of(exchange);
	uint64_t end_ns = stall_end_of(exchange);

	if (exchange->asks.held_ns != 0) {
		return stall_of(exchange);
	}
	return end_ns > now_ns ? end_ns - now_ns : 1;
}

/*
 * Waiting asks may wait for an abandoned one; asks in flight may wait for a peer that has stalled.
 */
static void watch(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	bool blocked = asks->pending.first != NULL && asks->count > 0 && exchange->options->ids;

	if (blocked != asks->hurried) {
		gy_timer_stop(&gy_exchange_home(exchange)->loop.wheel, &asks->timer);
		asks->hurried = blocked;
	}
	if (asks->silent_ns == 0 && !blocked) {
		return;
	}
	if (!gy_timer_is_started(&asks->timer) &&
	    (blocked || stall_of(exchange) != GYRE_ASK_STALL_NEVER)) {
		start_timer(exchange, blocked ? check_ns : look_in(exchange));
	}
}

void gy_asks_run(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	uint32_t budget = gy_exchange_home(exchange)->options.run_budget;

	if (gy_unlikely(asks->overdue)) {
		end_if_stalled(exchange);
	}
	while (budget > 0 && may_write(exchange)) {
		budget--;
		gy_assert(asks->pending_count > 0);
		asks->pending_count--;
		write_ask(exchange, gy_mails_pop(&asks->pending));
	}
	exchange->more = exchange->more || may_write(exchange);
	if (gy_exchange_is_open(exchange)) {
		watch(exchange);
	}
}

/* ---- answers ---- */

/* An answer that nobody has asked for. */
static int unasked(struct gy_exchange *exchange, struct gyre_mail *answer)
{
	gyre_mail_destroy(gyre_context_stack(exchange->ctx), answer);
	gyre_context_fire_exception(exchange->ctx, -EPROTO);
	return -EPROTO;
}

/* The answer to one that was given up: nobody waits for it any more. */
static void lose(struct gy_exchange *exchange, struct asked *asked, struct gyre_mail *answer)
{
	struct gy_home *home = gy_exchange_home(exchange);

	forget_late(exchange, asked);
	break_silence(exchange);
	if (answer != NULL) {
		answer->node.kind = GY_MAIL_REPLY;
		answer->from = gy_origin_of(gy_channel_mailbox_address(exchange->mailbox));
		gy_count(&home->counters.sent, 1);
		gy_drop(home, answer, gy_channel_mailbox_address(exchange->mailbox), GYRE_DROP_LATE,
			0);
	}
}

/* With @error 0 by @answer. */
static int answer_to(struct gy_exchange *exchange, struct asked *asked, struct gyre_mail *answer,
		     int error)
{
	struct gyre_mail *ask;

	int r = 0;

	if (error == 0 && gy_mail_is_missing(answer)) {
		error = r = gy_mail_report_no_memory(answer);
		answer = NULL;
	}
	if (asked == NULL) {
		return unasked(exchange, answer);
	}
	ask = asked->mail;
	if (ask == NULL) {
		lose(exchange, asked, answer);
		return r;
	}
	end(exchange, asked);
	break_silence(exchange);
	gy_exchange_ready(exchange);
	if (error < 0) {
		gy_fail_ask(gy_exchange_home(exchange), ask, error);
		return r;
	}
	return gy_channel_mailbox_answer(exchange->mailbox->channel, ask, answer);
}

static struct asked *oldest(struct gy_exchange *exchange)
{
	struct gy_list *in_flight = &exchange->asks.in_flight;

	return gy_list_empty(in_flight) ? NULL : asked_of(in_flight->next);
}

static struct asked *find(struct gy_exchange *exchange, uint64_t id)
{
	struct gy_table_item *item = gy_table_find(&exchange->asks.by_id, id);

	return item == NULL ? NULL : gy_container_of(item, struct asked, item);
}

/* The exchange, if it is of the kind that a call for it needs. */
static struct gy_exchange *exchange_of(const struct gyre_handler_context *ctx, bool ids)
{
	const struct gy_channel_mailbox *mailbox = ctx->channel->mailbox;

	return mailbox == NULL || mailbox->exchange == NULL ||
			       (ids && !mailbox->exchange->options->ids)
		       ? NULL
		       : mailbox->exchange;
}

static int misused(const struct gyre_handler_context *ctx, struct gyre_mail *answer)
{
	gyre_mail_destroy(gyre_context_stack(ctx), answer);
	return -EINVAL;
}

int gyre_exchange_answer(struct gyre_handler_context *ctx, struct gyre_mail *mail)
{
	struct gy_exchange *exchange = exchange_of(ctx, false);

	return exchange == NULL ? misused(ctx, mail)
				: answer_to(exchange, oldest(exchange), mail, 0);
}

int gyre_exchange_answer_id(struct gyre_handler_context *ctx, uint64_t id, struct gyre_mail *mail)
{
	struct gy_exchange *exchange = exchange_of(ctx, true);

	return exchange == NULL ? misused(ctx, mail)
				: answer_to(exchange, find(exchange, id), mail, 0);
}

int gyre_exchange_refuse(struct gyre_handler_context *ctx, int error)
{
	struct gy_exchange *exchange = exchange_of(ctx, false);

	return exchange == NULL || error >= 0 ? -EINVAL
					      : answer_to(exchange, oldest(exchange), NULL, error);
}

int gyre_exchange_refuse_id(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	struct gy_exchange *exchange = exchange_of(ctx, true);

	return exchange == NULL || error >= 0
		       ? -EINVAL
		       : answer_to(exchange, find(exchange, id), NULL, error);
}

/* ---- the end ---- */

void gy_asks_end(struct gy_exchange *exchange)
{
	struct gy_asks *asks = &exchange->asks;
	struct gy_home *home = gy_exchange_home(exchange);
	int error = gy_channel_failure(exchange->mailbox->channel);
	struct gyre_mail *mail;

	gy_timer_stop(&home->loop.wheel, &asks->timer);
	while (!gy_list_empty(&asks->in_flight)) {
		struct asked *asked = oldest(exchange);

		mail = asked->mail;
		end(exchange, asked);
		gy_fail_ask(home, mail, error);
	}
	while (!gy_list_empty(&asks->late)) {
		forget_late(exchange, asked_of(asks->late.next));
	}
	while ((mail = gy_mails_pop(&asks->pending)) != NULL) {
		gy_drop(home, mail, gy_channel_mailbox_address(exchange->mailbox),
			GYRE_DROP_STOPPED, error);
	}
	gy_table_fini(&asks->by_id, parts_of(exchange));
	asks->pending_count = 0;
}
