/*
 * The testkit, inside: a test is the main task of a host, its probes are actors of the system that
 * runs there, its channels are sockets of the task, and its taps are handlers of pipelines. All of
 * them run in the one thread of the simulation, so they share structures without locks; what
 * actors and handlers change they tell the task by waking @changed.
 */
#ifndef GY_SIM_KIT_KIT_H
#define GY_SIM_KIT_KIT_H

#include <gyre/test_channel.h>

#include "actor/mail/mail.h"
#include "base/list.h"
#include "sim/sim.h"

enum { GY_TEST_DEAD_MAX = 64, GY_TEST_TEXT_BYTES = 1024 };

struct gy_test_dead {
	const struct gyre_type *type;
	struct gyre_address from;
	struct gyre_address to;
	enum gyre_drop reason;
};

struct gyre_test {
	const struct gyre_test_options *options;
	gyre_test_fn body;
	void *arg;
	struct gyre_sim *sim;
	struct gy_sim_host *host;
	struct gyre_system *system;
	struct gy_sim_queue changed; /* the test waits here for what loops do */
	int error;		     /* why the system could not be made */
	bool body_ended;
	uint32_t failures;
	struct gy_list probes;
	struct gy_list channels;
	struct gy_list taps;
	struct gy_test_dead dead[GY_TEST_DEAD_MAX]; /* that nobody has expected */
	uint32_t dead_count;
	uint32_t dead_more; /* that had no room */
};

/* ---- kit.c ---- */

/* When a wait of @ns ends, by the clock of the simulation. */
uint64_t gy_test_until(const struct gyre_test *test, uint64_t ns);
/* Waits for a change; false when @until_ns has come. */
bool gy_test_wait(struct gyre_test *test, uint64_t until_ns);
/* Waits until something is so, for long enough for whatever is on its way. Returns whether it is.
 */
bool gy_test_wait_until(struct gyre_test *test, const bool *is_so);
/* The first of a list, which stays there; NULL if none has come when @until_ns has. */
struct gy_list *gy_test_first(struct gyre_test *test, const struct gy_list *list,
			      uint64_t until_ns);
void gy_test_changed(struct gyre_test *test);
/* Tells a failure. */
__attribute__((format(printf, 3, 4))) void gy_test_fail(struct gyre_test *test, const char *place,
							const char *format, ...);

/* ---- dead_letters.c ---- */

/* A gyre_dead_letter_fn. */
void gy_test_dead_letter(const struct gyre_type *type, struct gyre_address from,
			 struct gyre_address to, enum gyre_drop reason, void *arg);
/* Fails the test for what was lost and not expected. */
void gy_test_tell_dead(struct gyre_test *test);

/* ---- probe.c, probe_actor.c ---- */

enum gy_probe_kind {
	GY_PROBE_NOTICE,
	GY_PROBE_ASK,
	GY_PROBE_EVENT,
	GY_PROBE_ANSWER,
	GY_PROBE_FAILURE, /* of an ask of the probe */
};

/* Which ask it is: those of one asker differ in their ids. */
struct gy_probe_key {
	uint64_t ask_id;
	struct gy_origin from;
};

static inline bool gy_probe_key_equal(const struct gy_probe_key *a, const struct gy_probe_key *b)
{
	return a->ask_id == b->ask_id && gy_origin_equal(a->from, b->from);
}

/* What a probe has got. */
struct gy_probe_item {
	struct gy_list of_probe;
	enum gy_probe_kind kind;
	int error;
	const struct gyre_type *type;
	const void *message; /* of a mail that is kept, is stashed by the actor, or of @moved */
	struct gyre_mail *mail;
	void *moved;
	struct gyre_address sender;
	struct gy_probe_key key;
	uint64_t awaited_until_ns; /* of an ask, by the clock of the simulation */
	bool answered;
};

enum gy_probe_order_kind {
	GY_PROBE_SEND,
	GY_PROBE_SEND_ASK,
	GY_PROBE_DO,
	GY_PROBE_REPLY,
	GY_PROBE_NOTHING, /* it was not done in time */
};

/* What the test has a probe's actor do. */
struct gy_probe_order {
	struct gy_list of_probe;
	enum gy_probe_order_kind kind;
	struct gyre_address to;
	struct gyre_mail *mail;
	uint64_t timeout_ns;
	gyre_test_do_fn function;
	void *arg;
	struct gy_probe_key key;
	int error; /* that an ask is to fail with; 0 for a reply */
	int result;
	bool done;
};

struct gyre_probe {
	struct gy_list of_test;
	struct gyre_test *test;
	struct gyre_address address;
	struct gy_list items;	      /* that the test has not taken yet */
	struct gy_list orders;	      /* all that there were */
	struct gy_list taken;	      /* the last one, and asks that may still be stashed */
	struct gy_probe_item *last;   /* that was taken last */
	struct gy_probe_order *reply; /* to be given by the actor */
	struct gyre_stack *doing;     /* that of gyre_probe_do(), while its function runs */
};

/* What is sent to a probe's actor, by its argument and by orders. */
struct gy_probe_call {
	struct gyre_probe *probe;
	struct gy_probe_order *order; /* NULL in an argument */
};
GYRE_OWN_MESSAGE_(gy_probe_call, 0x98);

extern const struct gyre_class gy_probe_class;

/* Asks in a stack of the probe's actor. The mail is taken. */
int gy_probe_ask(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail,
		 uint64_t timeout_ns);
void gy_probe_item_destroy(struct gy_probe_item *item);
/* Frees what the test has of its probes; their actors are gone. */
void gy_test_free_probes(struct gyre_test *test);

/* ---- tap.c ---- */

struct gy_tap_order;

/* What has a tap carry out an order. */
struct gy_tap_call {
	struct gy_tap_order *order;
};

/* The message is gone: an order that was not carried out ends with -EPIPE. */
void gy_tap_call_end(struct gy_tap_call *call);
GYRE_OWN_MESSAGE_OWNING_(gy_tap_call, 0x99, gy_tap_call_end);

/* Frees what the test has of its taps; their channels are gone. */
void gy_test_free_taps(struct gyre_test *test);

/* ---- peer.c ---- */

/* What may be printed of some bytes, in quotes. */
struct gy_test_shown {
	char text[256];
};

struct gy_test_shown gy_test_show(const void *memory, size_t count);
/* @count, or the length of the text. */
size_t gy_test_count_of(const void *bytes, size_t count);
void gy_test_free_channels(struct gyre_test *test);

#endif
