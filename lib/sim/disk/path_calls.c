/*
 * The calls that take paths. What the disk does not have may be the file of a Unix socket, which
 * the network has.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "sim/disk/disk.h"
#include "sim/wrapped.h"

static struct gy_sim_inode *root(void)
{
	return gy_sim_host_here()->disk->root;
}

/* Where a path begins: at an open folder, or at the root. */
static int find_start(int folder, const char *path, struct gy_sim_inode **ret_from)
{
	const struct gy_sim_file *file;
	struct gy_sim_inode *inode;

	if (path == NULL) {
		return -EFAULT;
	}
	if (folder == AT_FDCWD || path[0] == '/') {
		*ret_from = root();
		return 0;
	}
	file = gy_sim_file_at(folder);
	inode = file == NULL ? NULL : gy_sim_file_inode(file);
	if (inode == NULL || !S_ISDIR(inode->mode)) {
		return file == NULL ? -EBADF : -ENOTDIR;
	}
	*ret_from = inode;
	return 0;
}

/* The place of @path, which has something there. */
static int find(const char *path, struct gy_sim_place *ret_place)
{
	int r;

	if (path == NULL) {
		return -EFAULT;
	}
	gy_sim_yield(false);
	r = gy_sim_place_find(root(), path, ret_place);
	if (r < 0) {
		return r;
	}
	return ret_place->inode == NULL ? -ENOENT : 0;
}

/* ---- opening ---- */

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
	struct gy_sim_inode *from;
	int r = find_start(folder, path, &from);

	if (r < 0) {
		return r;
	}
	gy_sim_yield(false);
	return gy_sim_disk_open(from, path, flags, mode);
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode = 0;

	va_start(arguments, flags);
	if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
		mode = va_arg(arguments, mode_t);
	}
	va_end(arguments);
	return gy_sim_here == NULL ? __real_open(path, flags, mode)
				   : gy_sim_result(open_at(AT_FDCWD, path, flags, mode));
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode = 0;

	va_start(arguments, flags);
	if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
		mode = va_arg(arguments, mode_t);
	}
	va_end(arguments);
	return gy_sim_here == NULL ? __real_openat(folder, path, flags, mode)
				   : gy_sim_result(open_at(folder, path, flags, mode));
}

GY_SIM_WRAPPED_SAME(open64, open);
GY_SIM_WRAPPED_SAME(openat64, openat);

/* ---- asking ---- */

static int status_at(int folder, const char *path, int flags, struct stat *ret_status)
{
	struct gy_sim_inode *from;
	struct gy_sim_place place;
	int r;

	if ((flags & AT_EMPTY_PATH) != 0 && path != NULL && path[0] == '\0' && folder != AT_FDCWD) {
		return __wrap_fstat(folder, ret_status) < 0 ? -errno : 0;
	}
	r = find_start(folder, path, &from);
	if (r < 0) {
		return r;
	}
	gy_sim_yield(false);
	r = gy_sim_place_find(from, path, &place);
	if (r == 0 && place.inode != NULL) {
		gy_sim_inode_status(place.inode, ret_status);
		return 0;
	}
	return r == 0 || r == -ENOENT
		       ? gy_sim_socket_file_status(gy_sim_host_here(), path, ret_status)
		       : r;
}

int __wrap_stat(const char *path, struct stat *ret_status)
{
	if (gy_sim_here == NULL) {
		return __real_stat(path, ret_status);
	}
	return gy_sim_result(status_at(AT_FDCWD, path, 0, ret_status));
}

int __wrap_lstat(const char *path, struct stat *ret_status)
{
	if (gy_sim_here == NULL) {
		return __real_lstat(path, ret_status);
	}
	return gy_sim_result(status_at(AT_FDCWD, path, 0, ret_status));
}

int __wrap_fstatat(int folder, const char *path, struct stat *ret_status, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_fstatat(folder, path, ret_status, flags);
	}
	return gy_sim_result(status_at(folder, path, flags, ret_status));
}

GY_SIM_WRAPPED_SAME(stat64, stat);
GY_SIM_WRAPPED_SAME(lstat64, lstat);
GY_SIM_WRAPPED_SAME(fstatat64, fstatat);

static struct statx_timestamp timestamp_of(const struct timespec *time)
{
	return (struct statx_timestamp){ .tv_sec = time->tv_sec,
					 .tv_nsec = (uint32_t)time->tv_nsec };
}

static int extended_status(int folder, const char *path, int flags, struct statx *ret_status)
{
	struct stat status;
	int r = status_at(folder, path, flags, &status);

	if (r < 0) {
		return r;
	}
	*ret_status = (struct statx){
		.stx_mask = STATX_BASIC_STATS,
		.stx_blksize = (uint32_t)status.st_blksize,
		.stx_nlink = (uint32_t)status.st_nlink,
		.stx_mode = (uint16_t)status.st_mode,
		.stx_ino = status.st_ino,
		.stx_size = (uint64_t)status.st_size,
		.stx_blocks = (uint64_t)status.st_blocks,
		.stx_atime = timestamp_of(&status.st_atim),
		.stx_ctime = timestamp_of(&status.st_ctim),
		.stx_mtime = timestamp_of(&status.st_mtim),
		.stx_dev_minor = (uint32_t)status.st_dev,
	};
	return 0;
}

int __wrap_statx(int folder, const char *path, int flags, unsigned int what,
		 struct statx *ret_status)
{
	if (gy_sim_here == NULL) {
		return __real_statx(folder, path, flags, what, ret_status);
	}
	return gy_sim_result(extended_status(folder, path, flags, ret_status));
}

/* Everybody may do everything. */
int __wrap_access(const char *path, int what)
{
	struct stat status;

	if (gy_sim_here == NULL) {
		return __real_access(path, what);
	}
	return gy_sim_result(status_at(AT_FDCWD, path, 0, &status));
}

/* ---- changing ---- */

static int set_mode(const char *path, mode_t mode)
{
	const mode_t permissions = 07777;
	struct gy_sim_place place;
	int r = find(path, &place);

	if (r == -ENOENT) {
		return gy_sim_socket_file_set_mode(gy_sim_host_here(), path, mode);
	}
	if (r == 0) {
		place.inode->mode = (place.inode->mode & ~permissions) | (mode & permissions);
	}
	return r;
}

int __wrap_chmod(const char *path, mode_t mode)
{
	if (gy_sim_here == NULL) {
		return __real_chmod(path, mode);
	}
	return gy_sim_result(set_mode(path, mode));
}

static int resize(const char *path, off_t bytes)
{
	struct gy_sim_place place;
	int r = bytes < 0 ? -EINVAL : find(path, &place);

	if (r == 0 && !S_ISREG(place.inode->mode)) {
		r = S_ISDIR(place.inode->mode) ? -EISDIR : -EINVAL;
	}
	return r < 0 ? r : gy_sim_inode_resize(place.inode, (uint64_t)bytes);
}

int __wrap_truncate(const char *path, off_t bytes)
{
	if (gy_sim_here == NULL) {
		return __real_truncate(path, bytes);
	}
	return gy_sim_result(resize(path, bytes));
}

GY_SIM_WRAPPED_SAME(truncate64, truncate);

/* 0 or why what is there cannot be removed as a file, or as a folder. */
static int check_removable(const struct gy_sim_place *place, bool is_folder)
{
	if (S_ISDIR(place->inode->mode) != is_folder) {
		return is_folder ? -ENOTDIR : -EISDIR;
	}
	if (is_folder && place->name[0] == '\0') {
		return -EBUSY; /* the root */
	}
	return is_folder && !gy_list_empty(&place->inode->entries) ? -ENOTEMPTY : 0;
}

static int remove_path(const char *path, bool is_folder)
{
	struct gy_sim_place place;
	int r = find(path, &place);

	if (r == -ENOENT && !is_folder) {
		return gy_sim_socket_file_remove(gy_sim_host_here(), path);
	}
	r = r < 0 ? r : check_removable(&place, is_folder);
	if (r == 0) {
		gy_sim_place_remove(&place);
	}
	return r;
}

int __wrap_unlink(const char *path)
{
	if (gy_sim_here == NULL) {
		return __real_unlink(path);
	}
	return gy_sim_result(remove_path(path, false));
}

/* Whether what is there may give way to @from. */
static int check_replaced(const struct gy_sim_place *from, const struct gy_sim_place *to)
{
	if (to->inode == NULL) {
		return 0;
	}
	if (S_ISDIR(from->inode->mode) != S_ISDIR(to->inode->mode)) {
		return S_ISDIR(to->inode->mode) ? -EISDIR : -ENOTDIR;
	}
	return gy_list_empty(&to->inode->entries) ? 0 : -ENOTEMPTY;
}

static int rename_file(const char *from_path, const char *to_path)
{
	struct gy_sim_place from;
	struct gy_sim_place to;
	int r = find(from_path, &from);

	if (r == -ENOENT && to_path != NULL && !gy_sim_disk_has(gy_sim_host_here(), to_path)) {
		return gy_sim_socket_file_rename(gy_sim_host_here(), from_path, to_path);
	}
	if (r == 0) {
		r = to_path == NULL ? -EFAULT : gy_sim_place_find(root(), to_path, &to);
	}
	if (r < 0) {
		return r;
	}
	if (from.inode == to.inode) {
		return 0;
	}
	if (from.name[0] == '\0' || to.name[0] == '\0') {
		return -EBUSY;
	}
	if (gy_sim_inode_is_below(to.folder, from.inode)) {
		return -EINVAL;
	}
	r = check_replaced(&from, &to);
	if (r == 0) {
		gy_sim_place_rename(&from, &to);
	}
	return r;
}

int __wrap_rename(const char *from, const char *to)
{
	if (gy_sim_here == NULL) {
		return __real_rename(from, to);
	}
	return gy_sim_result(rename_file(from, to));
}

static int make_folder(const char *path, mode_t mode)
{
	const mode_t permissions = 01777;
	struct gy_sim_place place;
	int r;

	if (path == NULL) {
		return -EFAULT;
	}
	gy_sim_yield(false);
	r = gy_sim_place_find(root(), path, &place);
	if (r < 0) {
		return r;
	}
	if (place.inode != NULL) {
		return -EEXIST;
	}
	(void)gy_sim_place_make(&place, S_IFDIR | (mode & permissions));
	return 0;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	if (gy_sim_here == NULL) {
		return __real_mkdir(path, mode);
	}
	return gy_sim_result(make_folder(path, mode));
}

int __wrap_rmdir(const char *path)
{
	if (gy_sim_here == NULL) {
		return __real_rmdir(path);
	}
	return gy_sim_result(remove_path(path, true));
}

/* ---- calls without a name ---- */

static int open_with_how(int folder, const char *path, const struct open_how *how)
{
	struct gy_sim_inode *from;
	int r = how == NULL ? -EFAULT : find_start(folder, path, &from);

	if (r < 0) {
		return r;
	}
	gy_sim_yield(false);
	if ((how->resolve & RESOLVE_CACHED) == 0) {
		return gy_sim_disk_open(from, path, (int)how->flags, (mode_t)how->mode);
	}
	return (how->flags & (O_CREAT | O_TRUNC)) != 0
		       ? -EAGAIN
		       : gy_sim_disk_open_cached(from, path, (int)how->flags);
}

long __wrap_syscall(long number, ...)
{
	enum { ARGUMENTS = 6 };
	long values[ARGUMENTS];
	va_list arguments;
	long r = -ENOSYS;

	va_start(arguments, number);
	for (uint32_t i = 0; i < ARGUMENTS; i++) {
		values[i] = va_arg(arguments, long);
	}
	va_end(arguments);
	if (gy_sim_here == NULL) {
		return __real_syscall(number, values[0], values[1], values[2], values[3], values[4],
				      values[5]);
	}
	if (number == SYS_openat2) {
		r = open_with_how((int)values[0], (const char *)values[1],
				  (const struct open_how *)values[2]);
	}
	return gy_sim_count(r);
}
