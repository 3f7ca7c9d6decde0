/*
 * The name directory of a system. A name is reserved at once and for one actor only; it is found
 * from any thread without a lock, and a name that has gone is freed after a grace period.
 */
#ifndef GY_SYSTEM_DIRECTORY_NAMES_H
#define GY_SYSTEM_DIRECTORY_NAMES_H

#include <gyre/address.h>

#include "system/directory/growing_table.h"

struct gy_house;
struct gy_name;
struct gyre_system;

struct gy_names {
	struct gy_growing_table table;	    /* by name */
	struct gy_growing_table by_address; /* the first name of each actor that has one */
};

int gy_names_init(struct gy_names *names, struct gy_rcu *rcu);
/* Nothing that was retired is pending, and all actors are gone. Takes a half made one too. */
void gy_names_fini(struct gy_names *names);
/* ---- of an actor that is about to be spawned; see struct gy_directory_ops ---- */

int gy_name_reserve(struct gyre_system *system, const char *text, struct gyre_address address,
		    struct gy_name **ret_name, struct gyre_address *ret_holder);
int gy_name_take(struct gy_house *house, struct gy_name *name);
size_t gy_name_of(struct gyre_system *system, struct gyre_address address, size_t bytes,
		  char *ret_text);

/* Takes back all names of an actor. */
void gy_names_withdraw(struct gy_names *names, struct gy_name *first);

#endif
