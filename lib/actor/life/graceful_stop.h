/*
 * Stopping gracefully: an order with a deadline, and the poison that it puts among the notices.
 */
#ifndef GY_ACTOR_LIFE_GRACEFUL_STOP_H
#define GY_ACTOR_LIFE_GRACEFUL_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct gy_home;
struct gy_house;
struct gyre_mail;

/* The order to stop gracefully within a time from its arrival. The caller sets its kind and sender.
 * NULL without memory. */
struct gyre_mail *gy_graceful_stop_make(struct gy_home *home, uint64_t deadline_ns);
uint64_t gy_graceful_stop_deadline(const struct gyre_mail *mail);
/* Orders a house of this loop to stop gracefully; without memory it stops now. */
void gy_house_order_graceful_stop(struct gy_house *house, uint64_t deadline_ns);
/* The order has come. Takes the mail. */
void gy_graceful_stop_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* The order has come while the house is away, and will be delivered again. */
void gy_graceful_stop_defer(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail);
/* A poison notice is dispatched. */
GY_COLD void gy_house_poisoned(struct gy_house *house, const struct gyre_mail *poison);
/* Whether the house takes no more asks and notices, and stops when no stack is suspended. */
bool gy_graceful_stop_is_closing(const struct gy_house *house);
/* The house has ended: answers those who wait for that. */
void gy_graceful_stop_end(struct gy_house *house);

#endif
