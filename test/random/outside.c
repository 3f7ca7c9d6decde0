/*
 * Threads that are no loop's: they send, at once and later, ask, spawn and look up while the actors
 * do the same.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "random.h"

void pause_ns(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
				       .tv_nsec = (long)(ns % 1000000000) };

	(void)ppoll(NULL, 0, &time, NULL);
}

void check_result(struct outsider *outsider, int r)
{
	struct world *world = outsider->world;

	must(world, outsider->life,
	     r == 0 || r == -ESRCH || (r == -ENOMEM && world->plan.lean) ||
		     ((r == -ESHUTDOWN || r == -EINVAL) && gy_load_relaxed(&world->stopped) != 0) ||
		     (r == -ESHUTDOWN && world->plan.resizing),
	     "%d", r);
}

static void notify(struct outsider *outsider, struct acquaintance to, uint8_t group)
{
	struct world *world = outsider->world;
	uint16_t marks = marks_draw(&outsider->random);
	struct head head;
	int r;

	if (group != 0 && world->groups[group].everyone) {
		marks |= MARK_COPIED;
	}
	head = head_make(world, outsider->life, KIND_NOTICE, marks, group);
	mail_owe(world, head.mail, to.life);
	r = gyre_system_notify(world->system, to.address,
			       group == 0 && one_in(&outsider->random, 2)
				       ? gyre_system_new(world->system, parcel, .head = head,
							 .token = token_get(world))
				       : gyre_system_new(world->system, letter, .head = head));
	check_result(outsider, r);
	if (r < 0) {
		mail_owe(world, head.mail, 0);
	}
}

static struct gyre_mail *make_question(struct outsider *outsider, uint32_t pledge, bool wishes)
{
	struct world *world = outsider->world;
	struct head head =
		head_make(world, outsider->life, KIND_ASK, marks_draw(&outsider->random), 0);

	return wishes ? gyre_system_new(world->system, wish, .head = head, .pledge = pledge,
					.token = token_get(world))
		      : gyre_system_new(world->system, question, .head = head, .pledge = pledge);
}

static void look_at(struct world *world, uint32_t pledge, struct gyre_mail *answer, int error)
{
	const struct verdict *verdict = gyre_mail_get(answer, verdict);
	const struct present *present = gyre_mail_get(answer, present);

	pledge_end(world, pledge, error);
	must(world, 0, (answer != NULL) == (error == 0), "%d", error);
	if (error == 0) {
		must(world, 0, verdict != NULL || present != NULL);
		pledge_answered(world, pledge, verdict != NULL ? verdict->pledge : present->pledge,
				verdict != NULL ? verdict->by : present->by);
	}
}

static void ask(struct outsider *outsider, struct acquaintance to)
{
	struct world *world = outsider->world;
	uint64_t time_ns = draw(&outsider->random, (uint32_t)world->plan.patience_ns) + 1;
	uint32_t pledge = pledge_begin(world, PLEDGE_OUTSIDE, outsider->life, to.life, time_ns);
	bool wishes = one_in(&outsider->random, 2);
	struct gyre_mail *answer = NULL;
	int r;

	if (pledge == 0) {
		return;
	}
	r = gyre_system_ask(world->system, to.address, make_question(outsider, pledge, wishes),
			    time_ns, &answer);
	if (r == -EINVAL && gy_load_relaxed(&world->stopped) != 0) {
		r = -ESHUTDOWN;
	}
	look_at(world, pledge, answer, r);
	gyre_mail_destroy(NULL, answer);
}

struct call {
	struct outsider *outsider;
	uint32_t pledge;
};

static void answered(struct gyre_mail *mail, int error, void *arg)
{
	struct outsider *outsider = (struct outsider *)arg;
	const struct verdict *verdict = gyre_mail_get(mail, verdict);

	/* With one argument for several asks only the number of calls can be checked, and this. */
	if (error == 0) {
		must(outsider->world, outsider->life, verdict != NULL && mail != NULL);
		must(outsider->world, outsider->life,
		     gy_load_relaxed(&outsider->world->pledges[verdict->pledge].answered) == 1);
	}
	must(outsider->world, outsider->life, gy_add_relaxed(&outsider->callbacks, -1U) > 0,
	     "one call too many");
}

static void ask_callback(struct outsider *outsider, struct acquaintance to)
{
	struct world *world = outsider->world;
	uint64_t time_ns = draw(&outsider->random, (uint32_t)world->plan.patience_ns) + 1;
	uint32_t pledge = pledge_begin(world, PLEDGE_OUTSIDE, outsider->life, to.life, time_ns);
	int r;

	if (pledge == 0) {
		return;
	}
	gy_store_relaxed(&world->pledges[pledge].given_up, 1); /* the callbacks are counted */
	(void)gy_add_relaxed(&outsider->callbacks, 1);
	r = gyre_system_ask_callback(world->system, to.address,
				     make_question(outsider, pledge, false), time_ns, answered,
				     outsider);
	if (r < 0) {
		(void)gy_add_relaxed(&outsider->callbacks, -1U);
	}
	check_result(outsider, r);
}

static void spawn_outside(struct outsider *outsider)
{
	struct world *world = outsider->world;
	struct acquaintance child = { .life = life_take(world) };
	uint8_t class = draw_class(&outsider->random, true);
	uint8_t name;
	struct gyre_spawn_options options = draw_options(world, &outsider->random, &name);
	bool here = options.place == GYRE_PLACE_HERE;
	struct gyre_mail *mail;
	int r;

	if (child.life == 0) {
		return;
	}
	world->lives[child.life].class = class;
	mail = gyre_system_new(world->system, birth, .world = world,
			       .random = gy_random_next(&outsider->random), .life = child.life,
			       .class = class, .name = name, .loop = (uint16_t)options.loop,
			       .place = (uint8_t)(here ? GYRE_PLACE_ROUND_ROBIN : options.place));
	if (mail == NULL) {
		return;
	}
	spawn_begins(world, &options);
	r = gyre_system_spawn(world->system, &classes[class], mail, &options, &child.address);
	trace(outsider->life, "spawns", child.life, (uint64_t)r);
	expect_spawned(world, outsider->life, &options, r, child.address);
	if (r == 0) {
		(void)known_add(world, &outsider->random, child);
	}
}

static void look_around(struct outsider *outsider)
{
	struct world *world = outsider->world;
	struct gyre_snapshot *snapshot;
	struct gyre_address found;
	uint32_t size;
	uint8_t group = group_any(world, &outsider->random);
	int r = gyre_system_name_lookup(world->system, "anna", &found);

	must(world, outsider->life, r == 0 || r == -ENOENT, "%d", r);
	if (group != 0) {
		r = gyre_system_group_size(world->system, world->groups[group].address, &size);
		must(world, outsider->life, r == -ESRCH || (r == 0 && size <= LIVES_MAX), "%d", r);
	}
	if (gyre_system_inspect(world->system, &snapshot) == 0) {
		must(world, outsider->life, snapshot->loops_count > 0);
		gyre_snapshot_destroy(snapshot);
	}
}

static void do_something(struct outsider *outsider)
{
	struct world *world = outsider->world;
	struct acquaintance to = known_any(world, &outsider->random);
	uint8_t group = group_any(world, &outsider->random);

	switch (to.life == 0 ? 7 : draw(&outsider->random, 13)) {
	case 0:
	case 1:
		ask(outsider, to);
		break;
	case 2:
		ask_callback(outsider, to);
		break;
	case 3:
		if (group != 0) {
			to = (struct acquaintance){ .address = world->groups[group].address };
			notify(outsider, to, group);
		}
		break;
	case 4:
		look_around(outsider);
		break;
	case 5:
	case 6:
		post_outside(outsider, to);
		break;
	case 8:
		(void)call_off_outside(outsider, draw(&outsider->random, POSTS_OUTSIDE));
		break;
	case 7:
		spawn_outside(outsider);
		break;
	default:
		notify(outsider, to, 0);
	}
}

void *outsider_run(void *arg)
{
	struct outsider *outsider = (struct outsider *)arg;

	while (spend(outsider->world) && gy_load_relaxed(&outsider->world->stopped) == 0) {
		do_something(outsider);
		if (one_in(&outsider->random, 3)) {
			pause_ns(draw(&outsider->random, 100000));
		}
	}
	/* Without memory the order to call one off may be lost. */
	while (outsider->world->plan.lean && gy_load_acquire(&outsider->world->closing) == 0) {
		pause_ns(100000);
	}
	call_all_off(outsider);
	(void)gy_fetch_add(&outsider->world->outside, -1U);
	return NULL;
}
