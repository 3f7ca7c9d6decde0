/*
 * What handlers of pipelines log: the handler, the channel's address and its peer stand in the
 * line, and a handler takes no room of others.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gyre/log.h>

#include "actor/class_log.h"
#include "channel/channel.h"
#include "channel/channel_log.h"
#include "rig.h"

TestSuite(channel_log, .timeout = 60);

static struct rig rig;
static struct gyre_channel *channel;
static int fd;
static uint32_t times;
static char at_removed[RIG_LOG_BYTES];
static char at_inactive[RIG_LOG_BYTES];

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	for (uint32_t i = 0; i < times; i++) {
		gyre_context_log(ctx, GYRE_LOG_WARNING, "%zu bytes", gyre_buffer_bytes(data));
	}
	gyre_context_fire_read(ctx, data);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	gyre_context_log(ctx, GYRE_LOG_WARNING, "closed");
	(void)snprintf(at_inactive, sizeof(at_inactive), "%s", rig.last_log);
	gyre_context_fire_inactive(ctx);
}

static void on_removed(struct gyre_handler_context *ctx)
{
	gyre_context_log(ctx, GYRE_LOG_WARNING, "gone");
	(void)snprintf(at_removed, sizeof(at_removed), "%s", rig.last_log);
}

static const struct gyre_handler reading = { .name = "reading", .read = on_read };
static const struct gyre_handler other = { .name = "other", .read = on_read };
static const struct gyre_handler nameless = { .read = on_read };
static const struct gyre_handler ending = { .name = "ending",
					    .inactive = on_inactive,
					    .removed = on_removed };

static void begin_with(const struct gyre_handler *handler, const struct gyre_handler *second)
{
	const struct gyre_handler *const handlers[] = { handler, second, NULL };

	times = 1;
	rig_init(&rig, &(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	fd = rig_open_tcp(&rig, handlers, NULL, NULL, &channel);
	rig_settle(&rig);
}

/* At the end @counts lines tell of lines that were dropped. */
static void end_with(uint32_t counts)
{
	(void)close(fd);
	rig.warnings_expected = rig.logged + counts;
	rig_fini(&rig);
}

static void end(void)
{
	end_with(0);
}

static void have_read(uint32_t how_often)
{
	times = how_often;
	cr_assert_eq(write(fd, "four", 4), 4);
	rig_settle(&rig);
}

/* "channel [...] with tcp://...", as the kernel tells of the far end. */
static const char *channel_name(void)
{
	static char name[GY_CHANNEL_NAME_BYTES];
	char address[GYRE_ADDRESS_TEXT_MAX];
	char peer[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_socket_address from;

	cr_assert_eq(gyre_channel_peer_address(channel, &from), 0);
	cr_assert_gt(gyre_socket_address_format(&from, sizeof(peer), peer), 0);
	cr_assert_eq(strncmp(peer, "tcp://127.0.0.1:", 16), 0, "%s", peer);
	cr_assert_gt(gyre_address_format(gyre_channel_address(channel), sizeof(address), address),
		     0);
	(void)snprintf(name, sizeof(name), "channel %s with %s", address, peer);
	return name;
}

static void expect_logged(const char *who, const char *what)
{
	char line[RIG_LOG_BYTES];

	(void)snprintf(line, sizeof(line), "%s of %s: %s", who, channel_name(), what);
	cr_expect_str_eq(rig.last_log, line);
}

Test(channel_log, of_a_handler_names_it_and_the_channel_and_the_peer)
{
	begin_with(&reading, NULL);
	have_read(1);
	cr_expect_eq(rig.logged, 1);
	expect_logged("handler reading", "4 bytes");
	end();
}

Test(channel_log, of_a_handler_without_a_name_names_the_owner_of_the_channel)
{
	begin_with(&nameless, NULL);
	have_read(1);
	expect_logged("actor owner", "4 bytes");
	gyre_context_log(gyre_channel_tail(channel), GYRE_LOG_WARNING, "at the %s", "tail");
	expect_logged("actor owner", "at the tail");
	end();
}

Test(channel_log, about_a_channel_names_its_owner)
{
	begin_with(&reading, NULL);
	gyre_channel_log(channel, GYRE_LOG_ERROR, "number %d", 7);
	expect_logged("actor owner", "number 7");
	end();
}

Test(channel_log, leaves_out_what_is_below_the_level)
{
	begin_with(&reading, NULL);
	for (uint32_t i = 0; i < 2 * RIG_LOG_LINES_MAX; i++) {
		gyre_channel_log(channel, GYRE_LOG_INFO, "no");
		gyre_context_log(gyre_channel_tail(channel), GYRE_LOG_DEFAULT, "no");
	}
	cr_expect_eq(rig.logged, 0);
	cr_expect_null(channel->mailbox, "a channel whose line is left out gets no address");
	have_read(1);
	cr_expect_eq(rig.logged, 1);
	end();
}

Test(channel_log, works_to_the_end_of_the_last_handler)
{
	char line[RIG_LOG_BYTES];
	const char *name;

	begin_with(&ending, NULL);
	name = channel_name();
	(void)close(fd);
	fd = -1;
	rig_settle(&rig);
	cr_expect_neq(at_removed[0], '\0', "it is closed");
	(void)snprintf(line, sizeof(line), "handler ending of %s: closed", name);
	cr_expect_str_eq(at_inactive, line);
	(void)snprintf(line, sizeof(line), "handler ending of %s: gone", name);
	cr_expect_str_eq(at_removed, line);
	fd = dup(STDERR_FILENO);
	end();
}

Test(channel_log, of_one_handler_leaves_room_for_another_and_for_the_owner)
{
	begin_with(&reading, &other);
	have_read(100);
	cr_expect_eq(rig.logged, 2 * RIG_LOG_LINES_MAX);
	expect_logged("handler other", "4 bytes");
	gyre_channel_log(channel, GYRE_LOG_WARNING, "there is room");
	expect_logged("actor owner", "there is room");
	end_with(2);
	cr_expect_not_null(strstr(rig.last_log, "95 lines were dropped"), "%s", rig.last_log);
}

Test(channel_log, of_too_many_handlers_shares_the_limit_of_the_owner)
{
	char name[32];

	begin_with(&reading, NULL);
	for (uint32_t i = 0; i < GY_HANDLER_LOGS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "handler-%u", i);
		cr_assert_not_null(gy_handler_log_get(&rig.home, name));
	}
	have_read(RIG_LOG_LINES_MAX);
	cr_expect_eq(rig.logged, RIG_LOG_LINES_MAX);
	expect_logged("handler reading", "4 bytes");
	gyre_channel_log(channel, GYRE_LOG_WARNING, "it is used up");
	cr_expect_eq(rig.logged, RIG_LOG_LINES_MAX);
	end_with(1);
}

Test(channel_log, of_the_runtime_names_the_channel_too)
{
	char line[RIG_LOG_BYTES];

	begin_with(&reading, NULL);
	gy_channel_warn(channel, "is %s", "looked at");
	(void)snprintf(line, sizeof(line), "actor owner: %s is looked at", channel_name());
	cr_expect_str_eq(rig.last_log, line);
	end();
}
