/*
 * The descriptors of a host, by their numbers: the lowest that is free is taken, as POSIX has it.
 * The first three are a console. What a host writes there goes to the trace, or to the program's
 * standard error where there is no trace.
 */
#include "sim/descriptor/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

/* ---- the console ---- */

static uint32_t console_events(const struct gy_sim_file *file)
{
	(void)file;
	return EPOLLOUT;
}

/* The end of what is read, at once: nobody types. */
static int64_t console_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			    uint64_t offset)
{
	(void)file;
	(void)slices;
	(void)count;
	(void)offset;
	return 0;
}

static void print_lines(struct gy_sim_host *host, const char *text, size_t bytes)
{
	size_t from = 0;

	for (size_t i = 0; i <= bytes; i++) {
		if (i == bytes || text[i] == '\n') {
			if (i > from) {
				gy_sim_trace(host->sim, host, "prints: %.*s", (int)(i - from),
					     text + from);
			}
			from = i + 1;
		}
	}
}

static int64_t console_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			     uint64_t offset)
{
	size_t bytes = gy_sim_slices_bytes(slices, count);
	char *text = (char *)gy_sim_get(bytes + 1);

	(void)offset;
	(void)gy_sim_gather(slices, count, 0, text, bytes);
	print_lines(file->host, text, bytes);
	if (file->host->sim->trace == NULL) {
		(void)!__real_write(STDERR_FILENO, text, bytes);
	}
	gy_sim_put(text);
	return (int64_t)bytes;
}

static void console_close(struct gy_sim_file *file)
{
	gy_sim_put(file);
}

static const struct gy_sim_file_ops console_ops = {
	.name = "console",
	.type = S_IFCHR,
	.events = console_events,
	.read = console_read,
	.write = console_write,
	.close = console_close,
};

/* ---- the table ---- */

static void take(struct gy_sim_host *host, uint32_t fd, struct gy_sim_file *file)
{
	gy_sim_grow((void **)&host->slots, &host->slots_room, fd + 1, sizeof(*host->slots));
	host->slots[fd] = (struct gy_sim_slot){ .file = file };
	gy_sim_file_ref(file);
}

void gy_sim_table_init(struct gy_sim_host *host)
{
	struct gy_sim_file *console = (struct gy_sim_file *)gy_sim_get(sizeof(*console));

	gy_sim_file_init(console, &console_ops, host, O_RDWR);
	for (uint32_t fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		take(host, fd, console);
	}
}

static void drop(struct gy_sim_slot *slot)
{
	struct gy_sim_file *file = slot->file;

	*slot = (struct gy_sim_slot){ 0 };
	gy_sim_file_unref(file);
}

void gy_sim_table_fini(struct gy_sim_host *host)
{
	for (uint32_t fd = 0; fd < host->slots_room; fd++) {
		if (host->slots[fd].file != NULL) {
			drop(&host->slots[fd]);
		}
	}
	gy_sim_put(host->slots);
	host->slots = NULL;
	host->slots_room = 0;
}

uint32_t gy_sim_table_count(const struct gy_sim_host *host)
{
	uint32_t count = 0;

	for (uint32_t fd = STDERR_FILENO + 1; fd < host->slots_room; fd++) {
		count += host->slots[fd].file != NULL;
	}
	return count;
}

struct gy_sim_slot *gy_sim_slot_at(int fd)
{
	struct gy_sim_host *host = gy_sim_host_here();

	if (host != NULL) {
		gy_sim_net_deliver(host->sim);
	}
	return host == NULL || fd < 0 || (uint32_t)fd >= host->slots_room ||
			       host->slots[fd].file == NULL
		       ? NULL
		       : &host->slots[fd];
}

struct gy_sim_file *gy_sim_file_at(int fd)
{
	struct gy_sim_slot *slot = gy_sim_slot_at(fd);

	return slot == NULL ? NULL : slot->file;
}

int gy_sim_file_install(struct gy_sim_file *file, int least)
{
	struct gy_sim_host *host = file->host;
	uint32_t fd = (uint32_t)least;

	gy_assert(least >= 0);
	while (fd < host->slots_room && host->slots[fd].file != NULL) {
		fd++;
	}
	if (fd >= host->descriptors_max || gy_sim_refuses("a descriptor")) {
		return -EMFILE;
	}
	take(host, fd, file);
	return (int)fd;
}

int gy_sim_file_install_flags(struct gy_sim_file *file, int flags)
{
	int fd = gy_sim_file_install_new(file);

	if (fd >= 0) {
		gy_sim_slot_at(fd)->close_on_exec = (flags & O_CLOEXEC) != 0;
	}
	return fd;
}

int gy_sim_file_install_new(struct gy_sim_file *file)
{
	int fd;

	gy_sim_file_ref(file);
	fd = gy_sim_file_install(file, 0);
	gy_sim_file_unref(file);
	return fd;
}

int gy_sim_file_install_at(struct gy_sim_file *file, int fd)
{
	struct gy_sim_slot *slot = gy_sim_slot_at(fd);

	if (fd < 0 || (uint32_t)fd >= file->host->descriptors_max) {
		return -EBADF;
	}
	gy_sim_file_ref(file);
	if (slot != NULL) {
		drop(slot);
	}
	take(file->host, (uint32_t)fd, file);
	gy_sim_file_unref(file);
	return fd;
}

int gy_sim_descriptor_close(int fd)
{
	struct gy_sim_slot *slot = gy_sim_slot_at(fd);

	if (slot == NULL) {
		return -EBADF;
	}
	drop(slot);
	return 0;
}
