/*
 * Sending files: a server sends a file to each client.
 *
 *	gyre-example-sendfile FILE [ADDRESS]
 *
 * The bytes go from the page cache to the socket as fast as the client reads, and take no memory
 * while it does not, however long the file is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/gyre.h>

struct source {
	int fd;
	uint64_t bytes;
};

/* A file belongs to one actor, so each channel has its own of the same descriptor. */
static void send_file(struct gyre_handler_context *ctx)
{
	const struct source *source = gyre_context_arg(ctx);
	const struct gyre_file_region all = { .bytes = source->bytes };
	struct gyre_file *file = NULL;
	int fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
	int r = fd < 0 ? -errno : gyre_file_adopt(gyre_context_stack(ctx), fd, &file);

	if (r == 0) {
		r = gyre_context_send_file(ctx, file, &all);
		gyre_file_close(file); /* as soon as it is sent */
	}
	if (r == 0) {
		gyre_context_close(ctx); /* likewise */
	} else {
		gyre_channel_abort(gyre_context_channel(ctx), r);
	}
}

static const struct gyre_handler handler = { .active = send_file };

static int init_channel(struct gyre_channel *channel, void *source)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, source);
}

static int open_source(const char *path, struct source *source)
{
	struct stat stat;

	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0 || fstat(source->fd, &stat) < 0) {
		(void)fprintf(stderr, "gyre-example-sendfile: %s: %s\n", path, strerror(errno));
		return -EINVAL;
	}
	if (!S_ISREG(stat.st_mode) || stat.st_size == 0) {
		(void)fprintf(stderr, "gyre-example-sendfile: %s is no file with bytes\n", path);
		return -EINVAL;
	}
	source->bytes = (uint64_t)stat.st_size;
	return 0;
}

int main(int argc, char **argv)
{
	struct source source = { .fd = -1 };
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 2 ? argv[2] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = &source,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = open_source(argc > 1 ? argv[1] : "FILE", &source);

	r = r < 0 ? r : gyre_system_create(NULL, &system);
	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	if (source.fd >= 0) {
		(void)close(source.fd);
	}
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
