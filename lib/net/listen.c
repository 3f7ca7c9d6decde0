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

static void free_seed(struct gy_channels *channels, struct gy_transit *transit)
{
	(void)channels;
	gy_memory_put(gy_container_of(transit, struct gy_seed, transit));
}

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

/* Acceptors of the same call. */
struct siblings {
	const struct gyre_address *acceptors;
	uint32_t count;
};

static struct gy_seed *make_seed(int fd, struct gyre_address worker, const struct siblings *others)
{
	size_t bytes = sizeof(struct gy_seed) + others->count * sizeof(others->acceptors[0]);
	struct gy_seed *seed = (struct gy_seed *)gy_memory_get(bytes);

	if (seed != NULL) {
		seed->transit = (struct gy_transit){ .discard = free_seed, .fd = fd };
		seed->worker = worker;
		seed->others_count = others->count;
		for (uint32_t i = 0; i < others->count; i++) {
			seed->others[i] = others->acceptors[i];
		}
	}
	return seed;
}

/* Takes @fd, whatever is returned. */
static int spawn_acceptor(struct gy_home *home, int fd, struct gyre_address worker,
			  const struct siblings *others, struct gyre_address *ret_acceptor)
{
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_acceptor_argument);
	struct gy_seed *seed = make_seed(fd, worker, others);
	int r;

	if (mail == NULL || seed == NULL) {
		gyre_mail_free(NULL, mail);
		gy_memory_put(seed);
		(void)close(fd);
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
		gy_channels_close(channels, gy_transit_end(channels, &seed->transit));
		gy_memory_put(seed);
	}
	return r;
}

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

/* Takes the descriptor, whatever is returned. */
static int spawn_both(struct gy_home *home, const struct gyre_acceptor_options *options, int fd,
		      const struct siblings *others, struct gyre_address *ret_acceptor)
{
	struct gyre_address worker;
	int r = spawn_worker(home, options, &worker);

	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return spawn_acceptor(home, fd, worker, others, ret_acceptor);
}

/*
 * The first loop's acceptor comes last, for it is to know the others. Takes the descriptors,
 * whatever is returned.
 */
static int spawn_all(struct gy_homes *homes, const struct gyre_acceptor_options *options,
		     const int *fds, struct gyre_address *ret_acceptors)
{
	const struct siblings none = { 0 };
	const struct siblings others = { ret_acceptors + 1, homes->count - 1 };
	uint32_t left = homes->count;
	int r = 0;

	while (left > 0 && r == 0) {
		left--;
		r = spawn_both(&homes->homes[left], options, fds[left], left == 0 ? &others : &none,
			       &ret_acceptors[left]);
	}
	if (r == 0) {
		return 0;
	}
	for (uint32_t i = left + 1; i < homes->count; i++) {
		stop_acceptor(&homes->homes[i], ret_acceptors[i]);
	}
	while (left > 0) {
		(void)close(fds[--left]);
	}
	return r;
}

static int listen_on(struct gy_homes *homes, const struct gyre_acceptor_options *options,
		     struct gyre_address *ret_acceptor)
{
	uint32_t backlog = options->backlog == 0 ? BACKLOG_DEFAULT : options->backlog;
	struct gy_listening listening = {
		.text = options->bind,
		.log = homes->log,
		.backlog = (int)backlog,
		.allow_delay = options->channel.allow_delay,
	};
	int *fds = (int *)gy_memory_get(homes->count * sizeof(*fds));
	struct gyre_address *acceptors =
		(struct gyre_address *)gy_memory_get(homes->count * sizeof(*acceptors));
	struct gyre_socket_address address;
	int r = fds == NULL || acceptors == NULL ? -ENOMEM : 0;

	if (r == 0) {
		r = gy_bind_parse(options->bind, homes->log, &address);
	}
	if (r == 0) {
		r = gy_sockets_listen(&address, &listening, homes->count, fds);
	}
	if (r == 0) {
		r = spawn_all(homes, options, fds, acceptors);
	}
	if (r == 0 && ret_acceptor != NULL) {
		*ret_acceptor = acceptors[0];
	}
	if (r == 0 && options->ret_port != NULL) {
		*options->ret_port = gyre_socket_address_port(&address);
	}
	gy_memory_put(fds);
	gy_memory_put(acceptors);
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
