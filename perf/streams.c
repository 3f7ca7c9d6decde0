/*
 * Streams: what an element costs on its way from a source to a sink.
 *
 *   fused   three stages in one actor: map, filter, map
 *   loops   a boundary between two loops, elements of 8 bytes
 *   file    a file that is sent to a socket, a chunk at a time, while a thread reads the other end
 *
 * By hand the same work is done without streams: fused is a loop that calls the three functions by
 * pointer for each element; loops has two actors that send blocks of elements and credit for them;
 * file has an actor that reads a chunk and sends it, and goes on when it has gone.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/gyre.h>

#include "common/allocations.h"
#include "common/options.h"
#include "common/report.h"

enum { BLOCK = 128, WINDOW = 8, CHUNK_BYTES = 65536 };

struct item {
	uint64_t value;
};
GYRE_MESSAGE(item, 0x100);

struct settings {
	int64_t elements;
	const char *mode;
	const char *path;
	const char *cpus;
	bool by_hand;
	bool json;
};

static struct settings settings = { .elements = 50000000, .mode = "fused", .path = "" };

static uint64_t sum;

/* ---- the work ---- */

struct counter {
	uint64_t next;
	uint64_t count;
};

static int next(void *arg, void *out)
{
	struct counter *counter = arg;

	if (counter->next == counter->count) {
		return 0;
	}
	((struct item *)out)->value = counter->next++;
	return 1;
}

static int add_one(void *arg, void *in, void *out)
{
	(void)arg;
	((struct item *)out)->value = ((const struct item *)in)->value + 1;
	return 0;
}

static int keep_all_but(void *arg, const void *in)
{
	return ((const struct item *)in)->value % *(const uint64_t *)arg != 0;
}

static int add_up(void *arg, void *in)
{
	*(uint64_t *)arg += ((const struct item *)in)->value;
	return 0;
}

static struct counter counter;
static uint64_t divisor = 1000003;

/* ---- by hand: one actor ---- */

/* The compiler is not to know the functions. */
static int (*volatile hand_next)(void *, void *) = next;
static int (*volatile hand_map)(void *, void *, void *) = add_one;
static int (*volatile hand_keep)(void *, const void *) = keep_all_but;
static int (*volatile hand_each)(void *, void *) = add_up;

static void run_by_hand(void)
{
	struct item a;
	struct item b;

	while (hand_next(&counter, &a) == 1) {
		(void)hand_map(NULL, &a, &b);
		if (hand_keep(&divisor, &b) == 1) {
			(void)hand_map(NULL, &b, &a);
			(void)hand_each(&sum, &a);
		}
	}
}

/* ---- by hand: two loops ---- */

struct items {
	uint32_t count;
	uint32_t reserved;
	struct item item[BLOCK];
};
GYRE_MESSAGE(items, 0x101);

struct credit {
	uint64_t blocks;
};
GYRE_MESSAGE(credit, 0x102);

struct done {
	uint64_t sum;
};
GYRE_MESSAGE(done, 0x103);

static struct gyre_address hand_sink;

static int produce(struct gyre_stack *stack)
{
	uint64_t blocks = gyre_message(stack, credit)->blocks;

	while (blocks-- > 0 && counter.next < counter.count) {
		struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_items);
		struct items *items = mail == NULL ? NULL : gyre_payload(mail);

		for (uint32_t i = 0; items != NULL && i < BLOCK; i++) {
			items->item[i].value = counter.next++;
			items->count = i + 1;
		}
		if (gyre_notify(stack, hand_sink, mail) < 0) {
			abort();
		}
	}
	return gyre_return(stack);
}

static const struct gyre_class producer_class = { .name = "producer", .behaviour.notice = produce };

struct hand {
	struct gyre_address producer;
	struct gyre_address main;
	uint64_t count;
	uint32_t blocks;
};

static int take_items(struct gyre_stack *stack)
{
	struct hand *hand = gyre_state(stack);
	const struct items *items = gyre_message(stack, items);

	if (items == NULL) {
		const struct gyre_spawn_options other = { .place = GYRE_PLACE_LOOP, .loop = 1 };

		hand->main = gyre_sender(stack);
		hand_sink = gyre_self(stack);
		return gyre_spawn(stack, &producer_class, GYRE_NO_ARGUMENT, &other,
				  &hand->producer) < 0
			       ? gyre_throw(stack, -EIO)
			       : gyre_notify(stack, hand->producer,
					     gyre_new(stack, credit, WINDOW));
	}
	for (uint32_t i = 0; i < items->count; i++) {
		sum += items->item[i].value;
	}
	hand->count += items->count;
	if (hand->count == counter.count) {
		return gyre_notify(stack, hand->main, gyre_new(stack, done, sum));
	}
	if (++hand->blocks == WINDOW / 2) {
		hand->blocks = 0;
		return gyre_notify(stack, hand->producer, gyre_new(stack, credit, WINDOW / 2));
	}
	return gyre_return(stack);
}

static const struct gyre_class sink_class = { .name = "sink",
					      .state_bytes = sizeof(struct hand),
					      .behaviour.notice = take_items };

/* ---- a file to a socket ---- */

static int listener;

/* The other end: reads until the connection ends. */
static void *read_away(void *arg)
{
	static char bytes[1 << 20];
	int fd = accept(listener, NULL, NULL);

	while (recv(fd, bytes, sizeof(bytes), 0) > 0) {
	}
	(void)close(fd);
	return arg;
}

static uint64_t cpu_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_THREAD, &usage);
	return 1000 * ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) +
	       1000000000 * ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec);
}

/* By hand: the actor of the channel has two chunks on their way, each with a message of its own. */
struct sender {
	struct gyre_file *file;
	struct gyre_address main;
	uint64_t offset;
	uint32_t ended;
};

static int begin_sending(struct gyre_stack *stack)
{
	struct gyre_future *future = gyre_frame(stack);
	struct sender *sender = gyre_state(stack);
	struct gyre_file_opened opened;

	GYRE_BEGIN(stack);
	sender->main =
		*(const struct gyre_address *)gyre_message(stack, gyre_channel_attached)->arg;
	GYRE_AWAIT(stack, gyre_file_open(stack, settings.path, NULL, GYRE_FOREVER, future));
	if (gyre_future_move(future, gyre_file_opened, &opened) < 0) {
		return gyre_throw(stack, -EIO);
	}
	sender->file = opened.file;
	for (int i = 0; i < 2; i++) {
		if (gyre_notify(stack, gyre_self(stack), gyre_new(stack, credit, 1)) < 0) {
			return gyre_throw(stack, -ENOMEM);
		}
	}
	GYRE_END(stack);
}

static void chunk_has_gone(struct gyre_channel *channel, int error, void *arg)
{
	struct gyre_handler_context *ctx = gyre_channel_tail(channel);
	struct gyre_stack *stack = gyre_context_stack(ctx);

	(void)arg;
	if (error < 0 ||
	    gyre_notify(stack, gyre_channel_actor(channel), gyre_new(stack, credit, 1)) < 0) {
		abort();
	}
}

static int read_chunk(struct gyre_stack *stack, struct sender *sender, struct gyre_future *future)
{
	struct gyre_file_part part = { .offset = sender->offset, .bytes = CHUNK_BYTES };

	sender->offset += CHUNK_BYTES;
	return gyre_file_read(stack, sender->file, &part, GYRE_FOREVER, future);
}

static int send_chunk(struct gyre_stack *stack)
{
	struct gyre_future *future = gyre_frame(stack);
	struct sender *sender = gyre_state(stack);
	struct gyre_file_data data = { 0 };

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, read_chunk(stack, sender, future));
	if (gyre_future_move(future, gyre_file_data, &data) < 0) {
		return gyre_throw(stack, -EIO);
	}
	if (data.count == 0) {
		return ++sender->ended == 2
			       ? gyre_notify(stack, sender->main, gyre_new(stack, done, 0))
			       : gyre_return(stack);
	}
	return gyre_context_write_then(gyre_channel_tail(gyre_actor_channel(stack)), data.buffer,
				       chunk_has_gone, NULL);
	GYRE_END(stack);
}

static const struct gyre_class sender_class = { .name = "sender",
						.state_bytes = sizeof(struct sender),
						.frame_bytes = sizeof(struct gyre_future),
						.mount = begin_sending,
						.behaviour.notice = send_chunk };

/* ---- the main actor ---- */

struct state {
	struct gyre_future future;
	struct gyre_address self;
	uint64_t start_ns;
	uint64_t allocations;
	uint64_t cpu_ns;
	double elements;
};

static int report(struct gyre_stack *stack)
{
	const struct state *state = gyre_state(stack);
	double ns = (double)(gyre_now(stack) - state->start_ns);
	struct perf_report out;

	perf_report_init(&out, "streams");
	perf_report_number(&out, "elements_per_s", 1e9 * state->elements / ns);
	perf_report_number(&out, "ns_per_element", ns / state->elements);
	perf_report_number(&out, "cpu_ns_per_element",
			   (double)(cpu_ns() - state->cpu_ns) / state->elements);
	perf_report_number(&out, "allocations",
			   (double)(perf_allocations(stack) - state->allocations));
	perf_report_print(&out, settings.json);
	return gyre_stop(stack, gyre_self(stack));
}

static void begin(struct gyre_stack *stack)
{
	struct state *state = gyre_state(stack);

	state->allocations = perf_allocations(stack);
	state->cpu_ns = cpu_ns();
	state->start_ns = gyre_now(stack);
}

static struct gyre_graph *build_numbers(void)
{
	static const struct gyre_boundary_options other = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_item, next, &counter);

	if (strcmp(settings.mode, "loops") == 0) {
		s = gyre_stream_boundary(s, &other);
	} else {
		s = gyre_stream_map(s, &gyre_type_item, add_one, NULL);
		s = gyre_stream_filter(s, keep_all_but, &divisor);
		s = gyre_stream_map(s, &gyre_type_item, add_one, NULL);
	}
	gyre_stream_each(s, add_up, &sum);
	return graph;
}

static struct gyre_graph *build_file(struct gyre_address channel)
{
	struct gyre_graph *graph = gyre_graph_create();

	gyre_stream_write_channel(gyre_stream_read_file(graph, settings.path, NULL), channel);
	return graph;
}

/* Elements are counted in whole blocks, as those by hand are. */
static int run_numbers(struct gyre_stack *stack)
{
	struct state *state = gyre_state(stack);

	GYRE_BEGIN(stack);
	counter.count = (uint64_t)settings.elements / BLOCK * BLOCK;
	state->elements = (double)counter.count;
	begin(stack);
	if (!settings.by_hand) {
		GYRE_AWAIT(stack, gyre_graph_run(stack, build_numbers(), NULL, &state->future));
		if (gyre_future_failed(&state->future)) {
			return gyre_throw(stack, gyre_future_error(&state->future));
		}
		return report(stack);
	}
	if (strcmp(settings.mode, "loops") == 0) {
		struct gyre_address sink;

		return gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, NULL, &sink) < 0
			       ? gyre_throw(stack, -EIO)
			       : gyre_notify(stack, sink, gyre_new(stack, done, 0));
	}
	run_by_hand();
	return report(stack);
	GYRE_END(stack);
}

/* Without handlers: nothing is received. */
static int init_channel(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

static int dial(struct gyre_stack *stack)
{
	struct state *state = gyre_state(stack);
	char to[64];
	struct sockaddr_in address = { 0 };
	socklen_t bytes = sizeof(address);

	if (getsockname(listener, (struct sockaddr *)&address, &bytes) < 0) {
		return -errno;
	}
	(void)snprintf(to, sizeof(to), "tcp://127.0.0.1:%u", ntohs(address.sin_port));
	state->self = gyre_self(stack);
	begin(stack);
	return gyre_connect(stack,
			    &(struct gyre_connect_options){
				    .to = to,
				    .init_channel = init_channel,
				    .actor_class = settings.by_hand ? &sender_class : NULL,
				    .init_arg = &state->self },
			    NULL, &state->future);
}

static int run_file(struct gyre_stack *stack)
{
	struct state *state = gyre_state(stack);
	const struct gyre_connected *connected;
	struct stat file;

	GYRE_BEGIN(stack);
	if (stat(settings.path, &file) < 0) {
		return gyre_throw(stack, -errno);
	}
	state->elements = (double)file.st_size / CHUNK_BYTES;
	GYRE_AWAIT(stack, dial(stack));
	connected = gyre_future_get(&state->future, gyre_connected);
	if (connected == NULL) {
		return gyre_throw(stack, gyre_future_error(&state->future));
	}
	if (!settings.by_hand) {
		GYRE_AWAIT(stack, gyre_graph_run(stack, build_file(connected->channel), NULL,
						 &state->future));
		if (gyre_future_failed(&state->future)) {
			return gyre_throw(stack, gyre_future_error(&state->future));
		}
		return report(stack);
	}
	GYRE_END(stack);
}

static int measure(struct gyre_stack *stack)
{
	return strcmp(settings.mode, "file") == 0 ? run_file(stack) : run_numbers(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .state_bytes = sizeof(struct state),
					      .mount = measure,
					      .behaviour.notice = report,
					      .strategy = GYRE_STRATEGY_SHUT_DOWN };

static int listen_here(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
			       listen(listener, 1) < 0
		       ? -errno
		       : 0;
}

int main(int argc, char **argv)
{
	const struct perf_option options[] = {
		{ "mode", PERF_OPTION_CHOICE, "what is measured", &settings.mode, 0, 0,
		  "fused|loops|file" },
		{ "elements", PERF_OPTION_NUMBER, "how many", &settings.elements, BLOCK,
		  INT64_MAX / 2, NULL },
		{ "path", PERF_OPTION_STRING, "the file that is sent", &settings.path, 0, 0, NULL },
		{ "by-hand", PERF_OPTION_FLAG, "without streams", &settings.by_hand, 0, 0, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPUs for the loops, as 0-3,8", &settings.cpus, 0, 0,
		  NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_system_options system_options = { 0 };
	pthread_t reader;
	int r;

	perf_options_parse(argc, argv, "streams of elements", options,
			   sizeof(options) / sizeof(options[0]));
	system_options.loops = strcmp(settings.mode, "loops") == 0 ? 2 : 1;
	system_options.cpus = settings.cpus;
	r = listen_here();
	if (r == 0 && strcmp(settings.mode, "file") == 0) {
		r = -pthread_create(&reader, NULL, read_away, NULL);
	}
	return r < 0 ? perf_fail("streams", r) : gyre_main(&main_class, 0, NULL, &system_options);
}
