/* What a supervisor hears, which the test is. */
#include "fixture.h"

#include <errno.h>
#include <gyre/handover.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char name[64];
static int supervisor;

static void begin(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int bytes = snprintf(name, sizeof(name), "@gyre-supervisor-%d", (int)getpid());

	memcpy(address.sun_path + 1, name + 1, (size_t)bytes - 1);
	supervisor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(supervisor, (struct sockaddr *)&address,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)bytes)),
		     0);
	cr_assert_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
}

static void end(void)
{
	(void)close(supervisor);
}

TestSuite(supervisor, .init = begin, .fini = end, .timeout = 60);

static void expect_heard(const char *text)
{
	char heard[128] = { 0 };

	cr_expect_gt(recv(supervisor, heard, sizeof(heard) - 1, MSG_DONTWAIT), 0, "not %s", text);
	cr_expect_str_eq(heard, text);
}

static void expect_silence(void)
{
	char heard[128] = { 0 };

	cr_expect_eq(recv(supervisor, heard, sizeof(heard) - 1, MSG_DONTWAIT), -1, "%s", heard);
	cr_expect_eq(errno, EAGAIN);
}

Test(supervisor, hears_when_a_system_serves_and_when_it_stops)
{
	const struct gyre_system_options options = { .loops = 2, .notify_supervisor = true };

	fixture_open_with(&options);
	expect_silence();
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	expect_heard("READY=1");
	expect_silence();
	fixture_close();
	expect_heard("STOPPING=1");
	expect_silence();
}

Test(supervisor, hears_nothing_of_a_system_that_was_not_asked_to_tell_it)
{
	const struct gyre_system_options options = { .loops = 1 };

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fixture_close();
	expect_silence();
}

Test(supervisor, hears_no_readiness_of_a_system_that_never_ran)
{
	const struct gyre_system_options options = { .loops = 1, .notify_supervisor = true };

	fixture_open_with(&options);
	fixture_close();
	expect_heard("STOPPING=1");
	expect_silence();
}

Test(supervisor, need_not_be_there)
{
	const struct gyre_system_options options = { .loops = 1, .notify_supervisor = true };

	cr_assert_eq(unsetenv("NOTIFY_SOCKET"), 0);
	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fixture_close();
	cr_expect_eq(fixture.warnings, 0);
}

Test(supervisor, that_has_gone_is_a_warning_and_nothing_else)
{
	const struct gyre_system_options options = { .loops = 1, .notify_supervisor = true };

	cr_assert_eq(setenv("NOTIFY_SOCKET", "/no/such/socket", 1), 0);
	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_expect_eq(fixture.warnings, 1);
	cr_expect_not_null(strstr(fixture.line, "NOTIFY_SOCKET"), "%s", fixture.line);
	fixture_close();
}

static uint32_t errors;

static void hear(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	errors += line->level == GYRE_LOG_ERROR && strstr(line->text, "NOTIFY_SOCKET") != NULL;
}

Test(supervisor, is_at_a_path_or_an_abstract_name)
{
	struct gyre_system_options options = { .loops = 1, .notify_supervisor = true };
	static char name_too_long[200];

	memset(name_too_long, 'x', sizeof(name_too_long) - 1);
	name_too_long[0] = '/';
	options.log = hear;
	cr_assert_eq(setenv("NOTIFY_SOCKET", "vsock:2:1234", 1), 0);
	cr_expect_eq(gyre_system_create(&options, &fixture.system), -EINVAL);
	cr_assert_eq(setenv("NOTIFY_SOCKET", name_too_long, 1), 0);
	cr_expect_eq(gyre_system_create(&options, &fixture.system), -ENAMETOOLONG);
	cr_expect_eq(errors, 2, "each is explained");
}

Test(supervisor, hears_of_the_process_that_has_taken_over_and_of_no_stop_before)
{
	struct gyre_system_options options = { .loops = 1, .notify_supervisor = true };
	struct gyre_system *successor;
	char at[80];
	char ready[64];

	(void)snprintf(at, sizeof(at), "unix:%s-handover", name);
	(void)snprintf(ready, sizeof(ready), "READY=1\nMAINPID=%d", (int)getpid());
	options.handover = at;
	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	cr_assert_eq(gyre_system_start(successor), 0);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	expect_heard("READY=1");
	expect_heard(ready);
	expect_silence();
	gyre_system_destroy(successor);
	expect_heard("STOPPING=1");
	fixture_close();
	expect_silence();
}
