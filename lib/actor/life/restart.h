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
struct gyre_mail;

/* A notice or an event has failed: applies the strategy of the class, now or after the message. */
void gy_house_failed(struct gy_house *house, int error);
/* The same of an actor to which a child has escalated; @origin is the report of that. */
void gy_house_failed_for(struct gy_house *house, int error, const struct gyre_mail *origin);
/* A mount or a restart hook has failed: the actor stops. */
void gy_house_hook_failed(struct gy_house *house, int error);
/* A parent has decided that the actor restarts, whatever its class says. On its own loop. */
void gy_house_order_restart(struct gy_house *house, int error, uint64_t delay_ns);
/* Whether the children of a restarting house have their orders to stop, and some live still. */
bool gy_restart_awaits_children(const struct gy_house *house);
/* The children of a restarting house have ended. */
void gy_restart_children_gone(struct gy_house *house);
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
