/*
 * What a program has lost when its system is destroyed: the log names the type of each mail, and
 * who had each buffer last.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

#include "gyre_config.h"

enum { LINES_MAX = 16, LINE_BYTES = 512, TYPES = 10 };

struct price {
	uint64_t cents;
};
GYRE_MESSAGE(price, 0x2301);

struct order {
	char text[200];
};
GYRE_MESSAGE(order, 0x2302);

static char lines[LINES_MAX][LINE_BYTES];
static uint32_t lines_count;
/* What is lost can be reached, so that no sanitizer takes it for a leak of the test. */
static void *kept[64];
static uint32_t kept_count;

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level == GYRE_LOG_ERROR && lines_count < LINES_MAX) {
		(void)snprintf(lines[lines_count++], LINE_BYTES, "%s", line->text);
	}
}

static bool says(const char *words)
{
	for (uint32_t i = 0; i < lines_count; i++) {
		if (strstr(lines[i], words) != NULL) {
			return true;
		}
	}
	return false;
}

static void keep(void *lost)
{
	kept[kept_count++] = lost;
}

static void run(gyre_handler_fn mount)
{
	const struct gyre_class class = { .name = "careless", .mount = mount };
	const struct gyre_system_options options = { .loops = 1, .log = logged };
	struct gyre_system *system;
	struct gyre_address address;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_spawn(system, &class, GYRE_NO_ARGUMENT, NULL, &address), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	gyre_system_destroy(system);
}

static int end(struct gyre_stack *stack)
{
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

/* ---- mail ---- */

static int lose_mail(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < 3; i++) {
		keep(gyre_new(stack, price, .cents = i));
	}
	keep(gyre_new(stack, order, .text = "one"));
	gyre_mail_destroy(stack, gyre_new(stack, price, .cents = 9));
	return end(stack);
}

Test(lost, mail_is_named_by_its_type)
{
	run(lose_mail);
	cr_assert_eq(lines_count, 2, "%u", lines_count);
	cr_assert(
		says("loop 0: 3 mails of type price were made or taken, and never sent or freed"));
	cr_assert(
		says("loop 0: 1 mails of type order were made or taken, and never sent or freed"));
	cr_assert(says("gyre_mail_destroy()"));
}

static const char *const type_names[TYPES] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
static struct gyre_type types[TYPES];

static int lose_many_types(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < TYPES; i++) {
		types[i] = (struct gyre_type){ .name = type_names[i], .id = 0x2310 + i };
		keep(gyre_mail_create(stack, &types[i]));
	}
	return end(stack);
}

Test(lost, mail_of_many_types_is_named_in_part_and_counted_in_whole)
{
	run(lose_many_types);
	cr_assert_eq(lines_count, 9, "%u", lines_count);
	cr_assert(says("1 mails of type a were"));
	cr_assert(says("1 mails of type h were"));
	cr_assert(says("loop 0: 2 mails of other types were"));
}

static int lose_nothing(struct gyre_stack *stack)
{
	gyre_mail_destroy(stack, gyre_new(stack, price, .cents = 1));
	gyre_buffer_destroy(gyre_buffer_create(stack));
	return end(stack);
}

Test(lost, nothing_is_not_told_of)
{
	run(lose_nothing);
	cr_assert_eq(lines_count, 0, "%s", lines[0]);
}

/* ---- buffers ---- */

static int lose_buffers(struct gyre_stack *stack)
{
	keep(gyre_buffer_create(stack));
	keep(gyre_buffer_create(stack));
	return end(stack);
}

Test(lost, buffers_of_an_actor_are_named_by_its_class)
{
	run(lose_buffers);
	cr_assert_eq(lines_count, 1, "%u", lines_count);
#if GY_ASSERT_LEVEL >= 2
	cr_assert(says("loop 0: 2 buffers that actor careless made were never freed"));
#else
	cr_assert(says("loop 0: 2 buffers were never freed by the handlers that had them"));
#endif
	cr_assert(says("gyre_buffer_destroy()"));
}
