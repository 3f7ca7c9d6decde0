/*
 * The datagram actor: a channels actor with one channel, for the datagrams of its loop. It ends
 * with its channel, and the channel with it. As with acceptors the one of the first loop is the one
 * that users know: when it stops it stops the others.
 *
 * All that can be refused is done by the calling thread, before any actor is spawned.
 */
#include <errno.h>
#include <unistd.h>

#include "actor/stack.h"
#include "base/memory.h"
#include "channel/datagram.h"
#include "net/datagram.h"

/* ---- the actor ---- */

struct state {
	struct gy_channels *channels;
	struct gy_datagram_seed *seed;
};

/* Phase 1. */
static void channel_ended(void *arg)
{
	struct gy_house *house = (struct gy_house *)arg;

	if (house->status != GY_HOUSE_STOPPING) {
		(void)gy_send_signal(house->home, gy_house_address(house), &gy_type_stop,
				     GY_MAIL_EVENT);
	}
}

static int mount(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_channels *channels = gy_channels_of(s->home);
	struct state *state = (struct state *)gyre_state(stack);
	struct gy_datagram_seed *seed = gyre_message(stack, gy_datagram_argument)->seed;
	struct gy_datagram_opening opening = {
		.channel = { .fd = gy_transit_end(channels, &seed->transit),
			     .options = &seed->channel,
			     .init = seed->init_channel,
			     .init_arg = seed->init_arg },
		.ended = channel_ended,
		.ended_arg = s->house,
		.connected = seed->connected,
		.is_unix = seed->is_unix,
		.batched = seed->batched,
	};
	int r;

	*state = (struct state){ .channels = channels, .seed = seed };
	if (opening.channel.fd < 0 || channels->draining) {
		gy_channels_close(channels, opening.channel.fd);
		return gyre_stop(stack, gyre_self(stack));
	}
	r = gy_datagram_open(s->house, s, &opening);
	return r < 0 ? r : gyre_return(stack);
}

/* A drain stops them without help. */
static void stop_others(const struct state *state)
{
	for (uint32_t i = 0; i < state->seed->others_count && !state->channels->draining; i++) {
		(void)gy_send_signal(state->channels->home, state->seed->others[i], &gy_type_stop,
				     GY_MAIL_EVENT);
	}
}

static void clean(void *arg)
{
	struct state *state = (struct state *)arg;

	if (state->seed != NULL) {
		stop_others(state);
		gy_socket_file_remove(&state->seed->file);
		gy_memory_put(state->seed);
	}
}

const struct gyre_class gy_datagram_class = {
	.name = "datagram",
	.state_bytes = sizeof(struct state),
	.mount = mount,
	.clean = clean,
};

/* ---- opening ---- */

struct setup {
	const struct gyre_datagram_options *options;
	struct gy_homes *homes;
	struct gy_datagram_sockets sockets;
	struct gy_socket_file file;
	int *fds;
	struct gyre_address *actors;
};

static void free_seed(struct gy_channels *channels, struct gy_transit *transit)
{
	struct gy_datagram_seed *seed = gy_container_of(transit, struct gy_datagram_seed, transit);

	(void)channels;
	gy_socket_file_remove(&seed->file);
	gy_memory_put(seed);
}

static struct gy_datagram_seed *make_seed(const struct setup *setup, uint32_t index)
{
	const struct gyre_datagram_options *options = setup->options;
	uint32_t others = index == 0 ? setup->sockets.count - 1 : 0;
	struct gy_datagram_seed *seed = (struct gy_datagram_seed *)gy_memory_get(
		sizeof(*seed) + others * sizeof(seed->others[0]));
	bool is_unix = setup->sockets.address.storage.ss_family == AF_UNIX;

	if (seed == NULL) {
		return NULL;
	}
	*seed = (struct gy_datagram_seed){
		.transit = { .discard = free_seed, .fd = setup->fds[index] },
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.channel = options->channel,
		.connected = setup->sockets.peer.bytes > 0,
		.is_unix = is_unix,
		.batched = setup->sockets.batched && !is_unix,
		.others_count = others,
	};
	for (uint32_t i = 0; i < others; i++) {
		seed->others[i] = setup->actors[1 + i];
	}
	if (index == 0) {
		seed->file = setup->file;
	}
	return seed;
}

/* Takes the descriptor, whatever is returned. */
static int spawn(struct setup *setup, uint32_t index)
{
	struct gy_home *home = &setup->homes->homes[index];
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_datagram_argument);
	struct gy_datagram_seed *seed = make_seed(setup, index);
	int r;

	if (mail == NULL || seed == NULL) {
		gyre_mail_free(NULL, mail);
		gy_memory_put(seed);
		(void)close(setup->fds[index]);
		return -ENOMEM;
	}
	((struct gy_datagram_argument *)gyre_payload(mail))->seed = seed;
	gy_transit_begin(channels, &seed->transit);
	r = gy_spawn_from_outside(home,
				  &(struct gy_spawn_order){ .class = &gy_datagram_class,
							    .argument = mail,
							    .channels_actor = true },
				  &setup->actors[index]);
	if (r < 0) {
		gy_channels_close(channels, gy_transit_end(channels, &seed->transit));
		gy_memory_put(seed);
	}
	return r;
}

/* The first loop's actor comes last, for it is to know the others. Takes the descriptors. */
static int spawn_all(struct setup *setup)
{
	uint32_t left = setup->sockets.count;
	int r = 0;

	while (left > 0 && r == 0) {
		left--;
		r = spawn(setup, left);
	}
	if (r == 0) {
		return 0;
	}
	for (uint32_t i = left + 1; i < setup->sockets.count; i++) {
		gy_stop_from_outside(&setup->homes->homes[i], setup->actors[i]);
	}
	while (left > 0) {
		(void)close(setup->fds[--left]);
	}
	return r;
}

static int set_up(struct setup *setup)
{
	const struct gyre_datagram_options *options = setup->options;
	int r = gy_datagram_sockets_plan(&setup->sockets, setup->homes->count);

	if (r == 0) {
		r = gy_datagram_sockets_open(&setup->sockets, setup->fds);
	}
	if (r < 0) {
		return r;
	}
	gy_socket_file_set(&setup->file, &setup->sockets.address);
	r = spawn_all(setup);
	if (r < 0) {
		gy_socket_file_remove(&setup->file);
		return r;
	}
	if (options->ret_port != NULL) {
		*options->ret_port = gyre_socket_address_port(&setup->sockets.address);
	}
	if (options->ret_address != NULL) {
		*options->ret_address = setup->sockets.address;
	}
	return 0;
}

int gyre_datagram_open(struct gyre_system *system, const struct gyre_datagram_options *options,
		       struct gyre_address *ret_actor)
{
	struct setup setup = { .options = options };
	uint32_t loops;
	int r = -ENOMEM;

	if (system == NULL || options == NULL || options->init_channel == NULL ||
	    options->receive_buffer_bytes > INT32_MAX || options->send_buffer_bytes > INT32_MAX ||
	    (options->groups_count > 0 && options->groups == NULL)) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(system);
	setup.sockets.options = options;
	setup.sockets.log = setup.homes->log;
	loops = setup.homes->count;
	setup.fds = (int *)gy_memory_get(loops * sizeof(*setup.fds));
	setup.actors = (struct gyre_address *)gy_memory_get(loops * sizeof(*setup.actors));
	if (setup.fds != NULL && setup.actors != NULL) {
		r = set_up(&setup);
	}
	if (r == 0 && ret_actor != NULL) {
		*ret_actor = setup.actors[0];
	}
	gy_memory_put(setup.fds);
	gy_memory_put(setup.actors);
	return r;
}
