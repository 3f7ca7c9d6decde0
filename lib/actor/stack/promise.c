/*
 * Promises: outstanding asks and sleeps. A promise has a place, by which its answer finds it, and
 * stands in its stack's chain; the user's future points at it. It completes only through the
 * house's own lanes, so never while a stack of the same actor runs.
 *
 * That is the side of who asks. Where the answer does not come from a handler: mail that finds no
 * actor, or no room, fails its ask in gy_drop() (mail/send.c); an actor that stops fails those that
 * wait for it and those that it was handling (life/lifecycle.c); a node that is lost fails them all
 * (life/node_loss.c).
 */
#include <errno.h>

#include "actor/mail/send.h"
#include "actor/misuse.h"
#include "actor/stack/ask_cycle.h"
#include "actor/stack/bound_ask.h"
#include "actor/stack/budget.h"
#include "actor/stack/promise_places.h"
#include "actor/stack/promise_pool.h"
#include "actor/stack/stack.h"

/*
 * Actors that are stolen take promises from one loop to another. What a pool has no room for goes
 * to a list that all loops share, and a loop that has none takes that list as a whole. So other
 * than what else a pool holds, a promise stays memory as long as the system lives: an old future
 * may still look at it.
 */
static struct gy_promise *take_spare(struct gy_home *home)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);
	struct gy_promise *promise = home->spare_promises;

	if (promise == NULL && gy_load_relaxed(&homes->spare_promises) != NULL) {
		promise = gy_exchange(&homes->spare_promises, NULL);
	}
	if (promise == NULL) {
		return NULL;
	}
	home->spare_promises = promise->next_spare;
	gy_count(&home->promises.total, 1);
	return promise;
}

void gy_promise_put_spare(struct gy_home *home, struct gy_promise *promise)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);

	if (promise->timer.place == GY_TIMER_LAZY) {
		gy_timers_settle_lazy(&home->loop.wheel, gy_clock_ns(&home->loop.clock));
	}
	gy_store_relaxed(&home->promises.total, home->promises.total - 1);
	promise->next_spare = gy_load_relaxed(&homes->spare_promises);
	while (!gy_compare_exchange(&homes->spare_promises, &promise->next_spare, promise)) {
	}
}

static void timed_out(struct gy_timer *timer);

/* Makes new memory a promise, with a place; false without memory. */
static bool enter(struct gy_home *home, struct gy_promise *promise)
{
	promise->previous = NULL;
	gy_timer_init(&promise->timer, timed_out);
	return gy_promise_places_enter(home, promise);
}

/* Makes promises of all that is in a pool that was empty, and has grown; those that get no place
 * are freed. */
static void enter_all(struct gy_home *home)
{
	struct gy_pool *pool = &home->promises;
	uint32_t entered = 0;

	while (entered < pool->free_count &&
	       enter(home, (struct gy_promise *)pool->free[entered])) {
		entered++;
	}
	while (pool->free_count > entered) {
		gy_pool_put_surplus(pool, gy_pool_take(pool));
	}
}

struct gy_promise *gy_promise_get_slow(struct gy_home *home)
{
	struct gy_promise *promise = take_spare(home);

	if (promise != NULL || gy_pool_grow(&home->promises) < 0) {
		return promise;
	}
	enter_all(home);
	return (struct gy_promise *)gy_pool_take(&home->promises);
}

static void free_list(struct gy_promise *promise)
{
	while (promise != NULL) {
		struct gy_promise *next = promise->next_spare;

		gy_memory_put(promise);
		promise = next;
	}
}

void gy_promises_fini(struct gy_home *home)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);

	free_list(home->spare_promises);
	home->spare_promises = NULL;
	if (gy_promise_places_leave(home)) {
		free_list(gy_exchange(&homes->spare_promises, NULL));
	}
}

static const uint64_t cycle_check_ns = GYRE_MILLISECONDS(100);

static const struct gyre_type type_slept = { .name = "slept", .id = 0x05 };

/* Whether a cycle of waits is being looked for on other loops; then that has some time. */
static bool check_cycle(struct gy_promise *promise)
{
	if (promise->sleeps || promise->cycle_checked) {
		return false;
	}
	promise->cycle_checked = true;
	if (!gy_ask_cycle_check(promise)) {
		return false;
	}
	gy_timer_start(&promise->stack->home->loop.wheel, &promise->timer, cycle_check_ns);
	return true;
}

/* A time-out becomes mail of the house itself, in phase 2; without memory it is tried again. */
static void timed_out(struct gy_timer *timer)
{
	struct gy_promise *promise = gy_container_of(timer, struct gy_promise, timer);
	struct gy_house *house = promise->stack->house;
	struct gy_home *home = house->home;
	struct gyre_mail *mail;

	if (promise->lost == 0 && check_cycle(promise)) {
		return;
	}
	if (promise->lost == GY_LOST_STOPS && !gy_bound_ask_stop(home, promise)) {
		gy_timer_start(&home->loop.wheel, timer, GYRE_MILLISECONDS(1));
		return;
	}
	mail = gy_mail_get(home, promise->sleeps ? &type_slept : &gy_type_exception);
	if (mail == NULL) {
		gy_timer_start(&home->loop.wheel, timer, GYRE_MILLISECONDS(1));
		return;
	}
	mail->node.kind = promise->sleeps ? GY_MAIL_REPLY : GY_MAIL_EXCEPTION;
	mail->ask_id = promise->id;
	gy_mail_from_nobody(mail);
	if (!promise->sleeps) {
		((struct gy_exception *)gyre_payload(mail))->error =
			promise->lost < 0 ? promise->lost : -ETIMEDOUT;
	}
	gy_count(&home->counters.sent, 1);
	gy_house_put(house->home, house, mail, gy_mail_lane(mail));
}

void gy_promise_fail_later(struct gy_promise *promise, int error)
{
	struct gy_wheel *wheel = &promise->stack->home->loop.wheel;

	gy_assert(error < 0 && error >= INT16_MIN && !gy_promise_is_done(promise));
	promise->lost = (int16_t)error;
	gy_timer_stop_lazy(wheel, &promise->timer);
	gy_timer_start_lazy(wheel, &promise->timer, GYRE_MILLISECONDS(1));
}

void gy_promise_cycle_checked(struct gy_house *house, uint64_t ask_id)
{
	struct gy_promise *promise = gy_promise_find(house->home, house, ask_id);

	if (promise != NULL && promise->cycle_checked && gy_timer_is_started(&promise->timer)) {
		gy_timer_stop_lazy(&house->home->loop.wheel, &promise->timer);
		timed_out(&promise->timer);
	}
}

/*
 * Puts a promise into the chain of its stack. @to: who was asked; for a sleep nobody. Inlined, so
 * that what is a constant there is one.
 */
static inline __attribute__((always_inline)) void begin(struct gy_stack *stack,
							struct gy_house *house,
							struct gy_promise *promise,
							struct gy_origin to, bool sleeps)
{
	struct gy_promise *next = stack->outstanding;

	gy_verify(promise->previous == NULL && !gy_timer_is_started(&promise->timer));
	house->asks++;
	house->outstanding++;
	gy_store_relaxed(&promise->house, house);
	promise->stack = stack;
	promise->to = to;
	memset(&promise->lost, 0, sizeof(uint64_t));
	promise->sleeps = sleeps;
	promise->next = next;
	if (next != NULL) {
		next->previous = promise;
	}
	stack->outstanding = promise;
	stack->dirty = true;
}

/* Sleeps that begin together end in that order, where it costs nothing. */
static inline __attribute__((always_inline)) void start_timer(struct gy_promise *promise,
							      uint64_t timeout_ns)
{
	struct gy_wheel *wheel = &promise->stack->home->loop.wheel;

	if (promise->sleeps && promise->timer.place == GY_TIMER_STOPPED) {
		gy_timer_start(wheel, &promise->timer, timeout_ns);
	} else {
		gy_timer_start_lazy(wheel, &promise->timer, timeout_ns == 0 ? 1 : timeout_ns);
	}
}

/* A promise in the stack's chain, with a time-out; NULL when there is no memory. */
static struct gy_promise *make(struct gy_stack *stack, uint64_t timeout_ns, struct gy_origin to,
			       bool sleeps)
{
	struct gy_promise *promise = gy_promise_get(stack->home);

	if (promise != NULL) {
		begin(stack, stack->house, promise, to, sleeps);
		if (timeout_ns != GYRE_FOREVER) {
			start_timer(promise, timeout_ns);
		}
	}
	return promise;
}

/* The ask leaves the loop: what becomes of that is told by its number. */
static void number(struct gy_promise *promise)
{
	promise->number = gy_home_number(promise->stack->home);
}

/*
 * A future lies where it stays until its stack has read it: in the frame, or in the state of the
 * actor. A frame is taken to be as large as the stack has room for, since those of exchanges have
 * sizes of their own.
 */
static inline bool is_in_frame(const struct gy_stack *stack, const struct gyre_future *future)
{
	return gy_likely((uintptr_t)future - (uintptr_t)stack->frame < stack->frame_room);
}

static inline void expect_kept(const struct gy_stack *stack, const struct gyre_future *future)
{
#if GY_ASSERT_LEVEL >= 1
	uintptr_t in_state = (uintptr_t)future - (uintptr_t)stack->head.actor;

	if (!is_in_frame(stack, future) &&
	    in_state >= stack->house->class_info->class->state_bytes) {
		gy_warn_misplaced_future(stack, future);
	}
#else
	(void)stack;
	(void)future;
#endif
}

static void set_future(const struct gy_stack *stack, struct gyre_future *future,
		       struct gy_promise *promise)
{
	expect_kept(stack, future);
	if (promise == NULL) {
		*future = (struct gyre_future){ .error = -ENOMEM };
		return;
	}
	future->promise = promise;
	future->id = promise->id;
	future->error = 0;
}

/* Whether an ask needs no more than to be sent: nothing is missing or special about it. */
static inline bool is_plain_ask(const struct gy_stack *stack, const struct gyre_mail *mail,
				const struct gyre_future *future)
{
	return gy_likely(is_in_frame(stack, future)) && !gy_mail_is_missing(mail) &&
	       gy_likely(mail->node.kind == GY_NODE_NEW);
}

/* Begins such an ask: what is missing then is the deadline of its mail, and its timer. */
static inline __attribute__((always_inline)) void
begin_ask(struct gy_stack *stack, struct gy_house *house, struct gy_promise *promise,
	  struct gyre_address to, struct gyre_mail *mail, struct gyre_future *future)
{
	begin(stack, house, promise, gy_origin_of(to), false);
	future->promise = promise;
	future->id = promise->id;
	future->error = 0;
	mail->node.kind = GY_MAIL_ASK;
	mail->ask_id = promise->id;
	gy_mail_from(mail, house);
}

/*
 * Asks an actor of this loop to which the last mail of the asker went too: all that is needed for
 * that is known before anything is done. @span is that of the time-out.
 */
static inline __attribute__((always_inline)) bool
ask_here(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *mail,
	 uint64_t timeout_ns, uint32_t span, struct gyre_future *future)
{
	struct gy_home *home = stack->home;
	struct gy_house *house = stack->house;
	struct gy_house *receiver = house->recent;
	struct gy_promise *promise;

	if (gy_unlikely(!gy_is_here(home, to)) || !is_plain_ask(stack, mail, future) ||
	    gy_unlikely(span == 0) || gy_unlikely(!gy_house_is_named(receiver, to)) ||
	    gy_unlikely(receiver->limit != 0)) {
		return false;
	}
	promise = gy_promise_take(home);
	if (gy_unlikely(promise == NULL)) {
		return false;
	}
	mail = gy_mail_given_new(home, mail);
	begin_ask(stack, house, promise, to, mail, future);
	gy_timer_start_lazy(&home->loop.wheel, &promise->timer, timeout_ns);
	mail->deadline = gy_deadline_at(home->loop.now_ns, span);
	gy_count(&home->counters.sent, 1);
	gy_house_put(home, receiver, mail, GY_LANE_ASK);
	return true;
}

/* Asks an actor of another loop or node: likewise. */
static inline __attribute__((always_inline)) bool
ask_elsewhere(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *mail,
	      uint64_t timeout_ns, struct gyre_future *future)
{
	struct gy_home *home = stack->home;
	struct gy_promise *promise = gy_unlikely(gy_is_here(home, to)) ||
						     !is_plain_ask(stack, mail, future) ||
						     gy_unlikely(timeout_ns - 1 >= GYRE_FOREVER - 1)
					     ? NULL
					     : gy_promise_take(home);

	if (gy_unlikely(promise == NULL)) {
		return false;
	}
	mail = gy_mail_given_new(home, mail);
	begin_ask(stack, stack->house, promise, to, mail, future);
	gy_timer_start_lazy(&home->loop.wheel, &promise->timer, timeout_ns);
	mail->deadline = gy_patience(timeout_ns);
	number(promise);
	(void)gy_send_away(home, to, mail);
	return true;
}

/* gyre_ask() where something is missing or special. */
static __attribute__((noinline)) int ask_in_full(struct gyre_stack *stack, struct gyre_address to,
						 struct gyre_mail *mail, uint64_t timeout_ns,
						 struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_home *home = s->home;
	struct gy_promise *promise;
	int result;

	if (gy_house_finds_another(home, s->house, to) &&
	    ask_here(s, to, mail, timeout_ns, gy_patience_span(gy_patience(timeout_ns)),
		     ret_future)) {
		return 0;
	}
	if (gy_unlikely(ret_future == NULL)) {
		gyre_mail_destroy(stack, mail);
		return -EINVAL;
	}
	if (gy_mail_is_missing(mail)) {
		*ret_future = (struct gyre_future){ .error = gy_mail_report_no_memory(mail) };
		return gy_mail_report_no_memory(mail);
	}
	promise = make(s, timeout_ns, gy_origin_of(to), false);
	set_future(s, ret_future, promise);
	if (gy_unlikely(promise == NULL)) {
		gyre_mail_destroy(stack, mail);
		return -ENOMEM;
	}
	mail = gy_mail_given(home, mail);
	mail->node.kind = GY_MAIL_ASK;
	mail->ask_id = promise->id;
	gy_mail_from(mail, s->house);
	mail->deadline = gy_patience(timeout_ns);
	if (gy_unlikely(!gy_send_here(home, s->house, to, mail, GY_LANE_ASK, &result))) {
		number(promise);
		(void)gy_send_away(home, to, mail);
	}
	return 0; /* what has become of it, the future will tell */
}

/* gyre_ask() where ask_here() does not serve, with the time-out that counts. */
static __attribute__((noinline)) int ask_otherwise(struct gyre_stack *stack, struct gyre_address to,
						   struct gyre_mail *mail, uint64_t timeout_ns,
						   struct gyre_future *ret_future)
{
	return gy_likely(ask_elsewhere(gy_stack_of(stack), to, mail, timeout_ns, ret_future))
		       ? 0
		       : ask_in_full(stack, to, mail, timeout_ns, ret_future);
}

/* The asker of the running message has given up, so nothing is sent. */
static GY_COLD int ask_too_late(struct gyre_stack *stack, struct gyre_mail *mail,
				struct gyre_future *ret_future)
{
	gyre_mail_destroy(stack, mail);
	if (ret_future == NULL) {
		return -EINVAL;
	}
	*ret_future = (struct gyre_future){ .error = -ETIMEDOUT };
	return -ETIMEDOUT;
}

/* gyre_ask() without a time-out, of one who owes an answer: it gets what its own asker has left. A
 * function of its own, for the address of the time-out would keep it out of registers there. */
static __attribute__((noinline)) int ask_bounded(struct gyre_stack *stack, struct gyre_address to,
						 struct gyre_mail *mail,
						 struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	uint64_t timeout_ns = s->home->options.ask_timeout_ns;

	if (gy_budget_bound(s, &timeout_ns) < 0) {
		return ask_too_late(stack, mail, ret_future);
	}
	if (ask_here(s, to, mail, timeout_ns, gy_patience_span(gy_patience(timeout_ns)),
		     ret_future)) {
		return 0;
	}
	return ask_otherwise(stack, to, mail, timeout_ns, ret_future);
}

int gyre_ask(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail,
	     uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	uint32_t span;

	if (timeout_ns == 0) {
		if (gy_budget_may_bound(s)) {
			return ask_bounded(stack, to, mail, ret_future);
		}
		timeout_ns = s->home->options.ask_timeout_ns;
		span = s->home->ask_span;
	} else {
		span = gy_patience_span(gy_patience(timeout_ns));
	}
	if (gy_likely(ask_here(s, to, mail, timeout_ns, span, ret_future))) {
		return 0;
	}
	return ask_otherwise(stack, to, mail, timeout_ns, ret_future);
}

int gy_ask_order(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *mail,
		 struct gyre_future *ret_future)
{
	struct gy_promise *promise =
		mail == NULL ? NULL : make(stack, GYRE_FOREVER, gy_origin_of(to), false);

	set_future(stack, ret_future, promise);
	if (promise == NULL) {
		gyre_mail_destroy(&stack->head, mail);
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_ASK;
	mail->ask_id = promise->id;
	mail->deadline = 0;
	gy_mail_from(mail, stack->house);
	number(promise);
	(void)gy_send_away(stack->home, to, mail);
	return 0;
}

uint64_t gy_promise_open(struct gy_stack *stack, uint64_t timeout_ns,
			 struct gyre_future *ret_future)
{
	struct gy_promise *promise = make(stack, timeout_ns, (struct gy_origin){ 0 }, false);

	set_future(stack, ret_future, promise);
	if (promise == NULL) {
		return 0;
	}
	promise->cycle_checked = true; /* no actor was asked */
	number(promise);
	return promise->id;
}

void gy_promise_of_node(const struct gyre_future *future, uint16_t node)
{
	future->promise->to = (struct gy_origin){ .cookie = UINT32_MAX, .node = node };
}

int gyre_sleep(struct gyre_stack *stack, uint64_t delay_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_promise *promise;

	if (ret_future == NULL) {
		return -EINVAL;
	}
	promise = make(s, delay_ns, (struct gy_origin){ 0 }, true);
	set_future(s, ret_future, promise);
	return promise == NULL ? -ENOMEM : 0;
}

/* Takes a promise out of the chain of those that are outstanding, which is seldom longer. */
static inline void close(struct gy_stack *stack, struct gy_promise *promise)
{
	struct gy_promise *next = promise->next;
	struct gy_promise *previous = promise->previous;

	if (gy_likely(next == NULL && previous == NULL)) {
		stack->outstanding = NULL;
		return;
	}
	if (next != NULL) {
		next->previous = previous;
	}
	*(previous == NULL ? &stack->outstanding : &previous->next) = next;
	promise->previous = NULL;
}

/* A promise that a quorum could have counted on has failed. Whether that ends the wait, since what
 * is left cannot make up the quorum any more. */
static GY_COLD bool spoils_quorum(struct gy_stack *stack)
{
	if (stack->spare > 0) {
		stack->spare--;
		return false;
	}
	stack->awaited_count = 0;
	stack->marked = false;
	return true;
}

/* Whether a promise that has completed ends the wait of its stack, which has others outstanding. */
static inline bool ends_wait(struct gy_stack *stack, struct gy_promise *promise)
{
	if (stack->awaited_count == 0) {
		return false;
	}
	if (stack->awaited_count == GY_AWAIT_ANY) {
		return true;
	}
	if (!promise->is_awaited) {
		return false;
	}
	promise->is_awaited = false;
	if (gy_unlikely(promise->error != 0) && stack->by_quorum) {
		return spoils_quorum(stack);
	}
	stack->awaited_count--;
	stack->marked = stack->awaited_count != 0;
	return stack->awaited_count == 0;
}

/* An exception of a user's type is a cause, which stays to be read. The errno that stands for no
 * answer yet is not one to end with. */
static GY_COLD void complete_badly(struct gy_home *home, struct gy_promise *promise,
				   struct gyre_mail *mail)
{
	if (promise->error == -EINPROGRESS) {
		promise->error = -EIO;
	}
	if (mail->type->id < GY_IDS_OF_GYRE) {
		gy_mail_put(home, mail);
		promise->answer = NULL;
	}
}

/*
 * Completes a promise with a reply or an exception, and has its stack run if that ends its wait.
 * The caller says afterwards that no stack is resumed any more, and counts what the house has
 * outstanding. Returns whether there was a promise.
 */
static inline __attribute__((always_inline)) bool
complete(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail, bool is_reply)
{
	struct gy_promise *promise = gy_promise_find(home, house, mail->ask_id);
	struct gy_stack *stack;

	if (gy_unlikely(promise == NULL)) {
		gy_drop(home, mail, gy_house_address(house), GYRE_DROP_LATE, 0);
		return false;
	}
	stack = promise->stack;
	gy_timer_stop_lazy(&home->loop.wheel, &promise->timer);
	gy_count(&promise->id, gy_promise_done);
	promise->answer = mail;
	if (!is_reply) {
		promise->error = (int16_t)gy_exception_error(mail);
		complete_badly(home, promise, mail);
	}
	close(stack, promise);
	promise->next = stack->completed;
	stack->completed = promise;
	if (gy_likely(stack->outstanding == NULL) || ends_wait(stack, promise)) {
		home->steps++;
		home->resumed = stack;
		gy_stack_resume(stack);
	}
	return true;
}

static inline void count_completed(struct gy_home *home, struct gy_house *house, uint32_t completed)
{
	gy_assert(house->outstanding >= completed);
	house->outstanding -= completed;
	home->resumed = NULL;
}

bool gy_promise_complete(struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_home *home = house->home;
	bool completed = complete(home, house, mail, mail->node.kind == GY_MAIL_REPLY);

	count_completed(home, house, completed);
	return completed;
}

uint32_t gy_promises_complete(struct gy_home *home, struct gy_house *house)
{
	const uint32_t budget = home->options.run_budget;
	struct gy_node *last;
	struct gy_node *node = gy_house_take_lane(house, GY_LANE_REPLY, &last);
	uint32_t left = budget;
	uint32_t late = 0;

	do {
		struct gyre_mail *mail = gy_mail_of(node);

		gy_verify(node->kind == GY_MAIL_REPLY);
		node = node->next;
		left--;
		gy_prefetch(node); /* NULL too: that does nothing */
		if (gy_unlikely(!complete(home, house, mail, true))) {
			late++;
		}
	} while (node != NULL && left > 0 && (house->closed & 1U << GY_LANE_REPLY) == 0);
	house->replies -= budget - left;
	count_completed(home, house, budget - left - late);
	gy_house_put_rest_back(house, GY_LANE_REPLY, node, last);
	return budget - left - late;
}

/* Results that were read, or never will be. */
void gy_promises_recycle(struct gy_stack *stack)
{
	struct gy_promise *promise = stack->completed;

	stack->completed = NULL;
	while (promise != NULL) {
		struct gy_promise *next = promise->next;

		gy_promise_recycle(stack->home, promise);
		promise = next;
	}
}

void gy_promises_recycle_others(struct gy_stack *stack)
{
	struct gy_promise **at = &stack->completed;

	while (*at != NULL) {
		struct gy_promise *promise = *at;

		if (promise->is_awaited) {
			promise->is_awaited = false;
			at = &promise->next;
		} else {
			*at = promise->next;
			gy_promise_recycle(stack->home, promise);
		}
	}
}

static void remove_marks(struct gy_promise *promise)
{
	for (; promise != NULL; promise = promise->next) {
		promise->is_awaited = false;
	}
}

void gy_promises_remove_marks(struct gy_stack *stack)
{
	remove_marks(stack->outstanding);
	remove_marks(stack->completed);
	stack->marked = false;
	stack->marked_any = false;
}

/* Nobody waits for a promise that is outstanding any more. False if the home keeps it. */
static bool give_up(struct gy_stack *stack, struct gy_promise *promise, bool is_read)
{
	struct gy_home *home = stack->home;

	gy_assert(stack->house->outstanding > 0);
	close(stack, promise);
	gy_timer_stop_lazy(&home->loop.wheel, &promise->timer);
	stack->house->outstanding--;
	return gy_likely(promise->lost != GY_LOST_STOPS) ||
	       gy_bound_ask_end(home, promise, is_read);
}

void gy_promise_cancel(struct gy_stack *stack, struct gy_promise *promise)
{
	gy_assert(!gy_promise_is_done(promise));
	(void)give_up(stack, promise, true);
	gy_count(&promise->id, gy_promise_done);
	promise->answer = NULL;
	promise->error = -ECANCELED;
	promise->next = stack->completed;
	stack->completed = promise;
}

void gy_promises_clear(struct gy_stack *stack)
{
	struct gy_home *home = stack->home;

	while (stack->outstanding != NULL) {
		struct gy_promise *promise = stack->outstanding;
		bool is_free = give_up(stack, promise, false);

		gy_store_relaxed(&promise->id, promise->id + gy_promise_use);
		if (is_free) {
			gy_promise_put(home, promise);
		}
	}
	gy_promises_recycle(stack);
}

void gy_promises_pack(struct gy_stack *stack, struct gy_wheel *wheel, uint64_t now_ns)
{
	gy_timers_settle_lazy(wheel, now_ns); /* those that were stopped stand in its list too */
	for (struct gy_promise *promise = stack->outstanding; promise != NULL;
	     promise = promise->next) {
		gy_timer_pack(wheel, &promise->timer, now_ns);
	}
}

void gy_promises_unpack(struct gy_stack *stack, struct gy_wheel *wheel)
{
	struct gy_promise *promise = stack->outstanding;

	for (; promise != NULL; promise = promise->next) {
		gy_timer_unpack(wheel, &promise->timer);
	}
}

int gyre_future_error(const struct gyre_future *future)
{
	const struct gy_promise *promise = future->promise;
	uint64_t steps;

	if (gy_unlikely(promise == NULL)) {
		return future->error;
	}
	steps = gy_load_relaxed(&promise->id) - future->id;
	if (gy_likely(steps == gy_promise_done)) {
		return promise->error;
	}
	return steps == 0 ? -EINPROGRESS : -ESTALE;
}

const void *gyre_future_answer(const struct gyre_future *future, const struct gyre_type *type)
{
	const struct gy_promise *promise = future->promise;
	struct gyre_mail *answer;

	if (gy_unlikely(promise == NULL) ||
	    gy_unlikely(gy_load_relaxed(&promise->id) - future->id != gy_promise_done)) {
		return NULL;
	}
	answer = promise->answer;
	if (answer == NULL || !gy_type_equal(answer->type, type) ||
	    gy_unlikely(promise->error != 0)) {
		return NULL; /* with an error it is the cause of that */
	}
	return gyre_payload(answer);
}
