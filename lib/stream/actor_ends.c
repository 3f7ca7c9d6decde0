/*
 * Ports for others than the graph itself: actors that produce and consume, and other graphs.
 */
#include <errno.h>

#include "actor/house_extra.h"
#include "base/memory/memory.h"
#include "stream/port.h"
#include "stream/post.h"

/* ---- building ---- */

uint32_t gyre_stream_offer(struct gyre_stream from, uint64_t accept_ns)
{
	struct gy_outlet *outlet = gy_outlet_add(&from, GY_PORT_GRAPH, false);

	if (outlet == NULL) {
		return UINT32_MAX;
	}
	outlet->accept_ns = accept_ns == 0 ? GYRE_STREAM_ACCEPT_NS : accept_ns;
	return outlet->port.stage.index;
}

struct gyre_stream gyre_stream_accept(struct gyre_graph *graph, const struct gyre_type *type,
				      struct gyre_stream_ref ref, const struct gyre_window *window)
{
	struct gy_inlet *inlet = gy_inlet_add(graph, type, GY_PORT_GRAPH, window);

	if (inlet != NULL) {
		inlet->port.peer = ref.at;
		inlet->port.peer_port = ref.port;
	}
	return gy_graph_stream(graph, inlet, 0);
}

struct gyre_stream gyre_stream_from_actor(struct gyre_graph *graph, const struct gyre_type *type,
					  struct gyre_address producer, uint64_t tag,
					  const struct gyre_window *window)
{
	struct gy_inlet *inlet = gy_inlet_add(graph, type, GY_PORT_ACTOR, window);

	if (inlet != NULL) {
		inlet->port.peer = producer;
		inlet->port.tag = tag;
	}
	return gy_graph_stream(graph, inlet, 0);
}

void gyre_stream_to_actor(struct gyre_stream from, struct gyre_address consumer, uint64_t tag)
{
	struct gy_outlet *outlet = gy_outlet_add(&from, GY_PORT_ACTOR, false);

	if (outlet != NULL) {
		outlet->port.peer = consumer;
		outlet->port.tag = tag;
	}
}

/* ---- what producers do ---- */

int gyre_stream_push(struct gyre_stack *stack, struct gyre_stream_ref stream,
		     const struct gyre_type *type, void *elements, uint32_t count)
{
	struct gy_block *block;

	if (type == NULL || (elements == NULL && count > 0)) {
		return -EINVAL;
	}
	if (!gy_element_type_is_good(type)) {
		gy_elements_destroy(type, elements, count);
		return -EINVAL;
	}
	if (count == 0) {
		return 0;
	}
	block = gy_block_make(type, count);
	if (block == NULL) {
		gy_elements_destroy(type, elements, count);
		return -ENOMEM;
	}
	memcpy(block->elements, elements, gy_elements_bytes(type, count));
	block->count = count;
	block->weight = gy_elements_weight(type, elements, count);
	return gy_stream_post(
		stack, stream.at,
		gyre_new(stack, gy_stream_block, .block = block, .port = stream.port));
}

static bool is_reason(int reason)
{
	return reason <= 0 && reason >= GY_PULL_ERRNO_MIN;
}

int gyre_stream_finish(struct gyre_stack *stack, struct gyre_stream_ref stream, int reason)
{
	if (!is_reason(reason)) {
		return -EINVAL;
	}
	return gy_stream_post(stack, stream.at,
			      gyre_new(stack, gy_stream_control, .elements = GY_ALL_ELEMENTS,
				       .port = stream.port, .order = GY_STREAM_END,
				       .reason = reason));
}

/* ---- what consumers do ---- */

/* One that is asked for each element would wait for one that was lost. */
int gyre_stream_request(struct gyre_stack *stack, struct gyre_stream_ref stream, uint64_t elements)
{
	struct gy_house_extra *extra = gy_house_extra_get(gy_stack_of(stack)->house);

	if (extra == NULL) {
		return -ENOMEM;
	}
	extra->keeps_notices = true;
	return gy_stream_post(stack, stream.at,
			      gyre_new(stack, gy_stream_control, .elements = elements,
				       .port = stream.port, .order = GY_STREAM_REQUEST));
}

int gyre_stream_cancel(struct gyre_stack *stack, struct gyre_stream_ref stream, int reason)
{
	if (!is_reason(reason)) {
		return -EINVAL;
	}
	return gy_stream_post(stack, stream.at,
			      gyre_new(stack, gy_stream_control, .port = stream.port,
				       .order = GY_STREAM_CANCEL, .reason = reason));
}
