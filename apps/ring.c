/*
 * The ring: actors in a circle, tokens that go round. Every hop is a fresh notice, made by the
 * actor that got one; with --forward it is the same mail passed on. A lap is one token once round.
 *
 * A conductor sends the tokens off, first for a short warm-up and then for the measured round, and
 * reports when the last one has come to its end.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { ACTORS_MAX = 1000000, WARM_UP_SHARE = 10 };

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

struct settings {
	uint64_t actors;
	uint64_t messages;
	uint64_t hops;
	uint64_t loops;
	const char *cpus;
	bool forward;
	bool json;
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

static int ring_notice(struct gyre_stack *stack)
{
	struct neighbour *self = (struct neighbour *)gyre_state(stack);
	const struct token *token = gyre_message(stack, token);

	if (token != NULL) {
		return pass_on(stack, self, token->hops);
	}
	*self = *gyre_message(stack, neighbour);
	return gyre_return(stack);
}

static const struct gyre_class ring_class = {
	.name = "ring",
	.state_bytes = sizeof(struct neighbour),
	.behaviour.notice = ring_notice,
};

/* ---- the conductor ---- */

struct conductor {
	struct go go;
	uint64_t waiting; /* tokens on their way */
	uint64_t hops;	  /* of each token in this round */
	uint64_t start_ns;
	uint64_t allocations;
	bool measuring;
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
		return send_off(stack, self, go->settings->hops / WARM_UP_SHARE);
	}
	if (--self->waiting > 0) {
		return gyre_return(stack);
	}
	if (!self->measuring) {
		self->measuring = true;
		return send_off(stack, self, self->go.settings->hops);
	}
	report(stack, self);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static const struct gyre_class conductor_class = {
	.name = "conductor",
	.state_bytes = sizeof(struct conductor),
	.behaviour.notice = conductor_notice,
};

/* ---- setting up ---- */

static int spawn_on(struct gyre_system *system, const struct gyre_class *class, uint64_t number,
		    struct gyre_address *ret_address)
{
	struct gyre_spawn_options options = {
		.place = GYRE_PLACE_LOOP,
		.loop = (uint32_t)(number % gyre_system_loops(system)),
	};

	return gyre_system_spawn(system, class, NULL, &options, ret_address);
}

static int build(struct gyre_system *system, const struct settings *settings,
		 struct gyre_address *ring)
{
	struct gyre_address conductor;
	int r = spawn_on(system, &conductor_class, 0, &conductor);

	for (uint64_t i = 0; i < settings->actors && r == 0; i++) {
		r = spawn_on(system, &ring_class, i, &ring[i]);
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

static void usage(void)
{
	puts("usage: gyre-ring [options]\n"
	     "  --actors N     actors in the ring (100)\n"
	     "  --messages N   tokens that go round at once (1024)\n"
	     "  --hops N       hops of all tokens together (100000000)\n"
	     "  --loops N      loops; neighbours live on different ones (1)\n"
	     "  --cpus LIST    CPUs for the loops, as 0-3,8 (those allowed)\n"
	     "  --forward      pass the same mail on instead of making a fresh one\n"
	     "  --json         one JSON object instead of a line of text\n"
	     "  --help");
}

/* A whole number above 0 and up to @max; 0 when @text is none. */
static uint64_t number(const char *text, uint64_t max)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	return *end != '\0' || *text == '-' || value > max ? 0 : value;
}

/* 0 to go on, 1 for help, -1 for a mistake. */
static int parse(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = {
		{ "actors", required_argument, NULL, 'a' },
		{ "messages", required_argument, NULL, 'm' },
		{ "hops", required_argument, NULL, 'n' },
		{ "loops", required_argument, NULL, 'l' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "forward", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			settings->actors = number(optarg, ACTORS_MAX);
			break;
		case 'm':
			settings->messages = number(optarg, ACTORS_MAX);
			break;
		case 'n':
			settings->hops = number(optarg, UINT64_MAX / 2);
			break;
		case 'l':
			settings->loops = number(optarg, 1024);
			break;
		case 'c':
			settings->cpus = optarg;
			break;
		case 'f':
			settings->forward = true;
			break;
		case 'j':
			settings->json = true;
			break;
		case 'h':
			usage();
			return 1;
		default:
			return -1;
		}
	}
	if (optind < argc || settings->actors == 0 || settings->messages == 0 ||
	    settings->hops == 0 || settings->loops == 0) {
		fputs("gyre-ring: actors and messages are 1 to 1000000, loops 1 to 1024, hops at "
		      "least 1; see --help\n",
		      stderr);
		return -1;
	}
	return 0;
}

static int run(const struct settings *settings)
{
	struct gyre_system_options options = { .loops = (uint32_t)settings->loops,
					       .cpus = settings->cpus };
	struct gyre_address *ring = calloc(settings->actors, sizeof(*ring));
	struct gyre_system *system = NULL;
	int r = ring == NULL ? -ENOMEM : gyre_system_create(&options, &system);

	if (r == 0) {
		r = build(system, settings, ring);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	free(ring);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.actors = 100, .messages = 1024, .hops = 100000000, .loops = 1
	};
	int r = parse(argc, argv, &settings);

	if (r != 0) {
		return r > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	return run(&settings);
}
