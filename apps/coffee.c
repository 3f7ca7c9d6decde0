/*
 * A coffee machine: a state machine of three behaviours, and one that lies on top of another.
 *
 *	asleep   --order-->  heating   stashes orders, until its timer fires
 *	heating  --timer-->  ready     takes one order at a time, and stashes the rest while it
 *brews ready    --idle-->   asleep    by the receive time-out any      --empty-->  refilling,
 *nested: stashes all until it has beans, and goes back
 *
 * The main actor sends customers, watches them until they are gone, and asks for a report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { CUSTOMERS_DEFAULT = 12, CUSTOMERS_MAX = 100000, CUPS_PER_FILLING = 5 };
enum { HEATED = 1, REFILLED = 2 }; /* keys of timers */

static const uint64_t heating_ns = GYRE_MILLISECONDS(20);
static const uint64_t brewing_ns = GYRE_MILLISECONDS(2);
static const uint64_t refilling_ns = GYRE_MILLISECONDS(10);
static const uint64_t idle_ns = GYRE_MILLISECONDS(50);

struct order {
	uint32_t customer;
};
GYRE_MESSAGE(order, 0x200);

struct cup {
	uint32_t number;
};
GYRE_MESSAGE(cup, 0x201);

struct report_wanted {
	char nothing;
};
GYRE_MESSAGE(report_wanted, 0x202);

struct report {
	uint32_t cups;
	uint32_t refills;
	uint32_t sleeps;
};
GYRE_MESSAGE(report, 0x203);

/* ---- the machine ---- */

struct machine {
	struct report report;
	uint32_t beans; /* in cups */
};

struct machine_frame {
	struct gyre_future brewed;
};

static int wake_up(struct gyre_stack *stack);
static int lay_aside(struct gyre_stack *stack);
static int end_heating(struct gyre_stack *stack);
static int serve(struct gyre_stack *stack);
static int fall_asleep(struct gyre_stack *stack);
static int end_refilling(struct gyre_stack *stack);
static int tell_report(struct gyre_stack *stack);

static const struct gyre_route asleep_asks[] = {
	GYRE_ROUTE(order, wake_up),
	GYRE_ROUTE(report_wanted, tell_report),
	GYRE_ROUTE_END,
};
static const struct gyre_route busy_asks[] = {
	GYRE_ROUTE(order, lay_aside),
	GYRE_ROUTE(report_wanted, tell_report),
	GYRE_ROUTE_END,
};
static const struct gyre_route ready_asks[] = {
	GYRE_ROUTE(order, serve),
	GYRE_ROUTE(report_wanted, tell_report),
	GYRE_ROUTE_END,
};
static const struct gyre_route ready_events[] = {
	GYRE_ROUTE(gyre_receive_timeout, fall_asleep),
	GYRE_ROUTE_END,
};

static const struct gyre_behaviour asleep = { .ask_routes = asleep_asks };
static const struct gyre_behaviour heating = { .ask_routes = busy_asks, .event = end_heating };
static const struct gyre_behaviour ready = { .ask_routes = ready_asks,
					     .event_routes = ready_events };
static const struct gyre_behaviour brewing = { .ask_routes = busy_asks };
static const struct gyre_behaviour refilling = { .ask_routes = busy_asks, .event = end_refilling };

static struct machine *machine_of(struct gyre_stack *stack)
{
	return (struct machine *)gyre_state(stack);
}

static int lay_aside(struct gyre_stack *stack)
{
	return gyre_stash(stack);
}

static int wake_up(struct gyre_stack *stack)
{
	puts("machine: heating up");
	(void)gyre_become(stack, &heating);
	if (gyre_timer_start(stack, HEATED,
			     &(struct gyre_timer_options){ .delay_ns = heating_ns }) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	return gyre_stash(stack);
}

static int end_heating(struct gyre_stack *stack)
{
	puts("machine: ready");
	(void)gyre_become(stack, &ready);
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_receive_timeout_start(stack, idle_ns);
}

static int fall_asleep(struct gyre_stack *stack)
{
	puts("machine: nobody comes, falling asleep");
	machine_of(stack)->report.sleeps++;
	(void)gyre_become(stack, &asleep);
	return gyre_receive_timeout_stop(stack);
}

/* Out of beans: what was ready comes back when there are some. */
static int refill_first(struct gyre_stack *stack)
{
	int r;

	puts("machine: out of beans");
	r = gyre_become_nested(stack, &refilling);
	if (r == 0) {
		r = gyre_timer_start(stack, REFILLED,
				     &(struct gyre_timer_options){ .delay_ns = refilling_ns });
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_stash(stack);
}

static int end_refilling(struct gyre_stack *stack)
{
	machine_of(stack)->beans = CUPS_PER_FILLING;
	machine_of(stack)->report.refills++;
	gyre_unbecome(stack);
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_return(stack);
}

static int serve(struct gyre_stack *stack)
{
	struct machine *machine = machine_of(stack);
	struct machine_frame *frame = (struct machine_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (machine->beans == 0) {
		return refill_first(stack);
	}
	machine->beans--;
	(void)gyre_become(stack, &brewing);
	GYRE_AWAIT(stack, gyre_sleep(stack, brewing_ns, &frame->brewed));
	(void)gyre_become(stack, &ready);
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_reply(stack, gyre_new(stack, cup, ++machine->report.cups));
	GYRE_END(stack);
}

static int tell_report(struct gyre_stack *stack)
{
	const struct report *report = &machine_of(stack)->report;

	return gyre_reply(stack,
			  gyre_new(stack, report, report->cups, report->refills, report->sleeps));
}

static const struct gyre_class machine_class = {
	.name = "machine",
	.state_bytes = sizeof(struct machine),
	.frame_bytes = sizeof(struct machine_frame),
	.stash_max = CUSTOMERS_MAX,
	.behaviour = { .ask_routes = asleep_asks },
};

/* ---- a customer ---- */

struct wish {
	struct gyre_address machine;
	uint32_t customer;
};
GYRE_MESSAGE(wish, 0x204);

struct customer_frame {
	struct gyre_future cup;
};

/* The whole life of a customer is its mount. */
static int be_customer(struct gyre_stack *stack)
{
	const struct wish *wish = gyre_message(stack, wish);
	struct customer_frame *frame = (struct customer_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, wish->machine, gyre_new(stack, order, wish->customer),
				   GYRE_FOREVER, &frame->cup));
	if (gyre_future_failed(&frame->cup)) {
		return gyre_throw(stack, gyre_future_error(&frame->cup));
	}
	printf("customer %" PRIu32 ": got cup %" PRIu32 "\n", wish->customer,
	       gyre_future_get(&frame->cup, cup)->number);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class customer_class = {
	.name = "customer",
	.frame_bytes = sizeof(struct customer_frame),
	.mount = be_customer,
};

/* ---- the shop ---- */

struct shop {
	struct gyre_address machine;
	uint32_t customers; /* that are still there */
};

struct shop_frame {
	struct gyre_future quiet;
	struct gyre_future report;
};

static int send_customer(struct gyre_stack *stack, struct shop *shop)
{
	struct gyre_address customer;
	int r = gyre_spawn(stack, &customer_class,
			   gyre_new(stack, wish, shop->machine, shop->customers + 1), NULL,
			   &customer);

	if (r == 0) {
		r = gyre_watch(stack, customer);
	}
	shop->customers += r == 0;
	return r;
}

static int open_shop(struct gyre_stack *stack)
{
	struct shop *shop = (struct shop *)gyre_state(stack);
	const struct gyre_arguments *arguments = gyre_message(stack, gyre_arguments);
	char *end = NULL;
	unsigned long count = CUSTOMERS_DEFAULT;
	int r;

	if (arguments->argc > 1) {
		count = strtoul(arguments->argv[1], &end, 10);
	}
	if (arguments->argc > 2 || (end != NULL && *end != 0) || count == 0 ||
	    count > CUSTOMERS_MAX) {
		fprintf(stderr, "usage: gyre-coffee [CUSTOMERS], which are 1 to %d\n",
			CUSTOMERS_MAX);
		gyre_exit(stack, EXIT_FAILURE);
		return gyre_return(stack);
	}
	r = gyre_spawn(stack, &machine_class, GYRE_NO_ARGUMENT, NULL, &shop->machine);
	for (unsigned long i = 0; i < count && r == 0; i++) {
		r = send_customer(stack, shop);
	}
	return r;
}

/* A customer has gone. After the last one the machine has time to fall asleep. */
static int see_off(struct gyre_stack *stack)
{
	struct shop *shop = (struct shop *)gyre_state(stack);
	struct shop_frame *frame = (struct shop_frame *)gyre_frame(stack);
	const struct report *report;

	GYRE_BEGIN(stack);
	if (--shop->customers > 0) {
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, 2 * idle_ns, &frame->quiet));
	GYRE_AWAIT(stack, gyre_ask(stack, shop->machine, gyre_new(stack, report_wanted, 0), 0,
				   &frame->report));
	report = gyre_future_get(&frame->report, report);
	if (report == NULL) {
		return gyre_throw(stack, gyre_future_error(&frame->report));
	}
	printf("%" PRIu32 " cups, %" PRIu32 " refills, %" PRIu32 " times asleep\n", report->cups,
	       report->refills, report->sleeps);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class shop_class = {
	.name = "shop",
	.state_bytes = sizeof(struct shop),
	.frame_bytes = sizeof(struct shop_frame),
	.mount = open_shop,
	.behaviour.event = see_off,
	.strategy = GYRE_STRATEGY_STOP,
};

int main(int argc, char **argv)
{
	return gyre_main(&shop_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
