/*
 * Mail to frames: the only place where heads of messages are built. A frame is written where it is
 * to stand, on the link's page, or copied into a parcel if it is to leave in fragments.
 *
 * Most mail needs little of this: a message whose head was sent before names it (encode.h), and a
 * type that travels as the bytes that it has here is copied. The rest, encoded types and
 * gyre's own, is encoded into other memory first, which the loop keeps.
 *
 * What a link holds is bounded, from the send until the peer has taken it out of its connection and
 * credited it: past the bound a send fails, and nothing grows. Answers have a quarter more room
 * than questions, or two nodes that fill each other's links with asks would lose the answers.
 */
#include "remote/message/encode.h"

#include <errno.h>

#include <gyre/watch.h>

#include "actor/life/watch.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "remote/message/encoder.h"
#include "remote/message/fragments.h"
#include "remote/message/runtime_messages.h"
#include "remote/types.h"

/* ---- heads ---- */

static inline enum gy_wire_kind kind_of(const struct gyre_mail *mail)
{
	switch ((enum gy_mail_kind)mail->node.kind) {
	case GY_MAIL_NOTICE:
		return GY_WIRE_NOTICE;
	case GY_MAIL_ASK:
		return mail->type == &gy_type_lookup ? GY_WIRE_LOOKUP : GY_WIRE_ASK;
	case GY_MAIL_REPLY:
		return GY_WIRE_REPLY;
	case GY_MAIL_EXCEPTION:
		return GY_WIRE_EXCEPTION;
	default:
		return GY_WIRE_EVENT;
	}
}

static uint16_t left_of(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_ASK ? gy_wire_left_encode(mail->deadline) : 0;
}

static inline void build_head(struct gyre_address to, const struct gyre_mail *mail, uint32_t bytes,
			      struct gy_frame *ret_frame)
{
	*ret_frame = (struct gy_frame){
		.kind = kind_of(mail),
		.bytes = bytes,
		.body = mail->payload,
		.to_loop = to.loop,
		.from_loop = mail->from.loop,
		.to_slot = to.slot,
		.to_cookie = to.cookie,
		.from_slot = mail->from.slot,
		.from_cookie = mail->from.cookie,
		.type = mail->type->id,
		.layout = gy_type_layout(mail->type),
		.left = left_of(mail),
		.index = GY_WIRE_HEADS,
		.ask_id = mail->ask_id,
	};
}

/* ---- frames ---- */

/* Whether messages of the type travel as the bytes that they have here, a tail included. */
static bool is_plain(const struct gyre_type *type)
{
	return type->id >= GY_IDS_OF_GYRE && gy_type_encoding(type) == NULL &&
	       type->destroy == NULL;
}

static inline bool is_indexed(enum gy_wire_kind kind)
{
	return (gy_wire_indexed >> (uint32_t)kind & 1U) != 0;
}

/*
 * Later messages may name this head, unless another one is still needed in its place. Returns the
 * index that it is sent with. @to is that of a head.
 */
static inline uint32_t remember(struct gy_link *link, uint32_t index, struct gyre_address to,
				const struct gyre_mail *mail)
{
	struct gy_heads *heads = &link->heads;
	struct gy_sent_head *head = &heads->sent[index];
	enum gy_wire_kind repeat =
		mail->node.kind == GY_MAIL_NOTICE ? GY_WIRE_REPEAT : GY_WIRE_REPEAT_ID;

	if (head->type != NULL) {
		gy_heads_count_replaced(heads);
		head = &heads->sent[index]; /* the room may have grown */
		if (head->passed++ < GY_HEAD_PASSED_MAX) {
			return GY_WIRE_HEADS;
		}
	}
	*head = (struct gy_sent_head){
		.type = mail->type,
		.to = to,
		.from = mail->from,
		.type_id = mail->type->id,
		.bytes = mail->type->bytes,
		.deadline = mail->deadline,
		.repeat = htole32(gy_wire_make_word(repeat, index, mail->type->bytes)),
		.kind = mail->node.kind,
	};
	return index;
}

/* The index of the head of a frame. It is kept if all messages of the type are as long. */
static inline uint16_t index_of(struct gy_link *link, const struct gy_frame *frame,
				struct gyre_address to, const struct gyre_mail *mail)
{
	struct gyre_address head_to;
	uint32_t index;

	if (!is_indexed(frame->kind)) {
		return 0;
	}
	if (!is_plain(mail->type) || mail->type->bytes > GY_WIRE_BODY_BYTES_MAX) {
		return GY_WIRE_HEADS; /* a size that varies is larger than any body */
	}
	head_to = gy_head_to(link, to, mail);
	index = gy_head_index(&link->heads, head_to, mail);
	return (uint16_t)remember(link, index, head_to, mail);
}

static inline __attribute__((always_inline)) int add_frame(struct gy_link *link,
							   struct gy_frame *frame,
							   struct gyre_address to,
							   const struct gyre_mail *mail)
{
	uint32_t head_bytes = gy_wire_head_bytes(frame->kind);
	unsigned char *at =
		gy_frame_page_reserve(link, &link->frame_page, head_bytes + frame->bytes);

	if (gy_unlikely(at == NULL)) {
		return -ENOMEM;
	}
	frame->index = index_of(link, frame, to, mail);
	(void)gy_wire_put(frame, at);
	if (frame->bytes > 0) {
		memcpy(at + head_bytes, frame->body, frame->bytes);
	}
	link->frame_page.at = at + head_bytes + frame->bytes;
	link->queued_bytes += head_bytes + frame->bytes;
	link->queued_frames++;
	return 0;
}

/* An ask or an answer: who waits is told if the link breaks. */
static __attribute__((noinline)) int add_tracked(struct gy_link *link, struct gy_frame *frame,
						 struct gyre_address to,
						 const struct gyre_mail *mail)
{
	int r = gy_in_flight_reserve(link);

	r = r < 0 ? r : add_frame(link, frame, to, mail);
	if (r == 0) {
		gy_in_flight_add(link, frame);
	}
	return r;
}

static inline int add_whole(struct gy_link *link, struct gy_frame *frame, struct gyre_address to,
			    const struct gyre_mail *mail)
{
	return gy_unlikely(gy_in_flight_is_tracked(frame)) ? add_tracked(link, frame, to, mail)
							   : add_frame(link, frame, to, mail);
}

/* ---- bounds ---- */

static int check_bounds(const struct gy_link *link, const struct gy_frame *frame)
{
	uint64_t held = link->queued_bytes - link->credited_bytes;
	uint64_t max = link->queued_bytes_max;
	bool answer = frame->kind == GY_WIRE_REPLY || frame->kind == GY_WIRE_EXCEPTION;

	if (frame->bytes > link->message_bytes_max) {
		return -EMSGSIZE;
	}
	if (frame->kind == GY_WIRE_EVENT) {
		/* The end of a watch must not be lost, and there are no more of them than watches;
		 * failures of answers have a bound of their own. */
		return 0;
	}
	/* A message larger than the bound may go alone. */
	if (held > 0 &&
	    held + frame->bytes + GY_WIRE_HEAD_BYTES_MAX > (answer ? max + max / 4 : max)) {
		return -EAGAIN;
	}
	return 0;
}

static bool is_end(const struct gyre_mail *mail)
{
	return mail->type->id == GYRE_ID(gyre_terminated) && mail->node.kind == GY_MAIL_EVENT;
}

/* How long a body may be. The end of a watch goes however full the link is, but its cause only in
 * the same frame, and where a question would have room. */
static size_t body_bytes_max(const struct gy_link *link, const struct gyre_mail *mail)
{
	uint64_t held = link->queued_bytes - link->credited_bytes + GY_WIRE_HEAD_BYTES_MAX;
	uint64_t room = held < link->queued_bytes_max ? link->queued_bytes_max - held : 0;

	if (!is_end(mail)) {
		return link->message_bytes_max;
	}
	room = room < GY_WIRE_BODY_BYTES_MAX ? room : GY_WIRE_BODY_BYTES_MAX;
	room = room < link->message_bytes_max ? room : link->message_bytes_max;
	return room > GY_WIRE_END_BYTES ? room : GY_WIRE_END_BYTES;
}

/* Whose large messages go first: the event of an end is from nobody, but comes after the last mail
 * of the actor that has ended. */
static struct gyre_address ordered_after(const struct gyre_mail *mail)
{
	if (is_end(mail)) {
		return ((const struct gyre_terminated *)(const void *)mail->payload)->actor;
	}
	return gy_mail_sender(mail);
}

/* Orders about watches go at once, for they stay in order among themselves: see rounds.c. */
static bool is_watch_order(const struct gyre_mail *mail)
{
	return mail->type == &gy_type_watch || mail->type == &gy_type_unwatch;
}

static int add(struct gy_link *link, struct gy_frame *frame, struct gyre_address to,
	       const struct gyre_mail *mail)
{
	int r = check_bounds(link, frame);

	if (r < 0) {
		return r;
	}
	if (gy_unlikely(frame->bytes > GY_WIRE_BODY_BYTES_MAX) ||
	    (gy_unlikely(link->fragments_count > 0) && !is_watch_order(mail) &&
	     gy_fragments_pending(link, ordered_after(mail), to))) {
		return gy_fragments_add(link, frame, ordered_after(mail), to);
	}
	return add_whole(link, frame, to, mail);
}

/* ---- mail ---- */

/* Mail whose type does not travel as the bytes that it has here. */
static int encode_body(struct gy_link *link, struct gy_frame *frame, struct gyre_address to,
		       const struct gyre_mail *mail)
{
	struct gyre_encoder out;
	int r = 0;

	gy_encoder_begin(&out, &link->links->encoder, body_bytes_max(link, mail));
	if (mail->type->id < GY_IDS_OF_GYRE) {
		r = gy_runtime_message_encode(mail, frame, &out);
	} else if (!gy_type_travels(mail->type)) {
		r = -EPROTO;
	} else if (gy_type_is_encoded(mail->type)) {
		frame->bytes = 0; /* unless it encodes something */
		r = gy_type_encoding(mail->type)->encode(mail->payload, &out);
	}
	r = r < 0 ? r : out.error;
	if (out.count > 0) {
		frame->body = out.bytes;
		frame->bytes = (uint32_t)out.count;
	}
	if (r == 0) {
		r = add(link, frame, to, mail);
	}
	gy_encoder_end(&out, &link->links->encoder);
	return r;
}

static __attribute__((noinline)) int encode_slow(struct gy_link *link, struct gyre_address to,
						 const struct gyre_mail *mail)
{
	struct gy_frame frame;

	build_head(to, mail, gy_mail_bytes(mail), &frame);
	return is_plain(mail->type) ? add(link, &frame, to, mail)
				    : encode_body(link, &frame, to, mail);
}

int gy_encode(struct gy_link *link, struct gyre_address to, const struct gyre_mail *mail)
{
	uint32_t bytes = mail->type->bytes;
	struct gy_frame frame;

	/* A size that varies is larger than any body. */
	if (gy_unlikely(!is_plain(mail->type) || bytes > GY_WIRE_BODY_BYTES_MAX ||
			bytes > link->message_bytes_max || link->fragments_count > 0 ||
			!gy_encode_has_room(link, bytes))) {
		return encode_slow(link, to, mail);
	}
	build_head(to, mail, bytes, &frame);
	return add_whole(link, &frame, to, mail);
}

static inline void note_in_flight(struct gy_link *link, const struct gyre_mail *mail,
				  struct gyre_address to, uint32_t bytes)
{
	bool ask = mail->node.kind == GY_MAIL_ASK;

	gy_in_flight_put(&link->in_flight,
			 (struct gy_in_flight_item){
				 .end = link->queued_bytes + bytes - link->parcel_bytes +
					link->fragment_bytes,
				 .ask_id = mail->ask_id,
				 .slot = ask ? mail->from.slot : to.slot & gy_slot_mask,
				 .cookie = ask ? mail->from.cookie : to.cookie,
				 .loop = ask ? mail->from.loop : to.loop,
				 .ask = ask,
			 });
}

/* @to says the life of the link, or one that is looked at here. */
static bool may_be_first(const struct gy_link *link, struct gyre_address to,
			 const struct gyre_mail *mail)
{
	uint32_t bytes = mail->type->bytes;

	/* A size that varies is larger than any body. */
	return mail->node.kind <= GY_MAIL_NOTICE && mail->node.kind != GY_MAIL_EXCEPTION &&
	       is_plain(mail->type) && bytes <= GY_WIRE_BODY_BYTES_MAX &&
	       bytes <= link->message_bytes_max && to.node == link->peer->id &&
	       ((to.slot & ~gy_slot_mask) == 0 ||
		(to.life == 0 && (to.slot & ~gy_slot_mask) == link->life_mark)) &&
	       !gy_link_is_stale(link, to) &&
	       gy_encode_is_direct(link, bytes + GY_WIRE_HEAD_BYTES_MAX) &&
	       (mail->node.kind == GY_MAIL_NOTICE || link->in_flight.count < link->in_flight.size);
}

/* To the page. */
static inline void copy_body(unsigned char *to, const struct gyre_mail *mail, uint32_t bytes)
{
	if (bytes == GYRE_MAIL_SMALL_BYTES) {
		memcpy(to, mail->payload, GYRE_MAIL_SMALL_BYTES); /* no call */
	} else {
		memcpy(to, mail->payload, bytes);
	}
}

/* Builds the head where it is to stand. How many bytes. */
static inline uint32_t put_first(unsigned char *at, uint32_t index, struct gyre_address to,
				 const struct gyre_mail *mail)
{
	static const uint8_t kinds[] = { [GY_MAIL_REPLY] = GY_WIRE_REPLY,
					 [GY_MAIL_ASK] = GY_WIRE_ASK,
					 [GY_MAIL_NOTICE] = GY_WIRE_NOTICE };
	const struct gyre_type *type = mail->type;
	enum gy_wire_kind kind = (enum gy_wire_kind)kinds[mail->node.kind];
	const struct gy_frame frame = {
		.to_loop = to.loop,
		.from_loop = mail->from.loop,
		.to_slot = to.slot & gy_slot_mask,
		.to_cookie = to.cookie,
		.from_slot = mail->from.slot,
		.from_cookie = mail->from.cookie,
		.type = type->id,
		.layout = gy_type_layout(type),
		.left = left_of(mail),
	};

	gy_wire_put_head(at, gy_wire_make_word(kind, index, type->bytes), &frame);
	if (kind == GY_WIRE_NOTICE) {
		return GY_WIRE_HEAD_BYTES;
	}
	gy_wire_put_id(at + GY_WIRE_HEAD_BYTES, mail->ask_id);
	return GY_WIRE_HEAD_BYTES_MAX;
}

bool gy_encode_first(struct gy_link *link, uint32_t index, struct gyre_address to,
		     struct gyre_mail *mail)
{
	unsigned char *at = link->frame_page.at;
	uint32_t body_bytes = mail->type->bytes;
	uint32_t head_bytes;

	if (gy_unlikely(!may_be_first(link, to, mail))) {
		return false;
	}
	head_bytes = put_first(at, remember(link, index, to, mail), to, mail);
	copy_body(at + head_bytes, mail, body_bytes);
	if (mail->node.kind != GY_MAIL_NOTICE) {
		note_in_flight(link, mail, to, head_bytes + body_bytes);
	}
	(void)gy_encode_end_repeat(link, mail, head_bytes + body_bytes);
	return true;
}

int gy_encode_repeat_body(struct gy_link *link, const struct gy_sent_head *head,
			  struct gyre_mail *mail)
{
	copy_body(link->frame_page.at + GY_WIRE_WORD_BYTES, mail, head->bytes);
	return gy_encode_end_repeat(link, mail, GY_WIRE_WORD_BYTES + head->bytes);
}

int gy_encode_repeat_id(struct gy_link *link, const struct gy_sent_head *head,
			struct gyre_mail *mail)
{
	uint64_t ask_id = htole64(mail->ask_id);
	unsigned char *at = link->frame_page.at;

	memcpy(at, &head->repeat, sizeof(head->repeat));
	memcpy(at + sizeof(head->repeat), &ask_id, sizeof(ask_id));
	copy_body(at + GY_WIRE_REPEAT_ID_BYTES, mail, head->bytes);
	note_in_flight(link, mail, head->to, GY_WIRE_REPEAT_ID_BYTES + head->bytes);
	return gy_encode_end_repeat(link, mail, GY_WIRE_REPEAT_ID_BYTES + head->bytes);
}
