/* Writes that wait for the handshake of TLS, and whose end somebody hears of: it is not told
 * before. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rig.h"
#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "tls_rig.h"

#include <gyre/tls.h>

TestSuite(tls_promise, .timeout = 60);

enum { MUCH = 50000 };

static struct rig rig;
static struct tls_certs certs;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;
static struct gyre_channel *server;
static struct gyre_channel *client;
static int wires[2]; /* the far ends, between which the test carries */

static struct {
	uint32_t count;
	uintptr_t last;
	int error;
	size_t carried; /* from the client, when it was told last */
} told;
static size_t carried;

static void on_written(struct gyre_channel *channel, int error, void *arg)
{
	(void)channel;
	cr_assert_eq((uintptr_t)arg, told.last + 1, "they come in order");
	told.last = (uintptr_t)arg;
	told.count++;
	told.error = error;
	told.carried = carried;
}

static const struct gyre_handler *const nobody[] = { NULL };

static void begin(void)
{
	rig_init(&rig, NULL);
	tls_certs_open(&certs);
	memset(&told, 0, sizeof(told));
	carried = 0;
	server_options =
		(struct gyre_tls_options){ .context = tls_rig_context(&certs.server, &certs.ca) };
	client_options = (struct gyre_tls_options){ .context = tls_rig_context(NULL, &certs.ca),
						    .server_name = "localhost" };
	wires[0] = rig_open(&rig, nobody, NULL, NULL, &server);
	cr_assert_eq(gyre_tls_server_add(server, GYRE_FIRST, &server_options), 0);
	wires[1] = rig_open(&rig, nobody, NULL, NULL, &client);
	cr_assert_eq(gyre_tls_client_add(client, GYRE_FIRST, &client_options), 0);
}

static void end(void)
{
	(void)close(wires[0]);
	(void)close(wires[1]);
	rig_fini(&rig);
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
	tls_certs_close(&certs);
}

static struct gyre_buffer *bytes_of(size_t count)
{
	static const unsigned char bytes[MUCH];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

static void write_then(size_t count, uintptr_t number)
{
	cr_assert_eq(gyre_context_write_then(gyre_channel_tail(client), bytes_of(count), on_written,
					     (void *)number),
		     0);
}

static size_t carry(int from, int to)
{
	static unsigned char bytes[4096];
	ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);
	ssize_t sent = got <= 0 ? 0 : send(to, bytes, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent <= 0) {
		return 0;
	}
	cr_assert_eq(recv(from, bytes, (size_t)sent, MSG_DONTWAIT), sent);
	return (size_t)sent;
}

/* As many as @arg points to have been told. */
static bool are_told(struct rig *r, void *arg)
{
	(void)r;
	carried += carry(wires[1], wires[0]);
	(void)carry(wires[0], wires[1]);
	return told.count >= *(const uint32_t *)arg;
}

static bool are_agreed(struct rig *r, void *arg)
{
	struct gyre_tls_session session;
	const uint32_t none = 0;

	(void)arg;
	return are_told(r, (void *)(uintptr_t)&none) && gyre_tls_session_of(server, &session) == 0;
}

static void wait_for(uint32_t count)
{
	cr_assert(rig_until(&rig, are_told, &count), "%u of %u", told.count, count);
}

Test(tls_promise, waits_for_the_handshake_and_for_what_it_held, .init = begin, .fini = end)
{
	int little = 1;

	/* The kernel takes little at a time. */
	cr_assert_eq(setsockopt(gyre_channel_descriptor(client), SOL_SOCKET, SO_SNDBUF, &little,
				sizeof(little)),
		     0);
	write_then(10, 1);
	write_then(MUCH - 10, 2);
	rig_settle(&rig); /* nothing is carried */
	cr_expect_eq(told.count, 0);
	wait_for(2);
	cr_expect_eq(told.error, 0);
	cr_expect_gt(told.carried, MUCH / 2, "what is left may be with the kernel");
	write_then(10, 3);
	wait_for(3);
	cr_expect_eq(told.error, 0);
	cr_assert(rig_until(&rig, are_agreed, NULL));
}

Test(tls_promise, is_not_kept_when_the_handshake_fails, .init = begin, .fini = end)
{
	static const char other[] = "HTTP/1.1 400 Bad Request\r\n\r\n";

	write_then(10, 1);
	rig_settle(&rig);
	cr_assert_eq(send(wires[1], other, sizeof(other) - 1, 0), sizeof(other) - 1);
	wait_for(1);
	cr_expect_eq(told.error, -EPROTO);
	gyre_channel_abort(server, 0);
	rig.warnings_expected = rig.logged;
}

Test(tls_promise, is_not_kept_when_the_channel_ends_in_the_handshake, .init = begin, .fini = end)
{
	write_then(10, 1);
	rig_settle(&rig);
	gyre_channel_abort(client, -ENETDOWN);
	wait_for(1);
	cr_expect_eq(told.error, -ENETDOWN);
	gyre_channel_abort(server, 0);
	rig.warnings_expected = rig.logged;
}

Test(tls_promise, is_not_kept_by_a_handler_that_has_left, .init = begin, .fini = end)
{
	write_then(10, 1);
	rig_settle(&rig);
	cr_assert_eq(gyre_pipeline_remove(client, "tls"), 0);
	write_then(10, 2);
	wait_for(1);
	cr_expect_eq(told.error, -ECANCELED);
	wait_for(2);
	cr_expect_eq(told.error, 0, "this one went as it is");
	gyre_channel_abort(server, 0);
	rig.warnings_expected = rig.logged;
}

Test(tls_promise, of_an_empty_write_waits_only_for_those_before_it, .init = begin, .fini = end)
{
	write_then(0, 1);
	rig_settle(&rig); /* nothing is carried */
	cr_expect_eq(told.count, 1);
	cr_expect_eq(told.error, 0);
	write_then(10, 2);
	write_then(0, 3);
	rig_settle(&rig);
	cr_expect_eq(told.count, 1);
	wait_for(3);
	cr_assert(rig_until(&rig, are_agreed, NULL));
	write_then(10, 4);
	wait_for(4);
	cr_expect_eq(told.error, 0, "nothing is withheld any more");
}

/* ---- an actor that sends ---- */

static struct {
	struct gyre_address to;
	bool over;
	int error;
	uint64_t bytes;
} sending;

struct sending_frame {
	struct gyre_future future;
};

static int send_bytes(struct gyre_stack *stack)
{
	struct sending_frame *frame = (struct sending_frame *)gyre_frame(stack);
	int r;

	GYRE_BEGIN(stack);
	r = gyre_send_bytes(stack, sending.to, "hello", 5, GYRE_FOREVER, &frame->future);
	GYRE_AWAIT(stack, r);
	sending.over = true;
	sending.error = gyre_future_error(&frame->future);
	if (sending.error == 0) {
		sending.bytes = gyre_future_get(&frame->future, gyre_sent)->bytes;
	}
	return 0;
	GYRE_END(stack);
}

static const struct gyre_class sending_class = { .name = "sending",
						 .frame_bytes = sizeof(struct sending_frame),
						 .mount = send_bytes };

static bool is_over(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	carried += carry(wires[1], wires[0]);
	(void)carry(wires[0], wires[1]);
	return sending.over;
}

Test(tls_promise, lets_an_actor_wait_until_what_it_sends_is_with_the_kernel, .init = begin,
     .fini = end)
{
	struct gyre_address actor;

	memset(&sending, 0, sizeof(sending));
	sending.to = gyre_channel_address(client);
	cr_assert_eq(
		gy_spawn(&rig.home, &(struct gy_spawn_order){ .class = &sending_class }, 0, &actor),
		0);
	rig_settle(&rig);
	cr_expect(!sending.over);
	cr_assert(rig_until(&rig, is_over, NULL));
	cr_expect_eq(sending.error, 0);
	cr_expect_eq(sending.bytes, 5);
	cr_assert(rig_until(&rig, are_agreed, NULL));
}
