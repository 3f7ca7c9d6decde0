/*
 * Nodes: systems that exchange messages over a network. A system becomes a node by @node of its
 * options. Addresses then carry the id of their node, may travel inside of messages, and
 * gyre_notify(), gyre_ask() and gyre_watch() take those of other nodes as they take local ones.
 *
 *	static const struct gyre_node_peer peers[] = { { 2, "tcp://10.0.0.2:9000" }, { 0 } };
 *	struct gyre_node_options node = { .id = 1, .listen = "tcp://10.0.0.1:9000", .peers = peers,
 *					  .types = types, .secret = secret };
 *
 * Delivery is at most once, and in the order of the calls for each sender, receiver and kind. A
 * loop has one link, a connection, to each node that its actors send to. When a link breaks,
 * messages on their way are lost or have arrived; nothing older arrives later, because the other
 * node takes nothing from the next link before it is done with the last.
 *
 * An ask that may be lost with its link fails with -ECONNRESET at once; an ask whose answer may be
 * lost fails so when the other node has a link again. Either may have been handled or not, and is
 * not sent again. Messages that the other node has acknowledged, at the latest with its heartbeat,
 * are not lost: those asks go on. An answer that does not fit into its link, or is too large for
 * the node that asked, fails the ask with -EAGAIN or -EMSGSIZE there.
 *
 * A peer that is silent for suspect_ns is suspect, and after down_ns it is down; it is down at once
 * when another process comes up with its id. Asks to a node that is down fail with -EHOSTDOWN at
 * once, and its watched actors are reported as ended with that reason, after their last mail. Asks
 * that wait for a node that cannot be reached fail with -EHOSTUNREACH after away_ns.
 *
 * A node answers over links that it dials itself. If it cannot dial the node that asks, because the
 * address leads elsewhere or something stands between the two, it tells that node when a dial is
 * refused, or when an answer has waited for away_ns. The asks of that node then fail with
 * -EADDRNOTAVAIL, handled or not, and new ones fail at once; its watches end with that reason once
 * this has lasted for away_ns, and the watched actors may live on. Both nodes log the address and
 * the error. Notices still arrive, and everything works again as soon as a dial succeeds.
 *
 * A node that was declared down does not come back as it was: it had a *life*, and addresses carry
 * the life in which they were made. A node that was halted, or cut off, for longer than down_ns
 * learns with its next link that its life is over. It gets a gyre_node_event with
 * GYRE_NODE_QUARANTINED, takes a new life and goes on by itself:
 *
 * - Its actors run on, and its own addresses serve as before within the node, whenever they were
 *   made. gyre_self() and the like have the new life from then on.
 * - For all other nodes, also those that had never lost sight of it, its former life has ended:
 *   watchers of its actors are told once, asks to them fail with -EHOSTDOWN at once, and mail to
 *   them is a dead letter (GYRE_DROP_FORMER_LIFE). Names have to be looked up anew: the same actor
 *   then has another address, which does not equal the former one.
 * - Mail to a life that others have met before waits as for a node that cannot be reached: the node
 *   may be down, and about to come with it.
 * - The asks that it had sent fail with -ECONNRESET: they may have been handled or not. Its watches
 *   of actors on other nodes stay, except on nodes that it has declared down.
 *
 * Two nodes that have declared each other down both take new lives. Lives differ, and have no
 * order: clocks do not matter. Of two processes with one id the later one is believed, and the
 * other is refused as long as the later one is alive.
 *
 * With a secret, or with certificates, links are encrypted, and each end has proved to the other
 * that it has the secret, or a certificate. With neither, anybody who can connect, or get between
 * two nodes, may send anything to any actor, and stop it.
 *
 * Nodes of one machine can have links over Unix sockets: @listen and addresses of peers may be
 * "unix:/run/node.socket", or "unix:@name" for an abstract name, and some peers may be dialled so,
 * others over TCP. Such links need neither secret nor certificates, and use them if they are given.
 * Each end asks the kernel for the user of the other: it has to be the effective user of the own
 * process, or one of @users, the superuser being no exception. Otherwise the connection is closed
 * before anything is read from it or sent, with a line in the log that names user and process.
 *
 * - Of the process that listens, the kernel tells the effective user at the time when it began to:
 *   a node that changes its user after gyre_system_create() has to be allowed as the former one.
 * - The file of a socket is made when the node is created. One that a killed process has left is
 *   replaced; another process that listens there is waited for, for @listen_wait_ns. It is removed
 *   at the end, unless another process has made its own since. Beside the file stands, for a
 *   moment, its lock, so the folder has to be writable; nobody else should be able to write there.
 * - A file can be reached by processes that see its folder, also from other containers and network
 *   namespaces; an abstract name by those of the same network namespace, whoever they are.
 * - In a user namespace users have the ids that they are mapped to there, on each side; those that
 *   are not mapped all have that of /proc/sys/kernel/overflowuid, 65534: run no node as that user
 *   there, and do not allow it. Processes of another PID namespace may have the id 0 in logs.
 */
#ifndef GYRE_NODE_H
#define GYRE_NODE_H

#include <gyre/stack.h>

GYRE_BEGIN_DECLS

struct gyre_tls_context;

/** GYRE_NODE_NAME_BYTES_MAX - the longest name of a cluster, without its final 0 */
#define GYRE_NODE_NAME_BYTES_MAX 63

/** GYRE_NODE_USERS_MAX - how many users a node can allow besides its own */
#define GYRE_NODE_USERS_MAX 64

/**
 * GYRE_NODE_EXIT_DECLARED_DOWN - the exit status of a program that ends because its node was
 * declared down: that of a temporary failure, as EX_TEMPFAIL
 */
#define GYRE_NODE_EXIT_DECLARED_DOWN 75

/**
 * struct gyre_node_peer - where another node can be reached
 * @id: the id of the node, not 0; a list ends with an entry whose id is 0
 * @address: "tcp://HOST:PORT"; or, for a node of the same machine, "unix:/PATH" or "unix:@NAME",
 *   see gyre/socket_address.h. Its path begins with a slash
 */
struct gyre_node_peer {
	uint16_t id;
	const char *address;
};

/**
 * gyre_node_told_fn - is called by a membership engine, to tell of another node
 * @system: the node that is told
 * @peer: the other node; its address is copied. An address of NULL means that it has left, and is
 *   not dialled until the engine tells of it again
 *
 * The engine may call it from any thread, in any phase, also inside of @watch of struct
 * gyre_membership, but not from a handler of the system; it may be re-entered, on several threads
 * at once. The last call is before @stop has returned.
 *
 * Returns 0, or a negative errno as gyre_system_node_add_peer().
 */
typedef int (*gyre_node_told_fn)(struct gyre_system *system, const struct gyre_node_peer *peer);

/**
 * struct gyre_membership - an engine outside of gyre that knows which nodes there are
 * @start: begins, and sets @ret_engine, which the other functions get. A negative errno fails
 *   gyre_system_create()
 * @publish: announces where this node can be reached: @listen of struct gyre_node_options, with the
 *   actual port for 0; not called for a node without @listen
 * @watch: from now on the engine tells of each other node, and at once of those that it knows
 * @stop: the last call; withdraws the announcement
 *
 * The thread that creates or destroys the system calls each function once, in that order, without
 * re-entering; @stop after the loops have ended. Nodes that name no engine have a static list.
 */
struct gyre_membership {
	int (*start)(const void *arg, void **ret_engine);
	int (*publish)(void *engine, const struct gyre_node_peer *self);
	int (*watch)(void *engine, gyre_node_told_fn tell, struct gyre_system *system);
	void (*stop)(void *engine);
};

/**
 * struct gyre_node_options - a system as a node; all but @id may be 0 for the default
 * @id: the id of the node, unique in its cluster, not 0
 * @cluster: a name that all nodes must share, up to GYRE_NODE_NAME_BYTES_MAX bytes; "gyre"
 * @listen: "tcp://HOST:PORT" where other nodes reach this one; or "unix:/PATH" or "unix:@NAME",
 *   where those of the machine do; NULL for a node that only dials, unless it has @listen_local.
 *   Messages go over links that their sender has dialled, so such a node can only send notices: its
 *   asks of other nodes, its watches there and gyre_node_lookup() fail at once with -EADDRNOTAVAIL
 * @listen_wait_ns: how long to try, 1e6 to 6e10, while another process listens there, such as one
 *   that was killed and that the kernel has not taken down yet; 5e9
 * @peers: the nodes known from the start, ended by an entry with id 0; NULL for none.
 *   gyre_system_node_add_peer() adds more
 * @membership: an engine that tells of more peers as they come and go; NULL for none
 * @membership_arg: for its @start
 * @types: the types of messages that may come from other nodes, ended by NULL; others are dead
 *   letters, and asks of them are answered with -EPROTO
 * @secret: the secret that nodes of a cluster share, 16 to 255 bytes, and random, as `openssl rand
 *   -hex 32` makes it: anybody who sees a link begin can try words at leisure. Links are encrypted
 *   by TLS 1.3 with a key made of the secret and of @cluster, and with fresh keys each, so that the
 *   secret reveals nothing of earlier links; nothing goes in the clear. With @tls it is proved
 *   besides the certificates. NULL for none
 * @secret_before: the secret that @secret replaces: both are accepted, and a node that has only one
 *   of them is reached with that. Give both to one node after the other, and drop this one when all
 *   have both; NULL for none
 * @no_encryption: @secret is proved when a link begins, and the link goes on in the clear: anybody
 *   between two nodes can read, alter and add. For networks that keep everybody else out. All nodes
 *   of a cluster must have the same value; not with @tls
 * @tls: the certificates of the node, with the CA of its cluster, see tls.h: links are encrypted,
 *   and no node has one whose certificate that CA has not signed, whatever its name. The node takes
 *   a reference. NULL for none
 * @allow_public: listen on an address of TCP other than loopback even without @secret or @tls, in
 *   the clear and open to everybody
 * @link_bytes_max: how many bytes of messages may wait for, or be on their way to, a peer on one
 *   link, 65536 to 2^30; beyond it a send fails with -EAGAIN; 4 MiB. Of incoming messages that are
 *   too large for one frame, a link keeps the parts that have come, at most as many bytes as this
 *   and one message of @message_bytes_max
 * @message_bytes_max: the largest encoded message, 64 to 2^24; 2^24
 * @greetings_max: how many incoming connections a loop may have whose peers have not proved yet
 *   what they are, 1 to 65536; more are closed at once; 1024
 * @greeting_ns: how long that may take, 1e7 to 6e10; 5e9
 * @heartbeat_ns: how often a link that has nothing else to send sends a sign of life, 1e7 to 6e10;
 *   1e9. All times have a jitter of a tenth. It must be well below the suspect_ns of other nodes
 * @suspect_ns: silence after which a peer is suspect, more than @heartbeat_ns, up to 3.6e12; 3e9
 * @down_ns: silence after which it is down, more than @suspect_ns, up to 3.6e12; 1e10
 * @idle_ns: the time without a message after which a link is closed, 1e9 to 3.6e12; 3e11
 * @redial_min_ns: the pause after the first failure to reach a peer, 1e6 to 6e10; 1e8. It doubles
 *   with each further one
 * @redial_max_ns: the longest pause, at least @redial_min_ns, up to 3.6e12; 1e10
 * @away_ns: how long messages wait for a peer that cannot be reached, 1e6 to 3.6e12; 5e9; then they
 *   are dead letters
 * @end_when_declared_down: if another node has declared this one down, it stops instead of taking a
 *   new life, for a supervisor to start it anew: gyre_main() returns GYRE_NODE_EXIT_DECLARED_DOWN,
 *   gyre_system_wait() and gyre_system_run() return -ESTALE
 * @listen_local: "unix:/PATH" or "unix:@NAME", where other nodes of the machine reach this one
 *   besides @listen; NULL for nowhere. Peers that it dials over Unix sockets learn this address, or
 *   @listen if that is one of a Unix socket. No membership engine is told
 * @listen_mode: the permissions of the files of Unix sockets that it listens on, 1 to 0777; 0600,
 *   or 0666 with @users. Whoever may connect is checked besides
 * @users: the ids of users whose processes may have links over Unix sockets, besides the effective
 *   user of this process; copied; NULL for none
 * @users_count: how many they are, at most GYRE_NODE_USERS_MAX
 * @watches_max: how many watches the actors of one other node may have on actors here, 1 to 2^24;
 *   2^20. Each takes some 128 bytes. More are refused: the watcher gets struct gyre_terminated with
 *   -EDQUOT, and this node logs it
 */
struct gyre_node_options {
	uint16_t id;
	const char *cluster;
	const char *listen;
	uint64_t listen_wait_ns;
	const struct gyre_node_peer *peers;
	const struct gyre_membership *membership;
	const void *membership_arg;
	const struct gyre_type *const *types;
	const char *secret;
	const char *secret_before;
	bool no_encryption;
	struct gyre_tls_context *tls;
	bool allow_public;
	uint32_t link_bytes_max;
	uint32_t message_bytes_max;
	uint32_t greetings_max;
	uint64_t greeting_ns;
	uint64_t heartbeat_ns;
	uint64_t suspect_ns;
	uint64_t down_ns;
	uint64_t idle_ns;
	uint64_t redial_min_ns;
	uint64_t redial_max_ns;
	uint64_t away_ns;
	bool end_when_declared_down;
	const char *listen_local;
	const uint32_t *users;
	uint32_t users_count;
	uint32_t listen_mode;
	uint32_t watches_max;
};

/**
 * enum gyre_node_state - the state of another node, as far as it is known
 * @GYRE_NODE_UNKNOWN: nothing was heard of it yet
 * @GYRE_NODE_UP: it was heard of lately
 * @GYRE_NODE_SUSPECT: it was silent for suspect_ns, or its links broke
 * @GYRE_NODE_DOWN: it was silent for down_ns, or has come with another life, see above
 * @GYRE_NODE_QUARANTINED: of the node itself: another node had declared it down, and it goes on
 *   with a new life
 */
enum gyre_node_state {
	GYRE_NODE_UNKNOWN,
	GYRE_NODE_UP,
	GYRE_NODE_SUSPECT,
	GYRE_NODE_DOWN,
	GYRE_NODE_QUARANTINED,
};

/**
 * struct gyre_node_event - the event of a node whose state has changed
 * @incarnation: the life of the node that the event is about, whose lower half is the life of
 *   addresses; 0 while unknown
 * @node: its id
 * @state: enum gyre_node_state
 */
struct gyre_node_event {
	uint64_t incarnation;
	uint16_t node;
	uint16_t state;
};
GYRE_OWN_MESSAGE_(gyre_node_event, 0x48);

/**
 * struct gyre_node_status - the state of another node, and counts of the links to it
 * @incarnation: that of its present or last life
 * @state: enum gyre_node_state
 * @links: open links to it
 * @sent: messages that went to it
 * @received: messages that came from it
 * @lost: messages that the node had not confirmed when a link broke: they may have left or not, and
 *   may have arrived or not
 * @watchers: watches that its actors have on actors here. One that was given up just when a link
 *   broke is counted until there is the next one
 */
struct gyre_node_status {
	uint64_t incarnation;
	enum gyre_node_state state;
	uint32_t links;
	uint64_t sent;
	uint64_t received;
	uint64_t lost;
	uint32_t watchers;
};

/**
 * gyre_system_node_id() - the id of the node that a system is
 * @system: the system, or NULL
 *
 * Return: the id, 0 when the system is no node.
 * Ownership: a value.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API uint16_t gyre_system_node_id(const struct gyre_system *system);

/**
 * gyre_system_node_port() - the port that a node listens on, also if it asked for port 0
 * @system: the system
 *
 * Return: the port; 0 when it does not listen, or listens on Unix sockets alone.
 * Ownership: a value.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API uint16_t gyre_system_node_port(const struct gyre_system *system);

/** gyre_system_node_resolved_options_sized() - those of a node, with the size of @ret_options */
GYRE_API int gyre_system_node_resolved_options_sized(const struct gyre_system *system,
						     struct gyre_node_options *ret_options,
						     size_t ret_options_bytes);

/**
 * gyre_system_node_resolved_options() - the options that a node runs with
 * @system: the node
 * @ret_options: the options that it was created with. A field that was 0 has the value that 0
 *   stood for. @listen has the port that the node got if it asked for port 0. @peers, @types,
 *   @secret and @secret_before are NULL: a node keeps only what it made of them
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL, or the system is no node
 * Ownership: texts in @ret_options, and @tls, are the node's, until gyre_system_destroy().
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
static inline int gyre_system_node_resolved_options(const struct gyre_system *system,
						    struct gyre_node_options *ret_options)
{
	return gyre_system_node_resolved_options_sized(system, ret_options, sizeof(*ret_options));
}

/**
 * gyre_system_node_add_peer() - tells a node where another node can be reached
 * @system: the node
 * @peer: id and address, which is copied; the address of a known one is changed for the next dial
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL, the id is 0 or the node's own, the system is no node, or the
 *            address cannot be understood
 *   -ENAMETOOLONG  the path of a Unix socket has more than 107 bytes
 *   -ENOMEM  there is no memory
 * Ownership: @peer stays the caller's.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API int gyre_system_node_add_peer(struct gyre_system *system,
				       const struct gyre_node_peer *peer);

/** gyre_system_node_status_sized() - gyre_system_node_status() with the size of @ret_status */
GYRE_API int gyre_system_node_status_sized(const struct gyre_system *system, uint16_t id,
					   struct gyre_node_status *ret_status,
					   size_t ret_status_bytes);

/**
 * gyre_system_node_status() - the state of another node, as far as it is known
 * @system: the own node
 * @id: the id of the other node
 * @ret_status: the state
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL, or the system is no node
 *   -ENOENT  no such node is known: nobody told of it, and it has not come
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
static inline int gyre_system_node_status(const struct gyre_system *system, uint16_t id,
					  struct gyre_node_status *ret_status)
{
	return gyre_system_node_status_sized(system, id, ret_status, sizeof(*ret_status));
}

/**
 * gyre_node_watch() - tells the running actor of the states of other nodes
 * @stack: the stack of the running handler
 *
 * The actor gets a gyre_node_event for each node that is not unknown now, and for each change from
 * then on, until it stops. Watching twice is watching once. While there is no memory for the
 * events, changes are left out; as soon as there is, the present states are told, some of them
 * perhaps a second time.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  the system is no node
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_node_watch(struct gyre_stack *stack);

/**
 * struct gyre_node_found - the answer to gyre_node_lookup()
 * @address: of the actor that has the name
 */
struct gyre_node_found {
	struct gyre_address address;
};
GYRE_OWN_MESSAGE_(gyre_node_found, 0x49);

/**
 * gyre_node_lookup() - asks a node for the actor that has a name there
 * @stack: the stack of the running handler
 * @node: the id of the node, which may be this one
 * @name: as for gyre_name_lookup()
 * @timeout_ns: as for gyre_ask()
 * @ret_future: the answer, a gyre_node_found; fails with -ENOENT when no actor has that name
 *
 * Return: 0, or a negative errno, which the future has too.
 * Errors:
 *   -EINVAL  @ret_future or @name is NULL, @name is too long, or the system is no node
 *   -ENOMEM  there is no memory
 *   -ETIMEDOUT  as for gyre_ask()
 * Ownership: @name stays the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_node_lookup(struct gyre_stack *stack, uint16_t node, const char *name,
			      uint64_t timeout_ns, struct gyre_future *ret_future);

GYRE_END_DECLS

#endif
