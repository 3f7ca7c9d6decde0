/*
 * What is known of a connection and its requests.
 *
 * All requests are parts of one pattern, which repeats after a prime number of bytes: so any part
 * of any stream is found at one address, to be sent from or compared with, and no two requests in a
 * row are alike.
 *
 * With a rate, requests have intended times. They are dealt out evenly: the first to the first
 * connection of the first loop, the second to the first connection of the second loop, and so on.
 * So the time of a connection's n-th request is computed, and need not be kept while it waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { PATTERN_BYTES = 65521, PLACES = 7919 };

char *load_pattern_create(const struct load_settings *settings)
{
	size_t bytes = PATTERN_BYTES + (size_t)settings->size_bytes * settings->depth;
	char *pattern = (char *)malloc(bytes);
	uint32_t random = 1;

	for (size_t i = 0; pattern != NULL && i < bytes; i++) {
		random = random * 1664525 + 1013904223;
		pattern[i] = i < PATTERN_BYTES ? (char)(random >> 24) : pattern[i - PATTERN_BYTES];
	}
	return pattern;
}

const char *load_pattern_at(const struct load_connection *connection, uint64_t offset)
{
	return connection->loop->pattern + (connection->place + offset) % PATTERN_BYTES;
}

bool load_pattern_is(const struct load_connection *connection, uint64_t place,
		     const struct gyre_buffer *data, size_t offset)
{
	size_t at = offset;
	const void *bytes;
	size_t count;

	while ((count = gyre_buffer_peek(data, at, &bytes)) > 0) {
		/* A piece may be longer than what the pattern has beyond its period. */
		for (size_t done = 0, part; done < count; done += part) {
			part = count - done < PATTERN_BYTES ? count - done : PATTERN_BYTES;
			if (memcmp((const char *)bytes + done,
				   load_pattern_at(connection, place + at - offset + done),
				   part) != 0) {
				return false;
			}
		}
		at += count;
	}
	return true;
}

/* ---- connections ---- */

static void free_connection(struct load_connection *connection)
{
	free(connection->slots);
	free(connection->free);
	free(connection);
}

int load_connection_add(struct gyre_channel *channel, struct load_loop *loop,
			const struct gyre_handler *requester)
{
	size_t depth = loop->settings->depth;
	struct load_connection *connection =
		(struct load_connection *)calloc(1, sizeof(*connection));
	int r = -ENOMEM;

	if (connection == NULL) {
		return -ENOMEM;
	}
	connection->loop = loop;
	connection->index = loop->connections_max;
	connection->slots = (struct load_slot *)calloc(depth, sizeof(*connection->slots));
	connection->free = (uint32_t *)calloc(depth, sizeof(*connection->free));
	if (connection->slots != NULL && connection->free != NULL) {
		r = gyre_pipeline_add(channel, GYRE_LAST, requester, connection);
	}
	if (r < 0) {
		free_connection(connection);
		return r;
	}
	for (uint32_t i = 0; i < depth; i++) {
		connection->free[i] = i;
	}
	return 0;
}

void load_connection_removed(struct gyre_handler_context *ctx)
{
	free_connection((struct load_connection *)gyre_context_arg(ctx));
}

/* Looks first where one is free as long as none has been closed. */
static uint32_t find_place(const struct load_loop *loop)
{
	uint32_t index = (uint32_t)loop->counts.open;

	while (loop->connections[index % loop->connections_max] != NULL) {
		index++;
	}
	return index % loop->connections_max;
}

/* How many requests of the connection at @index have been due before the next. */
static uint64_t due_before(const struct load_loop *loop, uint32_t index)
{
	return loop->next_request / loop->connections_max +
	       (index < loop->next_request % loop->connections_max);
}

void load_connection_active(struct gyre_handler_context *ctx)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);
	struct load_loop *loop = connection->loop;
	uint32_t index = find_place(loop);

	loop->connections[index] = connection;
	loop->counts.open++;
	connection->index = index;
	connection->place =
		(uint32_t)((loop->index + index * UINT64_C(64)) * PLACES % PATTERN_BYTES);
	connection->address = gyre_channel_address(gyre_context_channel(ctx));
	connection->due = due_before(loop, index);
	connection->begun = connection->due;
}

void load_connection_inactive(struct gyre_handler_context *ctx)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);
	struct load_loop *loop = connection->loop;

	if (connection->index == loop->connections_max) {
		return; /* it never was active */
	}
	loop->connections[connection->index] = NULL;
	loop->counts.open--;
	loop->counts.under_way -= connection->under_way;
	connection->under_way = 0;
	if (loop->settings->rate > 0 && loop->step == LOAD_MEASURE) {
		loop->counts.unsent += connection->due - connection->begun;
	}
	if (loop->step != LOAD_DONE) {
		load_count_error(loop, gyre_channel_reason(gyre_context_channel(ctx)));
	}
}

void load_count_error(struct load_loop *loop, int reason)
{
	enum load_error error = LOAD_OTHER;

	switch (reason) {
	case 0:
		error = LOAD_CLOSED;
		break;
	case -ECONNREFUSED:
		error = LOAD_REFUSED;
		break;
	case -ECONNRESET:
	case -EPIPE:
		error = LOAD_RESET;
		break;
	case -ETIMEDOUT:
		error = LOAD_TIMED_OUT;
		break;
	case -EBADMSG:
		error = LOAD_CORRUPT;
		break;
	default:
		loop->counts.other = reason;
		break;
	}
	loop->counts.errors[error]++;
}

/* ---- requests ---- */

uint32_t load_room(const struct load_connection *connection)
{
	const struct load_loop *loop = connection->loop;
	uint64_t room = loop->settings->depth - connection->under_way;

	if (loop->step != LOAD_WARM_UP && loop->step != LOAD_MEASURE) {
		return 0;
	}
	if (loop->settings->rate > 0 && connection->due - connection->begun < room) {
		room = connection->due - connection->begun;
	}
	return (uint32_t)room;
}

uint64_t load_request_ns(const struct load_loop *loop, uint64_t number)
{
	const struct load_settings *settings = loop->settings;
	double all = (double)(number * settings->loops + loop->index);

	return loop->begun_ns + (uint64_t)(all * 1e9 / (double)settings->rate);
}

uint64_t load_intended_ns(const struct load_connection *connection, uint64_t now_ns)
{
	const struct load_loop *loop = connection->loop;

	if (loop->settings->rate == 0) {
		return now_ns;
	}
	return load_request_ns(loop, connection->begun * loop->connections_max + connection->index);
}

void load_answered(struct load_loop *loop, uint64_t started_ns, uint64_t now_ns)
{
	loop->counts.under_way--;
	if (loop->step == LOAD_MEASURE) {
		loop->counts.requests++;
		histogram_record(&loop->latency, now_ns - started_ns);
	} else if (loop->step == LOAD_DRAIN) {
		histogram_record(&loop->latency, now_ns - started_ns);
	}
}
