/*
 * Disks. Each host has one, which outlives its crashes; what was not synced does not, or not all.
 *
 * What programs see is the page cache, which is always right. Beside it the disk has what it would
 * find after a crash:
 *
 * - Of each file its synced content, and the writes since then. A crash keeps of each write all,
 *   nothing, or what is before a border of 512 bytes, each drawn for itself: a later write may
 *   survive an earlier one. fsync() and fdatasync() make the writes so far synced. The kernel does
 *   so by itself with the oldest when there are many.
 * - Of names a journal, as ext4 has: creations, renames and removals in their order. A crash keeps
 *   so many of the first, and undoes the others. Syncing a folder commits the journal up to the
 *   last change of that folder; syncing a file does so up to its creation, but not to a later
 *   rename.
 *
 * Names and contents are not ordered among one another: a file that was renamed but not synced may
 * have its new name and nothing in it. Where fsync() says -EIO the writes are clean and gone, as in
 * Linux: they are read until the host crashes, and no later fsync() brings them to the disk.
 *
 * There are neither links nor holes, no permissions, and under /proc and /sys nothing but the begin
 * of a program.
 */
#include "sim/disk/disk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/scheduler.h"

static const uint64_t capacity_default = UINT64_C(1) << 30;
static const uint64_t delay_default_ns = 100000;

enum {
	FOLDER_MODE = S_IFDIR | 0755,
	FILE_MODE = S_IFREG | 0644,
	DEVICE_MODE = S_IFCHR | 0666,
	PROGRAM_MODE = S_IFREG | 0555
};

/* ---- inodes ---- */

struct gy_sim_inode *gy_sim_inode_make(struct gy_sim_disk *disk, mode_t mode)
{
	struct gy_sim_inode *inode = (struct gy_sim_inode *)gy_sim_get(sizeof(*inode));

	inode->disk = disk;
	inode->number = ++disk->next_number;
	inode->mode = mode;
	inode->user = disk->host->user;
	inode->cached = true; /* for it is new */
	inode->changed_ns = gy_sim_host_date(disk->host);
	gy_list_init(&inode->writes);
	gy_list_init(&inode->entries);
	gy_sim_queue_init(&inode->lockers);
	gy_list_append(&disk->inodes, &inode->of_disk);
	return inode;
}

void gy_sim_inode_ref(struct gy_sim_inode *inode)
{
	inode->references++;
}

void gy_sim_inode_unref(struct gy_sim_inode *inode)
{
	gy_assert(inode->references > 0);
	if (--inode->references > 0) {
		return;
	}
	gy_assert(inode->names == 0 && gy_list_empty(&inode->entries));
	gy_list_remove(&inode->of_disk);
	gy_sim_content_fini(inode);
	gy_sim_put(inode);
}

void gy_sim_inode_status(const struct gy_sim_inode *inode, struct stat *ret_status)
{
	const struct timespec changed = { .tv_sec = (time_t)(inode->changed_ns / 1000000000),
					  .tv_nsec = (long)(inode->changed_ns % 1000000000) };

	*ret_status = (struct stat){
		.st_dev = inode->disk->host->index + 1,
		.st_ino = inode->number,
		.st_mode = inode->mode,
		.st_nlink = inode->names,
		.st_uid = inode->user,
		.st_size = (off_t)inode->now.bytes,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)((inode->now.bytes + GY_SIM_SECTOR_BYTES - 1) /
					GY_SIM_SECTOR_BYTES),
		.st_atim = changed,
		.st_mtim = changed,
		.st_ctim = changed,
	};
}

int gy_sim_inode_sync(struct gy_sim_inode *inode)
{
	if (gy_sim_disk_fails(inode->disk)) {
		gy_sim_content_forget(inode);
		return -EIO;
	}
	gy_sim_content_sync(inode);
	gy_sim_names_sync(inode);
	return 0;
}

/* ---- trouble ---- */

bool gy_sim_disk_fails(const struct gy_sim_disk *disk)
{
	bool fails = gy_sim_happens(disk->host->sim, disk->options.errors);

	if (fails) {
		gy_sim_trace(disk->host->sim, disk->host, "has an error of its disk");
	}
	return fails;
}

void gy_sim_disk_wait(struct gy_sim_disk *disk)
{
	struct gyre_sim *sim = disk->host->sim;
	uint64_t delay_ns = disk->options.delay_ns;
	struct gy_sim_queue queue;

	gy_sim_queue_init(&queue);
	delay_ns += gy_sim_choose_time(sim, delay_ns);
	(void)gy_sim_wait(&queue, sim->now_ns + delay_ns, "the disk");
}

/* ---- life ---- */

bool gy_sim_disk_has(const struct gy_sim_host *host, const char *path)
{
	struct gy_sim_place place;

	return gy_sim_place_find(host->disk->root, path, &place) == 0 && place.inode != NULL;
}

static void set_options(struct gy_sim_disk *disk, const struct gyre_sim_disk *options)
{
	disk->options = *options;
	if (disk->options.capacity_bytes == 0) {
		disk->options.capacity_bytes = capacity_default;
	}
	if (disk->options.delay_ns == 0) {
		disk->options.delay_ns = delay_default_ns;
	}
}

static struct gy_sim_inode *make_at(struct gy_sim_disk *disk, const char *path, mode_t mode)
{
	struct gy_sim_place place;
	int r = gy_sim_place_find(disk->root, path, &place);

	gy_assert(r == 0 && place.inode == NULL);
	return gy_sim_place_make(&place, mode);
}

void gy_sim_disk_init(struct gy_sim_host *host)
{
	static const struct gyre_sim_disk ordinary;
	static const unsigned char elf[GY_SIM_PROGRAM_BYTES] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
	struct gy_sim_disk *disk = (struct gy_sim_disk *)gy_sim_get(sizeof(*disk));
	struct gy_sim_inode *program;

	host->disk = disk;
	disk->host = host;
	set_options(disk, &ordinary);
	gy_list_init(&disk->inodes);
	gy_list_init(&disk->changes);
	disk->root = gy_sim_inode_make(disk, FOLDER_MODE);
	gy_sim_inode_ref(disk->root);
	(void)make_at(disk, "/tmp", FOLDER_MODE);
	(void)make_at(disk, "/dev", FOLDER_MODE);
	(void)make_at(disk, "/dev/null", DEVICE_MODE);
	make_at(disk, "/dev/full", DEVICE_MODE)->device = GY_SIM_DEVICE_FULL;
	make_at(disk, "/dev/urandom", DEVICE_MODE)->device = GY_SIM_DEVICE_RANDOM;
	(void)make_at(disk, "/etc", FOLDER_MODE);
	(void)make_at(disk, "/proc", FOLDER_MODE);
	(void)make_at(disk, "/proc/self", FOLDER_MODE);
	program = make_at(disk, "/proc/self/exe", PROGRAM_MODE);
	(void)gy_sim_inode_write(program, 0, elf, sizeof(elf));
	gy_sim_content_sync(program);
	gy_sim_names_sync_all(disk);
}

void gy_sim_disk_crash(struct gy_sim_host *host)
{
	struct gy_sim_disk *disk = host->disk;

	gy_sim_names_crash(disk);
	disk->used = 0;
	for (struct gy_list *item = disk->inodes.next; item != &disk->inodes; item = item->next) {
		struct gy_sim_inode *inode = gy_container_of(item, struct gy_sim_inode, of_disk);

		gy_sim_content_crash(inode);
		inode->cached = S_ISCHR(inode->mode);
		disk->used += inode->now.bytes;
	}
}

void gy_sim_disk_fini(struct gy_sim_host *host)
{
	struct gy_sim_disk *disk = host->disk;

	gy_sim_names_sync_all(disk);
	gy_sim_names_fini(disk);
	gy_sim_inode_unref(disk->root);
	gy_assert(gy_list_empty(&disk->inodes));
	gy_sim_put(disk);
	host->disk = NULL;
}

/* ---- for tests ---- */

static struct gy_sim_disk *find_disk(const struct gyre_sim *sim, uint32_t host)
{
	return sim == NULL || host >= sim->hosts_count ? NULL : sim->hosts[host]->disk;
}

int gyre_sim_disk_set(struct gyre_sim *sim, uint32_t host, const struct gyre_sim_disk *options)
{
	static const struct gyre_sim_disk ordinary;
	struct gy_sim_disk *disk = find_disk(sim, host);

	options = options == NULL ? &ordinary : options;
	if (disk == NULL || options->errors > 1000000) {
		return -EINVAL;
	}
	set_options(disk, options);
	gy_sim_trace(sim, disk->host,
		     "disk: %" PRIu64 " bytes, delay %" PRIu64 " ns, errors %" PRIu32,
		     disk->options.capacity_bytes, disk->options.delay_ns, disk->options.errors);
	return 0;
}

void gy_sim_disk_heal(struct gy_sim_host *host)
{
	host->disk->options.errors = 0;
}

/* Makes the folders that @path leads through and that are not there yet. */
static int make_folders(struct gy_sim_disk *disk, const char *path)
{
	char part[GY_SIM_PATH_MAX];
	struct gy_sim_place place;

	for (size_t i = 1; path[i] != '\0'; i++) {
		int r;

		if (path[i] != '/') {
			continue;
		}
		memcpy(part, path, i);
		part[i] = '\0';
		r = gy_sim_place_find(disk->root, part, &place);
		if (r < 0) {
			return r;
		}
		if (place.inode == NULL) {
			(void)gy_sim_place_make(&place, FOLDER_MODE);
		}
	}
	return 0;
}

/* The file at @path, which is made where there is none. */
static int get_file(struct gy_sim_disk *disk, const char *path, struct gy_sim_inode **ret_inode)
{
	struct gy_sim_place place;
	int r = make_folders(disk, path);

	r = r < 0 ? r : gy_sim_place_find(disk->root, path, &place);
	if (r < 0) {
		return r;
	}
	if (place.inode == NULL) {
		place.inode = gy_sim_place_make(&place, FILE_MODE);
	}
	*ret_inode = place.inode;
	return S_ISREG(place.inode->mode) ? 0 : -EISDIR;
}

int gyre_sim_disk_write(struct gyre_sim *sim, uint32_t host, const char *path, const void *bytes,
			size_t count)
{
	struct gy_sim_disk *disk = find_disk(sim, host);
	struct gy_sim_inode *inode;
	int r;

	if (disk == NULL || path == NULL || path[0] != '/' || strlen(path) >= GY_SIM_PATH_MAX ||
	    (bytes == NULL && count > 0)) {
		return -EINVAL;
	}
	r = get_file(disk, path, &inode);
	gy_sim_names_sync_all(disk);
	if (r < 0) {
		return r;
	}
	r = gy_sim_inode_resize(inode, count);
	if (r == 0) {
		(void)gy_sim_inode_write(inode, 0, bytes, count);
		gy_sim_content_sync(inode);
	}
	return r;
}

int64_t gyre_sim_disk_read(const struct gyre_sim *sim, uint32_t host, const char *path,
			   void *memory, size_t bytes)
{
	struct gy_sim_disk *disk = find_disk(sim, host);
	struct gy_sim_place place;
	int r;

	if (disk == NULL || path == NULL || path[0] != '/' || (memory == NULL && bytes > 0)) {
		return -EINVAL;
	}
	r = gy_sim_place_find(disk->root, path, &place);
	if (r < 0) {
		return r;
	}
	if (place.inode == NULL || !S_ISREG(place.inode->mode)) {
		return place.inode == NULL ? -ENOENT : -EISDIR;
	}
	(void)gy_sim_inode_read(place.inode, 0, memory, bytes);
	return (int64_t)place.inode->now.bytes;
}
