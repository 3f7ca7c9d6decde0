/*
 * What actors log: who they are in the log, which lines are left out, and that nobody takes the
 * room of others.
 */
#include "puppet_kit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LINES_MAX = 5, LONG_BYTES = 5000 };

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

/* At most LINES_MAX of a class in a second. */
#define LOGGED_FROM(LEVEL)                                                            \
	{                                                                             \
		.loops = 2, .log_lines_max = LINES_MAX, .stall_ns = GYRE_STALL_NEVER, \
		HEARD_FROM(LEVEL),                                                    \
	}

static const struct gyre_system_options warnings = LOGGED_FROM(GYRE_LOG_WARNING);
static const struct gyre_system_options errors = LOGGED_FROM(GYRE_LOG_ERROR);

/* What the actors log, and how often. */
static enum gyre_log_level level = GYRE_LOG_WARNING;
static uint32_t times = 1;
static const char *words = "words";
static int error_before;
static int error_after;

static int log_words(struct gyre_stack *stack)
{
	errno = error_before;
	for (uint32_t i = 0; i < times; i++) {
		gyre_log(stack, level, "%s %u", words, i);
	}
	error_after = errno;
	return gyre_return(stack);
}

static const struct gyre_class shop_class = { .name = "shop", .behaviour.notice = log_words };
static const struct gyre_class bank_class = { .name = "bank", .behaviour.notice = log_words };

static void have_logged(struct gyre_test *test, struct gyre_address actor, uint32_t how_often)
{
	times = how_often;
	cr_assert_eq(
		gyre_system_notify(gyre_test_system(test), actor, gyre_test_new(test, number, 1)),
		0);
	settle(test);
}

static void expect_line(uint32_t number, const char *beginning, struct gyre_address actor,
			const char *end)
{
	char address[GYRE_ADDRESS_TEXT_MAX];
	char whole[HEARD_BYTES];

	cr_assert_gt(gyre_address_format(actor, sizeof(address), address), 0);
	(void)snprintf(whole, sizeof(whole), "%s%s%s", beginning, address, end);
	cr_expect_str_eq(heard_line(number), whole);
}

KIT_TEST_WITH(actor_log, names_the_class_and_the_address_of_who_logs, &warnings)
{
	struct gyre_address shop = puppet_spawn(test, &shop_class, 1);

	have_logged(test, shop, 1);
	cr_expect_eq(heard.count, 1);
	cr_expect_eq(heard.levels[0], GYRE_LOG_WARNING);
	expect_line(0, "actor shop ", shop, ": words 0");
}

static void log_below_the_level(struct gyre_test *test, void *arg)
{
	static const enum gyre_log_level out[] = { GYRE_LOG_INFO, GYRE_LOG_DEFAULT,
						   (enum gyre_log_level)5,
						   (enum gyre_log_level)INT_MAX };
	struct gyre_address shop = puppet_spawn(test, &shop_class, 0);

	(void)arg;
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		level = out[i];
		have_logged(test, shop, 100);
		cr_expect_eq(heard.count, 0, "level %d", (int)out[i]);
	}
	level = GYRE_LOG_ERROR;
	heard.errors_are_right = true;
	have_logged(test, shop, 1);
	cr_expect_eq(heard.count, 1, "lines that are left out take nothing of the limit");
}

Test(actor_log, leaves_out_what_is_below_the_level_of_the_log_or_has_none)
{
	kit_play(log_below_the_level, &warnings);
	cr_expect_eq(heard.count, 1);
}

static int log_odd_things(struct gyre_stack *stack)
{
	/* The compiler warns of it. */
	void (*unchecked)(const struct gyre_stack *, enum gyre_log_level, const char *, ...) =
		gyre_log;

	unchecked(stack, GYRE_LOG_WARNING, NULL);
	gyre_log(stack, GYRE_LOG_WARNING, "it is %m");
	return gyre_return(stack);
}

static int log_odd_things_with_errno(struct gyre_stack *stack)
{
	errno = ENOTDIR;
	(void)log_odd_things(stack);
	error_after = errno;
	return gyre_return(stack);
}

static const struct gyre_class odd_class = { .name = "odd",
					     .behaviour.notice = log_odd_things_with_errno };

KIT_TEST_WITH(actor_log, reads_errno_and_leaves_it_alone_and_takes_no_format_for_nothing, &warnings)
{
	struct gyre_address odd = puppet_spawn(test, &odd_class, 0);

	have_logged(test, odd, 1);
	cr_expect_eq(heard.count, 1);
	expect_line(0, "actor odd ", odd, ": it is Not a directory");
	cr_expect_eq(error_after, ENOTDIR);
}

KIT_TEST_WITH(actor_log, leaves_errno_alone_when_a_line_is_dropped_or_left_out, &warnings)
{
	struct gyre_address shop = puppet_spawn(test, &shop_class, 0);

	error_before = ENOTTY;
	have_logged(test, shop, 2 * LINES_MAX);
	cr_expect_eq(error_after, ENOTTY);
	level = GYRE_LOG_DEBUG;
	have_logged(test, shop, 1);
	cr_expect_eq(error_after, ENOTTY);
}

KIT_TEST_WITH(actor_log, makes_one_line_of_a_peers_bytes, &warnings)
{
	struct gyre_address shop = puppet_spawn(test, &shop_class, 0);

	words = "he says: x\n[error] actor bank: \x1b[2J";
	have_logged(test, shop, 1);
	cr_expect_eq(heard.count, 1);
	expect_line(0, "actor shop ", shop, ": he says: x\\n[error] actor bank: \\x1b[2J 0");
}

KIT_TEST_WITH(actor_log, marks_a_line_that_is_too_long, &warnings)
{
	char text[LONG_BYTES];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	words = text;
	have_logged(test, puppet_spawn(test, &shop_class, 0), 1);
	cr_expect_eq(strlen(heard_line(0)), 1023);
	cr_expect_str_eq(heard_line(0) + 1019, "x...");
	cr_expect_eq(strncmp(heard_line(0), "actor shop [0:", 14), 0, "%s", heard_line(0));
}

static const char dropped_100[] = "actor shop: 100 lines were dropped: at most 5 a second are "
				  "logged; log less, or raise log_lines_max";

static void log_too_much_and_wait(struct gyre_test *test, void *arg)
{
	(void)arg;
	have_logged(test, puppet_spawn(test, &shop_class, 0), LINES_MAX + 100);
	cr_expect_eq(heard.count, LINES_MAX);
	gyre_test_advance(test, GYRE_SECONDS(1) + GYRE_MILLISECONDS(2));
	cr_expect_eq(heard.count, LINES_MAX + 1);
	cr_expect_str_eq(heard_last(), dropped_100);
	cr_expect_eq(heard.levels[heard.count - 1], GYRE_LOG_WARNING);
}

Test(actor_log, of_a_class_holds_back_what_is_over_its_limit_and_tells_within_a_second)
{
	kit_play(log_too_much_and_wait, &warnings);
	cr_expect_eq(heard.count, LINES_MAX + 1, "it is told once");
}

static struct gyre_test *running;

/* No timer runs between the last two lines. */
static int log_much_and_once_more(struct gyre_stack *stack)
{
	(void)log_words(stack);
	gyre_test_advance(running, GYRE_SECONDS(2));
	times = 1;
	return log_words(stack);
}

static const struct gyre_class slow_shop_class = { .name = "shop",
						   .behaviour.notice = log_much_and_once_more };

KIT_TEST_WITH(actor_log, tells_of_dropped_lines_before_the_next_line_that_is_logged, &warnings)
{
	struct gyre_address shop = puppet_spawn(test, &slow_shop_class, 0);

	running = test;
	have_logged(test, shop, LINES_MAX + 100);
	gyre_test_advance(test, GYRE_SECONDS(2));
	cr_expect_eq(heard.count, LINES_MAX + 2);
	cr_expect_str_eq(heard_line(heard.count - 2), dropped_100);
	expect_line(heard.count - 1, "actor shop ", shop, ": words 0");
}

static void log_too_much(struct gyre_test *test, void *arg)
{
	(void)arg;
	have_logged(test, puppet_spawn(test, &shop_class, 0), LINES_MAX + 100);
	cr_expect_eq(heard.count, LINES_MAX);
}

Test(actor_log, tells_of_dropped_lines_at_the_end)
{
	kit_play(log_too_much, &warnings);
	cr_expect_eq(heard.count, LINES_MAX + 1);
	cr_expect_str_eq(heard_last(), dropped_100);
}

Test(actor_log, tells_of_dropped_errors_where_only_errors_are_logged)
{
	level = GYRE_LOG_ERROR;
	heard.errors_are_right = true;
	kit_play(log_too_much, &errors);
	cr_expect_eq(heard.count, LINES_MAX + 1);
	cr_expect_eq(heard.levels[heard.count - 1], GYRE_LOG_ERROR);
	cr_expect_str_eq(heard_last(), dropped_100);
}

static void log_on_both_loops(struct gyre_test *test, void *arg)
{
	(void)arg;
	have_logged(test, puppet_spawn(test, &shop_class, 0), LINES_MAX);
	have_logged(test, puppet_spawn(test, &shop_class, 1), LINES_MAX);
	cr_expect_eq(heard.count, LINES_MAX);
}

Test(actor_log, has_one_limit_for_a_class_on_all_loops)
{
	kit_play(log_on_both_loops, &warnings);
	cr_expect_eq(heard.count, LINES_MAX + 1);
	cr_expect_not_null(strstr(heard_last(), "shop: 5 lines were dropped"), "%s", heard_last());
}

KIT_TEST_WITH(actor_log, of_one_class_leaves_room_for_another_and_for_the_runtime, &warnings)
{
	struct gyre_probe *probe = gyre_probe_create(test);
	struct gyre_address shop;
	struct gyre_address bank;

	shop = puppet_spawn(test, &shop_class, 0);
	bank = puppet_spawn(test, &bank_class, 0);
	have_logged(test, shop, LINES_MAX + 100);
	have_logged(test, bank, 1);
	cr_expect_eq(heard.count, LINES_MAX + 1);
	expect_line(heard.count - 1, "actor bank ", bank, ": words 0");
	/* What gyre says of it. */
	(void)gyre_probe_ask(probe, shop, gyre_test_new(test, number, 1), 0);
	(void)gyre_probe_expect_failure(probe, -ENOSYS, GYRE_MILLISECONDS(1));
	(void)gyre_test_expect_dead_letter(test, number, GYRE_DROP_UNHANDLED, 0);
	cr_expect_eq(heard.count, LINES_MAX + 2);
	cr_expect_not_null(strstr(heard_last(), "actor shop: its behaviour has no handler"), "%s",
			   heard_last());
}

static void log_in_two_seconds(struct gyre_test *test, void *arg)
{
	struct gyre_address shop = puppet_spawn(test, &shop_class, 0);

	(void)arg;
	have_logged(test, shop, LINES_MAX);
	gyre_test_advance(test, GYRE_SECONDS(1) + GYRE_MILLISECONDS(2));
	have_logged(test, shop, LINES_MAX);
	cr_expect_eq(heard.count, 2 * LINES_MAX);
}

Test(actor_log, logs_again_in_the_next_second)
{
	kit_play(log_in_two_seconds, &warnings);
	cr_expect_eq(heard.count, 2 * LINES_MAX, "nothing was dropped");
}

/* ---- addresses ---- */

Test(address_text, names_loop_slot_and_cookie_and_the_node_where_there_is_one)
{
	struct gyre_address address = { .loop = 3, .slot = 12, .cookie = 0xbeef };
	char text[GYRE_ADDRESS_TEXT_MAX];

	cr_expect_eq(gyre_address_format(address, sizeof(text), text), 11);
	cr_expect_str_eq(text, "[3:12:beef]");
	address.node = 7;
	cr_expect_eq(gyre_address_format(address, sizeof(text), text), 13);
	cr_expect_str_eq(text, "[7/3:12:beef]");
	cr_expect_eq(gyre_address_format(GYRE_NOBODY, sizeof(text), text), 8);
	cr_expect_str_eq(text, "[nobody]");
}

Test(address_text, of_the_largest_address_fits)
{
	const struct gyre_address address = { UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX,
					      UINT32_MAX };
	char text[GYRE_ADDRESS_TEXT_MAX];

	cr_expect_gt(gyre_address_format(address, sizeof(text), text), 0);
	cr_expect_str_eq(text, "[65535/65535:4294967295:ffffffff]");
}

Test(address_text, is_refused_where_it_has_no_room)
{
	char text[9] = "before";

	cr_expect_eq(gyre_address_format(GYRE_NOBODY, 8, text), -EMSGSIZE);
	cr_expect_str_eq(text, "before");
	cr_expect_eq(gyre_address_format(GYRE_NOBODY, 9, text), 8);
	cr_expect_eq(gyre_address_format(GYRE_NOBODY, 9, NULL), -EINVAL);
}
