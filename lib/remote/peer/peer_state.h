/*
 * Whether peers are alive, and who is told when that changes; see peer_state.c.
 */
#ifndef GY_REMOTE_PEER_PEER_STATE_H
#define GY_REMOTE_PEER_PEER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/address.h>
#include <gyre/node.h>

struct gy_links;
struct gy_nodes;
struct gy_peer;

/* An actor that is told of nodes. What there was no memory for is made up for by present states. */
struct gy_node_watcher {
	struct gyre_address address;
	uint32_t behind; /* the first node whose state it is still to be told; 0 for none */
	uint64_t own;	 /* a life of this node that was declared down, likewise */
};

enum gy_hello_verdict {
	GY_HELLO_WELCOME,
	GY_HELLO_OVER,	   /* that life was declared down, or another one followed it */
	GY_HELLO_REPLACED, /* another process has come with that id, and is alive */
};

/*
 * A process with that id has said hello. A life that has not come before ends the one before; its
 * number goes to @ret_life.
 */
enum gy_hello_verdict gy_peer_hello(struct gy_links *links, struct gy_peer *peer,
				    uint64_t incarnation, uint32_t *ret_life);
/* The peer has shown life. */
void gy_peer_heard(struct gy_links *links, struct gy_peer *peer);
/* Changes the peer's state if it has been silent for that long. */
void gy_peer_judge(struct gy_links *links, struct gy_peer *peer, uint64_t silence_ns);
bool gy_peer_is_down(const struct gy_peer *peer);
/* Up or suspect. */
bool gy_peer_is_alive(const struct gy_peer *peer);
/* Whether that is the present life of a peer, which is not down: then it stays so, with the mutex
 * held, until gy_peer_leave_life(). */
bool gy_peer_enter_life(struct gy_nodes *nodes, uint16_t id, uint32_t life);
void gy_peer_leave_life(struct gy_nodes *nodes);
/* A dial of it has failed. */
void gy_peer_dial_failed(struct gy_links *links, struct gy_peer *peer);
/* A link from it broke, and there is the next one: all loops name again what they watch there. */
void gy_peer_link_returned(struct gy_links *links, struct gy_peer *peer);

void gy_states_init(struct gy_links *links);
/* An event about this node itself. */
void gy_nodes_announce_own(struct gy_links *links, uint64_t incarnation,
			   enum gyre_node_state state);

#endif
