/*
 * Parking, and threads that are no loops: a loop has nothing to do and goes to sleep while two of
 * them post to it. A post that does not wake it is never run; nor is one that relies on the wake of
 * another loop, which that loop has only prepared.
 */
#include "base/memory/memory.h"
#include "rig.h"

enum { POSTERS = 2, POSTS = 2 };

struct post {
	struct gy_task task;
	uint32_t poster;
	uint32_t number;
};

static struct post *posts[POSTERS][POSTS];
static uint32_t posted[POSTERS];
static uint32_t heard[POSTERS];

static void hear(struct gy_loop *loop, struct gy_task *task)
{
	const struct post *post = gy_container_of(task, struct post, task);

	(void)loop;
	model_check(post->number == heard[post->poster]);
	heard[post->poster]++;
}

static void make_posts(void)
{
	for (uint32_t i = 0; i < POSTERS; i++) {
		posted[i] = 0;
		heard[i] = 0;
		for (uint32_t k = 0; k < POSTS; k++) {
			posts[i][k] = (struct post *)gy_memory_get(sizeof(struct post));
			posts[i][k]->task.run = hear;
		}
	}
}

static void setup(void)
{
	rig_begin(1, &rig_ops);
	make_posts();
}

static struct post *next_post(uint32_t poster)
{
	struct post *post = posts[poster][posted[poster]];

	post->poster = poster;
	post->number = posted[poster]++;
	return post;
}

static void post_one(uint32_t poster)
{
	struct post *post = next_post(poster);

	gy_loop_post_task(rig.loop[0], &post->task);
}

/* ---- beside a loop that is about to wake it ---- */

static uint32_t heard_second; /* atomic */

static void hear_second(struct gy_loop *loop, struct gy_task *task)
{
	hear(loop, task);
	gy_store_full(&heard_second, 1);
}

static void setup_loops(uint32_t loops)
{
	rig_begin(loops, &rig_ops);
	make_posts();
	posts[1][0]->task.run = hear_second;
	heard_second = 0;
}

static void setup_two_loops(void)
{
	setup_loops(2);
}

static void setup_three_loops(void)
{
	setup_loops(3);
}

static void send_one(uint32_t loop, uint32_t poster)
{
	struct post *post = next_post(poster);

	post->task.node.kind = GY_NODE_TASK;
	gy_loop_send(rig.loop[loop], 0, &post->task.node);
	gy_loop_flush(rig.loop[loop]);
}

/* The handler that has sent goes on until the other thread has been heard. */
static void send_and_go_on(void)
{
	send_one(1, 0);
	model_await(&heard_second);
	(void)gy_ring_submit(rig.loop[1]->ring);
}

static void send_and_submit(void)
{
	send_one(2, 1);
	(void)gy_ring_submit(rig.loop[2]->ring);
}

static void post_twice(void)
{
	post_one(0);
	post_one(0);
}

static void post_as_first(void)
{
	post_one(0);
}

static void post_as_second(void)
{
	post_one(1);
}

static void check(void)
{
	model_check(heard[0] == posted[0]);
	model_check(heard[1] == posted[1]);
	rig_check_asleep(0);
	model_check(rig.loop[0]->parked == GY_PARKED);
}

int main(void)
{
	static const struct model_protocol protocols[] = {
		{
			.title = "a loop that parks is woken for each of two posts",
			.setup = setup,
			.check = check,
			.threads = { { "loop", rig_turn_0 }, { "poster", post_twice } },
		},
		{
			.title = "a loop that parks is woken for the posts of two threads",
			.setup = setup,
			.check = check,
			.threads = { { "loop", rig_turn_0 },
				     { "first", post_as_first },
				     { "second", post_as_second } },
			.preemptions_max = 3,
		},
		{
			.title = "a post does not rely on a loop that has only prepared its wake",
			.setup = setup_two_loops,
			.check = check,
			.threads = { { "loop", rig_turn_0 },
				     { "busy loop", send_and_go_on },
				     { "poster", post_as_second } },
			.preemptions_max = 3,
		},
		{
			.title = "a loop does not rely on another one that has only prepared its "
				 "wake",
			.setup = setup_three_loops,
			.check = check,
			.threads = { { "loop", rig_turn_0 },
				     { "busy loop", send_and_go_on },
				     { "other loop", send_and_submit } },
			.preemptions_max = 3,
		},
	};
	static const struct model_plant plants[] = {
		{ "a loop that parks without a fence", "block", MODEL_STORE_FULL, MODEL_RELAXED,
		  0 },
		{ "a loop that shows that it parks after its last look", "block", MODEL_STORE_FULL,
		  MODEL_SWAPPED, 0 },
		{ "a post that looks at the flag before it has posted", "gy_loop_call",
		  MODEL_LOAD_FULL, MODEL_EARLY, 0 },
		{ "a post that does not look at the flag", "gy_loop_call", MODEL_LOAD_FULL,
		  MODEL_OMITTED, 0 },
		{ "a flag that is not set", "block", MODEL_STORE_FULL, MODEL_OMITTED, 0 },
	};

	return model_main(protocols, gy_countof(protocols), plants, gy_countof(plants));
}
