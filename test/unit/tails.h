/*
 * What the tests of messages with tails share: three structs that differ in where their elements
 * begin, how large they are, and where the count stands. Each element is known by its place, so
 * that a receiver sees whether it got all of them, and nothing else.
 */
#ifndef GY_TEST_TAILS_H
#define GY_TEST_TAILS_H

#include <gyre/tail.h>

#include "fixture.h"

/* The count is the last member before the elements, which begin where the struct ends. */
struct line {
	uint32_t number;
	uint32_t bytes;
	char text[];
};
GYRE_MESSAGE_TAIL(line, 0x1500, text, bytes);

/* Elements begin in what would be padding. */
struct ragged {
	uint64_t serial;
	uint32_t count;
	uint16_t values[];
};
GYRE_MESSAGE_TAIL(ragged, 0x1501, values, count);

/* The count comes first, and elements are larger than the struct before them. */
struct point {
	uint64_t x;
	uint64_t y;
	uint64_t z;
};

struct path {
	uint32_t count;
	struct point points[];
};
GYRE_MESSAGE_TAIL(path, 0x1502, points, count);

/* A question with a tail, which is answered with a line. */
struct spell {
	uint32_t count;
	uint32_t letters[];
};
GYRE_REQUEST_TAIL(spell, 0x1503, line, letters, count);

static inline char tail_letter(uint32_t number, uint32_t i)
{
	return (char)('a' + (number + i) % 26);
}

static inline struct gyre_mail *tail_fill_line(struct gyre_mail *mail)
{
	struct line *line = mail == NULL ? NULL : (struct line *)gyre_payload(mail);

	for (uint32_t i = 0; line != NULL && i < line->bytes; i++) {
		line->text[i] = tail_letter(line->number, i);
	}
	return mail;
}

/* A line of so many letters that begins with one that its number names. */
static inline struct gyre_mail *tail_line(struct gyre_stack *stack, uint32_t number, size_t bytes)
{
	return tail_fill_line(gyre_new_tail(stack, line, bytes, .number = number));
}

static inline bool tail_line_is_whole(const struct line *line, uint32_t number, uint32_t bytes)
{
	bool whole = line != NULL && line->number == number && line->bytes == bytes;

	for (uint32_t i = 0; whole && i < bytes; i++) {
		whole = line->text[i] == tail_letter(number, i);
	}
	return whole;
}

static inline struct gyre_mail *tail_ragged(struct gyre_stack *stack, uint64_t serial, size_t count)
{
	struct gyre_mail *mail = gyre_new_tail(stack, ragged, count, .serial = serial);
	struct ragged *ragged = mail == NULL ? NULL : (struct ragged *)gyre_payload(mail);

	for (uint32_t i = 0; ragged != NULL && i < ragged->count; i++) {
		ragged->values[i] = (uint16_t)(serial + i);
	}
	return mail;
}

static inline bool tail_ragged_is_whole(const struct ragged *ragged, uint64_t serial,
					uint32_t count)
{
	bool whole = ragged != NULL && ragged->serial == serial && ragged->count == count;

	for (uint32_t i = 0; whole && i < count; i++) {
		whole = ragged->values[i] == (uint16_t)(serial + i);
	}
	return whole;
}

static inline struct gyre_mail *tail_path(struct gyre_stack *stack, size_t count)
{
	struct gyre_mail *mail = gyre_new_tail(stack, path, count);
	struct path *path = mail == NULL ? NULL : (struct path *)gyre_payload(mail);

	for (uint32_t i = 0; path != NULL && i < path->count; i++) {
		path->points[i] = (struct point){ i, i + 1, i + 2 };
	}
	return mail;
}

static inline bool tail_path_is_whole(const struct path *path, uint32_t count)
{
	bool whole = path != NULL && path->count == count;

	for (uint32_t i = 0; whole && i < count; i++) {
		const struct point *point = &path->points[i];

		whole = point->x == i && point->y == i + 1 && point->z == i + 2;
	}
	return whole;
}

#endif
