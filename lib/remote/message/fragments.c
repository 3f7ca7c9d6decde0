/*
 * Messages that are too large for a frame. They leave in fragments, between which others go: the
 * pairs of a sender and a receiver that have such take turns. What a pair says meanwhile stands
 * behind its large message, for their order, and leaves in fragments too.
 *
 * Only so many pairs take turns as the peer keeps unfinished messages, and only so many bytes of
 * messages: those of its window and one largest message. The others wait, and begin in order.
 */
#include "remote/message/fragments.h"

#include <errno.h>

#include "base/memory/memory.h"
#include "channel/channel.h"
#include "remote/link/in_flight.h"
#include "remote/link/link.h"
#include "remote/wire.h"

/* A pair. */
struct stream {
	struct gy_list item; /* in link->fragments */
	struct gyre_address from;
	struct gyre_address to;
	struct gy_list parcels;
};

/* A message of a pair, as the frame that it would be. */
struct parcel {
	struct gy_list item;
	uint32_t number;
	uint32_t at;
	uint32_t bytes;
	unsigned char frame[];
};

static struct stream *first_of(const struct gy_link *link)
{
	return gy_container_of(link->fragments.next, struct stream, item);
}

static struct stream *find(const struct gy_link *link, struct gyre_address from,
			   struct gyre_address to)
{
	struct gy_list *item = link->fragments.next;

	for (; item != &link->fragments; item = item->next) {
		struct stream *stream = gy_container_of(item, struct stream, item);

		/* A link is of one life of either node. */
		if (gy_address_same(stream->from, from) && gy_address_same(stream->to, to)) {
			return stream;
		}
	}
	return NULL;
}

bool gy_fragments_pending(const struct gy_link *link, struct gyre_address from,
			  struct gyre_address to)
{
	return find(link, from, to) != NULL;
}

static struct stream *make(struct gy_link *link, struct gyre_address from, struct gyre_address to)
{
	struct stream *stream = (struct stream *)gy_memory_get(sizeof(*stream));

	if (stream != NULL) {
		stream->from = from;
		stream->to = to;
		gy_list_init(&stream->parcels);
		gy_list_append(&link->fragments, &stream->item);
		link->fragments_count++;
		link->direct_end = NULL; /* what follows may have to come behind it */
	}
	return stream;
}

static void end(struct gy_link *link, struct stream *stream)
{
	gy_list_remove(&stream->item);
	link->fragments_count--;
	gy_memory_put(stream);
}

static struct parcel *make_parcel(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_frame head = *frame;
	unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX];
	uint32_t head_bytes;
	struct parcel *parcel;

	head.bytes = 0; /* it ends where its fragments do */
	head_bytes = gy_wire_put(&head, bytes);
	parcel = (struct parcel *)gy_memory_get_raw(sizeof(*parcel) + head_bytes + frame->bytes);
	if (parcel != NULL) {
		*parcel = (struct parcel){ .number = ++link->stream_number,
					   .bytes = head_bytes + frame->bytes };
		memcpy(parcel->frame, bytes, head_bytes);
		memcpy(parcel->frame + head_bytes, frame->body, frame->bytes);
	}
	return parcel;
}

static struct gy_frame frame_of(const struct parcel *parcel)
{
	struct gy_frame frame;

	gy_wire_get(parcel->frame, &frame);
	return frame;
}

int gy_fragments_add(struct gy_link *link, const struct gy_frame *frame, struct gyre_address from,
		     struct gyre_address to)
{
	struct parcel *parcel = make_parcel(link, frame);
	struct stream *stream = parcel == NULL ? NULL : find(link, from, to);

	if (parcel != NULL && stream == NULL) {
		stream = make(link, from, to);
	}
	if (stream == NULL) {
		gy_memory_put(parcel);
		return -ENOMEM;
	}
	gy_list_append(&stream->parcels, &parcel->item);
	link->queued_bytes += parcel->bytes;
	link->parcel_bytes += parcel->bytes;
	link->queued_frames++;
	return 0;
}

/* Behind the others that take turns, and before those that wait for theirs. */
static void rotate(struct gy_link *link, struct stream *stream)
{
	struct gy_list *place = &link->fragments;

	gy_list_remove(&stream->item);
	if (link->fragments_count > GY_PARTIAL_MESSAGES_MAX) {
		place = link->fragments.next;
		for (uint32_t i = 1; i < GY_PARTIAL_MESSAGES_MAX; i++) {
			place = place->next;
		}
	}
	gy_list_append(place, &stream->item);
}

static struct gyre_buffer *take_fragment(struct gy_link *link, struct parcel *parcel)
{
	uint32_t left = parcel->bytes - parcel->at;
	uint32_t bytes = left < GY_WIRE_BODY_BYTES_MAX ? left : GY_WIRE_BODY_BYTES_MAX;
	const struct gy_fragment fragment = { .stream = parcel->number, .left = left };
	uint32_t head_bytes = gy_wire_head_bytes(GY_WIRE_FRAGMENT);
	struct gyre_buffer *buffer = gy_buffer_get(&gy_channels_of(link->links->home)->pools);
	unsigned char head[GY_WIRE_HEAD_BYTES_MAX];

	gy_wire_put_fragment(&fragment, bytes, head);
	if (buffer == NULL || gyre_buffer_append(buffer, head, head_bytes) < 0 ||
	    gyre_buffer_append(buffer, parcel->frame + parcel->at, bytes) < 0) {
		gyre_buffer_destroy(buffer);
		return NULL;
	}
	link->queued_bytes += head_bytes;
	link->parcel_bytes += head_bytes;
	link->fragment_bytes += head_bytes + bytes;
	parcel->at += bytes;
	return buffer;
}

static void drop_parcel(struct parcel *parcel)
{
	gy_list_remove(&parcel->item);
	gy_memory_put(parcel);
}

static struct parcel *parcel_of(const struct stream *stream)
{
	return gy_container_of(stream->parcels.next, struct parcel, item);
}

/* Whether the peer keeps one more message of that size. */
static bool may_begin(const struct gy_link *link, const struct parcel *parcel)
{
	return link->begun_bytes + parcel->bytes <= (uint64_t)link->theirs.window_bytes +
							    link->theirs.message_bytes_max +
							    GY_WIRE_HEAD_BYTES_MAX;
}

/* Whose turn it is. One whose message may not begin has no other one begin before it; of those
 * that have begun there is one then, among those that take turns. */
static struct stream *choose(const struct gy_link *link)
{
	struct gy_list *item = link->fragments.next;
	struct stream *stream = first_of(link);

	if (parcel_of(stream)->at > 0 || may_begin(link, parcel_of(stream))) {
		return stream;
	}
	do {
		gy_assert(item != &link->fragments);
		stream = gy_container_of(item, struct stream, item);
		item = item->next;
	} while (parcel_of(stream)->at == 0);
	return stream;
}

struct gyre_buffer *gy_fragments_next(struct gy_link *link)
{
	struct stream *stream = choose(link);
	struct parcel *parcel = parcel_of(stream);
	bool begins = parcel->at == 0;
	struct gyre_buffer *buffer =
		gy_in_flight_reserve(link) < 0 ? NULL : take_fragment(link, parcel);

	if (buffer == NULL) {
		return NULL;
	}
	link->begun_bytes += begins ? parcel->bytes : 0;
	if (parcel->at == parcel->bytes) {
		link->begun_bytes -= parcel->bytes;
		struct gy_frame frame = frame_of(parcel);

		if (gy_in_flight_is_tracked(&frame)) {
			gy_in_flight_add(link, &frame);
		}
		drop_parcel(parcel);
	}
	if (gy_list_empty(&stream->parcels)) {
		end(link, stream);
	} else {
		rotate(link, stream);
	}
	return buffer;
}

int gy_fragments_reset(struct gy_link *link)
{
	while (!gy_list_empty(&link->fragments)) {
		struct stream *stream = first_of(link);

		while (!gy_list_empty(&stream->parcels)) {
			struct gy_frame frame = frame_of(parcel_of(stream));

			if (gy_in_flight_fail(link, &frame) < 0) {
				return -ENOMEM;
			}
			drop_parcel(parcel_of(stream));
		}
		end(link, stream);
	}
	link->begun_bytes = 0;
	return 0;
}

void gy_fragments_fini(struct gy_link *link)
{
	while (!gy_list_empty(&link->fragments)) {
		struct stream *stream = first_of(link);

		while (!gy_list_empty(&stream->parcels)) {
			drop_parcel(parcel_of(stream));
		}
		end(link, stream);
	}
}

/* Only the first parcel of a pair can have left in part. */
static uint64_t check_parcels(const struct stream *stream, uint64_t *begun_bytes)
{
	const struct gy_list *item = stream->parcels.next;
	uint64_t unsent_bytes = 0;

	gy_assert(item != &stream->parcels);
	for (; item != &stream->parcels; item = item->next) {
		const struct parcel *parcel = gy_container_of(item, const struct parcel, item);

		gy_assert(parcel->at < parcel->bytes);
		gy_assert(parcel->at == 0 || item == stream->parcels.next);
		unsent_bytes += parcel->bytes - parcel->at;
		*begun_bytes += parcel->at > 0 ? parcel->bytes : 0;
	}
	return unsent_bytes;
}

uint64_t gy_fragments_check(const struct gy_link *link)
{
	const struct gy_list *item = link->fragments.next;
	uint64_t unsent_bytes = 0;
	uint64_t begun_bytes = 0;
	uint32_t count = 0;

	for (; item != &link->fragments; item = item->next) {
		unsent_bytes += check_parcels(gy_container_of(item, const struct stream, item),
					      &begun_bytes);
		count++;
	}
	gy_assert(count == link->fragments_count);
	gy_assert(!gy_link_can_send(link) || begun_bytes == link->begun_bytes);
	return unsent_bytes;
}
