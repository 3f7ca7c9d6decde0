/*
 * Runs of plain messages: those that travel as their bytes, and are for an actor of this loop
 * without a limit. Most name a head that came before, and what it stands for here was found then:
 * one comparison of the whole word tells that the message is as long as its type, and of a kind
 * that may name that head. Messages that follow each other with the same head go to their actor as
 * one chain.
 */
#include "remote/message/receive_run.h"

#include <string.h>

#include "actor/mail/mail_pool.h"
#include "actor/mail/mailbox.h"

/* ---- heads ---- */

/* The type of messages that travel as their bytes, all as many, and are for an actor of this loop;
 * NULL for those of another head. */
static inline const struct gyre_type *plain_type(const struct gy_links *links,
						 const struct gy_wire_head *wire)
{
	uint32_t id = le32toh(wire->type);
	const struct gyre_type *type =
		id < GY_IDS_OF_GYRE || le16toh(wire->to_loop) != links->home->here
			? NULL
			: gy_receive_type(links, id, le16toh(wire->layout));

	return type != NULL && !gy_type_is_encoded(type) && type->bytes <= GY_WIRE_BODY_BYTES_MAX
		       ? type
		       : NULL;
}

static inline struct gy_origin origin_of(const struct gy_link *link,
					 const struct gy_wire_head *wire)
{
	return (struct gy_origin){ .slot = (le32toh(wire->from_slot) & gy_slot_mask) |
					   link->life_mark,
				   .cookie = le32toh(wire->from_cookie),
				   .loop = le16toh(wire->from_loop),
				   .node = link->peer->id };
}

static inline void set_head(const struct gy_link *link, const unsigned char *bytes,
			    struct gy_received_head *head)
{
	struct gy_wire_head wire;
	const struct gyre_type *type;
	enum gy_wire_kind kind;
	bool notice;

	memcpy(&wire, bytes, GY_WIRE_HEAD_BYTES);
	kind = gy_wire_word_kind(le32toh(wire.word));
	notice = kind == GY_WIRE_NOTICE;
	type = plain_type(link->links, &wire);
	head->to_slot = le32toh(wire.to_slot);
	head->house = type == NULL ? NULL : gy_house_at(link->links->home, head->to_slot);
	head->repeat = head->house == NULL
			       ? 0
			       : gy_wire_make_word(notice ? GY_WIRE_REPEAT : GY_WIRE_REPEAT_ID,
						   gy_wire_index(le32toh(wire.word)), type->bytes);
	head->repeat_bytes = notice ? GY_WIRE_WORD_BYTES : GY_WIRE_REPEAT_ID_BYTES;
	head->type = type;
	head->from = origin_of(link, &wire);
	head->left = le16toh(wire.left);
	head->patience = kind == GY_WIRE_ASK ? gy_receive_patience(head->left) : 0;
	head->to_cookie = le32toh(wire.to_cookie);
	head->type_id = le32toh(wire.type);
	head->to_loop = le16toh(wire.to_loop);
	head->layout = le16toh(wire.layout);
	head->kind = (uint8_t)kind;
}

void gy_receive_head(const struct gy_link *link, const unsigned char *bytes,
		     struct gy_received_head *head)
{
	set_head(link, bytes, head);
}

/* Keeps the head that a message has itself. How many bytes it has, or 0 if it cannot be taken in a
 * run; it may be looked at again then. */
static inline uint32_t keep_head(const struct gy_link *link, struct gy_received_head *head,
				 const unsigned char *bytes, size_t count)
{
	uint32_t word = gy_wire_word(bytes);
	enum gy_wire_kind kind = gy_wire_word_kind(word);
	uint32_t head_bytes = kind == GY_WIRE_NOTICE ? GY_WIRE_HEAD_BYTES : GY_WIRE_HEAD_BYTES_MAX;

	if ((kind != GY_WIRE_NOTICE && kind != GY_WIRE_ASK && kind != GY_WIRE_REPLY) ||
	    head_bytes > count || (word & GY_WIRE_BODY_MASK) > GY_WIRE_BODY_BYTES_MAX) {
		return 0;
	}
	set_head(link, bytes, head);
	return head->repeat != 0 && (word & GY_WIRE_BODY_MASK) == head->type->bytes ? head_bytes
										    : 0;
}

/* The head of a whole message that can be taken in a run, and how many bytes it has there; NULL for
 * none. */
static inline const struct gy_received_head *
find_head(const struct gy_link *link, const unsigned char *bytes, size_t count, uint32_t *ret_bytes)
{
	uint32_t word = gy_wire_word(bytes);
	uint32_t index = gy_wire_index(word);
	struct gy_received_head *head;
	uint32_t head_bytes;

	if (gy_unlikely(index > link->heads.mask || word == 0)) {
		return NULL;
	}
	head = &link->heads.received[index];
	head_bytes = gy_likely(word == head->repeat) ? head->repeat_bytes
						     : keep_head(link, head, bytes, count);
	if (head_bytes == 0 || head_bytes + (size_t)head->type->bytes > count) {
		return NULL;
	}
	*ret_bytes = head_bytes;
	return head;
}

/* ---- messages ---- */

/* The house of the receiver, if mail goes there without more ado. */
static inline struct gy_house *house_of(const struct gy_received_head *head)
{
	struct gy_house *house = head->house;

	return gy_likely(gy_load_acquire(&house->self.cookie) == head->to_cookie) &&
			       gy_likely(gy_house_is_occupied(house)) &&
			       gy_likely(house->limit == 0)
		       ? house
		       : NULL;
}

/* The id of an ask, which ends each head that has one. */
static inline uint64_t ask_id_before(const unsigned char *body)
{
	uint64_t ask_id;

	memcpy(&ask_id, body - sizeof(ask_id), sizeof(ask_id));
	return le64toh(ask_id);
}

static inline void copy_body(struct gyre_mail *mail, const unsigned char *body, uint32_t bytes)
{
	if (bytes == GYRE_MAIL_SMALL_BYTES) {
		memcpy(mail->payload, body, GYRE_MAIL_SMALL_BYTES); /* no call */
	} else if (bytes > 0) {
		memcpy(mail->payload, body, bytes);
	}
}

/* Messages of the same head. */
struct run {
	const struct gy_received_head *head;
	const unsigned char *bytes;
	size_t count;	     /* that are there, of the first one all */
	uint32_t head_bytes; /* of the first one */
	uint32_t frames;     /* that were taken */
};

/*
 * Takes messages as long as they name the same head: type and pool are found once for all. @lane is
 * a constant. How many bytes; less than there are without memory.
 */
static inline __attribute__((always_inline)) size_t
take_run(struct gy_home *home, struct gy_house *house, struct run *run, enum gy_lane lane)
{
	const struct gy_received_head *head = run->head;
	const struct gyre_type *type = head->type;
	const struct gy_origin from = head->from;
	const uint32_t patience = head->patience;
	const uint32_t repeat = head->repeat;
	const uint32_t body_bytes = type->bytes;
	const uint32_t repeat_bytes =
		lane == GY_LANE_NOTICE ? GY_WIRE_WORD_BYTES : GY_WIRE_REPEAT_ID_BYTES;
	const size_t mail_bytes = GYRE_MAIL_HEADER_BYTES + (size_t)body_bytes;
	const uint8_t size_class = gy_sizes_class(mail_bytes);
	const unsigned char *body = run->bytes + run->head_bytes;
	const unsigned char *end = run->bytes + run->count;
	struct gy_node *first = NULL;
	struct gy_node *last = NULL;
	uint32_t frames = 0;

	for (;;) {
		struct gyre_mail *mail = gy_mail_get_of_class(home, type, mail_bytes, size_class);

		if (gy_unlikely(mail == NULL)) {
			body -= frames == 0 ? run->head_bytes : repeat_bytes;
			break;
		}
		mail->node.kind = (uint8_t)(GY_MAIL_REPLY + lane);
		mail->from = from;
		mail->ask_id = lane == GY_LANE_NOTICE ? 0 : ask_id_before(body);
		mail->deadline = patience;
		if (lane == GY_LANE_ASK) {
			gy_mail_set_deadline(mail, home->loop.now_ns);
		}
		copy_body(mail, body, body_bytes);
		if (first == NULL) {
			first = &mail->node;
		} else {
			last->next = &mail->node;
		}
		last = &mail->node;
		frames++;
		body += body_bytes;
		if ((size_t)(end - body) < repeat_bytes + (size_t)body_bytes ||
		    gy_wire_word(body) != repeat) {
			break;
		}
		body += repeat_bytes;
	}
	run->frames = frames;
	if (gy_likely(frames > 0)) {
		gy_house_put_chain(home, house, lane, first, last, frames);
	}
	return (size_t)(body - run->bytes);
}

static size_t take_notices(struct gy_home *home, struct gy_house *house, struct run *run)
{
	return take_run(home, house, run, GY_LANE_NOTICE);
}

static size_t take_asks(struct gy_home *home, struct gy_house *house, struct run *run)
{
	return take_run(home, house, run, GY_LANE_ASK);
}

static size_t take_replies(struct gy_home *home, struct gy_house *house, struct run *run)
{
	return take_run(home, house, run, GY_LANE_REPLY);
}

static size_t take(struct gy_home *home, struct gy_house *house, struct run *run)
{
	switch ((enum gy_wire_kind)run->head->kind) {
	case GY_WIRE_NOTICE:
		return take_notices(home, house, run);
	case GY_WIRE_ASK:
		return take_asks(home, house, run);
	default:
		return take_replies(home, house, run);
	}
}

static void count_run(struct gy_link *link, size_t bytes, uint64_t frames)
{
	gy_count(&link->links->home->counters.sent, frames);
	link->consumed_frames += frames;
	link->consumed_bytes += bytes;
	link->used_ns = link->links->home->loop.now_ns;
}

size_t gy_receive_run(struct gy_link *link, const unsigned char *bytes, size_t count)
{
	struct gy_home *home = link->links->home;
	struct run run;
	size_t at = 0;
	uint64_t frames = 0;

	if (link->dialled || link->stage != GY_LINK_STAGE_OPEN) {
		return 0;
	}
	while (count - at >= GY_WIRE_WORD_BYTES) {
		struct gy_house *house;

		run.bytes = bytes + at;
		run.count = count - at;
		run.head = find_head(link, run.bytes, run.count, &run.head_bytes);
		house = run.head == NULL ? NULL : house_of(run.head);
		if (gy_unlikely(house == NULL)) {
			break;
		}
		at += take(home, house, &run);
		if (gy_unlikely(run.frames == 0)) {
			break;
		}
		frames += run.frames;
	}
	if (frames > 0) {
		count_run(link, at, frames);
	}
	return at;
}
