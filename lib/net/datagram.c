/*
 * The datagram actor: a channels actor with one channel, for the datagrams of its loop. It ends
 * with its channel, and the channel with it. As with acceptors the one of the first loop is the one
 * that users know: when it stops it stops the others.
 *
 * A loop that retires gives a copy of its descriptor, and so the socket with all that is in it, to
 * an actor of another loop; its own channel delivers what it has taken out, and ends.
 *
 * All that can be refused is done by the calling thread, before any actor is spawned; the handlers
 * of the channel may then choose other addresses, see datagram_orders.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <gyre/move.h>

#include "actor/stack.h"
#include "base/memory.h"
#include "channel/datagram.h"
#include "channel/endpoint.h"
#include "channel/marks.h"
#include "channel/socket_address.h"
#include "net/datagram.h"

static const struct gy_log *log_of(const struct gy_channels *channels)
{
	return channels->home->loop.options.log;
}

/* ---- groups ---- */

/* Without the mutex, unless another reference is known to be left. */
static void unref_group(struct gy_datagram_group *group)
{
	if (group != NULL && gy_fetch_add(&group->references, -1U) == 1) {
		struct gy_homes *homes = group->homes;

		(void)pthread_mutex_lock(&homes->placing);
		gy_holding_remove_file(homes, &group->holding);
		gy_holding_remove(&group->holding);
		(void)pthread_mutex_unlock(&homes->placing);
		gy_memory_put(group->options);
		gy_memory_put(group);
	}
}

static void drop_seed(struct gy_datagram_seed *seed)
{
	if (seed != NULL) {
		unref_group(seed->group);
		gy_multicast_forget(seed->changes);
		gy_memory_put(seed);
	}
}

static void free_seed(struct gy_channels *channels, struct gy_transit *transit)
{
	struct gy_datagram_seed *seed = gy_container_of(transit, struct gy_datagram_seed, transit);

	(void)channels;
	drop_seed(seed);
}

static void begin(struct gy_datagram_seed *seed, struct gy_channels *channels)
{
	seed->channels = channels;
	gy_transit_begin(channels, &seed->transit);
	gy_opening_begin(seed->group->homes);
}

/* Of an actor that could not be spawned, with its argument, if it got that far. */
static void give_up(struct gy_datagram_seed *seed, struct gyre_stack *stack, struct gyre_mail *mail)
{
	if (mail != NULL) {
		((struct gy_datagram_argument *)gyre_payload(mail))->seed = NULL;
		gyre_mail_free(stack, mail);
	}
	gy_channels_close(seed->channels, gy_transit_end(seed->channels, &seed->transit));
	gy_opening_end(seed->group->homes);
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

	group->holding.fds[seed->number] = seed->transit.fd;
	begin(seed, channels);
	if (r == 0) {
		((struct gy_datagram_argument *)gyre_payload(mail))->seed = seed;
		r = gy_spawn_from_outside(home,
					  &(struct gy_spawn_order){ .class = &gy_datagram_class,
								    .argument = mail,
								    .channels_actor = true,
								    .lent = true },
					  &group->actors[seed->number]);
	}
	if (r < 0) {
		group->holding.fds[seed->number] = -1;
		give_up(seed, NULL, mail);
	}
	return r;
}

/* ---- the actor ---- */

struct state {
	struct gy_channels *channels;
	struct gy_datagram_seed *seed;
	struct gy_house *house;
	struct gyre_address self;
	struct gy_datagram_orders orders;
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

/* It is not passed on any more, unless it is another's by now; its file goes with it. -1 for one
 * that was closed on the way. */
static void closes(void *arg, int fd)
{
	const struct gy_datagram_seed *seed = ((const struct state *)arg)->seed;
	struct gy_holding *holding = &seed->group->holding;

	(void)pthread_mutex_lock(&seed->group->homes->placing);
	if (fd < 0 || holding->fds[seed->number] == fd) {
		holding->fds[seed->number] = -1;
		if (seed->number == 0) {
			gy_holding_remove_file(seed->group->homes, holding);
		}
	}
	(void)pthread_mutex_unlock(&seed->group->homes->placing);
}

/* A socket like this one, with all that is in it, for an actor of another loop. */
static int send_away(const struct state *state, int fd)
{
	struct gy_datagram_seed *own = state->seed;
	struct gy_datagram_seed *seed = (struct gy_datagram_seed *)gy_memory_get(sizeof(*seed));
	struct gy_homes *homes = own->group->homes;
	int r = 0;

	if (seed == NULL) {
		return -ENOMEM;
	}
	*seed = *own;
	seed->orders = own->orders && state->orders.connector.step != GY_CONNECTOR_ORDERED;
	seed->transit =
		(struct gy_transit){ .discard = free_seed, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	if (seed->transit.fd < 0) {
		r = -errno;
		gy_memory_put(seed);
		return r;
	}
	own->changes = NULL; /* they go with the socket */
	(void)gy_fetch_add(&seed->group->references, 1);
	(void)pthread_mutex_lock(&homes->placing);
	if (seed->group->holding.ended) {
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
	int r = 0;

	if (!gy_load_acquire(&state->seed->group->holding.handed_over)) { /* else it is elsewhere */
		r = send_away(state, fd);
	}
	if (r < 0) {
		gy_log(log_of(state->channels), GYRE_LOG_WARNING,
		       "loop %u: it retires, and its datagrams cannot go to another: %s",
		       (unsigned)state->channels->home->loop.index, strerrordesc_np(-r));
	}
}

/* ---- the report ---- */

static void report(const struct gy_datagram_seed *seed, struct gyre_handler_context *ctx,
		   enum gyre_datagram_step step)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_datagram_event event = { .step = step, .reason = gyre_channel_reason(channel) };

	/* It is a socket, and open: that cannot fail. */
	(void)gyre_channel_local_address(channel, &event.address);
	seed->report(gyre_context_stack(ctx), &event, channel, seed->report_arg);
}

static void reporter_removed(struct gyre_handler_context *ctx)
{
	report((const struct gy_datagram_seed *)gyre_context_arg(ctx), ctx, GYRE_DATAGRAM_CLOSED);
}

/* Its handlers may have had it bound elsewhere. */
static void reporter_active(struct gyre_handler_context *ctx)
{
	report((const struct gy_datagram_seed *)gyre_context_arg(ctx), ctx, GYRE_DATAGRAM_BOUND);
	gyre_fire_active(ctx);
}

static const struct gyre_handler reporter = { .active = reporter_active,
					      .removed = reporter_removed };

static int init_reported(struct gyre_channel *channel, void *arg)
{
	struct gy_datagram_seed *seed = (struct gy_datagram_seed *)arg;
	int r = gyre_pipeline_add_first(channel, &reporter, seed);

	return r < 0 ? r : seed->init_channel(channel, seed->init_arg);
}

/* ---- the life of the actor ---- */

/* Opens the channel, or closes the descriptor. */
static int open_channel(struct gyre_stack *stack, struct gy_datagram_seed *seed)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_channels *channels = gy_channels_of(s->home);
	struct state *state = (struct state *)gyre_state(stack);
	struct gy_datagram_opening opening = {
		.channel = { .fd = gy_transit_end(channels, &seed->transit),
			     .options = &seed->channel,
			     .init = seed->init_channel,
			     .init_arg = seed->init_arg },
		.closes = closes,
		.ended = channel_ended,
		.ended_arg = state,
		.leave = leave,
		.connected = seed->connected,
		.is_unix = seed->is_unix,
		.batched = seed->batched,
	};

	if (seed->report != NULL) {
		opening.channel.init = init_reported;
		opening.channel.init_arg = seed;
	}
	*state = (struct state){
		.channels = channels, .seed = seed, .house = s->house, .self = gyre_self(stack)
	};
	if (opening.channel.fd < 0 || channels->draining) {
		closes(state, opening.channel.fd);
		gy_channels_close(channels, opening.channel.fd);
		return -ESHUTDOWN;
	}
	if (seed->orders) {
		gy_datagram_orders_init(&state->orders, seed, s->house, opening.channel.fd);
		opening.connector = &state->orders.connector;
	}
	return gy_datagram_open(s->house, s, &opening);
}

static int mount(struct gyre_stack *stack)
{
	struct gy_home *home = gy_stack_of(stack)->home;
	struct gy_datagram_argument argument;
	int r = gyre_message_move(stack, &gyre_type_gy_datagram_argument, &argument);

	if (r < 0) {
		return r;
	}
	r = open_channel(stack, argument.seed);
	if (r == -ENOMEM && !gy_channels_of(home)->draining) {
		gy_opening_fail(home, "opening", &argument.seed->address,
				argument.seed->group->holding.text, r);
	} else {
		gy_opening_end(gy_homes_of(home->options.system));
	}
	return r == -ESHUTDOWN ? gyre_stop(stack, gyre_self(stack))
	       : r < 0	       ? r
			       : gyre_return(stack);
}

static void stop_others(struct gy_datagram_group *group, struct gy_home *home)
{
	group->holding.ended = true;
	for (uint32_t i = 1; i < group->count; i++) {
		if (!gyre_address_is_nobody(group->actors[i])) {
			(void)gy_send_signal(home, group->actors[i], &gy_type_stop, GY_MAIL_EVENT);
		}
	}
}

static void lose(struct gy_datagram_seed *seed)
{
	struct gy_datagram_group *group = seed->group;
	struct gy_home *home = seed->channels->home;

	if (home->draining) { /* the socket goes with all that is on its way */
		gy_opening_end(group->homes);
		return;
	}
	(void)pthread_mutex_lock(&group->homes->placing);
	group->holding.fds[seed->number] = -1;
	group->actors[seed->number] = GYRE_NOBODY;
	if (seed->number == 0) {
		gy_holding_remove_file(group->homes, &group->holding);
		stop_others(group, home);
	}
	(void)pthread_mutex_unlock(&group->homes->placing);
	gy_channels_close(seed->channels, gy_transit_end(seed->channels, &seed->transit));
	gy_opening_fail(home, "opening", &seed->address, group->holding.text, -ENOMEM);
	drop_seed(seed);
}

void gy_datagram_argument_destroy(struct gy_datagram_argument *argument)
{
	if (argument->seed != NULL) {
		lose(argument->seed);
	}
}

/* The others end with the first; a drain or another process stops them without help. */
static void leave_group(const struct state *state)
{
	struct gy_datagram_group *group = state->seed->group;
	struct gyre_address *actor = &group->actors[state->seed->number];

	(void)pthread_mutex_lock(&group->homes->placing);
	if (gy_address_same(*actor, state->self)) {
		*actor = GYRE_NOBODY;
	}
	if (state->seed->number == 0 && !state->channels->draining && !group->holding.handed_over) {
		stop_others(group, state->channels->home);
	}
	(void)pthread_mutex_unlock(&group->homes->placing);
}

static void clean(void *arg)
{
	struct state *state = (struct state *)arg;

	if (state->seed != NULL) {
		leave_group(state);
		free_seed(state->channels, &state->seed->transit);
	}
}

const struct gyre_class gy_datagram_class = {
	.name = "datagram",
	.state_bytes = sizeof(struct state),
	.mount = mount,
	.clean = clean,
};

/* ---- handing over ---- */

static void leave_all(struct gy_holding *holding)
{
	const struct gy_datagram_group *group =
		gy_container_of(holding, struct gy_datagram_group, holding);

	for (uint32_t i = 0; i < group->count; i++) {
		struct gyre_address actor = group->actors[i];

		if (!gyre_address_is_nobody(actor) &&
		    gy_holding_order(group->homes, actor, gy_endpoints_leave) < 0) {
			gy_stop_from_outside(&group->homes->homes[actor.loop], actor);
		}
	}
}

static bool have_left(const struct gy_holding *holding)
{
	const struct gy_datagram_group *group =
		gy_container_of(holding, struct gy_datagram_group, holding);

	for (uint32_t i = 0; i < group->count; i++) {
		if (!gyre_address_is_nobody(group->actors[i])) {
			return false;
		}
	}
	return true;
}

/* One of several is in the groups. */
static int adopt_all(const struct gy_holding *holding)
{
	const struct gy_datagram_group *group =
		gy_container_of(holding, struct gy_datagram_group, holding);
	enum gy_socket_origin origin =
		gy_inherit_is_meant(holding->text) ? GY_SOCKET_GIVEN : GY_SOCKET_PASSED;
	struct gyre_datagram_options options = *group->options;
	struct gyre_socket_address address;
	int r = 0;

	for (uint32_t i = 0; i < holding->max && r == 0; i++) {
		if (holding->fds[i] >= 0) {
			(void)gy_socket_address_of(holding->fds[i], &address);
			r = gy_datagram_socket_adopt(holding->fds[i], address.storage.ss_family,
						     &options, origin);
			options.groups_count = 0;
		}
	}
	return r;
}

static const struct gy_holding_ops holding_ops = { .leave = leave_all,
						   .has_left = have_left,
						   .adopt = adopt_all };

/* ---- opening ---- */

struct setup {
	const struct gyre_datagram_options *options;
	struct gy_homes *homes;
	struct gy_datagram_sockets sockets;
	struct gy_datagram_group *group;
	struct gy_passed *passed; /* sockets of a predecessor; NULL for none */
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
		.report = options->report,
		.report_arg = options->report_arg,
		.connected = setup->sockets.peer.bytes > 0,
		.is_unix = is_unix,
		.batched = setup->sockets.batched && !is_unix,
		.orders = !setup->sockets.inherited && setup->passed == NULL,
		.named = setup->sockets.named,
		.address = setup->sockets.address,
		.peer = setup->sockets.peer,
		.group = setup->group,
		.number = index,
	};
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

/* Whether another process can take the sockets: no actor is their parent, nobody else is connected
 * with one. */
static bool is_holding(const struct setup *setup)
{
	return !setup->sockets.of_actor && setup->options->bind != NULL &&
	       setup->options->connect == NULL;
}

static int make_group(struct setup *setup)
{
	const char *text = is_holding(setup) ? setup->options->bind : "";
	uint32_t count = setup->sockets.count;
	size_t text_bytes = strlen(text) + 1;
	struct gy_datagram_group *group = (struct gy_datagram_group *)gy_memory_get(
		sizeof(*group) + count * (sizeof(group->actors[0]) + sizeof(int)) + text_bytes);
	int *fds;

	if (group == NULL) {
		return -ENOMEM;
	}
	group->options = gy_datagram_options_copy(setup->options);
	if (group->options == NULL) {
		gy_memory_put(group);
		return -ENOMEM;
	}
	fds = (int *)(void *)&group->actors[count];
	group->references = 1;
	group->homes = setup->homes;
	group->count = count;
	group->holding = (struct gy_holding){
		.ops = &holding_ops,
		.kind = GY_PASSING_DATAGRAMS,
		.max = count,
		.fds = fds,
		.text = (char *)memcpy(&fds[count], text, text_bytes),
		.shared = setup->passed != NULL,
	};
	for (uint32_t i = 0; i < count; i++) {
		fds[i] = -1;
	}
	gy_list_init(&group->holding.item);
	if (is_holding(setup)) {
		gy_holding_add(setup->homes, &group->holding);
	}
	if (!setup->sockets.inherited) {
		gy_socket_file_set(&group->holding.file, &setup->sockets.address);
	}
	setup->group = group;
	return 0;
}

/* What gyre_datagram_open() has bound, and there is no group for. */
static void remove_file(const struct setup *setup)
{
	struct gy_socket_file file = { 0 };

	if (!setup->sockets.inherited && setup->passed == NULL) {
		gy_socket_file_set(&file, &setup->sockets.address);
		gy_socket_file_remove(&file);
	}
}

/* The first loop's actor comes last, for it ends the others. Takes the descriptors. */
static int spawn_all(struct setup *setup)
{
	uint32_t count = setup->sockets.count;
	uint32_t left = count;
	int r = make_group(setup);

	if (r < 0) {
		remove_file(setup);
	}
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

static int inherit(struct setup *setup, uint32_t loops)
{
	const struct gy_listening listening = { .text = setup->options->bind,
						.log = setup->homes->log,
						.datagrams = true };
	int count = gy_inherit(&listening, loops, setup->fds);
	int r = count < 0 ? count : 0;

	if (r < 0) {
		return r;
	}
	gy_datagram_sockets_adopt(&setup->sockets, (uint32_t)count, (uint32_t)count, setup->fds);
	for (int i = 0; i < count && r == 0; i++) {
		r = gy_datagram_socket_adopt(setup->fds[i],
					     setup->sockets.address.storage.ss_family,
					     setup->options, GY_SOCKET_GIVEN);
	}
	if (r < 0) {
		gy_log(setup->homes->log, GYRE_LOG_ERROR,
		       "cannot use %s: %s; the options of the call do not fit its sockets",
		       setup->options->bind, strerror(-r));
	}
	while (r < 0 && count > 0) {
		(void)close(setup->fds[--count]);
	}
	return r;
}

/* All that were passed, for with one that is closed all that waits in it would be lost. */
static void take_passed(struct setup *setup, uint32_t wanted)
{
	uint32_t count = setup->passed->count;

	memcpy(setup->fds, setup->passed->fds, count * sizeof(int));
	setup->passed->count = 0;
	gy_datagram_sockets_adopt(&setup->sockets, count, wanted, setup->fds);
}

/* Where the only one goes; several begin with the first loop. */
static int find_loop(struct setup *setup, uint32_t loops)
{
	const struct gyre_spawn_options *place = &setup->options->place;
	const struct gy_home_options *home = &setup->homes->homes[0].options;

	if ((unsigned)place->place > GYRE_PLACE_ROUND_ROBIN ||
	    (place->place == GYRE_PLACE_LOOP && place->loop >= loops)) {
		return gy_datagram_refuse("place is not one, or of a loop that the system has not",
					  setup->homes->log);
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
	uint32_t wanted = setup->sockets.count < loops ? setup->sockets.count : loops;
	uint32_t passed;
	int r;

	setup->sockets.count = wanted;
	r = find_loop(setup, loops);
	if (r < 0) {
		return r;
	}
	setup->passed = is_holding(setup) ? gy_passed_take(setup->homes, GY_PASSING_DATAGRAMS,
							   setup->options->bind)
					  : NULL;
	passed = setup->passed == NULL ? 0 : setup->passed->count;
	setup->fds = (int *)gy_memory_get((loops + passed) * sizeof(*setup->fds));
	if (setup->fds == NULL) {
		return -ENOMEM;
	}
	if (setup->passed != NULL) {
		take_passed(setup, setup->sockets.inherited ? passed : wanted);
	} else if (setup->sockets.inherited) {
		r = inherit(setup, loops);
	} else {
		r = gy_datagram_sockets_open(&setup->sockets, setup->fds);
	}
	return r < 0 ? r : spawn_all(setup);
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

int gyre_datagram_open(struct gyre_system *system, const struct gyre_datagram_options *options,
		       struct gyre_address *ret_actor)
{
	struct setup setup = { .options = options };
	int r;

	if (system == NULL || options == NULL) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(system);
	setup.sockets.options = options;
	setup.sockets.log = setup.homes->log;
	setup.sockets.bound_until_ns = gy_load_relaxed(&setup.homes->bound_until_ns);
	r = gy_datagram_check(options, setup.homes->log);
	if (r == 0) {
		r = gy_marks_check(gy_channels_of(&setup.homes->homes[0]), &options->channel,
				   setup.homes->log);
	}
	if (r == 0) {
		r = set_up(&setup, ret_actor);
	}
	for (uint32_t i = 0; setup.passed != NULL && i < setup.passed->count; i++) {
		(void)close(setup.passed->fds[i]);
	}
	gy_passed_free(setup.passed);
	gy_memory_put(setup.fds);
	return r;
}

/* ---- opening by an actor ---- */

/* Takes the descriptor, whatever is returned. */
static int spawn_child(struct gyre_stack *stack, const struct setup *setup,
		       const struct gyre_spawn_options *place, struct gyre_address *ret_actor)
{
	struct gy_spawn_order order = { .class = &gy_datagram_class,
					.channels_actor = true,
					.lent = true };
	struct gy_datagram_seed *seed = make_seed(setup, 0);
	int r = -ENOMEM;

	if (seed == NULL) {
		(void)close(setup->fds[0]);
		return -ENOMEM;
	}
	begin(seed, gy_channels_of(&setup->homes->homes[place->loop]));
	order.argument = gyre_mail_new(stack, &gyre_type_gy_datagram_argument);
	if (order.argument != NULL) {
		((struct gy_datagram_argument *)gyre_payload(order.argument))->seed = seed;
		r = gy_spawn_by(stack, &order, place, ret_actor);
	}
	if (r < 0) {
		give_up(seed, stack, order.argument);
	}
	return r;
}

static int open_child(struct gyre_stack *stack, struct setup *setup, struct gyre_address *ret_actor)
{
	struct gyre_spawn_options place = setup->options->place;
	int r = gy_opening_place(gy_stack_of(stack)->house, &place);

	if (r == 0) {
		r = gy_datagram_sockets_open(&setup->sockets, setup->fds);
	}
	if (r < 0) {
		return r;
	}
	(void)pthread_mutex_lock(&setup->homes->placing);
	r = make_group(setup);
	if (r < 0) {
		remove_file(setup);
		(void)close(setup->fds[0]);
	} else {
		r = spawn_child(stack, setup, &place, &setup->group->actors[0]);
	}
	if (r == 0) {
		*ret_actor = setup->group->actors[0];
	}
	(void)pthread_mutex_unlock(&setup->homes->placing);
	unref_group(setup->group);
	return r;
}

int gyre_datagram_spawn(struct gyre_stack *stack, const struct gyre_datagram_options *options,
			struct gyre_address *ret_actor)
{
	struct setup setup = { .options = options };
	int fd = -1;
	int r;

	if (ret_actor == NULL || options == NULL || gy_datagram_check(options, NULL) < 0) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(gyre_system_of(stack));
	setup.fds = &fd;
	setup.sockets.options = options;
	setup.sockets.log = setup.homes->log;
	setup.sockets.of_actor = true;
	r = gy_marks_check(gy_channels_of(&setup.homes->homes[0]), &options->channel, NULL);
	if (r == 0) {
		r = gy_datagram_sockets_plan(&setup.sockets, 1);
	}
	if (r == 0) {
		r = open_child(stack, &setup, ret_actor);
	}
	if (r == 0) {
		tell_address(&setup);
	}
	return r;
}
