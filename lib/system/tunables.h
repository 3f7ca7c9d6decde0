/*
 * The options of a system that are numbers, by their names; see tunables.c.
 */
#ifndef GY_SYSTEM_TUNABLES_H
#define GY_SYSTEM_TUNABLES_H

#include <stddef.h>
#include <stdint.h>

#include <gyre/system.h>

struct gy_tunable {
	const char *name;
	size_t offset; /* of the field */
	size_t bytes;
	int64_t min;
	int64_t max;
	int64_t preset;		  /* what a field of 0 means */
	const char *const *words; /* that stand for 1, 2 and so on, up to NULL; NULL for none */
};

extern const struct gy_tunable gy_tunables[];
extern const size_t gy_tunables_count;

int64_t gy_tunable_read(const struct gyre_system_options *options,
			const struct gy_tunable *tunable);
void gy_tunable_write(struct gyre_system_options *options, const struct gy_tunable *tunable,
		      int64_t value);

/* NULL if there is none of that name, which has @length bytes. */
const struct gy_tunable *gy_tunable_find(const char *name, size_t length);

/* The number that the word stands for, or 0. */
int64_t gy_tunable_word(const struct gy_tunable *tunable, const char *word);

/* As "auto, io_uring or epoll", or "1 to 1000000". */
void gy_tunable_describe(const struct gy_tunable *tunable, char *ret_text, size_t room);

#endif
