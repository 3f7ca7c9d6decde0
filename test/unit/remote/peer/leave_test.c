/*
 * What a loop that retires still answers: by its own link what that was given, and only when the
 * peer has taken that the rest by another. To a stranger that takes it when a test wants it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <gyre/outside.h>
#include <gyre/resize.h>
#include <gyre/watch.h>

#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "base/atomic.h"
#include "remote/link/links.h"
#include "remote/patience.h"
#include "remote/stranger.h"
#include "remote/types.h"

enum { BODY_BYTES = 64 };

static uint32_t may_answer;
static uint32_t has_answered;

struct frame {
	struct gyre_future future;
};

/* The first at once, the second when it may. */
static int answer(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	while (gyre_message(stack, number)->value == 2 && gy_load_acquire(&may_answer) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	r = gyre_reply(stack, gyre_new(stack, number, gyre_message(stack, number)->value));
	(void)gy_fetch_add(&has_answered, 1);
	return r;
	GYRE_END(stack);
}

static const struct gyre_class answerer_class = { .name = "answerer",
						  .frame_bytes = sizeof(struct frame),
						  .behaviour.ask = answer };

static void *shrink_to_one(void *arg)
{
	expect(gyre_system_resize(fixture.system, 1) == 0);
	return arg;
}

static void say(struct stranger *stranger, struct gyre_address to, enum gy_wire_kind kind,
		uint64_t value)
{
	const struct gyre_type *type = kind == GY_WIRE_ASK ? &gyre_type_number : &gy_type_watch;
	unsigned char body[BODY_BYTES] = { 0 };
	uint32_t bytes = kind == GY_WIRE_ASK ? type->bytes : (uint32_t)sizeof(uint32_t);
	const struct gy_frame frame = { .kind = kind,
					.bytes = bytes,
					.body = body,
					.to_loop = to.loop,
					.to_slot = to.slot,
					.to_cookie = to.cookie,
					.from_loop = 3,
					.from_slot = 5,
					.from_cookie = 6,
					.type = type->id,
					.layout = kind == GY_WIRE_ASK ? gy_type_layout(type) : 0,
					.ask_id = value };

	cr_assert_leq(bytes, sizeof(body));
	memcpy(body, &value, sizeof(value));
	stranger_say_frame(stranger, &frame);
}

static void await(const uint32_t *value, uint32_t least)
{
	while (gy_load_acquire(value) < least) {
		(void)sched_yield();
	}
}

static bool is_dialled(const struct stranger *stranger)
{
	struct pollfd poll_fd = { .fd = stranger->listener, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

/* As in the midst of the time that the loop has; which is long. */
static void leave(struct gy_loop *loop, struct gy_task *task)
{
	(void)task;
	(void)gy_links_leave(gy_home_of(loop));
}

static struct gy_task leaving = { .run = leave, .embedded = true };

static void open_two(void)
{
	static const struct gyre_type *const types[] = { &gyre_type_number, NULL };
	struct gyre_node_options node = { .id = STRANGER_NODE,
					  .listen = "tcp://127.0.0.1:0",
					  .types = types };
	const struct gyre_system_options system = { .loops = 2,
						    .drain_timeout_ns = GYRE_SECONDS(3000),
						    .node = &node };

	patience_of_node(&node);
	fixture_open_with(&system);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

struct scene {
	struct stranger in;
	struct stranger out;
	pthread_t thread;
	uint64_t bytes; /* that the node has said by its link */
};

/* One answer is on its way when the loop begins to retire, and one is not given yet. */
static void begin(struct scene *scene)
{
	struct gyre_address to;

	open_two();
	to = spawn_outside(&answerer_class, 1);
	stranger_listen(&scene->out);
	stranger_meet(&scene->in);
	say(&scene->in, to, GY_WIRE_EVENT, 1);
	say(&scene->in, to, GY_WIRE_ASK, 1);
	say(&scene->in, to, GY_WIRE_ASK, 2);
	stranger_welcome(&scene->out);
	cr_assert_eq(scene->out.theirs.loop, 1);
	stranger_expect(&scene->out, GY_WIRE_REPLY);
	cr_assert_eq(scene->out.frame.ask_id, 1);
	scene->bytes = gy_wire_head_bytes(GY_WIRE_REPLY) + scene->out.frame.bytes;
	cr_assert_eq(pthread_create(&scene->thread, NULL, shrink_to_one, NULL), 0);
	while (gyre_system_loops(fixture.system) > 1) {
		(void)sched_yield();
	}
	gy_loop_post_task(&gy_homes_of(fixture.system)->homes[1].loop, &leaving);
	stranger_expect(&scene->out, GY_WIRE_CLOSE);
	gy_store_release(&may_answer, 1);
	await(&has_answered, 2);
}

/* The loop ends, and so does the actor, which is watched. */
static void end(struct scene *scene)
{
	stranger_close(&scene->in);
	stranger_expect(&scene->out, GY_WIRE_EVENT);
	cr_assert_eq(scene->out.frame.type, GYRE_ID(gyre_terminated));
	stranger_close(&scene->out);
	cr_assert_eq(pthread_join(scene->thread, NULL), 0);
	fixture_close();
}

Test(leave, has_later_answers_follow_by_the_first_loop_when_the_peer_has_taken_the_earlier_ones)
{
	static struct scene scene;

	begin(&scene);
	cr_expect_not(is_dialled(&scene.out), "nothing goes another way yet");
	stranger_credit(&scene.out, scene.bytes, 1);
	stranger_expect_end(&scene.out);
	cr_assert_eq(close(scene.out.fd), 0);
	stranger_welcome(&scene.out);
	cr_expect_eq(scene.out.theirs.loop, 0);
	stranger_expect(&scene.out, GY_WIRE_REPLY);
	cr_expect_eq(scene.out.frame.ask_id, 2);
	end(&scene);
}

Test(leave, has_later_answers_fail_that_might_overtake_earlier_ones)
{
	static struct scene scene;
	uint32_t lost = 0;

	begin(&scene);
	cr_assert_eq(close(scene.out.fd), 0);
	stranger_welcome(&scene.out);
	cr_expect_eq(scene.out.theirs.loop, 0);
	while (lost != 3) {
		stranger_expect(&scene.out, GY_WIRE_EVENT);
		cr_assert_eq(scene.out.frame.type, gy_type_unanswered.id);
		lost |= (uint32_t)scene.out.frame.ask_id;
	}
	end(&scene);
}
