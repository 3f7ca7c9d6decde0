/*
 * The calls on files: each checks what it is given, makes the operation, the mail that will answer
 * it and the promise that waits for that mail, and starts it. An operation outlives its time-out
 * and its stack, with the memory that the kernel uses: see file.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "actor/log_of.h"
#include "actor/stack/budget.h"
#include "actor/stack/stack.h"
#include "base/sized.h"
#include "buffer/buffer.h"
#include "channel/file/file.h"
#include "channel/output/output.h"

enum { MODE_DEFAULT = 0666 };

static int fail(struct gyre_future *future, int error)
{
	if (future != NULL) {
		*future = (struct gyre_future){ .error = error };
	}
	return error;
}

static int check(const struct gy_stack *stack, const struct gyre_file *file)
{
	if (file == NULL || file->house != stack->house) {
		return -EINVAL;
	}
	return file->ending ? -EBADF : 0;
}

struct gy_file_operation *gy_file_operation_make(struct gy_stack *stack, enum gy_file_kind kind,
						 const struct gyre_type *type, size_t tail_bytes)
{
	struct gy_home *home = stack->home;
	size_t bytes = sizeof(struct gy_file_operation) + tail_bytes;
	struct gy_file_operation *operation =
		(struct gy_file_operation *)gy_sizes_new(&home->parts, bytes);
	struct gyre_mail *mail = gy_mail_get(home, type);

	if (operation == NULL || mail == NULL) {
		if (operation != NULL) {
			gy_sizes_delete(&home->parts, operation, bytes);
		}
		gyre_mail_destroy(&stack->head, mail);
		return NULL;
	}
	gy_mail_from_nobody(mail);
	*operation = (struct gy_file_operation){ .kind = kind, .mail = mail, .total_bytes = bytes };
	return operation;
}

int gy_file_operation_begin(struct gy_stack *stack, struct gyre_file *file,
			    struct gy_file_operation *operation, uint64_t timeout_ns,
			    struct gyre_future *ret_future)
{
	int r = ret_future == NULL ? -EINVAL : gy_budget_timeout(stack, &timeout_ns);
	uint64_t id = r < 0 ? 0 : gy_promise_open(stack, GYRE_FOREVER, ret_future);

	if (id == 0) {
		r = fail(ret_future, r < 0 ? r : -ENOMEM);
		gyre_mail_destroy(&stack->head, operation->mail);
		gy_file_operation_free(stack->home, operation);
		return r;
	}
	operation->mail->ask_id = id;
	operation->file = file;
	operation->timeout_ns = timeout_ns;
	gy_file_start(operation);
	return 0;
}

/* ---- opening and closing ---- */

static int open_file(struct gyre_stack *stack, const char *path,
		     const struct gyre_file_options *options, uint64_t timeout_ns,
		     struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	size_t path_bytes = path == NULL ? 0 : strnlen(path, PATH_MAX) + 1;
	struct gy_file_operation *operation;
	struct gyre_file *file;
	int r;

	if (path_bytes == 0 || path_bytes > PATH_MAX) {
		return fail(ret_future, path == NULL ? -EINVAL : -ENAMETOOLONG);
	}
	operation =
		gy_file_operation_make(s, GY_FILE_OPEN, &gyre_type_gyre_file_opened, path_bytes);
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	memcpy(operation->tail, path, path_bytes);
	operation->flags = (options == NULL ? O_RDONLY : options->flags) | O_NONBLOCK;
	operation->mode = options == NULL || options->mode == 0 ? MODE_DEFAULT : options->mode;
	file = gy_file_make(s->house);
	if (file == NULL) {
		gyre_mail_destroy(stack, operation->mail);
		gy_file_operation_free(s->home, operation);
		return fail(ret_future, -ENOMEM);
	}
	r = gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
	if (r < 0) {
		gy_file_end(file, r);
	}
	return r;
}

int gyre_file_open_sized(struct gyre_stack *stack, const char *path,
			 const struct gyre_file_options *options, size_t options_bytes,
			 uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gyre_file_options whole;
	int r = GY_SIZED_READ(gyre_file_options, &whole, options, options_bytes,
			      gy_log_of_stack(stack));

	if (r < 0) {
		return fail(ret_future, r);
	}
	return open_file(stack, path, options == NULL ? NULL : &whole, timeout_ns, ret_future);
}

int gyre_file_adopt(struct gyre_stack *stack, int fd, struct gyre_file **ret_file)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gyre_file *file = NULL;
	int r = fd < 0 || ret_file == NULL ? -EINVAL : 0;

	if (r == 0 && gy_house_is_away(s->house)) {
		r = -EAGAIN; /* what it would be used with belongs to the other loop */
	}
	if (r == 0) {
		file = gy_file_make(s->house);
		r = file == NULL ? -ENOMEM : 0;
	}
	if (r < 0) {
		gy_channels_close(gy_channels_of(s->home), fd);
		return r;
	}
	file->endpoint.fd = fd;
	*ret_file = file;
	return 0;
}

void gyre_file_close(struct gyre_file *file)
{
	if (file != NULL) {
		gy_file_end(file, -ECANCELED);
	}
}

void gyre_file_opened_fini(struct gyre_file_opened *opened)
{
	gyre_file_close(opened->file);
}

void gyre_file_data_fini(struct gyre_file_data *data)
{
	gyre_buffer_destroy(data->buffer);
}

/* ---- reading and writing ---- */

static int check_read(const struct gy_stack *stack, const struct gyre_file *file,
		      const struct gyre_file_part *part)
{
	int r = check(stack, file);

	if (r == 0 && (part == NULL || part->bytes == 0)) {
		r = -EINVAL;
	}
	return r == 0 && part->bytes > GYRE_FILE_READ_BYTES_MAX ? -EMSGSIZE : r;
}

static int read_file(struct gyre_stack *stack, struct gyre_file *file,
		     const struct gyre_file_part *part, uint64_t timeout_ns,
		     struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;
	int r = check_read(s, file, part);

	if (r < 0) {
		return fail(ret_future, r);
	}
	operation = gy_file_operation_make(s, GY_FILE_READ, &gyre_type_gyre_file_data, 0);
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	operation->offset = part->offset;
	operation->memory = (struct iovec){ part->memory, part->bytes };
	if (part->memory == NULL) {
		operation->page =
			gy_page_get_of(&gy_channels_of(s->home)->pools, (uint32_t)part->bytes);
		if (operation->page == NULL) {
			gyre_mail_destroy(stack, operation->mail);
			gy_file_operation_free(s->home, operation);
			return fail(ret_future, -ENOMEM);
		}
		operation->memory.iov_base = operation->page->memory;
	}
	return gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
}

int gyre_file_read_sized(struct gyre_stack *stack, struct gyre_file *file,
			 const struct gyre_file_part *part, size_t part_bytes, uint64_t timeout_ns,
			 struct gyre_future *ret_future)
{
	struct gyre_file_part whole;
	int r = GY_SIZED_READ(gyre_file_part, &whole, part, part_bytes, gy_log_of_stack(stack));

	if (r < 0) {
		return fail(ret_future, r);
	}
	return read_file(stack, file, part == NULL ? NULL : &whole, timeout_ns, ret_future);
}

/* Takes @data. */
static struct gy_file_operation *make_write(struct gy_stack *stack, struct gyre_buffer *data)
{
	struct gy_channels *channels = gy_channels_of(stack->home);
	struct gy_file_operation *operation =
		gy_file_operation_make(stack, GY_FILE_WRITE, &gyre_type_gyre_file_done, 0);

	if (operation == NULL) {
		gy_buffer_put(data);
		return NULL;
	}
	data->next = NULL;
	operation->buffer = data;
	operation->left = data->bytes;
	operation->gather = (struct gy_gather *)gy_pool_get(&channels->gathers);
	if (operation->gather == NULL) {
		gyre_mail_destroy(&stack->head, operation->mail);
		gy_file_operation_free(stack->home, operation);
		return NULL;
	}
	return operation;
}

int gyre_file_write(struct gyre_stack *stack, struct gyre_file *file, uint64_t offset,
		    struct gyre_buffer *data, uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;
	int r = data == NULL ? -ENOMEM : check(s, file);

	if (r == 0 && data->bytes == 0) {
		r = -EINVAL;
	}
	if (r < 0) {
		gyre_buffer_destroy(data);
		return fail(ret_future, r);
	}
	operation = make_write(s, data);
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	operation->offset = offset;
	return gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
}

static int write_memory(struct gyre_stack *stack, struct gyre_file *file,
			const struct gyre_file_part *part, uint64_t timeout_ns,
			struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;
	int r = check(s, file);

	if (r == 0 && (part == NULL || part->memory == NULL || part->bytes == 0)) {
		r = -EINVAL;
	}
	if (r < 0) {
		return fail(ret_future, r);
	}
	operation = gy_file_operation_make(s, GY_FILE_WRITE, &gyre_type_gyre_file_done, 0);
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	operation->offset = part->offset;
	operation->memory = (struct iovec){ part->memory, part->bytes };
	operation->left = part->bytes;
	return gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
}

int gyre_file_write_memory_sized(struct gyre_stack *stack, struct gyre_file *file,
				 const struct gyre_file_part *part, size_t part_bytes,
				 uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gyre_file_part whole;
	int r = GY_SIZED_READ(gyre_file_part, &whole, part, part_bytes, gy_log_of_stack(stack));

	if (r < 0) {
		return fail(ret_future, r);
	}
	return write_memory(stack, file, part == NULL ? NULL : &whole, timeout_ns, ret_future);
}

/* ---- the rest ---- */

int gyre_file_sync(struct gyre_stack *stack, struct gyre_file *file, bool data_only,
		   uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;
	int r = check(s, file);

	if (r < 0) {
		return fail(ret_future, r);
	}
	operation = gy_file_operation_make(s, GY_FILE_SYNC, &gyre_type_gyre_file_done, 0);
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	operation->data_only = data_only;
	return gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
}

int gyre_file_stat(struct gyre_stack *stack, struct gyre_file *file, uint64_t timeout_ns,
		   struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;
	int r = check(s, file);

	if (r < 0) {
		return fail(ret_future, r);
	}
	operation = gy_file_operation_make(s, GY_FILE_STAT, &gyre_type_gyre_file_status,
					   sizeof(struct statx));
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	return gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
}

int gyre_file_truncate(struct gyre_stack *stack, struct gyre_file *file, uint64_t bytes,
		       uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;
	int r = check(s, file);

	if (r == 0 && bytes > INT64_MAX) {
		r = -EINVAL;
	}
	if (r == 0 && !gy_ring_features(gy_channels_of(s->home)->pools.ring).truncate) {
		r = -EOPNOTSUPP;
	}
	if (r < 0) {
		return fail(ret_future, r);
	}
	operation = gy_file_operation_make(s, GY_FILE_TRUNCATE, &gyre_type_gyre_file_done, 0);
	if (operation == NULL) {
		return fail(ret_future, -ENOMEM);
	}
	operation->offset = bytes;
	return gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
}
