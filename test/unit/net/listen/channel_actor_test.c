/* Actors of the program that own a connection each, and how the ends of the two go together. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "echo.h"
#include "fixture.h"

TestSuite(channel_actor, .timeout = 60);

enum { OUTPUT_BYTES = 1 << 20 };

/* What a notice has the actor do. */
enum { WRITE_STATE = 1, WRITE_MUCH_AND_STOP, STOP, FAIL, TELL, STOP_OTHER };

struct client {
	const void *arg;
	uint64_t reads;
	struct gyre_future future;
};

static struct {
	uint32_t mounted;
	uint32_t cleaned;
	uint32_t removed;
	uint32_t active;
	uint32_t heard;	 /* other calls of the handler */
	uint32_t told;	 /* notices TELL */
	uint32_t orphan; /* of these without a channel */
	uint32_t restarted;
	uint32_t adrift; /* reads on a channel without an actor */
	struct gyre_address actor;
	struct gyre_address gate; /* whom a mount asks that waits */
} seen;				  /* counts are atomic */

static struct gyre_socket_address address;

static void await_count(const uint32_t *count, uint32_t value)
{
	while (gy_load_acquire(count) < value) {
		sched_yield();
	}
}

/* ---- the actor ---- */

static int mount(struct gyre_stack *stack)
{
	const struct gyre_channel_attached *attached = gyre_message(stack, gyre_channel_attached);
	struct client *client = (struct client *)gyre_state(stack);

	expect(attached != NULL && attached->channel == gyre_actor_channel(stack));
	expect(gyre_address_equal(gyre_channel_actor(attached->channel), gyre_self(stack)));
	expect(gyre_channel_actor_state(attached->channel) == client);
	client->arg = attached->arg;
	seen.actor = gyre_self(stack);
	(void)gy_fetch_add(&seen.mounted, 1);
	return gyre_return(stack);
}

static void clean(void *state)
{
	(void)state;
	(void)gy_fetch_add(&seen.cleaned, 1);
}

static int restarted(struct gyre_stack *stack)
{
	expect(gyre_actor_channel(stack) != NULL);
	(void)gy_fetch_add(&seen.restarted, 1);
	return gyre_return(stack);
}

static void write_text(struct gyre_channel *channel, const void *bytes, size_t count)
{
	struct gyre_buffer *buffer = gyre_context_buffer(gyre_channel_tail(channel));

	expect(gyre_buffer_append(buffer, bytes, count) == 0);
	expect(gyre_context_write(gyre_channel_tail(channel), buffer) == 0);
}

static int write_after_a_wait(struct gyre_stack *stack)
{
	struct client *client = (struct client *)gyre_state(stack);

	GYRE_BEGIN(stack);
	write_text(gyre_actor_channel(stack), "1", 1);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &client->future));
	write_text(gyre_actor_channel(stack), "2", 1);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &client->future));
	write_text(gyre_actor_channel(stack), "3", 1);
	GYRE_END(stack);
}

static int notice(struct gyre_stack *stack)
{
	static const char much[OUTPUT_BYTES];
	const struct client *client = (const struct client *)gyre_state(stack);
	struct gyre_channel *channel = gyre_actor_channel(stack);
	char digit = (char)('0' + client->reads);

	switch (gyre_message(stack, number)->value) {
	case WRITE_STATE:
		write_text(channel, &digit, 1);
		break;
	case WRITE_MUCH_AND_STOP:
		write_text(channel, much, sizeof(much));
		return gyre_stop(stack, gyre_self(stack));
	case STOP:
		return gyre_stop(stack, gyre_self(stack));
	case FAIL:
		return gyre_throw(stack, -EIO);
	default:
		(void)gy_fetch_add(&seen.orphan, channel == NULL);
		(void)gy_fetch_add(&seen.told, 1);
		break;
	}
	return gyre_return(stack);
}

static const struct gyre_class client_class = { .name = "client",
						.state_bytes = sizeof(struct client),
						.mount = mount,
						.clean = clean,
						.restart = restarted,
						.behaviour.notice = notice };

/* ---- the pipeline ---- */

static void active(struct gyre_handler_context *ctx)
{
	(void)gy_fetch_add(&seen.active, 1);
	gyre_context_fire_active(ctx);
}

static void hear(struct gyre_handler_context *ctx)
{
	(void)ctx, (void)gy_fetch_add(&seen.heard, 1);
}

/* The first byte is what the actor is to do; 0 for nothing, and then the state is written here. */
static void read_order(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct client *client =
		(struct client *)gyre_channel_actor_state(gyre_context_channel(ctx));
	struct gyre_stack *stack = gyre_context_stack(ctx);
	unsigned char order = 0;

	expect(gyre_buffer_copy(data, 0, &order, 1) == 1);
	gyre_buffer_destroy(data);
	if (client == NULL) {
		expect(gyre_address_is_nobody(gyre_channel_actor(gyre_context_channel(ctx))));
		(void)gy_fetch_add(&seen.adrift, 1);
		write_text(gyre_context_channel(ctx), "-", 1);
		return;
	}
	expect(client == gyre_state(stack) && client->arg == gyre_context_arg(ctx));
	client->reads++;
	if (order == 0) {
		char digit = (char)('0' + client->reads);

		write_text(gyre_context_channel(ctx), &digit, 1);
	} else {
		expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, order)) == 0);
	}
}

/* Also where the actor has called into the pipeline. */
static int write_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	const void *state = gyre_channel_actor_state(gyre_context_channel(ctx));

	expect(stack != NULL);
	expect(state == NULL || gyre_state(stack) == state);
	gyre_buffer_destroy(gyre_buffer_create(stack));
	return gyre_context_write(ctx, data);
}

static void removed(struct gyre_handler_context *ctx)
{
	(void)ctx;
	(void)gy_fetch_add(&seen.removed, 1);
}

static const struct gyre_handler handler = { .name = "orders",
					     .registered = hear,
					     .active = active,
					     .inactive = hear,
					     .unregistered = hear,
					     .read = read_order,
					     .write = write_bytes,
					     .removed = removed };

static int init(struct gyre_channel *channel, void *arg)
{
	expect(gyre_channel_actor_state(channel) != NULL);
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

static int init_in_vain(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);

	return r < 0 ? r : -EPERM;
}

/* ---- the rig ---- */

static void begin_with(const struct gyre_system_options *system,
		       struct gyre_acceptor_options *options)
{
	options->bind = "tcp://127.0.0.1:0";
	options->init_channel = options->init_channel == NULL ? init : options->init_channel;
	options->init_arg = &seen;
	options->ret_address = &address;
	fixture_open_with(system);
	cr_assert_eq(gyre_system_listen(fixture.system, options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void begin(const struct gyre_class *class, enum gyre_channel_bond bond)
{
	begin_with(&(struct gyre_system_options){ .loops = 1 },
		   &(struct gyre_acceptor_options){ .actor_class = class, .bond = bond });
}

static int connect_there(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static void order(int fd, char what)
{
	cr_assert_eq(send(fd, &what, 1, MSG_NOSIGNAL), 1);
}

static void expect_answer(int fd, char answer)
{
	char byte = 0;

	cr_expect_eq(recv(fd, &byte, 1, 0), 1);
	cr_expect_eq(byte, answer, "%c", byte);
}

/* Whether the other side has closed, in whatever way. */
static void expect_closed(int fd)
{
	char byte;
	ssize_t got = recv(fd, &byte, 1, 0);

	cr_expect(got == 0 || (got < 0 && errno == ECONNRESET), "%zd", got);
	(void)close(fd);
}

/* ---- reach ---- */

Test(channel_actor, has_its_state_within_reach_of_the_handlers)
{
	int fds[2];

	begin(&client_class, GYRE_BOND_BOTH);
	fds[0] = connect_there();
	fds[1] = connect_there();
	for (char digit = '1'; digit < '5'; digit++) {
		order(fds[0], 0);
		expect_answer(fds[0], digit);
	}
	order(fds[1], 0);
	expect_answer(fds[1], '1');
	cr_expect_eq(gy_load_acquire(&seen.mounted), 2);
	(void)close(fds[0]);
	(void)close(fds[1]);
	fixture_close();
	cr_expect_eq(seen.cleaned, 2);
	cr_expect_eq(seen.removed, 2);
}

Test(channel_actor, writes_from_its_own_handlers)
{
	int fd;

	begin(&client_class, GYRE_BOND_BOTH);
	fd = connect_there();
	order(fd, WRITE_STATE);
	expect_answer(fd, '1');
	cr_assert_eq(notify_outside(seen.actor, WRITE_STATE), 0);
	expect_answer(fd, '1');
	(void)close(fd);
	fixture_close();
}

/* ---- ends ---- */

Test(channel_actor, gives_its_stack_to_the_pipeline_also_after_a_wait)
{
	static const struct gyre_class waiting_class = { .name = "client",
							 .state_bytes = sizeof(struct client),
							 .mount = mount,
							 .behaviour.notice = write_after_a_wait };
	int fd;

	begin(&waiting_class, GYRE_BOND_BOTH);
	fd = connect_there();
	order(fd, WRITE_STATE);
	for (char digit = '1'; digit <= '3'; digit++) {
		expect_answer(fd, digit);
	}
	order(fd, 0);
	expect_answer(fd, '2'); /* reads; what the actor does not do has the stack of a read */
	(void)close(fd);
	fixture_close();
}

Test(channel_actor, stops_when_its_channel_has_closed)
{
	begin(&client_class, GYRE_BOND_BOTH);
	(void)close(connect_there());
	await_count(&seen.cleaned, 1);
	cr_expect_eq(gy_load_acquire(&seen.removed), 1);
	fixture_close();
}

static void expect_much(int fd)
{
	static char bytes[1 << 16];
	size_t total = 0;
	ssize_t got;

	while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		total += (size_t)got;
	}
	cr_expect_eq(got, 0);
	cr_expect_eq(total, OUTPUT_BYTES);
	(void)close(fd);
}

Test(channel_actor, has_its_channel_send_all_when_it_stops)
{
	int fd;

	begin(&client_class, GYRE_BOND_BOTH);
	fd = connect_there();
	order(fd, WRITE_MUCH_AND_STOP);
	expect_much(fd);
	await_count(&seen.cleaned, 1);
	fixture_close();
}

Test(channel_actor, may_go_on_without_its_channel)
{
	begin(&client_class, GYRE_BOND_ACTOR_ENDS_CHANNEL);
	(void)close(connect_there());
	await_count(&seen.removed, 1);
	cr_assert_eq(notify_outside(seen.actor, TELL), 0);
	await_count(&seen.told, 1);
	cr_expect_eq(gy_load_acquire(&seen.orphan), 1);
	cr_expect_eq(gy_load_acquire(&seen.cleaned), 0);
	fixture_close();
	cr_expect_eq(seen.cleaned, 1);
}

Test(channel_actor, that_may_go_on_alone_still_closes_its_channel)
{
	int fd;

	begin(&client_class, GYRE_BOND_ACTOR_ENDS_CHANNEL);
	fd = connect_there();
	order(fd, WRITE_MUCH_AND_STOP);
	expect_much(fd);
	await_count(&seen.cleaned, 1);
	fixture_close();
}

static void expect_channel_alone(enum gyre_channel_bond bond)
{
	int fd;

	begin(&client_class, bond);
	fd = connect_there();
	order(fd, 0);
	expect_answer(fd, '1');
	order(fd, STOP);
	await_count(&seen.cleaned, 1);
	for (uint32_t i = 0; i < 3; i++) {
		order(fd, 0);
		expect_answer(fd, '-');
	}
	cr_expect_eq(gy_load_acquire(&seen.removed), 0);
	(void)close(fd);
	await_count(&seen.removed, 1);
	fixture_close();
}

Test(channel_actor, may_leave_its_channel_open)
{
	expect_channel_alone(GYRE_BOND_CHANNEL_ENDS_ACTOR);
	cr_expect_eq(seen.adrift, 3);
}

Test(channel_actor, may_part_from_its_channel)
{
	expect_channel_alone(GYRE_BOND_PART);
}

Test(channel_actor, that_leaves_its_channel_open_stops_with_it)
{
	begin(&client_class, GYRE_BOND_CHANNEL_ENDS_ACTOR);
	(void)close(connect_there());
	await_count(&seen.cleaned, 1);
	fixture_close();
}

Test(channel_actor, that_parts_goes_on_until_the_system_ends)
{
	begin(&client_class, GYRE_BOND_PART);
	(void)close(connect_there());
	await_count(&seen.removed, 1);
	cr_assert_eq(notify_outside(seen.actor, TELL), 0);
	await_count(&seen.told, 1);
	cr_expect_eq(gy_load_acquire(&seen.cleaned), 0);
	fixture_close();
	cr_expect_eq(seen.cleaned, 1);
}

static const struct gyre_class escalating_class = { .name = "escalating",
						    .state_bytes = sizeof(struct client),
						    .mount = mount,
						    .clean = clean,
						    .strategy = GYRE_STRATEGY_ESCALATE,
						    .behaviour.notice = notice };

Test(channel_actor, that_goes_on_alone_and_whose_failure_escalates_stops_alone)
{
	int fd;

	begin(&escalating_class, GYRE_BOND_PART);
	(void)close(connect_there());
	await_count(&seen.removed, 1);
	cr_assert_eq(notify_outside(seen.actor, TELL), 0);
	await_count(&seen.told, 1);
	cr_assert_eq(notify_outside(seen.actor, FAIL), 0);
	await_count(&seen.cleaned, 1);
	fd = connect_there();
	order(fd, 0);
	expect_answer(fd, '1');
	(void)close(fd);
	await_count(&seen.removed, 2);
	fixture_close();
	cr_expect_eq(seen.cleaned, 2);
}

Test(channel_actor, restarts_without_harm_to_its_channel)
{
	int fd;

	begin(&client_class, GYRE_BOND_BOTH);
	fd = connect_there();
	order(fd, FAIL);
	await_count(&seen.restarted, 1);
	order(fd, 0);
	expect_answer(fd, '2');
	(void)close(fd);
	fixture_close();
	cr_expect_eq(seen.removed, 1);
}

/* ---- mounts ---- */

static int fail_to_mount(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&seen.mounted, 1);
	return gyre_throw(stack, -EACCES);
}

static void expect_closed_connections(const struct gyre_class *class, gyre_init_channel_fn with)
{
	static const enum gyre_channel_bond bonds[] = { GYRE_BOND_BOTH,
							GYRE_BOND_CHANNEL_ENDS_ACTOR,
							GYRE_BOND_ACTOR_ENDS_CHANNEL,
							GYRE_BOND_PART };
	uint32_t count = 0;

	for (size_t i = 0; i < gy_countof(bonds); i++) {
		struct gyre_acceptor_options options = { .actor_class = class,
							 .bond = bonds[i],
							 .init_channel = with,
							 .connections_max = 1 };

		begin_with(&(struct gyre_system_options){ .loops = 1 }, &options);
		for (uint32_t j = 0; j < 5; j++) {
			expect_closed(connect_there());
			await_count(&seen.cleaned, ++count);
		}
		fixture_close();
	}
	cr_expect_eq(seen.removed, count);
	cr_expect_eq(seen.active, 0, "its handlers heard of nothing");
}

Test(channel_actor, that_cannot_be_mounted_closes_its_connection_alone)
{
	static const struct gyre_class class = { .name = "failing",
						 .state_bytes = sizeof(struct client),
						 .mount = fail_to_mount,
						 .clean = clean };

	expect_closed_connections(&class, init);
	cr_expect_eq(seen.mounted, 20);
}

Test(channel_actor, whose_channel_is_refused_its_handlers_is_only_cleaned)
{
	expect_closed_connections(&client_class, init_in_vain);
	cr_expect_eq(seen.mounted, 0);
}

/* Answers asks from when it has got a notice. */
static int gate_ask(struct gyre_stack *stack)
{
	const bool *open = (const bool *)gyre_state(stack);

	return *open ? gyre_reply(stack, gyre_new(stack, number, 7)) : gyre_stash(stack);
}

static int gate_notice(struct gyre_stack *stack)
{
	if (gyre_message(stack, number)->value == STOP) {
		return gyre_stop(stack, gyre_self(stack));
	}
	if (gyre_message(stack, number)->value == STOP_OTHER) {
		return gyre_stop(stack, seen.actor);
	}
	*(bool *)gyre_state(stack) = true;
	(void)gyre_unstash(stack, UINT32_MAX);
	return gyre_return(stack);
}

static const struct gyre_class gate_class = { .name = "gate",
					      .state_bytes = sizeof(bool),
					      .behaviour = { .ask = gate_ask,
							     .notice = gate_notice } };

static int wait_to_mount(struct gyre_stack *stack)
{
	struct client *client = (struct client *)gyre_state(stack);

	GYRE_BEGIN(stack);
	client->arg = gyre_message(stack, gyre_channel_attached)->arg;
	seen.actor = gyre_self(stack);
	(void)gy_fetch_add(&seen.mounted, 1);
	GYRE_AWAIT(stack, gyre_ask(stack, seen.gate, gyre_new(stack, number, 0), GYRE_FOREVER,
				   &client->future));
	expect(gy_load_relaxed(&seen.active) == 0 && client->reads == 0);
	if (gyre_future_get(&client->future, number) == NULL) {
		return gyre_throw(stack, gyre_future_error(&client->future));
	}
	client->reads = 2;
	GYRE_END(stack);
}

static const struct gyre_class waiting_class = { .name = "waiting",
						 .state_bytes = sizeof(struct client),
						 .mount = wait_to_mount,
						 .clean = clean,
						 .behaviour.notice = notice };

static enum gyre_channel_bond waiting_bond;

static void begin_waiting(const struct gyre_system_options *system, uint64_t handshake_ns)
{
	begin_with(system, &(struct gyre_acceptor_options){ .actor_class = &waiting_class,
							    .bond = waiting_bond,
							    .channel.handshake_ns = handshake_ns });
	seen.gate = spawn_outside(&gate_class, 0);
}

static void expect_nothing_heard(void)
{
	cr_expect_eq(seen.active, 0);
	cr_expect_eq(seen.heard, 0);
	cr_expect_eq(seen.removed, 1);
}

Test(channel_actor, holds_its_channel_until_its_mount_has_ended)
{
	int fd;

	begin_waiting(&(struct gyre_system_options){ .loops = 1 }, 0);
	fd = connect_there();
	order(fd, 0);
	await_count(&seen.mounted, 1);
	cr_assert_eq(notify_outside(seen.gate, 0), 0);
	expect_answer(fd, '3');
	(void)close(fd);
	fixture_close();
	cr_expect_eq(seen.removed, 1);
	cr_expect_eq(seen.cleaned, 1);
}

Test(channel_actor, whose_mount_fails_after_a_wait_closes_its_connection)
{
	struct gyre_address stopped;
	int fd;

	begin_waiting(&(struct gyre_system_options){ .loops = 1 }, 0);
	stopped = seen.gate;
	fd = connect_there();
	order(fd, 0);
	await_count(&seen.mounted, 1);
	cr_assert_eq(notify_outside(stopped, STOP), 0);
	expect_closed(fd);
	await_count(&seen.cleaned, 1);
	cr_expect_eq(gy_load_acquire(&seen.active), 0);
	fixture_close();
}

Test(channel_actor, whose_mount_waits_does_not_keep_the_system_from_its_end)
{
	int fd;

	begin_waiting(&(struct gyre_system_options){ .loops = 1,
						     .drain_timeout_ns = GYRE_MILLISECONDS(50) },
		      0);
	fd = connect_there();
	await_count(&seen.mounted, 1);
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), -ETIMEDOUT);
	expect_closed(fd);
	gyre_system_destroy(fixture.system);
	(void)alarm(0);
	cr_expect_eq(seen.cleaned, 1);
	cr_expect_eq(seen.removed, 1);
	cr_expect_eq(seen.active, 0);
	cr_expect_eq(fixture.errors, 0, "%s", fixture.line);
	cr_expect_null(fixture.failure, "%s", fixture.failure);
}

Test(channel_actor, that_is_stopped_while_its_mount_waits_may_leave_its_channel_open)
{
	int fd;

	waiting_bond = GYRE_BOND_PART;
	begin_waiting(&(struct gyre_system_options){ .loops = 1 }, 0);
	fd = connect_there();
	order(fd, 0);
	await_count(&seen.mounted, 1);
	cr_assert_eq(notify_outside(seen.gate, STOP_OTHER), 0);
	expect_answer(fd, '-');
	await_count(&seen.cleaned, 1);
	(void)close(fd);
	fixture_close();
	cr_expect_eq(seen.removed, 1);
}

Test(channel_actor, that_is_stopped_while_its_mount_waits_closes_its_channel_which_hears_nothing)
{
	int fd;

	begin_waiting(&(struct gyre_system_options){ .loops = 1 }, 0);
	fd = connect_there();
	order(fd, 0);
	await_count(&seen.mounted, 1);
	cr_assert_eq(notify_outside(seen.gate, STOP_OTHER), 0);
	await_count(&seen.cleaned, 1);
	(void)close(fd);
	fixture_close();
	expect_nothing_heard();
}

Test(channel_actor, whose_mount_waits_too_long_for_the_handshake_closes_its_connection)
{
	int fd;

	begin_waiting(&(struct gyre_system_options){ .loops = 1 }, 1);
	fd = connect_there();
	await_count(&seen.mounted, 1);
	expect_closed(fd);
	await_count(&seen.cleaned, 1);
	fixture_close();
	expect_nothing_heard();
}

static int abort_and_wait_to_mount(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) == 0) {
		gyre_channel_abort(gyre_actor_channel(stack), -EIO);
	}
	return wait_to_mount(stack);
}

Test(channel_actor, whose_mount_aborts_its_channel_and_waits_has_its_handlers_hear_nothing)
{
	static const struct gyre_class class = { .name = "aborting",
						 .state_bytes = sizeof(struct client),
						 .mount = abort_and_wait_to_mount,
						 .clean = clean };
	int fd;

	begin(&class, GYRE_BOND_BOTH);
	seen.gate = spawn_outside(&gate_class, 0);
	fd = connect_there();
	expect_closed(fd);
	await_count(&seen.cleaned, 1);
	fixture_close();
	expect_nothing_heard();
}

/* ---- the system and its loops ---- */

static void say_goodbye(struct gyre_handler_context *ctx, const struct gyre_type *type,
			const void *event)
{
	const struct client *client =
		(const struct client *)gyre_channel_actor_state(gyre_context_channel(ctx));
	char digit = (char)('a' + client->reads);

	(void)event;
	expect(type->id == GYRE_ID(gyre_input_closed));
	write_text(gyre_context_channel(ctx), &digit, 1);
}

static const struct gyre_handler polite = {
	.name = "polite", .read = read_order, .event = say_goodbye, .removed = removed
};

static int init_polite(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &polite, arg);
}

Test(channel_actor, has_its_state_for_the_last_words_of_its_channel)
{
	struct gyre_acceptor_options options = { .actor_class = &client_class,
						 .init_channel = init_polite,
						 .channel.allow_half_close = true };
	int fd;

	begin_with(&(struct gyre_system_options){ .loops = 1 }, &options);
	fd = connect_there();
	order(fd, 0);
	expect_answer(fd, '1');
	gyre_system_stop(fixture.system);
	expect_answer(fd, 'b');
	expect_closed(fd);
	fixture_close();
	cr_expect_eq(seen.cleaned, 1);
}

Test(channel_actor, is_spawned_on_the_loop_of_its_channel)
{
	enum { LOOPS = 3, CONNECTIONS = 30 };
	struct gyre_acceptor_options options = { .actor_class = &client_class, .listeners = 1 };
	uint32_t on[LOOPS] = { 0 };
	int fds[CONNECTIONS];

	begin_with(&(struct gyre_system_options){ .loops = LOOPS }, &options);
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		fds[i] = connect_there();
		order(fds[i], 0);
		expect_answer(fds[i], '1');
		on[seen.actor.loop]++;
	}
	for (uint32_t i = 0; i < LOOPS; i++) {
		cr_expect_eq(on[i], CONNECTIONS / LOOPS);
	}
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		(void)close(fds[i]);
	}
	fixture_close();
	cr_expect_eq(seen.cleaned, CONNECTIONS);
}

Test(channel_actor, needs_a_class_with_a_name_and_a_bond_that_there_is)
{
	static const struct gyre_class nameless = { .mount = mount };
	struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init,
						 .actor_class = &nameless };

	fixture_open(1);
	cr_expect_eq(gyre_system_listen(fixture.system, &options, NULL), -EINVAL);
	options.actor_class = &client_class;
	options.bond = (enum gyre_channel_bond)(GYRE_BOND_PART + 1);
	cr_expect_eq(gyre_system_listen(fixture.system, &options, NULL), -EINVAL);
	fixture.errors = 0;
	fixture_close();
}
