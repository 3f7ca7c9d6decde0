/*
 * Actors of sockets on their way to their loops. What can be refused at once is refused by the call
 * that opens a socket; memory for the actor itself is only found to be lacking on its loop. Each
 * such actor is therefore counted until it is mounted, and one that cannot be gives up its socket,
 * says why, and makes a start fail that waits for it.
 *
 * Its argument is a message with a destructor: wherever that mail ends without a mount, the
 * destructor knows.
 */
#ifndef GY_NET_PENDING_OPEN_H
#define GY_NET_PENDING_OPEN_H

#include "actor/home.h"

struct gyre_socket_address;
struct gyre_spawn_options;

/* Finds the loop that an actor's spawn is for, and says it in @place; -EINVAL for none. */
int gy_pending_open_place(const struct gy_house *house, struct gyre_spawn_options *place);

/*
 * Waits while the system is being started. A start ends when all actors that are on their way have
 * come, and threads that open sockets all the time would add more. Any thread; on that of a loop it
 * does not wait.
 */
void gy_pending_open_may_begin(struct gy_homes *homes);
/* One more actor is on its way. Any thread, as for the next two. */
void gy_pending_open_begin(struct gy_homes *homes);
/* The actor has come; or it has not, and the system stops or its caller is told. */
void gy_pending_open_end(struct gy_homes *homes);
/* It could not be made, and its socket is closed. @what: "listening on", of @address, or @text
 * where that has none. */
void gy_pending_open_fail(const struct gy_home *home, const char *what,
			  const struct gyre_socket_address *address, const char *text, int error);

#endif
