/*
 * The bytes of reports about services, written and read with bounds: a peer is not trusted.
 */
#include "remote/message/service_report.h"

#include <errno.h>
#include <string.h>

#include <gyre/service.h>

#include "actor/home.h"
#include "remote/link/link_order.h"

static void put_u16(struct gyre_encoder *out, uint16_t value)
{
	gyre_encode_u8(out, (uint8_t)value);
	gyre_encode_u8(out, (uint8_t)(value >> 8));
}

static uint16_t get_u16(struct gyre_decoder *in)
{
	uint16_t low = gyre_decode_u8(in);

	return (uint16_t)(low | gyre_decode_u8(in) << 8);
}

void gy_service_report_put_head(struct gyre_encoder *out, const struct gy_service_report_head *head)
{
	gyre_encode_u64(out, head->from);
	gyre_encode_u64(out, head->to);
	gyre_encode_u8(out, (uint8_t)head->flags);
}

void gy_service_report_put_change(struct gyre_encoder *out, const struct gy_service_change *change)
{
	gyre_encode_u8(out, (uint8_t)change->flags);
	gyre_encode_u32(out, change->slot);
	gyre_encode_u32(out, change->cookie);
	put_u16(out, change->loop);
	if ((change->flags & GY_SERVICE_CHANGE_SAME) == 0) {
		gyre_encode_u32(out, change->id);
		gyre_encode_u8(out, (uint8_t)change->bytes);
		gyre_encode_bytes(out, change->name, change->bytes);
	}
}

int gy_service_report_get_head(struct gyre_decoder *in, struct gy_service_report_head *ret_head)
{
	ret_head->from = gyre_decode_u64(in);
	ret_head->to = gyre_decode_u64(in);
	ret_head->flags = gyre_decode_u8(in);
	return in->error != 0 || ret_head->to < ret_head->from ||
			       (ret_head->flags & ~(uint32_t)GY_SERVICE_REPORT_FLAGS) != 0 ||
			       ((ret_head->flags & GY_SERVICE_REPORT_FIRST) != 0 &&
				ret_head->from != 0)
		       ? -EPROTO
		       : 0;
}

static int get_service(struct gyre_decoder *in, struct gy_service_change *change)
{
	if ((change->flags & GY_SERVICE_CHANGE_SAME) != 0) {
		return change->name == NULL ? -EPROTO : 0;
	}
	change->id = gyre_decode_u32(in);
	change->bytes = gyre_decode_u8(in);
	change->name = (const char *)gyre_decode_view(in, change->bytes);
	return change->name == NULL || change->bytes == 0 || change->id == 0 ||
			       memchr(change->name, 0, change->bytes) != NULL
		       ? -EPROTO
		       : 0;
}

/* What no address of an actor has is refused: bits of a slot beyond those of places, and the
 * numbers above all loops. */
int gy_service_report_get_change(struct gyre_decoder *in, struct gy_service_change *change)
{
	if (in->left == 0) {
		return 0;
	}
	change->flags = gyre_decode_u8(in);
	change->slot = gyre_decode_u32(in);
	change->cookie = gyre_decode_u32(in);
	change->loop = get_u16(in);
	if (in->error != 0 || (change->flags & ~(uint32_t)GY_SERVICE_CHANGE_FLAGS) != 0 ||
	    change->slot > gy_slot_mask || change->cookie == 0 ||
	    change->loop >= GY_LINK_ORDERS_MAX) {
		return -EPROTO;
	}
	return get_service(in, change) < 0 || in->error != 0 ? -EPROTO : 1;
}
