/*
 * Stealing: real actors, of which a loop has more that are ready than it keeps, and another loop
 * that has nothing to do. Each actor writes to itself and to one that stays at home while whoever
 * runs it does; each must be run by one loop at a time, must be at home at the end, and must have
 * had all its mail in order. What a thief and the home both touch without an order is found as a
 * race, in the memory of the house itself.
 */
#include "actor/home.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/mail.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "rig.h"

enum { LOOPS = 2, WORKERS_MAX = 3, NUMBERS = 2 };

struct number {
	uint32_t worker;
	uint32_t value;
};
GYRE_MESSAGE(number, 0x2201);

struct worker {
	uint32_t next;
	bool runs;
};

static struct gy_homes *homes;
static struct gyre_address workers[WORKERS_MAX];
static struct gyre_address ledger;
static uint32_t workers_count;
static uint32_t noted[WORKERS_MAX];

/* ---- the actors ---- */

static int note(struct gyre_stack *stack)
{
	const struct number *number = gyre_message(stack, number);

	model_check(number->value == noted[number->worker]);
	noted[number->worker]++;
	return gyre_return(stack);
}

static int work(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct number number = *gyre_message(stack, number);

	model_check(!self->runs);
	self->runs = true;
	model_check(number.value == self->next);
	self->next++;
	(void)gyre_notify(stack, ledger, gyre_new(stack, number, number.worker, number.value));
	if (self->next < NUMBERS) {
		(void)gyre_notify(stack, gyre_self(stack),
				  gyre_new(stack, number, number.worker, self->next));
	}
	self->runs = false;
	return gyre_return(stack);
}

static const struct gyre_class ledger_class = { .name = "ledger", .behaviour.notice = note };
static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct worker),
	.behaviour.notice = work,
};

/* ---- the homes ---- */

static uint16_t next_loop(struct gyre_system *system, bool channels_actor)
{
	(void)channels_actor;
	(void)system;
	return 0;
}

static void make_homes(void)
{
	homes = (struct gy_homes *)gy_memory_get(sizeof(*homes));
	homes->count = LOOPS;
	homes->homes = (struct gy_home *)gy_memory_get(LOOPS * sizeof(struct gy_home));
	rig.peers = (struct gy_loops *)gy_memory_get(sizeof(struct gy_loops) +
						     LOOPS * sizeof(struct gy_loop *));
	rig.peers->count = LOOPS;
	rig.peers->made = LOOPS;
	rig.peers->max = LOOPS;
	homes->loops = rig.peers;
	for (uint32_t i = 0; i < LOOPS; i++) {
		const struct gy_loop_options loop = rig_options(i, NULL);
		const struct gy_home_options home = {
			.run_budget = 1,
			.high_replies = 2,
			.high_events = 4,
			.ask_timeout_ns = 1000000,
			.cookie_seed = 1,
			.system = (struct gyre_system *)homes,
			.next_loop = next_loop,
		};

		model_check(gy_home_init(&homes->homes[i], &loop, &home) == 0);
		rig.loop[i] = &homes->homes[i].loop;
		rig.peers->loop[i] = rig.loop[i];
		model_check(gy_loop_join(rig.loop[i], rig.peers) == 0);
	}
}

static struct gyre_address spawn(const struct gyre_class *class)
{
	const struct gy_spawn_order order = { .class = class };
	struct gyre_address address;

	model_check(gy_spawn(&homes->homes[0], &order, 0, &address) == 0);
	return address;
}

static void begin(uint32_t count)
{
	make_homes();
	workers_count = count;
	ledger = spawn(&ledger_class);
	for (uint32_t i = 0; i < count; i++) {
		noted[i] = 0;
		workers[i] = spawn(&worker_class);
	}
	gy_loop_turn(rig.loop[0]); /* mounts them */
	rig.loop[1]->idle_count = 1;
	for (uint32_t i = 0; i < count; i++) {
		struct gyre_mail *mail = gy_mail_get(&homes->homes[0], &gyre_type_number);

		model_check(mail != NULL);
		*(struct number *)gyre_payload(mail) = (struct number){ .worker = i };
		mail->node.kind = GY_MAIL_NOTICE;
		mail->from = (struct gy_origin){ 0 };
		model_check(gy_send(&homes->homes[0], workers[i], mail, GY_LANE_NOTICE) == 0);
	}
}

static void setup_two(void)
{
	begin(2);
}

static void setup_three(void)
{
	begin(3);
}

static void check(void)
{
	for (uint32_t i = 0; i < LOOPS; i++) {
		rig_check_asleep(i);
		model_check(homes->homes[i].orders_kept == NULL);
	}
	for (uint32_t i = 0; i < workers_count; i++) {
		const struct gy_house *house =
			gy_house_find(&homes->homes[0], workers[i].slot, workers[i].cookie);

		model_check(noted[i] == NUMBERS);
		model_check(house != NULL && house->home == &homes->homes[0]);
		model_check(house->sealed == NULL && !gy_house_is_away(house));
		model_check(house->pending == 0);
	}
	model_check(rig.peers->published == 0);
	model_check(rig.loop[0]->counters.jobs_stolen == 0);
	model_check(rig.loop[1]->counters.jobs_stolen <= workers_count * NUMBERS);
}

int main(void)
{
	static const struct model_protocol protocols[] = {
		{
			.title = "one of two actors may be stolen: it runs once and comes home",
			.setup = setup_two,
			.check = check,
			.threads = { { "home", rig_turn_0 }, { "thief", rig_turn_1 } },
			.preemptions_max = 2,
		},
		{
			.title = "two of three actors may be stolen: they run once and come home",
			.setup = setup_three,
			.check = check,
			.threads = { { "home", rig_turn_0 }, { "thief", rig_turn_1 } },
			.preemptions_max = 2,
		},
	};
	static const struct model_plant plants[] = {
		{ "a job that two can take", "gy_steal_ring_take", MODEL_COMPARE, MODEL_TORN, 0 },
		{ "a house that comes home without a release", "gy_inbox_push", MODEL_STORE_RELEASE,
		  MODEL_RELAXED, 0 },
		{ "a thief that does not look whether home sleeps", "gy_loop_wake_peer",
		  MODEL_LOAD_FULL, MODEL_OMITTED, 0 },
		{ "a count of what is published that is lowered in two steps", "gy_loop_steal",
		  MODEL_ADD, MODEL_TORN, 1 },
	};

	return model_main(protocols, gy_countof(protocols), plants, gy_countof(plants));
}
