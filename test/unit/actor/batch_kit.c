/*
 * The actor that takes batches, and the script that a test plays on it.
 */
#include "batch_kit.h"

#include <ctype.h>
#include <string.h>

#include <gyre/behaviour.h>
#include <gyre/timer.h>

enum { EVENT_KEY = 1 };

struct batch_frame {
	struct gyre_future turn;
};

static struct gyre_probe *player;
static struct gyre_address sender; /* the player, or who asks in its place */
static struct gyre_address target;
static struct gyre_address gate;

/* ---- what has happened ---- */

struct gyre_mail *new_letter(struct gyre_stack *stack, char what)
{
	return gyre_new(stack, letter, what);
}

/* ---- waiting ---- */

static struct gyre_future *turn_of(struct gyre_stack *stack)
{
	return &((struct batch_frame *)gyre_frame(stack))->turn;
}

int sleep_for(struct gyre_stack *stack, uint64_t ns)
{
	return gyre_sleep(stack, ns, turn_of(stack));
}

int wait_for_gate(struct gyre_stack *stack)
{
	return gyre_ask(stack, gate, new_letter(stack, 'x'), GYRE_FOREVER, turn_of(stack));
}

static int keep_waiting(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, turn_of(stack)));
	GYRE_END(stack);
}

/* It is open when it is gone. */
static const struct gyre_class gate_class = { .name = "gate",
					      .frame_bytes = sizeof(struct batch_frame),
					      .behaviour.ask = keep_waiting };

/* ---- handlers of what comes alone ---- */

static const struct gyre_behaviour alone_behaviour;

static void expect_no_batch(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_batch_count(stack), 0);
	cr_assert_null(gyre_batch_get(stack, 0, letter));
	cr_assert(gyre_address_is_nobody(gyre_batch_sender(stack, 0)));
	cr_assert_eq(gyre_batch_reply(stack, 0, new_letter(stack, 'x')), -EINVAL);
	cr_assert_eq(gyre_batch_reply_all(stack, new_letter(stack, 'x')), -EINVAL);
}

static int note(struct gyre_stack *stack)
{
	char what = gyre_message(stack, letter)->what;

	GYRE_BEGIN(stack);
	expect_no_batch(stack);
	mark(what);
	if (what == 'B') {
		cr_assert_eq(gyre_become(stack, &alone_behaviour), 0);
	} else if (what == 'W') {
		GYRE_AWAIT(stack, wait_for_gate(stack));
		expect_no_batch(stack);
		mark('0');
	}
	GYRE_END(stack);
}

static int answer(struct gyre_stack *stack)
{
	expect_no_batch(stack);
	mark(gyre_message(stack, letter)->what);
	return gyre_reply(stack, new_letter(stack, '1'));
}

static int note_event(struct gyre_stack *stack)
{
	expect_no_batch(stack);
	mark('e');
	return gyre_return(stack);
}

int note_mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };

	expect_no_batch(stack);
	cr_assert_eq(gyre_timer_start(stack, EVENT_KEY, &at_once), 0);
	return gyre_return(stack);
}

static const struct gyre_behaviour alone_behaviour = { .notice = note, .ask = answer };

/* ---- handlers of batches ---- */

char letter_at(const struct gyre_stack *stack, uint32_t index)
{
	const struct letter *letter = gyre_batch_get(stack, index, letter);
	const struct place *place = gyre_batch_get(stack, index, place);

	cr_assert((letter == NULL) != (place == NULL));
	cr_assert(gyre_address_equal(gyre_batch_sender(stack, index), sender));
	return place != NULL ? '@' : letter->what;
}

void mark_batch(struct gyre_stack *stack, const char *brackets)
{
	uint32_t count = gyre_batch_count(stack);

	cr_assert_gt(count, 0);
	cr_assert_null(gyre_batch_get(stack, count, letter));
	cr_assert(gyre_address_is_nobody(gyre_batch_sender(stack, count)));
	cr_assert(gyre_message_id(stack) == 0 && gyre_take(stack) == NULL);
	cr_assert(gyre_address_is_nobody(gyre_sender(stack)));
	cr_assert_eq(gyre_reply(stack, new_letter(stack, 'x')), -EINVAL);
	mark(brackets[0]);
	for (uint32_t i = 0; i < count; i++) {
		mark(letter_at(stack, i));
	}
	mark(brackets[1]);
}

static int tell(struct gyre_stack *stack, struct gyre_address to, char what)
{
	return gyre_notify(stack, to, new_letter(stack, what));
}

/* What the first letter says. */
static int note_batch(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	mark_batch(stack, "()");
	cr_assert_eq(gyre_batch_reply(stack, 0, new_letter(stack, 'x')), -EINVAL);
	cr_assert_eq(gyre_batch_reply_all(stack, new_letter(stack, 'x')), -EINVAL);
	switch (letter_at(stack, 0)) {
	case 'e':
		return gyre_throw(stack, -EIO);
	case 'f':
		return gyre_notify_self_first(stack, new_letter(stack, '1'));
	case 'm':
		cr_assert_eq(tell(stack, gyre_self(stack), '1'), 0);
		cr_assert_eq(tell(stack, gyre_self(stack), '2'), 0);
		cr_assert_eq(tell(stack, gyre_self(stack), '3'), -ENOBUFS);
		return gyre_return(stack);
	case 's':
		return gyre_stop(stack, gyre_self(stack));
	case 'w':
		break;
	default:
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, wait_for_gate(stack));
	mark('0');
	mark_batch(stack, "()");
	GYRE_END(stack);
}

int answer_one(struct gyre_stack *stack, uint32_t index)
{
	char what = (char)toupper(letter_at(stack, index));

	return gyre_batch_reply(stack, index, new_letter(stack, what));
}

static int answer_each(struct gyre_stack *stack)
{
	mark_batch(stack, "[]");
	for (uint32_t i = gyre_batch_count(stack); i > 0; i--) {
		cr_assert_eq(answer_one(stack, i - 1), 0);
	}
	return gyre_return(stack);
}

/* ---- the actor ---- */

static bool is_chosen(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(place) || islower(((const struct letter *)message)->what);
}

/* No filter ever sees a poison. */
bool is_any(const struct gyre_type *type, const void *message)
{
	cr_assert(type->id >= 0x100 && message != NULL);
	return true;
}

bool is_capital(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(letter) && isupper(((const struct letter *)message)->what);
}

struct gyre_class batching_class = {
	.name = "batching",
	.frame_bytes = sizeof(struct batch_frame),
	.behaviour = { .notice = note,
		       .ask = answer,
		       .event = note_event,
		       .notice_batch = note_batch,
		       .ask_batch = answer_each },
	.batch_notices = is_chosen,
	.batch_asks = is_chosen,
	.strategy = GYRE_STRATEGY_IGNORE,
};

/* ---- the script ---- */

void expect_dropped(struct gyre_test *test, enum gyre_drop reason, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)gyre_test_expect_dead_letter(test, letter, reason, 0);
	}
}

struct gyre_counters counters_of(struct gyre_test *test)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(gyre_test_system(test), &counters), 0);
	return counters;
}

static void do_letter(struct gyre_stack *stack, char verb, char what)
{
	switch (verb) {
	case 't':
		cr_assert_eq(tell(stack, target, what), 0);
		break;
	case 'r':
		cr_assert_eq(tell(stack, target, what), -ENOBUFS);
		break;
	case 'a':
	case 'd':
		cr_assert_eq(gyre_probe_ask(player, target, new_letter(stack, what),
					    verb == 'a' ? 0 : 1),
			     0);
		break;
	default:
		cr_assert_fail("no word begins with %c", verb);
	}
}

static void do_word(struct gyre_stack *stack, const char *word, size_t bytes)
{
	switch (word[0]) {
	case 'l':
		cr_assert_eq(gyre_notify(stack, target, gyre_new(stack, place, sender)), 0);
		break;
	case 'p':
		cr_assert_eq(gyre_poison(stack, target), 0);
		break;
	case 's':
		cr_assert_eq(gyre_stop(stack, target), 0);
		break;
	case 'o':
		cr_assert_eq(gyre_stop(stack, gate), 0);
		break;
	default:
		for (size_t i = 1; i < bytes; i++) {
			do_letter(stack, word[0], word[i]);
		}
	}
}

static size_t length_of(const char *word)
{
	return strcspn(word, " ");
}

static const char *next_of(const char *word)
{
	word += length_of(word);
	return word + strspn(word, " ");
}

static bool is_for_the_probe(const char *word)
{
	return *word != 0 && strchr("/?=", *word) == NULL;
}

/* All words that happen at once. */
static int do_words(struct gyre_stack *stack, void *arg)
{
	const char **words = (const char **)arg;

	for (; is_for_the_probe(*words); *words = next_of(*words)) {
		do_word(stack, *words, length_of(*words));
	}
	return 0;
}

static const struct {
	char sign;
	int error;
} signs[] = { { '-', -ENOMSG },	   { '!', -EIO },    { '#', -ESHUTDOWN },
	      { '~', -ETIMEDOUT }, { '%', -ENOMEM }, { '$', -EINVAL } };

enum { SIGNS = sizeof(signs) / sizeof(signs[0]) };

static void expect_answer(char sign)
{
	const struct letter *letter;

	for (size_t i = 0; i < SIGNS; i++) {
		if (signs[i].sign == sign) {
			(void)gyre_probe_expect_failure(player, signs[i].error, GYRE_SECONDS(1));
			return;
		}
	}
	letter = gyre_probe_expect(player, letter, GYRE_SECONDS(1));
	cr_assert_eq(letter->what, sign, "%c instead of %c", letter->what, sign);
}

static void play_word(struct gyre_test *test, const char *word)
{
	size_t bytes = length_of(word);

	if (word[0] == '/') {
		gyre_test_advance(test, GYRE_MILLISECONDS(1));
	} else if (word[0] == '?') {
		for (size_t i = 1; i < bytes; i++) {
			expect_answer(word[i]);
		}
	} else {
		cr_assert(strlen(marked()) == bytes - 1 &&
				  memcmp(marked(), word + 1, bytes - 1) == 0,
			  "%s instead of %s", marked(), word + 1);
	}
}

void play_script(struct gyre_test *test, const char *words)
{
	player = gyre_probe_create(test);
	sender = gyre_probe_address(player);
	gate = gyre_test_spawn(test, &gate_class, GYRE_NO_ARGUMENT);
	target = gyre_test_spawn(test, &batching_class, GYRE_NO_ARGUMENT);
	while (*words != 0) {
		if (is_for_the_probe(words)) {
			(void)gyre_probe_do(player, do_words, &words);
		} else {
			play_word(test, words);
			words = next_of(words);
		}
	}
	(void)gyre_probe_expect_none(player, 0);
}

/* ---- three asks ---- */

enum { THREE = 3 };

struct asker_frame {
	struct gyre_future answers[THREE];
};

static char answered[THREE + 1];

static char sign_of(const struct gyre_future *future)
{
	const struct letter *letter = gyre_future_get(future, letter);

	for (size_t i = 0; i < SIGNS; i++) {
		if (gyre_future_error(future) == signs[i].error) {
			return signs[i].sign;
		}
	}
	return letter == NULL ? '?' : letter->what;
}

static int ask_three(struct gyre_stack *stack)
{
	struct asker_frame *frame = (struct asker_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (int i = 0; i < THREE; i++) {
		cr_assert_eq(gyre_ask(stack, target, new_letter(stack, (char)('a' + i)), 0,
				      &frame->answers[i]),
			     0);
	}
	GYRE_AWAIT(stack, 0);
	for (int i = 0; i < THREE; i++) {
		answered[i] = sign_of(&frame->answers[i]);
	}
	GYRE_END(stack);
}

static const struct gyre_class asker_class = { .name = "asker",
					       .frame_bytes = sizeof(struct asker_frame),
					       .behaviour.notice = ask_three };

void play_three(struct gyre_test *test, const char *answers)
{
	target = gyre_test_spawn(test, &batching_class, GYRE_NO_ARGUMENT);
	sender = gyre_test_spawn(test, &asker_class, GYRE_NO_ARGUMENT);
	(void)gyre_probe_notify(gyre_probe_create(test), sender, gyre_test_new(test, letter, 'x'));
	gyre_test_advance(test, GYRE_MILLISECONDS(1));
	expect_marks("[abc]");
	cr_assert_str_eq(answered, answers);
}
