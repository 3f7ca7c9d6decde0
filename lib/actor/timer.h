/*
 * The timers of an actor, by key; each puts an event into its house.
 */
#ifndef GY_ACTOR_TIMER_H
#define GY_ACTOR_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct gy_house;
struct gy_wheel;
struct gyre_mail;

/* Whether the event of a timer is still wanted; then fills in how often the timer has expired. */
bool gy_timer_claim(struct gy_house *house, struct gyre_mail *mail);
void gy_timers_stop(struct gy_house *house);

/* Takes the timers of a stolen house to another wheel: packed here, unpacked there. */
void gy_timers_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns);
void gy_timers_unpack(struct gy_house *house, struct gy_wheel *wheel);

#endif
