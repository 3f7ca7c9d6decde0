/*
 * Blocking calls of the test's own thread; the alarm of the fixture ends one that waits in vain.
 */
#include "remote/stranger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/outside.h>

#include "remote/patience.h"

static const struct gyre_type *const types[] = { &gyre_type_number, &gyre_type_place,
						 &gyre_type_large, NULL };

struct gyre_address stranger_open_on(uint32_t loops, const struct gyre_node_options *options,
				     const struct gyre_class *class)
{
	struct gyre_system_options system = { .loops = loops, .loops_max = loops + 1 };

	return stranger_open_system(&system, options, class);
}

struct gyre_address stranger_open_system(struct gyre_system_options *options,
					 const struct gyre_node_options *its_node,
					 const struct gyre_class *class)
{
	struct gyre_node_options node = *its_node;
	struct gyre_address address;

	node.id = STRANGER_NODE;
	node.listen = node.listen == NULL ? "tcp://127.0.0.1:0" : node.listen;
	node.types = node.types == NULL ? types : node.types;
	patience_of_node(&node);
	options->loops = options->loops == 0 ? 1 : options->loops;
	options->node = &node;
	fixture_open_with(options);
	options->node = NULL;
	address = spawn_outside(class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	return address;
}

struct gyre_address stranger_open_with(const struct gyre_node_options *options,
				       const struct gyre_class *class)
{
	return stranger_open_on(1, options, class);
}

void stranger_open(const struct gyre_node_options *options)
{
	(void)stranger_open_with(options, &sink_class);
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

void stranger_await_answer(struct gyre_address local)
{
	struct gyre_mail *answer = NULL;

	cr_assert_eq(gyre_system_ask(fixture.system, local,
				     gyre_system_new(fixture.system, number, 1), GYRE_FOREVER,
				     &answer),
		     0);
	gyre_mail_destroy(NULL, answer);
}

void stranger_dial(struct stranger *stranger)
{
	const struct sockaddr_in to = loopback(gyre_system_node_port(fixture.system));

	stranger->listener = -1;
	stranger->literal = false;
	stranger->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(stranger->fd, 0);
	cr_assert_eq(connect(stranger->fd, (const struct sockaddr *)&to, sizeof(to)), 0);
}

void stranger_listen_unheard(struct stranger *stranger, char text[STRANGER_TEXT_BYTES])
{
	struct sockaddr_in at = loopback(0);
	socklen_t bytes = sizeof(at);

	stranger->fd = -1;
	stranger->literal = false;
	stranger->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(stranger->listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(stranger->listener, 16), 0);
	cr_assert_eq(getsockname(stranger->listener, (struct sockaddr *)&at, &bytes), 0);
	(void)snprintf(text, STRANGER_TEXT_BYTES, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
}

void stranger_listen(struct stranger *stranger)
{
	char text[STRANGER_TEXT_BYTES];
	const struct gyre_node_peer peer = { STRANGER_ID, text };

	stranger_listen_unheard(stranger, text);
	cr_assert_eq(gyre_system_node_add_peer(fixture.system, &peer), 0);
}

void stranger_accept(struct stranger *stranger)
{
	stranger->fd = accept4(stranger->listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(stranger->fd, 0);
}

void stranger_close(struct stranger *stranger)
{
	/* The listener first: a dial that follows the end of the connection is refused, not reset.
	 */
	if (stranger->listener >= 0) {
		cr_assert_eq(close(stranger->listener), 0);
	}
	if (stranger->fd >= 0) {
		cr_assert_eq(close(stranger->fd), 0);
	}
	stranger->fd = -1;
	stranger->listener = -1;
}

/* ---- saying ---- */

struct gy_hello stranger_hello(void)
{
	return (struct gy_hello){ .version_min = GY_WIRE_VERSION_MIN,
				  .version_max = GY_WIRE_VERSION,
				  .node = STRANGER_ID,
				  .expected = STRANGER_NODE,
				  .incarnation = STRANGER_LIFE,
				  .message_bytes_max = 1 << 24,
				  .window_bytes = 1 << 22,
				  .nonce = "a nonce",
				  .cluster = "gyre" };
}

/* What is said to one that has hung up is lost. */
void stranger_say_bytes(struct stranger *stranger, const void *bytes, size_t count)
{
	const char *at = (const char *)bytes;

	while (count > 0) {
		ssize_t sent = send(stranger->fd, at, count, MSG_NOSIGNAL);

		if (sent <= 0) {
			return;
		}
		at += sent;
		count -= (size_t)sent;
	}
}

void stranger_say_hello(struct stranger *stranger, const struct gy_hello *hello)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];

	stranger->mine = *hello;
	stranger_say_bytes(stranger, bytes, gy_hello_put(hello, bytes));
}

void stranger_say_frame(struct stranger *stranger, const struct gy_frame *frame)
{
	unsigned char head[GY_WIRE_HEAD_BYTES_MAX];

	stranger_say_bytes(stranger, head, gy_wire_put(frame, head));
	stranger_say_bytes(stranger, frame->body, frame->bytes);
}

void stranger_say(struct stranger *stranger, enum gy_wire_kind kind, const void *body,
		  uint32_t bytes)
{
	stranger_say_frame(stranger, &(struct gy_frame){ .kind = kind,
							 .bytes = bytes,
							 .body = (const unsigned char *)body });
}

void stranger_credit(struct stranger *stranger, uint64_t bytes, uint64_t frames)
{
	unsigned char body[16];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };

	gyre_encode_u64(&out, bytes);
	gyre_encode_u64(&out, frames);
	stranger_say(stranger, GY_WIRE_CREDIT, body, sizeof(body));
}

/* ---- hearing ---- */

static bool hear_bytes(struct stranger *stranger, size_t from, size_t to)
{
	while (from < to) {
		ssize_t got = recv(stranger->fd, stranger->bytes + from, to - from, 0);

		if (got <= 0) {
			return false;
		}
		from += (size_t)got;
	}
	return true;
}

static bool hear_any(struct stranger *stranger)
{
	int64_t length;

	if (!hear_bytes(stranger, 0, GY_WIRE_WORD_BYTES)) {
		return false;
	}
	length = gy_wire_bytes(stranger->bytes, GY_WIRE_WORD_BYTES);
	cr_assert_gt(length, 0);
	cr_assert_leq(length, (int64_t)sizeof(stranger->bytes));
	if (!hear_bytes(stranger, GY_WIRE_WORD_BYTES, (size_t)length)) {
		return false;
	}
	gy_wire_get(stranger->bytes, &stranger->frame);
	return true;
}

/* One that names a head is heard as if it had been said in full. */
static void expand(struct stranger *stranger)
{
	struct gy_frame *frame = &stranger->frame;
	const struct gy_frame again = *frame;

	if (frame->index >= GY_WIRE_HEADS) {
		return;
	}
	if (frame->kind == GY_WIRE_NOTICE || frame->kind == GY_WIRE_ASK ||
	    frame->kind == GY_WIRE_REPLY) {
		stranger->heads[frame->index] = *frame;
	} else if ((frame->kind == GY_WIRE_REPEAT || frame->kind == GY_WIRE_REPEAT_ID) &&
		   !stranger->literal) {
		*frame = stranger->heads[again.index];
		cr_assert_eq(frame->kind == GY_WIRE_NOTICE, again.kind == GY_WIRE_REPEAT);
		frame->bytes = again.bytes;
		frame->body = again.body;
		frame->ask_id = again.ask_id;
	}
}

bool stranger_hear(struct stranger *stranger)
{
	do {
		if (!hear_any(stranger)) {
			return false;
		}
	} while (stranger->frame.kind == GY_WIRE_PING);
	expand(stranger);
	if (stranger->frame.kind == GY_WIRE_HELLO) {
		cr_assert_eq(gy_hello_get(stranger->frame.body, stranger->frame.bytes,
					  &stranger->theirs),
			     0);
	}
	return true;
}

void stranger_expect(struct stranger *stranger, enum gy_wire_kind kind)
{
	cr_assert(stranger_hear(stranger), "the connection ended");
	cr_assert_eq(stranger->frame.kind, kind, "a frame of kind %d came instead of %d",
		     (int)stranger->frame.kind, (int)kind);
}

void stranger_expect_end(struct stranger *stranger)
{
	cr_assert_not(stranger_hear(stranger), "a frame of kind %d came instead of the end",
		      (int)stranger->frame.kind);
}

void stranger_expect_refusal(struct stranger *stranger, enum gy_refusal refusal)
{
	stranger_expect(stranger, GY_WIRE_REFUSE);
	cr_assert_eq(stranger->frame.bytes, 1);
	cr_assert_eq(stranger->frame.body[0], refusal, "refused for %u instead of %u",
		     stranger->frame.body[0], (unsigned)refusal);
	stranger_expect_end(stranger);
}

void stranger_meet(struct stranger *stranger)
{
	const struct gy_hello hello = stranger_hello();

	stranger_dial(stranger);
	stranger_say_hello(stranger, &hello);
	stranger_expect(stranger, GY_WIRE_HELLO);
}

void stranger_welcome(struct stranger *stranger)
{
	struct gy_hello hello = stranger_hello();

	stranger_accept(stranger);
	stranger_expect(stranger, GY_WIRE_HELLO);
	cr_assert_eq(stranger->theirs.expected, STRANGER_ID);
	stranger_say_hello(stranger, &hello);
}

void stranger_await_known(void)
{
	struct gyre_node_status status = { .state = GYRE_NODE_UNKNOWN };

	while (status.state == GYRE_NODE_UNKNOWN) {
		(void)gyre_system_node_status(fixture.system, STRANGER_ID, &status);
		(void)sched_yield();
	}
}

const struct gyre_node_options stranger_quick = {
	.heartbeat_ns = GYRE_MILLISECONDS(100),
	.redial_min_ns = GYRE_MILLISECONDS(1),
	.redial_max_ns = GYRE_MILLISECONDS(1),
};

const struct gyre_node_options stranger_brief = {
	.heartbeat_ns = GYRE_MILLISECONDS(100),
	.redial_min_ns = GYRE_MILLISECONDS(1),
	.redial_max_ns = GYRE_MILLISECONDS(1),
	.suspect_ns = GYRE_MILLISECONDS(500),
	.down_ns = GYRE_SECONDS(1),
};
