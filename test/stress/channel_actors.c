/*
 * Actors that own channels, on both sides of connections, with every bond: their mounts fail or
 * wait, they stop or fail at random, from their own handlers and on orders of others from other
 * loops, their channels are closed and aborted, loops come and go, and in the end the system is
 * stopped in the middle of it all. What was opened must have been closed, every actor that had a
 * state must have been cleaned, and handlers must never have seen a state after that.
 */
#include <errno.h>

#include <gyre/channel_actor.h>
#include <gyre/connect.h>
#include <gyre/idle.h>
#include <gyre/listen.h>
#include <gyre/resize.h>

#include "stress.h"

enum { LOOPS_MAX = 3, CONNECTIONS = 6, OPENED = 800, RESIZES = 30, BONDS = 4, PEERS = 64 };

/* Of a state, from the initialiser to @clean. */
static const uint64_t alive = UINT64_C(0x616c697665);

struct owner {
	uint64_t alive;
	uint64_t random;
	struct gyre_future future;
};

static uint64_t seed;
static uint64_t spawned; /* numbers for random */
static uint64_t begun;	 /* states that an initialiser has seen */
static uint64_t cleaned; /* of these */
static uint64_t opened;
static uint64_t peers[PEERS]; /* slots and loops of actors, for others to order */
static uint32_t cookies[PEERS];

static bool one_in(struct owner *owner, uint32_t limit)
{
	return stress_random(&owner->random, limit) == 0;
}

/* ---- the actor ---- */

static void show_peer(struct gyre_stack *stack, struct owner *owner)
{
	struct gyre_address self = gyre_self(stack);
	uint32_t place = stress_random(&owner->random, PEERS);

	gy_store_relaxed(&cookies[place], self.cookie);
	gy_store_relaxed(&peers[place], (uint64_t)self.loop << 32 | self.slot);
}

/* Perhaps of two actors, half of each: then it is stale. */
static struct gyre_address any_peer(struct owner *owner)
{
	uint32_t place = stress_random(&owner->random, PEERS);
	uint64_t peer = gy_load_relaxed(&peers[place]);

	return (struct gyre_address){ .slot = (uint32_t)peer,
				      .loop = (uint16_t)(peer >> 32),
				      .cookie = gy_load_relaxed(&cookies[place]) };
}

static int mount(struct gyre_stack *stack)
{
	struct owner *owner = (struct owner *)gyre_state(stack);

	GYRE_BEGIN(stack);
	check(gyre_message(stack, gyre_channel_attached)->channel == gyre_actor_channel(stack));
	check(gyre_channel_actor_state(gyre_actor_channel(stack)) == owner);
	show_peer(stack, owner);
	if (one_in(owner, 8)) {
		return gyre_throw(stack, -EACCES);
	}
	if (one_in(owner, 4)) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(100), &owner->future));
	}
	check(owner->alive == alive);
	if (one_in(owner, 16)) {
		return gyre_stop(stack, gyre_self(stack));
	}
	GYRE_END(stack);
}

static void clean(void *state)
{
	struct owner *owner = (struct owner *)state;

	check(owner->alive == 0 || owner->alive == alive);
	(void)gy_fetch_add(&cleaned, owner->alive == alive);
	owner->alive = ~alive;
}

static int notice(struct gyre_stack *stack)
{
	struct owner *owner = (struct owner *)gyre_state(stack);
	struct gyre_channel *channel = gyre_actor_channel(stack);

	check(owner->alive == alive && load_check(gyre_message(stack, load)) < 100);
	check(channel == NULL || gyre_channel_actor_state(channel) == owner);
	switch (stress_random(&owner->random, 16)) {
	case 0:
		return gyre_stop(stack, gyre_self(stack));
	case 1:
		return gyre_throw(stack, -EIO);
	case 2:
		if (channel != NULL) {
			gyre_channel_abort(channel, -ECONNABORTED);
		}
		break;
	case 3:
	case 4:
		(void)gyre_notify(stack, any_peer(owner), load_new(stack, 1));
		break;
	case 5:
		(void)gyre_stop(stack, any_peer(owner));
		break;
	default:
		if (channel != NULL) {
			struct gyre_buffer *hello = gyre_context_buffer(gyre_channel_tail(channel));

			check(hello != NULL && gyre_buffer_append(hello, "hello", 5) == 0);
			(void)gyre_context_write(gyre_channel_tail(channel), hello);
		}
		break;
	}
	return gyre_return(stack);
}

/* An actor that has parted from its channel does not stay for ever. */
static int event(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class owner_class = { .name = "owner",
					       .state_bytes = sizeof(struct owner),
					       .mount = mount,
					       .clean = clean,
					       .behaviour = { .notice = notice, .event = event } };

/* ---- the pipeline ---- */

static struct owner *owner_of(struct gyre_handler_context *ctx)
{
	struct owner *owner = (struct owner *)gyre_channel_actor_state(gyre_context_channel(ctx));

	check(owner == NULL || owner->alive == alive);
	return owner;
}

static void active(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *hello = gyre_context_buffer(ctx);

	(void)owner_of(ctx);
	check(hello != NULL && gyre_buffer_append(hello, "hello", 5) == 0);
	(void)gyre_context_write(ctx, hello);
	if (gy_fetch_add(&opened, 1) == OPENED) {
		gyre_system_stop(gyre_system_of(gyre_context_stack(ctx)));
	}
}

static void read_any(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct owner *owner = owner_of(ctx);

	gyre_buffer_destroy(data);
	if (owner == NULL) {
		gyre_context_close(ctx);
		return;
	}
	if (one_in(owner, 8)) {
		gyre_context_close(ctx);
	}
	(void)gyre_notify(stack, gyre_self(stack), load_new(stack, 2));
}

static void removed(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (owner_of(ctx) != NULL) {
		(void)gyre_timer_start(stack, 1,
				       &(struct gyre_timer_options){ .delay_ns = 1000000 });
	}
}

static const struct gyre_handler handler = {
	.name = "any", .active = active, .read = read_any, .removed = removed
};

/* Of two that wait for each other, one closes. */
static int init_channel(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_idle_options idle = { .read_ns = GYRE_MILLISECONDS(5),
						       .close = true };
	struct owner *owner = (struct owner *)gyre_channel_actor_state(channel);

	check(owner != NULL && owner->alive == 0);
	owner->alive = alive;
	owner->random = seed + gy_fetch_add(&spawned, 1);
	(void)gy_fetch_add(&begun, 1);
	if (one_in(owner, 16)) {
		return -EPERM;
	}
	check(gyre_pipeline_add(channel, GYRE_LAST, &handler, arg) == 0);
	return gyre_idle_add(channel, GYRE_FIRST, &idle);
}

/* ---- the system ---- */

static void begin_pair(struct gyre_system *system, enum gyre_channel_bond bond)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_socket_address address;
	const struct gyre_acceptor_options server = {
		.bind = "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.actor_class = &owner_class,
		.bond = bond,
		.listeners = bond == GYRE_BOND_PART ? 1 : 0,
		.connections_max = bond == GYRE_BOND_BOTH ? CONNECTIONS / 2 : 0,
		.ret_address = &address,
	};
	struct gyre_connect_options client = {
		.to = text,
		.init_channel = init_channel,
		.actor_class = &owner_class,
		.bond = (enum gyre_channel_bond)(BONDS - 1 - (int)bond),
		.connections = CONNECTIONS,
		.retries_max = GYRE_RETRIES_UNLIMITED,
		.retry_min_ns = GYRE_MICROSECONDS(100),
		.retry_max_ns = GYRE_MILLISECONDS(1),
		.place = { .place = GYRE_PLACE_LOOP }, /* loop 0 never retires */
	};

	check(gyre_system_listen(system, &server, NULL) == 0);
	check(gyre_socket_address_format(&address, sizeof(text), text) > 0);
	check(gyre_system_connect(system, &client, NULL) == 0);
}

static void resize(struct gyre_system *system)
{
	uint64_t random = seed;
	int r = 0;

	for (uint32_t i = 0; i < RESIZES && r == 0; i++) {
		r = gyre_system_resize(system, 1 + stress_random(&random, LOOPS_MAX));
		check(r == 0 || r == -ESHUTDOWN);
	}
}

int main(int argc, char **argv)
{
	const struct gyre_system_options options = { .loops = LOOPS_MAX,
						     .drain_timeout_ns = GYRE_MILLISECONDS(200) };
	struct gyre_counters counters;
	struct gyre_system *system;
	int r;

	seed = stress_begin(argc, argv);
	check(gyre_system_create(&options, &system) == 0);
	for (int bond = 0; bond < BONDS; bond++) {
		begin_pair(system, (enum gyre_channel_bond)bond);
	}
	check(gyre_system_start(system) == 0);
	resize(system);
	r = gyre_system_wait(system);
	check(r == 0 || r == -ETIMEDOUT);
	check(gyre_system_counters(system, &counters) == 0);
	check(counters.accepted + counters.connected == counters.closed);
	check(counters.spawned == counters.stopped);
	gyre_system_destroy(system);
	check(gy_load_relaxed(&begun) == gy_load_relaxed(&cleaned));
	return 0;
}
