/*
 * Causes between nodes. The message of a failure travels as any message of its type does, by the
 * type's own encoding if it has one. But it never stands in the way of the failure: a cause that
 * does not travel, is too large, is not understood by the peer, or finds no memory is left out.
 */
#include "remote/message/causes.h"

#include <errno.h>

#include "actor/mail/mail_pool.h"
#include "actor/mail/tail.h"
#include "remote/link/link.h"
#include "remote/node.h"
#include "remote/types.h"

/* ---- out ---- */

static int encode(const struct gy_cause *cause, struct gyre_encoder *out)
{
	if (!gy_type_travels(cause->type)) {
		return -EPROTO;
	}
	if (gy_type_is_encoded(cause->type)) {
		return gy_type_encoding(cause->type)->encode(cause->payload, out);
	}
	gyre_encode_bytes(out, cause->payload, cause->bytes);
	return 0;
}

bool gy_cause_encode(const struct gy_cause *cause, struct gyre_encoder *out)
{
	size_t count = out->count;

	gy_assert(out->error == 0);
	if (encode(cause, out) < 0 || out->error != 0) {
		out->error = 0;
		out->count = count;
		return false;
	}
	return true;
}

void gy_cause_encode_typed(const struct gy_cause *cause, struct gyre_encoder *out)
{
	size_t count = out->count;

	gyre_encode_u32(out, cause->type->id);
	gyre_encode_u32(out, gy_type_layout(cause->type));
	if (out->error != 0 || !gy_cause_encode(cause, out)) {
		out->error = 0;
		out->count = count;
	}
}

/* ---- in ---- */

static struct gyre_mail *decode_tail(struct gy_home *home, const struct gyre_type *type,
				     const struct gy_frame *frame)
{
	struct gyre_mail *mail = NULL;

	if (gy_tail_fits(type, frame->body, frame->bytes)) {
		mail = gy_mail_get_tail(home, type, gy_tail_count(type, frame->body));
	}
	if (mail != NULL) {
		memcpy(mail->payload, frame->body, frame->bytes);
	}
	return mail;
}

struct gyre_mail *gy_cause_decode(const struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_home *home = link->links->home;
	const struct gyre_type *type = frame->type < GY_IDS_OF_GYRE
					       ? NULL
					       : gy_types_find_same(&link->links->nodes->types,
								    frame->type, frame->layout);
	struct gyre_mail *mail;

	if (type == NULL) {
		return NULL;
	}
	if (gy_type_varies(type)) {
		return decode_tail(home, type, frame);
	}
	if (!gy_type_is_encoded(type) && frame->bytes != type->bytes) {
		return NULL;
	}
	mail = gy_mail_get(home, type);
	if (mail != NULL && gy_type_fill(type, frame->body, frame->bytes, gyre_payload(mail)) < 0) {
		gy_mail_put(home, mail);
		mail = NULL;
	}
	return mail;
}

int gy_cause_decode_typed(const struct gy_link *link, struct gyre_decoder *in,
			  struct gy_cause **ret_cause)
{
	struct gy_frame frame = { 0 };
	struct gyre_mail *mail;
	uint32_t layout;

	*ret_cause = NULL;
	if (in->error == 0 && in->left == 0) {
		return 0;
	}
	frame.type = gyre_decode_u32(in);
	layout = gyre_decode_u32(in);
	if (in->error != 0 || layout > UINT16_MAX) {
		return -EPROTO;
	}
	frame.layout = (uint16_t)layout;
	frame.body = in->at;
	frame.bytes = (uint32_t)in->left;
	mail = gy_cause_decode(link, &frame);
	if (mail != NULL) {
		*ret_cause = gy_cause_make(link->links->home, mail);
	}
	return 0;
}
