/*
 * Messages with tails within a system: as many elements arrive as were sent, on the same loop and
 * on another, and what cannot be a mail is refused.
 */
#include <errno.h>
#include <signal.h>

#include "actor/mail/mail.h"
#include "actor/parcel_rig.h"
#include "tails.h"

/* Around the sizes of pools, the smallest and the first that has none. */
static const uint32_t counts[] = { 0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 16320, 16321, 100000 };

/* ---- arriving ---- */

static int check_line(struct gyre_stack *stack)
{
	uint32_t *next = (uint32_t *)gyre_state(stack);
	const uint32_t i = (*next)++;

	if (gyre_message(stack, number) != NULL) {
		expect(i == gy_countof(counts));
		return fixture_end(stack);
	}
	expect(tail_line_is_whole(gyre_message(stack, line), i, counts[i]));
	return gyre_return(stack);
}

static const struct gyre_class reader_class = { .name = "reader",
						.state_bytes = sizeof(uint32_t),
						.behaviour.notice = check_line };

static int tell_lines(struct gyre_stack *stack)
{
	const struct gyre_address to = spawn_target(stack, &reader_class);

	for (uint32_t i = 0; i < gy_countof(counts); i++) {
		expect(gyre_notify(stack, to, tail_line(stack, i, counts[i])) == 0);
	}
	return gyre_notify(stack, to, gyre_new(stack, number, 0));
}

static void play_both(gyre_handler_fn script)
{
	for (parcel_loop = 0; parcel_loop < 2; parcel_loop++) {
		fixture = (struct fixture){ 0 };
		play(2, script);
	}
}

Test(tail, arrives_with_as_many_elements_as_were_sent)
{
	play_both(tell_lines);
}

static int check_others(struct gyre_stack *stack)
{
	uint32_t *next = (uint32_t *)gyre_state(stack);
	const uint32_t i = (*next)++ / 2;

	if (gyre_message(stack, number) != NULL) {
		return fixture_end(stack);
	}
	if (gyre_message(stack, path) != NULL) {
		expect(tail_path_is_whole(gyre_message(stack, path), counts[i]));
	} else {
		expect(tail_ragged_is_whole(gyre_message(stack, ragged), 7 + i, counts[i]));
	}
	return gyre_return(stack);
}

static const struct gyre_class others_class = { .name = "others",
						.state_bytes = sizeof(uint32_t),
						.behaviour.notice = check_others };

static int tell_others(struct gyre_stack *stack)
{
	const struct gyre_address to = spawn_target(stack, &others_class);

	for (uint32_t i = 0; i < gy_countof(counts); i++) {
		expect(gyre_notify(stack, to, tail_ragged(stack, 7 + i, counts[i])) == 0);
		expect(gyre_notify(stack, to, tail_path(stack, counts[i])) == 0);
	}
	return gyre_notify(stack, to, gyre_new(stack, number, 0));
}

Test(tail, may_begin_in_the_padding_of_its_struct_and_have_large_elements)
{
	cr_assert_lt(offsetof(struct ragged, values), sizeof(struct ragged));
	play_both(tell_others);
}

static int check_maximum(struct gyre_stack *stack)
{
	expect(tail_line_is_whole(gyre_message(stack, line), 1, GYRE_TAIL_MAX(line)));
	return fixture_end(stack);
}

static const struct gyre_class maximum_class = { .name = "maximum",
						 .behaviour.notice = check_maximum };

static int tell_maximum(struct gyre_stack *stack)
{
	return gyre_notify(stack, spawn_target(stack, &maximum_class),
			   tail_line(stack, 1, GYRE_TAIL_MAX(line)));
}

Test(tail, may_fill_the_largest_mail)
{
	cr_assert_eq(sizeof(struct line) + GYRE_TAIL_MAX(line), GYRE_MESSAGE_BYTES_MAX);
	play_both(tell_maximum);
}

/* ---- making ---- */

static int make_too_many(struct gyre_stack *stack)
{
	static const size_t lines[] = { GYRE_TAIL_MAX(line) + 1,
					UINT32_MAX,
					UINT32_C(1) << 31,
					(size_t)UINT32_MAX + 2,
					SIZE_MAX / 2,
					SIZE_MAX - 7,
					SIZE_MAX };
	/* Times 24, the last two are a small number again in 64 and in 32 bits. */
	static const size_t paths[] = { GYRE_TAIL_MAX(path) + 1, SIZE_MAX / 24 + 2, 178956971 };

	for (size_t i = 0; i < gy_countof(lines); i++) {
		expect(gyre_new_tail(stack, line, lines[i]) == NULL);
		expect(gyre_system_new_tail(gyre_system_of(stack), line, lines[i]) == NULL);
	}
	for (size_t i = 0; i < gy_countof(paths); i++) {
		expect(gyre_new_tail(stack, path, paths[i]) == NULL);
	}
	expect(gyre_notify(stack, gyre_self(stack), tail_line(stack, 0, SIZE_MAX)) == -ENOMEM);
	return fixture_end(stack);
}

Test(tail, of_more_elements_than_fit_is_no_mail_however_large_their_number)
{
	cr_assert_lt((uint32_t)(UINT32_C(178956971) * sizeof(struct point)), 1000);
	play(1, make_too_many);
}

static int make_wrongly(struct gyre_stack *stack)
{
	struct gyre_system *system = gyre_system_of(stack);

	expect(gyre_mail_create_tail(stack, &gyre_type_number, 0) == NULL);
	expect(gyre_mail_create_tail(stack, NULL, 0) == NULL);
	expect(gyre_system_mail_create_tail(system, &gyre_type_number, 0) == NULL);
	expect(gyre_system_mail_create_tail(system, NULL, 0) == NULL);
	expect(gyre_system_mail_create_tail(NULL, &gyre_type_line, 0) == NULL);
	return fixture_end(stack);
}

Test(tail, is_only_for_types_that_have_one)
{
	play(1, make_wrongly);
}

static int check_empty(struct gyre_stack *stack)
{
	uint32_t *next = (uint32_t *)gyre_state(stack);

	expect(tail_line_is_whole(gyre_message(stack, line), 5, 0));
	return ++*next < 4 ? gyre_return(stack) : fixture_end(stack);
}

static const struct gyre_class empty_class = { .name = "empty",
					       .state_bytes = sizeof(uint32_t),
					       .behaviour.notice = check_empty };

static int tell_empty(struct gyre_stack *stack)
{
	const struct gyre_address to = spawn_target(stack, &empty_class);
	struct gyre_mail *plain = gyre_mail_create(stack, &gyre_type_line);

	((struct line *)gyre_payload(plain))->number = 5;
	expect(gyre_notify(stack, to, plain) == 0);
	expect(gyre_notify(stack, to, gyre_new_tail(stack, line, 0, .number = 5)) == 0);
	expect(gyre_notify(stack, to, gyre_new_tail(stack, line, 0, .number = 5, .bytes = 9)) == 0);
	plain = gyre_system_mail_create(gyre_system_of(stack), &gyre_type_line);
	((struct line *)gyre_payload(plain))->number = 5;
	expect(gyre_system_notify(gyre_system_of(stack), to, plain) == 0);
	return gyre_return(stack);
}

Test(tail, has_no_elements_where_none_were_asked_for)
{
	play_both(tell_empty);
}

static int check_filled(struct gyre_stack *stack)
{
	const struct line *line = gyre_message(stack, line);

	expect(line->bytes == 5 && memcmp(line->text, "hello", 5) == 0);
	return fixture_end(stack);
}

static const struct gyre_class filled_class = { .name = "filled",
						.behaviour.notice = check_filled };

static int tell_filled(struct gyre_stack *stack)
{
	const struct gyre_address to = spawn_target(stack, &filled_class);

	expect(gyre_tail_fill(line, NULL, "hello") == NULL);
	return gyre_notify(stack, to, gyre_tail_fill(line, gyre_new_tail(stack, line, 5), "hello"));
}

Test(tail, is_filled_from_an_array)
{
	play_both(tell_filled);
}

/* ---- copies of a struct ---- */

static int copy_on(struct gyre_stack *stack)
{
	const struct gyre_address to = *(struct gyre_address *)gyre_state(stack);
	const struct line *line = gyre_message(stack, line);
	struct gyre_mail *copy = gyre_system_new_copy(gyre_system_of(stack), line, line);

	expect(gyre_notify(stack, to, gyre_new_copy(stack, line, line)) == 0);
	expect(tail_line_is_whole((const struct line *)gyre_payload(copy), 3, 70));
	gyre_mail_destroy(NULL, copy);
	return gyre_return(stack);
}

static int become_copier(struct gyre_stack *stack)
{
	*(struct gyre_address *)gyre_state(stack) = gyre_message(stack, place)->address;
	return gyre_return(stack);
}

static int end_with_line(struct gyre_stack *stack)
{
	expect(tail_line_is_whole(gyre_message(stack, line), 3, 70));
	return fixture_end(stack);
}

static const struct gyre_class end_class = { .name = "end", .behaviour.notice = end_with_line };

static int tell_copier(struct gyre_stack *stack)
{
	static const struct gyre_class copier_class = {
		.name = "copier",
		.state_bytes = sizeof(struct gyre_address),
		.mount = become_copier,
		.behaviour.notice = copy_on,
	};
	struct gyre_address copier;
	const struct gyre_address end = spawn_target(stack, &end_class);

	expect(gyre_spawn(stack, &copier_class, gyre_new(stack, place, end), NULL, &copier) == 0);
	return gyre_notify(stack, copier, tail_line(stack, 3, 70));
}

Test(tail, is_copied_with_its_struct)
{
	play_both(tell_copier);
}

/* ---- changing the count ---- */

static int shorten(struct gyre_stack *stack)
{
	struct gyre_mail *mail = tail_line(stack, 3, 20000);

	((struct line *)gyre_payload(mail))->bytes = 70;
	return gyre_notify(stack, spawn_target(stack, &end_class), mail);
}

Test(tail, may_be_shortened_before_it_is_sent)
{
	play_both(shorten);
}

static int lengthen(struct gyre_stack *stack)
{
	struct gyre_mail *mail = tail_line(stack, 3, 70);

	((struct line *)gyre_payload(mail))->bytes = 71;
	return gyre_notify(stack, gyre_self(stack), mail);
}

Test(tail, that_counts_more_than_it_was_made_for_ends_the_program, .signal = SIGABRT)
{
	play(1, lengthen);
}

static int count_without_room(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_line);

	((struct line *)gyre_payload(mail))->bytes = 1;
	return gyre_notify(stack, gyre_self(stack), mail);
}

Test(tail, that_counts_what_it_was_not_made_for_ends_the_program, .signal = SIGABRT)
{
	play(1, count_without_room);
}
