/*
 * The pacer: an actor on each loop, beside its connections. It takes the steps of the run there,
 * looks for late replies a few times in the time that they may take, and with a rate tells each
 * connection when a request is due.
 *
 * A timer is too coarse to tell when: what it is late would be measured as the server's time. So
 * the timer fires early, and the rest of the time the pacer sends itself notices, between which the
 * loop does its other work.
 */
#include <string.h>

#include "load.h"

enum { LOOK = 1, PACE = 2, LOOKS = 4, LOOK_NS_MIN = 5000000, LOOK_NS_MAX = 250000000 };

/* What a timer may be late, twice. */
static const uint64_t early_ns = 400000;

struct load_pace {
	char nothing;
};
GYRE_MESSAGE(load_pace, 0x306);

static struct load_loop *loop_of(struct gyre_stack *stack)
{
	return *(struct load_loop **)gyre_state(stack);
}

static void look_at(struct gyre_stack *stack, const struct load_connection *connection)
{
	(void)gyre_notify(stack, connection->address, gyre_new(stack, load_look, 0));
}

static void look_at_all(struct gyre_stack *stack)
{
	const struct load_loop *loop = loop_of(stack);

	for (uint32_t i = 0; i < loop->connections_max; i++) {
		if (loop->connections[i] != NULL) {
			look_at(stack, loop->connections[i]);
		}
	}
}

/* How many requests are due by now; computed, as it may be millions when the loop is behind. */
static uint64_t due_by(const struct load_loop *loop, uint64_t now_ns)
{
	const struct load_settings *settings = loop->settings;
	double all = (double)(now_ns - loop->begun_ns) / 1e9 * (double)settings->rate;
	uint64_t number = (uint64_t)(all / (double)settings->loops);

	number = number < loop->next_request ? loop->next_request : number;
	while (number > loop->next_request && load_request_ns(loop, number - 1) > now_ns) {
		number--;
	}
	while (load_request_ns(loop, number) <= now_ns) {
		number++;
	}
	return number;
}

/*
 * A notice only where nothing was due: else one is on its way, or the connection has no room and
 * begins with what is due when it has. So however far the loop is behind, few are under way.
 */
static void tell_due(struct gyre_stack *stack, uint64_t now_ns)
{
	struct load_loop *loop = loop_of(stack);
	uint64_t end = due_by(loop, now_ns);
	uint64_t count = end - loop->next_request;

	for (uint64_t i = 0; i < count && i < loop->connections_max; i++) {
		struct load_connection *connection =
			loop->connections[(loop->next_request + i) % loop->connections_max];
		bool idle = connection != NULL && connection->due == connection->begun;
		uint64_t share = (count - i - 1) / loop->connections_max + 1;

		if (connection != NULL) {
			connection->due += share;
		} else if (loop->step == LOAD_MEASURE) {
			loop->counts.unsent += share;
		}
		if (idle) {
			look_at(stack, connection);
		}
	}
	loop->next_request = end;
}

static int pace(struct gyre_stack *stack)
{
	struct load_loop *loop = loop_of(stack);
	uint64_t now_ns = gyre_now(stack);
	uint64_t next_ns;

	if (loop->step != LOAD_WARM_UP && loop->step != LOAD_MEASURE) {
		return gyre_return(stack);
	}
	tell_due(stack, now_ns);
	next_ns = load_request_ns(loop, loop->next_request);
	if (next_ns - now_ns < early_ns) {
		return gyre_notify(stack, gyre_self(stack), gyre_new(stack, load_pace, 0));
	}
	return gyre_timer_start(
		stack, PACE,
		&(struct gyre_timer_options){ .delay_ns = next_ns - now_ns - early_ns / 2 });
}

static int begin(struct gyre_stack *stack)
{
	struct load_loop *loop = loop_of(stack);
	uint64_t look_ns = loop->settings->timeout_ns / LOOKS;
	int r;

	look_ns = look_ns < LOOK_NS_MIN ? LOOK_NS_MIN : look_ns;
	look_ns = look_ns > LOOK_NS_MAX ? LOOK_NS_MAX : look_ns;
	loop->begun_ns = gyre_now(stack);
	look_at_all(stack);
	r = gyre_timer_start(stack, LOOK, &(struct gyre_timer_options){ .period_ns = look_ns });
	return r < 0 || loop->settings->rate == 0 || loop->connections_max == 0 ? r : pace(stack);
}

static uint64_t unsent(const struct load_loop *loop)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < loop->connections_max; i++) {
		const struct load_connection *connection = loop->connections[i];

		count += connection == NULL ? 0 : connection->due - connection->begun;
	}
	return count;
}

static int take_step(struct gyre_stack *stack)
{
	struct load_loop *loop = loop_of(stack);

	loop->step = gyre_message(stack, load_order)->step;
	switch (loop->step) {
	case LOAD_WARM_UP:
		return begin(stack);
	case LOAD_MEASURE:
		loop->measured_ns = gyre_now(stack);
		return gyre_return(stack);
	case LOAD_DRAIN:
		loop->counts.elapsed_ns = gyre_now(stack) - loop->measured_ns;
		loop->counts.unsent += loop->settings->rate == 0 ? 0 : unsent(loop);
		return gyre_return(stack);
	default:
		return gyre_return(stack);
	}
}

static int fire(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	if (timeout->key == PACE) {
		return pace(stack);
	}
	look_at_all(stack);
	return gyre_return(stack);
}

static int tell_counts(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_load_counts);

	if (mail != NULL) {
		memcpy(gyre_payload(mail), &loop_of(stack)->counts, sizeof(struct load_counts));
	}
	return gyre_reply(stack, mail);
}

static int mount(struct gyre_stack *stack)
{
	*(struct load_loop **)gyre_state(stack) = gyre_message(stack, load_pacer_start)->loop;
	return gyre_return(stack);
}

static const struct gyre_route notices[] = {
	GYRE_ROUTE(load_pace, pace),
	GYRE_ROUTE(load_order, take_step),
	GYRE_ROUTE_END,
};
static const struct gyre_route asks[] = {
	GYRE_ROUTE(load_counts_wanted, tell_counts),
	GYRE_ROUTE_END,
};
static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_timeout, fire),
	GYRE_ROUTE_END,
};

const struct gyre_class load_pacer_class = {
	.name = "pacer",
	.state_bytes = sizeof(struct load_loop *),
	.mount = mount,
	.behaviour = { .notice_routes = notices, .ask_routes = asks, .event_routes = events },
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};
