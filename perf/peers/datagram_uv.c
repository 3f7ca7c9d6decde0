/*
 * A UDP echo server on libuv: uv_udp_recv_start() with one buffer, and each datagram sent back at
 * once with uv_udp_try_send(). What the socket does not take is lost, as is the way of datagrams.
 */
#include <stdlib.h>
#include <uv.h>

#include "common/options.h"
#include "limit/echo.h"

enum { DATAGRAM_BYTES = 64 * 1024, SOCKET_BYTES = 4 * 1024 * 1024 };

static struct {
	uv_loop_t loop;
	uv_udp_t socket;
	uv_signal_t signals[2];
	struct echo_counts counts;
	char buffer[DATAGRAM_BYTES];
} server;

static void get_buffer(uv_handle_t *handle, size_t suggested_bytes, uv_buf_t *ret_buffer)
{
	(void)handle;
	(void)suggested_bytes;
	*ret_buffer = uv_buf_init(server.buffer, DATAGRAM_BYTES);
}

static void received(uv_udp_t *socket, ssize_t count, const uv_buf_t *buffer,
		     const struct sockaddr *from, unsigned int flags)
{
	uv_buf_t out;

	if (count < 0 || from == NULL || (flags & UV_UDP_PARTIAL) != 0) {
		return;
	}
	server.counts.requests++;
	server.counts.bytes += (uint64_t)count;
	out = uv_buf_init(buffer->base, (unsigned int)count);
	(void)uv_udp_try_send(socket, &out, 1, from);
}

static void signalled(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

static void enlarge(void)
{
	int bytes = SOCKET_BYTES;

	(void)uv_recv_buffer_size((uv_handle_t *)&server.socket, &bytes);
	bytes = SOCKET_BYTES;
	(void)uv_send_buffer_size((uv_handle_t *)&server.socket, &bytes);
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
		r = uv_udp_init(&server.loop, &server.socket);
	}
	if (r == 0) {
		r = uv_udp_bind(&server.socket, (const struct sockaddr *)&address, 0);
	}
	if (r == 0) {
		enlarge();
		r = uv_udp_recv_start(&server.socket, get_buffer, received);
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

	echo_options_parse(&options, argc, argv, "A UDP echo server on libuv.", NULL);
	r = serve((uint16_t)options.port);
	if (r < 0) {
		return perf_fail("cannot serve", r);
	}
	echo_print("peers/datagram_uv", &options, &server.counts);
	return 0;
}
