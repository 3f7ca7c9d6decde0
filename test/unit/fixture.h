/*
 * What the tests of actors and systems share.
 *
 * A test plays a script: the mount hook of an actor on loop 0 of a real system, which spawns
 * others, awaits what they answer, and calls fixture_end(). Handlers run on the threads of loops,
 * where Criterion's assertions may not be used: they say expect(), and what they saw is asserted
 * when the system has ended, together with what must hold of every system: each message that was
 * sent was handled or is counted as lost, nothing graver than a warning was logged, nothing was
 * leaked.
 *
 * Each test of Criterion has a process of its own, so a test's records may be of file scope.
 */
#ifndef GY_TEST_FIXTURE_H
#define GY_TEST_FIXTURE_H

#include <criterion/criterion.h>

#include <gyre/actor.h>
#include <gyre/counters.h>
#include <gyre/stack.h>
#include <gyre/system.h>
#include <gyre/timer.h>

enum {
	FIXTURE_FRAME_BYTES = 512,
	FIXTURE_STATE_BYTES = 4800,
	FIXTURE_LETTERS_MAX = 64,
	FIXTURE_LINE_BYTES = 256
};

/* Messages for any purpose. */
struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

struct place {
	struct gyre_address address;
};
GYRE_MESSAGE(place, 0x1002);

/* Above 16 KiB: not from a pool. */
struct large {
	uint64_t values[5000];
};
GYRE_MESSAGE(large, 0x1003);

struct letter {
	uint32_t type;
	struct gyre_address from;
	struct gyre_address to;
	enum gyre_drop reason;
};

struct fixture {
	struct gyre_system *system;
	int descriptors; /* before */
	uint32_t errors; /* logged */
	uint32_t warnings;
	char line[FIXTURE_LINE_BYTES];	/* the last that was logged */
	uint32_t lost[GYRE_DROP_COUNT]; /* what the dead letter hook heard, by reason */
	uint32_t letters_count;
	struct letter letters[FIXTURE_LETTERS_MAX];
	const char *failure;	       /* of expect(): the first */
	struct gyre_counters counters; /* at the end */
};

/* The one of this process. */
extern struct fixture fixture;

/* Creates a system of @loops loops. */
void fixture_open(uint32_t loops);
/* The same with other options; its hooks are set here. */
void fixture_open_with(const struct gyre_system_options *options);
/*
 * Gives loop 0 of a system that was opened for fixture_run() a clock that goes on only while the
 * loop sleeps, and never past the next timer: whatever keeps the loop off its CPU, timers come one
 * after the other. Its loop must not poll.
 */
void fixture_steady(void);
/* Makes a system that was opened run until an actor calls fixture_end(). */
void fixture_run(void);
/* Destroys it, and asserts what must hold of every system. */
void fixture_close(void);

/* Opens, spawns an actor on loop 0 with @script as its mount hook, runs and closes. */
void play(uint32_t loops, gyre_handler_fn script);
void play_with(const struct gyre_system_options *options, gyre_handler_fn script);
/* The same on one loop with a steady clock. */
void play_steady(gyre_handler_fn script);

/* From a handler: ends the system. Returns what the handler returns. */
int fixture_end(struct gyre_stack *stack);

/* How many file descriptors the process has. */
int descriptors_open(void);

/* Whether no other thread of this process runs or wants to. */
bool others_sleep(void);

/* recv() of a socket with SO_RCVTIMEO: that is interrupted, and not begun again as one without,
 * when the kernel takes down a ring that this thread has used, as it does some time after the end
 * of a system. */
ssize_t receive_in_time(int fd, void *to, size_t bytes);

/* Spawns on a given loop, and expects that it works. */
struct gyre_address spawn_on(struct gyre_stack *stack, const struct gyre_class *class,
			     uint32_t loop);
/* Spawns on the own loop. */
struct gyre_address spawn_here(struct gyre_stack *stack, const struct gyre_class *class);
/* From outside, before the start or while the system runs. */
struct gyre_address spawn_outside(const struct gyre_class *class, uint32_t loop);
/* Sends a number from outside. */
int notify_outside(struct gyre_address to, uint64_t value);

/* For handlers; any thread. */
#define STRING_OF_(x) #x
#define STRING_OF(x)  STRING_OF_(x)
#define expect(condition) \
	((condition) ? (void)0 : fixture_failed(__FILE__ ":" STRING_OF(__LINE__) ": " #condition))
void fixture_failed(const char *what);

/*
 * For what is looked at when a test has ended, and is told in the words of @what: there Criterion
 * forgets an assertion that fails, but not a crash.
 */
#define must_hold(condition, what) \
	((condition) ? (void)0     \
		     : fixture_broken(__FILE__ ":" STRING_OF(__LINE__) ": " #condition, what))
void fixture_broken(const char *condition, const char *what);

/* A record of what happened, a character each, in order. Any thread. */
void trace(char what);
extern char traced[4096];

/* An actor that answers a number with the number after it. */
extern const struct gyre_class adder_class;
/* An actor that takes everything and answers nothing, not even asks. */
extern const struct gyre_class sink_class;
/* An actor that keeps its asker waiting without end. */
extern const struct gyre_class mute_class;
/* How many asks it has kept waiting. Atomic. */
extern uint32_t mute_waiting;

#endif
