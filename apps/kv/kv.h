/*
 * A key-value server for clients of Redis. Each loop has a shard, a part of the keys, which only
 *that loop's thread touches. The hash of a key says which shard has it.
 *
 *	main.c        options, a system, an actor for each loop's shard, and a place to listen
 *	connection.c  a client, the handler of a channel: runs commands for the shard of its own
 *loop round.c       commands for other loops: they go by message to the actors of those shards, and
 *		      the replies come together in order
 *	shard.c       a shard: its keys, its actor, and the time that keys have
 *	commands.c    the table of commands, and how one is run
 *	resp.c        the protocol: commands in, replies out
 *	dict.c        the hash table under everything, and the memory that is counted
 *	keys.c, strings.c, lists.c, collections.c, sorted_sets.c, pubsub.c, server.c
 *		      the commands
 *
 * Of gyre this takes: a channel's handler and buffers, an actor with a timer, data of a loop, two
 * messages with a tail, and one that owns shared bytes.
 */
#ifndef APPS_KV_KV_H
#define APPS_KV_KV_H

#include <stdatomic.h>

#include <gyre/gyre.h>

#include "../options.h"

enum {
	ARGS_MAX = 1 << 16,	      /* of a command */
	COMMAND_BYTES_MAX = 15 << 20, /* so that a mail has room for it */
	KEY_BYTES_MAX = 1 << 16,
	LINE_BYTES_MAX = 1 << 16,      /* of a command that is a line of words, or of a length */
	OUTPUT_BYTES_MAX = 256 << 20,  /* of one reply: a larger one ends the connection */
	PENDING_BYTES_MAX = 128 << 10, /* of replies or commands that wait for others */
	PUSH_BYTES_MAX = 8 << 20,      /* that wait for a subscriber */
	QUEUE_BYTES_MAX = 1 << 20,     /* of a transaction */
	ROUND_COMMANDS_MAX = 1024,     /* that other loops have, of a client */
};

struct slice {
	const char *bytes;
	size_t count;
};

/* ---- dict.c ---- */

enum type { TYPE_NONE, TYPE_STRING, TYPE_LIST, TYPE_SET, TYPE_SORTED_SET, TYPE_HASH };

/* A key, a field of a hash or a member of a set, with its value if that is text. */
struct item {
	struct item *next;
	uint32_t hash;
	uint32_t key_bytes;
	uint32_t value_bytes;
	enum type type;	     /* of a key */
	uint64_t expires_ms; /* of a key; 0 for never */
	void *object;	     /* a key's list or collection, or a sorted set's node */
	char bytes[];	     /* the key, then the value */
};

struct dict {
	struct item **buckets;
	size_t count; /* of items */
	size_t buckets_count;
	size_t buckets_room;
};

/* A text as a slice. */
#define SLICE(TEXT) ((struct slice){ (TEXT), sizeof(TEXT) - 1 })

typedef void (*visit_fn)(struct item *item, void *arg);

uint64_t hash_of(struct slice key);
uint64_t random_number(void);
struct item *dict_get(const struct dict *dict, uint64_t hash, struct slice key);
struct item *dict_add(struct dict *dict, uint64_t hash, struct slice key, size_t value_bytes);
struct item *dict_put(struct dict *dict, struct slice key, struct slice value);
struct item *dict_resize_value(struct dict *dict, struct item *item, size_t value_bytes);
void dict_remove(struct dict *dict, struct item *item);
struct item *dict_random(const struct dict *dict);
size_t dict_scan(const struct dict *dict, size_t cursor, size_t buckets, visit_fn visit, void *arg);
void dict_visit(const struct dict *dict, visit_fn visit, void *arg);
void dict_clear(struct dict *dict);

static inline struct slice item_key(const struct item *item)
{
	return (struct slice){ item->bytes, item->key_bytes };
}

static inline struct slice item_value(const struct item *item)
{
	return (struct slice){ item->bytes + item->key_bytes, item->value_bytes };
}

/* Memory of the running loop's shard, which counts for --memory-max. */
void *memory_resize(void *memory, size_t bytes);
void memory_put(void *memory);
uint64_t memory_used(void);

/* ---- resp.c ---- */

struct args {
	struct slice *list;
	size_t count;
	size_t room;
};

/* Replies in the making: a buffer, of which some room is reserved. */
struct reply {
	struct gyre_buffer *buffer;
	char *at;
	char *end;
	bool resp3;
	bool failed; /* there was no memory, or it is too long */
};

/* A reply behind its length. */
struct frame {
	char *length;
	size_t before; /* bytes that are not its own */
};

long resp_parse(struct args *args, struct gyre_buffer *input, size_t value_max,
		const char **ret_error);
long resp_parse_again(struct args *args, struct slice input);
int resp_add_command(struct gyre_buffer *buffer, const struct slice *args, size_t count);
void reply_bytes(struct reply *reply, const void *bytes, size_t count);
void reply_head(struct reply *reply, char kind, int64_t number);
void reply_text(struct reply *reply, const char *text); /* as it is */
void reply_bulk(struct reply *reply, struct slice bulk);
void reply_string(struct reply *reply, const char *text);
void reply_array(struct reply *reply, size_t count);
void reply_set(struct reply *reply, size_t count);
void reply_map(struct reply *reply, size_t pairs);
void reply_null(struct reply *reply);
void reply_integer(struct reply *reply, int64_t number);
void reply_double(struct reply *reply, double value);
__attribute__((format(printf, 2, 3))) void reply_error(struct reply *reply, const char *format,
						       ...);
struct frame reply_frame(struct reply *reply);
void reply_frame_end(struct reply *reply, struct frame frame);
void reply_commit(struct reply *reply);
void reply_ok(struct reply *reply);
bool slice_is(struct slice slice, const char *word); /* in letters of any case */
bool slice_equal(struct slice a, struct slice b);
bool slice_integer(struct slice slice, int64_t *ret_number);
bool slice_double(struct slice slice, double *ret_number);

/* ---- shard.c ---- */

/* Of the whole server. */
struct kv {
	uint64_t loops;
	uint64_t value_max;
	uint64_t memory_max;
	struct gyre_address actors[APP_LOOPS_MAX];
	struct shard *shards[APP_LOOPS_MAX]; /* for their figures */
};

/* What all loops may read of a shard. */
enum figure { KEYS, EXPIRING, EXPIRED, MEMORY, COMMANDS, CLIENTS, CONNECTIONS, FIGURES };

struct shard {
	struct kv *kv;
	uint32_t index;
	uint64_t now_ms; /* of the Unix epoch, when the present commands came */
	struct dict keys;
	struct dict channels; /* of subscribers, and their patterns: see pubsub.c */
	struct dict patterns;
	struct args args; /* of the present command */
	size_t expiry_cursor;
	uint64_t counts[FIGURES];
	_Atomic uint64_t figures[FIGURES];
};

/* The value of a list, and of a hash, a set or a sorted set. */
struct list {
	struct text **ring;
	size_t first;
	size_t count;
	size_t room;
};

struct collection {
	struct dict members;
	struct node *root; /* of a sorted set */
};

extern const struct gyre_class shard_class;

int shard_init(struct gyre_system *system, uint32_t loop, void *kv, void **ret_shard);
void shard_fini(struct gyre_system *system, uint32_t loop, void *data, void *kv);
void shard_look_at_clock(struct shard *shard);
void shard_show_figures(struct shard *shard);
struct item *shard_find(struct shard *shard, uint64_t hash, struct slice key);
void shard_remove(struct shard *shard, struct item *item);
void shard_clear(struct shard *shard);
void shard_set_expiry(struct shard *shard, struct item *item, uint64_t expires_ms);

/* Commands for the shard of another loop, from the client of @channel. */
struct requests {
	struct gyre_address channel;
	uint32_t resp3;
	uint32_t bytes;
	char data[];
};
GYRE_MESSAGE_TAIL(requests, 0x600, data, bytes);

/* The replies to the first @count of them, which had @consumed bytes, each behind its length. They
 * come in pieces; the other two are 0 in all but the last. */
struct replies {
	uint32_t shard;
	uint32_t count;
	uint32_t consumed;
	uint32_t bytes;
	char data[];
};
GYRE_MESSAGE_TAIL(replies, 0x601, data, bytes);

/* ---- commands.c ---- */

enum {
	GROWS = 1,	  /* refused when memory is short */
	CONNECTION = 2,	  /* of the client's connection, not of a shard */
	IMMEDIATE = 4,	  /* not queued in a transaction */
	SUBSCRIBED = 8,	  /* allowed to a client of RESP2 that is subscribed */
	EVERYWHERE = 16,  /* for every shard */
	BY_CURSOR = 32,	  /* the first argument says which shard */
	MERGE_SUM = 64,	  /* of several shards: their numbers are added up */
	MERGE_JOIN = 128, /* or their arrays of one element become one array */
	MERGE_SAME = 256, /* or all reply the same */
	MERGES = MERGE_SUM | MERGE_JOIN | MERGE_SAME,
	PAIRS = 1024, /* behind the key come pairs */
	ALONE = 512,  /* not while other shards owe replies */
};

/* What is done when the key is missing. */
enum missing { RUN, ADD, ZERO, NIL, NO_ARRAY, NO_SET, NO_MAP };

/* A command that is run. */
struct call {
	const struct command *command;
	const struct slice *args;
	size_t count;
	uint64_t hash;	   /* of the key */
	struct item *item; /* the key, if the command has a type */
	struct shard *shard;
	struct reply *reply;
	struct gyre_stack *stack;
	struct client *client; /* NULL in the actor of a shard */
};

struct command {
	const char *name;
	void (*run)(struct call *call);
	int arity; /* with the name; negative: at least */
	uint32_t flags;
	uint32_t
		keys; /* 0 for none, 1 for the first argument, else how far apart: "k v k v" is 2 */
	enum type type; /* that the key must have */
	enum missing missing;
	int variant; /* for @run */
};

#define WRONG_TYPE    "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
#define OUT_OF_MEMORY "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

/* Each ends with one without a name. */
extern const struct command string_commands[], key_commands[], list_commands[],
	collection_commands[], sorted_set_commands[], pubsub_commands[], server_commands[],
	connection_commands[];

void commands_init(void);
const struct command *command_next(size_t *index);
void call_init(struct call *call, const struct args *args);
bool call_is_valid(const struct call *call);
void call_refuse(const struct call *call);
void call_run(struct call *call);
bool call_run_next(struct call *call, struct slice *requests, bool framed);
void call_run_transaction(struct call *call, struct slice *requests, size_t count);
bool call_integer(struct call *call, size_t index, int64_t *ret_number);
bool call_range(struct call *call, size_t index, size_t total, size_t *ret_first,
		size_t *ret_count);
void call_no_memory(struct call *call);
void call_syntax_error(struct call *call);
size_t object_count(const struct item *item);
void object_destroy(struct item *item);
void list_clear(struct list *list);
bool glob_match(struct slice pattern, struct slice text);

/* ---- connection.c ---- */

struct client {
	struct shard *shard;
	struct gyre_handler_context *ctx;
	struct gyre_buffer *input;
	struct reply reply;	   /* what is written at the end of a read */
	struct round *round;	   /* NULL until a command is for another loop */
	struct gyre_buffer *queue; /* of a transaction */
	uint32_t queued;	   /* commands of it */
	int64_t queue_place;	   /* the shard they are for, or HERE */
	bool in_transaction;
	bool is_spoilt; /* a command of the transaction was refused */
	bool is_ending; /* the client sends no more */
	bool is_closing;
	bool is_paused; /* it is not read from */
	uint64_t id;
	struct dict channels; /* that it is subscribed to */
	struct dict patterns;
	char name[64];
};

int client_init(struct gyre_channel *channel, void *kv);
void client_process(struct client *client);
bool client_can_reply(struct client *client);
void client_flush(struct client *client);
uint32_t shard_of(const struct kv *kv, struct slice key, uint64_t hash);

/* ---- round.c ---- */

bool round_is_idle(const struct client *client);
bool round_waits(const struct client *client);
bool round_takes_more(const struct client *client);
struct frame round_reply(struct client *client, struct reply **ret_reply);
void round_add(struct call *call, uint32_t shard, struct slice raw);
void round_add_transaction(struct call *call, uint32_t shard);
void round_add_spread(struct call *call);
void round_begin(struct client *client);
void round_advance(struct client *client);
void round_receive(struct client *client, const struct replies *replies);
void round_destroy(struct client *client);

/* ---- pubsub.c ---- */

/* What a subscriber is to read, after the first byte: '*', or '>' under RESP3. */
struct published {
	struct gyre_bytes *bytes;
};

static inline void forget_published(struct published *published)
{
	gyre_bytes_unref(published->bytes);
}
GYRE_MESSAGE_OWNING(published, 0x602, forget_published);

size_t client_subscriptions(const struct client *client);
void client_unsubscribe(struct client *client);

#endif
