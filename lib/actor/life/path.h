/*
 * Paths: the place of an actor in the tree of families, in words, as "/user/chat/room-3". They are
 * for people, in logs and snapshots, and no way to find an actor.
 *
 * An actor keeps no path, only its number among its parent's children. A parent makes a record with
 * its own part of the path, when it has its first child. The families of its children point there,
 * on whatever loop, and the record never changes. It lives as long as the parent, and as the
 * records of its children, which are counted: for a child may go on without the parent, with
 * children of its own. So a path is read upwards without a lock.
 */
#ifndef GY_ACTOR_LIFE_PATH_H
#define GY_ACTOR_LIFE_PATH_H

#include <stddef.h>
#include <stdint.h>

#include <gyre/actor.h>

#include "base/macros.h"

struct gy_home;
struct gy_house;

/* Where paths begin. */
enum gy_root { GY_ROOT_USER, GY_ROOT_SYSTEM, GY_ROOTS };

extern const char *const gy_root_names[GY_ROOTS];

/* A parent's part of the path. */
struct gy_lineage {
	struct gy_lineage *parent; /* NULL below a root */
	enum gy_root root;
	uint32_t references; /* atomic: the parent's, and one of each record below */
	uint32_t bytes;	     /* of @text; 0 for an actor that stands for the root */
	char text[];
};

/* The record of a house that is about to have children; NULL when there is no memory. */
GY_COLD struct gy_lineage *gy_lineage_make(const struct gy_house *house);
/* The house has no more children. */
void gy_lineage_unref(const struct gy_house *house, struct gy_lineage *lineage);

/* Bytes for a part of a path, with the final 0: a name, or a class and a number. */
enum { GY_PATH_PART_BYTES = 256 };

/*
 * The part of an actor of which these are known: the name by which it is found, else its class and
 * number. Any thread. Returns its length.
 */
size_t gy_path_part(const struct gy_home *home, struct gyre_address address, const char *class_name,
		    uint32_t number, char text[GY_PATH_PART_BYTES]);

/*
 * Writes the path of an actor that is spawned, and returns where it begins in @text. The beginning
 * of a path that is too long is left out: "/.../room-3". On the thread that runs the actor, or its
 * own loop.
 */
const char *gy_path(const struct gy_house *house, char text[GYRE_PATH_TEXT_MAX]);

/* gy_class_warn() about one actor, which the line names by its path. */
GY_PRINTF(3, 4)
GY_COLD void gy_house_warn(struct gy_home *home, const struct gy_house *house, const char *format,
			   ...);

#endif
