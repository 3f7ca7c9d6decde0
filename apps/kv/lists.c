/*
 * Lists, each a ring of texts, so that both ends and every place are near.
 */
#include <string.h>

#include "kv.h"

struct text {
	size_t count;
	char bytes[];
};

static struct text **at(const struct list *list, size_t index)
{
	return &list->ring[(list->first + index) & (list->room - 1)];
}

static struct list *list_of(const struct call *call)
{
	return (struct list *)call->item->object;
}

static void reply_at(struct call *call, size_t index)
{
	const struct text *text = *at(list_of(call), index);

	reply_bulk(call->reply, (struct slice){ text->bytes, text->count });
}

void list_clear(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		memory_put(*at(list, i));
	}
	memory_put(list->ring);
}

static bool make_room(struct list *list)
{
	size_t room = list->room == 0 ? 4 : 2 * list->room;
	struct text **ring;

	if (list->count < list->room) {
		return true;
	}
	ring = (struct text **)memory_resize(list->ring, room * sizeof(struct text *));
	if (ring == NULL) {
		return false;
	}
	memcpy(ring + list->room, ring, list->first * sizeof(struct text *));
	list->ring = ring;
	list->room = room;
	return true;
}

/* The variant of what is done to a list: to its 'l'eft or its 'r'ight end. */
static void push(struct call *call)
{
	struct list *list = list_of(call);

	for (size_t i = 2; i < call->count; i++) {
		struct slice value = call->args[i];
		struct text *text = (struct text *)memory_resize(NULL, sizeof(*text) + value.count);

		if (text == NULL || !make_room(list)) {
			memory_put(text);
			call_no_memory(call);
			return;
		}
		text->count = value.count;
		memcpy(text->bytes, value.bytes, value.count);
		list->first = (list->first - (call->command->variant == 'l')) & (list->room - 1);
		list->count++;
		*at(list, call->command->variant == 'l' ? 0 : list->count - 1) = text;
	}
	reply_integer(call->reply, (int64_t)list->count);
}

static void pop_one(struct call *call)
{
	struct list *list = list_of(call);
	size_t index = call->command->variant == 'l' ? 0 : list->count - 1;

	reply_at(call, index);
	memory_put(*at(list, index));
	list->first = (list->first + (call->command->variant == 'l')) & (list->room - 1);
	list->count--;
}

static void pop(struct call *call)
{
	int64_t count = 1;

	if (call->count > 3) {
		call_syntax_error(call);
		return;
	}
	if (call->count == 3 && (!slice_integer(call->args[2], &count) || count < 0)) {
		reply_text(call->reply, "-ERR value is out of range, must be positive\r\n");
		return;
	}
	if (call->item == NULL) {
		reply_text(call->reply, call->reply->resp3 ? "_\r\n"
					: call->count == 3 ? "*-1\r\n"
							   : "$-1\r\n");
		return;
	}
	if (call->count == 3) {
		count = (uint64_t)count > list_of(call)->count ? (int64_t)list_of(call)->count
							       : count;
		reply_array(call->reply, (size_t)count);
	}
	for (; count > 0; count--) {
		pop_one(call);
	}
}

static void get_range(struct call *call)
{
	size_t first;
	size_t count;

	if (call_range(call, 2, list_of(call)->count, &first, &count)) {
		reply_array(call->reply, count);
		for (size_t i = 0; i < count; i++) {
			reply_at(call, first + i);
		}
	}
}

static void get_index(struct call *call)
{
	int64_t count = (int64_t)list_of(call)->count;
	int64_t index;

	if (call_integer(call, 2, &index)) {
		index += index < 0 ? count : 0;
		if (index < 0 || index >= count) {
			reply_null(call->reply);
		} else {
			reply_at(call, (size_t)index);
		}
	}
}

/* Removes what equals the value: all, or so many from the left, or if negative from the right. */
static void remove_equal(struct call *call)
{
	struct list *list = list_of(call);
	bool from_right;
	int64_t wanted;
	size_t kept = 0;

	if (!call_integer(call, 2, &wanted)) {
		return;
	}
	from_right = wanted < 0;
	wanted = wanted == 0 || wanted == INT64_MIN ? INT64_MAX : wanted < 0 ? -wanted : wanted;
	for (size_t i = 0; i < list->count; i++) {
		struct text **text = at(list, from_right ? list->count - 1 - i : i);
		struct slice value = { (*text)->bytes, (*text)->count };

		if (wanted > 0 && slice_equal(value, call->args[3])) {
			memory_put(*text);
			wanted--;
		} else {
			*at(list, from_right ? list->count - 1 - kept : kept) = *text;
			kept++;
		}
	}
	reply_integer(call->reply, (int64_t)(list->count - kept));
	list->first = (list->first + (from_right ? list->count - kept : 0)) & (list->room - 1);
	list->count = kept;
}

static void get_length(struct call *call)
{
	reply_integer(call->reply, (int64_t)list_of(call)->count);
}

const struct command list_commands[] = {
	{ "lpush", push, -3, GROWS, 1, TYPE_LIST, ADD, 'l' },
	{ "rpush", push, -3, GROWS, 1, TYPE_LIST, ADD, 'r' },
	{ "lpushx", push, -3, GROWS, 1, TYPE_LIST, ZERO, 'l' },
	{ "rpushx", push, -3, GROWS, 1, TYPE_LIST, ZERO, 'r' },
	{ "lpop", pop, -2, 0, 1, TYPE_LIST, RUN, 'l' },
	{ "rpop", pop, -2, 0, 1, TYPE_LIST, RUN, 'r' },
	{ "lindex", get_index, 3, 0, 1, TYPE_LIST, NIL, 0 },
	{ "llen", get_length, 2, 0, 1, TYPE_LIST, ZERO, 0 },
	{ "lrange", get_range, 4, 0, 1, TYPE_LIST, NO_ARRAY, 0 },
	{ "lrem", remove_equal, 4, 0, 1, TYPE_LIST, ZERO, 0 },
	{ 0 },
};
