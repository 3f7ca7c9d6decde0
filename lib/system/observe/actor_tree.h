/*
 * The tree of actors as text, for snapshots.
 */
#ifndef GY_SYSTEM_OBSERVE_ACTOR_TREE_H
#define GY_SYSTEM_OBSERVE_ACTOR_TREE_H

struct gy_homes;

/*
 * Draws the tree of a system whose loops go on meanwhile, in text that gy_memory_put() frees; NULL
 * when there is no memory. Any thread.
 */
char *gy_actor_tree_draw(const struct gy_homes *homes);

#endif
