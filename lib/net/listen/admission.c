/*
 * Limits that loops share. Counting in is a compare and exchange, so that the limit is never
 * passed; whoever finds no room marks itself as waiting and tries once more, and whoever counts out
 * looks for marks afterwards: both in one order for all, so that no wish for room is overlooked.
 *
 * The rate is kept by one number: when the next connection would come if all came evenly. It may
 * lie ahead of the clock by a tenth of a second, which is the burst that is let through.
 *
 * Limits of the kernel, such as a lack of descriptors, are met in acceptor.c.
 */
#include "net/listen/admission.h"

#include <string.h>

#include "actor/mail/send.h"
#include "base/memory/memory.h"
#include "buffer/socket_address.h"

static const uint64_t burst_ns = GYRE_MILLISECONDS(100);

const struct gyre_type gy_type_room = { .name = "room", .id = 0x2a };

int gy_admission_create(const struct gyre_acceptor_options *options, uint32_t loops,
			struct gy_admission **ret_admission)
{
	struct gy_admission *admission;

	gy_assert(loops > 0);
	*ret_admission = NULL;
	if (options->connections_max == 0 && options->loop_connections_max == 0 &&
	    options->accept_rate == 0 && options->report == NULL) {
		return 0;
	}
	admission = (struct gy_admission *)gy_memory_get(sizeof(*admission) +
							 loops * sizeof(admission->loops[0]));
	if (admission == NULL) {
		return -ENOMEM;
	}
	(void)pthread_mutex_init(&admission->mutex, NULL);
	admission->references = 1;
	admission->connections_max =
		options->connections_max == 0 ? UINT32_MAX : options->connections_max;
	admission->loop_connections_max =
		options->loop_connections_max == 0 ? UINT32_MAX : options->loop_connections_max;
	admission->interval_ns =
		options->accept_rate == 0 ? 0 : GYRE_SECONDS(1) / options->accept_rate;
	admission->refuse = options->refuse;
	admission->report = options->report;
	admission->report_arg = options->report_arg;
	admission->loops_count = loops;
	*ret_admission = admission;
	return 0;
}

struct gy_admission *gy_admission_ref(struct gy_admission *admission)
{
	if (admission != NULL) {
		gy_assert(gy_load_relaxed(&admission->references) > 0);
		(void)gy_fetch_add(&admission->references, 1);
	}
	return admission;
}

void gy_admission_unref(struct gy_admission *admission)
{
	if (admission != NULL && gy_fetch_add(&admission->references, -1U) == 1) {
		(void)pthread_mutex_destroy(&admission->mutex);
		gy_memory_put(admission);
	}
}

/* ---- limits ---- */

uint64_t gy_admission_delay_ns(const struct gy_admission *admission, uint64_t now_ns)
{
	uint64_t next_ns = gy_load_relaxed(&admission->next_ns);

	return next_ns > now_ns + burst_ns ? next_ns - now_ns - burst_ns : 0;
}

static void come(struct gy_admission *admission, uint64_t now_ns)
{
	uint64_t before_ns = gy_load_relaxed(&admission->next_ns);
	uint64_t after_ns;

	do {
		after_ns = (before_ns > now_ns ? before_ns : now_ns) + admission->interval_ns;
	} while (!gy_compare_exchange_relaxed(&admission->next_ns, &before_ns, after_ns));
}

static bool count_in(uint32_t *count, uint32_t max)
{
	uint32_t before = gy_load_full(count);

	do {
		if (before >= max) {
			return false;
		}
	} while (!gy_compare_exchange_full(count, &before, before + 1));
	return true;
}

bool gy_admission_enter(struct gy_admission *admission, uint16_t loop, uint64_t now_ns)
{
	gy_assert(loop < admission->loops_count);
	if (!count_in(&admission->loops[loop].connections, admission->loop_connections_max)) {
		return false;
	}
	if (!count_in(&admission->connections, admission->connections_max)) {
		(void)gy_add_full(&admission->loops[loop].connections, -1U);
		return false;
	}
	if (admission->interval_ns != 0) {
		come(admission, now_ns);
	}
	return true;
}

void gy_admission_leave(struct gy_admission *admission, uint16_t loop, struct gy_home *home)
{
	gy_assert(loop < admission->loops_count);
	gy_assert(gy_load_relaxed(&admission->loops[loop].connections) > 0);
	gy_assert(gy_load_relaxed(&admission->connections) > 0);
	(void)gy_add_full(&admission->loops[loop].connections, -1U);
	(void)gy_add_full(&admission->connections, -1U);
	for (uint32_t i = 0; i < admission->loops_count && !gy_channels_of(home)->draining; i++) {
		if (gy_load_full(&admission->loops[i].waiting) != 0 &&
		    gy_exchange_full(&admission->loops[i].waiting, 0) != 0) {
			struct gyre_address acceptor;

			(void)pthread_mutex_lock(&admission->mutex);
			acceptor = admission->loops[i].acceptor;
			(void)pthread_mutex_unlock(&admission->mutex);
			(void)gy_send_signal(home, acceptor, &gy_type_room, GY_MAIL_EVENT);
		}
	}
}

void gy_admission_join(struct gy_admission *admission, uint32_t number,
		       struct gyre_address acceptor)
{
	gy_assert(number < admission->loops_count);
	(void)pthread_mutex_lock(&admission->mutex);
	admission->loops[number].acceptor = acceptor;
	(void)pthread_mutex_unlock(&admission->mutex);
}

void gy_admission_wait(struct gy_admission *admission, uint32_t number)
{
	gy_assert(number < admission->loops_count);
	gy_store_full(&admission->loops[number].waiting, 1);
}

void gy_admission_move(struct gy_admission *admission, uint16_t from, uint16_t to)
{
	gy_assert(from != to && from < admission->loops_count && to < admission->loops_count);
	gy_assert(gy_load_relaxed(&admission->loops[from].connections) > 0);
	(void)gy_add_full(&admission->loops[to].connections, 1);
	(void)gy_add_full(&admission->loops[from].connections, -1U);
}

/* ---- the report ---- */

int gy_admission_report(const struct gy_admission *admission, struct gyre_stack *stack,
			const struct gyre_listen_event *event, struct gyre_channel *channel)
{
	return admission->report == NULL
		       ? 0
		       : admission->report(stack, event, channel, admission->report_arg);
}

static void report_channel(struct gyre_handler_context *ctx, enum gyre_listen_step step)
{
	const struct gy_admission *admission = (const struct gy_admission *)gyre_context_arg(ctx);
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_listen_event event = { .step = step, .reason = gyre_channel_reason(channel) };

	if (admission->report != NULL) { /* else no channel needs an address for it */
		event.channel = gyre_channel_address(channel);
		(void)gy_admission_report(admission, gyre_context_stack(ctx), &event, channel);
	}
}

static void registered(struct gyre_handler_context *ctx)
{
	report_channel(ctx, GYRE_LISTEN_REGISTERED);
	gyre_context_fire_registered(ctx);
}

static void active(struct gyre_handler_context *ctx)
{
	report_channel(ctx, GYRE_LISTEN_CONNECTED);
	gyre_context_fire_active(ctx);
}

static void removed(struct gyre_handler_context *ctx)
{
	struct gy_admission *admission = (struct gy_admission *)gyre_context_arg(ctx);
	struct gy_home *home = gyre_context_channel(ctx)->channels->home;

	report_channel(ctx, GYRE_LISTEN_CLOSED);
	gy_admission_leave(admission, home->loop.index, home);
	gy_admission_unref(admission);
}

static const struct gyre_handler handler = {
	.registered = registered,
	.active = active,
	.removed = removed,
};

int gy_admission_update(struct gy_admission *admission, struct gyre_channel *channel)
{
	int r = gyre_pipeline_add(channel, GYRE_FIRST, &handler, admission);

	if (r == 0) {
		(void)gy_admission_ref(admission);
	}
	return r;
}
