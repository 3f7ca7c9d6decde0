/*
 * A server of files on a simulated host: parts that are sent from memory, and parts that go through
 * a pipe.
 */
#include <gyre/channel.h>
#include <gyre/file_find.h>
#include <gyre/pipeline.h>

#include "disk_rig.h"
#include "net_rig.h"

enum { SMALL_BYTES = 20000, LARGE_BYTES = 300000, FILE_BYTES = SMALL_BYTES + LARGE_BYTES };

struct seen {
	bool fetched;
};

static char byte_at(size_t place)
{
	return (char)(place % 251);
}

/* One part as a copy, the other by a pipe. A file that is not in memory is none: the peer comes
 * again. */
static void send_it(struct gyre_handler_context *ctx)
{
	struct gyre_file_found found;
	int r = gyre_file_find(gyre_context_stack(ctx), "/www/file", NULL, &found);

	cr_assert(r == 0 || r == -EAGAIN);
	if (r == 0) {
		cr_assert_eq(found.status.bytes, FILE_BYTES);
		cr_assert_eq(
			gyre_context_send_file(ctx, found.file,
					       &GYRE_VALUE(gyre_file_region, .bytes = SMALL_BYTES)),
			0);
		cr_assert_eq(
			gyre_context_send_file(ctx, found.file,
					       &GYRE_VALUE(gyre_file_region, .offset = SMALL_BYTES,
							   .bytes = LARGE_BYTES)),
			0);
		gyre_file_close(found.file);
	}
	gyre_context_close(ctx);
}

static const struct gyre_handler sender = { .name = "sender", .active = send_it };

static int init_sender(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &sender, arg);
}

static int serve(void *arg)
{
	const struct gyre_system_options options = { .loops = 1 };
	const struct gyre_acceptor_options listening = { .bind = "tcp://0.0.0.0:7000",
							 .init_channel = init_sender };
	struct seen *seen = (struct seen *)arg;
	struct gyre_system *system;

	(void)close(disk_open("/www/file", O_RDONLY)); /* it is in memory from now on */
	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_listen(system, &listening, NULL), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	while (!seen->fetched) {
		disk_pause(GYRE_MILLISECONDS(100));
	}
	gyre_system_stop(system);
	cr_assert_eq(gyre_system_wait(system), 0);
	gyre_system_destroy(system);
	return 0;
}

/* How many bytes came, which are right. */
static size_t fetch_once(void)
{
	char bytes[8192];
	size_t done = 0;
	ssize_t count;
	int fd = net_connect(0, NET_PORT);

	while (fd >= 0 && (count = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		for (size_t i = 0; i < (size_t)count; i++) {
			cr_assert_eq(bytes[i], byte_at(done + i));
		}
		done += (size_t)count;
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	return done;
}

static int fetch(void *arg)
{
	size_t done = 0;

	while (done == 0) {
		disk_pause(GYRE_MILLISECONDS(100));
		done = fetch_once();
	}
	cr_assert_eq(done, FILE_BYTES);
	((struct seen *)arg)->fetched = true;
	return 0;
}

Test(sim_files, are_sent_over_the_network)
{
	static char bytes[FILE_BYTES];

	for (size_t i = 0; i < FILE_BYTES; i++) {
		bytes[i] = byte_at(i);
	}
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct seen seen = { 0 };
		struct gyre_sim *sim = net_make(seed, serve, fetch, &seen);

		cr_assert_eq(gyre_sim_disk_write(sim, 0, "/www/file", bytes, FILE_BYTES), 0);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
		cr_assert(seen.fetched);
		gyre_sim_destroy(sim);
	}
}
