#include "model.h"

#include <stdio.h>

#include "actor/class_log.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "base/memory/memory.h"
#include "loop/borrowed.h"
#include "ring_engine.h"

enum { TURNS_MAX = 1000000, QUIET_TURNS = 3, LOG_LINES_MAX = 5 };

struct model model;
struct gy_home_options model_home_options;

/* ---- hooks ---- */

static uint64_t read_ns(void *arg)
{
	return ((const struct model *)arg)->now_ns;
}

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	model.logged += line->level == GYRE_LOG_WARNING;
	model.errors += line->level >= GYRE_LOG_ERROR;
	(void)snprintf(model.line, sizeof(model.line), "%s", line->text);
}

static void lost(struct gy_home *home, const struct gyre_mail *mail, struct gyre_address to,
		 enum gyre_drop reason)
{
	(void)home;
	model.lost[reason]++;
	model.last_lost = (struct letter){ mail->type->id, gy_mail_sender(mail), to, reason };
}

static uint16_t next_loop(struct gyre_system *system, bool channels_actor)
{
	(void)channels_actor;
	(void)system;
	return 0;
}

static void shut_down(struct gyre_system *system, int error)
{
	(void)error;
	expect((void *)system == (void *)&model.homes);
	model.shut_down++;
}

static void moment_over(struct gy_timer *timer)
{
	(void)timer;
}

/* ---- life ---- */

#define OR(value, fallback) ((value) != 0 ? (value) : (fallback))

static void make_home(uint16_t index)
{
	const struct gy_loop_options loop = {
		.index = index,
		.cpu = -1,
		.io_ratio = 50,
		.starvation_limit = 64,
		.min_budget_ns = 500000,
		.timer_tick_ns = 1000000,
		.spin_ns = GY_SPIN_NEVER,
		.ring = { .engine = engine_of_tests(),
			  .entries = 64,
			  .buffer_count = 16,
			  .buffer_bytes = 512,
			  .log = &model.log },
		.clock = { .read_ns = read_ns, .arg = &model },
		.log = &model.log,
	};
	const struct gy_home_options home = {
		.run_budget = OR(model_home_options.run_budget, 256),
		.high_replies = 2,
		.high_events = 4,
		.ask_timeout_ns = GYRE_SECONDS(5),
		.cookie_seed = OR(model_home_options.cookie_seed, 1),
		.system = (struct gyre_system *)(void *)&model.homes,
		.dead_letter = lost,
		.next_loop = next_loop,
		.shut_down = shut_down,
	};

	cr_assert_eq(gy_home_init(&model.home[index], &loop, &home), 0, "%s", model.line);
}

void model_open(uint32_t loops)
{
	model = (struct model){
		.log = { .write = logged, .level = GYRE_LOG_WARNING },
		.now_ns = GYRE_SECONDS(1000),
	};
	model.homes = (struct gy_homes){ .count = loops, .homes = model.home, .log = &model.log };
	gy_class_logs_begin(&model.homes, LOG_LINES_MAX);
	model.loops = gy_memory_get(sizeof(*model.loops) + loops * sizeof(struct gy_loop *));
	model.loops->count = loops;
	model.loops->made = loops;
	model.loops->max = loops;
	model.homes.loops = model.loops;
	for (uint16_t i = 0; i < loops; i++) {
		make_home(i);
		model.loops->loop[i] = &model.home[i].loop;
		gy_timer_init(&model.moment[i], moment_over);
	}
	for (uint32_t i = 0; i < loops; i++) {
		struct gy_loop *loop = &model.home[i].loop;

		cr_assert_eq(gy_loop_join(loop, model.loops), 0);
		/* A thread enters once. */
		cr_assert_eq(i == 0 ? gy_loop_enter(loop) : gy_ring_enable(loop->ring), 0);
	}
}

void model_turn_one(uint32_t index)
{
	struct gy_loop *loop = &model.home[index].loop;

	if (!gy_timer_is_started(&model.moment[index])) {
		gy_timer_start_at(&loop->wheel, &model.moment[index], 0);
	}
	gy_loop_turn(loop);
}

void model_turn(void)
{
	for (uint32_t i = 0; i < model.homes.count; i++) {
		model_turn_one(i);
	}
}

static uint64_t work_done(void)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < model.homes.count; i++) {
		const struct gy_home *home = &model.home[i];

		done += home->counters.sent + home->counters.handled + home->counters.stopped +
			home->counters.spawned + home->loop.counters.jobs_run +
			home->loop.counters.nodes_received;
	}
	return done;
}

void model_settle(void)
{
	uint32_t quiet = 0;

	for (uint32_t i = 0; i < TURNS_MAX && quiet < QUIET_TURNS; i++) {
		uint64_t before = work_done();

		model_turn();
		quiet = work_done() == before ? quiet + 1 : 0;
	}
	cr_assert_eq(quiet, QUIET_TURNS, "the model does not come to rest");
}

void model_advance(uint64_t ns)
{
	model.now_ns += ns;
	/* It has not passed while a loop worked. */
	for (uint32_t i = 0; i < model.homes.count; i++) {
		gy_loop_read_clock_waited(&model.home[i].loop);
	}
	model_settle();
}

static void stop_houses(struct gy_home *home)
{
	home->draining = true;
	for (uint32_t slot = 0; slot < home->slots.used; slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (house->status >= GY_HOUSE_MOUNTING && house->status != GY_HOUSE_STOPPING) {
			gy_house_request_stop(house, 0);
		}
	}
}

static void sum_up(const struct gy_home *home)
{
	const struct gy_actor_counters *counters = &home->counters;
	struct gyre_counters *sum = &model.counters;

	for (const struct gy_class_info *info = home->class_infos.first; info != NULL;
	     info = info->next) {
		sum->handled += info->handled;
	}
	sum->sent += counters->sent;
	sum->handled += counters->handled;
	sum->failed += counters->failed;
	sum->restarted += counters->restarted;
	sum->spawned += counters->spawned;
	sum->stopped += counters->stopped;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		sum->dropped[i] += counters->dropped[i];
	}
}

static void assert_nothing_vanished(void)
{
	uint64_t ends = model.counters.handled;

	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += model.counters.dropped[i];
		cr_assert_eq(model.counters.dropped[i], model.lost[i], "%s",
			     gyre_drop_name((enum gyre_drop)i));
	}
	cr_assert_eq(model.counters.sent, ends, "%lu were sent, and %lu were handled or lost",
		     model.counters.sent, ends);
	cr_assert_eq(model.counters.spawned, model.counters.stopped);
	cr_assert_eq(model.errors, 0, "%s", model.line);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
}

void model_close(void)
{
	struct gy_leaks leaks = { 0 };

	for (uint32_t i = 0; i < model.homes.count; i++) {
		stop_houses(&model.home[i]);
	}
	model_settle();
	for (uint32_t i = 0; i < model.homes.count; i++) {
		gy_loop_end_borrowing(&model.home[i].loop);
	}
	model_turn();
	model_turn();
	for (uint32_t i = 0; i < model.homes.count; i++) {
		cr_assert_eq(model.home[i].houses, 0, "actors stay on loop %u", i);
		gy_timer_stop(&model.home[i].loop.wheel, &model.moment[i]);
		gy_timer_stop(&model.home[i].loop.wheel, &model.home[i].loop.pool_timer);
		gy_timer_stop(&model.home[i].loop.wheel, &model.home[i].unlogged_timer);
		cr_assert_eq(model.home[i].loop.wheel.count, 0, "timers run on");
		sum_up(&model.home[i]);
	}
	gy_loop_leave();
	for (uint32_t i = 0; i < model.homes.count; i++) {
		gy_home_fini(&model.home[i], &leaks);
	}
	gy_class_logs_fini(&model.homes);
	gy_leaks_log(&leaks, &model.log);
	gy_memory_put(model.loops);
	assert_nothing_vanished();
}

/* ---- actors ---- */

struct gyre_address model_spawn(const struct gyre_class *class, uint32_t loop)
{
	const struct gy_spawn_order order = { .class = class };
	struct gyre_address address;

	cr_assert_eq(gy_spawn(&model.home[loop], &order, (uint16_t)loop, &address), 0);
	model_settle();
	return address;
}

struct gy_house *model_house(struct gyre_address actor)
{
	return gy_house_find(&model.home[actor.loop], actor.slot, actor.cookie);
}

static struct gyre_mail *mail_for(struct gyre_address to, const struct gyre_type *type,
				  enum gy_lane lane)
{
	struct gyre_mail *mail = gy_mail_get(&model.home[to.loop], type);

	cr_assert_not_null(mail);
	mail->node.kind = (uint8_t)(GY_MAIL_REPLY + lane);
	mail->from = (struct gy_origin){ 0 };
	mail->ask_id = UINT64_MAX;
	mail->deadline = 0;
	return mail;
}

void model_put(struct gyre_address to, enum gy_lane lane, uint64_t value)
{
	struct gyre_mail *mail = mail_for(to, &gyre_type_number, lane);

	(void)gy_send(&model.home[to.loop], to, gyre_fill_number(mail, (struct number){ value }),
		      lane);
}

void model_answer(struct gyre_address to, enum gy_lane lane, uint64_t ask_id)
{
	struct gyre_mail *mail = mail_for(to, &gyre_type_number, lane);

	mail->ask_id = ask_id;
	if (lane == GY_LANE_EXCEPTION) {
		mail->type = &gy_type_exception;
		((struct gy_exception *)gyre_payload(mail))->error = -EIO;
	} else {
		((struct number *)gyre_payload(mail))->value = ask_id;
	}
	(void)gy_send(&model.home[to.loop], to, mail, lane);
}

static void reverse(uint64_t *ids, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		uint64_t id = ids[i];

		ids[i] = ids[count - 1 - i];
		ids[count - 1 - i] = id;
	}
}

/* The ids of all outstanding promises, up to @max; returns how many. */
static uint32_t ask_ids(struct gyre_address actor, uint64_t *ret_ids, uint32_t max)
{
	const struct gy_house *house = model_house(actor);
	const struct gy_list *item = house->suspended.next;
	uint32_t count = 0;

	for (; item != &house->suspended; item = item->next) {
		const struct gy_stack *stack = gy_container_of(item, const struct gy_stack, item);
		const struct gy_promise *promise = stack->outstanding;
		uint32_t first = count;

		for (; promise != NULL && count < max; promise = promise->next) {
			ret_ids[count++] = promise->id;
		}
		reverse(ret_ids + first, count - first); /* the chain begins with the newest */
	}
	return count;
}

uint64_t model_ask_id(struct gyre_address actor, uint32_t back)
{
	uint64_t ids[64];
	uint32_t count = ask_ids(actor, ids, sizeof(ids) / sizeof(ids[0]));

	cr_assert(back < count);
	return ids[count - 1 - back];
}

void model_call(struct gyre_address puppet, gyre_handler_fn function)
{
	struct gyre_mail *mail = mail_for(puppet, &gyre_type_call, GY_LANE_NOTICE);

	(void)gy_send(&model.home[puppet.loop], puppet,
		      gyre_fill_call(mail, (struct call){ function }), GY_LANE_NOTICE);
}
