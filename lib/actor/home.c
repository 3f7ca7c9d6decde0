/*
 * The life of a home: a loop with the pools and the slots that its actors live from.
 */
#include <errno.h>

#include "actor/class_log.h"
#include "actor/dispatch.h"
#include "actor/life/children.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/memory_retry.h"
#include "actor/stack/bound_ask.h"
#include "actor/stack/promise_places.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"
#include "base/assert.h"
#include "base/tally.h"

/* How many houses gy_home_check() looks at in each call. */
enum { CHECKED_HOUSES = 64 };

/* Promises stay: a user may still look at a future whose promise was recycled, to learn -ESTALE. */
static bool trim(struct gy_loop *loop, uint32_t keep)
{
	struct gy_home *home = gy_home_of(loop);
	bool again = gy_sizes_trim(&home->stacks, keep);

	again = gy_sizes_trim(&home->parts, keep) || again;
	if (home->channel_ops != NULL) {
		again = home->channel_ops->trim(loop, keep) || again;
	}
	return again;
}

static uint64_t *busy(struct gy_loop *loop, struct gy_job *job)
{
	(void)loop;
	return &gy_container_of(job, struct gy_house, job)->class_info->busy_ticks;
}

static void release(struct gy_loop *loop, struct gy_node *node)
{
	(void)loop;
	gy_mail_release(gy_mail_of(node));
}

static void posted_late(struct gy_loop *loop)
{
	struct gy_home *home = gy_home_of(loop);

	home->options.take_late(home);
}

static void check(struct gy_loop *loop)
{
	gy_home_check(gy_home_of(loop));
}

static const struct gy_loop_ops loop_ops = {
	.run = gy_house_run,
	.seal = gy_house_seal,
	.unseal = gy_house_unseal,
	.run_stolen = gy_house_run_stolen,
	.mount = gy_house_mount,
	.deliver = gy_home_deliver,
	.trim = trim,
	.release = release,
	.busy = busy,
	.posted_late = posted_late,
	.check = check,
};

int gy_home_init(struct gy_home *home, const struct gy_loop_options *loop,
		 const struct gy_home_options *options)
{
	struct gy_homes *homes = gy_homes_of(options->system);
	struct gy_loop_options with_ops = *loop;
	int r;

	gy_assert(options->run_budget > 0 && loop->index < GY_LOOP_NONE);
	*home = (struct gy_home){ .options = *options, .here = loop->index, .node = options->node };
	with_ops.ops = &loop_ops;
	gy_log_limit_init(&home->cycles_limit, 1, 1000);
	gy_class_logs_init(home);
	gy_families_init(home);
	gy_memory_retry_init(home);
	home->pinned.slot = GY_PINNED_NONE;
	gy_sizes_init(&home->stacks, "stack");
	gy_sizes_exchange(&home->stacks, homes->stacks);
	gy_sizes_init(&home->parts, "part");
	gy_sizes_exchange(&home->parts, homes->parts);
	home->ask_span = gy_patience_span(gy_patience(options->ask_timeout_ns));
	gy_pool_init(&home->promises, "promise", sizeof(struct gy_promise));
	gy_pool_exchange(&home->promises, &homes->promises);
	r = gy_slots_init(&home->slots, options->cookie_seed);
	r = r < 0 ? r : gy_promise_places_init(home);
	return r < 0 ? r : gy_loop_init(&home->loop, &with_ops);
}

static void count_lost_mail(void *arg, const void *object)
{
	const struct gyre_mail *mail = (const struct gyre_mail *)object;

	/* A node that came home, and was not fetched, shows no type any more. */
	gy_tally_add((struct gy_tally *)arg,
		     mail->node.kind == GY_NODE_RETURNED ? "(returned)" : mail->type->name);
}

/* A mail that is out when no loop turns any more was never given to anybody. */
static void log_lost_mail(struct gy_home *home)
{
	struct gy_tally tally = { 0 };

	gy_sizes_each_lost(&home->loop.nodes, count_lost_mail, &tally);
	for (uint32_t i = 0; i < tally.names; i++) {
		gy_log(home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: %u mails of type %s were made or taken, and never sent or freed: "
		       "what gyre_new() and gyre_take() give is for a call that takes a mail, or "
		       "for gyre_mail_destroy()",
		       (unsigned)home->loop.index, (unsigned)tally.entries[i].count,
		       tally.entries[i].name);
	}
	if (tally.others > 0) {
		gy_log(home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: %u mails of other types were made or taken, and never sent or "
		       "freed",
		       (unsigned)home->loop.index, (unsigned)tally.others);
	}
}

void gy_home_fini(struct gy_home *home, struct gy_leaks *leaks)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		if (home->scratch[i] != NULL) {
			gy_pool_put_any(&home->stacks.pools[i], home->scratch[i]);
		}
	}
	gy_class_infos_fini(home);
	gy_table_fini(&home->families, &home->parts);
	leaks->stacks += gy_sizes_fini(&home->stacks);
	leaks->parts += gy_sizes_fini(&home->parts);
	gy_bound_asks_fini(home);
	leaks->promises += gy_pool_fini(&home->promises);
	gy_promises_fini(home);
	gy_slots_fini(&home->slots);
	log_lost_mail(home);
	gy_loop_fini(&home->loop);
}

void gy_leaks_log(const struct gy_leaks *leaks, const struct gy_log *log)
{
	if (leaks->stacks != 0 || leaks->parts != 0 || leaks->promises != 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "%d stacks, %d parts and %d promises of actors were never freed when all "
		       "of them had ended: that is a fault of gyre, please report it",
		       leaks->stacks, leaks->parts, leaks->promises);
	}
}

/* ---- the walker ---- */

/* Whether a house is between two runs, on its own loop. */
static bool rests(struct gy_home *home, const struct gy_house *house)
{
	return gy_house_is_spawned(home, house) && !gy_house_is_away(house) &&
	       house->status != GY_HOUSE_STOPPING;
}

void gy_home_check(struct gy_home *home)
{
	uint32_t used = gy_load_acquire(&home->slots.used);

	gy_assert(home->here == home->loop.index); /* it runs nobody else's actor */
	gy_assert(!home->front_waits && home->hook == NULL && home->resumed == NULL);
	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		gy_assert(home->put_first[lane] == NULL);
	}
	gy_table_check(&home->families);
	gy_table_check(&home->class_infos.by_class);
	gy_sizes_check(&home->stacks);
	gy_sizes_check(&home->parts);
	for (uint32_t i = 0; i < CHECKED_HOUSES && i < used; i++) {
		const struct gy_house *house = gy_house_at(home, home->check_slot++ % used);

		if (rests(home, house)) {
			gy_house_check(house);
		}
	}
}

/* ---- the running actor ---- */

const struct gy_house *gy_home_running_house(const struct gy_home *home)
{
	const struct gy_house *house = home->hook;

	if (house != NULL) {
		return house;
	}
	house = home->running;
	return house != NULL && (house->status == GY_HOUSE_RUNNING || gy_house_is_away(house))
		       ? house
		       : NULL;
}

/*
 * A run takes its mail from the lanes before any of it is freed, so within a run no two messages
 * have the same place in memory. The messages that a class has handled are counted at the end of a
 * run. Calls without a message of their own are counted as steps.
 */
bool gy_home_get_running(const struct gy_home *home, struct gy_running *ret_running)
{
	const struct gy_house *house = gy_home_running_house(home);
	const struct gy_stack *stack = home->resumed;
	struct gy_running running = { .steps = home->steps };

	if (house == NULL) {
		return false;
	}
	/* While a hook runs, the scratch stack still holds an older message. */
	if (home->hook == NULL) {
		stack = stack != NULL ? stack : home->scratch[house->class_info->stack_class];
		running.type = stack == NULL ? NULL : stack->head.type;
		running.message = stack == NULL ? NULL : stack->head.message;
	}
	running.class_info = house->class_info;
	running.handled = house->class_info->handled;
	running.first = house->status == GY_HOUSE_MOUNTING;
	*ret_running = running;
	return true;
}
