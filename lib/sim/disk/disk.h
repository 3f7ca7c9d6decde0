/*
 * The disk of a host, inside: inodes with their contents, the names that lead to them, and what of
 * both a crash may take away. See disk.c for the model.
 */
#ifndef GY_SIM_DISK_H
#define GY_SIM_DISK_H

#include <sys/stat.h>

#include "sim/sim.h"

enum {
	GY_SIM_PROGRAM_BYTES = 64, /* of /proc/self/exe, which counts for nothing */
	GY_SIM_NAME_MAX = 255,	   /* bytes of a name in a folder */
	GY_SIM_PATH_MAX = 4096,	   /* bytes of a path, with the 0 */
	GY_SIM_SECTOR_BYTES = 512, /* that a disk writes whole or not at all */
};

struct gy_sim_disk {
	struct gy_sim_host *host;
	struct gyre_sim_disk options; /* with values for all */
	uint64_t used;		      /* bytes of all contents */
	uint64_t next_number;
	struct gy_list inodes;	/* in the order of their numbers */
	struct gy_list changes; /* of names, that a crash may undo; the oldest first */
	uint32_t changes_count;
	struct gy_sim_inode *root;
};

/* Bytes of a file. What is behind them in @memory is zero. */
struct gy_sim_content {
	unsigned char *memory;
	uint32_t blocks; /* that there is memory for */
	uint64_t bytes;
};

enum gy_sim_device {
	GY_SIM_DEVICE_NULL,
	GY_SIM_DEVICE_FULL,
	GY_SIM_DEVICE_RANDOM,
};

struct gy_sim_inode {
	struct gy_list of_disk;
	struct gy_sim_disk *disk;
	uint64_t number;
	mode_t mode; /* type and permissions */
	enum gy_sim_device device;
	bool forgotten;	     /* its contents are not in memory: who reads them waits */
	uid_t user;	     /* whose it is; nobody is kept from anything */
	bool cached;	     /* it is in memory, so that an open need not wait */
	uint32_t names;	     /* that lead to it */
	uint32_t references; /* names, open files and changes */
	uint64_t changed_ns; /* a date of the host */

	/* of a file */
	struct gy_sim_content now;
	struct gy_sim_content synced;
	struct gy_list writes; /* that a crash may take away; the oldest first */
	uint32_t writes_count;

	/* of a folder */
	struct gy_list entries;
	struct gy_sim_inode *parent; /* NULL: of the root, and of a folder without a name */

	/* flock() */
	struct gy_sim_queue lockers;
	uint32_t locks; /* that are shared */
	bool locked;	/* by one alone */
};

/* ---- disk.c ---- */

/* It fails no more. */
void gy_sim_disk_heal(struct gy_sim_host *host);
struct gy_sim_inode *gy_sim_inode_make(struct gy_sim_disk *disk, mode_t mode);
void gy_sim_inode_ref(struct gy_sim_inode *inode);
/* Frees it with the last reference. */
void gy_sim_inode_unref(struct gy_sim_inode *inode);
void gy_sim_inode_status(const struct gy_sim_inode *inode, struct stat *ret_status);
/* What is written so far outlives a crash: the contents of a file and its name, or the names of a
 * folder. 0 or -EIO, and then the writes that were to be synced never will be. */
int gy_sim_inode_sync(struct gy_sim_inode *inode);
/* Whether the disk fails now, as it does so often. */
bool gy_sim_disk_fails(const struct gy_sim_disk *disk);
/* Waits as long as the disk takes. In a task. */
void gy_sim_disk_wait(struct gy_sim_disk *disk);

/* ---- disk_content.c: what is in files ---- */

/* Copies from @offset on; how many bytes, 0 at the end. */
size_t gy_sim_inode_read(const struct gy_sim_inode *inode, uint64_t offset, void *memory,
			 size_t bytes);
/* How many bytes were written; fewer where the disk gets full, -ENOSPC where it is. */
int64_t gy_sim_inode_write(struct gy_sim_inode *inode, uint64_t offset, const void *bytes,
			   size_t count);
/* 0 or -ENOSPC. */
int gy_sim_inode_resize(struct gy_sim_inode *inode, uint64_t bytes);
/* The writes so far are on the disk. */
void gy_sim_content_sync(struct gy_sim_inode *inode);
/* The writes so far will not get to the disk, though they are read until a crash. */
void gy_sim_content_forget(struct gy_sim_inode *inode);
/* Draws which of the writes have got to the disk, and has the file be what is there. */
void gy_sim_content_crash(struct gy_sim_inode *inode);
void gy_sim_content_fini(struct gy_sim_inode *inode);

/* ---- disk_names.c: paths and folders ---- */

/* Where a path leads to. */
struct gy_sim_place {
	struct gy_sim_inode *folder;
	char name[GY_SIM_NAME_MAX + 1]; /* empty: the path is that of the folder itself */
	struct gy_sim_inode *inode;	/* NULL: the folder has no such name */
};

/* Follows @path from @from on, or from the root. 0, -ENOENT (also for an empty path), -ENOTDIR or
 * -ENAMETOOLONG. */
int gy_sim_place_find(struct gy_sim_inode *from, const char *path, struct gy_sim_place *ret_place);
/* Makes an inode of a name that the folder does not have. */
struct gy_sim_inode *gy_sim_place_make(const struct gy_sim_place *place, mode_t mode);
void gy_sim_place_remove(const struct gy_sim_place *place);
/* What @to was has that name no more. */
void gy_sim_place_rename(const struct gy_sim_place *from, const struct gy_sim_place *to);
/* Tells the names in a folder, and of what type each is (DT_REG, ...). */
void gy_sim_inode_names(const struct gy_sim_inode *folder,
			void (*tell)(const char *name, unsigned char type, void *arg), void *arg);
/* Whether @inode is in the folder @above, at whatever depth, or is it. */
bool gy_sim_inode_is_below(const struct gy_sim_inode *inode, const struct gy_sim_inode *above);
/* The changes so far of which @inode is the folder, or that made @inode, are on the disk, and those
 * before them. */
void gy_sim_names_sync(const struct gy_sim_inode *inode);
/* All changes so far are on the disk. */
void gy_sim_names_sync_all(struct gy_sim_disk *disk);
/* Draws how many of the changes have got to the disk, and undoes the others. */
void gy_sim_names_crash(struct gy_sim_disk *disk);
/* Frees all names. */
void gy_sim_names_fini(struct gy_sim_disk *disk);

/* ---- disk_file.c: open files ---- */

/* Opens what is at @path, as open() does. A descriptor or a negative errno. */
int gy_sim_disk_open(struct gy_sim_inode *from, const char *path, int flags, mode_t mode);
/* The same, but -EAGAIN for what is not in memory, as what nobody has opened since the boot. */
int gy_sim_disk_open_cached(struct gy_sim_inode *from, const char *path, int flags);
/* The inode of an open file; NULL: it is something else, as a socket. */
struct gy_sim_inode *gy_sim_file_inode(const struct gy_sim_file *file);
/* The position for reads and writes that name none. Of a file of the disk. */
uint64_t *gy_sim_file_position(struct gy_sim_file *file);
/* Waits as long as the disk takes, and syncs. 0, -EIO, or -EINVAL of what has no contents. */
int gy_sim_file_sync(struct gy_sim_file *file);
/* As flock(): waits unless @what has LOCK_NB. */
int gy_sim_file_flock(struct gy_sim_file *file, int what);

/* ---- pipe.c ---- */

bool gy_sim_file_is_pipe(const struct gy_sim_file *file);
/* Copies the first bytes of a pipe, which stay there: how many, 0 at the end; or -EAGAIN. */
int64_t gy_sim_pipe_look(const struct gy_sim_file *file, void *memory, size_t bytes);
/* Takes the first bytes away. */
void gy_sim_pipe_skip(struct gy_sim_file *file, size_t bytes);
/* How many bytes there is room for. */
size_t gy_sim_pipe_room(const struct gy_sim_file *file);

#endif
