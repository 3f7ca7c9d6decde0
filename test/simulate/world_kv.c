/*
 * Keys and values: gyre-kv with two loops, as its main() is, and clients on two other hosts. A
 * client has two connections, as a rule to different loops, and keys that no other client touches.
 * It sends some commands by one of the connections, reads the replies, and knows what they must be:
 * what was set by one connection is got by either. When one breaks, it gives up both and takes new
 * keys, as nobody knows what became of the last commands. Nothing is kept on disk: when the server
 * has booted since, the former keys are gone.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum {
	CLIENT_HOSTS = 2,
	CLIENTS = 4, /* of each host */
	LINKS = 2,   /* of each client */
	KEYS = 5,    /* likewise */
	COMMANDS_MAX = 8,
	PORT = 6379,
	WAIT_S = 3,
	REPLY_BYTES = 512,
};

struct kv_world;

/* A connection, and what came by it and was not read yet. */
struct link {
	int fd;
	char bytes[2048];
	size_t count;
};

struct client {
	struct kv_world *world;
	uint32_t id;
	uint32_t call; /* a part of the names of its keys */
	uint32_t boot; /* of the server, at the end of the last call at the latest */
	uint64_t rounds;
	struct link links[LINKS];
	int64_t values[KEYS]; /* NIL: there is no such key */
	char commands[2048];
	size_t commands_bytes;
	char replies[COMMANDS_MAX][REPLY_BYTES]; /* that must come */
};

struct kv_world {
	struct gyre_sim *sim;
	uint32_t boots;
	struct client clients[CLIENT_HOSTS][CLIENTS];
};

#define NIL INT64_MIN

int kv_main(int argc, char **argv);

#define violate(CLIENT, FORMAT, ...)                                                 \
	world_violate("client %" PRIu32 ", call %" PRIu32 ": " FORMAT, (CLIENT)->id, \
		      (CLIENT)->call, __VA_ARGS__)

static uint32_t draw(const struct client *client, uint32_t count)
{
	return (uint32_t)(gyre_sim_random(client->world->sim) % count);
}

/* ---- connections ---- */

static void hang_up(struct client *client)
{
	for (uint32_t i = 0; i < LINKS; i++) {
		if (client->links[i].fd >= 0) {
			(void)close(client->links[i].fd);
		}
		client->links[i] = (struct link){ .fd = -1 };
	}
	client->boot = client->world->boots;
}

/* The next line of the replies, without its end, as text. */
static bool read_line(struct link *link, char text[REPLY_BYTES])
{
	const char *end;
	size_t length;

	while ((end = (const char *)memmem(link->bytes, link->count, "\r\n", 2)) == NULL) {
		ssize_t r = recv(link->fd, link->bytes + link->count,
				 sizeof(link->bytes) - link->count, 0);

		if (r <= 0) {
			return false;
		}
		link->count += (size_t)r;
	}
	length = (size_t)(end - link->bytes);
	(void)snprintf(text, REPLY_BYTES, "%.*s", (int)length, link->bytes);
	link->count -= length + 2;
	memmove(link->bytes, link->bytes + length + 2, link->count);
	return true;
}

static void add_text(char text[REPLY_BYTES], const char *more)
{
	size_t used = strlen(text);

	(void)snprintf(text + used, REPLY_BYTES - used, "%s", more);
}

/* A reply with spaces in the place of its line ends: "*2 $1 7 $-1". */
static bool read_reply(struct link *link, char text[REPLY_BYTES])
{
	char line[REPLY_BYTES];
	long parts;

	text[0] = '\0';
	for (parts = 1; parts > 0; parts--) {
		if (!read_line(link, line)) {
			return false;
		}
		add_text(text, text[0] == '\0' ? "" : " ");
		add_text(text, line);
		if (line[0] == '*') {
			parts += strtol(line + 1, NULL, 10);
		} else if (line[0] == '$' && line[1] != '-') {
			parts++;
		}
	}
	return true;
}

static bool send_commands(const struct client *client, const struct link *link)
{
	size_t done = 0;

	while (done < client->commands_bytes) {
		ssize_t r = send(link->fd, client->commands + done, client->commands_bytes - done,
				 MSG_NOSIGNAL);

		if (r <= 0) {
			return false;
		}
		done += (size_t)r;
	}
	return true;
}

/* ---- commands, and what they must reply ---- */

__attribute__((format(printf, 2, 3))) static void add_command(struct client *client,
							      const char *format, ...)
{
	size_t room = sizeof(client->commands) - client->commands_bytes;
	va_list arguments;

	va_start(arguments, format);
	client->commands_bytes += (size_t)vsnprintf(client->commands + client->commands_bytes, room,
						    format, arguments);
	va_end(arguments);
}

static void name_key(const struct client *client, uint32_t key, char name[32])
{
	(void)snprintf(name, 32, "k%" PRIu32 ".%" PRIu32 ".%" PRIu32, client->id, client->call,
		       key);
}

static void expect_value(char reply[REPLY_BYTES], int64_t value)
{
	char digits[24];
	char text[64];

	if (value == NIL) {
		add_text(reply, "$-1");
		return;
	}
	(void)snprintf(digits, sizeof(digits), "%" PRId64, value);
	(void)snprintf(text, sizeof(text), "$%zu %s", strlen(digits), digits);
	add_text(reply, text);
}

static void get_all(struct client *client, char reply[REPLY_BYTES])
{
	char name[32];

	add_command(client, "MGET");
	(void)snprintf(reply, REPLY_BYTES, "*%d", KEYS);
	for (uint32_t key = 0; key < KEYS; key++) {
		name_key(client, key, name);
		add_command(client, " %s", name);
		add_text(reply, " ");
		expect_value(reply, client->values[key]);
	}
	add_command(client, "\r\n");
}

static void set_all(struct client *client, char reply[REPLY_BYTES])
{
	char name[32];

	add_command(client, "MSET");
	for (uint32_t key = 0; key < KEYS; key++) {
		client->values[key] = draw(client, 100000);
		name_key(client, key, name);
		add_command(client, " %s %" PRId64, name, client->values[key]);
	}
	add_command(client, "\r\n");
	(void)snprintf(reply, REPLY_BYTES, "+OK");
}

static void make_command(struct client *client, char reply[REPLY_BYTES])
{
	uint32_t key = draw(client, KEYS);
	int64_t *value = &client->values[key];
	char name[32];

	name_key(client, key, name);
	reply[0] = '\0';
	switch (draw(client, 7)) {
	case 0:
		*value = draw(client, 100000);
		add_command(client, "SET %s %" PRId64 "\r\n", name, *value);
		add_text(reply, "+OK");
		break;
	case 1:
		*value = *value == NIL ? 1 : *value + 1;
		add_command(client, "INCR %s\r\n", name);
		(void)snprintf(reply, REPLY_BYTES, ":%" PRId64, *value);
		break;
	case 2:
		add_command(client, "DEL %s\r\n", name);
		add_text(reply, *value == NIL ? ":0" : ":1");
		*value = NIL;
		break;
	case 3:
		get_all(client, reply);
		break;
	case 4:
		set_all(client, reply);
		break;
	default:
		add_command(client, "GET %s\r\n", name);
		expect_value(reply, *value);
		break;
	}
}

/* Some commands at once; false if the connection has broken. */
static bool talk(struct client *client)
{
	struct link *link = &client->links[draw(client, LINKS)];
	uint32_t count = 1 + draw(client, COMMANDS_MAX);
	char reply[REPLY_BYTES];

	client->commands_bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		make_command(client, client->replies[i]);
	}
	if (!send_commands(client, link)) {
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!read_reply(link, reply)) {
			return false;
		}
		if (strcmp(reply, client->replies[i]) != 0) {
			violate(client, "\"%.60s\" came, not \"%.60s\"", reply, client->replies[i]);
			return false;
		}
	}
	client->rounds++;
	return true;
}

/* The keys of the last call are gone if the server has booted since. */
static bool look_for_former_keys(struct client *client)
{
	uint32_t boots = client->world->boots;
	char reply[REPLY_BYTES];

	for (uint32_t key = 0; key < KEYS; key++) {
		client->values[key] = NIL;
	}
	client->commands_bytes = 0;
	get_all(client, client->replies[0]);
	if (!send_commands(client, &client->links[0]) || !read_reply(&client->links[0], reply)) {
		return false;
	}
	if (client->world->boots == boots && boots != client->boot &&
	    strcmp(reply, client->replies[0]) != 0) {
		violate(client, "\"%.60s\" of former keys after a boot", reply);
	}
	return true;
}

static bool call(struct client *client)
{
	bool is_well = true;

	for (uint32_t i = 0; is_well && i < LINKS; i++) {
		client->links[i].fd = world_call(PORT, WAIT_S, 0);
		is_well = client->links[i].fd >= 0;
	}
	is_well = is_well && look_for_former_keys(client);
	client->call++;
	return is_well;
}

static void *be_client(void *arg)
{
	struct client *client = (struct client *)arg;

	for (uint32_t i = 0; i < LINKS; i++) {
		client->links[i] =
			(struct link){ .fd = -1 }; /* a crash of its host has closed it */
	}
	client->boot = client->world->boots;
	for (;;) {
		bool is_well = call(client);

		while (is_well && talk(client)) {
			world_pause(draw(client, 200) * GYRE_MILLISECONDS(1));
			is_well = draw(client, 50) > 0;
		}
		hang_up(client);
		world_pause(GYRE_MILLISECONDS(100));
	}
	return arg;
}

static int be_clients(void *arg)
{
	return world_run_threads(be_client, arg, sizeof(struct client), CLIENTS);
}

/* ---- the world ---- */

static int be_server(void *arg)
{
	char arguments[][24] = {
		"gyre-kv", "--quiet", "--loops", "2", "--bind", "tcp://[::]:6379"
	};
	enum { COUNT = sizeof(arguments) / sizeof(*arguments) };
	char *vector[COUNT + 1] = { NULL };

	((struct kv_world *)arg)->boots++;
	for (uint32_t i = 0; i < COUNT; i++) {
		vector[i] = arguments[i];
	}
	return kv_main(COUNT, vector);
}

static int build(struct gyre_sim *sim, void *state)
{
	static const char *const names[CLIENT_HOSTS] = { "beta", "gamma" };
	struct kv_world *world = (struct kv_world *)state;
	int r = gyre_sim_host(sim, "alpha", be_server, world, NULL);

	world->sim = sim;
	for (uint32_t host = 0; r == 0 && host < CLIENT_HOSTS; host++) {
		for (uint32_t i = 0; i < CLIENTS; i++) {
			world->clients[host][i].world = world;
			world->clients[host][i].id = host * CLIENTS + i;
		}
		r = gyre_sim_host(sim, names[host], be_clients, world->clients[host], NULL);
	}
	return r;
}

static uint64_t progress(const void *state, uint32_t part)
{
	return ((const struct kv_world *)state)->clients[part / CLIENTS][part % CLIENTS].rounds;
}

const struct world world_kv = {
	.name = "kv",
	.state_bytes = sizeof(struct kv_world),
	.hosts = 1 + CLIENT_HOSTS,
	.trouble = TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS |
		   TROUBLE_REFUSALS,
	.steps = 20,
	.calm_seconds = 30,
	.go_on_seconds = 30,
	.build = build,
	.parts = CLIENT_HOSTS * CLIENTS,
	.progress = progress,
};
