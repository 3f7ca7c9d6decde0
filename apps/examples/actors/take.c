/*
 * Taking: an answer is kept as the mail that it came in, and outlives the actor that gave it.
 *
 * A page has as many letters as it needs, so no struct has room for it. The reader takes the mail
 * of the answer, which copies nothing, and has it moved to the heap, where it may stay until the
 * reader ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct page {
	uint32_t bytes;
	char text[];
};
GYRE_MESSAGE_TAIL(page, 0x100, text, bytes);

struct page_of {
	uint32_t number;
};
GYRE_REQUEST(page_of, 0x101, page);

static const char words[] = "call me Ishmael";

static int read_page(struct gyre_stack *stack)
{
	if (gyre_message(stack, page_of)->number != 1) {
		return gyre_throw(stack, -ENOENT);
	}
	return gyre_reply(stack,
			  gyre_tail_fill(page, gyre_new_tail(stack, page, strlen(words)), words));
}

static const struct gyre_class book_class = { .name = "book", .behaviour.ask = read_page };

struct reader {
	struct gyre_mail *page;
};

static void close_reader(void *state)
{
	gyre_mail_destroy(NULL, ((struct reader *)state)->page);
}

struct frame {
	struct gyre_future future;
	struct gyre_address book;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);
	struct reader *reader = gyre_state(stack);
	const struct page *page;

	GYRE_BEGIN(stack);
	if (gyre_spawn(stack, &book_class, GYRE_NO_ARGUMENT, NULL, &frame->book) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	GYRE_AWAIT(stack, gyre_ask(stack, frame->book, gyre_new(stack, page_of, .number = 1), 0,
				   &frame->future));
	if (gyre_future_failed(&frame->future)) {
		return gyre_throw(stack, gyre_future_error(&frame->future));
	}
	reader->page = gyre_mail_keep(stack, gyre_future_take(&frame->future));
	if (reader->page == NULL) {
		return gyre_throw(stack, -ENOMEM);
	}
	printf("taken, %s\n", gyre_future_take(&frame->future) == NULL ? "once" : "twice");
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->book, GYRE_SECONDS(10), &frame->future));
	page = gyre_mail_get(reader->page, page);
	printf("the book is gone, its page says: %.*s\n", (int)page->bytes, page->text);
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .state_bytes = sizeof(struct reader),
					      .frame_bytes = sizeof(struct frame),
					      .mount = run,
					      .clean = close_reader };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
