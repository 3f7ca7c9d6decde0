/*
 * Work off the loops: pools, each of a queue and a few threads that take from it. The stack that
 * gives a piece has a promise for it, and the answer is mail to that promise's house, from the
 * heap, posted to its loop as by any other foreign thread; so time-outs, cancellation and late
 * answers need nothing of their own here.
 *
 * The argument's mail goes out to the heap with the piece. Where the piece fails, the same mail
 * becomes the exception that tells so, and no memory is needed.
 *
 * Threads are started only when a piece would have to wait for those that there are. An idle one
 * waits without a limit. They run where the thread that created the system might: not where the
 * loop is pinned that happened to need them.
 */
#include "system/outside/offload.h"

#include <gyre/offload.h>

#include <errno.h>
#include <string.h>

#include "actor/stack/budget.h"
#include "actor/stack/stack.h"
#include "base/cpus.h"
#include "base/memory/memory.h"
#include "base/thread.h"
#include "system/offload_view.h"
#include "system/outside_count.h"
#include "system/outside_loss.h"
#include "system/system.h"

struct gyre_work {
	struct gyre_work *next;
	struct gyre_system *system;
	struct gy_offload *offload; /* the pool */
	gyre_work_fn function;
	struct gyre_mail *argument;
	struct gyre_mail *answer; /* what was replied */
	struct gy_origin asker;
	uint64_t ask_id;
	uint64_t deadline_ns; /* UINT64_MAX for none */
	bool replied;
	int refused; /* why a reply was, or 0 */
};

struct gy_offload {
	struct gyre_system *system;
	struct gy_offload *next; /* of the pools; the first is that without a name */
	const char *name;	 /* behind the threads */
	uint32_t threads_max;
	uint32_t queue_max;
	uint64_t done; /* atomic */
	bool has_cpus;
	struct gy_cpus cpus;

	pthread_mutex_t mutex; /* guards the rest */
	pthread_cond_t condition;
	struct gyre_work *first;
	struct gyre_work **link;
	uint32_t waiting; /* pieces, and places for those about to come */
	uint32_t idle;
	uint32_t started;
	uint32_t named;
	bool closed;
	pthread_t threads[];
};

/* ---- answers ---- */

static void send_answer(const struct gyre_work *work, struct gyre_mail *mail,
			enum gy_mail_kind kind)
{
	struct gyre_system *system = work->system;

	gy_assert(work->asker.loop < gy_homes_made(&system->homes));
	mail->node.kind = (uint8_t)kind;
	mail->to_slot = work->asker.slot;
	mail->to_cookie = work->asker.cookie;
	gy_mail_from_nobody(mail);
	mail->ask_id = work->ask_id;
	(void)gy_outside_count(system);
	gy_loop_post(&system->homes.homes[work->asker.loop].loop, &mail->node);
}

/* The argument's mail becomes the exception. */
static void send_error(struct gyre_work *work, int error)
{
	struct gyre_mail *mail = work->argument;

	gy_assert(error < 0);
	work->argument = NULL;
	gy_mail_release(mail);
	mail->type = &gy_type_exception;
	((struct gy_exception *)gyre_payload(mail))->error = error;
	send_answer(work, mail, GY_MAIL_EXCEPTION);
}

static void free_work(struct gyre_work *work)
{
	gyre_mail_destroy(NULL, work->argument);
	gyre_mail_destroy(NULL, work->answer);
	gy_memory_put(work);
}

/* ---- running ---- */

static void run(struct gyre_work *work)
{
	int r;

	if (gy_clock_machine_ns() >= work->deadline_ns) {
		/* The promise has its own timer, so nobody need be told. */
		gy_outside_drop(work->system, work->argument, GYRE_NOBODY, GYRE_DROP_EXPIRED);
		free_work(work);
		return;
	}
	r = work->function(work);
	(void)gy_add_relaxed(&work->system->outside_handled, 1);
	(void)gy_add_relaxed(&work->offload->done, 1);
	if (r == 0) {
		r = work->refused < 0 ? work->refused : work->answer == NULL ? -ENOMSG : 0;
	}
	if (r == 0) {
		struct gyre_mail *answer = work->answer;

		work->answer = NULL;
		send_answer(work, answer, GY_MAIL_REPLY);
	} else {
		send_error(work, r < 0 ? r : -EINVAL);
	}
	free_work(work);
}

/* The next piece, or NULL when no more will come; the mutex is held. */
static struct gyre_work *take(struct gy_offload *offload)
{
	struct gyre_work *work;

	while (offload->first == NULL && !offload->closed) {
		offload->idle++;
		(void)pthread_cond_wait(&offload->condition, &offload->mutex);
		offload->idle--;
	}
	work = offload->first;
	if (work != NULL) {
		offload->first = work->next;
		offload->link = work->next == NULL ? &offload->first : offload->link;
		gy_assert(offload->waiting > 0);
		offload->waiting--;
	}
	return work;
}

static void *run_thread(void *arg)
{
	struct gy_offload *offload = (struct gy_offload *)arg;
	struct gyre_work *work;

	(void)pthread_mutex_lock(&offload->mutex);
	gy_thread_name_number(offload->name[0] == 0 ? "off" : offload->name, ++offload->named);
	while ((work = take(offload)) != NULL) {
		(void)pthread_mutex_unlock(&offload->mutex);
		run(work);
		(void)pthread_mutex_lock(&offload->mutex);
	}
	(void)pthread_mutex_unlock(&offload->mutex);
	return NULL;
}

/* ---- giving ---- */

/* 0, also when there are others who will come to it; the mutex is held. */
static int start_thread(struct gy_offload *offload)
{
	pthread_attr_t attributes;
	int r;

	gy_assert(offload->started < offload->threads_max);
	gy_assert(!offload->closed);
	(void)pthread_attr_init(&attributes);
	if (offload->has_cpus) {
		(void)pthread_attr_setaffinity_np(&attributes, sizeof(offload->cpus),
						  gy_cpus_raw(&offload->cpus));
	}
	r = gy_thread_start(&attributes, run_thread, offload, &offload->threads[offload->started]);
	(void)pthread_attr_destroy(&attributes);
	offload->started += r == 0;
	return offload->started > 0 ? 0 : -EAGAIN;
}

/* Takes a place in the queue, and sees to it that there is a thread. */
static int reserve(struct gy_offload *offload)
{
	int r = 0;

	(void)pthread_mutex_lock(&offload->mutex);
	gy_assert(offload->idle <= offload->started);
	gy_assert(offload->started <= offload->threads_max);
	if (offload->closed) {
		r = -ESHUTDOWN;
	} else if (offload->waiting >= offload->queue_max) {
		r = -ENOBUFS;
	} else if (offload->waiting >= offload->idle && offload->started < offload->threads_max) {
		r = start_thread(offload);
	}
	offload->waiting += r == 0;
	(void)pthread_mutex_unlock(&offload->mutex);
	return r;
}

static void release_place(struct gy_offload *offload)
{
	(void)pthread_mutex_lock(&offload->mutex);
	gy_assert(offload->waiting > 0);
	offload->waiting--;
	(void)pthread_mutex_unlock(&offload->mutex);
}

static void fail_for_stop(struct gyre_work *work)
{
	gy_outside_drop(work->system, work->argument, GYRE_NOBODY, GYRE_DROP_SHUTDOWN);
	send_error(work, -ESHUTDOWN);
	free_work(work);
}

static void put(struct gy_offload *offload, struct gyre_work *work)
{
	bool closed;

	(void)pthread_mutex_lock(&offload->mutex);
	closed = offload->closed;
	gy_assert(offload->waiting > 0);
	if (closed) {
		offload->waiting--;
	} else {
		*offload->link = work;
		offload->link = &work->next;
		(void)pthread_cond_signal(&offload->condition);
	}
	(void)pthread_mutex_unlock(&offload->mutex);
	if (closed) {
		fail_for_stop(work);
	}
}

/* Takes the mail. */
static struct gyre_work *make_work(struct gy_stack *stack, gyre_work_fn function,
				   struct gyre_mail *mail, uint64_t timeout_ns)
{
	struct gyre_work *work = (struct gyre_work *)gy_memory_get(sizeof(*work));

	if (work == NULL) {
		gy_mail_put(stack->home, mail);
		return NULL;
	}
	*work = (struct gyre_work){
		.system = stack->home->options.system,
		.function = function,
		.argument = gy_mail_carry_out(stack->home, gy_mail_given(stack->home, mail)),
		.asker = stack->house->self,
		.deadline_ns = gy_time_add(gy_clock_machine_ns(), timeout_ns),
	};
	if (work->argument == NULL) {
		gy_memory_put(work);
		return NULL;
	}
	work->argument->node.kind = GY_MAIL_ASK;
	gy_mail_from(work->argument, stack->house);
	return work;
}

static int offload_work(struct gy_stack *stack, struct gyre_work *work, uint64_t timeout_ns,
			struct gyre_future *ret_future)
{
	struct gy_offload *offload = work->offload;
	int r = reserve(offload);

	if (r == 0) {
		work->ask_id = gy_promise_open(stack, timeout_ns, ret_future);
		if (work->ask_id == 0) {
			release_place(offload);
			r = -ENOMEM;
		}
	}
	if (r < 0) {
		free_work(work);
		return r;
	}
	gy_count(&stack->home->counters.sent, 1);
	put(offload, work);
	return 0;
}

/* NULL for the pool without a name. There are few of them. */
static struct gy_offload *find(const struct gyre_system *system, const char *name)
{
	struct gy_offload *offload = system->offload;

	while (offload != NULL && strcmp(offload->name, name == NULL ? "" : name) != 0) {
		offload = offload->next;
	}
	return offload;
}

int gyre_offload_to(struct gyre_stack *stack, const char *pool, gyre_work_fn function,
		    struct gyre_mail *mail, uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_offload *offload = find(s->home->options.system, pool);
	struct gyre_work *work = NULL;
	int r = gy_mail_is_missing(mail)		 ? gy_mail_report_no_memory(mail)
		: function == NULL || ret_future == NULL ? -EINVAL
		: offload == NULL			 ? -ENOENT
							 : 0;

	if (r == 0) {
		r = gy_budget_timeout(s, &timeout_ns);
	}
	if (r < 0) {
		gyre_mail_destroy(stack, mail);
	} else {
		work = make_work(s, function, mail, timeout_ns);
		if (work == NULL) {
			r = -ENOMEM;
		} else {
			work->offload = offload;
			r = offload_work(s, work, timeout_ns, ret_future);
		}
	}
	if (r < 0 && ret_future != NULL) {
		*ret_future = (struct gyre_future){ .error = r };
	}
	return r;
}

int gyre_offload(struct gyre_stack *stack, gyre_work_fn function, struct gyre_mail *mail,
		 uint64_t timeout_ns, struct gyre_future *ret_future)
{
	return gyre_offload_to(stack, NULL, function, mail, timeout_ns, ret_future);
}

/* ---- what the function calls ---- */

const void *gyre_work_message(const struct gyre_work *work, const struct gyre_type *type)
{
	const struct gyre_mail *mail = work->argument;

	return mail->node.kind == GY_MAIL_MOVED || !gy_type_equal(mail->type, type) ? NULL
										    : mail->payload;
}

int gyre_work_message_move(struct gyre_work *work, const struct gyre_type *type, void *ret_payload)
{
	int r;

	if (gyre_work_message(work, type) == NULL) {
		return -ENOENT;
	}
	r = gy_mail_move_out(work->argument, ret_payload);
	if (r == 0) {
		work->argument->node.kind = GY_MAIL_MOVED;
	}
	return r;
}

struct gyre_system *gyre_work_system(const struct gyre_work *work)
{
	return work->system;
}

int gyre_work_reply(struct gyre_work *work, struct gyre_mail *mail)
{
	const struct gyre_type *answer = work->argument->type->answer;
	int r = 0;

	if (work->replied) {
		r = -EALREADY;
	} else if (gy_mail_is_missing(mail)) {
		r = work->refused = gy_mail_report_no_memory(mail);
	} else if (answer != NULL && !gy_type_equal(answer, mail->type)) {
		r = work->refused = -EPROTO;
	}
	work->replied = true;
	if (r < 0) {
		gyre_mail_destroy(NULL, mail);
		return r;
	}
	work->answer = gy_mail_given(NULL, mail);
	return 0;
}

/* ---- life ---- */

/* 0 for a number is that of the pool without a name. */
static struct gy_offload *make(struct gyre_system *system, const char *name, uint32_t threads,
			       uint32_t queue_max)
{
	uint32_t threads_max = threads == 0 ? system->options.offload_threads : threads;
	size_t threads_bytes = threads_max * sizeof(pthread_t);
	size_t name_bytes = strlen(name) + 1;
	struct gy_offload *offload =
		(struct gy_offload *)gy_memory_get(sizeof(*offload) + threads_bytes + name_bytes);

	if (offload == NULL) {
		return NULL;
	}
	offload->system = system;
	offload->name =
		(const char *)memcpy((char *)offload->threads + threads_bytes, name, name_bytes);
	offload->threads_max = threads_max;
	offload->queue_max = queue_max == 0 ? system->options.offload_queue_max : queue_max;
	offload->link = &offload->first;
	offload->has_cpus = gy_thread_cpus(&offload->cpus) == 0;
	(void)pthread_mutex_init(&offload->mutex, NULL);
	(void)pthread_cond_init(&offload->condition, NULL);
	return offload;
}

int gy_offload_init(struct gyre_system *system)
{
	const struct gyre_offload_pool *pools = system->options.offload_pools;
	struct gy_offload **link = &system->offload;

	*link = make(system, "", 0, 0);
	for (uint32_t i = 0; i < system->options.offload_pools_count && *link != NULL; i++) {
		link = &(*link)->next;
		*link = make(system, pools[i].name, pools[i].threads, pools[i].queue_max);
	}
	system->options.offload_pools = NULL; /* the caller's */
	return *link == NULL ? -ENOMEM : 0;
}

void gy_offload_fini(struct gyre_system *system)
{
	struct gy_offload *offload = system->offload;

	while (offload != NULL) {
		struct gy_offload *next = offload->next;

		(void)pthread_cond_destroy(&offload->condition);
		(void)pthread_mutex_destroy(&offload->mutex);
		gy_memory_put(offload);
		offload = next;
	}
	system->offload = NULL;
}

static void close_pool(struct gy_offload *offload)
{
	struct gyre_work *work;

	(void)pthread_mutex_lock(&offload->mutex);
	offload->closed = true;
	work = offload->first;
	for (const struct gyre_work *piece = work; piece != NULL; piece = piece->next) {
		gy_assert(offload->waiting > 0);
		offload->waiting--;
	}
	offload->first = NULL;
	offload->link = &offload->first;
	(void)pthread_cond_broadcast(&offload->condition);
	(void)pthread_mutex_unlock(&offload->mutex);
	while (work != NULL) {
		struct gyre_work *next = work->next;

		fail_for_stop(work);
		work = next;
	}
}

void gy_offload_close(struct gyre_system *system)
{
	for (struct gy_offload *pool = system->offload; pool != NULL; pool = pool->next) {
		close_pool(pool);
	}
}

void gy_offload_stop(struct gyre_system *system)
{
	gy_offload_close(system);
	for (struct gy_offload *pool = system->offload; pool != NULL; pool = pool->next) {
		for (uint32_t i = 0; i < pool->started; i++) {
			(void)pthread_join(pool->threads[i], NULL);
		}
	}
}

/* ---- what a snapshot shows ---- */

void gy_offload_view(const struct gyre_system *system, struct gyre_offload_pool_snapshot *ret_pools)
{
	for (struct gy_offload *pool = system->offload; pool != NULL; pool = pool->next) {
		struct gyre_offload_pool_snapshot *view = ret_pools++;

		*view = (struct gyre_offload_pool_snapshot){ .threads_max = pool->threads_max,
							     .queue_max = pool->queue_max };
		memcpy(view->name, pool->name, strlen(pool->name) + 1);
		(void)pthread_mutex_lock(&pool->mutex);
		view->threads = pool->started;
		view->busy = pool->started - pool->idle;
		view->waiting = pool->waiting;
		(void)pthread_mutex_unlock(&pool->mutex);
		view->done = gy_load_relaxed(&pool->done);
	}
}
