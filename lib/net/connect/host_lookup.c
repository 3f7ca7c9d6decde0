/*
 * Lookups for users: each has an actor of its own, on the loop of who asks, that lives until it has
 * answered. The ask waits in its stash until the lookup is done, or its time is up. It watches who
 * asks: when that has ended nobody waits any more.
 */
#include <gyre/resolve.h>

#include <errno.h>
#include <string.h>

#include <gyre/move.h>
#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/log_of.h"
#include "actor/mail/stash.h"
#include "actor/stack/budget.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "buffer/socket_address.h"
#include "channel/channels.h"
#include "net/connect/resolve.h"

_Static_assert(GYRE_RESOLVED_MAX == (int)GY_RESOLVE_ADDRESSES_MAX, "what is found is answered");

/* An order to look up a name, from the heap. */
struct gy_lookup_order {
	struct gy_socket_text to;
	struct gyre_address asker;
	uint64_t timeout_ns;
	int family;
	bool has_servers;
	char name_servers[];
};

/* The argument of the mount. */
struct gy_lookup_argument {
	struct gy_lookup_order *order;
};

static void gy_lookup_argument_destroy(struct gy_lookup_argument *argument)
{
	gy_memory_put(argument->order);
	argument->order = NULL;
}
GYRE_OWN_MESSAGE_OWNING_(gy_lookup_argument, 0x51, gy_lookup_argument_destroy);

struct gy_lookup_ask {
	char nothing;
};
GYRE_OWN_MESSAGE_(gy_lookup_ask, 0x52);

struct lookup {
	struct gy_endpoint endpoint; /* of no descriptor: the lookup has its own */
	struct gy_lookup_order *order;
	struct gy_channels *channels;
	struct gy_resolve resolve;
	struct gy_timer timer;
	bool counted; /* among those of the loop */
	bool done;
	bool ending;
	bool ended;
	int error;
};

static void finish(struct lookup *lookup, int error)
{
	if (!lookup->done) {
		lookup->done = true;
		lookup->error = error;
		gy_endpoint_ready(&lookup->endpoint);
	}
}

static void expired(struct gy_timer *timer)
{
	finish(gy_container_of(timer, struct lookup, timer), -ETIMEDOUT);
}

/* ---- the endpoint ---- */

static void end(struct lookup *lookup)
{
	gy_timer_stop(&lookup->channels->home->loop.wheel, &lookup->timer);
	if (gy_resolve_end(&lookup->resolve) && !lookup->ended) {
		lookup->ended = true;
		lookup->channels->lookups -= lookup->counted;
		gy_endpoint_closed(&lookup->endpoint);
	}
}

static void process(struct gy_endpoint *endpoint)
{
	struct lookup *lookup = gy_container_of(endpoint, struct lookup, endpoint);

	endpoint->ready = false;
	if (lookup->ending) {
		end(lookup);
		return;
	}
	if (!lookup->done) {
		gy_resolve_process(&lookup->resolve);
	}
	if (lookup->resolve.done) {
		finish(lookup, lookup->resolve.error);
	}
	if (lookup->done) {
		(void)gy_house_unstash(endpoint->owner->house, UINT32_MAX);
	}
}

static void drain(struct gy_endpoint *endpoint)
{
	gy_container_of(endpoint, struct lookup, endpoint)->ending = true;
	gy_endpoint_ready(endpoint);
}

static const struct gy_endpoint_ops endpoint_ops = {
	.process = process,
	.drain = drain,
	.of_actor = true,
};

/* ---- the actor ---- */

static void start(struct lookup *lookup)
{
	const struct gy_lookup_order *order = lookup->order;
	struct gy_resolve *resolve = &lookup->resolve;

	if (order->to.address.bytes > 0) {
		resolve->count = 1;
		resolve->addresses[0] = order->to.address;
		finish(lookup, 0);
	} else if (lookup->channels->lookups >= GYRE_RESOLVES_MAX) {
		finish(lookup, -ENOBUFS);
	} else {
		lookup->channels->lookups++;
		lookup->counted = true;
		resolve->family = order->family;
		gy_resolve_start(resolve, order->to.host, order->to.port, order->to.type,
				 order->has_servers ? order->name_servers : NULL);
		gy_endpoint_ready(&lookup->endpoint);
	}
}

static int mount(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct lookup *lookup = (struct lookup *)gyre_state(stack);
	struct gy_lookup_argument argument;
	const struct gy_lookup_order *order;
	int r = gyre_message_move(stack, &gyre_type_gy_lookup_argument, &argument);

	if (r < 0) {
		return r;
	}
	order = argument.order;
	*lookup = (struct lookup){
		.endpoint = { .ops = &endpoint_ops, .fd = -1 },
		.order = argument.order,
		.channels = gy_channels_of(s->home),
	};
	gy_timer_init(&lookup->timer, expired);
	gy_resolve_init(&lookup->resolve, &lookup->endpoint, lookup->channels);
	r = gyre_watch(stack, order->asker);
	if (r == 0) {
		r = gy_endpoint_add(&lookup->endpoint, s->house);
	}
	if (r < 0) { /* which the ask is told, that is on its way */
		lookup->done = true;
		lookup->error = r;
		return gyre_return(stack);
	}
	if (order->timeout_ns != GYRE_FOREVER) {
		gy_timer_start(&s->home->loop.wheel, &lookup->timer, order->timeout_ns);
	}
	start(lookup);
	return gyre_return(stack);
}

static int ask(struct gyre_stack *stack)
{
	const struct lookup *lookup = (const struct lookup *)gyre_state(stack);
	struct gyre_mail *answer;
	struct gyre_resolved *resolved;
	int r;

	r = lookup->done ? 0 : gyre_stash(stack);
	if (!lookup->done && r == 0) {
		return gyre_return(stack);
	}
	(void)gyre_stop(stack, gyre_self(stack));
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	if (lookup->error < 0) {
		return gyre_throw(stack, lookup->error);
	}
	answer = gyre_mail_create(stack, &gyre_type_gyre_resolved);
	if (answer != NULL) {
		resolved = (struct gyre_resolved *)gyre_payload(answer);
		*resolved = (struct gyre_resolved){ .count = lookup->resolve.count };
		memcpy(resolved->addresses, lookup->resolve.addresses,
		       resolved->count * sizeof(resolved->addresses[0]));
	}
	return gyre_reply(stack, answer);
}

/* The asker has gone. */
static int event(struct gyre_stack *stack)
{
	(void)gyre_stop(stack, gyre_self(stack));
	return gyre_return(stack);
}

static void clean(void *state)
{
	gy_memory_put(((struct lookup *)state)->order);
}

static const struct gyre_class lookup_class = {
	.name = "lookup",
	.state_bytes = sizeof(struct lookup),
	.behaviour = { .ask = ask, .event = event },
	.mount = mount,
	.clean = clean,
};

/* ---- asking ---- */

static int make_order(const char *text, const struct gyre_resolve_options *options,
		      struct gy_lookup_order **ret_order)
{
	const char *servers = options == NULL ? NULL : options->name_servers;
	size_t bytes = servers == NULL ? 0 : strlen(servers) + 1;
	int family = options == NULL ? AF_UNSPEC : options->family;
	struct gy_lookup_order *order;
	int r;

	if (text == NULL || (family != AF_UNSPEC && family != AF_INET && family != AF_INET6)) {
		return -EINVAL;
	}
	r = gy_resolve_check_servers(servers);
	if (r < 0) {
		return r;
	}
	order = (struct gy_lookup_order *)gy_memory_get(sizeof(*order) + bytes);
	if (order == NULL) {
		return -ENOMEM;
	}
	r = gy_socket_text_parse(text, &order->to);
	if (r == 0 && family != AF_UNSPEC && order->to.address.bytes > 0 &&
	    order->to.address.storage.ss_family != family) {
		r = -EINVAL;
	}
	if (r < 0) {
		gy_memory_put(order);
		return r;
	}
	order->family = family;
	if (bytes > 0) {
		memcpy(order->name_servers, servers, bytes);
		order->has_servers = true;
	}
	*ret_order = order;
	return 0;
}

/* Takes the order, whatever is returned. */
static int spawn(struct gyre_stack *stack, struct gy_lookup_order *order,
		 struct gyre_address *ret_actor)
{
	const struct gyre_spawn_options here = { .detached = true };
	struct gy_spawn_order spawn_order = {
		.class = &lookup_class,
		.channels_actor = true,
		.argument = gyre_fill_gy_lookup_argument(
			gyre_mail_create(stack, &gyre_type_gy_lookup_argument),
			(struct gy_lookup_argument){ .order = order }),
	};

	return spawn_order.argument == NULL ? -ENOMEM
					    : gy_spawn_by(stack, &spawn_order, &here, ret_actor);
}

static int resolve(struct gyre_stack *stack, const char *text,
		   const struct gyre_resolve_options *options, uint64_t timeout_ns,
		   struct gyre_future *ret_future)
{
	struct gy_lookup_order *order;
	struct gyre_address actor = GYRE_NOBODY;
	int r = ret_future == NULL ? -EINVAL : gy_budget_timeout(gy_stack_of(stack), &timeout_ns);

	if (r == 0) {
		r = make_order(text, options, &order);
	}
	if (r == 0) {
		order->asker = gyre_self(stack);
		order->timeout_ns = timeout_ns;
		r = spawn(stack, order, &actor);
	}
	if (r < 0) {
		if (ret_future != NULL) {
			*ret_future = (struct gyre_future){ .error = r };
		}
		return r;
	}
	r = gyre_ask(stack, actor, gyre_new(stack, gy_lookup_ask, 0), GYRE_FOREVER, ret_future);
	if (r < 0) {
		(void)gyre_stop(stack, actor);
	}
	return r;
}

int gyre_resolve_sized(struct gyre_stack *stack, const char *text,
		       const struct gyre_resolve_options *options, size_t options_bytes,
		       uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gyre_resolve_options whole;
	int r = GY_SIZED_READ(gyre_resolve_options, &whole, options, options_bytes,
			      gy_log_of_stack(stack));

	if (r < 0) {
		if (ret_future != NULL) {
			*ret_future = (struct gyre_future){ .error = r };
		}
		return r;
	}
	return resolve(stack, text, options == NULL ? NULL : &whole, timeout_ns, ret_future);
}
