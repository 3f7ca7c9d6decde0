/*
 * How a command is found, checked and run. The tables beside the commands say what each wants, so
 * that it gets its key in the right type, or the reply for a missing key is given here. A command
 * of many keys is run for each of them. A key that a command leaves empty is removed.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum { SLOTS = 256, SHOWN_BYTES_MAX = 128 };

static const struct command *const tables[] = { value_commands, collection_commands,
						pubsub_commands, server_commands, client_commands };
static const struct command *slots[SLOTS]; /* by the hash of a name */

static const struct command **slot_of(struct slice name)
{
	uint32_t hash = 0;
	size_t slot;

	for (size_t i = 0; i < name.count && i < 16; i++) {
		hash = hash * 31 + ((unsigned char)name.bytes[i] | 0x20U);
	}
	for (slot = hash % SLOTS; slots[slot] != NULL && !slice_is(name, slots[slot]->name);) {
		slot = (slot + 1) % SLOTS;
	}
	return &slots[slot];
}

void commands_init(void)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct command *command = tables[i]; command->name != NULL; command++) {
			*slot_of((struct slice){ command->name, strlen(command->name) }) = command;
		}
	}
}

/* Takes the command that was parsed last. */
void call_set(struct call *call)
{
	call->args = call->shard->args.list;
	call->count = call->shard->args.count;
	call->command = *slot_of(call->args[0]);
	call->hash = 0;
	call->sum = 0; /* the command before may have counted */
	if (call->command != NULL && call->command->type != NONE && call->count > 1) {
		call->hash = hash_of(call->args[1]);
	}
}

/* ---- where it is run ---- */

const char *refuse_count(const struct call *call)
{
	return reply_format(call->out, "-ERR wrong number of arguments for '%s' command",
			    call->command->name);
}

static void refuse_unknown(const struct call *call)
{
	char text[2 * SHOWN_BYTES_MAX + 8] = "";
	size_t used = 0;

	for (size_t i = 1; i < call->count && used < SHOWN_BYTES_MAX; i++) {
		size_t count = call->args[i].count;
		size_t room = SHOWN_BYTES_MAX - used;

		used += (size_t)snprintf(text + used, sizeof(text) - used, "'%.*s' ",
					 (int)(count < room ? count : room), call->args[i].bytes);
	}
	(void)reply_format(call->out, "-ERR unknown command '%.*s', with args beginning with: %s",
			   SHOWN(call->args[0]), text);
}

/* The shard that has all keys of a command, SPREAD or REFUSED. */
static int64_t place_of_keys(const struct call *call)
{
	const struct kv *kv = call->shard->kv;
	size_t width = command_width(call->command);
	size_t end = width > 0 ? call->count : 2;
	int64_t place = HERE;

	for (size_t i = 1; i<end; i += width> 0 ? width : 1) {
		struct slice key = call->args[i];

		if (key.count > KEY_BYTES_MAX) {
			(void)reply_text(call->out, TOO_LONG);
			return REFUSED;
		}
		if (kv->loops > 1) {
			int64_t shard = shard_of(kv, key, i == 1 ? call->hash : hash_of(key));

			place = i == 1 || shard == place ? shard : SPREAD;
		}
	}
	return place;
}

/* The shard that a command is for, HERE, SPREAD, or REFUSED by a reply. */
int64_t call_place(const struct call *call)
{
	const struct command *command = call->command;
	int64_t loops = (int64_t)call->shard->kv->loops;
	int64_t cursor;

	if (command == NULL) {
		refuse_unknown(call);
		return REFUSED;
	}
	if (command->arity > 0
		    ? call->count != (size_t)command->arity
		    : call->count < (size_t)-command->arity ||
			      ((command->flags & EACH_PAIR) != 0 && call->count % 2 == 0)) {
		(void)refuse_count(call);
		return REFUSED;
	}
	if (loops > 1 && (command->flags & EVERYWHERE) != 0) {
		return SPREAD;
	}
	if ((command->flags & BY_CURSOR) != 0 && slice_integer(call->args[1], &cursor) &&
	    cursor >= 0) {
		return cursor % loops;
	}
	return command->type == NONE ? HERE : place_of_keys(call);
}

/* ---- running it ---- */

/* Finds the key in the right type, or makes it. False if the reply has been given. */
static bool find_key(struct call *call)
{
	const struct command *command = call->command;
	enum missing missing = command->missing;

	call->item = shard_find(call->shard, call->hash, call->args[1]);
	if (call->item != NULL && call->item->type != command->type && command->type != ANY) {
		(void)reply_text(call->out, WRONG_TYPE);
		return false;
	}
	if (call->item != NULL || missing == RUN) {
		return true;
	}
	if (missing == MAKE) {
		call->item = shard_make(call->shard, call->hash, call->args[1], 0);
		if (call->item != NULL) {
			call->item->type = command->type;
			return true;
		}
		(void)reply_text(call->out, OUT_OF_MEMORY);
	} else if (missing == NIL) {
		(void)reply_bulk(call->out, NOTHING);
	} else if (missing == ZERO) {
		(void)reply_number(call->out, 0);
	} else {
		(void)reply_list(call->out, (char)missing, 0);
	}
	return false;
}

static const char *run_once(struct call *call)
{
	const char *reply;

	call->item = NULL;
	if (call->command->type != NONE && !find_key(call)) {
		return NULL;
	}
	reply = call->command->run(call);
	if (call->item != NULL && call->item->type != STRING && item_length(call->item) == 0) {
		shard_remove(call->shard, call->item);
	}
	return reply;
}

/* Runs a command for each of its keys. The first error is the reply, or what they come to. */
static const char *run_each(const struct call *call, size_t width)
{
	const char *reply = NULL;
	struct call each = *call;

	each.count = 1 + width;
	if ((call->command->flags & LIST_UP) != 0) {
		(void)reply_list(call->out, '*', call->count - 1);
	}
	for (size_t i = 1; i < call->count && (reply == NULL || *reply != '-'); i += width) {
		each.hash = hash_of(call->args[i]);
		reply = run_once(&each);
		each.args += width;
	}
	return reply == NULL && (call->command->flags & LIST_UP) == 0
		       ? reply_number(call->out, each.sum)
		       : reply;
}

void call_run(struct call *call)
{
	const struct command *command = call->command;
	const struct kv *kv = call->shard->kv;
	size_t width = command_width(command);
	const char *reply = OUT_OF_MEMORY;

	shard_count(call->shard, COMMANDS, 1);
	if ((command->flags & GROWS) == 0 || memory_used <= kv->memory_max / kv->loops) {
		reply = width > 0 ? run_each(call, width) : run_once(call);
	}
	if (reply != NULL) {
		(void)reply_text(call->out, reply);
	}
}

/* Runs commands that were parsed before, all for this shard. */
void call_run_text(struct call *call, struct slice commands)
{
	while (commands.count > 0) {
		ssize_t bytes = resp_parse(&call->shard->args, commands, UINT64_MAX);

		if (bytes > 0) {
			call_set(call);
		}
		if (bytes <= 0 || call->command == NULL) { /* without memory */
			call->out->failed = true;
			return;
		}
		call_run(call);
		commands.bytes += bytes;
		commands.count -= (size_t)bytes;
	}
}

/* ---- for commands ---- */

/* Reads a time from now on, at least so long, in units of so many milliseconds. */
bool call_time(const struct call *call, size_t index, int64_t unit, int64_t least, int64_t *ret_ms)
{
	int64_t time;

	if (!slice_integer(call->args[index], &time)) {
		(void)reply_text(call->out, NO_INTEGER);
		return false;
	}
	if (time < least || __builtin_mul_overflow(time, unit, &time) ||
	    __builtin_add_overflow(time, (int64_t)call->shard->now_ms, ret_ms)) {
		(void)reply_format(call->out, "-ERR invalid expire time in '%s' command",
				   call->command->name);
		return false;
	}
	return true;
}

/* Arguments 2 and 3 as a range of @total places, of which -1 is the last. A range that ends before
 * the first byte of a string ends with that. */
bool call_range(const struct call *call, size_t total, size_t *ret_first, size_t *ret_end)
{
	int64_t least = call->command->type == STRING ? 0 : -1;
	int64_t count = (int64_t)total;
	int64_t first;
	int64_t last;
	bool is_empty;

	if (!slice_integer(call->args[2], &first) || !slice_integer(call->args[3], &last)) {
		return false;
	}
	is_empty = first < 0 && last < 0 && first > last;
	first += first < 0 ? count : 0;
	first = first < 0 ? 0 : first;
	last += last < 0 ? count : 0;
	last = last < least ? least : last;
	last = last < count ? last : count - 1;
	is_empty = is_empty || first > last;
	*ret_first = is_empty ? 0 : (size_t)first;
	*ret_end = is_empty ? 0 : (size_t)last + 1;
	return true;
}

/* Null bytes end both. */
bool glob_match(struct slice pattern, struct slice text)
{
	char *copies[] = { strndup(pattern.bytes, pattern.count), strndup(text.bytes, text.count) };
	bool matches =
		copies[0] != NULL && copies[1] != NULL && fnmatch(copies[0], copies[1], 0) == 0;

	free(copies[0]);
	free(copies[1]);
	return matches;
}
