/*
 * How much of what waits a link gives to its channel: no more than makes that unwritable, and
 * enough for the peer to take a whole frame.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "channel/channel.h"
#include "remote/bare.h"
#include "remote/link/link_flush.h"

enum {
	HIGH_BYTES = 65536,
	LEAST_WINDOW_BYTES = 65536,
	HEARD_BYTES = 1 << 18,
	FRAGMENT_BYTES_MAX = GY_WIRE_BODY_BYTES_MAX + GY_WIRE_HEAD_BYTES_MAX
};

static const struct gyre_address there = { .slot = 1, .cookie = 6, .node = BARE_PEER };
static struct bare bare;

static void begin_with(uint32_t window_bytes)
{
	struct gyre_channel *channel = &bare.rig.channel;
	struct gy_hello hello = bare_hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];

	bare_init(&bare, &(struct gyre_node_options){ .suspect_ns = GYRE_SECONDS(1000),
						      .down_ns = GYRE_SECONDS(2000) });
	channel->write_low_bytes = channel->write_high_bytes = channel->write_max_bytes =
		HIGH_BYTES;
	hello.window_bytes = window_bytes;
	bare_dial(&bare);
	bare_feed(&bare, bytes, gy_hello_put(&hello, bytes), sizeof(bytes));
	cr_assert_eq(bare.link->stage, GY_LINK_STAGE_OPEN);
	(void)bare_count_said(&bare, GY_WIRE_PING, 0);
}

static void end(void)
{
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}

static void say(size_t letters)
{
	struct gyre_mail *mail = gy_mail_get(&bare.rig.home, &gyre_type_bare_text);
	char *text = (char *)malloc(letters + 1);

	cr_assert(mail != NULL && text != NULL);
	memset(text, 'x', letters);
	text[letters] = '\0';
	*(struct bare_text *)gyre_payload(mail) = (struct bare_text){ text };
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	(void)gy_send_away(&bare.rig.home, there, mail);
}

/* As when the kernel has taken all. */
static void take_out(void)
{
	static unsigned char bytes[HEARD_BYTES];

	(void)bare_hear(&bare, bytes, sizeof(bytes));
	gy_channel_set_output(&bare.rig.channel, 0, GY_OUTPUT_UNWRITABLE);
	gy_link_flush(bare.link);
}

Test(link_flush, of_frames_goes_just_over_the_high_mark_whatever_the_cap)
{
	begin_with(1 << 22);
	for (int i = 0; i < 10; i++) {
		say(HIGH_BYTES / 2);
	}
	bare_wait(&bare, 1);
	cr_expect(bare_is_alive(&bare), "%d", bare.rig.channel.reason);
	cr_expect_not(gyre_channel_is_writable(&bare.rig.channel));
	cr_expect_eq(gyre_channel_queued_bytes(&bare.rig.channel), HIGH_BYTES + 1);
	end();
}

Test(link_flush, of_fragments_goes_over_the_high_mark_by_one_whatever_the_cap)
{
	begin_with(1 << 22);
	say(10 * HIGH_BYTES);
	bare_wait(&bare, 1);
	cr_expect(bare_is_alive(&bare), "%d", bare.rig.channel.reason);
	cr_expect_not(gyre_channel_is_writable(&bare.rig.channel));
	cr_expect_leq(gyre_channel_queued_bytes(&bare.rig.channel),
		      HIGH_BYTES + FRAGMENT_BYTES_MAX);
	end();
}

/* Of a part the peer would give no credit. */
Test(link_flush, goes_to_the_end_of_the_largest_frame_with_the_least_window)
{
	const size_t letters = GY_WIRE_BODY_BYTES_MAX - sizeof(uint32_t);

	begin_with(LEAST_WINDOW_BYTES);
	say(letters);
	bare_wait(&bare, 1);
	cr_assert_eq(bare.link->fragments_count, 0, "it is one frame");
	take_out();
	cr_expect_eq(bare.link->sent_bytes, bare.link->queued_bytes);
	end();
}
