/*
 * Tests of step 5: each plays a few clients on the chat's own pipeline, in virtual time.
 *
 * The step is included with its main() renamed, so what is tested is what runs. A failure prints
 * its place and what came, and ends the program by abort().
 */
int chat_main(int argc, char **argv);
#define main chat_main
/* NOLINTNEXTLINE(bugprone-suspicious-include): the whole of it is wanted */
#include "step5.c"
#undef main

#include <gyre/test_channel.h>

/* ---- the chat of a test ---- */

struct chat {
	struct gyre_test *test;
	struct gyre_address announcers;
};

static void open_chat(struct chat *chat, struct gyre_test *test)
{
	const struct gyre_group_options by_room = { .routing = GYRE_ROUTING_BY_KEY,
						    .key = key_of_room };
	int r = gyre_system_group_spawn(gyre_test_system(test), &announcer_class, GYRE_NO_ARGUMENT,
					&by_room, &chat->announcers);

	chat->test = test;
	gyre_test_check(test, r == 0);
}

/* Reads a line without its end, of at most LINE_BYTES_MAX bytes; false when none comes in a second.
 */
static bool read_line_of(struct gyre_test_channel *client, char *ret_line)
{
	size_t bytes = 0;

	while (bytes < LINE_BYTES_MAX &&
	       gyre_test_channel_read(client, ret_line + bytes, 1, GYRE_SECONDS(1)) == 1) {
		if (ret_line[bytes] == '\n') {
			ret_line[bytes] = 0;
			return true;
		}
		bytes++;
	}
	return false;
}

/* A client, which has been greeted. */
static struct gyre_test_channel *enter(struct chat *chat)
{
	const struct gyre_acceptor_options acceptor = {
		.init_channel = init_connection,
		.init_arg = &chat->announcers,
		.actor_class = &session_class,
		.channel = { .manual_read = true, .allow_half_close = true },
	};
	struct gyre_test_channel *client = gyre_test_channel_open(chat->test, &acceptor);
	char line[LINE_BYTES_MAX];

	gyre_test_check(chat->test, read_line_of(client, line));
	gyre_test_check(chat->test, strncmp(line, "* you are guest", 15) == 0);
	return client;
}

/* ---- the tests ---- */

static void passes_lines_on(struct gyre_test *test, void *arg)
{
	struct chat chat;
	struct gyre_test_channel *ann;
	struct gyre_test_channel *bob;

	(void)arg;
	open_chat(&chat, test);
	ann = enter(&chat);
	gyre_test_channel_write_text(ann, "hello?\n/name ann\n/join lobby\n");
	gyre_test_channel_expect_text(
		ann, "* you are in no room: /join one\n* you are ann\n* you are in lobby\n");
	bob = enter(&chat);
	gyre_test_channel_write_text(bob, "/name ann\n/join lobby\n/name bob\n/join lobby\n");
	gyre_test_channel_expect_text(
		bob, "* you are ann\n* that name is taken\n* you are bob\n* you are in lobby\n");
	gyre_test_channel_expect_text(ann, "* bob has joined lobby\n");
	gyre_test_channel_write_text(ann, "hello, bob\n");
	gyre_test_channel_expect_text(bob, "<ann> hello, bob\n");
	gyre_test_channel_expect_none(ann, GYRE_SECONDS(1));
}

static void tells_who_leaves(struct gyre_test *test, void *arg)
{
	struct chat chat;
	struct gyre_test_channel *ann;
	struct gyre_test_channel *bob;

	(void)arg;
	open_chat(&chat, test);
	ann = enter(&chat);
	bob = enter(&chat);
	gyre_test_channel_write_text(ann, "/name ann\n/join lobby\n");
	gyre_test_channel_expect_text(ann, "* you are ann\n* you are in lobby\n");
	gyre_test_channel_write_text(bob, "/name bob\n/join lobby\n/quit\n");
	gyre_test_channel_expect_text(bob, "* you are bob\n* you are in lobby\n* goodbye\n");
	gyre_test_channel_expect_end(bob, GYRE_SECONDS(1));
	gyre_test_channel_close(bob);
	gyre_test_channel_expect_text(ann, "* bob has joined lobby\n* bob has left lobby\n");
	bob = enter(&chat);
	gyre_test_channel_write_text(bob, "/name bob\n/join lobby\n");
	gyre_test_channel_expect_text(bob, "* you are bob\n* you are in lobby\n");
	gyre_test_channel_reset(bob);
	gyre_test_channel_expect_text(ann, "* bob has joined lobby\n* bob has left lobby\n");
}

static void answers_what_came_before_the_end(struct gyre_test *test, void *arg)
{
	struct chat chat;
	struct gyre_test_channel *pipe;

	(void)arg;
	open_chat(&chat, test);
	pipe = enter(&chat);
	gyre_test_channel_write_text(pipe, "/name pipe\n/join lobby\nhello\n");
	gyre_test_check(test, gyre_test_channel_half_close(pipe) == 0);
	gyre_test_channel_expect_text(pipe, "* you are pipe\n* you are in lobby\n* goodbye\n");
	gyre_test_channel_expect_end(pipe, GYRE_SECONDS(1));
}

static void refuses_lines_that_are_too_long(struct gyre_test *test, void *arg)
{
	char line[2 * LINE_BYTES_MAX];
	struct gyre_test_channel *ann;
	struct chat chat;

	(void)arg;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	open_chat(&chat, test);
	ann = enter(&chat);
	gyre_test_channel_write(ann, line, sizeof(line), GYRE_SECONDS(1));
	gyre_test_channel_expect_text(ann, "* a line has at most 512 bytes\n");
	gyre_test_channel_write_text(ann, "/name ann\n");
	gyre_test_channel_expect_text(ann, "* you are ann\n");
}

/* What a client that was slow has heard: lines of others, and how many it was told it has missed.
 */
struct heard {
	uint64_t lines;
	uint64_t missed;
};

/* Reads until nothing comes for a second. */
static struct heard hear_all(struct gyre_test_channel *client)
{
	struct heard heard = { 0 };
	char line[LINE_BYTES_MAX];

	while (read_line_of(client, line)) {
		if (strncmp(line, "* you missed ", 13) == 0) {
			heard.missed += strtoull(line + 13, NULL, 10);
		} else {
			heard.lines++;
		}
	}
	return heard;
}

/* Bob reads nothing while ann talks. She is not held up, and he is told what he has missed. */
static void leaves_out_lines_for_a_slow_client(struct gyre_test *test, void *arg)
{
	enum { LINES = 20000 };
	static const char line[] = "a line that is so long that the buffers between a server and a "
				   "client which reads nothing are full after some hundred of it\n";
	struct gyre_test_channel *ann;
	struct gyre_test_channel *bob;
	struct heard heard;
	struct chat chat;

	(void)arg;
	open_chat(&chat, test);
	ann = enter(&chat);
	bob = enter(&chat);
	gyre_test_channel_write_text(ann, "/name ann\n/join lobby\n");
	gyre_test_channel_expect_text(ann, "* you are ann\n* you are in lobby\n");
	gyre_test_channel_write_text(bob, "/name bob\n/join lobby\n");
	gyre_test_channel_expect_text(bob, "* you are bob\n* you are in lobby\n");
	gyre_test_channel_expect_text(ann, "* bob has joined lobby\n");
	for (uint32_t i = 0; i < LINES; i++) {
		gyre_test_channel_write_text(ann, line);
	}
	gyre_test_channel_write_text(ann, "/quit\n");
	gyre_test_channel_expect(ann, "* goodbye\n", 10, GYRE_SECONDS(60));
	gyre_test_channel_close(ann);
	heard = hear_all(bob);
	gyre_test_check(test, heard.missed > 0);
	gyre_test_check(test, heard.lines + heard.missed == LINES + 1); /* and that she has left */
}

int main(void)
{
	static const struct {
		const char *name;
		gyre_test_fn body;
	} tests[] = {
		{ "passes lines on", passes_lines_on },
		{ "tells who leaves", tells_who_leaves },
		{ "answers what came before the end", answers_what_came_before_the_end },
		{ "refuses lines that are too long", refuses_lines_that_are_too_long },
		{ "leaves out lines for a slow client", leaves_out_lines_for_a_slow_client },
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (gyre_test_run(NULL, tests[i].body, NULL) < 0) {
			return EXIT_FAILURE;
		}
		printf("the chat %s\n", tests[i].name);
	}
	return EXIT_SUCCESS;
}
