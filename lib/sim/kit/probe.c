/*
 * Probes as the test sees them: what they do is ordered from their actors, and what these have got
 * is taken from lists.
 */
#include <gyre/watch.h>

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/kit/kit.h"

/* ---- life ---- */

/* What is of the host, as mails, has gone with it when its test did not end. */
static bool host_is_gone(void)
{
	return gy_sim_here == NULL;
}

void gy_probe_item_destroy(struct gy_probe_item *item)
{
	if (item->mail != NULL && !host_is_gone()) {
		gyre_mail_destroy(NULL, item->mail);
	}
	if (item->moved != NULL) {
		if (item->message != NULL && item->type->destroy != NULL && !host_is_gone()) {
			item->type->destroy(item->moved);
		}
		gy_sim_put(item->moved);
	}
	gy_list_remove(&item->of_probe);
	gy_sim_put(item);
}

static void free_items(struct gy_list *items)
{
	while (!gy_list_empty(items)) {
		gy_probe_item_destroy(gy_container_of(items->next, struct gy_probe_item, of_probe));
	}
}

static void free_orders(struct gyre_probe *probe)
{
	while (!gy_list_empty(&probe->orders)) {
		struct gy_probe_order *order =
			gy_container_of(probe->orders.next, struct gy_probe_order, of_probe);

		if (order->mail != NULL && !host_is_gone()) {
			gyre_mail_destroy(NULL, order->mail);
		}
		gy_list_remove(&order->of_probe);
		gy_sim_put(order);
	}
}

void gy_test_free_probes(struct gyre_test *test)
{
	while (!gy_list_empty(&test->probes)) {
		struct gyre_probe *probe =
			gy_container_of(test->probes.next, struct gyre_probe, of_test);

		free_items(&probe->items);
		free_items(&probe->taken);
		free_orders(probe);
		gy_list_remove(&probe->of_test);
		gy_sim_put(probe);
	}
}

struct gyre_probe *gyre_probe_create_at(struct gyre_test *test, const char *place)
{
	struct gyre_probe *probe = (struct gyre_probe *)gy_sim_get(sizeof(*probe));
	int r;

	probe->test = test;
	gy_list_init(&probe->items);
	gy_list_init(&probe->orders);
	gy_list_init(&probe->taken);
	r = gyre_system_spawn(test->system, &gy_probe_class,
			      gyre_test_new(test, gy_probe_call, probe, NULL), NULL,
			      &probe->address);
	if (r < 0) {
		gy_sim_put(probe);
		gy_test_fail(test, place, "the probe cannot be made: %s", strerrordesc_np(-r));
		return NULL;
	}
	gy_list_append(&test->probes, &probe->of_test);
	return probe;
}

struct gyre_address gyre_probe_address(const struct gyre_probe *probe)
{
	return probe->address;
}

/* ---- orders ---- */

/* Has the actor carry out an order, of which a copy is kept; the result of it. */
static int give_order(struct gyre_probe *probe, const struct gy_probe_order *from)
{
	struct gy_probe_order *order = (struct gy_probe_order *)gy_sim_get(sizeof(*order));
	struct gyre_test *test = probe->test;
	int r;

	*order = *from;
	gy_list_append(&probe->orders, &order->of_probe);
	r = gyre_system_notify(test->system, probe->address,
			       gyre_test_new(test, gy_probe_call, probe, order));
	if (r == 0 && !gy_test_wait_until(test, &order->done)) {
		order->kind = GY_PROBE_NOTHING; /* if it is looked at yet */
		probe->reply = probe->reply == order ? NULL : probe->reply;
		return -ETIME;
	}
	r = r < 0 ? r : order->result;
	if (order->done) {
		gy_list_remove(&order->of_probe);
		gyre_mail_destroy(NULL, order->mail);
		gy_sim_put(order);
	}
	return r;
}

static int tell(const struct gyre_probe *probe, const char *place, const char *what, int r)
{
	if (r < 0) {
		gy_test_fail(probe->test, place, "the probe cannot %s: %s", what,
			     strerrordesc_np(-r));
	}
	return r;
}

int gyre_probe_notify_at(struct gyre_probe *probe, struct gyre_address to, struct gyre_mail *mail,
			 const char *place)
{
	const struct gy_probe_order order = { .kind = GY_PROBE_SEND, .to = to, .mail = mail };
	int r = mail == NULL ? -ENOMEM : give_order(probe, &order);

	/* In other cases the mail is a dead letter, which the test may expect. */
	return r == -EINVAL || r == -ENOMEM || r == -ETIME ? tell(probe, place, "notify", r) : r;
}

int gyre_probe_ask_at(struct gyre_probe *probe, struct gyre_address to, struct gyre_mail *mail,
		      uint64_t timeout_ns, const char *place)
{
	const struct gy_probe_order order = {
		.kind = GY_PROBE_SEND_ASK, .to = to, .mail = mail, .timeout_ns = timeout_ns
	};

	if (mail == NULL) {
		return probe->doing != NULL ? -ENOMEM : tell(probe, place, "ask", -ENOMEM);
	}
	if (probe->doing != NULL) {
		return gy_probe_ask(probe->doing, to, mail, timeout_ns);
	}
	return tell(probe, place, "ask", give_order(probe, &order));
}

static int watch(struct gyre_stack *stack, void *arg)
{
	return gyre_watch(stack, *(const struct gyre_address *)arg);
}

int gyre_probe_watch_at(struct gyre_probe *probe, struct gyre_address actor, const char *place)
{
	const struct gy_probe_order order = { .kind = GY_PROBE_DO,
					      .function = watch,
					      .arg = &actor };

	return tell(probe, place, "watch", give_order(probe, &order));
}

int gyre_probe_do_at(struct gyre_probe *probe, gyre_test_do_fn function, void *arg,
		     const char *place)
{
	const struct gy_probe_order order = { .kind = GY_PROBE_DO,
					      .function = function,
					      .arg = arg };

	return tell(probe, place, "do this", give_order(probe, &order));
}

/* Answers the ask that was taken last, by a mail or an error. */
static int answer(struct gyre_probe *probe, struct gyre_mail *mail, int error)
{
	struct gy_probe_item *item = probe->last;
	struct gy_probe_order order = { .kind = GY_PROBE_REPLY, .mail = mail, .error = error };
	int r;

	if (item == NULL || item->kind != GY_PROBE_ASK) {
		r = -EINVAL;
	} else if (item->answered) {
		r = -EALREADY;
	} else if (probe->test->sim->now_ns >= item->awaited_until_ns) {
		r = -ETIMEDOUT;
	} else {
		order.key = item->key;
		item->answered = true;
		return give_order(probe, &order);
	}
	gyre_mail_destroy(NULL, mail);
	return r;
}

int gyre_probe_reply_at(struct gyre_probe *probe, struct gyre_mail *mail, const char *place)
{
	return tell(probe, place, "reply", mail == NULL ? -ENOMEM : answer(probe, mail, 0));
}

int gyre_probe_throw_at(struct gyre_probe *probe, int error, const char *place)
{
	return tell(probe, place, "fail an ask", error >= 0 ? -EINVAL : answer(probe, NULL, error));
}

/* ---- what has come ---- */

/* The next message, which stays where it is; NULL if none has come in time. */
static struct gy_probe_item *next_until(struct gyre_probe *probe, uint64_t until_ns)
{
	struct gy_list *first = gy_test_first(probe->test, &probe->items, until_ns);

	return first == NULL ? NULL : gy_container_of(first, struct gy_probe_item, of_probe);
}

/* The one that was taken before is forgotten; but an ask that may come out of the stash again is
 * still known, or it would count as a new one. */
static void take(struct gyre_probe *probe, struct gy_probe_item *item)
{
	struct gy_probe_item *before = probe->last;

	if (before != NULL && (before->kind != GY_PROBE_ASK || before->answered)) {
		gy_probe_item_destroy(before);
	}
	gy_list_move(&probe->taken, &item->of_probe);
	probe->last = item;
}

static const char *name_of(const struct gy_probe_item *item)
{
	static const char *const kinds[] = {
		[GY_PROBE_NOTICE] = "notice",	   [GY_PROBE_ASK] = "ask",
		[GY_PROBE_EVENT] = "event",	   [GY_PROBE_ANSWER] = "answer",
		[GY_PROBE_FAILURE] = "failed ask",
	};

	return kinds[item->kind];
}

/* Fails the test since something has come that was not expected. */
static void tell_other(const struct gyre_probe *probe, const char *place, const char *expected,
		       const struct gy_probe_item *item)
{
	gy_test_fail(probe->test, place, "expected %s, and got: %s %s from %u:%u", expected,
		     name_of(item),
		     item->kind == GY_PROBE_FAILURE ? strerrordesc_np(-item->error)
						    : item->type->name,
		     (unsigned)item->sender.loop, (unsigned)item->sender.slot);
}

const void *gyre_probe_expect_at(struct gyre_probe *probe, const struct gyre_type *type,
				 uint64_t within_ns, const char *place)
{
	struct gy_probe_item *item = next_until(probe, gy_test_until(probe->test, within_ns));

	if (item == NULL) {
		gy_test_fail(probe->test, place, "expected a message of type %s, and got none",
			     type->name);
		return NULL;
	}
	take(probe, item);
	if (item->kind == GY_PROBE_FAILURE || item->type->id != type->id) {
		tell_other(probe, place, type->name, item);
		return NULL;
	}
	if (item->message == NULL) {
		gy_test_fail(probe->test, place, "the event %s has a tail, and cannot be kept",
			     type->name);
	}
	return item->message;
}

int gyre_probe_expect_failure_at(struct gyre_probe *probe, int error, uint64_t within_ns,
				 const char *place)
{
	struct gy_probe_item *item = next_until(probe, gy_test_until(probe->test, within_ns));

	if (item == NULL) {
		gy_test_fail(probe->test, place, "expected a failed ask, and got none");
		return -ETIMEDOUT;
	}
	take(probe, item);
	if (item->kind != GY_PROBE_FAILURE || item->error != error) {
		tell_other(probe, place, strerrordesc_np(-error), item);
		return -EBADMSG;
	}
	return 0;
}

int gyre_probe_expect_none_at(struct gyre_probe *probe, uint64_t for_ns, const char *place)
{
	const struct gy_probe_item *item = next_until(probe, gy_test_until(probe->test, for_ns));

	if (item != NULL) {
		tell_other(probe, place, "no message", item);
		return -EBADMSG;
	}
	return 0;
}

const void *gyre_probe_fish_at(struct gyre_probe *probe, const struct gyre_type *type,
			       gyre_test_fits_fn fits, void *arg, uint64_t within_ns,
			       const char *place)
{
	uint64_t until_ns = gy_test_until(probe->test, within_ns);
	struct gy_probe_item *item = next_until(probe, until_ns);
	uint32_t others = 0;

	while (item != NULL) {
		take(probe, item);
		if (item->kind != GY_PROBE_FAILURE && item->type->id == type->id &&
		    item->message != NULL && (fits == NULL || fits(item->message, arg))) {
			return item->message;
		}
		others++;
		item = next_until(probe, until_ns);
	}
	gy_test_fail(probe->test, place, "no message of type %s came that fits, but %u others",
		     type->name, others);
	return NULL;
}

struct gyre_address gyre_probe_sender(const struct gyre_probe *probe)
{
	return probe->last == NULL ? GYRE_NOBODY : probe->last->sender;
}
