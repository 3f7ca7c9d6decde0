/*
 * A program under a flood: threads that are no loops send large notices to one slow actor, much
 * faster than it handles them. It tells how much memory it had at the most, and whether all that
 * was sent was handled. overload_test.py runs it with and without the memory guard.
 *
 * usage: system-flood LIMIT_BYTES (as memory_limit_bytes) NOTICES
 */
#include <pthread.h>
#include <sys/resource.h>

#include <gyre/gyre.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, HANDLE_NS = 8000 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct parcel {
	uint64_t number;
	unsigned char bytes[4000];
};
GYRE_MESSAGE(parcel, 0x3001);

static struct gyre_system *flooded;
static struct gyre_address slow;
static uint64_t notices;

/* Of the slow actor. */
static uint64_t handled;
static uint64_t sum;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return GYRE_SECONDS(now.tv_sec) + (uint64_t)now.tv_nsec;
}

static int handle(struct gyre_stack *stack)
{
	const struct parcel *parcel = gyre_message(stack, parcel);
	uint64_t end_ns = now_ns() + HANDLE_NS;

	sum += parcel->number;
	while (now_ns() < end_ns) {
	}
	if (++handled == notices) {
		gyre_system_stop(flooded);
	}
	return gyre_return(stack);
}

static const struct gyre_class slow_class = { .name = "slow", .behaviour.notice = handle };

static void *flood(void *arg)
{
	uint64_t first = *(const uint64_t *)arg;

	for (uint64_t i = first; i < notices; i += THREADS) {
		struct gyre_mail *mail = gyre_system_mail_create(flooded, &gyre_type_parcel);

		if (mail != NULL) {
			struct parcel *parcel = (struct parcel *)gyre_payload(mail);

			memset(parcel, 1, sizeof(*parcel));
			parcel->number = i;
		}
		if (gyre_system_notify(flooded, slow, mail) < 0) {
			_Exit(1);
		}
	}
	return NULL;
}

static int run(int64_t limit_bytes)
{
	const struct gyre_system_options options = { .loops = 1,
						     .memory_limit_bytes = limit_bytes,
						     .log_level = GYRE_LOG_INFO };
	pthread_t threads[THREADS];
	uint64_t firsts[THREADS];
	struct gyre_counters counters;
	struct rusage usage;
	int r = gyre_system_create(&options, &flooded);

	if (r == 0) {
		r = gyre_system_spawn(flooded, &slow_class, GYRE_NO_ARGUMENT, NULL, &slow);
	}
	if (r == 0) {
		r = gyre_system_start(flooded);
	}
	if (r < 0) {
		return r;
	}
	for (uint64_t i = 0; i < THREADS; i++) {
		firsts[i] = i;
		(void)pthread_create(&threads[i], NULL, flood, &firsts[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	r = gyre_system_wait(flooded);
	(void)gyre_system_counters(flooded, &counters);
	(void)getrusage(RUSAGE_SELF, &usage);
	gyre_system_destroy(flooded);
	(void)printf("peak_bytes=%ld handled=%" PRIu64 " whole=%d busy=%" PRIu64 " delayed=%" PRIu64
		     "\n",
		     usage.ru_maxrss * 1024, handled, sum == notices * (notices - 1) / 2,
		     counters.busy_periods, counters.notices_delayed);
	return r;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		return 2;
	}
	if (SANITIZED) {
		return 77; /* what is freed is kept for long, so memory tells nothing */
	}
	notices = strtoull(argv[2], NULL, 0);
	return run(strtoll(argv[1], NULL, 0)) == 0 ? 0 : 1;
}
