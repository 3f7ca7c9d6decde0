#include "answers_rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/life/lifecycle.h"
#include "channel/file/region.h"

enum { PIECE_BYTES = 5000, HEAD_BYTES = 16 };

struct answers_rig a;
static unsigned char pattern[ANSWER_BYTES_MAX];

struct wanted {
	uint32_t number;
};
GYRE_MESSAGE(wanted, 0x1071);

struct written {
	uint32_t number;
};
GYRE_MESSAGE(written, 0x1072);

struct knock {
	uint32_t gate;
};
GYRE_REQUEST(knock, 0x1073, written);

/* ---- gates ---- */

static bool open_gates[ANSWERS_GATES];
static struct gyre_address gates;

static int wait_at_gate(struct gyre_stack *stack)
{
	if (!open_gates[gyre_message(stack, knock)->gate]) {
		return gyre_stash(stack);
	}
	return gyre_reply(stack, gyre_new(stack, written, .number = 0));
}

static int open_gate(struct gyre_stack *stack)
{
	open_gates[gyre_message(stack, knock)->gate] = true;
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_return(stack);
}

static const struct gyre_class gate_class = {
	.name = "gates",
	.behaviour = { .ask = wait_at_gate, .notice = open_gate },
};

void answers_open_gate(uint32_t gate)
{
	struct gyre_stack *stack = &rig_stack(&a.rig)->head;

	cr_assert_eq(gyre_notify(stack, gates, gyre_new(stack, knock, .gate = gate)), 0);
}

/* ---- the actor ---- */

struct serving_frame {
	struct gyre_future future;
	uint32_t number;
};

static void look(void)
{
	struct gyre_exchange_load load;

	cr_assert_eq(gyre_exchange_look(a.ctx, &load), 0);
	a.requests_most = load.requests > a.requests_most ? load.requests : a.requests_most;
	a.queued_most = gyre_channel_queued_bytes(a.channel) > a.queued_most
				? gyre_channel_queued_bytes(a.channel)
				: a.queued_most;
	a.region_bytes_most = a.channel->region_bytes > a.region_bytes_most
				      ? a.channel->region_bytes
				      : a.region_bytes_most;
}

static int serve(struct gyre_stack *stack)
{
	struct serving_frame *frame = (struct serving_frame *)gyre_frame(stack);
	struct gyre_exchange_load load;

	GYRE_BEGIN(stack);
	frame->number = gyre_message(stack, wanted)->number;
	a.begun++;
	look();
	cr_assert_eq(gyre_exchange_look(a.ctx, &load), 0);
	a.alone_wrong += a.how[frame->number] == ANSWER_ALONE && load.requests != 1;
	if (a.how[frame->number] == ANSWER_FAIL) {
		return gyre_throw(stack, -EIO);
	}
	if (a.how[frame->number] == ANSWER_GATE) {
		GYRE_AWAIT(stack,
			   gyre_ask(stack, gates,
				    gyre_new(stack, knock, .gate = frame->number % ANSWERS_GATES),
				    GYRE_FOREVER, &frame->future));
	}
	return gyre_reply(stack, gyre_new(stack, written, .number = frame->number));
	GYRE_END(stack);
}

static bool is_alone(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(wanted) &&
	       a.how[((const struct wanted *)message)->number] == ANSWER_ALONE;
}

/* ---- the protocol ---- */

static void put(struct gyre_handler_context *ctx, const void *bytes, size_t count)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	(void)gyre_context_write(ctx, buffer);
}

static void put_head(struct gyre_handler_context *ctx, uint64_t number)
{
	const uint64_t head[2] = { number, a.bytes[number] };

	put(ctx, head, sizeof(head));
}

static void put_file(struct gyre_handler_context *ctx, uint64_t count)
{
	const struct gyre_file_region what = { .bytes = count };

	cr_assert_eq(gyre_context_send_file(ctx, a.file, &what), 0);
}

static void put_whole(struct gyre_handler_context *ctx, uint64_t number)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	const uint64_t head[2] = { number, a.bytes[number] };

	cr_assert_eq(gyre_buffer_append(buffer, head, sizeof(head)), 0);
	cr_assert_eq(gyre_buffer_append(buffer, pattern, a.bytes[number]), 0);
	(void)gyre_context_write(ctx, buffer);
}

static void put_answer(struct gyre_handler_context *ctx, uint64_t number)
{
	uint64_t count = a.bytes[number];

	if (a.how[number] == ANSWER_FILE && count > 0) {
		put_head(ctx, number);
		put_file(ctx, count);
	} else if (a.how[number] == ANSWER_PIECES) {
		put_head(ctx, number);
		for (uint64_t at = 0; at < count; at += PIECE_BYTES) {
			put(ctx, pattern + at, PIECE_BYTES < count - at ? PIECE_BYTES : count - at);
		}
	} else {
		put_whole(ctx, number);
	}
	look();
}

static int write_answer(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
			const void *message)
{
	cr_assert_eq(type->id, GYRE_ID(written));
	cr_assert_eq(((const struct written *)message)->number, id);
	put_answer(ctx, id);
	return 0;
}

static void write_failure(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	cr_assert_eq(error, -EIO);
	put_answer(ctx, id);
}

/* Requests come whole: they are four bytes each, and a receive takes what is there. */
static void decode(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	static struct gyre_buffer *partial;
	uint32_t number;

	if (partial == NULL) {
		partial = gyre_context_buffer(ctx);
	}
	(void)gyre_buffer_join(partial, data);
	while (gyre_buffer_bytes(partial) >= sizeof(number)) {
		(void)gyre_buffer_read(partial, &number, sizeof(number));
		(void)gyre_exchange_receive(
			ctx, number, gyre_new(gyre_context_stack(ctx), wanted, .number = number));
	}
	if (gyre_buffer_bytes(partial) == 0) {
		gyre_buffer_destroy(partial);
		partial = NULL;
	}
}

static int begin_protocol(struct gyre_handler_context *ctx)
{
	a.ctx = ctx;
	return gyre_exchange_open(ctx, (const struct gyre_exchange_options *)gyre_context_arg(ctx));
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	a.input_closed += type->id == GYRE_ID(gyre_input_closed);
	gyre_context_fire_event(ctx, type, event);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	a.inactive++;
	a.reason = gyre_channel_reason(gyre_context_channel(ctx));
	gyre_context_fire_inactive(ctx);
}

static const struct gyre_handler protocol = { .name = "protocol",
					      .added = begin_protocol,
					      .read = decode,
					      .event = on_event,
					      .inactive = on_inactive };
static const struct gyre_handler *const protocol_only[] = { &protocol, NULL };

/* ---- the rig ---- */

static void open_file(void)
{
	char path[] = "/tmp/gyre-answers-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	cr_assert_geq(fd, 0);
	(void)unlink(path);
	cr_assert_eq(write(fd, pattern, sizeof(pattern)), (ssize_t)sizeof(pattern));
	cr_assert_eq(gyre_file_adopt(&rig_stack(&a.rig)->head, fd, &a.file), 0);
}

static void begin_tls(void)
{
	a.tls = true;
	tls_certs_open(&a.certs);
	a.tls_options =
		(struct gyre_tls_options){ .context = tls_rig_context(&a.certs.server, NULL) };
	tls_raw_open(&a.raw, TLS1_3_VERSION, NULL);
	cr_assert_eq(gyre_tls_server_add(a.channel, GYRE_FIRST, &a.tls_options), 0);
}

void answers_begin(const struct answers_setup *setup)
{
	static struct gyre_exchange_options options;

	memset(&a, 0, sizeof(a));
	memset(open_gates, 0, sizeof(open_gates));
	rig_fill(pattern, sizeof(pattern), 0);
	options = setup->exchange;
	options.request = serve;
	options.frame_bytes = sizeof(struct serving_frame);
	options.reply = write_answer;
	options.fail = write_failure;
	options.request_barrier = is_alone;
	a.reads_bytes = setup->reads_bytes;
	rig_init(&a.rig, &setup->marks);
	cr_assert_eq(
		gy_spawn(&a.rig.home, &(struct gy_spawn_order){ .class = &gate_class }, 0, &gates),
		0);
	a.fd = (setup->tcp ? rig_open_tcp : rig_open)(&a.rig, protocol_only, &options,
						      &setup->channel, &a.channel);
	if (setup->tls) {
		begin_tls();
	}
	rig_settle(&a.rig);
	open_file();
}

void answers_end(void)
{
	(void)close(a.fd);
	rig_fini(&a.rig);
	if (a.tls) {
		tls_raw_close(&a.raw);
		gyre_tls_context_unref(a.tls_options.context);
		tls_certs_close(&a.certs);
	}
}

/* ---- the peer ---- */

void answers_want(uint64_t bytes, enum answer_how how)
{
	cr_assert_lt(a.asked, ANSWERS_MAX);
	cr_assert_leq(bytes, ANSWER_BYTES_MAX);
	a.asked++;
	a.bytes[a.asked] = bytes;
	a.how[a.asked] = how;
}

/* What comes behind the head. */
static size_t take_body(const unsigned char *bytes, size_t count)
{
	uint64_t head[2];
	uint64_t left;

	memcpy(head, a.head, sizeof(head));
	if (head[0] == 0 || head[0] > a.asked || head[1] != a.bytes[head[0]]) {
		a.wrong = true;
		return count;
	}
	left = head[1] - (a.at - HEAD_BYTES);
	count = count < left ? count : left;
	a.wrong = a.wrong || memcmp(bytes, pattern + (a.at - HEAD_BYTES), count) != 0;
	a.at += count;
	if (a.at == HEAD_BYTES + head[1]) {
		a.got[a.got_count++] = (uint32_t)head[0];
		a.at = 0;
	}
	return count;
}

static void take(const unsigned char *bytes, size_t count)
{
	size_t offset = 0;

	a.got_bytes += count;
	while (offset < count && !a.wrong) {
		if (a.at < HEAD_BYTES) {
			a.head[a.at++] = bytes[offset++];
		}
		if (a.at >= HEAD_BYTES) {
			offset += take_body(bytes + offset, count - offset);
		}
	}
}

static void read_plain(void)
{
	static unsigned char bytes[1 << 16];
	size_t left = a.reads_bytes == 0 ? SIZE_MAX : a.reads_bytes;

	while (left > 0 && !a.ended) {
		ssize_t r = recv(a.fd, bytes, left < sizeof(bytes) ? left : sizeof(bytes),
				 MSG_DONTWAIT);

		if (r <= 0) {
			a.ended = r == 0 || errno != EAGAIN;
			return;
		}
		take(bytes, (size_t)r);
		left -= (size_t)r;
	}
}

static void read_tls(void)
{
	static unsigned char bytes[1 << 16];
	size_t most = a.reads_bytes == 0 ? sizeof(bytes) : a.reads_bytes;
	ssize_t r = recv(a.fd, bytes, most < sizeof(bytes) ? most : sizeof(bytes), MSG_DONTWAIT);
	int got;

	if (r > 0) {
		cr_assert_eq(BIO_write(a.raw.in, bytes, (int)r), (int)r);
	} else {
		a.ended = a.ended || r == 0 || errno != EAGAIN;
	}
	while ((got = SSL_read(a.raw.ssl, bytes, sizeof(bytes))) > 0) {
		take(bytes, (size_t)got);
	}
	while ((got = BIO_read(a.raw.out, bytes, sizeof(bytes))) > 0) {
		cr_assert_eq(send(a.fd, bytes, (size_t)got, MSG_NOSIGNAL), got);
	}
}

static ssize_t send_some(const void *bytes, size_t count)
{
	int r;

	if (!a.tls) {
		return send(a.fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	r = SSL_write(a.raw.ssl, bytes, (int)count);
	return r;
}

void answers_pump(void)
{
	static uint32_t numbers[ANSWERS_MAX];
	size_t count = a.asked * sizeof(*numbers);
	ssize_t r = 0;

	for (uint32_t i = 0; i < a.asked; i++) {
		numbers[i] = i + 1;
	}
	if (a.asked_bytes < count) {
		r = send_some((const char *)numbers + a.asked_bytes, count - a.asked_bytes);
	}
	a.asked_bytes += r > 0 ? (size_t)r : 0;
	if (a.tls) {
		read_tls();
	} else {
		read_plain();
	}
}

bool answers_have_come(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	answers_pump();
	return a.got_count == a.asked || a.wrong || a.ended;
}

void answers_expect_all(void)
{
	cr_assert(rig_until(&a.rig, answers_have_come, NULL), "%u of %u answers, %lu bytes",
		  a.got_count, a.asked, a.got_bytes);
	cr_assert_not(a.wrong, "wrong bytes in answer %u", a.got_count + 1);
	cr_assert_eq(a.got_count, a.asked, "%u of %u answers, and the end (%d)", a.got_count,
		     a.asked, gyre_channel_reason(a.channel));
	for (uint32_t i = 0; i < a.got_count; i++) {
		cr_assert_eq(a.got[i], i + 1);
	}
	cr_expect_eq(a.inactive, 0);
}

bool answers_are_inactive(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return a.inactive > 0;
}
