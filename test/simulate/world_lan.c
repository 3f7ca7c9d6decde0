/*
 * A quiet network: three nodes between which nothing is lost and no connection breaks; packets take
 * a little longer now and then, and calls do less than they could. So each letter arrives, whole
 * and in its order, each ask is answered, and nobody ever suspects a node, however long they all
 * have nothing to say.
 */
#include <inttypes.h>
#include <string.h>

#include "world.h"

enum {
	NODES = 3,
	LETTERS_MAX = 12,
	SHORT_BYTES_MAX = 400,
	LONG_BYTES_MAX = 100000,
	LONG_ONE_IN = 40
};

static const uint64_t round_ns = GYRE_SECONDS(12);
static const uint64_t busy_ns = GYRE_SECONDS(4); /* of a round; nothing is said in the rest */

struct lan {
	struct gyre_sim *sim;
	bool encrypted;
	uint64_t rounds[NODES][NODES]; /* that each writer has had answered, by the node it is on */
};

struct letter {
	uint64_t number; /* of its writer */
	uint32_t count;
	unsigned char text[];
};
GYRE_MESSAGE_TAIL(letter, 0x5601, text, count);

/* How many letters the writer of the ask has sent, and in the answer how many have come. */
struct so_far {
	uint64_t letters;
};
GYRE_MESSAGE(so_far, 0x5602);

static const struct gyre_type *const types[] = { &gyre_type_letter, &gyre_type_so_far, NULL };

struct place {
	struct lan *lan;
	uint16_t node; /* from 1 on */
	uint16_t whom; /* a writer: the node that it writes to; a reader: that it is for */
};
GYRE_MESSAGE(place, 0x5603);

struct again {
	char nothing;
};
GYRE_MESSAGE(again, 0x5604);

static void name_reader(char name[32], uint16_t writer)
{
	(void)snprintf(name, 32, "reader-%u", (unsigned)writer);
}

static unsigned char text_of(uint64_t number, uint32_t at)
{
	return (unsigned char)(number * 31 + at);
}

/* ---- who reads ---- */

struct reader {
	struct place place;
	uint64_t letters;
};

#define violate(PLACE, FORMAT, ...)                                              \
	world_violate("node %u, with node %u: " FORMAT, (unsigned)(PLACE)->node, \
		      (unsigned)(PLACE)->whom, ##__VA_ARGS__)

static int on_letter(struct gyre_stack *stack)
{
	struct reader *self = (struct reader *)gyre_state(stack);
	const struct letter *letter = gyre_message(stack, letter);

	if (letter->number != ++self->letters) {
		violate(&self->place, "letter %" PRIu64 " came as number %" PRIu64, letter->number,
			self->letters);
	}
	for (uint32_t i = 0; i < letter->count; i++) {
		if (letter->text[i] != text_of(letter->number, i)) {
			violate(&self->place, "letter %" PRIu64 " is not what was written at %u",
				letter->number, i);
			break;
		}
	}
	return gyre_return(stack);
}

/* Nothing is promised between letters and asks, but that what is on its way arrives. */
static int on_so_far(struct gyre_stack *stack)
{
	const struct reader *self = (const struct reader *)gyre_state(stack);

	if (gyre_message(stack, so_far)->letters < self->letters) {
		violate(&self->place, "more letters have come than were sent");
	}
	return gyre_reply(stack, gyre_new(stack, so_far, self->letters));
}

static int on_reader_mount(struct gyre_stack *stack)
{
	struct reader *self = (struct reader *)gyre_state(stack);
	char name[32];
	int r;

	self->place = *gyre_message(stack, place);
	name_reader(name, self->place.whom);
	r = gyre_name_register(stack, name);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class reader_class = { .name = "reader",
						.state_bytes = sizeof(struct reader),
						.behaviour = { .notice = on_letter,
							       .ask = on_so_far },
						.mount = on_reader_mount };

/* ---- who writes ---- */

struct writer {
	struct place place;
	struct gyre_address reader;
	uint64_t letters;
};

struct writer_frame {
	struct gyre_future future;
};

static int write_letter(struct gyre_stack *stack)
{
	struct writer *self = (struct writer *)gyre_state(stack);
	uint64_t draw = gyre_sim_random(self->place.lan->sim);
	uint32_t most = draw % LONG_ONE_IN == 0 ? LONG_BYTES_MAX : SHORT_BYTES_MAX;
	uint32_t count = (uint32_t)(draw / LONG_ONE_IN % most);
	struct gyre_mail *mail = gyre_new_tail(stack, letter, count, .number = self->letters + 1);

	for (uint32_t i = 0; mail != NULL && i < count; i++) {
		((struct letter *)gyre_payload(mail))->text[i] = text_of(self->letters + 1, i);
	}
	self->letters++;
	return gyre_notify(stack, self->reader, mail);
}

static int write_some(struct gyre_stack *stack)
{
	const struct writer *self = (const struct writer *)gyre_state(stack);
	uint64_t count = 1 + gyre_sim_random(self->place.lan->sim) % LETTERS_MAX;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = write_letter(stack);
	}
	if (r < 0) {
		violate(&self->place, "a letter is refused: %d", r);
	}
	return r;
}

static void hear(struct writer *self, const struct gyre_future *future)
{
	if (gyre_future_error(future) < 0) {
		violate(&self->place, "an ask fails: %d", gyre_future_error(future));
	} else {
		self->place.lan->rounds[self->place.node - 1][self->place.whom - 1]++;
	}
}

/* Until the next time to write, which is soon, or in the next round. */
static uint64_t pause_ns(struct writer *self)
{
	struct lan *lan = self->place.lan;
	uint64_t in_round_ns = gyre_sim_now(lan->sim) % round_ns;
	uint64_t more_ns = gyre_sim_random(lan->sim) % GYRE_MILLISECONDS(200);

	return in_round_ns < busy_ns ? more_ns : round_ns - in_round_ns + more_ns;
}

static int look_for_reader(struct gyre_stack *stack)
{
	const struct writer *self = (const struct writer *)gyre_state(stack);
	struct writer_frame *frame = (struct writer_frame *)gyre_frame(stack);
	char name[32];

	name_reader(name, self->place.node);
	return gyre_node_lookup(stack, self->place.whom, name, 0, &frame->future);
}

static int on_again(struct gyre_stack *stack)
{
	struct writer *self = (struct writer *)gyre_state(stack);
	struct writer_frame *frame = (struct writer_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	while (gyre_address_is_nobody(self->reader)) {
		GYRE_AWAIT(stack, look_for_reader(stack));
		if (gyre_future_error(&frame->future) == 0) {
			self->reader = gyre_future_get(&frame->future, gyre_node_found)->address;
		} else { /* the other node begins yet */
			GYRE_AWAIT(stack,
				   gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
		}
	}
	while (write_some(stack) == 0) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, self->reader, gyre_new(stack, so_far, self->letters),
				    GYRE_SECONDS(5), &frame->future));
		hear(self, &frame->future);
		GYRE_AWAIT(stack, gyre_sleep(stack, pause_ns(self), &frame->future));
	}
	return gyre_return(stack);
	GYRE_END(stack);
}

/* Of nodes: they come, and that is all. */
static int on_event(struct gyre_stack *stack)
{
	const struct writer *self = (const struct writer *)gyre_state(stack);
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	if (event != NULL && event->state != GYRE_NODE_UP) {
		violate(&self->place, "node %u is in state %u", (unsigned)event->node,
			(unsigned)event->state);
	}
	return gyre_return(stack);
}

static int on_writer_mount(struct gyre_stack *stack)
{
	struct writer *self = (struct writer *)gyre_state(stack);
	int r = gyre_node_watch(stack);

	self->place = *gyre_message(stack, place);
	r = r < 0 ? r : gyre_notify(stack, gyre_self(stack), gyre_new(stack, again, 0));
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class writer_class = {
	.name = "writer",
	.state_bytes = sizeof(struct writer),
	.frame_bytes = sizeof(struct writer_frame),
	.behaviour = { .notice = on_again, .event = on_event },
	.mount = on_writer_mount,
};

/* ---- hosts ---- */

static int spawn_both(struct gyre_system *system, const struct place *place, uint16_t whom)
{
	struct gyre_address address;
	int r = gyre_system_spawn(system, &reader_class,
				  gyre_system_new(system, place, place->lan, place->node, whom),
				  NULL, &address);

	return r < 0 ? r
		     : gyre_system_spawn(
			       system, &writer_class,
			       gyre_system_new(system, place, place->lan, place->node, whom), NULL,
			       &address);
}

static int spawn_all(struct gyre_system *system, void *arg)
{
	const struct place *place = (const struct place *)arg;
	int r = 0;

	for (uint16_t whom = 1; r == 0 && whom <= NODES; whom++) {
		r = whom == place->node ? 0 : spawn_both(system, place, whom);
	}
	return r;
}

static int be_node(void *arg)
{
	const struct place *place = (const struct place *)arg;
	const struct world_node as = { .id = place->node,
				       .nodes = NODES,
				       .encrypted = place->lan->encrypted,
				       .types = types };

	return world_run_node(&as, spawn_all, arg);
}

/* ---- the world ---- */

/* Each way has its delay, and a jitter. */
static int set_links(struct gyre_sim *sim)
{
	int r = 0;

	for (uint32_t pair = 0; r == 0 && pair < NODES * NODES; pair++) {
		const struct gyre_sim_link link = {
			.delay_ns = (1 + gyre_sim_random(sim) % 20) * GYRE_MICROSECONDS(50),
			.jitter_ns = gyre_sim_random(sim) % 20 * GYRE_MICROSECONDS(50),
		};

		if (pair / NODES != pair % NODES) {
			r = gyre_sim_link_set(sim, pair / NODES, pair % NODES, &link);
		}
	}
	return r;
}

static int build(struct gyre_sim *sim, void *state)
{
	static struct place places[NODES];
	struct lan *lan = (struct lan *)state;
	int r;

	lan->sim = sim;
	lan->encrypted = gyre_sim_random(sim) % 4 == 0;
	for (uint32_t i = 0; i < NODES; i++) {
		places[i] = (struct place){ .lan = lan, .node = (uint16_t)(i + 1) };
	}
	r = world_add_nodes(sim, NODES, be_node, places, sizeof(places[0]));
	return r < 0 ? r : set_links(sim);
}

static uint64_t progress(const void *state, uint32_t part)
{
	uint32_t node = part / (NODES - 1);
	uint32_t whom = part % (NODES - 1);

	return ((const struct lan *)state)->rounds[node][whom < node ? whom : whom + 1];
}

const struct world world_lan = {
	.name = "lan",
	.state_bytes = sizeof(struct lan),
	.hosts = NODES,
	.trouble = TROUBLE_FAULTS,
	.steps = 10,
	.calm_seconds = 5,
	.go_on_seconds = 20,
	.build = build,
	.parts = NODES * (NODES - 1),
	.progress = progress,
};
