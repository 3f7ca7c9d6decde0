/*
 * What the files of the watchdog share: the watchdog itself, which has one thread for a system, and
 * what it knows of each loop.
 */
#ifndef GY_SYSTEM_OBSERVE_WATCHDOG_H
#define GY_SYSTEM_OBSERVE_WATCHDOG_H

#include <pthread.h>

#include "base/log/log_limit.h"
#include "system/system.h"
#include "system/threads.h"

enum { GY_STALL_FRAMES = 40, GY_STALL_WHERE_BYTES = 900 };

/* A call of user code that has run for too long. */
struct gy_stall {
	char class_name[GY_CLASS_NAME_BYTES];
	char type_name[GY_CLASS_NAME_BYTES]; /* empty when there is no message */
	uint64_t lasted_ns;
	const void *interrupted; /* the instruction, NULL if unknown */
	int frames_count;
	void *frames[GY_STALL_FRAMES];
};

/* The call of user code that was running, and since when at the latest. */
struct gy_stall_mark {
	struct gy_pulse pulse;
	struct gy_running look;
	uint64_t since_ns;
	bool reported;
};

struct gy_watched {
	const struct gy_home *home;
	const struct gy_watchdog *watchdog;

	/* Guarded by the watchdog's mutex. */
	pthread_t thread;
	bool here; /* the thread turns the loop, and may be sent the signal */

	/* Written by the watchdog, read in the loop's signal handler. */
	struct gy_pulse pulse; /* as it was seen last */
	uint64_t since_ns;     /* when it was seen so first */

	/* The watchdog's own. */
	uint64_t look_ns; /* when to send the signal next */
	bool quiet;	  /* parked, and not up since the last look */
	bool reported;	  /* without the signal: this pulse */

	/* The signal handler's; @stall is the watchdog's from when @full is set until it clears it.
	 */
	struct gy_stall_mark mark;
	uint32_t full; /* atomic */
	struct gy_stall stall;
};

struct gy_watchdog {
	struct gy_loop_watch watch; /* first; what loops see */
	struct gyre_system *system;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool ending; /* guarded by the mutex */
	int signal;  /* 0 when there is none */
	uint64_t stall_ns;
	uint64_t tick_ns;
	uint64_t quiet_ns; /* for how long all loops have been quiet */
	uint64_t ticks;	   /* looks so far; read from any thread */
	struct gy_log_limit limit;
	struct gy_watched watched[];
};

/* ---- watchdog.c ---- */

/* Before the loops start. Without memory or a thread the system runs unwatched, with a warning. */
void gy_watchdog_start(struct gyre_system *system);
/* After the threads of the loops have ended. */
void gy_watchdog_stop(struct gyre_system *system);
/* On a loop's thread: from here to there it is watched. */
void gy_watchdog_enter(struct gy_worker *worker);
void gy_watchdog_leave(struct gy_worker *worker);

/* ---- stall.c ---- */

/* Takes a signal for this process, once for each watchdog; 0 when none is free. */
int gy_stall_signal_get(void);
void gy_stall_signal_put(void);

/* ---- stall_log.c ---- */

/* Logs what signal handlers have found, at most 5 stalls a minute. */
void gy_stalls_log(struct gy_watchdog *dog);
/* Where it was, as one text, which ends before the frames do if it is too long. */
void gy_stall_write_where(const struct gy_stall *stall, char text[GY_STALL_WHERE_BYTES]);
/* A stall of which no more is known than the loop. */
void gy_stall_log_blind(struct gy_watchdog *dog, const struct gy_watched *watched, uint64_t ns);
/* The last word: how many were not logged. */
void gy_stalls_log_rest(struct gy_watchdog *dog);

/* ---- the pulse ---- */

static inline struct gy_pulse gy_pulse_read(const struct gy_loop *loop)
{
	return (struct gy_pulse){
		.turns = gy_load_relaxed(&loop->counters.turns),
		.timed = gy_load_relaxed(&loop->meter.timed),
		.countdown = gy_load_relaxed(&loop->meter.countdown),
	};
}

static inline bool gy_pulse_equal(const struct gy_pulse *a, const struct gy_pulse *b)
{
	return a->turns == b->turns && a->timed == b->timed && a->countdown == b->countdown;
}

#endif
