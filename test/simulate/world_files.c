/*
 * Files: on a host writers, each of which has a file of slots. It writes slots anew, syncs them and
 * reads them again. What was written is read as it was written; what was synced is there after
 * every crash, as it was. Beside them an opener opens files for which it waits too short a time: it
 * must not lose descriptors.
 *
 * A sync that fails has lost what it was to sync, and no later one helps: those slots have to be
 * written again.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "world.h"

enum {
	WRITERS = 3,
	SLOTS = 8,
	SLOT_BYTES = 5000,
	PATH_BYTES = 16,
	BATCH_MAX = 4,	  /* writes between two syncs */
	PATIENCE_MS = 64, /* of an opener; a slow disk takes 38 at most */
};

enum content {
	UNKNOWN, /* nothing was written yet, or not all of it */
	WRITTEN, /* all of it is read again, unless the host crashes */
	LOST,	 /* so it is, but a sync has failed */
	SYNCED,	 /* all of it is there also after a crash */
};

struct slot {
	enum content content;
	uint32_t version; /* of the last write that was begun */
};

struct file {
	struct gyre_sim *sim;
	char path[PATH_BYTES];
	struct slot slots[SLOTS];
	uint64_t synced; /* how often */
	uint64_t opened;
};

struct files {
	struct file files[WRITERS];
};

struct task {
	struct file *file;
};
GYRE_MESSAGE(task, 0x5401);

struct go_on {
};
GYRE_MESSAGE(go_on, 0x5402);

static unsigned char byte_of(uint32_t slot, uint32_t version, uint32_t at)
{
	return (unsigned char)(slot * 31 + version * 17 + at * 7 + (at >> 8));
}

static uint32_t draw(const struct file *file, uint32_t count)
{
	return (uint32_t)(gyre_sim_random(file->sim) % count);
}

/* ---- a writer ---- */

struct writer {
	struct file *file;
	struct gyre_file *open;
	uint32_t slot; /* that it is at */
	uint32_t left; /* to be done in this round */
	uint32_t at;   /* bytes of the slot that it has read */
	unsigned char memory[SLOT_BYTES];
};

struct writer_frame {
	struct gyre_future future;
};

static struct slot *slot_of(const struct writer *self)
{
	return &self->file->slots[self->slot];
}

/* What is not synced may be there or not when the host boots. */
static void forget_unsynced(struct file *file)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (file->slots[i].content != SYNCED) {
			file->slots[i].content = UNKNOWN;
		}
	}
}

static bool take_file(struct writer *self, struct gyre_future *future)
{
	struct gyre_file_opened opened;

	if (gyre_future_move(future, gyre_file_opened, &opened) < 0) {
		return false;
	}
	self->open = opened.file;
	return true;
}

static int begin_write(struct gyre_stack *stack, struct gyre_future *ret_future)
{
	struct writer *self = (struct writer *)gyre_state(stack);
	struct gyre_file_part part = { .bytes = SLOT_BYTES, .memory = self->memory };

	self->slot = draw(self->file, SLOTS);
	part.offset = (uint64_t)self->slot * SLOT_BYTES;
	slot_of(self)->content = UNKNOWN;
	slot_of(self)->version++;
	for (uint32_t i = 0; i < SLOT_BYTES; i++) {
		self->memory[i] = byte_of(self->slot, slot_of(self)->version, i);
	}
	return gyre_file_write_memory(stack, self->open, &part, GYRE_FOREVER, ret_future);
}

static void end_write(struct writer *self, const struct gyre_future *future)
{
	const struct gyre_file_done *done = gyre_future_get(future, gyre_file_done);

	if (done != NULL && done->error == 0) {
		slot_of(self)->content = WRITTEN;
	}
}

static void end_sync(struct writer *self, const struct gyre_future *future)
{
	const struct gyre_file_done *done = gyre_future_get(future, gyre_file_done);
	bool is_synced = done != NULL && done->error == 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &self->file->slots[i];

		if (slot->content == WRITTEN) {
			slot->content = is_synced ? SYNCED : LOST;
		}
	}
	self->file->synced += is_synced;
}

static int begin_read(struct gyre_stack *stack, struct gyre_future *ret_future)
{
	struct writer *self = (struct writer *)gyre_state(stack);
	const struct gyre_file_part rest = { .offset = (uint64_t)self->slot * SLOT_BYTES + self->at,
					     .bytes = SLOT_BYTES - self->at,
					     .memory = self->memory + self->at };

	return gyre_file_read(stack, self->open, &rest, GYRE_FOREVER, ret_future);
}

static void compare(struct writer *self)
{
	const struct slot *slot = slot_of(self);

	for (uint32_t i = 0; slot->content != UNKNOWN && i < SLOT_BYTES; i++) {
		if (self->memory[i] != byte_of(self->slot, slot->version, i)) {
			world_violate("byte %" PRIu32 " of slot %" PRIu32 " of %s is not as %s", i,
				      self->slot, self->file->path,
				      slot->content == SYNCED ? "synced" : "written");
			return;
		}
	}
}

/* Whether there is more to be read of the slot. */
static bool end_read(struct writer *self, struct gyre_future *future)
{
	const struct gyre_file_data *data = gyre_future_get(future, gyre_file_data);

	if (data == NULL) {
		return false; /* the disk has an error */
	}
	self->at += (uint32_t)data->count;
	if (data->count > 0 && self->at < SLOT_BYTES) {
		return true;
	}
	if (self->at < SLOT_BYTES && slot_of(self)->content != UNKNOWN) {
		world_violate("%s ends in slot %" PRIu32, self->file->path, self->slot);
	} else if (self->at == SLOT_BYTES) {
		compare(self);
	}
	return false;
}

static int on_write(struct gyre_stack *stack)
{
	static const struct gyre_file_options options = { .flags = O_RDWR | O_CREAT };
	struct writer *self = (struct writer *)gyre_state(stack);
	struct writer_frame *frame = (struct writer_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	while (self->open == NULL) {
		GYRE_AWAIT(stack, gyre_file_open(stack, self->file->path, &options, GYRE_FOREVER,
						 &frame->future));
		if (!take_file(self, &frame->future)) {
			GYRE_AWAIT(stack,
				   gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
		}
	}
	for (self->slot = 0; self->slot < SLOTS; self->slot++) {
		for (self->at = 0;;) {
			GYRE_AWAIT(stack, begin_read(stack, &frame->future));
			if (!end_read(self, &frame->future)) {
				break;
			}
		}
	}
	self->left = 1 + draw(self->file, BATCH_MAX);
	while (self->left-- > 0) {
		GYRE_AWAIT(stack, begin_write(stack, &frame->future));
		end_write(self, &frame->future);
	}
	GYRE_AWAIT(stack, gyre_file_sync(stack, self->open, draw(self->file, 2) == 0, GYRE_FOREVER,
					 &frame->future));
	end_sync(self, &frame->future);
	GYRE_AWAIT(stack,
		   gyre_sleep(stack, GYRE_MILLISECONDS(1 + draw(self->file, 100)), &frame->future));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, go_on));
	GYRE_END(stack);
}

static int on_writer_mount(struct gyre_stack *stack)
{
	struct writer *self = (struct writer *)gyre_state(stack);

	self->file = gyre_message(stack, task)->file;
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, go_on));
}

static const struct gyre_class writer_class = { .name = "writer",
						.state_bytes = sizeof(struct writer),
						.frame_bytes = sizeof(struct writer_frame),
						.behaviour = { .notice = on_write },
						.mount = on_writer_mount };

/* ---- an opener ---- */

struct opener {
	struct file *file;
};

struct opener_frame {
	struct gyre_future future;
};

static int on_open(struct gyre_stack *stack)
{
	const struct opener *self = (const struct opener *)gyre_state(stack);
	struct opener_frame *frame = (struct opener_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, self->file->path, NULL,
					 GYRE_MILLISECONDS(1 + draw(self->file, PATIENCE_MS)),
					 &frame->future));
	self->file->opened += gyre_future_error(&frame->future) == 0; /* and is closed */
	GYRE_AWAIT(stack,
		   gyre_sleep(stack, GYRE_MILLISECONDS(1 + draw(self->file, 20)), &frame->future));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, go_on));
	GYRE_END(stack);
}

static int on_opener_mount(struct gyre_stack *stack)
{
	struct opener *self = (struct opener *)gyre_state(stack);

	self->file = gyre_message(stack, task)->file;
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, go_on));
}

static const struct gyre_class opener_class = { .name = "opener",
						.state_bytes = sizeof(struct opener),
						.frame_bytes = sizeof(struct opener_frame),
						.behaviour = { .notice = on_open },
						.mount = on_opener_mount };

/* ---- the host ---- */

static int spawn(struct gyre_system *system, const struct gyre_class *class, struct file *file)
{
	struct gyre_address address;

	return gyre_system_spawn(system, class, gyre_system_new(system, task, file), NULL,
				 &address);
}

static int serve(void *arg)
{
	const struct gyre_system_options options = { .loops = 2, .log = world_no_log };
	struct files *files = (struct files *)arg;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	for (uint32_t i = 0; r == 0 && i < WRITERS; i++) {
		forget_unsynced(&files->files[i]);
		r = spawn(system, &writer_class, &files->files[i]);
		r = r < 0 ? r : spawn(system, &opener_class, &files->files[i]);
	}
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct files *files = (struct files *)state;
	int r = gyre_sim_host(sim, "alpha", serve, files, NULL);

	for (uint32_t i = 0; r == 0 && i < WRITERS; i++) {
		files->files[i].sim = sim;
		(void)snprintf(files->files[i].path, PATH_BYTES, "/slots-%" PRIu32, i);
		r = gyre_sim_disk_write(sim, 0, files->files[i].path, NULL, 0);
	}
	return r;
}

/* The writers, and then the openers. */
static uint64_t progress(const void *state, uint32_t part)
{
	const struct file *file = &((const struct files *)state)->files[part % WRITERS];

	return part < WRITERS ? file->synced : file->opened;
}

const struct world world_files = {
	.name = "files",
	.state_bytes = sizeof(struct files),
	.hosts = 1,
	.trouble = TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_DISKS | TROUBLE_SIGNALS,
	.steps = 20,
	.calm_seconds = 10,
	.go_on_seconds = 10,
	.build = build,
	.parts = 2 * WRITERS,
	.progress = progress,
};
