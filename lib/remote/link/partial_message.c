/*
 * Large messages on their way in: fragments of several may come in turn, and each is put together
 * in memory that grows with what has come of it, at most to twice that.
 */
#include "remote/link/partial_message.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory.h"
#include "remote/link/link.h"
#include "remote/node.h"

static struct gy_partial_message *find(const struct gy_link *link, uint32_t number,
				       uint32_t *ret_count)
{
	struct gy_list *item = link->partial_messages.next;
	struct gy_partial_message *found = NULL;

	*ret_count = 0;
	for (; item != &link->partial_messages; item = item->next) {
		struct gy_partial_message *message =
			gy_container_of(item, struct gy_partial_message, item);

		++*ret_count;
		found = message->number == number ? message : found;
	}
	return found;
}

static int begin(struct gy_link *link, const struct gy_fragment *fragment,
		 struct gy_partial_message **ret_message)
{
	const struct gyre_node_options *options = &link->links->nodes->options;
	const uint64_t max = (uint64_t)options->message_bytes_max + GY_WIRE_HEAD_BYTES_MAX;
	struct gy_partial_message *message;

	if (fragment->left < GY_WIRE_HEAD_BYTES || fragment->left > max) {
		return -EMSGSIZE;
	}
	if (link->partial_messages_bytes + fragment->left > options->link_bytes_max + max) {
		return -EPROTO; /* a peer that keeps to the window has others wait */
	}
	message = (struct gy_partial_message *)gy_memory_get(sizeof(*message));
	if (message == NULL) {
		return -ENOMEM;
	}
	*message =
		(struct gy_partial_message){ .number = fragment->stream, .bytes = fragment->left };
	gy_list_append(&link->partial_messages, &message->item);
	link->partial_messages_bytes += message->bytes;
	*ret_message = message;
	return 0;
}

void gy_partial_message_drop(struct gy_link *link, struct gy_partial_message *message)
{
	link->partial_messages_bytes -= message->bytes;
	gy_list_remove(&message->item);
	gy_memory_put(message->frame);
	gy_memory_put(message);
}

/* Memory for what has come, and at most as much again; not for what the peer has announced. */
static int grow(struct gy_partial_message *message, uint32_t bytes)
{
	uint64_t room = message->room;
	unsigned char *grown;

	if (room - message->at >= bytes) {
		return 0;
	}
	room = room * 2 > message->at + bytes ? room * 2 : message->at + bytes;
	room = room < message->bytes ? room : message->bytes;
	grown = (unsigned char *)gy_memory_resize(message->frame, message->at, room);
	if (grown == NULL) {
		return -ENOMEM;
	}
	message->frame = grown;
	message->room = (uint32_t)room;
	return 0;
}

int gy_partial_message_add(struct gy_link *link, const struct gy_frame *frame,
			   struct gy_partial_message **ret_whole)
{
	struct gy_fragment fragment = gy_wire_get_fragment(frame);
	uint32_t count;
	struct gy_partial_message *message = find(link, fragment.stream, &count);
	int r = 0;

	if (message == NULL) {
		r = count >= GY_PARTIAL_MESSAGES_MAX ? -EPROTO : begin(link, &fragment, &message);
	}
	if (r < 0) {
		return r;
	}
	if (fragment.left != message->bytes - message->at || frame->bytes > fragment.left ||
	    frame->bytes == 0) {
		return -EPROTO;
	}
	r = grow(message, frame->bytes);
	if (r < 0) {
		return r;
	}
	memcpy(message->frame + message->at, frame->body, frame->bytes);
	message->at += frame->bytes;
	gy_assert(message->at <= message->bytes);
	*ret_whole = message->at == message->bytes ? message : NULL;
	return 0;
}

void gy_partial_messages_reset(struct gy_link *link)
{
	while (!gy_list_empty(&link->partial_messages)) {
		gy_partial_message_drop(link, gy_container_of(link->partial_messages.next,
							      struct gy_partial_message, item));
	}
}

void gy_partial_messages_check(const struct gy_link *link)
{
	const struct gy_list *item = link->partial_messages.next;
	uint64_t bytes = 0;
	uint32_t count = 0;

	for (; item != &link->partial_messages; item = item->next) {
		const struct gy_partial_message *message =
			gy_container_of(item, const struct gy_partial_message, item);

		gy_assert(message->at < message->bytes);
		gy_assert(message->at <= message->room && message->room <= message->bytes);
		gy_assert((message->frame == NULL) == (message->room == 0));
		bytes += message->bytes;
		count++;
	}
	gy_assert(count <= GY_PARTIAL_MESSAGES_MAX);
	gy_assert(bytes == link->partial_messages_bytes);
}
