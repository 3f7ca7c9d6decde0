/*
 * The protocol of Redis, RESP2 and RESP3. A command is an array of bulk strings, or a line of
 * words. It is parsed where it stands, and only when all of it is there it is brought into one
 * piece, if the network has divided it.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kv.h"

enum { ROOM_BYTES = 1024, NUMBER_BYTES_MAX = 24 };

/* ---- numbers and words ---- */

bool slice_equal(struct slice a, struct slice b)
{
	return a.count == b.count && memcmp(a.bytes, b.bytes, a.count) == 0;
}

bool slice_is(struct slice slice, const char *word)
{
	return strlen(word) == slice.count && strncasecmp(slice.bytes, word, slice.count) == 0;
}

/* As Redis wants them: no plus, no leading zeros, no spaces. */
bool slice_integer(struct slice slice, int64_t *ret_number)
{
	bool negative = slice.count > 0 && slice.bytes[0] == '-';
	uint64_t number = 0;
	size_t digits = slice.count - negative;

	if (digits == 0 || digits > 19 || (slice.bytes[negative] == '0' && slice.count > 1)) {
		return false;
	}
	for (size_t i = negative; i < slice.count; i++) {
		unsigned digit = (unsigned)slice.bytes[i] - '0';

		if (digit > 9) {
			return false;
		}
		number = 10 * number + digit;
	}
	if (number > (uint64_t)INT64_MAX + negative) {
		return false;
	}
	*ret_number = (int64_t)(negative ? 0 - number : number);
	return true;
}

bool slice_double(struct slice slice, double *ret_number)
{
	char text[128];
	char *end;

	if (slice.count == 0 || slice.count >= sizeof(text) ||
	    strchr(" \t\n\v\f\r", *slice.bytes)) {
		return false;
	}
	memcpy(text, slice.bytes, slice.count);
	text[slice.count] = '\0';
	*ret_number = strtod(text, &end);
	return end == text + slice.count && !isnan(*ret_number);
}

/* ---- commands ---- */

/* What is parsed: the first piece of a buffer, or all of it, and the rest behind it. */
struct source {
	struct gyre_buffer *buffer;
	struct slice front;
	size_t count; /* of all bytes */
};

/* The first bytes of a line, where they are, or copied if they may not be in one piece. */
static struct slice look_at(const struct source *source, size_t offset, char *copy)
{
	size_t count = source->count - offset;

	count = count < NUMBER_BYTES_MAX ? count : NUMBER_BYTES_MAX;
	if (offset + count <= source->front.count) {
		return (struct slice){ source->front.bytes + offset, count };
	}
	return (struct slice){ copy, gyre_buffer_copy(source->buffer, offset, copy, count) };
}

/* Reads a line as "$5\r\n": how many bytes it has, 0 if it is not whole, or -1 if it has no number.
 */
static long parse_length(struct slice line, int64_t *ret_length)
{
	const char *end = NULL;

	if (line.count > 3 && line.bytes[2] == '\r' && (unsigned char)(line.bytes[1] - '0') < 10) {
		*ret_length = line.bytes[1] - '0';
		return 4;
	}
	if (line.count > 0) {
		end = (const char *)memchr(line.bytes, '\r', line.count);
	}
	if (end == NULL || end + 1 == line.bytes + line.count) {
		return line.count == NUMBER_BYTES_MAX ? -1 : 0;
	}
	line.count = (size_t)(end - line.bytes);
	return slice_integer((struct slice){ line.bytes + 1, line.count - 1 }, ret_length)
		       ? (long)line.count + 2
		       : -1;
}

static bool add_arg(struct args *args, const char *bytes, size_t count)
{
	if (args->count == args->room) {
		size_t room = args->room == 0 ? 64 : 2 * args->room;
		void *list = realloc(args->list, room * sizeof(struct slice));

		if (list == NULL) {
			return false;
		}
		args->list = (struct slice *)list;
		args->room = room;
	}
	args->list[args->count++] = (struct slice){ bytes, count };
	return true;
}

/* Parses an argument at *@at, and adds it with its offset in the place of an address. */
static int parse_arg(struct args *args, const struct source *source, size_t value_max, size_t *at,
		     const char **ret_error)
{
	static _Thread_local char expected[] = "expected '$', got ' '";
	char copy[NUMBER_BYTES_MAX];
	struct slice line = look_at(source, *at, copy);
	int64_t length = 0;
	long r = parse_length(line, &length);

	if (line.count > 0 && *line.bytes != '$') {
		expected[sizeof(expected) - 3] = *line.bytes;
		*ret_error = expected;
		return -EPROTO;
	}
	if (r < 0 || length < 0 || (uint64_t)length > value_max) {
		*ret_error = "invalid bulk length";
		return -EPROTO;
	}
	*at += (size_t)r;
	if (*at + (size_t)length > COMMAND_BYTES_MAX) {
		*ret_error = "too big request";
		return -EPROTO;
	}
	if (r == 0 || source->count - *at < (size_t)length + 2) {
		return 0;
	}
	if (!add_arg(args, (const char *)(uintptr_t)*at, (size_t)length)) {
		return -ENOMEM;
	}
	*at += (size_t)length + 2;
	return 1;
}

static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* A line of words. */
static long parse_line(struct args *args, const struct source *source, const char **ret_error)
{
	ssize_t end = source->buffer == NULL
			      ? (const char *)memchr(source->front.bytes, '\n', source->count) -
					source->front.bytes
			      : gyre_buffer_find(source->buffer, 0, '\n');
	const void *line = source->front.bytes;

	if (end < 0) {
		*ret_error = "too big inline request";
		return source->count < LINE_BYTES_MAX ? 0 : -EPROTO;
	}
	if (source->buffer != NULL &&
	    gyre_buffer_linear(source->buffer, (size_t)end + 1, &line) < 0) {
		return -ENOMEM;
	}
	for (const char *at = (const char *)line, *past = at + end; at < past;) {
		size_t word = 0;

		while (at + word < past && !is_space(at[word])) {
			word++;
		}
		if (word > 0 && !add_arg(args, at, word)) {
			return -ENOMEM;
		}
		at += word + 1;
	}
	return end + 1;
}

static long parse(struct args *args, const struct source *source, size_t value_max,
		  const char **ret_error)
{
	char copy[NUMBER_BYTES_MAX];
	int64_t left = 0;
	size_t at;
	const void *base = source->front.bytes;
	long r;

	args->count = 0;
	if (*source->front.bytes != '*') {
		return parse_line(args, source, ret_error);
	}
	r = parse_length(look_at(source, 0, copy), &left);
	if (r < 0 || left > ARGS_MAX) {
		*ret_error = "invalid multibulk length";
		return -EPROTO;
	}
	for (at = (size_t)r; r > 0 && left > 0; left--) {
		r = parse_arg(args, source, value_max, &at, ret_error);
	}
	if (r <= 0) {
		return r;
	}
	if (at > source->front.count && gyre_buffer_linear(source->buffer, at, &base) < 0) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < args->count; i++) {
		args->list[i].bytes = (const char *)base + (uintptr_t)args->list[i].bytes;
	}
	return (long)at;
}

/*
 * Parses the command at the front of @input, which is not empty and keeps the arguments. Returns
 * how many bytes it has, 0 if it is not whole, or a negative errno; -EPROTO comes with a text.
 */
long resp_parse(struct args *args, struct gyre_buffer *input, size_t value_max,
		const char **ret_error)
{
	struct source source = { .buffer = input, .count = gyre_buffer_bytes(input) };
	const void *front;

	source.front.count = gyre_buffer_peek(input, 0, &front);
	source.front.bytes = (const char *)front;
	return parse(args, &source, value_max, ret_error);
}

/* The same for a command that was parsed before. */
long resp_parse_again(struct args *args, struct slice input)
{
	const struct source source = { .front = input, .count = input.count };
	const char *error;

	return parse(args, &source, SIZE_MAX, &error);
}

/* A command as a client would send it. */
int resp_add_command(struct gyre_buffer *buffer, const struct slice *args, size_t count)
{
	int r = gyre_buffer_printf(buffer, "*%zu\r\n", count);

	for (size_t i = 0; i < count && r >= 0; i++) {
		r = gyre_buffer_printf(buffer, "$%zu\r\n", args[i].count);
		r = r < 0 ? r : gyre_buffer_append(buffer, args[i].bytes, args[i].count);
		r = r < 0 ? r : gyre_buffer_append(buffer, "\r\n", 2);
	}
	return r;
}

/* ---- replies ---- */

void reply_commit(struct reply *reply)
{
	if (reply->at != NULL) {
		(void)gyre_buffer_commit(reply->buffer, ROOM_BYTES,
					 ROOM_BYTES - (size_t)(reply->end - reply->at));
		reply->at = NULL;
		reply->end = NULL;
	}
}

/* Room for a few bytes, or NULL. */
static char *make_room(struct reply *reply, size_t count)
{
	void *room;

	if (reply->at != NULL && (size_t)(reply->end - reply->at) >= count) {
		return reply->at;
	}
	reply_commit(reply);
	if (gyre_buffer_bytes(reply->buffer) > OUTPUT_BYTES_MAX ||
	    gyre_buffer_reserve(reply->buffer, ROOM_BYTES, &room) < 0) {
		reply->failed = true;
		return NULL;
	}
	reply->at = (char *)room;
	reply->end = reply->at + ROOM_BYTES;
	return reply->at;
}

void reply_bytes(struct reply *reply, const void *bytes, size_t count)
{
	if (count > ROOM_BYTES) {
		reply_commit(reply);
		reply->failed |= gyre_buffer_bytes(reply->buffer) > OUTPUT_BYTES_MAX ||
				 gyre_buffer_append(reply->buffer, bytes, count) < 0;
	} else if (make_room(reply, count) != NULL) {
		memcpy(reply->at, bytes, count);
		reply->at += count;
	}
}

static size_t count_bytes(const struct reply *reply)
{
	return gyre_buffer_bytes(reply->buffer) - (size_t)(reply->end - reply->at);
}

/* Begins a reply that stands behind its length. */
struct frame reply_frame(struct reply *reply)
{
	struct frame frame = { make_room(reply, sizeof(uint32_t)), 0 };

	reply->at += frame.length == NULL ? 0 : sizeof(uint32_t);
	frame.before = count_bytes(reply);
	return frame;
}

void reply_frame_end(struct reply *reply, struct frame frame)
{
	if (frame.length != NULL) {
		uint32_t length = (uint32_t)(count_bytes(reply) - frame.before);

		memcpy(frame.length, &length, sizeof(length));
	}
}

/* A kind of reply, a number, and the end of the line. */
void reply_head(struct reply *reply, char kind, int64_t number)
{
	char text[NUMBER_BYTES_MAX];
	char *at = text + sizeof(text);
	uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	*--at = '\n';
	*--at = '\r';
	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (number < 0) {
		*--at = '-';
	}
	*--at = kind;
	reply_bytes(reply, at, (size_t)(text + sizeof(text) - at));
}

void reply_text(struct reply *reply, const char *text)
{
	reply_bytes(reply, text, strlen(text));
}

void reply_ok(struct reply *reply)
{
	reply_bytes(reply, "+OK\r\n", 5);
}

void reply_integer(struct reply *reply, int64_t number)
{
	reply_head(reply, ':', number);
}

void reply_bulk(struct reply *reply, struct slice bulk)
{
	reply_head(reply, '$', (int64_t)bulk.count);
	reply_bytes(reply, bulk.bytes, bulk.count);
	reply_bytes(reply, "\r\n", 2);
}

void reply_string(struct reply *reply, const char *text)
{
	reply_bulk(reply, (struct slice){ text, strlen(text) });
}

void reply_array(struct reply *reply, size_t count)
{
	reply_head(reply, '*', (int64_t)count);
}

void reply_set(struct reply *reply, size_t count)
{
	reply_head(reply, reply->resp3 ? '~' : '*', (int64_t)count);
}

void reply_map(struct reply *reply, size_t pairs)
{
	reply_head(reply, reply->resp3 ? '%' : '*', (int64_t)(reply->resp3 ? pairs : 2 * pairs));
}

void reply_null(struct reply *reply)
{
	reply_text(reply, reply->resp3 ? "_\r\n" : "$-1\r\n");
}

void reply_double(struct reply *reply, double value)
{
	char text[64];
	int count = isinf(value) ? snprintf(text, sizeof(text), value > 0 ? "inf" : "-inf")
				 : snprintf(text, sizeof(text), "%.17g", value);

	if (reply->resp3) {
		reply_bytes(reply, ",", 1);
		reply_bytes(reply, text, (size_t)count);
		reply_bytes(reply, "\r\n", 2);
	} else {
		reply_bulk(reply, (struct slice){ text, (size_t)count });
	}
}

/* What clients have sent may be part of the text, but it stays one line. */
void reply_error(struct reply *reply, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (char *at = text; (at = strpbrk(at, "\r\n")) != NULL;) {
		*at = ' ';
	}
	reply_bytes(reply, "-", 1);
	reply_text(reply, text);
	reply_text(reply, "\r\n");
}
