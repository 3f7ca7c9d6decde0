/*
 * An echo server on every core: what comes in goes out again, without a copy; over TCP and Unix
 * sockets, or each datagram over UDP.
 *
 * The server itself is echo_read() and init_channel(), for streams and datagrams alike. The rest is
 * an actor that reads the certificates again on SIGHUP, a thread that prints a line a second if it
 * is asked to, and a summary for those who measure.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>

#include <gyre/gyre.h>

#include "options.h"

struct settings {
	const char *bind;
	const char *cpus;
	const char *handover;
	const char *tls_ca;
	const char *tls_cert;
	const char *tls_key;
	const char *unix_path;
	uint64_t loops;
	int64_t spin_ns;
	struct gyre_system_options tuned; /* by --set */
	bool no_offload;
	bool stats;
	bool summary;
	bool udp;
	struct gyre_socket_address address; /* where it listens */
};

/* ---- the server ---- */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	int r = 0;

	if (arg != NULL) {
		r = gyre_tls_server_add(channel, GYRE_FIRST, arg);
	}
	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &echo, NULL);
}

/* ---- certificates that are renewed ---- */

struct renewal {
	struct gyre_tls_context *context;
};
GYRE_MESSAGE(renewal, 0x500);

struct renewer {
	struct gyre_tls_context *context;
};

struct renewer_frame {
	struct gyre_future done;
};

/* Off the loops, for it reads files. What is wrong with one of them is in the log by then. */
static int reload(struct gyre_work *work)
{
	int r = gyre_tls_context_reload(gyre_work_get(work, renewal)->context);

	if (r == 0) {
		(void)printf("certificates are renewed\n");
		(void)fflush(stdout);
	}
	return gyre_work_reply(work, gyre_work_new(work, renewal, NULL));
}

static int renew(struct gyre_stack *stack)
{
	struct renewer *self = (struct renewer *)gyre_state(stack);
	struct renewer_frame *frame = (struct renewer_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, reload, gyre_new(stack, renewal, self->context),
				       GYRE_FOREVER, &frame->done));
	if (gyre_future_failed(&frame->done) && gyre_future_error(&frame->done) != -ESHUTDOWN) {
		gyre_log(stack, GYRE_LOG_WARNING, "certificates are not renewed: %s",
			 strerror(-gyre_future_error(&frame->done)));
	}
	GYRE_END(stack);
}

static int watch(struct gyre_stack *stack)
{
	struct renewer *self = (struct renewer *)gyre_state(stack);
	struct renewer_frame *frame = (struct renewer_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	self->context = gyre_message(stack, renewal)->context;
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGHUP, &frame->done));
	if (gyre_future_failed(&frame->done)) {
		return gyre_throw(stack, gyre_future_error(&frame->done));
	}
	GYRE_END(stack);
}

static const struct gyre_route renewer_events[] = {
	GYRE_ROUTE(gyre_signal, renew),
	GYRE_ROUTE_END,
};

static const struct gyre_class renewer_class = {
	.name = "renewer",
	.state_bytes = sizeof(struct renewer),
	.frame_bytes = sizeof(struct renewer_frame),
	.mount = watch,
	.behaviour.event_routes = renewer_events,
};

/* SIGHUP waits from here on for the actor that watches it. */
static int start_renewer(struct gyre_system *system, struct gyre_tls_context *context)
{
	struct gyre_address renewer;
	sigset_t hangup;

	(void)sigemptyset(&hangup);
	(void)sigaddset(&hangup, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &hangup, NULL);
	return gyre_system_spawn(system, &renewer_class, gyre_system_new(system, renewal, context),
				 NULL, &renewer);
}

/* ---- a line a second ---- */

struct stats {
	struct gyre_system *system;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t stopped;
	bool stop;
	bool started;
};

static void print_stats(const struct gyre_counters *before, const struct gyre_counters *now,
			double seconds)
{
	uint64_t requests = now->reads - before->reads;
	uint64_t bytes = now->bytes_received - before->bytes_received;

	(void)printf("%" PRIu64 " connections, %.0f requests/s, %.0f bytes/s\n",
		     now->accepted - now->closed, (double)requests / seconds,
		     (double)bytes / seconds);
	(void)fflush(stdout);
}

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

/* Whether the thread was told to stop before @until. */
static bool wait_for_stop(struct stats *stats, const struct timespec *until)
{
	bool stop;

	(void)pthread_mutex_lock(&stats->mutex);
	while (!stats->stop && pthread_cond_timedwait(&stats->stopped, &stats->mutex, until) == 0) {
	}
	stop = stats->stop;
	(void)pthread_mutex_unlock(&stats->mutex);
	return stop;
}

static void *run_stats(void *arg)
{
	struct stats *stats = (struct stats *)arg;
	struct gyre_counters before = { 0 };
	struct timespec last;
	struct timespec next;

	(void)clock_gettime(CLOCK_MONOTONIC, &last);
	next = last;
	next.tv_sec++;
	while (!wait_for_stop(stats, &next)) {
		struct gyre_counters now;
		struct timespec time;

		(void)gyre_system_counters(stats->system, &now);
		(void)clock_gettime(CLOCK_MONOTONIC, &time);
		print_stats(&before, &now, seconds_between(&last, &time));
		before = now;
		last = time;
		next.tv_sec++;
	}
	return NULL;
}

/* The thread must not take the signals that gyre_system_run() waits for. */
static int start_stats(struct stats *stats, struct gyre_system *system)
{
	pthread_condattr_t attributes;
	sigset_t all;
	sigset_t before;
	int r;

	stats->system = system;
	(void)pthread_mutex_init(&stats->mutex, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&stats->stopped, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&stats->thread, NULL, run_stats, stats);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	stats->started = r == 0;
	if (r != 0) {
		(void)fprintf(stderr, "gyre-echo: no thread for --stats: %s\n", strerror(r));
	}
	return -r;
}

static void stop_stats(struct stats *stats)
{
	if (!stats->started) {
		return;
	}
	(void)pthread_mutex_lock(&stats->mutex);
	stats->stop = true;
	(void)pthread_cond_signal(&stats->stopped);
	(void)pthread_mutex_unlock(&stats->mutex);
	(void)pthread_join(stats->thread, NULL);
}

/* ---- the summary ---- */

static uint64_t nanoseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static void print_summary(struct gyre_system *system)
{
	struct gyre_counters counters;
	struct rusage usage;

	(void)gyre_system_counters(system, &counters);
	(void)getrusage(RUSAGE_SELF, &usage);
	(void)printf("{\"requests\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"connections\": %" PRIu64
		     ", \"closed\": %" PRIu64 ", \"io_uring_enters\": %" PRIu64
		     ", \"datagrams_sent\": %" PRIu64 ", \"datagram_sends\": %" PRIu64
		     ", \"datagram_receives\": %" PRIu64 ", \"user_ns\": %" PRIu64
		     ", \"system_ns\": %" PRIu64 ", \"allocations\": %" PRIu64 "}\n",
		     counters.reads, counters.bytes_received, counters.accepted, counters.closed,
		     counters.enters, counters.datagrams_sent, counters.datagram_sends,
		     counters.datagram_receives, nanoseconds(usage.ru_utime),
		     nanoseconds(usage.ru_stime), counters.allocations);
}

/* ---- the program ---- */

static const char usage[] =
	"usage: gyre-echo [options]\n"
	"\n"
	"Sends back what it receives, over TCP or UDP, until SIGINT or SIGTERM.\n"
	"\n"
	"  --bind ADDRESS  where to listen (tcp://[::]:7000); port 0 is any free one;\n"
	"                  also unix:PATH, and for datagrams udp://HOST:PORT, unix+dgram:PATH;\n"
	"                  or fd:NAME, what a supervisor has opened: see sd_listen_fds(3)\n"
	"  --udp           datagrams, at udp://[::]:7000 unless --bind or --unix says where\n"
	"  --unix PATH     for --bind unix:PATH, or with --udp unix+dgram:PATH; @NAME is abstract\n"
	"  --loops N       loops, 1 to 1024 (one for each CPU)\n"
	"  --cpus LIST     CPUs for the loops, as 0-3,8 (those allowed)\n"
	"  --handover AT   takes over from the process with the same unix:PATH, without a\n"
	"                  connection or datagram lost, and hands over to the next\n"
	"  --no-offload    datagrams one by one: no GRO, no GSO\n"
	"  --set OPT=VAL   a tunable of the system, as run_budget=64; may be repeated\n"
	"  --spin HOW      how long a loop polls before it sleeps: auto, never, or ns\n"
	"  --stats         a line a second: connections, requests/s, bytes/s\n"
	"  --summary       at the end one line of JSON: what was served, at what cost\n"
	"  --tls-cert FILE TLS with this certificate and those between it and its CA, in PEM\n"
	"  --tls-key FILE  its key; both are read again on SIGHUP\n"
	"  --tls-ca FILE   clients must have a certificate that one of these CAs has signed\n"
	"  --help";

static enum app_parsed parse(int argc, char **argv, struct settings *settings)
{
	const struct app_option options[] = {
		{ "bind", APP_TEXT, &settings->bind, 0, 0 },
		{ "cpus", APP_TEXT, &settings->cpus, 0, 0 },
		{ "handover", APP_TEXT, &settings->handover, 0, 0 },
		{ "loops", APP_NUMBER, &settings->loops, 1, APP_LOOPS_MAX },
		{ "no-offload", APP_FLAG, &settings->no_offload, 0, 0 },
		{ "set", APP_SET, &settings->tuned, 0, 0 },
		{ "spin", APP_SPIN, &settings->spin_ns, 0, 0 },
		{ "stats", APP_FLAG, &settings->stats, 0, 0 },
		{ "summary", APP_FLAG, &settings->summary, 0, 0 },
		{ "tls-ca", APP_TEXT, &settings->tls_ca, 0, 0 },
		{ "tls-cert", APP_TEXT, &settings->tls_cert, 0, 0 },
		{ "tls-key", APP_TEXT, &settings->tls_key, 0, 0 },
		{ "udp", APP_FLAG, &settings->udp, 0, 0 },
		{ "unix", APP_TEXT, &settings->unix_path, 0, 0 },
	};
	const struct app app = { "gyre-echo", usage, options, sizeof(options) / sizeof(*options),
				 NULL };

	return app_parse(&app, argc, argv);
}

/* Where it listens in truth: with the port that was found, or on the socket that was given. */
static void print_listening(struct gyre_system *system, void *arg)
{
	const struct settings *settings = (const struct settings *)arg;
	const struct gyre_socket_address *address = &settings->address;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	(void)system;
	/* An abstract name can be such that there is no text for it. */
	(void)printf("listening on %s\n",
		     gyre_socket_address_format(address, sizeof(text), text) < 0 ? settings->bind
										 : text);
	(void)fflush(stdout);
}

static bool is_of_datagrams(const char *bind)
{
	return gyre_socket_address_text_type(bind) == SOCK_DGRAM;
}

/* Whether it is a socket that a supervisor has opened, of whatever kind. */
static bool is_inherited(const char *bind)
{
	return strncasecmp(bind, "fd:", 3) == 0;
}

static int listen_there(struct gyre_system *system, struct settings *settings,
			struct gyre_tls_options *tls)
{
	const char *bind = settings->bind;
	const struct gyre_acceptor_options streams = { .bind = bind,
						       .init_channel = init_channel,
						       .init_arg =
							       tls->context == NULL ? NULL : tls,
						       .ret_address = &settings->address };
	const struct gyre_datagram_options datagrams = { .bind = bind,
							 .no_gro = settings->no_offload,
							 .no_gso = settings->no_offload,
							 .init_channel = init_channel,
							 .ret_address = &settings->address };

	return settings->udp ? gyre_system_datagram_open(system, &datagrams, NULL)
			     : gyre_system_listen(system, &streams, NULL);
}

static int make_tls(struct gyre_system *system, const struct settings *settings,
		    struct gyre_tls_options *tls)
{
	const struct gyre_tls_context_options options = { .certificate = settings->tls_cert,
							  .key = settings->tls_key,
							  .ca = settings->tls_ca };

	int r;

	tls->mutual = settings->tls_ca != NULL;
	if (settings->tls_cert == NULL) {
		return 0;
	}
	r = gyre_tls_context_create(system, &options, &tls->context);
	return r == 0 ? start_renewer(system, tls->context) : r;
}

static int serve(struct gyre_system *system, struct settings *settings,
		 struct gyre_tls_options *tls)
{
	struct stats stats = { 0 };
	int r = listen_there(system, settings, tls);

	if (r == 0 && settings->stats) {
		r = start_stats(&stats, system);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	stop_stats(&stats);
	if (r == 0 && settings->summary) {
		print_summary(system);
	}
	return r;
}

/* A path that is too long for the room here is so for the kernel too, whose error tells. */
static bool choose_address(struct settings *settings, char *unix_address, size_t bytes)
{
	if (settings->unix_path == NULL) {
		if (settings->bind == NULL) {
			settings->bind = settings->udp ? "udp://[::]:7000" : "tcp://[::]:7000";
		}
		return true;
	}
	if (settings->bind != NULL) {
		(void)fprintf(stderr, "gyre-echo: --unix and --bind say both where to listen\n");
		return false;
	}
	(void)snprintf(unix_address, bytes, "%s:%s", settings->udp ? "unix+dgram" : "unix",
		       settings->unix_path);
	settings->bind = unix_address;
	return true;
}

static bool is_sound(const struct settings *settings)
{
	bool tls = settings->tls_cert != NULL || settings->tls_key != NULL;

	if (settings->udp && !is_of_datagrams(settings->bind) && !is_inherited(settings->bind)) {
		(void)fprintf(stderr, "gyre-echo: --udp needs an address as udp://[::]:7000\n");
		return false;
	}
	if ((tls || settings->tls_ca != NULL) &&
	    (settings->tls_cert == NULL || settings->tls_key == NULL)) {
		(void)fprintf(stderr, "gyre-echo: TLS needs --tls-cert and --tls-key\n");
		return false;
	}
	if (tls && is_of_datagrams(settings->bind)) {
		(void)fprintf(stderr, "gyre-echo: TLS is for streams, not for datagrams\n");
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct gyre_tls_options tls = { 0 };
	struct settings settings = { 0 };
	char unix_address[256];
	struct gyre_system *system = NULL;
	struct gyre_system_options options;
	enum app_parsed parsed = parse(argc, argv, &settings);
	int r;

	if (parsed != APP_RUN) {
		return parsed == APP_HELPED ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (!choose_address(&settings, unix_address, sizeof(unix_address)) ||
	    !is_sound(&settings) ||
	    !app_take_loops("gyre-echo", settings.loops, settings.spin_ns, &settings.tuned)) {
		return EXIT_FAILURE;
	}
	settings.udp = settings.udp || is_of_datagrams(settings.bind);
	options = settings.tuned;
	options.cpus = settings.cpus;
	options.handover = settings.handover;
	options.notify_supervisor = true;
	options.started = print_listening;
	options.started_arg = &settings;
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = make_tls(system, &settings, &tls);
	}
	if (r == 0) {
		r = serve(system, &settings, &tls);
	}
	gyre_system_destroy(system);
	gyre_tls_context_unref(tls.context);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
