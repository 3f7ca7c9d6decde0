/*
 * A TCP echo server on libuv, as its users write one: uv_read_start() with a buffer from a free
 * list, a write back that first tries the socket at once (uv_try_write) and queues only what that
 * leaves, and no reading from a peer that does not take what is queued. The loop is the default one
 * of one thread.
 */
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include "common/options.h"
#include "limit/echo.h"

enum { RECEIVE_BYTES = 64 * 1024, BACKLOG = 4096 };

/* A buffer, and the request that writes it where it has to wait. */
struct block {
	uv_write_t write;
	struct block *next;
	char data[RECEIVE_BYTES];
};

struct server {
	uv_loop_t loop;
	uv_tcp_t listener;
	uv_signal_t signals[2];
	struct block *spare;
	struct echo_counts counts;
};

static struct server server;

/* ---- buffers ---- */

static void get_block(uv_handle_t *handle, size_t suggested_bytes, uv_buf_t *ret_buffer)
{
	struct block *block = server.spare;

	(void)handle;
	(void)suggested_bytes;
	if (block != NULL) {
		server.spare = block->next;
	} else {
		block = malloc(sizeof(*block));
	}
	*ret_buffer =
		block == NULL ? uv_buf_init(NULL, 0) : uv_buf_init(block->data, RECEIVE_BYTES);
}

static void put_block(struct block *block)
{
	block->next = server.spare;
	server.spare = block;
}

static struct block *block_of(char *data)
{
	return (struct block *)(void *)(data - offsetof(struct block, data));
}

/* ---- connections ---- */

static void connection_closed(uv_handle_t *handle)
{
	free(handle);
}

static void drop(uv_stream_t *stream)
{
	if (!uv_is_closing((uv_handle_t *)stream)) {
		uv_close((uv_handle_t *)stream, connection_closed);
	}
}

static void received(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer);

static void written(uv_write_t *write, int status)
{
	uv_stream_t *stream = write->handle;

	put_block((struct block *)(void *)write);
	if (status < 0) {
		drop(stream);
	} else if (!uv_is_closing((uv_handle_t *)stream)) {
		(void)uv_read_start(stream, get_block, received);
	}
}

/* Writes what the socket takes; the rest waits, and nothing more is read until it is gone. */
static void answer(uv_stream_t *stream, struct block *block, size_t bytes)
{
	uv_buf_t out = uv_buf_init(block->data, (unsigned int)bytes);
	int done = uv_try_write(stream, &out, 1);

	if (done == (int)bytes) {
		put_block(block);
		return;
	}
	if (done < 0 && done != UV_EAGAIN) {
		put_block(block);
		drop(stream);
		return;
	}
	done = done < 0 ? 0 : done;
	out = uv_buf_init(block->data + done, (unsigned int)(bytes - (size_t)done));
	(void)uv_read_stop(stream);
	if (uv_write(&block->write, stream, &out, 1, written) < 0) {
		put_block(block);
		drop(stream);
	}
}

static void received(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	if (count > 0) {
		server.counts.requests++;
		server.counts.bytes += (uint64_t)count;
		answer(stream, block_of(buffer->base), (size_t)count);
		return;
	}
	if (buffer->base != NULL) {
		put_block(block_of(buffer->base));
	}
	if (count < 0) {
		drop(stream);
	}
}

static void connected(uv_stream_t *listener, int status)
{
	uv_tcp_t *connection;

	if (status < 0) {
		return;
	}
	connection = malloc(sizeof(*connection));
	if (connection == NULL) {
		return;
	}
	(void)uv_tcp_init(&server.loop, connection);
	if (uv_accept(listener, (uv_stream_t *)connection) < 0) {
		drop((uv_stream_t *)connection);
		return;
	}
	server.counts.connections++;
	(void)uv_tcp_nodelay(connection, 1);
	if (uv_read_start((uv_stream_t *)connection, get_block, received) < 0) {
		drop((uv_stream_t *)connection);
	}
}

/* ---- the program ---- */

static void signalled(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

static int serve(uint16_t port)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	struct sockaddr_in address;
	int r = uv_loop_init(&server.loop);

	for (int i = 0; r == 0 && i < 2; i++) {
		(void)uv_signal_init(&server.loop, &server.signals[i]);
		r = uv_signal_start(&server.signals[i], signalled, numbers[i]);
	}
	if (r == 0) {
		r = uv_ip4_addr("127.0.0.1", port, &address);
	}
	if (r == 0) {
		r = uv_tcp_init(&server.loop, &server.listener);
	}
	if (r == 0) {
		r = uv_tcp_bind(&server.listener, (const struct sockaddr *)&address, 0);
	}
	if (r == 0) {
		r = uv_listen((uv_stream_t *)&server.listener, BACKLOG, connected);
	}
	if (r == 0) {
		(void)uv_run(&server.loop, UV_RUN_DEFAULT);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct echo_options options = { .port = 7000, .cpu = -1 };
	int r;

	echo_options_parse(&options, argc, argv, "A TCP echo server on libuv.", NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	r = serve((uint16_t)options.port);
	if (r < 0) {
		return perf_fail("cannot serve", r); /* libuv's errors are negative errnos */
	}
	echo_print("peers/echo_uv", &options, &server.counts);
	return 0;
}
