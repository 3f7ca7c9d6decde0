/*
 * Promises: outstanding asks and sleeps. A promise is the hash node by which its answer finds it
 * and the link in its stack's chain; the user's future points at it. It completes only through the
 * house's own lanes, so never while a stack of the same actor runs.
 */
#include <errno.h>

#include "actor/stack.h"

static const struct gyre_type type_slept = { "slept", 0x05, 0 };

/* A time-out becomes mail of the house itself, in phase 2; without memory it is tried again. */
static void timed_out(struct gy_timer *timer)
{
	struct gy_promise *promise = gy_container_of(timer, struct gy_promise, timer);
	struct gy_house *house = promise->stack->house;
	struct gy_home *home = house->home;
	struct gyre_mail *mail =
		gy_mail_get(home, promise->sleeps ? &type_slept : &gy_type_exception);

	if (mail == NULL) {
		gy_timer_start(&home->loop.wheel, timer, GYRE_MILLISECONDS(1));
		return;
	}
	mail->node.kind = promise->sleeps ? GY_MAIL_REPLY : GY_MAIL_EXCEPTION;
	mail->ask_id = promise->item.key;
	mail->from.cookie = 0;
	if (!promise->sleeps) {
		((struct gy_exception *)gyre_payload(mail))->error = -ETIMEDOUT;
	}
	gy_count(&home->counters.sent, 1);
	gy_house_put(house, mail, gy_mail_lane(mail));
}

/* A promise in the house's table and the stack's chain; NULL when there is no memory. */
static struct gy_promise *make(struct gy_stack *stack, uint64_t timeout_ns, bool sleeps)
{
	struct gy_home *home = stack->home;
	struct gy_house *house = stack->house;
	struct gy_promise *promise = (struct gy_promise *)gy_pool_get(&home->promises);

	if (gy_unlikely(promise == NULL)) {
		return NULL;
	}
	promise->item.key = ++house->ask_id;
	if (gy_unlikely(gy_table_add(&house->promises, &home->parts, &promise->item) < 0)) {
		gy_pool_put(&home->promises, promise);
		return NULL;
	}
	promise->serial = ++home->promise_serial;
	promise->stack = stack;
	promise->answer = NULL;
	promise->error = 0;
	promise->completed = false;
	promise->sleeps = sleeps;
	gy_list_append(&stack->outstanding, &promise->link);
	gy_timer_init(&promise->timer, timed_out);
	if (gy_likely(timeout_ns != GYRE_FOREVER)) {
		gy_timer_start(&home->loop.wheel, &promise->timer, timeout_ns);
	}
	stack->dirty = true;
	return promise;
}

static void set_future(struct gyre_future *future, struct gy_promise *promise)
{
	if (promise == NULL) {
		*future = (struct gyre_future){ .error = -ENOMEM };
		return;
	}
	future->promise = promise;
	future->id = promise->serial;
	future->error = 0;
}

int gyre_ask(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail,
	     uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_home *home = s->home;
	struct gy_promise *promise;
	uint64_t now_ns;

	if (timeout_ns == 0) {
		timeout_ns = home->options.ask_timeout_ns;
	}
	promise = mail == NULL ? NULL : make(s, timeout_ns, false);
	set_future(ret_future, promise);
	if (gy_unlikely(promise == NULL)) {
		gyre_mail_free(stack, mail);
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_ASK;
	mail->ask_id = promise->item.key;
	gy_mail_from(mail, s->house);
	now_ns = gy_clock_coarse_ns(&home->loop.clock) + GY_CLOCK_COARSE_NS;
	mail->deadline_ms = gy_deadline_ms(now_ns, timeout_ns);
	(void)gy_send(home, to, mail, GY_LANE_ASK);
	return 0;
}

int gyre_sleep(struct gyre_stack *stack, uint64_t delay_ns, struct gyre_future *ret_future)
{
	struct gy_promise *promise = make(gy_stack_of(stack), delay_ns, true);

	set_future(ret_future, promise);
	return promise == NULL ? -ENOMEM : 0;
}

bool gy_promise_complete(struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_home *home = house->home;
	struct gy_table_item *item = gy_table_take(&house->promises, &home->parts, mail->ask_id);
	struct gy_promise *promise;
	struct gy_stack *stack;

	if (gy_unlikely(item == NULL)) {
		gy_drop(home, mail, gy_house_address(house), GYRE_DROP_LATE, 0);
		return false;
	}
	promise = gy_container_of(item, struct gy_promise, item);
	stack = promise->stack;
	gy_timer_stop(&home->loop.wheel, &promise->timer);
	gy_list_remove(&promise->link);
	gy_list_append(&stack->completed, &promise->link);
	promise->completed = true;
	if (gy_likely(mail->node.kind == GY_MAIL_REPLY)) {
		promise->answer = mail;
	} else {
		promise->error = ((struct gy_exception *)gyre_payload(mail))->error;
		gy_mail_put(home, mail);
	}
	if (stack->any || gy_list_empty(&stack->outstanding)) {
		gy_stack_call(stack);
	}
	return true;
}

/* Results that were read, or never will be. */
void gy_promises_recycle(struct gy_stack *stack)
{
	struct gy_home *home = stack->home;

	while (!gy_list_empty(&stack->completed)) {
		struct gy_promise *promise =
			gy_container_of(stack->completed.next, struct gy_promise, link);

		gy_list_remove(&promise->link);
		if (promise->answer != NULL) {
			gy_mail_put(home, promise->answer);
		}
		promise->serial = 0;
		gy_pool_put(&home->promises, promise);
	}
}

void gy_promises_clear(struct gy_stack *stack)
{
	struct gy_home *home = stack->home;

	while (!gy_list_empty(&stack->outstanding)) {
		struct gy_promise *promise =
			gy_container_of(stack->outstanding.next, struct gy_promise, link);

		gy_list_remove(&promise->link);
		gy_timer_stop(&home->loop.wheel, &promise->timer);
		(void)gy_table_take(&stack->house->promises, &home->parts, promise->item.key);
		promise->serial = 0;
		gy_pool_put(&home->promises, promise);
	}
	gy_promises_recycle(stack);
}

int gyre_error(const struct gyre_future *future)
{
	const struct gy_promise *promise = future->promise;

	if (promise == NULL) {
		return future->error;
	}
	if (promise->serial != future->id) {
		return -ESTALE;
	}
	return promise->completed ? promise->error : -EINPROGRESS;
}

const void *gyre_answer(const struct gyre_future *future, const struct gyre_type *type)
{
	struct gyre_mail *answer;

	if (gyre_error(future) < 0 || future->promise == NULL) {
		return NULL;
	}
	answer = future->promise->answer;
	return answer == NULL || answer->type->id != type->id ? NULL : gyre_payload(answer);
}
