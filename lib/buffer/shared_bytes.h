/*
 * Shared bytes that are filled where they stand, before anybody else knows them.
 */
#ifndef GY_BUFFER_SHARED_BYTES_H
#define GY_BUFFER_SHARED_BYTES_H

#include <gyre/bytes.h>

/* A block whose contents are undefined, with one reference; NULL as gyre_bytes_create(). */
struct gyre_bytes *gy_bytes_make(size_t count);
/* The bytes of a block, which may be NULL. */
void *gy_bytes_memory(struct gyre_bytes *bytes);
/* Only the first @count of them are meant. */
void gy_bytes_shorten(struct gyre_bytes *bytes, size_t count);

#endif
