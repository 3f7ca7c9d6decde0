/*
 * Open files of the disk, and its two devices. They never have to wait, so nobody can wait for
 * them: to epoll they are what regular files are, -EPERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"

struct disk_file {
	struct gy_sim_file file;
	struct gy_sim_inode *inode;
	uint64_t position;
	int lock; /* LOCK_SH, LOCK_EX, or 0 */
};

static struct disk_file *disk_file_of(struct gy_sim_file *file)
{
	return gy_container_of(file, struct disk_file, file);
}

/* ---- reading and writing ---- */

static int64_t file_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			 uint64_t offset)
{
	struct disk_file *of = disk_file_of(file);
	uint64_t at = offset == GY_SIM_AT_POSITION ? of->position : offset;
	size_t left = gy_sim_shorten(file->host->sim, gy_sim_slices_bytes(slices, count));
	uint64_t done = 0;

	if (gy_sim_disk_fails(of->inode->disk)) {
		return -EIO;
	}
	for (uint32_t i = 0; i < count && left > 0; i++) {
		size_t part = slices[i].iov_len < left ? slices[i].iov_len : left;

		done += gy_sim_inode_read(of->inode, at + done, slices[i].iov_base, part);
		left -= part;
	}
	if (offset == GY_SIM_AT_POSITION) {
		of->position += done;
	}
	return (int64_t)done;
}

static int64_t file_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			  uint64_t offset)
{
	struct disk_file *of = disk_file_of(file);
	size_t bytes = gy_sim_shorten(file->host->sim, gy_sim_slices_bytes(slices, count));
	uint64_t at = offset == GY_SIM_AT_POSITION ? of->position : offset;
	void *all;
	int64_t r;

	if ((file->flags & O_APPEND) != 0) {
		at = of->inode->now.bytes;
	}
	if (at > INT64_MAX - bytes) {
		return -EFBIG;
	}
	if (gy_sim_disk_fails(of->inode->disk)) {
		return -EIO;
	}
	all = gy_sim_get(bytes + 1);
	(void)gy_sim_gather(slices, count, 0, all, bytes);
	r = gy_sim_inode_write(of->inode, at, all, bytes);
	gy_sim_put(all);
	if (r > 0 && offset == GY_SIM_AT_POSITION) {
		of->position = at + (uint64_t)r;
	}
	if (r > 0 && (file->flags & O_DSYNC) != 0 && gy_sim_inode_sync(of->inode) < 0) {
		return -EIO;
	}
	return r;
}

static int64_t folder_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset)
{
	(void)file;
	(void)slices;
	(void)count;
	(void)offset;
	return -EISDIR;
}

static int64_t device_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset)
{
	enum gy_sim_device device = disk_file_of(file)->inode->device;
	size_t bytes = 0;

	(void)offset;
	if (device == GY_SIM_DEVICE_NULL) {
		return 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (device == GY_SIM_DEVICE_FULL) {
			memset(slices[i].iov_base, 0, slices[i].iov_len);
		} else {
			gy_sim_random_bytes(file->host->sim, slices[i].iov_base, slices[i].iov_len);
		}
		bytes += slices[i].iov_len;
	}
	return (int64_t)bytes;
}

static int64_t device_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			    uint64_t offset)
{
	(void)offset;
	return disk_file_of(file)->inode->device == GY_SIM_DEVICE_FULL
		       ? -ENOSPC
		       : (int64_t)gy_sim_slices_bytes(slices, count);
}

static void file_status(struct gy_sim_file *file, struct stat *ret_status)
{
	gy_sim_inode_status(disk_file_of(file)->inode, ret_status);
}

/* ---- syncing ---- */

int gy_sim_file_sync(struct gy_sim_file *file)
{
	struct gy_sim_inode *inode = gy_sim_file_inode(file);
	int r;

	if (inode == NULL || S_ISCHR(inode->mode)) {
		return -EINVAL;
	}
	gy_sim_file_ref(file);
	gy_sim_here->file = file;
	gy_sim_disk_wait(inode->disk);
	r = gy_sim_inode_sync(inode);
	gy_sim_here->file = NULL;
	gy_sim_file_unref(file);
	return r;
}

/* ---- locks ---- */

static void unlock(struct disk_file *of)
{
	struct gy_sim_inode *inode = of->inode;

	if (of->lock == LOCK_SH) {
		inode->locks--;
	} else if (of->lock == LOCK_EX) {
		inode->locked = false;
	}
	of->lock = 0;
	gy_sim_wake_all(&inode->lockers);
}

static bool try_lock(struct disk_file *of, int kind)
{
	struct gy_sim_inode *inode = of->inode;

	if (inode->locked || (kind == LOCK_EX && inode->locks > 0)) {
		return false;
	}
	inode->locked = kind == LOCK_EX;
	inode->locks += kind == LOCK_SH;
	of->lock = kind;
	return true;
}

int gy_sim_file_flock(struct gy_sim_file *file, int what)
{
	struct disk_file *of = disk_file_of(file);
	int kind = what & ~LOCK_NB;
	int r = 0;

	if (kind != LOCK_UN && kind != LOCK_SH && kind != LOCK_EX) {
		return -EINVAL;
	}
	unlock(of); /* also where it is only changed: others may come between, as in Linux */
	if (kind == LOCK_UN) {
		return 0;
	}
	gy_sim_file_ref(file);
	gy_sim_here->file = file;
	while (r == 0 && !try_lock(of, kind)) {
		if ((what & LOCK_NB) != 0) {
			r = -EAGAIN;
		} else {
			(void)gy_sim_wait(&of->inode->lockers, UINT64_MAX, "the lock of a file");
		}
	}
	gy_sim_here->file = NULL;
	gy_sim_file_unref(file);
	return r;
}

/* ---- life ---- */

static void file_close(struct gy_sim_file *file)
{
	struct disk_file *of = disk_file_of(file);

	unlock(of);
	gy_sim_inode_unref(of->inode);
	gy_sim_put(of);
}

static const struct gy_sim_file_ops file_ops = {
	.name = "file",
	.type = S_IFREG,
	.read = file_read,
	.write = file_write,
	.status = file_status,
	.close = file_close,
};

static const struct gy_sim_file_ops folder_ops = {
	.name = "folder",
	.type = S_IFDIR,
	.read = folder_read,
	.status = file_status,
	.close = file_close,
};

static const struct gy_sim_file_ops device_ops = {
	.name = "device",
	.type = S_IFCHR,
	.read = device_read,
	.write = device_write,
	.status = file_status,
	.close = file_close,
};

static bool is_of_disk(const struct gy_sim_file *file)
{
	return file->ops == &file_ops || file->ops == &folder_ops || file->ops == &device_ops;
}

struct gy_sim_inode *gy_sim_file_inode(const struct gy_sim_file *file)
{
	return is_of_disk(file) ? gy_container_of(file, const struct disk_file, file)->inode : NULL;
}

uint64_t *gy_sim_file_position(struct gy_sim_file *file)
{
	gy_assert(is_of_disk(file));
	return &disk_file_of(file)->position;
}

/* ---- opening ---- */

static int check(const struct gy_sim_inode *inode, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;

	if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
		return -EEXIST;
	}
	if (S_ISDIR(inode->mode)) {
		return writes || (flags & O_CREAT) != 0 ? -EISDIR : 0;
	}
	return (flags & O_DIRECTORY) != 0 ? -ENOTDIR : 0;
}

/* What is at a path, or is made there. */
static int get_inode(struct gy_sim_inode *from, const char *path, int flags, mode_t mode,
		     struct gy_sim_inode **ret_inode)
{
	const mode_t permissions = 07777;
	struct gy_sim_place place;
	int r = gy_sim_place_find(from, path, &place);

	if (r < 0) {
		return r;
	}
	if (place.inode == NULL) {
		if ((flags & O_CREAT) == 0) {
			return -ENOENT;
		}
		*ret_inode = gy_sim_place_make(&place, S_IFREG | (mode & permissions));
		return 0;
	}
	*ret_inode = place.inode;
	r = check(place.inode, flags);
	if (r == 0 && (flags & O_TRUNC) != 0 && S_ISREG(place.inode->mode)) {
		r = gy_sim_inode_resize(place.inode, 0);
	}
	return r;
}

int gy_sim_disk_open(struct gy_sim_inode *from, const char *path, int flags, mode_t mode)
{
	const int kept = O_ACCMODE | O_APPEND | O_NONBLOCK | O_DIRECT | O_DSYNC | O_SYNC;
	struct gy_sim_inode *inode;
	struct disk_file *of;
	int r = get_inode(from, path, flags, mode, &inode);

	if (r < 0) {
		return r;
	}
	of = (struct disk_file *)gy_sim_get(sizeof(*of));
	of->inode = inode;
	inode->cached = true;
	gy_sim_inode_ref(inode);
	gy_sim_file_init(&of->file,
			 S_ISREG(inode->mode)	? &file_ops
			 : S_ISDIR(inode->mode) ? &folder_ops
						: &device_ops,
			 from->disk->host, flags & kept);
	r = gy_sim_file_install_new(&of->file);
	if (r >= 0) {
		gy_sim_slot_at(r)->close_on_exec = (flags & O_CLOEXEC) != 0;
	}
	return r;
}

int gy_sim_disk_open_cached(struct gy_sim_inode *from, const char *path, int flags)
{
	enum { FORGOTTEN = 20000 /* of a million that were in memory */ };
	struct gy_sim_place place;
	int r = gy_sim_place_find(from, path, &place);

	if (r == -ENAMETOOLONG) {
		return r;
	}
	if (r < 0 || place.inode == NULL || !place.inode->cached ||
	    (!from->disk->host->sim->calm && gy_sim_happens(from->disk->host->sim, FORGOTTEN))) {
		return -EAGAIN;
	}
	return gy_sim_disk_open(from, path, flags, 0);
}
