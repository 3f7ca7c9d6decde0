/*
 * Orders to connect. All that can be said to be wrong is found here, by the caller; the actor then
 * finds its options complete, with copies of what the caller's texts said.
 */
#include <errno.h>
#include <string.h>

#include "actor/life/lifecycle.h"
#include "actor/log_of.h"
#include "actor/stack/bound_ask.h"
#include "actor/stack/stack.h"
#include "base/sized.h"
#include "channel/channel_actor.h"
#include "net/bounds.h"
#include "net/connect/dial.h"
#include "net/pending_open.h"
#include "net/stream.h"
#include "net/texts.h"

static const uint64_t timeout_default_ns = GYRE_SECONDS(10);
static const uint64_t pause_max_ns = GYRE_SECONDS(24 * 60 * 60);
static const uint64_t min_default_ns = GYRE_MILLISECONDS(100);
static const uint64_t max_default_ns = GYRE_SECONDS(10);

enum { PERCENT_MAX = 1000 };

void gy_connect_order_lost(const struct gy_home *home, const struct gy_connect_order *order)
{
	gy_pending_open_fail(home, "connecting to", NULL, order->options.to, -ENOMEM);
	if (order->lost != NULL) {
		order->lost(order->options.report_arg, -ENOMEM);
	}
}

void gy_connect_argument_destroy(struct gy_connect_argument *argument)
{
	struct gy_connect_order *order = argument->order;
	struct gy_home *home = order == NULL ? NULL : order->home;

	if (home != NULL && home->draining) {
		gy_pending_open_end(gy_homes_of(home->options.system));
	} else if (home != NULL && home->leaving) {
		gy_pending_open_fail(home, "connecting to", NULL, order->options.to, -ESHUTDOWN);
	} else if (home != NULL) {
		gy_connect_order_lost(home, order);
	}
	gy_memory_put(order);
	argument->order = NULL;
}

/* A default makes way for what was said. */
static void fill_in_pauses(struct gyre_connect_options *options)
{
	uint64_t min_ns = options->retry_min_ns;
	uint64_t max_ns = options->retry_max_ns;

	if (min_ns == 0) {
		min_ns = max_ns == 0 || max_ns > min_default_ns ? min_default_ns : max_ns;
	}
	if (max_ns == 0) {
		max_ns = min_ns > max_default_ns ? min_ns : max_default_ns;
	}
	options->retry_min_ns = min_ns;
	options->retry_max_ns = max_ns;
}

static void fill_in(struct gyre_connect_options *options)
{
	options->connections = options->connections == 0 ? 1 : options->connections;
	if (options->connect_timeout_ns == 0) {
		options->connect_timeout_ns = timeout_default_ns;
	}
	fill_in_pauses(options);
	options->retry_percent = options->retry_percent == 0 ? 200 : options->retry_percent;
	if (options->retry_jitter_percent == 0) {
		options->retry_jitter_percent = 20;
	}
}

static bool are_valid(const struct gyre_connect_options *options)
{
	return options != NULL && options->to != NULL && options->init_channel != NULL &&
	       options->connections <= GYRE_CONNECTIONS_MAX &&
	       options->retry_min_ns <= pause_max_ns && options->retry_max_ns <= pause_max_ns &&
	       (options->retry_max_ns == 0 || options->retry_min_ns <= options->retry_max_ns) &&
	       (options->retry_percent == 0 ||
		(options->retry_percent >= 100 && options->retry_percent <= PERCENT_MAX)) &&
	       options->retry_jitter_percent <= 100;
}

static int read_texts(const struct gyre_connect_options *options, struct gy_connect_order *order)
{
	int r = gy_socket_text_parse(options->to, &order->to);

	if (r == 0 && order->to.type != SOCK_STREAM) {
		r = -EINVAL;
	}
	if (r == 0 && options->local != NULL) {
		r = gyre_socket_address_parse(options->local, &order->local);
	}
	if (r == 0 && options->local != NULL && order->local.type != SOCK_STREAM) {
		r = -EINVAL;
	}
	return r;
}

static int make_order(const struct gy_home *home, const struct gyre_connect_options *options,
		      struct gy_connect_order **ret_order)
{
	struct gy_connect_order *order;
	char *place;
	int r;

	if (!are_valid(options) ||
	    gy_stream_check(gy_channels_of(home), &options->channel, NULL) < 0) {
		return -EINVAL;
	}
	r = gy_resolve_check_servers(options->name_servers);
	if (r < 0) {
		return r;
	}
	order = (struct gy_connect_order *)gy_memory_get(
		sizeof(*order) + gy_text_bytes(options->to) + gy_text_bytes(options->local) +
		gy_text_bytes(options->name_servers));
	if (order == NULL) {
		return -ENOMEM;
	}
	place = order->texts;
	order->options = *options;
	order->options.to = gy_text_keep(options->to, &place);
	order->options.local = gy_text_keep(options->local, &place);
	order->options.name_servers = gy_text_keep(options->name_servers, &place);
	fill_in(&order->options);
	r = read_texts(options, order);
	if (r < 0) {
		gy_memory_put(order);
		return r;
	}
	*ret_order = order;
	return 0;
}

/* The mail takes the order, whatever is returned. */
static struct gyre_mail *fill(struct gyre_mail *mail, struct gy_connect_order *order)
{
	return gyre_fill_gy_connect_argument(mail, (struct gy_connect_argument){ .order = order });
}

static void begin(struct gy_connect_order *order, struct gy_home *home)
{
	order->home = home;
	gy_pending_open_begin(gy_homes_of(home->options.system));
}

/* The caller is told. */
static void give_up(struct gy_connect_order *order, struct gyre_stack *stack,
		    struct gyre_mail *argument)
{
	gy_pending_open_end(gy_homes_of(order->home->options.system));
	order->home = NULL;
	gyre_mail_destroy(stack, argument);
}

/* Makes the actor that connects. Takes the order. */
static int spawn_socket(struct gyre_stack *stack, struct gy_connect_order *connect_order,
			struct gyre_address *ret_socket)
{
	struct gy_spawn_order order = { .class = &gy_socket_class,
					.channels_actor = true,
					.lent = true };
	struct gyre_spawn_options place = connect_order->options.place;
	int r = gy_pending_open_place(gy_stack_of(stack)->house, &place);

	if (r < 0) {
		gy_memory_put(connect_order);
		return r;
	}
	order.argument =
		fill(gyre_mail_create(stack, &gyre_type_gy_connect_argument), connect_order);
	if (order.argument == NULL) {
		return -ENOMEM;
	}
	begin(connect_order, gy_home_peer(gy_stack_of(stack)->home, (uint16_t)place.loop));
	r = gy_spawn_by(stack, &order, &place, ret_socket);
	if (r < 0) {
		give_up(connect_order, stack, order.argument);
	}
	return r;
}

/* What was given by the program; 0, or a negative errno. */
static int take_options(struct gy_homes *homes, const struct gyre_connect_options *options,
			struct gyre_sizes sizes, struct gyre_connect_options *ret_options)
{
	int r = GY_SIZED_READ(gyre_connect_options, ret_options, options, sizes.options,
			      homes->log);

	if (r == 0) {
		r = gy_options_check_reserved(&ret_options->channel, &ret_options->place,
					      homes->log);
	}
	return r < 0 ? r
		     : gy_channel_class_take(homes, &ret_options->actor_class, sizes.actor_class,
					     ret_options->bond, NULL);
}

/* Without a time-out of its own a connect that is awaited has no more time than the asker of the
 * running message has left, with all its rounds; -ETIMEDOUT when that is nothing. */
static int inherit(const struct gyre_stack *stack, struct gyre_connect_options *options,
		   uint64_t *ret_left_ns)
{
	*ret_left_ns = GYRE_FOREVER;
	if (options->connect_timeout_ns != 0) {
		return 0;
	}
	*ret_left_ns = gyre_time_left(stack);
	if (*ret_left_ns < timeout_default_ns) {
		options->connect_timeout_ns = *ret_left_ns;
	}
	return *ret_left_ns == 0 ? -ETIMEDOUT : 0;
}

/* Connects without anybody who waits for it. */
static int connect_alone(struct gyre_stack *stack, const struct gyre_connect_options *options,
			 struct gyre_address *ret_socket)
{
	struct gy_connect_order *order;
	int r = make_order(gy_stack_of(stack)->home, options, &order);

	return r < 0 ? r : spawn_socket(stack, order, ret_socket);
}

static int connect_awaited(struct gyre_stack *stack, struct gyre_connect_options *options,
			   struct gyre_address *ret_socket, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_connect_order *order;
	struct gyre_mail *ask;
	uint64_t left_ns;
	int r = inherit(stack, options, &left_ns);

	r = r < 0 ? r : make_order(s->home, options, &order);
	if (r < 0) {
		*ret_future = (struct gyre_future){ .error = r };
		return r;
	}
	order->awaited = true;
	r = gy_bound_ask_make(s, &gyre_type_gy_await_connection, left_ns, &ask, ret_future);
	if (r < 0) {
		gy_memory_put(order);
		return r;
	}
	r = spawn_socket(stack, order, ret_socket);
	if (r < 0) {
		gy_bound_ask_drop(s, ask, r, ret_future);
	} else {
		gy_bound_ask_send(s, *ret_socket, ask, ret_future);
	}
	return r;
}

int gyre_connect_sized(struct gyre_stack *stack, const struct gyre_connect_options *options,
		       struct gyre_sizes sizes, struct gyre_address *ret_socket,
		       struct gyre_future *ret_future)
{
	struct gyre_connect_options whole;
	struct gyre_address socket;
	int r = take_options(gy_homes_of(gyre_system_of(stack)), options, sizes, &whole);

	if (r < 0) {
		if (ret_future != NULL) {
			*ret_future = (struct gyre_future){ .error = r };
		}
		return r;
	}
	r = ret_future == NULL ? connect_alone(stack, &whole, &socket)
			       : connect_awaited(stack, &whole, &socket, ret_future);
	if ((r == 0 || r == -EEXIST) && ret_socket != NULL) {
		*ret_socket = socket;
	}
	return r;
}

static int loop_of(const struct gy_homes *homes, const struct gyre_spawn_options *place,
		   uint32_t *ret_loop)
{
	const struct gy_home_options *options = &homes->homes[0].options;

	if ((unsigned)place->place > GYRE_PLACE_ROUND_ROBIN ||
	    (place->place == GYRE_PLACE_LOOP && place->loop >= gy_loops_count(homes->loops))) {
		return -EINVAL;
	}
	*ret_loop = place->place == GYRE_PLACE_LOOP ? place->loop
						    : options->next_loop(options->system, true);
	return 0;
}

int gy_connect_or_lose(struct gyre_system *system, const struct gyre_connect_options *options,
		       gy_connect_lost_fn lost, struct gyre_address *ret_socket)
{
	struct gy_spawn_order order = { .class = &gy_socket_class,
					.channels_actor = true,
					.lent = true };
	struct gy_connect_order *connect_order;
	struct gy_home *home;
	uint32_t loop = 0;
	struct gyre_address socket;
	int r = make_order(&gy_homes_of(system)->homes[0], options, &connect_order);

	if (r < 0) {
		return r;
	}
	connect_order->lost = lost;
	r = loop_of(gy_homes_of(system), &options->place, &loop);
	if (r < 0) {
		gy_memory_put(connect_order);
		return r;
	}
	order.name = options->place.name;
	order.argument = fill(gy_mail_get_outside(&gyre_type_gy_connect_argument), connect_order);
	if (order.argument == NULL) {
		return -ENOMEM;
	}
	home = &gy_homes_of(system)->homes[loop];
	gy_pending_open_may_begin(gy_homes_of(system));
	begin(connect_order, home);
	r = gy_spawn_from_outside(home, &order, &socket);
	if (r < 0) {
		give_up(connect_order, NULL, order.argument);
	}
	if ((r == 0 || r == -EEXIST) && ret_socket != NULL) {
		*ret_socket = socket;
	}
	return r;
}

int gyre_system_connect_sized(struct gyre_system *system,
			      const struct gyre_connect_options *options, struct gyre_sizes sizes,
			      struct gyre_address *ret_socket)
{
	struct gyre_connect_options whole;
	int r = system == NULL ? -EINVAL
			       : take_options(gy_homes_of(system), options, sizes, &whole);

	return r < 0 ? r
		     : gy_connect_or_lose(system, options == NULL ? NULL : &whole, NULL,
					  ret_socket);
}
