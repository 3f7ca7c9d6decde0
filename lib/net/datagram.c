/*
 * The datagram actor: a channels actor with one channel, for the datagrams of its loop. It ends
 * with its channel, and the channel with it. As with acceptors the one of the first loop is the one
 * that users know: when it stops it stops the others.
 *
 * A loop that retires gives a copy of its descriptor, and so the socket with all that is in it, to
 * an actor of another loop; its own channel delivers what it has taken out, and ends.
 *
 * All that can be refused is done by the calling thread, before any actor is spawned.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "actor/stack.h"
#include "base/memory.h"
#include "channel/datagram.h"
#include "net/datagram.h"

static const struct gy_log *log_of(const struct gy_channels *channels)
{
	return channels->home->loop.options.log;
}

/* ---- groups ---- */

static void unref_group(struct gy_datagram_group *group)
{
	if (group != NULL && gy_fetch_add(&group->references, -1U) == 1) {
		gy_memory_put(group);
	}
}

static void drop_seed(struct gy_datagram_seed *seed)
{
	if (seed != NULL) {
		unref_group(seed->group);
		gy_memory_put(seed);
	}
}

static void free_seed(struct gy_channels *channels, struct gy_transit *transit)
{
	struct gy_datagram_seed *seed = gy_container_of(transit, struct gy_datagram_seed, transit);

	(void)channels;
	gy_socket_file_remove(&seed->file);
	drop_seed(seed);
}

/*
 * Spawns the actor of a socket, with the mutex held that guards the number of loops. Takes the seed
 * with its descriptor, whatever is returned.
 */
static int place(struct gy_datagram_seed *seed, uint32_t loop)
{
	struct gy_datagram_group *group = seed->group;
	struct gy_home *home = &group->homes->homes[loop];
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_datagram_argument);
	int r = mail == NULL ? -ENOMEM : 0;

	gy_transit_begin(channels, &seed->transit);
	if (r == 0) {
		((struct gy_datagram_argument *)gyre_payload(mail))->seed = seed;
		r = gy_spawn_from_outside(home,
					  &(struct gy_spawn_order){ .class = &gy_datagram_class,
								    .argument = mail,
								    .channels_actor = true },
					  &group->actors[seed->number]);
	}
	if (r < 0) {
		gy_channels_close(channels, gy_transit_end(channels, &seed->transit));
		drop_seed(seed);
	}
	return r;
}

/* ---- the actor ---- */

struct state {
	struct gy_channels *channels;
	struct gy_datagram_seed *seed;
	struct gy_house *house;
};

/* Phase 1. */
static void channel_ended(void *arg)
{
	struct gy_house *house = ((struct state *)arg)->house;

	if (house->status != GY_HOUSE_STOPPING) {
		(void)gy_send_signal(house->home, gy_house_address(house), &gy_type_stop,
				     GY_MAIL_EVENT);
	}
}

/* A socket like this one, with all that is in it, for an actor of another loop. */
static int send_away(const struct gy_datagram_seed *own, int fd)
{
	struct gy_datagram_seed *seed = (struct gy_datagram_seed *)gy_memory_get(sizeof(*seed));
	struct gy_homes *homes = own->group->homes;
	int r = 0;

	if (seed == NULL) {
		return -ENOMEM;
	}
	*seed = *own;
	seed->transit =
		(struct gy_transit){ .discard = free_seed, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	if (seed->transit.fd < 0) {
		r = -errno;
		gy_memory_put(seed);
		return r;
	}
	(void)gy_fetch_add(&seed->group->references, 1);
	(void)pthread_mutex_lock(&homes->placing);
	if (seed->group->ended) {
		(void)close(seed->transit.fd);
		drop_seed(seed);
	} else {
		r = place(seed, seed->number % gy_loops_count(homes->loops));
	}
	(void)pthread_mutex_unlock(&homes->placing);
	return r;
}

static void leave(void *arg, int fd)
{
	const struct state *state = (const struct state *)arg;
	int r = send_away(state->seed, fd);

	if (r < 0) {
		gy_log(log_of(state->channels), GYRE_LOG_WARNING,
		       "loop %u: it retires, and its datagrams cannot go to another: %s",
		       (unsigned)state->channels->home->loop.index, strerrordesc_np(-r));
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
		.ended_arg = state,
		.leave = leave,
		.connected = seed->connected,
		.is_unix = seed->is_unix,
		.batched = seed->batched,
	};
	int r;

	*state = (struct state){ .channels = channels, .seed = seed, .house = s->house };
	if (opening.channel.fd < 0 || channels->draining) {
		gy_channels_close(channels, opening.channel.fd);
		return gyre_stop(stack, gyre_self(stack));
	}
	r = gy_datagram_open(s->house, s, &opening);
	return r < 0 ? r : gyre_return(stack);
}

/* The others end with the first; a drain stops them without help. */
static void stop_others(const struct state *state)
{
	struct gy_datagram_group *group = state->seed->group;

	if (state->seed->number > 0 || state->channels->draining) {
		return;
	}
	(void)pthread_mutex_lock(&group->homes->placing);
	group->ended = true;
	for (uint32_t i = 1; i < group->count; i++) {
		(void)gy_send_signal(state->channels->home, group->actors[i], &gy_type_stop,
				     GY_MAIL_EVENT);
	}
	(void)pthread_mutex_unlock(&group->homes->placing);
}

static void clean(void *arg)
{
	struct state *state = (struct state *)arg;

	if (state->seed != NULL) {
		stop_others(state);
		free_seed(state->channels, &state->seed->transit);
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
	struct gy_datagram_group *group;
	int *fds;
	uint32_t loop; /* of the first one */
};

static struct gy_datagram_seed *make_seed(const struct setup *setup, uint32_t index)
{
	const struct gyre_datagram_options *options = setup->options;
	struct gy_datagram_seed *seed = (struct gy_datagram_seed *)gy_memory_get(sizeof(*seed));
	bool is_unix = setup->sockets.address.storage.ss_family == AF_UNIX;

	if (seed == NULL) {
		return NULL;
	}
	(void)gy_fetch_add(&setup->group->references, 1);
	*seed = (struct gy_datagram_seed){
		.transit = { .discard = free_seed, .fd = setup->fds[index] },
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.channel = options->channel,
		.connected = setup->sockets.peer.bytes > 0,
		.is_unix = is_unix,
		.batched = setup->sockets.batched && !is_unix,
		.group = setup->group,
		.number = index,
	};
	if (index == 0) {
		seed->file = setup->file;
	}
	return seed;
}

/* Takes the descriptor, whatever is returned. */
static int spawn(const struct setup *setup, uint32_t index)
{
	struct gy_datagram_seed *seed = make_seed(setup, index);

	if (seed == NULL) {
		(void)close(setup->fds[index]);
		return -ENOMEM;
	}
	return place(seed, (setup->loop + index) % gy_loops_count(setup->homes->loops));
}

static int make_group(struct setup *setup)
{
	uint32_t count = setup->sockets.count;

	setup->group = (struct gy_datagram_group *)gy_memory_get(
		sizeof(*setup->group) + count * sizeof(setup->group->actors[0]));
	if (setup->group == NULL) {
		return -ENOMEM;
	}
	setup->group->references = 1;
	setup->group->homes = setup->homes;
	setup->group->count = count;
	return 0;
}

/* The first loop's actor comes last, for it ends the others. Takes the descriptors. */
static int spawn_all(struct setup *setup)
{
	uint32_t count = setup->sockets.count;
	uint32_t left = count;
	int r = make_group(setup);

	while (left > 0 && r == 0) {
		left--;
		r = spawn(setup, left);
	}
	if (r == 0) {
		return 0;
	}
	for (uint32_t i = left + 1; i < count && setup->group != NULL; i++) {
		struct gyre_address actor = setup->group->actors[i];

		gy_stop_from_outside(&setup->homes->homes[actor.loop], actor);
	}
	while (left > 0) {
		(void)close(setup->fds[--left]);
	}
	return r;
}

/* Where the only one goes; several begin with the first loop. */
static int find_loop(struct setup *setup, uint32_t loops)
{
	const struct gyre_spawn_options *place = &setup->options->place;
	const struct gy_home_options *home = &setup->homes->homes[0].options;

	if ((unsigned)place->place > GYRE_PLACE_ROUND_ROBIN ||
	    (place->place == GYRE_PLACE_LOOP && place->loop >= loops)) {
		return -EINVAL;
	}
	if (setup->sockets.count == 1 && place->place == GYRE_PLACE_LOOP) {
		setup->loop = place->loop;
	} else if (setup->sockets.count == 1 && place->place == GYRE_PLACE_ROUND_ROBIN) {
		setup->loop = home->next_loop(home->system, true);
	}
	return 0;
}

/* With the mutex held that guards the number of loops. */
static int open_all(struct setup *setup, uint32_t loops)
{
	int r;

	if (setup->sockets.count > loops) {
		setup->sockets.count = loops;
	}
	r = find_loop(setup, loops);
	if (r < 0) {
		return r;
	}
	r = gy_datagram_sockets_open(&setup->sockets, setup->fds);
	if (r < 0) {
		return r;
	}
	gy_socket_file_set(&setup->file, &setup->sockets.address);
	r = spawn_all(setup);
	if (r < 0) {
		gy_socket_file_remove(&setup->file);
	}
	return r;
}

static void tell_address(const struct setup *setup)
{
	const struct gyre_datagram_options *options = setup->options;

	if (options->ret_port != NULL) {
		*options->ret_port = gyre_socket_address_port(&setup->sockets.address);
	}
	if (options->ret_address != NULL) {
		*options->ret_address = setup->sockets.address;
	}
}

static int set_up(struct setup *setup, struct gyre_address *ret_actor)
{
	int r = gy_datagram_sockets_plan(&setup->sockets, setup->homes->loops->max);

	if (r < 0) {
		return r;
	}
	(void)pthread_mutex_lock(&setup->homes->placing);
	r = open_all(setup, gy_loops_count(setup->homes->loops));
	if (r == 0 && ret_actor != NULL) {
		*ret_actor = setup->group->actors[0];
	}
	(void)pthread_mutex_unlock(&setup->homes->placing);
	unref_group(setup->group);
	if (r == 0) {
		tell_address(setup);
	}
	return r;
}

static bool are_valid(const struct gyre_datagram_options *options)
{
	return options != NULL && options->init_channel != NULL &&
	       options->receive_buffer_bytes <= INT32_MAX &&
	       options->send_buffer_bytes <= INT32_MAX &&
	       (options->groups_count == 0 || options->groups != NULL);
}

int gyre_datagram_open(struct gyre_system *system, const struct gyre_datagram_options *options,
		       struct gyre_address *ret_actor)
{
	struct setup setup = { .options = options };
	int r = -ENOMEM;

	if (system == NULL || !are_valid(options)) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(system);
	setup.sockets.options = options;
	setup.sockets.log = setup.homes->log;
	setup.fds = (int *)gy_memory_get(setup.homes->loops->max * sizeof(*setup.fds));
	if (setup.fds != NULL) {
		r = set_up(&setup, ret_actor);
	}
	gy_memory_put(setup.fds);
	return r;
}

/* ---- opening by an actor ---- */

/* The loop of @place, which becomes that one. */
static int resolve(const struct gy_house *house, struct gyre_spawn_options *place)
{
	const struct gy_home *home = house->home;

	if (place->place == GYRE_PLACE_HERE) {
		place->loop = house->self.loop;
	} else if (place->place == GYRE_PLACE_ROUND_ROBIN) {
		place->loop = home->options.next_loop(home->options.system, true);
	} else if (place->place != GYRE_PLACE_LOOP ||
		   place->loop >= gy_loops_count(home->loop.peers)) {
		return -EINVAL;
	}
	place->place = GYRE_PLACE_LOOP;
	return 0;
}

/* Takes the descriptor, whatever is returned. */
static int spawn_child(struct gyre_stack *stack, const struct setup *setup,
		       const struct gyre_spawn_options *place, struct gyre_address *ret_actor)
{
	struct gy_spawn_order order = { .class = &gy_datagram_class, .channels_actor = true };
	struct gy_channels *channels = gy_channels_of(&setup->homes->homes[place->loop]);
	struct gy_datagram_seed *seed = make_seed(setup, 0);
	int r = -ENOMEM;

	if (seed == NULL) {
		(void)close(setup->fds[0]);
		return -ENOMEM;
	}
	order.argument = gyre_new(stack, gy_datagram_argument, seed);
	gy_transit_begin(channels, &seed->transit);
	if (order.argument != NULL) {
		r = gy_spawn_by(stack, &order, place, ret_actor);
	}
	if (r < 0) {
		gy_channels_close(channels, gy_transit_end(channels, &seed->transit));
		drop_seed(seed);
	}
	return r;
}

static int open_child(struct gyre_stack *stack, struct setup *setup, struct gyre_address *ret_actor)
{
	struct gyre_spawn_options place = setup->options->place;
	int r = resolve(gy_stack_of(stack)->house, &place);

	if (r == 0) {
		r = gy_datagram_sockets_open(&setup->sockets, setup->fds);
	}
	if (r < 0) {
		return r;
	}
	gy_socket_file_set(&setup->file, &setup->sockets.address);
	(void)pthread_mutex_lock(&setup->homes->placing);
	r = make_group(setup);
	if (r < 0) {
		(void)close(setup->fds[0]);
	} else {
		r = spawn_child(stack, setup, &place, &setup->group->actors[0]);
	}
	if (r == 0) {
		*ret_actor = setup->group->actors[0];
	}
	(void)pthread_mutex_unlock(&setup->homes->placing);
	unref_group(setup->group);
	if (r < 0) {
		gy_socket_file_remove(&setup->file);
	}
	return r;
}

int gyre_datagram_spawn(struct gyre_stack *stack, const struct gyre_datagram_options *options,
			struct gyre_address *ret_actor)
{
	struct setup setup = { .options = options };
	int fd = -1;
	int r;

	if (ret_actor == NULL || !are_valid(options)) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(gyre_system_of(stack));
	setup.fds = &fd;
	setup.sockets.options = options;
	setup.sockets.log = setup.homes->log;
	setup.sockets.of_actor = true;
	r = gy_datagram_sockets_plan(&setup.sockets, 1);
	if (r == 0) {
		r = open_child(stack, &setup, ret_actor);
	}
	if (r == 0) {
		tell_address(&setup);
	}
	return r;
}
