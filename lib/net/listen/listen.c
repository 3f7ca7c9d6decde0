/*
 * Listening on all loops of a system. Everything that can be refused is done here, by the calling
 * thread: the sockets of all loops listen before any actor is spawned, so that a call that fails
 * leaves nothing behind.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "actor/class_sized.h"
#include "actor/log_of.h"
#include "base/clock.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "buffer/socket_address.h"
#include "channel/channel_actor.h"
#include "net/bind.h"
#include "net/bounds.h"
#include "net/fd_passing.h"
#include "net/inherit.h"
#include "net/listen/listener.h"
#include "net/listening.h"
#include "net/net_state.h"
#include "net/pending_open.h"
#include "net/socket_file.h"
#include "net/socket_option.h"
#include "net/sockets.h"
#include "net/stream.h"
#include "ring/descriptor.h"

static const uint64_t wait_max_ns = GYRE_SECONDS(60);
static const uint64_t attempt_min_ns = GYRE_MILLISECONDS(5);
static const uint64_t attempt_max_ns = GYRE_MILLISECONDS(250);

enum { BACKLOG_DEFAULT = 4096, BACKLOG_MAX = 1 << 20, MODE_MAX = 0777, RATE_MAX = 1000000000 };

/* A listener on its way. */
struct setup {
	struct gy_homes *homes;
	struct gyre_acceptor_options options;
	struct gy_listener_plan plan;
	struct gy_listen_params listening;
	struct gy_listener *listener;	  /* NULL until it is made */
	struct gy_passed_sockets *passed; /* sockets of a predecessor; NULL for none */
	int *fds;			  /* of sockets */
};

/*
 * From the last socket to the first, whose acceptor is the one that users know. Takes the
 * descriptors, whatever is returned. Workers of a call that fails stay, idle.
 */
static int place_all(const struct setup *setup)
{
	struct gy_listener *listener = setup->listener;
	uint32_t left = setup->plan.sockets;
	int r = gy_listener_place_workers(listener);

	while (left > 0 && r == 0) {
		struct gy_acceptor_socket *listen_socket =
			gy_acceptor_socket_create(listener, left - 1, setup->fds[left - 1], 0);

		r = listen_socket == NULL ? -ENOMEM : gy_listener_place(listen_socket);
		if (r < 0) {
			gy_memory_put(listen_socket);
		}
		left -= r == 0;
	}
	if (r == 0) {
		return 0;
	}
	gy_listener_stop(listener, left);
	while (left > 0) {
		(void)gy_descriptor_close(setup->fds[--left]);
	}
	return r;
}

/*
 * All that were passed, for none may be closed, and as many more as there are to be. Loops that get
 * none for lack of something are like those that come later.
 */
static int open_beside(struct setup *setup)
{
	struct gy_listener_plan *plan = &setup->plan;
	uint32_t count = setup->passed->count;
	uint32_t wanted = plan->sockets > count ? plan->sockets : count;
	int *fds = (int *)gy_memory_get(wanted * sizeof(int));

	if (fds == NULL) {
		return -ENOMEM;
	}
	memcpy(fds, setup->passed->fds, count * sizeof(int));
	(void)gy_socket_address_of(fds[0], &plan->address);
	while (count < wanted &&
	       gy_sockets_join(&plan->address, &setup->listening, &fds[count]) == 0) {
		count++;
	}
	plan->sockets = count;
	plan->sockets_max = plan->sockets_max > count ? plan->sockets_max : count;
	setup->fds = fds;
	setup->passed->count = 0;
	return 0;
}

static int open_new(struct setup *setup, uint32_t loops)
{
	uint32_t max = setup->homes->loops->max;
	uint32_t wanted = setup->options.listeners;

	wanted = wanted == 0 || wanted > max ? max : wanted;
	setup->plan.sockets_max = gy_sockets_count(&setup->plan.address, wanted);
	setup->plan.sockets = setup->plan.sockets_max < loops ? setup->plan.sockets_max : loops;
	if (setup->passed != NULL) {
		return open_beside(setup);
	}
	setup->fds = (int *)gy_memory_get(setup->plan.sockets * sizeof(int));
	return setup->fds == NULL ? -ENOMEM
				  : gy_sockets_listen(&setup->plan.address, &setup->listening,
						      setup->plan.sockets, setup->fds);
}

/* Their address is known only by asking; that cannot fail for sockets that listen. */
static int open_inherited(struct setup *setup, uint32_t loops)
{
	int r = 0;

	setup->plan.sockets_max = 0;
	setup->plan.sockets = 0;
	if (setup->passed != NULL) {
		return open_beside(setup);
	}
	setup->fds = (int *)gy_memory_get(loops * sizeof(int));
	r = setup->fds == NULL ? -ENOMEM : gy_inherit(&setup->listening, loops, setup->fds);
	if (r < 0) {
		return r;
	}
	setup->plan.sockets = (uint32_t)r;
	setup->plan.sockets_max = setup->plan.sockets;
	(void)gy_socket_address_of(setup->fds[0], &setup->plan.address);
	return 0;
}

/* With the mutex held that guards the number of loops. */
static int set_up(struct setup *setup)
{
	uint32_t loops = gy_loops_count(setup->homes->loops);
	int r;

	setup->passed =
		gy_passed_sockets_take(setup->homes, GY_FD_MESSAGE_LISTENER, setup->options.bind);
	r = setup->plan.inherited ? open_inherited(setup, loops) : open_new(setup, loops);

	if (r < 0) {
		return r;
	}
	setup->plan.passed = setup->passed != NULL;
	r = gy_listener_make(setup->homes, &setup->plan, &setup->listener);
	if (r == 0) {
		return place_all(setup);
	}
	if (!setup->plan.inherited && setup->passed == NULL) {
		struct gy_socket_file file = { 0 };

		gy_socket_file_set(&file, &setup->plan.address);
		gy_socket_file_remove(&file); /* while its socket keeps others from taking it */
	}
	for (uint32_t i = 0; i < setup->plan.sockets; i++) {
		(void)gy_descriptor_close(setup->fds[i]);
	}
	return r;
}

static int listen_on(struct setup *setup, struct gyre_address *ret_acceptor)
{
	const struct gyre_acceptor_options *options = &setup->options;
	int r;

	(void)pthread_mutex_lock(&setup->homes->placing);
	r = set_up(setup);
	if (r == 0 && ret_acceptor != NULL) {
		*ret_acceptor = setup->listener->stands[0].acceptor;
	}
	(void)pthread_mutex_unlock(&setup->homes->placing);
	if (setup->listener != NULL) {
		gy_listener_unref(setup->listener, true);
	}
	if (r == 0 && options->ret_port != NULL) {
		*options->ret_port = gyre_socket_address_port(&setup->plan.address);
	}
	if (r == 0 && options->ret_address != NULL) {
		*options->ret_address = setup->plan.address;
	}
	return r;
}

/* The last attempt says why it failed, all others together that they go on. */
static int listen_patiently(struct setup *setup, struct gyre_address *ret_acceptor)
{
	uint64_t wait_ns = setup->options.wait_ns;
	uint64_t pause_ns = attempt_min_ns;
	uint64_t waited_ns = 0;
	int r;

	setup->listening.patient = wait_ns > 0;
	while ((r = listen_on(setup, ret_acceptor)) == -EADDRINUSE && waited_ns < wait_ns) {
		if (waited_ns == 0) {
			gy_log(setup->homes->log, GYRE_LOG_WARNING,
			       "somebody still listens on %s: trying again for up to %" PRIu64
			       " ms",
			       setup->options.bind, wait_ns / 1000000);
		}
		pause_ns = pause_ns < wait_ns - waited_ns ? pause_ns : wait_ns - waited_ns;
		gy_clock_sleep(pause_ns);
		waited_ns += pause_ns;
		pause_ns = pause_ns < attempt_max_ns / 2 ? 2 * pause_ns : attempt_max_ns;
		setup->listening.patient = waited_ns < wait_ns;
		gy_memory_put(setup->fds);
		setup->fds = NULL;
	}
	return r;
}

static int prepare(struct setup *setup)
{
	const struct gyre_acceptor_options *options = &setup->options;

	setup->plan.options = options;
	setup->plan.inherited = gy_inherit_is_meant(options->bind);
	setup->listening = (struct gy_listen_params){
		.text = options->bind,
		.log = setup->homes->log,
		.backlog = (int)options->backlog,
		.mode = options->mode,
		.origin = setup->plan.inherited ? GY_SOCKET_GIVEN : GY_SOCKET_OURS,
		.channel = &options->channel,
		.bound_until_ns = gy_load_relaxed(&setup->homes->net->bound_until_ns),
	};
	return setup->plan.inherited ? 0
				     : gy_bind_parse(options->bind, SOCK_STREAM, setup->homes->log,
						     &setup->plan.address);
}

static int check(const struct gyre_acceptor_options *options, const struct gy_log *log)
{
	const struct gy_bound bounds[] = {
		{ "backlog", options->backlog, BACKLOG_MAX },
		{ "mode", options->mode, MODE_MAX },
		{ "accept_rate", options->accept_rate, RATE_MAX },
		{ "wait_ns", options->wait_ns, wait_max_ns },
	};

	if (options->bind == NULL || options->init_channel == NULL) {
		return gy_options_refuse("listen", "bind and init_channel have to be given", log);
	}
	return gy_bounds_check(bounds, gy_countof(bounds), log);
}

static int listen_with(struct gyre_system *system, const struct gyre_acceptor_options *options,
		       bool while_busy, struct gyre_address *ret_acceptor)
{
	struct setup setup = { .plan = { .while_busy = while_busy } };
	int r;

	if (system == NULL || options == NULL) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(system);
	r = check(options, setup.homes->log);
	if (r < 0) {
		return r;
	}
	setup.options = *options;
	if (options->backlog == 0 && !gy_inherit_is_meant(options->bind)) {
		setup.options.backlog = BACKLOG_DEFAULT;
	}
	r = gy_stream_check(gy_channels_of(&setup.homes->homes[0]), &options->channel,
			    setup.homes->log);
	if (r == 0) {
		r = prepare(&setup);
	}
	if (r == 0) {
		gy_pending_open_may_begin(setup.homes);
		r = listen_patiently(&setup, ret_acceptor);
	}
	if (r < 0) {
		gy_listening_failed(setup.homes, options->bind, r);
	}
	gy_passed_sockets_destroy(setup.passed);
	gy_memory_put(setup.fds);
	return r;
}

int gyre_system_listen_sized(struct gyre_system *system,
			     const struct gyre_acceptor_options *options, struct gyre_sizes sizes,
			     struct gyre_address *ret_acceptor)
{
	struct gyre_acceptor_options whole;
	int r = GY_SIZED_READ(gyre_acceptor_options, &whole, options, sizes.options,
			      gy_log_of_system(system));

	if (r == 0) {
		r = GY_SIZED_RESERVED(gyre_channel_options, &whole.channel,
				      gy_log_of_system(system));
	}
	if (r == 0 && system != NULL) {
		r = gy_channel_class_take(gy_homes_of(system), &whole.actor_class,
					  sizes.actor_class, whole.bond, gy_log_of_system(system));
	}
	return r < 0 ? r
		     : listen_with(system, options == NULL ? NULL : &whole, false, ret_acceptor);
}

int gy_system_listen_while_busy(struct gyre_system *system,
				const struct gyre_acceptor_options *options)
{
	return listen_with(system, options, true, NULL);
}
