/*
 * Notices between two nodes, each a process of one loop, that have heads of their own, or do not.
 * Both nodes have as many actors, in pairs, and tokens go to and fro in each pair. A token is sent
 * as a message of the next of so many types: of one type, all of a pair have the same head; of a
 * few, heads take turns; of more than a link keeps, each message needs its head in full. All else
 * is alike, so that the difference is that of heads.
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

enum {
	TEXT_BYTES = 64,
	FIRST = 1,
	SECOND = 2,
	ACTORS_MAX = 1024,
	TYPES_MAX = 4096,
	FIRST_ID = 0x1000
};

struct token {
	uint64_t number;
};
GYRE_MESSAGE(token, FIRST_ID);

struct index {
	int64_t value;
};
GYRE_MESSAGE(index, 0x102);

static const uint64_t warm_up_ns = GYRE_SECONDS(1);
static const uint64_t find_again_ns = GYRE_MILLISECONDS(20);

static struct {
	int64_t actors;
	int64_t types;
	int64_t messages;
	int64_t port;
	uint64_t duration_ns;
	bool pin;
	bool json;
	struct gyre_system_options tuned; /* by --set */
} settings = {
	.actors = 8, .types = 1, .messages = 1024, .port = 9500, .duration_ns = GYRE_SECONDS(5)
};

/* Of this process, whose only loop runs all of its actors. */
static struct {
	uint16_t id;
	pid_t other_process;
	struct gyre_address others[ACTORS_MAX];
	struct gyre_type types[TYPES_MAX]; /* alike but for their ids */
	uint64_t received;
} node;

/* ---- actors ---- */

struct actor {
	int64_t index;
	int64_t sent;
};

static struct gyre_mail *make_token(struct gyre_stack *stack, int64_t type)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &node.types[type]);

	if (mail != NULL) {
		*(struct token *)gyre_payload(mail) = (struct token){ (uint64_t)type };
	}
	return mail;
}

static int actor_notice(struct gyre_stack *stack)
{
	struct actor *self = gyre_state(stack);
	int r = gyre_notify(stack, node.others[self->index],
			    make_token(stack, self->sent++ % settings.types));

	node.received++;
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static void name_of(char text[TEXT_BYTES], int64_t index)
{
	(void)snprintf(text, TEXT_BYTES, "actor %d", (int)index);
}

static int actor_mount(struct gyre_stack *stack)
{
	struct actor *self = gyre_state(stack);
	char name[TEXT_BYTES];
	int r;

	self->index = gyre_message(stack, index)->value;
	name_of(name, self->index);
	r = gyre_name_register(stack, name);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class actor_class = {
	.name = "actor",
	.state_bytes = sizeof(struct actor),
	.behaviour.notice = actor_notice,
	.mount = actor_mount,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- who finds the actors of the other node, and measures ---- */

struct finder {
	uint64_t start_received;
	uint64_t start_ns;
	uint64_t start_cpu_ns;
};

struct finder_frame {
	struct gyre_future future;
	int64_t found;
};

static uint64_t cpu_ns(void)
{
	struct perf_cpu_time mine = { 0 };
	struct perf_cpu_time theirs = { 0 };

	(void)perf_cpu_time(0, &mine);
	(void)perf_cpu_time(node.other_process, &theirs);
	return mine.total_ns + theirs.total_ns;
}

static void report(struct gyre_stack *stack, const struct finder *self)
{
	double seconds = (double)(gyre_now(stack) - self->start_ns) / 1e9;
	double messages = 2 * (double)(node.received - self->start_received); /* to and fro */
	struct perf_report out;

	perf_report_init(&out, "heads");
	perf_report_number(&out, "messages_per_s", messages / seconds);
	perf_report_number(&out, "cpu_ns_per_message",
			   (double)(cpu_ns() - self->start_cpu_ns) / messages);
	perf_report_print(&out, settings.json);
}

static int send_off(struct gyre_stack *stack)
{
	int r = 0;

	for (int64_t i = 0; i < settings.messages && r == 0; i++) {
		struct gyre_address to = node.others[i % settings.actors];

		r = gyre_notify(stack, to, make_token(stack, i % settings.types));
	}
	(void)gyre_timer_start(stack, 0, &(struct gyre_timer_options){ .delay_ns = warm_up_ns });
	return r;
}

/* The name after those of the actors is of a finder that has found them all. */
static int finder_mount(struct gyre_stack *stack)
{
	struct finder_frame *frame = gyre_frame(stack);
	uint16_t other = FIRST + SECOND - node.id;
	char name[TEXT_BYTES];
	int r;

	GYRE_BEGIN(stack);
	for (frame->found = 0; frame->found < settings.actors + (node.id == FIRST);) {
		name_of(name, frame->found);
		GYRE_AWAIT(stack, gyre_node_lookup(stack, other, name, 0, &frame->future));
		if (gyre_future_failed(&frame->future)) {
			GYRE_AWAIT(stack, gyre_sleep(stack, find_again_ns, &frame->future));
			continue;
		}
		if (frame->found < settings.actors) {
			node.others[frame->found] =
				gyre_future_get(&frame->future, gyre_node_found)->address;
		}
		frame->found++;
	}
	name_of(name, settings.actors);
	r = node.id == FIRST ? send_off(stack) : gyre_name_register(stack, name);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
	GYRE_END(stack);
}

static int finder_event(struct gyre_stack *stack)
{
	struct finder *self = gyre_state(stack);
	const struct gyre_timer_options end = { .delay_ns = settings.duration_ns };

	if (self->start_ns != 0) {
		report(stack, self);
		gyre_system_stop(gyre_system_of(stack));
		return gyre_return(stack);
	}
	self->start_ns = gyre_now(stack);
	self->start_received = node.received;
	self->start_cpu_ns = cpu_ns();
	(void)gyre_timer_start(stack, 0, &end);
	return gyre_return(stack);
}

static const struct gyre_class finder_class = {
	.name = "finder",
	.state_bytes = sizeof(struct finder),
	.frame_bytes = sizeof(struct finder_frame),
	.behaviour.event = finder_event,
	.mount = finder_mount,
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};

/* ---- the processes ---- */

static int spawn_all(struct gyre_system *system)
{
	struct gyre_address address;
	int r = 0;

	for (int64_t i = 0; i < settings.actors && r == 0; i++) {
		r = gyre_system_spawn(system, &actor_class, gyre_system_new(system, index, i), NULL,
				      &address);
	}
	return r < 0 ? r
		     : gyre_system_spawn(system, &finder_class, GYRE_NO_ARGUMENT, NULL, &address);
}

static int run(uint16_t id)
{
	static const struct gyre_type *types[TYPES_MAX + 1];
	char addresses[2][TEXT_BYTES];
	const struct gyre_node_peer peers[] = {
		{ (uint16_t)(FIRST + SECOND - id), addresses[FIRST + SECOND - id - 1] }, { 0, NULL }
	};
	const struct gyre_node_options options = { .id = id,
						   .listen = addresses[id - 1],
						   .peers = peers,
						   .types = types,
						   .redial_min_ns = find_again_ns,
						   .redial_max_ns = find_again_ns };
	struct gyre_system_options tuned = settings.tuned;
	struct gyre_system *system = NULL;
	int r;

	for (int i = 0; i < 2; i++) {
		(void)snprintf(addresses[i], TEXT_BYTES, "tcp://127.0.0.1:%d",
			       (int)settings.port + i);
	}
	for (int64_t i = 0; i < settings.types; i++) {
		node.types[i] = gyre_type_token;
		node.types[i].id = FIRST_ID + (uint32_t)i;
		types[i] = &node.types[i];
	}
	node.id = id;
	tuned.loops = 1;
	tuned.cpus = !settings.pin ? NULL : id == FIRST ? "0" : "1";
	tuned.node = &options;
	r = gyre_system_create(&tuned, &system);
	if (r == 0) {
		r = spawn_all(system);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r;
}

static int run_both(void)
{
	int r;

	node.other_process = fork();
	if (node.other_process < 0) {
		return -errno;
	}
	if (node.other_process == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(run(SECOND) < 0);
	}
	r = run(FIRST);
	(void)kill(node.other_process, SIGKILL);
	(void)waitpid(node.other_process, NULL, 0);
	return r;
}

int main(int argc, char **argv)
{
	const struct perf_option options[] = {
		{ "actors", PERF_OPTION_NUMBER, "of each node", &settings.actors, 1, ACTORS_MAX,
		  NULL },
		{ "types", PERF_OPTION_NUMBER, "that an actor sends in turn", &settings.types, 1,
		  TYPES_MAX, NULL },
		{ "messages", PERF_OPTION_NUMBER, "tokens", &settings.messages, 1, 1 << 16, NULL },
		{ "port", PERF_OPTION_NUMBER, "of the first node; the other has the next",
		  &settings.port, 1, UINT16_MAX - 1, NULL },
		{ "seconds", PERF_OPTION_SECONDS, "how long messages are counted",
		  &settings.duration_ns, 0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "the first on CPU 0, the other on CPU 1", &settings.pin,
		  0, 0, NULL },
		PERF_TUNABLES(&settings.tuned),
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	int r;

	perf_options_parse(argc, argv, "notices between two nodes with heads of their own", options,
			   sizeof(options) / sizeof(options[0]));
	r = run_both();
	return r == 0 ? EXIT_SUCCESS : perf_fail("heads", r);
}
