/*
 * Actors that hold phases of the shutdown, as the system floor sees them; see shutdown.c. On the
 * loop's thread.
 */
#ifndef GY_ACTOR_LIFE_SHUTDOWN_H
#define GY_ACTOR_LIFE_SHUTDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct gy_home;
struct gy_house;
struct gyre_mail;

/* Whether an actor of any loop has ever wanted to hold this phase. */
bool gy_shutdown_is_wanted(const struct gy_home *home, uint32_t phase);
/* A phase begins on this loop; those that hold it are told, here or in the next steps. */
void gy_shutdown_begin(struct gy_home *home, uint32_t phase, uint64_t deadline_ns);
/* After each turn: tells those who could not be told yet. Returns whether nobody holds the phase.
 */
bool gy_shutdown_step(struct gy_home *home);
/* Waits for nobody any more. Returns how many held the phase. */
uint32_t gy_shutdown_abandon(struct gy_home *home);
/* Whether the actor still holds the phase that the event is about. */
bool gy_shutdown_claim(const struct gy_house *house, const struct gyre_mail *mail);
/* The actor stops or restarts: it holds nothing any more. */
void gy_shutdown_leave(struct gy_house *house);

#endif
