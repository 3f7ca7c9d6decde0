/*
 * Notices from one thread to another with no runtime: the sender takes a free mail, and swaps it
 * into the tail of a queue after D. Vyukov, one exchange a mail, as each has to be on its way when
 * the sender goes on. The receiver follows the links and gives the mails back in chains, each with
 * one exchange. No more than a window of them is under way at once.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"
#include "limit/bare.h"
#include "limit/chain.h"

enum { SHOW_EVERY = 256, RETURN_COUNT = 64 };

struct outside_options {
	int64_t notices;
	int64_t window;
	bool pin;
	bool json;
};

static struct chain_inbox inbox;
static _Alignas(BARE_LINE_BYTES) struct bare_mail *home;
static _Alignas(BARE_LINE_BYTES) uint64_t arrived;
static _Alignas(BARE_LINE_BYTES) struct outside_options options = { .notices = 100000000,
								    .window = 16384 };
static struct bare_mail *mails;

/* A free mail: the window has as many as can be away, and some that are in a chain. */
static struct bare_mail *get(struct bare_mail **free_mails)
{
	struct bare_mail *mail = *free_mails;

	while (mail == NULL) {
		mail = __atomic_exchange_n(&home, NULL, __ATOMIC_ACQUIRE);
	}
	*free_mails = mail->next;
	return mail;
}

static void *run_sender(void *arg)
{
	uint64_t window = (uint64_t)options.window;
	struct bare_mail *free_mails = mails;

	(void)arg;
	(void)perf_pin(options.pin ? 1 : -1);
	for (uint64_t i = 0; i < (uint64_t)options.notices; i++) {
		struct bare_mail *mail;
		struct chain chain = { 0 };

		if (i % SHOW_EVERY == 0) {
			while (i > __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) + window) {
				perf_relax();
			}
		}
		mail = get(&free_mails);
		mail->value = i;
		chain_append(&chain, mail);
		chain_flush(&chain, &inbox);
	}
	return NULL;
}

/* Returns the sum of what came, so that it is read. */
static uint64_t receive(uint64_t count)
{
	struct chain returned = { 0 };
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= count; i++) {
		struct bare_mail *mail;

		while ((mail = chain_take(&inbox)) == NULL) {
			perf_relax();
		}
		sum += mail->value;
		chain_append(&returned, mail);
		if (returned.count == RETURN_COUNT) {
			chain_return(&returned, &home);
		}
		if (i % SHOW_EVERY == 0) {
			__atomic_store_n(&arrived, i, __ATOMIC_RELEASE);
		}
	}
	return sum;
}

/* The window, and what is under way behind what is shown of it. */
static void make_mails(void)
{
	size_t count = (size_t)options.window + 2 * (size_t)SHOW_EVERY;

	mails = bare_mails_create(count, BARE_PAIR_BYTES);
}

static int run(uint64_t *ret_ns)
{
	uint64_t count = (uint64_t)options.notices;
	uint64_t start_ns;
	pthread_t sender;
	int r = perf_pin(options.pin ? 0 : -1);

	make_mails();
	chain_inbox_init(&inbox);
	start_ns = perf_now_ns();
	if (r == 0) {
		r = -pthread_create(&sender, NULL, run_sender, NULL);
	}
	if (r != 0) {
		return r;
	}
	if (receive(count) != count * (count - 1) / 2) {
		abort();
	}
	*ret_ns = perf_now_ns() - start_ns;
	(void)pthread_join(sender, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const struct perf_option table[] = {
		{ "notices", PERF_OPTION_NUMBER, "how many in all", &options.notices, SHOW_EVERY,
		  UINT32_MAX, NULL },
		{ "window", PERF_OPTION_NUMBER, "notices under way at once", &options.window,
		  1 << 10, 1 << 24, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind receiver to CPU 0, sender to CPU 1", &options.pin,
		  0, 0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	struct perf_report report;
	uint64_t ns = 0;
	int r;

	perf_options_parse(argc, argv, "Notices from thread to thread in bare C.", table,
			   sizeof(table) / sizeof(table[0]));
	r = run(&ns);
	if (r < 0) {
		return perf_fail("cannot run", r);
	}
	perf_report_init(&report, "limit/outside");
	perf_report_number(&report, "notices_per_s", (double)options.notices * 1e9 / (double)ns);
	perf_report_number(&report, "ns_each", (double)ns / (double)options.notices);
	perf_report_print(&report, options.json);
	return 0;
}
