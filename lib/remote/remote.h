/*
 * What the files of this floor share: the node, what it knows of its peers, and its links.
 *
 * A link is one TCP connection between a loop of this node and some loop of a peer. The side that
 * dialled sends messages over it; both send the rest. So a loop has up to one dialled link to a
 * peer, which all that its actors send there goes over, in order; and any number of accepted ones.
 * In code a link is a gy_link: it outlives its connection, and dials again.
 *
 * Threads: a link and struct gy_links belong to their loop. A peer is shared by all loops: what is
 * not said to be atomic stands under the mutex of the node.
 */
#ifndef GY_REMOTE_REMOTE_H
#define GY_REMOTE_REMOTE_H

#include <pthread.h>

#include <gyre/channel.h>
#include <gyre/node.h>
#include <gyre/socket_address.h>

#include "actor/house.h"
#include "actor/node_loss.h"
#include "base/atomic.h"
#include "base/log_limit.h"
#include "channel/tls/tls.h"
#include "remote/frame_page.h"
#include "remote/types.h"
#include "remote/wire.h"

struct gy_nodes;

enum {
	GY_SECRET_BYTES_MIN = 16,
	GY_SECRET_BYTES_MAX = 255,
	GY_SECRETS_MAX = GY_TLS_KEYS_MAX,
	GY_PEER_PAGE = 256,
	GY_LINK_ORDERS_MAX = 4096,
};

/* What is made of a shared secret; see secret.c. */
struct gy_secret {
	struct gy_tls_key key;
	unsigned char proof_key[GY_PROOF_BYTES];
	struct gyre_tls_context *tls; /* of links that are dialled with it; NULL for none */
};

/* By which connections of one loop of a peer come in, one at a time; see link_order.c. */
struct gy_link_order {
	uint64_t incarnation; /* of the peer */
	uint64_t dial;	      /* the newest that has come */
	uint64_t claim;	      /* of it; they count up */
	uint32_t host;	      /* the loop that serves the one that was let in, + 1; 0 for none */
};

/* What a loop has to do about a peer, as bits; see peer_life.c. */
enum {
	GY_PEER_TASK_POSTED = 1,
	GY_PEER_TASK_CUT = 2,	/* a life of it is over */
	GY_PEER_TASK_RENEW = 4, /* mail of watches may be lost */
	GY_PEER_TASK_REACH = 8, /* it is to hear whether it can be dialled */
};

struct gy_peer_task {
	struct gy_task task;
	struct gy_task telling; /* its place in the inbox matters, so it is a task of its own */
	struct gy_peer *peer;
	struct gy_links *links;
	uint32_t wanted;     /* atomic: the bits above */
	uint32_t telling_to; /* under the mutex: posted to tell of lives up to that; 0: it is not */
	uint32_t told;	     /* of the loop: the ends of lives up to that have been told there */
	/* Of the loop: what of it lacks memory, as bits of enum in actor/node_loss.h. */
	struct gy_timer again;
	uint32_t lacking;
	uint64_t asked_until; /* the asks that fail are no newer */
};

/*
 * The lives of a peer are numbered as they come, from 1 on. Those up to @over have ended; so the
 * last one, @count, is alive if it is above. What is written is under the mutex.
 */
struct gy_lives {
	uint64_t *incarnations; /* atomic: the last GY_LIVES_KEPT, by gy_life_code() */
	uint32_t count;		/* atomic */
	uint32_t over;		/* atomic */
	uint32_t cut;		/* are cut off, or about to be */
	uint32_t told;		/* atomic: are cut off on all loops */
	uint32_t cutting;	/* loops that have still to cut */
	uint32_t accused;	/* the low half of the one that the peer is told to be over; or 0 */
};

/* One number stands for no life; see gy_origin. */
enum { GY_LIVES_KEPT = GY_LIVES - 1 };

struct gy_peer {
	struct gy_nodes *nodes;
	uint16_t id;
	char *address;	      /* NULL: it has come, and cannot be dialled */
	bool learnt;	      /* the address is where it came from, and nobody told of it */
	uint64_t incarnation; /* atomic; written under the mutex */
	struct gy_lives lives;
	struct gy_peer_task *peer_tasks; /* by loop */
	uint32_t state;			 /* atomic: enum gyre_node_state; written under the mutex */
	uint64_t heard_ns;		 /* atomic */
	uint32_t links;			 /* atomic: open */
	uint64_t sent;			 /* atomic, as the next two */
	uint64_t received;
	uint64_t lost;
	struct gy_link_order *link_orders; /* by loop of the peer */
	uint32_t link_orders_count;
	uint32_t ways; /* atomic: of @links, those that were dialled here */
	/* See one_way.c; written under the mutex: */
	uint64_t unreached_ns; /* atomic: until when it believes that it cannot be dialled; or 0 */
	int unreached_error;
	uint64_t unreached_logged_ns;
	uint64_t one_way_logged_ns;
};

/* Finds things by 16 bits; pages are never freed before the whole. */
struct gy_id_table {
	void **pages[GY_PEER_PAGE];
};

/* An engine that tells of nodes. */
struct gy_node_engine {
	const struct gyre_membership *membership; /* NULL for none */
	void *engine;
};

/* An actor that is told of nodes. What there was no memory for is made up for by present states. */
struct gy_node_watcher {
	struct gyre_address address;
	uint32_t behind; /* the first node whose state it is still to be told; 0 for none */
	uint64_t own;	 /* a life of this node that was declared down, likewise */
};

/* This node, and all that it knows of. */
struct gy_nodes {
	struct gyre_system *system;
	struct gy_homes *homes;
	const struct gy_log *log;
	struct gyre_node_options options; /* no field is left at its default */
	char cluster[GYRE_NODE_NAME_BYTES_MAX + 1];
	struct gy_secret secrets[GY_SECRETS_MAX]; /* the present one first */
	uint32_t secrets_count;
	uint64_t incarnation; /* atomic: its life; written under the mutex */
	uint32_t loops_max;
	uint16_t port;
	/* Where it listens if it was to find a port itself; else "". */
	char found[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gy_node_engine engines[2]; /* the static list, and perhaps another */
	bool ending;			  /* for it was declared down; under the mutex */
	struct gy_types types;
	struct gy_links *links; /* one a loop */
	struct gy_remote_ops ops;
	struct gy_remote_ops one_way_ops; /* of a loop that has a link that is one-way */
	uint32_t lack_logged;		  /* atomic: that it does not listen */
	struct gy_log_limit refusals;	  /* of lines about those that have dialled; atomic */
	pthread_mutex_t mutex;
	struct gy_id_table peers; /* read without the mutex */
	struct gy_node_watcher *watchers;
	uint32_t watchers_count; /* atomic; written under the mutex */
	/* Of higher floors: the name directory, and the end of a system. */
	int (*look_up)(struct gyre_system *system, const char *name, struct gyre_address *ret);
	void (*declared_down)(struct gyre_system *system);
};

/* The links of one loop; it hangs there as home->loop.own_links. */
struct gy_links {
	struct gy_nodes *nodes;
	struct gy_home *home;
	uint64_t incarnation;		/* in which its links say that they are */
	struct gy_task new_life;	/* the node has taken another life */
	uint32_t new_life_posted;	/* atomic */
	struct gy_timer behind;		/* a watcher of nodes is */
	struct gy_timer new_life_retry; /* and memory to tell actors of it was lacking */
	uint64_t new_life_asked_until;	/* who had asked up to then */
	struct gy_id_table dialled;	/* struct gy_link, by peer */
	struct gy_link *recent;		/* of these, that mail went over last; or NULL */
	uint64_t type_key;		/* of @type, which came last: see fast_receive.c */
	const struct gyre_type *type;
	struct gy_frame_pages frame_pages;
	struct gy_list all;
	struct gy_timer beat;
	uint64_t random;
	uint64_t expected_ns; /* when the next beat should be */
	uint32_t strangers;   /* connections that others have made, and are no links yet */
	uint64_t refused;     /* atomic: of those, that have ended */
	uint64_t full_logged_ns;
	uint32_t one_ways; /* links that are one-way */
	bool draining;
};

enum gy_link_stage {
	GY_LINK_PAUSED, /* there is nothing to say, or the next dial waits for its time */
	GY_LINK_DIALLING,
	GY_LINK_AWAITS_HELLO, /* the peer's hello is awaited */
	GY_LINK_AWAITS_PROOF, /* its proof is */
	GY_LINK_AWAITS_ORDER, /* nothing older is to be read any more; see link_order.c */
	GY_LINK_OPEN,
	GY_LINK_LEAVING, /* its loop retires: it says what it has, and waits until that is taken */
	GY_LINK_ENDED,
};

/* A large message on its way in. Its memory grows with what has come of it. */
struct gy_partial_message {
	struct gy_list item;
	uint32_t number;
	uint32_t at;
	uint32_t bytes; /* of the whole, as the peer says */
	uint32_t room;
	unsigned char *frame;
};

/* The beginning of a frame whose end is not there yet. */
struct gy_partial_frame {
	unsigned char *frame; /* NULL while its length is not known */
	uint32_t at;	      /* bytes there */
	uint32_t bytes;
	unsigned char word[GY_WIRE_WORD_BYTES];
};

/* An ask or an answer that is on its way. */
struct gy_in_flight_item {
	uint64_t end; /* where it does, in the bytes of frames that are no fragments */
	uint64_t ask_id;
	uint32_t slot; /* of who asks, here or there */
	uint32_t cookie;
	uint16_t loop;
	bool ask;
};

/* A ring of them. */
struct gy_in_flight {
	struct gy_in_flight_item *items;
	uint32_t size; /* a power of two, or 0 */
	uint32_t first;
	uint32_t count;
	bool ending; /* those who wait are being told of their loss */
};

/* The last notice that was said in full. */
struct gy_last_sent {
	const struct gyre_type *type; /* NULL: the next one is said in full */
	uint32_t type_id;
	uint32_t bytes;
	struct gyre_address to; /* as it was given */
	struct gy_origin from;
};

/* The last notice that was heard in full. */
struct gy_last_received {
	bool any;
	unsigned char head[GY_WIRE_HEAD_BYTES];
	struct gy_frame frame;	      /* made of @head by the first AGAIN, as the type */
	const struct gyre_type *type; /* NULL: those like it are taken one by one */
};

/* Of a dialled link that is one-way; see one_way.c. */
struct gy_one_way {
	uint64_t since_ns;
	uint64_t until_ns;  /* unless the peer says more */
	uint64_t failed_ns; /* when asks were failed for that last, also of an earlier connection */
	bool due;	    /* they are to be failed, a while after that */
	bool logged;	    /* that it is one-way */
	bool told;	    /* watches have ended for it, and new ones are refused */
};

struct gy_link {
	struct gy_list item; /* in links->all */
	struct gy_links *links;
	struct gy_peer *peer;		  /* NULL for an accepted one before its hello */
	struct gyre_handler_context *ctx; /* NULL without a channel */
	enum gy_link_stage stage;
	bool dialled;
	bool stranger;	     /* it is counted as one */
	bool dialling;	     /* there is a client for it */
	bool greeted;	     /* the last connection came to be open */
	bool opened;	     /* it is counted as open */
	bool pinned;	     /* somebody watches an actor there: it stays open though idle */
	bool peer_unsure;    /* the peer's links broke, and it is not known yet how it is */
	bool bye;	     /* one side has closed the connection, since nothing was on it */
	bool unacknowledged; /* the last connection ended before all that was said was taken */
	bool again;	     /* it was let in after another one of that loop */
	bool new_life;	     /* it was ended for a new life of this node: it is dialled at once */
	bool connected;	     /* the last dial has come to a connection */
	bool one_way;	     /* what the other side answers cannot come; see one_way.c */
	uint8_t secret;	     /* which one it is dialled with, or was proved by the peer */
	uint32_t failures;   /* to have an open connection, in a row */
	uint32_t life;	     /* of the peer, by number, as it said in its hello */
	uint32_t life_mark;  /* the same as it stands in the slot of an origin */
	uint64_t dials;	     /* that came to a hello */
	uint64_t claim;	     /* see link_order.c; 0 before it has one */
	struct gy_timer redial;

	/* Out: */
	struct gy_later later; /* flushes at the end of the job that said something */
	bool flushing;
	struct gy_frame_page frame_page; /* where frames are written */
	struct gy_last_sent last_sent;
	struct gyre_buffer *out;  /* those of them that are not on it, nor given to the channel;
				     NULL for none */
	struct gy_list fragments; /* see fragments.c */
	uint32_t fragments_count;
	uint32_t stream_number;
	uint64_t begun_bytes;  /* of parcels that have left in part, of the whole ones */
	uint64_t queued_bytes; /* of frames, from the send on until the peer credits them */
	uint64_t sent_bytes;   /* of messages, given to the channel since it opened */
	uint64_t credited_bytes;
	uint64_t credited_frames;
	uint64_t parcel_bytes;	 /* of the queued ones, those of what goes in fragments */
	uint64_t fragment_bytes; /* given to the channel */
	struct gy_in_flight in_flight;
	uint64_t window_bytes;
	uint64_t queued_bytes_max; /* not credited */
	uint32_t message_bytes_max;
	uint64_t queued_frames;
	uint64_t told_frames;	 /* of these, counted with the peer */
	struct gy_node *waiting; /* mail until the link is open; NULL for none */
	struct gy_node *waiting_last;
	uint64_t waiting_bytes;
	uint64_t away_ns; /* since when nothing could be sent */

	/* In: */
	struct gy_partial_frame partial_frame;
	struct gy_last_received last_received;
	struct gy_list partial_messages;
	uint64_t partial_messages_bytes; /* of these, of the whole ones */
	uint64_t consumed_bytes;
	uint64_t consumed_frames;
	uint64_t told_bytes; /* of @consumed_bytes */

	/* Life: */
	struct gy_hello mine;
	struct gy_hello theirs;
	uint64_t opened_ns; /* the channel */
	uint64_t heard_ns;
	uint64_t said_ns;
	uint64_t used_ns;
	uint64_t judged_ns;  /* when the peer was heard, as of the last look at that */
	uint64_t excused_ns; /* of the time since then: this loop did not listen */
	struct gy_one_way back;
	uint64_t missed_ns; /* when a dial has failed last */
	int missed;	    /* why */
};

/* Whether messages may go over its connection. */
static inline bool gy_link_can_send(const struct gy_link *link)
{
	return link->stage == GY_LINK_OPEN || link->stage == GY_LINK_LEAVING;
}

/* ---- id_table.c ---- */

static inline void *gy_id_table_find(const struct gy_id_table *peers, uint16_t id)
{
	void **page = gy_load_acquire(&peers->pages[id / GY_PEER_PAGE]);

	return page == NULL ? NULL : gy_load_acquire(&page[id % GY_PEER_PAGE]);
}
/* Sets a place that is empty; -ENOMEM. By one thread at a time. */
int gy_id_table_set(struct gy_id_table *peers, uint16_t id, void *thing);
void gy_id_table_fini(struct gy_id_table *peers);

/* ---- node.c ---- */

/* What a node is given by the floor above. */
struct gy_nodes_life {
	uint32_t loops_max;
	struct gy_homes *homes;
	const struct gy_log *log;
	int (*look_up)(struct gyre_system *system, const char *name, struct gyre_address *ret);
	void (*declared_down)(struct gyre_system *system); /* it is to end with that; any thread */
};

/* A node of those options, without links; a bad option is named in the log. */
int gy_nodes_create(const struct gyre_node_options *options, const struct gy_nodes_life *life,
		    struct gy_nodes **ret_nodes);
/* A home has been made: it can have links. Its index is below loops_max. */
void gy_nodes_add_home(struct gy_nodes *nodes, struct gy_home *home);
/* All homes are made: listens, and looks for others. */
int gy_nodes_start(struct gy_nodes *nodes, struct gyre_system *system);
/* All loops have ended. NULL is allowed. */
void gy_nodes_destroy(struct gy_nodes *nodes);

struct gy_peer *gy_peer_find(const struct gy_nodes *nodes, uint16_t id);
/* The peer, made if need be; NULL without memory. Any thread. */
struct gy_peer *gy_peer_get(struct gy_nodes *nodes, uint16_t id);
/* A copy of its address from the heap; NULL when it has none. */
char *gy_peer_address(struct gy_peer *peer);
/* Gives it the address that it came from, unless somebody has told of one. */
void gy_peer_learn_address(struct gy_peer *peer, const char *address);

static inline struct gy_links *gy_links_of(const struct gy_home *home)
{
	return home->loop.own_links;
}

/* Told by an engine, or a user. */
int gy_node_told(struct gyre_system *system, const struct gyre_node_peer *peer);

/* ---- membership.c ---- */

int gy_membership_start(struct gy_nodes *nodes, struct gyre_system *system);
void gy_membership_stop(struct gy_nodes *nodes);

/* ---- peer_state.c ---- */

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
/* It has shown life. */
void gy_peer_heard(struct gy_links *links, struct gy_peer *peer);
/* What its silence means by now, as long as it is. */
void gy_peer_judge(struct gy_links *links, struct gy_peer *peer, uint64_t silence_ns);
bool gy_peer_is_down(const struct gy_peer *peer);
/* Up or suspect. */
bool gy_peer_is_alive(const struct gy_peer *peer);
/* A dial of it has failed. */
void gy_peer_dial_failed(struct gy_links *links, struct gy_peer *peer);
/* A link to it broke: what this loop watches there is watched anew. */
void gy_peer_link_broke(struct gy_links *links, struct gy_peer *peer);
/* A link from it broke, and there is the next one: likewise, on all loops. */
void gy_peer_link_returned(struct gy_links *links, struct gy_peer *peer);

void gy_states_init(struct gy_links *links);
/* An event about this node itself. */
void gy_nodes_tell_own(struct gy_links *links, uint64_t incarnation, enum gyre_node_state state);

/* ---- peer_life.c ---- */

/* As it stands in addresses. */
static inline uint32_t gy_life_of(uint64_t incarnation)
{
	return (uint32_t)incarnation;
}

/* 1 to GY_LIVES_KEPT, for a number that is not 0. */
static inline uint32_t gy_life_code(uint32_t number)
{
	return (number - 1) % GY_LIVES_KEPT + 1;
}

int gy_lives_init(struct gy_peer *peer);
void gy_lives_fini(struct gy_peer *peer);
/* Its number, or 0 for one that has not come or was forgotten. */
uint32_t gy_lives_find(const struct gy_lives *lives, uint32_t life);
static inline bool gy_lives_is_over(const struct gy_lives *lives, uint32_t number)
{
	return number <= gy_load_acquire(&lives->over);
}
/* Under the mutex: the next life has come; the present one is over. */
void gy_lives_begin(struct gy_peer *peer, uint64_t incarnation);
void gy_lives_end(struct gy_peer *peer);
/* What a hello to the peer says, which has said so itself, or 0. */
uint32_t gy_lives_accused(struct gy_peer *peer, uint64_t incarnation);
/* What the loop is to do is done. */
void gy_peer_task_request(struct gy_links *links, struct gy_peer *peer, uint32_t peer_tasks);
/* A watch by an actor of that loop lacks memory: it is renewed in a moment. */
void gy_peer_task_renew_later(struct gy_links *links, uint16_t node, uint16_t loop);
/* It is done at once: nothing of the next life comes before. */
void gy_peer_task_run(struct gy_links *links, struct gy_peer *peer);
/* The end of what that address was made in is still to be told on this loop. */
bool gy_lives_end_is_due(const struct gy_links *links, struct gyre_address address);
/* An address with the life of its node, if it is made of an origin. */
struct gyre_address gy_lives_shown(const struct gy_nodes *nodes, struct gyre_address address);

/* A peer has declared that life of this node down: it takes another one, unless it did, or is to
 * end. Whether it has the one that is over still. */
bool gy_nodes_declared_down(struct gy_links *links, uint16_t by, uint32_t life);
/* The loop ends what was of the former life, if it has not yet. */
void gy_links_adopt_new_life(struct gy_links *links);
void gy_links_init_life(struct gy_links *links);

/* ---- link.c ---- */

/*
 * The link that mail for a peer goes over where none is open: it dials if need be; NULL with -errno
 * in @ret_error.
 */
struct gy_link *gy_link_get(struct gy_links *links, uint16_t node, int *ret_error);
/* Its connection has ended, or could not be made. */
void gy_link_lost(struct gy_link *link, int reason);
/* The peer has proved what it is: what waits may go. */
void gy_link_open(struct gy_link *link);
/* Ends its connection for a reason. */
void gy_link_abort(struct gy_link *link, int reason);
/* Ends all links to a peer, on this loop, whose life is over, and gives up what waits for it. */
void gy_links_cut(struct gy_links *links, const struct gy_peer *peer);
/* Ends all links that have said the former life of this node. */
void gy_links_end_former(struct gy_links *links);

/* Its loop retires: it does not dial again, and what waits goes another way. */
static inline bool gy_link_is_last(const struct gy_link *link)
{
	const struct gy_loop *loop = &link->links->home->loop;

	return link->dialled && loop->index >= gy_loops_count(loop->peers);
}
/* The dialled links of a loop end as soon as all that was said is taken; whether they have. */
bool gy_links_leave(struct gy_home *home);
/* A step of that: nothing that goes another way then overtakes what went by this link. */
void gy_link_leave(struct gy_link *link);
void gy_links_drain(struct gy_links *links);
/* The loop had retired, and comes back. */
void gy_links_resume(struct gy_links *links);
/* The look at all links, now and then. */
void gy_links_init(struct gy_links *links, struct gy_nodes *nodes, struct gy_home *home);
void gy_links_fini(struct gy_links *links);
/* Makes a link of a connection that another node has made. */
int gy_link_accept(struct gyre_channel *channel, void *arg);
/* Gives a connection that a link has dialled its handler. */
int gy_link_init_channel(struct gyre_channel *channel, void *arg);
void gy_links_start_beat(struct gy_links *links);

/* ---- link_dial.c ---- */

void gy_link_init_redial(struct gy_link *link);
/* Dials, unless it does already or is in a pause; -EHOSTUNREACH without an address, -ESHUTDOWN on a
 * loop that does not take part. */
int gy_link_dial(struct gy_link *link);
/* The same, and if that fails again after a pause: something waits. */
void gy_link_ensure_dialled(struct gy_link *link);
/* Closes an open connection in good order, until there is something to say. */
void gy_link_close_idle(struct gy_link *link);

/* ---- runtime_messages.c ---- */

extern const struct gyre_type gy_type_lookup;

/* The body of mail of gyre's own types; -EOPNOTSUPP for what does not leave the node. */
int gy_runtime_message_encode(const struct gyre_mail *mail, struct gy_frame *frame,
			      struct gyre_encoder *out);
/* The mail of an event of such a type, to that receiver: -EPROTO for what is none, -ENOMEM. */
int gy_runtime_message_decode(const struct gy_link *link, const struct gy_frame *frame,
			      struct gyre_mail **ret_mail);

/* ---- link_handshake.c ---- */

/* A connection is there: the side that dialled says hello. */
void gy_link_handshake_begin(struct gy_link *link);
/* HELLO, PROOF and REFUSE. */
void gy_link_handshake_receive(struct gy_link *link, const struct gy_frame *frame);
/* The first bytes that came are no greeting, or none came (@bytes is NULL): says so, if there was
 * to be one from who was dialled, or if it is TLS. */
void gy_link_handshake_failed(const struct gy_link *link, const unsigned char *bytes, size_t count);
/* A link of another node may be used. */
void gy_link_handshake_admit(struct gy_link *link);

/* ---- link_order.c ---- */

/* An accepted link wants to open: gy_link_handshake_admit() follows, now or later, or its end. */
void gy_link_order_enter(struct gy_link *link);

/* ---- secret.c ---- */

/* All but its context; -ENOMEM. */
int gy_secret_derive(const char *secret, const char *cluster, struct gy_secret *ret_secret);
/* Takes those of the options, of a node that knows its cluster; what is wrong is logged. */
int gy_secrets_init(struct gy_nodes *nodes);
void gy_secrets_fini(struct gy_nodes *nodes);
/* Whether they are proved in greetings, and do not encrypt links. */
static inline bool gy_secrets_are_proved(const struct gy_nodes *nodes)
{
	return nodes->secrets_count > 0 &&
	       (nodes->options.tls != NULL || nodes->options.no_encryption);
}
/* What encrypts the connections of a link; NULL for nothing. */
struct gyre_tls_context *gy_secrets_tls(const struct gy_link *link);
/*
 * What one side proves to the other: HMAC-SHA256 over its role, a binding to the connection of
 * GY_TLS_BINDING_BYTES, and both hellos. -EIO.
 */
int gy_secret_prove(const struct gy_secret *secret, const unsigned char *binding,
		    const struct gy_hello *mine, const struct gy_hello *theirs, bool dialled,
		    unsigned char ret_proof[GY_PROOF_BYTES]);
int gy_secret_random(void *bytes, size_t count);

/* ---- one_way.c ---- */

/* A dial has failed. */
void gy_peer_unreachable(struct gy_link *link, int error);
/* Mail has waited for a link long enough. */
void gy_peer_wait_expired(struct gy_link *link);
static inline bool gy_peer_is_unreached(const struct gy_peer *peer)
{
	return gy_load_relaxed(&peer->unreached_ns) != 0;
}
/* There is one. */
void gy_peer_reached(struct gy_links *links, struct gy_peer *peer);
/* It has no link any more: there is nobody to tell. */
void gy_peer_left(struct gy_links *links, struct gy_peer *peer);
/* All links of the peer to this loop, or one that has opened, say how it is, if that is news. */
void gy_links_send_reach(struct gy_links *links, const struct gy_peer *peer);
void gy_one_way_send_reach(struct gy_link *link);
/* REACH has come over a link that this side has dialled; -EPROTO. */
int gy_one_way_receive_reach(struct gy_link *link, const struct gy_frame *frame);
/* Now and then, of a link that is one-way. */
void gy_one_way_check(struct gy_link *link);
/* Its connection has ended: nobody knows. */
void gy_one_way_forget(struct gy_link *link);
/* Whether mail needs what could not come. */
bool gy_one_way_refuses(const struct gy_links *links, struct gyre_address to,
			const struct gyre_mail *mail);
int gy_one_way_route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);

/* ---- dial_only.c ---- */

/* What the loops of the node do with mail for others. Its options are there. */
void gy_remote_ops_for(struct gy_nodes *nodes);

/* ---- outgoing.c, and link_flush.c ---- */

extern const struct gy_remote_ops gy_remote_ops;

/* Mail is lost for that reason, and who has to know is told. Returns @error, or 0 where it ends in
 * another way. */
int gy_outgoing_drop(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
		     int error);

/* A mail from the heap that takes another one, from the heap too, to the loop that is to send it;
 * NULL without memory, and then @mail stays the caller's. */
struct gyre_mail *gy_relay_create(struct gyre_address to, struct gyre_mail *mail);

/* Gives the channel a frame that is no message. */
void gy_link_send_control(struct gy_link *link, enum gy_wire_kind kind, const void *body,
			  uint32_t bytes);
void gy_link_send_bytes(struct gy_link *link, const void *frame, uint32_t bytes);
/* Gives the channel what it and the peer take now. */
void gy_link_flush(struct gy_link *link);
enum gy_waiting {
	GY_WAITING_ALL,
	GY_WAITING_BUT_EVENTS, /* which are the ends of watches, too */
	GY_WAITING_ASKS,
	GY_WAITING_OVER, /* what is for lives that are over, or for none that was named */
};

/* Mail that has waited for the link is sent, or lost for that reason. */
void gy_outgoing_send_waiting(struct gy_link *link);
void gy_outgoing_drop_waiting(struct gy_link *link, int error, enum gy_waiting which);
/* Forgets what was on its way; counted as lost. */
void gy_outgoing_reset(struct gy_link *link);
/* Tells an actor of the peer that its ask is not answered, when the link is open; -ENOMEM. */
int gy_outgoing_fail_answer(struct gy_link *link, struct gyre_address asker, uint64_t ask_id,
			    int error);

/* ---- in_flight.c ---- */

/* Whether somebody waits for it or for what answers it. */
static inline bool gy_in_flight_is_tracked(const struct gy_frame *frame)
{
	return frame->kind != GY_WIRE_NOTICE &&
	       (frame->kind != GY_WIRE_EVENT || frame->type == gy_type_unanswered.id);
}
/* Room for one more; -ENOMEM. */
int gy_in_flight_reserve(struct gy_link *link);
/* An ask or an answer is on its way. There is room. */
void gy_in_flight_add(struct gy_link *link, const struct gy_frame *frame);
/* The peer has taken more. */
void gy_in_flight_acknowledge(struct gy_link *link);
/* The connection has ended, and with it what is on its way, in pieces too. -ENOMEM while not all
 * who wait for it could be told: then it is to be called again, before there is another connection.
 */
int gy_in_flight_reset(struct gy_link *link);
/* That frame does not arrive; -ENOMEM if who waits for it could not be told. */
int gy_in_flight_fail(struct gy_link *link, const struct gy_frame *frame);

/* ---- fragments.c ---- */

/* Whether something of that pair is on its way in pieces. */
bool gy_fragments_pending(const struct gy_link *link, struct gyre_address from,
			  struct gyre_address to);
/* Copies a message that is to leave in pieces; -ENOMEM. */
int gy_fragments_add(struct gy_link *link, const struct gy_frame *frame, struct gyre_address from,
		     struct gyre_address to);
/* The next fragment of those that are there; NULL without memory. */
struct gyre_buffer *gy_fragments_next(struct gy_link *link);
/* What had not left in full does not arrive; -ENOMEM while not all who wait for it could be told:
 * the rest stays then. */
int gy_fragments_reset(struct gy_link *link);
/* Forgets what stayed. */
void gy_fragments_fini(struct gy_link *link);

/* ---- repeat.c ---- */

/* A notice has come in full. */
static inline void gy_repeat_remember(struct gy_link *link, const unsigned char *head)
{
	link->last_received.any = true;
	link->last_received.type = NULL;
	memcpy(link->last_received.head, head, sizeof(link->last_received.head));
}

/* The frame that an AGAIN stands for; -EPROTO when there was no notice before it. */
int gy_repeat_expand(struct gy_link *link, struct gy_frame *frame);
/* Takes whole frames at @bytes that are all such notices, for an actor of this loop. How many
 * bytes: 0 for what is none, or is to be taken one by one. */
size_t gy_repeat_take(struct gy_link *link, const unsigned char *bytes, size_t count);

/* ---- fast_receive.c ---- */

/* The type that the head of a message names, if it is nothing but bytes and the same here. */
const struct gyre_type *gy_fast_receive_type(struct gy_links *links, const unsigned char *head);
/* Takes a whole frame that is a usual message; false for any other. */
bool gy_fast_receive(struct gy_link *link, const unsigned char *bytes);

/* ---- incoming.c ---- */

/* The slot of a sender as it stands in mail here. */
static inline uint32_t gy_incoming_slot(const struct gy_link *link, uint32_t slot)
{
	return (slot & gy_slot_mask) | link->life_mark;
}
/* The time that an ask has which came with that much left; 0 for no bound. */
uint32_t gy_incoming_patience(uint16_t left);
/* As gy_send(), for an address that need not be anybody's. */
static inline void gy_incoming_deliver(struct gy_home *home, struct gyre_address to,
				       struct gyre_mail *mail, enum gy_lane lane)
{
	struct gy_house *house =
		gy_likely(gy_is_here(home, to)) ? gy_house_find(home, to.slot, to.cookie) : NULL;

	if (gy_likely(house != NULL && gy_house_is_occupied(house) && house->limit == 0)) {
		gy_count(&home->counters.sent, 1);
		if (lane == GY_LANE_ASK) {
			gy_mail_set_deadline(mail, home->loop.now_ns);
		}
		gy_house_put(home, house, mail, lane);
	} else {
		(void)gy_send_away(home, to, mail);
	}
}

/* Bytes have come. */
void gy_incoming_read(struct gy_link *link, struct gyre_buffer *data);
void gy_incoming_reset(struct gy_link *link);
/* Tells the peer what has been taken. */
void gy_incoming_credit(struct gy_link *link);

#endif
