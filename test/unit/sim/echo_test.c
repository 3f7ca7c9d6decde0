/*
 * A server of gyre on a simulated host, and clients by plain calls on another.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/un.h>

#include "echo.h"
#include "net_rig.h"

enum { CLIENTS = 8, BYTES = 300000 };

struct seen {
	struct gyre_system *system;
	uint32_t clients;
	bool served;
};

static int serve(void *arg)
{
	const struct gyre_system_options options = { .loops = 2 };
	const struct gyre_acceptor_options listening = { .bind = "tcp://[::]:7000",
							 .init_channel = init_echo };
	const struct gyre_acceptor_options local = { .bind = "unix:@echo",
						     .init_channel = init_echo };
	const struct gyre_datagram_options datagrams = { .bind = "udp://[::]:7000",
							 .init_channel = init_echo };
	struct seen *seen = (struct seen *)arg;

	cr_assert_eq(gyre_system_create(&options, &seen->system), 0);
	cr_assert_eq(gyre_system_listen(seen->system, &listening, NULL), 0);
	cr_assert_eq(gyre_system_listen(seen->system, &local, NULL), 0);
	cr_assert_eq(gyre_system_datagram_open(seen->system, &datagrams, NULL), 0);
	cr_assert_eq(gyre_system_start(seen->system), 0);
	while (seen->clients < CLIENTS) {
		net_pause(GYRE_MILLISECONDS(10));
	}
	gyre_system_stop(seen->system);
	cr_assert_eq(gyre_system_wait(seen->system), 0);
	gyre_system_destroy(seen->system);
	seen->served = true;
	return 0;
}

static void *send_all(void *arg)
{
	unsigned char *bytes = (unsigned char *)malloc(BYTES);
	int fd = *(const int *)arg;

	for (uint32_t i = 0; i < BYTES; i++) {
		bytes[i] = (unsigned char)(i % 251);
	}
	cr_assert_eq(send(fd, bytes, BYTES, 0), BYTES);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	free(bytes);
	return NULL;
}

static void echo_much(int fd)
{
	unsigned char bytes[4096];
	pthread_t sender;
	uint32_t done = 0;
	ssize_t count;

	cr_assert(fd >= 0);
	cr_assert_eq(pthread_create(&sender, NULL, send_all, &fd), 0);
	while ((count = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
		for (ssize_t i = 0; i < count; i++) {
			cr_assert_eq(bytes[i], (done + (uint32_t)i) % 251);
		}
		done += (uint32_t)count;
	}
	cr_assert_eq(count, 0);
	cr_assert_eq(done, BYTES);
	(void)pthread_join(sender, NULL);
	(void)close(fd);
}

static void *echo_one(void *arg)
{
	echo_much(net_connect(0, NET_PORT));
	((struct seen *)arg)->clients++;
	return NULL;
}

static int call(void *arg)
{
	pthread_t clients[CLIENTS];

	net_pause(GYRE_MILLISECONDS(100));
	for (uint32_t i = 0; i < CLIENTS; i++) {
		cr_assert_eq(pthread_create(&clients[i], NULL, echo_one, arg), 0);
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		(void)pthread_join(clients[i], NULL);
	}
	return 0;
}

/* Its digest. */
static uint64_t run(const struct gyre_sim_options *options, gyre_sim_boot_fn caller,
		    const struct gyre_sim_link *link)
{
	struct seen seen = { 0 };
	struct gyre_sim *sim;
	uint64_t digest;

	cr_assert_eq(gyre_sim_create(options, &sim), 0);
	(void)sim_add(sim, "alpha", serve, &seen);
	(void)sim_add(sim, "beta", caller, &seen);
	if (link != NULL) {
		cr_assert_eq(gyre_sim_link_set(sim, 0, 1, link), 0);
		cr_assert_eq(gyre_sim_link_set(sim, 1, 0, link), 0);
	}
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(300)), 0);
	cr_assert(seen.served);
	digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_echo, serves_several_clients_over_good_links)
{
	const struct gyre_sim_options options = { .seed = 1 };

	(void)run(&options, call, NULL);
}

Test(sim_echo, serves_several_clients_over_bad_links)
{
	const struct gyre_sim_link link = { .jitter_ns = GYRE_MILLISECONDS(5), .loss = 20000 };

	for (uint64_t seed = 0; seed < 5; seed++) {
		const struct gyre_sim_options options = { .seed = seed, .faults = 20000 };

		cr_assert_eq(run(&options, call, &link), run(&options, call, &link));
	}
}

static int call_with_datagrams(void *arg)
{
	struct seen *seen = (struct seen *)arg;
	int fd = net_connect_type(SOCK_DGRAM, 0, NET_PORT);

	net_pause(GYRE_MILLISECONDS(100));
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t back;

		cr_assert_eq(send(fd, &i, sizeof(i), 0), sizeof(i));
		cr_assert_eq(recv(fd, &back, sizeof(back), 0), sizeof(back));
		cr_assert_eq(back, i);
	}
	seen->clients = CLIENTS;
	return 0;
}

Test(sim_echo, sends_datagrams_back)
{
	const struct gyre_sim_options options = { .seed = 2 };

	(void)run(&options, call_with_datagrams, NULL);
}

static void *call_here(void *arg)
{
	const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0echo" };
	struct seen *seen = (struct seen *)arg;
	int fd;

	net_pause(GYRE_MILLISECONDS(100));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&name,
			     offsetof(struct sockaddr_un, sun_path) + 5),
		     0);
	echo_much(fd);
	seen->clients = CLIENTS;
	return NULL;
}

static int serve_and_call(void *arg)
{
	pthread_t client;
	int r;

	cr_assert_eq(pthread_create(&client, NULL, call_here, arg), 0);
	r = serve(arg);
	(void)pthread_join(client, NULL);
	return r;
}

Test(sim_echo, serves_a_client_over_a_Unix_socket)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		const struct gyre_sim_options options = { .seed = seed, .faults = 100000 };
		struct seen seen = { 0 };
		struct gyre_sim *sim;

		cr_assert_eq(gyre_sim_create(&options, &sim), 0);
		(void)sim_add(sim, "alpha", serve_and_call, &seen);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(300)), 0);
		cr_assert(seen.served);
		gyre_sim_destroy(sim);
	}
}

/* ---- gyre on both sides ---- */

struct dialling {
	uint32_t opened;
	uint32_t closed;
	uint32_t echoed;
};

static int serve_for_ever(void *arg)
{
	const struct gyre_acceptor_options listening = { .bind = "tcp://[::]:7000",
							 .init_channel = init_echo };
	struct gyre_system *system;

	(void)arg;
	cr_assert_eq(gyre_system_create(NULL, &system), 0);
	cr_assert_eq(gyre_system_listen(system, &listening, NULL), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	net_pause(GYRE_SECONDS(3600));
	return 0;
}

static void count_reports(struct gyre_stack *stack, const struct gyre_connection *report,
			  struct gyre_channel *channel, void *arg)
{
	struct dialling *dialling = (struct dialling *)arg;

	(void)stack;
	(void)channel;
	dialling->opened += report->step == GYRE_CONNECTION_OPEN;
	dialling->closed += report->step == GYRE_CONNECTION_CLOSED;
}

static void send_hello(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *hello = gyre_context_buffer(ctx);

	cr_assert_eq(gyre_buffer_append(hello, "hello", 5), 0);
	(void)gyre_context_write(ctx, hello);
	gyre_context_fire_active(ctx);
}

static void count_echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	((struct dialling *)gyre_context_arg(ctx))->echoed += (uint32_t)gyre_buffer_bytes(data);
	gyre_buffer_destroy(data);
}

static int init_hello(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler hello = { .name = "hello",
						   .active = send_hello,
						   .read = count_echo };

	return gyre_pipeline_add(channel, GYRE_LAST, &hello, arg);
}

static int dial(void *arg)
{
	const struct gyre_connect_options options = {
		.to = "tcp://alpha:7000",
		.init_channel = init_hello,
		.init_arg = arg,
		.channel.keep_alive_ns = GYRE_SECONDS(5),
		.retries_max = GYRE_RETRIES_UNLIMITED,
		.report = count_reports,
		.report_arg = arg,
	};
	struct gyre_system *system;

	cr_assert_eq(gyre_system_create(NULL, &system), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_connect(system, &options, NULL), 0);
	net_pause(GYRE_SECONDS(3600));
	return 0;
}

Test(sim_echo, dials_a_host_by_its_name_and_again_when_it_has_crashed)
{
	struct dialling dialling = { 0 };
	struct gyre_sim *sim = sim_make(3);
	uint32_t alpha = sim_add(sim, "alpha", serve_for_ever, NULL);

	(void)sim_add(sim, "beta", dial, &dialling);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert_eq(dialling.opened, 1);
	cr_assert_eq(dialling.echoed, 5);
	cr_assert_eq(gyre_sim_crash(sim, alpha), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(30)), 0);
	cr_assert_eq(dialling.closed, 1); /* it is silent, and was asked */
	cr_assert_eq(gyre_sim_restart(sim, alpha), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(200)), 0);
	cr_assert_eq(dialling.opened, 2);
	cr_assert_eq(dialling.echoed, 10);
	gyre_sim_destroy(sim);
}

/* ---- trouble of all kinds ---- */

enum { TROUBLES = 60 };

struct calling {
	uint32_t tries;
	uint32_t whole;
	uint64_t last_whole_ns;
	struct gyre_sim *sim;
};

/* Whether all came back. */
static bool try_to_echo(void)
{
	const struct timeval patience = { .tv_sec = 10 };
	char bytes[20000];
	char back[sizeof(bytes)];
	size_t done = 0;
	ssize_t count = 1;
	int fd = net_connect(0, NET_PORT);

	if (fd < 0) {
		return false;
	}
	memset(bytes, 'x', sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) == sizeof(bytes)) {
		while (done < sizeof(bytes) && count > 0) {
			count = recv(fd, back + done, sizeof(back) - done, 0);
			done += count > 0 ? (size_t)count : 0;
		}
	}
	cr_assert_eq(memcmp(bytes, back, done), 0);
	(void)close(fd);
	return done == sizeof(bytes);
}

static void *echo_for_ever(void *arg)
{
	struct calling *calling = (struct calling *)arg;

	for (;;) {
		calling->tries++;
		if (try_to_echo()) {
			calling->whole++;
			calling->last_whole_ns = gyre_sim_now(calling->sim);
		}
		net_pause(GYRE_MILLISECONDS(50));
	}
	return NULL;
}

static int call_for_ever(void *arg)
{
	pthread_t threads[3];

	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, echo_for_ever, arg), 0);
	}
	net_pause(GYRE_SECONDS(1000000));
	return 0;
}

static void make_trouble(struct gyre_sim *sim)
{
	uint64_t kind = gyre_sim_random(sim) % 8;
	const struct gyre_sim_link link = { .delay_ns = gyre_sim_random(sim) % GYRE_MILLISECONDS(9),
					    .jitter_ns =
						    gyre_sim_random(sim) % GYRE_MILLISECONDS(9),
					    .loss = (uint32_t)(gyre_sim_random(sim) % 300000),
					    .clog = kind == 0,
					    .cut = kind == 1 };
	uint32_t from = (uint32_t)(gyre_sim_random(sim) % 2);

	if (kind == 2) {
		cr_assert_eq(gyre_sim_crash(sim, from), 0);
		cr_assert_eq(gyre_sim_run(sim, gyre_sim_random(sim) % GYRE_SECONDS(2)), 0);
		cr_assert_eq(gyre_sim_restart(sim, from), 0);
	} else if (kind == 3) {
		gyre_sim_heal(sim);
	} else {
		cr_assert_eq(gyre_sim_link_set(sim, from, 1 - from, &link), 0);
	}
}

static uint64_t run_with_trouble(uint64_t seed)
{
	const struct gyre_sim_options options = { .seed = seed, .faults = 10000 };
	struct calling calling = { 0 };
	uint64_t healed_ns;
	uint64_t digest;
	struct gyre_sim *sim;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	calling.sim = sim;
	(void)sim_add(sim, "alpha", serve_for_ever, NULL);
	(void)sim_add(sim, "beta", call_for_ever, &calling);
	for (uint32_t i = 0; i < TROUBLES; i++) {
		cr_assert_eq(gyre_sim_run(sim, gyre_sim_random(sim) % GYRE_SECONDS(2)), 0);
		make_trouble(sim);
	}
	gyre_sim_heal(sim);
	healed_ns = gyre_sim_now(sim);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(30)), 0);
	cr_assert(calling.whole > 0 && calling.last_whole_ns > healed_ns + GYRE_SECONDS(29));
	digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_echo, serves_again_after_all_kinds_of_trouble)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		cr_assert_eq(run_with_trouble(seed), run_with_trouble(seed));
	}
}
