/*
 * The target that takes batches, and the script that a test plays on it.
 */
#include "batch_rig.h"

#include <ctype.h>
#include <string.h>

enum { EVENT_KEY = 1 };

static struct gyre_address target;
static struct gyre_address gate;
static struct gyre_address player;

static int tell(struct gyre_stack *stack, struct gyre_address to, char what)
{
	return gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)what));
}

int wait_for_gate(struct gyre_stack *stack)
{
	return gyre_ask(stack, gate, gyre_new(stack, number, 'x'), GYRE_FOREVER,
			&frame_of(stack)->turn);
}

struct gyre_mail *letter(struct gyre_stack *stack, char what)
{
	return gyre_new(stack, number, (uint64_t)what);
}

/* ---- handlers of what comes alone ---- */

static const struct gyre_behaviour alone_behaviour;

static void expect_no_batch(struct gyre_stack *stack)
{
	expect(gyre_batch_count(stack) == 0);
	expect(gyre_batch_get(stack, 0, number) == NULL);
	expect(gyre_address_is_nobody(gyre_batch_sender(stack, 0)));
	expect(gyre_batch_reply(stack, 0, letter(stack, 'x')) == -EINVAL);
	expect(gyre_batch_reply_all(stack, letter(stack, 'x')) == -EINVAL);
}

static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	GYRE_BEGIN(stack);
	expect_no_batch(stack);
	trace(what);
	if (what == 'B') {
		expect(gyre_become(stack, &alone_behaviour) == 0);
	} else if (what == 'W') {
		GYRE_AWAIT(stack, wait_for_gate(stack));
		expect_no_batch(stack);
		trace('0');
	}
	GYRE_END(stack);
}

static int answer(struct gyre_stack *stack)
{
	expect_no_batch(stack);
	trace((char)gyre_message(stack, number)->value);
	return gyre_reply(stack, letter(stack, '1'));
}

static int note_event(struct gyre_stack *stack)
{
	expect_no_batch(stack);
	trace('e');
	return gyre_return(stack);
}

int note_mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };

	expect_no_batch(stack);
	expect(gyre_timer_start(stack, EVENT_KEY, &at_once) == 0);
	return gyre_return(stack);
}

static const struct gyre_behaviour alone_behaviour = { .notice = note, .ask = answer };

/* ---- handlers of batches ---- */

char letter_at(struct gyre_stack *stack, uint32_t index)
{
	const struct number *number = gyre_batch_get(stack, index, number);
	const struct place *place = gyre_batch_get(stack, index, place);

	expect((number == NULL) != (place == NULL));
	expect(gyre_address_equal(gyre_batch_sender(stack, index), player));
	return place != NULL ? '@' : (char)number->value;
}

void trace_batch(struct gyre_stack *stack, const char *brackets)
{
	uint32_t count = gyre_batch_count(stack);

	expect(count > 0);
	expect(gyre_batch_get(stack, count, number) == NULL);
	expect(gyre_address_is_nobody(gyre_batch_sender(stack, count)));
	expect(gyre_message_id(stack) == 0 && gyre_take(stack) == NULL);
	expect(gyre_address_is_nobody(gyre_sender(stack)));
	expect(gyre_reply(stack, letter(stack, 'x')) == -EINVAL);
	trace(brackets[0]);
	for (uint32_t i = 0; i < count; i++) {
		trace(letter_at(stack, i));
	}
	trace(brackets[1]);
}

/* What the first letter says. */
static int note_batch(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	trace_batch(stack, "()");
	expect(gyre_batch_reply(stack, 0, letter(stack, 'x')) == -EINVAL);
	expect(gyre_batch_reply_all(stack, letter(stack, 'x')) == -EINVAL);
	switch (letter_at(stack, 0)) {
	case 'e':
		return gyre_throw(stack, -EIO);
	case 'f':
		return gyre_notify_self_first(stack, letter(stack, '1'));
	case 'm':
		expect(tell(stack, gyre_self(stack), '1') == 0);
		expect(tell(stack, gyre_self(stack), '2') == 0);
		expect(tell(stack, gyre_self(stack), '3') == -ENOBUFS);
		return gyre_return(stack);
	case 's':
		return gyre_stop(stack, gyre_self(stack));
	case 'w':
		break;
	default:
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, wait_for_gate(stack));
	trace('0');
	trace_batch(stack, "()");
	GYRE_END(stack);
}

int answer_one(struct gyre_stack *stack, uint32_t index)
{
	char what = (char)toupper(letter_at(stack, index));

	return gyre_batch_reply(stack, index, letter(stack, what));
}

static int answer_each(struct gyre_stack *stack)
{
	trace_batch(stack, "[]");
	for (uint32_t i = gyre_batch_count(stack); i > 0; i--) {
		expect(answer_one(stack, i - 1) == 0);
	}
	return gyre_return(stack);
}

/* ---- the target ---- */

static bool is_chosen(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(place) || islower((int)((const struct number *)message)->value);
}

/* No filter ever sees a poison. */
bool is_any(const struct gyre_type *type, const void *message)
{
	expect(type->id >= 0x100 && message != NULL);
	return true;
}

bool is_capital(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && isupper((int)((const struct number *)message)->value);
}

struct gyre_class batching_class = {
	.name = "batching",
	.frame_bytes = sizeof(struct frame),
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

static const char *script;
uint32_t target_loop;
static uint32_t asked;

static void ask(struct gyre_stack *stack, char what, uint64_t timeout_ns)
{
	expect(asked < ASKS_MAX);
	expect(gyre_ask(stack, target, letter(stack, what), timeout_ns,
			&frame_of(stack)->asks[asked++]) == 0);
}

static int wait_mount(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(10), &frame_of(stack)->turn));
	GYRE_END(stack);
}

static void do_letter(struct gyre_stack *stack, char verb, char what)
{
	switch (verb) {
	case 't':
		expect(tell(stack, target, what) == 0);
		break;
	case 'r':
		expect(tell(stack, target, what) == -ENOBUFS);
		break;
	case 'a':
		ask(stack, what, 0);
		break;
	case 'd':
		ask(stack, what, 1);
		break;
	default:
		fixture_failed(script);
	}
}

static void do_word(struct gyre_stack *stack, size_t bytes)
{
	switch (script[0]) {
	case 'l':
		expect(gyre_notify(stack, target, gyre_new(stack, place, player)) == 0);
		break;
	case 'p':
		expect(gyre_poison(stack, target) == 0);
		break;
	case 's':
		expect(gyre_stop(stack, target) == 0);
		break;
	case 'n':
		target = spawn_on(stack, &batching_class, target_loop);
		break;
	case 'o':
		expect(gyre_stop(stack, gate) == 0);
		break;
	case '=':
		if (strlen(traced) != bytes - 1 || memcmp(traced, script + 1, bytes - 1) != 0) {
			fixture_failed(script);
		}
		break;
	default:
		for (size_t i = 1; i < bytes; i++) {
			do_letter(stack, script[0], script[i]);
		}
	}
}

/* Traces how the asks have ended, if all have. */
static bool trace_answers(struct gyre_stack *stack)
{
	static const struct {
		int error;
		char sign;
	} signs[] = { { -ENOMSG, '-' },	   { -EIO, '!' },    { -ESHUTDOWN, '#' },
		      { -ETIMEDOUT, '~' }, { -ENOMEM, '%' }, { -EINVAL, '$' } };
	const struct gyre_future *asks = frame_of(stack)->asks;

	for (uint32_t i = 0; i < asked; i++) {
		if (gyre_future_error(&asks[i]) == -EINPROGRESS) {
			return false;
		}
	}
	for (uint32_t i = 0; i < asked; i++) {
		const struct number *number = gyre_future_get(&asks[i], number);
		char sign = number != NULL ? (char)number->value : '?';

		for (size_t k = 0; k < sizeof(signs) / sizeof(signs[0]); k++) {
			sign = gyre_future_error(&asks[i]) == signs[k].error ? signs[k].sign : sign;
		}
		trace(sign);
	}
	return true;
}

/* One state, so that all futures may be read to the end. */
static int follow_script(struct gyre_stack *stack)
{
	struct gyre_future *turn = &frame_of(stack)->turn;

	if (gyre_stack_state(stack) == 0) {
		player = gyre_self(stack);
		gate = spawn_here(stack, &mute_class);
		target = spawn_on(stack, &batching_class, target_loop);
		expect(gyre_sleep(stack, 0, turn) == 0);
	}
	if (gyre_future_error(turn) == -EINPROGRESS) {
		return gyre_suspend_any(stack, 1);
	}
	while (*script != 0) {
		size_t bytes = strcspn(script, " ");
		bool waits = *script == '/';

		if (waits) {
			expect(gyre_sleep(stack, 0, turn) == 0);
		} else if (*script == '?' && !trace_answers(stack)) {
			return gyre_suspend_any(stack, 1);
		} else if (*script != '?') {
			do_word(stack, bytes);
		}
		script += bytes;
		script += strspn(script, " ");
		if (waits) {
			return gyre_suspend_any(stack, 1);
		}
	}
	return fixture_end(stack);
}

void play_script(uint32_t run_budget, const char *words)
{
	const struct gyre_system_options options = { .loops = target_loop + 1,
						     .run_budget = run_budget };

	script = words;
	play_with(&options, follow_script);
}

void play_late_script(const char *words)
{
	script = words;
	batching_class.mount = wait_mount;
	play_steady(follow_script);
}
