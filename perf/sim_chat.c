/*
 * Simulation: how much faster than real a chat goes whose rooms live on nodes. Five nodes are
 * gyre-chat as its main() is; a crowd on a host of its own has twenty clients at each. Each client
 * is in one of 25 rooms, whose four members are at four nodes, and says a line a second.
 *
 * What the crowd itself costs is a part of the figure, so it waits by epoll and looks at no more
 * than has come. A line that does not come to all others in the room makes the program fail.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gyre/gyre.h>
#include <gyre/sim.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum {
	NODES = 5,
	CLIENTS_OF_NODE = 20,
	CLIENTS = NODES * CLIENTS_OF_NODE,
	ROOMS = 25,
	HEARERS = CLIENTS / ROOMS - 1, /* of a line: the others in the room */
	PORT = 7001,
	ARGUMENTS = 14,
	WARM_SECONDS = 20, /* in which nodes find each other and all clients come to be in */
	LINE_BYTES = 512,
};

/* The clients speak one after the other, once a second. */
static const uint64_t pace_ns = GYRE_SECONDS(1) / CLIENTS;

struct settings {
	int64_t seconds;
	int64_t seed;
	int64_t loops;
	bool json;
};

struct node {
	uint32_t id;
	char peers[200];
	char number[32];
	char loops[32];
	char *arguments[ARGUMENTS + 1];
};

struct client {
	int fd;
	bool is_in; /* its room */
	char rest[LINE_BYTES];
	size_t rest_bytes;
};

struct crowd {
	struct client clients[CLIENTS];
	uint64_t said;
	uint64_t heard;
	uint32_t in;
	const char *failure;
};

int chat_main(int argc, char **argv);

/* ---- nodes ---- */

static int be_node(void *arg)
{
	static char name[] = "gyre-chat";
	static char quiet[] = "--quiet";
	static char listens[] = "--listen=tcp://[::]:9001";
	static char clear[] = "--no-encryption";
	static char secret[] = "--secret=of a benchmark, and long enough for it";
	struct node *node = (struct node *)arg;
	size_t bytes = (size_t)snprintf(node->peers, sizeof(node->peers), "--peers=");
	char *const arguments[] = { name,   quiet,	 node->loops,  listens, clear,
				    secret, node->peers, node->number, NULL };

	for (uint32_t i = 1; i <= NODES; i++) {
		if (i != node->id) {
			bytes += (size_t)snprintf(node->peers + bytes, sizeof(node->peers) - bytes,
						  "%u=tcp://node-%u:9001,", i, i);
		}
	}
	node->peers[bytes - 1] = '\0'; /* the last comma */
	(void)snprintf(node->number, sizeof(node->number), "--node=%u", node->id);
	memcpy(node->arguments, arguments, sizeof(arguments));
	return chat_main(sizeof(arguments) / sizeof(arguments[0]) - 1, node->arguments);
}

/* ---- clients ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

static void fail(struct crowd *crowd, const char *what)
{
	crowd->failure = crowd->failure == NULL ? what : crowd->failure;
}

static void type(struct crowd *crowd, const struct client *client, const char *line)
{
	ssize_t bytes = (ssize_t)strlen(line);

	if (send(client->fd, line, (size_t)bytes, MSG_NOSIGNAL) != bytes) {
		fail(crowd, "a line was not sent");
	}
}

/* The node knows nobody before it has booted. */
static int call_node(uint32_t id)
{
	const struct sockaddr_in node = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(UINT32_C(10) << 24 | (id / CLIENTS_OF_NODE + 1)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&node, sizeof(node)) < 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static void enter(struct crowd *crowd, int epoll, uint32_t id)
{
	struct client *client = &crowd->clients[id];
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = id };
	char line[64];

	client->fd = call_node(id);
	if (client->fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event) < 0) {
		fail(crowd, "a node cannot be called");
		return;
	}
	(void)snprintf(line, sizeof(line), "/join room%u\n", id % ROOMS);
	type(crowd, client, line);
}

static void speak(struct crowd *crowd, uint32_t id)
{
	if (crowd->clients[id].is_in) {
		type(crowd, &crowd->clients[id], "what is said each second\n");
		crowd->said++;
	}
}

static void hear(struct crowd *crowd, struct client *client, const char *line)
{
	if (line[0] == '<') {
		crowd->heard++;
	} else if (strncmp(line, "* you are in ", strlen("* you are in ")) == 0) {
		client->is_in = true;
		crowd->in++;
	} else if (strncmp(line, "* you ", strlen("* you ")) != 0 &&
		   strstr(line, " has joined ") == NULL) {
		fail(crowd, "a client was told something that it should not be");
	}
}

static void read_lines(struct crowd *crowd, struct client *client)
{
	ssize_t r = recv(client->fd, client->rest + client->rest_bytes,
			 sizeof(client->rest) - client->rest_bytes, MSG_DONTWAIT);
	char *line = client->rest;
	char *end;

	if (r <= 0) {
		fail(crowd, "a connection has ended");
		return;
	}
	client->rest_bytes += (size_t)r;
	while ((end = (char *)memchr(line, '\n', client->rest_bytes)) != NULL) {
		*end++ = '\0';
		client->rest_bytes -= (size_t)(end - line);
		hear(crowd, client, line);
		line = end;
	}
	memmove(client->rest, line, client->rest_bytes);
}

static int be_crowd(void *arg)
{
	const struct timespec boot = { .tv_sec = 5 };
	struct crowd *crowd = (struct crowd *)arg;
	struct epoll_event events[CLIENTS];
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t due_ns;
	uint32_t next = 0;

	(void)nanosleep(&boot, NULL);
	for (uint32_t id = 0; id < CLIENTS; id++) {
		enter(crowd, epoll, id);
	}
	due_ns = now_ns();
	while (crowd->failure == NULL) {
		uint64_t now = now_ns();
		int wait_ms = due_ns <= now ? 0 : (int)((due_ns - now) / 1000000 + 1);
		int count = epoll_wait(epoll, events, CLIENTS, wait_ms);

		for (int i = 0; i < count; i++) {
			read_lines(crowd, &crowd->clients[events[i].data.u32]);
		}
		if (now_ns() >= due_ns) {
			speak(crowd, next);
			next = (next + 1) % CLIENTS;
			due_ns += pace_ns;
		}
	}
	return 0;
}

/* ---- the measurement ---- */

static const char *failure_of(void *arg)
{
	return ((const struct crowd *)arg)->failure;
}

static int add_hosts(struct gyre_sim *sim, const struct settings *settings, struct node *nodes,
		     struct crowd *crowd)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < NODES; i++) {
		char name[32];

		nodes[i].id = i + 1;
		(void)snprintf(nodes[i].loops, sizeof(nodes[i].loops), "--loops=%d",
			       (int)settings->loops);
		(void)snprintf(name, sizeof(name), "node-%u", i + 1);
		r = gyre_sim_host(sim, name, be_node, &nodes[i], NULL);
	}
	r = r < 0 ? r : gyre_sim_host(sim, "crowd", be_crowd, crowd, NULL);
	return r < 0 ? r : gyre_sim_check(sim, "chat", failure_of, crowd);
}

/* What was said is heard some milliseconds later. */
static bool all_was_heard(const struct crowd *crowd, uint64_t said, uint64_t heard)
{
	uint64_t due = (said < CLIENTS ? 0 : said - CLIENTS) * HEARERS;

	return crowd->in == CLIENTS && said > 0 && heard >= due &&
	       heard <= (said + CLIENTS) * HEARERS;
}

static int measure(struct gyre_sim *sim, const struct settings *settings, struct crowd *crowd)
{
	struct perf_report report;
	struct perf_cpu_time before;
	struct perf_cpu_time after;
	uint64_t said;
	uint64_t heard;
	int r = gyre_sim_run(sim, GYRE_SECONDS(WARM_SECONDS));

	said = crowd->said;
	heard = crowd->heard;
	r = r < 0 ? r : perf_cpu_time(0, &before);
	r = r < 0 ? r : gyre_sim_run(sim, GYRE_SECONDS((uint64_t)settings->seconds));
	r = r < 0 ? r : perf_cpu_time(0, &after);
	if (r < 0) {
		return r;
	}
	said = crowd->said - said;
	heard = crowd->heard - heard;
	perf_report_init(&report, "sim_chat");
	perf_report_number(&report, "virtual_s", (double)settings->seconds);
	perf_report_number(&report, "lines_per_virtual_s",
			   (double)said / (double)settings->seconds);
	perf_report_number(&report, "virtual_s_per_cpu_s",
			   (double)settings->seconds * 1e9 /
				   (double)perf_cpu_time_since(&before, &after).total_ns);
	perf_report_print(&report, settings->json);
	return all_was_heard(crowd, said, heard) ? 0 : -EBADMSG;
}

int main(int argc, char **argv)
{
	static struct node nodes[NODES];
	static struct crowd crowd;
	struct settings settings = { .seconds = 120, .seed = 1, .loops = 1 };
	const struct perf_option options[] = {
		{ "seconds", PERF_OPTION_NUMBER, "virtual ones that are measured",
		  &settings.seconds, 2, 1000000, NULL },
		{ "seed", PERF_OPTION_NUMBER, "of the simulation", &settings.seed, 0, INT64_MAX,
		  NULL },
		{ "loops", PERF_OPTION_NUMBER, "of each node", &settings.loops, 1, 64, NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_sim_options simulated = { 0 };
	struct gyre_sim *sim = NULL;
	int r;

	perf_options_parse(argc, argv, "how much faster than real a chat is simulated", options,
			   sizeof(options) / sizeof(options[0]));
	simulated.seed = (uint64_t)settings.seed;
	r = gyre_sim_create(&simulated, &sim);
	r = r < 0 ? r : add_hosts(sim, &settings, nodes, &crowd);
	r = r < 0 ? r : measure(sim, &settings, &crowd);
	if (r == -ENOTRECOVERABLE) {
		(void)fprintf(stderr, "sim_chat: %s\n", gyre_sim_failure(sim));
	}
	gyre_sim_destroy(sim);
	return r == 0 ? EXIT_SUCCESS : perf_fail("simulating", r);
}
