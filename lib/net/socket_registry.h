/*
 * Sockets that can be handed over to another process: those of one gyre_system_listen(), or of one
 * gyre_system_datagram_open() that has an address of its own choice. Whoever has opened them has a
 * record of them among all of the system, from which they are passed on, and which knows what is to
 * be done when another process has them.
 *
 * All of it is guarded by homes->placing.
 */
#ifndef GY_NET_SOCKET_REGISTRY_H
#define GY_NET_SOCKET_REGISTRY_H

#include <gyre/socket_address.h>

#include "net/fd_passing.h"
#include "net/socket_file.h"

struct gy_socket_entry;

struct gy_socket_entry_ops {
	/* All its actors leave their sockets to another process, and end with what they have. */
	void (*leave)(struct gy_socket_entry *entry);
	/* Whether they have. */
	bool (*has_left)(const struct gy_socket_entry *entry);
	/* Gives sockets of a predecessor the options of the call that has taken them: 0, or a
	 * negative errno, and then some are as they were. */
	int (*adopt)(const struct gy_socket_entry *entry);
};

/* A part of what its sockets share. */
struct gy_socket_entry {
	struct gy_list item; /* in net->socket_registry */
	const struct gy_socket_entry_ops *ops;
	enum gy_fd_message_kind kind;
	uint32_t serial;  /* tells it from all others of the system */
	uint32_t max;	  /* of @fds */
	int *fds;	  /* each while it may be passed on; else -1 */
	const char *text; /* that it was opened by */
	struct gy_socket_file file;
	bool ended;	  /* its actors have been told to stop */
	bool shared;	  /* another process has the sockets too, and their file with them */
	bool handed_over; /* atomic: ended by leaving them to that */
};

void gy_socket_entry_add(struct gy_homes *homes, struct gy_socket_entry *entry);
/* Also one that was not added. */
void gy_socket_entry_remove(struct gy_socket_entry *entry);
/* The file goes with its socket, unless that is another process's too. */
void gy_socket_entry_remove_file(struct gy_homes *homes, struct gy_socket_entry *entry);
/* Has @what called with the house of an actor, on its loop, when it has been mounted, unless it
 * stops before; without the mutex too. -ENOMEM and it is not. */
int gy_socket_entry_order(const struct gy_homes *homes, struct gyre_address actor,
			  void (*what)(struct gy_house *house));

/* Such an order, which needs no memory. */
struct gy_socket_order {
	struct gy_task task;
	struct gyre_address actor;
	void (*carry_out)(struct gy_house *house);
	/* It was carried out, or will not be; on the loop of the actor, or late. NULL for one that
	 * gy_socket_entry_order() has made. */
	void (*done)(struct gy_socket_order *order);
};
/* Gives an order that is a part of something, and filled but for its task. */
void gy_socket_entry_give(const struct gy_homes *homes, struct gy_socket_order *order);

/*
 * Gives an order to stop an actor, unless @stop was given before: till then it names nobody. There
 * is one for each beforehand, so that no listener stays for lack of memory. Adds one to
 * @references, which @done is to give back; with the mutex.
 */
void gy_socket_entry_stop(const struct gy_homes *homes, struct gy_socket_order *stop,
			  struct gyre_address actor, void (*done)(struct gy_socket_order *stop),
			  uint32_t *references);

/* ---- for the floor above; without the mutex ---- */

/* How far it has come. */
struct gy_socket_registry_cursor {
	uint32_t serial; /* of the last that is done */
	uint32_t begun;	 /* that of one that is done in part, or 0 */
	uint32_t number; /* of its next socket */
};

/* Sends the next sockets by @fd, or that there are no more; does not wait. 1 for no more, 0, or a
 * negative errno. */
int gy_socket_registry_pass(struct gy_homes *homes, struct gy_socket_registry_cursor *place,
			    int fd);
/* What was taken of a predecessor, which is about to be told, is as it was opened here; not before,
 * for while this process may still fail nothing changes for that one. */
void gy_socket_registry_adopt(struct gy_homes *homes);
/* No other process has them any more. */
void gy_socket_registry_keep(struct gy_homes *homes);
/* Before the descriptor that they were passed by is closed: whether another process keeps them. */
bool gy_socket_registry_settle(struct gy_homes *homes);
/* Leaves all sockets to the process that has got them. What was taken out of them is served on. */
void gy_socket_registry_leave(struct gy_homes *homes);
/* Whether all have been left. */
bool gy_socket_registry_have_left(struct gy_homes *homes);

#endif
