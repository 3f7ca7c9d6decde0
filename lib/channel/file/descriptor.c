/*
 * Waiting for descriptors that are not ours. A wait is an operation of a file that has no
 * descriptor of its own: it polls, is answered as every operation is, and the file ends with it.
 *
 * A watch polls once, puts an event into the house, and polls again when the event was handled: the
 * house works on completions of its channels after its events. So readiness is level-triggered, and
 * events cannot pile up behind an actor that is slow.
 */
#include <errno.h>
#include <poll.h>

#include <gyre/descriptor.h>

#include "actor/house_extra.h"
#include "actor/mail/mailbox.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "channel/file/file.h"

enum { EVENTS = POLLIN | POLLOUT | POLLPRI | POLLRDHUP };

static bool is_valid(int fd, uint32_t events)
{
	return fd >= 0 && events != 0 && (events & ~(uint32_t)EVENTS) == 0;
}

/* An operation of a file of its own; NULL without memory. */
static struct gy_file_operation *make(struct gy_stack *stack, enum gy_file_kind kind, int fd,
				      uint32_t events)
{
	struct gy_file_operation *operation =
		gy_file_operation_make(stack, kind, &gyre_type_gyre_descriptor_ready, 0);

	if (operation == NULL) {
		return NULL;
	}
	operation->polled_fd = fd;
	operation->events = events;
	operation->file = gy_file_make(stack->house);
	if (operation->file == NULL) {
		gyre_mail_destroy(&stack->head, operation->mail);
		gy_file_operation_free(stack->home, operation);
		return NULL;
	}
	return operation;
}

int gyre_descriptor_wait(struct gyre_stack *stack, int fd, uint32_t events, uint64_t timeout_ns,
			 struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation = NULL;
	struct gyre_file *file;
	int r = is_valid(fd, events) ? 0 : -EINVAL;

	if (ret_future == NULL) {
		return -EINVAL;
	}
	if (r == 0) {
		operation = make(s, GY_FILE_POLL, fd, events);
		r = operation == NULL ? -ENOMEM : 0;
	}
	if (r < 0) {
		*ret_future = (struct gyre_future){ .error = r };
		return r;
	}
	file = operation->file;
	r = gy_file_operation_begin(s, file, operation, timeout_ns, ret_future);
	if (r < 0) {
		gy_file_end(file, r);
	}
	return r;
}

/* ---- watches ---- */

static struct gy_file_operation *find(const struct gy_house *house, int fd)
{
	const struct gy_endpoints *endpoints =
		house->extra == NULL ? NULL : house->extra->endpoints;
	struct gy_list *item = endpoints == NULL ? NULL : endpoints->open.next;

	for (; item != NULL && item != &endpoints->open; item = item->next) {
		struct gy_file_operation *operation =
			gy_file_watch_of(gy_container_of(item, struct gy_endpoint, item));

		if (operation != NULL && operation->polled_fd == fd && operation->cancelled == 0) {
			return operation;
		}
	}
	return NULL;
}

int gyre_descriptor_watch(struct gyre_stack *stack, int fd, uint32_t events)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_file_operation *operation;

	if (!is_valid(fd, events)) {
		return -EINVAL;
	}
	if (find(s->house, fd) != NULL) {
		return -EEXIST;
	}
	operation = make(s, GY_FILE_WATCH, fd, events);
	if (operation == NULL) {
		return -ENOMEM;
	}
	operation->timeout_ns = GYRE_FOREVER;
	gy_file_start(operation);
	return 0;
}

int gyre_descriptor_unwatch(struct gyre_stack *stack, int fd)
{
	struct gy_file_operation *operation = find(gy_stack_of(stack)->house, fd);

	if (operation == NULL) {
		return -ENOENT;
	}
	gy_file_end(operation->file, -ECANCELED);
	return 0;
}

bool gy_descriptor_report(struct gy_file_operation *operation, int result)
{
	struct gy_house *house = operation->file->house;
	struct gy_home *home = house->home;
	struct gyre_mail *mail = operation->mail;

	if (result >= 0) {
		mail = gy_mail_get(home, &gyre_type_gyre_descriptor_ready);
		if (mail == NULL) {
			return true; /* it is still ready in a moment */
		}
		gy_mail_from_nobody(mail);
	} else {
		operation->mail = NULL; /* the last event has its memory from the start */
	}
	mail->ask_id = 0;
	mail->node.kind = GY_MAIL_EVENT;
	*(struct gyre_descriptor_ready *)gyre_payload(mail) = (struct gyre_descriptor_ready){
		.fd = operation->polled_fd,
		.events = result < 0 ? 0 : (uint32_t)result,
		.error = result < 0 ? result : 0,
	};
	gy_count(&home->counters.sent, 1);
	gy_house_put(home, house, mail, GY_LANE_EVENT);
	return result >= 0;
}

bool gy_descriptor_is_handled(const struct gy_file_operation *operation)
{
	return operation->file->house->events == 0;
}
