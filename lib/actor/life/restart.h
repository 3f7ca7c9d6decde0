/*
 * Restarts, and the other strategies after a failure.
 */
#ifndef GY_ACTOR_LIFE_RESTART_H
#define GY_ACTOR_LIFE_RESTART_H

#include <stdbool.h>
#include <stdint.h>

struct gy_house;
struct gy_stack;
struct gy_wheel;

/* A notice or an event has failed: applies the strategy of the class, now or after the message. */
void gy_house_failed(struct gy_house *house, int error);
/* Between two messages: restarts, if that is due. */
void gy_house_restart(struct gy_house *house);
/* A suspended stack has ended. If it was that of a restart hook, the restart goes on at the end of
 * the run. Returns whether it was. */
bool gy_restart_hook_ended(struct gy_stack *stack);
/* Whether no restart is under way. */
bool gy_restart_is_quiet(const struct gy_house *house);
void gy_restart_fini(struct gy_house *house);

/* Takes the timer of a stolen house to another wheel: packed here, unpacked there. */
void gy_restart_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns);
void gy_restart_unpack(struct gy_house *house, struct gy_wheel *wheel);

#endif
