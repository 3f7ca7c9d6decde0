/*
 * What a loop does at this moment, said by its own thread: in the handler of a signal that the
 * watchdog sends it. A first look notes which call of user code runs; when a later one finds the
 * same call after stall_ns, that is a stall, and its record is handed to the watchdog, which has
 * the time to log it.
 *
 * The handler may come in the middle of anything. It reads what its own thread alone writes, takes
 * no lock and allocates nothing.
 *
 * The disposition of a signal belongs to the process, so this is the one place besides the heap's
 * and process.c with mutable objects of file scope: the signal, and how many watchdogs use it.
 */
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "system/observe/watchdog.h"
#include "system/process.h"
#include "system/threads.h"

enum { SIGNALS_LEFT_ALONE = 5 }; /* the first ones, which others like to take */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static uint32_t users;
static int taken;

/* ---- in the signal handler ---- */

static const void *instruction_of(const void *context)
{
	const ucontext_t *interrupted = (const ucontext_t *)context;

#if defined(__x86_64__)
	return (const void *)(uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (const void *)(uintptr_t)interrupted->uc_mcontext.pc;
#else
	(void)interrupted;
	return NULL;
#endif
}

static void copy_name(char name[GY_CLASS_NAME_BYTES], const char *from)
{
	size_t length = strnlen(from, GY_CLASS_NAME_BYTES - 1);

	memcpy(name, from, length);
	name[length] = '\0';
}

static void record(struct gy_watched *watched, const struct gy_running *look, uint64_t lasted_ns,
		   const void *context)
{
	struct gy_stall *stall = &watched->stall;

	copy_name(stall->class_name, look->class_info->name);
	copy_name(stall->type_name, look->type == NULL ? "" : look->type->name);
	stall->lasted_ns = lasted_ns;
	stall->interrupted = instruction_of(context);
	stall->frames_count = backtrace(stall->frames, GY_STALL_FRAMES);
	gy_store_release(&watched->full, 1);
}

/* Since when the present call has run, at the latest. */
static uint64_t begun_ns(const struct gy_watched *watched, const struct gy_pulse *pulse,
			 const struct gy_running *look, uint64_t now_ns)
{
	const struct gy_pulse seen = {
		.turns = gy_load_relaxed(&watched->pulse.turns),
		.timed = gy_load_relaxed(&watched->pulse.timed),
		.countdown = gy_load_relaxed(&watched->pulse.countdown),
	};

	/* The only call of a job has run for as long as the watchdog has seen the job. */
	return look->first && gy_pulse_equal(&seen, pulse) ? gy_load_relaxed(&watched->since_ns)
							   : now_ns;
}

static bool is_same_call(const struct gy_running *a, const struct gy_running *b)
{
	return a->class_info == b->class_info && a->message == b->message &&
	       a->handled == b->handled && a->steps == b->steps;
}

static void look_around(struct gy_watched *watched, const void *context)
{
	struct gy_stall_mark *mark = &watched->mark;
	uint64_t now_ns = gy_clock_machine_ns();
	struct gy_pulse pulse = gy_pulse_read(&watched->home->loop);
	struct gy_running look;

	if (!gy_home_get_running(watched->home, &look)) {
		return;
	}
	if (!gy_pulse_equal(&mark->pulse, &pulse) || !is_same_call(&mark->look, &look)) {
		*mark = (struct gy_stall_mark){
			.pulse = pulse,
			.look = look,
			.since_ns = begun_ns(watched, &pulse, &look, now_ns),
		};
	}
	if (!mark->reported && now_ns - mark->since_ns >= watched->watchdog->stall_ns &&
	    gy_load_acquire(&watched->full) == 0) {
		mark->reported = true;
		record(watched, &look, now_ns - mark->since_ns, context);
	}
}

static void handle(int number, siginfo_t *info, void *context)
{
	const struct gy_worker *worker = gy_current_worker();
	int error = errno;

	(void)number;
	(void)info;
	/* Somebody else may have sent it, to any thread. */
	if (worker != NULL && worker->system->watchdog != NULL) {
		look_around(&worker->system->watchdog->watched[worker->home->loop.index], context);
	}
	errno = error;
}

/* ---- the signal ---- */

static __attribute__((noinline)) int install(void)
{
	struct sigaction mine = { .sa_sigaction = handle,
				  .sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK };

	(void)sigfillset(&mine.sa_mask);
	for (int number = SIGRTMIN + SIGNALS_LEFT_ALONE; number <= SIGRTMAX; number++) {
		struct sigaction present;

		if (sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_DFL &&
		    sigaction(number, &mine, NULL) == 0) {
			return number;
		}
	}
	return 0;
}

/* Gives it back, unless somebody else has taken it since. */
static __attribute__((noinline)) void uninstall(int number)
{
	struct sigaction present;

	if (sigaction(number, NULL, &present) == 0 && present.sa_sigaction == handle) {
		present = (struct sigaction){ .sa_handler = SIG_DFL };
		(void)sigaction(number, &present, NULL);
	}
}

/* A simulator answers these two in place of the library, by the linker: they have no objects of
 * which the address sanitizer tells, for then it would keep the function's own address, and have
 * that of the other. */
int gy_stall_signal_get(void)
{
	int number;

	(void)pthread_mutex_lock(&mutex);
	if (users == 0) {
		taken = install();
	}
	number = taken;
	users += number != 0;
	(void)pthread_mutex_unlock(&mutex);
	return number;
}

void gy_stall_signal_put(void)
{
	(void)pthread_mutex_lock(&mutex);
	if (--users == 0) {
		uninstall(taken);
	}
	(void)pthread_mutex_unlock(&mutex);
}
