/*
 * The logs of classes and of handlers, and the name of an actor in a log, as gyre itself uses them.
 */
#include "model.h"

#include <stdio.h>
#include <string.h>

#include "actor/actor_log.h"
#include "actor/class_log.h"

Test(actor_log, tells_on_which_loop_a_stolen_actor_runs)
{
	char text[GY_ACTOR_NAME_BYTES];
	char address[GYRE_ADDRESS_TEXT_MAX];
	char whole[GY_ACTOR_NAME_BYTES];
	struct gyre_address sink;

	model_open(2);
	sink = model_spawn(&sink_class, 0);
	(void)gyre_address_format(sink, sizeof(address), address);
	(void)snprintf(whole, sizeof(whole), "actor sink %s on loop 1: ", address);
	cr_expect_str_eq(gy_actor_name(&model.home[1], model_house(sink), text), whole);
	model_close();
}

Test(actor_log, has_a_log_for_each_name_of_a_handler_up_to_a_limit)
{
	static char names[GY_HANDLER_LOGS_MAX + 1][16];
	struct gy_class_log *log;

	model_open(1);
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
	cr_expect_eq(model.logged, 1);
	cr_expect_eq(strncmp(model.line, "handler handler-0: 1 lines were dropped", 39), 0, "%s",
		     model.line);
}

Test(actor_log, of_a_handler_is_not_that_of_a_class_of_its_name)
{
	struct gyre_address sink;
	struct gy_class_log *log;

	model_open(1);
	sink = model_spawn(&sink_class, 0);
	log = gy_handler_log_get(&model.home[0], sink_class.name);
	cr_assert_not_null(log);
	cr_expect_neq(log, model_house(sink)->class_info->log);
	model_close();
}
