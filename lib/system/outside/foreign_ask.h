/*
 * Asks from threads that turn no loop; see foreign_ask.c.
 */
#ifndef GY_SYSTEM_OUTSIDE_FOREIGN_ASK_H
#define GY_SYSTEM_OUTSIDE_FOREIGN_ASK_H

#include <stdbool.h>

#include <gyre/address.h>

#include "actor/home.h"

struct gyre_system;

/* Whether the house is that of an agent. */
bool gy_foreign_asks_has(const struct gy_house *house);
/* The loop has retired, and its agent has ended: it is called no more. */
void gy_foreign_asks_close(struct gyre_system *system, uint32_t loop);
int gy_foreign_asks_init(struct gyre_system *system);
void gy_foreign_asks_fini(struct gyre_system *system);
/* Opens the next stage of a stop, so that no ask from outside falls between two. */
void gy_foreign_asks_set_stage(struct gyre_system *system, uint32_t stage);
/* Describes lost mail for listeners: for a carrier, the question that it carries. */
void gy_foreign_ask_describe(const struct gyre_mail *mail, const struct gyre_type **type,
			     struct gyre_address *to);

#endif
