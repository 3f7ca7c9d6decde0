/*
 * The options of sockets for datagrams, kept behind the call: one that is bound elsewhere later is
 * to be like the first. Texts and groups stand behind them, in the same piece of memory.
 */
#include "base/memory/memory.h"
#include "net/datagram/datagram.h"
#include "net/texts.h"

static size_t bytes_of(const struct gyre_datagram_options *options)
{
	size_t bytes = sizeof(*options) + gy_text_bytes(options->multicast_interface) +
		       options->groups_count * sizeof(*options->groups);

	for (uint32_t i = 0; i < options->groups_count; i++) {
		bytes += gy_text_bytes(options->groups[i].group) +
			 gy_text_bytes(options->groups[i].interface);
	}
	return bytes;
}

struct gyre_datagram_options *gy_datagram_options_copy(const struct gyre_datagram_options *options)
{
	struct gyre_datagram_options *copy =
		(struct gyre_datagram_options *)gy_memory_get(bytes_of(options));
	struct gyre_multicast *groups;
	char *place;

	if (copy == NULL) {
		return NULL;
	}
	groups = (struct gyre_multicast *)(void *)(copy + 1);
	place = (char *)(groups + options->groups_count);
	*copy = *options;
	copy->bind = NULL;
	copy->connect = NULL;
	copy->ret_port = NULL;
	copy->ret_address = NULL;
	copy->groups = groups;
	copy->multicast_interface = gy_text_keep(options->multicast_interface, &place);
	for (uint32_t i = 0; i < options->groups_count; i++) {
		groups[i].group = gy_text_keep(options->groups[i].group, &place);
		groups[i].interface = gy_text_keep(options->groups[i].interface, &place);
	}
	return copy;
}
