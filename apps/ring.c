/*
 * The ring: actors in a circle, tokens that go round. Every hop is a fresh notice, made by the
 * actor that got one; with --forward it is the same mail passed on. A lap is one token once round.
 *
 * A conductor sends the tokens off, first for a short warm-up and then for the measured round, and
 * reports when the last one has come to its end. In the warm-up an actor of each loop sends off as
 * many, so that the pools of each loop have what all tokens take, wherever they are. With --inspect
 * a thread takes a snapshot every 10 ms meanwhile, to show what looking costs, and prints the last
 * one.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gyre/gyre.h>

#include "options.h"
#include "ring_node.h"

enum { ACTORS_MAX = 1000000, WARM_UP_SHARE = 20, ROUNDS = 3, INSPECT_EVERY_NS = 10000000 };
enum { NODES_MAX = 1000, PORT_MAX = 64000, PAYLOAD_MAX = 1000000, SECONDS_MAX = 3600 };

struct token {
	uint64_t hops; /* still to go */
};
GYRE_MESSAGE(token, 0x100);

struct neighbour {
	struct gyre_address next;
	struct gyre_address conductor;
	bool forward;
};
GYRE_MESSAGE(neighbour, 0x101);

struct finished {
	bool warm_up;
};
GYRE_MESSAGE(finished, 0x102);

struct warm_up {
	uint32_t tokens;
	uint32_t hops; /* of each */
};
GYRE_MESSAGE(warm_up, 0x104);

struct settings {
	uint64_t actors;
	uint64_t messages;
	uint64_t hops;
	uint64_t loops;
	const char *cpus;
	bool forward;
	bool inspect;
	bool json;
	bool together;
	struct gyre_system_options tuned; /* by --set */
	struct ring_node node;		  /* if its node is not 0 */
};

struct go {
	const struct settings *settings;
	const struct gyre_address *ring;
};
GYRE_MESSAGE(go, 0x103);

/* ---- one actor of the ring ---- */

static int pass_on(struct gyre_stack *stack, const struct neighbour *self, uint64_t hops)
{
	if (hops == 0) {
		return gyre_notify(stack, self->conductor, gyre_new(stack, finished, false));
	}
	if (self->forward) {
		struct gyre_mail *mail = gyre_take(stack);

		((struct token *)gyre_payload(mail))->hops = hops - 1;
		return gyre_notify(stack, self->next, mail);
	}
	return gyre_notify(stack, self->next, gyre_new(stack, token, hops - 1));
}

/* Seldom called, so it is kept out of the handler, which would save registers for it. */
static __attribute__((noinline)) int
send_tokens(struct gyre_stack *stack, const struct neighbour *self, const struct warm_up *warm_up)
{
	int r = 0;

	for (uint32_t i = 0; i < warm_up->tokens && r == 0; i++) {
		r = gyre_notify(stack, self->next, gyre_new(stack, token, warm_up->hops));
	}
	return r < 0 ? r : gyre_return(stack);
}

static int ring_notice(struct gyre_stack *stack)
{
	struct neighbour *self = (struct neighbour *)gyre_state(stack);
	const struct token *token = gyre_message(stack, token);
	const struct warm_up *warm_up;

	if (token != NULL) {
		return pass_on(stack, self, token->hops);
	}
	warm_up = gyre_message(stack, warm_up);
	if (warm_up != NULL) {
		return send_tokens(stack, self, warm_up);
	}
	*self = *gyre_message(stack, neighbour);
	return gyre_return(stack);
}

static const struct gyre_class ring_class = {
	.name = "ring",
	.state_bytes = sizeof(struct neighbour),
	.behaviour.notice = ring_notice,
	.strategy = GYRE_STRATEGY_ESCALATE, /* a token is lost: the run would not end */
};

/* ---- the conductor ---- */

struct conductor {
	struct go go;
	uint64_t waiting; /* tokens on their way */
	uint64_t hops;	  /* of each token in this round */
	uint64_t start_ns;
	uint64_t allocations;
	uint32_t rounds; /* that have ended */
};

static uint64_t allocations(struct gyre_stack *stack)
{
	struct gyre_counters counters;

	(void)gyre_system_counters(gyre_system_of(stack), &counters);
	return counters.allocations;
}

static int send_off(struct gyre_stack *stack, struct conductor *self, uint64_t hops)
{
	const struct settings *settings = self->go.settings;

	self->waiting = settings->messages;
	self->hops = hops / settings->messages;
	self->allocations = allocations(stack);
	self->start_ns = gyre_now(stack);
	for (uint64_t i = 0; i < settings->messages; i++) {
		int r = gyre_notify(stack, self->go.ring[i % settings->actors],
				    gyre_new(stack, token, self->hops));

		if (r < 0) {
			return gyre_throw(stack, r);
		}
	}
	return gyre_return(stack);
}

/* Neighbours live on different loops, so the first few are one of each. */
static int warm_up(struct gyre_stack *stack, struct conductor *self)
{
	const struct settings *settings = self->go.settings;
	uint64_t starters = settings->loops < settings->actors ? settings->loops : settings->actors;
	uint64_t hops = settings->hops / WARM_UP_SHARE / settings->messages / starters;
	int r = 0;

	self->waiting = settings->messages * starters;
	hops = hops < UINT32_MAX ? hops : UINT32_MAX;
	for (uint64_t i = 0; i < starters && r == 0; i++) {
		r = gyre_notify(
			stack, self->go.ring[i],
			gyre_new(stack, warm_up, (uint32_t)settings->messages, (uint32_t)hops));
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static void report(struct gyre_stack *stack, const struct conductor *self)
{
	const struct settings *settings = self->go.settings;
	double seconds = (double)(gyre_now(stack) - self->start_ns) / 1e9;
	uint64_t hops = (self->hops + 1) * settings->messages;
	double hops_per_s = (double)hops / seconds;
	double laps_per_s = hops_per_s / (double)settings->actors;
	uint64_t allocated = allocations(stack) - self->allocations;

	if (settings->json) {
		printf("{\"laps_per_s\": %.0f, \"hops_per_s\": %.0f, \"ns_per_hop\": %.2f, "
		       "\"allocations\": %" PRIu64 "}\n",
		       laps_per_s, hops_per_s, 1e9 / hops_per_s, allocated);
	} else {
		printf("%.3f million laps/s, %.1f million hops/s, %.1f ns a hop "
		       "(%" PRIu64 " hops in %.2f s, %" PRIu64 " allocations)\n",
		       laps_per_s / 1e6, hops_per_s / 1e6, 1e9 / hops_per_s, hops, seconds,
		       allocated);
	}
}

static int conductor_notice(struct gyre_stack *stack)
{
	struct conductor *self = (struct conductor *)gyre_state(stack);
	const struct go *go = gyre_message(stack, go);

	if (go != NULL) {
		self->go = *go;
		return warm_up(stack, self);
	}
	if (--self->waiting > 0) {
		return gyre_return(stack);
	}
	/* The second round is the measured one in small, with what the first one has left. */
	self->rounds++;
	if (self->rounds < ROUNDS) {
		return send_off(stack, self,
				self->rounds == ROUNDS - 1
					? self->go.settings->hops
					: self->go.settings->hops / WARM_UP_SHARE);
	}
	report(stack, self);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static const struct gyre_class conductor_class = {
	.name = "conductor",
	.state_bytes = sizeof(struct conductor),
	.behaviour.notice = conductor_notice,
	.strategy = GYRE_STRATEGY_ESCALATE,
};

/* ---- looking on ---- */

struct inspector {
	pthread_t thread;
	struct gyre_system *system;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool ending; /* guarded by the mutex */
};

/* Until the end of a pause. False when it is time to end. */
static bool pause_for(struct inspector *inspector)
{
	struct timespec until;
	bool ending;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += INSPECT_EVERY_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&inspector->mutex);
	if (!inspector->ending) {
		pthread_cond_timedwait(&inspector->condition, &inspector->mutex, &until);
	}
	ending = inspector->ending;
	pthread_mutex_unlock(&inspector->mutex);
	return !ending;
}

static void *look_on(void *arg)
{
	struct inspector *inspector = arg;
	struct gyre_snapshot *snapshot = NULL;

	do {
		gyre_snapshot_destroy(snapshot);
		snapshot = NULL;
		(void)gyre_system_inspect(inspector->system, &snapshot);
	} while (pause_for(inspector));
	(void)gyre_snapshot_print(snapshot, stderr);
	gyre_snapshot_destroy(snapshot);
	return NULL;
}

static int start_inspector(struct inspector *inspector, struct gyre_system *system)
{
	sigset_t signals;
	sigset_t before;
	int r;

	/* They are for gyre_system_run(). */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	inspector->system = system;
	pthread_mutex_init(&inspector->mutex, NULL);
	pthread_cond_init(&inspector->condition, NULL);
	r = -pthread_create(&inspector->thread, NULL, look_on, inspector);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		(void)fprintf(stderr, "gyre-ring: no thread to inspect with: %s\n", strerror(-r));
	}
	return r;
}

static void stop_inspector(struct inspector *inspector)
{
	pthread_mutex_lock(&inspector->mutex);
	inspector->ending = true;
	pthread_cond_signal(&inspector->condition);
	pthread_mutex_unlock(&inspector->mutex);
	pthread_join(inspector->thread, NULL);
}

/* ---- setting up ---- */

static int spawn_on(struct gyre_system *system, const struct gyre_class *class, uint64_t number,
		    struct gyre_address *ret_address)
{
	struct gyre_spawn_options options = {
		.place = GYRE_PLACE_LOOP,
		.loop = (uint32_t)(number % gyre_system_loops(system)),
	};

	return gyre_system_spawn(system, class, GYRE_NO_ARGUMENT, &options, ret_address);
}

static int build(struct gyre_system *system, const struct settings *settings,
		 struct gyre_address *ring)
{
	struct gyre_address conductor;
	int r = spawn_on(system, &conductor_class, 0, &conductor);

	for (uint64_t i = 0; i < settings->actors && r == 0; i++) {
		r = spawn_on(system, &ring_class, settings->together ? 0 : i, &ring[i]);
	}
	for (uint64_t i = 0; i < settings->actors && r == 0; i++) {
		r = gyre_system_notify(system, ring[i],
				       gyre_system_new(system, neighbour,
						       ring[(i + 1) % settings->actors], conductor,
						       settings->forward));
	}
	if (r == 0) {
		r = gyre_system_notify(system, conductor,
				       gyre_system_new(system, go, settings, ring));
	}
	return r;
}

static const char usage[] =
	"usage: gyre-ring [options]\n"
	"  --actors N     actors in the ring, 1 to 1000000 (100)\n"
	"  --messages N   tokens that go round at once, 1 to 1000000 (1024)\n"
	"  --hops N       hops of all tokens together (100000000)\n"
	"  --loops N      loops, 1 to 1024; neighbours live on different ones (1)\n"
	"  --cpus LIST    CPUs for the loops, as 0-3,8 (those allowed)\n"
	"  --set OPT=VAL  a tunable of the system, as run_budget=64; may be repeated\n"
	"  --spin HOW     how long a loop polls before it sleeps: auto, never, or ns\n"
	"  --together     all actors begin on the first loop, for the others to steal\n"
	"  --forward      pass the same mail on instead of making a fresh one\n"
	"  --inspect      take a snapshot every 10 ms, and print the last one\n"
	"  --json         one JSON object instead of a line of text\n"
	"Over processes, each a node with one actor; see scripts/ring-nodes:\n"
	"  --node N       which of the nodes this one is, 1 to 1000\n"
	"  --nodes N      how many there are, 2 to 1000 (10)\n"
	"  --base-port N  the port of node 1; the others have the next ones (9000)\n"
	"  --sockets FOLDER  Unix sockets in that folder, by its whole path, instead of ports\n"
	"  --payload N    bytes of a token, 0 to 1000000 (0)\n"
	"  --seconds N    how long laps are counted, 1 to 3600 (5)\n"
	"  --secret TEXT  which nodes share, at least 16 bytes; their links are encrypted\n"
	"  --help";

static enum app_parsed parse(int argc, char **argv, struct settings *settings)
{
	const struct app_option options[] = {
		{ "actors", APP_NUMBER, &settings->actors, 1, ACTORS_MAX },
		{ "messages", APP_NUMBER, &settings->messages, 1, ACTORS_MAX },
		{ "hops", APP_NUMBER, &settings->hops, 1, UINT64_MAX / 2 },
		{ "loops", APP_NUMBER, &settings->loops, 1, APP_LOOPS_MAX },
		{ "cpus", APP_TEXT, &settings->cpus, 0, 0 },
		{ "forward", APP_FLAG, &settings->forward, 0, 0 },
		{ "inspect", APP_FLAG, &settings->inspect, 0, 0 },
		{ "json", APP_FLAG, &settings->json, 0, 0 },
		{ "node", APP_NUMBER, &settings->node.node, 1, NODES_MAX },
		{ "nodes", APP_NUMBER, &settings->node.nodes, 2, NODES_MAX },
		{ "base-port", APP_NUMBER, &settings->node.base_port, 1, PORT_MAX },
		{ "sockets", APP_TEXT, (void *)&settings->node.sockets, 0, 0 },
		{ "payload", APP_NUMBER, &settings->node.payload, 0, PAYLOAD_MAX },
		{ "seconds", APP_NUMBER, &settings->node.seconds, 1, SECONDS_MAX },
		{ "set", APP_SET, &settings->tuned, 0, 0 },
		{ "together", APP_FLAG, &settings->together, 0, 0 },
		{ "spin", APP_SPIN, &settings->node.spin_ns, 0, 0 },
		{ "secret", APP_TEXT, (void *)&settings->node.secret, 0, 0 },
	};
	const struct app app = { "gyre-ring", usage, options, sizeof(options) / sizeof(*options),
				 NULL };

	return app_parse(&app, argc, argv);
}

static int run(const struct settings *settings)
{
	struct gyre_system_options options = settings->tuned;
	struct gyre_address *ring = calloc(settings->actors, sizeof(*ring));
	struct gyre_system *system = NULL;
	struct inspector inspector = { .system = NULL };
	bool inspected = false;
	int r;

	options.cpus = settings->cpus;
	r = ring == NULL ? -ENOMEM : gyre_system_create(&options, &system);
	if (r == 0) {
		r = build(system, settings, ring);
	}
	if (r == 0 && settings->inspect) {
		r = start_inspector(&inspector, system);
		inspected = r == 0;
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	if (inspected) {
		stop_inspector(&inspector);
	}
	gyre_system_destroy(system);
	free(ring);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct settings settings = { .actors = 100,
				     .messages = 1024,
				     .hops = 100000000,
				     .node = { .nodes = 10, .base_port = 9000, .seconds = 5 } };
	enum app_parsed parsed = parse(argc, argv, &settings);

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (settings.node.node > settings.node.nodes) {
		(void)fprintf(stderr,
			      "gyre-ring: there is no node %" PRIu64 " of %" PRIu64
			      ": --node is at most --nodes\n",
			      settings.node.node, settings.node.nodes);
		return EXIT_FAILURE;
	}
	if (settings.node.node > 0) {
		settings.node.messages = settings.messages;
		settings.node.cpus = settings.cpus;
		settings.node.json = settings.json;
		return ring_node_run(&settings.node);
	}
	if (!app_take_loops("gyre-ring", settings.loops, settings.node.spin_ns, &settings.tuned)) {
		return EXIT_FAILURE;
	}
	settings.tuned.loops = settings.tuned.loops != 0 ? settings.tuned.loops : 1;
	settings.loops = settings.tuned.loops;
	return run(&settings);
}
