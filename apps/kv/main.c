/*
 * The program gyre-kv: its options, a system with a shard for each loop, and a place to listen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kv.h"

struct settings {
	const char *bind;
	const char *cpus;
	uint64_t clients_max;
	int64_t spin_ns;
	bool quiet;
	struct gyre_system_options tuned; /* by --set */
	struct kv kv;
	char address[GYRE_SOCKET_ADDRESS_TEXT_MAX]; /* where it listens */
};

static const char usage[] =
	"usage: gyre-kv [options]\n"
	"\n"
	"A key-value server for clients of Redis. Nothing is kept on disk.\n"
	"\n"
	"  --bind ADDRESS     where to listen (tcp://127.0.0.1:6379), or unix:PATH; port 0 is any\n"
	"  --clients-max N    connections at a time, 1 to 1000000 (10000)\n"
	"  --cpus LIST        CPUs for the loops, as 0-3,8 (those allowed)\n"
	"  --loops N          loops, each with a part of the keys, 1 to 1024 (one for each CPU)\n"
	"  --memory-max BYTES of keys and values, an equal share for each loop (no limit)\n"
	"  --quiet            log errors alone, and do not say where it listens\n"
	"  --set OPT=VAL      a tunable of the system, as run_budget=64; may be repeated\n"
	"  --spin HOW         how long a loop polls before it sleeps: auto, never, or ns\n"
	"  --value-max BYTES  of an argument, 1024 to 15000000 (8388608)\n"
	"  --help";

static enum app_parsed parse(int argc, char **argv, struct settings *settings)
{
	const struct app_option options[] = {
		{ "bind", APP_TEXT, &settings->bind, 0, 0 },
		{ "clients-max", APP_NUMBER, &settings->clients_max, 1, 1000000 },
		{ "cpus", APP_TEXT, &settings->cpus, 0, 0 },
		{ "loops", APP_NUMBER, &settings->kv.loops, 1, APP_LOOPS_MAX },
		{ "memory-max", APP_NUMBER, &settings->kv.memory_max, 1, UINT64_C(1) << 50 },
		{ "quiet", APP_FLAG, &settings->quiet, 0, 0 },
		{ "set", APP_SET, &settings->tuned, 0, 0 },
		{ "spin", APP_SPIN, &settings->spin_ns, 0, 0 },
		{ "value-max", APP_NUMBER, &settings->kv.value_max, 1024, 15000000 },
	};
	const struct app app = { "gyre-kv", usage, options, sizeof(options) / sizeof(*options),
				 NULL };

	return app_parse(&app, argc, argv);
}

static void print_listening(struct gyre_system *system, void *address)
{
	(void)system;
	(void)printf("listening on %s\n", (const char *)address);
	(void)fflush(stdout);
}

static int spawn_shards(struct gyre_system *system, struct kv *kv)
{
	int r = 0;

	for (uint32_t i = 0; i < kv->loops && r == 0; i++) {
		const struct gyre_spawn_options place = { .place = GYRE_PLACE_LOOP, .loop = i };

		r = gyre_system_spawn(system, &shard_class, GYRE_NO_ARGUMENT, &place,
				      &kv->actors[i]);
	}
	return r;
}

static int serve(struct gyre_system *system, struct settings *settings)
{
	struct gyre_socket_address address;
	const struct gyre_acceptor_options options = {
		.bind = settings->bind,
		.init_channel = client_init,
		.actor_class = &client_class,
		/* A reply may be as long as it likes, for none is begun before the last was read.
		 */
		.channel = { .allow_half_close = true, .write_max_bytes = 1 << 30 },
		.connections_max = (uint32_t)settings->clients_max,
		.refuse = true,
		.ret_address = &address,
	};
	int r;

	settings->kv.loops = gyre_system_loops(system);
	r = spawn_shards(system, &settings->kv);

	if (r == 0) {
		r = gyre_system_listen(system, &options, NULL);
	}
	if (r == 0) {
		r = gyre_socket_address_format(&address, sizeof(settings->address),
					       settings->address);
	}
	return r < 0 ? r : gyre_system_run(system);
}

int main(int argc, char **argv)
{
	struct settings settings = { .bind = "tcp://127.0.0.1:6379", .clients_max = 10000 };
	struct gyre_system *system = NULL;
	struct gyre_system_options *options = &settings.tuned;
	enum app_parsed parsed;
	int r;

	settings.kv.value_max = 8 << 20;
	settings.kv.memory_max = UINT64_MAX;
	parsed = parse(argc, argv, &settings);
	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (!app_take_loops("gyre-kv", settings.kv.loops, settings.spin_ns, options)) {
		return EXIT_FAILURE;
	}
	tree_init();
	commands_init();
	options->cpus = settings.cpus;
	if (settings.quiet) {
		options->log_level = GYRE_LOG_ERROR;
	} else {
		options->started = print_listening;
	}
	options->started_arg = settings.address;
	options->loop_init = shard_init;
	options->loop_fini = shard_fini;
	options->loop_arg = &settings.kv;
	r = gyre_system_create(options, &system);
	if (r == 0) {
		r = serve(system, &settings);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
