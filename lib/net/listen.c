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

static struct gyre_mail *mail_from_heap(const struct gyre_type *type)
{
	struct gy_node *node = gy_node_get_from_heap(GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes);
	struct gyre_mail *mail = node == NULL ? NULL : gy_mail_of(node);

	if (mail != NULL) {
		mail->type = type;
	}
	return mail;
}

static int spawn_worker(struct gy_home *home, const struct gyre_acceptor_options *options,
			struct gyre_address *ret_worker)
{
	struct gyre_mail *mail = mail_from_heap(&gyre_type_gy_worker_argument);

	if (mail == NULL) {
		return -ENOMEM;
	}
	*(struct gy_worker_argument *)gyre_payload(mail) = (struct gy_worker_argument){
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.channel = options->channel,
	};
	return gy_spawn_from_outside(home, &gy_worker_class, mail, true, ret_worker);
}

/* Takes @fd, whatever is returned. */
static int spawn_acceptor(struct gy_home *home, int fd, struct gyre_address worker,
			  struct gyre_address *ret_acceptor)
{
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = mail_from_heap(&gyre_type_gy_acceptor_argument);
	struct gy_seed *seed = (struct gy_seed *)gy_memory_get(sizeof(*seed));
	int r;

	if (mail == NULL || seed == NULL) {
		gyre_mail_free(NULL, mail);
		gy_memory_put(seed);
		(void)close(fd);
		return -ENOMEM;
	}
	*seed = (struct gy_seed){ .transit = { .discard = free_seed, .fd = fd }, .worker = worker };
	((struct gy_acceptor_argument *)gyre_payload(mail))->seed = seed;
	gy_transit_begin(channels, &seed->transit);
	r = gy_spawn_from_outside(home, &gy_acceptor_class, mail, true, ret_acceptor);
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
		      struct gyre_address *ret_acceptor)
{
	struct gyre_address worker;
	int r = spawn_worker(home, options, &worker);

	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return spawn_acceptor(home, fd, worker, ret_acceptor);
}

/* Takes the descriptors, whatever is returned. */
static int spawn_all(struct gy_homes *homes, const struct gyre_acceptor_options *options,
		     const int *fds, struct gyre_address *ret_acceptors)
{
	uint32_t spawned = 0;
	int r = 0;

	for (; spawned < homes->count && r == 0; spawned += r == 0) {
		r = spawn_both(&homes->homes[spawned], options, fds[spawned],
			       &ret_acceptors[spawned]);
	}
	if (r == 0) {
		return 0;
	}
	for (uint32_t i = spawned + 1; i < homes->count; i++) {
		(void)close(fds[i]);
	}
	while (spawned > 0) {
		spawned--;
		stop_acceptor(&homes->homes[spawned], ret_acceptors[spawned]);
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
	struct gy_bind bind;
	int r = fds == NULL || acceptors == NULL ? -ENOMEM : 0;

	if (r == 0) {
		r = gy_bind_parse(options->bind, homes->log, &bind);
	}
	if (r == 0) {
		r = gy_sockets_listen(&bind, &listening, homes->count, fds);
	}
	if (r == 0) {
		r = spawn_all(homes, options, fds, acceptors);
	}
	if (r == 0 && ret_acceptor != NULL) {
		*ret_acceptor = acceptors[0];
	}
	if (r == 0 && options->ret_port != NULL) {
		*options->ret_port = gy_bind_port(&bind);
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
