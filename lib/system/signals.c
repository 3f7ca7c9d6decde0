/*
 * Signals as events. One actor of the system, on its first loop, keeps the list of who watches
 * what and has a signalfd of all that is watched; it is spawned for the first watch. What it reads
 * there it sends on as events. It watches its watchers, and forgets those that end.
 *
 * A signalfd gets only what every thread blocks. The thread in gyre_system_run() does not block
 * what nobody watches, for that is to do what it always does; so it is asked to, and a watch is
 * answered when it has. After the last watch it is asked again, and lets the signal through. What
 * is asked is an atomic set of signals, a bit each. It is numbered by its changes, and the thread
 * says how far it has come: what it blocks just now says nothing, for it may be about to let that
 * through.
 */
#include "system/signals.h"

#include <gyre/signal.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <gyre/actor.h>
#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/thread.h"
#include "channel/endpoint.h"
#include "ring/descriptor.h"
#include "ring/signal.h"
#include "system/system.h"
#include "system/threads.h"

enum { SIGNALS = 64, READ_AT_ONCE = 8, RECORDS_FIRST = 8 };

static const uint64_t pause_ns = GYRE_MILLISECONDS(1);

/*
 * What watchers ask for, and the answer. An ask may overtake a notice, and waits aside for the
 * signal to be blocked; so @number tells which of an actor's orders is the later one.
 */
struct gy_signal_order {
	uint64_t number;
	int signo;
};
GYRE_OWN_MESSAGE_(gy_signal_order, 0x45);

/* The notice that the running thread blocks what it was asked to. */
struct gy_signals_blocked {
	uint64_t signals;
};
GYRE_OWN_MESSAGE_(gy_signals_blocked, 0x46);

struct record {
	struct gyre_address watcher;
	uint64_t number; /* of the last order */
	int signo;
	bool watches;		   /* false: kept because an earlier order may still wait */
	struct gyre_signal untold; /* for want of memory; its count is 0 for none */
};

struct catcher {
	struct gy_endpoint endpoint; /* its descriptor is the signalfd */
	struct gy_op op;	     /* a poll, and at last the close */
	struct gy_timer timer;	     /* until what is untold is tried again */
	struct gyre_system *system;
	bool ending;
};

struct state {
	struct catcher *catcher; /* from the heap, for it outlives the state */
	struct record *records;
	uint32_t count;
	uint32_t room;
};

static uint64_t bit_of(int signo)
{
	gy_assert(signo >= 1 && signo <= SIGNALS);
	return UINT64_C(1) << (signo - 1);
}

static void fill_set(uint64_t signals, sigset_t *ret_set)
{
	(void)sigemptyset(ret_set);
	for (int signo = 1; signo <= SIGNALS; signo++) {
		if ((signals & bit_of(signo)) != 0) {
			(void)sigaddset(ret_set, signo);
		}
	}
}

/* ---- catching ---- */

static void tell_one(struct gy_home *home, struct record *record)
{
	struct gyre_mail *mail = gy_mail_get(home, &gyre_type_gyre_signal);

	if (mail != NULL) {
		mail->node.kind = GY_MAIL_EVENT;
		gy_mail_from_nobody(mail);
		mail->ask_id = 0;
		*(struct gyre_signal *)gyre_payload(mail) = record->untold;
		record->untold.count = 0;
		(void)gy_send(home, record->watcher, mail, GY_LANE_EVENT);
	}
}

/* What finds no memory waits, and those of its number that come meanwhile are one with it. */
static void tell_untold(struct state *state, struct gy_home *home)
{
	bool more = false;

	for (uint32_t i = 0; i < state->count; i++) {
		struct record *record = &state->records[i];

		if (record->watches && record->untold.count > 0) {
			tell_one(home, record);
			more = more || record->untold.count > 0;
		}
	}
	if (more && !gy_timer_is_started(&state->catcher->timer)) {
		gy_timer_start(&home->loop.wheel, &state->catcher->timer, pause_ns);
	}
}

static void note(struct state *state, const struct gyre_signal *signal)
{
	for (uint32_t i = 0; i < state->count; i++) {
		struct record *record = &state->records[i];

		if (record->signo == signal->signo && record->watches) {
			uint32_t before = record->untold.count;

			record->untold = *signal;
			record->untold.count += before;
		}
	}
}

/* Signals of one number that came together are one event, which describes the last. */
static void tell_all(struct state *state, struct gy_home *home,
		     const struct signalfd_siginfo *infos, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct gyre_signal signal = {
			.signo = (int)infos[i].ssi_signo,
			.code = infos[i].ssi_code,
			.pid = infos[i].ssi_pid,
			.value = infos[i].ssi_ptr,
			.count = 1,
		};

		for (size_t j = 0; j < i; j++) {
			signal.count += infos[j].ssi_signo == infos[i].ssi_signo;
		}
		for (size_t j = i + 1; j < count && signal.count > 0; j++) {
			signal.count = infos[j].ssi_signo == infos[i].ssi_signo ? 0 : signal.count;
		}
		if (signal.count > 0) {
			note(state, &signal);
			tell_untold(state, home);
		}
	}
}

static void try_again(struct gy_timer *timer)
{
	gy_endpoint_ready(&gy_container_of(timer, struct catcher, timer)->endpoint);
}

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	struct catcher *catcher = gy_container_of(op, struct catcher, op);

	(void)completion;
	gy_endpoint_closed(&catcher->endpoint);
	gy_memory_put(catcher);
}

static void polled(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion; /* what it brings, the read tells */
	gy_endpoint_ready(&gy_container_of(op, struct catcher, op)->endpoint);
}

static int close_catcher(struct catcher *catcher, struct gy_ring *ring)
{
	if (catcher->op.armed) {
		return gy_ring_cancel(ring, &catcher->op);
	}
	gy_op_init(&catcher->op, closed);
	return gy_ring_close(ring, &catcher->op, catcher->endpoint.fd);
}

static int catch_more(struct catcher *catcher, struct gy_ring *ring)
{
	struct state *state = (struct state *)catcher->endpoint.owner->house->state;
	struct gy_home *home = catcher->endpoint.owner->house->home;
	struct signalfd_siginfo infos[READ_AT_ONCE];
	int got;

	tell_untold(state, home);
	if (catcher->op.armed) {
		return 0;
	}
	while ((got = gy_signal_read(catcher->endpoint.fd, infos, READ_AT_ONCE)) > 0) {
		tell_all(state, home, infos, (size_t)got);
	}
	gy_op_init(&catcher->op, polled);
	return gy_ring_poll(ring, &catcher->op, catcher->endpoint.fd, POLLIN);
}

static void process(struct gy_endpoint *endpoint)
{
	struct catcher *catcher = gy_container_of(endpoint, struct catcher, endpoint);
	struct gy_ring *ring = endpoint->owner->channels->pools.ring;
	int r;

	endpoint->ready = false;
	r = catcher->ending ? close_catcher(catcher, ring) : catch_more(catcher, ring);
	if (r < 0) {
		gy_endpoint_ready(endpoint);
	}
}

/* The system stops: the signals that stop it are its own again. */
static void drain(struct gy_endpoint *endpoint)
{
	struct catcher *catcher = gy_container_of(endpoint, struct catcher, endpoint);
	sigset_t signals;

	gy_system_signals(&signals);
	(void)gy_signal_change(catcher->system->signal_fd, &signals);
	catcher->ending = true;
	gy_timer_stop(&endpoint->owner->house->home->loop.wheel, &catcher->timer);
	gy_endpoint_ready(endpoint);
}

static const struct gy_endpoint_ops catcher_ops = {
	.process = process,
	.drain = drain,
	.of_actor = true,
};

/* ---- what is watched ---- */

/* Has exactly @signals caught, as soon as the running thread blocks them. */
static void set_watched(struct catcher *catcher, uint64_t signals)
{
	struct gyre_system *system = catcher->system;
	const uint64_t stopping = bit_of(SIGINT) | bit_of(SIGTERM);
	sigset_t set;

	if (gy_load_relaxed(&system->watched) == signals) {
		return;
	}
	fill_set(signals, &set);
	(void)gy_signal_change(catcher->endpoint.fd, &set);
	fill_set(stopping & ~signals, &set);
	(void)gy_signal_change(system->signal_fd, &set);
	gy_store_release(&system->watched, signals);
	gy_store_release(&system->watched_changes, gy_load_relaxed(&system->watched_changes) + 1);
	(void)gy_descriptor_post_event(system->watch_fd);
}

static void update(const struct state *state)
{
	uint64_t signals = 0;

	for (uint32_t i = 0; i < state->count; i++) {
		signals |= state->records[i].watches ? bit_of(state->records[i].signo) : 0;
	}
	set_watched(state->catcher, signals);
}

static uint32_t find(const struct state *state, struct gyre_address watcher, int signo)
{
	uint32_t i = 0;

	while (i < state->count && (state->records[i].signo != signo ||
				    !gy_address_same(state->records[i].watcher, watcher))) {
		i++;
	}
	return i;
}

static int make_room(struct state *state)
{
	uint32_t room = state->room == 0 ? RECORDS_FIRST : 2 * state->room;
	struct record *records;

	if (state->count < state->room) {
		return 0;
	}
	records = (struct record *)gy_memory_resize(state->records, state->room * sizeof(*records),
						    room * sizeof(*records));
	if (records == NULL) {
		return -ENOMEM;
	}
	state->records = records;
	state->room = room;
	return 0;
}

static int add(struct gyre_stack *stack, struct state *state, const struct gy_signal_order *order)
{
	struct gyre_address watcher = gyre_sender(stack);
	uint32_t i = find(state, watcher, order->signo);
	int r = i < state->count ? 0 : make_room(state);

	if (r < 0) {
		return r;
	}
	r = gyre_watch(stack, watcher);
	if (r == 0 && (i == state->count || order->number > state->records[i].number)) {
		struct gyre_signal untold = { 0 };

		if (i < state->count && state->records[i].watches) {
			untold = state->records[i].untold;
		}
		state->count += i == state->count;
		state->records[i] = (struct record){
			.watcher = watcher,
			.number = order->number,
			.signo = order->signo,
			.watches = true,
			.untold = untold,
		};
		update(state);
	}
	return r;
}

static void remove_at(struct state *state, uint32_t i)
{
	state->records[i] = state->records[--state->count];
}

/* When no order waits, nobody need remember those that were given up. */
static void forget_unwatched(struct gyre_stack *stack, struct state *state)
{
	uint32_t i = 0;

	while (gyre_stashed(stack) == 0 && i < state->count) {
		if (state->records[i].watches) {
			i++;
		} else {
			remove_at(state, i);
		}
	}
}

/* Whether signals that are watched can go nowhere else. */
static bool are_blocked(const struct gyre_system *system)
{
	return !gy_load_relaxed(&system->has_runner) ||
	       gy_load_acquire(&system->watched_done) == gy_load_relaxed(&system->watched_changes);
}

/* ---- the actor ---- */

static struct state *state_of(struct gyre_stack *stack)
{
	return (struct state *)gyre_state(stack);
}

static int ask(struct gyre_stack *stack)
{
	const struct gy_signal_order *order = gyre_message(stack, gy_signal_order);
	struct state *state = state_of(stack);
	uint32_t i;
	int r;

	if (order == NULL) {
		return gyre_throw(stack, -EPROTO);
	}
	r = add(stack, state, order);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	i = find(state, gyre_sender(stack), order->signo);
	if (state->records[i].watches && !are_blocked(state->catcher->system)) {
		r = gyre_stash(stack);
		return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
	}
	forget_unwatched(stack, state);
	return gyre_reply(stack, gyre_new(stack, gy_signal_order, .number = 0));
}

static int notice(struct gyre_stack *stack)
{
	const struct gy_signal_order *order = gyre_message(stack, gy_signal_order);
	struct state *state = state_of(stack);
	uint32_t i;

	if (order == NULL) {
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL); /* it is about what is blocked */
		return gyre_return(stack);
	}
	i = find(state, gyre_sender(stack), order->signo);
	if (i < state->count && state->records[i].number <= order->number) {
		state->records[i].number = order->number;
		state->records[i].watches = false;
		forget_unwatched(stack, state);
		update(state);
	}
	return gyre_return(stack);
}

static int event(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);
	struct state *state = state_of(stack);
	uint32_t i = 0;

	while (terminated != NULL && i < state->count) {
		if (gy_address_same(state->records[i].watcher, terminated->actor)) {
			remove_at(state, i);
		} else {
			i++;
		}
	}
	update(state);
	return gyre_return(stack);
}

static int mount(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct catcher *catcher = (struct catcher *)gy_memory_get(sizeof(*catcher));
	sigset_t none;
	int r = catcher == NULL ? -ENOMEM : 0;

	if (r < 0) {
		return gyre_throw(stack, r);
	}
	(void)sigemptyset(&none);
	catcher->system = gyre_system_of(stack);
	catcher->endpoint.ops = &catcher_ops;
	gy_timer_init(&catcher->timer, try_again);
	catcher->endpoint.fd = gy_signal_open(&none);
	r = catcher->endpoint.fd < 0 ? catcher->endpoint.fd
				     : gy_endpoint_add(&catcher->endpoint, s->house);
	if (r < 0) {
		gy_channels_close(gy_channels_of(s->home), catcher->endpoint.fd);
		gy_memory_put(catcher);
		return gyre_throw(stack, r);
	}
	state_of(stack)->catcher = catcher;
	gy_endpoint_ready(&catcher->endpoint);
	return gyre_return(stack);
}

static void clean(void *memory)
{
	gy_memory_put(((struct state *)memory)->records);
}

static const struct gyre_class signals_class = {
	.name = "signals",
	.state_bytes = sizeof(struct state),
	.behaviour = { .ask = ask, .notice = notice, .event = event },
	.mount = mount,
	.clean = clean,
};

/* ---- the running thread ---- */

void gy_signals_block(struct gyre_system *system, const sigset_t *before, sigset_t *ret_late)
{
	uint64_t changes = gy_load_acquire(&system->watched_changes);
	uint64_t signals = gy_load_acquire(&system->watched); /* of that change, or a later one */
	struct gyre_mail *mail;
	struct gyre_address actor;
	sigset_t set;

	fill_set(signals, &set);
	(void)sigorset(ret_late, ret_late, &set);
	(void)sigorset(&set, &set, before);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	gy_thread_mask_signals(SIG_SETMASK, &set, NULL);
	gy_store_release(&system->watched_done, changes);
	(void)pthread_mutex_lock(&system->mutex);
	actor = system->signals;
	(void)pthread_mutex_unlock(&system->mutex);
	mail = gyre_system_new(system, gy_signals_blocked, signals);
	(void)gyre_system_notify(system, actor, mail);
}

/* ---- the public calls ---- */

static bool may_be_watched(int signo)
{
	switch (signo) {
	case SIGKILL:
	case SIGSTOP:
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGSYS:
		return false;
	default:
		return signo > 0 && signo <= SIGNALS && signo <= SIGRTMAX &&
		       (signo < __SIGRTMIN || signo >= SIGRTMIN);
	}
}

static int check(int signo)
{
	struct sigaction present;

	if (!may_be_watched(signo) || gy_signal_action(signo, &present) < 0) {
		return -EINVAL;
	}
	return (present.sa_flags & SA_SIGINFO) != 0 ||
			       (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN)
		       ? -EBUSY
		       : 0;
}

/* The actor, which is spawned if there is none yet, or none any more. */
static int find_actor(struct gyre_system *system, struct gyre_address *ret_actor)
{
	const struct gy_spawn_order order = { .class = &signals_class, .channels_actor = true };
	int r = 0;

	if (gy_load_relaxed(&system->stop) != 0) {
		return -ESHUTDOWN;
	}
	(void)pthread_mutex_lock(&system->mutex);
	if (!gy_house_is_there(&system->homes.homes[0], system->signals)) {
		r = gy_spawn_from_outside(&system->homes.homes[0], &order, &system->signals);
	}
	*ret_actor = system->signals;
	(void)pthread_mutex_unlock(&system->mutex);
	return r;
}

int gyre_signal_watch(struct gyre_stack *stack, int signo, struct gyre_future *ret_future)
{
	struct gyre_address actor;
	int r = check(signo);

	if (ret_future == NULL) {
		return -EINVAL;
	}
	if (r == 0) {
		r = find_actor(gyre_system_of(stack), &actor);
	}
	if (r < 0) {
		*ret_future = (struct gyre_future){ .error = r };
		return r;
	}
	return gyre_ask(
		stack, actor,
		gyre_new(stack, gy_signal_order, gy_stack_of(stack)->house->asks + 1, signo), 0,
		ret_future);
}

int gyre_signal_unwatch(struct gyre_stack *stack, int signo)
{
	struct gyre_system *system = gyre_system_of(stack);
	struct gyre_address actor;
	struct gyre_mail *mail;
	int r;

	if (!may_be_watched(signo)) {
		return -EINVAL;
	}
	(void)pthread_mutex_lock(&system->mutex);
	actor = system->signals;
	(void)pthread_mutex_unlock(&system->mutex);
	if (gyre_address_is_nobody(actor)) {
		return 0;
	}
	mail = gyre_new(stack, gy_signal_order, gy_stack_of(stack)->house->asks, signo);
	r = mail == NULL ? -ENOMEM : gyre_notify(stack, actor, mail);
	return r == -ENOMEM ? r : 0;
}
