/*
 * The ring of words of a log's buffer. A line may begin at any word, and goes on at the first one
 * when it comes to the end; only its first word must stand in one piece.
 */
#include "base/log/log_buffer.h"

#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/memory/memory.h"

enum {
	WORD = sizeof(uint64_t),
	LEVEL_SHIFT = 32, /* of the first word; below is how many bytes the text has */
};

static const uint64_t whole = UINT64_C(1) << 63; /* in the first word of a line */

/* What stands between the first word and the text. */
struct about {
	uint64_t time_ns;
	uint64_t lost;
};

enum { WORDS_BEFORE_TEXT = 1 + sizeof(struct about) / WORD };

static uint64_t words_of(size_t text_bytes)
{
	return WORDS_BEFORE_TEXT + (text_bytes + WORD - 1) / WORD;
}

struct gy_log_buffer *gy_log_buffer_create(struct gy_log_source *source, size_t bytes)
{
	struct gy_log_buffer *buffer;
	size_t count = bytes / WORD;

	gy_assert(count >= words_of(GY_LOG_LINE_BYTES));
	buffer = (struct gy_log_buffer *)gy_memory_get(sizeof(*buffer) + count * WORD);
	if (buffer != NULL) {
		buffer->source = source;
		buffer->words_count = count;
	}
	return buffer;
}

void gy_log_buffer_destroy(struct gy_log_buffer *buffer)
{
	gy_memory_put(buffer);
}

/* ---- bytes in words that go round ---- */

static unsigned char *word_at(struct gy_log_buffer *buffer, uint64_t word)
{
	return (unsigned char *)&buffer->words[word % buffer->words_count];
}

static const unsigned char *const_word_at(const struct gy_log_buffer *buffer, uint64_t word)
{
	return (const unsigned char *)&buffer->words[word % buffer->words_count];
}

/* How many of @bytes from @word on stand in one piece. */
static size_t before_end(const struct gy_log_buffer *buffer, uint64_t word, size_t bytes)
{
	size_t left = (size_t)(buffer->words_count - word % buffer->words_count) * WORD;

	return bytes < left ? bytes : left;
}

static void copy_in(struct gy_log_buffer *buffer, uint64_t word, const void *from, size_t bytes)
{
	size_t first = before_end(buffer, word, bytes);

	memcpy(word_at(buffer, word), from, first);
	memcpy(buffer->words, (const unsigned char *)from + first, bytes - first);
}

static void copy_out(const struct gy_log_buffer *buffer, uint64_t word, void *to, size_t bytes)
{
	size_t first = before_end(buffer, word, bytes);

	memcpy(to, const_word_at(buffer, word), first);
	memcpy((unsigned char *)to + first, buffer->words, bytes - first);
}

static void clear(struct gy_log_buffer *buffer, uint64_t word, uint64_t words)
{
	size_t first = before_end(buffer, word, (size_t)words * WORD);

	memset(word_at(buffer, word), 0, first);
	memset(buffer->words, 0, (size_t)words * WORD - first);
}

/* ---- putting ---- */

/* Reserves @words; false when they are not free. */
static bool reserve(struct gy_log_buffer *buffer, uint64_t words, uint64_t *ret_at)
{
	uint64_t at;

	do {
		/* Read before @head, so that it is not beyond. */
		uint64_t tail = gy_load_acquire(&buffer->tail);

		at = gy_load_relaxed(&buffer->head);
		gy_assert(at >= tail);
		if (at + words - tail > buffer->words_count) {
			return false;
		}
	} while (!gy_compare_exchange(&buffer->head, &at, at + words));
	*ret_at = at;
	return true;
}

bool gy_log_buffer_put(struct gy_log_buffer *buffer, enum gyre_log_level level, uint64_t time_ns,
		       const char *text, size_t count)
{
	struct about about = { .time_ns = time_ns };
	uint64_t at;

	gy_assert(count < GY_LOG_LINE_BYTES);
	if (!reserve(buffer, words_of(count), &at)) {
		(void)gy_add_full(&buffer->lost, 1);
		return false;
	}
	if (gy_load_relaxed(&buffer->lost) > 0) {
		about.lost = gy_exchange(&buffer->lost, 0);
	}
	copy_in(buffer, at + 1, &about, sizeof(about));
	copy_in(buffer, at + WORDS_BEFORE_TEXT, text, count);
	/* Ordered before the look at whether who takes is asleep. */
	gy_store_full(&buffer->words[at % buffer->words_count],
		      whole | (uint64_t)level << LEVEL_SHIFT | count);
	return true;
}

/* ---- taking; only who takes changes the tail ---- */

static const uint64_t *first_word(const struct gy_log_buffer *buffer, uint64_t tail)
{
	return &buffer->words[tail % buffer->words_count];
}

bool gy_log_buffer_peek(const struct gy_log_buffer *buffer, uint64_t *ret_time_ns)
{
	uint64_t tail = gy_load_relaxed(&buffer->tail);
	struct about about;

	if (gy_load_acquire(first_word(buffer, tail)) == 0) {
		return false;
	}
	copy_out(buffer, tail + 1, &about, sizeof(about));
	*ret_time_ns = about.time_ns;
	return true;
}

void gy_log_buffer_take(struct gy_log_buffer *buffer, struct gy_log_record *ret_record)
{
	uint64_t tail = gy_load_relaxed(&buffer->tail);
	uint64_t first = gy_load_acquire(first_word(buffer, tail));
	size_t count = (uint32_t)first;
	struct about about;

	gy_assert((first & whole) != 0 && count < GY_LOG_LINE_BYTES);
	copy_out(buffer, tail + 1, &about, sizeof(about));
	copy_out(buffer, tail + WORDS_BEFORE_TEXT, ret_record->text, count);
	ret_record->text[count] = '\0';
	ret_record->time_ns = about.time_ns;
	ret_record->lost = about.lost;
	ret_record->level = (enum gyre_log_level)((first & ~whole) >> LEVEL_SHIFT);
	clear(buffer, tail, words_of(count));
	gy_store_release(&buffer->tail, tail + words_of(count));
}

uint64_t gy_log_buffer_take_lost(struct gy_log_buffer *buffer)
{
	return gy_load_relaxed(&buffer->lost) == 0 ? 0 : gy_exchange(&buffer->lost, 0);
}

bool gy_log_buffer_has_any(const struct gy_log_buffer *buffer)
{
	uint64_t tail = gy_load_relaxed(&buffer->tail);

	return gy_load_full(first_word(buffer, tail)) != 0 || gy_load_full(&buffer->lost) != 0;
}
