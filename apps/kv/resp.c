/*
 * The protocol of Redis, RESP2 and RESP3. A command is an array of bulk strings, or a line of
 * words; it is parsed where it stands, when all of it is there.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kv.h"

enum { NUMBER_BYTES_MAX = 24, PART_BYTES_MIN = 6 }; /* with its kind and the end of the line */
enum { NOT_WHOLE = -1, NO_NUMBER = -2 };

/* ---- numbers and words ---- */

bool slice_is(struct slice slice, const char *word)
{
	return strlen(word) == slice.count && strncasecmp(slice.bytes, word, slice.count) == 0;
}

/* As Redis wants them: no plus, no leading zeros, no spaces. */
bool slice_integer(struct slice slice, int64_t *ret_number)
{
	bool negative = slice.count > 0 && slice.bytes[0] == '-';
	size_t digits = slice.count - negative;
	uint64_t number = 0;

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
	*ret_number = (int64_t)(negative ? 0 - number : number);
	return number <= (uint64_t)INT64_MAX + negative;
}

/* ---- memory that grows ---- */

/* Where more can be put; NULL if there is no room. */
static char *text_room(struct text *text, size_t count)
{
	if (text->room - text->count < count) {
		size_t wanted = 2 * text->count + count + 128;
		size_t room = wanted < OUTPUT_BYTES_MAX ? wanted : OUTPUT_BYTES_MAX;
		char *bytes = text->failed || text->count + count > OUTPUT_BYTES_MAX
				      ? NULL
				      : (char *)realloc(text->bytes, room);

		if (bytes == NULL) {
			text->failed = true;
			return NULL;
		}
		text->bytes = bytes;
		text->room = room;
	}
	return text->bytes + text->count;
}

void text_add(struct text *text, const void *bytes, size_t count)
{
	char *room = count == 0 ? NULL : text_room(text, count);

	if (room != NULL) {
		memcpy(room, bytes, count);
		text->count += count;
	}
}

/* ---- commands ---- */

static ssize_t refuse(struct args *args, const char *error)
{
	(void)snprintf(args->error, sizeof(args->error), "%s", error);
	return -1;
}

/* Reads the number of a line as "$5\r\n", and goes behind it. */
static int64_t parse_number(struct slice input, size_t *at)
{
	const char *first = input.bytes + *at + 1;
	const char *end = input.bytes + input.count;
	const char *digit = first;
	int64_t number = 0;

	while (digit < end && (unsigned char)(*digit - '0') < 10 && number <= COMMAND_BYTES_MAX) {
		number = 10 * number + (*digit++ - '0');
	}
	if (digit < end && (*digit != '\r' || digit == first)) {
		return NO_NUMBER;
	}
	if (digit + 1 >= end) {
		return NOT_WHOLE;
	}
	*at = (size_t)(digit + 2 - input.bytes);
	return number;
}

/* A line has fewer words than ARGS_MAX, for it has no more bytes. */
static ssize_t parse_line(struct args *args, struct slice input)
{
	const char *at = input.bytes;
	size_t most = input.count < LINE_BYTES_MAX ? input.count : LINE_BYTES_MAX;
	const char *end = (const char *)memchr(at, '\n', most);

	if (end == NULL) {
		return input.count < LINE_BYTES_MAX ? 0 : refuse(args, "too big inline request");
	}
	while (at < end) {
		const char *word = at;

		while (at < end && *at != ' ' && (*at < '\t' || *at > '\r')) {
			at++;
		}
		if (at > word) {
			args->list[args->count++] = (struct slice){ word, (size_t)(at - word) };
		}
		at++;
	}
	return end + 1 - input.bytes;
}

static ssize_t parse_array(struct args *args, struct slice input, uint64_t value_max)
{
	size_t at = 0;
	int64_t left = parse_number(input, &at);

	if (left == NO_NUMBER || left > ARGS_MAX) {
		return refuse(args, "invalid multibulk length");
	}
	for (; left > 0; left--) {
		int64_t bytes;

		args->needed = at + PART_BYTES_MIN * (size_t)left;
		if (at < input.count && input.bytes[at] != '$') {
			(void)snprintf(args->error, sizeof(args->error), "expected '$', got '%c'",
				       input.bytes[at]);
			return -1;
		}
		bytes = at < input.count ? parse_number(input, &at) : NOT_WHOLE;
		if (bytes == NOT_WHOLE) {
			return 0;
		}
		if (bytes == NO_NUMBER || (uint64_t)bytes > value_max) {
			return refuse(args, "invalid bulk length");
		}
		if (at + (size_t)bytes > COMMAND_BYTES_MAX) {
			return refuse(args, "too big request");
		}
		if (input.count - at < (size_t)bytes + 2) {
			args->needed = at + (size_t)bytes + 2 + PART_BYTES_MIN * (size_t)(left - 1);
			return 0;
		}
		args->list[args->count++] = (struct slice){ input.bytes + at, (size_t)bytes };
		at += (size_t)bytes + 2;
	}
	return left == NOT_WHOLE ? 0 : (ssize_t)at;
}

/* How many bytes the first command has, 0 if it is not whole, or -1 with an error. */
ssize_t resp_parse(struct args *args, struct slice input, uint64_t value_max)
{
	args->count = args->needed = 0;
	return *input.bytes == '*' ? parse_array(args, input, value_max) : parse_line(args, input);
}

/* ---- replies ---- */

const char *reply_text(struct text *text, const char *bytes)
{
	text_add(text, bytes, strlen(bytes));
	return NULL;
}

/* Writes a kind of reply, a number, and the end of the line, and returns where that is. */
static char *write_head(char *at, char kind, int64_t number)
{
	char line[NUMBER_BYTES_MAX];
	char *digit = line + sizeof(line) - 2;
	uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	memcpy(digit, "\r\n", 2);
	do {
		*--digit = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (number < 0) {
		*--digit = '-';
	}
	*--digit = kind;
	return (char *)mempcpy(at, digit, (size_t)(line + sizeof(line) - digit));
}

const char *reply_head(struct text *text, char kind, int64_t number)
{
	char *at = text_room(text, NUMBER_BYTES_MAX);

	if (at != NULL) {
		text->count = (size_t)(write_head(at, kind, number) - text->bytes);
	}
	return NULL;
}

const char *reply_number(struct text *text, size_t number)
{
	return reply_head(text, ':', (int64_t)number);
}

/* NOTHING is a reply of its own. */
const char *reply_bulk(struct text *text, struct slice bulk)
{
	char *at;

	if (bulk.bytes == NULL) {
		return reply_text(text, text->resp3 ? "_\r\n" : "$-1\r\n");
	}
	at = text_room(text, NUMBER_BYTES_MAX + bulk.count + 2);
	if (at != NULL) {
		at = write_head(at, '$', (int64_t)bulk.count);
		at = (char *)mempcpy(mempcpy(at, bulk.bytes, bulk.count), "\r\n", 2);
		text->count = (size_t)(at - text->bytes);
	}
	return NULL;
}

const char *reply_string(struct text *text, const char *bytes)
{
	return reply_bulk(text, (struct slice){ bytes, strlen(bytes) });
}

/* An array of so many elements, which under RESP3 is a set ('~') or a map ('%') of pairs. */
const char *reply_list(struct text *text, char kind, size_t count)
{
	return reply_head(text, text->resp3 ? kind : '*',
			  (int64_t)(text->resp3 && kind == '%' ? count / 2 : count));
}

const char *reply_double(struct text *text, double number)
{
	char digits[64];

	(void)snprintf(digits, sizeof(digits), "%.17g", number);
	return text->resp3 ? reply_format(text, ",%s", digits) : reply_string(text, digits);
}

/* A reply of one line. What clients have sent may be part of it, but no end of a line. */
const char *reply_format(struct text *text, const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (char *at = line; (at = strpbrk(at, "\r\n")) != NULL;) {
		*at = ' ';
	}
	(void)reply_text(text, line);
	return reply_text(text, "\r\n");
}
