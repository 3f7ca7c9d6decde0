/*
 * Decisions: recorded, replayed and left out; and the trace of what happened.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "net_rig.h"

enum { ROUNDS = 200 };

static int serve(void *arg)
{
	int fd = net_bind(SOCK_DGRAM, NET_PORT);

	(void)arg;
	for (;;) {
		struct sockaddr_in from;
		socklen_t bytes = sizeof(from);
		uint32_t number;

		if (recvfrom(fd, &number, sizeof(number), 0, (struct sockaddr *)&from, &bytes) ==
		    sizeof(number)) {
			(void)sendto(fd, &number, sizeof(number), 0, (struct sockaddr *)&from,
				     bytes);
		}
	}
	return 0;
}

static uint32_t rounds_to_end; /* of the process, as by a crash; 0 for none */

static int call(void *arg)
{
	const struct timeval patience = { .tv_usec = 100000 };
	uint32_t *answers = (uint32_t *)arg;
	int fd = net_connect_type(SOCK_DGRAM, 0, NET_PORT);

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	net_pause(GYRE_MILLISECONDS(10));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t back;

		(void)send(fd, &i, sizeof(i), 0);
		*answers += recv(fd, &back, sizeof(back), 0) == sizeof(back);
		if (i + 1 == rounds_to_end) {
			abort();
		}
	}
	return 0;
}

/* How many answers came over links that lose a tenth; and the digest. */
static uint32_t play(const struct gyre_sim_options *options, uint64_t *ret_digest)
{
	const struct gyre_sim_link link = { .loss = 100000, .jitter_ns = GYRE_MILLISECONDS(1) };
	struct gyre_sim *sim;
	uint32_t answers = 0;

	cr_assert_eq(gyre_sim_create(options, &sim), 0);
	(void)sim_add(sim, "alpha", serve, NULL);
	(void)sim_add(sim, "beta", call, &answers);
	cr_assert_eq(gyre_sim_link_set(sim, 0, 1, &link), 0);
	cr_assert_eq(gyre_sim_link_set(sim, 1, 0, &link), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(100)), 0);
	*ret_digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return answers;
}

static void make_path(char *path)
{
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	(void)close(fd);
}

Test(sim_decisions, that_were_recorded_are_taken_again_whatever_the_seed_would_have)
{
	char path[] = "/tmp/gyre-sim-XXXXXX";
	uint64_t recorded;
	uint64_t replayed;
	uint32_t answers;

	make_path(path);
	answers = play(&(struct gyre_sim_options){ .seed = 11, .record = path }, &recorded);
	cr_assert(answers > ROUNDS / 2 && answers < ROUNDS);
	cr_assert_eq(play(&(struct gyre_sim_options){ .seed = 11, .replay = path }, &replayed),
		     answers);
	cr_assert_eq(replayed, recorded);
	cr_assert_eq(play(&(struct gyre_sim_options){ .seed = 12, .replay = path }, &replayed),
		     answers);
	cr_assert_eq(replayed, recorded);
	cr_assert_neq(play(&(struct gyre_sim_options){ .seed = 12 }, &replayed), 0);
	cr_assert_neq(replayed, recorded);
	(void)unlink(path);
}

/* The file as a string; it is freed by the caller. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t bytes = 0;

	cr_assert_not_null(file);
	cr_assert(getdelim(&text, &bytes, '\0', file) > 0);
	(void)fclose(file);
	return text;
}

Test(sim_decisions, are_recorded_up_to_where_the_process_ends)
{
	char whole_path[] = "/tmp/gyre-sim-XXXXXX";
	char path[] = "/tmp/gyre-sim-XXXXXX";
	uint64_t digest;
	int status;
	pid_t child;
	char *whole;
	char *text;

	make_path(whole_path);
	make_path(path);
	(void)play(&(struct gyre_sim_options){ .seed = 11, .record = whole_path }, &digest);
	child = fork();
	cr_assert(child >= 0);
	if (child == 0) {
		rounds_to_end = ROUNDS / 2;
		(void)play(&(struct gyre_sim_options){ .seed = 11, .record = path }, &digest);
		_exit(1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	whole = read_file(whole_path);
	text = read_file(path);
	cr_assert(strlen(text) < strlen(whole));
	cr_assert_eq(strncmp(whole, text, strlen(text)), 0);
	cr_assert_eq(text[strlen(text) - 1], '\n');
	free(whole);
	free(text);
	(void)unlink(whole_path);
	(void)unlink(path);
}

Test(sim_decisions, that_are_left_out_are_the_ordinary_ones)
{
	char path[] = "/tmp/gyre-sim-XXXXXX";
	uint64_t digest;

	make_path(path);
	cr_assert_eq(play(&(struct gyre_sim_options){ .seed = 11, .replay = path }, &digest),
		     ROUNDS);
	(void)unlink(path);
}

static int idle(void *arg)
{
	(void)arg;
	return 0;
}

/* What the test decides, as one number. */
static uint64_t decide(const struct gyre_sim_options *options)
{
	struct gyre_sim *sim;
	uint64_t decided = 0;

	cr_assert_eq(gyre_sim_create(options, &sim), 0);
	(void)sim_add(sim, "alpha", idle, NULL);
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t one = gyre_sim_choose(sim, 10);

		cr_assert_lt(one, 10);
		decided = 10 * decided + one;
		cr_assert_eq(gyre_sim_run(sim, GYRE_MILLISECONDS(1)), 0);
	}
	cr_assert_eq(gyre_sim_choose(sim, 1), 0);
	cr_assert_eq(gyre_sim_choose(sim, 0), 0);
	gyre_sim_destroy(sim);
	return decided;
}

Test(sim_decisions, of_the_test_are_recorded_too)
{
	char path[] = "/tmp/gyre-sim-XXXXXX";
	uint64_t decided;

	make_path(path);
	decided = decide(&(struct gyre_sim_options){ .seed = 11, .record = path });
	cr_assert_eq(decide(&(struct gyre_sim_options){ .seed = 11 }), decided);
	cr_assert_neq(decide(&(struct gyre_sim_options){ .seed = 12 }), decided);
	cr_assert_eq(decide(&(struct gyre_sim_options){ .seed = 12, .replay = path }), decided);
	cr_assert_eq(truncate(path, 0), 0);
	cr_assert_eq(decide(&(struct gyre_sim_options){ .seed = 11, .replay = path }), 0);
	(void)unlink(path);
}

/* ---- pauses ---- */

enum { LOCKS = 100000 };

static int lock_often(void *arg)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)arg;
	for (uint32_t i = 0; i < LOCKS; i++) {
		(void)pthread_mutex_lock(&mutex);
		(void)pthread_mutex_unlock(&mutex);
	}
	return 0;
}

struct pauses {
	uint32_t count;
	uint32_t at_once; /* the place before was one as well */
	uint32_t late;	  /* 60 places were passed before */
};

static struct pauses read_pauses(const char *path)
{
	struct pauses pauses = { 0 };
	char *text = read_file(path);
	char *rest = NULL;
	uint64_t last = 0;

	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t place;

		if (sscanf(line, "call %" SCNu64 " 1", &place) == 1) {
			pauses.at_once += pauses.count > 0 && place == last + 1;
			pauses.late += place > last + 60;
			pauses.count++;
			last = place;
		}
	}
	free(text);
	return pauses;
}

/* Where a task calls it is put aside six times in a hundred, each time for itself. */
Test(sim_decisions, have_a_task_pause_as_if_each_place_were_drawn)
{
	char path[] = "/tmp/gyre-sim-XXXXXX";
	struct pauses pauses;
	struct gyre_sim *sim;

	make_path(path);
	cr_assert_eq(gyre_sim_create(&(struct gyre_sim_options){ .seed = 3, .record = path }, &sim),
		     0);
	(void)sim_add(sim, "alpha", lock_often, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	gyre_sim_destroy(sim);
	pauses = read_pauses(path);
	cr_assert(pauses.count > 5500 && pauses.count < 6500, "%u", pauses.count);
	cr_assert(pauses.at_once > 240 && pauses.at_once < 480, "%u", pauses.at_once);
	cr_assert(pauses.late > 90 && pauses.late < 220, "%u", pauses.late);
	(void)unlink(path);
}

Test(sim_decisions, are_refused_where_a_file_is_none_of_them)
{
	char path[] = "/tmp/gyre-sim-XXXXXX";
	const struct gyre_sim_options options = { .replay = path };
	const struct gyre_sim_options absent = { .replay = "/nowhere/at/all" };
	const struct gyre_sim_options folder = { .replay = "/tmp" };
	struct gyre_sim *sim;
	FILE *file;

	make_path(path);
	file = fopen(path, "we");
	cr_assert_not_null(file);
	cr_assert(fputs("12 1\nnothing\n", file) >= 0);
	(void)fclose(file);
	cr_assert_eq(gyre_sim_create(&options, &sim), -EBADMSG);
	cr_assert_eq(gyre_sim_create(&absent, &sim), -ENOENT);
	cr_assert_eq(gyre_sim_create(&folder, &sim), -EISDIR);
	(void)unlink(path);
}

Test(sim_decisions, show_in_the_trace)
{
	char path[] = "/tmp/gyre-sim-XXXXXX";
	char line[512];
	uint32_t boots = 0;
	uint32_t losses = 0;
	uint64_t digest;
	uint32_t answers;
	FILE *file;

	make_path(path);
	answers = play(&(struct gyre_sim_options){ .seed = 11, .trace = path }, &digest);
	file = fopen(path, "re");
	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		boots += strstr(line, " boots") != NULL;
		losses += strstr(line, "lost") != NULL;
	}
	(void)fclose(file);
	cr_assert_eq(boots, 2);
	cr_assert_eq(losses, ROUNDS - answers);
	(void)unlink(path);
}
