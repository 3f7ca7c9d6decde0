/*
 * The ring over processes. Each node has one actor, which finds that of the next node by its name
 * and passes on what it gets, as a new message. The first node sends the tokens off and counts
 * them as they come by: that is the laps.
 *
 * What is measured is marked by two messages that go round once each, at the beginning and the end
 * of the time. With the second every node adds up what it has used of its processor since the
 * first; and then leaves. A node that is stopped before that has failed; so has one that waits for
 * the second long after it was due, since then a process of the ring is gone.
 */
#include "ring_node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <gyre/gyre.h>

enum { TOKEN_ID = 0x110, ADDRESS_BYTES = 128 };
enum { TIMER_BEGIN, TIMER_END, TIMER_LEAVE, TIMER_GIVE_UP };

static const uint64_t find_again_ns = GYRE_MILLISECONDS(50);
static const uint64_t warm_up_ns = GYRE_SECONDS(1);
static const uint64_t patience_s = 60; /* for the end to come round */

struct mark {
	bool ends;
	uint64_t cpu_ns;       /* of all nodes, between the marks */
	uint64_t resident_max; /* KiB, of any node */
};
GYRE_MESSAGE(mark, 0x111);

struct member_argument {
	const struct ring_node *settings;
	const struct gyre_type *token;
	bool *ret_done; /* all that was asked of the node */
};
GYRE_MESSAGE(member_argument, 0x112);

/* ---- a member ---- */

struct member {
	const struct ring_node *settings;
	const struct gyre_type *token;
	bool *ret_done;
	struct gyre_address next;
	uint64_t held; /* tokens that came before the next one was found */
	struct mark held_mark;
	bool holds_mark;
	uint64_t laps;
	uint64_t start_laps;
	uint64_t end_laps;
	uint64_t start_ns;
	uint64_t start_cpu_ns;
	bool ended; /* what is lost from now on does not count */
	bool failed;
};

static uint16_t next_of(const struct ring_node *settings)
{
	return (uint16_t)(settings->node % settings->nodes + 1);
}

static void start_timer(struct gyre_stack *stack, uint64_t key, uint64_t delay_ns)
{
	const struct gyre_timer_options options = { .delay_ns = delay_ns };

	(void)gyre_timer_start(stack, key, &options);
}

static uint64_t cpu_ns(uint64_t *ret_resident_max)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	*ret_resident_max = (uint64_t)usage.ru_maxrss;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void report(const struct member *self, const struct mark *mark, uint64_t now_ns)
{
	const struct ring_node *settings = self->settings;
	double seconds = (double)(now_ns - self->start_ns) / 1e9;
	double laps = (double)(self->end_laps - self->start_laps);
	double hops = laps * (double)settings->nodes;

	printf(settings->json
		       ? "{\"laps_per_s\": %.0f, \"hops_per_s\": %.0f, \"cpu_ns_per_hop\": %.1f, "
			 "\"resident_kib_max\": %" PRIu64 "}\n"
		       : "%.0f laps/s, %.0f hops/s, %.1f ns of CPU a hop, at most %" PRIu64
			 " KiB resident\n",
	       laps / seconds, hops / seconds, (double)mark->cpu_ns / hops, mark->resident_max);
	(void)fflush(stdout);
}

static int send_token(struct gyre_stack *stack, const struct member *self)
{
	struct gyre_mail *mail = gyre_mail_create(stack, self->token);

	if (mail != NULL && self->token->bytes > 0) {
		memset(gyre_payload(mail), 1, self->token->bytes);
	}
	return gyre_notify(stack, self->next, mail);
}

static void fail(struct gyre_stack *stack, struct member *self, const char *why, int error)
{
	if (!self->failed) {
		self->failed = true;
		gyre_log(stack, GYRE_LOG_ERROR, "node %" PRIu64 " %s: %s", self->settings->node,
			 why, strerror(-error));
		gyre_system_stop(gyre_system_of(stack));
	}
}

/* A token is lost with its link: then what is measured is not what was asked for. */
static int pass_token(struct gyre_stack *stack, struct member *self)
{
	int r;

	self->laps++;
	if (gyre_address_is_nobody(self->next)) {
		self->held++;
		return gyre_return(stack);
	}
	r = send_token(stack, self);
	if (r < 0 && !self->ended) {
		fail(stack, self, "cannot pass a token on", r);
	}
	return gyre_return(stack);
}

static void send_mark(struct gyre_stack *stack, struct member *self, struct mark mark)
{
	int r;

	self->holds_mark = gyre_address_is_nobody(self->next);
	if (self->holds_mark) {
		self->held_mark = mark;
		return;
	}
	r = gyre_notify(stack, self->next,
			gyre_new(stack, mark, mark.ends, mark.cpu_ns, mark.resident_max));
	if (r < 0) {
		fail(stack, self, "cannot pass a mark on", r);
	} else {
		self->ended = mark.ends;
	}
}

static int pass_mark(struct gyre_stack *stack, struct member *self, const struct mark *mark)
{
	struct mark more = *mark;
	uint64_t resident;
	uint64_t now_cpu_ns = cpu_ns(&resident);

	if (!mark->ends) {
		self->start_cpu_ns = now_cpu_ns;
		start_timer(stack, TIMER_GIVE_UP,
			    GYRE_SECONDS(self->settings->seconds + patience_s));
	} else {
		more.cpu_ns += now_cpu_ns - self->start_cpu_ns;
		more.resident_max = resident > more.resident_max ? resident : more.resident_max;
	}
	if (self->settings->node != 1) {
		send_mark(stack, self, more);
		if (mark->ends) { /* when the mark has left */
			*self->ret_done = !self->failed;
			start_timer(stack, TIMER_LEAVE, warm_up_ns / 2);
		}
	} else if (!mark->ends) {
		self->start_ns = gyre_now(stack);
		self->start_laps = self->laps;
		start_timer(stack, TIMER_END, GYRE_SECONDS(self->settings->seconds));
	} else {
		report(self, &more, self->start_ns + GYRE_SECONDS(self->settings->seconds));
		*self->ret_done = !self->failed;
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

static int member_notice(struct gyre_stack *stack)
{
	struct member *self = (struct member *)gyre_state(stack);
	const struct mark *mark = gyre_message(stack, mark);

	return mark != NULL ? pass_mark(stack, self, mark) : pass_token(stack, self);
}

static int member_event(struct gyre_stack *stack)
{
	struct member *self = (struct member *)gyre_state(stack);
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	if (timeout->key == TIMER_LEAVE) {
		gyre_system_stop(gyre_system_of(stack));
		return gyre_return(stack);
	}
	if (timeout->key == TIMER_GIVE_UP) {
		fail(stack, self, "waits in vain for the end to come round", -ETIMEDOUT);
		return gyre_return(stack);
	}
	if (timeout->key == TIMER_END) {
		self->end_laps = self->laps;
	}
	send_mark(stack, self, (struct mark){ .ends = timeout->key == TIMER_END });
	return gyre_return(stack);
}

struct frame {
	struct gyre_future future;
};

static int start_round(struct gyre_stack *stack, struct member *self)
{
	int r = 0;

	if (self->settings->node == 1) {
		start_timer(stack, TIMER_BEGIN, warm_up_ns);
		self->held = self->settings->messages;
	}
	for (; self->held > 0 && r == 0; self->held--) {
		r = send_token(stack, self);
	}
	if (r == 0 && self->holds_mark) {
		send_mark(stack, self, self->held_mark);
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

/* The process of the next node may come later. */
static int member_mount(struct gyre_stack *stack)
{
	struct member *self = (struct member *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	self->settings = gyre_message(stack, member_argument)->settings;
	self->token = gyre_message(stack, member_argument)->token;
	self->ret_done = gyre_message(stack, member_argument)->ret_done;
	if (gyre_name_register(stack, "ring") < 0) {
		return gyre_throw(stack, -EEXIST);
	}
	for (;;) {
		GYRE_AWAIT(stack, gyre_node_lookup(stack, next_of(self->settings), "ring", 0,
						   &frame->future));
		if (gyre_future_error(&frame->future) == 0) {
			break;
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, find_again_ns, &frame->future));
	}
	self->next = gyre_future_get(&frame->future, gyre_node_found)->address;
	return start_round(stack, self);
	GYRE_END(stack);
}

static const struct gyre_class member_class = {
	.name = "member",
	.state_bytes = sizeof(struct member),
	.frame_bytes = sizeof(struct frame),
	.behaviour = { .notice = member_notice, .event = member_event },
	.mount = member_mount,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- the process ---- */

static void write_address(char text[ADDRESS_BYTES], const struct ring_node *settings, uint64_t node)
{
	if (settings->sockets != NULL) {
		(void)snprintf(text, ADDRESS_BYTES, "unix:%s/%" PRIu64, settings->sockets, node);
	} else {
		(void)snprintf(text, ADDRESS_BYTES, "tcp://127.0.0.1:%" PRIu64,
			       settings->base_port + node - 1);
	}
}

static int run(struct gyre_system *system, const struct ring_node *settings,
	       const struct gyre_type *token, bool *ret_done)
{
	struct gyre_address member;
	int r = gyre_system_spawn(
		system, &member_class,
		gyre_system_new(system, member_argument, settings, token, ret_done), NULL, &member);

	return r < 0 ? r : gyre_system_run(system);
}

int ring_node_run(const struct ring_node *settings)
{
	const struct gyre_type token = { .name = "token",
					 .id = TOKEN_ID,
					 .bytes = (uint32_t)settings->payload };
	const struct gyre_type *const types[] = { &token, &gyre_type_mark, NULL };
	char here[ADDRESS_BYTES];
	char there[ADDRESS_BYTES];
	const struct gyre_node_peer peers[] = { { next_of(settings), there }, { 0, NULL } };
	const struct gyre_node_options node = { .id = (uint16_t)settings->node,
						.cluster = "ring",
						.listen = here,
						.peers = peers,
						.types = types,
						.secret = settings->secret,
						.redial_min_ns = find_again_ns,
						.redial_max_ns = find_again_ns };
	const struct gyre_system_options options = {
		.loops = 1, .cpus = settings->cpus, .spin_ns = settings->spin_ns, .node = &node
	};
	struct gyre_system *system = NULL;
	bool done = false;
	int r;

	write_address(here, settings, settings->node);
	write_address(there, settings, next_of(settings));
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = run(system, settings, &token, &done);
	}
	gyre_system_destroy(system);
	return r == 0 && done ? EXIT_SUCCESS : EXIT_FAILURE;
}
