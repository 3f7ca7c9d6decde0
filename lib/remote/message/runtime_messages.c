/*
 * gyre's own mail between nodes: watches, their rounds and their ends, orders to stop, and
 * questions for a name.
 * Their bodies are written field by field; all else of gyre's own stays within its node.
 */
#include "remote/message/runtime_messages.h"

#include <errno.h>

#include <gyre/name.h>
#include <gyre/watch.h>

#include "actor/life/graceful_stop.h"
#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "actor/stack/stack.h"
#include "remote/link/link.h"
#include "remote/message/causes.h"
#include "remote/message/forward.h"
#include "remote/message/service_report.h"
#include "remote/message/stream_wire.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/rounds.h"
#include "remote/types.h"
#include "remote/wire.h"

const struct gyre_type gy_type_lookup = { .name = "lookup",
					  .id = 0x4b,
					  .bytes = GYRE_NAME_BYTES_MAX + 1 };

/* ---- out ---- */

static void encode_terminated(const struct gyre_mail *mail, struct gyre_encoder *out)
{
	const struct gyre_terminated *terminated =
		(const struct gyre_terminated *)(const void *)mail->payload;
	const struct gy_cause *cause = gy_watch_cause(mail);

	gyre_encode_u32(out, terminated->actor.slot);
	gyre_encode_u32(out, terminated->actor.cookie);
	gyre_encode_u32(out, terminated->actor.loop);
	gyre_encode_u32(out, (uint32_t)terminated->reason);
	gy_assert(out->error != 0 || out->count == GY_WIRE_END_BYTES);
	if (cause != NULL && out->error == 0) {
		gy_cause_encode_typed(cause, out);
	}
}

/* The errno, then the cause as any message of its type, which the head names. A cause that does not
 * travel, or is too large, is left out. */
static int encode_caused(const struct gyre_mail *mail, struct gy_frame *frame,
			 struct gyre_encoder *out)
{
	const struct gy_caused *caused = (const struct gy_caused *)(const void *)mail->payload;

	gyre_encode_u32(out, (uint32_t)caused->exception.error);
	if (out->error != 0) {
		return out->error;
	}
	frame->type = caused->cause->type->id;
	frame->layout = gy_type_layout(caused->cause->type);
	if (!gy_cause_encode(caused->cause, out)) {
		frame->type = gy_type_exception.id;
	}
	return 0;
}

/* Those that are encoded like messages of programs. */
static bool travels_as_it_is(uint32_t id)
{
	return id == GYRE_ID(gyre_node_found) || id == GYRE_ID(gy_service_report) ||
	       id == GYRE_ID(gy_service_receipt) || id == GYRE_ID(gy_stream_attach) ||
	       id == GYRE_ID(gy_stream_control) || id == GYRE_ID(gy_stream_frame) ||
	       id == GYRE_ID(gy_stream_receipt);
}

int gy_runtime_message_encode(const struct gyre_mail *mail, struct gy_frame *frame,
			      struct gyre_encoder *out)
{
	const struct gyre_type *type = mail->type;

	if (type == &gy_type_exception) {
		const struct gy_exception *exception =
			(const struct gy_exception *)(const void *)mail->payload;

		gyre_encode_u32(out, (uint32_t)exception->error);
		return 0;
	}
	if (type == &gy_type_caused) {
		return encode_caused(mail, frame, out);
	}
	if (type->id == GYRE_ID(gyre_terminated) && mail->node.kind == GY_MAIL_EVENT) {
		encode_terminated(mail, out);
		return 0;
	}
	if (type == &gy_type_unanswered) {
		gyre_encode_u32(out, (uint32_t)gy_unanswered_error(mail));
		return 0;
	}
	if (type == &gy_type_lookup) {
		frame->bytes = (uint32_t)strlen((const char *)mail->payload);
		return 0;
	}
	if (travels_as_it_is(type->id)) {
		return 0;
	}
	if (type == &gy_type_forwarded) {
		return gy_forwarded_encode(mail, out);
	}
	if (type == &gy_type_graceful_stop) {
		gyre_encode_u64(out, gy_graceful_stop_deadline(mail));
		return 0;
	}
	if (type == &gy_type_watch) {
		gyre_encode_u32(out, gy_watch_round(mail));
		return 0;
	}
	if (type == &gy_type_round_over) {
		gyre_encode_u32(
			out, ((const struct gy_round_over *)(const void *)mail->payload)->number);
		return 0;
	}
	frame->bytes = 0;
	return type == &gy_type_stopped || type == &gy_type_unwatch || type == &gy_type_stop ||
			       type == &gy_type_poison
		       ? 0
		       : -EOPNOTSUPP;
}

/* ---- in ---- */

static int decode_terminated(const struct gy_link *link, const struct gy_frame *frame,
			     struct gyre_mail **ret_mail)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	struct gyre_terminated terminated = {
		.actor = { .node = link->peer->id, .life = gy_life_of(link->theirs.incarnation) },
	};
	struct gy_cause *cause;
	uint32_t reason;

	terminated.actor.slot = gyre_decode_u32(&in);
	terminated.actor.cookie = gyre_decode_u32(&in);
	terminated.actor.loop = (uint16_t)gyre_decode_u32(&in);
	reason = gyre_decode_u32(&in);
	terminated.reason = reason == 0 ? 0 : gy_wire_errno(reason);
	if (gy_cause_decode_typed(link, &in, &cause) < 0) {
		return -EPROTO;
	}
	*ret_mail = gy_watch_make_end(link->links->home, &terminated, cause);
	return 0;
}

static int decode_unanswered(struct gy_home *home, const struct gy_frame *frame,
			     struct gyre_mail **ret_mail)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	int error = gy_wire_errno(gyre_decode_u32(&in));

	if (in.error != 0) {
		return -EPROTO;
	}
	*ret_mail = gy_unanswered_make(home, frame->ask_id, error);
	return 0;
}

static int decode_retire(struct gy_home *home, const struct gy_frame *frame,
			 struct gyre_mail **ret_mail)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	uint64_t deadline_ns = gyre_decode_u64(&in);

	if (in.error != 0) {
		return -EPROTO;
	}
	*ret_mail = gy_graceful_stop_make(home, deadline_ns);
	return 0;
}

static int decode_watch(struct gy_home *home, const struct gy_frame *frame,
			struct gyre_address here, struct gyre_mail **ret_mail)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	uint32_t round = gyre_decode_u32(&in);
	struct gyre_mail *mail;

	if (in.error != 0 || in.left > 0) {
		return -EPROTO;
	}
	mail = gy_watch_make(home, &gy_type_watch, here);
	if (mail != NULL) {
		gy_watch_set_round(mail, round);
	}
	*ret_mail = mail;
	return 0;
}

/* NULL in @ret_mail without memory. */
static int decode(const struct gy_link *link, const struct gy_frame *frame,
		  struct gyre_mail **ret_mail)
{
	struct gy_home *home = link->links->home;
	const struct gyre_address here = { .slot = frame->to_slot,
					   .cookie = frame->to_cookie,
					   .loop = frame->to_loop,
					   .node = home->node };

	if (frame->type == gy_type_watch.id) {
		return decode_watch(home, frame, here, ret_mail);
	} else if (frame->type == gy_type_unwatch.id) {
		*ret_mail = gy_watch_make(home, &gy_type_unwatch, here);
	} else if (frame->type == gy_type_stop.id) {
		*ret_mail = gy_mail_get(home, &gy_type_stop);
	} else if (frame->type == gy_type_poison.id) {
		*ret_mail = gy_mail_get(home, &gy_type_poison);
	} else if (frame->type == gy_type_graceful_stop.id) {
		return decode_retire(home, frame, ret_mail);
	} else if (frame->type == gy_type_unanswered.id) {
		return decode_unanswered(home, frame, ret_mail);
	} else {
		return frame->type == GYRE_ID(gyre_terminated)
			       ? decode_terminated(link, frame, ret_mail)
			       : -EPROTO;
	}
	return 0;
}

int gy_runtime_message_decode(const struct gy_link *link, const struct gy_frame *frame,
			      struct gyre_mail **ret_mail)
{
	int r = decode(link, frame, ret_mail);

	return r < 0 ? r : *ret_mail == NULL ? -ENOMEM : 0;
}
