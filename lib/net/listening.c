/*
 * The events of sockets that listen. A socket that goes to another loop ends on the one and begins
 * on the other.
 */
#include "net/listening.h"

#include <stdio.h>

#include <gyre/socket_address.h>

static void write_address(struct gyre_listening *event, const struct gyre_socket_address *address,
			  const char *text)
{
	if (address == NULL || address->bytes == 0 ||
	    gyre_socket_address_format(address, sizeof(event->address), event->address) < 0) {
		(void)snprintf(event->address, sizeof(event->address), "%s", text);
	}
}

void gy_listening_tell(struct gy_home *home, enum gyre_listening_step step,
		       const struct gyre_socket_address *address, const char *text, int reason)
{
	struct gyre_listening event = { .step = step, .reason = reason, .loop = home->loop.index };

	gy_assert(reason <= 0 && (reason < 0 || step != GYRE_LISTENING_FAILED));
	write_address(&event, address, text);
	gy_home_publish(home, &gyre_type_gyre_listening, &event);
}

static void publish_failed(struct gy_homes *homes, const struct gyre_listening *event)
{
	const struct gy_home_options *options = &homes->homes[0].options;

	gy_assert(event->reason < 0);
	if (options->directory != NULL && options->directory->publish != NULL) {
		options->directory->publish(options->system, NULL, &gyre_type_gyre_listening,
					    event);
	}
}

void gy_listening_failed(struct gy_homes *homes, const char *text, int reason)
{
	struct gyre_listening event = { .step = GYRE_LISTENING_FAILED,
					.reason = reason,
					.loop = GYRE_LISTENING_NO_LOOP };

	write_address(&event, NULL, text);
	publish_failed(homes, &event);
}

void gy_listening_failed_on(struct gy_homes *homes, uint32_t loop,
			    const struct gyre_socket_address *address, int reason)
{
	struct gyre_listening event = { .step = GYRE_LISTENING_FAILED,
					.reason = reason,
					.loop = loop };

	write_address(&event, address, "");
	publish_failed(homes, &event);
}
