/*
 * What threads that are not loops may do: make mail, send it, spawn, and read the counters.
 */
#include <errno.h>

#include "base/memory.h"
#include "channel/channels.h"
#include "system/system.h"

struct gyre_mail *gyre_system_mail_new(struct gyre_system *system, const struct gyre_type *type)
{
	struct gy_node *node;
	struct gyre_mail *mail;

	if (system == NULL || type->bytes > GYRE_MESSAGE_BYTES_MAX) {
		return NULL;
	}
	node = gy_node_get_from_heap(GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes);
	if (node == NULL) {
		return NULL;
	}
	mail = gy_mail_of(node);
	mail->type = type;
	return mail;
}

void gy_outside_lost(struct gyre_system *system, uint16_t loop, struct gyre_mail *mail)
{
	const struct gyre_system_options *options = &system->options;
	struct gyre_address to = { .slot = mail->to_slot, .cookie = mail->to_cookie, .loop = loop };

	(void)gy_add_relaxed(&system->outside_dropped, 1);
	if (options->dead_letter != NULL) {
		options->dead_letter(mail->type, GYRE_NOBODY, to, GYRE_DROP_SHUTDOWN,
				     options->dead_letter_arg);
	}
	gyre_mail_free(NULL, mail);
}

int gyre_system_notify(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail)
{
	if (mail == NULL) {
		return -ENOMEM;
	}
	if (system == NULL || to.node != 0 || to.loop >= system->homes.count) {
		gyre_mail_free(NULL, mail);
		return -EINVAL;
	}
	mail->node.kind = GY_MAIL_NOTICE;
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	mail->from.cookie = 0;
	(void)gy_add_relaxed(&system->outside_sent, 1);
	/* From then on what waits is only taken down; a flood must not keep that from ending. */
	if (gy_unlikely(gy_load_acquire(&system->stage) >= GY_STAGE_NO_MAIL)) {
		gy_outside_lost(system, to.loop, mail);
		return -ESHUTDOWN;
	}
	gy_loop_post(&system->homes.homes[to.loop].loop, &mail->node);
	return 0;
}

int gyre_system_spawn(struct gyre_system *system, const struct gyre_class *actor_class,
		      struct gyre_mail *argument, const struct gyre_spawn_options *options,
		      struct gyre_address *ret_address)
{
	uint32_t loop = 0;
	int r = system == NULL || ret_address == NULL ? -EINVAL : 0;

	if (r == 0 && gy_load_relaxed(&system->stop) != 0) {
		r = -ESHUTDOWN;
	}
	if (r == 0) {
		loop = options != NULL && options->place == GYRE_PLACE_LOOP
			       ? options->loop
			       : gy_add_relaxed(&system->next_loop, 1) % system->homes.count;
		r = loop < system->homes.count ? 0 : -EINVAL;
	}
	if (r < 0) {
		gyre_mail_free(NULL, argument);
		return r;
	}
	return gy_spawn_from_outside(&system->homes.homes[loop], actor_class, argument, false,
				     ret_address);
}

static void add_home(const struct gy_home *home, struct gyre_counters *sum)
{
	const struct gy_actor_counters *actors = &home->counters;
	const struct gy_channels_counters *channels = gy_channels_counters(home);

	sum->sent += gy_load_relaxed(&actors->sent);
	sum->handled += gy_load_relaxed(&actors->handled);
	sum->failed += gy_load_relaxed(&actors->failed);
	sum->restarted += gy_load_relaxed(&actors->restarted);
	sum->spawned += gy_load_relaxed(&actors->spawned);
	sum->stopped += gy_load_relaxed(&actors->stopped);
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		sum->dropped[i] += gy_load_relaxed(&actors->dropped[i]);
	}
	sum->turns += gy_load_relaxed(&home->loop.counters.turns);
	sum->parks += gy_load_relaxed(&home->loop.counters.parks);
	sum->wakes += gy_load_relaxed(&home->loop.counters.wakes_sent);
	sum->chains += gy_load_relaxed(&home->loop.counters.chains_sent);
	sum->enters += gy_load_relaxed(&gy_ring_counters(home->loop.ring)->enters);
	sum->accepted += gy_load_relaxed(&channels->accepted);
	sum->closed += gy_load_relaxed(&channels->closed);
	sum->bytes_received += gy_load_relaxed(&channels->bytes_received);
	sum->bytes_sent += gy_load_relaxed(&channels->bytes_sent);
	sum->reads += gy_load_relaxed(&channels->reads);
	sum->buffer_stalls += gy_load_relaxed(&channels->buffer_stalls);
	sum->accept_stalls += gy_load_relaxed(&channels->accept_stalls);
}

int gyre_system_counters(struct gyre_system *system, struct gyre_counters *ret_counters)
{
	struct gyre_counters sum = { 0 };

	if (system == NULL || ret_counters == NULL) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < system->homes.count; i++) {
		add_home(&system->homes.homes[i], &sum);
	}
	sum.sent += gy_load_relaxed(&system->outside_sent);
	sum.dropped[GYRE_DROP_SHUTDOWN] += gy_load_relaxed(&system->outside_dropped);
	sum.allocations = gy_memory_allocations();
	*ret_counters = sum;
	return 0;
}
