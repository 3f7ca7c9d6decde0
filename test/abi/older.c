/*
 * A program as it was built before structures had grown: older_test.py compiles it against headers
 * from which it has taken members away. Each structure stands right before memory that may not be
 * touched, so that a library which takes it for larger ends the program by SIGSEGV.
 *
 * It has a node with a type of its own, serves and connects over loopback by a handler and a class,
 * waits for a timer, counts, and inspects. Exits with 0 when all of that went well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gyre/gyre.h>

#define MUST(CONDITION)                                                          \
	do {                                                                     \
		if (!(CONDITION)) {                                              \
			(void)fprintf(stderr, "%d: %s\n", __LINE__, #CONDITION); \
			_exit(2);                                                \
		}                                                                \
	} while (0)

/* A copy of @bytes bytes with a page behind it that may not be touched. */
static void *guarded(const void *from, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED && bytes <= page && bytes % 8 == 0);
	MUST(mprotect(memory + page, page, PROT_NONE) == 0);
	return memcpy(memory + page - bytes, from, bytes);
}

#define GUARDED(NAME, ...) \
	((struct NAME *)guarded(&(struct NAME){ __VA_ARGS__ }, sizeof(struct NAME)))

struct begin {
	uint16_t port;
};
GYRE_MESSAGE(begin, 0x101);

struct bytes_back {
	size_t count;
};
GYRE_MESSAGE(bytes_back, 0x102);

static struct gyre_system *the_system;
static struct gyre_handler *echo_handler;
static struct gyre_handler *talk_handler;
static struct gyre_address talker;

/* ---- the server and its client ---- */

static void echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static int init_server(struct gyre_channel *channel, void *arg)
{
	(void)arg;
	MUST(gyre_idle_add(channel, GYRE_FIRST,
			   GUARDED(gyre_idle_options, .read_ns = GYRE_SECONDS(600))) == 0);
	return gyre_pipeline_add(channel, GYRE_LAST, echo_handler, NULL);
}

static void greet(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *hello = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(hello, "hello", 5);
	(void)gyre_context_write(ctx, hello);
}

static void hear(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	size_t count = gyre_buffer_bytes(data);

	(void)gyre_notify(stack, talker, gyre_new(stack, bytes_back, count));
	gyre_buffer_destroy(data);
}

static int init_client(struct gyre_channel *channel, void *arg)
{
	(void)arg;
	return gyre_pipeline_add(channel, GYRE_LAST, talk_handler, NULL);
}

/* ---- the actor ---- */

static int on_notice(struct gyre_stack *stack)
{
	const struct begin *begin = gyre_message(stack, begin);
	const struct bytes_back *back = gyre_message(stack, bytes_back);
	struct gyre_address socket;
	char to[64];

	if (begin != NULL && begin->port == 0) {
		return gyre_throw(stack, -1); /* so that it is restarted */
	}
	if (begin != NULL) {
		(void)snprintf(to, sizeof(to), "tcp://127.0.0.1:%d", begin->port);
		talker = gyre_self(stack);
		MUST(gyre_connect(
			     stack,
			     GUARDED(gyre_connect_options, .to = to, .init_channel = init_client),
			     &socket, NULL) == 0);
	}
	if (back != NULL) {
		MUST(back->count > 0);
		MUST(gyre_timer_start(stack, 1, GUARDED(gyre_timer_options, .delay_ns = 1)) == 0);
	}
	return gyre_return(stack);
}

static int on_event(struct gyre_stack *stack)
{
	if (gyre_message(stack, gyre_timeout) != NULL) {
		gyre_system_stop(the_system);
	}
	return gyre_return(stack);
}

/* ---- the system ---- */

static void serve(const struct gyre_class *actor_class)
{
	struct gyre_address actor;
	uint16_t port = 0;

	MUST(gyre_system_listen(the_system,
				GUARDED(gyre_acceptor_options, .bind = "tcp://127.0.0.1:0",
					.init_channel = init_server, .ret_port = &port),
				NULL) == 0);
	MUST(gyre_system_spawn(the_system, actor_class, GYRE_NO_ARGUMENT, NULL, &actor) == 0);
	MUST(gyre_system_notify(the_system, actor, gyre_system_new(the_system, begin, 0)) == 0);
	MUST(gyre_system_notify(the_system, actor, gyre_system_new(the_system, begin, port)) == 0);
	MUST(gyre_system_run(the_system) == 0);
}

static void look(void)
{
	struct gyre_system_options *options = GUARDED(gyre_system_options, 0);
	struct gyre_counters *counters = GUARDED(gyre_counters, 0);
	struct gyre_snapshot *snapshot;
	bool found = false;

	MUST(gyre_system_resolved_options(the_system, options) == 0);
	MUST(options->loops == 2 && options->io_ratio > 0);
	MUST(gyre_system_counters(the_system, counters) == 0);
	MUST(counters->accepted == 1 && counters->restarted == 1);
	MUST(gyre_system_inspect(the_system, &snapshot) == 0);
	for (uint32_t i = 0; i < snapshot->classes_count; i++) {
		found = found || strcmp(snapshot->classes[i].name, "talker") == 0;
	}
	MUST(found && snapshot->loops_count == 2 && snapshot->loops[1].index == 1);
	MUST(gyre_snapshot_print(snapshot, stdout) == 0);
	gyre_snapshot_destroy(snapshot);
}

#ifdef WITHOUT_NODE
static int create(void)
{
	return gyre_system_create(GUARDED(gyre_system_options, .loops = 2), &the_system);
}
#else
static int create(void)
{
	static const struct gyre_type *types[2];

	types[0] =
		(const struct gyre_type *)guarded(&gyre_type_bytes_back, sizeof(struct gyre_type));
	return gyre_system_create(
		GUARDED(gyre_system_options, .loops = 2,
			.node = GUARDED(gyre_node_options, .id = 1, .types = types,
					.secret = "a secret of this test alone")),
		&the_system);
}
#endif

int main(void)
{
	const struct gyre_class *talker_class =
		GUARDED(gyre_class, .name = "talker",
			.behaviour = { .notice = on_notice, .event = on_event });

	echo_handler = GUARDED(gyre_handler, .name = "echo", .read = echo);
	talk_handler = GUARDED(gyre_handler, .name = "talk", .active = greet, .read = hear);
	MUST(gyre_version() >= GYRE_VERSION);
	MUST(create() == 0);
	serve(talker_class);
	look();
	gyre_system_destroy(the_system);
	(void)printf("served\n");
	return 0;
}
