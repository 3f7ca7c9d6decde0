/*
 * How actors come and go. A spawn reserves the slot at once, on whatever loop; what is to be
 * mounted there is told the loop by mail, so the address is good before the actor is. A stop makes
 * the address stale first and then takes down what the house holds; a house with open channels
 * waits for them.
 */
#include <errno.h>
#include <string.h>

#include "actor/stack.h"

enum { STATE_BYTES_MAX = 1 << 24, FRAME_BYTES_MAX = 8192, BATCH_MAX = 1024 };

struct spawn_order {
	const struct gyre_class *class;
	struct gyre_mail *argument;
	bool channels_actor;
};

static const struct gyre_type type_spawn = { "spawn", 0x06, sizeof(struct spawn_order) };

/* ---- spawning ---- */

static void install(struct gy_home *home, struct gy_house *house, const struct spawn_order *order)
{
	house->class = order->class;
	house->behaviour = &order->class->behaviour;
	house->state = order->argument; /* until it is mounted */
	house->channels_actor = order->channels_actor;
	house->stack_class = gy_sizes_class(sizeof(struct gy_stack) + order->class->frame_bytes);
	house->high = true;
	house->plain = order->class->barrier == NULL && order->class->batch_notices == NULL &&
		       order->class->mailbox_limit == 0;
	house->status = GY_HOUSE_MOUNTING;
	gy_house_bound(house, order->class->mailbox_limit);
	home->houses++;
	gy_count(&home->counters.spawned, 1);
	gy_loop_mount(&home->loop, &house->job);
}

static void drop_lanes(struct gy_home *home, struct gy_house *house, struct gyre_address address);

/* A stopping system mounts nothing new. */
static void refuse(struct gy_home *home, struct gy_house *house, struct gyre_mail *argument)
{
	if (argument != NULL) {
		gy_mail_put(home, argument);
	}
	drop_lanes(home, house, gy_house_address(house));
	gy_slots_release(home, house);
}

void gy_spawn_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	struct spawn_order *order = (struct spawn_order *)gyre_payload(mail);
	struct gy_house *house = gy_house_at(home, mail->to_slot);

	if (gy_likely(!home->draining)) {
		install(home, house, order);
	} else {
		refuse(home, house, order->argument);
	}
	gy_mail_put(home, mail);
}

static bool class_is_valid(const struct gyre_class *class)
{
	return class != NULL && class->name != NULL && class->state_bytes <= STATE_BYTES_MAX &&
	       class->frame_bytes <= FRAME_BYTES_MAX &&
	       class->mailbox_high <= class->mailbox_limit &&
	       (class->mailbox_high == 0 || class->mailbox_low < class->mailbox_high) &&
	       class->batch_max <= BATCH_MAX &&
	       (unsigned)class->strategy <= GYRE_STRATEGY_SHUT_DOWN;
}

static void fill_order(struct gyre_mail *mail, struct gyre_address to,
		       const struct spawn_order *order)
{
	mail->type = &type_spawn;
	mail->node.kind = GY_MAIL_SPAWN;
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	memcpy(gyre_payload(mail), order, sizeof(*order));
}

int gy_spawn(struct gy_home *home, const struct gyre_class *class, struct gyre_mail *argument,
	     uint16_t loop, bool channels_actor, struct gyre_address *ret_address)
{
	struct spawn_order order = { class, argument, channels_actor };
	struct gyre_address address;
	struct gyre_mail *mail = NULL;
	int r = class_is_valid(class) && ret_address != NULL && loop < home->loop.peers->count
			? 0
			: -EINVAL;

	if (r == 0 && home->draining) {
		r = -ESHUTDOWN;
	}
	if (r == 0 && loop != home->loop.index) {
		mail = gy_mail_get(home, &type_spawn);
		r = mail == NULL ? -ENOMEM : 0;
	}
	if (r == 0) {
		r = gy_slots_reserve(gy_home_peer(home, loop), &address);
	}
	if (r < 0) {
		if (mail != NULL) {
			gy_mail_put(home, mail);
		}
		if (argument != NULL) {
			gy_mail_put(home, argument);
		}
		return r;
	}
	if (mail != NULL) {
		fill_order(mail, address, &order);
		gy_loop_send(&home->loop, loop, &mail->node);
	} else {
		install(home, gy_house_at(home, address.slot), &order);
	}
	*ret_address = address;
	return 0;
}

int gy_spawn_from_outside(struct gy_home *home, const struct gyre_class *class,
			  struct gyre_mail *argument, bool channels_actor,
			  struct gyre_address *ret_address)
{
	struct spawn_order order = { class, argument, channels_actor };
	struct gyre_address address;
	struct gy_node *node = NULL;
	int r = class_is_valid(class) ? 0 : -EINVAL;

	if (r == 0) {
		node = gy_node_get_from_heap(sizeof(struct gyre_mail) + sizeof(order));
		r = node == NULL ? -ENOMEM : 0;
	}
	if (r == 0) {
		r = gy_slots_reserve(home, &address);
	}
	if (r < 0) {
		gy_memory_put(node);
		gyre_mail_free(NULL, argument);
		return r;
	}
	fill_order(gy_mail_of(node), address, &order);
	gy_loop_post(&home->loop, node);
	*ret_address = address;
	return 0;
}

int gyre_spawn(struct gyre_stack *stack, const struct gyre_class *actor_class,
	       struct gyre_mail *argument, const struct gyre_spawn_options *options,
	       struct gyre_address *ret_address)
{
	struct gy_home *home = gy_stack_of(stack)->home;
	enum gyre_place place = options == NULL ? GYRE_PLACE_HERE : options->place;
	uint32_t loop = home->loop.index;

	if (place == GYRE_PLACE_LOOP) {
		loop = options->loop;
	} else if (place == GYRE_PLACE_ROUND_ROBIN) {
		loop = home->options.next_loop(home->options.system);
	}
	if (loop > UINT16_MAX) {
		loop = UINT16_MAX;
	}
	return gy_spawn(home, actor_class, argument, (uint16_t)loop, false, ret_address);
}

/* ---- mounting ---- */

static int make_state(struct gy_home *home, struct gy_house *house)
{
	size_t bytes = house->class->state_bytes;

	house->state = NULL;
	if (bytes == 0) {
		return 0;
	}
	house->state = gy_sizes_get(&home->parts, bytes, gy_sizes_class(bytes));
	if (house->state == NULL) {
		return -ENOMEM;
	}
	memset(house->state, 0, bytes);
	return 0;
}

void gy_house_mount(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);
	struct gy_home *home = gy_home_of(loop);
	struct gyre_mail *argument = (struct gyre_mail *)house->state;
	struct gy_stack *stack = NULL;

	if (make_state(home, house) == 0) {
		stack = house->class->mount == NULL ? NULL : gy_stack_scratch(home, house);
	} else {
		gy_count(&home->counters.failed, 1);
		gy_log(home->loop.options.log, GYRE_LOG_WARNING,
		       "actor %s: no memory for its state", house->class->name);
		gy_house_close(house);
	}
	if (stack != NULL) {
		stack->head.message = argument == NULL ? NULL : argument->payload;
		stack->head.type = argument == NULL ? NULL : argument->type;
		stack->mail = argument;
		stack->handler = house->class->mount;
		stack->mount = true;
		stack->dirty = true;
		if (argument != NULL) {
			argument->node.kind = GY_MAIL_EVENT;
			argument->from.cookie = 0;
		}
		gy_stack_call(stack);
	} else {
		if (house->class->mount != NULL) {
			gy_house_close(house); /* it could not be called */
		}
		if (argument != NULL) {
			gy_mail_put(home, argument);
		}
	}
	house->status = GY_HOUSE_WAITING;
	if (gy_house_is_stopped(house) || gy_house_can_run(house)) {
		gy_house_ready(house);
	}
}

/* ---- stopping ---- */

/* @address is what the senders knew: that of a house that stops is stale already. */
static void drop_lanes(struct gy_home *home, struct gy_house *house, struct gyre_address address)
{
	enum gyre_drop reason = home->draining ? GYRE_DROP_SHUTDOWN : GYRE_DROP_STOPPED;

	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		struct gy_node *last;
		struct gy_node *node;

		if (house->lanes[lane] == NULL) {
			continue;
		}
		node = gy_house_take_lane(house, (enum gy_lane)lane, &last);
		while (node != NULL) {
			struct gy_node *next = node->next;

			gy_drop(home, gy_mail_of(node), address, reason, -ESHUTDOWN);
			node = next;
		}
	}
}

/* What a stopping house was known by until its cookie went on. */
static struct gyre_address last_address(const struct gy_house *house)
{
	struct gyre_address address = gy_house_address(house);

	address.cookie = address.cookie == 1 ? UINT32_MAX : address.cookie - 1;
	return address;
}

static void finish(struct gy_home *home, struct gy_house *house)
{
	while (!gy_list_empty(&house->suspended)) {
		gy_stack_abort(gy_container_of(house->suspended.next, struct gy_stack, item),
			       -ESHUTDOWN);
	}
	gy_timers_stop(house);
	gy_restart_fini(house);
	drop_lanes(home, house, last_address(house));
	gy_table_fini(&house->promises, &home->parts);
	if (house->class->clean != NULL &&
	    (house->state != NULL || house->class->state_bytes == 0)) {
		house->class->clean(house->state);
	}
	if (house->state != NULL) {
		gy_sizes_put(&home->parts, house->state, gy_sizes_class(house->class->state_bytes));
	}
	if (house->channels != NULL) {
		home->channel_ops->fini(house);
	}
	home->houses--;
	gy_count(&home->counters.stopped, 1);
	gy_slots_release(home, house);
}

void gy_house_stop(struct gy_house *house)
{
	struct gy_home *home = house->home;

	if (house->status == GY_HOUSE_STOPPING) {
		return;
	}
	house->status = GY_HOUSE_STOPPING;
	/* From here on the address finds nobody; the last cookie before reuse is set at the
	 * release. */
	gy_store_release(&house->self.cookie,
			 house->self.cookie + 1 == 0 ? 1 : house->self.cookie + 1);
	drop_lanes(home, house, last_address(house));
	if (house->channels == NULL || home->channel_ops->stop(house)) {
		finish(home, house);
	}
}

void gy_house_channels_closed(struct gy_house *house)
{
	if (house->status == GY_HOUSE_STOPPING) {
		finish(house->home, house);
	}
}

static int ask_to_stop(struct gyre_stack *stack, struct gyre_address actor,
		       const struct gyre_type *type, enum gy_mail_kind kind)
{
	return gy_send_signal(gy_stack_of(stack)->home, actor, type, kind);
}

int gyre_stop(struct gyre_stack *stack, struct gyre_address actor)
{
	return ask_to_stop(stack, actor, &gy_type_stop, GY_MAIL_EVENT);
}

int gyre_poison(struct gyre_stack *stack, struct gyre_address actor)
{
	return ask_to_stop(stack, actor, &gy_type_poison, GY_MAIL_NOTICE);
}
