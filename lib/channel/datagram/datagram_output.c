/*
 * Queueing of written datagrams. Each counts against the marks with the memory of its buffer
 * besides its bytes, so that empty datagrams count too, until it leaves when the actor's run ends:
 * see datagram_send.c.
 *
 * Datagrams of one size that stand behind each other and have one peer leave by one send, which the
 * kernel cuts into pieces of that size (GSO); the last may be shorter. They are joined here, when
 * they are written. Datagrams that the kernel received as one, and that handlers pass on as they
 * came, become one buffer again, so that their cost does not grow with their number. Only datagrams
 * that fit into a packet of any Ethernet are sent like this.
 *
 * A short datagram has a page nearly for itself, which is well while it leaves at once. Where the
 * socket has no room, and as many wait as the marks allow, the pages would be many times what they
 * count: there the bytes of each are moved behind those of the one before it.
 */
#include <errno.h>

#include "channel/datagram/datagram.h"

enum {
	OVERHEAD_BYTES = GY_BUFFER_BYTES,
	BATCH_MAX = GY_GATHER_SLICES, /* datagrams of one send, as many as the kernel cuts */
};

_Static_assert(BATCH_MAX <= UINT8_MAX, "they are counted in so many bits");

size_t gy_datagram_cost(size_t bytes, uint32_t count)
{
	return bytes + (size_t)count * OVERHEAD_BYTES;
}

/* How much had been written before @send, which is queued. */
static uint64_t position_of(const struct gy_datagram *datagram, const struct gy_datagram_send *send)
{
	return datagram->written - (uint32_t)((uint32_t)datagram->written - send->position);
}

void gy_datagram_count_output(const struct gyre_channel *channel, uint64_t *ret_queued,
			      uint64_t *ret_gone)
{
	const struct gy_datagram *datagram =
		gy_container_of(channel, const struct gy_datagram, channel);
	const struct gy_list *first = datagram->sends.next;

	*ret_queued = datagram->written;
	*ret_gone = datagram->written;
	if (first != &datagram->sends) {
		*ret_gone = position_of(
			datagram, gy_container_of(first, const struct gy_datagram_send, item));
	}
}

/* ---- refusing ---- */

static uint32_t slices_of(const struct gyre_buffer *buffer)
{
	uint32_t count = buffer->first.page == NULL ? 0 : 1;

	for (const struct gy_slice *slice = buffer->first.next; slice != NULL;
	     slice = slice->next) {
		count++;
	}
	return count;
}

/* More slices than one send takes become few, by a copy; false without memory. */
static bool compact(struct gyre_buffer *buffer)
{
	if (gy_likely(buffer->first.next == NULL) || slices_of(buffer) <= GY_GATHER_SLICES) {
		return true;
	}
	gy_buffer_copy_out_of_ring(buffer);
	return slices_of(buffer) <= GY_GATHER_SLICES;
}

int gy_datagram_check_write(const struct gyre_channel *channel, const struct gyre_buffer *data)
{
	const struct gy_datagram *datagram =
		gy_container_of(channel, const struct gy_datagram, channel);

	if ((channel->state & GY_CHANNEL_NO_OUTPUT) != 0) {
		return -EPIPE;
	}
	if (data->bytes > GY_DATAGRAM_BYTES_MAX) {
		return -EMSGSIZE;
	}
	if (!datagram->connected && data->first.peer == 0) {
		return -EDESTADDRREQ;
	}
	return 0;
}

static GY_COLD int check_budget(struct gy_channels *channels, size_t cost)
{
	if (gy_byte_budget_fits(channels, cost)) {
		return 0;
	}
	gy_count(&channels->counters.held_refused, 1);
	return -ENOBUFS;
}

static inline int check_add(struct gyre_channel *channel, struct gyre_buffer *data, size_t cost)
{
	int r = gy_datagram_check_write(channel, data);

	if (r == 0 && gy_unlikely(channel->output_bytes + cost > channel->write_high_bytes) &&
	    channel->output_bytes + cost > channel->write_max_bytes) {
		r = -ENOBUFS;
	}
	if (r == 0 && gy_unlikely((channel->state & GY_TRAIT_BUDGETED) != 0)) {
		r = check_budget(channel->channels, cost);
	}
	if (r == 0 && !compact(data)) {
		r = -ENOMEM;
	}
	return r;
}

/* ---- bringing together ---- */

/* Where the peer of @data stands; NULL where the socket has one. */
static inline const struct gy_shared_address *peer_of(const struct gy_datagram *datagram,
						      const struct gyre_buffer *data)
{
	return datagram->connected
		       ? NULL
		       : gy_address_table_at(&datagram->channel.channels->pools.addresses,
					     data->first.peer);
}

/* Whether @to, as peer_of() has it, is the peer of the batch. */
static inline bool is_one_peer(const struct gy_datagram_batch *batch,
			       const struct gy_shared_address *to)
{
	return to == NULL || to == batch->to ||
	       gy_shared_address_matches(to, &batch->to->address.storage, batch->to->address.bytes);
}

/* Port 0 is unreachable, and the kernel reports it as it reports a batch that it cannot cut. */
static bool has_port(const struct gy_shared_address *to)
{
	return to == NULL || gyre_socket_address_port(&to->address) != 0;
}

/* Whether @data can leave with the batch, as far as its peer and its slices allow. */
static inline bool is_alike(const struct gy_datagram_batch *batch, const struct gyre_buffer *data)
{
	return batch->send != NULL && data->bytes <= batch->send->each && data->bytes > 0 &&
	       batch->send->count < BATCH_MAX &&
	       batch->bytes + data->bytes <= GY_DATAGRAM_BYTES_MAX;
}

/* Datagrams that were received as one stand behind each other. */
static inline bool continues(const struct gyre_buffer *last, const struct gyre_buffer *data)
{
	return last->first.bytes + last->first.count == data->first.bytes &&
	       last->first.page == data->first.page && last->first.next == NULL &&
	       data->first.next == NULL;
}

static inline void count_joined(struct gy_datagram_batch *batch, size_t bytes)
{
	batch->bytes += (uint32_t)bytes;
	batch->send->count++;
}

/* Adds @data, which is taken and stands behind the last, to the batch. */
static inline void extend(struct gy_datagram_batch *batch, struct gyre_buffer *data)
{
	batch->last->first.count += (uint32_t)data->bytes;
	batch->last->bytes += data->bytes;
	gy_buffer_put(data);
}

/* Adds the slices of @data, which is taken, to the batch; false if they are too many. */
static inline bool appended(struct gy_datagram_batch *batch, struct gyre_buffer *data)
{
	struct gyre_buffer *last = batch->last;
	uint32_t slices;

	if (continues(last, data)) {
		extend(batch, data);
		return true;
	}
	slices = batch->slices + slices_of(data);
	if (slices > GY_GATHER_SLICES) {
		return false;
	}
	data->next = NULL;
	last->next = data;
	batch->last = data;
	batch->slices = slices;
	return true;
}

/* Adds @data to @to, which is taken, to the batch; false if it cannot be. */
static inline bool joined(struct gy_datagram *datagram, struct gyre_buffer *data,
			  const struct gy_shared_address *to)
{
	struct gy_datagram_batch *batch = &datagram->batch;
	struct gy_datagram_send *send = batch->send;
	uint32_t bytes = (uint32_t)data->bytes;

	if (!is_alike(batch, data) || !is_one_peer(batch, to) ||
	    (send->count == 1 && !has_port(to)) || !appended(batch, data)) {
		return false;
	}
	count_joined(batch, bytes);
	if (bytes < send->each) {
		batch->send = NULL;
	}
	return true;
}

static inline struct gy_datagram_send *send_of(struct gy_datagram *datagram,
					       struct gyre_buffer *first)
{
	struct gy_datagram_send *send = (struct gy_datagram_send *)gy_pool_get(
		&datagram->channel.channels->datagrams->sends);

	if (gy_likely(send != NULL)) {
		first->next = NULL;
		send->datagram = datagram;
		send->first = first;
		send->gather = NULL;
		send->each = (uint16_t)first->bytes;
		send->count = 1;
		send->flags = 0;
	}
	return send;
}

struct gy_datagram_send *gy_datagram_send_of(struct gy_datagram *datagram,
					     struct gyre_buffer *first)
{
	return send_of(datagram, first);
}

/* Queues @data to @to, which is taken, as the first of its own; false without memory. */
static inline bool begun(struct gy_datagram *datagram, struct gyre_buffer *data,
			 const struct gy_shared_address *to)
{
	struct gy_datagram_send *send = send_of(datagram, data);
	bool open = data->bytes > 0 && data->bytes <= datagram->segment_bytes_max;

	if (gy_unlikely(send == NULL)) {
		return false;
	}
	send->position = (uint32_t)datagram->written;
	gy_list_append(&datagram->sends, &send->item);
	if (datagram->unsent == &datagram->sends) {
		datagram->unsent = &send->item;
	}
	datagram->batch.send = open ? send : NULL;
	datagram->batch.last = data;
	datagram->batch.to = to;
	datagram->batch.bytes = (uint32_t)data->bytes;
	datagram->batch.slices = data->first.next == NULL ? 1 : slices_of(data);
	return true;
}

/* Whether @data is passed on as it came: the next of several that were received as one, of which
 * some are in the batch, which is there, already, so that it is known to be right. */
static inline bool is_next(const struct gy_datagram *datagram, const struct gyre_buffer *data,
			   size_t cost)
{
	const struct gyre_channel *channel = &datagram->channel;
	const struct gy_datagram_batch *batch = &datagram->batch;
	const struct gy_datagram_send *send = batch->send;

	return send->count > 1 && is_alike(batch, data) && data->bytes == send->each &&
	       continues(batch->last, data) && data->first.peer == batch->last->first.peer &&
	       channel->output_bytes + cost <= channel->write_high_bytes &&
	       (channel->state & (GY_CHANNEL_NO_OUTPUT | GY_TRAIT_BUDGETED)) == 0;
}

static inline void count_written(struct gy_datagram *datagram, size_t cost)
{
	datagram->written += cost;
	datagram->channel.output_bytes += (uint32_t)cost;
	gy_endpoint_ready(&datagram->channel.endpoint);
}

/* All other. */
static __attribute__((noinline)) int add_slow(struct gyre_channel *channel,
					      struct gyre_buffer *data, size_t cost)
{
	struct gy_datagram *datagram = gy_datagram_of(channel);
	int r = check_add(channel, data, cost);

	if (gy_likely(r == 0)) {
		const struct gy_shared_address *to = peer_of(datagram, data);

		r = joined(datagram, data, to) || begun(datagram, data, to) ? 0 : -ENOMEM;
	}
	if (gy_unlikely(r < 0)) {
		gy_count(&channel->channels->counters.datagrams_failed, 1);
		gy_buffer_put(data);
		return r;
	}
	count_written(datagram, cost);
	if (gy_unlikely((channel->state & GY_TRAIT_BUDGETED) != 0)) {
		gy_byte_budget_charge(channel->channels, cost);
	}
	if (gy_unlikely(channel->output_bytes > channel->write_high_bytes) &&
	    (channel->state & GY_OUTPUT_UNWRITABLE) == 0) {
		gy_output_became_unwritable(channel);
	}
	return 0;
}

/* With a batch of several: of its own, so that all other saves no registers for it. */
static __attribute__((noinline)) int add_to_several(struct gyre_channel *channel,
						    struct gyre_buffer *data, size_t cost)
{
	struct gy_datagram *datagram = gy_datagram_of(channel);
	struct gy_datagram_batch *batch = &datagram->batch;

	if (!is_next(datagram, data, cost)) {
		return add_slow(channel, data, cost);
	}
	count_joined(batch, data->bytes);
	extend(batch, data);
	count_written(datagram, cost);
	return 0;
}

int gy_datagram_add(struct gyre_channel *channel, struct gyre_buffer *data)
{
	const struct gy_datagram_send *send = gy_datagram_of(channel)->batch.send;
	size_t cost = gy_datagram_cost(data->bytes, 1);

	if (send != NULL && send->count > 1) {
		return add_to_several(channel, data, cost);
	}
	return add_slow(channel, data, cost);
}

/* ---- packing ---- */

static struct gy_datagram_send *send_at(struct gy_list *item)
{
	return gy_container_of(item, struct gy_datagram_send, item);
}

/* Moves the buffers of @send behind @before, which may be NULL. Returns where there is room then.
 */
static const struct gyre_buffer *pack(const struct gy_datagram_send *send,
				      const struct gyre_buffer *before)
{
	for (struct gyre_buffer *buffer = send->first; buffer != NULL; buffer = buffer->next) {
		if (before == NULL || gy_buffer_move_behind(buffer, before) ||
		    gy_buffer_room_behind(buffer) > gy_buffer_room_behind(before)) {
			before = buffer;
		}
	}
	return before;
}

static const struct gyre_buffer *last_of(const struct gy_datagram_send *send)
{
	const struct gyre_buffer *buffer = send->first;

	while (buffer->next != NULL) {
		buffer = buffer->next;
	}
	return buffer;
}

/* The batch that is open is packed once it is not: its slices are counted. */
void gy_datagram_pack(struct gy_datagram *datagram)
{
	struct gy_list *item = datagram->sends.previous;
	const struct gyre_buffer *before;

	if (datagram->sends_count > 0) {
		return; /* the kernel has some, and they end soon */
	}
	while (item != &datagram->sends && (send_at(item)->flags & GY_DATAGRAM_PACKED) == 0) {
		item = item->previous;
	}
	before = item == &datagram->sends ? NULL : last_of(send_at(item));
	for (item = item->next; item != &datagram->sends; item = item->next) {
		struct gy_datagram_send *send = send_at(item);

		if (send != datagram->batch.send) {
			before = pack(send, before);
			send->flags |= GY_DATAGRAM_PACKED;
		}
	}
}

/* ---- taking apart ---- */

/* The first datagram of several, off them; NULL without memory. */
static struct gyre_buffer *take_first(struct gy_datagram_send *send)
{
	struct gyre_buffer *first = send->first;
	struct gyre_buffer *buffer;

	if (first->bytes <= send->each) {
		send->first = first->next;
		return first;
	}
	buffer = gy_buffer_of_page(first->pools, first->first.page, first->first.bytes, send->each);
	if (buffer != NULL) {
		gy_page_ref(first->first.page);
		gy_buffer_share_peer(buffer, first);
		gy_buffer_consume(first, send->each);
	}
	return buffer;
}

int gy_datagram_take_apart(struct gy_datagram_send *send)
{
	while (send->count > 1) {
		struct gyre_buffer *first = take_first(send);
		struct gy_datagram_send *alone =
			first == NULL ? NULL : gy_datagram_send_of(send->datagram, first);

		if (alone == NULL) {
			if (first != NULL) {
				first->next = send->first;
				send->first = first;
			}
			return -ENOMEM;
		}
		alone->position = send->position;
		send->position += (uint32_t)gy_datagram_cost(alone->first->bytes, 1);
		gy_list_append(&send->item, &alone->item); /* before it */
		send->count--;
	}
	send->each = (uint16_t)send->first->bytes;
	return 0;
}
