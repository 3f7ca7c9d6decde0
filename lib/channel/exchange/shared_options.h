/*
 * The options of exchanges, copied from programs. The exchanges of a loop whose options are alike
 * share one copy, since there are many of them, and few kinds of options.
 */
#ifndef GY_CHANNEL_EXCHANGE_SHARED_OPTIONS_H
#define GY_CHANNEL_EXCHANGE_SHARED_OPTIONS_H

#include <gyre/exchange.h>

struct gy_channel_mailboxes;
struct gy_shared_options;

/* A copy of @options for one more exchange; NULL when there is no memory. */
const struct gyre_exchange_options *
gy_shared_options_get(struct gy_channel_mailboxes *mailboxes,
		      const struct gyre_exchange_options *options);
/* One exchange less has that copy; the last one frees it. */
void gy_shared_options_put(struct gy_channel_mailboxes *mailboxes,
			   const struct gyre_exchange_options *options);

#endif
