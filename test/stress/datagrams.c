/*
 * Systems that echo datagrams on several loops and are stopped at a random moment, while threads
 * send to them, and while another opens channels and stops them. Nothing may be left over.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>

#include "stress.h"

enum { SYSTEMS = 40, LOOPS = 3, SENDERS = 2, DELAY_US_MAX = 20000 };

static struct gyre_socket_address address;
static struct gyre_system *current;
static uint32_t outside_may_run;

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

/* One that ends as soon as it has begun, and its actor with it. */
static int init_brief(struct gyre_channel *channel, void *arg)
{
	gyre_context_close(gyre_channel_tail(channel));
	return init_echo(channel, arg);
}

static void *send_often(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;
	static const char bytes[20000];
	char answer[2000];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	check(connect(fd, (struct sockaddr *)&address.storage, address.bytes) == 0);
	while (gy_load_acquire(&outside_may_run) != 0) {
		int each = (int)stress_random(&random, 1400) + 400;

		(void)setsockopt(fd, SOL_UDP, UDP_SEGMENT, &each, sizeof(each));
		(void)send(fd, bytes, stress_random(&random, sizeof(bytes)), MSG_DONTWAIT);
		while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) >= 0) {
		}
	}
	(void)close(fd);
	return NULL;
}

static void *open_often(void *arg)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_brief };
	uint64_t random = *(const uint64_t *)arg;

	while (gy_load_acquire(&outside_may_run) != 0) {
		int r = gyre_system_datagram_open(current, &options, NULL);

		check(r == 0 || r == -ESHUTDOWN);
		stress_dawdle(&random, 3000);
	}
	return NULL;
}

static void wait_us(uint64_t us)
{
	uint64_t end_ns = gy_clock_machine_ns() + us * 1000;

	while (gy_clock_machine_ns() < end_ns) {
		gy_pause();
	}
}

static void run_one(uint64_t *random)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_address = &address };
	uint64_t seed = gy_random_next(random);
	uint64_t delay_us = stress_random(random, DELAY_US_MAX);
	pthread_t threads[SENDERS + 1];

	current = stress_create(1 + stress_random(random, LOOPS));
	check(gyre_system_datagram_open(current, &options, NULL) == 0);
	gy_store_release(&outside_may_run, 1);
	for (uint32_t i = 0; i < SENDERS; i++) {
		check(pthread_create(&threads[i], NULL, send_often, &seed) == 0);
	}
	check(pthread_create(&threads[SENDERS], NULL, open_often, &seed) == 0);
	check(gyre_system_start(current) == 0);
	wait_us(delay_us);
	gyre_system_stop(current);
	wait_us(delay_us % 2000);
	gy_store_release(&outside_may_run, 0);
	for (uint32_t i = 0; i < SENDERS + 1; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	(void)stress_end(current);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		run_one(&random);
	}
	return 0;
}
