/*
 * The descriptors of the epoll engine, and the operations that wait for each.
 *
 * Epoll is asked for edges, so that a connection costs one epoll_ctl() for all its life: it tells
 * of input once, and again only when more has come. An operation that begins to wait without an
 * attempt does not know whether an edge has gone by, so it asks anew, which has epoll look at the
 * present state. One that has just met -EAGAIN knows that an edge will follow.
 *
 * The number of a descriptor may have been closed behind the engine's back and opened anew while
 * nobody waited for it. The first wait of a descriptor therefore always asks epoll, which takes the
 * old registration for what it is: gone with the old file.
 *
 * Events that nobody waits for are not asked for any longer, for each of them would wake the loop:
 * the input of a channel that reads nothing, or the room in a Unix socket whose peer reads.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/memory/memory.h"
#include "ring/epoll.h"

enum { ALWAYS = EPOLLHUP | EPOLLERR }; /* told of unasked */

static struct gy_epoll_file *find_file(const struct gy_epoll *epoll, int fd)
{
	struct gy_table_item *item = gy_table_find(&epoll->files, (uint64_t)(uint32_t)fd);

	return item == NULL ? NULL : gy_container_of(item, struct gy_epoll_file, item);
}

static struct gy_epoll_file *make_file(struct gy_epoll *epoll, int fd)
{
	struct gy_epoll_file *file =
		(struct gy_epoll_file *)gy_sizes_new(&epoll->sizes, sizeof(*file));

	if (file == NULL) {
		return NULL;
	}
	*file = (struct gy_epoll_file){ .fd = fd, .item.key = (uint32_t)fd };
	gy_list_init(&file->waits);
	gy_list_init(&file->of_ready);
	if (gy_table_add(&epoll->files, &epoll->sizes, &file->item) < 0) {
		gy_sizes_delete(&epoll->sizes, file, sizeof(*file));
		return NULL;
	}
	return file;
}

static void free_file(struct gy_epoll *epoll, struct gy_epoll_file *file)
{
	gy_assert(gy_list_empty(&file->waits) && file->watched == 0);
	gy_table_remove(&epoll->files, &epoll->sizes, &file->item);
	gy_list_remove(&file->of_ready);
	gy_sizes_delete(&epoll->sizes, file, sizeof(*file));
}

static void free_wait(struct gy_epoll *epoll, struct gy_epoll_wait *wait)
{
	gy_table_remove(&epoll->waits, &epoll->sizes, &wait->item);
	gy_list_remove(&wait->of_file);
	gy_sizes_delete(&epoll->sizes, wait, sizeof(*wait));
}

/* ---- watching ---- */

static int control(const struct gy_epoll *epoll, int how, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.fd = fd };

	return epoll_ctl(epoll->fd, how, fd, &event) < 0 ? -errno : 0;
}

/* Asks for @events, which has epoll look at the present state too. */
static int watch(const struct gy_epoll *epoll, struct gy_epoll_file *file, uint32_t events)
{
	int r = -ENOENT;

	if (file->watched != 0) {
		r = control(epoll, EPOLL_CTL_MOD, file->fd, events);
	}
	if (r == -ENOENT) {
		r = control(epoll, EPOLL_CTL_ADD, file->fd, events);
	}
	if (r == -EEXIST) {
		r = control(epoll, EPOLL_CTL_MOD, file->fd, events);
	}
	file->watched = r == 0 ? events | ALWAYS : 0;
	return r;
}

static void unwatch(const struct gy_epoll *epoll, struct gy_epoll_file *file)
{
	if (file->watched != 0) {
		(void)control(epoll, EPOLL_CTL_DEL, file->fd, 0);
		file->watched = 0;
	}
}

static uint32_t wanted(const struct gy_epoll_file *file)
{
	uint32_t events = 0;

	for (struct gy_list *item = file->waits.next; item != &file->waits; item = item->next) {
		events |= gy_container_of(item, struct gy_epoll_wait, of_file)->events;
	}
	return events;
}

/* Some of @events have come for nobody: they are not asked for any longer. */
static void watch_less(struct gy_epoll *epoll, struct gy_epoll_file *file, uint32_t events)
{
	uint32_t events_wanted = wanted(file);

	if ((events & ~(events_wanted | ALWAYS)) == 0 && !gy_list_empty(&file->waits)) {
		return;
	}
	if (!gy_list_empty(&file->waits)) {
		(void)watch(epoll, file, events_wanted);
		return;
	}
	unwatch(epoll, file);
	if (file->ready == 0) {
		free_file(epoll, file);
	}
}

/* ---- waiting ---- */

static struct gy_epoll_wait *make_wait(struct gy_epoll *epoll, const struct io_uring_sqe *sqe,
				       struct gy_epoll_file *file, uint32_t events)
{
	struct gy_epoll_wait *wait =
		(struct gy_epoll_wait *)gy_sizes_new(&epoll->sizes, sizeof(*wait));

	if (wait == NULL) {
		return NULL;
	}
	*wait = (struct gy_epoll_wait){ .sqe = *sqe,
					.file = file,
					.events = events,
					.item.key = gy_table_mix(sqe->user_data) };
	if (gy_table_add(&epoll->waits, &epoll->sizes, &wait->item) < 0) {
		gy_sizes_delete(&epoll->sizes, wait, sizeof(*wait));
		return NULL;
	}
	gy_list_append(&file->waits, &wait->of_file);
	return wait;
}

int gy_epoll_wait_for(struct gy_ring *ring, const struct io_uring_sqe *sqe, uint32_t events,
		      bool tried)
{
	struct gy_epoll *epoll = ring->epoll;
	struct gy_epoll_file *file = find_file(epoll, sqe->fd);
	struct gy_epoll_wait *wait;
	bool is_known = file != NULL && !gy_list_empty(&file->waits);
	int r = 0;

	if (file == NULL) {
		file = make_file(epoll, sqe->fd);
	}
	wait = file == NULL ? NULL : make_wait(epoll, sqe, file, events);
	if (wait == NULL) {
		r = -ENOMEM;
	} else if (!tried || !is_known || (events & ~file->watched) != 0) {
		r = watch(epoll, file, wanted(file));
	}
	if (r < 0) {
		if (wait != NULL) {
			free_wait(epoll, wait);
		}
		if (file != NULL && gy_list_empty(&file->waits) && file->ready == 0) {
			unwatch(epoll, file);
			free_file(epoll, file);
		}
	}
	return r;
}

int gy_epoll_wait_and_retry(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	struct gy_epoll *epoll = ring->epoll;

	return make_wait(epoll, sqe, &epoll->retries, EPOLLOUT) == NULL ? -ENOMEM : 0;
}

/* ---- going on ---- */

/* Lets each wait go on that @events concern; returns the events that are not used up. */
static uint32_t run_waits(struct gy_ring *ring, struct gy_epoll_file *file, uint32_t events)
{
	uint32_t left = 0;
	struct gy_list *next;

	for (struct gy_list *item = file->waits.next; item != &file->waits; item = next) {
		struct gy_epoll_wait *wait = gy_container_of(item, struct gy_epoll_wait, of_file);
		uint32_t concerned = events & (wait->events | ALWAYS);
		enum gy_epoll_outcome outcome = GY_EPOLL_MORE;

		next = item->next;
		if (concerned == 0) {
			continue;
		}
		if (gy_epoll_has_room(ring)) {
			outcome = gy_epoll_continue(ring, wait, concerned);
		}
		if (outcome == GY_EPOLL_ENDED) {
			free_wait(ring->epoll, wait);
		} else if (outcome == GY_EPOLL_MORE) {
			left |= concerned;
		}
	}
	return left;
}

/* Remembers what a descriptor is still ready for. */
static void set_ready(struct gy_epoll *epoll, struct gy_epoll_file *file, uint32_t events)
{
	file->ready = events;
	gy_list_remove(&file->of_ready);
	if (events != 0) {
		gy_list_append(&epoll->ready, &file->of_ready);
	}
	epoll->sq_flags = gy_list_empty(&epoll->ready) ? 0 : IORING_SQ_TASKRUN;
}

void gy_epoll_come(struct gy_ring *ring, int fd, uint32_t events)
{
	struct gy_epoll *epoll = ring->epoll;
	struct gy_epoll_file *file = fd < 0 ? &epoll->retries : find_file(epoll, fd);

	if (fd < 0) {
		(void)run_waits(ring, file, events);
		return;
	}
	if (file == NULL) {
		return; /* of a file that has been closed here, and that somebody else has open */
	}
	set_ready(epoll, file, run_waits(ring, file, events | file->ready));
	watch_less(epoll, file, events);
}

void gy_epoll_go_on(struct gy_ring *ring)
{
	struct gy_epoll *epoll = ring->epoll;
	struct gy_list ready;

	if (gy_likely(gy_list_empty(&epoll->ready))) {
		return;
	}
	gy_list_init(&ready);
	gy_list_splice(&ready, &epoll->ready);
	while (!gy_list_empty(&ready)) {
		struct gy_epoll_file *file =
			gy_container_of(ready.next, struct gy_epoll_file, of_ready);

		uint32_t events = file->ready;

		set_ready(epoll, file, run_waits(ring, file, events));
		watch_less(epoll, file, events);
	}
}

/* ---- ending ---- */

bool gy_epoll_cancel_wait(struct gy_ring *ring, uint64_t user_data)
{
	struct gy_epoll *epoll = ring->epoll;
	struct gy_table_item *item = gy_table_find(&epoll->waits, gy_table_mix(user_data));
	struct gy_epoll_file *file;

	if (item == NULL) {
		return false;
	}
	file = gy_container_of(item, struct gy_epoll_wait, item)->file;
	free_wait(epoll, gy_container_of(item, struct gy_epoll_wait, item));
	gy_epoll_post(ring, user_data, -ECANCELED, 0);
	if (file->fd >= 0 && gy_list_empty(&file->waits)) {
		watch_less(epoll, file, 0);
	}
	return true;
}

void gy_epoll_forget(struct gy_ring *ring, int fd)
{
	struct gy_epoll *epoll = ring->epoll;
	struct gy_epoll_file *file = find_file(epoll, fd);

	if (file == NULL) {
		return;
	}
	/* Its operations own a descriptor until they end, so there are none. */
	gy_assert(gy_list_empty(&file->waits));
	unwatch(epoll, file);
	set_ready(epoll, file, 0);
	free_file(epoll, file);
}

/* Only the ring's own waits are left, as the waker's. */
static void free_whole_file(struct gy_epoll *epoll, struct gy_epoll_file *file)
{
	while (!gy_list_empty(&file->waits)) {
		free_wait(epoll, gy_container_of(file->waits.next, struct gy_epoll_wait, of_file));
	}
	file->watched = 0; /* epoll itself is closed */
	free_file(epoll, file);
}

void gy_epoll_descriptors_fini(struct gy_ring *ring)
{
	struct gy_epoll *epoll = ring->epoll;

	/* The table may shrink meanwhile, which moves items to lower places. */
	for (uint32_t i = epoll->files.size; i > 0; i--) {
		while (i <= epoll->files.size && epoll->files.buckets[i - 1] != NULL) {
			free_whole_file(epoll, gy_container_of(epoll->files.buckets[i - 1],
							       struct gy_epoll_file, item));
		}
	}
	gy_table_fini(&epoll->files, &epoll->sizes);
	gy_table_fini(&epoll->waits, &epoll->sizes);
}
