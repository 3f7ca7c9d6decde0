/*
 * What threads that are not loops may do: make mail, send it, spawn, and read the counters.
 */
#include "system/outside/outside.h"

#include <errno.h>

#include "actor/class_sized.h"
#include "actor/life/lifecycle.h"
#include "actor/log_of.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/tail.h"
#include "base/log/log_writer.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "channel/channels.h"
#include "remote/link/links.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "system/directory/directory.h"
#include "system/directory/groups.h"
#include "system/drain.h"
#include "system/outside/foreign_ask.h"
#include "system/outside_count.h"
#include "system/outside_post.h"
#include "system/system.h"

struct gyre_mail *gyre_system_mail_create(struct gyre_system *system, const struct gyre_type *type)
{
	return system == NULL || type == NULL ? NULL : gy_mail_get_outside(type);
}

int gy_outside_loop(const struct gyre_system *system, struct gyre_address to)
{
	if (system == NULL) {
		return -EINVAL;
	}
	if (gy_is_of_node(system->homes.node, to)) {
		return to.loop < gy_homes_made(&system->homes) ? to.loop : -EINVAL;
	}
	return system->homes.nodes == NULL ? -EINVAL : 0;
}

/* The mail to post: for another node, a relay that carries it. */
static struct gyre_mail *address_to(const struct gyre_system *system, struct gyre_address to,
				    struct gyre_mail *mail)
{
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	return gy_is_of_node(system->homes.node, to) ? mail : gy_relay_create(to, mail);
}

int gyre_system_notify(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail)
{
	struct gyre_mail *posted;
	int loop;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	if (system != NULL && to.loop == GY_GROUP_LOOP && gy_is_of_node(system->homes.node, to)) {
		return gy_group_notify(system, to, mail);
	}
	loop = gy_outside_loop(system, to);
	if (loop < 0) {
		gyre_mail_destroy(NULL, mail);
		return loop;
	}
	mail = gy_mail_given(NULL, mail);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail); /* all of it travels */
	mail->ask_id = 0;
	posted = address_to(system, to, mail);
	if (posted == NULL) {
		gyre_mail_destroy(NULL, mail);
		return -ENOMEM;
	}
	gy_outside_guard_memory(system, gy_outside_count(system), gy_mail_bytes(mail));
	return gy_outside_post(system, (uint32_t)loop, to, mail, posted);
}

static int spawn(struct gyre_system *system, const struct gyre_class *actor_class,
		 struct gyre_mail *argument, const struct gyre_spawn_options *options,
		 struct gyre_address *ret_address)
{
	struct gy_spawn_order order = { 0 };
	uint32_t count = gyre_system_loops(system);
	uint32_t loop = 0;
	int r = system == NULL || ret_address == NULL ? -EINVAL
						      : gy_take_argument(argument, &order.argument);

	if (r == 0 && options != NULL && (unsigned)options->place > GYRE_PLACE_PINNED) {
		r = -EINVAL;
	}
	if (r == 0 && gy_load_relaxed(&system->stop) != 0) {
		r = -ESHUTDOWN;
	}
	if (r == 0 && options != NULL && options->place == GYRE_PLACE_PINNED) {
		r = system->homes.homes[0].options.take_pinned(system);
		order.pinned = r >= 0;
		loop = r >= 0 ? (uint32_t)r : 0;
	} else if (r == 0) {
		loop = options != NULL && options->place == GYRE_PLACE_LOOP
			       ? options->loop
			       : gy_add_relaxed(&system->next_loop[false], 1) % count;
		r = loop < count ? 0 : -EINVAL;
	}
	if (r < 0) {
		gyre_mail_destroy(NULL, argument);
		return r;
	}
	order.class = actor_class;
	order.name = options == NULL ? NULL : options->name;
	order.argument = gy_mail_given(NULL, order.argument);
	return gy_spawn_from_outside(&system->homes.homes[loop], &order, ret_address);
}

int gyre_system_spawn_sized(struct gyre_system *system, const struct gyre_class *actor_class,
			    size_t actor_class_bytes, struct gyre_mail *argument,
			    const struct gyre_spawn_options *options,
			    struct gyre_address *ret_address)
{
	int r = system == NULL ? -EINVAL
			       : gy_class_sized(&system->homes, &actor_class, actor_class_bytes);

	if (r == 0) {
		r = gy_spawn_options_check(options, system->homes.log);
	}
	if (r < 0) {
		gyre_mail_destroy(NULL, argument);
		return r;
	}
	return spawn(system, actor_class, argument, options, ret_address);
}

static void add_home(const struct gy_home *home, struct gyre_counters *sum)
{
	const struct gy_actor_counters *actors = &home->counters;
	const struct gy_channels_counters *channels = gy_channels_counters(home);

	for (const struct gy_class_info *info = gy_load_acquire(&home->class_infos.first);
	     info != NULL; info = info->next) {
		sum->handled += gy_load_relaxed(&info->handled);
	}
	sum->sent += gy_load_relaxed(&actors->sent);
	sum->to_nodes += gy_load_relaxed(&actors->to_nodes);
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
	sum->published += gy_load_relaxed(&home->loop.counters.jobs_published);
	sum->stolen += gy_load_relaxed(&home->loop.counters.jobs_stolen);
	sum->enters += gy_load_relaxed(&gy_ring_counters(home->loop.ring)->enters);
	sum->accepted += gy_load_relaxed(&channels->accepted);
	sum->connected += gy_load_relaxed(&channels->connected);
	sum->bytes_received += gy_load_relaxed(&channels->bytes_received);
	sum->bytes_sent += gy_load_relaxed(&channels->bytes_sent);
	sum->reads += gy_load_relaxed(&channels->reads);
	sum->buffer_stalls += gy_load_relaxed(&channels->buffer_stalls);
	sum->accept_stalls += gy_load_relaxed(&channels->accept_stalls);
	sum->accepts_paused += gy_load_relaxed(&channels->accepts_paused);
	sum->accepts_held += gy_load_relaxed(&channels->accepts_held);
	sum->refused_full += gy_load_relaxed(&channels->refused_full);
	sum->refused_rate += gy_load_relaxed(&channels->refused_rate);
	sum->refused_report += gy_load_relaxed(&channels->refused_report);
	if (gy_links_of(home) != NULL) {
		sum->links_refused += gy_load_relaxed(&gy_links_of(home)->refused);
	}
	sum->reads_paused += gy_load_relaxed(&channels->reads_paused);
	sum->held_periods += gy_load_relaxed(&channels->held_periods);
	sum->held_reads_paused += gy_load_relaxed(&channels->held_reads_paused);
	sum->held_refused += gy_load_relaxed(&channels->held_refused);
	sum->held_closed += gy_load_relaxed(&channels->held_closed);
	sum->handshake_timeouts += gy_load_relaxed(&channels->handshake_timeouts);
	sum->idle_closed += gy_load_relaxed(&channels->idle_closed);
	sum->write_max_closed += gy_load_relaxed(&channels->write_max_closed);
	sum->datagrams_sent += gy_load_relaxed(&channels->datagrams_sent);
	sum->datagrams_failed += gy_load_relaxed(&channels->datagrams_failed);
	sum->datagrams_truncated += gy_load_relaxed(&channels->datagrams_truncated);
	sum->datagrams_dropped += gy_load_relaxed(&channels->datagrams_dropped);
	sum->datagram_receives += gy_load_relaxed(&channels->datagram_receives);
	sum->datagram_sends += gy_load_relaxed(&channels->datagram_sends);
	sum->linger_timeouts += gy_load_relaxed(&channels->linger_timeouts);
	sum->zero_copy_sends += gy_load_relaxed(&channels->zero_copy_sends);
	sum->zero_copies_copied += gy_load_relaxed(&channels->zero_copies_copied);
}

static int sum_counters(struct gyre_system *system, struct gyre_counters *ret_counters)
{
	struct gyre_counters sum = { 0 };
	uint32_t made;

	if (system == NULL || ret_counters == NULL) {
		return -EINVAL;
	}
	made = gy_homes_made(&system->homes);
	/* First of all loops, so that no more are closed than were made, be it by another. */
	for (uint32_t i = 0; i < made; i++) {
		sum.closed +=
			gy_load_acquire(&gy_channels_counters(&system->homes.homes[i])->closed);
	}
	for (uint32_t i = 0; i < made; i++) {
		add_home(&system->homes.homes[i], &sum);
	}
	sum.sent += gy_outside_sent(system);
	sum.handled += gy_load_relaxed(&system->outside_handled);
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		sum.dropped[i] += gy_load_relaxed(&system->outside_dropped[i]);
	}
	sum.busy_periods = gy_load_relaxed(&system->memory_guard.periods);
	sum.notices_delayed = gy_load_relaxed(&system->memory_guard.delayed);
	sum.allocations = gy_memory_allocations();
	gy_log_writer_count(system->log_writer, &sum.log_lines, &sum.log_lost);
	*ret_counters = sum;
	return 0;
}

int gyre_system_counters_sized(struct gyre_system *system, struct gyre_counters *ret_counters,
			       size_t ret_counters_bytes)
{
	struct gyre_counters whole;
	int r = sum_counters(system, ret_counters == NULL ? NULL : &whole);

	if (r == 0) {
		gy_sized_write(ret_counters, ret_counters_bytes, &whole, sizeof(whole));
	}
	return r;
}
