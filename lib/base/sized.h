/*
 * Structures of programs, of any size.
 *
 * A program may have been built against older headers, whose structures are shorter at their ends,
 * or against newer ones. The calls pass the size that the program knows; what it does not have is
 * zero, which is the default. A member that it has set and that this library does not know refuses
 * the call, for what it asks for would silently not happen.
 *
 * Options are copied into ours for the call, results are copied out. Tables that are kept by
 * pointer, as classes and handlers, stay where they are if they are no smaller than ours; of a
 * smaller one a zero-padded copy is made once for each system, and lives as long as that.
 */
#ifndef GY_BASE_SIZED_H
#define GY_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

struct gy_log;

/*
 * Copies a program's structure of @given_bytes bytes into @ours, also on failure; NULL is all zero.
 * -E2BIG, and a line in the log, when the program has set a member that we do not have.
 */
int gy_sized_read(void *ours, size_t ours_bytes, const void *given, size_t given_bytes,
		  const char *name, const struct gy_log *log);

/* Copies a result of ours out into a program's structure of @given_bytes bytes. */
void gy_sized_write(void *given, size_t given_bytes, const void *ours, size_t ours_bytes);

/* The copies of tables that a system keeps; any thread may add. All zero is none. */
struct gy_table_copies {
	struct gy_table_copy *newest; /* atomic; a list */
};

/* Nobody uses the tables any more. */
void gy_table_copies_fini(struct gy_table_copies *copies);

/*
 * Replaces @table of a program by the one to keep: the same, or a larger one among @copies. It may
 * be NULL. -E2BIG as above; -ENOMEM.
 */
int gy_sized_table(struct gy_table_copies *copies, const void **table, size_t given_bytes,
		   size_t ours_bytes, const char *name, const struct gy_log *log);

/* Whether @count of 4-byte units are zero; of a constant count a few instructions. */
static inline bool gy_sized_is_zero(const void *units, size_t count)
{
	uint32_t any = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t unit;

		memcpy(&unit, (const unsigned char *)units + i * sizeof(unit), sizeof(unit));
		any |= unit;
	}
	return any == 0;
}

/* -EINVAL, and a line in the log: reserved members of @name are set. */
GY_COLD int gy_sized_refuse_reserved(const char *name, const struct gy_log *log);

/* Reserved members, a multiple of 4 bytes, must be zero: -EINVAL, and a line in the log. */
static inline int gy_sized_reserved(const void *reserved, size_t bytes, const char *name,
				    const struct gy_log *log)
{
	return gy_likely(gy_sized_is_zero(reserved, bytes / sizeof(uint32_t)))
		       ? 0
		       : gy_sized_refuse_reserved(name, log);
}

#define GY_SIZED_READ(NAME, OURS, GIVEN, GIVEN_BYTES, LOG) \
	gy_sized_read((OURS), sizeof(struct NAME), (GIVEN), (GIVEN_BYTES), "struct " #NAME, (LOG))

/*
 * Replaces the pointer to a program's table by the one to keep; 0 or a negative errno. COPIES and
 * LOG are evaluated only for a table of another size than ours.
 */
#define GY_SIZED_TABLE(NAME, COPIES, TABLE, BYTES, LOG)                                        \
	({                                                                                     \
		const void *kept = *(TABLE);                                                   \
		int kept_r = 0;                                                                \
                                                                                               \
		if (gy_unlikely((BYTES) != sizeof(struct NAME))) {                             \
			kept_r = gy_sized_table((COPIES), &kept, (BYTES), sizeof(struct NAME), \
						"struct " #NAME, (LOG));                       \
		}                                                                              \
		if (kept_r == 0) {                                                             \
			*(TABLE) = (const struct NAME *)kept;                                  \
		}                                                                              \
		kept_r;                                                                        \
	})

/* For a structure that stands inside of others and has a member @reserved. */
#define GY_SIZED_RESERVED(NAME, POINTER, LOG) \
	gy_sized_reserved((POINTER)->reserved, sizeof((POINTER)->reserved), "struct " #NAME, (LOG))

#endif
