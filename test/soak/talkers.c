/*
 * A node of the soak: it talks to all others, which are paused, killed and started again, and says
 * what must never happen: mail of a life after its end was told, numbers that fall, an end that is
 * told of nobody. Each node has one talker; for each other node it looks that one's up, watches it,
 * tells it numbers and asks it now and then, until its end is told, and begins again.
 *
 *	soak-talkers ID NODES PORT
 *
 * Node N listens at PORT + N. Each second a line for each other node says how much came from it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { NODES_MAX = 8, ENDED_MAX = 256 };

struct word {
	uint64_t number;
};
GYRE_MESSAGE(word, 0x400);

struct call {
	uint32_t peer;
};
GYRE_MESSAGE(call, 0x401);

static const struct gyre_type *const types[] = { &gyre_type_word, NULL };

struct peer {
	struct gyre_address found; /* nobody when it has to be looked up */
	struct gyre_address from;  /* who spoke last */
	uint64_t numbers[2];	   /* the last of those, of notices and of asks */
	uint64_t heard;
};

struct talker {
	uint32_t id;
	uint32_t nodes;
	uint64_t sent;
	struct peer peers[NODES_MAX + 1];
	uint32_t ended_count;
	struct gyre_address ended[ENDED_MAX]; /* the last of those whose end was told */
};

struct frame {
	struct gyre_future future;
	uint32_t rounds;
};

static uint32_t my_id;
static uint32_t nodes;

static void say_address(const char *what, struct gyre_address address)
{
	printf("%s: node %u, loop %u, slot %u, cookie %u, life %u\n", what, address.node,
	       address.loop, address.slot, address.cookie, address.life);
	(void)fflush(stdout);
}

static struct talker *talker_of(struct gyre_stack *stack)
{
	return (struct talker *)gyre_state(stack);
}

static bool has_ended(const struct talker *self, struct gyre_address address)
{
	for (uint32_t i = 0; i < self->ended_count && i < ENDED_MAX; i++) {
		if (memcmp(&self->ended[i], &address, sizeof(address)) == 0) {
			return true;
		}
	}
	return false;
}

/* ---- what comes ---- */

/* @asked: asks and notices are in order each for itself. */
static void take(struct gyre_stack *stack, bool asked)
{
	struct talker *self = talker_of(stack);
	struct gyre_address from = gyre_sender(stack);
	struct peer *peer =
		from.node > 0 && from.node <= self->nodes ? &self->peers[from.node] : NULL;
	const struct word *word = gyre_message(stack, word);

	if (peer == NULL || word == NULL) {
		say_address("violated: a stranger", from);
		return;
	}
	if (has_ended(self, from)) {
		say_address("violated: mail after the end was told", from);
	}
	if (memcmp(&peer->from, &from, sizeof(from)) != 0) {
		memset(peer->numbers, 0, sizeof(peer->numbers));
	}
	if (word->number <= peer->numbers[asked]) {
		printf("violated: number %" PRIu64 " after %" PRIu64 "\n", word->number,
		       peer->numbers[asked]);
	}
	peer->from = from;
	peer->numbers[asked] = word->number;
	peer->heard++;
}

static int hear(struct gyre_stack *stack)
{
	take(stack, false);
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	take(stack, true);
	return gyre_reply(stack, gyre_new(stack, word, 1));
}

static void end(struct talker *self, struct gyre_address address)
{
	struct peer *peer = address.node <= self->nodes ? &self->peers[address.node] : NULL;

	if (peer == NULL || memcmp(&peer->found, &address, sizeof(address)) != 0) {
		say_address("violated: an end that nobody waits for", address);
		return;
	}
	say_address("ended", address);
	peer->found = GYRE_NOBODY;
	self->ended[self->ended_count++ % ENDED_MAX] = address;
}

static void report(const struct talker *self)
{
	for (uint32_t i = 1; i <= self->nodes; i++) {
		if (i != self->id) {
			printf("heard %" PRIu64 " from %u\n", self->peers[i].heard, i);
		}
	}
	(void)fflush(stdout);
}

static int notice_event(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated != NULL) {
		end(talker_of(stack), terminated->actor);
	} else if (gyre_message(stack, gyre_timeout) != NULL) {
		report(talker_of(stack));
	}
	return gyre_return(stack);
}

/* ---- what goes ---- */

static struct gyre_mail *next_word(struct gyre_stack *stack)
{
	return gyre_new(stack, word, ++talker_of(stack)->sent);
}

static int find(struct gyre_stack *stack, uint32_t peer, struct gyre_future *ret_future)
{
	return gyre_node_lookup(stack, (uint16_t)peer, "talker", GYRE_MILLISECONDS(500),
				ret_future);
}

static void begin_to_talk(struct gyre_stack *stack, uint32_t number)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct peer *peer = &talker_of(stack)->peers[number];
	struct gyre_address found;

	if (gyre_future_error(&frame->future) < 0) {
		return;
	}
	found = gyre_future_get(&frame->future, gyre_node_found)->address;
	/* It may be found for a moment although its end was told already. */
	if (!has_ended(talker_of(stack), found) && gyre_watch(stack, found) == 0) {
		peer->found = found;
	}
}

static int talk(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct call *call = gyre_message(stack, call);
	struct peer *peer = &talker_of(stack)->peers[call->peer];

	GYRE_BEGIN(stack);
	for (;;) {
		GYRE_AWAIT(stack, find(stack, call->peer, &frame->future));
		begin_to_talk(stack, call->peer);
		while (!gyre_address_is_nobody(peer->found)) {
			(void)gyre_notify(stack, peer->found, next_word(stack));
			if (frame->rounds++ % 16 == 0) {
				GYRE_AWAIT(stack, gyre_ask(stack, peer->found, next_word(stack),
							   GYRE_MILLISECONDS(500), &frame->future));
			}
			GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(2), &frame->future));
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(50), &frame->future));
	}
	GYRE_END(stack);
}

static int begin(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_SECONDS(1),
						    .period_ns = GYRE_SECONDS(1) };
	struct talker *self = talker_of(stack);
	int r = gyre_name_register(stack, "talker");

	self->id = my_id;
	self->nodes = nodes;
	for (uint32_t i = 1; i <= nodes && r == 0; i++) {
		if (i != my_id) {
			r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, call, .peer = i));
		}
	}
	return r < 0 ? r : gyre_timer_start(stack, 1, &options);
}

static const struct gyre_route notices[] = { GYRE_ROUTE(word, hear), GYRE_ROUTE(call, talk),
					     GYRE_ROUTE_END };

static const struct gyre_class talker_class = {
	.name = "talker",
	.state_bytes = sizeof(struct talker),
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice_routes = notices, .ask = answer, .event = notice_event },
	.mount = begin,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- the process ---- */

static int run(uint32_t port)
{
	char addresses[NODES_MAX + 1][32];
	struct gyre_node_peer peers[NODES_MAX + 1] = { 0 };
	const struct gyre_node_options node = {
		.id = (uint16_t)my_id,
		.listen = addresses[my_id],
		.peers = peers,
		.types = types,
		.heartbeat_ns = GYRE_MILLISECONDS(100),
		.suspect_ns = GYRE_MILLISECONDS(400),
		.down_ns = GYRE_SECONDS(1),
		.redial_max_ns = GYRE_MILLISECONDS(500),
	};
	const struct gyre_system_options options = { .loops = 2, .node = &node };
	struct gyre_system *system;
	struct gyre_address address;
	uint32_t count = 0;
	int r;

	for (uint32_t i = 1; i <= nodes; i++) {
		(void)snprintf(addresses[i], sizeof(addresses[i]), "tcp://127.0.0.1:%u", port + i);
		if (i != my_id) {
			peers[count++] = (struct gyre_node_peer){ (uint16_t)i, addresses[i] };
		}
	}
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = gyre_system_spawn(system, &talker_class, GYRE_NO_ARGUMENT, NULL, &address);
		r = r < 0 ? r : gyre_system_run(system);
		gyre_system_destroy(system);
	}
	return r;
}

int main(int argc, char **argv)
{
	uint32_t port = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	int r;

	my_id = argc == 4 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	nodes = argc == 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	if (my_id == 0 || my_id > nodes || nodes > NODES_MAX || port == 0) {
		(void)fprintf(stderr, "usage: soak-talkers ID NODES PORT\n");
		return 2;
	}
	r = run(port);
	if (r < 0) {
		(void)fprintf(stderr, "soak-talkers: %s\n", strerror(-r));
	}
	return r < 0;
}
