#include "exchange_kit.h"

#include <string.h>

struct exchange_kit x;

/* In so long all is done that can be, and a frame has come to the other side. */
static const uint64_t moment_ns = GYRE_MICROSECONDS(100);

/* ---- gates ---- */

static bool open_gates[GATES];

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
	return gyre_ask(stack, x.gates, gyre_new(stack, question, .value = gate), GYRE_FOREVER,
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
	(void)gyre_probe_notify(x.probe, x.gates, gyre_test_new(x.test, question, .value = gate));
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

struct many_asks {
	int64_t value;
	uint32_t count;
	uint64_t timeout_ns;
};

static int have_asked(struct gyre_stack *stack, void *arg)
{
	const struct many_asks *many = (const struct many_asks *)arg;
	int r = 0;

	for (uint32_t i = 0; i < many->count && r == 0; i++) {
		uint32_t index = x.asked_count++ % ASKED_MAX;

		x.asked[index] = (struct asked){ .error = 1 };
		r = gyre_notify(stack, x.asker,
				gyre_new(stack, asking, .value = many->value + i,
					 .timeout_ns = many->timeout_ns, .index = index));
	}
	return r;
}

void x_ask_for_many(int64_t value, uint32_t count, uint64_t timeout_ns)
{
	struct many_asks many = { value, count, timeout_ns };

	(void)gyre_probe_do(x.probe, have_asked, &many);
}

struct asked *x_ask_for(int64_t value, uint64_t timeout_ns)
{
	x_ask_for_many(value, 1, timeout_ns);
	return &x.asked[(x.asked_count - 1) % ASKED_MAX];
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
	x.begun_count++;
	x.running++;
	x.running_max = x.running > x.running_max ? x.running : x.running_max;
	if (frame->value >= FORWARD) {
		x.running--;
		return leave(gyre_forward(stack, x.gates));
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
	x.written_count++;
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
	x.address = gyre_channel_address(gyre_context_channel(ctx));
	return gyre_exchange_open(ctx, (const struct gyre_exchange_options *)gyre_context_arg(ctx));
}

static void look_at_end(struct gyre_handler_context *ctx)
{
	cr_assert_eq(gyre_exchange_look(ctx, &x.at_end), 0);
	gyre_context_fire_inactive(ctx);
}

static void end_protocol(struct gyre_handler_context *ctx)
{
	(void)ctx;
	gyre_buffer_destroy(x.partial);
	x.partial = NULL;
}

static const struct gyre_handler protocol = { .name = "protocol",
					      .added = begin_protocol,
					      .read = decode,
					      .inactive = look_at_end,
					      .removed = end_protocol };

static int init_pipeline(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &protocol, arg);
}

static int remove_protocol(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_pipeline_remove(gyre_context_channel(ctx), protocol.name);
}

void x_remove(void)
{
	cr_assert_eq(gyre_tap_do(x.tap, remove_protocol, NULL), 0);
}

static int upgrade(struct gyre_handler_context *ctx, void *arg)
{
	int r = remove_protocol(ctx, NULL);

	return r < 0 ? r : gyre_pipeline_add(gyre_context_channel(ctx), GYRE_FIRST, &protocol, arg);
}

void x_upgrade(struct gyre_exchange_options *options)
{
	cr_assert_eq(gyre_tap_do(x.tap, upgrade, options), 0);
}

static int abort_channel(struct gyre_handler_context *ctx, void *arg)
{
	gyre_channel_abort(gyre_context_channel(ctx), *(const int *)arg);
	return 0;
}

void x_abort(int reason)
{
	(void)gyre_tap_do(x.tap, abort_channel, &reason);
}

static int find_owner(struct gyre_handler_context *ctx, void *arg)
{
	*(struct gyre_address *)arg = gyre_self(gyre_context_stack(ctx));
	return 0;
}

static int stop(struct gyre_stack *stack, void *arg)
{
	return gyre_stop(stack, *(const struct gyre_address *)arg);
}

void x_stop(struct gyre_address actor)
{
	cr_assert_eq(gyre_probe_do(x.probe, stop, &actor), 0);
}

void x_stop_owner(void)
{
	struct gyre_address owner;

	cr_assert_eq(gyre_tap_do(x.tap, find_owner, &owner), 0);
	(void)gyre_probe_watch(x.probe, owner);
	x_stop(owner);
}

/* ---- the kit ---- */

void x_log(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	x.warnings++;
	cr_assert_leq(x.warnings, x.warnings_expected, "%s", line->text);
}

const struct gyre_system_options exchange_kit_system = { EXCHANGE_KIT_LOG };

static void begin_apart(struct gyre_test *test)
{
	memset(&x, 0, sizeof(x));
	memset(open_gates, 0, sizeof(open_gates));
	x.test = test;
	x.probe = gyre_probe_create(test);
	x.gates = gyre_test_spawn(test, &gate_class, GYRE_NO_ARGUMENT);
}

static void begin(struct gyre_test *test, struct gyre_exchange_options *options,
		  const struct gyre_channel_options *channel)
{
	const struct gyre_acceptor_options acceptor = { .init_channel = init_pipeline,
							.init_arg = options,
							.channel = *channel };

	begin_apart(test);
	x.tap = gyre_tap_open(test, &acceptor, &x.peer);
}

void x_complete_serving(struct gyre_exchange_options *options)
{
	options->request = serve;
	options->frame_bytes = sizeof(struct serving_frame);
	options->reply = write_answer;
	options->fail = write_failure;
	options->request_barrier = is_alone;
}

void x_complete_asking(struct gyre_exchange_options *options)
{
	options->ask = write_question;
	options->ask_barrier = is_alone;
}

void x_serve(struct gyre_test *test, struct gyre_exchange_options *options)
{
	const struct gyre_channel_options channel = { .allow_half_close = true };

	if (options->request == NULL) {
		x_complete_serving(options);
	}
	begin(test, options, &channel);
	x.serves = true;
}

void x_ask_with(struct gyre_test *test, struct gyre_exchange_options *options,
		const struct gyre_channel_options *channel)
{
	if (options->ask == NULL) {
		x_complete_asking(options);
	}
	begin(test, options, channel);
	x.by_id = options->ids;
	x.asker = gyre_test_spawn(test, &asking_class, GYRE_NO_ARGUMENT);
}

void x_ask(struct gyre_test *test, struct gyre_exchange_options *options)
{
	const struct gyre_channel_options channel = { 0 };

	x_ask_with(test, options, &channel);
}

/* ---- as a client ---- */

static int keep_order(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)to;
	(void)local;
	x.keeping = ctx;
	return 0;
}

static const struct gyre_handler keeping = { .name = "keeping", .connect = keep_order };

static int init_client(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_LAST, &keeping, NULL);

	r = r < 0 ? r : init_pipeline(channel, arg);
	return r < 0 ? r : gyre_tap_add(channel, GYRE_LAST, x.tap);
}

void x_ask_server(struct gyre_test *test, struct gyre_exchange_options *options, const char *to)
{
	const struct gyre_connect_options connect = { .to = to,
						      .init_channel = init_client,
						      .init_arg = options,
						      .connect_timeout_ns = GYRE_SECONDS(1000) };

	x_complete_asking(options);
	begin_apart(test);
	x.server = to;
	x.tap = gyre_tap_create(test);
	cr_assert_eq(gyre_system_connect(gyre_test_system(test), &connect, NULL), 0);
	x_settle();
	x.asker = gyre_test_spawn(test, &asking_class, GYRE_NO_ARGUMENT);
}

static int pass_order(struct gyre_handler_context *ctx, void *arg)
{
	(void)ctx;
	(void)arg;
	return gyre_context_connect(x.keeping, x.server, NULL);
}

void x_go_on(void)
{
	cr_assert_eq(gyre_tap_do(x.tap, pass_order, NULL), 0);
}

static int look(struct gyre_handler_context *ctx, void *arg)
{
	return gyre_exchange_look(ctx, (struct gyre_exchange_load *)arg);
}

struct gyre_exchange_load x_load(void)
{
	struct gyre_exchange_load load = { 0 };

	cr_assert_eq(gyre_tap_do(x.tap, look, &load), 0);
	return load;
}

void x_settle(void)
{
	gyre_test_advance(x.test, moment_ns);
}

void x_send_all(const struct frame *frames, size_t count)
{
	(void)gyre_test_channel_write(x.peer, frames, count * sizeof(*frames), GYRE_SECONDS(1));
}

void x_send(uint64_t id, int64_t value)
{
	const struct frame frame = { id, value };

	x_send_all(&frame, 1);
}

static bool receive_within(struct frame *ret_frame, uint64_t within_ns)
{
	int64_t count = 1;

	while (x.frame_bytes < sizeof(x.frame) && count > 0) {
		count = gyre_test_channel_read(x.peer, (char *)&x.frame + x.frame_bytes,
					       sizeof(x.frame) - x.frame_bytes, within_ns);
		x.frame_bytes += count > 0 ? (size_t)count : 0;
	}
	if (x.frame_bytes < sizeof(x.frame)) {
		return false;
	}
	*ret_frame = x.frame;
	x.frame_bytes = 0;
	return true;
}

bool x_receive(struct frame *ret_frame)
{
	return receive_within(ret_frame, 0);
}

struct frame x_expect(void)
{
	struct frame frame = { 0 };

	cr_assert(receive_within(&frame, GYRE_SECONDS(1)), "no frame comes");
	return frame;
}

void x_expect_none(void)
{
	(void)gyre_test_channel_expect_none(x.peer, moment_ns);
}

void x_expect_dropped_at(const struct gyre_type *type, enum gyre_drop reason, uint32_t count,
			 const char *place)
{
	for (uint32_t i = 0; i < count; i++) {
		(void)gyre_test_expect_dead_letter_at(x.test, type, reason, 0, place);
	}
}
