/*
 * Actors of channels: acceptors, connectors and sockets for datagrams that have some, the handler
 * in their pipelines, and what the actors do with their channels. All else these actors do as the
 * others do.
 *
 * Checked is in which order a handler is told, that what it is told, and what the actor finds,
 * agrees with what the bond says of both ends; that bytes come in order, and none that were not
 * written. When all is calm, no channel is left that has an actor.
 */
#include <errno.h>
#include <stdlib.h>

#include "linking.h"

/* ---- bonds ---- */

static bool ends_with_channel(const struct link *link)
{
	return link->bond == GYRE_BOND_BOTH || link->bond == GYRE_BOND_CHANNEL_ENDS_ACTOR;
}

static bool bond_lets_channel_stay(uint8_t bond)
{
	return bond == GYRE_BOND_CHANNEL_ENDS_ACTOR || bond == GYRE_BOND_PART;
}

static bool ends_with_actor(const struct link *link)
{
	return !bond_lets_channel_stay(link->bond);
}

/* ---- the pipeline ---- */

static void advance(struct link *link, uint32_t from, enum link_stage to)
{
	uint32_t stage = gy_exchange(&link->stage, (uint32_t)to);

	trace(link->life, "its channel", to, link_number(link));
	must(link->world, link->life, (from >> stage & 1) != 0, "from %u to %u", stage, to);
}

/* What a handler of a pipeline finds of its actor; NULL for one that has parted, or does not run.
 */
static struct self *find_actor(struct link *link, struct gyre_handler_context *ctx)
{
	struct world *world = link->world;
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct self *self = (struct self *)gyre_channel_actor_state(channel);

	if (self == NULL) {
		must(world, link->life, !ends_with_actor(link), "its actor has left it");
		must(world, link->life, gyre_address_is_nobody(gyre_channel_actor(channel)));
		link->parted = true;
		return NULL;
	}
	must(world, link->life,
	     self == link->self && !link->parted && self->link == link_number(link));
	must(world, link->life, gy_load_relaxed(&link->cleaned) == 0, "its actor was cleaned");
	must(world, link->life, gyre_state(gyre_context_stack(ctx)) == (void *)self,
	     "the stack shows another state");
	return self;
}

static struct self *find_mounted(struct link *link, struct gyre_handler_context *ctx)
{
	struct self *self = find_actor(link, ctx);

	must(link->world, link->life,
	     self == NULL || (self->world != NULL && self->phase != PHASE_MOUNT),
	     "a handler before the mount has ended");
	return self;
}

static int on_added(struct gyre_handler_context *ctx)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);

	advance(link, 1U << LINK_NONE, LINK_MADE);
	return 0;
}

static void on_registered(struct gyre_handler_context *ctx)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);

	advance(link, 1U << LINK_MADE, LINK_REGISTERED);
	(void)find_mounted(link, ctx);
	gyre_context_fire_registered(ctx);
}

static void on_active(struct gyre_handler_context *ctx)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);

	advance(link, 1U << LINK_REGISTERED, LINK_ACTIVE);
	(void)find_mounted(link, ctx);
	if (spend(link->world)) {
		link_write(link, ctx);
	}
	gyre_context_fire_active(ctx);
}

static void hang_up(struct link *link, struct gyre_handler_context *ctx)
{
	uint32_t how = draw(&link->random, 4);

	trace(link->life, "hangs up", how, link_number(link));
	if (how == 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -EIO);
	} else if (how == 1) {
		gyre_context_shutdown(ctx);
	} else {
		gyre_context_close(ctx);
	}
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);
	struct self *self = find_mounted(link, ctx);

	must(link->world, link->life, link->stage == LINK_ACTIVE, "bytes in stage %u", link->stage);
	link_read(link, data);
	if (!spend(link->world)) {
		return;
	}
	switch (draw(&link->random, 8)) {
	case 0:
		hang_up(link, ctx);
		break;
	case 1:
	case 2:
	case 3:
		link_write(link, ctx);
		break;
	default:
		if (self != NULL && !self->stopped) {
			act_in_pipeline(gyre_context_stack(ctx));
		}
	}
}

/* A channel that could go on alone does not end with its actor, unless others end that, or it had
 * failed before. */
static void expect_actor_goes_on(struct link *link, const struct self *self,
				 struct gyre_handler_context *ctx)
{
	struct world *world = link->world;
	struct gyre_stack *stack = gyre_context_stack(ctx);
	bool others_end = !link->accepted || world->plan.resizing || world->plan.lean ||
			  gy_load_acquire(&world->stopped) != 0 ||
			  gyre_channel_reason(gyre_context_channel(ctx)) != 0;

	if (self != NULL && !ends_with_actor(link) && !others_end) {
		must(world, link->life,
		     gyre_notify(stack, gyre_self(stack),
				 gyre_new(stack, letter, .head.marks = MARK_SETTLE)) != -ESRCH,
		     "its channel ended with it");
	}
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);

	/* One that was accepted may be closed before. */
	advance(link, 1U << LINK_REGISTERED | 1U << LINK_ACTIVE, LINK_INACTIVE);
	expect_actor_goes_on(link, find_mounted(link, ctx), ctx);
	gyre_context_fire_inactive(ctx);
}

static void on_unregistered(struct gyre_handler_context *ctx)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);

	advance(link, 1U << LINK_REGISTERED | 1U << LINK_INACTIVE, LINK_UNREGISTERED);
	(void)find_mounted(link, ctx);
	gyre_context_fire_unregistered(ctx);
}

static void on_removed(struct gyre_handler_context *ctx)
{
	struct link *link = (struct link *)gyre_context_arg(ctx);

	(void)find_actor(link, ctx);
	advance(link, 1U << LINK_MADE | 1U << LINK_UNREGISTERED, LINK_REMOVED);
}

static int init_channel(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler handler = {
		.name = "link",
		.added = on_added,
		.removed = on_removed,
		.registered = on_registered,
		.active = on_active,
		.read = on_read,
		.inactive = on_inactive,
		.unregistered = on_unregistered,
	};
	struct dial *dial = (struct dial *)arg;
	struct world *world = dial->world;
	struct self *self = (struct self *)gyre_channel_actor_state(channel);
	uint64_t random = dial->random + gy_add_relaxed(&dial->draws, 1);
	uint32_t number;
	struct link *link;
	int r;

	must(world, 0, self != NULL && self->world == NULL && self->link == 0,
	     "a state is not new");
	if (dial != &world->links->socket &&
	    (gy_load_relaxed(&world->closing) != 0 || one_in(&random, 12))) {
		return -EIO;
	}
	number = gy_add_relaxed(&world->links->count, 1) + 1;
	if (number >= LINKS_MAX) {
		return -EIO;
	}
	link = &world->links->links[number];
	link->world = world; /* not all of it: its peer looks at what is atomic */
	link->self = self;
	link->random = random;
	link->class = dial->class;
	link->bond = dial->bond;
	link->datagrams = dial == &world->links->socket;
	link->accepted = !link->datagrams && dial < world->links->dials;
	self->link = number;
	r = gyre_pipeline_add(channel, GYRE_LAST, &handler, link);
	must(world, 0, r == 0 || (r == -ENOMEM && world->plan.lean), "%d", r);
	return r;
}

/* ---- the actor ---- */

bool linked_birth(struct gyre_stack *stack, struct birth *ret_birth)
{
	const struct gyre_channel_attached *attached = gyre_message(stack, gyre_channel_attached);
	struct self *self = self_of(stack);
	struct dial *dial;
	struct link *link;

	if (attached == NULL) {
		return false;
	}
	dial = (struct dial *)attached->arg;
	link = &dial->world->links->links[self->link];
	must(dial->world, 0, self->link > 0 && link->self == self && link->class == dial->class);
	must(dial->world, 0,
	     attached->channel != NULL && attached->channel == gyre_actor_channel(stack) &&
		     gyre_address_equal(gyre_channel_actor(attached->channel), gyre_self(stack)),
	     "another channel");
	must(dial->world, 0, gy_load_relaxed(&link->stage) == LINK_MADE);
	*ret_birth = (struct birth){ .world = dial->world,
				     .random = gy_random_next(&link->random),
				     .depth = 1,
				     .class = dial->class,
				     .place = GYRE_PLACE_HERE,
				     .loop = gyre_self(stack).loop };
	return true;
}

void link_is_mounted(struct self *self)
{
	gy_store_release(&self->world->links->links[self->link].life, self->life);
}

void link_is_cleaned(struct self *self)
{
	struct world *world = world_now();
	struct link *link = &world->links->links[self->link];
	uint32_t stage = gy_load_relaxed(&link->stage);

	must(world, self->life, gy_add_relaxed(&link->cleaned, 1) == 0, "cleaned twice");
	/* With stage 0 its handler has never come into the pipeline. */
	must(world, self->life,
	     stage == LINK_NONE || stage == LINK_REMOVED || !ends_with_actor(link),
	     "its channel is in stage %u", stage);
}

/* Its channel, and what is known of that; NULL for none. */
static struct gyre_channel *find_channel(struct gyre_stack *stack, struct link **ret_link)
{
	struct self *self = self_of(stack);
	struct gyre_channel *channel = gyre_actor_channel(stack);
	struct link *link = &self->world->links->links[self->link];
	uint32_t stage = gy_load_acquire(&link->stage);

	*ret_link = link;
	if (channel == NULL) {
		must(self->world, self->life, self->link == 0 || stage != LINK_ACTIVE,
		     "it does not find its channel");
		return NULL;
	}
	must(self->world, self->life,
	     self->link != 0 && link->self == self && stage < LINK_INACTIVE,
	     "it finds a channel in stage %u", stage);
	must(self->world, self->life,
	     gyre_address_equal(gyre_channel_actor(channel), gyre_self(stack)) &&
		     gyre_channel_actor_state(channel) == (void *)self);
	return channel;
}

void use_channel(struct gyre_stack *stack, bool hangs_up)
{
	struct link *link;
	struct gyre_channel *channel = find_channel(stack, &link);

	if (channel != NULL && hangs_up) {
		hang_up(link, gyre_channel_tail(channel));
	} else if (channel != NULL) {
		link_write(link, gyre_channel_tail(channel));
	}
}

void close_channel(struct gyre_stack *stack)
{
	struct link *link;
	struct gyre_channel *channel = find_channel(stack, &link);

	if (channel != NULL) {
		trace(link->life, "closes its channel", link_number(link), 0);
		gyre_context_close(gyre_channel_tail(channel));
	}
}

/* ---- connecting ---- */

static struct dial draw_dial(struct world *world, uint64_t *random)
{
	return (struct dial){ .world = world,
			      .random = gy_random_next(random),
			      .class = draw_class(random, false),
			      .bond = (uint8_t)draw(random, GYRE_BOND_PART + 1) };
}

struct dial *take_dial(struct self *self)
{
	struct links *links = self->world->links;
	uint32_t number = gy_load_relaxed(&links->dials_count) < DIALS_MAX
				  ? gy_add_relaxed(&links->dials_count, 1)
				  : DIALS_MAX;
	struct dial *dial = &links->dials[number];

	if (number >= DIALS_MAX || !self->world->plan.links || self->depth > 4) {
		return NULL;
	}
	*dial = draw_dial(self->world, &self->random);
	return dial;
}

uint8_t bond_of(const struct dial *dial)
{
	return dial->bond;
}

int dial(struct gyre_stack *stack, struct dial *dial, struct gyre_address *ret_socket,
	 struct gyre_future *ret_future)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	const struct gyre_connect_options options = {
		.to = world->links->addresses[draw(&self->random, ACCEPTORS)],
		.init_channel = init_channel,
		.init_arg = dial,
		.actor_class = &classes[dial->class],
		.bond = (enum gyre_channel_bond)dial->bond,
		.channel.no_linger = one_in(&self->random, 4),
		.connections = 1 + (one_in(&self->random, 4) ? draw(&self->random, 3) : 0),
		.connect_timeout_ns =
			one_in(&self->random, 4) ? world->plan.patience_ns : GYRE_SECONDS(5),
		.retries_max = one_in(&self->random, 3) ? draw(&self->random, 3) : 0,
		.retry_min_ns = 100000,
		.retry_max_ns = 200000,
		.place = { .place = one_in(&self->random, 2) ? GYRE_PLACE_ROUND_ROBIN
							     : GYRE_PLACE_HERE,
			   .detached = one_in(&self->random, 4) },
	};
	int r = gyre_connect(stack, &options, ret_socket, ret_future);

	trace(self->life, "dials", dial->class, (uint64_t)r);
	must(world, self->life,
	     r == 0 || (r == -ENOMEM && world->plan.lean) ||
		     (r == -ESHUTDOWN &&
		      (world->plan.resizing || gy_load_acquire(&world->stopped) != 0)),
	     "%d", r);
	return r;
}

void dial_and_go(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct dial *one = take_dial(self);
	struct gyre_address socket = GYRE_NOBODY;

	if (one != NULL && dial(stack, one, &socket, NULL) == 0 && one_in(&self->random, 4)) {
		(void)gyre_stop(stack, socket);
	}
}

void expect_connected(struct self *self, const struct waiting *one)
{
	struct world *world = self->world;
	const struct gyre_connected *connected = gyre_future_get(&one->future, gyre_connected);
	uint8_t bond = world->pledges[one->pledge].bond;

	must(world, self->life, connected != NULL && connected->connection < 3);
	must(world, self->life, world->plan.lean || !gyre_address_is_nobody(connected->channel));
	must(world, self->life,
	     bond_lets_channel_stay(bond) || !gyre_address_is_nobody(connected->actor));
}

/* ---- the world ---- */

static void listen_one(struct world *world, uint64_t *random, uint32_t index)
{
	struct links *links = world->links;
	struct dial *dial = &links->acceptors[index];
	struct gyre_socket_address address = { .bytes = 0 };
	struct gyre_acceptor_options options = {
		.bind = "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = dial,
		.listeners = draw(random, 3),
		.ret_address = &address,
	};
	int r;

	*dial = draw_dial(world, random);
	options.actor_class = &classes[dial->class];
	options.bond = (enum gyre_channel_bond)dial->bond;
	r = gyre_system_listen(world->system, &options, NULL);
	must(world, 0, r == 0, "%d", r);
	r = gyre_socket_address_format(&address, sizeof(links->addresses[index]),
				       links->addresses[index]);
	must(world, 0, r >= 0, "%d", r);
}

static void open_socket(struct world *world, uint64_t *random)
{
	struct dial *dial = &world->links->socket;
	struct gyre_datagram_options options = {
		.bind = "udp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = dial,
		.one_loop = one_in(random, 2),
		.ret_address = &world->links->socket_address,
	};
	int r;

	*dial = draw_dial(world, random);
	options.actor_class = &classes[dial->class];
	options.bond = (enum gyre_channel_bond)dial->bond;
	r = gyre_system_datagram_open(world->system, &options, NULL);
	must(world, 0, r == 0, "%d", r);
}

void make_links(struct world *world, uint64_t *random)
{
	world->links = (struct links *)calloc(1, sizeof(*world->links));
	must(world, 0, world->links != NULL);
	for (uint32_t i = 0; i < ACCEPTORS && world->plan.links; i++) {
		listen_one(world, random, i);
	}
	if (world->plan.links && one_in(random, 2)) {
		open_socket(world, random);
	}
}

/* What is left of one when nothing moves any more: the bond says whether it may. */
static bool is_settled(const struct world *world, const struct link *link)
{
	uint32_t stage = gy_load_acquire(&link->stage);
	uint32_t life = gy_load_acquire(&link->life);
	bool lives = life != 0 && gy_load_acquire(&world->lives[life].alive) != 0;

	if (stage == LINK_NONE) {
		return true;
	}
	if (stage == LINK_REMOVED) {
		return !lives || !ends_with_channel(link);
	}
	return life != 0 && !lives && !ends_with_actor(link);
}

bool links_have_settled(struct world *world)
{
	uint32_t count = gy_load_acquire(&world->links->count);

	for (uint32_t i = 1; i <= count && i < LINKS_MAX; i++) {
		if (!is_settled(world, &world->links->links[i])) {
			trace(0, "is not settled", i, 0);
			world->differs = "a channel, or the actor of one";
			return false;
		}
	}
	return true;
}

void expect_no_link(struct world *world)
{
	for (uint32_t i = 1; i < LINKS_MAX; i++) {
		const struct link *link = &world->links->links[i];

		must(world, link->life, link->stage == LINK_NONE || link->stage == LINK_REMOVED,
		     "link %u is in stage %u", i, link->stage);
		must(world, link->life, link->stage == LINK_NONE || link->cleaned == 1,
		     "the actor of link %u was not cleaned", i);
	}
}
