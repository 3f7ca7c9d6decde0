/*
 * Requests of the peer. Each has a number, by which its answer finds it, and a place in the list of
 * those in flight, from which answers are written in order. The numbers are the channel's, and go
 * on with another exchange: answers to requests of the one before find nobody. An answer comes as
 * mail, also when the handler gives it at once; so a request is never handled inside of another
 * one's answer, however many stand in a row.
 *
 * A request is in flight from its begin until its answer is written. While too many are pending the
 * channel does not read; it reads again when half of them have begun.
 *
 * An answer is written only while output is welcome, however long it is: see
 * gy_exchange_may_write(). Until then it waits as the mail it came in, and keeps its place in
 * flight; so the number of requests bounds how much a peer that reads nothing can make us hold.
 */
#include <errno.h>

#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "channel/channel_actor.h"
#include "channel/exchange/exchange.h"

enum { MAX_DEFAULT = 1, PENDING_MAX_DEFAULT = 64 };

struct request {
	struct gy_table_item item; /* its key is the number */
	struct gy_list link;
	struct gyre_mail *mail; /* the request while it is pending, then the answer or NULL */
	uint64_t id;
};

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value == 0 ? fallback : value;
}

static struct request *request_of(struct gy_list *link)
{
	return gy_container_of(link, struct request, link);
}

static void discard(struct gy_exchange *exchange, struct request *request)
{
	gy_sizes_delete(&gy_exchange_home(exchange)->parts, request, sizeof(*request));
}

void gy_requests_init(struct gy_exchange *exchange)
{
	gy_list_init(&exchange->requests.pending);
	gy_list_init(&exchange->requests.in_flight);
	gy_list_init(&exchange->requests.answered);
	exchange->requests.exchange = ++exchange->mailbox->exchanges;
}

/* ---- coming ---- */

static void add(struct gy_exchange *exchange, struct request *request, uint64_t id,
		struct gyre_mail *mail)
{
	struct gy_requests *requests = &exchange->requests;
	struct gyre_channel *channel = exchange->mailbox->channel;

	*request = (struct request){ .item.key = ++exchange->mailbox->requests,
				     .mail = mail,
				     .id = id };
	mail->node.kind = GY_MAIL_ASK;
	mail->ask_id = request->item.key;
	mail->from = gy_origin_of(gy_channel_mailbox_address(exchange->mailbox));
	mail->deadline = 0;
	gy_count(&gy_exchange_home(exchange)->counters.sent, 1);
	gy_list_append(&requests->pending, &request->link);
	requests->pending_count++;
	if (requests->pending_count >=
	    or_default(exchange->options->requests_pending_max, PENDING_MAX_DEFAULT)) {
		gy_channel_add_no_read(channel, GY_NO_READ_FULL);
		gy_channel_ready(channel);
	}
	gy_exchange_ready(exchange);
}

int gyre_exchange_receive(struct gyre_handler_context *ctx, uint64_t id, struct gyre_mail *mail)
{
	struct gy_channel_mailbox *mailbox = ctx->channel->mailbox;
	struct gy_exchange *exchange = mailbox == NULL ? NULL : mailbox->exchange;
	struct request *request = NULL;
	int r = 0;

	if (exchange == NULL || exchange->options->request == NULL) {
		r = -EINVAL;
	} else if (!gy_exchange_is_open(exchange)) {
		r = -EPIPE;
	} else if (mail == GYRE_NO_ARGUMENT) {
		r = -EINVAL;
	} else if (mail != NULL) {
		request = (struct request *)gy_sizes_new(&gy_exchange_home(exchange)->parts,
							 sizeof(*request));
	}
	if (r == 0 && request == NULL) {
		gy_channel_fail(ctx->channel, -ENOMEM);
		r = -ENOMEM;
	}
	if (r < 0) {
		gyre_mail_destroy(gyre_context_stack(ctx), mail);
		return r;
	}
	add(exchange, request, id, gy_mail_given(gy_exchange_home(exchange), mail));
	return 0;
}

/* ---- answering ---- */

static void refuse(struct gy_exchange *exchange, uint64_t id, int error)
{
	if (exchange->options->fail != NULL) {
		exchange->options->fail(exchange->ctx, id, error);
	} else {
		gyre_context_fire_exception(exchange->ctx, error);
	}
}

static void write_answer(struct gy_exchange *exchange, struct request *request)
{
	struct gy_home *home = gy_exchange_home(exchange);
	struct gyre_mail *mail = request->mail;
	uint64_t id = request->id;
	int r;

	gy_list_remove(&request->link);
	discard(exchange, request);
	gy_assert(exchange->requests.count > 0);
	exchange->requests.count--;
	exchange->requests.barrier = false;
	gy_count(&home->counters.handled, 1);
	home->steps++;
	gy_exchange_begin_message(exchange);
	if (mail->node.kind == GY_MAIL_REPLY) {
		r = exchange->options->reply(exchange->ctx, id, mail->type, mail->payload);
	} else {
		r = gy_exception_error(mail);
	}
	if (r < 0 && gy_exchange_is_open(exchange)) {
		refuse(exchange, id, r);
	}
	gy_exchange_end_message(exchange);
	gy_mail_put(home, mail);
}

/* An answer that need not wait for those before it. */
static void queue_answer(struct gy_exchange *exchange, struct request *request)
{
	gy_list_remove(&request->link);
	gy_list_append(&exchange->requests.answered, &request->link);
}

/* Brings the answers that have come to their requests. */
static void collect(struct gy_exchange *exchange)
{
	struct gy_home *home = gy_exchange_home(exchange);
	struct gy_channel_mailbox *mailbox = exchange->mailbox;
	struct gyre_mail *mail;

	while (gy_exchange_is_open(exchange) && (mail = gy_mails_pop(&mailbox->answers)) != NULL) {
		struct gy_table_item *item =
			gy_table_take(&exchange->requests.unanswered, &home->parts, mail->ask_id);

		if (item == NULL) {
			gy_drop(home, mail, gy_channel_mailbox_address(mailbox), GYRE_DROP_LATE, 0);
			continue;
		}
		gy_container_of(item, struct request, item)->mail = mail;
		if (exchange->options->any_order) {
			queue_answer(exchange, gy_container_of(item, struct request, item));
		}
	}
}

/* The requests whose answers are written next; an empty list when none is. */
static const struct gy_list *first_answers(const struct gy_exchange *exchange)
{
	return exchange->options->any_order ? &exchange->requests.answered
					    : &exchange->requests.in_flight;
}

bool gy_requests_have_answer(const struct gy_exchange *exchange)
{
	const struct gy_list *answers = first_answers(exchange);

	return !gy_list_empty(answers) && request_of(answers->next)->mail != NULL;
}

static void write_answers(struct gy_exchange *exchange)
{
	while (gy_requests_have_answer(exchange) && gy_exchange_may_write(exchange)) {
		write_answer(exchange, request_of(first_answers(exchange)->next));
	}
}

/* ---- beginning ---- */

static bool is_barrier(const struct gy_exchange *exchange, const struct gyre_mail *mail)
{
	gyre_filter_fn filter = exchange->options->request_barrier;

	return filter != NULL && filter(mail->type, mail->payload);
}

/* Whether the first that is pending may begin. */
static bool may_begin(struct gy_exchange *exchange)
{
	const struct gy_requests *requests = &exchange->requests;
	const struct gyre_channel *channel = exchange->mailbox->channel;
	const struct gy_house *house = channel->endpoint.owner->house;

	return !gy_list_empty(&requests->pending) && gy_exchange_may_write(exchange) &&
	       house->status != GY_HOUSE_STOPPING && !gy_house_is_stopped(house) &&
	       !requests->barrier &&
	       requests->count < or_default(exchange->options->requests_max, MAX_DEFAULT) &&
	       (requests->count == 0 ||
		!is_barrier(exchange, request_of(requests->pending.next)->mail));
}

static void call(struct gy_exchange *exchange, struct gyre_mail *mail)
{
	struct gy_home *home = gy_exchange_home(exchange);
	struct gy_house *house = exchange->mailbox->channel->endpoint.owner->house;
	struct gy_stack *stack = gy_stack_make_kept(home, house, exchange->options->frame_bytes);

	if (stack == NULL) {
		gy_drop(home, mail, gy_house_address(house), GYRE_DROP_NO_MEMORY, -ENOMEM);
		return;
	}
	gy_count(&home->counters.handled, 1);
	home->steps++;
	stack->head.message = mail->payload;
	stack->head.type = mail->type;
	stack->mail = mail;
	stack->owed = ENOMSG;
	stack->request = true;
	stack->exchange = exchange->requests.exchange;
	stack->handler = exchange->options->request;
	home->resumed = stack;
	gy_stack_call(stack);
	home->resumed = NULL;
}

static void begin(struct gy_exchange *exchange)
{
	struct gy_requests *requests = &exchange->requests;
	struct gy_home *home = gy_exchange_home(exchange);
	struct request *request = request_of(requests->pending.next);
	struct gyre_mail *mail = request->mail;

	gy_assert(requests->pending_count > 0 && !requests->barrier);
	if (gy_table_add(&requests->unanswered, &home->parts, &request->item) < 0) {
		gy_channel_fail(exchange->mailbox->channel, -ENOMEM);
		return;
	}
	requests->barrier = is_barrier(exchange, mail);
	requests->pending_count--;
	requests->count++;
	gy_list_remove(&request->link);
	gy_list_append(&requests->in_flight, &request->link);
	request->mail = NULL;
	call(exchange, mail);
}

static void read_again(struct gy_exchange *exchange)
{
	struct gyre_channel *channel = exchange->mailbox->channel;
	uint32_t max = or_default(exchange->options->requests_pending_max, PENDING_MAX_DEFAULT);

	if ((channel->state & GY_NO_READ_FULL) != 0 &&
	    exchange->requests.pending_count <= max / 2) {
		gy_channel_remove_no_read(channel, GY_NO_READ_FULL);
		gy_channel_ready(channel);
	}
}

bool gy_requests_wait(const struct gy_exchange *exchange)
{
	return !gy_list_empty(&exchange->requests.pending) || gy_requests_have_answer(exchange);
}

void gy_requests_run(struct gy_exchange *exchange)
{
	uint32_t budget = gy_exchange_home(exchange)->options.run_budget;

	collect(exchange);
	write_answers(exchange);
	while (budget > 0 && may_begin(exchange)) {
		budget--;
		begin(exchange);
		collect(exchange);
		write_answers(exchange);
	}
	exchange->more = exchange->more || may_begin(exchange);
	read_again(exchange);
}

/* ---- the end ---- */

static void drop(struct gy_exchange *exchange, struct request *request)
{
	struct gyre_mail *mail = request->mail;

	gy_list_remove(&request->link);
	discard(exchange, request);
	if (mail != NULL) {
		mail->node.kind = GY_MAIL_NOTICE; /* nobody waits for what comes of it */
		gy_drop(gy_exchange_home(exchange), mail,
			gy_channel_mailbox_address(exchange->mailbox), GYRE_DROP_STOPPED, 0);
	}
}

void gy_requests_end(struct gy_exchange *exchange)
{
	struct gy_requests *requests = &exchange->requests;
	struct gy_sizes *parts = &gy_exchange_home(exchange)->parts;

	while (!gy_list_empty(&requests->pending)) {
		drop(exchange, request_of(requests->pending.next));
	}
	while (!gy_list_empty(&requests->in_flight)) {
		struct request *request = request_of(requests->in_flight.next);

		if (request->mail == NULL) {
			(void)gy_table_take(&requests->unanswered, parts, request->item.key);
		}
		drop(exchange, request);
	}
	while (!gy_list_empty(&requests->answered)) {
		drop(exchange, request_of(requests->answered.next));
	}
	gy_table_fini(&requests->unanswered, parts);
	requests->pending_count = 0;
	requests->count = 0;
}

struct gyre_handler_context *gyre_exchange_context(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	const struct gy_channel_mailbox *mailbox;

	/* A request that was forwarded is handled by an actor that the channel is not of. */
	if (!s->request || s->mail == NULL || s->mail->from.cookie == 0) {
		return NULL;
	}
	mailbox = gy_channel_mailbox_find(s->home, gy_mail_sender(s->mail));
	/* The number of the mail would not do: an ask that is answered has none. */
	if (mailbox == NULL || mailbox->exchange == NULL ||
	    mailbox->channel->endpoint.owner->house != s->house ||
	    mailbox->exchange->requests.exchange != s->exchange) {
		return NULL;
	}
	gy_channel_actor_enter(s);
	return mailbox->exchange->ctx;
}
