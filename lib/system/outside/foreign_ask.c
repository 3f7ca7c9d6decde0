/*
 * Asks from threads that have no stack. On each loop that is asked from outside lives an
 * agent, an actor that makes the ask for the foreigner with a promise of its own, so that
 * deadlines, the end of the receiver and the counters are those of any ask.
 *
 * What goes to the agent is a carrier: a notice whose payload has a destructor. Wherever that
 * mail ends, handled, lost, or on a stack that is aborted, the destructor sees to it that the
 * foreigner is told exactly once. The inquiry, which the carrier names, is shared with a thread
 * that waits and therefore counted: who leaves last frees it.
 *
 * An ask takes one wake-up each way: of the loop, if that is parked, and of the thread, if that
 * sleeps. As a loop does before it parks, a thread polls for a while first, as long as its recent
 * answers have come within that while. Who tells it changes the state of the inquiry and then posts
 * its wake-up, and is gone: the two meet in no lock.
 *
 * The agent is made at the first ask. It counts as a channels actor, since those never leave
 * their loop and run in phase 2.
 *
 * One of a loop that retires goes on, as long as anybody else is there: asks that went another way
 * would overtake those that wait for it. It is the last to stop.
 */
#include "system/outside/foreign_ask.h"

#include <gyre/outside.h>

#include <errno.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "base/wakeup.h"
#include "loop/foreign_nodes.h"
#include "system/directory/groups.h"
#include "system/drain.h"
#include "system/outside/outside.h"
#include "system/outside_count.h"
#include "system/outside_loss.h"
#include "system/process.h"
#include "system/system.h"

/* The mutex is held while a carrier is put into an inbox, and while a stage of a stop is opened. It
 * is never held for long, so whoever finds it taken looks again before it sleeps. */
struct gy_foreign_asks {
	pthread_mutex_t mutex;
	uint32_t turn;		      /* of the loops, at groups */
	struct gyre_address agents[]; /* one a loop; nobody until it is needed */
};

enum state { WAITING, ANSWERED, ABANDONED };

enum { WAITS_AVERAGED = 8, POLLS_A_READING = 16 };

static const uint64_t poll_ns = 50000;
static const uint64_t waking_ns = 50000; /* what waking a thread adds to its wait */
static const uint64_t wait_counted_max_ns = 400000;

struct inquiry {
	struct gy_node node; /* from the pool of the thread that asks */
	uint32_t references; /* atomic */
	struct gyre_system *system;
	struct gyre_address to;
	uint16_t via; /* the loop of the agent: that of @to, unless it has none and retires;
		       * for a group that of its member, or each in turn */
	struct gyre_mail *question; /* owned until it is asked */
	uint64_t deadline_ns;	    /* UINT64_MAX for none */
	gyre_answered_fn callback;  /* NULL when a thread waits */
	void *arg;
	bool done; /* the carrier's: the foreigner has been told */

	/* For a thread that waits: */
	uint32_t state;		  /* atomic: enum state */
	struct gyre_mail *answer; /* as @error, of who makes the state ANSWERED */
	int error;
	struct gy_wakeup wakeup; /* posted once it is */
};

struct carrier {
	struct inquiry *inquiry;
};

struct carry_frame {
	struct gyre_future answer;
};

/* ---- inquiries ---- */

static struct inquiry *make_inquiry(gyre_answered_fn callback, void *arg)
{
	struct gy_node *node = gy_foreign_node_get(sizeof(struct inquiry));
	struct inquiry *inquiry;

	if (node == NULL) {
		return NULL;
	}
	inquiry = gy_container_of(node, struct inquiry, node);
	*inquiry = (struct inquiry){ .node = *node };
	inquiry->references = 1;
	inquiry->callback = callback;
	inquiry->arg = arg;
	if (callback == NULL) {
		gy_wakeup_init(&inquiry->wakeup);
	}
	return inquiry;
}

static void unref(struct inquiry *inquiry)
{
	gy_assert(gy_load_relaxed(&inquiry->references) > 0);
	if (gy_fetch_add(&inquiry->references, -1U) > 1) {
		return;
	}
	if (inquiry->callback == NULL) {
		gy_wakeup_fini(&inquiry->wakeup);
	}
	gyre_mail_destroy(NULL, inquiry->question);
	gy_foreign_node_put(&inquiry->node);
}

/* Tells the thread that waits; false when it has gone, and then @answer stays with the caller. */
static bool tell_thread(struct inquiry *inquiry, struct gyre_mail *answer, int error)
{
	uint32_t waiting = WAITING;

	inquiry->answer = answer;
	inquiry->error = error;
	if (!gy_compare_exchange(&inquiry->state, &waiting, (uint32_t)ANSWERED)) {
		return false;
	}
	gy_wakeup_post(&inquiry->wakeup);
	return true;
}

static void fail(struct inquiry *inquiry, int error)
{
	gy_assert(!inquiry->done && error < 0);
	inquiry->done = true;
	if (inquiry->callback != NULL) {
		inquiry->callback(NULL, error, inquiry->arg);
	} else {
		(void)tell_thread(inquiry, NULL, error);
	}
}

/* ---- carriers ---- */

/* The agent has ended, or lacked memory; the next ask makes another one. */
static void forget_agent(struct inquiry *inquiry)
{
	struct gy_foreign_asks *foreign_asks = inquiry->system->foreign_asks;

	(void)pthread_mutex_lock(&foreign_asks->mutex);
	gy_assert(inquiry->via < gy_system_places(inquiry->system));
	foreign_asks->agents[inquiry->via] = GYRE_NOBODY;
	(void)pthread_mutex_unlock(&foreign_asks->mutex);
}

static void destroy_carrier(void *payload)
{
	struct inquiry *inquiry = ((struct carrier *)payload)->inquiry;

	if (inquiry == NULL) {
		return;
	}
	if (!inquiry->done && gy_load_relaxed(&inquiry->system->stop) != 0) {
		fail(inquiry, -ESHUTDOWN);
	} else if (!inquiry->done) {
		bool left = inquiry->via >= gy_loops_count(inquiry->system->homes.loops);

		forget_agent(inquiry);
		fail(inquiry, left ? -ESRCH : -ENOMEM);
	}
	unref(inquiry);
}

static const struct gyre_type type_carrier = {
	.name = "carrier", .id = 0x17, .bytes = sizeof(struct carrier), .destroy = destroy_carrier
};

void gy_foreign_ask_describe(const struct gyre_mail *mail, const struct gyre_type **type,
			     struct gyre_address *to)
{
	const struct inquiry *inquiry =
		mail->type == &type_carrier
			? ((const struct carrier *)(const void *)mail->payload)->inquiry
			: NULL;

	if (inquiry != NULL && inquiry->question != NULL) {
		*type = inquiry->question->type;
		*to = inquiry->to;
	}
}

/* ---- the agent ---- */

/* A question that comes too late is not asked. */
static bool is_in_time(struct gyre_stack *stack, struct inquiry *inquiry)
{
	struct gy_home *home = gy_stack_of(stack)->home;
	struct gyre_mail *question = inquiry->question;

	if (gyre_now(stack) < inquiry->deadline_ns) {
		return true;
	}
	inquiry->question = NULL;
	question->node.kind = GY_MAIL_NOTICE; /* the asker is told below */
	gy_mail_from_nobody(question);
	gy_count(&home->counters.sent, 1);
	gy_drop(home, question, inquiry->to, GYRE_DROP_EXPIRED, 0);
	fail(inquiry, -ETIMEDOUT);
	return false;
}

static int ask(struct gyre_stack *stack, struct inquiry *inquiry, struct gyre_future *ret_future)
{
	struct gyre_mail *question = inquiry->question;
	uint64_t timeout_ns = GYRE_FOREVER;

	inquiry->question = NULL;
	if (inquiry->deadline_ns != UINT64_MAX) {
		uint64_t now_ns = gyre_now(stack);

		timeout_ns = inquiry->deadline_ns > now_ns ? inquiry->deadline_ns - now_ns : 1;
	}
	return gyre_ask(stack, inquiry->to, question, timeout_ns, ret_future);
}

/* Hands the answer to the thread that waits; if that has gone, it is late as any other. */
static void hand_over(struct gyre_stack *stack, struct inquiry *inquiry, struct gyre_mail *answer,
		      int error)
{
	struct gy_home *home = gy_stack_of(stack)->home;

	if (answer != NULL) {
		answer = gy_mail_carry_out(home, answer);
		error = answer == NULL ? -ENOMEM : error;
	}
	if (!tell_thread(inquiry, answer, error) && answer != NULL) {
		gy_count(&home->counters.sent, 1);
		gy_drop(home, answer, gyre_self(stack), GYRE_DROP_LATE, 0);
	}
}

static void finish(struct gyre_stack *stack, struct inquiry *inquiry,
		   const struct gyre_future *future)
{
	struct gy_promise *promise = future->promise;
	int error = gyre_future_error(future);
	/* The cause of an error stays with the promise. */
	struct gyre_mail *answer = promise == NULL || error < 0 ? NULL : promise->answer;

	gy_assert(!inquiry->done);
	inquiry->done = true;
	if (inquiry->callback != NULL) {
		inquiry->callback(answer, error, inquiry->arg);
		return;
	}
	if (answer != NULL) {
		promise->answer = NULL;
	}
	hand_over(stack, inquiry, answer, error);
}

static int carry(struct gyre_stack *stack)
{
	struct carry_frame *frame = (struct carry_frame *)gyre_frame(stack);
	const struct carrier *carrier =
		(const struct carrier *)gyre_message_as(stack, &type_carrier);

	GYRE_BEGIN(stack);
	if (carrier == NULL || !is_in_time(stack, carrier->inquiry)) {
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, ask(stack, carrier->inquiry, &frame->answer));
	finish(stack, carrier->inquiry, &frame->answer);
	GYRE_END(stack);
}

static const struct gyre_class agent_class = {
	.name = "gyre agent",
	.frame_bytes = sizeof(struct carry_frame),
	.behaviour.notice = carry,
};

/* ---- the agents ---- */

int gy_foreign_asks_init(struct gyre_system *system)
{
	pthread_mutexattr_t attributes;

	system->foreign_asks = (struct gy_foreign_asks *)gy_memory_get(
		sizeof(struct gy_foreign_asks) +
		gy_system_places(system) * sizeof(struct gyre_address));
	if (system->foreign_asks == NULL) {
		return -ENOMEM;
	}
	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
	(void)pthread_mutex_init(&system->foreign_asks->mutex, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
	return 0;
}

bool gy_foreign_asks_has(const struct gy_house *house)
{
	return house->class_info->class == &agent_class;
}

void gy_foreign_asks_close(struct gyre_system *system, uint32_t loop)
{
	struct gy_foreign_asks *foreign_asks = system->foreign_asks;

	(void)pthread_mutex_lock(&foreign_asks->mutex);
	foreign_asks->agents[loop] = GYRE_NOBODY;
	(void)pthread_mutex_unlock(&foreign_asks->mutex);
}

void gy_foreign_asks_fini(struct gyre_system *system)
{
	if (system->foreign_asks != NULL) {
		(void)pthread_mutex_destroy(&system->foreign_asks->mutex);
		gy_memory_put(system->foreign_asks);
	}
}

/*
 * A carrier is posted with the mutex held, by who has seen that mail is still taken. So it is in
 * its loop's inbox before the stage begins in which that is emptied for the last time.
 */
void gy_foreign_asks_set_stage(struct gyre_system *system, uint32_t stage)
{
	(void)pthread_mutex_lock(&system->foreign_asks->mutex);
	gy_assert(stage <= GY_STAGE_END && stage > gy_load_relaxed(&system->stage));
	gy_store_release(&system->stage, stage);
	(void)pthread_mutex_unlock(&system->foreign_asks->mutex);
}

static int find_agent(struct gyre_system *system, uint16_t loop, struct gyre_address *ret_agent)
{
	struct gyre_address *agent = &system->foreign_asks->agents[loop];
	const struct gy_spawn_order order = { .class = &agent_class, .channels_actor = true };
	int r = 0;

	if (gyre_address_is_nobody(*agent)) {
		r = gy_spawn_from_outside(&system->homes.homes[loop], &order, agent);
	}
	*ret_agent = *agent;
	return r;
}

static bool is_group_here(const struct gyre_system *system, struct gyre_address to)
{
	return to.loop == GY_GROUP_LOOP && gy_is_of_node(system->homes.node, to);
}

/*
 * Under the mutex. On a loop that retires no agent is made any more. Asks that a group gives
 * to the same member for sure go by that member's loop, so that none overtakes another.
 */
static uint16_t choose_loop(const struct inquiry *inquiry)
{
	const struct gyre_system *system = inquiry->system;
	uint32_t count = gy_loops_count(system->homes.loops);
	uint16_t member;
	uint32_t loop;

	if (!is_group_here(system, inquiry->to)) {
		loop = (uint32_t)gy_outside_loop(system, inquiry->to);
	} else if (gy_group_loop(inquiry->system, inquiry->to, inquiry->question, &member)) {
		loop = member;
	} else {
		return (uint16_t)(system->foreign_asks->turn++ % count);
	}
	if (loop >= count && gyre_address_is_nobody(system->foreign_asks->agents[loop])) {
		loop = 0;
	}
	return (uint16_t)loop;
}

static int post(struct inquiry *inquiry, struct gyre_mail *mail)
{
	struct gyre_system *system = inquiry->system;
	struct gyre_address to;
	uint16_t loop;
	int r = -ESHUTDOWN;

	(void)pthread_mutex_lock(&system->foreign_asks->mutex);
	loop = choose_loop(inquiry);
	inquiry->via = loop;
	if (gy_load_relaxed(&system->stop) == 0 &&
	    gy_load_acquire(&system->stage) < GY_STAGE_NO_MAIL) {
		r = find_agent(system, loop, &to);
	}
	if (r == 0) {
		mail->node.kind = GY_MAIL_NOTICE;
		mail->to_slot = to.slot;
		mail->to_cookie = to.cookie;
		gy_mail_from_nobody(mail);
		(void)gy_outside_count(system);
		gy_loop_put(&system->homes.homes[loop].loop, &mail->node);
	}
	(void)pthread_mutex_unlock(&system->foreign_asks->mutex);
	if (r == 0) {
		gy_loop_call(&system->homes.homes[loop].loop);
	}
	return r;
}

/* Nobody is told: the caller sees the error. What was refused for the stop is a dead letter. */
static int refuse(struct inquiry *inquiry, struct gyre_mail *carrier, int error)
{
	struct gyre_mail *question = inquiry->question;

	inquiry->question = NULL;
	inquiry->done = true;
	if (error == -ESHUTDOWN) {
		gy_mail_from_nobody(question);
		(void)gy_outside_count(inquiry->system);
		gy_outside_lost(inquiry->system, inquiry->to, question, GYRE_DROP_SHUTDOWN);
	} else {
		gyre_mail_destroy(NULL, question);
	}
	if (carrier != NULL) {
		gyre_mail_destroy(NULL, carrier);
	} else {
		unref(inquiry);
	}
	return error;
}

static int send_carrier(struct inquiry *inquiry)
{
	struct gyre_mail *mail = gy_mail_get_outside(&type_carrier);
	int r;

	if (mail == NULL) {
		return refuse(inquiry, NULL, -ENOMEM);
	}
	((struct carrier *)gyre_payload(mail))->inquiry = inquiry;
	r = post(inquiry, mail);
	return r < 0 ? refuse(inquiry, mail, r) : 0;
}

/* ---- waiting ---- */

/* How long the thread may poll for an answer. */
static uint64_t poll_time_ns(int64_t spin_ns)
{
	if (spin_ns == GYRE_SPIN_AUTO) {
		return gy_foreign_mine != NULL && gy_foreign_mine->ask_wait_ns < poll_ns ? poll_ns
											 : 0;
	}
	return spin_ns > 0 ? (uint64_t)spin_ns : 0;
}

/* Polls from @from_ns on, for no more than @time_ns; whether there is an answer. */
static bool poll_for_answer(const struct inquiry *inquiry, uint64_t from_ns, uint64_t time_ns)
{
	uint64_t until_ns = gy_time_add(from_ns, time_ns);

	until_ns = until_ns < inquiry->deadline_ns ? until_ns : inquiry->deadline_ns;
	do {
		for (uint32_t i = 0; i < POLLS_A_READING; i++) {
			if (gy_load_acquire(&inquiry->state) == ANSWERED) {
				return true;
			}
			gy_pause();
		}
	} while (gy_clock_machine_ns() < until_ns);
	return false;
}

/* A long wait counts for no more than a few short ones can make up for. */
static void average_wait(uint64_t wait_ns, bool slept)
{
	struct gy_foreign_mine *mine = gy_foreign_mine;

	if (slept) {
		wait_ns = wait_ns > waking_ns ? wait_ns - waking_ns : 0;
	}
	wait_ns = wait_ns < wait_counted_max_ns ? wait_ns : wait_counted_max_ns;
	if (mine != NULL) {
		mine->ask_wait_ns =
			(mine->ask_wait_ns * (WAITS_AVERAGED - 1) + wait_ns) / WAITS_AVERAGED;
	}
}

/* Until the answer is there, or the deadline; the system may be gone by then. */
static int wait_for_answer(struct inquiry *inquiry, int64_t spin_ns, struct gyre_mail **ret_answer)
{
	uint64_t from_ns = gy_clock_machine_ns();
	uint64_t time_ns = poll_time_ns(spin_ns);
	bool polled = time_ns > 0 && poll_for_answer(inquiry, from_ns, time_ns);
	uint32_t waiting = WAITING;
	bool late = !polled && !gy_wakeup_wait_until(&inquiry->wakeup, inquiry->deadline_ns);

	average_wait(gy_clock_machine_ns() - from_ns, !polled);
	if (late && gy_compare_exchange(&inquiry->state, &waiting, (uint32_t)ABANDONED)) {
		return -ETIMEDOUT;
	}
	gy_assert(gy_load_acquire(&inquiry->state) == ANSWERED);
	*ret_answer = inquiry->answer;
	return inquiry->error;
}

static int check(const struct gyre_system *system, struct gyre_address to,
		 const struct gyre_mail *mail)
{
	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	if (system != NULL && is_group_here(system, to)) {
		return 0;
	}
	return gy_outside_loop(system, to) < 0 ? -EINVAL : 0;
}

/* Fills an inquiry in, or frees the question. */
static struct inquiry *inquire(struct gyre_system *system, struct gyre_address to,
			       struct gyre_mail *question, uint64_t timeout_ns,
			       struct inquiry *inquiry)
{
	if (inquiry == NULL) {
		gyre_mail_destroy(NULL, question);
		return NULL;
	}
	if (timeout_ns == 0) {
		timeout_ns = system->options.ask_timeout_ns;
	}
	inquiry->system = system;
	inquiry->to = to;
	inquiry->question = gy_mail_given(NULL, question);
	inquiry->deadline_ns = timeout_ns == GYRE_FOREVER
				       ? UINT64_MAX
				       : gy_time_add(gy_clock_machine_ns(), timeout_ns);
	return inquiry;
}

int gyre_system_ask(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail,
		    uint64_t timeout_ns, struct gyre_mail **ret_answer)
{
	struct gyre_mail *answer = NULL;
	struct inquiry *inquiry;
	int64_t spin_ns;
	int r = check(system, to, mail);

	if (r == 0 && (gy_current_worker() != NULL || gy_embedded_is_owner(system))) {
		r = -EDEADLK;
	}
	if (r < 0) {
		gyre_mail_destroy(NULL, mail);
		return r;
	}
	inquiry = inquire(system, to, mail, timeout_ns, make_inquiry(NULL, NULL));
	if (inquiry == NULL) {
		return -ENOMEM;
	}
	spin_ns = system->options.spin_ns; /* of a system that may be gone when the answer comes */
	(void)gy_fetch_add(&inquiry->references, 1);
	r = send_carrier(inquiry);
	if (r == 0) {
		r = wait_for_answer(inquiry, spin_ns, &answer);
	}
	unref(inquiry);
	if (r == 0 && ret_answer != NULL) {
		*ret_answer = answer;
	} else {
		gyre_mail_destroy(NULL, answer);
	}
	return r;
}

int gyre_system_ask_callback(struct gyre_system *system, struct gyre_address to,
			     struct gyre_mail *mail, uint64_t timeout_ns, gyre_answered_fn callback,
			     void *arg)
{
	struct inquiry *inquiry;
	int r = check(system, to, mail);

	if (r == 0 && callback == NULL) {
		r = -EINVAL;
	}
	if (r < 0) {
		gyre_mail_destroy(NULL, mail);
		return r;
	}
	inquiry = inquire(system, to, mail, timeout_ns, make_inquiry(callback, arg));
	return inquiry == NULL ? -ENOMEM : send_carrier(inquiry);
}

/* ---- answers ---- */

const void *gyre_mail_message(const struct gyre_mail *mail, const struct gyre_type *type)
{
	if (mail == NULL || mail->node.kind == GY_MAIL_MOVED || !gy_type_equal(mail->type, type)) {
		return NULL;
	}
	return mail->payload;
}

int gyre_mail_message_move(struct gyre_mail *mail, const struct gyre_type *type, void *ret_payload)
{
	int r;

	if (gyre_mail_message(mail, type) == NULL) {
		return -ENOENT;
	}
	r = gy_mail_move_out(mail, ret_payload);
	if (r == 0) {
		mail->node.kind = GY_MAIL_MOVED;
	}
	return r;
}
