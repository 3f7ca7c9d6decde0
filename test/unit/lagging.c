/*
 * A coarse clock that lies behind, and asks with short time-outs meanwhile.
 */
#include "lagging.h"

#include <dlfcn.h>
#include <time.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "fixture.h"

static uint64_t coarse_lag_ns; /* atomic */

typedef int (*clock_fn)(clockid_t, struct timespec *);

/* The machine's clocks, but that the coarse one lies behind as that of a machine whose ticks are
 * lost: no deadline may be made of it. */
int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	static clock_fn real;
	uint64_t ns;
	int r;

	if (real == NULL) {
		real = (clock_fn)dlsym(RTLD_NEXT, "clock_gettime");
	}
	r = real(id, ret_time);
	if (id == CLOCK_MONOTONIC_COARSE && r == 0) {
		ns = (uint64_t)ret_time->tv_sec * GYRE_SECONDS(1) + (uint64_t)ret_time->tv_nsec -
		     gy_load_relaxed(&coarse_lag_ns);
		ret_time->tv_sec = (time_t)(ns / GYRE_SECONDS(1));
		ret_time->tv_nsec = (long)(ns % GYRE_SECONDS(1));
	}
	return r;
}

static const uint32_t lags_ms[] = { 5, 10, 20, 50 };
static const uint32_t timeouts_ms[] = { 1, 2, 5, 10, 20, 50, 100 };
uint32_t lagging_early;

struct lagging_frame *lagging_frame(struct gyre_stack *stack)
{
	return (struct lagging_frame *)gyre_frame(stack);
}

static void spin(const struct gyre_stack *stack, uint64_t ns)
{
	uint64_t end_ns = gyre_now(stack) + ns;

	while (gyre_now(stack) < end_ns) {
	}
}

static int ask_after_work(struct gyre_stack *stack)
{
	struct lagging_frame *frame = lagging_frame(stack);

	/* The loop's own reading of the clock lies behind then. */
	spin(stack, GYRE_MILLISECONDS(frame->timeout % 2 == 0 ? 12 : 1));
	frame->asked_ns = gyre_now(stack);
	return gyre_ask(stack, frame->to, gyre_new(stack, number, 1),
			GYRE_MILLISECONDS(timeouts_ms[frame->timeout]), &frame->future);
}

static void look_at_answer(struct gyre_stack *stack)
{
	const struct lagging_frame *frame = lagging_frame(stack);
	int error = gyre_future_error(&frame->future);

	expect(error == 0 || error == -ETIMEDOUT); /* where the machine has no time */
	if (error == -ETIMEDOUT &&
	    gyre_now(stack) - frame->asked_ns < GYRE_MILLISECONDS(timeouts_ms[frame->timeout])) {
		lagging_early++;
	}
}

int lagging_asks(struct gyre_stack *stack)
{
	struct lagging_frame *frame = lagging_frame(stack);

	GYRE_BEGIN(stack);
	for (frame->lag = 0; frame->lag < gy_countof(lags_ms); frame->lag++) {
		gy_store_relaxed(&coarse_lag_ns, GYRE_MILLISECONDS(lags_ms[frame->lag]));
		for (frame->timeout = 0; frame->timeout < gy_countof(timeouts_ms);
		     frame->timeout++) {
			GYRE_AWAIT(stack, ask_after_work(stack));
			look_at_answer(stack);
		}
	}
	return fixture_end(stack);
	GYRE_END(stack);
}
