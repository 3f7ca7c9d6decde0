/* Actors of the program that own the channel of a socket for datagrams. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "actor/stack/stack.h"
#include "fixture.h"
#include "net/datagram_rig.h"

TestSuite(datagram_actor, .timeout = 60);

struct counting {
	const void *arg;
	uint32_t reads;
};

static uint32_t mounted;
static uint32_t cleaned;
static int mount_error;

static int count_mount(struct gyre_stack *stack)
{
	struct counting *counting = (struct counting *)gyre_state(stack);

	counting->arg = gyre_message(stack, gyre_channel_attached)->arg;
	expect(gyre_actor_channel(stack) != NULL);
	mounted++;
	return mount_error < 0 ? gyre_throw(stack, mount_error) : gyre_return(stack);
}

static void count_clean(void *state)
{
	(void)state;
	cleaned++;
}

static int stop_self(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class counting_class = { .name = "counting",
						  .state_bytes = sizeof(struct counting),
						  .mount = count_mount,
						  .clean = count_clean,
						  .behaviour.notice = stop_self };

/* Answers with the number of datagrams so far. */
static void count_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct counting *counting =
		(struct counting *)gyre_channel_actor_state(gyre_context_channel(ctx));
	struct gyre_buffer *answer = gyre_context_buffer(ctx);
	char digit = '-';

	if (counting != NULL) {
		expect(counting == gyre_state(gyre_context_stack(ctx)));
		digit = (char)('0' + ++counting->reads);
	}
	expect(gyre_buffer_append(answer, &digit, 1) == 0);
	expect(gyre_buffer_set_peer(answer, gyre_buffer_peer(data)) == 0);
	(void)gyre_context_write(ctx, answer);
	gyre_buffer_destroy(data);
}

static void count_removed(struct gyre_handler_context *ctx)
{
	(void)ctx;
	datagrams.closed++;
}

static const struct gyre_handler counting_handler = { .read = count_read,
						      .removed = count_removed };

static int init_counting(struct gyre_channel *channel, void *arg)
{
	datagrams.channel = channel;
	return gyre_pipeline_add(channel, GYRE_LAST, &counting_handler, arg);
}

static struct gyre_socket_address open_with(enum gyre_channel_bond bond,
					    struct gyre_address *ret_actor)
{
	struct gyre_socket_address at;
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						 .init_channel = init_counting,
						 .init_arg = &mounted,
						 .actor_class = &counting_class,
						 .bond = bond,
						 .ret_address = &at };

	cr_assert_eq(gyre_system_datagram_open((struct gyre_system *)(void *)&datagram_rig.homes,
					       &options, ret_actor),
		     0);
	rig_settle(&datagram_rig);
	return at;
}

static void expect_answer(int fd, char answer)
{
	char byte = 0;

	datagram_send(fd, "x", 1);
	cr_expect_eq(datagram_receive(fd, &byte, 1), 1);
	cr_expect_eq(byte, answer);
}

static void stop_actor(struct gyre_address actor)
{
	(void)gyre_stop(&rig_stack(&datagram_rig)->head, actor);
	rig_settle(&datagram_rig);
}

Test(datagram_actor, has_its_state_within_reach_and_ends_with_the_socket, .init = datagram_begin,
     .fini = datagram_end)
{
	struct gyre_address actor;
	struct gyre_socket_address at = open_with(GYRE_BOND_BOTH, &actor);
	int fd = datagram_client(&at, NULL);

	expect_answer(fd, '1');
	expect_answer(fd, '2');
	stop_actor(actor);
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_eq(mounted, 1);
	cr_expect_eq(cleaned, 1);
	(void)close(fd);
}

Test(datagram_actor, ends_the_socket_when_it_stops, .init = datagram_begin, .fini = datagram_end)
{
	struct gyre_address actor;

	(void)open_with(GYRE_BOND_BOTH, &actor);
	stop_actor(gyre_channel_actor(datagrams.channel));
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_eq(cleaned, 1);
	cr_expect_eq(gyre_stop(&rig_stack(&datagram_rig)->head, actor), -ESRCH);
}

Test(datagram_actor, may_leave_the_socket_open, .init = datagram_begin, .fini = datagram_end)
{
	struct gyre_address actor;
	struct gyre_socket_address at = open_with(GYRE_BOND_CHANNEL_ENDS_ACTOR, &actor);
	int fd = datagram_client(&at, NULL);

	expect_answer(fd, '1');
	stop_actor(gyre_channel_actor(datagrams.channel));
	cr_expect_eq(cleaned, 1);
	expect_answer(fd, '-');
	stop_actor(actor);
	datagram_until_closed();
	(void)close(fd);
}

Test(datagram_actor, may_go_on_without_the_socket, .init = datagram_begin, .fini = datagram_end)
{
	struct gyre_address actor;
	struct gyre_address owner;

	(void)open_with(GYRE_BOND_PART, &actor);
	owner = gyre_channel_actor(datagrams.channel);
	gyre_channel_abort(datagrams.channel, -ENETDOWN);
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_eq(cleaned, 0);
	cr_expect_eq(gyre_stop(&rig_stack(&datagram_rig)->head, actor), -ESRCH);
	stop_actor(owner);
	cr_expect_eq(cleaned, 1);
}

Test(datagram_actor, that_cannot_be_mounted_ends_the_socket, .init = datagram_begin,
     .fini = datagram_end)
{
	struct gyre_address actor;

	mount_error = -EACCES;
	datagram_rig.warnings_expected = 1;
	(void)open_with(GYRE_BOND_PART, &actor);
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_eq(mounted, 1);
	cr_expect_eq(cleaned, 1);
	cr_expect_eq(gyre_stop(&rig_stack(&datagram_rig)->head, actor), -ESRCH);
}
