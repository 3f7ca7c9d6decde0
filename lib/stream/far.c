/*
 * What ports tell another node, and what they hear from there.
 *
 * Also how the ends of a stream meet within a system. What they tell each other after that are
 * events: an ask whose receiver has just ended would fail, and overtake the end of the stream.
 *
 * All of it are asks, one after the other, so that elements stay in order. Credit, an end and a
 * cancel say where the port is, not what has changed: when their ask may have been lost, they are
 * told again. A frame of elements whose link has broken may have come or not: the stream fails. One
 * that found no room is sent again, and is not taken twice if only its answer had found none.
 */
#include <errno.h>

#include "actor/mail/tail.h"
#include "base/memory/memory.h"
#include "remote/types.h"
#include "stream/port.h"

enum { STEP_PAUSE = 1 << 16 };
static const uint64_t pause_ns = GYRE_MILLISECONDS(10);

static struct gy_port *port_of(struct gy_stage *stage)
{
	return (struct gy_port *)(void *)stage;
}

/* ---- elements as bytes ---- */

static bool is_framed(const struct gyre_type *type)
{
	return type->id == GYRE_ID(gyre_chunk) || gy_type_is_encoded(type);
}

/* An element behind its length, which is known only then. */
static int encode_element(const struct gyre_type *type, const void *element,
			  struct gyre_encoder *out)
{
	size_t at = out->count;
	uint32_t length;
	int r = 0;

	gyre_encode_u32(out, 0);
	if (type->id == GYRE_ID(gyre_chunk)) {
		const struct gyre_bytes *bytes = ((const struct gyre_chunk *)element)->bytes;
		size_t count = gyre_bytes_count(bytes);

		gyre_encode_bytes(out, count == 0 ? NULL : gyre_bytes_data(bytes), count);
	} else {
		r = gy_type_encoding(type)->encode(element, out);
	}
	if (r < 0 || out->error != 0) {
		return r < 0 ? r : out->error;
	}
	length = (uint32_t)(out->count - at - sizeof(length));
	for (int i = 0; i < 4; i++) {
		out->bytes[at + (size_t)i] = (unsigned char)(length >> (8 * i));
	}
	return 0;
}

static int encode_block(const struct gy_block *block, struct gyre_encoder *out)
{
	int r = 0;

	if (!is_framed(block->type)) {
		gyre_encode_bytes(out, block->elements,
				  gy_elements_bytes(block->type, block->count));
		return out->error;
	}
	for (uint32_t i = 0; r == 0 && i < block->count; i++) {
		r = encode_element(block->type, block->elements + gy_elements_bytes(block->type, i),
				   out);
	}
	return r;
}

static int make_frame(const struct gy_outlet *outlet, struct gyre_mail **ret_mail)
{
	const struct gy_port *port = &outlet->port;
	const struct gy_block *block = outlet->block;
	struct gyre_encoder out = { .max = GYRE_MESSAGE_BYTES_MAX -
					   sizeof(struct gy_stream_frame) };
	int r = encode_block(block, &out);

	if (r == 0) {
		*ret_mail = gyre_new_tail(port->stage.island->stack, gy_stream_frame, out.count,
					  .first = port->passed - block->count,
					  .port = port->peer_port, .count = block->count);
		r = *ret_mail == NULL ? -ENOMEM : 0;
	}
	if (r == 0 && out.bytes != NULL) {
		memcpy(((struct gy_stream_frame *)gyre_payload(*ret_mail))->body, out.bytes,
		       out.count);
	}
	gy_memory_put(out.bytes);
	return r;
}

static int decode_element(const struct gyre_type *type, struct gyre_decoder *in, void *out)
{
	uint32_t length;
	const void *bytes;

	memset(out, 0, type->bytes); /* it is destroyed if it fails in the middle */
	if (!is_framed(type)) {
		return gyre_decode_bytes(in, out, type->bytes) ? 0 : -EPROTO;
	}
	length = gyre_decode_u32(in);
	bytes = gyre_decode_view(in, length);
	if (bytes == NULL) {
		return -EPROTO;
	}
	if (type->id == GYRE_ID(gyre_chunk)) {
		struct gyre_chunk *chunk = (struct gyre_chunk *)out;

		chunk->bytes = gyre_bytes_create(bytes, length);
		return chunk->bytes == NULL ? -ENOMEM : 0;
	}
	return gy_type_decode(type, bytes, length, out);
}

static int decode_block(const struct gy_stream_frame *frame, struct gy_block *block)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	int r = 0;

	while (r == 0 && block->count < frame->count) {
		void *element = gy_element_at(block->type, block->elements, block->count);

		r = decode_element(block->type, &in, element);
		if (r == 0) {
			block->count++;
		} else if (r != -ENOMEM && is_framed(block->type)) {
			gy_elements_destroy(block->type, element, 1); /* what it owns so far */
		}
	}
	block->weight = gy_elements_weight(block->type, block->elements, block->count);
	return r == 0 && in.left > 0 ? -EPROTO : r;
}

int gy_far_receive(struct gy_inlet *inlet, const struct gy_stream_frame *frame)
{
	struct gy_port *port = &inlet->port;
	const struct gyre_type *type = port->stage.type;
	struct gy_block *block;
	int r;

	if (port->is_closed) {
		return 0; /* it hears of the cancel, or has ended itself */
	}
	if (frame->count > 0 && frame->first + frame->count == port->passed) {
		return 0; /* it has come, but the answer has not */
	}
	if (frame->first != port->passed || frame->count == 0 ||
	    frame->count > gy_parcel_elements(type)) {
		return -EPROTO;
	}
	block = gy_block_make(type, frame->count);
	if (block == NULL) {
		return -ENOMEM;
	}
	r = decode_block(frame, block);
	if (r < 0) {
		gy_block_destroy(block);
		return r;
	}
	gy_inlet_take_block(inlet, block);
	return 0;
}

/* ---- telling ---- */

static struct gyre_mail *make_order(const struct gy_port *port, uint32_t what)
{
	struct gyre_stack *stack = port->stage.island->stack;
	bool is_end = what == GY_TELL_END;
	uint32_t order = what == GY_TELL_CREDIT ? GY_STREAM_CREDIT
			 : is_end		? GY_STREAM_END
						: GY_STREAM_CANCEL;

	if (what == GY_TELL_ATTACH) {
		const struct gyre_type *type = port->stage.type;

		return gyre_new(stack, gy_stream_attach, .port = port->peer_port,
				.from_port = port->stage.index, .type_id = type->id,
				.layout = gy_type_layout(type));
	}
	return gyre_new(stack, gy_stream_control, .elements = is_end ? port->passed : port->granted,
			.bytes = port->granted_bytes, .port = port->peer_port, .order = order,
			.reason = port->reason);
}

/* Negative if it was not sent. */
static int ask(struct gy_port *port, struct gy_work *work, uint32_t what)
{
	struct gyre_mail *mail = NULL;
	int r = 0;

	if (what == GY_TELL_BLOCK) {
		r = make_frame((struct gy_outlet *)(void *)port, &mail);
	} else {
		mail = make_order(port, what);
	}
	if (r < 0) {
		work->future = (struct gyre_future){ .error = r };
		return r;
	}
	return gyre_ask(work->stack, port->peer, mail, GYRE_FOREVER, &work->future);
}

/* Whether it may be said again: it has not arrived, or says only where the port is. */
static bool may_repeat(uint32_t what, int error)
{
	switch (error) {
	case -ENOMEM:
	case -EAGAIN:
		return true;
	case -ECONNRESET:
		return what != GY_TELL_BLOCK;
	case -EHOSTUNREACH: /* for a while; its watch tells when it is for good */
		return what != GY_TELL_BLOCK && what != GY_TELL_ATTACH;
	default:
		return false;
	}
}

static void attached(struct gy_port *port, const struct gy_work *work)
{
	const struct gy_stream_receipt *receipt = gyre_future_get(&work->future, gy_stream_receipt);
	struct gy_inlet *inlet = (struct gy_inlet *)(void *)port;
	struct gyre_address at = port->peer;

	if (receipt != NULL) { /* another actor of the same node may have the end */
		at.loop = receipt->at.loop;
		at.slot = receipt->at.slot;
		at.cookie = receipt->at.cookie;
	}
	gy_port_meet(port, at, port->peer_port);
	if (!port->is_closed) {
		port->granted = inlet->window.elements_max;
		port->granted_bytes = inlet->window.bytes_max;
		port->due |= GY_TELL_CREDIT;
	}
}

static void block_has_gone(struct gy_outlet *outlet)
{
	struct gy_block *block = outlet->block;

	if (block != NULL) {
		gy_elements_destroy(block->type, block->elements, block->count);
		block->first = 0;
		block->count = 0;
	}
}

/* What was asked has failed for good. Of an end or a cancel nobody is left to be told. */
static void fail(struct gy_port *port, uint32_t what, int error)
{
	if (what == GY_TELL_ATTACH || what == GY_TELL_CREDIT) {
		bool wanted = !port->is_closed;

		port->due = what == GY_TELL_ATTACH ? 0 : port->due;
		if (wanted) {
			/* An actor that stops leaves its asks with -ESHUTDOWN. */
			gy_inlet_end((struct gy_inlet *)(void *)port, port->passed,
				     error == -ESHUTDOWN ? -ECANCELED : error);
		}
		return;
	}
	if (what == GY_TELL_BLOCK) {
		struct gy_outlet *outlet = (struct gy_outlet *)(void *)port;
		bool wanted = !outlet->has_ended;

		block_has_gone(outlet);
		gy_outlet_cancel(outlet, error);
		if (wanted) {
			port->due |= GY_TELL_END; /* if it can be told */
		}
	}
}

/* The result of what was asked. True if it is to be asked again, after a pause. */
static bool settle(struct gy_port *port, struct gy_work *work)
{
	uint32_t what = work->step;
	int r = gyre_future_error(&work->future);

	if (r == 0) {
		if (what == GY_TELL_ATTACH) {
			attached(port, work);
		} else if (what == GY_TELL_BLOCK) {
			block_has_gone((struct gy_outlet *)(void *)port);
		}
		return false;
	}
	if (may_repeat(what, r)) {
		bool wanted =
			what != GY_TELL_BLOCK || !((struct gy_outlet *)(void *)port)->has_ended;

		if (wanted && (port->has_peer || what == GY_TELL_ATTACH)) {
			port->due |= what;
		}
		return true;
	}
	fail(port, what, r);
	return false;
}

enum gy_work_state gy_far_work(struct gy_stage *stage, struct gy_work *work)
{
	struct gy_port *port = port_of(stage);
	bool pause = work->step != 0 && work->step != STEP_PAUSE && settle(port, work);

	while (port->due != 0 && !pause && gy_port_asks(port)) {
		uint32_t what = port->due & -port->due;

		port->due &= ~what;
		work->step = what;
		if (ask(port, work, what) == 0) {
			return GY_WORK_WAITS;
		}
		pause = settle(port, work);
	}
	if (pause && port->due != 0) {
		work->step = STEP_PAUSE;
		if (gyre_sleep(work->stack, pause_ns, &work->future) == 0) {
			return GY_WORK_WAITS;
		}
		gy_island_retry_later(stage->island);
	}
	port->is_busy = false;
	if (!gy_port_asks(port)) {
		gy_port_tell(port);
	}
	return GY_WORK_DONE;
}
