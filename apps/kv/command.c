/*
 * How a command is found, checked and run. The tables beside the commands say what each wants, so
 * that it gets its key in the right type, or the reply for a missing key is given here. A key that
 * a command leaves empty is removed.
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
	if (call->command != NULL && call->command->keys > 0 && call->count > 1) {
		call->hash = hash_of(call->args[1]);
	}
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

/* The place behind the last key of a command that has keys. */
static size_t keys_end(const struct call *call)
{
	return (call->command->flags & (ADD_UP | LIST_UP)) != 0 ? call->count : 2;
}

static bool has_long_key(const struct call *call)
{
	uint32_t width = call->command->keys;

	for (size_t i = 1; width > 0 && i < keys_end(call); i += width) {
		if (call->args[i].count > KEY_BYTES_MAX) {
			return true;
		}
	}
	return false;
}

/* Whether the command is known and has as many arguments as it wants; if not, it is refused. */
bool call_is_valid(const struct call *call)
{
	const struct command *command = call->command;

	if (command == NULL) {
		refuse_unknown(call);
	} else if (command->arity > 0
			   ? call->count != (size_t)command->arity
			   : call->count < (size_t)-command->arity ||
				     (command->keys == 2 && call->count % 2 == 0) ||
				     ((command->flags & PAIRS) != 0 && call->count % 2 != 0)) {
		(void)reply_format(call->out, "-ERR wrong number of arguments for '%s' command",
				   command->name);
	} else if (has_long_key(call)) {
		(void)reply_format(call->out, "-ERR a key has at most %d bytes", KEY_BYTES_MAX);
	} else {
		return true;
	}
	return false;
}

/* The shard that a command is for, HERE or SPREAD. */
int64_t command_place(const struct call *call)
{
	const struct command *command = call->command;
	const struct kv *kv = call->shard->kv;
	int64_t cursor;
	int64_t place = HERE;

	if (kv->loops > 1 && command->keys > 0) {
		place = shard_of(kv, call->args[1], call->hash);
		for (size_t i = 1 + command->keys; i < keys_end(call); i += command->keys) {
			if (shard_of(kv, call->args[i], hash_of(call->args[i])) != place) {
				return SPREAD;
			}
		}
	} else if (kv->loops > 1 && (command->flags & EVERYWHERE) != 0) {
		place = SPREAD;
	} else if (kv->loops > 1 && (command->flags & BY_CURSOR) != 0 &&
		   slice_integer(call->args[1], &cursor) && cursor >= 0) {
		place = cursor % (int64_t)kv->loops;
	}
	return place;
}

static bool find_key(struct call *call)
{
	const struct command *command = call->command;

	call->item = shard_find(call->shard, call->hash, call->args[1]);
	if (call->item != NULL && call->item->type != command->type && command->type != ANY) {
		reply_text(call->out, WRONG_TYPE);
	} else if (call->item != NULL || command->missing == RUN) {
		return true;
	} else if (command->missing == MAKE) {
		call->item = shard_make(call->shard, call->hash, call->args[1], 0);
		if (call->item != NULL) {
			call->item->type = command->type;
			return true;
		}
		reply_text(call->out, OUT_OF_MEMORY);
	} else if (command->missing == NIL) {
		(void)reply_value(call->out, NULL);
	} else if (command->missing == ZERO) {
		(void)reply_head(call->out, ':', 0);
	} else {
		(void)reply_list(call->out, (char)command->missing, 0);
	}
	return false;
}

void call_run(struct call *call)
{
	const struct command *command = call->command;
	const struct kv *kv = call->shard->kv;
	const char *reply;

	call->shard->counts[COMMANDS]++;
	call->item = NULL;
	if ((command->flags & GROWS) != 0 && memory_used() > kv->memory_max / kv->loops) {
		reply_text(call->out, OUT_OF_MEMORY);
	} else if (command->type == NONE || find_key(call)) {
		reply = command->run(call);
		if (reply != NULL) {
			reply_text(call->out, reply);
		}
		if (call->item != NULL && call->item->type != STRING &&
		    item_length(call->item) == 0) {
			shard_remove(call->shard, call->item);
		}
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

bool call_refuse(const struct call *call, const char *error)
{
	reply_text(call->out, error);
	return false;
}

bool call_integer(const struct call *call, size_t index, int64_t *ret_number)
{
	return slice_integer(call->args[index], ret_number) || call_refuse(call, NO_INTEGER);
}

/* Reads a time in units of so many milliseconds, from @base_ms on; one that @is_past may be. */
bool call_time(const struct call *call, size_t index, int64_t unit, uint64_t base_ms, bool is_past,
	       int64_t *ret_ms)
{
	int64_t time;

	if (!call_integer(call, index, &time)) {
		return false;
	}
	if ((time <= 0 && !is_past) || __builtin_mul_overflow(time, unit, &time) ||
	    __builtin_add_overflow(time, (int64_t)base_ms, ret_ms)) {
		(void)reply_format(call->out, "-ERR invalid expire time in '%s' command",
				   call->command->name);
		return false;
	}
	return true;
}

/* Two arguments as a range of @total places, of which -1 is the last. */
bool call_range(const struct call *call, size_t index, size_t total, size_t *ret_first,
		size_t *ret_end)
{
	int64_t count = (int64_t)total;
	int64_t first;
	int64_t last;

	if (!call_integer(call, index, &first) || !call_integer(call, index + 1, &last)) {
		return false;
	}
	first = first >= 0 ? first : first < -count ? 0 : first + count;
	last = last >= count ? count - 1 : last >= 0 ? last : last < -count ? -1 : last + count;
	*ret_first = (size_t)first;
	*ret_end = first > last ? (size_t)first : (size_t)last + 1;
	return true;
}

/* Null bytes end both. */
bool glob_match(struct slice pattern, struct slice text)
{
	char *copy = (char *)calloc(1, pattern.count + text.count + 2);
	bool matches;

	if (copy == NULL) {
		return false;
	}
	memcpy(copy, pattern.bytes, pattern.count);
	memcpy(copy + pattern.count + 1, text.bytes, text.count);
	matches = fnmatch(copy, copy + pattern.count + 1, 0) == 0;
	free(copy);
	return matches;
}
