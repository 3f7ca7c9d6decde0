/*
 * Finding files without a wait: in what the loop keeps, or by an open that the kernel does from
 * memory alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include <gyre/file_find.h>

#include "actor/log_of.h"
#include "actor/stack/stack.h"
#include "base/sized.h"
#include "buffer/buffer.h"
#include "channel/file/file.h"
#include "channel/file/kept.h"
#include "ring/sanitize.h"

static const uint64_t valid_default_ns = GYRE_SECONDS(1);
static const uint64_t idle_default_ns = GYRE_SECONDS(60);

/* A file that was opened now. */
struct opened {
	int fd;
	struct statx status;
};

static int check_type(const struct statx *status)
{
	if (S_ISDIR(status->stx_mode)) {
		return -EISDIR;
	}
	return S_ISREG(status->stx_mode) ? 0 : -EOPNOTSUPP;
}

/* Closes what is kept once, if there is no descriptor left. */
static int open_path(struct gy_channels *channels, const char *path)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int fd = gy_ring_open_now(path, flags);

	if ((fd == -EMFILE || fd == -ENFILE) && channels->kept_files != NULL) {
		channels->kept_files_ops->drop_all(channels);
		fd = gy_ring_open_now(path, flags);
	}
	return fd;
}

static int open_now(struct gy_channels *channels, const char *path, struct opened *ret_opened)
{
	int fd = open_path(channels, path);
	int r;

	if (fd < 0) {
		return fd;
	}
	r = gy_ring_stat_now(fd, &ret_opened->status);
	if (r == 0) {
		gy_sanitize_give(&ret_opened->status, sizeof(ret_opened->status));
		r = check_type(&ret_opened->status);
	}
	if (r < 0) {
		gy_channels_close(channels, fd);
		return r;
	}
	ret_opened->fd = fd;
	return 0;
}

static struct gyre_file *make_handle(struct gy_house *house, int fd, struct gy_kept_file *kept)
{
	struct gyre_file *file = gy_file_make(house);

	if (file != NULL) {
		file->endpoint.fd = fd;
		file->kept = kept;
		if (kept != NULL) {
			kept->references++;
		}
	}
	return file;
}

static int give_kept(struct gy_house *house, struct gy_kept_file *kept,
		     struct gyre_file_found *ret_found)
{
	ret_found->file = make_handle(house, kept->fd, kept);
	ret_found->status = kept->status;
	return ret_found->file == NULL ? -ENOMEM : 0;
}

/* Takes the descriptor. */
static int give_opened(struct gy_house *house, const struct opened *opened,
		       struct gyre_file_found *ret_found)
{
	ret_found->file = make_handle(house, opened->fd, NULL);
	gy_file_status_of(&opened->status, &ret_found->status);
	if (ret_found->file == NULL) {
		gy_channels_close(gy_channels_of(house->home), opened->fd);
		return -ENOMEM;
	}
	return 0;
}

/* A file that was not kept, or whose time has passed. */
static int find_anew(struct gy_house *house, const char *path,
		     const struct gyre_file_keeping *keeping, struct gyre_file_found *ret_found)
{
	struct gy_channels *channels = gy_channels_of(house->home);
	struct opened opened;
	struct gy_kept_file *kept;
	int r = open_now(channels, path, &opened);

	kept = gy_kept_find(channels, path); /* what the open has left of it */
	if (r == 0 && kept != NULL && gy_kept_is_same(kept, &opened.status)) {
		gy_channels_close(channels, opened.fd);
		kept->checked_ns = house->home->loop.now_ns;
		return give_kept(house, kept, ret_found);
	}
	if (kept != NULL) {
		gy_kept_drop(channels, kept);
	}
	if (r < 0) {
		return r;
	}
	kept = gy_kept_add(channels, path, opened.fd, &opened.status, keeping);
	return kept != NULL ? give_kept(house, kept, ret_found)
			    : give_opened(house, &opened, ret_found);
}

static int find(struct gy_house *house, const char *path, struct gyre_file_keeping *keeping,
		struct gyre_file_found *ret_found)
{
	struct gy_channels *channels = gy_channels_of(house->home);
	struct gy_kept_file *kept;
	struct opened opened;
	int r;

	if (keeping->files_max == 0) {
		r = open_now(channels, path, &opened);
		return r < 0 ? r : give_opened(house, &opened, ret_found);
	}
	keeping->valid_ns = keeping->valid_ns == 0 ? valid_default_ns : keeping->valid_ns;
	keeping->idle_ns = keeping->idle_ns == 0 ? idle_default_ns : keeping->idle_ns;
	kept = gy_kept_find(channels, path);
	if (kept != NULL && house->home->loop.now_ns - kept->checked_ns < keeping->valid_ns) {
		return give_kept(house, kept, ret_found);
	}
	return find_anew(house, path, keeping, ret_found);
}

int gyre_file_find_sized(struct gyre_stack *stack, const char *path,
			 const struct gyre_file_keeping *keeping, size_t keeping_bytes,
			 struct gyre_file_found *ret_found, size_t found_bytes)
{
	struct gyre_file_found found = { .file = NULL };
	struct gyre_file_keeping whole;
	struct gy_stack *s;
	int r;

	if (stack == NULL || path == NULL || ret_found == NULL) {
		return -EINVAL;
	}
	s = gy_stack_of(stack);
	r = GY_SIZED_READ(gyre_file_keeping, &whole, keeping, keeping_bytes,
			  gy_log_of_stack(stack));
	if (r == 0 && strnlen(path, PATH_MAX) == PATH_MAX) {
		r = -ENAMETOOLONG;
	}
	if (r == 0 && gy_house_is_away(s->house)) {
		r = -EAGAIN; /* what it would be used with belongs to the other loop */
	}
	if (r == 0) {
		r = find(s->house, path, &whole, &found);
	}
	if (r == 0) {
		gy_sized_write(ret_found, found_bytes, &found, sizeof(found));
	}
	return r;
}
