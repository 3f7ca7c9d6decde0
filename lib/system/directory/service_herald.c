/*
 * The herald: the actor by which a node tells others of its services, and hears of theirs. It is
 * made by the first call about services, lives on the first loop, which never retires, and has a
 * name by which heralds of other nodes find it.
 *
 * Each other node is an audience. One report is under way to it at a time, as an ask; what changes
 * until the receipt comes is the next report. So a report that is lost with its link is sent again,
 * one that came is not taken twice, and who is slow gets fewer and larger ones. A node without a
 * herald is told nothing, until one is made there and speaks.
 *
 * A node that is down is no audience any more. When it comes again it has another life, and is told
 * all; when this node has another one, all are. Reports of others are taken while the node that
 * tells is alive, in the life in which it has told, under the mutex under which it would be
 * declared down: so none comes after that.
 */
#include <errno.h>
#include <string.h>

#include <gyre/name.h>
#include <gyre/node.h>
#include <gyre/timer.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/log/log_limit.h"
#include "base/memory/memory.h"
#include "remote/message/service_report.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"
#include "system/directory/directory.h"
#include "system/system.h"

static const char herald_name[] = "gyre/services";

enum { TIMER_TICK = 1, TIMER_RETRY = 2 };
enum { FAILURES_COUNTED = 7, WARNINGS_MAX = 10, WARNINGS_MS = 60000 };
static const uint64_t tick_ns = GYRE_SECONDS(1);
static const uint64_t receipt_ns = GYRE_SECONDS(10);
static const uint64_t pause_ns = GYRE_MILLISECONDS(100);

/* That audience is to be told something; 0 when something has changed, for all. */
struct turn {
	uint16_t node;
};
GYRE_OWN_MESSAGE_(turn, 0x77);

struct audience {
	struct gy_list item;
	struct gyre_address herald; /* there; or nobody */
	uint64_t told;		    /* up to where */
	uint64_t whole_up_to;	    /* it is, or was, told all that there was up to there */
	uint64_t silent_until_ns;
	uint64_t asked_ns;  /* when its turn was sent, which may be lost; 0 once it has come */
	uint32_t life;	    /* of it */
	uint32_t round;	    /* counts what makes answers to earlier questions void */
	uint32_t failures;  /* in a row */
	uint32_t bytes_max; /* of a report, if it has more than one change */
	uint32_t alone_max; /* of one with a single change */
	uint16_t node;
	bool begins; /* it is to be told all */
	bool whole;  /* it is being told all */
	bool busy;   /* something is under way */
	bool absent; /* it has no herald */
	bool is_down;
};

struct herald {
	struct gyre_system *system;
	struct gyre_address self;
	struct gy_list audiences;
	bool is_named;
	bool watches_nodes;
	struct gy_log_limit warnings;
};

struct frame {
	struct gyre_future future;
	struct audience *audience;
	struct gy_service_report_plan plan;
	uint32_t round;
};

static struct herald *herald_of(const struct gyre_stack *stack)
{
	return (struct herald *)gyre_state(stack);
}

static struct gy_services *services_of(const struct gyre_stack *stack)
{
	return &gyre_system_of(stack)->directory->services;
}

static struct gy_nodes *nodes_of(const struct gyre_stack *stack)
{
	return gyre_system_of(stack)->homes.nodes;
}

static struct audience *audience_at(struct gy_list *item)
{
	return gy_container_of(item, struct audience, item);
}

/* ---- audiences ---- */

static struct audience *find_audience(const struct herald *herald, uint16_t node)
{
	for (struct gy_list *at = herald->audiences.next; at != &herald->audiences; at = at->next) {
		if (audience_at(at)->node == node) {
			return audience_at(at);
		}
	}
	return NULL;
}

/* How long its messages may be shows when they are sent. */
static void expect_room(struct audience *audience)
{
	audience->bytes_max = GY_SERVICE_REPORT_BYTES_MAX;
	audience->alone_max = GY_SERVICE_REPORT_BYTES_MAX;
}

/* NULL without memory: the next tick, or the next report of that node, tries again. */
static struct audience *get_audience(struct herald *herald, uint16_t node)
{
	struct audience *audience = find_audience(herald, node);

	if (audience == NULL) {
		audience = (struct audience *)gy_memory_get(sizeof(*audience));
		if (audience != NULL) {
			audience->node = node;
			audience->begins = true;
			expect_room(audience);
			gy_list_append(&herald->audiences, &audience->item);
		}
	}
	return audience;
}

/* Nothing of what it was told counts any more. */
static void begin_anew(struct audience *audience)
{
	audience->round++;
	audience->told = 0;
	audience->begins = true;
	audience->whole = false;
	audience->failures = 0;
	audience->silent_until_ns = 0;
}

static void meet(struct audience *audience, uint32_t life)
{
	audience->is_down = false;
	if (audience->life != life) {
		begin_anew(audience);
		if (audience->life != 0) {
			expect_room(audience);
		}
		audience->life = life;
		audience->herald = GYRE_NOBODY;
		audience->absent = false;
	}
}

static bool has_news(const struct gy_services *services, const struct audience *audience)
{
	return !audience->is_down && !audience->absent &&
	       (audience->begins || audience->whole ||
		audience->told < gy_load_acquire(&services->changed));
}

/* What has left is kept as long as somebody may have to be told, who is not to be told all. */
static void forget(const struct gyre_stack *stack)
{
	struct gy_services *services = services_of(stack);
	const struct herald *herald = herald_of(stack);
	uint64_t up_to = UINT64_MAX;

	for (struct gy_list *at = herald->audiences.next; at != &herald->audiences; at = at->next) {
		const struct audience *audience = audience_at(at);
		uint64_t needs = audience->whole && audience->whole_up_to > audience->told
					 ? audience->whole_up_to
					 : audience->told;

		if (!audience->begins && needs < up_to) {
			up_to = needs;
		}
	}
	(void)pthread_mutex_lock(&services->mutex);
	services->is_told = up_to != UINT64_MAX;
	gy_services_forget(services, services->is_told ? up_to : services->changed);
	(void)pthread_mutex_unlock(&services->mutex);
}

/* ---- reports ---- */

/* NULL without memory. */
static struct gyre_mail *make_report(struct gyre_stack *stack, struct audience *audience,
				     struct gy_service_report_plan *ret_plan)
{
	struct gy_services *services = services_of(stack);
	uint32_t bytes_max = nodes_of(stack)->options.message_bytes_max -
			     (uint32_t)sizeof(struct gy_service_report);
	struct gy_service_report_plan plan;
	struct gyre_mail *mail;
	uint64_t needs;

	bytes_max = bytes_max < audience->bytes_max ? bytes_max : audience->bytes_max;
	(void)pthread_mutex_lock(&services->mutex);
	needs = audience->whole && audience->whole_up_to > audience->told ? audience->whole_up_to
									  : audience->told;
	if (audience->begins || needs < services->forgotten) {
		audience->begins = false;
		audience->whole = true;
		audience->told = 0;
		audience->whole_up_to = services->changed;
	}
	services->is_told = true;
	gy_services_plan_report(services, audience->told, audience->whole_up_to, bytes_max,
				audience->alone_max, &plan);
	plan.flags = audience->whole && plan.from == 0 ? GY_SERVICE_REPORT_FIRST : 0;
	plan.flags |=
		audience->whole && plan.to >= audience->whole_up_to ? GY_SERVICE_REPORT_LAST : 0U;
	mail = gyre_mail_create_tail(stack, &gyre_type_gy_service_report, plan.bytes);
	if (mail != NULL) {
		struct gy_service_report *report = (struct gy_service_report *)gyre_payload(mail);
		struct gyre_encoder out = { .bytes = report->body,
					    .room = plan.bytes,
					    .max = plan.bytes };

		gy_services_write_report(services, &plan, audience->whole_up_to, &out);
		gy_assert(out.error == 0 && out.count == plan.bytes);
	}
	(void)pthread_mutex_unlock(&services->mutex);
	*ret_plan = plan;
	return mail;
}

/* Whether it has got on. */
static bool take_receipt(struct audience *audience, const struct gy_service_report_plan *plan,
			 uint64_t known)
{
	if (known < plan->from || known > plan->to) {
		uint32_t failures = audience->failures;

		begin_anew(audience); /* it is another one, or had begun anew itself */
		audience->failures = failures;
		return false;
	}
	if (known == plan->from && plan->to > plan->from) {
		return false; /* it lacks memory */
	}
	audience->told = known;
	audience->whole = audience->whole && known < audience->whole_up_to;
	audience->failures = 0;
	return true;
}

/* It is tried again, after a pause that doubles each time. */
static void fall_silent(struct gyre_stack *stack, struct audience *audience)
{
	uint64_t pause = pause_ns << audience->failures;

	audience->failures += audience->failures < FAILURES_COUNTED;
	audience->silent_until_ns = gyre_now(stack) + pause;
	/* Without memory for it the next tick is what it waits for. */
	(void)gyre_timer_start(stack, TIMER_RETRY,
			       &(struct gyre_timer_options){ .delay_ns = pause });
}

/* One that does not answer may be on its way; one that refuses does so again. */
static void warn(struct gyre_stack *stack, const struct audience *audience, int error)
{
	const struct gy_nodes *nodes = nodes_of(stack);
	bool is_refused = error == -EPROTO || error == -ENOBUFS;

	if (audience->failures == (is_refused ? 0U : FAILURES_COUNTED - 1U)) {
		(void)gy_log_limited(nodes->log, &herald_of(stack)->warnings, gyre_now(stack),
				     GYRE_LOG_WARNING,
				     "node %u: node %u cannot be told of services: %s; this is "
				     "tried again; see the log of that node",
				     nodes->options.id, audience->node, strerror(-error));
	}
}

/* One that is not there is told when its herald speaks, which it may have done meanwhile. The
 * herald may have been another one. */
static void fail(struct gyre_stack *stack, struct audience *audience, int error)
{
	if (error == -ENOENT && gyre_address_is_nobody(audience->herald)) {
		audience->absent = true;
		begin_anew(audience);
		return;
	}
	if (error != -ENOENT) {
		audience->herald = GYRE_NOBODY;
	}
	warn(stack, audience, error);
	fall_silent(stack, audience);
}

/* A report was too long for a message to that node: the next one is shorter, or leaves out what
 * cannot be told. False if nothing can be. */
static bool say_less(struct gyre_stack *stack, struct audience *audience,
		     const struct gy_service_report_plan *plan)
{
	const struct gy_nodes *nodes = nodes_of(stack);

	if (plan->count != 1) {
		audience->bytes_max = plan->bytes / 2;
		return plan->count > 0;
	}
	audience->alone_max = plan->bytes - 1;
	(void)gy_log_limited(nodes->log, &herald_of(stack)->warnings, gyre_now(stack),
			     GYRE_LOG_WARNING,
			     "node %u: node %u is not told of services with names of %u bytes or "
			     "more, which no message to it has room for: raise "
			     "message_bytes_max of both nodes",
			     nodes->options.id, audience->node,
			     plan->bytes - GY_SERVICE_REPORT_HEAD_BYTES - GY_SERVICE_CHANGE_BYTES -
				     GY_SERVICE_NAMED_BYTES);
	return true;
}

/* Whether there is more to say at once. */
static bool is_answered(struct gyre_stack *stack, struct frame *frame)
{
	struct audience *audience = frame->audience;
	const struct gy_service_receipt *receipt =
		gyre_future_get(&frame->future, gy_service_receipt);

	if (frame->round != audience->round) {
		return true;
	}
	if (receipt == NULL) {
		int error = gyre_future_error(&frame->future);

		if (error == -EMSGSIZE && say_less(stack, audience, &frame->plan)) {
			return true;
		}
		fail(stack, audience, error);
		return false;
	}
	if (!take_receipt(audience, &frame->plan, receipt->known)) {
		fall_silent(stack, audience);
		return false;
	}
	return true;
}

static bool is_found(struct gyre_stack *stack, struct frame *frame)
{
	struct audience *audience = frame->audience;
	const struct gyre_node_found *found = gyre_future_get(&frame->future, gyre_node_found);

	if (frame->round != audience->round) {
		return true;
	}
	if (found == NULL) {
		fail(stack, audience, gyre_future_error(&frame->future));
		return false;
	}
	if (found->address.node != audience->node || gyre_address_is_nobody(found->address)) {
		fail(stack, audience, -EPROTO);
		return false;
	}
	audience->herald = found->address;
	return true;
}

/* Tells an audience all that it does not know. */
static int speak(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->audience = find_audience(herald_of(stack), gyre_message(stack, turn)->node);
	gy_assert(frame->audience != NULL);
	frame->audience->asked_ns = 0;
	if (frame->audience->busy) {
		return gyre_return(stack); /* its turn was thought lost, and was not */
	}
	frame->audience->busy = true;
	while (has_news(services_of(stack), frame->audience)) {
		frame->round = frame->audience->round;
		if (gyre_address_is_nobody(frame->audience->herald)) {
			GYRE_AWAIT(stack,
				   gyre_node_lookup(stack, frame->audience->node, herald_name,
						    receipt_ns, &frame->future));
			if (!is_found(stack, frame)) {
				break;
			}
			continue;
		}
		GYRE_AWAIT(stack, gyre_ask(stack, frame->audience->herald,
					   make_report(stack, frame->audience, &frame->plan),
					   receipt_ns, &frame->future));
		if (!is_answered(stack, frame)) {
			break;
		}
	}
	frame->audience->busy = false;
	forget(stack);
	return gyre_return(stack);
	GYRE_END(stack);
}

/* A turn that came to nothing for lack of memory is given again. */
static bool is_asked(const struct audience *audience, uint64_t now_ns)
{
	return audience->asked_ns != 0 && now_ns - audience->asked_ns < tick_ns;
}

/* Each audience that something is to be said to, and nothing is being said to, has its turn. */
static void give_turns(struct gyre_stack *stack)
{
	struct herald *herald = herald_of(stack);
	uint64_t now_ns = gyre_now(stack);

	for (struct gy_list *at = herald->audiences.next; at != &herald->audiences; at = at->next) {
		struct audience *audience = audience_at(at);

		if (!audience->busy && !is_asked(audience, now_ns) &&
		    audience->silent_until_ns <= now_ns && has_news(services_of(stack), audience) &&
		    gyre_notify(stack, gyre_self(stack), gyre_new(stack, turn, audience->node)) ==
			    0) {
			audience->asked_ns = now_ns;
		}
	}
	forget(stack);
}

/* Whoever changes something says so and then looks whether the herald was poked; this says that it
 * was not, and then looks for changes. One of them sees the other. */
static void forget_poke(const struct gyre_stack *stack)
{
	(void)gy_exchange_full(&services_of(stack)->is_poked, 0);
}

static int hear_turn(struct gyre_stack *stack)
{
	if (gyre_message(stack, turn)->node != 0) {
		return speak(stack);
	}
	forget_poke(stack);
	give_turns(stack);
	return gyre_return(stack);
}

/* ---- of others ---- */

static int take_report(struct gyre_stack *stack, struct gyre_address from, uint64_t *ret_known)
{
	const struct gy_service_report *report = gyre_message(stack, gy_service_report);
	struct gy_services *services = services_of(stack);
	struct gy_nodes *nodes = nodes_of(stack);
	int r = -ESTALE;

	if (gy_peer_enter_life(nodes, from.node, from.life)) {
		(void)pthread_mutex_lock(&services->mutex);
		r = gy_services_take_report(services, from.node, from.life, report->body,
					    report->bytes, ret_known);
		(void)pthread_mutex_unlock(&services->mutex);
		gy_peer_leave_life(nodes);
	}
	return r;
}

static void warn_of_report(struct gyre_stack *stack, uint16_t node, int error)
{
	const struct gy_nodes *nodes = nodes_of(stack);

	(void)gy_log_limited(
		nodes->log, &herald_of(stack)->warnings, gyre_now(stack), GYRE_LOG_WARNING,
		"node %u: services of node %u are refused: %s", nodes->options.id, node,
		error == -ENOBUFS ? "it has more than a node may have; its actors must leave some"
				  : "what it tells is not understood; both must have versions "
				    "of gyre that fit");
}

/* Who tells has a herald, and so is an audience. */
static int hear_report(struct gyre_stack *stack)
{
	struct gyre_address from = gyre_sender(stack);
	struct audience *audience;
	uint64_t known = 0;
	int r;

	if (from.node == 0 || gyre_address_is_here(from)) {
		return gyre_throw(stack, -EPROTO);
	}
	r = take_report(stack, from, &known);
	if (r == -EPROTO || r == -ENOBUFS) {
		warn_of_report(stack, from.node, r);
	}
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	audience = get_audience(herald_of(stack), from.node);
	if (audience != NULL) {
		meet(audience, from.life);
		audience->herald = from;
		audience->absent = false;
		give_turns(stack);
	}
	return gyre_reply(stack, gyre_new(stack, gy_service_receipt, known));
}

/* ---- nodes ---- */

static void hear_own_life(const struct herald *herald)
{
	for (struct gy_list *at = herald->audiences.next; at != &herald->audiences; at = at->next) {
		begin_anew(audience_at(at));
	}
}

/* A report may have come of a later life than the event is about. */
static void hear_of_node(struct gyre_stack *stack, const struct gyre_node_event *event)
{
	struct herald *herald = herald_of(stack);
	struct audience *audience;
	uint32_t life = gy_life_of(event->incarnation);

	if (event->state == GYRE_NODE_QUARANTINED) {
		hear_own_life(herald);
		return;
	}
	audience = get_audience(herald, event->node);
	if (audience == NULL) {
		return;
	}
	if (event->state != GYRE_NODE_DOWN) {
		meet(audience, life);
		audience->silent_until_ns = 0;
	} else if (audience->life == life) {
		begin_anew(audience);
		audience->is_down = true;
	}
}

/* Those that nobody has heard of yet are dialled. */
static void look_for_nodes(struct gyre_stack *stack)
{
	struct gy_nodes *nodes = nodes_of(stack);
	uint16_t node = gy_peer_next_known(nodes, 0);

	while (node != 0) {
		(void)get_audience(herald_of(stack), node);
		node = gy_peer_next_known(nodes, node);
	}
}

static int hear_event(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	if (event != NULL) {
		hear_of_node(stack, event);
	}
	if (timeout != NULL && timeout->key == TIMER_TICK) {
		forget_poke(stack); /* it may be lost */
		look_for_nodes(stack);
	}
	give_turns(stack);
	return gyre_return(stack);
}

/* ---- life ---- */

/* Goes on where it lacked memory the last time. */
static int set_up(struct gyre_stack *stack)
{
	struct herald *herald = herald_of(stack);
	int r = herald->is_named ? 0 : gyre_name_register(stack, herald_name);

	herald->is_named = r == 0;
	if (r == 0 && !herald->watches_nodes) {
		r = gyre_node_watch(stack);
		herald->watches_nodes = r == 0;
	}
	return r < 0 ? r
		     : gyre_timer_start(stack, TIMER_TICK,
					&(struct gyre_timer_options){ .period_ns = tick_ns });
}

static int begin(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	herald_of(stack)->system = gyre_system_of(stack);
	herald_of(stack)->self = gyre_self(stack);
	gy_list_init(&herald_of(stack)->audiences);
	gy_log_limit_init(&herald_of(stack)->warnings, WARNINGS_MAX, WARNINGS_MS);
	r = set_up(stack);
	while (r == -ENOMEM) {
		GYRE_AWAIT(stack, gyre_sleep(stack, pause_ns, &frame->future));
		r = gyre_future_error(&frame->future);
		if (r == 0) {
			r = set_up(stack);
		} else {
			break; /* nor is there memory for that */
		}
	}
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	gy_store_release(&services_of(stack)->has_herald, 1);
	look_for_nodes(stack);
	give_turns(stack);
	return gyre_return(stack);
	GYRE_END(stack);
}

/* Whether another herald is to be made at once. After one that could not be mounted the next call
 * about services does so. */
static bool leave_office(struct gy_services *services, struct gyre_address self)
{
	bool is_missed = false;

	(void)pthread_mutex_lock(&services->mutex);
	if (services->herald.slot == self.slot && services->herald.cookie == self.cookie) {
		is_missed = gy_load_relaxed(&services->has_herald) != 0 &&
			    (services->own_count > 0 || !gy_list_empty(&services->watches));
		gy_store_release(&services->has_herald, 0);
		services->herald = GYRE_NOBODY;
		services->is_told = false;
		gy_store_release(&services->is_poked, 0);
	}
	(void)pthread_mutex_unlock(&services->mutex);
	return is_missed;
}

static void end(void *state)
{
	struct herald *herald = (struct herald *)state;

	if (herald->system == NULL) {
		return; /* it was not mounted */
	}
	while (!gy_list_empty(&herald->audiences)) {
		struct audience *audience = audience_at(herald->audiences.next);

		gy_list_remove(&audience->item);
		gy_memory_put(audience);
	}
	if (leave_office(&herald->system->directory->services, herald->self)) {
		(void)gy_services_take_part(herald->system);
	}
}

/* Other nodes know its address: what they send besides reports does no more than be lost. */
static const struct gyre_route notice_routes[] = { GYRE_ROUTE(turn, hear_turn), GYRE_ROUTE_END };
static const struct gyre_route ask_routes[] = { GYRE_ROUTE(gy_service_report, hear_report),
						GYRE_ROUTE_END };

static const struct gyre_class herald_class = {
	.name = "gyre services",
	.state_bytes = sizeof(struct herald),
	.frame_bytes = sizeof(struct frame),
	.mount = begin,
	.clean = end,
	.behaviour = { .notice_routes = notice_routes,
		       .ask_routes = ask_routes,
		       .event = hear_event },
	.strategy = GYRE_STRATEGY_IGNORE,
};

int gy_services_take_part(struct gyre_system *system)
{
	const struct gy_spawn_order order = { .class = &herald_class, .channels_actor = true };
	struct gy_services *services = &system->directory->services;
	const struct gy_nodes *nodes = system->homes.nodes;
	int r = 0;

	if (nodes == NULL || !gy_node_listens(nodes) ||
	    gy_load_acquire(&services->has_herald) != 0) {
		return 0;
	}
	(void)pthread_mutex_lock(&services->mutex);
	if (!gy_house_is_there(&system->homes.homes[0], services->herald) &&
	    gy_load_relaxed(&system->stop) == 0) {
		r = gy_spawn_from_outside(&system->homes.homes[0], &order, &services->herald);
	}
	(void)pthread_mutex_unlock(&services->mutex);
	return r == -ESHUTDOWN ? 0 : r;
}

/* Without memory the herald looks at its next tick. */
void gy_services_tell(struct gyre_system *system, struct gy_home *home)
{
	struct gy_services *services = &system->directory->services;
	struct gyre_address herald;
	struct gyre_mail *mail;

	if (gy_load_acquire(&services->has_herald) == 0 || gy_load_relaxed(&system->stop) != 0 ||
	    gy_exchange_full(&services->is_poked, 1) != 0) {
		return;
	}
	(void)pthread_mutex_lock(&services->mutex);
	herald = services->herald;
	(void)pthread_mutex_unlock(&services->mutex);
	mail = gyre_address_is_nobody(herald) ? NULL : gy_mail_get(home, &gyre_type_turn);
	if (mail == NULL) {
		gy_store_release(&services->is_poked, 0);
		return;
	}
	((struct turn *)gyre_payload(mail))->node = 0;
	gy_mail_from_nobody(mail);
	mail->node.kind = GY_MAIL_NOTICE;
	mail->ask_id = 0;
	(void)gy_send(home, herald, mail, GY_LANE_NOTICE);
}

void gy_services_lost(struct gyre_system *system, uint16_t node)
{
	gy_services_node_lost(&system->directory->services, node);
}
