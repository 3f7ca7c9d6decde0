/*
 * A key-value server for clients of Redis. Each loop has a shard, a part of the keys, which only
 * that loop's thread touches. The hash of a key says which shard has it.
 *
 *	main.c     options, a system with an actor for each shard, and a place to listen
 *	client.c   a client, the actor of its channel: runs commands for the shard of its own loop
 *	round.c    commands for other shards: one message that is forwarded from shard to shard
 *	shard.c    a shard: the keys of a loop, and its actor
 *	command.c  how a command is found, checked and run
 *	resp.c     the protocol: commands in, replies out
 *	tree.c     trees of items, of which all that is kept is made
 *	values.c, collections.c, pubsub.c, server.c: the commands
 */
#ifndef APPS_KV_KV_H
#define APPS_KV_KV_H

#include <limits.h>
#include <stdatomic.h>

#include <gyre/gyre.h>

#include "../options.h"

enum {
	ARGS_MAX = 1 << 16, /* of a command */
	KEY_BYTES_MAX = 1 << 16,
	COMMAND_BYTES_MAX = 15 << 20,
	LINE_BYTES_MAX = 1 << 16,      /* of a command that is a line of words */
	OUTPUT_BYTES_MAX = 256 << 20,  /* of one reply: a larger one ends the connection */
	PENDING_BYTES_MAX = 128 << 10, /* of replies or commands that wait for others */
	PUSH_BYTES_MAX = 32 << 20,     /* that wait for a subscriber, a few large values */
	QUEUE_BYTES_MAX = 1 << 20,     /* of a transaction */
	ROUND_COMMANDS_MAX = 1024,
	SHARD_TREES = 1 << 16,
	SPARES_MAX = 64, /* rounds that a shard keeps for its clients */
	TOLD_MAX = 64,	 /* clients over the limit that are told so, at a time */
};

struct call;
struct client;
struct round;

struct slice {
	const char *bytes;
	size_t count;
};
#define SLICE(TEXT) ((struct slice){ (TEXT), sizeof(TEXT) - 1 })
#define NOTHING	    ((struct slice){ NULL, 0 }) /* no key, or a reply that there is none */

/* Memory that grows. */
struct text {
	char *bytes;
	size_t count;
	size_t room;
	bool failed; /* there was no memory, or it became too long */
	bool resp3;  /* how replies are written into it */
};

/* ---- tree.c ---- */

enum type { NONE, STRING, LIST, SET, SORTED_SET, HASH, ANY };

/* What is kept: a key, a member of a hash or a set, an element of a list. */
struct item {
	struct item *left;
	struct item *right;
	double score;	/* what a tree is ordered by, before the key: mostly the hash of that */
	uint32_t count; /* of the items below, and this one */
	uint32_t priority;
	uint32_t key_bytes;
	uint32_t value_bytes;
	enum type type;	      /* of a key */
	uint64_t expires_ms;  /* a key's time, of the Unix epoch; 0 for never */
	struct item *members; /* of a key that is no string */
	struct item *order;   /* of a sorted set: the members by score */
	char bytes[];	      /* the key, then the value */
};

typedef void (*item_fn)(struct item *item, void *arg);

extern _Thread_local uint64_t memory_used; /* by the items of this thread */

void tree_init(void); /* before any other, while there are no loops */
uint64_t hash_of(struct slice key);
struct item *item_create(double score, struct slice key, size_t value_bytes);
void item_clear(struct item *item);
void item_destroy(struct item *item);
struct item *tree_find(struct item *tree, double score, struct slice key);
size_t tree_rank(const struct item *tree, double score, struct slice key);
void tree_insert(struct item **tree, size_t rank, struct item *item);
struct item *tree_take(struct item **tree, size_t rank);
struct item *tree_make(struct item **tree, double score, struct slice key, size_t value_bytes);
bool tree_put(struct item **tree, double score, struct slice key, struct slice value);
void tree_remove(struct item **tree, double score, struct slice key);
void tree_visit(struct item *tree, ssize_t first, ssize_t end, item_fn visit, void *arg);
struct item *tree_expire(struct item *tree, uint64_t now_ms);
void tree_destroy(struct item *tree);

static inline size_t tree_count(const struct item *tree)
{
	return tree == NULL ? 0 : tree->count;
}

static inline struct slice item_key(const struct item *item)
{
	return (struct slice){ item->bytes, item->key_bytes };
}

static inline struct slice item_value(const struct item *item)
{
	return item == NULL ? NOTHING
			    : (struct slice){ item->bytes + item->key_bytes, item->value_bytes };
}

static inline bool item_is_over(const struct item *item, uint64_t now_ms)
{
	return item->expires_ms != 0 && item->expires_ms <= now_ms;
}

/* Of what a key holds: bytes or members. */
static inline size_t item_length(const struct item *item)
{
	return item->type == STRING ? item->value_bytes : tree_count(item->members);
}

/* ---- resp.c ---- */

struct args {
	size_t count;
	size_t needed; /* there is no whole command before there are so many bytes */
	char error[40];
	struct slice list[ARGS_MAX];
};

ssize_t resp_parse(struct args *args, struct slice input, uint64_t value_max);
void text_add(struct text *text, const void *bytes, size_t count);
bool slice_is(struct slice slice, const char *word); /* in letters of any case */
bool slice_integer(struct slice slice, int64_t *ret_number);

/* All return NULL: a command may end with one. */
const char *reply_text(struct text *text, const char *bytes); /* as it is */
const char *reply_head(struct text *text, char kind, int64_t number);
const char *reply_number(struct text *text, size_t number);
const char *reply_bulk(struct text *text, struct slice bulk);
const char *reply_string(struct text *text, const char *bytes);
const char *reply_list(struct text *text, char kind, size_t count);
const char *reply_double(struct text *text, double number);
__attribute__((format(printf, 2, 3))) const char *reply_format(struct text *text,
							       const char *format, ...);

/* ---- shard.c ---- */

struct kv {
	uint64_t loops;
	uint64_t clients_max;
	uint64_t value_max;
	uint64_t memory_max;
	struct gyre_address actors[APP_LOOPS_MAX];
	struct shard *shards[APP_LOOPS_MAX]; /* for their figures */
};

enum figure { KEYS, EXPIRING, EXPIRED, MEMORY, COMMANDS, CLIENTS, CONNECTIONS, FIGURES };

struct shard {
	struct kv *kv;
	uint32_t index;
	uint64_t now_ms;		  /* of the Unix epoch, when the present commands came */
	struct args args;		  /* of the present command */
	struct text out;		  /* replies to the present client */
	struct round *spares[SPARES_MAX]; /* that had a client before: see round.c */
	size_t spares_count;
	size_t cursor;			  /* of what looks for keys whose time is over */
	struct item *names[2];		  /* of channels and patterns: see pubsub.c */
	_Atomic uint64_t counts[FIGURES]; /* which other loops read */
	struct item *trees[SHARD_TREES];
};

extern const struct gyre_class shard_class;

int shard_init(struct gyre_system *system, uint32_t loop, void *kv, void **ret_shard);
void shard_fini(struct gyre_system *system, uint32_t loop, void *data, void *kv);
void shard_look_at_clock(struct shard *shard);
struct item *shard_find(struct shard *shard, uint64_t hash, struct slice key);
struct item *shard_make(struct shard *shard, uint64_t hash, struct slice key, size_t value_bytes);
void shard_remove(struct shard *shard, struct item *item);
void shard_clear(struct shard *shard);
void shard_set_expiry(struct shard *shard, struct item *item, uint64_t expires_ms);
uint32_t shard_of(const struct kv *kv, struct slice key, uint64_t hash);
size_t kv_sum(const struct kv *kv, enum figure figure);

/* Only the loop of a shard counts. */
static inline void shard_count(struct shard *shard, enum figure figure, uint64_t change)
{
	_Atomic uint64_t *count = &shard->counts[figure];

	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + change,
			      memory_order_relaxed);
}

/* ---- command.c ---- */

enum {
	GROWS = 1,	 /* refused when memory is short */
	IMMEDIATE = 2,	 /* run in a transaction, not queued */
	UNQUEUED = 4,	 /* not allowed in one */
	SUBSCRIBED = 8,	 /* allowed to a client of RESP2 that is subscribed */
	EVERYWHERE = 16, /* for every shard; their numbers are added up, or all reply the same */
	BY_CURSOR = 32,	 /* the first argument says which shard */
	ALONE = 64,	 /* not while other shards owe replies */
	EACH_KEY = 128,	 /* run for each argument, which is a key; their numbers are added up */
	EACH_PAIR = 256, /* likewise for each key and what follows it */
	LIST_UP = 512,	 /* the reply is an array of what each key has */
};

/* What is done if a key is missing that has to be of a type; most reply with something empty. */
enum missing { RUN, MAKE, NIL = '$', ZERO = ':', NO_LIST = '*', NO_SET = '~', NO_MAP = '%' };

struct command {
	const char *name;
	/* Returns a reply that is always the same, or NULL when it has written one. */
	const char *(*run)(struct call *call);
	int arity; /* with the name; negative: at least */
	uint32_t flags;
	enum type type; /* of the key, which is the first argument; NONE if it has no key */
	enum missing missing;
	int variant; /* for @run */
};

/* How many arguments belong to each of several keys; 0 if there are not several. */
static inline size_t command_width(const struct command *command)
{
	return (command->flags & EACH_PAIR) != 0 ? 2 : (command->flags & EACH_KEY) != 0;
}

/* A command that is run. */
struct call {
	const struct command *command;
	const struct slice *args;
	size_t count;
	uint64_t hash;	   /* of the key */
	struct item *item; /* of the key; NULL if it is missing */
	size_t sum;	   /* of what is counted for several keys, and replied for all of them */
	struct shard *shard;
	struct text *out;
	struct client *client; /* NULL in the actor of a shard */
};

/* Each ends with one that has no name. */
extern const struct command value_commands[], collection_commands[], pubsub_commands[],
	server_commands[], client_commands[];

#define OK	      "+OK\r\n"
#define WRONG_TYPE    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
#define OUT_OF_MEMORY "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
#define NO_INTEGER    "-ERR value is not an integer or out of range\r\n"
#define SYNTAX_ERROR  "-ERR syntax error\r\n"
#define TOO_LONG      "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n"
/* A slice for "%.*s", of which a message shows the beginning. */
#define SHOWN(SLICE) (int)((SLICE).count < 128 ? (SLICE).count : 128), (SLICE).bytes

enum place { HERE = -1, SPREAD = -2, REFUSED = -3 }; /* any; several; none */

void commands_init(void);
void call_set(struct call *call);
int64_t call_place(const struct call *call);
void call_run(struct call *call);
void call_run_text(struct call *call, struct slice commands);
const char *refuse_count(const struct call *call);
bool call_time(const struct call *call, size_t index, int64_t unit, int64_t least, int64_t *ret_ms);
bool call_range(const struct call *call, size_t total, size_t *ret_first, size_t *ret_end);
bool glob_match(struct slice pattern, struct slice text);
const char *get_length(struct call *call);

/* ---- client.c, pubsub.c and round.c ---- */

enum { CHANNELS = 0, PATTERNS = 1 };

struct transaction {
	bool is_open;
	bool is_spoilt; /* a command of it was refused */
	struct text commands;
	size_t count;
	int64_t place; /* the shard that they are for, or HERE */
};

struct client {
	struct shard *shard;
	struct gyre_handler_context *ctx;
	struct gyre_buffer *input;
	size_t needed;	     /* bytes of input before it is looked at again */
	struct round *round; /* commands or replies of other shards, or NULL */
	bool is_away;	     /* the round is with other shards */
	bool is_paused;	     /* the client is not read from */
	bool is_ending;	     /* it sends no more */
	bool is_closing;
	bool resp3;
	struct transaction transaction;
	uint64_t id;
	struct item *names[2]; /* of channels and patterns that it is subscribed to */
	char name[64];
};

static inline size_t client_names(const struct client *client)
{
	return tree_count(client->names[CHANNELS]) + tree_count(client->names[PATTERNS]);
}

extern const struct gyre_class client_class;

int client_init(struct gyre_channel *channel, void *kv);
bool client_can_reply(struct client *client);
void client_flush(struct client *client);
void client_fail(struct client *client);
void client_unsubscribe(struct client *client);

void round_take_replies(struct client *client);
void round_add(const struct call *call, uint32_t shard, struct slice commands, size_t queued);
void round_add_parts(const struct call *call);
bool round_is_full(const struct round *round);
void round_send(struct client *client);
int round_visit(struct gyre_stack *stack);
void round_deliver(struct client *client);
void round_destroy(struct round *round);

/* A round goes from shard to shard, and at last back to the client that has sent it. */
struct travel {
	struct round *round;
};

static inline void travel_end(struct travel *travel)
{
	round_destroy(travel->round);
}
GYRE_MESSAGE_OWNING(travel, 0x600, travel_end);

#endif
