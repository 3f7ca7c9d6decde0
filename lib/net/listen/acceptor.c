/*
 * The acceptor: a channels actor with one listening socket and one multishot accept. Each
 * connection that comes becomes a notice to itself, whose handler asks a worker to take it and
 * waits for the answer; so whatever becomes of the ask, the descriptor has an owner. The record of
 * a connection on its way to the worker of another loop is this loop's: it comes back to be freed.
 *
 * The acceptor of the first loop is the one that users know: when it stops it stops the others.
 *
 * A socket goes to another loop with a new acceptor there. The old one ends its accept first, gives
 * the socket away without closing it, and stops when what it has accepted is with its worker.
 *
 * When the kernel has no descriptor or no memory for a connection it stays in the backlog. The
 * acceptor pauses, 10 ms at first and twice as long each time up to a second, and tries again. When
 * the system is short of memory it ends its accept and starts another when that is over.
 */
#include "net/listen/acceptor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/move.h>

#include "actor/life/graceful_stop.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "buffer/socket_address.h"
#include "channel/endpoint.h"
#include "net/listen/accepted.h"
#include "net/listen/admission.h"
#include "net/listen/listener.h"
#include "net/pending_open.h"

static const uint64_t pause_min_ns = GYRE_MILLISECONDS(10);
static const uint64_t pause_max_ns = GYRE_SECONDS(1);
static const uint64_t log_pause_ns = GYRE_SECONDS(60);

/* The state of an acceptor. */
struct acceptor {
	struct gy_endpoint endpoint;
	struct gy_op accept;
	struct gy_op close;
	struct gy_timer timer; /* the end of a pause */
	struct gy_channels *channels;
	struct gy_fifo accepted;
	struct gy_list untaken; /* what no worker has taken yet */
	struct gy_acceptor_socket *listen_socket;
	struct gyre_address self;
	enum gy_acceptor_stage stage; /* set by set_stage() */
	uint32_t obstacles;	      /* why it does not accept: enum gy_obstacle */
	uint64_t pause_ns;	      /* of the last one; 0 when accepting goes well */
	uint64_t logged_ns;	      /* the clock when a pause was last logged */
	int error;		      /* that ended the last accept, or 0 */
};

/* To itself: ask a worker to take this. */
struct gy_hand_on {
	struct gy_accepted *accepted;
};
GYRE_OWN_MESSAGE_(gy_hand_on, 0x1b);

struct acceptor_frame {
	struct gyre_future taken;
	struct gy_accepted *accepted;
};

/* ---- stages and obstacles ---- */

/* For those who work on gyre: what an acceptor does, and why not. */
static void log_state(const struct acceptor *acceptor)
{
	const struct gy_loop *loop = &acceptor->channels->home->loop;
	char text[GY_OBSTACLES_TEXT_BYTES];

	if (gy_log_is_written(loop->options.log, GYRE_LOG_DEBUG)) {
		gy_log(loop->options.log, GYRE_LOG_DEBUG,
		       "loop %u: the acceptor of %s is %s; obstacles: %s", (unsigned)loop->index,
		       acceptor->listen_socket->listener->entry.text,
		       gy_acceptor_stage_name(acceptor->stage),
		       gy_obstacles_describe(acceptor->obstacles, text));
	}
}

static void set_stage(struct acceptor *acceptor, enum gy_acceptor_stage stage)
{
	gy_assert(gy_acceptor_stage_is_allowed(acceptor->stage, stage));
	gy_assert(stage != GY_ACCEPTOR_LEFT || !acceptor->accept.armed);
	acceptor->stage = stage;
	log_state(acceptor);
}

static bool has_obstacle(const struct acceptor *acceptor, uint32_t obstacles)
{
	return (acceptor->obstacles & obstacles) != 0;
}

static void set_obstacle(struct acceptor *acceptor, enum gy_obstacle obstacle, bool is_there)
{
	uint32_t before = acceptor->obstacles;

	acceptor->obstacles = is_there ? before | obstacle : before & ~(uint32_t)obstacle;
	if (acceptor->obstacles != before) {
		log_state(acceptor);
	}
}

/* Whether the socket is to be closed, or is elsewhere. */
static bool is_over(const struct acceptor *acceptor)
{
	return acceptor->stage == GY_ACCEPTOR_CLOSING || acceptor->stage == GY_ACCEPTOR_LEFT;
}

/* ---- accepting ---- */

static void queue_accepted(struct acceptor *acceptor, int fd)
{
	struct gy_accepted *accepted = gy_accepted_create(acceptor->channels, fd);

	if (accepted != NULL) {
		gy_fifo_push(&acceptor->accepted, &accepted->link);
		gy_list_append(&acceptor->untaken, &accepted->item);
	}
}

/* Phase 1. */
static void accept_completed(struct gy_op *op, const struct gy_completion *completion)
{
	struct acceptor *acceptor = gy_container_of(op, struct acceptor, accept);

	if (gy_likely(completion->result >= 0)) {
		gy_count(&acceptor->channels->counters.accepted, 1);
		acceptor->pause_ns = 0;
		queue_accepted(acceptor, completion->result);
	} else {
		acceptor->error = completion->result;
	}
	if (!completion->more) {
		set_obstacle(acceptor, GY_OBSTACLE_CANCEL, false);
	}
	gy_endpoint_ready(&acceptor->endpoint);
}

/* Whether the kernel lacks something, so that trying again at once would not help. */
static bool is_lack(int error)
{
	return error != 0 && error != -ECONNABORTED && error != -EINTR && error != -EAGAIN &&
	       error != -ECANCELED;
}

static void pause_accepting(struct acceptor *acceptor)
{
	struct gy_loop *loop = &acceptor->channels->home->loop;

	gy_assert(!acceptor->accept.armed && !gy_timer_is_started(&acceptor->timer));
	acceptor->pause_ns = acceptor->pause_ns == 0 ? pause_min_ns : acceptor->pause_ns * 2;
	if (acceptor->pause_ns > pause_max_ns) {
		acceptor->pause_ns = pause_max_ns;
	}
	gy_count(&acceptor->channels->counters.accept_stalls, 1);
	if (acceptor->logged_ns == 0 || loop->now_ns - acceptor->logged_ns > log_pause_ns) {
		acceptor->logged_ns = loop->now_ns;
		gy_log(loop->options.log, GYRE_LOG_WARNING,
		       "loop %u: accepting pauses: %s; connections wait in the backlog (for "
		       "descriptors see `ulimit -n`)",
		       (unsigned)loop->index, strerror(-acceptor->error));
	}
	set_obstacle(acceptor, GY_OBSTACLE_KERNEL, true);
	gy_timer_start(&loop->wheel, &acceptor->timer, acceptor->pause_ns);
}

/* Before its time, where something else is to be done. */
static void end_pause(struct acceptor *acceptor)
{
	gy_timer_stop(&acceptor->channels->home->loop.wheel, &acceptor->timer);
	set_obstacle(acceptor, GY_OBSTACLE_KERNEL, false);
}

static void pause_ended(struct gy_timer *timer)
{
	struct acceptor *acceptor = gy_container_of(timer, struct acceptor, timer);

	set_obstacle(acceptor, GY_OBSTACLE_KERNEL, false);
	gy_endpoint_ready(&acceptor->endpoint);
}

static void close_completed(struct gy_op *op, const struct gy_completion *completion)
{
	struct acceptor *acceptor = gy_container_of(op, struct acceptor, close);

	(void)completion; /* whatever it says, the descriptor is gone */
	gy_endpoint_ready(&acceptor->endpoint);
}

/* Cancels the accept if there is one; 0 also while an earlier cancel is under way. */
static int cancel(struct acceptor *acceptor)
{
	int r = 0;

	if (acceptor->accept.armed && !has_obstacle(acceptor, GY_OBSTACLE_CANCEL)) {
		r = gy_ring_cancel(acceptor->channels->pools.ring, &acceptor->accept);
		set_obstacle(acceptor, GY_OBSTACLE_CANCEL, r == 0);
	}
	return r;
}

static int close_socket(struct acceptor *acceptor)
{
	int r = gy_ring_close(acceptor->channels->pools.ring, &acceptor->close,
			      acceptor->endpoint.fd);

	acceptor->endpoint.fd = r < 0 ? acceptor->endpoint.fd : -1;
	return r;
}

/* Stage CLOSING, a step at each call: cancel, wait, close, wait, and the endpoint goes. */
static int step_closing(struct acceptor *acceptor)
{
	gy_assert(acceptor->stage == GY_ACCEPTOR_CLOSING);
	end_pause(acceptor);
	if (acceptor->accept.armed) {
		return cancel(acceptor);
	}
	if (acceptor->close.armed) {
		return 0;
	}
	if (acceptor->endpoint.fd >= 0) {
		return close_socket(acceptor);
	}
	gy_endpoint_closed(&acceptor->endpoint);
	return 0;
}

/* Gives the socket to a new acceptor, with the connections that wait for room. On failure nothing
 * has changed. */
static int move_socket(struct acceptor *acceptor)
{
	struct gy_acceptor_socket *own = acceptor->listen_socket;
	uint32_t carried = gy_fifo_count(&acceptor->accepted);
	struct gy_acceptor_socket *listen_socket = gy_acceptor_socket_create(
		own->listener, own->number, acceptor->endpoint.fd, carried);
	struct gy_fifo_item *link = acceptor->accepted.first;
	int r;

	if (listen_socket == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < carried; i++, link = link->next) {
		listen_socket->carried[i] =
			gy_container_of(link, struct gy_accepted, link)->transit.fd;
	}
	r = gy_listener_move(listen_socket);
	if (r < 0) {
		gy_memory_put(listen_socket);
		return r;
	}
	while ((link = gy_fifo_pop(&acceptor->accepted)) != NULL) {
		struct gy_accepted *accepted = gy_container_of(link, struct gy_accepted, link);

		(void)gy_accepted_take(accepted);
		gy_accepted_let_go(acceptor->channels, accepted);
	}
	return 0;
}

/* Connections that were accepted are with workers, or will be by notices that have been sent. */
static void leave(struct acceptor *acceptor)
{
	gy_assert(gy_fifo_empty(&acceptor->accepted));
	end_pause(acceptor);
	gy_listener_tell_ended(acceptor->listen_socket);
	set_stage(acceptor, GY_ACCEPTOR_LEFT);
	gy_endpoint_closed(&acceptor->endpoint);
	gy_house_order_graceful_stop(acceptor->endpoint.owner->house, GYRE_FOREVER);
}

/* Stage HANDED_OVER: another process has the socket too. Here it is closed at once, for should that
 * process end the address has to be nobody's. Connections that wait for room are served here,
 * however long that takes. */
static int step_handed_over(struct acceptor *acceptor)
{
	gy_assert(acceptor->stage == GY_ACCEPTOR_HANDED_OVER);
	if (acceptor->accept.armed) {
		return cancel(acceptor);
	}
	if (acceptor->close.armed) {
		return 0;
	}
	if (acceptor->endpoint.fd >= 0) {
		gy_listener_closes(acceptor->listen_socket->listener,
				   acceptor->listen_socket->number);
		gy_listener_tell_ended(acceptor->listen_socket);
		return close_socket(acceptor);
	}
	gy_listener_left(acceptor->listen_socket->listener, acceptor->listen_socket->number,
			 acceptor->self);
	if (gy_fifo_empty(&acceptor->accepted)) {
		leave(acceptor);
	}
	return 0;
}

static bool is_handed_over(const struct acceptor *acceptor)
{
	return gy_load_acquire(&acceptor->listen_socket->listener->entry.handed_over);
}

static void begin_closing(struct acceptor *acceptor)
{
	set_stage(acceptor, GY_ACCEPTOR_CLOSING);
	gy_listener_closes(acceptor->listen_socket->listener, acceptor->listen_socket->number);
	gy_listener_tell_ended(acceptor->listen_socket);
}

/* Stage MOVING: the socket goes to another loop, once the accept has ended. Without memory that is
 * tried again; until then connections wait in the backlog. */
static int step_moving(struct acceptor *acceptor)
{
	int r;

	gy_assert(acceptor->stage == GY_ACCEPTOR_MOVING);
	end_pause(acceptor);
	if (acceptor->accept.armed) {
		return cancel(acceptor);
	}
	r = move_socket(acceptor);
	if (r == 0) {
		leave(acceptor);
	} else if (r != -ESHUTDOWN) {
		gy_timer_start(&acceptor->channels->home->loop.wheel, &acceptor->timer,
			       pause_min_ns);
	} else if (is_handed_over(acceptor)) {
		set_stage(acceptor, GY_ACCEPTOR_HANDED_OVER);
		return step_handed_over(acceptor);
	} else {
		begin_closing(acceptor);
		return step_closing(acceptor);
	}
	return 0;
}

/* Stage SERVING: begins an accept, unless there are obstacles, and ends the one that is in their
 * way. */
static int step_serving(struct acceptor *acceptor)
{
	if (has_obstacle(acceptor, GY_OBSTACLE_MEMORY | GY_OBSTACLE_LIMIT | GY_OBSTACLE_RETRY)) {
		int r = cancel(acceptor);

		if (r == 0) {
			set_obstacle(acceptor, GY_OBSTACLE_RETRY, false);
		}
		if (r < 0 || has_obstacle(acceptor, GY_OBSTACLE_MEMORY | GY_OBSTACLE_LIMIT)) {
			return r;
		}
	}
	if (acceptor->accept.armed || gy_timer_is_started(&acceptor->timer)) {
		return 0;
	}
	if (is_lack(acceptor->error)) {
		pause_accepting(acceptor);
		acceptor->error = 0;
		return 0;
	}
	acceptor->error = 0;
	return gy_ring_accept(acceptor->channels->pools.ring, &acceptor->accept,
			      acceptor->endpoint.fd);
}

/* Does what the stage asks for; -EAGAIN when the ring has no room for it. */
static int step(struct acceptor *acceptor)
{
	if (acceptor->stage == GY_ACCEPTOR_MOVING && is_handed_over(acceptor)) {
		set_stage(acceptor, GY_ACCEPTOR_HANDED_OVER);
	}
	switch (acceptor->stage) {
	case GY_ACCEPTOR_SERVING:
		return step_serving(acceptor);
	case GY_ACCEPTOR_MOVING:
		return step_moving(acceptor);
	case GY_ACCEPTOR_HANDED_OVER:
		return step_handed_over(acceptor);
	case GY_ACCEPTOR_CLOSING:
		return step_closing(acceptor);
	default:
		return 0;
	}
}

/* ---- limits ---- */

/* Counts it in for a worker whose loop has room; false when none has. */
static bool enter(struct acceptor *acceptor, struct gy_accepted *accepted)
{
	struct gy_acceptor_socket *listen_socket = acceptor->listen_socket;
	struct gy_admission *admission = listen_socket->listener->admission;
	uint32_t asked = 0;

	do {
		accepted->worker = gy_listener_next_worker(listen_socket);
		if (gy_admission_enter(admission, accepted->worker.loop,
				       acceptor->channels->home->loop.now_ns)) {
			accepted->admission = admission;
			return true;
		}
	} while (++asked < listen_socket->workers_count);
	return false;
}

/* Until somebody leaves; and for a while, should there be no memory to tell. */
static bool wait_for_room(struct acceptor *acceptor, struct gy_accepted *accepted)
{
	struct gy_home *home = acceptor->channels->home;

	gy_admission_wait(acceptor->listen_socket->listener->admission,
			  acceptor->listen_socket->number);
	if (enter(acceptor, accepted)) {
		return true;
	}
	if (!gy_timer_is_started(&acceptor->timer)) {
		gy_timer_start(&home->loop.wheel, &acceptor->timer, pause_max_ns);
	}
	return false;
}

static int report(const struct acceptor *acceptor, const struct gy_accepted *accepted,
		  enum gyre_listen_step step, int reason)
{
	struct gyre_listen_event event = { .step = step, .reason = reason };

	if (acceptor->listen_socket->listener->admission->report == NULL) {
		return 0;
	}
	/* A peer that has gone has no address. */
	(void)gy_socket_address_of_peer(accepted->transit.fd, &event.address);
	return gy_admission_report(acceptor->listen_socket->listener->admission,
				   &acceptor->channels->stack->head, &event, NULL);
}

static void refuse(struct acceptor *acceptor, struct gy_accepted *accepted, int reason)
{
	struct gy_channels_counters *counters = &acceptor->channels->counters;

	gy_assert(reason == -EAGAIN || reason == -ENOBUFS);
	gy_count(reason == -EAGAIN ? &counters->refused_rate : &counters->refused_full, 1);
	(void)report(acceptor, accepted, GYRE_LISTEN_REFUSED, reason);
	gy_accepted_let_go(acceptor->channels, accepted);
}

/* 0 when it is let in, else why not; then @acceptor->timer runs if it is to wait. */
static int admit(struct acceptor *acceptor, struct gy_accepted *accepted)
{
	struct gy_admission *admission = acceptor->listen_socket->listener->admission;
	struct gy_loop *loop = &acceptor->channels->home->loop;
	uint64_t delay_ns = gy_admission_delay_ns(admission, loop->now_ns);

	if (delay_ns > 0) {
		if (!admission->refuse && !gy_timer_is_started(&acceptor->timer)) {
			gy_timer_start(&loop->wheel, &acceptor->timer, delay_ns);
		}
		return -EAGAIN;
	}
	if (!enter(acceptor, accepted) &&
	    (admission->refuse || !wait_for_room(acceptor, accepted))) {
		return -ENOBUFS;
	}
	return 0;
}

/* Decides on a connection that was taken out of the queue; false if it is dropped. */
static bool let_in(struct acceptor *acceptor, struct gy_accepted *accepted, int refusal)
{
	if (acceptor->stage == GY_ACCEPTOR_CLOSING) {
		gy_accepted_let_go(acceptor->channels, accepted);
	} else if (refusal < 0) {
		refuse(acceptor, accepted, refusal);
	} else if (report(acceptor, accepted, GYRE_LISTEN_ACCEPTED, 0) < 0) {
		gy_count(&acceptor->channels->counters.refused_report, 1);
		gy_accepted_let_go(acceptor->channels, accepted);
	} else {
		return true;
	}
	return false;
}

/* The next connection that may be handed to its worker; NULL when there is none, or it has to wait
 * for room. */
static struct gy_accepted *next_admitted(struct acceptor *acceptor)
{
	bool refuses = acceptor->listen_socket->listener->admission->refuse;

	while (!gy_fifo_empty(&acceptor->accepted)) {
		struct gy_accepted *accepted =
			gy_container_of(acceptor->accepted.first, struct gy_accepted, link);
		int r = acceptor->stage == GY_ACCEPTOR_CLOSING ? 0 : admit(acceptor, accepted);

		if (r < 0 && !refuses) {
			set_obstacle(acceptor, GY_OBSTACLE_LIMIT, true);
			gy_count(&acceptor->channels->counters.accepts_held, 1);
			return NULL;
		}
		(void)gy_fifo_pop(&acceptor->accepted);
		if (let_in(acceptor, accepted, r)) {
			return accepted;
		}
	}
	set_obstacle(acceptor, GY_OBSTACLE_LIMIT, false);
	return NULL;
}

static struct gy_accepted *next_accepted(struct acceptor *acceptor)
{
	struct gy_fifo_item *link;
	struct gy_accepted *accepted;

	if (gy_unlikely(acceptor->listen_socket->listener->admission != NULL)) {
		return next_admitted(acceptor);
	}
	link = gy_fifo_pop(&acceptor->accepted);
	if (link == NULL) {
		return NULL;
	}
	accepted = gy_container_of(link, struct gy_accepted, link);
	accepted->worker = gy_listener_next_worker(acceptor->listen_socket);
	return accepted;
}

static int event(struct gyre_stack *stack)
{
	struct acceptor *acceptor = (struct acceptor *)gyre_state(stack);

	if (!gy_type_equal(gy_stack_of(stack)->head.type, &gy_type_room)) {
		return gyre_throw(stack, -EPROTO);
	}
	/* There is room. An acceptor whose socket is closed may hear of it too. */
	if (!is_over(acceptor)) {
		end_pause(acceptor);
		gy_endpoint_ready(&acceptor->endpoint);
	}
	return gyre_return(stack);
}

/* ---- the endpoint ---- */

static void process(struct gy_endpoint *endpoint)
{
	struct acceptor *acceptor = gy_container_of(endpoint, struct acceptor, endpoint);
	struct gyre_stack *stack = &acceptor->channels->stack->head;
	struct gy_accepted *accepted;

	while ((accepted = next_accepted(acceptor)) != NULL) {
		if (gyre_notify(stack, gyre_self(stack), gyre_new(stack, gy_hand_on, accepted)) <
		    0) {
			gy_accepted_let_go(acceptor->channels, accepted);
		}
	}
	endpoint->ready = false;
	if (step(acceptor) < 0) {
		gy_endpoint_ready(endpoint);
	}
}

static void drain(struct gy_endpoint *endpoint)
{
	struct acceptor *acceptor = gy_container_of(endpoint, struct acceptor, endpoint);

	if (!is_over(acceptor)) {
		begin_closing(acceptor);
		gy_endpoint_ready(endpoint);
	}
}

static void abort_acceptor(struct gy_endpoint *endpoint, int reason)
{
	(void)reason;
	drain(endpoint);
}

static void set_busy(struct gy_endpoint *endpoint, bool busy)
{
	struct acceptor *acceptor = gy_container_of(endpoint, struct acceptor, endpoint);

	busy = busy && !acceptor->listen_socket->listener->while_busy;
	if (busy != has_obstacle(acceptor, GY_OBSTACLE_MEMORY) && !is_over(acceptor)) {
		set_obstacle(acceptor, GY_OBSTACLE_MEMORY, busy);
		gy_count(&acceptor->channels->counters.accepts_paused, busy);
		gy_endpoint_ready(endpoint);
	}
}

static void leave_loop(struct gy_endpoint *endpoint)
{
	struct acceptor *acceptor = gy_container_of(endpoint, struct acceptor, endpoint);

	if (acceptor->stage == GY_ACCEPTOR_SERVING) {
		set_stage(acceptor, GY_ACCEPTOR_MOVING);
		gy_endpoint_ready(endpoint);
	}
}

void gy_acceptor_leave(struct gy_house *house)
{
	leave_loop(&((struct acceptor *)house->state)->endpoint);
}

/* An accept finds what waits in the backlog when it begins; an accept under way may have missed its
 * wake-up. */
void gy_acceptor_retry(struct gy_house *house)
{
	struct acceptor *acceptor = (struct acceptor *)house->state;

	if (acceptor->stage == GY_ACCEPTOR_SERVING && cancel(acceptor) < 0) {
		set_obstacle(acceptor, GY_OBSTACLE_RETRY, true);
		gy_endpoint_ready(&acceptor->endpoint);
	}
}

static const struct gy_endpoint_ops endpoint_ops = {
	.process = process,
	.drain = drain,
	.abort = abort_acceptor,
	.set_busy = set_busy,
	.leave = leave_loop,
	.is_door = true,
};

/* ---- the actor ---- */

static void join_admission(struct gyre_stack *stack, const struct acceptor *acceptor)
{
	struct gyre_listen_event bound = { .step = GYRE_LISTEN_BOUND };
	struct gy_admission *admission = acceptor->listen_socket->listener->admission;

	if (admission != NULL) {
		gy_admission_join(admission, acceptor->listen_socket->number, gyre_self(stack));
		(void)gy_socket_address_of(acceptor->endpoint.fd, &bound.address);
		(void)gy_admission_report(admission, stack, &bound, NULL);
	}
}

/* Connections that came with the socket; another loop has counted them as accepted. */
static void take_carried(struct acceptor *acceptor)
{
	struct gy_acceptor_socket *listen_socket = acceptor->listen_socket;

	for (uint32_t i = 0; i < listen_socket->carried_count; i++) {
		queue_accepted(acceptor, listen_socket->carried[i]);
	}
	listen_socket->carried_count = 0;
}

void gy_acceptor_argument_destroy(struct gy_acceptor_argument *argument)
{
	if (argument->listen_socket != NULL) {
		gy_listener_lost_acceptor(argument->listen_socket);
		argument->listen_socket = NULL;
	}
}

/* Its socket is closed. */
static int refused(struct gyre_stack *stack, const struct gy_acceptor_socket *listen_socket,
		   int error)
{
	const struct gy_listener *listener = listen_socket->listener;

	if (listen_socket->channels->doors_closed) {
		gy_pending_open_end(listener->homes);
		return gyre_stop(stack, gyre_self(stack));
	}
	gy_pending_open_fail(listen_socket->channels->home, "listening on", &listener->address,
			     listener->entry.text, error);
	gy_listener_tell_failed(listen_socket, error);
	return error;
}

static int mount(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_channels *channels = gy_channels_of(s->home);
	struct acceptor *acceptor = (struct acceptor *)gyre_state(stack);
	struct gy_acceptor_argument argument;
	struct gy_acceptor_socket *listen_socket;
	int fd;
	int r = gyre_message_move(stack, &gyre_type_gy_acceptor_argument, &argument);

	if (r < 0) {
		return r;
	}
	listen_socket = argument.listen_socket;
	fd = gy_fd_transit_end(channels, &listen_socket->transit);
	*acceptor = (struct acceptor){
		.endpoint = { .ops = &endpoint_ops, .fd = fd },
		.channels = channels,
		.listen_socket = listen_socket,
		.self = gyre_self(stack),
	};
	gy_list_init(&acceptor->untaken);
	gy_op_init(&acceptor->accept, accept_completed);
	gy_op_init(&acceptor->close, close_completed);
	gy_timer_init(&acceptor->timer, pause_ended);
	r = fd < 0 || channels->doors_closed ? -ESHUTDOWN
					     : gy_endpoint_add(&acceptor->endpoint, s->house);
	if (r < 0) {
		gy_listener_closes(listen_socket->listener, listen_socket->number);
		gy_channels_close(channels, fd);
		return refused(stack, listen_socket, r);
	}
	gy_pending_open_end(listen_socket->listener->homes);
	set_busy(&acceptor->endpoint, channels->busy);
	if (channels->leaving) {
		set_stage(acceptor, GY_ACCEPTOR_MOVING);
	}
	gy_endpoint_ready(&acceptor->endpoint);
	take_carried(acceptor);
	join_admission(stack, acceptor);
	gy_listener_tell_begun(listen_socket);
	return gyre_return(stack);
}

/* Whether there is another worker for what one has not taken that could not be made, or whose loop
 * retires. */
static bool redirect(struct gyre_stack *stack, struct gy_accepted *accepted)
{
	const struct acceptor *acceptor = (const struct acceptor *)gyre_state(stack);
	struct gyre_address worker = gy_listener_next_worker(acceptor->listen_socket);

	if (acceptor->stage == GY_ACCEPTOR_CLOSING || gy_address_same(worker, accepted->worker)) {
		return false;
	}
	/* A worker that could not be made has another one in its place, on the same loop. */
	if (accepted->admission != NULL && accepted->worker.loop != worker.loop) {
		gy_admission_move(accepted->admission, accepted->worker.loop, worker.loop);
	}
	accepted->worker = worker;
	return true;
}

/* Each connection is taken by a worker, or closed. */
static int notice(struct gyre_stack *stack)
{
	struct acceptor_frame *frame = (struct acceptor_frame *)gyre_frame(stack);
	const struct gy_hand_on *hand_on = gyre_message(stack, gy_hand_on);

	GYRE_BEGIN(stack);
	frame->accepted = hand_on->accepted;
	GYRE_AWAIT(stack, gy_accepted_ask(frame->accepted, stack, &frame->taken));
	if (gyre_future_failed(&frame->taken) && redirect(stack, frame->accepted)) {
		GYRE_AWAIT(stack, gy_accepted_ask(frame->accepted, stack, &frame->taken));
	}
	gy_accepted_let_go(gy_channels_of(gy_stack_of(stack)->home), frame->accepted);
	GYRE_END(stack);
}

/* The others end with the first; a drain stops them without help. */
static void leave_listener(const struct acceptor *acceptor)
{
	const struct gy_acceptor_socket *listen_socket = acceptor->listen_socket;

	gy_listener_left(listen_socket->listener, listen_socket->number, acceptor->self);
	if (listen_socket->number == 0 && !acceptor->channels->doors_closed &&
	    acceptor->stage != GY_ACCEPTOR_LEFT) {
		gy_listener_end(listen_socket->listener);
	}
}

/* The other acceptors, and connections whose notices were lost with the actor. */
static void clean(void *state)
{
	struct acceptor *acceptor = (struct acceptor *)state;

	if (acceptor->listen_socket == NULL) {
		return; /* it was never mounted */
	}
	leave_listener(acceptor);
	while (!gy_list_empty(&acceptor->untaken)) {
		gy_accepted_leave(gy_container_of(acceptor->untaken.next, struct gy_accepted, item),
				  acceptor->listen_socket->listener);
	}
	gy_acceptor_socket_destroy(acceptor->channels, acceptor->listen_socket,
				   !acceptor->channels->home->draining);
}

static const struct gyre_route notices[] = { GYRE_ROUTE(gy_hand_on, notice), GYRE_ROUTE_END };

const struct gyre_class gy_acceptor_class = {
	.name = "acceptor",
	.state_bytes = sizeof(struct acceptor),
	.frame_bytes = sizeof(struct acceptor_frame),
	.behaviour = { .notice_routes = notices, .event = event },
	.mount = mount,
	.clean = clean,
	.keep_children = true,
	.supervision.decision = GYRE_DECISION_STOP,
};
