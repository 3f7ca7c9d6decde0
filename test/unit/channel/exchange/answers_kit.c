#include "answers_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 5000, HEAD_BYTES = 16 };

/* What the peer lets pass between two reads, and after what it waits for nothing more. */
static const uint64_t moment_ns = GYRE_MICROSECONDS(100);
static const uint64_t patience_ns = GYRE_SECONDS(10);

struct answers_kit kit;
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
	(void)gyre_probe_notify(kit.key, gates, gyre_test_new(kit.test, knock, .gate = gate));
}

/* ---- the actor ---- */

struct serving_frame {
	struct gyre_future future;
	uint32_t number;
};

static uint64_t most(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* By all channels. */
static uint64_t bytes_sent(void)
{
	struct gyre_counters counters;

	cr_assert_eq(gyre_system_counters(gyre_test_system(kit.test), &counters), 0);
	return counters.bytes_sent;
}

static void look(void)
{
	struct gyre_exchange_load load;

	cr_assert_eq(gyre_exchange_look(kit.ctx, &load), 0);
	kit.requests_most = (uint32_t)most(kit.requests_most, load.requests);
	kit.queued_most = most(kit.queued_most, gyre_channel_queued_bytes(kit.channel));
}

static int serve(struct gyre_stack *stack)
{
	struct serving_frame *frame = (struct serving_frame *)gyre_frame(stack);
	struct gyre_exchange_load load;

	GYRE_BEGIN(stack);
	frame->number = gyre_message(stack, wanted)->number;
	kit.begun++;
	kit.owner = gyre_self(stack);
	look();
	cr_assert_eq(gyre_exchange_look(kit.ctx, &load), 0);
	kit.alone_wrong += kit.how[frame->number] == ANSWER_ALONE && load.requests != 1;
	if (kit.how[frame->number] == ANSWER_FAIL) {
		return gyre_throw(stack, -EIO);
	}
	if (kit.how[frame->number] == ANSWER_GATE) {
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
	       kit.how[((const struct wanted *)message)->number] == ANSWER_ALONE;
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
	const uint64_t head[2] = { number, kit.bytes[number] };

	put(ctx, head, sizeof(head));
}

/* What was written is sent, or queued as bytes, or as parts of the file. */
static void look_at_regions(void)
{
	uint64_t gone = bytes_sent() - kit.sent_before;
	uint64_t bytes = kit.written_bytes - gone - gyre_channel_queued_bytes(kit.channel);

	kit.region_bytes_most = most(kit.region_bytes_most, bytes);
}

static void put_file(struct gyre_handler_context *ctx, uint64_t count)
{
	const struct gyre_file_region what = { .bytes = count };

	cr_assert_eq(gyre_context_send_file(ctx, kit.file, &what), 0);
	look_at_regions();
}

static void put_whole(struct gyre_handler_context *ctx, uint64_t number)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	const uint64_t head[2] = { number, kit.bytes[number] };

	cr_assert_eq(gyre_buffer_append(buffer, head, sizeof(head)), 0);
	cr_assert_eq(gyre_buffer_append(buffer, pattern, kit.bytes[number]), 0);
	(void)gyre_context_write(ctx, buffer);
}

static void put_answer(struct gyre_handler_context *ctx, uint64_t number)
{
	uint64_t count = kit.bytes[number];

	kit.written++;
	kit.written_bytes += HEAD_BYTES + count;
	if (kit.how[number] == ANSWER_FILE && count > 0) {
		put_head(ctx, number);
		put_file(ctx, count);
	} else if (kit.how[number] == ANSWER_PIECES) {
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

static void decode(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	uint32_t number;

	if (kit.on_read != NULL) {
		kit.on_read();
	}
	if (kit.part == NULL) {
		kit.part = gyre_context_buffer(ctx);
	}
	(void)gyre_buffer_join(kit.part, data);
	while (gyre_buffer_bytes(kit.part) >= sizeof(number)) {
		(void)gyre_buffer_read(kit.part, &number, sizeof(number));
		(void)gyre_exchange_receive(
			ctx, number, gyre_new(gyre_context_stack(ctx), wanted, .number = number));
	}
}

static int begin_protocol(struct gyre_handler_context *ctx)
{
	kit.ctx = ctx;
	kit.channel = gyre_context_channel(ctx);
	cr_assert_eq(gyre_file_adopt(gyre_context_stack(ctx), kit.fd, &kit.file), 0);
	return gyre_exchange_open(ctx, &kit.options);
}

static void end_protocol(struct gyre_handler_context *ctx)
{
	(void)ctx;
	gyre_file_close(kit.file);
	gyre_buffer_destroy(kit.part);
	kit.part = NULL;
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	kit.input_closed += type->id == GYRE_ID(gyre_input_closed);
	gyre_context_fire_event(ctx, type, event);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	kit.inactive++;
	kit.reason = gyre_channel_reason(gyre_context_channel(ctx));
	gyre_context_fire_inactive(ctx);
}

static int init_pipeline(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler protocol = { .name = "protocol",
						      .added = begin_protocol,
						      .removed = end_protocol,
						      .read = decode,
						      .event = on_event,
						      .inactive = on_inactive };
	int r = gyre_pipeline_add(channel, GYRE_LAST, &protocol, NULL);

	(void)arg;
	r = r < 0 ? r : gyre_tap_add(channel, GYRE_LAST, kit.tap);
	return r < 0 || !kit.tls ? r : gyre_tls_server_add(channel, GYRE_FIRST, &kit.tls_options);
}

/* ---- what is logged ---- */

static void refuse_line(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_assert_fail("logged: %s", line->text);
}

const struct gyre_system_options answers_system = { .buffer_count = 64,
						    .buffer_bytes = 4096,
						    .write_low_bytes = 64 << 10,
						    .write_high_bytes = 256 << 10,
						    .write_max_bytes = 1 << 20,
						    .log = refuse_line };

/* ---- life ---- */

static void fill_pattern(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++) {
		pattern[i] = (unsigned char)(i * 7 + i / 251);
	}
}

static void make_file(void)
{
	kit.fd = open("/answers", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert_geq(kit.fd, 0);
	cr_assert_eq(write(kit.fd, pattern, sizeof(pattern)), (ssize_t)sizeof(pattern));
}

static void begin_tls(void)
{
	struct gyre_tls_context_options options;

	kit.tls = true;
	tls_certs_open(&kit.certs);
	options = (struct gyre_tls_context_options){ .certificate = kit.certs.server.certificate,
						     .key = kit.certs.server.key };
	cr_assert_eq(gyre_tls_context_create(gyre_test_system(kit.test), &options,
					     &kit.tls_options.context),
		     0);
	kit.context = SSL_CTX_new(TLS_client_method());
	kit.ssl = SSL_new(kit.context);
	kit.in = BIO_new(BIO_s_mem());
	kit.out = BIO_new(BIO_s_mem());
	cr_assert(kit.ssl != NULL && kit.in != NULL && kit.out != NULL);
	SSL_set_bio(kit.ssl, kit.in, kit.out);
	SSL_set_connect_state(kit.ssl);
}

static void end_tls(void)
{
	SSL_free(kit.ssl);
	SSL_CTX_free(kit.context);
	gyre_tls_context_unref(kit.tls_options.context);
	tls_certs_close(&kit.certs);
}

void answers_open(struct gyre_test *test, const struct answers_setup *setup)
{
	const struct gyre_acceptor_options options = { .channel = setup->channel,
						       .init_channel = init_pipeline };

	memset(&kit, 0, sizeof(kit));
	memset(open_gates, 0, sizeof(open_gates));
	fill_pattern();
	kit.test = test;
	kit.options = setup->exchange;
	kit.options.request = serve;
	kit.options.frame_bytes = sizeof(struct serving_frame);
	kit.options.reply = write_answer;
	kit.options.fail = write_failure;
	kit.options.request_barrier = is_alone;
	kit.reads_bytes = setup->reads_bytes;
	kit.sent_before = bytes_sent();
	kit.tap = gyre_tap_create(test);
	kit.key = gyre_probe_create(test);
	gates = gyre_test_spawn(test, &gate_class, GYRE_NO_ARGUMENT);
	make_file();
	if (setup->tls) {
		begin_tls();
	}
	kit.peer = gyre_test_channel_open(test, &options);
}

void answers_close(void)
{
	const struct gyre_tapped *last;

	gyre_test_channel_close(kit.peer);
	do {
		last = gyre_tap_take(kit.tap, patience_ns);
	} while (last != NULL && last->kind != GYRE_TAPPED_INACTIVE);
	cr_assert_neq(last, NULL);
	if (kit.tls) {
		end_tls();
	}
}

static int stop_owner(struct gyre_stack *stack, void *arg)
{
	(void)arg;
	return gyre_stop(stack, kit.owner);
}

void answers_stop_owner(void)
{
	(void)gyre_probe_do(kit.key, stop_owner, NULL);
}

/* ---- the peer ---- */

void answers_want(uint64_t bytes, enum answer_how how)
{
	cr_assert_lt(kit.asked, ANSWERS_MAX);
	cr_assert_leq(bytes, ANSWER_BYTES_MAX);
	kit.asked++;
	kit.bytes[kit.asked] = bytes;
	kit.how[kit.asked] = how;
}

/* What comes behind the head. */
static size_t take_body(const unsigned char *bytes, size_t count)
{
	uint64_t head[2];
	uint64_t left;

	memcpy(head, kit.head, sizeof(head));
	if (head[0] == 0 || head[0] > kit.asked || head[1] != kit.bytes[head[0]]) {
		kit.wrong = true;
		return count;
	}
	left = head[1] - (kit.at - HEAD_BYTES);
	count = count < left ? count : left;
	kit.wrong = kit.wrong || memcmp(bytes, pattern + (kit.at - HEAD_BYTES), count) != 0;
	kit.at += count;
	if (kit.at == HEAD_BYTES + head[1]) {
		kit.got[kit.got_count++] = (uint32_t)head[0];
		kit.at = 0;
	}
	return count;
}

static void take(const unsigned char *bytes, size_t count)
{
	size_t offset = 0;

	kit.got_bytes += count;
	while (offset < count && !kit.wrong) {
		if (kit.at < HEAD_BYTES) {
			kit.head[kit.at++] = bytes[offset++];
		}
		if (kit.at >= HEAD_BYTES) {
			offset += take_body(bytes + offset, count - offset);
		}
	}
}

/* Plain bytes, out of what has been received. */
static void take_tls(const unsigned char *bytes, size_t count)
{
	static unsigned char plain[1 << 16];
	int got;

	cr_assert_eq(BIO_write(kit.in, bytes, (int)count), (int)count);
	while ((got = SSL_read(kit.ssl, plain, sizeof(plain))) > 0) {
		take(plain, (size_t)got);
	}
}

/* Whether anything was there. */
static bool read_some(uint64_t within_ns)
{
	static unsigned char bytes[1 << 16];
	size_t left = kit.reads_bytes == 0 ? SIZE_MAX : kit.reads_bytes;
	bool any = false;

	while (left > 0) {
		int64_t r = gyre_test_channel_read(kit.peer, bytes,
						   left < sizeof(bytes) ? left : sizeof(bytes),
						   any ? 0 : within_ns);

		if (r <= 0) {
			kit.ended = kit.ended || r != -EAGAIN;
			return any;
		}
		(kit.tls ? take_tls : take)(bytes, (size_t)r);
		any = true;
		left -= (size_t)r;
	}
	return any;
}

static void send_tls(void)
{
	static unsigned char bytes[1 << 16];
	int count;

	while ((count = BIO_read(kit.out, bytes, sizeof(bytes))) > 0) {
		(void)gyre_test_channel_write(kit.peer, bytes, (size_t)count, 0);
	}
}

static void send_requests(void)
{
	static uint32_t numbers[ANSWERS_MAX];
	size_t count = kit.asked * sizeof(*numbers) - kit.asked_bytes;
	const char *from = (const char *)numbers + kit.asked_bytes;

	for (uint32_t i = 0; i < kit.asked; i++) {
		numbers[i] = i + 1;
	}
	if (count > 0 && !kit.tls) {
		(void)gyre_test_channel_write(kit.peer, from, count, 0);
		kit.asked_bytes += count;
	} else if (count > 0) {
		int r = SSL_write(kit.ssl, from, (int)count);

		kit.asked_bytes += r > 0 ? (size_t)r : 0;
	}
	if (kit.tls) {
		send_tls();
	}
}

/* Whether the peer has read anything. */
static bool turn(uint64_t within_ns)
{
	bool any;

	send_requests();
	any = read_some(within_ns);
	gyre_test_advance(kit.test, moment_ns);
	return any;
}

void answers_turn(void)
{
	(void)turn(0);
}

bool answers_come(void)
{
	while (kit.got_count < kit.asked && !kit.wrong && !kit.ended) {
		if (!turn(patience_ns)) {
			return kit.ended;
		}
	}
	return true;
}

void answers_expect_all(void)
{
	cr_assert(answers_come(), "%u of %u answers, %lu bytes", kit.got_count, kit.asked,
		  kit.got_bytes);
	cr_assert_not(kit.wrong, "wrong bytes in answer %u", kit.got_count + 1);
	cr_assert_eq(kit.got_count, kit.asked, "%u of %u answers, and the end (%d)", kit.got_count,
		     kit.asked, kit.reason);
	for (uint32_t i = 0; i < kit.got_count; i++) {
		cr_assert_eq(kit.got[i], i + 1);
	}
	cr_expect_eq(kit.inactive, 0);
}

void answers_expect_lost(void)
{
	for (uint32_t i = kit.begun; i < kit.asked; i++) {
		(void)gyre_test_expect_dead_letter(kit.test, wanted, GYRE_DROP_STOPPED,
						   patience_ns);
	}
	for (uint32_t i = kit.written; i < kit.begun; i++) {
		(void)gyre_test_expect_dead_letter(kit.test, written, GYRE_DROP_STOPPED,
						   patience_ns);
	}
}
