/*
 * Tails: lines of text, each in one mail of the size that it needs.
 *
 * The words of each line go to a counter, which answers with a table that is as long as its longest
 * word: how many words there were of each length.
 */
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct lengths {
	uint32_t count;
	uint32_t words[]; /* by their length */
};
GYRE_MESSAGE_TAIL(lengths, 0x100, words, count);

struct line {
	uint32_t bytes;
	char text[];
};
GYRE_REQUEST_TAIL(line, 0x101, lengths, text, bytes);

static uint32_t word_bytes(const struct line *line, uint32_t at)
{
	const char *end = memchr(line->text + at, ' ', line->bytes - at);

	return end == NULL ? line->bytes - at : (uint32_t)(end - line->text) - at;
}

static int count(struct gyre_stack *stack)
{
	const struct line *line = gyre_message(stack, line);
	/* No word is longer than the line. What is made for more elements may be sent with fewer.
	 */
	struct gyre_mail *mail = gyre_new_tail(stack, lengths, line->bytes + 1);
	struct lengths *lengths = mail == NULL ? NULL : gyre_payload(mail);

	if (lengths != NULL) {
		memset(lengths->words, 0, lengths->count * sizeof(lengths->words[0]));
		lengths->count = 0;
		for (uint32_t at = 0; at < line->bytes; at += word_bytes(line, at) + 1) {
			const uint32_t bytes = word_bytes(line, at);

			lengths->words[bytes]++;
			lengths->count = bytes >= lengths->count ? bytes + 1 : lengths->count;
		}
	}
	return gyre_reply(stack, mail); /* which says -ENOMEM for NULL */
}

static const struct gyre_class counter_class = { .name = "counter", .behaviour.ask = count };

struct frame {
	struct gyre_future future;
	struct gyre_address counter;
	uint32_t number;
};

static const char *const lines[] = { "the quick brown fox jumps over the lazy dog", "", "otters" };

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	const struct lengths *lengths;
	struct gyre_mail *mail;

	GYRE_BEGIN(stack);
	if (gyre_spawn(stack, &counter_class, GYRE_NO_ARGUMENT, NULL, &frame->counter) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	for (; frame->number < sizeof(lines) / sizeof(lines[0]); frame->number++) {
		mail = gyre_new_tail(stack, line, strlen(lines[frame->number]));
		mail = gyre_tail_fill(line, mail, lines[frame->number]);
		GYRE_AWAIT(stack, gyre_ask(stack, frame->counter, mail, 0, &frame->future));
		lengths = gyre_future_answer_to(&frame->future, line);
		if (lengths == NULL) {
			return gyre_throw(stack, gyre_future_error(&frame->future));
		}
		printf("line %u:", frame->number);
		for (uint32_t i = 0; i < lengths->count; i++) {
			printf(" %u", lengths->words[i]);
		}
		printf("\n");
	}
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
