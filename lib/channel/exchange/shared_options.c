/*
 * A list of the copies, each with the number of exchanges that have it. The one used last is first.
 */
#include "channel/exchange/shared_options.h"

#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/memory/memory.h"
#include "channel/channel_mailbox.h"

struct gy_shared_options {
	struct gyre_exchange_options options;
	struct gy_shared_options *next;
	uint32_t users;
};

/* Padding that differs costs another copy, no more. */
static bool are_same(const void *a, const void *b, size_t bytes)
{
	return memcmp(a, b, bytes) == 0;
}

const struct gyre_exchange_options *
gy_shared_options_get(struct gy_channel_mailboxes *mailboxes,
		      const struct gyre_exchange_options *options)
{
	struct gy_shared_options **at = &mailboxes->options;
	struct gy_shared_options *found;

	while (*at != NULL && !are_same(&(*at)->options, options, sizeof(*options))) {
		at = &(*at)->next;
	}
	found = *at;
	if (found != NULL) {
		*at = found->next;
	} else {
		found = (struct gy_shared_options *)gy_memory_get(sizeof(*found));
		if (found == NULL) {
			return NULL;
		}
		memcpy(&found->options, options, sizeof(*options)); /* with its padding */
	}
	found->users++;
	found->next = mailboxes->options;
	mailboxes->options = found;
	return &found->options;
}

void gy_shared_options_put(struct gy_channel_mailboxes *mailboxes,
			   const struct gyre_exchange_options *options)
{
	struct gy_shared_options **at = &mailboxes->options;

	while (&(*at)->options != options) {
		at = &(*at)->next;
		gy_assert(*at != NULL);
	}
	if (--(*at)->users == 0) {
		struct gy_shared_options *unused = *at;

		*at = unused->next;
		gy_memory_put(unused);
	}
}
