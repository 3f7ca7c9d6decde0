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
#include "actor/stack/promise_places.h"
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

static GY_COLD void put_spare(struct gy_home *home, struct gy_promise *promise)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);

	gy_store_relaxed(&home->promises.total, home->promises.total - 1);
	promise->next_spare = gy_load_relaxed(&homes->spare_promises);
	while (!gy_compare_exchange(&homes->spare_promises, &promise->next_spare, promise)) {
	}
}

/* Gives each promise of a pool that was empty, and has grown, its place; those that get none are
 * freed. */
static void enter_all(struct gy_home *home)
{
	struct gy_pool *pool = &home->promises;
	uint32_t entered = 0;

	while (entered < pool->free_count &&
	       gy_promise_places_enter(home, (struct gy_promise *)pool->free[entered])) {
		entered++;
	}
	while (pool->free_count > entered) {
		gy_memory_put(gy_pool_take(pool));
		gy_store_relaxed(&pool->total, pool->total - 1);
	}
}

static __attribute__((noinline)) struct gy_promise *get_slow(struct gy_home *home)
{
	struct gy_promise *promise = take_spare(home);

	if (promise != NULL || gy_pool_grow(&home->promises) < 0) {
		return promise;
	}
	enter_all(home);
	return (struct gy_promise *)gy_pool_take(&home->promises);
}

static inline struct gy_promise *get(struct gy_home *home)
{
	struct gy_promise *promise = (struct gy_promise *)gy_pool_take(&home->promises);

	return gy_likely(promise != NULL) ? promise : get_slow(home);
}

static inline void put(struct gy_home *home, struct gy_promise *promise)
{
	gy_store_relaxed(&promise->id, promise->id + gy_promise_use);
	if (gy_likely(home->promises.free_count < home->promises.capacity)) {
		gy_pool_push(&home->promises, promise);
	} else {
		put_spare(home, promise);
	}
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

	gy_assert(error < 0 && !promise->completed);
	promise->lost = error;
	gy_timer_stop(wheel, &promise->timer);
	gy_timer_start(wheel, &promise->timer, GYRE_MILLISECONDS(1));
}

void gy_promise_cycle_checked(struct gy_house *house, uint64_t ask_id)
{
	struct gy_promise *promise = gy_promise_find(house->home, house, ask_id);

	if (promise != NULL && promise->cycle_checked && gy_timer_is_started(&promise->timer)) {
		gy_timer_stop(&house->home->loop.wheel, &promise->timer);
		timed_out(&promise->timer);
	}
}

/*
 * A promise in the stack's chain; NULL when there is no memory. @to: who was asked; for a sleep
 * nobody. Inlined, so that what is a constant there is one.
 */
static inline __attribute__((always_inline)) struct gy_promise *
make(struct gy_stack *stack, uint64_t timeout_ns, struct gy_origin to, bool sleeps)
{
	struct gy_home *home = stack->home;
	struct gy_house *house = stack->house;
	struct gy_promise *promise = get(home);

	if (gy_unlikely(promise == NULL)) {
		return NULL;
	}
	house->asks++;
	house->outstanding++;
	gy_store_relaxed(&promise->house, house);
	promise->stack = stack;
	promise->answer = NULL;
	promise->to = to;
	promise->completed = false;
	promise->sleeps = sleeps;
	promise->cycle_checked = false;
	promise->is_awaited = false;
	promise->error = 0;
	promise->lost = 0;
	gy_list_append(&stack->outstanding, &promise->link);
	if (gy_likely(timeout_ns != GYRE_FOREVER)) {
		gy_timer_init_started(&home->loop.wheel, &promise->timer, timed_out, timeout_ns);
	} else {
		gy_timer_init(&promise->timer, timed_out);
	}
	stack->dirty = true;
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
static inline void expect_kept(const struct gy_stack *stack, const struct gyre_future *future)
{
#if GY_ASSERT_LEVEL >= 1
	uintptr_t in_frame = (uintptr_t)future - (uintptr_t)stack->frame;
	uintptr_t in_state = (uintptr_t)future - (uintptr_t)stack->head.actor;

	if (gy_unlikely(in_frame >= stack->frame_room) &&
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

int gyre_ask(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail,
	     uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_home *home = s->home;
	struct gy_promise *promise;
	uint32_t patience;
	int result;

	if (gy_unlikely(ret_future == NULL)) {
		gyre_mail_destroy(stack, mail);
		return -EINVAL;
	}
	if (timeout_ns == 0) {
		timeout_ns = home->options.ask_timeout_ns;
		patience = home->ask_patience;
	} else {
		patience = gy_patience(timeout_ns);
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
	mail->deadline = patience;
	if (gy_unlikely(!gy_send_here(home, s->house, to, mail, GY_LANE_ASK, &result))) {
		number(promise);
		(void)gy_send_away(home, to, mail);
	}
	return 0; /* what has become of it, the future will tell */
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

void gy_promise_bind(const struct gyre_future *future)
{
	future->promise->lost = GY_LOST_STOPS;
	future->promise->cycle_checked = true;
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

/* Whether a promise that has completed ends the wait of its stack. */
static inline bool ends_wait(struct gy_stack *stack, struct gy_promise *promise)
{
	if (gy_likely(stack->awaited_count == 0)) {
		return gy_list_empty(&stack->outstanding);
	}
	if (stack->awaited_count == GY_AWAIT_ANY) {
		return true;
	}
	if (!promise->is_awaited) {
		return false;
	}
	promise->is_awaited = false;
	stack->awaited_count--;
	stack->marked = stack->awaited_count != 0;
	return stack->awaited_count == 0;
}

bool gy_promise_complete(struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_home *home = house->home;
	struct gy_promise *promise = gy_promise_find(home, house, mail->ask_id);
	struct gy_stack *stack;

	if (gy_unlikely(promise == NULL)) {
		gy_drop(home, mail, gy_house_address(house), GYRE_DROP_LATE, 0);
		return false;
	}
	stack = promise->stack;
	gy_assert(stack->house == house && house->outstanding > 0);
	house->outstanding--;
	gy_timer_stop(&home->loop.wheel, &promise->timer);
	gy_list_move(&stack->completed, &promise->link);
	promise->completed = true;
	if (gy_likely(mail->node.kind == GY_MAIL_REPLY)) {
		promise->answer = mail;
	} else {
		promise->error = ((struct gy_exception *)gyre_payload(mail))->error;
		gy_mail_put(home, mail);
	}
	if (ends_wait(stack, promise)) {
		home->steps++;
		home->resumed = stack;
		gy_stack_resume(stack);
		home->resumed = NULL;
	}
	return true;
}

/* Frees a promise that is in no chain any more, or in one that is emptied. */
static inline void recycle(struct gy_home *home, struct gy_promise *promise)
{
	if (promise->answer != NULL) {
		gy_mail_put(home, promise->answer);
	}
	put(home, promise);
}

/* Results that were read, or never will be. */
void gy_promises_recycle(struct gy_stack *stack)
{
	struct gy_list *link = stack->completed.next;

	while (link != &stack->completed) {
		struct gy_promise *promise = gy_container_of(link, struct gy_promise, link);

		link = link->next;
		recycle(stack->home, promise);
	}
	gy_list_init(&stack->completed);
}

void gy_promises_recycle_others(struct gy_stack *stack)
{
	struct gy_list *link = stack->completed.next;

	while (link != &stack->completed) {
		struct gy_promise *promise = gy_container_of(link, struct gy_promise, link);

		link = link->next;
		if (promise->is_awaited) {
			promise->is_awaited = false;
		} else {
			gy_list_remove(&promise->link);
			recycle(stack->home, promise);
		}
	}
}

static void remove_marks(struct gy_list *list)
{
	for (struct gy_list *link = list->next; link != list; link = link->next) {
		gy_container_of(link, struct gy_promise, link)->is_awaited = false;
	}
}

void gy_promises_remove_marks(struct gy_stack *stack)
{
	remove_marks(&stack->outstanding);
	remove_marks(&stack->completed);
	stack->marked = false;
}

void gy_promises_clear(struct gy_stack *stack)
{
	struct gy_home *home = stack->home;

	while (!gy_list_empty(&stack->outstanding)) {
		struct gy_promise *promise =
			gy_container_of(stack->outstanding.next, struct gy_promise, link);

		gy_list_remove(&promise->link);
		gy_timer_stop(&home->loop.wheel, &promise->timer);
		stack->house->outstanding--;
		if (gy_unlikely(promise->lost == GY_LOST_STOPS)) {
			(void)gy_send_signal(home, gy_origin_address(promise->to), &gy_type_stop,
					     GY_MAIL_EVENT);
		}
		put(home, promise);
	}
	gy_promises_recycle(stack);
}

void gy_promises_pack(struct gy_stack *stack, struct gy_wheel *wheel, uint64_t now_ns)
{
	const struct gy_list *link = stack->outstanding.next;

	for (; link != &stack->outstanding; link = link->next) {
		gy_timer_pack(wheel, &gy_container_of(link, struct gy_promise, link)->timer,
			      now_ns);
	}
}

void gy_promises_unpack(struct gy_stack *stack, struct gy_wheel *wheel)
{
	const struct gy_list *link = stack->outstanding.next;

	for (; link != &stack->outstanding; link = link->next) {
		gy_timer_unpack(wheel, &gy_container_of(link, struct gy_promise, link)->timer);
	}
}

int gyre_future_error(const struct gyre_future *future)
{
	const struct gy_promise *promise = future->promise;

	if (promise == NULL) {
		return future->error;
	}
	if (gy_load_relaxed(&promise->id) != future->id) {
		return -ESTALE;
	}
	return promise->completed ? promise->error : -EINPROGRESS;
}

const void *gyre_future_answer(const struct gyre_future *future, const struct gyre_type *type)
{
	struct gyre_mail *answer;

	if (gyre_future_error(future) < 0 || future->promise == NULL) {
		return NULL;
	}
	answer = future->promise->answer;
	return answer == NULL || !gy_type_equal(answer->type, type) ? NULL : gyre_payload(answer);
}
