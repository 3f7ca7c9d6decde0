/*
 * Timers of handlers: see context_timer.c.
 */
#ifndef GY_CHANNEL_PIPELINE_CONTEXT_TIMER_H
#define GY_CHANNEL_PIPELINE_CONTEXT_TIMER_H

struct gy_context;

/* A handler has left its place: its timers go. */
void gy_context_timers_end(const struct gy_context *context);

#endif
