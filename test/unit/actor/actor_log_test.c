/*
 * What actors log: who they are in the log, which lines are left out, and that nobody takes the
 * room of others.
 */
#include "model.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <gyre/log.h>

#include "actor/actor_log.h"
#include "actor/class_log.h"

enum { LINES_KEPT = 64, LONG_BYTES = 5000 };

static char lines[LINES_KEPT][MODEL_LINE_BYTES];
static enum gyre_log_level levels[LINES_KEPT];
static uint32_t count;

static void keep(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_assert_lt(count, (uint32_t)LINES_KEPT, "%s", line->text);
	levels[count] = line->level;
	(void)snprintf(lines[count++], sizeof(lines[0]), "%s", line->text);
}

static void open_model(uint32_t loops, enum gyre_log_level level)
{
	count = 0;
	model_open(loops);
	model.log.write = keep;
	model.log.level = level;
}

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

static void have_logged(struct gyre_address actor, uint32_t how_often)
{
	times = how_often;
	model_put(actor, GY_LANE_NOTICE, 1);
	model_settle();
}

static void expect_line(uint32_t number, const char *beginning, struct gyre_address actor,
			const char *end)
{
	char address[GYRE_ADDRESS_TEXT_MAX];
	char whole[MODEL_LINE_BYTES];

	cr_assert_gt(gyre_address_format(actor, sizeof(address), address), 0);
	(void)snprintf(whole, sizeof(whole), "%s%s%s", beginning, address, end);
	cr_expect_lt(number, count);
	cr_expect_str_eq(lines[number], whole);
}

Test(actor_log, names_the_class_and_the_address_of_who_logs)
{
	struct gyre_address shop;

	open_model(2, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 1);
	have_logged(shop, 1);
	cr_expect_eq(count, 1);
	cr_expect_eq(levels[0], GYRE_LOG_WARNING);
	expect_line(0, "actor shop ", shop, ": words 0");
	model_close();
}

Test(actor_log, tells_on_which_loop_a_stolen_actor_runs)
{
	char text[GY_ACTOR_NAME_BYTES];
	char address[GYRE_ADDRESS_TEXT_MAX];
	char whole[GY_ACTOR_NAME_BYTES];
	struct gyre_address shop;

	open_model(2, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	(void)gyre_address_format(shop, sizeof(address), address);
	(void)snprintf(whole, sizeof(whole), "actor shop %s on loop 1: ", address);
	cr_expect_str_eq(gy_actor_name(&model.home[1], model_house(shop), text), whole);
	model_close();
}

Test(actor_log, leaves_out_what_is_below_the_level_of_the_log_or_has_none)
{
	static const enum gyre_log_level out[] = { GYRE_LOG_INFO, GYRE_LOG_DEFAULT,
						   (enum gyre_log_level)5,
						   (enum gyre_log_level)INT_MAX };
	struct gyre_address shop;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		level = out[i];
		have_logged(shop, 100);
		cr_expect_eq(count, 0, "level %d", (int)out[i]);
	}
	level = GYRE_LOG_ERROR;
	have_logged(shop, 1);
	cr_expect_eq(count, 1, "lines that are left out take nothing of the limit");
	model_close();
	cr_expect_eq(count, 1);
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

Test(actor_log, reads_errno_and_leaves_it_alone_and_takes_no_format_for_nothing)
{
	struct gyre_address odd;

	open_model(1, GYRE_LOG_WARNING);
	odd = model_spawn(&odd_class, 0);
	have_logged(odd, 1);
	cr_expect_eq(count, 1);
	expect_line(0, "actor odd ", odd, ": it is Not a directory");
	cr_expect_eq(error_after, ENOTDIR);
	model_close();
}

Test(actor_log, leaves_errno_alone_when_a_line_is_dropped_or_left_out)
{
	struct gyre_address shop;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	error_before = ENOTTY;
	have_logged(shop, 2 * MODEL_LOG_LINES_MAX);
	cr_expect_eq(error_after, ENOTTY);
	level = GYRE_LOG_DEBUG;
	have_logged(shop, 1);
	cr_expect_eq(error_after, ENOTTY);
	model_close();
}

Test(actor_log, makes_one_line_of_a_peers_bytes)
{
	struct gyre_address shop;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	words = "he says: x\n[error] actor bank: \x1b[2J";
	have_logged(shop, 1);
	cr_expect_eq(count, 1);
	expect_line(0, "actor shop ", shop, ": he says: x\\n[error] actor bank: \\x1b[2J 0");
	model_close();
}

Test(actor_log, marks_a_line_that_is_too_long)
{
	char text[LONG_BYTES];

	open_model(1, GYRE_LOG_WARNING);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	words = text;
	have_logged(model_spawn(&shop_class, 0), 1);
	cr_expect_eq(strlen(lines[0]), 1023);
	cr_expect_str_eq(lines[0] + 1019, "x...");
	cr_expect_eq(strncmp(lines[0], "actor shop [0:", 14), 0, "%s", lines[0]);
	model_close();
}

static const char dropped_100[] = "actor shop: 100 lines were dropped: at most 5 a second are "
				  "logged; log less, or raise log_lines_max";

Test(actor_log, of_a_class_holds_back_what_is_over_its_limit_and_tells_within_a_second)
{
	open_model(1, GYRE_LOG_WARNING);
	have_logged(model_spawn(&shop_class, 0), MODEL_LOG_LINES_MAX + 100);
	cr_expect_eq(count, MODEL_LOG_LINES_MAX);
	model_advance(GYRE_SECONDS(1) + GYRE_MILLISECONDS(2));
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 1);
	cr_expect_str_eq(lines[count - 1], dropped_100);
	cr_expect_eq(levels[count - 1], GYRE_LOG_WARNING);
	model_close();
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 1, "it is told once");
}

Test(actor_log, tells_of_dropped_lines_before_the_next_line_that_is_logged)
{
	struct gyre_address shop;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	have_logged(shop, MODEL_LOG_LINES_MAX + 100);
	/* The clock goes on, and no timer has been looked at. */
	model.now_ns += GYRE_SECONDS(2);
	model.homes.homes[0].loop.clock.arg = &model;
	gy_timer_stop(&model.home[0].loop.wheel, &model.home[0].unlogged_timer);
	have_logged(shop, 1);
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 2);
	cr_expect_str_eq(lines[count - 2], dropped_100);
	expect_line(count - 1, "actor shop ", shop, ": words 0");
	model_close();
}

Test(actor_log, tells_of_dropped_lines_at_the_end)
{
	open_model(1, GYRE_LOG_WARNING);
	have_logged(model_spawn(&shop_class, 0), MODEL_LOG_LINES_MAX + 100);
	model_close();
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 1);
	cr_expect_str_eq(lines[count - 1], dropped_100);
}

Test(actor_log, tells_of_dropped_errors_where_only_errors_are_logged)
{
	open_model(1, GYRE_LOG_ERROR);
	level = GYRE_LOG_ERROR;
	have_logged(model_spawn(&shop_class, 0), MODEL_LOG_LINES_MAX + 100);
	model_close();
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 1);
	cr_expect_eq(levels[count - 1], GYRE_LOG_ERROR);
	cr_expect_str_eq(lines[count - 1], dropped_100);
}

Test(actor_log, has_one_limit_for_a_class_on_all_loops)
{
	open_model(2, GYRE_LOG_WARNING);
	have_logged(model_spawn(&shop_class, 0), MODEL_LOG_LINES_MAX);
	have_logged(model_spawn(&shop_class, 1), MODEL_LOG_LINES_MAX);
	cr_expect_eq(count, MODEL_LOG_LINES_MAX);
	model_close();
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 1);
	cr_expect_not_null(strstr(lines[count - 1], "shop: 5 lines were dropped"), "%s",
			   lines[count - 1]);
}

Test(actor_log, of_one_class_leaves_room_for_another_and_for_the_runtime)
{
	struct gyre_address shop;
	struct gyre_address bank;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	bank = model_spawn(&bank_class, 0);
	have_logged(shop, MODEL_LOG_LINES_MAX + 100);
	have_logged(bank, 1);
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 1);
	expect_line(count - 1, "actor bank ", bank, ": words 0");
	gy_class_warn(&model.home[0], model_house(shop)->class_info, "is %s", "warned of");
	cr_expect_eq(count, MODEL_LOG_LINES_MAX + 2);
	cr_expect_str_eq(lines[count - 1], "actor shop: is warned of");
	model_close();
}

Test(actor_log, logs_again_in_the_next_second)
{
	struct gyre_address shop;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	have_logged(shop, MODEL_LOG_LINES_MAX);
	model_advance(GYRE_SECONDS(1) + GYRE_MILLISECONDS(2));
	have_logged(shop, MODEL_LOG_LINES_MAX);
	cr_expect_eq(count, 2 * MODEL_LOG_LINES_MAX);
	model_close();
	cr_expect_eq(count, 2 * MODEL_LOG_LINES_MAX, "nothing was dropped");
}

Test(actor_log, has_a_log_for_each_name_of_a_handler_up_to_a_limit)
{
	static char names[GY_HANDLER_LOGS_MAX + 1][16];
	struct gy_class_log *log;

	open_model(1, GYRE_LOG_WARNING);
	for (uint32_t i = 0; i <= GY_HANDLER_LOGS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "handler-%u", i);
		log = gy_handler_log_get(&model.home[0], names[i]);
		cr_assert_eq(log == NULL, i == GY_HANDLER_LOGS_MAX, "handler %u", i);
	}
	log = gy_handler_log_get(&model.home[0], names[0]);
	cr_assert_not_null(log, "those that have one keep it");
	while (gy_class_log_admit(&model.home[0], log)) {
	}
	model_close();
	cr_expect_eq(count, 1);
	cr_expect_eq(strncmp(lines[0], "handler handler-0: 1 lines were dropped", 39), 0, "%s",
		     lines[0]);
}

Test(actor_log, of_a_handler_is_not_that_of_a_class_of_its_name)
{
	struct gyre_address shop;
	struct gy_class_log *log;

	open_model(1, GYRE_LOG_WARNING);
	shop = model_spawn(&shop_class, 0);
	log = gy_handler_log_get(&model.home[0], "shop");
	cr_assert_not_null(log);
	cr_expect_neq(log, model_house(shop)->class_info->log);
	model_close();
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
