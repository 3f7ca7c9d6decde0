/*
 * What is in files: the bytes that are read, the bytes that are on the disk, and the writes that
 * are the difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"

enum { BLOCK_BYTES = 4096, WRITES_MAX = 256 };

/* A write that is not synced, or a change of the size. */
struct write {
	struct gy_list of_inode;
	bool is_size;
	uint64_t offset; /* or the size */
	size_t count;
	unsigned char bytes[];
};

/* ---- bytes ---- */

static void set_size(struct gy_sim_content *content, uint64_t bytes)
{
	if (bytes < content->bytes) {
		memset(content->memory + bytes, 0, (size_t)(content->bytes - bytes));
	} else if (bytes > content->bytes) {
		gy_sim_grow((void **)&content->memory, &content->blocks,
			    (uint32_t)((bytes + BLOCK_BYTES - 1) / BLOCK_BYTES), BLOCK_BYTES);
	}
	content->bytes = bytes;
}

static void put_bytes(struct gy_sim_content *content, uint64_t offset, const void *bytes,
		      size_t count)
{
	if (count == 0) {
		return;
	}
	if (offset + count > content->bytes) {
		set_size(content, offset + count);
	}
	memcpy(content->memory + offset, bytes, count);
}

static void copy(struct gy_sim_content *to, const struct gy_sim_content *from)
{
	set_size(to, 0);
	put_bytes(to, 0, from->memory, (size_t)from->bytes);
}

/* ---- writes ---- */

static struct write *first_write(const struct gy_sim_inode *inode)
{
	return gy_container_of(inode->writes.next, struct write, of_inode);
}

static void drop(struct gy_sim_inode *inode, struct write *write)
{
	inode->writes_count--;
	gy_list_remove(&write->of_inode);
	gy_sim_put(write);
}

/* The oldest write has got to the disk; of its bytes the first @count. */
static void apply_first(struct gy_sim_inode *inode, size_t count)
{
	struct write *write = first_write(inode);

	if (write->is_size) {
		set_size(&inode->synced, write->offset);
	} else {
		put_bytes(&inode->synced, write->offset, write->bytes, count);
	}
	drop(inode, write);
}

static void add(struct gy_sim_inode *inode, bool is_size, uint64_t offset, const void *bytes,
		size_t count)
{
	struct write *write = (struct write *)gy_sim_get(sizeof(*write) + count);

	write->is_size = is_size;
	write->offset = offset;
	write->count = count;
	if (count > 0) {
		memcpy(write->bytes, bytes, count);
	}
	gy_list_append(&inode->writes, &write->of_inode);
	inode->changed_ns = gy_sim_host_date(inode->disk->host);
	if (++inode->writes_count > WRITES_MAX) {
		apply_first(inode, first_write(inode)->count);
	}
}

size_t gy_sim_inode_read(const struct gy_sim_inode *inode, uint64_t offset, void *memory,
			 size_t bytes)
{
	size_t count = 0;

	if (offset < inode->now.bytes) {
		uint64_t left = inode->now.bytes - offset;

		count = bytes < left ? bytes : (size_t)left;
	}
	if (count > 0) {
		memcpy(memory, inode->now.memory + offset, count);
	}
	return count;
}

static uint64_t add_bounded(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static uint64_t room_on(const struct gy_sim_disk *disk)
{
	uint64_t most = add_bounded(disk->options.capacity_bytes, GY_SIM_PROGRAM_BYTES);

	return disk->used < most ? most - disk->used : 0;
}

/* How large a file can get that is to have @bytes. What was removed takes room until that is on the
 * disk, so where room is lacking it gets there now. */
static uint64_t size_max(const struct gy_sim_inode *inode, uint64_t bytes)
{
	struct gy_sim_disk *disk = inode->disk;

	if (bytes > inode->now.bytes && bytes - inode->now.bytes > room_on(disk)) {
		gy_sim_names_sync_all(disk);
	}
	return add_bounded(inode->now.bytes, room_on(disk));
}

int64_t gy_sim_inode_write(struct gy_sim_inode *inode, uint64_t offset, const void *bytes,
			   size_t count)
{
	uint64_t end = size_max(inode, offset + count);
	uint64_t before = inode->now.bytes;

	if (count == 0) {
		return 0;
	}
	if (offset >= end) {
		return -ENOSPC;
	}
	count = count < end - offset ? count : (size_t)(end - offset);
	put_bytes(&inode->now, offset, bytes, count);
	inode->disk->used += inode->now.bytes - before;
	add(inode, false, offset, bytes, count);
	return (int64_t)count;
}

int gy_sim_inode_resize(struct gy_sim_inode *inode, uint64_t bytes)
{
	if (bytes == inode->now.bytes) {
		return 0;
	}
	if (bytes > size_max(inode, bytes)) {
		return -ENOSPC;
	}
	inode->disk->used = inode->disk->used - inode->now.bytes + bytes;
	set_size(&inode->now, bytes);
	add(inode, true, bytes, NULL, 0);
	return 0;
}

void gy_sim_content_sync(struct gy_sim_inode *inode)
{
	while (!gy_list_empty(&inode->writes)) {
		apply_first(inode, first_write(inode)->count);
	}
}

void gy_sim_content_forget(struct gy_sim_inode *inode)
{
	while (!gy_list_empty(&inode->writes)) {
		drop(inode, first_write(inode));
	}
}

/* ---- crashes ---- */

/* How many bytes of a write are before a border between sectors, which is drawn; 0 where it has
 * none. */
static size_t tear(struct gyre_sim *sim, const struct write *write)
{
	uint64_t first = write->offset / GY_SIM_SECTOR_BYTES + 1;
	uint64_t last = (write->offset + write->count - 1) / GY_SIM_SECTOR_BYTES;

	if (last < first) {
		return 0;
	}
	first += gy_sim_choose(sim, (uint32_t)(last - first + 1));
	return (size_t)(first * GY_SIM_SECTOR_BYTES - write->offset);
}

static void crash_first(struct gy_sim_inode *inode)
{
	enum { KEPT, LOST, TORN, WAYS };
	const struct gy_sim_host *host = inode->disk->host;
	struct gyre_sim *sim = host->sim;
	struct write *write = first_write(inode);
	uint32_t way = gy_sim_choose(sim, write->is_size ? TORN : WAYS);
	size_t count = way == KEPT ? write->count : 0;

	if (way == TORN) {
		count = tear(sim, write);
	}
	if (way != KEPT) {
		gy_sim_trace(sim, host,
			     "loses what was written to inode %" PRIu64 " at %" PRIu64
			     ", but %zu bytes of %zu",
			     inode->number, write->offset, count, write->count);
	}
	if (way == KEPT || count > 0) {
		apply_first(inode, count);
	} else {
		drop(inode, write);
	}
}

void gy_sim_content_crash(struct gy_sim_inode *inode)
{
	while (!gy_list_empty(&inode->writes)) {
		crash_first(inode);
	}
	copy(&inode->now, &inode->synced);
}

void gy_sim_content_fini(struct gy_sim_inode *inode)
{
	gy_sim_content_forget(inode);
	inode->disk->used -= inode->now.bytes;
	gy_sim_put(inode->now.memory);
	gy_sim_put(inode->synced.memory);
}
