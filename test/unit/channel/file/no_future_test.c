/* Calls that are awaited, and are given nothing to await them by. */
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <gyre/descriptor.h>
#include <gyre/file.h>
#include <gyre/signal.h>

static int call_without_a_future(struct gyre_stack *stack)
{
	static char byte;
	const struct gyre_file_part part = { .memory = &byte, .bytes = 1 };
	struct gyre_buffer *data = gyre_buffer_create(stack);
	struct gyre_file *file = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	expect(gyre_file_adopt(stack, fd, &file) == 0);
	expect(gyre_file_open(stack, "/proc/self/exe", NULL, 0, NULL) == -EINVAL);
	expect(gyre_file_open(stack, NULL, NULL, 0, NULL) == -EINVAL);
	expect(gyre_file_read(stack, file, &part, 0, NULL) == -EINVAL);
	expect(gyre_buffer_append(data, &byte, 1) == 0);
	expect(gyre_file_write(stack, file, 0, data, 0, NULL) == -EINVAL);
	expect(gyre_file_write_memory(stack, file, &part, 0, NULL) == -EINVAL);
	expect(gyre_file_sync(stack, file, false, 0, NULL) == -EINVAL);
	expect(gyre_file_stat(stack, file, 0, NULL) == -EINVAL);
	expect(gyre_file_truncate(stack, file, 0, 0, NULL) == -EINVAL);
	expect(gyre_descriptor_wait(stack, fd, POLLIN, 0, NULL) == -EINVAL);
	expect(gyre_descriptor_wait(stack, -1, POLLIN, 0, NULL) == -EINVAL);
	expect(gyre_signal_watch(stack, SIGUSR1, NULL) == -EINVAL);
	expect(gyre_signal_watch(stack, SIGKILL, NULL) == -EINVAL);
	expect(gyre_sleep(stack, 1, NULL) == -EINVAL);
	gyre_file_close(file);
	return fixture_end(stack);
}

Test(no_future, is_refused_by_each_call_that_is_awaited)
{
	play(1, call_without_a_future);
}
