/*
 * The porter of a node. He is a member of the service of all porters and watches it, so that he
 * knows the nodes that are up: a node that is declared down leaves the listing, and one that comes
 * is in it. Sessions ask him where a room is. If its home is here he founds it, unless there is one
 * of that name; else he passes the question on to the porter of its home.
 */
#include <errno.h>
#include <string.h>

#include "chat.h"

GYRE_SERVICE(porters, 0x400, find, rooms);

struct porter {
	const struct chat *chat;
	struct homes homes;
	struct gyre_address porters[NODES_MAX]; /* of @homes, in the same order */
	bool is_listed;				/* for the porters of other nodes */
	bool is_watching;			/* them */
};

static struct porter *porter_of(struct gyre_stack *stack)
{
	return (struct porter *)gyre_state(stack);
}

/* ---- homes ---- */

bool is_whole(const struct name *name)
{
	return memchr(name->text, '\0', sizeof(name->text)) != NULL;
}

/* FNV-1a over the name, then a round of mixing with the node. */
static uint64_t weight(const struct name *room, uint16_t node)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (const char *at = room->text; *at != '\0'; at++) {
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	}
	hash = (hash ^ node) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ (hash >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 29);
}

static uint32_t place_of_home(const struct homes *homes, const struct name *room)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < homes->count; i++) {
		uint64_t here = weight(room, homes->nodes[i]);
		uint64_t there = weight(room, homes->nodes[best]);

		if (here > there || (here == there && homes->nodes[i] < homes->nodes[best])) {
			best = i;
		}
	}
	return best;
}

uint16_t home_of(const struct homes *homes, const struct name *room)
{
	return homes->nodes[place_of_home(homes, room)];
}

/* ---- the porter ---- */

static int try_again_soon(struct gyre_stack *stack)
{
	static const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(100) };

	return gyre_timer_start(stack, 0, &soon);
}

/* What is done already is not done again. */
static int meet_others(struct gyre_stack *stack)
{
	struct porter *porter = porter_of(stack);
	int r = 0;

	if (porter->chat->node != 0 && !porter->is_listed) {
		r = gyre_service_join(stack, &gyre_service_porters);
		porter->is_listed = r == 0;
	}
	if (r == 0 && porter->chat->node != 0 && !porter->is_watching) {
		r = gyre_service_watch(stack, &gyre_service_porters, 0);
		porter->is_watching = r == 0;
	}
	return r;
}

/* Without memory again in a moment: a node without a porter would go on, and its clients would find
 * no room. */
static int begin_work(struct gyre_stack *stack)
{
	struct porter *porter = porter_of(stack);
	int r;

	porter->chat = gyre_message(stack, hiring)->chat;
	porter->homes = (struct homes){ 1, { (uint16_t)porter->chat->node } };
	porter->porters[0] = gyre_self(stack);
	r = meet_others(stack);
	r = r == -ENOMEM ? try_again_soon(stack) : r;
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static struct gyre_mail *new_homes(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_homes);

	if (mail != NULL) {
		memcpy(gyre_payload(mail), &porter_of(stack)->homes, sizeof(struct homes));
	}
	return mail;
}

/* Without memory again in a moment: a room that is not told stays where nobody looks for it. */
static int tell_homes(struct gyre_stack *stack)
{
	int r = gyre_notify(stack, porter_of(stack)->chat->rooms, new_homes(stack));

	if (r == -ENOMEM && try_again_soon(stack) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	return gyre_return(stack); /* also for -ESRCH: there are no rooms */
}

static int try_again(struct gyre_stack *stack)
{
	int r = meet_others(stack);

	if (r == 0) {
		return tell_homes(stack);
	}
	r = r == -ENOMEM ? try_again_soon(stack) : r;
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

/* The own node is always one of them, though the listing may be without it for a moment. */
static int take_listing(struct gyre_stack *stack)
{
	const struct gyre_listing *listing = gyre_message(stack, gyre_listing);
	struct porter *porter = porter_of(stack);

	porter->homes.count = 1;
	for (uint32_t i = 0; i < listing->count; i++) {
		uint32_t count = porter->homes.count;

		if (gyre_address_is_here(listing->members[i])) {
			continue;
		}
		if (count == NODES_MAX) {
			gyre_log(stack, GYRE_LOG_WARNING,
				 "more than %d nodes: rooms have no homes on the others",
				 NODES_MAX);
			break;
		}
		porter->homes.nodes[count] = listing->members[i].node;
		porter->porters[count] = listing->members[i];
		porter->homes.count++;
	}
	return tell_homes(stack);
}

/* It may have missed a listing, before it was in the group of rooms. */
static int welcome_room(struct gyre_stack *stack)
{
	return gyre_reply(stack, new_homes(stack));
}

static int found_here(struct gyre_stack *stack, const struct name *name)
{
	const struct gyre_spawn_options named = { .place = GYRE_PLACE_ROUND_ROBIN,
						  .detached = true,
						  .name = name->text };
	struct gyre_address room;
	int r = gyre_spawn(stack, &room_class,
			   gyre_new(stack, founding, porter_of(stack)->chat, *name), &named, &room);

	return r < 0 && r != -EEXIST ? gyre_throw(stack, r)
				     : gyre_reply(stack, gyre_new(stack, found, room));
}

/* Nodes that do not agree about who is up do not send a session round in circles. */
static int find_room(struct gyre_stack *stack)
{
	const struct porter *porter = porter_of(stack);
	const struct name *name = &gyre_message(stack, find)->name;
	uint32_t place;

	if (!is_whole(name)) {
		return gyre_throw(stack, -EPROTO);
	}
	place = place_of_home(&porter->homes, name);
	if (place == 0) {
		return found_here(stack, name);
	}
	return gyre_address_is_here(gyre_sender(stack))
		       ? gyre_forward(stack, porter->porters[place])
		       : gyre_throw(stack, -EAGAIN);
}

static int tell_rooms(struct gyre_stack *stack, struct gyre_address session)
{
	return gyre_notify(stack, porter_of(stack)->chat->rooms, gyre_new(stack, rooms, session));
}

/* Of all nodes: each porter has those of his node tell the session. */
static int ask_all_rooms(struct gyre_stack *stack)
{
	const struct porter *porter = porter_of(stack);
	struct gyre_address session = gyre_message(stack, rooms)->session;
	int r = tell_rooms(stack, session);

	for (uint32_t i = 1; i < porter->homes.count; i++) {
		r = gyre_notify(stack, porter->porters[i], gyre_new(stack, rooms, session)) < 0 ? r
												: 0;
	}
	return r < 0 ? gyre_throw(stack, -ENOENT) : gyre_reply(stack, gyre_new(stack, done, 0));
}

static int ask_own_rooms(struct gyre_stack *stack)
{
	struct gyre_address session = gyre_message(stack, rooms)->session;

	if (tell_rooms(stack, session) < 0) {
		(void)gyre_notify(
			stack, session,
			gyre_new(stack, told,
				 gyre_bytes_printf("* there are no rooms on node %u",
						   (unsigned)porter_of(stack)->chat->node)));
	}
	return gyre_return(stack);
}

static const struct gyre_route asks[] = {
	GYRE_ROUTE(find, find_room),
	GYRE_ROUTE(founded, welcome_room),
	GYRE_ROUTE(rooms, ask_all_rooms),
	GYRE_ROUTE_END,
};
static const struct gyre_route notices[] = {
	GYRE_ROUTE(rooms, ask_own_rooms),
	GYRE_ROUTE_END,
};
static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_listing, take_listing),
	GYRE_ROUTE(gyre_timeout, try_again),
	GYRE_ROUTE_END,
};

const struct gyre_class porter_class = {
	.name = "porter",
	.state_bytes = sizeof(struct porter),
	.mount = begin_work,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
	.behaviour = { .ask_routes = asks, .notice_routes = notices, .event_routes = events },
};
