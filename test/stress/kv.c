/*
 * gyre-kv, as its main() is, in a process of its own with four shards, and clients in threads here
 * that use it all at once. Some know what their keys hold, and check each reply in its order; they
 * also count together, publish, and ask for what is known of all loops. Others subscribe and must
 * hear each publisher in order and whole, list the keys, or vanish in the middle of what they sent.
 * The server is told to end while some are connected, and must end well: also where that process
 * has a sanitizer.
 */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "stress.h"

enum {
	OWNERS = 3,
	SUBSCRIBERS = 2, /* the second by a pattern */
	VANISHERS = 2,
	ROUNDS = 1000, /* of each owner */
	COMMANDS_MAX = 24,
	KEYS = 12, /* of each owner */
	COUNTERS = 4,
	FIXED = 100, /* keys that are there all the time */
	TEXT_BYTES = 512,
};

#define NIL INT64_MIN

int kv_main(int argc, char **argv);

static char folder[] = "/tmp/gyre-stress-kv-XXXXXX";
static char path[64];
static uint32_t may_run = 1;

/* ---- connections ---- */

/* A connection, with what is to be sent, and what came and was not read yet. */
struct link {
	int fd;
	char commands[16384];
	size_t commands_bytes;
	char bytes[16384];
	size_t first;
	size_t end;
};

static struct link *connect_there(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct link *link = (struct link *)calloc(1, sizeof(*link));

	check(link != NULL);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(link->fd >= 0);
	check(connect(link->fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return link;
}

static void hang_up(struct link *link)
{
	(void)close(link->fd);
	free(link);
}

/* Adds a command of words, as an array of them. */
__attribute__((format(printf, 2, 3))) static void add(struct link *link, const char *format, ...)
{
	char *to = link->commands + link->commands_bytes;
	char *end = link->commands + sizeof(link->commands);
	char line[TEXT_BYTES];
	uint32_t count = 1;
	char *rest = NULL;
	va_list arguments;

	va_start(arguments, format);
	check(vsnprintf(line, sizeof(line), format, arguments) < (int)sizeof(line));
	va_end(arguments);
	for (const char *at = line; (at = strchr(at, ' ')) != NULL; at++) {
		count++;
	}
	to += snprintf(to, (size_t)(end - to), "*%u\r\n", count);
	for (char *word = strtok_r(line, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		to += snprintf(to, (size_t)(end - to), "$%zu\r\n%s\r\n", strlen(word), word);
		check(to < end);
	}
	link->commands_bytes = (size_t)(to - link->commands);
}

/* Sends at most so much of what was added, and forgets the rest. */
static void send_some(struct link *link, size_t bytes_max)
{
	size_t count = link->commands_bytes < bytes_max ? link->commands_bytes : bytes_max;
	size_t done = 0;

	while (done < count) {
		ssize_t r = send(link->fd, link->commands + done, count - done, MSG_NOSIGNAL);

		check(r > 0);
		done += (size_t)r;
	}
	link->commands_bytes = 0;
}

static void send_all(struct link *link)
{
	send_some(link, SIZE_MAX);
}

/* The next bytes of the replies; NULL if the server ends before. */
static const char *need(struct link *link, size_t count)
{
	check(count <= sizeof(link->bytes));
	if (sizeof(link->bytes) - link->first < count) {
		link->end -= link->first;
		memmove(link->bytes, link->bytes + link->first, link->end);
		link->first = 0;
	}
	while (link->end - link->first < count) {
		ssize_t r =
			recv(link->fd, link->bytes + link->end, sizeof(link->bytes) - link->end, 0);

		if (r <= 0) {
			return NULL;
		}
		link->end += (size_t)r;
	}
	return link->bytes + link->first;
}

/* The next line of the replies, without its end. */
static bool read_line(struct link *link, char line[TEXT_BYTES])
{
	size_t count = 2;
	const char *bytes;

	while ((bytes = need(link, count)) != NULL && memcmp(bytes + count - 2, "\r\n", 2) != 0) {
		count++;
	}
	if (bytes == NULL) {
		return false;
	}
	check(count <= TEXT_BYTES);
	*(char *)mempcpy(line, bytes, count - 2) = '\0';
	link->first += count;
	return true;
}

/* Reads one part of a reply: "+OK", ":7", "*2", "$" and a value, or "$-1" for none. */
static bool read_part(struct link *link, char part[TEXT_BYTES])
{
	const char *bytes;
	size_t count;

	if (!read_line(link, part)) {
		return false;
	}
	if (part[0] == '$' && part[1] != '-') {
		count = strtoul(part + 1, NULL, 10);
		check(count + 2 < TEXT_BYTES);
		bytes = need(link, count + 2);
		if (bytes == NULL) {
			return false;
		}
		*(char *)mempcpy(part + 1, bytes, count) = '\0';
		link->first += count + 2;
	}
	return true;
}

/* A whole reply, with spaces between its parts: "*2 $7 $-1". */
static bool read_reply(struct link *link, char text[TEXT_BYTES])
{
	size_t used = 0;

	for (long parts = 1; parts > 0; parts--) {
		char part[TEXT_BYTES];

		if (!read_part(link, part)) {
			return false;
		}
		used += (size_t)snprintf(text + used, TEXT_BYTES - used, used == 0 ? "%s" : " %s",
					 part);
		check(used < TEXT_BYTES);
		parts += part[0] == '*' ? strtol(part + 1, NULL, 10) : 0;
	}
	return true;
}

static void expect(struct link *link, const char *reply)
{
	char text[TEXT_BYTES];

	check(read_reply(link, text));
	if (strcmp(text, reply) != 0) {
		(void)fprintf(stderr, "\"%s\" came, not \"%s\"\n", text, reply);
	}
	check(strcmp(text, reply) == 0);
}

static int64_t read_number(struct link *link)
{
	char text[TEXT_BYTES];

	check(read_reply(link, text) && text[0] == ':');
	return strtoll(text + 1, NULL, 10);
}

/* ---- clients with keys of their own ---- */

enum awaited { EXACTLY, COUNTED, PUBLISHED, ANYTHING };

struct owner {
	pthread_t thread;
	struct link *link;
	uint32_t index;
	uint64_t random;
	int64_t values[KEYS];
	int64_t counted[COUNTERS]; /* the last number of each */
	uint64_t counts;	   /* how often it has counted */
	uint64_t published;
	uint32_t awaited_count;
	struct {
		enum awaited kind;
		uint32_t counter;
		char text[TEXT_BYTES];
	} awaited[6 * COMMANDS_MAX];
};

__attribute__((format(printf, 3, 4))) static void await(struct owner *owner, enum awaited kind,
							const char *format, ...)
{
	va_list arguments;

	check(owner->awaited_count < sizeof(owner->awaited) / sizeof(*owner->awaited));
	owner->awaited[owner->awaited_count].kind = kind;
	va_start(arguments, format);
	(void)vsnprintf(owner->awaited[owner->awaited_count++].text, TEXT_BYTES, format, arguments);
	va_end(arguments);
}

/* As it is in a reply. */
static size_t put_value(char *to, size_t room, int64_t value)
{
	return (size_t)(value == NIL ? snprintf(to, room, " $-1")
				     : snprintf(to, room, " $%lld", (long long)value));
}

static void await_value(struct owner *owner, int64_t value)
{
	char text[32];

	(void)put_value(text, sizeof(text), value);
	await(owner, EXACTLY, "%s", text + 1);
}

static void get_all(struct owner *owner)
{
	char line[TEXT_BYTES] = "MGET";
	char reply[TEXT_BYTES];
	size_t used = strlen(line);
	size_t end = (size_t)snprintf(reply, sizeof(reply), "*%d", KEYS);

	for (uint32_t key = 0; key < KEYS; key++) {
		used += (size_t)snprintf(line + used, sizeof(line) - used, " k%u.%u", owner->index,
					 key);
		end += put_value(reply + end, sizeof(reply) - end, owner->values[key]);
	}
	add(owner->link, "%s", line);
	await(owner, EXACTLY, "%s", reply);
}

static void set_all(struct owner *owner)
{
	char line[TEXT_BYTES] = "MSET";
	size_t used = strlen(line);

	for (uint32_t key = 0; key < KEYS; key++) {
		owner->values[key] = stress_random(&owner->random, 100000);
		used += (size_t)snprintf(line + used, sizeof(line) - used, " k%u.%u %lld",
					 owner->index, key, (long long)owner->values[key]);
	}
	add(owner->link, "%s", line);
	await(owner, EXACTLY, "+OK");
}

static int64_t increment(int64_t *value)
{
	*value = *value == NIL ? 1 : *value + 1;
	return *value;
}

/* Some commands that are run together, with nobody else's between them. */
static void count_together(struct owner *owner, uint32_t key)
{
	int64_t *value = &owner->values[key];
	int64_t first = increment(value);
	int64_t second = increment(value);

	add(owner->link, "MULTI");
	await(owner, EXACTLY, "+OK");
	for (int i = 0; i < 2; i++) {
		add(owner->link, "INCR k%u.%u", owner->index, key);
		await(owner, EXACTLY, "+QUEUED");
	}
	add(owner->link, "GET k%u.%u", owner->index, key);
	await(owner, EXACTLY, "+QUEUED");
	add(owner->link, "EXEC");
	await(owner, EXACTLY, "*3 :%lld :%lld $%lld", (long long)first, (long long)second,
	      (long long)second);
}

/* What all share. */
static void use_shared(struct owner *owner)
{
	uint32_t counter = stress_random(&owner->random, COUNTERS);

	switch (stress_random(&owner->random, 4)) {
	case 0:
		add(owner->link, "INFO");
		await(owner, ANYTHING, "$");
		break;
	case 1:
		add(owner->link, "PUBLISH news %u.%llu", owner->index,
		    (unsigned long long)++owner->published);
		await(owner, PUBLISHED, ":");
		break;
	default:
		add(owner->link, "INCR counter%u", counter);
		owner->awaited[owner->awaited_count].counter = counter;
		await(owner, COUNTED, ":");
		owner->counts++;
		break;
	}
}

static void add_any(struct owner *owner)
{
	uint32_t key = stress_random(&owner->random, KEYS);
	int64_t *value = &owner->values[key];

	switch (stress_random(&owner->random, 10)) {
	case 0:
		*value = stress_random(&owner->random, 100000);
		add(owner->link, "SET k%u.%u %lld", owner->index, key, (long long)*value);
		await(owner, EXACTLY, "+OK");
		break;
	case 1:
		add(owner->link, "INCR k%u.%u", owner->index, key);
		await(owner, EXACTLY, ":%lld", (long long)increment(value));
		break;
	case 2:
		add(owner->link, "DEL k%u.%u", owner->index, key);
		await(owner, EXACTLY, ":%d", *value == NIL ? 0 : 1);
		*value = NIL;
		break;
	case 3:
		get_all(owner);
		break;
	case 4:
		set_all(owner);
		break;
	case 5:
		count_together(owner, key);
		break;
	case 6:
	case 7:
		use_shared(owner);
		break;
	default:
		add(owner->link, "GET k%u.%u", owner->index, key);
		await_value(owner, *value);
		break;
	}
}

static void read_awaited(struct owner *owner, uint32_t index)
{
	uint32_t counter = owner->awaited[index].counter;
	char part[TEXT_BYTES];
	int64_t number;

	switch (owner->awaited[index].kind) {
	case COUNTED:
		number = read_number(owner->link);
		check(number > owner->counted[counter]);
		owner->counted[counter] = number;
		break;
	case PUBLISHED:
		check(read_number(owner->link) >= SUBSCRIBERS);
		break;
	case ANYTHING:
		check(read_line(owner->link, part) && part[0] == '$');
		number = strtoll(part + 1, NULL, 10);
		check(need(owner->link, (size_t)number + 2) != NULL);
		owner->link->first += (size_t)number + 2;
		break;
	default:
		expect(owner->link, owner->awaited[index].text);
		break;
	}
}

static void *own(void *arg)
{
	struct owner *owner = (struct owner *)arg;

	owner->link = connect_there();
	for (uint32_t key = 0; key < KEYS; key++) {
		owner->values[key] = NIL;
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		owner->awaited_count = 0;
		for (uint32_t i = stress_random(&owner->random, COMMANDS_MAX); i > 0; i--) {
			add_any(owner);
		}
		send_all(owner->link);
		for (uint32_t i = 0; i < owner->awaited_count; i++) {
			read_awaited(owner, i);
		}
	}
	return NULL;
}

/* ---- those who listen ---- */

struct subscriber {
	pthread_t thread;
	struct link *link;
	bool by_pattern;
	uint64_t heard[OWNERS]; /* the last number of each */
};

/* Each owner's messages come in order, and none is missing; the last is of none. */
static void *listen_to_all(void *arg)
{
	struct subscriber *subscriber = (struct subscriber *)arg;
	const char *head =
		subscriber->by_pattern ? "*4 $pmessage $n* $news $" : "*3 $message $news $";
	char text[TEXT_BYTES];

	for (;;) {
		char *end;
		uint64_t owner;

		check(read_reply(subscriber->link, text));
		check(strncmp(text, head, strlen(head)) == 0);
		if (strcmp(text + strlen(head), "end") == 0) {
			return NULL;
		}
		owner = strtoull(text + strlen(head), &end, 10);
		check(owner < OWNERS && *end == '.');
		check(strtoull(end + 1, NULL, 10) == ++subscriber->heard[owner]);
	}
}

static void subscribe(struct subscriber *subscriber, bool by_pattern)
{
	subscriber->by_pattern = by_pattern;
	subscriber->link = connect_there();
	add(subscriber->link, "%s", by_pattern ? "PSUBSCRIBE n*" : "SUBSCRIBE news");
	send_all(subscriber->link);
	expect(subscriber->link, by_pattern ? "*3 $psubscribe $n* :1" : "*3 $subscribe $news :1");
}

/* ---- those who list all keys ---- */

/* The next cursor; marks the keys that are there all the time. */
static unsigned long scan(struct link *link, unsigned long cursor, bool seen[FIXED])
{
	char part[TEXT_BYTES];
	unsigned long next;
	unsigned long number;
	long count;

	add(link, "SCAN %lu COUNT 40", cursor);
	send_all(link);
	check(read_part(link, part) && strcmp(part, "*2") == 0);
	check(read_part(link, part) && part[0] == '$');
	next = strtoul(part + 1, NULL, 10);
	check(read_part(link, part) && part[0] == '*');
	for (count = strtol(part + 1, NULL, 10); count > 0; count--) {
		check(read_part(link, part) && part[0] == '$');
		if (strncmp(part, "$fixed", 6) == 0) {
			number = strtoul(part + 6, NULL, 10);
			check(number < FIXED && !seen[number]);
			seen[number] = true;
		}
	}
	return next;
}

static void *list_keys(void *arg)
{
	struct link *link = connect_there();

	(void)arg;
	while (gy_load_acquire(&may_run) != 0) {
		bool seen[FIXED] = { false };
		unsigned long cursor = 0;

		do {
			cursor = scan(link, cursor, seen);
		} while (cursor != 0);
		for (uint32_t i = 0; i < FIXED; i++) {
			check(seen[i]);
		}
	}
	hang_up(link);
	return NULL;
}

/* ---- those who vanish ---- */

struct vanisher {
	pthread_t thread;
	uint64_t random;
};

static void *vanish_often(void *arg)
{
	struct vanisher *vanisher = (struct vanisher *)arg;

	while (gy_load_acquire(&may_run) != 0) {
		struct link *link = connect_there();

		for (uint32_t i = stress_random(&vanisher->random, 30); i > 0; i--) {
			uint32_t key = stress_random(&vanisher->random, 100);

			add(link, "MSET v%u 1 v%u 2 v%u 3", key, key + 1, key + 2);
			add(link, "MGET v%u v%u v%u", key, key + 1, key + 2);
			add(link, "INCR v%u", key);
		}
		add(link, "%s",
		    stress_random(&vanisher->random, 2) == 0 ? "SUBSCRIBE news" : "MULTI");
		add(link, "PING");
		send_some(link, stress_random(&vanisher->random, 2) == 0
					? SIZE_MAX
					: stress_random(&vanisher->random, 1000));
		if (stress_random(&vanisher->random, 4) == 0) {
			(void)shutdown(link->fd, SHUT_WR);
			while (recv(link->fd, link->bytes, sizeof(link->bytes), 0) > 0) {
			}
		}
		stress_dawdle(&vanisher->random, 20000);
		hang_up(link);
	}
	return NULL;
}

/* ---- the server ---- */

/* In a process of its own, whose status also tells what a sanitizer has found. */
static pid_t start_server(void)
{
	char bind[80];
	const char *const arguments[] = { "gyre-kv", "--loops", "4", "--bind", bind };
	enum { COUNT = sizeof(arguments) / sizeof(*arguments) };
	char *vector[COUNT + 1] = { NULL };
	char line[128] = "";
	FILE *output;
	int fds[2];
	pid_t pid;

	check(pipe(fds) == 0);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)close(fds[0]);
		(void)close(fds[1]);
		(void)snprintf(bind, sizeof(bind), "unix:%s", path);
		for (uint32_t i = 0; i < COUNT; i++) {
			vector[i] = strdup(arguments[i]);
		}
		exit(kv_main(COUNT, vector));
	}
	(void)close(fds[1]);
	output = fdopen(fds[0], "r");
	check(output != NULL && fgets(line, sizeof(line), output) != NULL);
	check(strncmp(line, "listening on ", 13) == 0);
	(void)fclose(output);
	return pid;
}

static void end_server(pid_t pid)
{
	int status;

	check(kill(pid, SIGTERM) == 0);
	check(waitpid(pid, &status, 0) == pid);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	check(rmdir(folder) == 0); /* the server has removed its socket */
}

/* ---- all together ---- */

static void fill(struct link *link)
{
	for (uint32_t i = 0; i < FIXED; i++) {
		add(link, "SET fixed%u 1", i);
	}
	send_all(link);
	for (uint32_t i = 0; i < FIXED; i++) {
		expect(link, "+OK");
	}
}

static void use(struct owner owners[OWNERS], uint64_t *random)
{
	struct vanisher vanishers[VANISHERS];
	pthread_t lister;

	check(pthread_create(&lister, NULL, list_keys, NULL) == 0);
	for (uint32_t i = 0; i < VANISHERS; i++) {
		vanishers[i].random = gy_random_next(random);
		check(pthread_create(&vanishers[i].thread, NULL, vanish_often, &vanishers[i]) == 0);
	}
	for (uint32_t i = 0; i < OWNERS; i++) {
		owners[i].index = i;
		owners[i].random = gy_random_next(random);
		check(pthread_create(&owners[i].thread, NULL, own, &owners[i]) == 0);
	}
	for (uint32_t i = 0; i < OWNERS; i++) {
		check(pthread_join(owners[i].thread, NULL) == 0);
	}
	gy_store_release(&may_run, 0);
	for (uint32_t i = 0; i < VANISHERS; i++) {
		check(pthread_join(vanishers[i].thread, NULL) == 0);
	}
	check(pthread_join(lister, NULL) == 0);
}

/* What was counted and published by all has arrived; and nothing else. */
static void look_at_sums(struct link *link, const struct owner owners[OWNERS],
			 struct subscriber subscribers[SUBSCRIBERS])
{
	int64_t counts = 0;

	for (uint32_t i = 0; i < COUNTERS; i++) {
		add(link, "INCRBY counter%u 0", i);
		send_all(link);
		counts += read_number(link);
	}
	add(link, "PUBLISH news end");
	send_all(link);
	check(read_number(link) >= SUBSCRIBERS);
	for (uint32_t i = 0; i < SUBSCRIBERS; i++) {
		check(pthread_join(subscribers[i].thread, NULL) == 0);
	}
	for (uint32_t i = 0; i < OWNERS; i++) {
		counts -= (int64_t)owners[i].counts;
		for (uint32_t j = 0; j < SUBSCRIBERS; j++) {
			check(subscribers[j].heard[i] == owners[i].published);
		}
	}
	check(counts == 0);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);
	struct owner *owners = (struct owner *)calloc(OWNERS, sizeof(*owners));
	struct subscriber subscribers[SUBSCRIBERS] = { 0 };
	struct link *link;
	pid_t pid;

	check(owners != NULL && mkdtemp(folder) != NULL);
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	pid = start_server();
	link = connect_there();
	fill(link);
	for (uint32_t i = 0; i < SUBSCRIBERS; i++) {
		subscribe(&subscribers[i], i == 1);
		check(pthread_create(&subscribers[i].thread, NULL, listen_to_all,
				     &subscribers[i]) == 0);
	}
	use(owners, &random);
	look_at_sums(link, owners, subscribers);
	end_server(pid);
	hang_up(link);
	for (uint32_t i = 0; i < SUBSCRIBERS; i++) {
		hang_up(subscribers[i].link);
	}
	for (uint32_t i = 0; i < OWNERS; i++) {
		hang_up(owners[i].link);
	}
	free(owners);
	return 0;
}
