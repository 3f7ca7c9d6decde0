/*
 * Texts of options that are kept behind the call: one after the other, in memory of the right size.
 */
#ifndef GY_NET_TEXTS_H
#define GY_NET_TEXTS_H

#include <stddef.h>
#include <string.h>

/* The bytes of a text with its terminator; 0 for NULL. */
static inline size_t gy_text_bytes(const char *text)
{
	return text == NULL ? 0 : strlen(text) + 1;
}

/* Copies it to @*place, which goes on behind it. */
static inline const char *gy_text_keep(const char *text, char **place)
{
	size_t bytes = gy_text_bytes(text);
	char *kept = *place;

	*place += bytes;
	return text == NULL ? NULL : (const char *)memcpy(kept, text, bytes);
}

#endif
