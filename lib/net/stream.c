/*
 * Connections as TCP has them: small writes leave at once, and a peer that is silent is asked now
 * and then whether it is still there, if that is wanted. The kernel counts in seconds.
 */
#include "net/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { SILENCE_SECONDS_MAX = 32767, QUESTIONS = 10, QUESTION_SECONDS = 1 };

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int keep_alive(int fd, uint64_t silence_ns)
{
	const uint64_t second_ns = GYRE_SECONDS(1);
	int seconds = (int)((silence_ns + second_ns - 1) / second_ns);
	int r = set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);

	if (r == 0) {
		r = set(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
	}
	if (r == 0) {
		r = set(fd, IPPROTO_TCP, TCP_KEEPINTVL, QUESTION_SECONDS);
	}
	if (r == 0) {
		r = set(fd, IPPROTO_TCP, TCP_KEEPCNT, QUESTIONS);
	}
	return r;
}

bool gy_stream_is_valid(const struct gyre_channel_options *options)
{
	return options->keep_alive_ns <= GYRE_SECONDS(SILENCE_SECONDS_MAX);
}

int gy_stream_prepare(int fd, const struct gyre_channel_options *options)
{
	int r = options->allow_delay ? 0 : set(fd, IPPROTO_TCP, TCP_NODELAY, 1);

	return r == 0 && options->keep_alive_ns != 0 ? keep_alive(fd, options->keep_alive_ns) : r;
}
