/*
 * Notices that find no memory for the stack of their handler: those of gyre's own wait, and so do
 * all to an actor that has asked a stream for elements; others are lost.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <gyre/batch.h>
#include <gyre/stream_ends.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "fixture.h"
#include "net/no_memory_rig.h"

enum { FRAME_BYTES = 3000, NOTICES_MAX = 16 }; /* of a size that nobody else has */

TestSuite(no_memory_notice, .timeout = 60, .init = lean_open, .fini = lean_close);

/* ---- actors that trace what they hear: notices of gyre's own are capitals ---- */

static bool requests; /* elements of a stream */

static int hear(struct gyre_stack *stack)
{
	const struct gyre_stream_opened *opened = gyre_message(stack, gyre_stream_opened);

	if (requests) {
		expect(gyre_stream_request(stack, (struct gyre_stream_ref){ 0 }, 1) == -ESRCH);
	}
	trace((char)(opened != NULL ? opened->tag : gyre_message(stack, number)->value));
	return gyre_return(stack);
}

static int hear_batch(struct gyre_stack *stack)
{
	trace('(');
	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		const struct gyre_stream_opened *opened =
			gyre_batch_get(stack, i, gyre_stream_opened);

		trace((char)(opened != NULL ? opened->tag
					    : gyre_batch_get(stack, i, number)->value));
	}
	trace(')');
	return gyre_return(stack);
}

static int hear_ask(struct gyre_stack *stack)
{
	trace('?');
	return gyre_return(stack);
}

static int hear_mark(struct gyre_stack *stack)
{
	trace(gyre_message(stack, gyre_mailbox_mark)->high ? '+' : '-');
	return gyre_return(stack);
}

static bool is_of_gyre(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type == &gyre_type_gyre_stream_opened;
}

static bool is_any(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static struct gyre_class class_of_test = { .name = "hearer",
					   .frame_bytes = FRAME_BYTES,
					   .behaviour = { .notice = hear,
							  .ask = hear_ask,
							  .event = hear_mark,
							  .notice_batch = hear_batch } };

static struct gyre_mail *make(char what)
{
	struct gyre_mail *mail;

	if (isupper(what)) {
		mail = gy_mail_get(&lean_rig.home, &gyre_type_gyre_stream_opened);
		cr_assert_not_null(mail);
		*(struct gyre_stream_opened *)gyre_payload(mail) =
			(struct gyre_stream_opened){ .tag = (uint64_t)what };
	} else {
		mail = gy_mail_get(&lean_rig.home, &gyre_type_number);
		cr_assert_not_null(mail);
		*(struct number *)gyre_payload(mail) = (struct number){ (uint64_t)what };
	}
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	return mail;
}

static struct gy_house *spawn(void)
{
	const struct gy_spawn_order order = { .class = &class_of_test };
	struct gyre_address address;

	cr_assert_eq(gy_spawn(&lean_rig.home, &order, 0, &address), 0);
	rig_turn(&lean_rig);
	return gy_house_find(&lean_rig.home, address.slot, address.cookie);
}

static void put(struct gy_house *house, struct gyre_mail *mail)
{
	cr_expect_eq(gy_send(&lean_rig.home, gy_house_address(house), mail, GY_LANE_NOTICE), 0);
}

static void take_memory(void)
{
	lean_take_stacks();
	heap_end_after(0);
}

static void give_memory_back(void)
{
	cr_expect(heap_recover(), "nothing was lacking");
	lean_give_stacks_back();
}

/* Sends what @sent says while there is no memory, and expects what is heard when there is. */
static void play_lack(const char *sent, const char *heard, uint32_t waiting)
{
	struct gy_house *house = spawn();
	struct gyre_mail *mails[NOTICES_MAX];
	size_t count = strlen(sent);
	const uint64_t *dropped = &lean_rig.home.counters.dropped[GYRE_DROP_NO_MEMORY];
	const char *new;
	uint64_t lost;

	put(house, make('w')); /* has what is needed once */
	rig_turn(&lean_rig);
	new = traced + strlen(traced);
	for (size_t i = 0; i < count; i++) {
		mails[i] = make(sent[i]);
	}
	take_memory();
	for (size_t i = 0; i < count; i++) {
		put(house, mails[i]);
	}
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	lost = *dropped;
	cr_expect_str_eq(new, "");
	cr_expect_eq(house->status, GY_HOUSE_WAITING, "it spins");
	cr_expect_eq(house->waiting, waiting);
	give_memory_back();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect_str_eq(new, heard);
	cr_expect_eq(*dropped, lost);
	cr_expect_eq(lost + strlen(heard), count + (strchr(heard, '(') != NULL ? 2 : 0));
	cr_expect_eq(house->waiting, 0);
}

Test(no_memory_notice, waits_in_its_place_if_it_is_of_gyres_own)
{
	play_lack("aBcD", "BcD", 0);
}

Test(no_memory_notice, that_waits_counts_for_the_limit_of_its_mailbox)
{
	class_of_test.mailbox_limit = 10;
	play_lack("abCdE", "CdE", 3);
}

Test(no_memory_notice, of_a_batch_waits_if_it_is_of_gyres_own)
{
	class_of_test.batch_notices = is_any;
	play_lack("aBcD", "(BcD)", 0);
}

Test(no_memory_notice, waits_if_it_may_be_an_element_that_was_asked_for)
{
	requests = true;
	play_lack("abC", "abC", 0);
}

Test(no_memory_notice, is_lost_if_it_is_of_a_program)
{
	play_lack("abc", "", 0);
}

Test(no_memory_notice, waits_as_long_as_there_is_no_memory)
{
	struct gy_house *house = spawn();
	struct gyre_mail *mail = make('A');

	take_memory();
	put(house, mail);
	for (int i = 0; i < 3; i++) {
		rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
		cr_expect_eq(house->status, GY_HOUSE_WAITING);
		cr_expect_str_eq(traced, "");
	}
	give_memory_back();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect_str_eq(traced, "A");
}

Test(no_memory_notice, that_waits_is_not_overtaken_by_a_later_urgent_one)
{
	struct gy_house *house;
	struct gyre_mail *mails[] = { make('A'), make('B') };

	class_of_test.urgent = is_of_gyre;
	house = spawn();
	take_memory();
	put(house, mails[0]);
	rig_turn(&lean_rig);
	put(house, mails[1]);
	give_memory_back();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect_str_eq(traced, "AB");
}

Test(no_memory_notice, tells_no_marks_while_it_waits)
{
	struct gy_house *house;
	struct gyre_mail *mail = make('A');

	class_of_test.mailbox_limit = 10;
	class_of_test.mailbox_high = 1;
	house = spawn();
	take_memory();
	put(house, mail);
	for (int i = 0; i < 5; i++) {
		rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	}
	give_memory_back();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect_str_eq(traced, "A+-");
}

Test(no_memory_notice, that_waited_is_handled_by_an_actor_that_is_asked_in_each_turn)
{
	struct gy_house *house = spawn();
	struct gyre_mail *mail = make('A');

	take_memory();
	put(house, mail);
	rig_turn(&lean_rig);
	give_memory_back();
	for (int i = 0; i < 10 && strchr(traced, 'A') == NULL; i++) {
		struct gyre_mail *ask = make('a');

		ask->node.kind = GY_MAIL_ASK;
		cr_expect_eq(gy_send(&lean_rig.home, gy_house_address(house), ask, GY_LANE_ASK), 0);
		rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	}
	cr_expect_not_null(strchr(traced, 'A'));
}
