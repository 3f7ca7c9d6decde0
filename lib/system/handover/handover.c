/*
 * Handing over: an actor of the first loop that waits where successors come. It answers what one
 * asks, a message at a time, so that nothing need be queued; when the successor says that it runs,
 * it has all acceptors leave, and looks now and then whether they have, and what is open has ended,
 * since nobody tells it. Then, or when time is up, it stops the system.
 *
 * For a connection that comes the kernel calls one of those who wait to accept it: in the meantime
 * perhaps one of the old process, which then is told to end and does not take it. So the successor
 * keeps its connection until the old process, whose acceptors have ended, closes that, and looks
 * into all backlogs then. A process that was killed has acceptors for some time after that, until
 * the kernel has taken down its rings, of which nobody is told: so whoever is left looks again, a
 * few times with growing pauses.
 *
 * The predecessor is told to leave when all that was opened before the start is served here, for
 * until then the start may still fail. A successor that goes away before it runs has changed
 * nothing. But from the moment on at which it has all sockets the files of those are left to it,
 * should this process be stopped meanwhile; and no loop may come or go, for whose socket it does
 * not have.
 *
 * The socket where successors come is the successor's too. As soon as no other is left here, so is
 * that one: what is open may be served on for long, and should the successor end in that time the
 * next process has to find nobody, rather than a socket that still accepts and never answers. Who
 * comes to a process that is being stopped is told so, and waits for its end.
 */
#include <gyre/handover.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <gyre/move.h>

#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "channel/endpoint.h"
#include "net/fd_passing.h"
#include "net/listen/listener.h"
#include "net/pending_open.h"
#include "net/socket_file.h"
#include "net/socket_registry.h"
#include "ring/descriptor.h"
#include "ring/socket.h"
#include "system/handover/handover.h"
#include "system/service_notify.h"
#include "system/system.h"

static const uint64_t patience_ns = GYRE_SECONDS(GYRE_HANDOVER_SECONDS);
static const uint64_t start_ns = GYRE_SECONDS(10 * GYRE_HANDOVER_SECONDS);
static const uint64_t start_look_ns = GYRE_MILLISECONDS(1);
static const uint64_t look_ns = GYRE_MILLISECONDS(10);
static const uint64_t pause_ns = GYRE_MILLISECONDS(100);
static const uint64_t remind_ns = GYRE_SECONDS(1);
static const uint64_t looks_ns = GYRE_SECONDS(GYRE_HANDOVER_SECONDS);

enum { WHY_BYTES = 128 };

enum stage {
	STAGE_STARTING, /* what was opened is not all served */
	STAGE_ALONE,
	STAGE_WAITING,
	STAGE_ASKED,
	STAGE_LEAVING,
	STAGE_STOPPING, /* with a successor that waits for the end */
	STAGE_ENDING,
};

/* From the heap, for it outlives its actor's state. */
struct giver {
	struct gy_endpoint endpoint; /* its descriptor is where successors come, or -1 */
	struct gy_op door;	     /* a poll of that, and at last the close */
	struct gy_op talk;	     /* a poll of the successor's */
	struct gy_op old;	     /* one of the predecessor's, for its end */
	struct gy_timer timer;
	struct gy_timer look; /* into all backlogs */
	uint64_t look_ns;     /* that it was started for; less than looks_ns while looks are due */
	struct gyre_system *system;
	struct gy_socket_registry_cursor place;
	uint64_t end_ns; /* the clock when what is open may not go on for longer */
	int fd;		 /* the successor's, or -1 */
	enum stage stage;
	bool knows_self; /* the successor has got our socket */
	bool knows_all;	 /* and all others */
	bool expired;
	bool looks;    /* it is time to look */
	bool late;     /* the successor has taken too long */
	bool lacks;    /* what it takes to let one in, and has said so */
	bool succeeds; /* the predecessor has been told, and has not left */
};

static const struct gy_log *log_of(const struct giver *giver)
{
	return &giver->system->log;
}

static struct gy_loop *loop_of(const struct giver *giver)
{
	return &giver->system->homes.homes[0].loop;
}

static void start_timer(struct giver *giver, uint64_t delay_ns)
{
	struct gy_wheel *wheel = &loop_of(giver)->wheel;

	gy_timer_stop(wheel, &giver->timer);
	giver->expired = false;
	gy_timer_start(wheel, &giver->timer, delay_ns);
}

static void expired(struct gy_timer *timer)
{
	struct giver *giver = gy_container_of(timer, struct giver, timer);

	giver->expired = true;
	gy_endpoint_ready(&giver->endpoint);
}

/* ---- backlogs ---- */

static void look_expired(struct gy_timer *timer)
{
	struct giver *giver = gy_container_of(timer, struct giver, look);

	giver->looks = true;
	gy_endpoint_ready(&giver->endpoint);
}

static void look_into_backlogs(struct giver *giver)
{
	giver->looks = false;
	gy_listeners_retry(&giver->system->homes);
	if (giver->look_ns < looks_ns) {
		gy_timer_start(&loop_of(giver)->wheel, &giver->look, giver->look_ns);
		giver->look_ns *= 2;
	}
}

/* The other process, which has the same sockets, is gone. */
static void begin_to_look(struct giver *giver)
{
	gy_timer_stop(&loop_of(giver)->wheel, &giver->look);
	giver->look_ns = look_ns;
	look_into_backlogs(giver);
}

/* ---- the successor ---- */

static void close_successor(struct giver *giver)
{
	if (giver->fd >= 0) {
		(void)gy_descriptor_close(giver->fd);
		giver->fd = -1;
	}
}

static int tell_successor(const struct giver *giver, enum gy_fd_message_kind kind)
{
	const struct gy_fd_message passing = { .kind = kind };

	return gy_fd_message_send(giver->fd, &passing);
}

/* Nobody has anything of this process any more. */
static void forget_successor(struct giver *giver)
{
	gy_timer_stop(&loop_of(giver)->wheel, &giver->timer);
	gy_socket_registry_keep(&giver->system->homes);
	close_successor(giver);
	if (giver->knows_all) {
		begin_to_look(giver);
	}
	giver->stage = STAGE_ALONE;
	gy_store_release(&giver->system->resizing.refused, 0);
	gy_endpoint_ready(&giver->endpoint);
}

static int drop_successor(struct giver *giver, const char *why)
{
	if (giver->fd >= 0) {
		(void)tell_successor(giver, GY_FD_MESSAGE_REFUSED); /* it may have gone */
	}
	gy_log(log_of(giver), GYRE_LOG_WARNING,
	       "handover: the successor %s; this process goes on: see the other's log, and start "
	       "it again",
	       why);
	forget_successor(giver);
	return 0;
}

static bool is_stopping(const struct giver *giver)
{
	return gy_load_relaxed(&giver->system->stop) != 0;
}

/* Nothing is handed over any more. Whoever has come is the first, and may be, when all is closed.
 */
static int keep_waiting(struct giver *giver)
{
	int r = tell_successor(giver, GY_FD_MESSAGE_ENDS);

	if (r < 0 && r != -EAGAIN) {
		forget_successor(giver);
		return 0;
	}
	giver->stage = STAGE_STOPPING;
	gy_socket_registry_keep(&giver->system->homes);
	start_timer(giver, remind_ns);
	return 0;
}

static int answer(struct giver *giver)
{
	struct gy_fd_message self = { .kind = GY_FD_MESSAGE_SELF,
				      .count = 1,
				      .fds = { giver->endpoint.fd } };
	int r;

	if (is_stopping(giver)) {
		return keep_waiting(giver);
	}
	if (giver->knows_self) {
		r = gy_socket_registry_pass(&giver->system->homes, &giver->place, giver->fd);
		giver->knows_all = r > 0;
	} else {
		r = gy_fd_message_send(giver->fd, &self);
		giver->knows_self = r == 0;
	}
	if (r < 0) {
		char why[WHY_BYTES];

		(void)snprintf(why, sizeof(why), "cannot be sent the sockets: %s",
			       strerrordesc_np(-r));
		return drop_successor(giver, why);
	}
	start_timer(giver, giver->knows_all ? start_ns : patience_ns);
	gy_endpoint_ready(&giver->endpoint);
	return 0;
}

/* The successor has the sockets; this process serves what is open. */
static int begin_to_leave(struct giver *giver)
{
	struct gyre_system *system = giver->system;
	uint64_t half_ns = system->options.drain_timeout_ns / 2;

	gy_log(log_of(giver), GYRE_LOG_INFO, "handover: a successor runs; this process ends");
	system->succession->file.path[0] = '\0';
	system->succession->over = true;
	giver->stage = STAGE_LEAVING;
	giver->end_ns = gy_time_add(loop_of(giver)->now_ns, half_ns);
	gy_socket_registry_leave(&system->homes);
	start_timer(giver, look_ns);
	return 0;
}

/* Reads what the successor has sent, if anything. */
static int listen_to(struct giver *giver)
{
	int said;

	if (giver->talk.armed) {
		if (giver->expired) {
			giver->expired = false;
			giver->late = true;
			(void)tell_successor(giver, GY_FD_MESSAGE_REFUSED);
			/* Which the poll tells of. */
			(void)gy_socket_shutdown(giver->fd, SHUT_RDWR);
		}
		return 0;
	}
	said = gy_fd_message_read_successor(giver->fd);
	if (said == -EAGAIN && giver->expired) {
		said = -ENODATA;
	}
	if (said == -EAGAIN) {
		return gy_ring_poll(giver->endpoint.owner->channels->pools.ring, &giver->talk,
				    giver->fd, POLLIN);
	}
	if (said == GY_SUCCESSOR_ASKS && !giver->knows_all) {
		return answer(giver);
	}
	if (said == GY_SUCCESSOR_RUNS && giver->knows_all) {
		return begin_to_leave(giver);
	}
	if (said == -ENODATA && !giver->knows_self && !giver->late) {
		/* The other side only checked that somebody listens, as a process that binds to a
		 * path does. */
		forget_successor(giver);
		return 0;
	}
	return drop_successor(
		giver, said == -ENODATA ? "has gone before it ran, or took too long"
					: "cannot be understood: it may be of another version");
}

/* While loops come or go it has to wait; nobody tells when that is over. */
static int wait_for_loops(struct giver *giver)
{
	if (gy_load_full(&giver->system->resizing.under_way) != 0) {
		start_timer(giver, look_ns);
		return 0;
	}
	giver->stage = STAGE_ASKED;
	start_timer(giver, patience_ns);
	gy_endpoint_ready(&giver->endpoint);
	return 0;
}

/* Who has come waits in the backlog, and a poll would tell of that without end. */
static int pause_letting_in(struct giver *giver, int error)
{
	if (!giver->lacks) {
		giver->lacks = true;
		gy_log(log_of(giver), GYRE_LOG_WARNING,
		       "handover: a successor cannot be let in, and waits: %s; for descriptors see "
		       "`ulimit -n`",
		       strerrordesc_np(-error));
	}
	start_timer(giver, pause_ns);
	return 0;
}

static int let_in(struct giver *giver)
{
	bool pauses = gy_timer_is_started(&giver->timer);
	int fd;
	int r;

	if (giver->door.armed || giver->succeeds || pauses) { /* one after the other */
		return 0;
	}
	fd = gy_socket_accept(giver->endpoint.fd);
	if (fd == -EAGAIN || fd == -EINTR || fd == -ECONNABORTED) {
		return gy_ring_poll(giver->endpoint.owner->channels->pools.ring, &giver->door,
				    giver->endpoint.fd, POLLIN);
	}
	if (fd < 0) {
		return pause_letting_in(giver, fd);
	}
	giver->lacks = false;
	r = gy_fd_message_check_peer(fd);
	giver->fd = fd;
	if (r < 0) {
		close_successor(giver);
		return drop_successor(giver, "is of another user");
	}
	giver->stage = STAGE_WAITING;
	giver->place = (struct gy_socket_registry_cursor){ 0 };
	giver->knows_self = false;
	giver->knows_all = false;
	giver->late = false;
	/* In this order: who resizes sees the one, or we see the other. */
	gy_store_full(&giver->system->resizing.refused, 1);
	return wait_for_loops(giver);
}

/* ---- the predecessor ---- */

/* This start has taken too long for it: it has all sockets for itself again. */
static void give_way(struct gyre_system *system)
{
	int none = 0;

	gy_log(&system->log, GYRE_LOG_ERROR,
	       "handover: the predecessor has waited for %u s and goes on; this process ends: "
	       "start it again, and do what takes long before gyre_system_create()",
	       10U * GYRE_HANDOVER_SECONDS);
	(void)gy_compare_exchange_relaxed(&system->error, &none, -ECONNABORTED);
	(void)gy_descriptor_close(system->succession->predecessor_fd);
	system->succession->predecessor_fd = -1;
	system->succession->file.path[0] = '\0';
	gyre_system_stop(system);
}

/* The loops turn: the predecessor may leave. What was not listened on is nobody's. */
static void tell_predecessor(struct gyre_system *system)
{
	struct gy_succession *succession = system->succession;
	const char runs = GY_SUCCESSOR_RUNS;
	int64_t sent;
	uint32_t unused;

	if (succession->predecessor_fd >= 0 &&
	    gy_fd_message_is_refused(succession->predecessor_fd)) {
		give_way(system);
		return;
	}
	succession->told = true;
	gy_service_notify_ready(system, succession->predecessor_fd >= 0);
	if (succession->predecessor_fd < 0) {
		return;
	}
	gy_socket_registry_adopt(&system->homes);
	gy_socket_registry_keep(&system->homes);
	unused = gy_passed_sockets_drop(&system->homes);
	if (unused > 0) {
		gy_log(&system->log, GYRE_LOG_INFO,
		       "handover: the sockets of %u addresses of the predecessor are closed, for "
		       "nobody listens there any more",
		       (unsigned)unused);
	}
	sent = gy_socket_send(succession->predecessor_fd, &runs, 1, MSG_DONTWAIT);
	/* With these two it was stopped in the meantime. */
	if (sent < 0 && sent != -EPIPE && sent != -ECONNRESET) {
		gy_log(&system->log, GYRE_LOG_WARNING,
		       "handover: the predecessor cannot be told to leave: %s; end it by hand",
		       strerrordesc_np((int)-sent));
	}
}

/* Nobody is told when the start is over. One that has failed stops the system. */
static int begin_to_serve(struct giver *giver)
{
	struct gyre_system *system = giver->system;

	if (gy_load_acquire(&system->net.pending_opens) > 0) {
		start_timer(giver, start_look_ns);
		return 0;
	}
	if (gy_load_relaxed(&system->net.pending_open_error) < 0) {
		return 0;
	}
	tell_predecessor(system);
	giver->succeeds = system->succession->predecessor_fd >= 0;
	giver->stage = STAGE_ALONE;
	gy_endpoint_ready(&giver->endpoint);
	return 0;
}

/* ---- leaving ---- */

/* Closed connections are counted first, so that there are never more of them than were made. */
static bool all_is_closed(const struct gyre_system *system)
{
	uint32_t made = gy_homes_made(&system->homes);
	uint64_t closed = 0;
	uint64_t opened = 0;

	for (uint32_t i = 0; i < made; i++) {
		closed += gy_load_acquire(&gy_channels_counters(&system->homes.homes[i])->closed);
	}
	for (uint32_t i = 0; i < made; i++) {
		const struct gy_channels_counters *counters =
			gy_channels_counters(&system->homes.homes[i]);

		opened += gy_load_relaxed(&counters->accepted) +
			  gy_load_relaxed(&counters->connected);
	}
	return closed == opened;
}

/* Nothing is under way for it, for a successor has been let in. */
static void close_door(struct giver *giver)
{
	if (giver->endpoint.fd >= 0) {
		gy_assert(!giver->door.armed);
		(void)gy_descriptor_close(giver->endpoint.fd);
		giver->endpoint.fd = -1;
	}
}

static int leave(struct giver *giver)
{
	bool late = loop_of(giver)->now_ns >= giver->end_ns;
	bool left;

	if (!giver->expired) {
		return 0;
	}
	left = gy_socket_registry_have_left(&giver->system->homes);
	if (left) {
		close_door(giver);
		close_successor(giver);
	}
	if (late || (left && all_is_closed(giver->system))) {
		gyre_system_stop(giver->system);
	} else {
		start_timer(giver, look_ns);
	}
	return 0;
}

/* ---- the endpoint ---- */

static void finish(struct giver *giver)
{
	gy_endpoint_closed(&giver->endpoint);
	gy_memory_put(giver);
}

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion;
	finish(gy_container_of(op, struct giver, door));
}

static void polled_door(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion; /* what it brings, the accept tells */
	gy_endpoint_ready(&gy_container_of(op, struct giver, door)->endpoint);
}

static void polled_talk(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion; /* likewise */
	gy_endpoint_ready(&gy_container_of(op, struct giver, talk)->endpoint);
}

static void polled_old(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion; /* likewise */
	gy_endpoint_ready(&gy_container_of(op, struct giver, old)->endpoint);
}

static int end(struct giver *giver)
{
	struct gy_ring *ring = giver->endpoint.owner->channels->pools.ring;

	gy_timer_stop(&loop_of(giver)->wheel, &giver->timer);
	gy_timer_stop(&loop_of(giver)->wheel, &giver->look);
	if (giver->talk.armed) {
		return gy_ring_cancel(ring, &giver->talk);
	}
	if (giver->door.armed) {
		return gy_ring_cancel(ring, &giver->door);
	}
	if (giver->old.armed) {
		return gy_ring_cancel(ring, &giver->old);
	}
	if (gy_socket_registry_settle(&giver->system->homes) && giver->knows_all) {
		/* A successor goes on alone. */
		giver->system->succession->file.path[0] = '\0';
	}
	if (giver->system->succession->predecessor_fd < 0 || giver->system->succession->told) {
		gy_socket_file_remove(&giver->system->succession->file);
	}
	close_successor(giver);
	if (giver->endpoint.fd < 0) {
		finish(giver);
		return 0;
	}
	gy_op_init(&giver->door, closed);
	return gy_ring_close(ring, &giver->door, giver->endpoint.fd);
}

/* The successor has gone when there is no other end. */
static int await_predecessor(struct giver *giver)
{
	struct gy_succession *succession = giver->system->succession;
	char byte;

	if (giver->old.armed) {
		return 0;
	}
	if (gy_socket_receive(succession->predecessor_fd, &byte, 1, MSG_DONTWAIT) == -EAGAIN) {
		return gy_ring_poll(giver->endpoint.owner->channels->pools.ring, &giver->old,
				    succession->predecessor_fd, POLLIN);
	}
	(void)gy_descriptor_close(succession->predecessor_fd);
	succession->predecessor_fd = -1;
	giver->succeeds = false;
	begin_to_look(giver);
	return 0;
}

static int go_on(struct giver *giver)
{
	if (giver->looks && giver->stage != STAGE_ENDING) {
		look_into_backlogs(giver);
	}
	if (giver->succeeds && giver->stage != STAGE_ENDING) {
		int r = await_predecessor(giver);

		if (r < 0) {
			return r;
		}
	}
	switch (giver->stage) {
	case STAGE_STARTING:
		return begin_to_serve(giver);
	case STAGE_ALONE:
		return let_in(giver);
	case STAGE_WAITING:
		return giver->expired ? wait_for_loops(giver) : 0;
	case STAGE_ASKED:
		return listen_to(giver);
	case STAGE_LEAVING:
		return leave(giver);
	case STAGE_STOPPING:
		return giver->expired ? keep_waiting(giver) : 0;
	default:
		return end(giver);
	}
}

static void process(struct gy_endpoint *endpoint)
{
	endpoint->ready = false;
	if (go_on(gy_container_of(endpoint, struct giver, endpoint)) < 0) {
		gy_endpoint_ready(endpoint);
	}
}

static void drain(struct gy_endpoint *endpoint)
{
	gy_container_of(endpoint, struct giver, endpoint)->stage = STAGE_ENDING;
	gy_endpoint_ready(endpoint);
}

static const struct gy_endpoint_ops giver_ops = {
	.process = process,
	.drain = drain,
	.of_actor = true,
};

/* ---- the actor ---- */

struct handover_argument {
	struct gyre_system *system; /* NULL when nobody is to be told */
};

/* There was no memory for the actor: the next process would find nobody, or the one before. */
static void destroy_argument(struct handover_argument *argument)
{
	struct gyre_system *system = argument->system;

	if (system != NULL && system->homes.homes[0].draining) {
		gy_pending_open_end(&system->homes);
	} else if (system != NULL) {
		gy_pending_open_fail(&system->homes.homes[0], "waiting at handover", NULL,
				     system->options.handover, -ENOMEM);
	}
}
GYRE_OWN_MESSAGE_OWNING_(handover_argument, 0x19, destroy_argument);

static int make_giver(struct gyre_system *system, struct gy_house *house)
{
	struct giver *giver = (struct giver *)gy_memory_get(sizeof(*giver));
	int r;

	if (giver == NULL) {
		return -ENOMEM;
	}
	giver->endpoint.ops = &giver_ops;
	giver->endpoint.fd = system->succession->listen_fd;
	giver->system = system;
	giver->fd = -1;
	gy_op_init(&giver->door, polled_door);
	gy_op_init(&giver->talk, polled_talk);
	gy_op_init(&giver->old, polled_old);
	gy_timer_init(&giver->timer, expired);
	gy_timer_init(&giver->look, look_expired);
	r = gy_endpoint_add(&giver->endpoint, house);
	if (r < 0) {
		gy_memory_put(giver);
		return r;
	}
	system->succession->listen_fd = -1;
	gy_store_relaxed(&system->net.bound_until_ns, 0);
	gy_endpoint_ready(&giver->endpoint);
	return 0;
}

static int mount(struct gyre_stack *stack)
{
	struct gyre_system *system = gyre_system_of(stack);
	struct handover_argument argument;
	bool stops = gy_load_relaxed(&system->stop) != 0;
	int r = gyre_message_move(stack, &gyre_type_handover_argument, &argument);

	if (r == 0 && !stops) {
		r = make_giver(system, gy_stack_of(stack)->house);
	}
	if (r < 0) {
		argument.system = system;
		destroy_argument(&argument);
		return gyre_throw(stack, r);
	}
	gy_pending_open_end(&system->homes);
	return stops ? gyre_stop(stack, gyre_self(stack)) : gyre_return(stack);
}

static const struct gyre_class handover_class = {
	.name = "handover",
	.mount = mount,
};

int gy_handover_spawn(struct gyre_system *system)
{
	struct gyre_mail *mail = gy_mail_get_outside(&gyre_type_handover_argument);
	const struct gy_spawn_order order = {
		.class = &handover_class, .argument = mail, .channels_actor = true, .lent = true
	};
	struct handover_argument *argument;
	struct gyre_address address;
	int r;

	if (mail == NULL) {
		return -ENOMEM;
	}
	argument = (struct handover_argument *)gyre_payload(mail);
	argument->system = system;
	gy_pending_open_begin(&system->homes);
	r = gy_spawn_from_outside(&system->homes.homes[0], &order, &address);
	if (r < 0) {
		argument->system = NULL;
		gyre_mail_destroy(NULL, mail);
		gy_pending_open_end(&system->homes);
	}
	return r;
}
