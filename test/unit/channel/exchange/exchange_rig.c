#include "exchange_rig.h"
#include "actor/life/lifecycle.h"
#include "channel/channel_mailbox.h"
#include "channel/exchange/exchange.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct exchange_rig x;

/* ---- gates ---- */

static bool open_gates[GATES];
static struct gyre_address gates;

static int wait_at_gate(struct gyre_stack *stack)
{
	int64_t gate = gyre_message(stack, question)->value % FORWARD;

	cr_assert_null(gyre_exchange_context(stack), "the channel is another actor's");
	if (!open_gates[gate]) {
		return gyre_stash(stack);
	}
	return gyre_reply(stack, gyre_new(stack, answer, .value = gate));
}

int x_wait(struct gyre_stack *stack, uint32_t gate, struct gyre_future *ret_future)
{
	return gyre_ask(stack, gates, gyre_new(stack, question, .value = gate), GYRE_FOREVER,
			ret_future);
}

static int open_gate(struct gyre_stack *stack)
{
	open_gates[gyre_message(stack, question)->value] = true;
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_return(stack);
}

static const struct gyre_class gate_class = {
	.name = "gates",
	.behaviour = { .ask = wait_at_gate, .notice = open_gate },
};

void x_open_gate(uint32_t gate)
{
	struct gyre_stack *stack = &rig_stack(&x.rig)->head;

	cr_assert_eq(gyre_notify(stack, gates, gyre_new(stack, question, .value = gate)), 0);
}

/* ---- an actor that asks ---- */

struct asking {
	int64_t value;
	uint64_t timeout_ns;
	uint32_t index;
};
GYRE_MESSAGE(asking, 0x1063);

struct asking_frame {
	struct gyre_future future;
	uint32_t index;
};

static int ask(struct gyre_stack *stack)
{
	struct asking_frame *frame = (struct asking_frame *)gyre_frame(stack);
	const struct asking *what = gyre_message(stack, asking);
	struct asked *to;

	GYRE_BEGIN(stack);
	frame->index = what->index;
	GYRE_AWAIT(stack,
		   gyre_ask(stack, x.address, gyre_new(stack, question, .value = what->value),
			    what->timeout_ns, &frame->future));
	to = &x.asked[frame->index];
	to->error = gyre_future_error(&frame->future);
	if (to->error == 0) {
		to->value = gyre_future_get(&frame->future, answer)->value;
	}
	x.ended++;
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct asking_frame),
						.behaviour = { .notice = ask } };

struct asked *x_ask_for(int64_t value, uint64_t timeout_ns)
{
	struct gyre_stack *stack = &rig_stack(&x.rig)->head;
	uint32_t index = x.asked_count++ % ASKED_MAX;
	struct gyre_mail *mail =
		gyre_new(stack, asking, .value = value, .timeout_ns = timeout_ns, .index = index);

	x.asked[index] = (struct asked){ .error = 1 };
	cr_assert_eq(gyre_notify(stack, x.asker, mail), 0);
	return &x.asked[index];
}

/* ---- the peer's requests ---- */

struct serving_frame {
	struct gyre_future future;
	int64_t value;
};

static void enter(void)
{
	x.depth++;
	x.depth_max = x.depth > x.depth_max ? x.depth : x.depth_max;
}

static int leave(int result)
{
	x.depth--;
	return result;
}

static bool waits(int64_t value)
{
	return (value >= WAIT && value < ALONE) || (value >= ALONE_WAIT && value < SILENT);
}

static int act(struct gyre_stack *stack, int64_t value)
{
	struct gyre_address channel = gyre_sender(stack);

	switch (value) {
	case SILENT:
		return gyre_return(stack);
	case TO_THE_CHANNEL:
		(void)gyre_notify(stack, channel, gyre_new(stack, question, .value = value));
		break;
	case STASH:
		value = gyre_stash(stack);
		break;
	default:
		break;
	}
	return value < 0 && value != -EINVAL
		       ? gyre_throw(stack, (int)value)
		       : gyre_reply(stack, gyre_new(stack, answer, .value = value + 1));
}

static int serve(struct gyre_stack *stack)
{
	struct serving_frame *frame = (struct serving_frame *)gyre_frame(stack);

	enter();
	GYRE_BEGIN(stack);
	frame->value = gyre_message(stack, question)->value;
	x.begun[x.begun_count++ % BEGUN_MAX] = frame->value;
	x.running++;
	x.running_max = x.running > x.running_max ? x.running : x.running_max;
	if (frame->value >= FORWARD) {
		x.running--;
		return leave(gyre_forward(stack, gates));
	}
	if (waits(frame->value)) {
		leave(0);
		GYRE_AWAIT(stack, x_wait(stack, (uint32_t)frame->value % 100, &frame->future));
	}
	x.running--;
	return leave(act(stack, frame->value));
	GYRE_END(stack);
}

static bool is_alone(const struct gyre_type *type, const void *message)
{
	int64_t value = ((const struct question *)message)->value;

	return type->id == GYRE_ID(question) && value >= ALONE && value < SILENT;
}

/* ---- the protocol ---- */

static int write_frame(struct gyre_handler_context *ctx, uint64_t id, int64_t value)
{
	const struct frame frame = { id, value };
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(buffer, &frame, sizeof(frame));
	return gyre_context_write(ctx, buffer);
}

static int write_answer(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
			const void *message)
{
	int64_t value = ((const struct answer *)message)->value;

	enter();
	cr_assert_eq(type->id, GYRE_ID(answer));
	return leave(value == UNWRITABLE + 1 ? -EMSGSIZE : write_frame(ctx, id, value));
}

static void write_failure(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	enter();
	(void)leave(write_frame(ctx, id, error));
}

static int write_question(struct gyre_handler_context *ctx, uint64_t id,
			  const struct gyre_type *type, const void *message)
{
	int64_t value = ((const struct question *)message)->value;

	cr_assert_eq(type->id, GYRE_ID(question));
	if (value < 0) {
		return (int)value;
	}
	x.written[x.written_count++ % BEGUN_MAX] = value;
	return write_frame(ctx, id, value);
}

/* A negative answer is an error of the peer. */
static int take_answer(struct gyre_handler_context *ctx, const struct frame *frame)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (frame->value < 0) {
		return x.by_id ? gyre_exchange_refuse_id(ctx, frame->id, (int)frame->value)
			       : gyre_exchange_refuse(ctx, (int)frame->value);
	}
	if (frame->value == NO_MEMORY) {
		return gyre_exchange_answer(ctx, NULL);
	}
	if (frame->value == WRONG_TYPE) {
		return gyre_exchange_answer(ctx, gyre_new(stack, question, .value = 1));
	}
	if (x.by_id) {
		return gyre_exchange_answer_id(ctx, frame->id,
					       gyre_new(stack, answer, .value = frame->value));
	}
	return gyre_exchange_answer(ctx, gyre_new(stack, answer, .value = frame->value));
}

static void decode(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct frame frame;

	if (x.partial == NULL) {
		x.partial = gyre_context_buffer(ctx);
	}
	(void)gyre_buffer_join(x.partial, data);
	while (gyre_buffer_bytes(x.partial) >= sizeof(frame)) {
		(void)gyre_buffer_read(x.partial, &frame, sizeof(frame));
		if (x.serves) {
			x.received = gyre_exchange_receive(
				ctx, frame.id, gyre_new(stack, question, .value = frame.value));
		} else {
			x.received = take_answer(ctx, &frame);
		}
	}
}

static int begin_protocol(struct gyre_handler_context *ctx)
{
	x.ctx = ctx;
	return gyre_exchange_open(ctx, (const struct gyre_exchange_options *)gyre_context_arg(ctx));
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	x.events += type->id == GYRE_ID(question);
	x.input_closed += type->id == GYRE_ID(gyre_input_closed);
	gyre_context_fire_event(ctx, type, event);
}

static void on_exception(struct gyre_handler_context *ctx, int error)
{
	x.exception = error;
	gyre_context_fire_exception(ctx, error);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	x.inactive++;
	x.reason = gyre_channel_reason(gyre_context_channel(ctx));
	gyre_buffer_destroy(x.partial);
	x.partial = NULL;
	gyre_context_fire_inactive(ctx);
}

static const struct gyre_handler protocol = {
	.name = "protocol", .added = begin_protocol, .read = decode, .event = on_event
};
static const struct gyre_handler watcher = { .name = "watcher",
					     .exception = on_exception,
					     .inactive = on_inactive };
static const struct gyre_handler *const protocol_only[] = { &protocol, &watcher, NULL };

/* ---- the rig ---- */

static const struct rig_options marks = {
	.low_bytes = 1 << 20, .high_bytes = 4 << 20, .max_bytes = 8 << 20, .linger_ns = 10000000000
};

static void begin(struct gyre_exchange_options *options, bool half_close)
{
	const struct gyre_channel_options channel = { .allow_half_close = half_close };

	memset(&x, 0, sizeof(x));
	memset(open_gates, 0, sizeof(open_gates));
	rig_init(&x.rig, &marks);
	cr_assert_eq(
		gy_spawn(&x.rig.home, &(struct gy_spawn_order){ .class = &gate_class }, 0, &gates),
		0);
	x.fd = rig_open(&x.rig, protocol_only, options, &channel, &x.channel);
	x.address = gyre_channel_address(x.channel);
	rig_settle(&x.rig);
}

void x_serve(struct gyre_exchange_options *options)
{
	options->request = serve;
	options->frame_bytes = sizeof(struct serving_frame);
	options->reply = write_answer;
	if (options->fail == NULL) {
		options->fail = write_failure;
	}
	options->request_barrier = is_alone;
	begin(options, true);
	x.serves = true;
}

void x_upgrade(struct gyre_exchange_options *options)
{
	gyre_context_remove(x.ctx);
	cr_assert_eq(gyre_pipeline_add(x.channel, GYRE_FIRST, &protocol, options), 0);
}

void x_ask(struct gyre_exchange_options *options)
{
	options->ask = write_question;
	options->ask_barrier = is_alone;
	begin(options, false);
	x.by_id = options->ids;
	cr_assert_eq(gy_spawn(&x.rig.home, &(struct gy_spawn_order){ .class = &asking_class }, 0,
			      &x.asker),
		     0);
	rig_settle(&x.rig);
}

void x_end(void)
{
	(void)close(x.fd);
	rig_fini(&x.rig);
}

struct gyre_exchange_options *x_options(void)
{
	return (struct gyre_exchange_options *)(uintptr_t)x.channel->mailbox->exchange->options;
}

struct gyre_exchange_load x_load(void)
{
	struct gyre_exchange_load load = { 0 };

	cr_assert_eq(gyre_exchange_look(x.ctx, &load), 0);
	return load;
}

void x_send(uint64_t id, int64_t value)
{
	const struct frame frame = { id, value };

	cr_assert_eq(send(x.fd, &frame, sizeof(frame), MSG_NOSIGNAL), sizeof(frame));
}

bool x_receive(struct frame *ret_frame)
{
	ssize_t r = recv(x.fd, (char *)&x.frame + x.frame_bytes, sizeof(x.frame) - x.frame_bytes,
			 MSG_DONTWAIT);

	x.frame_bytes += r > 0 ? (size_t)r : 0;
	if (x.frame_bytes < sizeof(x.frame)) {
		return false;
	}
	*ret_frame = x.frame;
	x.frame_bytes = 0;
	return true;
}

static bool has_received(struct rig *rig, void *arg)
{
	(void)rig;
	return x_receive((struct frame *)arg);
}

struct frame x_expect(void)
{
	struct frame frame = { 0 };

	cr_assert(rig_until(&x.rig, has_received, &frame), "no frame comes");
	return frame;
}

void x_expect_none(void)
{
	struct frame frame;

	rig_settle(&x.rig);
	cr_expect(!x_receive(&frame), "%lu %ld", frame.id, frame.value);
}

bool x_is_inactive(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return x.inactive > 0;
}
