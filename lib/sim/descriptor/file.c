/*
 * Open files: what several descriptors may stand for, and who waits for their events.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/scheduler.h"

void gy_sim_file_init(struct gy_sim_file *file, const struct gy_sim_file_ops *ops,
		      struct gy_sim_host *host, int flags)
{
	*file = (struct gy_sim_file){ .ops = ops, .host = host, .flags = flags };
	gy_list_init(&file->watches);
}

void gy_sim_file_ref(struct gy_sim_file *file)
{
	file->references++;
}

void gy_sim_file_unref(struct gy_sim_file *file)
{
	gy_assert(file->references > 0);
	if (--file->references > 0) {
		return;
	}
	while (!gy_list_empty(&file->watches)) {
		struct gy_sim_watch *watch =
			gy_container_of(file->watches.next, struct gy_sim_watch, of_file);

		gy_list_remove(&watch->of_file);
		watch->changed(watch, 0); /* it is gone */
	}
	file->ops->close(file);
}

void gy_sim_file_changed(struct gy_sim_file *file, uint32_t events)
{
	struct gy_list *next;

	for (struct gy_list *item = file->watches.next; item != &file->watches; item = next) {
		struct gy_sim_watch *watch = gy_container_of(item, struct gy_sim_watch, of_file);

		next = item->next;
		watch->changed(watch, events);
	}
}

/* ---- tasks that wait ---- */

struct waiter {
	struct gy_sim_watch watch;
	struct gy_sim_queue queue;
	uint32_t events;
};

static void wake(struct gy_sim_watch *watch, uint32_t events)
{
	struct waiter *waiter = gy_container_of(watch, struct waiter, watch);

	if (events == 0 || (events & (waiter->events | EPOLLHUP | EPOLLERR)) != 0) {
		gy_sim_wake_all(&waiter->queue);
	}
}

static const char *waiting_for(uint32_t events)
{
	return (events & EPOLLIN) != 0 ? "input" : "room for output";
}

int gy_sim_file_wait(struct gy_sim_file *file, uint32_t events, int flags, uint64_t until_ns)
{
	struct waiter waiter = { .watch.changed = wake, .events = events };
	bool woken;

	if ((file->flags & O_NONBLOCK) != 0 || (flags & MSG_DONTWAIT) != 0) {
		return -EAGAIN;
	}
	gy_sim_queue_init(&waiter.queue);
	gy_list_append(&file->watches, &waiter.watch.of_file);
	gy_sim_file_ref(file); /* another task may close the descriptor meanwhile */
	gy_sim_here->file = file;
	woken = gy_sim_wait(&waiter.queue, until_ns, waiting_for(events));
	gy_sim_here->file = NULL;
	gy_list_remove(&waiter.watch.of_file);
	gy_sim_file_unref(file);
	return woken ? 0 : -EAGAIN;
}

/* ---- slices ---- */

size_t gy_sim_slices_bytes(const struct iovec *slices, uint32_t count)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		bytes += slices[i].iov_len;
	}
	return bytes;
}

size_t gy_sim_scatter(const struct iovec *slices, uint32_t count, const void *bytes, size_t have)
{
	size_t done = 0;

	for (uint32_t i = 0; i < count && done < have; i++) {
		size_t part = slices[i].iov_len < have - done ? slices[i].iov_len : have - done;

		if (part > 0) {
			memcpy(slices[i].iov_base, (const unsigned char *)bytes + done, part);
		}
		done += part;
	}
	return done;
}

size_t gy_sim_gather(const struct iovec *slices, uint32_t count, size_t skip, void *bytes,
		     size_t room)
{
	size_t done = 0;

	for (uint32_t i = 0; i < count && done < room; i++) {
		size_t from = skip < slices[i].iov_len ? skip : slices[i].iov_len;
		size_t left = slices[i].iov_len - from;
		size_t part = left < room - done ? left : room - done;

		if (part > 0) {
			memcpy((unsigned char *)bytes + done,
			       (const unsigned char *)slices[i].iov_base + from, part);
		}
		skip -= from;
		done += part;
	}
	return done;
}
