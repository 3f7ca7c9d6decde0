/*
 * A simulation as its user sees it: made, run, disturbed and asked.
 */
#include <gyre/sim.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/random.h"
#include "sim/checks.h"
#include "sim/decisions.h"
#include "sim/disk/disk.h"
#include "sim/process/signals.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

enum { CPUS_DEFAULT = 2, CPUS_MAX = 64 };

/* ---- what happens ---- */

static void digest_number(struct gyre_sim *sim, uint64_t number)
{
	uint64_t state = sim->digest ^ number;

	sim->digest = gy_random_next(&state);
}

void gy_sim_note(struct gyre_sim *sim, uint64_t a, uint64_t b)
{
	digest_number(sim, sim->now_ns * UINT64_C(0x100000001b3) ^ (a << 32 | b));
}

static void digest_text(struct gyre_sim *sim, const char *text)
{
	for (; *text != '\0'; text++) {
		sim->digest = (sim->digest ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	}
	digest_number(sim, sim->now_ns);
}

void gy_sim_trace(struct gyre_sim *sim, const struct gy_sim_host *host, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	digest_text(sim, text);
	if (sim->trace != NULL) {
		(void)fprintf(sim->trace, "%15.3f us  %-10s %s\n", (double)sim->now_ns / 1000.0,
			      host == NULL ? "" : host->name, text);
	}
}

void gy_sim_fail(struct gyre_sim *sim, const char *format, ...)
{
	va_list arguments;

	if (sim->failure[0] != '\0') {
		return;
	}
	va_start(arguments, format);
	(void)vsnprintf(sim->failure, sizeof(sim->failure), format, arguments);
	va_end(arguments);
	gy_sim_trace(sim, NULL, "failed: %s", sim->failure);
	if (sim->trace != NULL) {
		(void)fflush(sim->trace);
	}
}

void gy_sim_output_close(FILE *output, const char *what)
{
	bool failed;

	if (output == NULL) {
		return;
	}
	failed = ferror(output) != 0;
	if (fclose(output) != 0 || failed) {
		(void)fprintf(stderr, "simulator: the file of the %s could not be written whole\n",
			      what);
	}
}

/* ---- life ---- */

/*
 * Simulations are those of one thread at a time: tasks leave what the process has once, as mutexes
 * and pools, in a state that only tasks of the same thread can go on from.
 */
static struct {
	pthread_mutex_t mutex;
	pthread_t thread; /* that has them */
	uint32_t count;
} present = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static bool come(void)
{
	bool may;

	(void)pthread_mutex_lock(&present.mutex);
	may = present.count == 0 || pthread_equal(present.thread, pthread_self());
	if (may) {
		present.thread = pthread_self();
		present.count++;
	}
	(void)pthread_mutex_unlock(&present.mutex);
	return may;
}

static void go(void)
{
	(void)pthread_mutex_lock(&present.mutex);
	gy_assert(present.count > 0);
	present.count--;
	(void)pthread_mutex_unlock(&present.mutex);
}

static int open_files(struct gyre_sim *sim, const struct gyre_sim_options *options)
{
	if (options->trace != NULL) {
		sim->trace = fopen(options->trace, "we");
		if (sim->trace == NULL) {
			return -errno;
		}
	}
	return gy_sim_decisions_init(sim, options);
}

int gyre_sim_create(const struct gyre_sim_options *options, struct gyre_sim **ret_sim)
{
	static const struct gyre_sim_options none;
	struct gyre_sim *sim;
	int r;

	options = options == NULL ? &none : options;
	if (ret_sim == NULL || options->faults > 1000000 || options->refusals > 1000000 ||
	    options->cpus > CPUS_MAX || gy_sim_here != NULL) {
		return -EINVAL;
	}
	if (!come()) {
		return -EBUSY;
	}
	sim = (struct gyre_sim *)gy_sim_get(sizeof(*sim));
	sim->process = __real_getpid();
	sim->faults = options->faults;
	sim->refusals = options->refusals;
	sim->leaks = options->leaks;
	sim->cpus = options->cpus == 0 ? CPUS_DEFAULT : options->cpus;
	gy_list_init(&sim->checks);
	gy_sim_tls_random_init();
	gy_sim_scheduler_init(sim);
	gy_sim_net_init(sim);
	r = open_files(sim, options);
	if (r < 0) {
		gyre_sim_destroy(sim);
		return r;
	}
	*ret_sim = sim;
	return 0;
}

/* What checks have made in the name of the observer. */
static void end_observer(struct gyre_sim *sim)
{
	struct gy_sim_task *observer = &sim->scheduler->observer;
	struct gy_sim_task *before = gy_sim_task_pose(observer);

	gy_sim_task_end_specifics(observer);
	(void)gy_sim_task_pose(before);
}

void gyre_sim_destroy(struct gyre_sim *sim)
{
	if (sim == NULL) {
		return;
	}
	gy_assert(gy_sim_here == NULL);
	for (uint32_t i = 0; i < sim->hosts_count; i++) {
		if (sim->hosts[i]->up) {
			gy_sim_host_down(sim->hosts[i], true);
		}
	}
	for (uint32_t i = 0; i < sim->hosts_count; i++) {
		gy_sim_host_destroy(sim->hosts[i]);
	}
	end_observer(sim);
	gy_sim_net_fini(sim);
	gy_sim_checks_fini(sim);
	gy_sim_decisions_fini(sim);
	gy_sim_scheduler_fini(sim);
	gy_sim_output_close(sim->trace, "trace");
	gy_sim_put(sim);
	go();
}

int gyre_sim_host(struct gyre_sim *sim, const char *name, gyre_sim_boot_fn boot, void *arg,
		  uint32_t *ret_host)
{
	struct gy_sim_host *host;

	if (sim == NULL || name == NULL || boot == NULL || name[0] == '\0' ||
	    strlen(name) >= GY_SIM_NAME_BYTES) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < sim->hosts_count; i++) {
		if (strcmp(sim->hosts[i]->name, name) == 0) {
			return -EEXIST;
		}
	}
	if (sim->hosts_count == GY_SIM_HOSTS_MAX) {
		return -ENOBUFS;
	}
	host = gy_sim_host_make(sim, name, boot, arg);
	gy_sim_host_boot(host);
	if (ret_host != NULL) {
		*ret_host = host->index;
	}
	return 0;
}

/* ---- running ---- */

int gyre_sim_run_until(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg, uint64_t ns)
{
	if (sim == NULL || when == NULL) {
		return -EINVAL;
	}
	if (gy_sim_here != NULL) {
		return -EDEADLK;
	}
	return gy_sim_schedule(sim, when, arg, gy_time_add(sim->now_ns, ns));
}

int gyre_sim_run(struct gyre_sim *sim, uint64_t ns)
{
	int r;

	if (sim == NULL) {
		return -EINVAL;
	}
	if (gy_sim_here != NULL) {
		return -EDEADLK;
	}
	r = gy_sim_schedule(sim, NULL, NULL, gy_time_add(sim->now_ns, ns));
	return r == -ETIMEDOUT ? 0 : r;
}

/* ---- disturbing ---- */

bool gy_sim_refuses(const char *what)
{
	struct gy_sim_host *host = gy_sim_host_here();

	if (host == NULL || !gy_sim_happens(host->sim, host->sim->refusals)) {
		return false;
	}
	gy_sim_trace(host->sim, host, "is refused %s", what);
	return true;
}

bool gyre_sim_point(const char *name)
{
	struct gy_sim_host *host = gy_sim_host_here();

	if (host == NULL || !gy_sim_happens(host->sim, host->sim->faults)) {
		return false;
	}
	gy_sim_trace(host->sim, host, "point %s takes its rare way", name);
	return true;
}

/* From outside, where no task runs. */
static struct gy_sim_host *find_host(const struct gyre_sim *sim, uint32_t host)
{
	return sim == NULL || host >= sim->hosts_count ? NULL : sim->hosts[host];
}

int gyre_sim_crash(struct gyre_sim *sim, uint32_t host)
{
	struct gy_sim_host *found = find_host(sim, host);

	if (found == NULL) {
		return -EINVAL;
	}
	if (gy_sim_here != NULL) {
		return -EDEADLK;
	}
	if (!found->up) {
		return -EALREADY;
	}
	gy_sim_host_down(found, true);
	return 0;
}

int gyre_sim_restart(struct gyre_sim *sim, uint32_t host)
{
	struct gy_sim_host *found = find_host(sim, host);

	if (found == NULL) {
		return -EINVAL;
	}
	if (gy_sim_here != NULL) {
		return -EDEADLK;
	}
	if (found->up) {
		return -EALREADY;
	}
	gy_sim_host_boot(found);
	return 0;
}

int gyre_sim_signal(struct gyre_sim *sim, uint32_t host, int signo)
{
	struct gy_sim_host *found = find_host(sim, host);

	if (found == NULL || signo < 1 || signo > 63) {
		return -EINVAL;
	}
	return found->up ? gy_sim_signal_send(found, signo) : -ESRCH;
}

int gyre_sim_link_set(struct gyre_sim *sim, uint32_t from, uint32_t to,
		      const struct gyre_sim_link *link)
{
	static const struct gyre_sim_link ordinary;

	if (find_host(sim, from) == NULL || find_host(sim, to) == NULL || from == to) {
		return -EINVAL;
	}
	link = link == NULL ? &ordinary : link;
	if (link->loss > 1000000 || link->duplicates > 1000000) {
		return -EINVAL;
	}
	gy_sim_trace(sim, sim->hosts[from],
		     "link to %s: delay %" PRIu64 " ns, jitter %" PRIu64
		     " ns, loss %u, duplicates %u%s%s",
		     sim->hosts[to]->name, link->delay_ns, link->jitter_ns, link->loss,
		     link->duplicates, link->clog ? ", clogged" : "", link->cut ? ", cut" : "");
	gy_sim_net_link(sim, from, to, link);
	return 0;
}

int gyre_sim_link_reset(struct gyre_sim *sim, uint32_t host, uint32_t peer, uint32_t rate)
{
	if (find_host(sim, host) == NULL || find_host(sim, peer) == NULL || host == peer ||
	    rate > 1000000) {
		return -EINVAL;
	}
	return gy_sim_streams_reset(sim->hosts[host], peer, rate);
}

void gyre_sim_heal(struct gyre_sim *sim)
{
	for (uint32_t from = 0; from < sim->hosts_count; from++) {
		for (uint32_t to = 0; to < sim->hosts_count; to++) {
			if (from != to) {
				(void)gyre_sim_link_set(sim, from, to, NULL);
			}
		}
	}
	sim->faults = 0;
	sim->refusals = 0;
	for (uint32_t i = 0; i < sim->hosts_count; i++) {
		gy_sim_disk_heal(sim->hosts[i]);
		if (!sim->hosts[i]->up) {
			gy_sim_host_boot(sim->hosts[i]);
		}
	}
}

/* ---- asking ---- */

uint64_t gyre_sim_now(const struct gyre_sim *sim)
{
	return sim->now_ns;
}

uint64_t gyre_sim_digest(const struct gyre_sim *sim)
{
	return sim->digest;
}

const char *gyre_sim_failure(const struct gyre_sim *sim)
{
	return sim->failure[0] == '\0' ? NULL : sim->failure;
}
