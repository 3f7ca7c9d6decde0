/*
 * The tables of functions by which the actor floor calls the floors above it. A home has a pointer
 * to each; a system that lacks a floor has NULL there.
 */
#ifndef GY_ACTOR_UPPER_OPS_H
#define GY_ACTOR_UPPER_OPS_H

#include <gyre/address.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "actor/mail/mail.h"

struct gy_home;
struct gy_house;
struct gy_loop;
struct gy_name;
struct gy_stack;
struct gyre_mail;
struct gyre_type;
struct gyre_system;

/* The channel floor. On the loop's thread. */
struct gy_channel_ops {
	/* Handles completed operations. */
	void (*run)(struct gy_house *house, struct gy_stack *stack);
	/* Closes the open channels of a stopping house. True when all are closed; else
	 * gy_house_channels_closed() follows. */
	bool (*stop)(struct gy_house *house);
	/* Frees the endpoints of a house that ends. */
	void (*fini)(struct gy_house *house);
	/* A house has come back from another loop, where it opened something. */
	void (*came_home)(struct gy_house *house);
	/* gy_pool_trim() for the floor's pools. True to be called again later. */
	bool (*trim)(struct gy_loop *loop, uint32_t keep);
	/* The system stops: nothing new is taken in, what is open stays. */
	void (*close_doors)(struct gy_home *home);
	/* The loop stops: accepts and reads nothing more, and sends the output that is queued. */
	void (*drain)(struct gy_home *home);
	/* Closes at once all that is still open. */
	void (*abort)(struct gy_home *home);
	uint32_t (*open_count)(const struct gy_home *home);
	/* The loop retires: listening sockets move to other loops, open channels stay. */
	void (*leave)(struct gy_home *home);
	/* The loop has retired with all channels closed; its ring is about to go. */
	void (*rest)(struct gy_home *home);
	/* The loop comes back with another ring. */
	void (*resume)(struct gy_home *home);
	/* Delivers mail to a slot of this loop that is a channel's; as gy_send(). Any phase. */
	int (*put)(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail);
	/* An actor that was spawned with mail of the type GY_CHANNEL_ORDER_ID is about to be
	 * mounted on @stack: opens its channel, and makes the mail the message of its mount. */
	int (*begin)(struct gy_stack *stack, struct gyre_mail *argument);
	/* Its mount waits: the channel does until that has ended. */
	void (*hold)(struct gy_house *house);
	/* The mount of a house that has endpoints has waited, and has ended. */
	void (*release)(struct gy_house *house);
	/* The handler of a stack that is @piping has returned. */
	void (*returned)(struct gy_stack *stack);
};

/* The id of the type of mail with which an actor is spawned that is to own a channel. */
enum { GY_CHANNEL_ORDER_ID = 0x1b };

/* The loop in the address of a group. */
enum { GY_GROUP_LOOP = 0xfffe };

/* The system floor, for houses with names, groups and published events. On the loop's thread. */
struct gy_directory_ops {
	/* Delivers mail to a group; as gy_send(). */
	int (*route)(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);
	/* Makes a spawned house a member of a group; -ENOMEM. */
	int (*enlist)(struct gy_house *house, struct gyre_address group);
	/* The house that was to be @member cannot be spawned. */
	void (*refuse)(struct gy_home *home, struct gyre_address member, struct gyre_address group);
	/* As much mail waits for a house whose mail is counted as gy_homes.crowded_at says. */
	void (*crowded)(struct gy_house *house);
	/* A house with a name entry stops; its address is still good. */
	void (*withdraw)(struct gy_house *house);
	/* Gives the name @text to @address, for which a house is about to be spawned. -EINVAL,
	 * -ENOMEM; -EEXIST, and then @ret_holder is the actor that has it. Any thread. */
	int (*name)(struct gyre_system *system, const char *text, struct gyre_address address,
		    struct gy_name **ret_name, struct gyre_address *ret_holder);
	/* The house that was spawned takes its name. -ENOMEM, and then nobody has the name. */
	int (*take_name)(struct gy_house *house, struct gy_name *name);
	/* Writes the first of the names that an actor has, with its final 0, and returns its
	 * length; 0 for none. NULL in a directory without names. Any thread. */
	size_t (*name_of)(struct gyre_system *system, struct gyre_address address, size_t bytes,
			  char *ret_text);
	/* Mail of the kind GY_MAIL_PUBLISHED has its turn. Whether it is still wanted. */
	bool (*claim_event)(struct gy_house *house, struct gyre_mail *mail);
	/* Such mail is lost, before its turn or in it; the mail stays. Any thread. */
	void (*lose_event)(const struct gyre_mail *mail);
	/* Publishes an event of gyre's own without a key, if anybody has subscribed to it. @home is
	 * that of the calling loop; NULL on other threads. */
	void (*publish)(struct gyre_system *system, struct gy_home *home,
			const struct gyre_type *type, const void *event);
};

/* The remote floor. On the loop's thread. */
struct gy_remote_ops {
	/* Sends mail of an actor of this loop to another node; as gy_send(), and counts it. */
	int (*route)(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);
	/* Sends an ask or a notice on that an actor of that loop has forwarded, and counts it. */
	void (*forward)(struct gy_home *home, uint16_t loop, struct gyre_address to,
			struct gyre_mail *mail);
	/* Mail of the kind GY_MAIL_REMOTE has come from another thread of this node. After @drain
	 * also on a thread that takes down a loop that has ended. */
	void (*arrived)(struct gy_home *home, struct gyre_mail *mail);
	/* The loop retires: links end in good order. Called again until it returns true. */
	bool (*leave)(struct gy_home *home);
	/* The loop stops: no more mail leaves. May be called twice. */
	void (*drain)(struct gy_home *home);
	/* A loop that had stopped will turn again. */
	void (*resume)(struct gy_home *home);
	/* The address of an actor of another node with its life, which an origin lacks. */
	struct gyre_address (*shown)(const struct gy_home *home, struct gyre_address address);
	/* A watch of that actor of another node is to be kept here: false if its node has as many
	 * as it may. */
	bool (*hold_watcher)(struct gy_home *home, struct gy_origin watcher);
	/* One that was held is not kept any more. Both also on the thread of a thief. */
	void (*release_watcher)(struct gy_home *home, struct gy_origin watcher);
};

#endif
