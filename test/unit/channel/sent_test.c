/*
 * A send that ends and leaves nothing to be done is no work: the loop's wait goes on after it, and
 * the channel does not run. However its input is read, and whatever its bytes lay in.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

TestSuite(channel_sent, .timeout = 20);

static struct rig rig;
static struct gyre_channel *channel;
static int fd;

struct kind {
	bool manual; /* each read is asked for */
	bool shared; /* the bytes are of a block that others hold too */
};

static void write_line(const struct kind *kind)
{
	struct gyre_bytes *line = gyre_bytes_create("line", 4);
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(kind->shared ? gyre_buffer_append_shared(buffer, line)
				  : gyre_buffer_append(buffer, "line", 4),
		     0);
	cr_assert_eq(gyre_buffer_append(buffer, "\n", 1), 0);
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), buffer), 0);
	gyre_bytes_unref(line);
}

/* In the turn in which the send ends. */
static void expect_no_work(const struct kind *kind)
{
	static const struct gyre_handler nothing = { .name = "nothing" };
	static const struct gyre_handler *const handlers[] = { &nothing, NULL };
	const struct gyre_channel_options options = { .manual_read = kind->manual };
	char bytes[16];

	rig_init(&rig, NULL);
	fd = rig_open(&rig, handlers, NULL, &options, &channel);
	rig_settle(&rig);
	write_line(kind);
	do {
		rig_turn(&rig);
	} while (gyre_channel_queued_bytes(channel) > 0);
	cr_expect_eq(rig.home.loop.silent, 1);
	cr_expect_not(channel->endpoint.ready);
	cr_expect_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), 5);
	(void)close(fd);
	rig_fini(&rig);
}

Test(channel_sent, leaves_nothing_to_be_done)
{
	expect_no_work(&(const struct kind){ .manual = false });
}

Test(channel_sent, leaves_nothing_to_be_done_where_each_read_is_asked_for)
{
	expect_no_work(&(const struct kind){ .manual = true });
}

Test(channel_sent, leaves_nothing_to_be_done_of_shared_bytes)
{
	expect_no_work(&(const struct kind){ .shared = true });
}

Test(channel_sent, leaves_nothing_to_be_done_of_shared_bytes_where_each_read_is_asked_for)
{
	expect_no_work(&(const struct kind){ .shared = true, .manual = true });
}
