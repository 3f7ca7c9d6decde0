/* The bytes that the channels of one loop hold together: see byte_budget.c. */
#ifndef GY_CHANNEL_OUTPUT_BYTE_BUDGET_H
#define GY_CHANNEL_OUTPUT_BYTE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gyre_channel;
struct gy_channels;

/* A loop's part. Written by the loop with relaxed stores, read from any thread. */
struct gy_byte_budget {
	uint64_t bytes;
	uint32_t over; /* too much is held, and has not become much less since */
};

/* The most bytes that the channels of this loop may hold; 0 for no limit. Any thread. */
uint64_t gy_byte_budget_max(const struct gy_channels *channels);
/*
 * Counts bytes in and out, of channels with GY_TRAIT_BUDGETED alone. Any phase: it runs no user's
 * code.
 */
void gy_byte_budget_charge(struct gy_channels *channels, uint64_t bytes);
void gy_byte_budget_release(struct gy_channels *channels, uint64_t bytes);
/* Makes what is counted of something, *@counted, the number of bytes that it has now. */
void gy_byte_budget_set(struct gyre_channel *channel, uint32_t *counted, size_t bytes);
/* Counts a frame that is not complete; a channel for which that is too much is closed. */
void gy_byte_budget_set_frame(struct gyre_channel *channel, uint32_t *counted, size_t bytes);
/* Whether so many more are within the share. */
bool gy_byte_budget_fits(const struct gy_channels *channels, uint64_t bytes);
/* Counts and logs that a channel is closed because @bytes more do not fit. */
void gy_byte_budget_log_closed(struct gyre_channel *channel, uint64_t bytes);
/* Checks a write that can wait: 0, -EAGAIN, -EMSGSIZE. */
int gy_byte_budget_check_write(struct gyre_channel *channel, size_t bytes);

#endif
