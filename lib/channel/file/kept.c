/*
 * Kept files: a table by path, and a list in the order of use. What is used least lately goes first
 * when there are too many; a timer closes what was not used for its time. It runs only while there
 * is a kept file, once for the one that is due first or later.
 */
#include "channel/file/kept.h"

#include <string.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "buffer/buffer.h"
#include "channel/file/file.h"

enum { DESCRIPTORS_SHARE = 8 }; /* one in so many of those that the process may have */

struct gy_kept_files {
	struct gy_channels *channels;
	struct gy_table by_path;
	struct gy_list recent; /* the one used last is the last */
	struct gy_timer timer;
	uint32_t count;
	uint32_t descriptors_max;
};

static struct gy_sizes *parts_of(struct gy_channels *channels)
{
	return &channels->home->parts;
}

static struct gy_kept_file *oldest(const struct gy_kept_files *files)
{
	return gy_container_of(files->recent.next, struct gy_kept_file, recent);
}

static uint64_t hash_of(const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path != '\0'; path++) {
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	}
	return gy_table_mix(hash);
}

void gy_file_status_of(const struct statx *status, struct gyre_file_status *ret_status)
{
	*ret_status = (struct gyre_file_status){
		.bytes = status->stx_size,
		.mode = status->stx_mode,
		.modified_ns = status->stx_mtime.tv_sec * (int64_t)GYRE_SECONDS(1) +
			       status->stx_mtime.tv_nsec,
	};
}

static int64_t changed_ns_of(const struct statx *status)
{
	return status->stx_ctime.tv_sec * (int64_t)GYRE_SECONDS(1) + status->stx_ctime.tv_nsec;
}

static uint64_t device_of(const struct statx *status)
{
	return (uint64_t)status->stx_dev_major << 32 | status->stx_dev_minor;
}

bool gy_kept_is_same(const struct gy_kept_file *kept, const struct statx *now)
{
	return kept->inode == now->stx_ino && kept->device == device_of(now) &&
	       kept->status.bytes == now->stx_size && kept->changed_ns == changed_ns_of(now);
}

bool gy_kept_is_in_memory(const struct gy_channels *channels, struct gy_kept_file *kept,
			  uint64_t offset, uint64_t bytes)
{
	uint64_t turn = channels->home->loop.counters.turns;

	if (kept->seen_turn == turn && offset >= kept->seen_from &&
	    offset + bytes <= kept->seen_to) {
		return true;
	}
	if (!gy_ring_can_send_file_now(kept->fd, offset, bytes)) {
		return false;
	}
	kept->seen_turn = turn;
	kept->seen_from = offset;
	kept->seen_to = offset + bytes;
	return true;
}

/* ---- the end of one ---- */

void gy_kept_unref(struct gy_channels *channels, struct gy_kept_file *kept)
{
	gy_assert(kept->references > 0);
	kept->references--;
	if (kept->references == 0) {
		gy_channels_close(channels, kept->fd);
		gy_sizes_delete(parts_of(channels), kept, sizeof(*kept) + kept->path_bytes);
	}
}

void gy_kept_drop(struct gy_channels *channels, struct gy_kept_file *kept)
{
	struct gy_kept_files *files = channels->kept_files;

	gy_table_remove(&files->by_path, parts_of(channels), &kept->item);
	gy_list_remove(&kept->recent);
	gy_assert(files->count > 0);
	files->count--;
	gy_kept_unref(channels, kept);
}

static void drop_all(struct gy_channels *channels)
{
	struct gy_kept_files *files = channels->kept_files;

	while (!gy_list_empty(&files->recent)) {
		gy_kept_drop(channels, oldest(files));
	}
	if (gy_timer_is_started(&files->timer)) {
		gy_timer_stop(&channels->home->loop.wheel, &files->timer);
	}
}

static void fini(struct gy_channels *channels)
{
	drop_all(channels);
	gy_table_fini(&channels->kept_files->by_path, parts_of(channels));
	gy_memory_put(channels->kept_files);
	channels->kept_files = NULL;
}

static const struct gy_kept_files_ops kept_files_ops = {
	.fini = fini,
	.drop_all = drop_all,
};

/* ---- time ---- */

static void close_idle(struct gy_timer *timer)
{
	struct gy_kept_files *files = gy_container_of(timer, struct gy_kept_files, timer);
	struct gy_channels *channels = files->channels;
	uint64_t now_ns = channels->home->loop.now_ns;
	uint64_t next_ns = UINT64_MAX;
	struct gy_list *item = files->recent.next;

	while (item != &files->recent) {
		struct gy_kept_file *kept = gy_container_of(item, struct gy_kept_file, recent);
		uint64_t idle_ns = now_ns - kept->used_ns;

		item = item->next;
		if (idle_ns >= kept->idle_ns) {
			gy_kept_drop(channels, kept);
		} else if (kept->idle_ns - idle_ns < next_ns) {
			next_ns = kept->idle_ns - idle_ns;
		}
	}
	if (next_ns != UINT64_MAX) {
		gy_timer_start(&channels->home->loop.wheel, timer, next_ns);
	}
}

/* ---- finding and adding ---- */

static void touch(struct gy_kept_files *files, struct gy_kept_file *kept)
{
	kept->used_ns = files->channels->home->loop.now_ns;
	gy_list_remove(&kept->recent);
	gy_list_append(&files->recent, &kept->recent);
}

struct gy_kept_file *gy_kept_find(struct gy_channels *channels, const char *path)
{
	struct gy_kept_files *files = channels->kept_files;
	uint64_t hash = hash_of(path);
	struct gy_table_item *item = files == NULL ? NULL : gy_table_find(&files->by_path, hash);

	for (; item != NULL; item = item->next) {
		struct gy_kept_file *kept = gy_container_of(item, struct gy_kept_file, item);

		if (item->key == hash && strcmp(kept->path, path) == 0) {
			touch(files, kept);
			return kept;
		}
	}
	return NULL;
}

static uint32_t descriptors_max(void)
{
	uint64_t share = gy_environment_descriptors_max() / DESCRIPTORS_SHARE;

	return share >= UINT32_MAX ? UINT32_MAX : (uint32_t)share;
}

static struct gy_kept_files *files_of(struct gy_channels *channels)
{
	struct gy_kept_files *files = channels->kept_files;

	if (files == NULL) {
		files = (struct gy_kept_files *)gy_memory_get(sizeof(*files));
		if (files == NULL) {
			return NULL;
		}
		files->channels = channels;
		files->descriptors_max = descriptors_max();
		gy_list_init(&files->recent);
		gy_timer_init(&files->timer, close_idle);
		channels->kept_files = files;
		channels->kept_files_ops = &kept_files_ops;
	}
	return files;
}

static struct gy_kept_file *make(struct gy_channels *channels, const char *path, int fd,
				 const struct statx *status)
{
	size_t path_bytes = strlen(path) + 1;
	struct gy_kept_file *kept =
		(struct gy_kept_file *)gy_sizes_new(parts_of(channels), sizeof(*kept) + path_bytes);

	if (kept == NULL) {
		return NULL;
	}
	*kept = (struct gy_kept_file){
		.item.key = hash_of(path),
		.references = 1,
		.fd = fd,
		.checked_ns = channels->home->loop.now_ns,
		.used_ns = channels->home->loop.now_ns,
		.inode = status->stx_ino,
		.device = device_of(status),
		.changed_ns = changed_ns_of(status),
		.path_bytes = path_bytes,
	};
	gy_file_status_of(status, &kept->status);
	memcpy(kept->path, path, path_bytes);
	return kept;
}

struct gy_kept_file *gy_kept_add(struct gy_channels *channels, const char *path, int fd,
				 const struct statx *status,
				 const struct gyre_file_keeping *keeping)
{
	struct gy_kept_files *files = files_of(channels);
	struct gy_kept_file *kept = files == NULL ? NULL : make(channels, path, fd, status);

	if (kept == NULL) {
		return NULL;
	}
	if (gy_table_add(&files->by_path, parts_of(channels), &kept->item) < 0) {
		gy_sizes_delete(parts_of(channels), kept, sizeof(*kept) + kept->path_bytes);
		return NULL;
	}
	kept->idle_ns = keeping->idle_ns;
	gy_list_append(&files->recent, &kept->recent);
	files->count++;
	while (files->count > keeping->files_max ||
	       (files->count > files->descriptors_max && files->count > 1)) {
		gy_kept_drop(channels, oldest(files));
	}
	if (!gy_timer_is_started(&files->timer)) {
		gy_timer_start(&channels->home->loop.wheel, &files->timer, kept->idle_ns);
	}
	return kept;
}
