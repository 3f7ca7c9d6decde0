/*
 * Embedding: a program that polls for itself has actors too, on its own thread.
 *
 * It waits by poll(2) for lines of its standard input and for the system, whichever comes first.
 * Each line is a question to an actor, whose answer is heard on this same thread: no lock is
 * needed. At the end of the input the system is stopped, and turned until that is done.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gyre/gyre.h>

struct length {
	size_t bytes;
};
GYRE_MESSAGE(length, 0x100);

struct line {
	char text[256];
};
GYRE_REQUEST(line, 0x101, length);

/* What was read; a longer line comes in pieces. */
struct input {
	char text[255];
	size_t bytes;
};

static int measure(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, line, strlen(gyre_message(stack, line)->text));
}

static const struct gyre_class measurer_class = { .name = "measurer", .behaviour.ask = measure };

static void hear(struct gyre_mail *answer, int error, void *arg)
{
	(void)arg;
	if (error == 0) {
		printf("%zu bytes\n", gyre_mail_answer_to(answer, line)->bytes);
	} else {
		printf("no answer: %s\n", strerror(-error));
	}
}

static int ask(struct gyre_system *system, struct gyre_address measurer, const char *text,
	       size_t bytes)
{
	struct gyre_mail *mail = gyre_system_new(system, line, "");

	if (mail != NULL) {
		memcpy(((struct line *)gyre_payload(mail))->text, text, bytes);
	}
	return gyre_system_ask_callback(system, measurer, mail, 0, hear, NULL);
}

/* Does not wait. Returns 0, or a negative errno; -ENODATA at the end of the input. */
static int read_lines(struct gyre_system *system, struct gyre_address measurer, struct input *input)
{
	size_t space = sizeof(input->text) - input->bytes;
	ssize_t count = read(STDIN_FILENO, input->text + input->bytes, space);
	int r = count < 0 && errno != EINTR ? -errno : 0;

	input->bytes += count > 0 ? (size_t)count : 0;
	while (r == 0 && input->bytes > 0) {
		const char *end = memchr(input->text, '\n', input->bytes);
		size_t bytes = end != NULL ? (size_t)(end + 1 - input->text) : input->bytes;

		if (end == NULL && count != 0 && bytes < sizeof(input->text)) {
			break; /* the rest of the line comes later */
		}
		r = ask(system, measurer, input->text, bytes);
		input->bytes -= bytes;
		memmove(input->text, input->text + bytes, input->bytes);
	}
	return r == 0 && count == 0 ? -ENODATA : r;
}

/* The program's loop, which is its own business. */
static int poll_all(struct gyre_system *system, struct gyre_address measurer)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = gyre_system_descriptor(system), .events = POLLIN } };
	struct input input = { .bytes = 0 };
	int r = 0;

	while (r >= 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR) {
			return -errno;
		}
		if (fds[0].revents != 0 && read_lines(system, measurer, &input) < 0) {
			gyre_system_stop(system);
			fds[0].fd = -1;
		}
		if (fds[1].revents != 0) {
			r = gyre_system_turn(system, 0);
		}
	}
	return r == -ESHUTDOWN ? 0 : r;
}

int main(void)
{
	const struct gyre_system_options options = { .loops = 1, .embedded = true };
	struct gyre_address measurer;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	r = r < 0 ? r
		  : gyre_system_spawn(system, &measurer_class, GYRE_NO_ARGUMENT, NULL, &measurer);
	r = r < 0 ? r : gyre_system_start(system);
	r = r < 0 ? r : poll_all(system, measurer);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
