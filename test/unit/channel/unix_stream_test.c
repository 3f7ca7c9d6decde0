/*
 * The end of a Unix stream behind as much input as the kernels hold: it is heard, however much
 * stands before it when reading begins.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

TestSuite(unix_end, .timeout = 60);

static struct rig rig;
static struct gyre_channel *channel;
static uint64_t received;

static void count(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	received += gyre_buffer_bytes(data);
	gyre_buffer_destroy(data);
}

static const struct gyre_handler counter = { .name = "counter", .read = count };
static const struct gyre_handler *const counters[] = { &counter, NULL };

static bool is_closed(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.channel_ops->open_count(&r->home) == 0;
}

static uint64_t fill(int fd)
{
	static const char bytes[16384];
	uint64_t sent = 0;
	ssize_t r;

	while ((r = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0) {
		sent += (uint64_t)r;
	}
	return sent;
}

static void expect_end(int fd)
{
	uint64_t sent = fill(fd);

	(void)close(fd);
	if (channel != NULL) {
		gyre_channel_set_auto_read(channel, true);
	}
	cr_expect(rig_until(&rig, is_closed, NULL));
	cr_expect_eq(received, sent);
	rig_fini(&rig);
}

Test(unix_end, is_heard_behind_all_that_came_before_the_first_read)
{
	received = 0;
	channel = NULL;
	rig_init(&rig, NULL);
	expect_end(rig_open(&rig, counters, NULL, NULL, NULL));
}

Test(unix_end, is_heard_behind_all_that_came_while_nothing_was_read)
{
	int fd;

	received = 0;
	rig_init(&rig, NULL);
	fd = rig_open(&rig, counters, NULL, &(struct gyre_channel_options){ .manual_read = true },
		      &channel);
	rig_settle(&rig);
	expect_end(fd);
}
