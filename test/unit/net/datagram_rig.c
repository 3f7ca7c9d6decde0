#include "datagram_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/stack/stack.h"

struct rig datagram_rig;
struct datagrams datagrams;
static bool begun;

static void noting_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const struct gyre_socket_address *peer = gyre_buffer_peer(data);
	uint32_t at = datagrams.reads % DATAGRAMS_NOTED_MAX;

	datagrams.reads++;
	datagrams.bytes[at] = gyre_buffer_bytes(data);
	datagrams.numbers[at] = 0;
	(void)gyre_buffer_copy(data, 0, &datagrams.numbers[at], sizeof(datagrams.numbers[at]));
	datagrams.peer = peer == NULL ? (struct gyre_socket_address){ 0 } : *peer;
	if (datagrams.keep) {
		datagrams.kept[datagrams.kept_count++] = data;
	} else if (datagrams.silent) {
		gyre_buffer_destroy(data);
	} else {
		(void)gyre_context_write(ctx, data);
	}
}

static void noting_exception(struct gyre_handler_context *ctx, int error)
{
	datagrams.exceptions++;
	datagrams.error = error;
	gyre_context_fire_exception(ctx, error);
}

static void noting_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)ctx;
	*(writable ? &datagrams.writable : &datagrams.unwritable) += 1;
}

static void noting_inactive(struct gyre_handler_context *ctx)
{
	datagrams.closed++;
	datagrams.reason = gyre_channel_reason(ctx->channel);
	datagrams.channel = NULL;
}

static const struct gyre_handler noting = {
	.name = "noting",
	.read = noting_read,
	.exception = noting_exception,
	.writability = noting_writability,
	.inactive = noting_inactive,
};

static int init_noting(struct gyre_channel *channel, void *arg)
{
	datagrams.channel = channel;
	return gyre_pipeline_add(channel, GYRE_LAST, &noting, arg);
}

void datagram_begin_with(const struct rig_options *options)
{
	if (begun) {
		rig_fini(&datagram_rig);
	}
	begun = true;
	datagrams = (struct datagrams){ 0 };
	rig_init(&datagram_rig, options);
}

const char *datagram_name(const char *what)
{
	static char text[4][64];
	static size_t next;
	char *it = text[next++ % gy_countof(text)];

	(void)snprintf(it, sizeof(text[0]), "unix+dgram:@gyre-test-%d-%s", (int)getpid(), what);
	return it;
}

void datagram_begin(void)
{
	datagram_begin_with(NULL);
}

void datagram_end(void)
{
	while (datagrams.kept_count > 0) {
		gyre_buffer_destroy(datagrams.kept[--datagrams.kept_count]);
	}
	rig_fini(&datagram_rig);
}

struct gyre_socket_address datagram_open_with(const struct gyre_datagram_options *options,
					      struct gyre_address *ret_actor)
{
	struct gyre_socket_address address = { 0 };
	struct gyre_datagram_options with = *options;

	if (with.init_channel == NULL) {
		with.init_channel = init_noting;
	}
	with.ret_address = &address;
	cr_assert_eq(gyre_system_datagram_open((struct gyre_system *)(void *)&datagram_rig.homes,
					       &with, ret_actor),
		     0, "%s", datagram_rig.last_log);
	rig_settle(&datagram_rig);
	return address;
}

struct gyre_socket_address datagram_open_at(const char *bind)
{
	return datagram_open_with(&(struct gyre_datagram_options){ .bind = bind }, NULL);
}

int datagram_client(const struct gyre_socket_address *to, const char *bind_to)
{
	struct gyre_socket_address own;
	int fd = socket(to->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	cr_assert_geq(fd, 0);
	if (bind_to != NULL) {
		cr_assert_eq(gyre_socket_address_parse(bind_to, &own), 0);
		cr_assert_eq(bind(fd, (struct sockaddr *)&own.storage, own.bytes), 0);
	}
	cr_assert_eq(connect(fd, (const struct sockaddr *)&to->storage, to->bytes), 0);
	return fd;
}

void datagram_send(int fd, const void *bytes, size_t count)
{
	cr_assert_eq(send(fd, bytes, count, 0), (ssize_t)count, "%s", strerror(errno));
}

struct awaited {
	int fd;
	void *bytes;
	size_t count;
	ssize_t result;
};

static bool has_come(struct rig *rig, void *arg)
{
	struct awaited *awaited = (struct awaited *)arg;

	(void)rig;
	awaited->result = recv(awaited->fd, awaited->bytes, awaited->count, MSG_TRUNC);
	return awaited->result >= 0 || errno != EAGAIN;
}

ssize_t datagram_receive(int fd, void *bytes, size_t count)
{
	struct awaited awaited = { fd, bytes, count, -1 };

	cr_assert(rig_until_later(&datagram_rig, has_come, &awaited), "nothing comes");
	return awaited.result;
}

static bool reached(struct rig *rig, void *arg)
{
	const uint32_t *const *both = (const uint32_t *const *)arg;

	(void)rig;
	return *both[0] >= *both[1];
}

static void until(const uint32_t *what, uint32_t count)
{
	const uint32_t *both[] = { what, &count };

	cr_assert(rig_until_later(&datagram_rig, reached, both), "%u, not %u", *what, count);
}

void datagram_until_reads(uint32_t count)
{
	until(&datagrams.reads, count);
}

void datagram_until_closed(void)
{
	until(&datagrams.closed, 1);
}

void datagram_until_exceptions(uint32_t count)
{
	until(&datagrams.exceptions, count);
}

struct gyre_buffer *datagram_buffer(size_t count)
{
	static unsigned char bytes[1 << 17];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&datagram_rig)->pools);

	cr_assert_not_null(buffer);
	cr_assert_leq(count, sizeof(bytes));
	rig_fill(bytes, count, 0);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

int datagram_write(struct gyre_buffer *buffer, const struct gyre_socket_address *to)
{
	if (to != NULL) {
		cr_assert_eq(gyre_buffer_set_peer(buffer, to), 0);
	}
	return gyre_context_write(gyre_channel_tail(datagrams.channel), buffer);
}

const struct gy_channels_counters *datagram_counters(void)
{
	return gy_channels_counters(&datagram_rig.home);
}
