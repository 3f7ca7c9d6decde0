/*
 * Asks and replies between two nodes, each a process of one loop. The first has a number of asks
 * outstanding, each a stack of its client that asks, awaits, and asks again; the second answers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gyre/gyre.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"
#include "common/tunables.h"

enum { ADDRESS_BYTES = 128, CLIENT = 1, SERVER = 2 };

struct question {
	uint64_t number;
};
GYRE_MESSAGE(question, 0x100);

struct answer {
	uint64_t number;
};
GYRE_MESSAGE(answer, 0x101);

struct work {
	char unused;
};
GYRE_MESSAGE(work, 0x102);

struct settings {
	int64_t outstanding;
	int64_t port;
	uint64_t duration_ns;
	const char *secret;
	const char *sockets;
	bool pin;
	bool spin;
	bool json;
	pid_t server;
	struct gyre_system_options tuned; /* by --set */
};

struct settings_argument {
	const struct settings *settings;
};
GYRE_MESSAGE(settings_argument, 0x103);

static const uint64_t warm_up_ns = GYRE_SECONDS(1);
static const uint64_t find_again_ns = GYRE_MILLISECONDS(20);

/* ---- server ---- */

static int server_ask(struct gyre_stack *stack)
{
	const struct question *question = gyre_message(stack, question);

	return gyre_reply(stack, gyre_new(stack, answer, question->number + 1));
}

static int server_mount(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, "server");

	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class server_class = {
	.name = "server",
	.behaviour.ask = server_ask,
	.mount = server_mount,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- client ---- */

struct client {
	const struct settings *settings;
	struct gyre_address server;
	uint64_t asked;
	uint64_t start_asked;
	uint64_t start_ns;
	uint64_t start_cpu_ns;
};

struct client_frame {
	struct gyre_future future;
	uint64_t number;
};

static uint64_t cpu_ns(const struct settings *settings)
{
	struct perf_cpu_time mine = { 0 };
	struct perf_cpu_time theirs = { 0 };

	(void)perf_cpu_time(0, &mine);
	(void)perf_cpu_time(settings->server, &theirs);
	return mine.total_ns + theirs.total_ns;
}

static void report(struct gyre_stack *stack, const struct client *self)
{
	double seconds = (double)(gyre_now(stack) - self->start_ns) / 1e9;
	double asks = (double)(self->asked - self->start_asked);
	struct perf_report out;

	perf_report_init(&out, "nodes");
	perf_report_number(&out, "outstanding", (double)self->settings->outstanding);
	perf_report_number(&out, "asks_per_s", asks / seconds);
	perf_report_number(&out, "cpu_ns_per_ask",
			   (double)(cpu_ns(self->settings) - self->start_cpu_ns) / asks);
	perf_report_print(&out, self->settings->json);
}

static int client_notice(struct gyre_stack *stack)
{
	struct client *self = gyre_state(stack);
	struct client_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (;;) {
		frame->number = self->asked++;
		GYRE_AWAIT(stack,
			   gyre_ask(stack, self->server, gyre_new(stack, question, frame->number),
				    0, &frame->future));
		if (gyre_future_failed(&frame->future) ||
		    gyre_future_get(&frame->future, answer)->number != frame->number + 1) {
			return gyre_throw(stack, -EPROTO);
		}
	}
	GYRE_END(stack);
}

/* The server's process may come later. */
static int client_mount(struct gyre_stack *stack)
{
	struct client *self = gyre_state(stack);
	struct client_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	self->settings = gyre_message(stack, settings_argument)->settings;
	for (;;) {
		GYRE_AWAIT(stack, gyre_node_lookup(stack, SERVER, "server", 0, &frame->future));
		if (!gyre_future_failed(&frame->future)) {
			break;
		}
		GYRE_AWAIT(stack, gyre_sleep(stack, find_again_ns, &frame->future));
	}
	self->server = gyre_future_get(&frame->future, gyre_node_found)->address;
	for (int64_t i = 0; i < self->settings->outstanding; i++) {
		(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, work, 0));
	}
	(void)gyre_timer_start(stack, 0, &(struct gyre_timer_options){ .delay_ns = warm_up_ns });
	return gyre_return(stack);
	GYRE_END(stack);
}

static int client_event(struct gyre_stack *stack)
{
	struct client *self = gyre_state(stack);
	const struct gyre_timer_options end = { .delay_ns = self->settings->duration_ns };

	if (self->start_ns != 0) {
		report(stack, self);
		gyre_system_stop(gyre_system_of(stack));
		return gyre_return(stack);
	}
	self->start_ns = gyre_now(stack);
	self->start_asked = self->asked;
	self->start_cpu_ns = cpu_ns(self->settings);
	(void)gyre_timer_start(stack, 0, &end);
	return gyre_return(stack);
}

static const struct gyre_class client_class = {
	.name = "client",
	.state_bytes = sizeof(struct client),
	.frame_bytes = sizeof(struct client_frame),
	.behaviour = { .notice = client_notice, .event = client_event },
	.mount = client_mount,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- the processes ---- */

static void write_address(char text[ADDRESS_BYTES], const struct settings *settings, int place)
{
	if (settings->sockets[0] != '\0') {
		(void)snprintf(text, ADDRESS_BYTES, "unix:%s/%d", settings->sockets, place);
	} else {
		(void)snprintf(text, ADDRESS_BYTES, "tcp://127.0.0.1:%d",
			       (int)settings->port + place);
	}
}

static int run(const struct settings *settings, uint16_t id)
{
	static const struct gyre_type *const types[] = { &gyre_type_question, &gyre_type_answer,
							 NULL };
	const char *secret = settings->secret[0] == '\0' ? NULL : settings->secret;
	char addresses[2][ADDRESS_BYTES];
	const struct gyre_node_peer peers[] = { { (uint16_t)(CLIENT + SERVER - id),
						  addresses[CLIENT + SERVER - id - 1] },
						{ 0, NULL } };
	const struct gyre_node_options node = { .id = id,
						.listen = addresses[id - 1],
						.peers = peers,
						.types = types,
						.secret = secret,
						.redial_min_ns = find_again_ns,
						.redial_max_ns = find_again_ns };
	struct gyre_system_options options = settings->tuned;
	struct gyre_system *system = NULL;
	struct gyre_address address;
	int r;

	for (int i = 0; i < 2; i++) {
		write_address(addresses[i], settings, i);
	}
	options.loops = 1;
	options.cpus = !settings->pin ? NULL : id == CLIENT ? "0" : "1";
	options.node = &node;
	if (options.spin_ns == 0) {
		options.spin_ns = settings->spin ? GYRE_SPIN_AUTO : GYRE_SPIN_NEVER;
	}
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = gyre_system_spawn(system, id == CLIENT ? &client_class : &server_class,
				      gyre_system_new(system, settings_argument, settings), NULL,
				      &address);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r;
}

static int run_both(struct settings *settings)
{
	int r;

	settings->server = fork();
	if (settings->server < 0) {
		return -errno;
	}
	if (settings->server == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(run(settings, SERVER) < 0);
	}
	r = run(settings, CLIENT);
	(void)kill(settings->server, r == 0 ? SIGTERM : SIGKILL);
	(void)waitpid(settings->server, NULL, 0);
	return r;
}

int main(int argc, char **argv)
{
	struct settings settings = { .outstanding = 1000,
				     .port = 9400,
				     .duration_ns = GYRE_SECONDS(5),
				     .secret = "",
				     .sockets = "" };
	const struct perf_option options[] = {
		{ "outstanding", PERF_OPTION_NUMBER, "asks on their way at once",
		  &settings.outstanding, 1, 1000000, NULL },
		{ "port", PERF_OPTION_NUMBER, "of the first node; the other has the next",
		  &settings.port, 1, UINT16_MAX - 1, NULL },
		{ "seconds", PERF_OPTION_SECONDS, "how long asks are counted",
		  &settings.duration_ns, 0, 0, NULL },
		{ "sockets", PERF_OPTION_STRING,
		  "the folder of Unix sockets, by its whole path, instead of ports",
		  (void *)&settings.sockets, 0, 0, NULL },
		{ "secret", PERF_OPTION_STRING, "of both, at least 16 bytes: links are encrypted",
		  (void *)&settings.secret, 0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "the first on CPU 0, the other on CPU 1", &settings.pin,
		  0, 0, NULL },
		{ "spin", PERF_OPTION_FLAG, "loops may poll before they sleep", &settings.spin, 0,
		  0, NULL },
		PERF_TUNABLES(&settings.tuned),
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	int r;

	perf_options_parse(argc, argv, "asks and replies between two nodes", options,
			   sizeof(options) / sizeof(options[0]));
	r = run_both(&settings);
	return r == 0 ? EXIT_SUCCESS : perf_fail("nodes", r);
}
