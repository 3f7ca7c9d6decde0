/*
 * A listener: what all sockets of one gyre_system_listen() share, and where each of them stands.
 * Socket i is that of loop i. While there are fewer loops than that it is a guest on another: a
 * socket that listens is never closed for a loop that retires, since with it the kernel would reset
 * what waits in its backlog. It goes to the loop that is to have it, with all that waits, and comes
 * back when its own loop does.
 *
 * Where fewer sockets listen than there are loops, as with those of Unix, connections go to the
 * workers of all loops in turn. Each acceptor has a copy of who they are, and a version by which it
 * sees that it is old.
 *
 * All this changes with the mutex held that also guards the number of loops, so that a socket is
 * never sent to a loop that has begun to retire. The acceptors hold references; with the last one
 * the workers are told to end.
 */
#include "net/listen/listener.h"

#include <errno.h>
#include <string.h>

#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "net/fd_passing.h"
#include "net/listen/acceptor.h"
#include "net/listen/admission.h"
#include "net/listen/worker.h"
#include "net/listening.h"
#include "net/net_state.h"
#include "net/pending_open.h"
#include "net/socket_file.h"
#include "net/socket_option.h"
#include "net/socket_registry.h"
#include "net/sockets.h"
#include "ring/descriptor.h"

static void lock(struct gy_homes *homes)
{
	(void)pthread_mutex_lock(&homes->placing);
}

static void unlock(struct gy_homes *homes)
{
	(void)pthread_mutex_unlock(&homes->placing);
}

/* ---- life ---- */

static void stopped(struct gy_socket_order *stop)
{
	struct gy_listener_stand *stand = gy_container_of(stop, struct gy_listener_stand, stop);
	struct gy_listener *listener = stand->listener;

	gy_listener_unref(listener, !listener->homes->homes[stop->actor.loop].draining);
}

static void stop_one(struct gy_listener *listener, struct gy_listener_stand *stand)
{
	gy_socket_entry_stop(listener->homes, &stand->stop, stand->acceptor, stopped,
			     &listener->references);
}

static void leave_all(struct gy_socket_entry *entry)
{
	struct gy_listener *listener = gy_container_of(entry, struct gy_listener, entry);

	for (uint32_t i = 0; i < listener->stands_max; i++) {
		struct gyre_address acceptor = listener->stands[i].acceptor;

		if (!gyre_address_is_nobody(acceptor) &&
		    gy_socket_entry_order(listener->homes, acceptor, gy_acceptor_leave) < 0) {
			stop_one(listener, &listener->stands[i]);
		}
	}
}

static bool have_left(const struct gy_socket_entry *entry)
{
	const struct gy_listener *listener = gy_container_of(entry, struct gy_listener, entry);

	for (uint32_t i = 0; i < listener->stands_max; i++) {
		if (!gyre_address_is_nobody(listener->stands[i].acceptor)) {
			return false;
		}
	}
	return true;
}

/* Sockets that were opened beside the passed ones have these options already. */
static int adopt_all(const struct gy_socket_entry *entry)
{
	const struct gy_listener *listener = gy_container_of(entry, struct gy_listener, entry);
	const struct gy_listen_params listening = {
		.backlog = (int)listener->options.backlog,
		.mode = listener->options.mode,
		.origin = listener->inherited ? GY_SOCKET_GIVEN : GY_SOCKET_PASSED,
		.channel = &listener->options.channel,
	};
	int r = 0;

	for (uint32_t i = 0; i < entry->max && r == 0; i++) {
		if (entry->fds[i] >= 0) {
			r = gy_sockets_adopt(entry->fds[i], &listener->address, &listening);
		}
	}
	return r;
}

static const struct gy_socket_entry_ops listener_entry_ops = { .leave = leave_all,
							       .has_left = have_left,
							       .adopt = adopt_all };

int gy_listener_make(struct gy_homes *homes, const struct gy_listener_plan *plan,
		     struct gy_listener **ret_listener)
{
	uint32_t max = homes->loops->max > plan->sockets ? homes->loops->max : plan->sockets;
	size_t text_bytes = strlen(plan->options->bind) + 1;
	struct gy_listener *listener = (struct gy_listener *)gy_memory_get(
		sizeof(*listener) + max * (sizeof(listener->stands[0]) + sizeof(int)) + text_bytes);
	int *fds;
	int r = listener == NULL ? -ENOMEM
				 : gy_admission_create(plan->options, max, &listener->admission);

	gy_assert(plan->sockets > 0 && plan->sockets <= max);
	if (r < 0) {
		gy_memory_put(listener);
		return r;
	}
	listener->homes = homes;
	listener->options = *plan->options;
	listener->options.bind = NULL; /* the caller's */
	fds = (int *)(void *)&listener->stands[max];
	listener->stands_max = max;
	for (uint32_t i = 0; i < max; i++) {
		listener->stands[i].listener = listener;
		fds[i] = -1;
	}
	listener->entry = (struct gy_socket_entry){
		.ops = &listener_entry_ops,
		.kind = GY_FD_MESSAGE_LISTENER,
		.max = max,
		.fds = fds,
		.text = (char *)memcpy(&fds[max], plan->options->bind, text_bytes),
		.shared = plan->passed,
	};
	listener->address = plan->address;
	listener->sockets_max = plan->sockets_max;
	listener->while_busy = plan->while_busy;
	listener->inherited = plan->inherited;
	listener->references = 1;
	if (!plan->inherited) {
		gy_socket_file_set(&listener->entry.file, &plan->address);
	}
	gy_socket_entry_add(homes, &listener->entry);
	*ret_listener = listener;
	return 0;
}

static void free_listener(struct gy_listener *listener)
{
	gy_admission_unref(listener->admission);
	gy_memory_put(listener);
}

static void release(struct gy_listener *listener)
{
	if (gy_fetch_add(&listener->references, -1U) == 1) {
		free_listener(listener);
	}
}

static void worker_told(struct gy_socket_order *order)
{
	release(gy_container_of(order, struct gy_listener_stand, end)->listener);
}

/* The acceptors are gone, and nothing is on its way from them: what is left of the listener are the
 * orders to its workers. */
static void end_workers(struct gy_listener *listener)
{
	gy_store_relaxed(&listener->references, 1);
	for (uint32_t i = 0; i < listener->stands_max; i++) {
		struct gy_listener_stand *stand = &listener->stands[i];

		if (!gyre_address_is_nobody(stand->worker)) {
			(void)gy_fetch_add(&listener->references, 1);
			stand->end = (struct gy_socket_order){ .actor = stand->worker,
							       .carry_out = gy_worker_end,
							       .done = worker_told };
			gy_socket_entry_give(listener->homes, &stand->end);
		}
	}
	release(listener);
}

void gy_listener_unref(struct gy_listener *listener, bool loops_turn)
{
	struct gy_homes *homes = listener->homes;
	uint32_t references = gy_load_relaxed(&listener->references);
	bool last;

	gy_assert(references > 0);
	while (references > 1) {
		if (gy_compare_exchange(&listener->references, &references, references - 1)) {
			return;
		}
	}
	lock(homes); /* others find it until then */
	last = gy_fetch_add(&listener->references, -1U) == 1;
	if (last) {
		gy_socket_entry_remove_file(homes, &listener->entry);
		gy_socket_entry_remove(&listener->entry);
	}
	unlock(homes);
	if (last && loops_turn && listener->entry.ended) {
		end_workers(listener);
	} else if (last) {
		free_listener(listener);
	}
}

/* ---- sockets on their way to an acceptor ---- */

/* At the end of the loop. */
static void free_listen_socket(struct gy_channels *channels, struct gy_fd_transit *transit)
{
	gy_acceptor_socket_destroy(
		channels, gy_container_of(transit, struct gy_acceptor_socket, transit), false);
}

struct gy_acceptor_socket *gy_acceptor_socket_create(struct gy_listener *listener, uint32_t number,
						     int fd, uint32_t carried_count)
{
	uint32_t max = listener->homes->loops->max;
	struct gy_acceptor_socket *listen_socket = (struct gy_acceptor_socket *)gy_memory_get(
		sizeof(*listen_socket) + max * sizeof(listen_socket->workers[0]) +
		carried_count * sizeof(int));

	gy_assert(number < listener->stands_max);
	if (listen_socket != NULL) {
		listen_socket->transit =
			(struct gy_fd_transit){ .discard = free_listen_socket, .fd = fd };
		listen_socket->listener = listener;
		listen_socket->number = number;
		listen_socket->next_worker = number;
		listen_socket->carried_count = carried_count;
		listen_socket->carried = (int *)(void *)&listen_socket->workers[max];
	}
	return listen_socket;
}

void gy_acceptor_socket_destroy(struct gy_channels *channels,
				struct gy_acceptor_socket *listen_socket, bool loops_turn)
{
	while (listen_socket->carried_count > 0) {
		gy_channels_drop(channels, listen_socket->carried[--listen_socket->carried_count]);
	}
	gy_listener_unref(listen_socket->listener, loops_turn);
	gy_memory_put(listen_socket);
}

/* ---- workers ---- */

/* The options that a connection does not inherit from its listening socket, as over TCP it does
 * most. */
static struct gyre_channel_options channel_of(const struct gy_listener *listener)
{
	struct gyre_channel_options options = listener->options.channel;

	if (listener->address.storage.ss_family != AF_UNIX) {
		options.receive_buffer_bytes = 0;
		options.send_buffer_bytes = 0;
	}
	return options;
}

/* Makes a worker for a loop that has none. */
static int place_worker(struct gy_listener *listener, uint32_t loop)
{
	const struct gyre_acceptor_options *options = &listener->options;
	struct gy_home *home = &listener->homes->homes[loop];
	struct gyre_address *worker = &listener->stands[loop].worker;
	struct gy_worker_argument *argument;
	struct gyre_mail *mail;
	int r;

	gy_assert(loop < gy_homes_made(listener->homes) && loop < listener->stands_max);
	if (!gyre_address_is_nobody(*worker)) {
		return 0;
	}
	mail = gy_mail_get_outside(&gyre_type_gy_worker_argument);
	if (mail == NULL) {
		return -ENOMEM;
	}
	argument = (struct gy_worker_argument *)gyre_payload(mail);
	*argument = (struct gy_worker_argument){
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.actor_class = options->actor_class,
		.bond = options->bond,
		.channel = channel_of(listener),
		.admission = gy_admission_ref(listener->admission),
		.listener = listener,
		.home = home,
	};
	(void)gy_fetch_add(&listener->references, 1);
	gy_pending_open_begin(listener->homes);
	r = gy_spawn_from_outside(home,
				  &(struct gy_spawn_order){ .class = &gy_worker_class,
							    .argument = mail,
							    .channels_actor = true,
							    .lent = true },
				  worker);
	if (r < 0) {
		argument->listener = NULL;
		gyre_mail_destroy(NULL, mail);
		(void)gy_fetch_add(&listener->references, -1U);
		gy_pending_open_end(listener->homes);
		return r;
	}
	gy_store_release(&listener->version, listener->version + 1);
	return 0;
}

/* Whether fewer listen than there are loops. */
static bool is_spread(const struct gy_listener *listener)
{
	return listener->sockets_max < gy_loops_count(listener->homes->loops);
}

int gy_listener_place_workers(struct gy_listener *listener)
{
	uint32_t count = is_spread(listener) ? gy_loops_count(listener->homes->loops) : 0;
	int r = 0;

	for (uint32_t i = 0; i < count && r == 0; i++) {
		r = place_worker(listener, i);
	}
	return r;
}

static void add_workers(struct gy_acceptor_socket *listen_socket, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!gyre_address_is_nobody(listen_socket->listener->stands[i].worker)) {
			listen_socket->workers[listen_socket->workers_count++] =
				listen_socket->listener->stands[i].worker;
		}
	}
}

/*
 * Where each loop listens it is that of the acceptor's own, else those of all in turn. One that
 * could not be made is tried again; without it those of other loops help out. No worker is made on
 * a loop that retires: its address would stand here when the loop comes again.
 */
static void refresh(struct gy_acceptor_socket *listen_socket)
{
	struct gy_listener *listener = listen_socket->listener;
	uint32_t own = listen_socket->channels->home->loop.index;
	uint32_t count;
	bool helped = false;

	listen_socket->workers_count = 0;
	lock(listener->homes);
	count = gy_loops_count(listener->homes->loops);
	if (is_spread(listener)) {
		helped = gy_listener_place_workers(listener) < 0;
		add_workers(listen_socket, count);
	} else if (own < count && gyre_address_is_nobody(listener->stands[own].worker)) {
		helped = place_worker(listener, own) < 0;
		if (helped) {
			add_workers(listen_socket, count);
		}
	}
	if (own < count && !helped) {
		listen_socket->worker = listener->stands[own].worker;
	}
	listen_socket->version = listener->version - helped;
	unlock(listener->homes);
	if (listen_socket->workers_count == 0) {
		listen_socket->workers[listen_socket->workers_count++] = listen_socket->worker;
	}
}

struct gyre_address gy_listener_next_worker(struct gy_acceptor_socket *listen_socket)
{
	if (gy_unlikely(gy_load_acquire(&listen_socket->listener->version) !=
			listen_socket->version)) {
		refresh(listen_socket);
	}
	gy_assert(listen_socket->workers_count > 0);
	return listen_socket->workers[listen_socket->next_worker++ % listen_socket->workers_count];
}

/* ---- placing ---- */

static int spawn_acceptor(struct gy_home *home, struct gy_acceptor_socket *listen_socket,
			  struct gyre_address *ret_acceptor)
{
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_outside(&gyre_type_gy_acceptor_argument);
	struct gy_acceptor_argument *argument;
	int r;

	gy_assert(listen_socket->transit.fd >= 0);
	if (mail == NULL) {
		return -ENOMEM;
	}
	argument = (struct gy_acceptor_argument *)gyre_payload(mail);
	argument->listen_socket = listen_socket;
	listen_socket->channels = channels;
	gy_fd_transit_begin(channels, &listen_socket->transit);
	gy_pending_open_begin(listen_socket->listener->homes);
	r = gy_spawn_from_outside(home,
				  &(struct gy_spawn_order){ .class = &gy_acceptor_class,
							    .argument = mail,
							    .channels_actor = true,
							    .lent = true },
				  ret_acceptor);
	if (r < 0) {
		argument->listen_socket = NULL;
		gyre_mail_destroy(NULL, mail);
		gy_pending_open_end(listen_socket->listener->homes);
		(void)gy_fd_transit_end(channels, &listen_socket->transit);
	}
	return r;
}

int gy_listener_place(struct gy_acceptor_socket *listen_socket)
{
	struct gy_listener *listener = listen_socket->listener;
	uint32_t count = gy_loops_count(listener->homes->loops);
	uint32_t number = listen_socket->number;
	uint32_t loop = number < count ? number : number % count;
	int fd = listen_socket->transit.fd;
	int r = place_worker(listener, loop);

	gy_assert(number < listener->entry.max);
	gy_assert(!listener->entry.ended);
	if (r == 0) {
		listen_socket->worker = listener->stands[loop].worker;
		/* No version of the listener: so the acceptor refreshes its workers. */
		listen_socket->version = listener->version - 1;
		(void)gy_fetch_add(&listener->references, 1);
		listener->entry.fds[number] = fd;
		r = spawn_acceptor(&listener->homes->homes[loop], listen_socket,
				   &listener->stands[number].acceptor);
		if (r < 0) {
			(void)gy_fetch_add(&listener->references, -1U);
			listener->entry.fds[number] = -1;
		}
	}
	return r;
}

int gy_listener_move(struct gy_acceptor_socket *listen_socket)
{
	struct gy_homes *homes = listen_socket->listener->homes;
	int r = -ESHUTDOWN;

	lock(homes);
	if (!listen_socket->listener->entry.ended) {
		r = gy_listener_place(listen_socket);
	}
	unlock(homes);
	return r;
}

/* ---- its end ---- */

void gy_listener_left(struct gy_listener *listener, uint32_t number, struct gyre_address acceptor)
{
	struct gyre_address *stands = &listener->stands[number].acceptor;

	gy_assert(number < listener->stands_max);
	lock(listener->homes);
	if (gy_address_same(*stands, acceptor)) {
		*stands = GYRE_NOBODY;
	}
	unlock(listener->homes);
}

void gy_listener_stop(struct gy_listener *listener, uint32_t first)
{
	listener->entry.ended = true;
	for (uint32_t i = first; i < listener->stands_max; i++) {
		stop_one(listener, &listener->stands[i]);
	}
}

void gy_listener_end(struct gy_listener *listener)
{
	lock(listener->homes);
	gy_listener_stop(listener, 1);
	unlock(listener->homes);
}

void gy_listener_closes(struct gy_listener *listener, uint32_t number)
{
	gy_assert(number < listener->entry.max);
	lock(listener->homes);
	listener->entry.fds[number] = -1;
	if (number == 0) { /* who comes now shall find nobody */
		gy_socket_entry_remove_file(listener->homes, &listener->entry);
	}
	unlock(listener->homes);
}

/* ---- what subscribers hear ---- */

static void tell(const struct gy_acceptor_socket *listen_socket, enum gyre_listening_step step,
		 int reason)
{
	const struct gy_listener *listener = listen_socket->listener;

	gy_listening_tell(listen_socket->channels->home, step, &listener->address,
			  listener->entry.text, reason);
}

void gy_listener_tell_begun(struct gy_acceptor_socket *listen_socket)
{
	listen_socket->told = true;
	tell(listen_socket, GYRE_LISTENING_BEGUN, 0);
}

void gy_listener_tell_ended(struct gy_acceptor_socket *listen_socket)
{
	if (listen_socket->told) {
		listen_socket->told = false;
		tell(listen_socket, GYRE_LISTENING_ENDED, 0);
	}
}

void gy_listener_tell_failed(const struct gy_acceptor_socket *listen_socket, int reason)
{
	tell(listen_socket, GYRE_LISTENING_FAILED, reason);
}

/* ---- what could not be made ---- */

void gy_listener_lost_acceptor(struct gy_acceptor_socket *listen_socket)
{
	struct gy_listener *listener = listen_socket->listener;
	struct gy_channels *channels = listen_socket->channels;
	struct gy_home *home = channels->home;
	uint32_t number = listen_socket->number;

	if (home->draining) { /* the socket goes with all that is on its way */
		gy_pending_open_end(listener->homes);
		return;
	}
	gy_listener_closes(listener, number);
	gy_channels_close(channels, gy_fd_transit_end(channels, &listen_socket->transit));
	lock(listener->homes);
	listener->stands[number].acceptor = GYRE_NOBODY;
	unlock(listener->homes);
	if (number == 0) {
		gy_listener_end(listener);
	}
	gy_pending_open_fail(home, "listening on", &listener->address, listener->entry.text,
			     -ENOMEM);
	gy_listener_tell_failed(listen_socket, -ENOMEM);
	gy_acceptor_socket_destroy(channels, listen_socket, true);
}

void gy_listener_lost_worker(struct gy_listener *listener, struct gy_home *home)
{
	struct gy_homes *homes = listener->homes;
	uint32_t lacking = 0;

	if (home->draining) {
		gy_listener_unref(listener, false);
		gy_pending_open_end(homes);
		return;
	}
	gy_assert(home->loop.index < listener->stands_max);
	lock(homes);
	listener->stands[home->loop.index].worker = GYRE_NOBODY;
	gy_store_release(&listener->version, listener->version + 1);
	unlock(homes);
	if (gy_compare_exchange(&listener->lacking, &lacking, 1)) {
		gy_pending_open_fail(home, "serving connections of", &listener->address,
				     listener->entry.text, -ENOMEM);
	} else {
		gy_pending_open_end(homes);
	}
	gy_listener_unref(listener, true);
}

/* ---- loops come and go ---- */

static int open_another(struct gy_listener *listener, uint32_t number)
{
	const struct gy_listen_params listening = {
		.backlog = (int)listener->options.backlog,
		.channel = &listener->options.channel,
	};
	struct gy_acceptor_socket *listen_socket;
	int fd;
	int r = gy_sockets_join(&listener->address, &listening, &fd);

	if (r < 0) {
		return r;
	}
	listen_socket = gy_acceptor_socket_create(listener, number, fd, 0);
	r = listen_socket == NULL ? -ENOMEM : gy_listener_place(listen_socket);
	if (r < 0) {
		gy_memory_put(listen_socket);
		(void)gy_descriptor_close(fd);
	}
	return r;
}

/* Has the socket of a loop that has come, or come back, if it is to have one. */
static int grow_by(struct gy_listener *listener, uint32_t number)
{
	struct gyre_address acceptor = listener->stands[number].acceptor;

	if (!gyre_address_is_nobody(acceptor)) {
		return gy_socket_entry_order(listener->homes, acceptor, gy_acceptor_leave);
	}
	return number < listener->sockets_max && !listener->inherited
		       ? open_another(listener, number)
		       : 0;
}

static void grow(struct gy_listener *listener, uint32_t from, uint32_t to)
{
	const struct gy_log *log = listener->homes->log;
	int r = gy_listener_place_workers(listener);

	if (r < 0) {
		gy_log(log, GYRE_LOG_WARNING,
		       "loops %u to %u: they get no connections of a listener of fewer loops: %s",
		       (unsigned)from, (unsigned)to - 1, strerrordesc_np(-r));
	}
	for (uint32_t i = from; i < to; i++) {
		r = grow_by(listener, i);
		if (r < 0) {
			gy_log(log, GYRE_LOG_WARNING,
			       "loop %u: it cannot listen on port %u as others do: %s", (unsigned)i,
			       (unsigned)gyre_socket_address_port(&listener->address),
			       strerrordesc_np(-r));
			gy_listening_failed_on(listener->homes, i, &listener->address, r);
		}
	}
	gy_store_release(&listener->version, listener->version + 1);
}

/* The one behind @before, or the first for NULL; NULL for none. */
static struct gy_listener *next_listener(const struct gy_homes *homes,
					 const struct gy_listener *before)
{
	const struct gy_list *item =
		before == NULL ? &homes->net->socket_registry : &before->entry.item;

	for (item = item->next; item != &homes->net->socket_registry; item = item->next) {
		struct gy_socket_entry *entry = gy_container_of(item, struct gy_socket_entry, item);

		if (entry->kind == GY_FD_MESSAGE_LISTENER) {
			return gy_container_of(entry, struct gy_listener, entry);
		}
	}
	return NULL;
}

void gy_listeners_grow(struct gy_homes *homes, uint32_t from, uint32_t to)
{
	gy_assert(from < to && to <= homes->loops->max);
	for (struct gy_listener *listener = next_listener(homes, NULL); listener != NULL;
	     listener = next_listener(homes, listener)) {
		if (!listener->entry.ended) {
			grow(listener, from, to);
		}
	}
}

void gy_listeners_shrink(struct gy_homes *homes, uint32_t to)
{
	gy_assert(to > 0 && to <= homes->loops->max);
	for (struct gy_listener *listener = next_listener(homes, NULL); listener != NULL;
	     listener = next_listener(homes, listener)) {
		for (uint32_t i = to; i < homes->loops->max; i++) {
			listener->stands[i].worker = GYRE_NOBODY;
		}
		gy_store_release(&listener->version, listener->version + 1);
	}
}

/* ---- handing over ---- */

void gy_listeners_retry(struct gy_homes *homes)
{
	lock(homes);
	for (const struct gy_listener *listener = next_listener(homes, NULL); listener != NULL;
	     listener = next_listener(homes, listener)) {
		for (uint32_t i = 0; i < listener->stands_max; i++) {
			struct gyre_address acceptor = listener->stands[i].acceptor;

			if (!gyre_address_is_nobody(acceptor) &&
			    gy_socket_entry_order(homes, acceptor, gy_acceptor_retry) < 0) {
				gy_log(homes->log, GYRE_LOG_WARNING,
				       "loop %u: no memory to look for connections that wait; the "
				       "next that comes will",
				       (unsigned)acceptor.loop);
			}
		}
	}
	unlock(homes);
}
