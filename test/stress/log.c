/*
 * Many threads log at once: actors on all loops, handlers that are told of mail, and threads that
 * are none, while a hook reads each line. Limits are reached and buffers overflow. Whatever happens
 * a line comes whole and once, in the order of its thread, and each that does not come is counted.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <gyre/log.h>

#include "stress.h"

enum { LOOPS = 3, THREADS = 3, ACTORS = 2 * LOOPS, ROUNDS = 6, LINES = 4000, BURST = 40 };

/* Who logs: each numbers its lines. Threads come behind actors. */
enum { SPEAKERS = ACTORS + THREADS };

struct seen {
	uint64_t came;
	uint64_t held;
	uint64_t lost;
	uint64_t next[SPEAKERS]; /* at least */
};

static struct seen seen;
static struct gyre_system *current;
static uint64_t logged; /* atomic */
static uint32_t running;

/* The lines say "N of SPEAKER, N * 7". */
static void read_line(const struct gyre_log_line *line, void *arg)
{
	const char *words = strstr(line->text, ": ");
	uint64_t number;
	uint64_t product;
	uint32_t speaker;

	check(arg == &seen && words != NULL);
	if (sscanf(line->text, "%" SCNu64 " lines of the log lost", &number) == 1) {
		seen.lost += number;
	} else if (strstr(words, " lines were dropped: ") != NULL) {
		check(sscanf(words, ": %" SCNu64, &number) == 1);
		seen.held += number;
	} else {
		check(sscanf(words, ": %" SCNu64 " of %" SCNu32 ", %" SCNu64, &number, &speaker,
			     &product) == 3);
		check(product == number * 7 && speaker < SPEAKERS);
		check(number >= seen.next[speaker]);
		check(strncmp(line->text, speaker < ACTORS ? "actor speaker" : "thread log",
			      speaker < ACTORS ? 13 : 10) == 0);
		seen.next[speaker] = number + 1;
		seen.came++;
	}
}

/* ---- actors ---- */

struct turn {
	uint32_t speaker;
	uint64_t number;
};
GYRE_MESSAGE(turn, 0x2201);

/* Logs a burst, and sends itself the next turn. */
static int speak(struct gyre_stack *stack)
{
	const struct turn *turn = gyre_message(stack, turn);
	uint64_t end = turn->number + BURST;

	for (uint64_t i = turn->number; i < end; i++) {
		gyre_log(stack, GYRE_LOG_WARNING, "%" PRIu64 " of %" PRIu32 ", %" PRIu64, i,
			 turn->speaker, i * 7);
	}
	(void)gy_fetch_add(&logged, BURST);
	if (end < LINES) {
		(void)gyre_notify(stack, gyre_self(stack),
				  gyre_new(stack, turn, .speaker = turn->speaker, .number = end));
	} else if (gy_fetch_add(&running, -1U) == 1) {
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

static const struct gyre_class speaker_classes[] = {
	{ .name = "speaker-0", .behaviour.notice = speak },
	{ .name = "speaker-1", .behaviour.notice = speak },
	{ .name = "speaker-2", .behaviour.notice = speak },
};

/* ---- threads ---- */

static void *shout(void *arg)
{
	uint32_t speaker = *(const uint32_t *)arg;

	(void)pthread_setname_np(pthread_self(), "log");
	for (uint64_t i = 0; i < LINES; i++) {
		gyre_system_log(current, GYRE_LOG_WARNING, "%" PRIu64 " of %" PRIu32 ", %" PRIu64,
				i, speaker, i * 7);
		(void)gy_fetch_add(&logged, 1);
	}
	if (gy_fetch_add(&running, -1U) == 1) {
		gyre_system_stop(current);
	}
	return NULL;
}

/* ---- a round ---- */

static void run_round(int64_t buffer_bytes, uint32_t lines_max)
{
	const struct gyre_system_options options = {
		.loops = LOOPS,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.log = read_line,
		.log_arg = &seen,
		.log_buffer_bytes = buffer_bytes,
		.log_lines_max = lines_max,
	};
	static uint32_t speakers[THREADS];
	pthread_t threads[THREADS];

	memset(&seen, 0, sizeof(seen));
	logged = 0;
	running = SPEAKERS;
	check(gyre_system_create(&options, &current) == 0);
	for (uint32_t i = 0; i < ACTORS; i++) {
		struct gyre_address actor =
			stress_spawn(current, &speaker_classes[i % 3], i % LOOPS, GYRE_NO_ARGUMENT);

		check(gyre_system_notify(current, actor,
					 gyre_system_new(current, turn, .speaker = i)) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		speakers[i] = ACTORS + i;
		check(pthread_create(&threads[i], NULL, shout, &speakers[i]) == 0);
	}
	check(gyre_system_start(current) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	(void)stress_end(current);
	(void)printf("%" PRIu64 " logged: %" PRIu64 " came, %" PRIu64 " were dropped, %" PRIu64
		     " lost\n",
		     logged, seen.came, seen.held, seen.lost);
	check(logged == (uint64_t)SPEAKERS * LINES);
	/* Counts of lines that were dropped may be among those that were lost, and come later. */
	check(seen.came + seen.held <= logged);
	check(seen.came + seen.held + seen.lost >= logged);
	check(seen.lost > 0 || seen.came + seen.held == logged);
}

int main(int argc, char **argv)
{
	(void)stress_begin(argc, argv);
	for (int i = 0; i < ROUNDS; i++) {
		run_round(1 << 24, 100); /* lines are dropped */
		run_round(4096, 65535);	 /* and lost */
		run_round(4096, 1000);	 /* and both */
		run_round(GYRE_LOG_UNBUFFERED, 1000);
	}
	return 0;
}
