/*
 * Links of a node that is short of memory, or whose channels hold too much: they go on, as nobody
 * reads more by them than their windows let in, and peers would find that the node is down.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>
#include <gyre/overload.h>

#include "channel/channel.h"
#include "remote/bare.h"
#include "remote/stranger.h"
#include "remote/types.h"

enum { PIECE_BYTES = 16384, BUDGET_BYTES = 65536, ASK_ID = 5 };

/* ---- states of the channel ---- */

static struct bare bare;

static void begin(void)
{
	bare_init(&bare, &(struct gyre_node_options){ .suspect_ns = GYRE_SECONDS(1000),
						      .down_ns = GYRE_SECONDS(2000) });
	gy_channel_set_traits(&bare.rig.channel, GY_TRAIT_BUDGETED, 0);
}

static void end(void)
{
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}

static void expect_at_ease(bool memory_short, uint32_t over)
{
	struct gyre_channel *channel = &bare.rig.channel;

	bare.rig.channels.byte_budget.over = over;
	gy_channel_set_busy(&channel->endpoint, memory_short);
	cr_expect_not(channel->state & GY_NO_READ_STARVED);
	cr_expect(gyre_channel_is_writable(channel));
	bare.rig.channels.byte_budget.over = 0;
	gy_channel_set_busy(&channel->endpoint, false);
}

static void expect_at_ease_always(void)
{
	expect_at_ease(true, 0);
	expect_at_ease(false, 1);
	bare_greet(&bare);
	expect_at_ease(true, 0);
	expect_at_ease(false, 1);
}

Test(starved_link, that_was_accepted_reads_and_writes_on, .init = begin, .fini = end)
{
	bare_accept(&bare);
	expect_at_ease_always();
}

Test(starved_link, that_was_dialled_reads_and_writes_on, .init = begin, .fini = end)
{
	bare_dial(&bare);
	expect_at_ease_always();
}

/* ---- a node that peers come to meanwhile ---- */

static struct gyre_address adder;

static void open_node(struct gyre_system_options *options)
{
	adder = stranger_open_system(options, &stranger_quick, &adder_class);
}

/* It is accepted, heard and answered. */
static void expect_answer(void)
{
	const struct number one = { 1 };
	const struct gy_frame ask = { .kind = GY_WIRE_ASK,
				      .type = gyre_type_number.id,
				      .layout = gy_type_layout(&gyre_type_number),
				      .to_slot = adder.slot,
				      .to_cookie = adder.cookie,
				      .to_loop = adder.loop,
				      .from_slot = 5,
				      .from_cookie = 6,
				      .index = GY_WIRE_HEADS,
				      .ask_id = ASK_ID,
				      .bytes = sizeof(one),
				      .body = (const unsigned char *)&one };
	struct stranger in;
	struct stranger out;

	stranger_listen(&out);
	stranger_meet(&in);
	stranger_say_frame(&in, &ask);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_REPLY);
	cr_expect_eq(out.frame.ask_id, ASK_ID);
	stranger_close(&out);
	stranger_close(&in);
}

Test(starved_link, is_made_while_memory_is_short, .timeout = 60)
{
	struct gyre_system_options options = { .memory_limit_bytes = 65536 };

	open_node(&options);
	while (!gyre_system_busy(fixture.system)) {
		cr_assert_eq(notify_outside(adder, 1), 0);
	}
	/* Now its loop has seen it too. */
	cr_assert_eq(notify_outside(adder, 1), 0);
	stranger_await_answer(adder);
	expect_answer();
	cr_expect(gyre_system_busy(fixture.system));
	fixture_close();
}

/* To who does not read. */
static void pour(struct gyre_handler_context *ctx)
{
	static const char zeros[PIECE_BYTES];
	int r = 0;

	while (r == 0) {
		struct gyre_buffer *buffer = gyre_buffer_create(gyre_context_stack(ctx));

		r = buffer == NULL ? -ENOMEM : gyre_buffer_append(buffer, zeros, sizeof(zeros));
		r = r < 0 ? r : gyre_context_try_write(ctx, buffer);
		if (r < 0) {
			gyre_buffer_destroy(buffer);
		}
	}
	expect(r == -EAGAIN);
}

static void pour_more(struct gyre_handler_context *ctx, bool writable)
{
	if (writable) {
		pour(ctx);
	}
}

static const struct gyre_handler pourer = { .name = "pourer",
					    .active = pour,
					    .writability = pour_more };

static int init_pourer(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &pourer, arg);
}

static int be_client(uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

Test(starved_link, is_made_while_a_client_that_does_not_read_holds_too_much, .timeout = 60)
{
	struct gyre_system_options options = { .channel_bytes_max = BUDGET_BYTES };
	uint16_t port = 0;
	const struct gyre_acceptor_options acceptor = { .bind = "tcp://127.0.0.1:0",
							.init_channel = init_pourer,
							.ret_port = &port };
	struct gyre_counters counters = { 0 };
	int client;

	open_node(&options);
	cr_assert_eq(gyre_system_listen(fixture.system, &acceptor, NULL), 0);
	client = be_client(port);
	while (counters.held_periods == 0) {
		stranger_await_answer(adder);
		cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	}
	expect_answer();
	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	cr_expect_eq(counters.held_closed, 0);
	cr_assert_eq(close(client), 0);
	fixture_close();
}
