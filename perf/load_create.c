/*
 * How a load client comes to be and ends: its ring, its buffers, its pattern and its connections.
 * Connecting is done one after the other with plain system calls; nothing is measured yet.
 */
#include "load_client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/endpoint.h"

enum {
	BUFFER_COUNT = 1024,
	SCRATCH_BYTES = 1024 * 1024,
	SUBMISSIONS = 1024,
	COMPLETIONS = 8192,
};

void load_client_give_buffer(struct load_client *client, uint16_t buffer)
{
	bool verify = client->settings.verify;

	io_uring_buf_ring_add(client->buffers,
			      client->memory + (verify ? (size_t)buffer * LOAD_BUFFER_BYTES : 0),
			      verify ? LOAD_BUFFER_BYTES : SCRATCH_BYTES, buffer,
			      io_uring_buf_ring_mask(BUFFER_COUNT), 0);
	io_uring_buf_ring_advance(client->buffers, 1);
}

static int open_connection(struct load_client *client, uint32_t index)
{
	const struct load_settings *settings = &client->settings;
	struct perf_endpoint endpoint;
	struct load_connection *connection;
	int r = perf_endpoint_parse(settings->host, settings->port, &endpoint);

	if (r < 0) {
		return r;
	}
	connection = calloc(1, sizeof(*connection) + settings->depth * sizeof(uint64_t));
	if (connection == NULL) {
		return -ENOMEM;
	}
	client->connections[index] = connection;
	connection->start = (uint32_t)((uint64_t)index * 7919 % LOAD_PATTERN_BYTES);
	connection->fd = perf_endpoint_connect(&endpoint);
	if (connection->fd < 0) {
		return connection->fd;
	}
	client->open++;
	return 0;
}

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int make_buffers(struct load_client *client)
{
	const struct load_settings *settings = &client->settings;
	size_t bytes = (size_t)settings->size_bytes * settings->depth;
	uint32_t random = 1;

	bytes = LOAD_PATTERN_BYTES + (bytes > LOAD_BUFFER_BYTES ? bytes : LOAD_BUFFER_BYTES);
	client->connections = calloc(settings->connections, sizeof(client->connections[0]));
	client->buffers = map(BUFFER_COUNT * sizeof(struct io_uring_buf));
	client->memory = map((size_t)BUFFER_COUNT * LOAD_BUFFER_BYTES);
	client->pattern = malloc(bytes);
	if (client->connections == NULL || client->buffers == NULL || client->memory == NULL ||
	    client->pattern == NULL) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < bytes; i++) {
		random = random * 1664525 + 1013904223;
		client->pattern[i] = i < LOAD_PATTERN_BYTES
					     ? (char)(random >> 24)
					     : client->pattern[i - LOAD_PATTERN_BYTES];
	}
	return 0;
}

static int make_ring(struct load_client *client)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_COOP_TASKRUN |
			 IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL,
		.cq_entries = COMPLETIONS,
	};
	struct io_uring_buf_reg registration = {
		.ring_addr = (uint64_t)(uintptr_t)client->buffers,
		.ring_entries = BUFFER_COUNT,
	};
	int r = io_uring_queue_init_params(SUBMISSIONS, &client->ring, &params);

	if (r < 0) {
		return r;
	}
	r = io_uring_register_ring_fd(&client->ring);
	if (r >= 0) {
		r = io_uring_register_buf_ring(&client->ring, &registration, 0);
	}
	if (r < 0) {
		return r;
	}
	io_uring_buf_ring_init(client->buffers);
	for (uint32_t buffer = 0; buffer < BUFFER_COUNT; buffer++) {
		load_client_give_buffer(client, (uint16_t)buffer);
	}
	return 0;
}

int load_client_create(const struct load_settings *settings, struct load_client **ret_client)
{
	struct load_client *client = calloc(1, sizeof(*client));
	int r;

	if (client == NULL) {
		return -ENOMEM;
	}
	client->settings = *settings;
	client->ring.ring_fd = -1;
	load_client_reset(client);
	r = make_buffers(client);
	if (r == 0) {
		r = make_ring(client);
	}
	for (uint32_t i = 0; r == 0 && i < settings->connections; i++) {
		r = open_connection(client, i);
	}
	if (r < 0) {
		load_client_destroy(client);
		return r;
	}
	*ret_client = client;
	return 0;
}

void load_client_destroy(struct load_client *client)
{
	if (client == NULL) {
		return;
	}
	for (uint32_t i = 0; client->connections != NULL && i < client->settings.connections; i++) {
		struct load_connection *connection = client->connections[i];

		if (connection != NULL) {
			shutdown(connection->fd, SHUT_RDWR);
			close(connection->fd);
			free(connection);
		}
	}
	if (client->ring.ring_fd >= 0) {
		io_uring_queue_exit(&client->ring);
	}
	free(client->connections);
	free(client->pattern);
	if (client->buffers != NULL) {
		munmap(client->buffers, BUFFER_COUNT * sizeof(struct io_uring_buf));
	}
	if (client->memory != NULL) {
		munmap(client->memory, (size_t)BUFFER_COUNT * LOAD_BUFFER_BYTES);
	}
	free(client);
}
