/*
 * Opening datagram sockets, from outside or by an actor, and handing them over. All that can be
 * refused is done by the calling thread, before any actor is spawned; see datagram_actor.c for the
 * actor.
 */
#include <errno.h>
#include <string.h>

#include "actor/life/lifecycle.h"
#include "actor/log_of.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "buffer/socket_address.h"
#include "channel/channel_actor.h"
#include "channel/output/water_marks.h"
#include "net/bounds.h"
#include "net/datagram/datagram.h"
#include "net/fd_passing.h"
#include "net/inherit.h"
#include "net/listening.h"
#include "net/net_state.h"
#include "net/pending_open.h"
#include "net/socket_file.h"
#include "net/socket_option.h"
#include "net/socket_registry.h"
#include "net/sockets.h"
#include "ring/descriptor.h"

/* ---- handing over ---- */

static void leave_all(struct gy_socket_entry *entry)
{
	struct gy_datagram_group *group = gy_container_of(entry, struct gy_datagram_group, entry);

	for (uint32_t i = 0; i < group->count; i++) {
		struct gyre_address actor = group->stands[i].actor;

		if (!gyre_address_is_nobody(actor) &&
		    gy_socket_entry_order(group->homes, actor, gy_datagram_leave) < 0) {
			gy_datagram_stop(group, i);
		}
	}
}

static bool have_left(const struct gy_socket_entry *entry)
{
	const struct gy_datagram_group *group =
		gy_container_of(entry, struct gy_datagram_group, entry);

	for (uint32_t i = 0; i < group->count; i++) {
		if (!gyre_address_is_nobody(group->stands[i].actor)) {
			return false;
		}
	}
	return true;
}

/* Only the first socket joins the groups. */
static int adopt_all(const struct gy_socket_entry *entry)
{
	const struct gy_datagram_group *group =
		gy_container_of(entry, struct gy_datagram_group, entry);
	enum gy_socket_origin origin =
		gy_inherit_is_meant(entry->text) ? GY_SOCKET_GIVEN : GY_SOCKET_PASSED;
	struct gyre_datagram_options options = *group->options;
	struct gyre_socket_address address;
	int r = 0;

	for (uint32_t i = 0; i < entry->max && r == 0; i++) {
		if (entry->fds[i] >= 0) {
			(void)gy_socket_address_of(entry->fds[i], &address);
			r = gy_datagram_socket_adopt(entry->fds[i], address.storage.ss_family,
						     &options, origin);
			options.groups_count = 0;
		}
	}
	return r;
}

static const struct gy_socket_entry_ops datagram_entry_ops = { .leave = leave_all,
							       .has_left = have_left,
							       .adopt = adopt_all };

/* ---- opening ---- */

struct setup {
	const struct gyre_datagram_options *options;
	struct gy_homes *homes;
	struct gy_datagram_sockets sockets;
	struct gy_datagram_group *group;
	struct gy_passed_sockets *passed; /* sockets of a predecessor; NULL for none */
	int *fds;
	uint32_t loop; /* of the first one */
};

static struct gy_datagram_pending *make_pending(const struct setup *setup, uint32_t index)
{
	const struct gyre_datagram_options *options = setup->options;
	struct gy_datagram_pending *pending =
		(struct gy_datagram_pending *)gy_memory_get(sizeof(*pending));
	bool is_unix = setup->sockets.address.storage.ss_family == AF_UNIX;

	gy_assert(index < setup->sockets.count && setup->fds[index] >= 0);
	if (pending == NULL) {
		return NULL;
	}
	(void)gy_fetch_add(&setup->group->references, 1);
	*pending = (struct gy_datagram_pending){
		.transit = { .discard = gy_datagram_pending_discard, .fd = setup->fds[index] },
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.actor_class = options->actor_class,
		.bond = options->bond,
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
	return pending;
}

/* Takes the descriptor, whatever is returned. */
static int spawn(const struct setup *setup, uint32_t index)
{
	struct gy_datagram_pending *pending = make_pending(setup, index);

	if (pending == NULL) {
		(void)gy_descriptor_close(setup->fds[index]);
		return -ENOMEM;
	}
	return gy_datagram_place(pending,
				 (setup->loop + index) % gy_loops_count(setup->homes->loops));
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
		sizeof(*group) + count * (sizeof(group->stands[0]) + sizeof(int)) + text_bytes);
	int *fds;

	if (group == NULL) {
		return -ENOMEM;
	}
	group->options = gy_datagram_options_copy(setup->options);
	if (group->options == NULL) {
		gy_memory_put(group);
		return -ENOMEM;
	}
	fds = (int *)(void *)&group->stands[count];
	group->references = 1;
	group->homes = setup->homes;
	group->count = count;
	group->entry = (struct gy_socket_entry){
		.ops = &datagram_entry_ops,
		.kind = GY_FD_MESSAGE_DATAGRAMS,
		.max = count,
		.fds = fds,
		.text = (char *)memcpy(&fds[count], text, text_bytes),
		.shared = setup->passed != NULL,
	};
	for (uint32_t i = 0; i < count; i++) {
		group->stands[i].group = group;
		fds[i] = -1;
	}
	gy_list_init(&group->entry.item);
	if (is_holding(setup)) {
		gy_socket_entry_add(setup->homes, &group->entry);
	}
	if (!setup->sockets.inherited) {
		gy_socket_file_set(&group->entry.file, &setup->sockets.address);
	}
	setup->group = group;
	return 0;
}

/* The file of a socket that was bound, and for which no group could be made. */
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
		gy_datagram_stop(setup->group, i);
	}
	while (left > 0) {
		(void)gy_descriptor_close(setup->fds[--left]);
	}
	return r;
}

static int inherit(struct setup *setup, uint32_t loops)
{
	const struct gy_listen_params listening = { .text = setup->options->bind,
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
		(void)gy_descriptor_close(setup->fds[--count]);
	}
	return r;
}

/* All that were passed, for with one that is closed all that waits in it would be lost. */
static void take_passed(struct setup *setup, uint32_t wanted)
{
	uint32_t count = setup->passed->count;

	gy_assert(count > 0 && wanted > 0);
	memcpy(setup->fds, setup->passed->fds, count * sizeof(int));
	setup->passed->count = 0;
	gy_datagram_sockets_adopt(&setup->sockets, count, wanted, setup->fds);
}

/* The loop of a single socket; several begin with the first loop. */
static int find_loop(struct setup *setup, uint32_t loops)
{
	const struct gyre_spawn_options *place = &setup->options->place;
	const struct gy_home_options *home = &setup->homes->homes[0].options;

	if ((unsigned)place->place > GYRE_PLACE_ROUND_ROBIN ||
	    (place->place == GYRE_PLACE_LOOP && place->loop >= loops)) {
		return gy_datagram_refuse("place is not one, or of a loop that the system has not",
					  setup->homes->log);
	}
	if (place->name != NULL) {
		return gy_datagram_refuse("a name of place is for a socket that an actor opens",
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

	gy_assert(loops > 0 && wanted > 0);
	setup->sockets.count = wanted;
	r = find_loop(setup, loops);
	if (r < 0) {
		return r;
	}
	setup->passed = is_holding(setup)
				? gy_passed_sockets_take(setup->homes, GY_FD_MESSAGE_DATAGRAMS,
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

static void tell_failed(const struct setup *setup, int r)
{
	const struct gyre_datagram_options *options = setup->options;

	if (r < 0 && options->connect == NULL) {
		gy_listening_failed(setup->homes, options->bind == NULL ? "" : options->bind, r);
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
		*ret_actor = setup->group->stands[0].actor;
	}
	(void)pthread_mutex_unlock(&setup->homes->placing);
	gy_datagram_group_unref(setup->group);
	if (r == 0) {
		tell_address(setup);
	}
	return r;
}

static int open_from_outside(struct gyre_system *system,
			     const struct gyre_datagram_options *options,
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
	setup.sockets.bound_until_ns = gy_load_relaxed(&setup.homes->net->bound_until_ns);
	r = gy_datagram_check(options, setup.homes->log);
	if (r == 0) {
		r = gy_water_marks_check(gy_channels_of(&setup.homes->homes[0]), &options->channel,
					 setup.homes->log);
	}
	if (r == 0) {
		gy_pending_open_may_begin(setup.homes);
		r = set_up(&setup, ret_actor);
	}
	tell_failed(&setup, r);
	gy_passed_sockets_destroy(setup.passed);
	gy_memory_put(setup.fds);
	return r;
}

int gyre_system_datagram_open_sized(struct gyre_system *system,
				    const struct gyre_datagram_options *options,
				    struct gyre_sizes sizes, struct gyre_address *ret_actor)
{
	const struct gy_log *log = gy_log_of_system(system);
	struct gyre_datagram_options whole;
	int r = GY_SIZED_READ(gyre_datagram_options, &whole, options, sizes.options, log);

	if (r == 0) {
		r = gy_options_check_reserved(&whole.channel, &whole.place, log);
	}
	if (r == 0 && system != NULL) {
		r = gy_channel_class_take(gy_homes_of(system), &whole.actor_class,
					  sizes.actor_class, whole.bond, log);
	}
	return r < 0 ? r : open_from_outside(system, options == NULL ? NULL : &whole, ret_actor);
}

/* ---- opening by an actor ---- */

/* Takes the descriptor, whatever is returned. */
static int spawn_child(struct gyre_stack *stack, const struct setup *setup,
		       const struct gyre_spawn_options *place, struct gyre_address *ret_actor)
{
	struct gy_spawn_order order = { .class = &gy_datagram_class,
					.channels_actor = true,
					.lent = true };
	struct gy_datagram_pending *pending = make_pending(setup, 0);
	int r = -ENOMEM;

	if (pending == NULL) {
		(void)gy_descriptor_close(setup->fds[0]);
		return -ENOMEM;
	}
	gy_datagram_pending_begin(pending, gy_channels_of(&setup->homes->homes[place->loop]));
	order.argument = gyre_mail_create(stack, &gyre_type_gy_datagram_argument);
	if (order.argument != NULL) {
		((struct gy_datagram_argument *)gyre_payload(order.argument))->pending = pending;
		r = gy_spawn_by(stack, &order, place, ret_actor);
	}
	if (r < 0) {
		gy_datagram_pending_abort(pending, stack, order.argument);
	}
	return r;
}

static int open_child(struct gyre_stack *stack, struct setup *setup, struct gyre_address *ret_actor)
{
	struct gyre_spawn_options place = setup->options->place;
	int r = gy_pending_open_place(gy_stack_of(stack)->house, &place);

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
		(void)gy_descriptor_close(setup->fds[0]);
	} else {
		r = spawn_child(stack, setup, &place, &setup->group->stands[0].actor);
	}
	if (r == 0 || r == -EEXIST) {
		*ret_actor = setup->group->stands[0].actor;
	}
	(void)pthread_mutex_unlock(&setup->homes->placing);
	gy_datagram_group_unref(setup->group);
	return r;
}

static int open_from(struct gyre_stack *stack, const struct gyre_datagram_options *options,
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
	r = gy_water_marks_check(gy_channels_of(&setup.homes->homes[0]), &options->channel, NULL);
	if (r == 0) {
		r = gy_datagram_sockets_plan(&setup.sockets, 1);
	}
	if (r == 0) {
		r = open_child(stack, &setup, ret_actor);
	}
	if (r == 0) {
		tell_address(&setup);
	}
	tell_failed(&setup, r);
	return r;
}

int gyre_datagram_open_sized(struct gyre_stack *stack, const struct gyre_datagram_options *options,
			     struct gyre_sizes sizes, struct gyre_address *ret_actor)
{
	struct gyre_datagram_options whole;
	int r = GY_SIZED_READ(gyre_datagram_options, &whole, options, sizes.options,
			      gy_log_of_stack(stack));

	if (r == 0) {
		r = gy_options_check_reserved(&whole.channel, &whole.place, gy_log_of_stack(stack));
	}
	if (r == 0) {
		r = gy_channel_class_take(gy_homes_of(gyre_system_of(stack)), &whole.actor_class,
					  sizes.actor_class, whole.bond, NULL);
	}
	return r < 0 ? r : open_from(stack, options == NULL ? NULL : &whole, ret_actor);
}
