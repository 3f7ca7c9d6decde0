/*
 * The address of an actor, or of a channel (see gyre_channel_address()): a value of 16 bytes that
 * is passed by value, may be stored, sent and compared, and never dangles. An address whose actor
 * has stopped is stale, which is harmless: mail to it becomes a dead letter and an ask to it fails
 * at once.
 */
#ifndef GYRE_ADDRESS_H
#define GYRE_ADDRESS_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_address - the name of an actor or a channel, however long it is kept
 * @slot: the place of the actor in its loop's table
 * @cookie: tells this actor from earlier ones of the same slot; 0 in the address of nobody
 * @loop: the loop where the actor lives; for a group, which lives nowhere, a number that no loop
 *   has
 * @node: the node of that loop; 0 in a system that is no node
 * @life: the life of that node in which the address was made (see node.h). The address is stale for
 *   other nodes when that life is over, though the actor may go on. 0 in a system that is no node
 *
 * The fields are for printing and for tables keyed by address; only the runtime makes addresses.
 * Leave @life out of a hash, and compare by gyre_address_equal(): addresses of different lives may
 * be equal.
 */
struct gyre_address {
	uint32_t slot;
	uint32_t cookie;
	uint16_t loop;
	uint16_t node;
	uint32_t life;
};

/** GYRE_NOBODY - the address of no actor, as a notice from a foreign thread has for its sender */
#ifdef __cplusplus
#define GYRE_NOBODY (gyre_address{})
#else
#define GYRE_NOBODY ((struct gyre_address){ 0 })
#endif

/**
 * gyre_address_is_here() - whether an address belongs to the system of the calling loop
 * @address: the address of any actor, which may have ended
 *
 * Return: true if it belongs to this system or node, in whichever life; false on threads that run
 *   no loop.
 * Ownership: values.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API bool gyre_address_is_here(struct gyre_address address);

/**
 * gyre_address_equal() - whether two addresses name the same actor
 *
 * Seen from a loop of its own node, the addresses of an actor in two lives of that node are equal.
 * Seen from another node, or a thread that runs no loop, they differ.
 */
static inline bool gyre_address_equal(struct gyre_address a, struct gyre_address b)
{
	return a.slot == b.slot && a.cookie == b.cookie && a.loop == b.loop && a.node == b.node &&
	       (a.life == b.life || gyre_address_is_here(a));
}

/** gyre_address_is_nobody() - whether an address names no actor at all */
static inline bool gyre_address_is_nobody(struct gyre_address address)
{
	return address.cookie == 0;
}

/** GYRE_ADDRESS_TEXT_MAX - bytes that the text of any address needs, with its final 0 */
#define GYRE_ADDRESS_TEXT_MAX 40

/**
 * gyre_address_format() - writes an address as text, for lines of a log
 * @address: the address of an actor, a channel or a group, or of nobody
 * @bytes: how many bytes @ret_text has, at least GYRE_ADDRESS_TEXT_MAX for any address
 * @ret_text: the text, with its final 0
 *
 * The text is "[LOOP:SLOT:COOKIE]", with the cookie in hexadecimal; in a system that is a node
 * "[NODE/LOOP:SLOT:COOKIE]"; for GYRE_NOBODY "[nobody]". Lines of the log name actors and channels
 * in this form.
 *
 * Return: the number of bytes written, without the final 0, or a negative errno.
 * Errors:
 *   -EINVAL    @ret_text is NULL
 *   -EMSGSIZE  @bytes is too small
 * Ownership: values.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API int gyre_address_format(struct gyre_address address, size_t bytes, char *ret_text);

GYRE_END_DECLS

#endif
