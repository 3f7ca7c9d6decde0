/*
 * Stages of channels, the names of all that their state holds, and the check of its combinations.
 */
#include "channel/channel_state.h"

#include <stdio.h>

#include "actor/address_text.h"
#include "channel/channel.h"
#include "channel/output/output.h"

/* ---- stages ---- */

enum { STAGES = GY_CHANNEL_CLOSED + 1 };

#define TO(stage) (1U << GY_CHANNEL_##stage)

static const uint8_t may_follow[STAGES] = {
	[GY_CHANNEL_NEW] = TO(OPEN) | TO(DRAINING) | TO(CLOSING) | TO(ABORTED),
	[GY_CHANNEL_OPEN] = TO(DRAINING) | TO(CLOSING) | TO(ABORTED),
	[GY_CHANNEL_DRAINING] = TO(CLOSING) | TO(ABORTED),
	[GY_CHANNEL_CLOSING] = TO(ABORTED) | TO(CLOSED),
	[GY_CHANNEL_ABORTED] = TO(CLOSED),
};

bool gy_channel_stage_may_follow(enum gy_channel_stage from, enum gy_channel_stage to)
{
	return (unsigned)from < STAGES && (may_follow[from] >> to & 1U) != 0;
}

void gy_channel_set_stage(struct gyre_channel *channel, enum gy_channel_stage stage)
{
	gy_assert(gy_channel_stage_may_follow(gy_channel_stage(channel), stage));
	channel->state = (channel->state & ~(uint32_t)GY_CHANNEL_STAGE) | stage;
}

/* ---- names ---- */

struct name {
	uint32_t bit;
	const char *text;
};

struct group {
	const char *name;
	uint32_t bits;
};

static const char *const stage_names[STAGES] = {
	[GY_CHANNEL_NEW] = "new",	    [GY_CHANNEL_OPEN] = "open",
	[GY_CHANNEL_DRAINING] = "draining", [GY_CHANNEL_CLOSING] = "closing",
	[GY_CHANNEL_ABORTED] = "aborted",   [GY_CHANNEL_CLOSED] = "closed",
};

static const struct group groups[] = {
	{ "no-read", GY_NO_READ_REASONS }, { "input", GY_INPUT_FLAGS },
	{ "output", GY_OUTPUT_FLAGS },	   { "events", GY_EVENT_FLAGS },
	{ "traits", GY_CHANNEL_TRAITS },
};

static const struct name names[] = {
	{ GY_NO_READ_PAUSED, "paused" },
	{ GY_NO_READ_NOT_ASKED, "not-asked" },
	{ GY_NO_READ_WAITS_FOR_BUFFER, "waits-for-buffer" },
	{ GY_NO_READ_STARVED, "starved" },
	{ GY_NO_READ_FULL, "full" },
	{ GY_INPUT_ENDED, "ended" },
	{ GY_INPUT_END_TOLD, "end-told" },
	{ GY_INPUT_FAILED, "failed" },
	{ GY_INPUT_PEER_ENDED, "peer-ended" },
	{ GY_INPUT_DRAINED, "drained" },
	{ GY_INPUT_MANUAL, "manual" },
	{ GY_INPUT_CANCELLED, "cancelled" },
	{ GY_INPUT_DISCARDED, "discarded" },
	{ GY_INPUT_AWAITED, "awaited" },
	{ GY_OUTPUT_UNWRITABLE, "unwritable" },
	{ GY_OUTPUT_SHUTDOWN, "shutdown" },
	{ GY_OUTPUT_SHUTDOWN_DONE, "shutdown-done" },
	{ GY_OUTPUT_CANCELLED, "cancelled" },
	{ GY_OUTPUT_GATHERED, "gathered" },
	{ GY_EVENT_ACTIVE, "active" },
	{ GY_EVENT_MARK_CROSSED, "mark-crossed" },
	{ GY_EVENT_TOLD_UNWRITABLE, "told-unwritable" },
	{ GY_EVENT_DEFERRED, "deferred" },
	{ GY_EVENT_MAILBOX, "mailbox" },
	{ GY_EVENT_ITEMS_SENT, "items-sent" },
	{ GY_TRAIT_READ_COMPLETE, "read-complete" },
	{ GY_TRAIT_BUDGETED, "budgeted" },
	{ GY_TRAIT_BY_KIND, "by-kind" },
};

const char *gy_channel_stage_name(enum gy_channel_stage stage)
{
	return (unsigned)stage < STAGES && stage_names[stage] != NULL ? stage_names[stage] : "?";
}

/* Appends to @text, of which @*used bytes are taken; more than fits is cut. */
static void append(char *text, size_t bytes, size_t *used, const char *before, const char *what)
{
	int count = snprintf(text + *used, bytes - *used, "%s%s", before, what);

	if (count > 0) {
		*used += (size_t)count < bytes - *used ? (size_t)count : bytes - *used - 1;
	}
}

char *gy_channel_state_print(uint32_t state, char *text, size_t bytes)
{
	size_t used = 0;

	gy_assert(bytes > 0);
	text[0] = '\0';
	append(text, bytes, &used, "", gy_channel_stage_name(gy_channel_stage_of(state)));
	for (size_t i = 0; i < gy_countof(groups); i++) {
		const char *before = ":";

		if ((state & groups[i].bits) == 0) {
			continue;
		}
		append(text, bytes, &used, " ", groups[i].name);
		for (size_t j = 0; j < gy_countof(names); j++) {
			if ((state & groups[i].bits & names[j].bit) != 0) {
				append(text, bytes, &used, before, names[j].text);
				before = ",";
			}
		}
	}
	return text;
}

/* ---- the check ---- */

static _Noreturn GY_COLD void broken(const struct gyre_channel *channel, const char *rule, int line)
{
	char text[GY_CHANNEL_STATE_TEXT_BYTES];
	char address[GYRE_ADDRESS_TEXT_MAX];

	/* Nothing is made for a channel that is damaged. */
	gy_log(channel->channels->home->loop.options.log, GYRE_LOG_ERROR,
	       "channel %s of kind %s is in a state that is not allowed (%s); its reason is %d",
	       gy_address_text(channel->mailbox == NULL
				       ? GYRE_NOBODY
				       : gy_channel_mailbox_address(channel->mailbox),
			       address),
	       channel->kind->name, gy_channel_state_print(channel->state, text, sizeof(text)),
	       channel->reason);
	gy_assert_failed(rule, __FILE__, line);
}

#define RULE(condition) (gy_likely(condition) ? (void)0 : broken(channel, #condition, __LINE__))

static bool has(const struct gyre_channel *channel, uint32_t bits)
{
	return (channel->state & bits) != 0;
}

/* Whether @flag is set only where @condition holds. */
#define ONLY(flag, condition) RULE(!has(channel, flag) || (condition))

static void check_stage(const struct gyre_channel *channel)
{
	enum gy_channel_stage stage = gy_channel_stage(channel);

	RULE((unsigned)stage < STAGES && stage_names[stage] != NULL);
	RULE(stage != GY_CHANNEL_NEW || has(channel, GY_EVENT_ACTIVE));
	RULE(stage != GY_CHANNEL_OPEN || !has(channel, GY_EVENT_ACTIVE));
	RULE(stage != GY_CHANNEL_DRAINING || has(channel, GY_INPUT_DRAINED));
	ONLY(GY_INPUT_DRAINED, stage >= GY_CHANNEL_DRAINING && has(channel, GY_INPUT_ENDED));
	ONLY(GY_OUTPUT_CANCELLED, stage >= GY_CHANNEL_CLOSING);
	ONLY(GY_OUTPUT_SHUTDOWN_DONE,
	     stage >= GY_CHANNEL_CLOSING || has(channel, GY_OUTPUT_SHUTDOWN));
}

static void check_closed(const struct gyre_channel *channel)
{
	RULE(channel->input.first == NULL && channel->output.first == NULL);
	RULE(channel->output_bytes == 0 && channel->sent.first == NULL);
	RULE(!channel->receive.armed && !channel->send.armed && channel->handshake == NULL);
	RULE(!channel->reset_watch.waiting && !channel->reset_watch.poll.armed);
	RULE(gy_list_empty(&channel->deferred_list) && channel->zero_copies == NULL);
	RULE(!gy_timer_is_started(&channel->linger));
}

static void check_input(const struct gyre_channel *channel)
{
	ONLY(GY_INPUT_END_TOLD | GY_INPUT_FAILED | GY_INPUT_PEER_ENDED,
	     has(channel, GY_INPUT_ENDED));
	ONLY(GY_INPUT_FAILED, channel->reason != 0);
	ONLY(GY_INPUT_CANCELLED, channel->receive.armed);
	ONLY(GY_INPUT_AWAITED, channel->handshake != NULL);
	ONLY(GY_NO_READ_PAUSED, has(channel, GY_OUTPUT_UNWRITABLE));
	ONLY(GY_NO_READ_WAITS_FOR_BUFFER,
	     !gy_list_empty(&channel->waiter) && !channel->reset_watch.waiting);
	for (const struct gyre_buffer *buffer = channel->input.first; buffer != NULL;
	     buffer = buffer->next) {
		gy_buffer_check(buffer);
		RULE(buffer->next != NULL || channel->input.last == buffer);
	}
}

/* Datagram channels queue sends instead of buffers. */
static void check_output(const struct gyre_channel *channel)
{
	uint64_t bytes = 0;
	uint32_t count = 0;

	for (const struct gyre_buffer *buffer = channel->output.first; buffer != NULL;
	     buffer = buffer->next) {
		gy_buffer_check(buffer);
		RULE(buffer->next != NULL || channel->output.last == buffer);
		bytes += buffer->bytes;
		count += buffer->first.page != NULL || buffer->first.bytes == NULL;
	}
	RULE(gy_channel_is_datagram(channel) ? channel->output.first == NULL
					     : channel->output_bytes == bytes);
	RULE(channel->output_buffers == count);
	ONLY(GY_OUTPUT_GATHERED, channel->send.armed && channel->gather != NULL);
}

void gy_channel_check(const struct gyre_channel *channel)
{
	check_stage(channel);
	check_input(channel);
	check_output(channel);
	ONLY(GY_EVENT_MAILBOX, channel->mailbox != NULL);
	RULE(has(channel, GY_EVENT_ITEMS_SENT) == (channel->sent.first != NULL));
	RULE(has(channel, GY_EVENT_DEFERRED) ||
	     (gy_list_empty(&channel->deferred_list) && channel->pipeline.removed == NULL));
	if (gy_channel_stage(channel) == GY_CHANNEL_CLOSED) {
		check_closed(channel);
	}
}
