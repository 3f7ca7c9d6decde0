/*
 * Damage to a link, and to what it queues and receives.
 */
#include "remote/link/link.h"

#include "remote/message/outgoing.h"

#include "walkers.h"

static struct gy_link link;
static struct gy_peer peer;
static struct gyre_handler_context place;
static struct gy_in_flight_item items[4];

/* An open link: of the 30 bytes that were queued 20 were sent, and 10 of these are credited. */
static void fill(void)
{
	static unsigned char frames[10];

	link.stage = GY_LINK_STAGE_OPEN;
	link.ctx = &place;
	link.peer = &peer;
	link.life = 1;
	link.dialled = true;
	gy_link_set(&link, GY_LINK_FLAG_COUNTED_OPEN);
	gy_list_init(&link.fragments);
	gy_list_init(&link.partial_messages);
	link.queued_bytes = 30;
	link.sent_bytes = 20;
	link.credited_bytes = 10;
	link.queued_frames = 3;
	link.credited_frames = 1;
	link.frame_page.begin = frames;
	link.frame_page.at = frames + sizeof(frames);
	items[0].end = 20;
	items[1].end = 30;
	link.in_flight.items = items;
	link.in_flight.size = 4;
	link.in_flight.count = 2;
}

static void is_open_without_a_channel(bool damaged)
{
	fill();
	link.ctx = damaged ? NULL : &place;
	gy_link_check(&link);
}

static void is_open_and_not_counted(bool damaged)
{
	fill();
	gy_link_assign(&link, GY_LINK_FLAG_COUNTED_OPEN, !damaged);
	gy_link_check(&link);
}

static void has_sent_more_than_was_queued(bool damaged)
{
	fill();
	link.sent_bytes += damaged ? 11 : 0;
	gy_link_check(&link);
}

static void has_lost_queued_bytes(bool damaged)
{
	fill();
	link.frame_page.at -= damaged;
	gy_link_check(&link);
}

static void is_credited_for_more_frames_than_it_queued(bool damaged)
{
	fill();
	link.credited_frames += damaged ? 3 : 0;
	gy_link_check(&link);
}

static void has_mail_that_waits_and_ends_elsewhere(bool damaged)
{
	static const struct gyre_type type = { .name = "message", .bytes = 8 };
	static struct gyre_mail mails[2];

	fill();
	mails[0].type = mails[1].type = &type;
	mails[0].node.next = &mails[1].node;
	link.waiting = &mails[0].node;
	link.waiting_last = damaged ? &mails[0].node : &mails[1].node;
	link.waiting_bytes = gy_outgoing_waiting_bytes(&mails[0].node) +
			     gy_outgoing_waiting_bytes(&mails[1].node);
	gy_link_check(&link);
}

static void has_mail_in_flight_out_of_order(bool damaged)
{
	fill();
	items[0].end += damaged ? 20 : 0;
	gy_link_check(&link);
}

static void counts_more_in_flight_than_it_has_room_for(bool damaged)
{
	fill();
	link.in_flight.count += damaged ? 3 : 0;
	gy_link_check(&link);
}

static void counts_a_stream_of_fragments_too_many(bool damaged)
{
	fill();
	link.fragments_count += damaged;
	gy_link_check(&link);
}

static void has_read_a_frame_beyond_its_end(bool damaged)
{
	static unsigned char frame[32];

	fill();
	link.partial_frame.frame = frame;
	link.partial_frame.bytes = sizeof(frame);
	link.partial_frame.at = sizeof(frame) - !damaged;
	gy_link_check(&link);
}

static void has_a_partial_message_that_is_not_counted(bool damaged)
{
	static struct gy_partial_message message = { .bytes = 100 };

	fill();
	gy_list_append(&link.partial_messages, &message.item);
	link.partial_messages_bytes = damaged ? 0 : 100;
	gy_link_check(&link);
}

const struct walker_case link_cases[] = {
	{ "link: it is open without a channel", is_open_without_a_channel },
	{ "link: it is open and not counted", is_open_and_not_counted },
	{ "link: more was sent than queued", has_sent_more_than_was_queued },
	{ "link: queued bytes are lost", has_lost_queued_bytes },
	{ "link: more frames are credited than queued",
	  is_credited_for_more_frames_than_it_queued },
	{ "link: mail that waits ends elsewhere", has_mail_that_waits_and_ends_elsewhere },
	{ "in_flight: messages are out of order", has_mail_in_flight_out_of_order },
	{ "in_flight: there are more than there is room for",
	  counts_more_in_flight_than_it_has_room_for },
	{ "fragments: a stream is counted twice", counts_a_stream_of_fragments_too_many },
	{ "incoming: a frame is read beyond its end", has_read_a_frame_beyond_its_end },
	{ "partial_message: a message is not counted", has_a_partial_message_that_is_not_counted },
	{ 0 },
};
