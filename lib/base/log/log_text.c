/*
 * Escaping, a character at a time. A character of UTF-8 is taken as a whole or not at all, so that
 * a line which is cut off stays valid.
 */
#include "base/log/log_text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

enum { CHARACTER_BYTES = 4, ESCAPE_BYTES = 4, MARK_BYTES = 3 };

static const char mark[MARK_BYTES + 1] = "...";

/* How many bytes the character has that begins with @lead; 0 if none does. */
static size_t length_of(unsigned char lead)
{
	if (lead < 0x80) {
		return 1;
	}
	if (lead >= 0xc2 && lead < 0xe0) {
		return 2;
	}
	if (lead >= 0xe0 && lead < 0xf0) {
		return 3;
	}
	return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/* The character at @bytes, which has @length of them; UINT32_MAX if they are no UTF-8. */
static uint32_t decode(const unsigned char *bytes, size_t length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t character = length == 1 ? bytes[0] : bytes[0] & (0x7fU >> length);

	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80) {
			return UINT32_MAX;
		}
		character = character << 6 | (bytes[i] & 0x3fU);
	}
	return character < least[length] || character > 0x10ffff ||
			       (character >= 0xd800 && character < 0xe000)
		       ? UINT32_MAX
		       : character;
}

/* Whether a character is text: no control, and no separator of lines or paragraphs. */
static bool is_text(uint32_t character)
{
	return character >= ' ' && character != UINT32_MAX &&
	       (character < 0x7f || character > 0x9f) && character != 0x2028 && character != 0x2029;
}

static size_t escape(unsigned char byte, char to[ESCAPE_BYTES + 1])
{
	static const char named[] = { '\n', 'n', '\r', 'r', '\t', 't' };

	for (size_t i = 0; i < sizeof(named); i += 2) {
		if ((char)byte == named[i]) {
			to[0] = '\\';
			to[1] = named[i + 1];
			return 2;
		}
	}
	return (size_t)snprintf(to, ESCAPE_BYTES + 1, "\\x%02x", (unsigned)byte);
}

/* Takes the next character, or the next byte that is none, as it is to be written; returns how many
 * of the bytes that were. */
static size_t take(const char *bytes, size_t count, char to[ESCAPE_BYTES + 1], size_t *ret_length)
{
	unsigned char next[CHARACTER_BYTES] = { 0 };
	size_t length = length_of((unsigned char)bytes[0]);

	if (length == 0 || length > count) {
		*ret_length = escape((unsigned char)bytes[0], to);
		return 1;
	}
	memcpy(next, bytes, length);
	if (!is_text(decode(next, length))) {
		*ret_length = escape(next[0], to);
		return 1;
	}
	memcpy(to, next, length);
	*ret_length = length;
	return length;
}

void gy_log_text_add(struct gy_log_text *text, const char *bytes, size_t count, size_t limit,
		     bool cut)
{
	size_t whole = text->count; /* behind it the mark has room */

	gy_assert(limit < GY_LOG_LINE_BYTES && text->count + MARK_BYTES <= limit);
	while (count > 0) {
		char next[ESCAPE_BYTES + 1];
		size_t length;
		size_t taken = take(bytes, count, next, &length);

		cut = cut || text->count + length > limit;
		if (text->count + length > limit) {
			break;
		}
		memcpy(text->bytes + text->count, next, length);
		text->count += length;
		if (text->count + MARK_BYTES <= limit) {
			whole = text->count;
		}
		bytes += taken;
		count -= taken;
	}
	if (cut) {
		memcpy(text->bytes + whole, mark, MARK_BYTES);
		text->count = whole + MARK_BYTES;
	}
	text->bytes[text->count] = '\0';
}
