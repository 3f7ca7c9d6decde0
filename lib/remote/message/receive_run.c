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

static inline struct gy_origin origin_of(const struct gy_link *link,
					 const struct gy_wire_head *wire)
{
	return (struct gy_origin){ .slot = (le32toh(wire->from_slot) & gy_slot_mask) |
					   link->life_mark,
				   .cookie = le32toh(wire->from_cookie),
				   .loop = le16toh(wire->from_loop),
				   .node = link->peer->id };
}

static inline enum gy_lane lane_of(enum gy_wire_kind kind)
{
	return kind == GY_WIRE_NOTICE ? GY_LANE_NOTICE
	       : kind == GY_WIRE_ASK  ? GY_LANE_ASK
				      : GY_LANE_REPLY;
}

/* What messages of a head need to be taken in a run, if they can be: the head has its fields. */
static inline void prepare(const struct gy_link *link, struct gy_received_head *head,
			   uint32_t index)
{
	const struct gy_links *links = link->links;
	const struct gy_types_slot *slot = gy_types_slot(&links->nodes->types, head->type_id);
	bool notice = head->kind == GY_WIRE_NOTICE;

	head->repeat = 0;
	head->lane = (uint8_t)lane_of((enum gy_wire_kind)head->kind);
	head->repeat_bytes = notice ? GY_WIRE_WORD_BYTES : GY_WIRE_REPEAT_ID_BYTES;
	head->type = slot->type;
	if (gy_unlikely(slot->type == NULL) || gy_unlikely(slot->layout != head->layout) ||
	    !slot->is_plain || gy_unlikely(head->to_loop != links->home->here)) {
		return;
	}
	head->house = gy_house_at(links->home, head->to_slot);
	if (gy_likely(head->house != NULL)) {
		head->bytes = slot->bytes;
		head->size_class = slot->size_class;
		head->repeat = gy_wire_make_word(notice ? GY_WIRE_REPEAT : GY_WIRE_REPEAT_ID, index,
						 slot->bytes);
	}
}

static inline void set_head(const struct gy_link *link, const unsigned char *bytes,
			    struct gy_received_head *head)
{
	struct gy_wire_head wire;
	uint32_t word;

	memcpy(&wire, bytes, GY_WIRE_HEAD_BYTES);
	word = le32toh(wire.word);
	head->kind = (uint8_t)gy_wire_word_kind(word);
	head->from = origin_of(link, &wire);
	head->left = le16toh(wire.left);
	head->patience = head->kind == GY_WIRE_ASK ? gy_receive_patience(head->left) : 0;
	head->to_slot = le32toh(wire.to_slot);
	head->to_cookie = le32toh(wire.to_cookie);
	head->type_id = le32toh(wire.type);
	head->to_loop = le16toh(wire.to_loop);
	head->layout = le16toh(wire.layout);
	prepare(link, head, gy_wire_index(word));
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
	return head->repeat != 0 && (word & GY_WIRE_BODY_MASK) == head->bytes ? head_bytes : 0;
}

/*
 * The head of the message at @at, if that can be taken in a run, and how many bytes it has there;
 * NULL if not. A head that is not kept is that message's alone: no other one can name it.
 */
static inline const struct gy_received_head *
find_head(struct gy_link *link, const unsigned char *at, size_t count, uint32_t *ret_bytes)
{
	struct gy_heads *heads = &link->heads;
	uint32_t word = gy_wire_word(at);
	uint32_t index = gy_wire_index(word);
	struct gy_received_head *head =
		index == GY_WIRE_HEADS ? &heads->unkept : &heads->received[index];

	if (gy_unlikely(index > heads->mask && index != GY_WIRE_HEADS) || gy_unlikely(word == 0)) {
		return NULL;
	}
	*ret_bytes = index != GY_WIRE_HEADS && gy_likely(word == head->repeat)
			     ? head->repeat_bytes
			     : keep_head(link, head, at, count);
	return gy_likely(*ret_bytes > 0) ? head : NULL;
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

/* A message of that head, whose body is at @body, as mail; NULL without memory. @bytes and @lane
 * are those of the head. */
static inline __attribute__((always_inline)) struct gyre_mail *
make(struct gy_home *home, const struct gy_received_head *head, const unsigned char *body,
     uint32_t bytes, enum gy_lane lane)
{
	struct gyre_mail *mail = gy_mail_get_plain(
		home, head->type, GYRE_MAIL_HEADER_BYTES + (size_t)bytes, head->size_class);

	if (gy_unlikely(mail == NULL)) {
		return NULL;
	}
	mail->node.kind = (uint8_t)(GY_MAIL_REPLY + lane);
	mail->from = head->from;
	mail->deadline = head->patience;
	mail->ask_id = lane == GY_LANE_NOTICE ? 0 : ask_id_before(body);
	if (lane == GY_LANE_ASK) {
		gy_mail_set_deadline(mail, home->loop.now_ns);
	}
	copy_body(mail, body, bytes);
	return mail;
}

/* Mail that follows each other to one lane of one house, whatever its heads are. */
struct chain {
	struct gy_house *house;
	enum gy_lane lane;
	uint32_t count;	  /* 0: there is none, and no first or last */
	uint64_t counted; /* mail of the chains before */
	uint64_t tracked; /* asks and answers among those */
	struct gy_node *first;
	struct gy_node *last;
};

static inline void put_chain(struct gy_home *home, struct chain *chain)
{
	if (chain->count > 0) {
		gy_house_put_chain(home, chain->house, chain->lane, chain->first, chain->last,
				   chain->count);
		chain->counted += chain->count;
		chain->tracked += chain->lane == GY_LANE_NOTICE ? 0 : chain->count;
		chain->count = 0;
	}
}

static inline void add_to_chain(struct chain *chain, struct gy_node *node)
{
	if (chain->count++ == 0) {
		chain->first = node;
	} else {
		chain->last->next = node;
	}
	chain->last = node;
}

/* Mail goes to another lane or house from now on. */
static inline void turn_chain(struct gy_home *home, struct chain *chain, struct gy_house *house,
			      enum gy_lane lane)
{
	if (house != chain->house || lane != chain->lane) {
		put_chain(home, chain);
		chain->house = house;
		chain->lane = lane;
	}
}

/*
 * Takes the messages at @at that name the head of the one before them, so that the chain is not
 * empty. What they have in common is looked at once for all. @lane is a constant. How many bytes;
 * less than there are without memory.
 */
static inline __attribute__((always_inline)) size_t
take_more(struct gy_home *home, struct chain *chain, const struct gy_received_head *head,
	  const unsigned char *at, size_t count, enum gy_lane lane)
{
	const struct gy_received_head common = *head;
	const uint32_t repeat_bytes =
		lane == GY_LANE_NOTICE ? GY_WIRE_WORD_BYTES : GY_WIRE_REPEAT_ID_BYTES;
	const size_t bytes = repeat_bytes + (size_t)common.bytes;
	struct gy_node *last = chain->last;
	uint32_t taken = 0;
	size_t left = count;

	while (left >= bytes && gy_wire_word(at) == common.repeat) {
		struct gyre_mail *mail = make(home, &common, at + repeat_bytes, common.bytes, lane);

		if (gy_unlikely(mail == NULL)) {
			break;
		}
		last->next = &mail->node;
		last = &mail->node;
		taken++;
		at += bytes;
		left -= bytes;
	}
	chain->last = last;
	chain->count += taken;
	return count - left;
}

static size_t take_more_notices(struct gy_home *home, struct chain *chain,
				const struct gy_received_head *head, const unsigned char *at,
				size_t count)
{
	return take_more(home, chain, head, at, count, GY_LANE_NOTICE);
}

static size_t take_more_asks(struct gy_home *home, struct chain *chain,
			     const struct gy_received_head *head, const unsigned char *at,
			     size_t count)
{
	return take_more(home, chain, head, at, count, GY_LANE_ASK);
}

static size_t take_more_replies(struct gy_home *home, struct chain *chain,
				const struct gy_received_head *head, const unsigned char *at,
				size_t count)
{
	return take_more(home, chain, head, at, count, GY_LANE_REPLY);
}

static inline size_t take_rest(struct gy_home *home, struct chain *chain,
			       const struct gy_received_head *head, const unsigned char *at,
			       size_t count)
{
	if (count < GY_WIRE_WORD_BYTES || gy_wire_word(at) != head->repeat) {
		return 0;
	}
	switch (chain->lane) {
	case GY_LANE_NOTICE:
		return take_more_notices(home, chain, head, at, count);
	case GY_LANE_ASK:
		return take_more_asks(home, chain, head, at, count);
	default:
		return take_more_replies(home, chain, head, at, count);
	}
}

/* Takes the message at the front, and those that follow it with the same head. How many bytes; 0 if
 * it has to be taken by itself. */
static inline size_t take(struct gy_link *link, struct chain *chain, const unsigned char *at,
			  size_t count)
{
	struct gy_home *home = link->links->home;
	uint32_t head_bytes;
	const struct gy_received_head *head = find_head(link, at, count, &head_bytes);
	struct gy_house *house = head == NULL ? NULL : house_of(head);
	struct gyre_mail *mail;
	size_t bytes;

	if (gy_unlikely(house == NULL)) {
		return 0;
	}
	bytes = head_bytes + (size_t)head->bytes;
	mail = bytes > count
		       ? NULL
		       : make(home, head, at + head_bytes, head->bytes, (enum gy_lane)head->lane);
	if (gy_unlikely(mail == NULL)) {
		return 0;
	}
	turn_chain(home, chain, house, (enum gy_lane)head->lane);
	add_to_chain(chain, &mail->node);
	return head == &link->heads.unkept
		       ? bytes
		       : bytes + take_rest(home, chain, head, at + bytes, count - bytes);
}

static void count_run(struct gy_link *link, size_t bytes, const struct chain *chain)
{
	gy_count(&link->links->home->counters.sent, chain->counted);
	link->consumed_frames += chain->counted;
	link->uncredited_tracked += chain->tracked;
	link->consumed_bytes += bytes;
	link->used_ns = link->links->home->loop.now_ns;
}

size_t gy_receive_run(struct gy_link *link, const unsigned char *bytes, size_t count)
{
	struct chain chain = { .house = NULL };
	size_t at = 0;

	if (link->dialled || link->stage != GY_LINK_STAGE_OPEN) {
		return 0;
	}
	while (count - at >= GY_WIRE_WORD_BYTES) {
		size_t taken = take(link, &chain, bytes + at, count - at);

		if (taken == 0) {
			break;
		}
		at += taken;
	}
	put_chain(link->links->home, &chain);
	if (chain.counted > 0) {
		count_run(link, at, &chain);
	}
	return at;
}
