/*
 * Chat: gyre-chat on five nodes, as its main() is, and a crowd of clients on another host, twenty
 * at each node. Each client has a room, whose members are at all nodes, and now and then visits
 * another one. It says a number a second, and which room it is in. What it hears must come from the
 * room that it is in, and the numbers of each client in their order and once. After the heal it
 * must hear all others that have its room; from half a minute on they are at home, for two might
 * else be out in turns.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum {
	NODES = 5,
	CLIENTS_OF_NODE = 20,
	CLIENTS = NODES * CLIENTS_OF_NODE,
	ROOMS = 25,
	MEMBERS = CLIENTS / ROOMS,
	CALLS_KEPT = 8, /* of each client, whose last numbers a hearer knows */
	LINE_BYTES = 600,
	ARGUMENTS = 14,
	PORT = 7001,
};

static const uint64_t pace_ns = GYRE_SECONDS(1);
static const uint64_t patience_ns = GYRE_SECONDS(15); /* without a line, until it calls again */

enum stage { AWAY, CALLING, OUTSIDE, INSIDE, LOOKING, LEAVING };

struct last {
	uint32_t call;
	uint32_t number;
};

struct client {
	struct chat_world *world;
	uint32_t id;
	uint32_t room; /* where it is, or wants to be */
	enum stage stage;
	int fd;
	uint32_t call;	 /* how often it has called its node: a part of its nick */
	uint32_t number; /* that it has said last, in this call */
	uint64_t due_ns;
	uint64_t heard_ns; /* when a line came */
	char rest[LINE_BYTES];
	size_t rest_bytes;
	struct last last[CLIENTS][CALLS_KEPT];
	uint64_t heard[MEMBERS]; /* numbers of each client that has the same room */
};

struct node {
	uint32_t id;
	char texts[ARGUMENTS][200];
	char *arguments[ARGUMENTS + 1];
};

struct chat_world {
	struct gyre_sim *sim;
	uint64_t at_home_ns; /* from when on nobody visits another room; 0 while there is trouble */
	struct node nodes[NODES];
	struct client clients[CLIENTS];
};

int chat_main(int argc, char **argv);

/* The room that a client has. */
static uint32_t room_of(uint32_t id)
{
	return id % ROOMS;
}

static uint32_t place_in_room(uint32_t id)
{
	return id / ROOMS;
}

#define violate(CLIENT, FORMAT, ...)                                                  \
	world_violate("client %" PRIu32 " in room %" PRIu32 " " FORMAT, (CLIENT)->id, \
		      (CLIENT)->room, ##__VA_ARGS__)

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * GYRE_SECONDS(1) + (uint64_t)now.tv_nsec;
}

/* ---- what a client does ---- */

static void set_due(struct client *client, uint64_t now)
{
	client->due_ns = now + pace_ns / 2 + gyre_sim_random(client->world->sim) % pace_ns;
}

static void hang_up(struct client *client)
{
	if (client->stage != AWAY) {
		(void)close(client->fd);
	}
	client->stage = AWAY;
}

static void call_node(struct client *client, uint64_t now)
{
	const uint32_t ip = UINT32_C(10) << 24 | (client->id / CLIENTS_OF_NODE + 1);
	const struct sockaddr_in node = { .sin_family = AF_INET,
					  .sin_port = htons(PORT),
					  .sin_addr.s_addr = htonl(ip) };

	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (client->fd < 0) {
		return;
	}
	client->stage = CALLING;
	client->heard_ns = now;
	client->rest_bytes = 0;
	client->number = 0;
	client->room = room_of(client->id);
	client->call++;
	if (connect(client->fd, (const struct sockaddr *)&node, sizeof(node)) < 0 &&
	    errno != EINPROGRESS) {
		hang_up(client);
	}
}

__attribute__((format(printf, 2, 3))) static void type(struct client *client, const char *format,
						       ...)
{
	char line[64];
	size_t done = 0;
	size_t bytes;
	va_list arguments;

	va_start(arguments, format);
	bytes = (size_t)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	while (client->stage != AWAY && done < bytes) {
		ssize_t r = send(client->fd, line + done, bytes - done, MSG_NOSIGNAL);

		if (r <= 0) {
			hang_up(client); /* a node that does not read is given up */
		} else {
			done += (size_t)r;
		}
	}
}

static bool stays_at_home(const struct client *client)
{
	const struct chat_world *world = client->world;

	return client->room == room_of(client->id) && world->at_home_ns != 0 &&
	       gyre_sim_now(world->sim) >= world->at_home_ns;
}

/* Who visits another room soon comes back. */
static void speak(struct client *client)
{
	uint64_t draw = gyre_sim_random(client->world->sim);

	if (!stays_at_home(client) && draw % (client->room == room_of(client->id) ? 30 : 3) == 0) {
		client->stage = LEAVING;
		type(client, "/leave\n");
	} else {
		type(client, "%" PRIu32 " %" PRIu32 "\n", ++client->number, client->room);
	}
}

static void act(struct client *client, uint64_t now)
{
	set_due(client, now);
	if (client->stage != AWAY && now - client->heard_ns > patience_ns) {
		hang_up(client);
	}
	switch (client->stage) {
	case AWAY:
		call_node(client, now);
		break;
	case OUTSIDE:
		type(client, "/join room%" PRIu32 "\n", client->room);
		break;
	case INSIDE:
		speak(client);
		break;
	case LEAVING:
		type(client, "/leave\n"); /* it was looked for, and could not be left */
		break;
	case CALLING:
	case LOOKING:
		break;
	}
}

/* ---- what it hears ---- */

static void hear_number(struct client *client, uint32_t id, uint32_t room, struct last said)
{
	struct last *last;

	if (id >= CLIENTS || room != client->room) {
		violate(client, "hears client %" PRIu32 " in room %" PRIu32, id, room);
		return;
	}
	last = &client->last[id][said.call % CALLS_KEPT];
	if (said.call == last->call && said.number <= last->number) {
		violate(client, "hears %" PRIu32 " of client %" PRIu32 " after %" PRIu32,
			said.number, id, last->number);
	} else if (said.call < last->call) {
		violate(client, "hears call %" PRIu32 " of client %" PRIu32 " after %" PRIu32,
			said.call, id, last->call);
	}
	*last = said;
	if (room_of(id) == room_of(client->id)) {
		client->heard[place_in_room(id)]++;
	}
}

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* Until it has left it is a member, and what it types then may be refused as it is lost. */
static bool is_member(const struct client *client)
{
	return client->stage == INSIDE || client->stage == LEAVING;
}

static void leave(struct client *client)
{
	uint64_t draw = gyre_sim_random(client->world->sim);

	client->stage = OUTSIDE;
	client->room = client->room == room_of(client->id) ? (uint32_t)(draw % ROOMS)
							   : room_of(client->id);
}

static void hear(struct client *client, const char *line)
{
	struct last said;
	uint32_t room;
	uint32_t id;

	if (sscanf(line, "<c%" SCNu32 ".%" SCNu32 "> %" SCNu32 " %" SCNu32, &id, &said.call,
		   &said.number, &room) == 4) {
		if (!is_member(client)) {
			violate(client, "hears client %" PRIu32 " though it is in no room", id);
		}
		hear_number(client, id, room, said);
	} else if (begins(line, "* you are guest")) {
		client->stage = OUTSIDE;
		type(client, "/nick c%" PRIu32 ".%" PRIu32 "\n", client->id, client->call);
	} else if (begins(line, "* you are in room")) {
		client->stage = INSIDE;
	} else if (begins(line, "* you have lost")) {
		client->stage = LOOKING;
	} else if (begins(line, "* you have left")) {
		leave(client);
	} else if (strstr(line, ": you are in no room") != NULL ||
		   strcmp(line, "* you are in no room") == 0) {
		client->stage = OUTSIDE;
	} else if (begins(line, "* somebody there has that nick")) {
		violate(client, "is told that its nick is taken, in call %" PRIu32, client->call);
	}
}

static void hear_bytes(struct client *client)
{
	char *line = client->rest;
	char *end;

	client->rest[client->rest_bytes] = '\0';
	while (client->stage != AWAY && (end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		hear(client, line);
		line = end + 1;
	}
	client->rest_bytes -= (size_t)(line - client->rest);
	memmove(client->rest, line, client->rest_bytes);
	if (client->rest_bytes == sizeof(client->rest) - 1) {
		violate(client, "hears a line that does not end");
	}
}

static void read_lines(struct client *client, uint64_t now)
{
	ssize_t r = recv(client->fd, client->rest + client->rest_bytes,
			 sizeof(client->rest) - 1 - client->rest_bytes, 0);

	if (r < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (r <= 0) {
		hang_up(client);
		return;
	}
	client->heard_ns = now;
	client->rest_bytes += (size_t)r;
	hear_bytes(client);
}

/* ---- the crowd ---- */

static int wait_for_lines(struct client *clients, struct pollfd *polled)
{
	uint64_t due_ns = UINT64_MAX;
	uint64_t now = now_ns();

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct client *client = &clients[i];

		due_ns = client->due_ns < due_ns ? client->due_ns : due_ns;
		polled[i] = (struct pollfd){ .fd = client->stage == AWAY ? -1 : client->fd,
					     .events = POLLIN };
	}
	return poll(polled, CLIENTS, due_ns <= now ? 0 : (int)((due_ns - now) / 1000000 + 1));
}

static int be_crowd(void *arg)
{
	struct client *clients = (struct client *)arg;
	struct pollfd polled[CLIENTS];

	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i].stage = AWAY;
		set_due(&clients[i], now_ns());
	}
	while (wait_for_lines(clients, polled) >= 0 || errno == EINTR) {
		uint64_t now = now_ns();

		for (uint32_t i = 0; i < CLIENTS; i++) {
			if (polled[i].fd >= 0 && polled[i].revents != 0) {
				read_lines(&clients[i], now);
			}
			if (clients[i].due_ns <= now) {
				act(&clients[i], now);
			}
		}
	}
	return errno;
}

/* ---- nodes ---- */

static void add_argument(struct node *node, uint32_t *count, const char *option, const char *value)
{
	for (uint32_t i = 0; i < 2; i++) {
		(void)snprintf(node->texts[*count], sizeof(node->texts[*count]), "%s",
			       i == 0 ? option : value);
		node->arguments[*count] = node->texts[*count];
		(*count)++;
	}
}

static int be_node(void *arg)
{
	struct node *node = (struct node *)arg;
	char peers[200] = "";
	char id[8];
	uint32_t count = 0;
	size_t bytes = 0;

	for (uint32_t i = 1; i <= NODES; i++) {
		if (i != node->id) {
			bytes += (size_t)snprintf(peers + bytes, sizeof(peers) - bytes,
						  "%s%" PRIu32 "=tcp://node-%" PRIu32 ":9001",
						  bytes == 0 ? "" : ",", i, i);
		}
	}
	(void)snprintf(id, sizeof(id), "%" PRIu32, node->id);
	add_argument(node, &count, "gyre-chat", "--quiet");
	add_argument(node, &count, "--loops", "2");
	add_argument(node, &count, "--node", id);
	add_argument(node, &count, "--listen", "tcp://[::]:9001");
	add_argument(node, &count, "--peers", peers);
	add_argument(node, &count, "--down-ms", "5000");
	add_argument(node, &count, "--no-encryption", "--secret=of a test, and long enough for it");
	return chat_main((int)count, node->arguments);
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct chat_world *world = (struct chat_world *)state;
	int r;

	world->sim = sim;
	for (uint32_t i = 0; i < NODES; i++) {
		world->nodes[i].id = i + 1;
	}
	r = world_add_nodes(sim, NODES, be_node, world->nodes, sizeof(world->nodes[0]));
	for (uint32_t i = 0; i < CLIENTS; i++) {
		world->clients[i].world = world;
		world->clients[i].id = i;
	}
	return r < 0 ? r : gyre_sim_host(sim, "crowd", be_crowd, world->clients, NULL);
}

static void healed(void *state)
{
	struct chat_world *world = (struct chat_world *)state;

	world->at_home_ns = gyre_sim_now(world->sim) + GYRE_SECONDS(30);
}

/* How much a client has heard of the member of its room of which it has heard least. */
static uint64_t progress(const void *state, uint32_t part)
{
	const struct client *client = &((const struct chat_world *)state)->clients[part];
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (i != place_in_room(part) && client->heard[i] < least) {
			least = client->heard[i];
		}
	}
	return least;
}

const struct world world_chat = {
	.name = "chat",
	.state_bytes = sizeof(struct chat_world),
	.hosts = NODES + 1,
	.trouble = TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS |
		   TROUBLE_REFUSALS,
	.steps = 20,
	.calm_seconds = 60,
	.go_on_seconds = 30,
	.build = build,
	.parts = CLIENTS,
	.healed = healed,
	.progress = progress,
};
