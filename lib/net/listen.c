/*
 * Listening on all loops of a system. Everything that can be refused is done here, by the calling
 * thread: the sockets of all loops listen before any actor is spawned, so that a call that fails
 * leaves nothing behind.
 */
#include <errno.h>
#include <unistd.h>

#include "base/memory.h"
#include "net/net.h"

enum { BACKLOG_DEFAULT = 4096, BACKLOG_MAX = 1 << 20 };

struct stop_order {
	struct gy_task task;
	struct gyre_address acceptor;
};

/* On the acceptor's own loop, where what is sent is counted. */
static void carry_out_stop(struct gy_loop *loop, struct gy_task *task)
{
	struct stop_order *order = gy_container_of(task, struct stop_order, task);

	(void)gy_send_signal(gy_home_of(loop), order->acceptor, &gy_type_stop, GY_MAIL_EVENT);
	gy_loop_node_put(loop, &task->node);
}

/* Takes back an acceptor that was spawned for a call that then failed. Its worker stays, idle. */
static void stop_acceptor(struct gy_home *home, struct gyre_address acceptor)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct stop_order));

	if (node != NULL) {
		struct stop_order *order = gy_container_of(node, struct stop_order, task.node);

		order->task.run = carry_out_stop;
		order->acceptor = acceptor;
		gy_loop_post_task(&home->loop, &order->task);
	}
}

/*
 * From the last loop to the first, whose acceptor is the one that users know. Takes the
 * descriptors, whatever is returned.
 */
static int place_all(struct gy_listener *listener, const int *fds, uint32_t count)
{
	uint32_t left = count;
	int r = 0;

	while (left > 0 && r == 0) {
		r = gy_listener_place(listener, left - 1, fds[left - 1]);
		left -= r == 0;
	}
	if (r == 0) {
		return 0;
	}
	listener->ended = true;
	for (uint32_t i = left; i < count; i++) {
		stop_acceptor(&listener->homes->homes[i], listener->stands[i].acceptor);
	}
	while (left > 0) {
		(void)close(fds[--left]);
	}
	return r;
}

/* With the mutex held that guards the number of loops. */
static int open_all(struct gy_homes *homes, const struct gyre_acceptor_options *options,
		    struct gy_bind *bind, struct gy_listener **ret_listener)
{
	const struct gy_listening listening = {
		.text = options->bind,
		.log = homes->log,
		.backlog = (int)options->backlog,
		.allow_delay = options->channel.allow_delay,
	};
	uint32_t count = gy_loops_count(homes->loops);
	struct gy_listener *listener;
	int *fds = (int *)gy_memory_get(count * sizeof(*fds));
	int r = fds == NULL ? -ENOMEM : gy_sockets_listen(bind, &listening, count, fds);

	if (r == 0) {
		listener = gy_listener_make(homes, options, bind);
		if (listener == NULL) {
			r = -ENOMEM;
			while (count > 0) {
				(void)close(fds[--count]);
			}
		} else {
			*ret_listener = listener;
			r = place_all(listener, fds, count);
		}
	}
	gy_memory_put(fds);
	return r;
}

static int listen_on(struct gy_homes *homes, const struct gyre_acceptor_options *options,
		     struct gyre_address *ret_acceptor)
{
	struct gyre_acceptor_options resolved = *options;
	struct gy_listener *listener = NULL;
	struct gy_bind bind;
	int r = gy_bind_parse(options->bind, homes->log, &bind);

	if (r < 0) {
		return r;
	}
	resolved.backlog = options->backlog == 0 ? BACKLOG_DEFAULT : options->backlog;
	(void)pthread_mutex_lock(&homes->placing);
	r = open_all(homes, &resolved, &bind, &listener);
	if (r == 0 && ret_acceptor != NULL) {
		*ret_acceptor = listener->stands[0].acceptor;
	}
	if (r == 0 && options->ret_port != NULL) {
		*options->ret_port = gy_bind_port(&bind);
	}
	(void)pthread_mutex_unlock(&homes->placing);
	if (listener != NULL) {
		gy_listener_unref(listener);
	}
	return r;
}

int gyre_listen(struct gyre_system *system, const struct gyre_acceptor_options *options,
		struct gyre_address *ret_acceptor)
{
	if (system == NULL || options == NULL || options->bind == NULL ||
	    options->init_channel == NULL || options->backlog > BACKLOG_MAX) {
		return -EINVAL;
	}
	return listen_on(gy_homes_of(system), options, ret_acceptor);
}
