/*
 * How a command is found, checked and run. The tables in the files of commands say what each wants,
 * so that it gets its key in the right type, or its reply for a missing key is given here. A list
 * or a collection that a command leaves empty is removed.
 */
#include <stdio.h>
#include <string.h>

#include "kv.h"

enum { NAME_BYTES_MAX = 16, SLOTS = 256 };

static const struct command *const tables[] = {
	string_commands,     key_commands,    list_commands,   collection_commands,
	sorted_set_commands, pubsub_commands, server_commands, connection_commands,
};

/* A hash table of the names, which is full to a third. */
static const struct command *slots[SLOTS];

/* Small letters; a name that has no letters is not found. */
static bool fold_name(struct slice name, uint64_t folded[2])
{
	folded[0] = folded[1] = 0;
	if (name.count > NAME_BYTES_MAX) {
		return false;
	}
	memcpy(folded, name.bytes, name.count);
	folded[0] |= UINT64_C(0x2020202020202020);
	folded[1] |= UINT64_C(0x2020202020202020);
	return true;
}

static size_t slot_of(const uint64_t folded[2])
{
	return ((folded[0] + folded[1] * 31) * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
}

void commands_init(void)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct command *command = tables[i]; command->name != NULL; command++) {
			uint64_t folded[2];
			size_t slot;

			(void)fold_name((struct slice){ command->name, strlen(command->name) },
					folded);
			for (slot = slot_of(folded); slots[slot] != NULL;) {
				slot = (slot + 1) % SLOTS;
			}
			slots[slot] = command;
		}
	}
}

static const struct command *command_find(struct slice name)
{
	uint64_t folded[2];
	size_t slot;

	if (!fold_name(name, folded)) {
		return NULL;
	}
	for (slot = slot_of(folded); slots[slot] != NULL; slot = (slot + 1) % SLOTS) {
		if (slice_is(name, slots[slot]->name)) {
			return slots[slot];
		}
	}
	return NULL;
}

/* One command after the other, from 0 on; NULL after the last. */
const struct command *command_next(size_t *index)
{
	while (*index < SLOTS && slots[*index] == NULL) {
		++*index;
	}
	return *index == SLOTS ? NULL : slots[(*index)++];
}

/* ---- a call ---- */

void call_init(struct call *call, const struct args *args)
{
	call->args = args->list;
	call->count = args->count;
	call->item = NULL;
	call->command = command_find(args->list[0]);
	call->hash = call->command != NULL && call->command->keys > 0 && args->count > 1
			     ? hash_of(args->list[1])
			     : 0;
}

static void reply_unknown(const struct call *call)
{
	char args[128 + KEY_BYTES_MAX / 512] = "";
	size_t used = 0;

	for (size_t i = 1; i < call->count && used < 128; i++) {
		int room = (int)(128 - used);
		int count = (int)call->args[i].count;

		used += (size_t)snprintf(args + used, sizeof(args) - used, "'%.*s' ",
					 count < room ? count : room, call->args[i].bytes);
	}
	reply_error(call->reply, "ERR unknown command '%.*s', with args beginning with: %s",
		    call->args[0].count < 128 ? (int)call->args[0].count : 128, call->args[0].bytes,
		    args);
}

/* Whether the command is known, and has as many arguments as it wants. */
bool call_is_valid(const struct call *call)
{
	const struct command *command = call->command;

	return command != NULL &&
	       (command->arity > 0 ? call->count == (size_t)command->arity
				   : call->count >= (size_t)-command->arity) &&
	       ((command->flags & PAIRS) == 0 || call->count % 2 == 0) &&
	       (command->keys < 2 || (call->count - 1) % command->keys == 0) &&
	       (command->keys == 0 || call->args[1].count <= KEY_BYTES_MAX);
}

/* Says what is wrong with it. */
void call_refuse(const struct call *call)
{
	if (call->command == NULL) {
		reply_unknown(call);
	} else if (call->command->keys > 0 && call->count > 1 &&
		   call->args[1].count > KEY_BYTES_MAX) {
		reply_error(call->reply, "ERR a key has at most %d bytes", KEY_BYTES_MAX);
	} else {
		reply_error(call->reply, "ERR wrong number of arguments for '%s' command",
			    call->command->name);
	}
}

static void reply_missing(struct call *call)
{
	switch (call->command->missing) {
	case ZERO:
		reply_integer(call->reply, 0);
		break;
	case NO_ARRAY:
		reply_array(call->reply, 0);
		break;
	case NO_SET:
		reply_set(call->reply, 0);
		break;
	case NO_MAP:
		reply_map(call->reply, 0);
		break;
	default:
		reply_null(call->reply);
	}
}

/* Makes an empty list or collection for a key that is missing. */
static bool add_object(struct call *call)
{
	size_t bytes =
		call->command->type == TYPE_LIST ? sizeof(struct list) : sizeof(struct collection);
	void *object = memory_resize(NULL, bytes);

	call->item =
		object == NULL ? NULL : dict_add(&call->shard->keys, call->hash, call->args[1], 0);
	if (call->item == NULL) {
		memory_put(object);
		call_no_memory(call);
		return false;
	}
	memset(object, 0, bytes);
	call->item->type = call->command->type;
	call->item->object = object;
	return true;
}

static bool find_item(struct call *call)
{
	const struct command *command = call->command;

	call->item = shard_find(call->shard, call->hash, call->args[1]);
	if (call->item != NULL && call->item->type != command->type) {
		reply_text(call->reply, WRONG_TYPE);
		return false;
	}
	if (call->item != NULL || command->missing == RUN) {
		return true;
	}
	if (command->missing == ADD) {
		return add_object(call);
	}
	reply_missing(call);
	return false;
}

void call_run(struct call *call)
{
	const struct command *command = call->command;
	struct shard *shard = call->shard;

	shard->counts[COMMANDS]++;
	if ((command->flags & GROWS) != 0 &&
	    memory_used() > shard->kv->memory_max / shard->kv->loops) {
		call_no_memory(call);
		return;
	}
	if (command->type != TYPE_NONE && !find_item(call)) {
		return;
	}
	command->run(call);
	if (call->item != NULL && call->item->object != NULL && object_count(call->item) == 0) {
		shard_remove(shard, call->item);
	}
}

/*
 * Runs the first of some commands that have been parsed before. A transaction is EXEC with the
 * number of the commands behind it. False if the command is not whole.
 */
bool call_run_next(struct call *call, struct slice *requests, bool framed)
{
	struct args *args = &call->shard->args;
	long bytes = resp_parse_again(args, *requests);
	struct frame frame = { 0 };
	int64_t count;

	if (bytes <= 0) {
		call->reply->failed |= bytes < 0;
		return false;
	}
	requests->bytes += bytes;
	requests->count -= (size_t)bytes;
	if (framed) {
		frame = reply_frame(call->reply);
	}
	call_init(call, args);
	if (slice_is(args->list[0], "exec") && slice_integer(args->list[1], &count)) {
		call_run_transaction(call, requests, (size_t)count);
	} else {
		call_run(call);
	}
	if (framed) {
		reply_frame_end(call->reply, frame);
	}
	return true;
}

void call_run_transaction(struct call *call, struct slice *requests, size_t count)
{
	reply_array(call->reply, count);
	while (count > 0 && call_run_next(call, requests, false)) {
		count--;
	}
}

/* ---- for commands ---- */

void call_no_memory(struct call *call)
{
	reply_text(call->reply, OUT_OF_MEMORY);
}

void call_syntax_error(struct call *call)
{
	reply_text(call->reply, "-ERR syntax error\r\n");
}

bool call_integer(struct call *call, size_t index, int64_t *ret_number)
{
	if (!slice_integer(call->args[index], ret_number)) {
		reply_text(call->reply, "-ERR value is not an integer or out of range\r\n");
		return false;
	}
	return true;
}

/* Two arguments as a range of @total places, of which -1 is the last. */
bool call_range(struct call *call, size_t index, size_t total, size_t *ret_first, size_t *ret_count)
{
	int64_t count = (int64_t)total;
	int64_t first;
	int64_t last;

	if (!call_integer(call, index, &first) || !call_integer(call, index + 1, &last)) {
		return false;
	}
	first = first < 0 ? (first < -count ? 0 : first + count) : first;
	last = last < 0 ? (last < -count ? -1 : last + count) : last < count ? last : count - 1;
	*ret_first = (size_t)first;
	*ret_count = first > last ? 0 : (size_t)(last - first) + 1;
	return true;
}
