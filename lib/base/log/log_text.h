/*
 * The text of a line of the log: whatever bytes it is given, the line stays one line of valid UTF-8
 * that talks to no terminal.
 *
 * A line may hold bytes of a peer. Those that could end the line, begin an escape sequence or be
 * taken for another character are written as in C: a newline as \n, others as \x1b. So the reader
 * sees them, and a peer cannot make a line of its own.
 */
#ifndef GY_BASE_LOG_LOG_TEXT_H
#define GY_BASE_LOG_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { GY_LOG_LINE_BYTES = 1024 }; /* with the final 0; a longer line is cut off */

struct gy_log_text {
	size_t count;
	char bytes[GY_LOG_LINE_BYTES];
};

/*
 * Adds @count bytes to @text, as far as the text is at most @limit long then, which is at most
 * GY_LOG_LINE_BYTES - 1 and leaves room for 3 bytes. Text that does not fit ends in "..." between
 * two characters; with @cut the bytes are the beginning of something longer, and end so too.
 */
void gy_log_text_add(struct gy_log_text *text, const char *bytes, size_t count, size_t limit,
		     bool cut);

#endif
