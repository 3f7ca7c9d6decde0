/*
 * Messages with a head that was sent before: who says them, and what becomes of them.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <gyre/outside.h>

#include "remote/message/forward.h"
#include "remote/message/heads.h"
#include "remote/message/service_report.h"
#include "remote/stranger.h"
#include "remote/types.h"

enum { MANY = 3000 };

static const struct gyre_address afar = { .slot = 5, .cookie = 6, .loop = 3, .node = STRANGER_ID };

/* ---- said ---- */

static void tell(struct gyre_address to, uint64_t value)
{
	cr_assert_eq(gyre_system_notify(fixture.system, to,
					gyre_system_new(fixture.system, number, value)),
		     0);
}

static void expect_number(struct stranger *stranger, enum gy_wire_kind kind, uint64_t value)
{
	stranger_expect(stranger, kind);
	cr_assert_eq(stranger->frame.bytes, sizeof(struct number));
	cr_assert_eq(memcmp(stranger->frame.body, &value, sizeof(value)), 0);
}

/* A stranger that the node has dialled. */
static void open_out(struct stranger *stranger)
{
	struct gy_hello hello = stranger_hello();

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_listen(stranger);
	stranger->literal = true;
	tell(afar, 0);
	stranger_accept(stranger);
	stranger_expect(stranger, GY_WIRE_HELLO);
	stranger_say_hello(stranger, &hello);
	expect_number(stranger, GY_WIRE_NOTICE, 0);
}

static void close_out(struct stranger *stranger)
{
	stranger_close(stranger);
	fixture_close();
}

Test(repeat, is_said_of_each_notice_like_the_one_before)
{
	struct stranger stranger;

	open_out(&stranger);
	for (uint64_t i = 1; i < 10; i++) {
		tell(afar, i);
		expect_number(&stranger, GY_WIRE_REPEAT, i);
	}
	close_out(&stranger);
	cr_assert_eq(fixture.counters.to_nodes, 10);
}

Test(repeat, is_not_said_of_one_to_another_actor)
{
	struct gyre_address others[] = { afar, afar, afar };
	struct stranger stranger;

	others[0].slot++;
	others[1].cookie++;
	others[2].loop++;
	open_out(&stranger);
	for (size_t i = 0; i < gy_countof(others); i++) {
		tell(others[i], i);
		expect_number(&stranger, GY_WIRE_NOTICE, i);
		cr_assert_eq(stranger.frame.to_slot, others[i].slot);
		cr_assert_eq(stranger.frame.to_cookie, others[i].cookie);
		cr_assert_eq(stranger.frame.to_loop, others[i].loop);
		for (int more = 0; more < GY_HEAD_PASSED_MAX; more++) {
			tell(others[i], i); /* until it has the place, whosever that was */
			cr_assert(stranger_hear(&stranger));
		}
		tell(others[i], i);
		expect_number(&stranger, GY_WIRE_REPEAT, i);
	}
	close_out(&stranger);
}

Test(repeat, is_said_of_each_type_once_it_has_been_in_full)
{
	struct stranger stranger;

	open_out(&stranger);
	cr_assert_eq(gyre_system_notify(fixture.system, afar,
					gyre_system_new(fixture.system, place, afar)),
		     0);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	cr_assert_eq(stranger.frame.type, gyre_type_place.id);
	tell(afar, 1);
	expect_number(&stranger, GY_WIRE_REPEAT, 1);
	cr_assert_eq(gyre_system_notify(fixture.system, afar,
					gyre_system_new(fixture.system, place, afar)),
		     0);
	stranger_expect(&stranger, GY_WIRE_REPEAT);
	cr_assert_eq(stranger.frame.bytes, sizeof(struct place));
	close_out(&stranger);
}

/* More heads than a link has room for at first take each other's places, until there is more. One
 * that ends a page of frames is said in full again, where the kernel had not yet sent that page. */
Test(repeat, is_said_of_each_of_many_receivers)
{
	enum { RECEIVERS = 256, ROUNDS = 3, PAGES_MAX = 4 };
	struct stranger stranger;
	uint16_t indices[RECEIVERS];
	uint32_t repeats = 0;

	open_out(&stranger);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < RECEIVERS; i++) {
			struct gyre_address to = afar;

			to.slot += 1 + i;
			tell(to, i);
			cr_assert(stranger_hear(&stranger));
			cr_assert_eq(memcmp(stranger.frame.body, &(uint64_t){ i }, 8), 0);
			cr_assert(round < ROUNDS - 1 || stranger.frame.index == indices[i]);
			indices[i] = stranger.frame.index;
			repeats += stranger.frame.kind == GY_WIRE_REPEAT && round == ROUNDS - 1;
		}
	}
	cr_assert_geq(repeats, RECEIVERS - PAGES_MAX);
	close_out(&stranger);
}

/* Another actor whose heads have the place of those for @afar, as long as there are few. */
static struct gyre_address rival(void)
{
	struct gyre_address to = afar;

	to.slot += GY_HEADS_FIRST;
	return to;
}

Test(repeat, is_said_of_one_whose_place_another_one_wants)
{
	struct stranger stranger;

	open_out(&stranger);
	for (uint64_t i = 0; i < 4 * GY_HEAD_PASSED_MAX; i++) {
		tell(rival(), i);
		expect_number(&stranger, GY_WIRE_NOTICE, i);
		cr_assert_eq(stranger.frame.index, GY_WIRE_HEADS);
		tell(afar, i);
		expect_number(&stranger, GY_WIRE_REPEAT, i);
	}
	close_out(&stranger);
}

Test(repeat, is_said_of_one_that_wants_the_place_of_another_often_enough)
{
	struct stranger stranger;

	open_out(&stranger);
	for (uint64_t i = 0; i < GY_HEAD_PASSED_MAX; i++) {
		tell(rival(), i);
		expect_number(&stranger, GY_WIRE_NOTICE, i);
		cr_assert_eq(stranger.frame.index, GY_WIRE_HEADS);
	}
	tell(rival(), 1);
	expect_number(&stranger, GY_WIRE_NOTICE, 1);
	cr_assert_lt(stranger.frame.index, GY_HEADS_FIRST);
	tell(rival(), 2);
	expect_number(&stranger, GY_WIRE_REPEAT, 2);
	tell(afar, 3);
	expect_number(&stranger, GY_WIRE_NOTICE, 3);
	close_out(&stranger);
}

static int orders_between(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, afar, gyre_new(stack, number, 1)) == 0);
	expect(gyre_notify(stack, afar, gyre_new(stack, number, 2)) == 0);
	expect(gyre_poison(stack, afar) == 0);
	expect(gyre_notify(stack, afar, gyre_new(stack, number, 3)) == 0);
	return gyre_return(stack);
}

static const struct gyre_class orders_class = { .name = "orders",
						.behaviour.notice = orders_between };

Test(repeat, is_said_of_one_after_an_order_which_has_a_head_that_is_not_kept)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;
	struct gyre_address local =
		stranger_open_with(&(struct gyre_node_options){ 0 }, &orders_class);

	stranger_listen(&stranger);
	stranger.literal = true;
	tell(local, 0);
	stranger_accept(&stranger);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_say_hello(&stranger, &hello);
	expect_number(&stranger, GY_WIRE_NOTICE, 1);
	expect_number(&stranger, GY_WIRE_REPEAT, 2);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	cr_assert_eq(stranger.frame.type, gy_type_poison.id);
	cr_assert_eq(stranger.frame.index, GY_WIRE_HEADS);
	expect_number(&stranger, GY_WIRE_REPEAT, 3);
	close_out(&stranger);
}

/* Its second order is in memory that a notice of its own was in. */
Test(order, tells_no_peer_what_was_in_memory_before)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;
	struct gyre_address local =
		stranger_open_with(&(struct gyre_node_options){ 0 }, &orders_class);

	stranger_listen(&stranger);
	tell(local, 0);
	stranger_accept(&stranger);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_say_hello(&stranger, &hello);
	for (int i = 0; i < 2; i++) {
		expect_number(&stranger, GY_WIRE_NOTICE, 1);
		cr_assert_eq(stranger.frame.from_cookie, local.cookie);
		expect_number(&stranger, GY_WIRE_NOTICE, 2);
		stranger_expect(&stranger, GY_WIRE_NOTICE);
		cr_assert_eq(stranger.frame.type, gy_type_poison.id);
		cr_assert_eq(stranger.frame.from_slot, 0);
		cr_assert_eq(stranger.frame.from_cookie, 0);
		cr_assert_eq(stranger.frame.from_loop, 0);
		expect_number(&stranger, GY_WIRE_NOTICE, 3);
		tell(local, 0);
	}
	close_out(&stranger);
}

static bool is_linked(void)
{
	struct gyre_node_status status = { 0 };

	cr_assert_eq(gyre_system_node_status(fixture.system, STRANGER_ID, &status), 0);
	return status.links > 0;
}

Test(repeat, is_not_said_of_the_first_on_another_connection)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	open_out(&stranger);
	tell(afar, 1);
	expect_number(&stranger, GY_WIRE_REPEAT, 1);
	cr_assert_eq(close(stranger.fd), 0);
	while (is_linked()) {
		(void)sched_yield();
	}
	tell(afar, 2);
	stranger_accept(&stranger);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_say_hello(&stranger, &hello);
	expect_number(&stranger, GY_WIRE_NOTICE, 2);
	close_out(&stranger);
}

/* ---- heard ---- */

static uint64_t last_received[2 * MANY];
static uint32_t heard_count; /* atomic */
static uint32_t refused;     /* asks of settle() */

static int hears(struct gyre_stack *stack)
{
	const struct number *number = gyre_message(stack, number);
	const struct place *place = gyre_message(stack, place);

	if (heard_count < gy_countof(last_received)) {
		last_received[heard_count] = number != NULL ? number->value : place->address.slot;
		gy_store_relaxed(&heard_count, heard_count + 1);
	}
	return gyre_return(stack);
}

static int answers(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, number, heard_count));
}

static const struct gyre_class ear_class = { .name = "ear",
					     .behaviour = { .notice = hears, .ask = answers } };
static const struct gyre_class full_class = { .name = "full",
					      .behaviour = { .notice = hears, .ask = answers },
					      .mailbox_limit = 4 };

static struct gy_frame frame_to(struct gyre_address to, enum gy_wire_kind kind,
				const struct gyre_type *type, const void *body)
{
	return (struct gy_frame){ .kind = kind,
				  .to_loop = to.loop,
				  .to_slot = to.slot,
				  .to_cookie = to.cookie,
				  .from_slot = 3,
				  .from_cookie = 4,
				  .type = type->id,
				  .layout = gy_type_layout(type),
				  .ask_id = 1,
				  .bytes = type->bytes,
				  .body = (const unsigned char *)body };
}

/* One notice in full, and @count like it with the numbers that follow, in one write. */
static void say_run(struct stranger *stranger, struct gyre_address to, uint64_t first,
		    uint32_t count)
{
	static unsigned char bytes[GY_WIRE_HEAD_BYTES_MAX + (MANY + 1) * 12];
	size_t at = 0;

	for (uint64_t i = first; i <= first + count; i++) {
		const struct number number = { i };
		const struct gy_frame frame =
			frame_to(to, i == first ? GY_WIRE_NOTICE : GY_WIRE_REPEAT,
				 &gyre_type_number, &number);

		at += gy_wire_put(&frame, bytes + at);
		memcpy(bytes + at, &number, sizeof(number));
		at += sizeof(number);
	}
	stranger_say_bytes(stranger, bytes, at);
}

/* What the ear tells of itself; nothing where its mailbox is full just then. */
static uint64_t hear_answer(struct stranger *out)
{
	struct number answer = { 0 };
	int32_t error;

	cr_assert(stranger_hear(out), "the connection ended");
	if (out->frame.kind == GY_WIRE_EXCEPTION) {
		memcpy(&error, out->frame.body, sizeof(error));
		cr_assert_eq(error, -ENOBUFS);
		refused++;
	} else {
		cr_assert_eq(out->frame.kind, GY_WIRE_REPLY);
		memcpy(&answer, out->frame.body, sizeof(answer));
	}
	return answer.value;
}

/* What was said before is in the mailbox by the time of the first answer; asks overtake it there.
 */
static void settle(struct stranger *stranger, struct gyre_address local, uint64_t count)
{
	const struct number one = { 1 };
	const struct gy_frame ask = frame_to(local, GY_WIRE_ASK, &gyre_type_number, &one);
	struct stranger out;

	stranger_listen(&out);
	stranger_say_frame(stranger, &ask);
	stranger_welcome(&out);
	while (hear_answer(&out) < count) {
		stranger_say_frame(stranger, &ask);
	}
	stranger_close(&out);
}

static void expect_heard(uint32_t count)
{
	cr_assert_eq(heard_count, count, "%u", heard_count);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(last_received[i], i, "%u: %lu", i, (unsigned long)last_received[i]);
	}
}

static struct gyre_address open_in(struct stranger *stranger, const struct gyre_class *class)
{
	struct gyre_address local =
		stranger_open_with(&(struct gyre_node_options){ .heartbeat_ns = GYRE_SECONDS(60),
								.suspect_ns = GYRE_SECONDS(600),
								.down_ns = GYRE_SECONDS(900) },
				   class);

	stranger_meet(stranger);
	return local;
}

Test(repeat, is_heard_in_order_however_it_is_cut)
{
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);

	say_run(&stranger, local, 0, MANY);
	settle(&stranger, local, MANY + 1);
	stranger_close(&stranger);
	fixture_close();
	expect_heard(MANY + 1);
}

Test(repeat, is_of_the_last_notice_in_full)
{
	const struct place place = { { .slot = 3 } };
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	struct gy_frame other = frame_to(local, GY_WIRE_NOTICE, &gyre_type_place, &place);

	say_run(&stranger, local, 0, 2);
	stranger_say_frame(&stranger, &other);
	say_run(&stranger, local, 4, 3);
	other.kind = GY_WIRE_REPEAT; /* the length of a place, after a number */
	stranger_say_frame(&stranger, &other);
	settle(&stranger, local, 8);
	stranger_close(&stranger);
	fixture_close();
	expect_heard(8);
	cr_assert_eq(fixture.lost[GYRE_DROP_NOT_UNDERSTOOD], 1);
}

/* Two heads, of two types, that take turns; each number is said once. */
Test(repeat, is_of_the_head_that_it_names)
{
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);

	for (uint32_t i = 0; i < 10; i++) {
		const struct number number = { i };
		const struct place place = { { .slot = i } };
		struct gy_frame frame =
			i % 2 == 0 ? frame_to(local, GY_WIRE_NOTICE, &gyre_type_number, &number)
				   : frame_to(local, GY_WIRE_NOTICE, &gyre_type_place, &place);

		frame.index = i % 2 == 0 ? 3 : GY_WIRE_HEADS - 1;
		frame.kind = i < 2 ? GY_WIRE_NOTICE : GY_WIRE_REPEAT;
		stranger_say_frame(&stranger, &frame);
	}
	settle(&stranger, local, 10);
	stranger_close(&stranger);
	fixture_close();
	expect_heard(10);
}

/* In one write: notices whose heads are not kept, and between them some that name one which is. */
Test(repeat, is_of_the_head_that_is_kept_whatever_comes_between)
{
	enum { COUNT = 60 };
	static unsigned char bytes[COUNT * (GY_WIRE_HEAD_BYTES_MAX + sizeof(struct place))];
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	size_t at = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		const struct number number = { i };
		const struct place place = { { .slot = i } };
		bool kept = i % 3 == 0;
		struct gy_frame frame =
			i % 2 == 0 || kept
				? frame_to(local, GY_WIRE_NOTICE, &gyre_type_number, &number)
				: frame_to(local, GY_WIRE_NOTICE, &gyre_type_place, &place);

		frame.kind = kept && i > 0 ? GY_WIRE_REPEAT : GY_WIRE_NOTICE;
		frame.index = kept ? 9 : GY_WIRE_HEADS;
		at += gy_wire_put(&frame, bytes + at);
		memcpy(bytes + at, frame.body, frame.bytes);
		at += frame.bytes;
	}
	stranger_say_bytes(&stranger, bytes, at);
	settle(&stranger, local, COUNT);
	stranger_close(&stranger);
	fixture_close();
	expect_heard(COUNT);
}

/* Not even of the same message, right behind it. */
Test(repeat, ends_the_link_behind_a_head_that_is_not_kept)
{
	unsigned char bytes[2 * (GY_WIRE_HEAD_BYTES + sizeof(struct number))];
	const struct number number = { 0 };
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	struct gy_frame frame = frame_to(local, GY_WIRE_NOTICE, &gyre_type_number, &number);
	size_t at = 0;

	for (int i = 0; i < 2; i++) {
		frame.index = GY_WIRE_HEADS;
		at += gy_wire_put(&frame, bytes + at);
		memcpy(bytes + at, &number, sizeof(number));
		at += sizeof(number);
		frame.kind = GY_WIRE_REPEAT;
	}
	stranger_say_bytes(&stranger, bytes, at);
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
	expect_heard(1);
}

Test(repeat, of_an_ask_has_an_id_of_its_own_and_so_has_that_of_its_answer)
{
	const struct number one = { 1 };
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	struct gy_frame ask = frame_to(local, GY_WIRE_ASK, &gyre_type_number, &one);
	struct stranger out;

	ask.index = 7;
	stranger_listen(&out);
	out.literal = true;
	stranger_say_frame(&stranger, &ask);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_REPLY);
	cr_assert_eq(out.frame.ask_id, 1);
	for (uint64_t id = 2; id < 10; id++) {
		uint16_t index = out.frame.index;

		ask.kind = GY_WIRE_REPEAT_ID;
		ask.ask_id = id;
		stranger_say_frame(&stranger, &ask);
		stranger_expect(&out, GY_WIRE_REPEAT_ID);
		cr_assert_eq(out.frame.ask_id, id);
		cr_assert_eq(out.frame.index, index);
		cr_assert_eq(out.frame.bytes, sizeof(struct number));
	}
	stranger_close(&out);
	stranger_close(&stranger);
	fixture_close();
}

/* Long before their bytes would be worth it; nobody waits for these. */
Test(repeat, of_answers_is_credited_when_there_are_many)
{
	enum { ANSWERS = 2048 };
	static unsigned char bytes[ANSWERS * (GY_WIRE_HEAD_BYTES_MAX + sizeof(struct number))];
	const struct number number = { 0 };
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	struct gyre_decoder in;
	size_t at = 0;

	for (uint32_t i = 0; i < ANSWERS; i++) {
		struct gy_frame frame = frame_to(local, GY_WIRE_REPLY, &gyre_type_number, &number);

		frame.kind = i == 0 ? GY_WIRE_REPLY : GY_WIRE_REPEAT_ID;
		at += gy_wire_put(&frame, bytes + at);
		memcpy(bytes + at, &number, sizeof(number));
		at += sizeof(number);
	}
	stranger_say_bytes(&stranger, bytes, at);
	stranger_expect(&stranger, GY_WIRE_CREDIT);
	in = (struct gyre_decoder){ .at = stranger.frame.body, .left = stranger.frame.bytes };
	cr_assert_eq(gyre_decode_u64(&in), at);
	cr_assert_eq(gyre_decode_u64(&in), ANSWERS);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_LATE], ANSWERS);
}

Test(repeat, is_lost_where_nobody_is)
{
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	struct gyre_address nobody = local;

	nobody.cookie++;
	say_run(&stranger, nobody, 0, 10);
	settle(&stranger, local, 0);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_NO_ACTOR], 11);
}

/* Not what is owed for answers that were on their way to the stranger at the end. */
static uint32_t lost_numbers(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fixture.letters_count; i++) {
		count += fixture.letters[i].type == gyre_type_number.id;
	}
	return count;
}

Test(repeat, is_lost_where_the_mailbox_is_full)
{
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &full_class);

	/* So few come at once, and are in the mailbox before the actor runs. */
	say_run(&stranger, local, 0, 9);
	settle(&stranger, local, 4);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(heard_count + lost_numbers(), 10 + refused);
}

static void play_fatal(bool after_another_connection)
{
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);

	if (after_another_connection) {
		say_run(&stranger, local, 0, 1);
		settle(&stranger, local, 2);
		stranger_close(&stranger);
		stranger_meet(&stranger);
	}
	stranger_say_frame(&stranger, &(struct gy_frame){ .kind = GY_WIRE_REPEAT });
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

/* A head of that kind and index is said, and one of another kind or index is named. */
static void play_wrong_name(enum gy_wire_kind kind, enum gy_wire_kind repeat, uint16_t index)
{
	const struct number one = { 1 };
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);
	struct gy_frame frame = frame_to(local, kind, &gyre_type_number, &one);

	frame.index = 5;
	stranger_say_frame(&stranger, &frame);
	frame.kind = repeat;
	frame.index = index;
	stranger_say_frame(&stranger, &frame);
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

Test(repeat, ends_the_link_when_no_head_was_said_with_its_index)
{
	play_wrong_name(GY_WIRE_NOTICE, GY_WIRE_REPEAT, 4);
}

Test(repeat, ends_the_link_when_it_names_a_head_that_is_not_kept)
{
	play_wrong_name(GY_WIRE_NOTICE, GY_WIRE_REPEAT, GY_WIRE_HEADS);
}

Test(repeat, ends_the_link_when_it_names_a_head_that_there_is_no_room_for_yet)
{
	play_wrong_name(GY_WIRE_NOTICE, GY_WIRE_REPEAT, GY_WIRE_HEADS - 1);
}

Test(repeat, ends_the_link_when_it_names_the_head_of_an_ask_without_an_id)
{
	play_wrong_name(GY_WIRE_ASK, GY_WIRE_REPEAT, 5);
}

Test(repeat, ends_the_link_when_it_names_the_head_of_a_notice_with_an_id)
{
	play_wrong_name(GY_WIRE_NOTICE, GY_WIRE_REPEAT_ID, 5);
}

Test(repeat, ends_the_link_before_any_notice)
{
	play_fatal(false);
}

Test(repeat, ends_the_link_before_any_notice_on_that_connection)
{
	play_fatal(true);
}

Test(repeat, ends_the_link_when_the_side_that_was_dialled_says_it)
{
	struct stranger stranger;

	open_out(&stranger);
	stranger_say_frame(&stranger, &(struct gy_frame){ .kind = GY_WIRE_REPEAT });
	stranger_expect_end(&stranger);
	close_out(&stranger);
}

/* ---- in a wrapper ---- */

/* A notice that a third node has sent, or so this one says. */
static void say_forwarded(struct stranger *stranger, struct gyre_address to,
			  const struct gyre_type *type, uint64_t value)
{
	unsigned char body[64] = { 0 };
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };
	struct gy_frame frame = frame_to(to, GY_WIRE_NOTICE, type, body);

	gyre_encode_u32(&out, 9U << 16);
	gyre_encode_u32(&out, 3);
	gyre_encode_u32(&out, 4);
	gyre_encode_u32(&out, 5);
	gyre_encode_u32(&out, type->id);
	gyre_encode_u32(&out, gy_type_layout(type));
	gyre_encode_u64(&out, value);
	frame.type = GY_ID_FORWARDED;
	frame.layout = 0;
	frame.index = GY_WIRE_HEADS;
	frame.bytes = (uint32_t)out.count;
	stranger_say_frame(stranger, &frame);
}

Test(forwarded, is_no_message_of_gyres_own)
{
	struct stranger stranger;
	struct gyre_address local = open_in(&stranger, &ear_class);

	say_forwarded(&stranger, local, &gyre_type_number, 0);
	say_forwarded(&stranger, local, &gyre_type_gy_service_receipt, 1);
	say_forwarded(&stranger, local, &gyre_type_number, 1);
	settle(&stranger, local, 2);
	stranger_close(&stranger);
	fixture_close();
	expect_heard(2);
	cr_assert_eq(fixture.lost[GYRE_DROP_NOT_UNDERSTOOD], 1);
}
