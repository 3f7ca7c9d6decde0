/*
 * The life of actors. A spawn reserves the slot at once, on whatever loop, and an order goes to
 * that loop by mail; so the address is good before the actor is mounted. A stop makes the address
 * stale first and then takes down what the house holds; a house with open channels or living
 * children waits for them.
 */
#include <errno.h>
#include <string.h>

#include <gyre/watch.h>

#include "actor/behaviour.h"
#include "actor/class_log.h"
#include "actor/class_sized.h"
#include "actor/house_extra.h"
#include "actor/life/children.h"
#include "actor/life/graceful_stop.h"
#include "actor/life/lifecycle.h"
#include "actor/life/receive_timeout.h"
#include "actor/life/restart.h"
#include "actor/life/shutdown.h"
#include "actor/life/supervise.h"
#include "actor/life/watch.h"
#include "actor/log_of.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"
#include "actor/timer.h"

enum { STATE_BYTES_MAX = 1 << 24, FRAME_BYTES_MAX = 8192, BATCH_MAX = 1024 };

static const struct gyre_type type_spawn = { .name = "spawn",
					     .id = 0x06,
					     .bytes = sizeof(struct gy_spawn_message) };

/* ---- spawning ---- */

static void drop_lanes(struct gy_home *home, struct gy_house *house);
static void leave_extra(struct gy_house *house);

/*
 * Takes back a house that cannot be spawned: the system stops, or memory is lacking. Others may
 * know its address already, and watch it or stop it. The spawner may be in a handler, and hold
 * locks.
 */
static void refuse(struct gy_home *home, struct gy_house *house, const struct gy_spawn_order *order,
		   int error)
{
	if (order->argument != NULL && !order->lent) {
		gy_mail_put(home, order->argument);
	}
	drop_lanes(home, house);
	if (house->extra != NULL) {
		house->extra->reason = error;
		leave_extra(house);
	}
	gy_watch_tell_waiting(house, error);
	gy_slots_release(home, house);
	if (home->tasks_kept != NULL) { /* some may wait for this house, or for another */
		gy_home_post_kept_tasks(home);
	}
}

static int enlist(struct gy_house *house, const struct gy_spawn_order *order)
{
	return gyre_address_is_nobody(order->group)
		       ? 0
		       : house->home->options.directory->enlist(house, order->group);
}

/* Takes the house out of its names and groups. */
static void withdraw(struct gy_house *house)
{
	if (house->extra != NULL && house->extra->directory_entry != NULL) {
		house->home->options.directory->withdraw(house);
	}
}

/* The house, or nobody, gets the name that was reserved for it. */
static int take_name(struct gy_house *house, struct gy_name *name)
{
	return name == NULL ? 0 : house->home->options.directory->take_name(house, name);
}

static int install(struct gy_home *home, struct gy_house *house, const struct gy_spawn_order *order,
		   const struct gy_kin *kin)
{
	struct gy_class_info *info = gy_class_info_enter(home, order->class);
	bool counted = order->counted || order->class->urgent != NULL;
	uint32_t limit = order->class->mailbox_limit == 0 && counted ? UINT32_MAX
								     : order->class->mailbox_limit;

	if (info == NULL) {
		return -ENOMEM;
	}
	house->channels_actor = order->channels_actor;
	if (((order->class->barrier != NULL || order->class->urgent != NULL) &&
	     gy_house_extra_get(house) == NULL) ||
	    gy_family_join(house, order->child_of, kin) < 0 || enlist(house, order) < 0) {
		gy_family_leave(house);
		withdraw(house);
		gy_class_info_leave(info);
		return -ENOMEM;
	}
	gy_store_release(&house->class_info, info); /* whoever draws the tree reads its name */
	gy_store_relaxed(&house->is_root, order->is_root);
	house->behaviour = &order->class->behaviour;
	house->argument = order->argument;
	house->high = true;
	house->plain = info->plain && !order->counted;
	gy_house_set_status(house, GY_HOUSE_MOUNTING);
	if (gy_unlikely(limit != 0)) { /* it has none yet */
		gy_house_set_limit(house, limit);
	}
	gy_count(&home->houses, 1);
	gy_count(&home->counters.spawned, 1);
	gy_loop_mount(&home->loop, &house->job);
	return 0;
}

/* Warns within the limit of the class, unless memory was lacking even for the record of the
 * class. */
static GY_COLD void warn_unmade(struct gy_home *home, const struct gyre_class *class)
{
	const struct gy_class_info *info = gy_class_info_get(home, class);

	if (info != NULL) {
		gy_class_warn(home, info, "no memory to make it; what is sent to it is lost");
	} else {
		gy_log(home->loop.options.log, GYRE_LOG_WARNING,
		       "actor %s: no memory to make it; what is sent to it is lost", class->name);
	}
}

void gy_spawn_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	const struct gy_spawn_message *spawn = (const struct gy_spawn_message *)gyre_payload(mail);
	const struct gy_spawn_order *order = &spawn->order;
	struct gy_house *house = gy_house_at(home, mail->to_slot);

	int r = take_name(house, spawn->name);

	if (gy_likely(r == 0)) {
		r = home->draining || home->leaving ? -ESHUTDOWN
						    : install(home, house, order, &spawn->kin);
	}
	gy_assert(house->home == home);
	if (gy_unlikely(r < 0)) {
		withdraw(house);
		if (r == -ENOMEM) {
			warn_unmade(home, order->class);
		}
		if (!gyre_address_is_nobody(order->group)) {
			home->options.directory->refuse(home, gy_house_address(house),
							order->group);
		}
		refuse(home, house, order, r);
	}
	gy_mail_put(home, mail);
}

void gy_spawn_came_late(struct gy_home *home, struct gyre_mail *mail)
{
	struct gy_spawn_message *spawn = (struct gy_spawn_message *)(void *)mail->payload;

	gy_assert(home->draining);
	spawn->order.group = GYRE_NOBODY;
	gy_spawn_arrived(home, mail);
}

bool gy_class_is_valid(const struct gyre_class *class)
{
	return class != NULL && class->name != NULL && class->state_bytes <= STATE_BYTES_MAX &&
	       class->frame_bytes <= FRAME_BYTES_MAX &&
	       class->mailbox_high <= class->mailbox_limit &&
	       (unsigned)class->overflow <= GYRE_OVERFLOW_DROP_OLDEST &&
	       (class->overflow == GYRE_OVERFLOW_REFUSE || class->mailbox_limit != 0) &&
	       (class->mailbox_high == 0 || class->mailbox_low < class->mailbox_high) &&
	       class->batch_max <= BATCH_MAX &&
	       (unsigned)class->strategy <= GYRE_STRATEGY_ESCALATE &&
	       (unsigned)class->supervision.scope <= GYRE_REST_FOR_ONE &&
	       (unsigned)class->supervision.decision <= GYRE_DECISION_ESCALATE;
}

static void fill_order(struct gyre_mail *mail, struct gyre_address to,
		       const struct gy_spawn_order *order, struct gy_name *name,
		       const struct gy_kin *kin)
{
	struct gy_spawn_message *spawn = (struct gy_spawn_message *)gyre_payload(mail);

	mail->type = &type_spawn;
	mail->node.kind = GY_MAIL_SPAWN;
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	*spawn = (struct gy_spawn_message){ *order, name, *kin };
	spawn->order.lent = false;
}

/* When its children have had their orders to stop, another child would outlive a house that stops,
 * and one that restarts would wait for the child without end. */
static bool may_have_more_children(const struct gy_house *parent)
{
	return parent->status != GY_HOUSE_STOPPING && !gy_restart_awaits_children(parent);
}

/* Checks the order and allocates all that the spawn needs besides the slot; a spawn on another loop
 * needs a mail. */
static int prepare(struct gy_home *home, const struct gy_spawn_order *order, uint16_t loop,
		   struct gyre_mail **ret_mail, struct gy_kin *ret_kin)
{
	if (loop >= gy_loops_made(home->loop.peers) ||
	    !(gy_class_infos_have(&home->class_infos, order->class) ||
	      gy_class_is_valid(order->class))) {
		return -EINVAL;
	}
	if (home->draining || home->leaving ||
	    (order->parent != NULL && !may_have_more_children(order->parent))) {
		return -ESHUTDOWN;
	}
	if (order->parent == NULL) {
		*ret_kin = gy_kin_of_orphan(gy_homes_of(home->options.system));
	} else if (gy_children_add(order->parent, loop, ret_kin) < 0) {
		return -ENOMEM;
	}
	if (loop != home->loop.index) {
		*ret_mail = gy_mail_get(home, &type_spawn);
		return *ret_mail == NULL ? -ENOMEM : 0;
	}
	return 0;
}

/* Reserves the slot and, where the order has one, the name: for an actor of @home, from any
 * thread. */
static int reserve(struct gy_home *home, const struct gy_spawn_order *order,
		   struct gy_name **ret_name, struct gyre_address *ret_address)
{
	struct gyre_address address;
	int r = gy_slots_reserve(home, &address);

	if (r == 0 && order->name != NULL) {
		r = home->options.directory->name(home->options.system, order->name, address,
						  ret_name, ret_address);
		if (r < 0) {
			gy_slots_cancel(home, address);
		}
	}
	if (r == 0 && order->pinned) {
		gy_store_relaxed(&home->pinned.slot, address.slot);
	}
	if (r == 0) {
		*ret_address = address;
	}
	return r;
}

/* Mounts the actor on the running loop. */
static int install_here(struct gy_home *home, struct gyre_address address,
			const struct gy_spawn_order *order, struct gy_name *name,
			const struct gy_kin *kin)
{
	struct gy_house *house = gy_house_at(home, address.slot);
	int r = take_name(house, name);

	if (gy_likely(r == 0)) {
		r = install(home, house, order, kin);
	}
	if (gy_unlikely(r < 0)) {
		withdraw(house);
		refuse(home, house, order, r);
	}
	return r;
}

int gy_spawn(struct gy_home *home, const struct gy_spawn_order *order, uint16_t loop,
	     struct gyre_address *ret_address)
{
	struct gyre_address address;
	struct gyre_mail *mail = NULL;
	struct gy_name *name = NULL;
	struct gy_kin kin = { 0 };
	int r = ret_address == NULL ? -EINVAL : prepare(home, order, loop, &mail, &kin);

	if (r == 0) {
		r = reserve(gy_home_peer(home, loop), order, &name, &address);
		if (r == -EEXIST) {
			*ret_address = address;
		}
	}
	if (r < 0) {
		if (order->pinned) {
			gy_pinned_release(gy_home_peer(home, loop));
		}
		if (mail != NULL) {
			gy_mail_put(home, mail);
		}
		if (order->argument != NULL && !order->lent) {
			gy_mail_put(home, order->argument);
		}
		return r;
	}
	if (mail != NULL) {
		fill_order(mail, address, order, name, &kin);
		gy_loop_send(&home->loop, loop, &mail->node);
	} else {
		r = install_here(home, address, order, name, &kin);
	}
	if (r == 0) {
		*ret_address = address;
	}
	return r;
}

int gy_spawn_from_outside(struct gy_home *home, const struct gy_spawn_order *order,
			  struct gyre_address *ret_address)
{
	struct gyre_address address;
	struct gy_node *node = NULL;
	struct gy_name *name = NULL;
	struct gy_kin kin = gy_kin_of_orphan(gy_homes_of(home->options.system));
	int r = gy_class_is_valid(order->class) ? 0 : -EINVAL;

	if (r == 0) {
		node = gy_node_get_from_heap(sizeof(struct gyre_mail) +
					     sizeof(struct gy_spawn_message));
		r = node == NULL ? -ENOMEM : 0;
	}
	if (r == 0) {
		r = reserve(home, order, &name, &address);
		if (r == -EEXIST) {
			*ret_address = address;
		}
	}
	if (r < 0) {
		if (order->pinned) {
			gy_pinned_release(home);
		}
		gy_memory_put(node);
		if (!order->lent) {
			gyre_mail_destroy(NULL, order->argument);
		}
		return r;
	}
	fill_order(gy_mail_of(node), address, order, name, &kin);
	gy_loop_post(&home->loop, node);
	*ret_address = address;
	return 0;
}

int gy_spawn_by(struct gyre_stack *stack, struct gy_spawn_order *order,
		const struct gyre_spawn_options *options, struct gyre_address *ret_address)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_home *home = house->home;
	enum gyre_place place = options == NULL ? GYRE_PLACE_HERE : options->place;
	uint32_t loop = house->self.loop;
	int r = 0;

	if (options == NULL || !options->detached) {
		order->parent = house;
		order->child_of = house->self;
	}
	if (place == GYRE_PLACE_LOOP) {
		loop = options->loop < gy_loops_count(home->loop.peers) ? options->loop
									: UINT16_MAX;
	} else if (place == GYRE_PLACE_ROUND_ROBIN) {
		loop = home->options.next_loop(home->options.system, order->channels_actor);
	} else if (place == GYRE_PLACE_PINNED) {
		r = home->options.take_pinned(home->options.system);
		order->pinned = r >= 0;
		loop = r >= 0 ? (uint32_t)r : loop;
	} else if (place != GYRE_PLACE_HERE) {
		loop = UINT16_MAX;
	}
	order->name = options == NULL ? NULL : options->name;
	order->argument = gy_mail_given(home, order->argument);
	if (r < 0) {
		if (order->argument != NULL && !order->lent) {
			gy_mail_put(home, order->argument);
		}
		return r;
	}
	return gy_spawn(home, order, (uint16_t)(loop > UINT16_MAX ? UINT16_MAX : loop),
			ret_address);
}

int gyre_spawn_sized(struct gyre_stack *stack, const struct gyre_class *actor_class,
		     size_t actor_class_bytes, struct gyre_mail *argument,
		     const struct gyre_spawn_options *options, struct gyre_address *ret_address)
{
	struct gy_spawn_order order = { 0 };
	struct gy_home *home = gy_stack_of(stack)->home;
	int r = gy_class_sized_at(home, &actor_class, actor_class_bytes);

	if (r == 0) {
		r = gy_spawn_options_check(options, home->loop.options.log);
	}
	if (r < 0) {
		gyre_mail_destroy(stack, argument);
		return r;
	}
	order.class = actor_class;
	r = gy_take_argument(argument, &order.argument);
	return r < 0 ? r : gy_spawn_by(stack, &order, options, ret_address);
}

/* ---- mounting ---- */

static int make_state(struct gy_home *home, struct gy_house *house)
{
	size_t bytes = house->class_info->class->state_bytes;

	house->state = NULL;
	if (bytes == 0) {
		return 0;
	}
	house->state = gy_sizes_new(&home->parts, bytes);
	if (house->state == NULL) {
		return -ENOMEM;
	}
	memset(house->state, 0, bytes);
	return 0;
}

/* Ends the actor before it begins. Without the warning an actor that nobody watches would end
 * silently. */
static void fail_to_mount(struct gy_home *home, struct gy_house *house)
{
	gy_count(&home->counters.failed, 1);
	gy_class_warn(home, house->class_info,
		      "no memory for its state or its mount; it ends, and its watchers are told");
	gy_house_hook_failed(house, -ENOMEM);
}

/* Calls the mount hook with the argument, taken, as its message. */
static void call_mount(struct gy_home *home, struct gy_stack *stack, struct gyre_mail *argument)
{
	struct gy_house *house = stack->house;

	stack->head.message = argument == NULL ? NULL : argument->payload;
	stack->head.type = argument == NULL ? NULL : argument->type;
	stack->mail = argument;
	stack->handler = house->class_info->class->mount;
	stack->hook = true;
	stack->dirty = true;
	if (argument != NULL) {
		argument->node.kind = GY_MAIL_EVENT;
		gy_mail_from_nobody(argument);
	}
	gy_store_relaxed(&home->hook, house);
	gy_stack_call(stack);
	gy_store_relaxed(&home->hook, NULL);
	if (stack->suspended && !gy_house_is_stopped(house)) {
		gy_house_add_reason(house, GY_CLOSED_BY_HOOK);
		if (house->channels_actor && house->extra != NULL &&
		    house->extra->endpoints != NULL) {
			home->channel_ops->hold(house);
		}
	}
}

static bool is_channel_order(const struct gyre_mail *argument)
{
	return argument != NULL && argument->type->id == GY_CHANNEL_ORDER_ID;
}

/* Opens the channel that the actor is to own; its maker's part of that, and the handlers', run on
 * the stack of the mount. False if there is none, and then the actor ends. */
static bool open_channel(struct gy_home *home, struct gy_stack *stack, struct gyre_mail *argument)
{
	struct gy_house *house = stack->house;
	int r;

	stack->head.message = NULL;
	stack->head.type = NULL;
	stack->mail = NULL;
	home->steps++;
	gy_store_relaxed(&home->hook, house);
	r = home->channel_ops->begin(stack, argument);
	gy_store_relaxed(&home->hook, NULL);
	if (gy_unlikely(stack->dirty || stack->caused)) {
		gy_stack_leave_pipeline(stack);
	}
	if (r < 0) {
		gy_house_request_stop(house, r);
	}
	return r == 0;
}

/* Makes the state and calls the mount hook, if the class has one. Takes the argument. */
static void mount(struct gy_home *home, struct gy_house *house, struct gyre_mail *argument)
{
	bool has_hook = house->class_info->class->mount != NULL;
	bool has_state = make_state(home, house) == 0;
	bool has_channel = is_channel_order(argument);
	bool runs = has_hook || has_channel;
	struct gy_stack *stack = runs && has_state ? gy_stack_scratch(home, house) : NULL;

	if (!has_state || (runs && stack == NULL)) {
		fail_to_mount(home, house);
	}
	if (stack != NULL && has_channel && !open_channel(home, stack, argument)) {
		stack = NULL;
	}
	if (stack != NULL && has_hook) {
		call_mount(home, stack, argument);
	} else if (argument != NULL) {
		gy_mail_put(home, argument);
	}
}

void gy_house_mount(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);

	gy_assert(house->status == GY_HOUSE_MOUNTING && house->home == gy_home_of(loop));
	mount(gy_home_of(loop), house, house->argument);
	gy_house_set_status(house, GY_HOUSE_WAITING);
	if (gy_house_is_stopped(house) || gy_house_can_run(house)) {
		gy_house_ready(house);
	}
	if (gy_unlikely(house->home->tasks_kept != NULL)) { /* some may have waited for this */
		gy_home_run_kept_tasks(house->home);
	}
}

/* ---- stopping ---- */

static enum gyre_drop reason_to_drop(const struct gy_home *home)
{
	return home->draining ? GYRE_DROP_SHUTDOWN : GYRE_DROP_STOPPED;
}

static void drop_lanes(struct gy_home *home, struct gy_house *house)
{
	enum gyre_drop reason = reason_to_drop(home);
	struct gy_node *watches = NULL;

	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		struct gy_node *last;
		struct gy_node *node;

		if (house->lanes[lane] == NULL) {
			continue;
		}
		node = gy_house_take_lane(house, (enum gy_lane)lane, &last);
		while (node != NULL) {
			struct gy_node *next = node->next;

			if (gy_unlikely(gy_mail_of(node)->type == &gy_type_watch)) {
				node->next = watches;
				watches = node;
			} else if (gy_unlikely(gy_mail_of(node)->type->id ==
					       GYRE_ID(gyre_terminated))) {
				gy_count(&home->counters.handled, 1); /* nobody watches any more */
				gy_mail_put(home, gy_mail_of(node));
			} else if (gy_unlikely(gy_mail_of(node)->type == &gy_type_failure)) {
				gy_failure_undecided(home,
						     gy_mail_of(node)); /* counted when it came */
			} else {
				gy_drop(home, gy_mail_of(node), gy_house_address(house), reason,
					-ESHUTDOWN);
			}
			node = next;
		}
	}
	gy_store_relaxed(&house->waiting, 0);
	if (house->extra != NULL) {
		house->extra->urgent = (struct gy_urgent){ 0 }; /* handlers may still send to it */
	}
	while (gy_unlikely(watches != NULL)) { /* their watchers are told at the very end */
		struct gyre_mail *mail = gy_mail_of(watches);

		watches = watches->next;
		gy_house_put(home, house, mail, GY_LANE_EVENT);
	}
}

static void drop_all(struct gy_home *home, struct gy_house *house)
{
	if ((house->pending & ~GY_PENDING_CHANNELS) != 0) {
		drop_lanes(home, house);
	}
	if (house->extra != NULL) {
		gy_stash_drop(house, reason_to_drop(home));
	}
}

/*
 * From here on mail is refused. The address stays the actor's until its end, for what it says
 * meanwhile: handlers of its channels still run, and watchers are told at last.
 */
static void close_mailbox(struct gy_house *house)
{
	gy_house_set_status(house, GY_HOUSE_STOPPING);
	house->plain = false;
	house->limit = house->limit == 0 ? UINT32_MAX : house->limit;
}

static void abort_stacks(struct gy_house *house)
{
	while (!gy_list_empty(&house->suspended)) {
		gy_stack_abort(gy_container_of(house->suspended.next, struct gy_stack, item),
			       -ESHUTDOWN);
	}
}

/* The reason that watchers are told. */
static int reason_of(const struct gy_house *house)
{
	int reason = house->extra == NULL ? 0 : house->extra->reason;

	return reason != 0 ? reason : house->home->draining ? -ESHUTDOWN : 0;
}

/* Ends the parts of the extra part that go before the state is cleaned. Timers are those that
 * handlers of its channels have started since the stop. */
static GY_COLD void empty_extra(struct gy_house *house)
{
	gy_timers_stop(house);
	gy_receive_timeout_stop(house);
	gy_restart_fini(house);
	gy_children_fini(house);
	gy_behaviour_reset(house);
}

/* Ends the parts that tell others, and the extra part itself. */
static GY_COLD void leave_extra(struct gy_house *house)
{
	if (house->extra->endpoints != NULL) {
		house->home->channel_ops->fini(house);
	}
	gy_watch_end(house, reason_of(house));
	gy_graceful_stop_end(house);
	gy_house_extra_fini(house);
}

static void clean_state(struct gy_house *house)
{
	const struct gyre_class *class = house->class_info->class;

	if (class->clean != NULL && (house->state != NULL || class->state_bytes == 0)) {
		house->home->steps++;
		gy_store_relaxed(&house->home->hook, house);
		class->clean(house->state);
		gy_store_relaxed(&house->home->hook, NULL);
	}
	if (house->state != NULL) {
		gy_sizes_delete(&house->home->parts, house->state, class->state_bytes);
	}
}

static void finish(struct gy_home *home, struct gy_house *house)
{
	int reason = reason_of(house);

	gy_assert(house->status == GY_HOUSE_STOPPING);
	abort_stacks(house);
	gy_assert(house->outstanding == 0); /* each was of a stack */
	if (house->extra != NULL) {
		empty_extra(house);
	}
	drop_all(home, house);
	clean_state(house);
	if (house->extra != NULL) {
		leave_extra(house);
	}
	gy_watch_tell_waiting(house, reason);
	gy_class_info_leave(house->class_info);
	gy_store_relaxed(&home->houses, home->houses - 1);
	gy_count(&home->counters.stopped, 1);
	gy_family_leave(house);
	gy_slots_release(home, house);
}

static void finish_unless_it_awaits(struct gy_house *house)
{
	const struct gy_house_extra *extra = house->extra;

	if (extra == NULL || (!extra->awaits_channels && !extra->awaits_children)) {
		finish(house->home, house);
	}
}

void gy_house_stop(struct gy_house *house)
{
	struct gy_home *home = house->home;
	struct gy_house_extra *extra = house->extra;

	if (house->status == GY_HOUSE_STOPPING) {
		return;
	}
	close_mailbox(house);
	withdraw(house);
	drop_all(home, house);
	if (extra != NULL) {
		gy_shutdown_leave(house);
		gy_timers_stop(house);
		gy_receive_timeout_stop(house);
		extra->awaits_channels =
			extra->endpoints != NULL && !home->channel_ops->stop(house);
		extra->awaits_children = !gy_children_stop(house);
	}
	if (extra != NULL && extra->endpoints == NULL) {
		abort_stacks(house); /* they need not wait for the children */
	}
	finish_unless_it_awaits(house);
}

void gy_house_channels_closed(struct gy_house *house)
{
	if (house->status == GY_HOUSE_STOPPING && house->extra->awaits_channels) {
		house->extra->awaits_channels = false;
		finish_unless_it_awaits(house);
	}
}

void gy_house_children_gone(struct gy_house *house)
{
	if (house->status != GY_HOUSE_STOPPING) {
		gy_restart_children_gone(house);
		return;
	}
	gy_assert(house->extra->awaits_children);
	house->extra->awaits_children = false;
	finish_unless_it_awaits(house);
}

static int ask_to_stop(struct gyre_stack *stack, struct gyre_address actor,
		       const struct gyre_type *type, enum gy_mail_kind kind)
{
	return gy_send_signal(gy_stack_of(stack)->home, actor, type, kind);
}

int gyre_stop(struct gyre_stack *stack, struct gyre_address actor)
{
	struct gy_house *house = gy_stack_of(stack)->house;

	/* An order would be deferred until the house is at home, after all mail that was stolen
	 * with it. */
	if (gy_house_is_away(house) && gy_address_same(actor, gy_house_address(house))) {
		gy_house_request_stop(house, 0);
		return 0;
	}
	return ask_to_stop(stack, actor, &gy_type_stop, GY_MAIL_EVENT);
}

int gyre_poison(struct gyre_stack *stack, struct gyre_address actor)
{
	return ask_to_stop(stack, actor, &gy_type_poison, GY_MAIL_NOTICE);
}

/* ---- stops from outside ---- */

struct stop_order {
	struct gy_task task;
	struct gyre_address actor;
};

/* On the actor's own loop, where what is sent is counted. */
static void carry_out_stop(struct gy_loop *loop, struct gy_task *task)
{
	struct stop_order *order = gy_container_of(task, struct stop_order, task);

	(void)gy_send_signal(gy_home_of(loop), order->actor, &gy_type_stop, GY_MAIL_EVENT);
	gy_loop_node_put(loop, &task->node);
}

void gy_stop_from_outside(struct gy_home *home, struct gyre_address actor)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct stop_order));

	if (node != NULL) {
		struct stop_order *order = gy_container_of(node, struct stop_order, task.node);

		order->task.run = carry_out_stop;
		order->actor = actor;
		gy_loop_post_task(&home->loop, &order->task);
	}
}
