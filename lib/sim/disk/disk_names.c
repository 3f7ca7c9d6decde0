/*
 * Paths and folders, and the journal of their changes. A change moves an inode from one name to
 * another; a creation has no name before and a removal none after. So undoing is the same for all:
 * the inode goes back, and what it had replaced too.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"

enum { CHANGES_MAX = 256 };

struct entry {
	struct gy_list of_folder;
	struct gy_sim_inode *inode;
	char name[GY_SIM_NAME_MAX + 1];
};

struct name {
	struct gy_sim_inode *folder; /* NULL: none */
	char text[GY_SIM_NAME_MAX + 1];
};

struct change {
	struct gy_list of_disk;
	struct gy_sim_inode *inode;
	struct gy_sim_inode *replaced; /* that had the name @to before; mostly NULL */
	struct name from;
	struct name to;
};

/* ---- entries ---- */

static struct entry *find_entry(const struct gy_sim_inode *folder, const char *name)
{
	for (struct gy_list *item = folder->entries.next; item != &folder->entries;
	     item = item->next) {
		struct entry *entry = gy_container_of(item, struct entry, of_folder);

		if (strcmp(entry->name, name) == 0) {
			return entry;
		}
	}
	return NULL;
}

static void add_entry(const struct name *name, struct gy_sim_inode *inode)
{
	struct entry *entry = (struct entry *)gy_sim_get(sizeof(*entry));

	gy_assert(find_entry(name->folder, name->text) == NULL);
	memcpy(entry->name, name->text, sizeof(entry->name));
	entry->inode = inode;
	gy_list_append(&name->folder->entries, &entry->of_folder);
	gy_sim_inode_ref(inode);
	inode->names++;
	inode->parent = S_ISDIR(inode->mode) ? name->folder : NULL;
}

static void remove_entry(const struct name *name)
{
	struct entry *entry = find_entry(name->folder, name->text);
	struct gy_sim_inode *inode = entry->inode;

	gy_list_remove(&entry->of_folder);
	gy_sim_put(entry);
	inode->names--;
	inode->parent = NULL;
	gy_sim_inode_unref(inode);
}

void gy_sim_inode_names(const struct gy_sim_inode *folder,
			void (*tell)(const char *name, unsigned char type, void *arg), void *arg)
{
	for (struct gy_list *item = folder->entries.next; item != &folder->entries;
	     item = item->next) {
		const struct entry *entry = gy_container_of(item, struct entry, of_folder);

		tell(entry->name, IFTODT(entry->inode->mode), arg);
	}
}

bool gy_sim_inode_is_below(const struct gy_sim_inode *inode, const struct gy_sim_inode *above)
{
	while (inode != NULL && inode != above) {
		inode = inode->parent;
	}
	return inode != NULL;
}

/* ---- the journal ---- */

static void ref(struct gy_sim_inode *inode)
{
	if (inode != NULL) {
		gy_sim_inode_ref(inode);
	}
}

static void unref(struct gy_sim_inode *inode)
{
	if (inode != NULL) {
		gy_sim_inode_unref(inode);
	}
}

static struct change *first_change(const struct gy_sim_disk *disk)
{
	return gy_container_of(disk->changes.next, struct change, of_disk);
}

/* It is on the disk, or it is undone. */
static void forget(struct gy_sim_disk *disk, struct change *change)
{
	disk->changes_count--;
	gy_list_remove(&change->of_disk);
	unref(change->inode);
	unref(change->replaced);
	unref(change->from.folder);
	unref(change->to.folder);
	gy_sim_put(change);
}

static void undo(struct gy_sim_disk *disk, struct change *change)
{
	gy_assert(change->replaced == NULL || change->to.folder != NULL);
	if (change->to.folder != NULL) {
		remove_entry(&change->to);
		if (change->replaced != NULL) {
			add_entry(&change->to, change->replaced);
		}
	}
	if (change->from.folder != NULL) {
		add_entry(&change->from, change->inode);
	}
	forget(disk, change);
}

static struct change *make_change(struct gy_sim_inode *inode)
{
	struct change *change = (struct change *)gy_sim_get(sizeof(*change));

	change->inode = inode;
	return change;
}

static void set_name(struct name *name, const struct gy_sim_place *place)
{
	name->folder = place->folder;
	memcpy(name->text, place->name, sizeof(name->text));
}

/* Does a change that was filled in, and notes it. */
static void change_names(struct change *change)
{
	struct gy_sim_disk *disk = change->inode->disk;
	uint64_t now_ns = gy_sim_host_date(disk->host);

	ref(change->inode);
	ref(change->replaced);
	ref(change->from.folder);
	ref(change->to.folder);
	if (change->from.folder != NULL) {
		remove_entry(&change->from);
		change->from.folder->changed_ns = now_ns;
	}
	if (change->replaced != NULL) {
		remove_entry(&change->to);
	}
	if (change->to.folder != NULL) {
		add_entry(&change->to, change->inode);
		change->to.folder->changed_ns = now_ns;
	}
	gy_list_append(&disk->changes, &change->of_disk);
	if (++disk->changes_count > CHANGES_MAX) {
		forget(disk, first_change(disk));
	}
}

/* Whether a sync of @inode is one of this change. */
static bool concerns(const struct change *change, const struct gy_sim_inode *inode)
{
	return change->from.folder == inode || change->to.folder == inode ||
	       (change->inode == inode && change->from.folder == NULL);
}

void gy_sim_names_sync(const struct gy_sim_inode *inode)
{
	struct gy_sim_disk *disk = inode->disk;
	uint32_t count = 0;
	uint32_t place = 0;

	for (struct gy_list *item = disk->changes.next; item != &disk->changes; item = item->next) {
		place++;
		if (concerns(gy_container_of(item, struct change, of_disk), inode)) {
			count = place;
		}
	}
	while (count-- > 0) {
		forget(disk, first_change(disk));
	}
}

void gy_sim_names_sync_all(struct gy_sim_disk *disk)
{
	while (!gy_list_empty(&disk->changes)) {
		forget(disk, first_change(disk));
	}
}

void gy_sim_names_crash(struct gy_sim_disk *disk)
{
	uint32_t lost = gy_sim_choose(disk->host->sim, disk->changes_count + 1);

	if (lost > 0) {
		gy_sim_trace(disk->host->sim, disk->host,
			     "loses the last %u of %u changes of names", lost, disk->changes_count);
	}
	while (lost-- > 0) {
		undo(disk, gy_container_of(disk->changes.previous, struct change, of_disk));
	}
	gy_sim_names_sync_all(disk);
}

/* Folders that still have entries are gone into first. */
void gy_sim_names_fini(struct gy_sim_disk *disk)
{
	struct gy_sim_inode *folder = disk->root;

	while (!gy_list_empty(&disk->root->entries)) {
		struct entry *entry =
			gy_container_of(folder->entries.next, struct entry, of_folder);

		if (!gy_list_empty(&entry->inode->entries)) {
			folder = entry->inode;
			continue;
		}
		gy_list_remove(&entry->of_folder);
		entry->inode->names--;
		gy_sim_inode_unref(entry->inode);
		gy_sim_put(entry);
		if (gy_list_empty(&folder->entries)) {
			folder = disk->root;
		}
	}
}

/* ---- places ---- */

/* Takes the next name off @path, into @ret_name. Its length; 0 at the end. */
static size_t next_name(const char **path, char ret_name[GY_SIM_NAME_MAX + 1])
{
	size_t length;

	*path += strspn(*path, "/");
	length = strcspn(*path, "/");
	if (length <= GY_SIM_NAME_MAX) {
		memcpy(ret_name, *path, length);
		ret_name[length] = '\0';
	}
	*path += length;
	return length;
}

/* Goes one name further. */
static int step(struct gy_sim_place *place, const char *name)
{
	struct gy_sim_inode *at = place->inode;
	const struct entry *entry;

	if (at == NULL) {
		return -ENOENT;
	}
	if (!S_ISDIR(at->mode)) {
		return -ENOTDIR;
	}
	place->folder = at;
	place->name[0] = '\0';
	if (strcmp(name, ".") == 0) {
		return 0;
	}
	if (strcmp(name, "..") == 0) {
		place->folder = at->parent == NULL ? at : at->parent;
		place->inode = place->folder;
		return 0;
	}
	entry = find_entry(at, name);
	place->inode = entry == NULL ? NULL : entry->inode;
	memcpy(place->name, name, strlen(name) + 1);
	/* Nothing can be made in a folder that was removed. */
	return entry == NULL && at->names == 0 && at != at->disk->root ? -ENOENT : 0;
}

int gy_sim_place_find(struct gy_sim_inode *from, const char *path, struct gy_sim_place *ret_place)
{
	struct gy_sim_inode *start = path[0] == '/' ? from->disk->root : from;
	char name[GY_SIM_NAME_MAX + 1];
	size_t length;

	if (path[0] == '\0') {
		return -ENOENT;
	}
	if (strnlen(path, GY_SIM_PATH_MAX) == GY_SIM_PATH_MAX) {
		return -ENAMETOOLONG;
	}
	*ret_place = (struct gy_sim_place){ .folder = start, .inode = start };
	while ((length = next_name(&path, name)) > 0) {
		int r = length > GY_SIM_NAME_MAX ? -ENAMETOOLONG : step(ret_place, name);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

struct gy_sim_inode *gy_sim_place_make(const struct gy_sim_place *place, mode_t mode)
{
	struct gy_sim_inode *inode = gy_sim_inode_make(place->folder->disk, mode);
	struct change *change = make_change(inode);

	gy_assert(place->inode == NULL && place->name[0] != '\0');
	set_name(&change->to, place);
	change_names(change);
	return inode;
}

void gy_sim_place_remove(const struct gy_sim_place *place)
{
	struct change *change = make_change(place->inode);

	gy_assert(place->name[0] != '\0');
	set_name(&change->from, place);
	change_names(change);
}

void gy_sim_place_rename(const struct gy_sim_place *from, const struct gy_sim_place *to)
{
	struct change *change = make_change(from->inode);

	gy_assert(from->name[0] != '\0' && to->name[0] != '\0' && from->inode != to->inode);
	change->replaced = to->inode;
	set_name(&change->from, from);
	set_name(&change->to, to);
	change_names(change);
}
