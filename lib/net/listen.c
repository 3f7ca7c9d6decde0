/*
 * Listening on all loops of a system. Everything that can be refused is done here, by the calling
 * thread: the sockets of all loops listen before any actor is spawned, so that a call that fails
 * leaves nothing behind.
 */
#include <errno.h>
#include <unistd.h>

#include "base/memory.h"
#include "channel/socket_address.h"
#include "net/net.h"

enum { BACKLOG_DEFAULT = 4096, BACKLOG_MAX = 1 << 20, MODE_MAX = 0777, RATE_MAX = 1000000000 };

/* The file stays: it may be another's by now. */
static void drop_seed(struct gy_seed *seed)
{
	if (seed != NULL) {
		gy_admission_unref(seed->admission);
		gy_memory_put(seed);
	}
}

static void free_seed(struct gy_channels *channels, struct gy_transit *transit)
{
	struct gy_seed *seed = gy_container_of(transit, struct gy_seed, transit);

	(void)channels;
	gy_socket_file_remove(&seed->file);
	drop_seed(seed);
}

/* What is being set up. */
struct setup {
	struct gy_homes *homes;
	const struct gyre_acceptor_options *options;
	struct gyre_socket_address address;
	struct gy_socket_file file;
	struct gy_admission *admission;
	uint32_t listeners;
	int *fds;			/* of listeners */
	struct gyre_address *acceptors; /* as many */
	struct gyre_address *workers;	/* of all loops */
};

static int spawn_worker(const struct setup *setup, uint32_t index)
{
	const struct gyre_acceptor_options *options = setup->options;
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_worker_argument);

	if (mail == NULL) {
		return -ENOMEM;
	}
	*(struct gy_worker_argument *)gyre_payload(mail) = (struct gy_worker_argument){
		.init_channel = options->init_channel,
		.init_arg = options->init_arg,
		.channel = options->channel,
		.admission = gy_admission_ref(setup->admission),
	};
	return gy_spawn_from_outside(&setup->homes->homes[index],
				     &(struct gy_spawn_order){ .class = &gy_worker_class,
							       .argument = mail,
							       .channels_actor = true },
				     &setup->workers[index]);
}

/*
 * The first acceptor knows the others. Where each loop has one it has the worker of its loop, else
 * those of all, and they begin at different ones.
 */
static struct gy_seed *make_seed(const struct setup *setup, uint32_t index)
{
	uint32_t loops = setup->homes->count;
	uint32_t others = index == 0 ? setup->listeners - 1 : 0;
	uint32_t workers = setup->listeners == loops ? 1 : loops;
	struct gy_seed *seed = (struct gy_seed *)gy_memory_get(
		sizeof(*seed) + (others + workers) * sizeof(seed->addresses[0]));

	if (seed == NULL) {
		return NULL;
	}
	*seed = (struct gy_seed){
		.transit = { .discard = free_seed, .fd = setup->fds[index] },
		.admission = gy_admission_ref(setup->admission),
		.others_count = others,
		.workers_count = workers,
		.next_worker = index % workers,
		.others = seed->addresses,
		.workers = seed->addresses + others,
	};
	for (uint32_t i = 0; i < others; i++) {
		seed->addresses[i] = setup->acceptors[1 + i];
	}
	for (uint32_t i = 0; i < workers; i++) {
		seed->addresses[others + i] = setup->workers[workers == 1 ? index : i];
	}
	if (index == 0) {
		seed->file = setup->file;
	}
	return seed;
}

/* Takes the descriptor, whatever is returned. */
static int spawn_acceptor(struct setup *setup, uint32_t index)
{
	struct gy_home *home = &setup->homes->homes[index];
	struct gy_channels *channels = gy_channels_of(home);
	struct gyre_mail *mail = gy_mail_get_from_heap(&gyre_type_gy_acceptor_argument);
	struct gy_seed *seed = make_seed(setup, index);
	int r;

	if (mail == NULL || seed == NULL) {
		gyre_mail_free(NULL, mail);
		drop_seed(seed);
		(void)close(setup->fds[index]);
		return -ENOMEM;
	}
	((struct gy_acceptor_argument *)gyre_payload(mail))->seed = seed;
	gy_transit_begin(channels, &seed->transit);
	r = gy_spawn_from_outside(home,
				  &(struct gy_spawn_order){ .class = &gy_acceptor_class,
							    .argument = mail,
							    .channels_actor = true },
				  &setup->acceptors[index]);
	if (r < 0) {
		gy_channels_close(channels, gy_transit_end(channels, &seed->transit));
		drop_seed(seed);
	}
	return r;
}

struct stop_order {
	struct gy_task task;
	struct gyre_address actor;
};

/* On the actor's own loop, where what is sent is counted. */
static void carry_out_stop(struct gy_loop *loop, struct gy_task *task)
{
	struct stop_order *order = gy_container_of(task, struct stop_order, task);

	(void)gy_send_signal(gy_home_of(loop), order->actor, &gy_type_stop, GY_MAIL_EVENT);
	gy_loop_node_put(loop, &task->node);
}

void gy_stop_from_outside(struct gy_home *home, struct gyre_address actor)
{
	struct gy_node *node = gy_node_get_from_heap(sizeof(struct stop_order));

	if (node != NULL) {
		struct stop_order *order = gy_container_of(node, struct stop_order, task.node);

		order->task.run = carry_out_stop;
		order->actor = actor;
		gy_loop_post_task(&home->loop, &order->task);
	}
}

/*
 * The first loop's acceptor comes last, for it is to know the others. Takes the descriptors,
 * whatever is returned. Workers of a call that fails stay, idle.
 */
static int spawn_all(struct setup *setup)
{
	uint32_t left = setup->listeners;
	int r = 0;

	for (uint32_t i = 0; i < setup->homes->count && r == 0; i++) {
		r = spawn_worker(setup, i);
	}
	while (left > 0 && r == 0) {
		left--;
		r = spawn_acceptor(setup, left);
	}
	if (r == 0) {
		return 0;
	}
	for (uint32_t i = left + 1; i < setup->listeners; i++) {
		gy_stop_from_outside(&setup->homes->homes[i], setup->acceptors[i]);
	}
	while (left > 0) {
		(void)close(setup->fds[--left]);
	}
	return r;
}

static int open_new(struct setup *setup, const struct gy_listening *listening)
{
	uint32_t wanted = setup->options->listeners;
	int r = gy_bind_parse(listening->text, SOCK_STREAM, listening->log, &setup->address);

	if (r == 0) {
		wanted = wanted == 0 || wanted > setup->homes->count ? setup->homes->count : wanted;
		setup->listeners = gy_sockets_count(&setup->address, wanted);
		r = gy_sockets_listen(&setup->address, listening, setup->listeners, setup->fds);
	}
	if (r == 0) {
		gy_socket_file_set(&setup->file, &setup->address);
	}
	return r;
}

/* Their address is known only by asking; that cannot fail for sockets that listen. */
static int open_inherited(struct setup *setup, const struct gy_listening *listening)
{
	int r = gy_inherit(listening, setup->homes->count, setup->fds);

	if (r < 0) {
		return r;
	}
	setup->listeners = (uint32_t)r;
	(void)gy_socket_address_of(setup->fds[0], &setup->address);
	return 0;
}

static int open_sockets(struct setup *setup)
{
	const struct gyre_acceptor_options *options = setup->options;
	const struct gy_listening listening = {
		.text = options->bind,
		.log = setup->homes->log,
		.backlog = (int)(options->backlog == 0 ? BACKLOG_DEFAULT : options->backlog),
		.mode = options->mode,
		.allow_delay = options->channel.allow_delay,
	};

	return gy_inherit_is_meant(options->bind) ? open_inherited(setup, &listening)
						  : open_new(setup, &listening);
}

static int set_up(struct setup *setup, struct gyre_address *ret_acceptor)
{
	const struct gyre_acceptor_options *options = setup->options;
	int r = open_sockets(setup);

	if (r < 0) {
		return r;
	}
	r = gy_admission_create(options, setup->homes->count, &setup->admission);
	if (r < 0) {
		for (uint32_t i = 0; i < setup->listeners; i++) {
			(void)close(setup->fds[i]);
		}
	} else {
		r = spawn_all(setup);
	}
	gy_admission_unref(setup->admission);
	if (r < 0) {
		gy_socket_file_remove(&setup->file);
		return r;
	}
	if (ret_acceptor != NULL) {
		*ret_acceptor = setup->acceptors[0];
	}
	if (options->ret_port != NULL) {
		*options->ret_port = gyre_socket_address_port(&setup->address);
	}
	if (options->ret_address != NULL) {
		*options->ret_address = setup->address;
	}
	return 0;
}

int gyre_listen(struct gyre_system *system, const struct gyre_acceptor_options *options,
		struct gyre_address *ret_acceptor)
{
	struct setup setup = { .options = options };
	uint32_t loops;
	int r = -ENOMEM;

	if (system == NULL || options == NULL || options->bind == NULL ||
	    options->init_channel == NULL || options->backlog > BACKLOG_MAX ||
	    options->mode > MODE_MAX || options->accept_rate > RATE_MAX) {
		return -EINVAL;
	}
	setup.homes = gy_homes_of(system);
	loops = setup.homes->count;
	setup.fds = (int *)gy_memory_get(loops * sizeof(*setup.fds));
	setup.acceptors = (struct gyre_address *)gy_memory_get(loops * sizeof(*setup.acceptors));
	setup.workers = (struct gyre_address *)gy_memory_get(loops * sizeof(*setup.workers));
	if (setup.fds != NULL && setup.acceptors != NULL && setup.workers != NULL) {
		r = set_up(&setup, ret_acceptor);
	}
	gy_memory_put(setup.fds);
	gy_memory_put(setup.acceptors);
	gy_memory_put(setup.workers);
	return r;
}
