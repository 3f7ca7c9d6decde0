/*
 * Many more loops than CPUs. Rings of actors go round all loops, each hop to the next one, with
 * actors that were spawned on the loop before; at every so many hops a token asks the actor it
 * comes to for a number, so that answers cross the notices. All loops park all the time, and a
 * wake-up that is lost, or a stage of the stop that some loop does not reach, hangs the program.
 */
#include "stress.h"

enum { LOOPS = 64, RINGS = 8, ROUNDS = 60, ASK_EVERY = 16, GENERATIONS = 3 };

/* A token on its way. */
struct token {
	uint32_t hops;
	uint32_t ring;
};
GYRE_MESSAGE(token, 0x2101);

/* What an actor is spawned with. */
struct cpu_place {
	uint32_t loop;
	uint32_t ring;
};
GYRE_MESSAGE(cpu_place, 0x2102);

struct question {
	uint64_t value;
};
GYRE_MESSAGE(question, 0x2103);

struct member {
	struct cpu_place cpu_place;
	struct gyre_address next; /* on the next loop; nobody in the last one */
};

struct member_frame {
	struct gyre_future answer;
	struct token token;
};

static uint32_t running;
static uint32_t hops_done;
static uint32_t answers;
static struct gyre_address firsts[RINGS];

static int member_ask(struct gyre_stack *stack)
{
	const struct question *question = gyre_message(stack, question);

	check(question != NULL);
	return gyre_reply(stack, gyre_new(stack, question, question->value * 3));
}

static struct gyre_address next_of(struct gyre_stack *stack)
{
	const struct member *member = (const struct member *)gyre_state(stack);

	return member->cpu_place.loop == LOOPS - 1 ? firsts[member->cpu_place.ring] : member->next;
}

static int pass_on(struct gyre_stack *stack, struct token token)
{
	(void)gy_fetch_add(&hops_done, 1);
	token.hops++;
	if (token.hops == LOOPS * ROUNDS) {
		if (gy_fetch_add(&running, -1U) == 1) {
			gyre_system_stop(gyre_system_of(stack));
		}
		return gyre_return(stack);
	}
	return gyre_notify(stack, next_of(stack), gyre_new(stack, token, token.hops, token.ring));
}

static int member_notice(struct gyre_stack *stack)
{
	struct member_frame *frame = (struct member_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	check(gyre_message(stack, token) != NULL);
	frame->token = *gyre_message(stack, token);
	if (frame->token.hops % ASK_EVERY == 0) {
		GYRE_AWAIT(stack, gyre_ask(stack, next_of(stack),
					   gyre_new(stack, question, frame->token.hops),
					   GYRE_FOREVER, &frame->answer));
		check(!gyre_future_failed(&frame->answer));
		check(gyre_future_get(&frame->answer, question)->value ==
		      3 * (uint64_t)frame->token.hops);
		(void)gy_fetch_add(&answers, 1);
	}
	return pass_on(stack, frame->token);
	GYRE_END(stack);
}

static int member_mount(struct gyre_stack *stack);

static const struct gyre_class member_class = {
	.name = "member",
	.state_bytes = sizeof(struct member),
	.frame_bytes = sizeof(struct member_frame),
	.behaviour = { .notice = member_notice, .ask = member_ask },
	.mount = member_mount,
};

/* Each spawns the next one, until the last closes the ring and sets the token going. */
static int member_mount(struct gyre_stack *stack)
{
	struct member *member = (struct member *)gyre_state(stack);
	struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };

	check(gyre_message(stack, cpu_place) != NULL);
	member->cpu_place = *gyre_message(stack, cpu_place);
	if (member->cpu_place.loop == 0) {
		firsts[member->cpu_place.ring] = gyre_self(stack);
	}
	if (member->cpu_place.loop == LOOPS - 1) {
		return gyre_notify(stack, firsts[member->cpu_place.ring],
				   gyre_new(stack, token, 0, member->cpu_place.ring));
	}
	options.loop = member->cpu_place.loop + 1;
	check(gyre_spawn(stack, &member_class,
			 gyre_new(stack, cpu_place, options.loop, member->cpu_place.ring), &options,
			 &member->next) == 0);
	return gyre_return(stack);
}

static void run_once(void)
{
	struct gyre_system *system = stress_create(LOOPS);
	struct gyre_counters counters;

	check(gyre_system_loops(system) == LOOPS);
	running = RINGS;
	hops_done = 0;
	answers = 0;
	for (uint32_t i = 0; i < RINGS; i++) {
		(void)stress_spawn(system, &member_class, 0,
				   gyre_system_new(system, cpu_place, 0, i));
	}
	check(gyre_system_start(system) == 0);
	counters = stress_end(system);
	check(hops_done == RINGS * LOOPS * ROUNDS);
	check(answers == RINGS * LOOPS * ROUNDS / ASK_EVERY);
	check(counters.spawned == RINGS * LOOPS);
}

int main(int argc, char **argv)
{
	(void)stress_begin(argc, argv);
	for (uint32_t i = 0; i < GENERATIONS; i++) {
		run_once();
	}
	return 0;
}
