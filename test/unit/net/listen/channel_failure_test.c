/*
 * The matrix of failures of actors that own a channel: where something fails, in the actor's
 * handlers or in the channel's, under each strategy and each bond, for a connection that was
 * accepted, for one that was made, and for a socket for datagrams; and what becomes of the actor,
 * the channel and the system. Each cell is a life of its own in a system.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/connect.h>
#include <gyre/datagram.h>
#include <gyre/exchange.h>
#include <gyre/listen.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "fixture.h"

TestSuite(channel_failure, .timeout = 300);

enum kind { SERVER, CLIENT, SOCKET, KINDS };

enum where {
	/* in the actor */
	MOUNT,
	NOTICE,
	AFTER_WAIT,
	ASK,
	EVENT,
	TIMER,
	CHILD,
	STOPPING,
	/* in the pipeline */
	READ,
	ABORT,
	HANDLER_TIMER,
	KEPT,
	THROWN,
	REQUEST,
	REQUEST_TOLD,
	WHERES,
};

enum end { GOES_ON, RESTARTS, ACTOR_ENDS, CHANNEL_ENDS, BOTH_END, SHUTS_DOWN };
enum { STRATEGIES = 5, BONDS = 4, TEXT_BYTES = 128, ECHO = 'e', FAIL = 'f', ALIVE = 1 };

static const char *const kind_names[KINDS] = { "server", "client", "socket" };
static const char *const where_names[WHERES] = {
	[MOUNT] = "mount",
	[NOTICE] = "notice",
	[AFTER_WAIT] = "notice after a wait",
	[ASK] = "ask",
	[EVENT] = "event",
	[TIMER] = "timer",
	[CHILD] = "child",
	[STOPPING] = "notice after a stop",
	[READ] = "read",
	[ABORT] = "abort",
	[HANDLER_TIMER] = "timer of a handler",
	[KEPT] = "exception that is kept",
	[THROWN] = "throw in a handler",
	[REQUEST] = "request",
	[REQUEST_TOLD] = "request whose peer is told",
};

struct cell {
	enum kind kind;
	enum where where;
	enum gyre_strategy strategy;
	enum gyre_channel_bond bond;
	char text[TEXT_BYTES];
};

struct owner {
	uint64_t reads;
};

/* What a handler of the pipeline throws. */
struct load {
	uint64_t weight;
};

static void destroy_load(struct load *load);
GYRE_MESSAGE_OWNING(load, 0x1021, destroy_load);

struct owner_frame {
	struct gyre_future future;
};

static struct cell cell;

static struct {
	uint32_t mounted;
	uint32_t restarted;
	uint32_t removed;
	uint32_t passed; /* failures that no more comes of */
	uint32_t told;	 /* of the actor's end */
	uint32_t alive;	 /* notices that it has had since */
	int reason;
	int channel_reason;
	struct gyre_address actor;
	struct gyre_address watcher;
	struct gyre_address stale;
} seen; /* counts are atomic */

static void destroy_load(struct load *load)
{
	(void)gy_fetch_add(&seen.passed, load->weight != 0);
}

static void await_count(const uint32_t *count, uint32_t value)
{
	while (gy_load_acquire(count) < value) {
		sched_yield();
	}
}

/* ---- its watcher ---- */

static int watch_it(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, gyre_message(stack, place)->address) == 0);
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

static int hear_of_end(struct gyre_stack *stack)
{
	seen.reason = gyre_message(stack, gyre_terminated)->reason;
	(void)gy_fetch_add(&seen.told, 1);
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher", .behaviour = { .ask = watch_it, .event = hear_of_end }
};

/* ---- the actor ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class child_class = { .name = "child",
					       .behaviour.notice = fail,
					       .strategy = GYRE_STRATEGY_ESCALATE };

static int mount(struct gyre_stack *stack)
{
	struct owner_frame *frame = (struct owner_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	seen.actor = gyre_self(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, seen.watcher, gyre_new(stack, place, gyre_self(stack)), 0,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	(void)gy_fetch_add(&seen.mounted, 1);
	return cell.where == MOUNT ? fail(stack) : gyre_return(stack);
	GYRE_END(stack);
}

static int restart(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&seen.restarted, 1);
	return gyre_return(stack);
}

static int fail_by_child(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, spawn_here(stack, &child_class), gyre_new(stack, number, 0)) ==
	       0);
	return gyre_return(stack);
}

static int notice(struct gyre_stack *stack)
{
	const struct gyre_timer_options soon = { .delay_ns = 1 };
	struct owner_frame *frame = (struct owner_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, number)->value == ALIVE) {
		(void)gy_fetch_add(&seen.alive, 1);
		return gyre_return(stack);
	}
	switch (cell.where) {
	case EVENT:
		expect(gyre_watch(stack, seen.stale) == 0);
		return gyre_return(stack);
	case TIMER:
		expect(gyre_timer_start(stack, 1, &soon) == 0);
		return gyre_return(stack);
	case CHILD:
		return fail_by_child(stack);
	case STOPPING:
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
		return fail(stack);
	default:
		break;
	}
	if (cell.where == AFTER_WAIT) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame->future));
	} else if (cell.where == ASK) {
		GYRE_AWAIT(stack, gyre_ask(stack, gyre_self(stack), gyre_new(stack, number, 0), 0,
					   &frame->future));
		expect(gyre_future_error(&frame->future) == -EIO);
		(void)gy_fetch_add(&seen.passed, 1);
		return gyre_return(stack);
	}
	return fail(stack);
	GYRE_END(stack);
}

static struct gyre_class owner_class = {
	.name = "owner",
	.state_bytes = sizeof(struct owner),
	.frame_bytes = sizeof(struct owner_frame),
	.mount = mount,
	.restart = restart,
	.behaviour = { .notice = notice, .ask = fail, .event = fail },
	.supervision.decision = GYRE_DECISION_ESCALATE,
};

/* ---- the pipeline ---- */

static void answer(struct gyre_handler_context *ctx, const struct gyre_socket_address *peer,
		   char what)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, &what, 1) == 0);
	if (peer != NULL) {
		expect(gyre_buffer_set_peer(buffer, peer) == 0);
	}
	expect(gyre_context_write(ctx, buffer) == 0);
}

static void fail_in_pipeline(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	switch (cell.where) {
	case READ:
	case KEPT:
		gyre_context_fire_exception(ctx, -EIO);
		break;
	case ABORT:
		gyre_channel_abort(gyre_context_channel(ctx), -EIO);
		break;
	case HANDLER_TIMER:
		expect(gyre_context_timer_start(ctx, 1, 1) == 0);
		break;
	case THROWN:
		expect(gyre_throw_with(stack, -EIO, gyre_new(stack, load, 1)) == -EIO);
		break;
	case REQUEST:
	case REQUEST_TOLD:
		expect(gyre_exchange_receive(ctx, 0, gyre_new(stack, number, 1)) == 0);
		break;
	default:
		expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 0)) == 0);
		break;
	}
}

/* + from a channel that has its actor, - from one that has not. */
static void obey(struct gyre_handler_context *ctx, const struct gyre_socket_address *peer,
		 unsigned char order)
{
	if (order == ECHO) {
		answer(ctx, peer,
		       gyre_channel_actor_state(gyre_context_channel(ctx)) != NULL ? '+' : '-');
	} else {
		fail_in_pipeline(ctx);
	}
}

/* Where the test does not wait for the failure, the order after it may come with it. */
static void read_order(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct gyre_socket_address *peer =
		cell.kind == SOCKET ? gyre_buffer_peer(data) : NULL;
	unsigned char orders[2] = { 0 };
	size_t count = gyre_buffer_bytes(data);

	expect(count == 1 || count == 2);
	expect(gyre_buffer_copy(data, 0, orders, sizeof(orders)) == count);
	for (size_t i = 0; i < count; i++) {
		obey(ctx, peer, orders[i]);
	}
	gyre_buffer_destroy(data);
}

static void timer(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	gyre_context_fire_exception(ctx, -EIO);
}

static void inactive(struct gyre_handler_context *ctx)
{
	seen.channel_reason = gyre_channel_reason(gyre_context_channel(ctx));
	gyre_context_fire_exception(ctx, -EBADMSG); /* too late for anybody */
}

static void removed(struct gyre_handler_context *ctx)
{
	(void)ctx;
	(void)gy_fetch_add(&seen.removed, 1);
}

static int no_reply(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		    const void *message)
{
	(void)ctx;
	(void)id;
	(void)type;
	(void)message;
	return 0;
}

static void request_failed(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	(void)ctx;
	(void)id;
	expect(error == -EIO);
	(void)gy_fetch_add(&seen.passed, 1);
}

static int added(struct gyre_handler_context *ctx)
{
	static const struct gyre_exchange_options silent = { .request = fail, .reply = no_reply };
	static const struct gyre_exchange_options telling = { .request = fail,
							      .reply = no_reply,
							      .fail = request_failed };

	if (cell.where != REQUEST && cell.where != REQUEST_TOLD) {
		return 0;
	}
	return gyre_exchange_open(ctx, cell.where == REQUEST ? &silent : &telling);
}

static const struct gyre_handler orders = { .name = "orders",
					    .added = added,
					    .read = read_order,
					    .timer = timer,
					    .inactive = inactive,
					    .removed = removed };

static void keep_exception(struct gyre_handler_context *ctx, int error)
{
	if (cell.where != KEPT) {
		gyre_context_fire_exception(ctx, error);
		return;
	}
	(void)gy_fetch_add(&seen.passed, error == -EIO);
}

static const struct gyre_handler keeper = { .name = "keeper", .exception = keep_exception };

static int init(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_LAST, &orders, arg);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &keeper, arg);
}

/* ---- the kinds of channels; each gives the descriptor of the peer ---- */

static int open_server(void)
{
	struct gyre_socket_address address;
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init,
						       .actor_class = &owner_class,
						       .bond = cell.bond,
						       .ret_address = &address };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static int open_client(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char to[64];
	const struct gyre_connect_options options = {
		.to = to, .init_channel = init, .actor_class = &owner_class, .bond = cell.bond
	};
	int fd;

	cr_assert_eq(bind(listener, (struct sockaddr *)&at, bytes), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
	(void)snprintf(to, sizeof(to), "tcp://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
	cr_assert_eq(gyre_system_connect(fixture.system, &options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = cell.where == MOUNT ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	(void)close(listener);
	return fd;
}

static int open_socket(void)
{
	struct gyre_socket_address address;
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init,
						       .actor_class = &owner_class,
						       .bond = cell.bond,
						       .ret_address = &address };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static void order(int fd, char what)
{
	cr_assert_eq(send(fd, &what, 1, MSG_NOSIGNAL), 1, "%s", cell.text);
}

static char echo(int fd)
{
	char byte = 0;

	order(fd, ECHO);
	cr_assert_eq(recv(fd, &byte, 1, 0), 1, "%s", cell.text);
	return byte;
}

/* ---- what must become of it ---- */

static bool ends_actor(void)
{
	return cell.bond == GYRE_BOND_BOTH || cell.bond == GYRE_BOND_CHANNEL_ENDS_ACTOR;
}

static bool ends_channel(void)
{
	return cell.bond == GYRE_BOND_BOTH || cell.bond == GYRE_BOND_ACTOR_ENDS_CHANNEL;
}

static enum end end_of_actors_failure(void)
{
	switch (cell.strategy) {
	case GYRE_STRATEGY_RESTART:
		return RESTARTS;
	case GYRE_STRATEGY_IGNORE:
		return GOES_ON;
	case GYRE_STRATEGY_SHUT_DOWN:
		return SHUTS_DOWN;
	default: /* its parent, which is the library's, stops it too */
		return ends_channel() ? BOTH_END : ACTOR_ENDS;
	}
}

static enum end end_of_cell(void)
{
	switch (cell.where) {
	case MOUNT:
		return BOTH_END;
	case STOPPING:
		return ends_channel() ? BOTH_END : ACTOR_ENDS;
	case ASK:
	case KEPT:
	case THROWN:
	case REQUEST_TOLD:
		return GOES_ON;
	case READ:
	case HANDLER_TIMER:
	case REQUEST:
		if (cell.kind == SOCKET) {
			return GOES_ON; /* one datagram is not the others' fault */
		}
		return ends_actor() ? BOTH_END : CHANNEL_ENDS;
	case ABORT:
		return ends_actor() ? BOTH_END : CHANNEL_ENDS;
	default:
		return end_of_actors_failure();
	}
}

/* The peer ends its side too, once it has seen the end: the channel waits for that. */
static void expect_closed(int fd)
{
	char byte;
	ssize_t got = cell.kind == SOCKET || fd < 0 ? 0 : recv(fd, &byte, 1, 0);

	cr_assert(got == 0 || (got < 0 && errno == ECONNRESET), "%zd: %s", got, cell.text);
	if (fd >= 0) {
		(void)close(fd);
	}
}

static void check_channel(int fd, enum end end)
{
	if (end == BOTH_END || end == CHANNEL_ENDS) {
		expect_closed(fd);
		await_count(&seen.removed, 1);
	} else if (end == SHUTS_DOWN) {
		expect_closed(fd);
		cr_assert_eq(gyre_system_wait(fixture.system), 0, "%s", cell.text);
	} else {
		char must = end == ACTOR_ENDS ? '-' : '+';
		char got = echo(fd);

		cr_assert_eq(got, must, "%c: %s", got, cell.text);
	}
}

static int reason_expected(void)
{
	return cell.where == STOPPING ? 0 : -EIO;
}

static void check_actor(enum end end)
{
	bool ends = end == BOTH_END || end == ACTOR_ENDS;

	if (ends) {
		await_count(&seen.told, 1);
		cr_assert_eq(seen.reason, reason_expected(), "%d: %s", seen.reason, cell.text);
	} else if (end != SHUTS_DOWN) {
		cr_assert_eq(notify_outside(seen.actor, ALIVE), 0, "%s", cell.text);
		await_count(&seen.alive, 1);
		cr_assert_eq(gy_load_acquire(&seen.told), 0, "%s", cell.text);
	}
}

/* What is to be seen before the channel and the actor are asked whether they are there. */
static void await_failure(enum end end)
{
	switch (end) {
	case RESTARTS:
		await_count(&seen.restarted, 1);
		break;
	case ACTOR_ENDS:
		await_count(&seen.told, 1);
		break;
	case GOES_ON:
		if (cell.where == ASK || cell.where == KEPT || cell.where == THROWN ||
		    cell.where == REQUEST_TOLD) {
			await_count(&seen.passed, 1);
		}
		break;
	default:
		break;
	}
}

static int stop_self(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static void open_cell(void)
{
	static const struct gyre_class stale_class = { .name = "stale", .mount = stop_self };

	(void)snprintf(cell.text, sizeof(cell.text), "%s, %s fails, strategy %u, bond %u",
		       kind_names[cell.kind], where_names[cell.where], (unsigned)cell.strategy,
		       (unsigned)cell.bond);
	memset(&seen, 0, sizeof(seen));
	owner_class.strategy = cell.strategy;
	fixture_open_with(&(struct gyre_system_options){ .loops = 1 });
	seen.watcher = spawn_outside(&watcher_class, 0);
	seen.stale = spawn_outside(&stale_class, 0);
}

static void play_cell(void)
{
	static int (*const open[KINDS])(void) = { open_server, open_client, open_socket };
	enum end end = end_of_cell();
	int fd;

	open_cell();
	fd = open[cell.kind]();
	if (cell.where != MOUNT) {
		cr_assert_eq(echo(fd), '+');
		order(fd, FAIL);
	}
	await_failure(end);
	check_channel(fd, end);
	check_actor(end);
	if (end == GOES_ON || end == RESTARTS || end == ACTOR_ENDS) {
		(void)close(fd);
	}
	fixture_close();
	cr_assert_eq(seen.removed, 1, "%s", cell.text);
	cr_assert_leq(seen.told, 1, "%s", cell.text);
	cr_assert_eq(seen.restarted, end == RESTARTS, "%s", cell.text);
}

static bool is_possible(void)
{
	return cell.kind != SOCKET || (cell.where != REQUEST && cell.where != REQUEST_TOLD);
}

static void play_all(enum kind kind)
{
	for (uint32_t where = 0; where < WHERES; where++) {
		for (uint32_t i = 0; i < STRATEGIES * BONDS; i++) {
			cell = (struct cell){ .kind = kind,
					      .where = (enum where)where,
					      .strategy = (enum gyre_strategy)(i % STRATEGIES),
					      .bond = (enum gyre_channel_bond)(i / STRATEGIES) };
			if (is_possible()) {
				play_cell();
			}
		}
	}
}

Test(channel_failure, of_an_accepted_connection_and_its_actor_is_what_the_matrix_says)
{
	play_all(SERVER);
}

Test(channel_failure, of_a_connection_that_was_made_and_its_actor_is_what_the_matrix_says)
{
	play_all(CLIENT);
}

Test(channel_failure, of_a_socket_for_datagrams_and_its_actor_is_what_the_matrix_says)
{
	play_all(SOCKET);
}
