/*
 * The program gyre-kv: its options, a system with a shard for each loop, and a place to listen.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kv.h"

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

static void print_listening(struct gyre_system *system, void *address)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	(void)system;
	(void)gyre_socket_address_format((const struct gyre_socket_address *)address, sizeof(text),
					 text);
	(void)printf("listening on %s\n", text);
	(void)fflush(stdout);
}

static int serve(struct gyre_system *system, struct kv *kv,
		 const struct gyre_acceptor_options *options)
{
	int r = 0;

	kv->loops = gyre_system_loops(system);
	for (uint32_t i = 0; i < kv->loops && r == 0; i++) {
		const struct gyre_spawn_options place = { .place = GYRE_PLACE_LOOP, .loop = i };

		r = gyre_system_spawn(system, &shard_class, GYRE_NO_ARGUMENT, &place,
				      &kv->actors[i]);
	}
	r = r < 0 ? r : gyre_system_listen(system, options, NULL);
	return r < 0 ? r : gyre_system_run(system);
}

int main(int argc, char **argv)
{
	struct kv kv = { .clients_max = 10000, .value_max = 8 << 20, .memory_max = UINT64_MAX };
	struct gyre_socket_address address;
	struct gyre_acceptor_options acceptor = {
		.bind = "tcp://127.0.0.1:6379",
		.init_channel = client_init,
		.actor_class = &client_class,
		/* A reply may be as long as it likes: none is begun before the last was read. */
		.channel = { .allow_half_close = true, .write_max_bytes = 1 << 30 },
		.refuse = true,
		.ret_address = &address,
	};
	struct gyre_system_options options = {
		.started = print_listening,
		.started_arg = &address,
		.loop_init = shard_init,
		.loop_fini = shard_fini,
		.loop_arg = &kv,
	};
	int64_t spin_ns = 0;
	bool quiet = false;
	const struct app_option table[] = {
		{ "bind", APP_TEXT, &acceptor.bind, 0, 0 },
		{ "clients-max", APP_NUMBER, &kv.clients_max, 1, 1000000 },
		{ "cpus", APP_TEXT, &options.cpus, 0, 0 },
		{ "loops", APP_NUMBER, &kv.loops, 1, APP_LOOPS_MAX },
		{ "memory-max", APP_NUMBER, &kv.memory_max, 1, UINT64_C(1) << 50 },
		{ "quiet", APP_FLAG, &quiet, 0, 0 },
		{ "set", APP_SET, &options, 0, 0 },
		{ "spin", APP_SPIN, &spin_ns, 0, 0 },
		{ "value-max", APP_NUMBER, &kv.value_max, 1024, 15000000 },
	};
	const struct app app = { "gyre-kv", usage, table, sizeof(table) / sizeof(*table), NULL };
	enum app_parsed parsed = app_parse(&app, argc, argv);
	struct gyre_system *system = NULL;
	int r;

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (!app_take_loops("gyre-kv", kv.loops, spin_ns, &options)) {
		return EXIT_FAILURE;
	}
	tree_init();
	commands_init();
	acceptor.connections_max = (uint32_t)kv.clients_max + TOLD_MAX;
	if (quiet) {
		options.log_level = GYRE_LOG_ERROR;
		options.started = NULL;
	}
	r = gyre_system_create(&options, &system);
	r = r < 0 ? r : serve(system, &kv, &acceptor);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
