/*
 * Writes whose end the program wants to know.
 *
 * The output is a stream, and sent bytes are taken off it by their count. So a write has ended when
 * as many bytes have gone as stood before its end. A promise notes that number behind the write,
 * and only while there are promises do completions of sends count for them. Handlers are told in
 * phase 2, when the channel is processed.
 *
 * Datagrams have places in such a stream too. A datagram may be refused while others are sent, or
 * overtake them; a promise waits until all before it have gone either way.
 *
 * Bytes that a handler withholds are not in the output yet: their promises get their numbers when
 * the bytes are released.
 *
 * Actors write by an ask to the channel's address. These asks wait while the channel is unwritable,
 * so that an actor that awaits each of them cannot flood it.
 */
#include <errno.h>

#include <gyre/bytes.h>

#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "channel/channel.h"
#include "channel/output/output.h"

struct gy_write_promise {
	struct gy_fifo_item link;
	uint64_t mark; /* compared with mailbox->taken_bytes; or @withheld */
	int error;     /* why it was not sent, where the channel's end does not say that; or 0 */
	gyre_written_fn callback;
	void *arg;
};

enum { COPIED_BYTES = 512 };

static const uint64_t withheld = UINT64_MAX; /* that much is never taken */

/* ---- noting ---- */

static struct gy_write_promise *make(struct gyre_channel *channel)
{
	return gy_channel_mailbox_get(channel) == NULL
		       ? NULL
		       : (struct gy_write_promise *)gy_sizes_new(&channel->channels->home->parts,
								 sizeof(struct gy_write_promise));
}

static void discard(struct gyre_channel *channel, struct gy_write_promise *written)
{
	gy_sizes_delete(&channel->channels->home->parts, written, sizeof(*written));
}

static void add(struct gyre_channel *channel, struct gy_write_promise *written)
{
	struct gy_channel_mailbox *mailbox = channel->mailbox;

	written->error = 0;
	if (channel->kind->count_output != NULL) {
		channel->kind->count_output(channel, &written->mark, &mailbox->taken_bytes);
	} else {
		if (gy_fifo_empty(&mailbox->written)) {
			mailbox->taken_bytes = 0;
		}
		written->mark = channel->withheld_bytes > 0
					? withheld
					: mailbox->taken_bytes + channel->output_bytes;
	}
	gy_fifo_push(&mailbox->written, &written->link);
	gy_channel_mailbox_ready(channel);
}

int gyre_context_write_then(struct gyre_handler_context *ctx, struct gyre_buffer *data,
			    gyre_written_fn callback, void *arg)
{
	struct gyre_channel *channel = ctx == NULL ? NULL : ctx->channel;
	struct gy_write_promise *written;
	int r;

	if (ctx == NULL || callback == NULL || data == NULL) {
		gyre_buffer_destroy(data);
		return ctx == NULL || callback == NULL ? -EINVAL : -ENOMEM;
	}
	written = make(channel);
	if (written == NULL) {
		gyre_buffer_destroy(data);
		return -ENOMEM;
	}
	r = gyre_context_write(ctx, data);
	if (r < 0) {
		discard(channel, written);
		return r;
	}
	written->callback = callback;
	written->arg = arg;
	add(channel, written);
	return 0;
}

/* ---- telling ---- */

bool gy_write_promises_are_due(const struct gy_channel_mailbox *mailbox)
{
	struct gy_fifo_item *first = mailbox->written.first;

	return first != NULL &&
	       gy_container_of(first, struct gy_write_promise, link)->mark <= mailbox->taken_bytes;
}

void gy_write_promises_fail(struct gy_channel_mailbox *mailbox, uint32_t position, size_t cost,
			    int error)
{
	for (struct gy_fifo_item *link = mailbox->written.first; link != NULL; link = link->next) {
		struct gy_write_promise *written =
			gy_container_of(link, struct gy_write_promise, link);

		/* Its end stands behind the begin of what failed, by no more than that. */
		if ((uint32_t)((uint32_t)written->mark - position) - 1 < cost) {
			written->error = error;
		}
	}
}

void gy_write_promises_release(struct gyre_channel *channel, int error)
{
	struct gy_channel_mailbox *mailbox = channel->mailbox;

	for (struct gy_fifo_item *link = mailbox == NULL ? NULL : mailbox->written.first;
	     link != NULL; link = link->next) {
		struct gy_write_promise *written =
			gy_container_of(link, struct gy_write_promise, link);

		if (written->mark != withheld) {
			continue;
		}
		written->error = written->error < 0 ? written->error : error;
		if (channel->withheld_bytes == 0) {
			written->mark = mailbox->taken_bytes + channel->output_bytes;
			gy_channel_mailbox_ready(channel);
		}
	}
}

/* Completes the first promise: its write has ended, or the channel has. */
static void tell_first(struct gy_channel_mailbox *mailbox, bool ended)
{
	struct gy_write_promise *written =
		gy_container_of(gy_fifo_pop(&mailbox->written), struct gy_write_promise, link);
	int error =
		ended || written->error < 0 ? written->error : gy_channel_failure(mailbox->channel);
	gyre_written_fn callback = written->callback;
	void *arg = written->arg;

	discard(mailbox->channel, written);
	mailbox->channel->channels->home->steps++;
	callback(mailbox->channel, error, arg);
}

/* Promises that are made meanwhile are for the next run: they may have ended already. */
void gy_write_promises_complete(struct gy_channel_mailbox *mailbox)
{
	const struct gy_fifo_item *last = mailbox->written.last;
	bool more = gy_write_promises_are_due(mailbox);

	while (more) {
		more = mailbox->written.first != last;
		tell_first(mailbox, true);
		more = more && gy_write_promises_are_due(mailbox);
	}
}

void gy_write_promises_end(struct gyre_channel *channel)
{
	struct gy_channel_mailbox *mailbox = channel->mailbox;

	while (mailbox != NULL && !gy_fifo_empty(&mailbox->written)) {
		tell_first(mailbox, gy_write_promises_are_due(mailbox));
	}
}

/* ---- what actors send ---- */

/* The ask, with a reference to its bytes until they are written. */
struct gy_send {
	struct gyre_bytes *bytes;
	size_t count;
};

static void send_destroy(struct gy_send *send)
{
	gyre_bytes_unref(send->bytes);
}
GYRE_OWN_MESSAGE_OWNING_(gy_send, 0x38, send_destroy);
_Static_assert(sizeof(struct gyre_sent) <= sizeof(struct gy_send), "the answer has room");

int gyre_send_shared(struct gyre_stack *stack, struct gyre_address channel,
		     struct gyre_bytes *bytes, uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gy_send send = { .count = gyre_bytes_count(bytes) };

	if (bytes == NULL || ret_future == NULL) {
		return -EINVAL;
	}
	send.bytes = gyre_bytes_ref(bytes);
	return gyre_ask(stack, channel,
			gyre_fill_gy_send(gyre_mail_create(stack, &gyre_type_gy_send), send),
			timeout_ns, ret_future);
}

int gyre_send_bytes(struct gyre_stack *stack, struct gyre_address channel, const void *bytes,
		    size_t count, uint64_t timeout_ns, struct gyre_future *ret_future)
{
	struct gyre_bytes *copy;
	int r;

	if ((bytes == NULL && count > 0) || ret_future == NULL) {
		return -EINVAL;
	}
	copy = gyre_bytes_create(bytes, count);
	if (copy == NULL) {
		return gyre_ask(stack, channel, NULL, timeout_ns, ret_future);
	}
	r = gyre_send_shared(stack, channel, copy, timeout_ns, ret_future);
	gyre_bytes_unref(copy);
	return r;
}

/* Whether its sender waits no longer; then it is dropped. */
static bool drop_if_expired(struct gy_channel_mailbox *mailbox, struct gyre_mail *ask)
{
	struct gy_home *home = mailbox->channel->channels->home;

	if (!gy_deadline_passed(ask->deadline, home->loop.sure_ns)) {
		return false;
	}
	gy_drop(home, ask, gy_channel_mailbox_address(mailbox), GYRE_DROP_EXPIRED, -ETIMEDOUT);
	return true;
}

/*
 * Senders that no longer wait may send more, and nothing is written while the channel is
 * unwritable. So asks that ran out are searched for whenever as many came as the last search left:
 * they are never many more than those that are waited for.
 */
static GY_COLD void drop_expired(struct gy_channel_mailbox *mailbox)
{
	struct gy_mails sends = mailbox->sends;
	struct gyre_mail *ask;

	mailbox->sends.first = NULL;
	mailbox->sends_kept = 0;
	mailbox->sends_since = 0;
	while ((ask = gy_mails_pop(&sends)) != NULL) {
		if (!drop_if_expired(mailbox, ask)) {
			gy_mails_push(&mailbox->sends, ask);
			mailbox->sends_kept++;
		}
	}
}

bool gy_send_arrived(struct gy_channel_mailbox *mailbox, struct gyre_mail *mail)
{
	if (mail->type->id != GYRE_ID(gy_send)) {
		return false;
	}
	gy_mails_push(&mailbox->sends, mail);
	if ((mailbox->channel->state & GY_OUTPUT_UNWRITABLE) != 0 &&
	    ++mailbox->sends_since > mailbox->sends_kept) {
		drop_expired(mailbox);
	}
	return true;
}

/* The bytes have gone, which a lack of memory must not deny: the ask's mail becomes the answer. */
static void answer(struct gyre_channel *channel, int error, void *arg)
{
	struct gyre_mail *ask = (struct gyre_mail *)arg;
	struct gy_stack *stack = channel->channels->stack;
	struct gyre_address asker = gy_mail_sender(ask);
	uint64_t count = ((const struct gy_send *)gyre_payload(ask))->count;

	if (error < 0) {
		gy_fail_ask(stack->home, ask, error);
		return;
	}
	gy_mail_release(ask);
	ask->type = &gyre_type_gyre_sent;
	ask->node.kind = GY_MAIL_REPLY;
	gy_mail_from(ask, stack->house);
	((struct gyre_sent *)gyre_payload(ask))->bytes = count;
	(void)gy_send(stack->home, asker, ask, GY_LANE_REPLY);
}

/* The ask needs them no more; few are copied, which costs less than a slice that refers to them. */
static struct gyre_buffer *take_bytes(struct gyre_channel *channel, struct gy_send *send)
{
	struct gyre_buffer *buffer = gy_buffer_get(&channel->channels->pools);

	int r = buffer == NULL ? -ENOMEM
		: send->count <= COPIED_BYTES
			? gyre_buffer_append(buffer, gyre_bytes_data(send->bytes), send->count)
			: gyre_buffer_append_shared(buffer, send->bytes);

	if (r < 0) {
		gyre_buffer_destroy(buffer);
		buffer = NULL;
	}
	send_destroy(send);
	send->bytes = NULL;
	return buffer;
}

/* False if it has to wait. */
static bool write_one(struct gy_channel_mailbox *mailbox, struct gyre_mail *ask)
{
	struct gyre_channel *channel = mailbox->channel;
	struct gy_send *send = (struct gy_send *)gyre_payload(ask);
	struct gy_home *home = channel->channels->home;
	int r = gy_output_check(channel, send->count);

	if (drop_if_expired(mailbox, ask)) {
		return true;
	}
	if (r == -EAGAIN) {
		return false;
	}
	gy_count(&home->counters.handled, 1);
	if (r == 0) {
		r = gyre_context_write_then(gyre_channel_tail(channel), take_bytes(channel, send),
					    answer, ask);
	}
	if (r < 0) {
		gy_fail_ask(home, ask, r);
	}
	return true;
}

bool gy_sends_are_due(const struct gy_channel_mailbox *mailbox)
{
	const uint32_t stop = GY_OUTPUT_UNWRITABLE | GY_CHANNEL_ENDING;

	return mailbox->sends.first != NULL && (mailbox->channel->state & stop) == 0;
}

void gy_sends_run(struct gy_channel_mailbox *mailbox)
{
	while (gy_sends_are_due(mailbox)) {
		struct gyre_mail *ask = gy_mail_of(mailbox->sends.first);
		struct gy_node *next = ask->node.next;

		if (!write_one(mailbox, ask)) {
			return;
		}
		mailbox->sends.first = next;
	}
}
