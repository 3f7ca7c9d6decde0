/*
 * Simulation of step 5: clients on five hosts, seed after seed, and all hear the same in one order.
 *
 *	chat_sim [--planted] [--seed FIRST] [--seeds COUNT] [--trace FILE]
 *
 * The server is the step's own main(). Two hosts speak and three hear. With --planted the group of
 * announcers takes turns, instead of one announcer for each room, which is the bug that step 5 was
 * written against. Not all runs show it; a seed that does shows it each time.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gyre/gyre.h>
#include <gyre/sim.h>

static bool planted;

int chat_main(int argc, char **argv);

/* The step is unchanged, but for its routing, and does not say for each seed where it listens. */
#define GYRE_ROUTING_BY_KEY (planted ? GYRE_ROUTING_ROUND_ROBIN : GYRE_ROUTING_BY_KEY)
#define printf(...)	    (void)0
#define main		    chat_main
/* NOLINTNEXTLINE(bugprone-suspicious-include): the whole of it is wanted */
#include "step5.c"
#undef main
#undef printf
#undef GYRE_ROUTING_BY_KEY

enum { SPEAKERS = 2, HEARERS = 3, CLIENTS = SPEAKERS + HEARERS, LINES = 50, PORT = 7001 };
enum { HEARD = SPEAKERS * LINES, TEXT_BYTES = 1024 };

/* ---- clients, each on a host of its own ---- */

struct client {
	char name[16];
	char lines[HEARD][32]; /* that others have said */
	uint32_t count;
};

static void pause_for(time_t seconds)
{
	const struct timespec time = { .tv_sec = seconds };

	(void)nanosleep(&time, NULL);
}

static bool send_text(int fd, const char *text)
{
	ssize_t bytes = (ssize_t)strlen(text);

	return send(fd, text, (size_t)bytes, MSG_NOSIGNAL) == bytes;
}

/* Connects to the chat, and joins a room; a negative number if that fails. */
static int enter_chat(const char *name)
{
	const struct sockaddr_in chat = { .sin_family = AF_INET,
					  .sin_port = htons(PORT),
					  .sin_addr.s_addr = inet_addr("10.0.0.1") };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char text[64];

	(void)snprintf(text, sizeof(text), "/name %s\n/join lobby\n", name);
	pause_for(1); /* until the chat listens */
	if (connect(fd, (const struct sockaddr *)&chat, sizeof(chat)) < 0 || !send_text(fd, text)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static int speak(void *arg)
{
	const struct client *client = arg;
	int fd = enter_chat(client->name);
	bool sent = fd >= 0;
	char line[32];

	pause_for(1); /* until all are there */
	for (uint32_t i = 0; i < LINES && sent; i++) {
		(void)snprintf(line, sizeof(line), "line %u\n", i);
		sent = send_text(fd, line);
	}
	pause_for(60);
	return close(fd);
}

/* Keeps the lines of speakers, and what is left of the last one. */
static void keep_lines(struct client *client, char *text)
{
	char *line = text;
	char *end;

	while ((end = strchr(line, '\n')) != NULL) {
		*end = 0;
		if (line[0] == '<' && client->count < HEARD) {
			(void)snprintf(client->lines[client->count++], sizeof(client->lines[0]),
				       "%s", line);
		}
		line = end + 1;
	}
	memmove(text, line, strlen(line) + 1);
}

static int listen_to_all(void *arg)
{
	struct client *client = arg;
	char text[TEXT_BYTES] = "";
	int fd = enter_chat(client->name);
	ssize_t bytes = 1;

	while (bytes > 0 && client->count < HEARD) {
		size_t have = strlen(text);

		bytes = recv(fd, text + have, sizeof(text) - 1 - have, 0);
		text[have + (bytes > 0 ? (size_t)bytes : 0)] = 0;
		keep_lines(client, text);
	}
	pause_for(60);
	return close(fd);
}

/* ---- the server ---- */

static int serve(void *arg)
{
	char name[] = "chat";
	char bind[] = "tcp://[::]:7001";
	char *argv[] = { name, bind, NULL };

	(void)arg;
	return chat_main(2, argv);
}

/* ---- a run ---- */

struct run {
	struct client clients[CLIENTS]; /* those that speak come first */
	char wrong[256];
};

static bool is_done(void *arg)
{
	const struct run *run = arg;

	for (uint32_t i = SPEAKERS; i < CLIENTS; i++) {
		if (run->clients[i].count < HEARD) {
			return false;
		}
	}
	return true;
}

/* Whether all have heard the same. */
static bool compare(struct run *run)
{
	const struct client *first = &run->clients[SPEAKERS];

	for (const struct client *other = first + 1; other < &run->clients[CLIENTS]; other++) {
		for (uint32_t i = 0; i < HEARD; i++) {
			if (strcmp(first->lines[i], other->lines[i]) != 0) {
				(void)snprintf(run->wrong, sizeof(run->wrong),
					       "%s heard \"%s\" as number %u, and %s \"%s\"",
					       first->name, first->lines[i], i, other->name,
					       other->lines[i]);
				return false;
			}
		}
	}
	return true;
}

static int make_hosts(struct gyre_sim *sim, struct run *run)
{
	const struct gyre_sim_link link = { .jitter_ns = GYRE_MICROSECONDS(300) };
	int r = gyre_sim_host(sim, "chat", serve, NULL, NULL);

	for (uint32_t i = 0; i < CLIENTS && r == 0; i++) {
		struct client *client = &run->clients[i];
		uint32_t host = 0;

		(void)snprintf(client->name, sizeof(client->name), "%s%u",
			       i < SPEAKERS ? "speaker" : "hearer", i);
		r = gyre_sim_host(sim, client->name, i < SPEAKERS ? speak : listen_to_all, client,
				  &host);
		r = r < 0 ? r : gyre_sim_link_set(sim, 0, host, &link);
		r = r < 0 ? r : gyre_sim_link_set(sim, host, 0, &link);
	}
	return r;
}

/* One seed: 0; -EBADMSG for a bug, and what it is; or why there is no simulation. */
static int play(const struct gyre_sim_options *options, struct run *run, uint64_t *ret_digest)
{
	struct gyre_sim *sim = NULL;
	int r = gyre_sim_create(options, &sim);

	r = r < 0 ? r : make_hosts(sim, run);
	r = r < 0 ? r : gyre_sim_run_until(sim, is_done, run, GYRE_SECONDS(50));
	if (r == -ETIMEDOUT) {
		(void)snprintf(run->wrong, sizeof(run->wrong), "not all was heard");
		r = -EBADMSG;
	} else if (r == 0 && !compare(run)) {
		r = -EBADMSG;
	}
	*ret_digest = sim == NULL ? 0 : gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return r;
}

static int play_all(struct gyre_sim_options *options, uint64_t seeds)
{
	static struct run run;
	uint64_t end = options->seed + seeds;

	for (; options->seed < end; options->seed++) {
		uint64_t digest = 0;
		int r;

		memset(&run, 0, sizeof(run));
		r = play(options, &run, &digest);
		if (r == -EBADMSG) {
			printf("seed %" PRIu64 " finds a bug: %s\ndigest %016" PRIx64
			       "; once more: %s--seed %" PRIu64 " --seeds 1\n",
			       options->seed, run.wrong, digest, planted ? "--planted " : "",
			       options->seed);
			return EXIT_FAILURE;
		}
		if (r < 0) {
			(void)fprintf(stderr, "there is no simulation: %s\n", strerror(-r));
			return 2;
		}
	}
	printf("%" PRIu64 " seeds: all heard the same\n", seeds);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct gyre_sim_options options = { .seed = 1, .cpus = 4 };
	uint64_t seeds = 100;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--planted") == 0) {
			planted = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
			options.seed = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0) {
			seeds = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--trace") == 0) {
			options.trace = argv[++i];
		} else {
			(void)fprintf(stderr, "usage: chat_sim [--planted] [--seed FIRST] "
					      "[--seeds COUNT] [--trace FILE]\n");
			return 2;
		}
	}
	return play_all(&options, seeds);
}
