/*
 * The records of a world: who lives, what was sent, who waits for what.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "random.h"

/* What is known not to hold yet. */
enum { ASKS_END_EARLY = false };

struct token {
	uint64_t magic;
	struct world *world;
};

static const uint64_t token_good = UINT64_C(0x600d70ce600d70ce);
static const uint64_t token_gone = UINT64_C(0xdeadd00ddeadd00d);

uint64_t now_ns(void)
{
	return gy_clock_machine_ns();
}

/* ---- tokens ---- */

struct token *token_get(struct world *world)
{
	struct token *token = (struct token *)malloc(sizeof(*token));

	must(world, 0, token != NULL);
	*token = (struct token){ .magic = token_good, .world = world };
	(void)gy_add_relaxed(&world->tokens, 1);
	return token;
}

void token_put(struct token *token)
{
	struct world *world;

	if (token == NULL) {
		return; /* of a payload that was never filled */
	}
	world = token->magic == token_good ? token->world : world_now();
	must(world, 0, token->magic == token_good, "a payload was destroyed twice");
	token->magic = token_gone;
	(void)gy_add_relaxed(&world->tokens, -UINT64_C(1));
	free(token);
}

void parcel_destroy(struct parcel *parcel)
{
	token_put(parcel->token);
}

void present_destroy(struct present *present)
{
	token_put(present->token);
}

void grievance_destroy(struct grievance *grievance)
{
	token_put(grievance->token);
}

void wish_destroy(struct wish *wish)
{
	token_put(wish->token);
}

/* ---- lives ---- */

bool spend(struct world *world)
{
	return gy_load_relaxed(&world->closing) == 0 && gy_add_relaxed(&world->steps_left, -1) > 0;
}

uint32_t life_take(struct world *world)
{
	uint32_t number;
	struct life *life;

	if (gy_load_relaxed(&world->lives_count) >= LIVES_MAX - 1) {
		return 0;
	}
	number = gy_add_relaxed(&world->lives_count, 1) + 1;
	if (number >= LIVES_MAX) {
		return 0;
	}
	life = &world->lives[number];
	for (int i = 0; i < KINDS * LINES; i++) {
		uint32_t **seen = &life->seen[i / LINES][i % LINES];

		*seen = (uint32_t *)calloc(LIVES_MAX, sizeof(**seen));
		must(world, 0, *seen != NULL);
	}
	life->told = (uint8_t *)calloc(LIVES_MAX, sizeof(*life->told));
	must(world, 0, life->told != NULL);
	return number;
}

struct acquaintance known_any(struct world *world, uint64_t *random)
{
	uint32_t place = draw(random, KNOWN);
	struct acquaintance one = { .life = 0 };

	(void)pthread_mutex_lock(&world->known_mutex);
	for (uint32_t i = 0; i < KNOWN && one.life == 0; i++) {
		one = world->known[(place + i) % KNOWN];
	}
	(void)pthread_mutex_unlock(&world->known_mutex);
	return one;
}

struct acquaintance known_add(struct world *world, uint64_t *random, struct acquaintance one)
{
	uint32_t place = draw(random, KNOWN);
	struct acquaintance former;

	(void)pthread_mutex_lock(&world->known_mutex);
	for (uint32_t i = 0; i < KNOWN && world->known[place].life != 0; i++) {
		place = (place + 1) % KNOWN;
	}
	former = world->known[place];
	world->known[place] = one;
	(void)pthread_mutex_unlock(&world->known_mutex);
	return former;
}

void doom(struct world *world, uint32_t life)
{
	if (!world->plan.lean) {
		gy_store_relaxed(&world->lives[life].doomed, 1);
	}
}

/* ---- mail ---- */

struct head head_make(struct world *world, uint32_t from, enum kind kind, uint16_t marks,
		      uint8_t group)
{
	uint32_t mail = gy_load_relaxed(&world->mails_count) >= world->mails_max - 1
				? world->mails_max
				: gy_add_relaxed(&world->mails_count, 1) + 1;

	if (mail < world->mails_max) {
		world->mails[mail].copied = (marks & MARK_COPIED) != 0;
	}
	return (struct head){
		.mail = mail < world->mails_max ? mail : 0,
		.from = from,
		.number = ++world->lives[from].sent[kind],
		.marks = marks,
		.group = group,
	};
}

void mail_owe(struct world *world, uint32_t mail, uint32_t to)
{
	if (mail != 0) {
		gy_store_relaxed(&world->mails[mail].owed, to);
	}
}

uint16_t marks_draw(uint64_t *random)
{
	return (uint16_t)((one_in(random, 2) ? MARK_BATCH : 0) |
			  (one_in(random, 4) ? MARK_BARRIER : 0) |
			  (one_in(random, 5) ? MARK_URGENT : 0));
}

/* ---- promises ---- */

uint32_t pledge_begin(struct world *world, enum pledge_kind kind, uint32_t owner, uint32_t whom,
		      uint64_t time_ns)
{
	uint32_t number;
	struct pledge *pledge;

	if (gy_load_relaxed(&world->pledges_count) >= world->pledges_max - 1) {
		return 0;
	}
	number = gy_add_relaxed(&world->pledges_count, 1) + 1;
	if (number >= world->pledges_max) {
		return 0;
	}
	pledge = &world->pledges[number];
	pledge->kind = kind;
	pledge->owner = owner;
	pledge->whom = whom;
	pledge->begun_ns = now_ns();
	pledge->time_ns = time_ns;
	pledge->inherits = time_ns == 0 && kind != PLEDGE_SLEEP;
	gy_store_release(&pledge->begun, 1);
	trace(owner, "promise begun", number, whom);
	return number;
}

void pledge_refused(struct world *world, uint32_t number, int r)
{
	struct pledge *pledge = &world->pledges[number];

	trace(pledge->owner, "promise refused", number, (uint64_t)r);
	must(world, pledge->owner,
	     r == -ENOMEM || r == -ESHUTDOWN || r == -ENOBUFS || r == -EAGAIN ||
		     (r == -ETIMEDOUT && pledge->inherits) ||
		     (r == -ESRCH && pledge->kind == PLEDGE_ASK) ||
		     (r == -ENOENT && pledge->pool == POOLS) ||
		     (r == -EINVAL && pledge->kind == PLEDGE_END),
	     "promise %u: %d", number, r);
	must(world, pledge->owner, gy_add_relaxed(&pledge->ended, 1) == 0);
}

/* It was waited for until now; a handler must not have heard otherwise before its time was over. */
static void expect_was_awaited(struct world *world, uint32_t number)
{
	const struct pledge *pledge = &world->pledges[number];
	uint64_t heard_ns = gy_load_relaxed(&pledge->unawaited_ns);

	must(world, pledge->owner,
	     heard_ns == 0 || (pledge->time_ns != GYRE_FOREVER &&
			       heard_ns >= pledge->begun_ns + pledge->time_ns),
	     "promise %u was said to be awaited no more", number);
}

void pledge_cancelled(struct world *world, uint32_t number, int error)
{
	struct pledge *pledge = &world->pledges[number];

	trace(pledge->owner, "promise cancelled", number, (uint64_t)error);
	must(world, pledge->owner, error == -ECANCELED, "promise %u: %d", number, error);
	must(world, pledge->owner, gy_add_relaxed(&pledge->ended, 1) == 0,
	     "promise %u has ended twice", number);
	expect_was_awaited(world, number);
	pledge->cancelled = true;
}

void pledge_inherits(struct world *world, uint32_t number, uint64_t before_ns, uint64_t after_ns,
		     int r)
{
	struct pledge *pledge = &world->pledges[number];
	uint64_t default_ns = world->plan.patience_ns;

	pledge->time_ns = after_ns < default_ns ? after_ns : default_ns;
	must(world, pledge->owner, after_ns <= before_ns || after_ns == GYRE_FOREVER);
	must(world, pledge->owner, before_ns > 0 || r < 0,
	     "promise %u was begun when no time was left", number);
	must(world, pledge->owner, r != -ETIMEDOUT || after_ns == 0,
	     "promise %u was not begun for lack of time, with %lu ns left", number,
	     (unsigned long)after_ns);
}

/* Whether who was asked may have no room. */
static bool may_overflow(const struct pledge *pledge)
{
	uint32_t whom = gy_load_relaxed(&pledge->whom);

	return (pledge->kind == PLEDGE_ASK || pledge->kind == PLEDGE_OUTSIDE) &&
	       (whom == 0 || classes[world_now()->lives[whom].class].mailbox_limit != 0);
}

/* What a connect may fail with: the peer may do anything, and the time it has is its own. */
static bool connect_may_fail(int error)
{
	return error == -ETIMEDOUT || error == -ECONNREFUSED || error == -ECONNRESET ||
	       error == -ECONNABORTED || error == -ECANCELED;
}

static bool error_is_known(const struct pledge *pledge, bool lean, int error)
{
	if (pledge->kind == PLEDGE_DIAL && connect_may_fail(error)) {
		return true;
	}
	switch (error) {
	case 0:
		return true;
	case -ETIMEDOUT:
		return pledge->kind != PLEDGE_END && pledge->kind != PLEDGE_SLEEP &&
		       pledge->time_ns != GYRE_FOREVER;
	case -ESRCH:
		return pledge->kind != PLEDGE_SLEEP && pledge->kind != PLEDGE_WORK;
	case -ESHUTDOWN:
		return pledge->kind != PLEDGE_SLEEP;
	case -ENOBUFS:
		return pledge->kind == PLEDGE_WORK || may_overflow(pledge);
	case -ENOSYS:
		return pledge->kind == PLEDGE_ASK || pledge->kind == PLEDGE_OUTSIDE;
	case -ENOMSG:
	case -EIO:
		return pledge->kind != PLEDGE_SLEEP && pledge->kind != PLEDGE_END;
	case -EINVAL:
		return gy_load_relaxed(&pledge->to_all) != 0;
	case -ENOMEM:
		return lean;
	default:
		return false;
	}
}

void pledge_end(struct world *world, uint32_t number, int error)
{
	struct pledge *pledge = &world->pledges[number];
	uint64_t passed_ns = now_ns() - pledge->begun_ns;

	trace(pledge->owner, "promise ended", number, (uint64_t)error);
	pledge->in_time = passed_ns < pledge->time_ns;
	must(world, pledge->owner, number != 0 && gy_load_relaxed(&pledge->begun) == 1);
	must(world, pledge->owner, gy_add_relaxed(&pledge->ended, 1) == 0,
	     "promise %u has ended twice", number);
	must(world, pledge->owner, error_is_known(pledge, world->plan.lean, error),
	     "promise %u of kind %d: %d", number, pledge->kind, error);
	if ((error == -ETIMEDOUT && !ASKS_END_EARLY && pledge->kind != PLEDGE_DIAL) ||
	    (pledge->kind == PLEDGE_SLEEP && error == 0)) {
		must(world, pledge->owner, passed_ns >= pledge->time_ns,
		     "promise %u, %lu ns early of %lu ns", number,
		     (unsigned long)(pledge->time_ns - passed_ns), (unsigned long)pledge->time_ns);
	}
	if (error == 0 || error == -EIO || error == -ENOMSG || error == -ETIMEDOUT) {
		expect_was_awaited(world, number);
	}
	if (pledge->kind == PLEDGE_END && (error == 0 || error == -ESRCH)) {
		must(world, pledge->owner, gy_load_relaxed(&world->lives[pledge->whom].alive) == 0,
		     "life %u was said to have ended (%d)", pledge->whom, error);
	}
}

void pledge_answered(struct world *world, uint32_t number, uint32_t answer, uint32_t by)
{
	struct pledge *pledge = &world->pledges[number];

	must(world, pledge->owner, answer == number, "promise %u got the answer to %u", number,
	     answer);
	must(world, pledge->owner, by == 0 || gy_load_relaxed(&pledge->answered) == 1,
	     "promise %u was answered %u times", number, pledge->answered);
}

/* ---- watches, groups ---- */

uint32_t watch_begin(struct world *world, uint32_t watcher, uint32_t watched)
{
	uint32_t number;

	if (gy_load_relaxed(&world->watches_count) >= world->watches_max - 1) {
		return 0;
	}
	number = gy_add_relaxed(&world->watches_count, 1) + 1;
	if (number >= world->watches_max) {
		return 0;
	}
	world->watches[number].watcher = watcher;
	world->watches[number].watched = watched;
	gy_store_release(&world->watches[number].stage, WATCH_ON);
	trace(watcher, "watches", watched, number);
	return number;
}

void watch_over(struct world *world, uint32_t record)
{
	if (record != 0) {
		must(world, world->watches[record].watcher,
		     gy_exchange(&world->watches[record].stage, WATCH_OVER) == WATCH_ON);
	}
}

uint8_t group_any(struct world *world, uint64_t *random)
{
	return gy_load_acquire(&world->open_groups[draw(random, GROUPS_OPEN)]);
}
