/*
 * A coffee machine whose parts break down, and are supervised.
 *
 *	shop             stops a machine that has failed
 *	  machine        one for one: the part that has failed starts anew, twice a minute
 *	    grinder
 *	    water        rest for one: and so do the parts behind it, likewise
 *	      pump
 *	      boiler     cold, heating, hot; it starts anew as a cold one
 *	      spout
 *
 * A part leaves its failure to its parent, which waits longer before each restart. One failure more
 * is the parent's own, and goes up to the next. A unit, which is made of parts, has them brew a cup
 * one after the other, and tries again what has failed; when it starts anew its parts are new ones.
 * Each line of the log tells the time, where in the tree, and what has happened.
 *
 *	gyre-coffee 4 boiler@2 pump@3
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { CUPS_DEFAULT = 12, CUPS_MAX = 1000, BREAKDOWNS_MAX = 100 };
enum { UNIT_PARTS_MAX = 3, TRIES_MAX = 10, CHANCE = 16 };

static const uint64_t working_ns = GYRE_MILLISECONDS(2);
static const uint64_t heating_ns = GYRE_MILLISECONDS(20);
static const uint64_t trying_again_ns = GYRE_MILLISECONDS(5);

/* Asked of the machine by customers, and of each part by the unit that it belongs to. */
struct brewed {
};
GYRE_MESSAGE(brewed, 0x200);

struct brew {
	uint32_t cup;
};
GYRE_REQUEST(brew, 0x201, brewed);

/* What a part tells itself when it breaks down. */
struct breakdown {
	uint32_t cup;
};
GYRE_MESSAGE(breakdown, 0x202);

/* With which a part or a unit begins. */
struct blueprint {
	const char *name;
};
GYRE_MESSAGE(blueprint, 0x203);

/* ---- what is to happen: from the arguments, for all actors, which are on one loop ---- */

struct plan {
	uint32_t cups;
	bool by_chance;
	uint64_t random;
	uint64_t began_ns;
	struct {
		const char *part;
		uint32_t cup; /* 0 when that is over */
	} breakdowns[BREAKDOWNS_MAX];
	size_t count;
};

static struct plan *plan_of(const struct gyre_stack *stack)
{
	return (struct plan *)gyre_system_user(gyre_system_of(stack));
}

static bool is_broken_by_chance(struct plan *plan)
{
	plan->random ^= plan->random << 13;
	plan->random ^= plan->random >> 7;
	plan->random ^= plan->random << 17;
	return plan->by_chance && plan->random % CHANCE == 0;
}

static bool is_broken(struct plan *plan, const char *name, uint32_t cup)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->breakdowns[i].cup == cup && strcmp(plan->breakdowns[i].part, name) == 0) {
			plan->breakdowns[i].cup = 0;
			return true;
		}
	}
	return is_broken_by_chance(plan);
}

/* A line of the log: the time, the place in the tree of actors, and what happens there. */
__attribute__((format(printf, 2, 3))) static void tell(struct gyre_stack *stack, const char *format,
						       ...)
{
	uint64_t ms = (gyre_now(stack) - plan_of(stack)->began_ns) / GYRE_MILLISECONDS(1);
	char path[GYRE_PATH_TEXT_MAX];
	va_list args;

	(void)gyre_path(stack, sizeof(path), path);
	printf("%5" PRIu64 " ms  %-28s ", ms, path + strlen("/user/"));
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)putchar('\n');
}

/* ---- a part ---- */

static int start_part(struct gyre_stack *stack)
{
	*(struct blueprint *)gyre_state(stack) = *gyre_message(stack, blueprint);
	return gyre_return(stack);
}

static int restart_part(struct gyre_stack *stack)
{
	tell(stack, "starts anew");
	return gyre_return(stack);
}

/* A failed ask is a matter of the asker alone, so the failure of the part is that of a notice. */
static int work(struct gyre_stack *stack)
{
	const struct blueprint *part = (const struct blueprint *)gyre_state(stack);
	struct gyre_future *worked = (struct gyre_future *)gyre_frame(stack);
	uint32_t cup = gyre_message(stack, brew)->cup;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, working_ns, worked));
	if (is_broken(plan_of(stack), part->name, cup)) {
		(void)gyre_notify_self_first(stack, gyre_new(stack, breakdown, cup));
		return gyre_throw(stack, -EIO);
	}
	return gyre_reply_to(stack, brew);
	GYRE_END(stack);
}

static int break_down(struct gyre_stack *stack)
{
	tell(stack, "breaks down at cup %" PRIu32, gyre_message(stack, breakdown)->cup);
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class part_class = {
	.name = "part",
	.state_bytes = sizeof(struct blueprint),
	.frame_bytes = sizeof(struct gyre_future),
	.mount = start_part,
	.behaviour = { .ask = work, .notice = break_down },
	.strategy = GYRE_STRATEGY_ESCALATE,
	.restart = restart_part,
};

/* ---- the boiler, a part with three states; a restart leads back to the first ---- */

static int begin_heating(struct gyre_stack *stack);
static int end_heating(struct gyre_stack *stack);

static const struct gyre_behaviour heating = { .ask = gyre_stash,
					       .notice = break_down,
					       .event = end_heating };
static const struct gyre_behaviour hot = { .ask = work, .notice = break_down };

static const struct gyre_class boiler_class = {
	.name = "boiler",
	.state_bytes = sizeof(struct blueprint),
	.frame_bytes = sizeof(struct gyre_future),
	.mount = start_part,
	.behaviour = { .ask = begin_heating, .notice = break_down },
	.strategy = GYRE_STRATEGY_ESCALATE,
	.restart = restart_part,
};

static int begin_heating(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .delay_ns = heating_ns };
	int r = gyre_timer_start(stack, 0, &options);

	r = r < 0 ? r : gyre_become(stack, &heating);
	return r < 0 ? gyre_throw(stack, r) : gyre_stash(stack);
}

static int end_heating(struct gyre_stack *stack)
{
	tell(stack, "is hot");
	(void)gyre_become(stack, &hot);
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_return(stack);
}

/* ---- a unit: is made of parts, and is a part of another ---- */

struct unit {
	struct gyre_address parts[UNIT_PARTS_MAX];
	size_t count;
};

struct unit_frame {
	struct gyre_future done;
	size_t at;
	uint32_t tries;
};

static int add_part(struct gyre_stack *stack, const struct gyre_class *part, const char *name)
{
	const struct gyre_spawn_options options = { .name = name };
	struct unit *unit = (struct unit *)gyre_state(stack);

	return gyre_spawn(stack, part, gyre_new(stack, blueprint, name), &options,
			  &unit->parts[unit->count++]);
}

/* A part that has failed gets the cup again when it has started anew. */
static int have_brewed(struct gyre_stack *stack)
{
	const struct unit *unit = (const struct unit *)gyre_state(stack);
	struct unit_frame *frame = (struct unit_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	while (frame->at < unit->count) {
		GYRE_AWAIT(stack, gyre_ask(stack, unit->parts[frame->at],
					   gyre_new(stack, brew, gyre_message(stack, brew)->cup), 0,
					   &frame->done));
		if (!gyre_future_failed(&frame->done)) {
			frame->at++;
			continue;
		}
		if (++frame->tries == TRIES_MAX) {
			return gyre_throw(stack, gyre_future_error(&frame->done));
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, trying_again_ns, &frame->done));
	}
	return gyre_reply_to(stack, brew);
	GYRE_END(stack);
}

static int build_water(struct gyre_stack *stack)
{
	int r;

	((struct unit *)gyre_state(stack))->count = 0;
	r = add_part(stack, &part_class, "pump");
	r = r < 0 ? r : add_part(stack, &boiler_class, "boiler");
	return r < 0 ? r : add_part(stack, &part_class, "spout");
}

static int rebuild_water(struct gyre_stack *stack)
{
	tell(stack, "has failed, and gets new parts");
	return build_water(stack);
}

static const struct gyre_class water_class = {
	.name = "water",
	.state_bytes = sizeof(struct unit),
	.frame_bytes = sizeof(struct unit_frame),
	.mount = build_water,
	.behaviour.ask = have_brewed,
	.strategy = GYRE_STRATEGY_ESCALATE,
	.restart = rebuild_water,
	.supervision = { .scope = GYRE_REST_FOR_ONE,
			 .restarts_max = 2,
			 .delay_ns = GYRE_MILLISECONDS(10) },
};

static int build_machine(struct gyre_stack *stack)
{
	int r = add_part(stack, &part_class, "grinder");

	return r < 0 ? r : add_part(stack, &water_class, "water");
}

/* One cup at a time: the next waits until this one is done with. */
static bool is_cup(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(brew);
}

static const struct gyre_class machine_class = {
	.name = "machine",
	.state_bytes = sizeof(struct unit),
	.frame_bytes = sizeof(struct unit_frame),
	.mount = build_machine,
	.behaviour.ask = have_brewed,
	.barrier = is_cup,
	.strategy = GYRE_STRATEGY_ESCALATE,
	.supervision = { .scope = GYRE_ONE_FOR_ONE,
			 .restarts_max = 2,
			 .delay_ns = GYRE_MILLISECONDS(20) },
};

/* ---- a customer, whose whole life is its mount ---- */

struct wish {
	struct gyre_address machine;
	uint32_t cup;
};
GYRE_MESSAGE(wish, 0x204);

static int be_customer(struct gyre_stack *stack)
{
	const struct wish *wish = gyre_message(stack, wish);
	struct gyre_future *cup = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, wish->machine, gyre_new(stack, brew, wish->cup),
				   GYRE_FOREVER, cup));
	if (gyre_future_failed(cup)) {
		tell(stack, "goes without cup %" PRIu32, wish->cup);
		return gyre_throw(stack, gyre_future_error(cup));
	}
	tell(stack, "drinks cup %" PRIu32, wish->cup);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class customer_class = {
	.name = "customer",
	.frame_bytes = sizeof(struct gyre_future),
	.mount = be_customer,
};

/* ---- the shop ---- */

struct shop {
	struct gyre_address machine;
	bool is_off;	  /* the machine has ended */
	uint32_t waiting; /* customers that are still there */
	uint32_t unserved;
};

static int open_shop(struct gyre_stack *stack)
{
	const struct gyre_spawn_options named = { .name = "machine" };
	struct shop *shop = (struct shop *)gyre_state(stack);
	struct gyre_address customer;
	int r;

	plan_of(stack)->began_ns = gyre_now(stack);
	plan_of(stack)->random = gyre_now(stack) | 1;
	r = gyre_spawn(stack, &machine_class, GYRE_NO_ARGUMENT, &named, &shop->machine);
	r = r < 0 ? r : gyre_watch(stack, shop->machine);
	while (r == 0 && shop->waiting < plan_of(stack)->cups) {
		shop->waiting++;
		r = gyre_spawn(stack, &customer_class,
			       gyre_new(stack, wish, shop->machine, shop->waiting), NULL,
			       &customer);
		r = r < 0 ? r : gyre_watch(stack, customer);
	}
	return r;
}

/* The machine has ended, or a customer has gone. After the last one the machine is switched off. */
static int see_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *ended = gyre_message(stack, gyre_terminated);
	struct shop *shop = (struct shop *)gyre_state(stack);

	if (gyre_address_equal(ended->actor, shop->machine)) {
		shop->is_off = true;
		tell(stack,
		     ended->reason < 0 ? "the machine is beyond repair" : "the machine is off");
	} else {
		shop->unserved += ended->reason < 0;
		shop->waiting--;
	}
	if (shop->waiting == 0 && shop->is_off) {
		tell(stack, "closes; %" PRIu32 " have had no coffee", shop->unserved);
		gyre_exit(stack, shop->unserved == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	} else if (shop->waiting == 0) {
		(void)gyre_stop(stack, shop->machine); /* which may be about to end */
	}
	return gyre_return(stack);
}

static const struct gyre_class shop_class = {
	.name = "shop",
	.state_bytes = sizeof(struct shop),
	.mount = open_shop,
	.behaviour.event = see_end,
	.strategy = GYRE_STRATEGY_STOP,
	.supervision = { .decision = GYRE_DECISION_STOP },
};

/* ---- the program ---- */

static const char usage[] =
	"usage: gyre-coffee [CUPS [chance | PART@CUP...]]\n"
	"\n"
	"CUPS are 1 to 1000. A PART, which is grinder, pump, boiler or spout, breaks down at its\n"
	"CUP, once for each time it is named. Without arguments parts break down by chance, in 12\n"
	"cups.\n";

static bool take_number(const char *text, uint32_t max, uint32_t *ret_number)
{
	char *end = NULL;
	unsigned long number = strtoul(text, &end, 10);

	*ret_number = (uint32_t)number;
	return *text >= '0' && *text <= '9' && *end == 0 && number > 0 && number <= max;
}

static bool take_breakdown(struct plan *plan, const char *text)
{
	static const char *const parts[] = { "grinder", "pump", "boiler", "spout" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t bytes = strlen(parts[i]);

		if (strncmp(text, parts[i], bytes) == 0 && text[bytes] == '@' &&
		    plan->count < BREAKDOWNS_MAX) {
			plan->breakdowns[plan->count].part = parts[i];
			return take_number(text + bytes + 1, plan->cups,
					   &plan->breakdowns[plan->count++].cup);
		}
	}
	return false;
}

static bool take_arguments(struct plan *plan, int argc, char **argv)
{
	bool right = argc < 2 || take_number(argv[1], CUPS_MAX, &plan->cups);

	plan->by_chance = argc < 2 || (argc == 3 && strcmp(argv[2], "chance") == 0);
	for (int i = 2; i < argc && right && !plan->by_chance; i++) {
		right = take_breakdown(plan, argv[i]);
	}
	return right;
}

int main(int argc, char **argv)
{
	struct plan plan = { .cups = CUPS_DEFAULT };
	const struct gyre_system_options options = { .loops = 1,
						     .user = &plan,
						     .log_level = GYRE_LOG_ERROR };

	if (!take_arguments(&plan, argc, argv)) {
		(void)fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	return gyre_main(&shop_class, argc, argv, &options);
}
