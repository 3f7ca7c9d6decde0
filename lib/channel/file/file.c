/*
 * The life of files and of their operations.
 *
 * A completion, in phase 1, makes the answer and puts it into the house as a reply or an exception,
 * as any answer comes; no code of the program runs here. The time-out belongs to the operation, not
 * to the promise: it cancels, and the answer comes with the final completion, when the kernel no
 * longer uses memory of the operation.
 *
 * An actor that another loop runs cannot use that loop's ring for its own objects. Operations that
 * it asks for there wait until it is back. It has no files from before, since an actor with
 * endpoints is never stolen.
 */
#include "channel/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <gyre/descriptor.h>

#include "actor/mail/mail_pool.h"
#include "actor/mail/mailbox.h"
#include "buffer/buffer.h"
#include "channel/file/kept.h"
#include "channel/output/output.h"
#include "ring/descriptor.h"
#include "ring/kernel.h"
#include "ring/sanitize.h"

static const uint64_t retry_ns = GYRE_MILLISECONDS(1);

/* ---- the file ---- */

static struct gyre_file *file_of(struct gy_endpoint *endpoint)
{
	return gy_container_of(endpoint, struct gyre_file, endpoint);
}

static void forget(struct gyre_file *file)
{
	struct gy_home *home = file->house->home;

	gy_endpoint_closed(&file->endpoint);
	if (file->house->status == GY_HOUSE_STOPPING) {
		/* Answers, and what the actor keeps, may still lead to it. */
		file->closed = true;
		gy_list_append(&file->endpoint.owner->remains, &file->endpoint.item);
	} else {
		gy_sizes_delete(&home->parts, file, sizeof(*file));
	}
}

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion; /* whatever it says, the descriptor is gone */
	forget(gy_container_of(op, struct gyre_file, close));
}

/* The last step of a file that ends. One that is in the queue of its house is met there again. */
static void close_if_unused(struct gyre_file *file)
{
	struct gy_ring *ring = gy_channels_of(file->house->home)->pools.ring;

	if (!file->ending || file->closed || file->endpoint.away || file->holds > 0 ||
	    file->endpoint.ready || !gy_list_empty(&file->operations) || file->close.armed) {
		return;
	}
	if (file->kept != NULL) {
		gy_kept_unref(gy_channels_of(file->house->home), file->kept);
		file->kept = NULL;
		file->endpoint.fd = -1;
	}
	if (file->endpoint.fd < 0) {
		forget(file);
		return;
	}
	gy_op_init(&file->close, closed);
	if (gy_ring_close(ring, &file->close, file->endpoint.fd) < 0) {
		gy_endpoint_ready(&file->endpoint);
	}
}

static void cancel(struct gy_file_operation *operation, int reason)
{
	struct gyre_file *file = operation->file;

	if (operation->cancelled == 0) {
		operation->cancelled = reason;
	}
	if (!operation->told) {
		operation->told = operation->op.armed &&
				  gy_ring_cancel(gy_channels_of(file->house->home)->pools.ring,
						 &operation->op) == 0;
	}
	if (!operation->told && !file->endpoint.away) {
		gy_endpoint_ready(&file->endpoint);
	}
}

void gy_file_end(struct gyre_file *file, int reason)
{
	file->ending = true;
	for (struct gy_list *item = file->operations.next; item != &file->operations;
	     item = item->next) {
		cancel(gy_container_of(item, struct gy_file_operation, item), reason);
	}
	close_if_unused(file);
}

void gy_file_release(struct gyre_file *file)
{
	gy_assert(file->holds > 0);
	file->holds--;
	close_if_unused(file);
}

/* ---- operations ---- */

void gy_file_operation_free(struct gy_home *home, struct gy_file_operation *operation)
{
	struct gy_channels *channels = gy_channels_of(home);

	if (operation->buffer != NULL) {
		gy_buffer_put(operation->buffer);
	}
	if (operation->page != NULL) {
		gy_page_unref(&channels->pools, operation->page);
	}
	if (operation->gather != NULL) {
		gy_pool_put(&channels->gathers, operation->gather);
	}
	gy_sizes_delete(&home->parts, operation, operation->total_bytes);
}

static int prepare_write(struct gy_file_operation *operation, struct gy_ring *ring, int fd)
{
	struct gy_gather *gather = operation->gather;

	if (operation->buffer == NULL) {
		return gy_ring_write(ring, &operation->op, fd, &operation->memory, 1,
				     operation->offset);
	}
	gy_gather_buffers(gather, operation->buffer);
	return gy_ring_write(ring, &operation->op, fd, gather->slices,
			     (uint32_t)gather->message.msg_iovlen, operation->offset);
}

static int prepare(struct gy_file_operation *operation)
{
	struct gyre_file *file = operation->file;
	struct gy_ring *ring = gy_channels_of(file->house->home)->pools.ring;
	int fd = file->endpoint.fd;

	switch (operation->kind) {
	case GY_FILE_OPEN:
		return gy_ring_open(ring, &operation->op, (const char *)operation->tail,
				    operation->flags, operation->mode);
	case GY_FILE_READ:
		return gy_ring_read(ring, &operation->op, fd, operation->memory.iov_base,
				    (uint32_t)operation->memory.iov_len, operation->offset);
	case GY_FILE_WRITE:
		return prepare_write(operation, ring, fd);
	case GY_FILE_SYNC:
		return gy_ring_sync(ring, &operation->op, fd, operation->data_only);
	case GY_FILE_STAT:
		return gy_ring_stat(ring, &operation->op, fd,
				    (struct statx *)(void *)operation->tail);
	case GY_FILE_POLL:
	case GY_FILE_WATCH:
		return gy_ring_poll(ring, &operation->op, operation->polled_fd, operation->events);
	default:
		return gy_ring_truncate(ring, &operation->op, fd, operation->offset);
	}
}

/* ---- answers ---- */

/* The bytes that were read become the answer, without a copy. */
static int answer_read(struct gy_file_operation *operation, size_t count)
{
	struct gyre_file_data *data = (struct gyre_file_data *)gyre_payload(operation->mail);

	gy_sanitize_give(operation->memory.iov_base, count);
	if (operation->page != NULL && count > 0) {
		data->buffer = gy_buffer_of_page(
			&gy_channels_of(operation->file->house->home)->pools, operation->page,
			operation->page->memory, (uint32_t)count);
		if (data->buffer == NULL) {
			return -ENOMEM;
		}
		operation->page->used = (uint32_t)count;
		operation->page = NULL;
	}
	data->count = count;
	return 0;
}

static void answer_status(struct gy_file_operation *operation)
{
	const struct statx *status = (const struct statx *)(const void *)operation->tail;

	gy_sanitize_give(operation->tail, sizeof(*status));
	gy_file_status_of(status, (struct gyre_file_status *)gyre_payload(operation->mail));
}

/* Fills in the answer; a negative errno if it is to be an exception. */
static int fill(struct gy_file_operation *operation, int result)
{
	if (result < 0 && operation->done == 0) {
		return result;
	}
	switch (operation->kind) {
	case GY_FILE_OPEN:
		/* Reads and writes wait, what was opened with the flag would not. */
		(void)gy_descriptor_set_flags(result, operation->flags & ~O_NONBLOCK);
		operation->file->endpoint.fd = result;
		if (operation->file->ending) {
			return -ECANCELED;
		}
		((struct gyre_file_opened *)gyre_payload(operation->mail))->file = operation->file;
		return 0;
	case GY_FILE_READ:
		return answer_read(operation, (size_t)result);
	case GY_FILE_STAT:
		answer_status(operation);
		return 0;
	case GY_FILE_POLL:
		*(struct gyre_descriptor_ready *)gyre_payload(operation->mail) =
			(struct gyre_descriptor_ready){ .fd = operation->polled_fd,
							.events = (uint32_t)result };
		return 0;
	default:
		*(struct gyre_file_done *)gyre_payload(operation->mail) = (struct gyre_file_done){
			.count = operation->done,
			.error = result < 0 ? result : 0,
		};
		return 0;
	}
}

static void answer(struct gy_file_operation *operation, int result)
{
	struct gyre_file *file = operation->file;
	struct gy_house *house = file->house;
	struct gy_home *home = house->home;
	struct gyre_mail *mail = operation->mail;
	int r = fill(operation, result);

	file->ending = file->ending || operation->kind == GY_FILE_POLL;
	mail->node.kind = GY_MAIL_REPLY;
	if (r < 0) {
		gy_mail_release(mail);
		mail->type = &gy_type_exception;
		mail->node.kind = GY_MAIL_EXCEPTION;
		((struct gy_exception *)gyre_payload(mail))->error = r;
		file->ending = file->ending || operation->kind == GY_FILE_OPEN;
	}
	gy_timer_stop(&home->loop.wheel, &operation->timer);
	gy_list_remove(&operation->item);
	gy_file_operation_free(home, operation);
	gy_count(&home->counters.sent, 1);
	gy_house_put(home, house, mail, gy_mail_lane(mail));
	close_if_unused(file);
}

/* A watch has told what it had to tell: its file has no other use. */
static void end_watch(struct gy_file_operation *operation)
{
	struct gyre_file *file = operation->file;
	struct gy_home *home = file->house->home;

	gy_timer_stop(&home->loop.wheel, &operation->timer);
	gy_list_remove(&operation->item);
	if (operation->mail != NULL) {
		gy_mail_put(home, operation->mail);
	}
	gy_file_operation_free(home, operation);
	file->ending = true;
	close_if_unused(file);
}

static bool is_to_be_repeated(int result)
{
	return result == -EAGAIN || result == -EINTR || result == -GY_KERNEL_RESTART;
}

/*
 * The result of the kernel; or the reason of the cancellation, if that is what ended the operation.
 */
static int result_of(const struct gy_file_operation *operation, int result)
{
	bool interrupted = result == -ECANCELED || is_to_be_repeated(result);

	return interrupted && operation->cancelled != 0 ? operation->cancelled : result;
}

/* Takes note of what was written; whether there is more to write. */
static bool write_more(struct gy_file_operation *operation, uint64_t count)
{
	operation->done += count;
	operation->left -= count;
	if (operation->offset != GYRE_FILE_AT_POSITION) {
		operation->offset += count;
	}
	if (operation->buffer != NULL) {
		gy_buffer_consume(operation->buffer, count);
	} else {
		operation->memory.iov_base = (char *)operation->memory.iov_base + count;
		operation->memory.iov_len -= count;
	}
	return operation->left > 0;
}

/* Begins it, or goes on with it. */
static void step(struct gy_file_operation *operation)
{
	if (operation->cancelled != 0 && operation->kind == GY_FILE_WATCH) {
		end_watch(operation);
	} else if (operation->cancelled != 0) {
		answer(operation, operation->cancelled);
	} else if (prepare(operation) < 0) {
		gy_endpoint_ready(&operation->file->endpoint);
	}
}

/* A watch begins anew in process(), when its actor has handled the event; without memory for one,
 * or with events waiting, after a moment. */
static void watched(struct gy_file_operation *operation, int result)
{
	if (operation->cancelled != 0 || !gy_descriptor_report(operation, result)) {
		end_watch(operation);
	} else {
		gy_endpoint_ready(&operation->file->endpoint);
	}
}

/* Phase 1. */
static void completed(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_file_operation *operation = gy_container_of(op, struct gy_file_operation, op);
	int result = completion->result;
	bool again = operation->cancelled == 0 && is_to_be_repeated(result);

	if (operation->kind == GY_FILE_OPEN && result == -EAGAIN) {
		operation->flags &= ~O_NONBLOCK; /* a lease, which its holder has to give back */
	}
	if (operation->kind == GY_FILE_WRITE && result == 0) {
		result = -EIO; /* a device that takes nothing and says nothing */
	}
	if (operation->kind == GY_FILE_WRITE && result > 0) {
		again = write_more(operation, (uint64_t)result);
	}
	if (again) {
		step(operation);
	} else if (operation->kind == GY_FILE_WATCH) {
		watched(operation, result);
	} else {
		answer(operation, result_of(operation, result));
	}
}

static void timed_out(struct gy_timer *timer)
{
	struct gy_file_operation *operation =
		gy_container_of(timer, struct gy_file_operation, timer);

	if (operation->kind == GY_FILE_WATCH) {
		gy_endpoint_ready(&operation->file->endpoint);
		return;
	}
	cancel(operation, -ETIMEDOUT);
	if (!operation->told) {
		gy_timer_start(&operation->file->house->home->loop.wheel, timer, retry_ns);
	}
}

/* So that no more than one event of a watch waits in the mailbox. */
static void step_if_handled(struct gy_file_operation *operation)
{
	if (operation->kind == GY_FILE_WATCH && operation->cancelled == 0 &&
	    !gy_descriptor_is_handled(operation)) {
		gy_timer_start(&operation->file->house->home->loop.wheel, &operation->timer,
			       retry_ns);
	} else {
		step(operation);
	}
}

static void begin(struct gy_file_operation *operation)
{
	if (operation->timeout_ns != GYRE_FOREVER) {
		gy_timer_start(&operation->file->house->home->loop.wheel, &operation->timer,
			       operation->timeout_ns);
	}
	step(operation);
}

void gy_file_start(struct gy_file_operation *operation)
{
	struct gyre_file *file = operation->file;

	gy_op_init(&operation->op, completed);
	gy_timer_init(&operation->timer, timed_out);
	gy_list_append(&file->operations, &operation->item);
	if (!file->endpoint.away) {
		begin(operation);
	}
}

/* ---- the file as an endpoint ---- */

/* Does what there was no room for in the ring. */
static void process(struct gy_endpoint *endpoint)
{
	struct gyre_file *file = file_of(endpoint);
	struct gy_list *item = file->operations.next;

	endpoint->ready = false;
	gy_file_hold(file);
	while (item != &file->operations && !endpoint->ready) {
		struct gy_file_operation *operation =
			gy_container_of(item, struct gy_file_operation, item);

		item = item->next;
		if (operation->op.armed && operation->cancelled != 0) {
			cancel(operation, operation->cancelled);
		} else if (!operation->op.armed) {
			step_if_handled(operation);
		}
	}
	gy_file_release(file);
}

static void drain(struct gy_endpoint *endpoint)
{
	gy_file_end(file_of(endpoint), -ECANCELED);
}

static void abort_file(struct gy_endpoint *endpoint, int reason)
{
	(void)reason;
	gy_file_end(file_of(endpoint), -ECANCELED);
}

static void came_home(struct gy_endpoint *endpoint)
{
	struct gyre_file *file = file_of(endpoint);
	struct gy_list *item = file->operations.next;

	gy_file_hold(file);
	while (item != &file->operations) {
		struct gy_file_operation *operation =
			gy_container_of(item, struct gy_file_operation, item);

		item = item->next;
		begin(operation);
	}
	gy_file_release(file);
}

static void bury(struct gy_endpoint *endpoint)
{
	struct gyre_file *file = file_of(endpoint);

	gy_sizes_delete(&file->house->home->parts, file, sizeof(*file));
}

static const struct gy_endpoint_ops file_ops = {
	.process = process,
	.drain = drain,
	.abort = abort_file,
	.came_home = came_home,
	.bury = bury,
	.of_actor = true,
};

struct gy_file_operation *gy_file_watch_of(struct gy_endpoint *endpoint)
{
	struct gy_list *item;
	struct gy_file_operation *operation;

	if (endpoint->ops != &file_ops || gy_list_empty(&file_of(endpoint)->operations)) {
		return NULL;
	}
	item = file_of(endpoint)->operations.next;
	operation = gy_container_of(item, struct gy_file_operation, item);
	return operation->kind == GY_FILE_WATCH ? operation : NULL;
}

struct gyre_file *gy_file_make(struct gy_house *house)
{
	struct gy_sizes *parts = &house->home->parts;
	struct gyre_file *file = (struct gyre_file *)gy_sizes_new(parts, sizeof(*file));

	if (file == NULL) {
		return NULL;
	}
	*file = (struct gyre_file){
		.endpoint = { .ops = &file_ops, .fd = -1 },
		.house = house,
	};
	gy_list_init(&file->operations);
	if (gy_endpoint_add(&file->endpoint, house) < 0) {
		gy_sizes_delete(parts, file, sizeof(*file));
		return NULL;
	}
	return file;
}
