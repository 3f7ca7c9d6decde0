/*
 * Asking all members of a group: a copy of the question for each, and an ask as any other, so that
 * time-outs, ends of members and the end of the asker need no code here. All copies are made before
 * the first is sent: a question that cannot be asked of all is asked of none.
 */
#include <errno.h>

#include <gyre/outside.h>

#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "system/directory/groups.h"
#include "system/system.h"

/* A question on its way to all. */
struct question {
	struct gyre_stack *stack;	  /* NULL outside of actors */
	struct gy_home *home;		  /* NULL outside of actors */
	const struct gy_members *members; /* NULL for none */
	struct gy_node *copies;		  /* one for each that is asked, in a list */
	uint64_t timeout_ns;
};

static void drop_copies(struct question *question)
{
	while (question->copies != NULL) {
		struct gy_node *next = question->copies->next;

		gy_mail_put_anywhere(question->home, gy_mail_of(question->copies));
		question->copies = next;
	}
}

static int make_copies(struct question *question, const struct gyre_mail *mail, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gyre_mail *copy = gy_mail_copy(question->home, mail);

		if (copy == NULL) {
			drop_copies(question);
			return -ENOMEM;
		}
		gy_mail_renew(copy);
		copy->node.next = question->copies;
		question->copies = &copy->node;
	}
	return 0;
}

/* The next copy, which there is. */
static struct gyre_mail *next_copy(struct question *question)
{
	struct gyre_mail *copy = gy_mail_of(question->copies);

	gy_assert(question->copies != NULL);
	question->copies = question->copies->next;
	return copy;
}

static bool is_there(const struct gy_member *member)
{
	return gy_load_relaxed(&member->gone) == 0;
}

/* Notes whom to ask, since a member may go between two looks. Returns how many that is. */
static int choose(const struct question *question, uint32_t max, struct gyre_asked *asked)
{
	const struct gy_members *members = question->members;
	uint32_t count = 0;

	gy_assert(max > 0 && max <= GYRE_GROUP_MEMBERS_MAX);
	for (uint32_t i = 0; members != NULL && i < members->count; i++) {
		if (!is_there(&members->member[i])) {
			continue;
		}
		if (count == max) {
			return -ENOBUFS;
		}
		asked[count++].member = members->member[i].address;
	}
	return (int)count;
}

static void ask_each(struct question *question, uint32_t count, struct gyre_asked *asked)
{
	for (uint32_t i = 0; i < count; i++) {
		struct gyre_mail *copy = next_copy(question);

		asked[i].member = gy_address_shown(question->home, asked[i].member);
		/* The future shows what it returns. */
		(void)gyre_ask(question->stack, asked[i].member, copy, question->timeout_ns,
			       &asked[i].future);
	}
	gy_assert(question->copies == NULL);
}

static int ask_members(struct question *question, const struct gyre_mail *mail, uint32_t asked_max,
		       struct gyre_asked *asked)
{
	int count = choose(question, asked_max, asked);
	int r = count <= 0 ? count : make_copies(question, mail, (uint32_t)count);

	if (r == 0) {
		ask_each(question, (uint32_t)count, asked);
	}
	return r < 0 ? r : count;
}

static int ask_group(struct question *question, struct gyre_address address,
		     const struct gyre_mail *mail, uint32_t asked_max, struct gyre_asked *asked)
{
	const struct gy_groups *groups = gy_groups_of(question->home->options.system);
	struct gy_group *group;
	int r;

	if (address.loop != GY_GROUP_LOOP || !gy_is_of_node(groups->homes->node, address) ||
	    !gy_type_can_be_copied(mail->type) || asked == NULL || asked_max == 0 ||
	    asked_max > GYRE_GROUP_MEMBERS_MAX) {
		return -EINVAL;
	}
	group = gy_group_find(groups, address);
	if (group == NULL) {
		return -ESRCH;
	}
	question->members = gy_load_acquire(&group->members);
	r = ask_members(question, mail, asked_max, asked);
	if (question->members != NULL) {
		gy_happens_before((void *)(uintptr_t)question->members);
	}
	gy_happens_before(group);
	return r;
}

int gyre_ask_all(struct gyre_stack *stack, struct gyre_address group, struct gyre_mail *mail,
		 uint64_t timeout_ns, uint32_t asked_max, struct gyre_asked *ret_asked)
{
	struct question question = { .stack = stack,
				     .home = gy_stack_of(stack)->home,
				     .timeout_ns = timeout_ns };
	int r;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	mail = gy_mail_given(question.home, mail);
	r = ask_group(&question, group, mail, asked_max, ret_asked);
	gy_mail_put(question.home, mail);
	return r;
}

/* ---- from outside ---- */

/* Who is to hear of the answers. */
struct listener {
	gyre_answered_fn callback;
	void *arg;
};

/* Takes the copies. */
static void ask_each_outside(struct gyre_system *system, struct question *question,
			     const struct gyre_address *members, uint32_t count,
			     const struct listener *listener)
{
	for (uint32_t i = 0; i < count; i++) {
		int r = gyre_system_ask_callback(system, members[i], next_copy(question),
						 question->timeout_ns, listener->callback,
						 listener->arg);

		if (r < 0) {
			listener->callback(NULL, r, listener->arg);
		}
	}
	gy_assert(question->copies == NULL);
}

static int ask_outside(struct gyre_system *system, struct question *question,
		       struct gyre_address group, const struct gyre_mail *mail,
		       const struct listener *listener)
{
	struct gyre_address *members =
		(struct gyre_address *)gy_memory_get(GYRE_GROUP_MEMBERS_MAX * sizeof(*members));
	uint32_t count = 0;
	int r = members == NULL ? -ENOMEM
				: gyre_system_group_members(system, group, GYRE_GROUP_MEMBERS_MAX,
							    members, &count);

	if (r == 0) {
		r = make_copies(question, mail, count);
	}
	if (r == 0) {
		ask_each_outside(system, question, members, count, listener);
	}
	gy_memory_put(members);
	return r < 0 ? r : (int)count;
}

int gyre_system_ask_all(struct gyre_system *system, struct gyre_address group,
			struct gyre_mail *mail, uint64_t timeout_ns, gyre_answered_fn callback,
			void *arg)
{
	struct question question = { .timeout_ns = timeout_ns };
	const struct listener listener = { callback, arg };
	int r = -EINVAL;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	mail = gy_mail_given(NULL, mail);
	if (system != NULL && callback != NULL && gy_type_can_be_copied(mail->type)) {
		r = ask_outside(system, &question, group, mail, &listener);
	}
	gyre_mail_destroy(NULL, mail);
	return r;
}
