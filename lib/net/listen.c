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

/* Takes the descriptors, whatever is returned. */
static int spawn_all(struct gy_homes *homes, const struct gyre_acceptor_options *options,
		     const int *fds, struct gyre_address *ret_acceptor)
{
	struct gyre_address worker;
	struct gyre_address acceptor;
	int r = 0;

	for (uint32_t i = 0; i < homes->count; i++) {
		if (r == 0) {
			r = spawn_worker(&homes->homes[i], options, &worker);
		}
		if (r == 0) {
			r = spawn_acceptor(&homes->homes[i], fds[i], worker, &acceptor);
		} else {
			(void)close(fds[i]);
		}
		if (r == 0 && i == 0 && ret_acceptor != NULL) {
			*ret_acceptor = acceptor;
		}
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
	struct gy_bind bind;
	int r = fds == NULL ? -ENOMEM : gy_bind_parse(options->bind, homes->log, &bind);

	if (r == 0) {
		r = gy_sockets_listen(&bind, &listening, homes->count, fds);
	}
	if (r == 0) {
		r = spawn_all(homes, options, fds, ret_acceptor);
	}
	if (r == 0 && options->ret_port != NULL) {
		*options->ret_port = gy_bind_port(&bind);
	}
	gy_memory_put(fds);
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
