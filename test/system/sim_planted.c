/*
 * A program with a fault, for the tests of the simulator's tools: an account on one host, and on
 * another a customer who pays into it by datagrams. An answer that does not come in time may have
 * been lost after the account was credited; the customer pays again all the same.
 *
 *	system-sim-planted SEED [record|replay FILE]
 *
 * The status is 1, and the failure is printed, when the account has more than was to be paid.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <gyre/sim.h>

enum { PAYMENTS = 20, PORT = 7000 };

static uint32_t balance;
static uint32_t paid;

static int keep_account(void *arg)
{
	const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int r = bind(fd, (const struct sockaddr *)&at, sizeof(at));

	(void)arg;
	while (r == 0) {
		struct sockaddr_in from;
		socklen_t bytes = sizeof(from);
		uint32_t number;

		if (recvfrom(fd, &number, sizeof(number), 0, (struct sockaddr *)&from, &bytes) ==
		    sizeof(number)) {
			balance++;
			(void)sendto(fd, &number, sizeof(number), 0, (struct sockaddr *)&from,
				     bytes);
		}
	}
	return r;
}

static bool pay(int fd, uint32_t number)
{
	uint32_t answer;

	return send(fd, &number, sizeof(number), 0) == sizeof(number) &&
	       recv(fd, &answer, sizeof(answer), 0) == sizeof(answer);
}

static int be_customer(void *arg)
{
	const struct sockaddr_in account = { .sin_family = AF_INET,
					     .sin_port = htons(PORT),
					     .sin_addr.s_addr = htonl(UINT32_C(0x0a000001)) };
	const struct timeval patience = { .tv_usec = 100000 };
	const struct timespec begin = { .tv_sec = 1 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int r = connect(fd, (const struct sockaddr *)&account, sizeof(account));

	(void)arg;
	r = r < 0 ? r : setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &begin, NULL); /* the account is open by then */
	while (r == 0 && paid < PAYMENTS) {
		while (!pay(fd, paid)) {
		}
		paid++;
	}
	(void)close(fd);
	return r;
}

static const char *check_balance(void *arg)
{
	(void)arg;
	return balance > paid + 1 ? "more is in the account than was to be paid" : NULL;
}

static int play(struct gyre_sim *sim)
{
	const struct gyre_sim_link link = { .jitter_ns = 1000000, .loss = 20000 };
	int r = gyre_sim_host(sim, "account", keep_account, NULL, NULL);

	r = r < 0 ? r : gyre_sim_host(sim, "customer", be_customer, NULL, NULL);
	r = r < 0 ? r : gyre_sim_link_set(sim, 0, 1, &link);
	r = r < 0 ? r : gyre_sim_link_set(sim, 1, 0, &link);
	r = r < 0 ? r : gyre_sim_check(sim, "balance", check_balance, NULL);
	return r < 0 ? r : gyre_sim_run(sim, UINT64_C(60000000000));
}

int main(int argc, char **argv)
{
	struct gyre_sim_options options = { 0 };
	struct gyre_sim *sim;
	int r;

	if (argc != 2 && argc != 4) {
		(void)fputs("usage: system-sim-planted SEED [record|replay FILE]\n", stderr);
		return 2;
	}
	options.seed = strtoull(argv[1], NULL, 0);
	if (argc == 4 && strcmp(argv[2], "record") == 0) {
		options.record = argv[3];
	} else if (argc == 4) {
		options.replay = argv[3];
	}
	r = gyre_sim_create(&options, &sim);
	if (r < 0) {
		(void)fprintf(stderr, "no simulation can be made: %d\n", r);
		return 2;
	}
	r = play(sim);
	if (r < 0) {
		printf("failed: %s\n", gyre_sim_failure(sim));
	}
	gyre_sim_destroy(sim);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
