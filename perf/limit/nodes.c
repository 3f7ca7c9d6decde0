/*
 * The ring over processes with nothing round it: frames as nodes of gyre send them when one is like
 * the one before, a head of 4 bytes and a payload, over TCP on loopback. A process takes with one
 * read what has come, copies the frames that are whole, and passes them on with one write; both
 * block. With two processes and the size of an ask it is asks and replies too.
 *
 * The parent makes all connections, then watches: what it counts are the laps that the first
 * process writes down, and the processor time of all.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cpu.h"
#include "common/endpoint.h"
#include "common/options.h"
#include "common/report.h"

enum {
	HEAD_BYTES = 4,
	BUFFER_BYTES = 1 << 18,
	PROCESSES_MAX = 100,
	PAYLOAD_MAX = 1 << 16,
	IN_FLIGHT_BYTES_MAX = 1 << 21, /* what sockets hold, or all would wait to write */
};

static const uint64_t warm_up_ns = 1000000000;

static struct {
	int64_t nodes;
	int64_t messages;
	int64_t payload;
	uint64_t duration_ns;
	bool pin;
	bool json;
} options = { .nodes = 10, .messages = 1024, .duration_ns = UINT64_C(5000000000) };

struct ring {
	_Atomic uint64_t *laps; /* shared by all processes */
	pid_t processes[PROCESSES_MAX];
	int in[PROCESSES_MAX];
	int out[PROCESSES_MAX];
};

struct reading {
	uint64_t laps;
	uint64_t cpu_ns;
	uint64_t at_ns;
};

/* ---- a process ---- */

struct member {
	int in;
	int out;
	_Atomic uint64_t *laps; /* NULL: others count */
	size_t held;		/* bytes of @input: the beginning of a frame */
	unsigned char input[BUFFER_BYTES];
	unsigned char output[BUFFER_BYTES];
};

static bool write_all(int fd, const unsigned char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t written = write(fd, bytes, count);

		if (written <= 0) {
			return false;
		}
		bytes += written;
		count -= (size_t)written;
	}
	return true;
}

static size_t frame_bytes(const unsigned char *frame)
{
	uint32_t payload;

	memcpy(&payload, frame, sizeof(payload));
	return HEAD_BYTES + (size_t)payload;
}

/* How many bytes of whole frames were copied. */
static size_t copy_frames(struct member *member, size_t count, uint64_t *ret_frames)
{
	size_t at = 0;

	*ret_frames = 0;
	while (count - at >= HEAD_BYTES && count - at >= frame_bytes(member->input + at)) {
		size_t bytes = frame_bytes(member->input + at);

		memcpy(member->output + at, member->input + at, bytes);
		at += bytes;
		++*ret_frames;
	}
	return at;
}

static bool pass_on(struct member *member)
{
	ssize_t count = read(member->in, member->input + member->held, BUFFER_BYTES - member->held);
	uint64_t frames;
	size_t whole;

	if (count <= 0) {
		return false;
	}
	count += (ssize_t)member->held;
	whole = copy_frames(member, (size_t)count, &frames);
	if (member->laps != NULL) {
		atomic_store_explicit(member->laps,
				      atomic_load_explicit(member->laps, memory_order_relaxed) +
					      frames,
				      memory_order_relaxed);
	}
	member->held = (size_t)count - whole;
	memmove(member->input, member->input + whole, member->held);
	return write_all(member->out, member->output, whole);
}

static bool send_off(struct member *member)
{
	uint32_t payload = (uint32_t)options.payload;

	memcpy(member->output, &payload, sizeof(payload));
	for (int64_t i = 0; i < options.messages; i++) {
		if (!write_all(member->out, member->output, HEAD_BYTES + payload)) {
			return false;
		}
	}
	return true;
}

static int run_member(const struct ring *ring, int64_t index)
{
	static struct member member;
	int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool good;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	member.in = ring->in[index];
	member.out = ring->out[index];
	member.laps = index == 0 ? ring->laps : NULL;
	/* Neighbours share a CPU. */
	good = perf_pin(options.pin ? (int)(index * cpus / options.nodes) : -1) == 0 &&
	       (index != 0 || send_off(&member));
	while (good) {
		good = pass_on(&member);
	}
	return EXIT_FAILURE;
}

/* ---- the parent ---- */

static int connect_neighbours(struct ring *ring, int64_t from)
{
	struct perf_endpoint endpoint;
	int64_t to = (from + 1) % options.nodes;
	int listener;
	int r = perf_endpoint_parse("127.0.0.1", 0, &endpoint);

	if (r < 0) {
		return r;
	}
	listener = perf_endpoint_listen(&endpoint, 0);
	if (listener < 0) {
		return listener;
	}
	if (getsockname(listener, &endpoint.address.any, &endpoint.bytes) < 0) {
		return -errno;
	}
	ring->out[from] = perf_endpoint_connect(&endpoint);
	if (ring->out[from] < 0) {
		return ring->out[from];
	}
	ring->in[to] = accept(listener, NULL, NULL);
	(void)close(listener);
	return ring->in[to] < 0 ? -errno : 0;
}

static int start(struct ring *ring)
{
	int r = 0;

	ring->laps = (_Atomic uint64_t *)mmap(NULL, sizeof(*ring->laps), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ring->laps == MAP_FAILED) {
		return -errno;
	}
	for (int64_t i = 0; i < options.nodes && r == 0; i++) {
		r = connect_neighbours(ring, i);
	}
	for (int64_t i = 0; i < options.nodes && r == 0; i++) {
		ring->processes[i] = fork();
		if (ring->processes[i] == 0) {
			_exit(run_member(ring, i));
		}
		r = ring->processes[i] < 0 ? -errno : 0;
	}
	return r;
}

static void stop(const struct ring *ring)
{
	for (int64_t i = 0; i < options.nodes; i++) {
		if (ring->processes[i] > 0) {
			(void)kill(ring->processes[i], SIGKILL);
			(void)waitpid(ring->processes[i], NULL, 0);
		}
	}
}

static int read_all(const struct ring *ring, struct reading *ret_reading)
{
	struct perf_cpu_time time;

	ret_reading->cpu_ns = 0;
	for (int64_t i = 0; i < options.nodes; i++) {
		int r = perf_cpu_time(ring->processes[i], &time);

		if (r < 0) {
			return r;
		}
		ret_reading->cpu_ns += time.total_ns;
	}
	ret_reading->laps = atomic_load_explicit(ring->laps, memory_order_relaxed);
	ret_reading->at_ns = perf_now_ns();
	return 0;
}

static void pause_for(uint64_t duration_ns)
{
	struct timespec left = { .tv_sec = (time_t)(duration_ns / 1000000000),
				 .tv_nsec = (long)(duration_ns % 1000000000) };

	while (nanosleep(&left, &left) < 0 && errno == EINTR) {
	}
}

static void report(const struct reading *from, const struct reading *to)
{
	double seconds = (double)(to->at_ns - from->at_ns) / 1e9;
	double laps = (double)(to->laps - from->laps);
	double hops = laps * (double)options.nodes;
	struct perf_report report;

	perf_report_init(&report, "limit/nodes");
	perf_report_number(&report, "laps_per_s", laps / seconds);
	perf_report_number(&report, "hops_per_s", hops / seconds);
	perf_report_number(&report, "cpu_ns_per_hop", (double)(to->cpu_ns - from->cpu_ns) / hops);
	perf_report_number(&report, "payload_bytes_per_s",
			   hops * (double)options.payload / seconds);
	perf_report_print(&report, options.json);
}

int main(int argc, char **argv)
{
	const struct perf_option table[] = {
		{ "nodes", PERF_OPTION_NUMBER, "processes in the ring", &options.nodes, 2,
		  PROCESSES_MAX, NULL },
		{ "messages", PERF_OPTION_NUMBER, "tokens", &options.messages, 1, 1 << 16, NULL },
		{ "payload", PERF_OPTION_NUMBER, "bytes of each", &options.payload, 0, PAYLOAD_MAX,
		  NULL },
		{ "seconds", PERF_OPTION_SECONDS, "how long laps are counted", &options.duration_ns,
		  0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind the processes to CPUs, neighbours to the same",
		  &options.pin, 0, 0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	static struct ring ring;
	struct reading from;
	struct reading to;
	int r;

	perf_options_parse(argc, argv, "A ring of processes over plain sockets.", table,
			   sizeof(table) / sizeof(table[0]));
	if (options.messages * (HEAD_BYTES + options.payload) > IN_FLIGHT_BYTES_MAX) {
		return perf_fail("more is in flight than sockets hold", -EINVAL);
	}
	r = start(&ring);
	if (r == 0) {
		pause_for(warm_up_ns);
		r = read_all(&ring, &from);
	}
	if (r == 0) {
		pause_for(options.duration_ns);
		r = read_all(&ring, &to);
	}
	stop(&ring);
	if (r != 0) {
		return perf_fail("cannot run", r);
	}
	report(&from, &to);
	return 0;
}
