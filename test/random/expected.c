/*
 * What must hold when something of an actor runs: that it lives, that nothing keeps it from running
 * this, that the message comes once and in its order.
 *
 * The order: each sender counts what it sends, and each receiver sees the numbers of one sender and
 * kind rise. What is put before all that waits, because it was stashed or sent to oneself first, is
 * in a list of its own, which must come first.
 */
#include <errno.h>
#include <string.h>

#include "random.h"

const struct head *head_of(struct gyre_stack *stack)
{
	switch (gyre_message_id(stack)) {
	case GYRE_ID(letter):
	case GYRE_ID(parcel):
	case GYRE_ID(bulk):
	case GYRE_ID(huge):
	case GYRE_ID(question):
	case GYRE_ID(wish):
		return (const struct head *)stack->message; /* all begin with it */
	default:
		return NULL;
	}
}

const struct head *batch_head(struct gyre_stack *stack, uint32_t index)
{
	const struct letter *letter = gyre_batch_get(stack, index, letter);
	const struct parcel *parcel = gyre_batch_get(stack, index, parcel);
	const struct bulk *bulk = gyre_batch_get(stack, index, bulk);
	const struct huge *huge = gyre_batch_get(stack, index, huge);
	const struct question *question = gyre_batch_get(stack, index, question);
	const struct wish *wish = gyre_batch_get(stack, index, wish);

	return letter != NULL	  ? &letter->head
	       : parcel != NULL	  ? &parcel->head
	       : bulk != NULL	  ? &bulk->head
	       : huge != NULL	  ? &huge->head
	       : question != NULL ? &question->head
	       : wish != NULL	  ? &wish->head
				  : NULL;
}

uint32_t pledge_of(struct gyre_stack *stack)
{
	const struct question *question = gyre_message(stack, question);
	const struct wish *wish = gyre_message(stack, wish);

	return question != NULL ? question->pledge : wish != NULL ? wish->pledge : 0;
}

uint32_t batch_pledge(struct gyre_stack *stack, uint32_t index)
{
	const struct question *question = gyre_batch_get(stack, index, question);
	const struct wish *wish = gyre_batch_get(stack, index, wish);

	return question != NULL ? question->pledge : wish != NULL ? wish->pledge : 0;
}

void fill_words(uint64_t *words, uint32_t count, uint64_t value)
{
	for (uint32_t i = 0; i < count; i++) {
		words[i] = value * (i + 3);
	}
}

static void check_words(struct self *self, const uint64_t *words, uint32_t count, uint64_t value)
{
	for (uint32_t i = 0; i < count; i++) {
		must(self->world, self->life, words[i] == value * (i + 3), "word %u", i);
	}
}

static void check_content(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	const struct bulk *bulk = gyre_message(stack, bulk);
	const struct huge *huge = gyre_message(stack, huge);

	if (bulk != NULL) {
		check_words(self, bulk->words, BULK_WORDS, bulk->head.number);
	} else if (huge != NULL) {
		check_words(self, huge->words, HUGE_WORDS, huge->head.number);
	}
}

/* ---- who may run ---- */

void expect_alive(struct self *self)
{
	struct life *life;

	must(self->world, 0, self->world != NULL, "a handler before the mount");
	life = &self->world->lives[self->life];
	must(self->world, self->life, gy_load_relaxed(&life->alive) == 1);
	must(self->world, self->life, !self->stopped, "it stopped itself");
	must(self->world, self->life, gy_load_relaxed(&life->lost_name) == 0,
	     "another has got its name");
}

void expect_nothing_in(struct frame *frame, struct self *self)
{
	static const struct frame nothing;

	must(self->world, self->life, memcmp(frame, &nothing, sizeof(nothing)) == 0,
	     "the frame is not zero");
}

/* ---- time ---- */

/* The least that the asker must have left; what is inherited the asker alone knows. */
static uint64_t least_left(const struct world *world, uint32_t number, uint64_t now)
{
	const struct pledge *pledge = &world->pledges[number];
	uint64_t end_ns;

	if (number == 0 || pledge->inherits) {
		return 0;
	}
	if (pledge->time_ns == GYRE_FOREVER) {
		return GYRE_FOREVER;
	}
	end_ns = pledge->begun_ns + pledge->time_ns;
	return end_ns > now ? end_ns - now : 0;
}

/* The ask that runs, also when its payload was moved out; 0 for none. */
static uint32_t ask_of(struct gyre_stack *stack)
{
	const struct frame *frame = frame_of(stack);

	return frame->pledge != 0 ? frame->pledge : pledge_of(stack);
}

/* Whether the ask was answered or has gone, or the message is none. */
static bool nobody_waits(struct gyre_stack *stack)
{
	return gyre_batch_count(stack) == 0 && (ask_of(stack) == 0 || frame_of(stack)->replied);
}

/* Whether the asker has cancelled, or its time has ended. One on the same loop is known to wait or
 * not; and only where there is one loop are all on the same. */
static bool asker_has_ended(const struct world *world, const struct pledge *pledge)
{
	const struct plan *plan = &world->plan;

	return plan->loops == 1 && plan->pinned == 0 && !plan->resizing &&
	       pledge->kind == PLEDGE_ASK && gy_load_relaxed(&pledge->ended) != 0;
}

/*
 * That nobody waits must show when the asker is known to wait no more, or has no time left. If it
 * shows before that, the asker must not find later that it did wait.
 */
static void check_awaited(struct gyre_stack *stack, uint64_t left_ns)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	bool awaited = gyre_is_awaited(stack);
	uint32_t number = ask_of(stack);
	struct pledge *pledge = &world->pledges[number];

	if (nobody_waits(stack)) {
		must(world, self->life, !awaited || world->plan.lean);
	} else if (number == 0) {
		return; /* a batch */
	} else if (awaited) {
		must(world, self->life, left_ns > 0 && !asker_has_ended(world, pledge),
		     "promise %u is awaited, with %lu ns left", number, (unsigned long)left_ns);
	} else if (gy_load_relaxed(&pledge->unawaited_ns) == 0) {
		gy_store_relaxed(&pledge->unawaited_ns, now_ns());
	}
}

/* Of a batch the longest counts. */
void expect_time_left(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint64_t left_ns = gyre_time_left(stack);
	uint64_t now = now_ns();
	uint64_t least_ns = least_left(self->world, ask_of(stack), now);

	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		uint64_t one_ns = least_left(self->world, batch_pledge(stack, i), now);

		least_ns = one_ns > least_ns ? one_ns : least_ns;
	}
	if (nobody_waits(stack)) {
		/* An answer for which there was no memory leaves room for another. */
		must(self->world, self->life, left_ns == GYRE_FOREVER || self->world->plan.lean);
	} else {
		must(self->world, self->life,
		     left_ns >= least_ns && (left_ns == GYRE_FOREVER) >= (least_ns == GYRE_FOREVER),
		     "%lu ns are left, not at least %lu", (unsigned long)left_ns,
		     (unsigned long)least_ns);
	}
	check_awaited(stack, left_ns);
}

/* ---- the lists of what comes first ---- */

static void drop_first(struct queue_model *front, uint32_t count)
{
	front->count -= count;
	memmove(front->mails, front->mails + count, front->count * sizeof(front->mails[0]));
}

static uint32_t find_in(const struct queue_model *front, uint32_t mail)
{
	uint32_t at = 0;

	while (at < front->count && front->mails[at] != mail) {
		at++;
	}
	return at;
}

bool takes_all(uint8_t class)
{
	bool all = classes[class].mailbox_limit == 0;

	for (uint32_t i = 0; i < BEHAVIOURS; i++) {
		all = all && behaviours[class][i].notice != NULL;
	}
	return all;
}

/*
 * Whether some of what was put first may be lost on the way: asks run out, and a behaviour that the
 * actor had meanwhile may have had no handler for it.
 */
static bool may_be_lost(const struct self *self, enum kind kind)
{
	bool loses = kind == KIND_ASK || self->world->plan.lean ||
		     classes[self->class].overflow == GYRE_OVERFLOW_DROP_OLDEST;

	for (uint32_t i = 0; i < BEHAVIOURS; i++) {
		loses = loses || behaviours[self->class][i].notice == NULL;
	}
	return loses;
}

static bool is_urgent_for(const struct self *self, const struct head *head)
{
	return classes[self->class].urgent != NULL && (head->marks & MARK_URGENT) != 0;
}

/*
 * Whether the mail is of those that come first; then it is the next of them. Where it has copies,
 * another one may be among them.
 */
static bool take_from_front(struct self *self, enum kind kind, const struct head *head, bool copied)
{
	struct queue_model *front = &self->front[kind];
	uint32_t mail = head->mail;
	uint32_t at = find_in(front, mail);
	bool found = at < front->count;

	/* What is urgent, and came after something was put first, comes before that too. */
	if (front->count == 0 || ((!found || (copied && at > 0)) && is_urgent_for(self, head))) {
		return false;
	}
	must(self->world, self->life, at == 0 || may_be_lost(self, kind),
	     "mail %u came before mail %u, which had been put first", mail, front->mails[0]);
	drop_first(front, found ? at + 1 : front->count);
	return found;
}

void model_put_first(struct self *self, enum kind kind, uint32_t mail)
{
	struct queue_model *front = &self->front[kind];

	must(self->world, self->life, front->count < FRONT_MAX);
	memmove(front->mails + 1, front->mails, front->count * sizeof(front->mails[0]));
	front->mails[0] = mail;
	front->count++;
}

void model_stashed(struct self *self, enum kind kind, uint32_t mail)
{
	struct mail_record *record = &self->world->mails[mail];

	trace(self->life, "stashed", mail, kind);
	self->stashed[self->stashed_count].mail = mail;
	self->stashed[self->stashed_count].kind = kind;
	self->stashed_count++;
	(void)gy_add_relaxed(&record->stashed, 1);
	gy_store_relaxed(&record->dispatched, 0);
	if (kind == KIND_NOTICE && !record->copied) {
		mail_owe(self->world, mail, self->life);
	}
}

void model_unstash(struct self *self, uint32_t count)
{
	for (uint32_t i = count; i > 0; i--) {
		model_put_first(self, self->stashed[i - 1].kind, self->stashed[i - 1].mail);
	}
	self->stashed_count -= count;
	memmove(self->stashed, self->stashed + count,
		self->stashed_count * sizeof(self->stashed[0]));
}

void model_restarted(struct self *self)
{
	memset(self->timers, 0, sizeof(self->timers));
	model_post_ended(self);
	model_lets_go(self);
	self->idle_ns = 0;
	self->behaviour = 0;
	self->nested_count = 0;
	model_unstash(self, self->stashed_count);
}

/* ---- messages ---- */

/* The last step of a message's way: from whom, which of those that took it, and to whom. */
struct step {
	uint32_t from;
	uint32_t number;
	enum line line;
	uint8_t group;
};

static struct step last_step(const struct self *self, const struct head *head)
{
	const struct mail_record *record = &self->world->mails[head->mail];
	enum line sent = is_urgent_for(self, head) ? LINE_URGENT : LINE_SENT;
	enum line forwarded = is_urgent_for(self, head) ? LINE_URGENT_FORWARDED : LINE_FORWARDED;

	return record->via != 0 ? (struct step){ record->via, record->via_number, forwarded,
						 record->via_group }
				: (struct step){ head->from, head->number, sent, head->group };
}

static void check_order(struct self *self, enum kind kind, const struct step *step)
{
	uint32_t *seen = &self->world->lives[self->life].seen[kind][step->line][step->from];

	must(self->world, self->life, step->number > *seen,
	     "of life %u number %u came after number %u", step->from, step->number, *seen);
	*seen = step->number;
}

/*
 * Nothing comes of one whose end was told, but what was laid aside before. With a copy another may
 * have laid it aside, which makes the check weaker, not wrong. Who forwards counts, not who had
 * sent it.
 */
static void check_not_dead(struct self *self, const struct head *head, const struct step *step)
{
	const struct world *world = self->world;

	if (gy_load_relaxed(&world->mails[head->mail].stashed) == 0) {
		must(self->world, self->life, world->lives[self->life].told[step->from] == 0,
		     "mail %u came of life %u after its end was told", head->mail, step->from);
	}
}

static void check_group(struct self *self, const struct head *head, const struct step *step)
{
	must(self->world, self->life, step->group == 0 || (self->meant >> step->group & 1) != 0,
	     "mail %u to group %u came to one who never was a member", head->mail, step->group);
}

/* Whoever has sent it first is its sender. A thread outside is none; an actor carries its asks,
 * and has its timers. */
static void check_sender(struct self *self, enum kind kind, const struct head *head,
			 struct gyre_address sender)
{
	struct gyre_address from = self->world->lives[head->from].address;

	if (gyre_address_is_nobody(from) && (kind == KIND_ASK || (head->marks & MARK_TIMED) != 0)) {
		return;
	}
	must(self->world, self->life, gyre_address_equal(sender, from),
	     "mail %u of life %u came from another", head->mail, head->from);
}

void expect_message(struct gyre_stack *stack, enum kind kind, const struct head *head,
		    struct gyre_address sender)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct step step;
	bool copied;
	bool first;

	must(world, self->life, head != NULL);
	trace(self->life, kind == KIND_ASK ? "is asked" : "is sent", head->mail, head->from);
	must(world, self->life, self->barrier == 0, "mail %u keeps others out", self->barrier - 1);
	must(world, self->life, self->phase == PHASE_UP, "in phase %d", self->phase);
	must(world, self->life, head->from < LIVES_MAX);
	if ((head->marks & MARK_SETTLE) != 0) {
		gy_store_relaxed(&world->lives[self->life].settled, head->number);
		return;
	}
	if (gyre_batch_count(stack) == 0) {
		check_content(stack);
	}
	step = last_step(self, head);
	copied = (head->marks & MARK_COPIED) != 0 || world->mails[head->mail].copied;
	check_sender(self, kind, head, sender);
	check_group(self, head, &step);
	check_not_dead(self, head, &step);
	if (head->mail != 0 && !copied) {
		mail_owe(world, head->mail, 0);
		must(world, self->life,
		     gy_add_relaxed(&world->mails[head->mail].dispatched, 1) == 0,
		     "mail %u came twice", head->mail);
	}
	first = take_from_front(self, kind, head, copied);
	must(world, self->life,
	     first || copied ||
		     ((head->marks & MARK_FIRST) == 0 &&
		      (head->mail == 0 || gy_load_relaxed(&world->mails[head->mail].stashed) == 0)),
	     "mail %u comes back from nowhere", head->mail);
	expect_room(self, head);
	if (head->mail != 0) {
		gy_store_relaxed(&world->mails[head->mail].came, 1);
	}
	if ((head->marks & MARK_TIMED) != 0) {
		expect_in_time(self, head);
	}
	if (!first && ((head->marks & MARK_TIMED) == 0 || step.line == LINE_FORWARDED ||
		       step.line == LINE_URGENT_FORWARDED)) {
		check_order(self, kind, &step);
	}
}

/* ---- events ---- */

static void expect_timeout(struct self *self, const struct gyre_timeout *timeout)
{
	struct timer_model *timer;
	uint64_t last_ns;

	trace(self->life, "timer", timeout->key, timeout->expirations);
	must(self->world, self->life, timeout->key < TIMERS && timeout->expirations > 0);
	timer = &self->timers[timeout->key];
	must(self->world, self->life, timer->on, "timer %lu is off", (unsigned long)timeout->key);
	must(self->world, self->life, !timer->once || timeout->expirations == 1);
	last_ns = timer->next_ns + (timeout->expirations - 1) * timer->period_ns;
	must(self->world, self->life, now_ns() >= last_ns, "timer %lu is %lu ns early",
	     (unsigned long)timeout->key, (unsigned long)(last_ns - now_ns()));
	timer->next_ns = last_ns + timer->period_ns;
	timer->on = !timer->once;
}

void model_forget_watched(struct self *self, uint32_t at)
{
	watch_over(self->world, self->watched[at].record);
	self->watched[at] = self->watched[--self->watched_count];
}

/* An actor of a channel may end for what its channel does, and so may those in pacts with it. */
static bool may_end_for(const struct world *world, int reason)
{
	switch (reason) {
	case 0:
	case -EIO:
	case -ESHUTDOWN:
	case -ESRCH:
		return true;
	case -ENOMEM:
		return world->plan.lean;
	case -ECANCELED:
	case -ECONNRESET:
	case -EPIPE:
	case -ETIMEDOUT:
		return world->plan.links;
	default:
		return false;
	}
}

static void expect_terminated(struct self *self, const struct gyre_terminated *terminated)
{
	struct world *world = self->world;
	uint32_t at = 0;
	uint32_t life;

	while (at < self->watched_count &&
	       !gyre_address_equal(self->watched[at].address, terminated->actor)) {
		at++;
	}
	must(world, self->life, at < self->watched_count,
	     "was told of an end (%d) that it does not wait for", terminated->reason);
	life = self->watched[at].life;
	trace(self->life, "is told of the end", life, (uint64_t)terminated->reason);
	must(world, self->life, gy_load_relaxed(&world->lives[life].alive) == 0,
	     "life %u goes on, whose end was told (%d)", life, terminated->reason);
	must(world, self->life, may_end_for(world, terminated->reason), "reason %d",
	     terminated->reason);
	world->lives[self->life].told[life] = gy_load_relaxed(&world->lives[life].ended) != 0;
	model_forget_watched(self, at);
}

static void expect_mark(struct self *self, const struct gyre_mailbox_mark *mark)
{
	const struct gyre_class *class = &classes[self->class];

	trace(self->life, mark->high ? "full" : "no longer full", mark->waiting, 0);
	must(self->world, self->life, mark->high != self->full);
	must(self->world, self->life,
	     mark->high ? mark->waiting >= class->mailbox_high
			: mark->waiting <= class->mailbox_low,
	     "%u waited", mark->waiting);
	self->full = mark->high;
}

void expect_event(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);

	switch (gyre_message_id(stack)) {
	case GYRE_ID(gyre_timeout):
		expect_timeout(self, gyre_message(stack, gyre_timeout));
		break;
	case GYRE_ID(gyre_terminated):
		expect_terminated(self, gyre_message(stack, gyre_terminated));
		break;
	case GYRE_ID(gyre_mailbox_mark):
		expect_mark(self, gyre_message(stack, gyre_mailbox_mark));
		break;
	case GYRE_ID(rumour):
		expect_rumour(self, gyre_message(stack, rumour));
		break;
	case GYRE_ID(gyre_events_missed):
		expect_missed(self, gyre_message(stack, gyre_events_missed));
		break;
	case GYRE_ID(gyre_listing):
		expect_listing(self, gyre_message(stack, gyre_listing));
		break;
	case GYRE_ID(gyre_stopping):
		expect_stopping(stack, gyre_message(stack, gyre_stopping));
		break;
	case GYRE_ID(gyre_receive_timeout):
		trace(self->life, "idle", gyre_message(stack, gyre_receive_timeout)->idle_ns, 0);
		must(self->world, self->life,
		     self->idle_ns > 0 &&
			     gyre_message(stack, gyre_receive_timeout)->idle_ns >= self->idle_ns);
		break;
	default:
		must(self->world, self->life, false, "event 0x%x", gyre_message_id(stack));
	}
}
