/*
 * The descriptors of a host, by their numbers: the lowest that is free is taken, as POSIX has it.
 * They stand in pages, as most programs have few, and gyre now and then takes the highest one.
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

/* NULL: it is free. */
static struct gy_sim_slot *find(const struct gy_sim_host *host, uint32_t fd)
{
	struct gy_sim_slot *page =
		fd < GY_SIM_DESCRIPTORS_MAX ? host->slots[fd / GY_SIM_SLOTS_OF_PAGE] : NULL;

	return page == NULL || page[fd % GY_SIM_SLOTS_OF_PAGE].file == NULL
		       ? NULL
		       : &page[fd % GY_SIM_SLOTS_OF_PAGE];
}

static void take(struct gy_sim_host *host, uint32_t fd, struct gy_sim_file *file)
{
	struct gy_sim_slot **page = &host->slots[fd / GY_SIM_SLOTS_OF_PAGE];

	gy_assert(fd < GY_SIM_DESCRIPTORS_MAX);
	if (*page == NULL) {
		*page = (struct gy_sim_slot *)gy_sim_get(GY_SIM_SLOTS_OF_PAGE * sizeof(**page));
	}
	(*page)[fd % GY_SIM_SLOTS_OF_PAGE] = (struct gy_sim_slot){ .file = file };
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
	for (int fd = 0; (fd = gy_sim_table_next(host, (uint32_t)fd)) >= 0; fd++) {
		drop(find(host, (uint32_t)fd));
	}
	for (uint32_t page = 0; page < GY_SIM_SLOT_PAGES; page++) {
		gy_sim_put(host->slots[page]);
		host->slots[page] = NULL;
	}
}

int gy_sim_table_next(const struct gy_sim_host *host, uint32_t from)
{
	uint32_t fd = from;

	while (fd < GY_SIM_DESCRIPTORS_MAX) {
		if (host->slots[fd / GY_SIM_SLOTS_OF_PAGE] == NULL) {
			fd = (fd / GY_SIM_SLOTS_OF_PAGE + 1) * GY_SIM_SLOTS_OF_PAGE;
		} else if (find(host, fd) != NULL) {
			return (int)fd;
		} else {
			fd++;
		}
	}
	return -1;
}

uint32_t gy_sim_table_count(const struct gy_sim_host *host)
{
	uint32_t count = 0;

	for (int fd = STDERR_FILENO + 1; (fd = gy_sim_table_next(host, (uint32_t)fd)) >= 0; fd++) {
		count++;
	}
	return count;
}

struct gy_sim_slot *gy_sim_slot_at(int fd)
{
	struct gy_sim_host *host = gy_sim_host_here();

	if (host != NULL) {
		gy_sim_net_deliver(host->sim);
	}
	return host == NULL || fd < 0 ? NULL : find(host, (uint32_t)fd);
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
	while (find(host, fd) != NULL) {
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
