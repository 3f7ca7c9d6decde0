/*
 * Reports of failures, the decisions about them, and carrying these out.
 */
#include "actor/life/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actor/house_extra.h"
#include "actor/life/children.h"
#include "actor/life/path.h"
#include "actor/life/restart.h"
#include "actor/life/restart_window.h"
#include "actor/mail/mailbox.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"

/* What is done to a child. */
struct verdict {
	enum gyre_decision decision;
	int error;
	uint64_t delay_ns;
};

/* The payload of a report, which becomes the decision. */
struct report {
	struct gy_origin child;
	uint32_t number; /* of the child */
	bool ends;
	bool decided;
	struct verdict verdict; /* whose error is there from the beginning */
	struct gy_cause *cause; /* owned; NULL for none */
	char class_name[GY_CLASS_NAME_BYTES];
	char path[GYRE_PATH_TEXT_MAX];
};

/* The payload of a decision about a family; its sender is the parent. */
struct family_decision {
	struct verdict verdict;
	uint32_t from_number; /* the first child that it is about */
};

static void release_report(void *payload)
{
	gy_cause_unref(((struct report *)payload)->cause);
}

const struct gyre_type gy_type_failure = { .name = "failure",
					   .id = GY_ID_FAILURE,
					   .bytes = sizeof(struct report),
					   .destroy = release_report };
const struct gyre_type gy_type_decision = { .name = "decision",
					    .id = GY_ID_DECISION,
					    .bytes = sizeof(struct report),
					    .destroy = release_report };
static const struct gyre_type type_family_decision = { .name = "family decision",
						       .id = 0x73,
						       .bytes = sizeof(struct family_decision) };

static struct report *report_of(struct gyre_mail *mail)
{
	return (struct report *)gyre_payload(mail);
}

static const struct report *report_of_const(const struct gyre_mail *mail)
{
	return (const struct report *)(const void *)mail->payload;
}

/* ---- the child's side ---- */

/* No parent is left that could settle the failure. */
static void fail_root(struct gy_house *house, int error, const struct gyre_mail *origin)
{
	struct gy_home *home = house->home;
	char text[GYRE_PATH_TEXT_MAX];
	const char *path = origin == NULL ? gy_path(house, text) : report_of_const(origin)->path;
	const char *class_name =
		origin == NULL ? house->class_info->name : report_of_const(origin)->class_name;

	if (!home->draining) {
		gy_log(home->loop.options.log, GYRE_LOG_ERROR,
		       "actor %s %s: no parent has settled its failure: %s; the system stops",
		       class_name, path, strerror(-error));
	}
	home->options.shut_down(home->options.system, error);
	gy_house_request_stop(house, error);
}

static void fill(struct report *report, const struct gy_house *house, int error, bool ends)
{
	char text[GYRE_PATH_TEXT_MAX];

	*report = (struct report){
		.child = house->self, .number = house->number, .ends = ends, .verdict.error = error
	};
	memcpy(report->class_name, house->class_info->name, sizeof(report->class_name));
	(void)snprintf(report->path, sizeof(report->path), "%s", gy_path(house, text));
}

void gy_supervise_report(struct gy_house *house, int error, bool ends,
			 const struct gyre_mail *origin)
{
	struct gy_home *home = house->home;
	struct gy_origin parent = house->family->parent;
	struct gyre_mail *mail;

	gy_assert(error < 0);
	if ((house->reasons & GY_CLOSED_BY_FAILURE) != 0) {
		return; /* one decision mends all that failed before it */
	}
	if (parent.cookie == 0 && house->channels_actor) {
		/* It has parted from its channel, and so from who had made it. What becomes of a
		 * connection is not to end the system. */
		gy_house_warn(home, house, "stopped, since it has no parent to settle its failure");
		gy_house_request_stop(house, error);
		return;
	}
	if (parent.cookie == 0) {
		fail_root(house, error, origin);
		return;
	}
	mail = gy_mail_get(home, &gy_type_failure);
	if (mail == NULL) {
		gy_house_warn(home, house, "stopped, since there is no memory to tell its parent");
		gy_house_request_stop(house, error);
		return;
	}
	if (origin == NULL) {
		fill(report_of(mail), house, error, ends);
	} else {
		*report_of(mail) = *report_of_const(origin); /* where it began is what is told */
		report_of(mail)->child = house->self;
		report_of(mail)->number = house->number;
		report_of(mail)->ends = ends;
		report_of(mail)->decided = false;
	}
	report_of(mail)->cause = gy_cause_ref(gy_house_cause(house, error));
	if (!ends) {
		gy_house_add_reason(house, GY_CLOSED_BY_FAILURE);
	}
	mail->node.kind = GY_MAIL_EVENT;
	mail->ask_id = 0;
	gy_mail_from(mail, house);
	(void)gy_send_away(home, gy_origin_address(parent), mail);
}

static void apply(struct gy_house *house, const struct verdict *verdict)
{
	gy_house_remove_reason(house, GY_CLOSED_BY_FAILURE);
	if (verdict->decision == GYRE_DECISION_RESTART) {
		gy_house_order_restart(house, verdict->error, verdict->delay_ns);
	} else if (verdict->decision != GYRE_DECISION_IGNORE) {
		gy_house_request_stop(house, verdict->error);
	}
	if (house->status == GY_HOUSE_WAITING && gy_house_can_run(house)) {
		gy_house_ready(house);
	}
}

void gy_decision_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	gy_count(&home->counters.handled, 1);
	if (house != NULL) {
		apply(house, &report_of(mail)->verdict);
	}
	gy_mail_put(home, mail);
}

/* ---- families ---- */

/* The decision waits until the child is at home. Without memory for it the child stops then. */
static void apply_later(struct gy_home *home, struct gy_house *child, const struct verdict *verdict)
{
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_decision);

	if (mail == NULL) {
		child->stop_at_home = true;
		return;
	}
	report_of(mail)->verdict = *verdict;
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	gy_count(&home->counters.sent, 1);
	gy_house_defer(home, child, mail);
}

static void apply_to_family(struct gy_home *home, struct gy_origin parent,
			    const struct family_decision *decision)
{
	const struct gy_family *family = gy_family_find(home, parent);
	uint32_t slot = family == NULL ? 0 : family->first;

	for (uint32_t i = 0; family != NULL && i < family->count; i++) {
		struct gy_house *child = gy_house_at(home, slot);

		slot = child->next_sibling;
		if (child->number < decision->from_number || child->status == GY_HOUSE_STOPPING) {
			continue;
		}
		if (gy_house_is_away(child)) {
			apply_later(home, child, &decision->verdict);
		} else {
			apply(child, &decision->verdict);
		}
	}
}

void gy_family_decision_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	apply_to_family(home, mail->from, (const struct family_decision *)gyre_payload(mail));
	gy_mail_put(home, mail);
}

/* Makes the mails for all other loops that have children, linked by their nodes, before any is
 * sent. False without memory. */
static bool make_orders(struct gy_house *parent, const struct family_decision *decision,
			struct gy_node **ret_orders)
{
	const struct gy_children *children = parent->extra->children;
	struct gy_home *home = parent->home;

	*ret_orders = NULL;
	for (uint32_t loop = gy_children_next_loop(children, 0); loop != UINT32_MAX;
	     loop = gy_children_next_loop(children, loop + 1)) {
		struct gyre_mail *mail;

		if (loop == home->loop.index) {
			continue;
		}
		mail = gy_mail_get(home, &type_family_decision);
		if (mail == NULL) {
			return false;
		}
		mail->node.kind = GY_MAIL_DECIDE_CHILDREN;
		mail->from = parent->self;
		mail->to_slot = loop;
		*(struct family_decision *)gyre_payload(mail) = *decision;
		mail->node.next = *ret_orders;
		*ret_orders = &mail->node;
	}
	return true;
}

static bool decide_family(struct gy_house *parent, const struct report *report)
{
	const struct gyre_class *class = parent->class_info->class;
	struct gy_home *home = parent->home;
	const struct family_decision decision = {
		.verdict = report->verdict,
		.from_number = class->supervision.scope == GYRE_ALL_FOR_ONE ? 0 : report->number,
	};
	struct gy_node *orders;
	bool all = make_orders(parent, &decision, &orders);

	while (orders != NULL) {
		struct gyre_mail *mail = gy_mail_of(orders);

		orders = orders->next;
		if (all) {
			gy_loop_send(&home->loop, (uint16_t)mail->to_slot, &mail->node);
		} else {
			gy_mail_put(home, mail);
		}
	}
	if (all) {
		apply_to_family(home, parent->self, &decision);
	}
	return all;
}

/* ---- the parent's side ---- */

static enum gyre_decision ask_hook(struct gy_house *parent, const struct report *report)
{
	struct gy_home *home = parent->home;
	const struct gy_house *outer = home->hook;
	const struct gyre_failure failure = {
		.child = gy_address_shown(home, gy_origin_address(report->child)),
		.class_name = report->class_name,
		.path = report->path,
		.error = report->verdict.error,
		.ends = report->ends,
		.cause_type = report->cause == NULL ? NULL : report->cause->type,
		.cause = report->cause == NULL ? NULL : report->cause->payload,
	};
	enum gyre_decision decision;

	home->steps++;
	gy_store_relaxed(&home->hook, parent);
	decision = parent->class_info->class->supervision.decide(parent->state, &failure);
	gy_store_relaxed(&home->hook, outer);
	return decision;
}

/* Whether one more decision to restart is within the limits; sets the delay. */
static bool count_restart(struct gy_house *parent, struct verdict *verdict)
{
	const struct gyre_supervision *supervision = &parent->class_info->class->supervision;
	struct gy_restart_window *window = gy_children_restarts(parent);
	uint32_t count;

	if (window == NULL) {
		gy_house_warn(parent->home, parent, "no memory to restart its children");
		return false;
	}
	count = gy_restart_window_count(window, supervision->window_ns,
					gy_clock_ns(&parent->home->loop.clock));
	if (supervision->restarts_max != 0 && count > supervision->restarts_max) {
		gy_house_warn(parent->home, parent,
			      "fails, since its children have failed more than %u times within its "
			      "window of restarts",
			      supervision->restarts_max);
		return false;
	}
	verdict->delay_ns = gy_restart_delay(supervision->delay_ns, count);
	return true;
}

static void decide(struct gy_house *parent, struct report *report)
{
	const struct gyre_supervision *supervision = &parent->class_info->class->supervision;
	enum gyre_decision decision =
		supervision->decide == NULL ? supervision->decision : ask_hook(parent, report);

	if ((unsigned)decision > GYRE_DECISION_ESCALATE) {
		gy_house_warn(parent->home, parent,
			      "has decided %d about a failure, which is no decision: it escalates",
			      (int)decision);
		decision = GYRE_DECISION_ESCALATE;
	}
	if (decision == GYRE_DECISION_RESTART && !count_restart(parent, &report->verdict)) {
		decision = GYRE_DECISION_ESCALATE;
	}
	report->verdict.decision = decision;
	report->decided = true;
}

/* Sends the report back as the decision. */
static void answer(struct gy_home *home, struct gyre_mail *mail)
{
	struct gyre_address child = gy_origin_address(report_of(mail)->child);

	mail->type = &gy_type_decision;
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	(void)gy_send_away(home, child, mail);
}

bool gy_failure_retry(struct gy_house *parent, struct gyre_mail *mail)
{
	struct gy_home *home = parent->home;
	struct report *report = report_of(mail);
	bool for_one = parent->class_info->class->supervision.scope == GYRE_ONE_FOR_ONE;

	if (!report->decided) {
		decide(parent, report);
	}
	switch (report->verdict.decision) {
	case GYRE_DECISION_RESTART:
	case GYRE_DECISION_STOP:
		if (!for_one) {
			if (!decide_family(parent, report)) {
				return false;
			}
			gy_mail_put(home, mail);
			return true;
		}
		break;
	case GYRE_DECISION_ESCALATE:
		gy_house_set_cause(parent, report->verdict.error, gy_cause_ref(report->cause));
		gy_house_failed_for(parent, report->verdict.error, mail);
		break;
	case GYRE_DECISION_IGNORE:
		break;
	}
	answer(home, mail);
	return true;
}

void gy_failure_undecided(struct gy_home *home, struct gyre_mail *mail)
{
	report_of(mail)->verdict.decision = GYRE_DECISION_STOP;
	answer(home, mail);
}

void gy_failure_arrived(struct gy_home *home, struct gy_house *parent, struct gyre_mail *mail)
{
	gy_count(&home->counters.handled, 1);
	if (parent == NULL || gy_house_is_stopped(parent)) {
		gy_failure_undecided(home, mail);
	} else if (!gy_failure_retry(parent, mail)) {
		gy_house_put(home, parent, mail, GY_LANE_EVENT);
	}
}
