/*
 * Spawning, mounting and stopping actors.
 */
#ifndef GY_ACTOR_LIFE_LIFECYCLE_H
#define GY_ACTOR_LIFE_LIFECYCLE_H

#include <gyre/actor.h>

#include "actor/life/children.h"
#include "actor/mail/mail.h"

struct gy_home;
struct gy_house;
struct gy_name;

struct gy_spawn_order {
	const struct gyre_class *class;
	struct gyre_mail *argument;
	struct gy_house *parent; /* for a spawn from its loop; NULL for none */
	struct gy_origin child_of;
	struct gyre_address group; /* that it is spawned for; nobody for none */
	const char *name;	   /* its first; NULL for none */
	bool channels_actor;
	bool counted; /* its waiting mail is counted though the class has no limit */
	bool pinned;  /* the loop was taken for it alone */
	bool lent;    /* the argument stays the caller's when the call fails */
	bool is_root; /* its children stand below a root in paths; see path.h */
};

/* The payload of the mail by which the loop of the actor gets the order. */
struct gy_spawn_message {
	struct gy_spawn_order order;
	struct gy_name *name; /* reserved for the house; NULL for none */
	struct gy_kin kin;
};

/* Whether a class that was taken in has a name, and all its fields are within their bounds. NULL is
 * none. */
bool gy_class_is_valid(const struct gyre_class *class);
/* Reserves the address at once, and orders its loop to mount the actor. Takes the argument. With
 * -EEXIST, @ret_address is the actor that has the name. */
int gy_spawn(struct gy_home *home, const struct gy_spawn_order *order, uint16_t loop,
	     struct gyre_address *ret_address);
/* Spawns from a handler. @options say where and as whose child; @order has no parent yet. */
int gy_spawn_by(struct gyre_stack *stack, struct gy_spawn_order *order,
		const struct gyre_spawn_options *options, struct gyre_address *ret_address);
/* Spawns an orphan from any thread, with an argument from the heap. */
int gy_spawn_from_outside(struct gy_home *home, const struct gy_spawn_order *order,
			  struct gyre_address *ret_address);
/* Takes back an actor that was spawned for a call that then failed. Any thread; without memory the
 * actor stays. */
void gy_stop_from_outside(struct gy_home *home, struct gyre_address actor);
/* An order to spawn has come to its loop. Takes the mail. */
void gy_spawn_arrived(struct gy_home *home, struct gyre_mail *mail);
/* The same after the end of the system, perhaps in the call that has sent it, which may hold the
 * lock of groups: they end too, and need not hear of it. */
void gy_spawn_came_late(struct gy_home *home, struct gyre_mail *mail);
void gy_house_mount(struct gy_loop *loop, struct gy_job *job);
/* Takes the house down; it stays in STOPPING until its channels and children have ended. */
void gy_house_stop(struct gy_house *house);
/* The channel floor has closed the last channel of a stopping house. */
void gy_house_channels_closed(struct gy_house *house);
/* The last child of a house that stops or restarts has ended. */
void gy_house_children_gone(struct gy_house *house);

#endif
