/*
 * A listener: what all sockets of one gyre_listen() share, and where each of them stands. Socket i
 * is that of loop i. While there are fewer loops than that it is a guest on another: a socket that
 * listens is never closed for a loop that retires, since with it the kernel would reset what waits
 * in its backlog. It goes to the loop that is to have it, with all that waits, and comes back when
 * its own loop does.
 *
 * All this changes with the mutex held that also guards the number of loops, so that a socket is
 * never sent to a loop that has begun to retire. The acceptors hold references.
 */
#include <errno.h>
#include <unistd.h>

#include "actor/stack.h"
#include "base/memory.h"
#include "net/net.h"

static void lock(struct gy_homes *homes)
{
	(void)pthread_mutex_lock(&homes->placing);
}

static void unlock(struct gy_homes *homes)
{
	(void)pthread_mutex_unlock(&homes->placing);
}

/* ---- life ---- */

struct gy_listener *gy_listener_make(struct gy_homes *homes,
				     const struct gyre_acceptor_options *options,
				     const struct gy_bind *bind)
{
	struct gy_listener *listener = (struct gy_listener *)gy_memory_get(
		sizeof(*listener) + homes->loops->max * sizeof(listener->stands[0]));

	if (listener != NULL) {
		listener->homes = homes;
		listener->options = *options;
		listener->options.bind = NULL; /* the caller's */
		listener->bind = *bind;
		listener->references = 1;
		gy_list_append(&homes->listeners, &listener->item);
	}
	return listener;
}

void gy_listener_unref(struct gy_listener *listener)
{
	struct gy_homes *homes = listener->homes;
	bool last;

	lock(homes);
	last = --listener->references == 0;
	if (last) {
		gy_list_remove(&listener->item);
	}
	unlock(homes);
	if (last) {
		gy_memory_put(listener);
	}
}

/* ---- placing ---- */

static int spawn_worker(struct gy_home *home, const struct gyre_acceptor_options *options,
			struct gyre_address *ret_worker)
{
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_worker_argument);

	if (mail == NULL) {
		return -ENOMEM;
	}
	*(struct gy_worker_argument *)gyre_payload(mail) = (struct gy_worker_argument){
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.channel = options->channel,
	};
	return gy_spawn_from_outside(home,
				     &(struct gy_spawn_order){ .class = &gy_worker_class,
							       .argument = mail,
							       .channels_actor = true },
				     ret_worker);
}

static void free_seed(struct gy_channels *channels, struct gy_transit *transit)
{
	(void)channels;
	gy_seed_free(gy_container_of(transit, struct gy_seed, transit));
}

void gy_seed_free(struct gy_seed *seed)
{
	gy_listener_unref(seed->listener);
	gy_memory_put(seed);
}

static int spawn_acceptor(struct gy_home *home, struct gy_seed *seed,
			  struct gyre_address *ret_acceptor)
{
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_acceptor_argument);
	int r;

	if (mail == NULL) {
		return -ENOMEM;
	}
	((struct gy_acceptor_argument *)gyre_payload(mail))->seed = seed;
	gy_transit_begin(channels, &seed->transit);
	r = gy_spawn_from_outside(home,
				  &(struct gy_spawn_order){ .class = &gy_acceptor_class,
							    .argument = mail,
							    .channels_actor = true },
				  ret_acceptor);
	if (r < 0) {
		(void)gy_transit_end(channels, &seed->transit);
	}
	return r;
}

int gy_listener_place(struct gy_listener *listener, uint32_t number, int fd)
{
	uint32_t count = gy_loops_count(listener->homes->loops);
	uint32_t loop = number < count ? number : number % count;
	struct gy_home *home = &listener->homes->homes[loop];
	struct gyre_address *worker = &listener->stands[loop].worker;
	struct gy_seed *seed = (struct gy_seed *)gy_memory_get(sizeof(*seed));
	int r = seed == NULL ? -ENOMEM : 0;

	if (r == 0 && gyre_address_is_nobody(*worker)) {
		r = spawn_worker(home, &listener->options, worker);
	}
	if (r == 0) {
		seed->transit = (struct gy_transit){ .discard = free_seed, .fd = fd };
		seed->listener = listener;
		seed->number = number;
		seed->worker = *worker;
		r = spawn_acceptor(home, seed, &listener->stands[number].acceptor);
	}
	if (r < 0) {
		gy_memory_put(seed);
		return r;
	}
	listener->references++;
	return 0;
}

int gy_listener_move(struct gy_listener *listener, uint32_t number, int fd)
{
	int r = -ESHUTDOWN;

	lock(listener->homes);
	if (!listener->ended) {
		r = gy_listener_place(listener, number, fd);
	}
	unlock(listener->homes);
	return r;
}

/* ---- its end ---- */

void gy_listener_left(struct gy_listener *listener, uint32_t number, struct gyre_address acceptor)
{
	struct gyre_address *stands = &listener->stands[number].acceptor;

	lock(listener->homes);
	if (gyre_address_equal(*stands, acceptor)) {
		*stands = GYRE_NOBODY;
	}
	unlock(listener->homes);
}

void gy_listener_end(struct gy_listener *listener, struct gy_home *home)
{
	lock(listener->homes);
	listener->ended = true;
	for (uint32_t i = 1; i < listener->homes->loops->max; i++) {
		if (!gyre_address_is_nobody(listener->stands[i].acceptor)) {
			(void)gy_send_signal(home, listener->stands[i].acceptor, &gy_type_stop,
					     GY_MAIL_EVENT);
		}
	}
	unlock(listener->homes);
}

/* ---- loops come and go ---- */

struct order {
	struct gy_task task;
	struct gyre_address acceptor;
};

/* On the loop where a guest is, which may have to be mounted first. */
static void send_home(struct gy_loop *loop, struct gy_task *task)
{
	struct order *order = gy_container_of(task, struct order, task);
	struct gy_house *house =
		gy_house_find(gy_home_of(loop), order->acceptor.slot, order->acceptor.cookie);

	if (house != NULL && house->status <= GY_HOUSE_MOUNTING) {
		gy_loop_post_task(loop, task);
		return;
	}
	if (house != NULL) {
		gy_acceptor_leave(house);
	}
	gy_loop_node_put(loop, &task->node);
}

static int order_home(const struct gy_homes *homes, struct gyre_address acceptor)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct order));
	struct order *order;

	if (node == NULL) {
		return -ENOMEM;
	}
	order = gy_container_of(node, struct order, task.node);
	order->task.run = send_home;
	order->acceptor = acceptor;
	gy_loop_post_task(&homes->homes[acceptor.loop].loop, &order->task);
	return 0;
}

static int open_another(struct gy_listener *listener, uint32_t number)
{
	int fd;
	int r = gy_sockets_join(&listener->bind, listener->options.backlog,
				listener->options.channel.allow_delay, &fd);

	if (r == 0) {
		r = gy_listener_place(listener, number, fd);
		if (r < 0) {
			(void)close(fd);
		}
	}
	return r;
}

void gy_listeners_grow(struct gy_homes *homes, uint32_t from, uint32_t to)
{
	for (struct gy_list *item = homes->listeners.next; item != &homes->listeners;
	     item = item->next) {
		struct gy_listener *listener = gy_container_of(item, struct gy_listener, item);

		for (uint32_t i = from; i < to && !listener->ended; i++) {
			struct gyre_address acceptor = listener->stands[i].acceptor;
			int r = gyre_address_is_nobody(acceptor) ? open_another(listener, i)
								 : order_home(homes, acceptor);

			if (r < 0) {
				gy_log(homes->log, GYRE_LOG_WARNING,
				       "loop %u: it cannot listen on port %u as others do: %s",
				       (unsigned)i, (unsigned)gy_bind_port(&listener->bind),
				       strerrordesc_np(-r));
			}
		}
	}
}

void gy_listeners_shrink(struct gy_homes *homes, uint32_t to)
{
	for (struct gy_list *item = homes->listeners.next; item != &homes->listeners;
	     item = item->next) {
		struct gy_listener *listener = gy_container_of(item, struct gy_listener, item);

		for (uint32_t i = to; i < homes->loops->max; i++) {
			listener->stands[i].worker = GYRE_NOBODY;
		}
	}
}
