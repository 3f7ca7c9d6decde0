/*
 * The receive time-out of an actor: an event when no message has come for a time.
 */
#ifndef GY_ACTOR_LIFE_RECEIVE_TIMEOUT_H
#define GY_ACTOR_LIFE_RECEIVE_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

struct gy_house;
struct gy_wheel;
struct gyre_mail;

/* A run of a house with a receive time-out begins, which is to dispatch messages. */
void gy_receive_timeout_run_begins(struct gy_house *house);
/* A run of such a house ends, whatever it has dispatched. */
void gy_receive_timeout_run_ends(struct gy_house *house);
/* Whether nothing has come since the event was made. */
bool gy_receive_timeout_claim(const struct gy_house *house, const struct gyre_mail *mail);
void gy_receive_timeout_stop(struct gy_house *house);

/* Takes the timer of a stolen house to another wheel: packed here, unpacked there. */
void gy_receive_timeout_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns);
void gy_receive_timeout_unpack(struct gy_house *house, struct gy_wheel *wheel);

#endif
