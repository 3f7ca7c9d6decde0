/*
 * The system that a test plays its script on, and what is asserted of it in the end.
 */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "loop/wheel.h"
#include "system/system.h"

enum { HANG_SECONDS = 120, STALL_MS = 10000 };

struct fixture fixture;
char traced[4096];

uint32_t mute_waiting;

static uint32_t traced_count;

/* ---- hooks ---- */

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		(void)gy_fetch_add(&fixture.errors, 1);
	} else if (line->level == GYRE_LOG_WARNING) {
		(void)gy_fetch_add(&fixture.warnings, 1);
	}
	(void)snprintf(fixture.line, sizeof(fixture.line), "%s", line->text);
}

static void lost(const struct gyre_type *type, struct gyre_address from, struct gyre_address to,
		 enum gyre_drop reason, void *arg)
{
	uint32_t place = gy_fetch_add(&fixture.letters_count, 1);

	expect(arg == &fixture);
	(void)gy_fetch_add(&fixture.lost[reason], 1);
	if (place < FIXTURE_LETTERS_MAX) {
		fixture.letters[place] = (struct letter){ type->id, from, to, reason };
	}
}

void fixture_failed(const char *what)
{
	const char *none = NULL;

	if (__atomic_compare_exchange_n(&fixture.failure, &none, what, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) {
		(void)fprintf(stderr, "expected: %s\n", what);
	}
}

void fixture_broken(const char *condition, const char *what)
{
	(void)fprintf(stderr, "must hold: %s: %s\n", condition, what);
	abort();
}

void trace(char what)
{
	uint32_t place = gy_fetch_add(&traced_count, 1);

	if (place < sizeof(traced) - 1) {
		traced[place] = what;
	}
}

/* ---- life ---- */

int descriptors_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = -1; /* for the folder itself */

	cr_assert_not_null(folder);
	while (readdir(folder) != NULL) {
		count++;
	}
	(void)closedir(folder);
	return count;
}

bool others_sleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	bool sleep = true;

	cr_assert_not_null(tasks);
	while (sleep && (task = readdir(tasks)) != NULL) {
		char path[300];
		char state = 'S';
		FILE *stat;

		if (task->d_name[0] == '.' || strtol(task->d_name, NULL, 10) == gettid()) {
			continue;
		}
		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		stat = fopen(path, "r");
		if (stat != NULL) {
			cr_assert_eq(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
			(void)fclose(stat);
		}
		sleep = state == 'S';
	}
	(void)closedir(tasks);
	return sleep;
}

ssize_t receive_in_time(int fd, void *to, size_t bytes)
{
	ssize_t got;

	do {
		got = recv(fd, to, bytes, 0);
	} while (got < 0 && errno == EINTR);
	return got;
}

void fixture_open_with(const struct gyre_system_options *options)
{
	struct gyre_system_options mine = *options;

	/* What an earlier system of the same test has lost is counted, and was asserted, there. */
	fixture = (struct fixture){ .descriptors = descriptors_open() };
	if (mine.stall_ns == 0) {
		mine.stall_ns = GYRE_MILLISECONDS(STALL_MS); /* a busy machine is no stall */
	}
	if (mine.log_buffer_bytes == 0) {
		mine.log_buffer_bytes = GYRE_LOG_UNBUFFERED; /* so that lines are counted at once */
	}
	mine.log = logged;
	mine.log_arg = &fixture;
	mine.dead_letter = lost;
	mine.dead_letter_arg = &fixture;
	(void)alarm(HANG_SECONDS);
	cr_assert_eq(gyre_system_create(&mine, &fixture.system), 0, "%s", fixture.line);
}

void fixture_open(uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops };

	fixture_open_with(&options);
}

/* ---- the steady clock ---- */

struct steady {
	const struct gy_loop *loop;
	uint64_t now_ns;
	uint64_t machine_ns; /* at the last reading */
	uint64_t parks;
};

static struct steady steady;

static uint64_t read_steady(void *arg)
{
	struct steady *it = (struct steady *)arg;
	uint64_t machine_ns = gy_clock_machine_ns();
	uint64_t passed_ns = machine_ns - it->machine_ns;
	uint64_t due_ns = gy_wheel_next_ns(&it->loop->wheel);

	if (it->loop->counters.parks == it->parks) {
		passed_ns = passed_ns < 1000 ? passed_ns : 1000;
	} else if (due_ns > it->now_ns && passed_ns > due_ns - it->now_ns) {
		passed_ns = due_ns - it->now_ns;
	}
	it->parks = it->loop->counters.parks;
	it->machine_ns = machine_ns;
	it->now_ns += passed_ns;
	return it->now_ns;
}

static uint64_t read_steady_ticks(void *arg)
{
	return ((const struct steady *)arg)->now_ns;
}

void fixture_steady(void)
{
	struct gy_loop *loop = &fixture.system->homes.homes[0].loop;
	uint64_t now_ns = gy_clock_machine_ns();

	steady = (struct steady){ .loop = loop, .now_ns = now_ns, .machine_ns = now_ns };
	loop->clock = (struct gy_clock){ .read_ns = read_steady,
					 .read_ticks = read_steady_ticks,
					 .arg = &steady };
}

void fixture_run(void)
{
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
}

static void must_equal(const char *what, uint64_t one, uint64_t other)
{
	if (one != other) {
		(void)fprintf(stderr, "%" PRIu64 " and %" PRIu64 "\n", one, other);
	}
	must_hold(one == other, what);
}

static void nothing_must_have_vanished(void)
{
	const struct gyre_counters *counters = &fixture.counters;
	uint64_t ends = counters->handled + counters->to_nodes;

	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters->dropped[i];
		must_equal(gyre_drop_name((enum gyre_drop)i), fixture.lost[i],
			   counters->dropped[i]);
	}
	must_equal("messages sent, and handled or lost", counters->sent, ends);
	must_equal("actors spawned, and stopped", counters->spawned, counters->stopped);
	must_equal("channels opened, and closed", counters->accepted + counters->connected,
		   counters->closed);
}

void fixture_close(void)
{
	gyre_system_stop(fixture.system);
	(void)gyre_system_start(
		fixture.system); /* to be taken down in good order also without a run */
	must_hold(gyre_system_wait(fixture.system) == 0, "the system ends");
	(void)gyre_system_counters(fixture.system, &fixture.counters);
	gyre_system_destroy(fixture.system);
	fixture.system = NULL;
	(void)alarm(0);
	must_hold(fixture.failure == NULL, fixture.failure);
	must_hold(fixture.errors == 0, fixture.line);
	nothing_must_have_vanished();
	must_equal("open descriptors", (uint64_t)descriptors_open(), (uint64_t)fixture.descriptors);
}

void play_with(const struct gyre_system_options *options, gyre_handler_fn script)
{
	struct gyre_class class = {
		.name = "script",
		.state_bytes = FIXTURE_STATE_BYTES,
		.frame_bytes = FIXTURE_FRAME_BYTES,
		.mount = script,
	};

	fixture_open_with(options);
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
}

void play_steady(gyre_handler_fn script)
{
	const struct gyre_system_options options = { .loops = 1, .spin_ns = GYRE_SPIN_NEVER };
	const struct gyre_class class = { .name = "script",
					  .frame_bytes = FIXTURE_FRAME_BYTES,
					  .mount = script };

	fixture_open_with(&options);
	fixture_steady();
	(void)spawn_outside(&class, 0);
	fixture_run();
	fixture_close();
}

void play(uint32_t loops, gyre_handler_fn script)
{
	const struct gyre_system_options options = { .loops = loops };

	play_with(&options, script);
}

int fixture_end(struct gyre_stack *stack)
{
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

/* ---- spawning and sending ---- */

struct gyre_address spawn_on(struct gyre_stack *stack, const struct gyre_class *class,
			     uint32_t loop)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct gyre_address address = { 0 };

	expect(gyre_spawn(stack, class, GYRE_NO_ARGUMENT, &options, &address) == 0);
	return address;
}

struct gyre_address spawn_here(struct gyre_stack *stack, const struct gyre_class *class)
{
	struct gyre_address address = { 0 };

	expect(gyre_spawn(stack, class, GYRE_NO_ARGUMENT, NULL, &address) == 0);
	return address;
}

struct gyre_address spawn_outside(const struct gyre_class *class, uint32_t loop)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct gyre_address address = { 0 };

	expect(gyre_system_spawn(fixture.system, class, GYRE_NO_ARGUMENT, &options, &address) == 0);
	return address;
}

int notify_outside(struct gyre_address to, uint64_t value)
{
	return gyre_system_notify(fixture.system, to,
				  gyre_system_new(fixture.system, number, value));
}

/* ---- classes ---- */

static int add(struct gyre_stack *stack)
{
	const struct number *question = gyre_message(stack, number);

	expect(question != NULL);
	return gyre_reply(stack, gyre_new(stack, number, question->value + 1));
}

const struct gyre_class adder_class = { .name = "adder", .behaviour.ask = add };

static int ignore(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

const struct gyre_class sink_class = {
	.name = "sink",
	.behaviour = { .notice = ignore, .ask = ignore, .event = ignore },
};

struct mute_frame {
	struct gyre_future never;
};

static int keep_waiting(struct gyre_stack *stack)
{
	struct mute_frame *frame = (struct mute_frame *)gyre_frame(stack);

	expect(gyre_stack_state(stack) == 0);
	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->never) == 0);
	(void)gy_fetch_add(&mute_waiting, 1);
	return gyre_suspend(stack, 1);
}

const struct gyre_class mute_class = {
	.name = "mute",
	.frame_bytes = sizeof(struct mute_frame),
	.behaviour.ask = keep_waiting,
};
