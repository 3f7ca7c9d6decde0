/*
 * Batches: entries that arrive together share one write to the journal.
 *
 * The journal is standard output. All entries that wait when its turn comes, up to 64, reach its
 * handler in one stack, so that one write serves them all. Databases call this group commit. The
 * main actor sends a hundred entries at once, and counts the writes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { ENTRIES = 100 };

struct kept {
	uint32_t write; /* after which the entry was kept */
};
GYRE_MESSAGE(kept, 0x100);

struct entry {
	uint32_t number;
};
GYRE_REQUEST(entry, 0x101, kept);

struct journal {
	uint32_t writes;
};

static bool is_entry(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(entry);
}

static int keep(struct gyre_stack *stack)
{
	struct journal *journal = gyre_state(stack);
	uint32_t count = gyre_batch_count(stack);

	for (uint32_t i = 0; i < count; i++) {
		printf("%" PRIu32 "%c", gyre_batch_get(stack, i, entry)->number,
		       i + 1 < count ? ' ' : '\n');
	}
	if (fflush(stdout) != 0) {
		return gyre_throw(stack, -errno); /* which all of them get */
	}
	return gyre_batch_reply_all_to(stack, entry, ++journal->writes);
}

static const struct gyre_class journal_class = {
	.name = "journal",
	.state_bytes = sizeof(struct journal),
	.behaviour.ask_batch = keep,
	.batch_asks = is_entry,
};

struct frame {
	struct gyre_future kept[ENTRIES];
	struct gyre_address journal;
};

static int ask_all(struct gyre_stack *stack, struct frame *frame)
{
	int r = 0;

	for (uint32_t i = 0; i < ENTRIES && r == 0; i++) {
		r = gyre_ask(stack, frame->journal, gyre_new(stack, entry, i), 0, &frame->kept[i]);
	}
	return r;
}

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	const struct kept *last;

	GYRE_BEGIN(stack);
	if (gyre_spawn(stack, &journal_class, GYRE_NO_ARGUMENT, NULL, &frame->journal) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	GYRE_AWAIT(stack, ask_all(stack, frame));
	last = gyre_future_answer_to(&frame->kept[ENTRIES - 1], entry);
	if (last == NULL) {
		return gyre_throw(stack, gyre_future_error(&frame->kept[ENTRIES - 1]));
	}
	printf("%d entries were kept by %" PRIu32 " writes\n", ENTRIES, last->write);
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
