/*
 * Connections as TCP has them: small writes leave at once, and a peer that is silent is asked now
 * and then whether it is still there, if that is wanted. The kernel counts in seconds. How much it
 * keeps has to be said before a connection is made, for the window's scale is agreed on then.
 */
#include "net/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "channel/output/water_marks.h"
#include "net/bounds.h"
#include "net/socket_option.h"

enum { SILENCE_SECONDS_MAX = 32767, QUESTIONS = 10, QUESTION_SECONDS = 1 };

static int keep_alive(int fd, uint64_t silence_ns)
{
	const uint64_t second_ns = GYRE_SECONDS(1);
	int seconds = (int)((silence_ns + second_ns - 1) / second_ns);
	int r = gy_socket_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);

	if (r == 0) {
		r = gy_socket_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
	}
	if (r == 0) {
		r = gy_socket_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, QUESTION_SECONDS);
	}
	if (r == 0) {
		r = gy_socket_set(fd, IPPROTO_TCP, TCP_KEEPCNT, QUESTIONS);
	}
	return r;
}

int gy_stream_check(const struct gy_channels *channels, const struct gyre_channel_options *options,
		    const struct gy_log *log)
{
	const struct gy_bound bounds[] = {
		{ "keep_alive_ns", options->keep_alive_ns, GYRE_SECONDS(SILENCE_SECONDS_MAX) },
		{ "receive_buffer_bytes", options->receive_buffer_bytes, INT32_MAX },
		{ "send_buffer_bytes", options->send_buffer_bytes, INT32_MAX },
	};
	int r = gy_bounds_check(bounds, gy_countof(bounds), log);

	return r == 0 ? gy_water_marks_check(channels, options, log) : r;
}

int gy_stream_size(int fd, const struct gyre_channel_options *options)
{
	return gy_socket_size_buffers(fd, options->receive_buffer_bytes,
				      options->send_buffer_bytes);
}

int gy_stream_prepare(int fd, const struct gyre_channel_options *options)
{
	int r = gy_socket_set(fd, IPPROTO_TCP, TCP_NODELAY, !options->allow_delay);

	if (r == 0) {
		r = gy_stream_size(fd, options);
	}
	return r == 0 && options->keep_alive_ns != 0 ? keep_alive(fd, options->keep_alive_ns) : r;
}

int gy_stream_adopt(int fd, const struct gyre_channel_options *options,
		    enum gy_socket_origin origin)
{
	int r = 0;

	if (origin == GY_SOCKET_PASSED && options->keep_alive_ns == 0) {
		r = gy_socket_set(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
	}
	return r == 0 ? gy_stream_prepare(fd, options) : r;
}
