/*
 * Sending without a copy: the kernel sends from our pages, and a second completion says when it
 * needs them no more, which for TCP is when the peer has acknowledged the bytes. Until then the
 * pages are held here, whatever becomes of the buffers, and the channel sends on meanwhile.
 *
 * This gains where a network card fetches the bytes itself, and costs where the kernel copies them
 * after all, as for a peer on the same machine. The kernel reports which it was. A channel that was
 * copied for goes back to plain sends for good, and so does one whose socket cannot do it, or for
 * which no more memory may be locked.
 *
 * If a descriptor is closed while its bytes are on their way, the kernel keeps the pages until it
 * gives up on the peer. So a channel that closes in good order lingers until the kernel needs them
 * no more, and one that is aborted ends with a reset.
 */
#include "channel/output/zero_copy.h"

#include <errno.h>

#include "channel/output/output.h"
#include "ring/socket.h"

struct gy_zero_copy {
	struct gy_gather gather;
	struct gy_op op;
	struct gy_channels *channels;
	struct gyre_channel *channel; /* NULL when that has gone */
	struct gy_zero_copy *next;    /* of the channel's, which were sent before */
	bool sending;		      /* its result is yet to come */
	uint32_t pages_count;
	struct gy_page *pages[GY_GATHER_SLICES];
};

void gy_zero_copies_init(struct gy_channels *channels)
{
	gy_pool_init(&channels->zero_copies, "zero copy", sizeof(struct gy_zero_copy));
	channels->zero_copy_reports = true;
}

static void hold_page(struct gy_zero_copy *copy, struct gy_page *page)
{
	gy_assert(copy->pages_count < GY_GATHER_SLICES);
	gy_page_ref(page);
	copy->pages[copy->pages_count++] = page;
}

/* The pages of what the gather describes. */
static void hold_pages(struct gy_zero_copy *copy, const struct gyre_buffer *first)
{
	const struct gy_slice *slice = &first->first;
	size_t count = copy->gather.message.msg_iovlen;

	copy->pages_count = 0;
	for (const struct gyre_buffer *buffer = first; count > 0; count--) {
		hold_page(copy, slice->page);
		slice = slice->next;
		if (slice == NULL && count > 1) {
			buffer = buffer->next;
			slice = &buffer->first;
		}
	}
}

static void forget(struct gy_zero_copy *copy)
{
	struct gy_zero_copy **link = &copy->channel->zero_copies;

	while (*link != copy) {
		link = &(*link)->next;
	}
	*link = copy->next;
}

static void release(struct gy_zero_copy *copy)
{
	struct gy_channels *channels = copy->channels;

	for (uint32_t i = 0; i < copy->pages_count; i++) {
		gy_page_unref(&channels->pools, copy->pages[i]);
	}
	if (copy->channel != NULL) {
		forget(copy);
		if (gy_channel_is_ending(copy->channel)) {
			gy_channel_ready(copy->channel); /* it may have waited for this */
		}
	}
	gy_assert(channels->zero_copies_count > 0 && !copy->sending);
	channels->zero_copies_count--;
	gy_pool_put(&channels->zero_copies, copy);
}

/* Whether the send has to be repeated with a copy. */
static bool is_refused(struct gyre_channel *channel, int32_t result)
{
	switch (result) {
	case -EINVAL: /* before 6.2 the kernel cannot tell whether it copied */
		if (channel->channels->zero_copy_reports) {
			channel->channels->zero_copy_reports = false;
			return true;
		}
		break;
	case -EOPNOTSUPP:
	case -ENOBUFS:
	case -ENOMEM:
		break;
	default:
		return false;
	}
	channel->no_zero_copy = true;
	return true;
}

static void sent(struct gy_zero_copy *copy, const struct gy_completion *completion)
{
	struct gyre_channel *channel = copy->channel;
	struct gy_completion plain = *completion;

	copy->sending = false;
	if (is_refused(channel, completion->result)) {
		plain.result = -EAGAIN;
	} else if (completion->result > 0) {
		gy_count(&copy->channels->counters.zero_copy_sends, 1);
	}
	channel->send.armed = false;
	gy_output_sent(&channel->send, &plain);
}

/* Phase 1: the result, then the notice that the pages are free, unless the result was the last. */
static void completed(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_zero_copy *copy = gy_container_of(op, struct gy_zero_copy, op);

	if (copy->sending) {
		sent(copy, completion);
	} else if (gy_ring_was_copied(completion)) {
		gy_count(&copy->channels->counters.zero_copies_copied, 1);
		if (copy->channel != NULL) {
			copy->channel->no_zero_copy = true;
		}
	}
	if (!completion->more) {
		release(copy);
	}
}

int gy_zero_copy_send(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;
	struct gy_zero_copy *copy = (struct gy_zero_copy *)gy_pool_get(&channels->zero_copies);
	int r;

	if (copy == NULL) {
		return -ENOMEM;
	}
	copy->op.generation = 0; /* it had its final completion before */
	gy_op_init(&copy->op, completed);
	gy_gather_buffers(&copy->gather, channel->output.first);
	r = gy_ring_send_zero_copy(channels->pools.ring, &copy->op, channel->endpoint.fd,
				   &copy->gather.message, channels->zero_copy_reports);
	if (r < 0) {
		gy_pool_put(&channels->zero_copies, copy);
		return r;
	}
	copy->channels = channels;
	copy->channel = channel;
	copy->sending = true;
	hold_pages(copy, channel->output.first);
	copy->next = channel->zero_copies;
	channel->zero_copies = copy;
	channels->zero_copies_count++;
	channel->send.armed = true;
	return 0;
}

struct gy_op *gy_zero_copy_op(const struct gyre_channel *channel)
{
	struct gy_zero_copy *last = channel->zero_copies;

	return last != NULL && last->sending ? &last->op : NULL;
}

void gy_zero_copy_leave(struct gyre_channel *channel)
{
	if (channel->zero_copies == NULL) {
		return;
	}
	gy_socket_reset_on_close(channel->endpoint.fd);
	for (struct gy_zero_copy *copy = channel->zero_copies; copy != NULL; copy = copy->next) {
		copy->channel = NULL;
	}
	channel->zero_copies = NULL;
}
