/* Datagrams that travel together: what the kernel received as one, and what leaves by one call. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/datagram_rig.h"

TestSuite(datagram_batch, .timeout = 60, .init = datagram_begin, .fini = datagram_end);

/* Sends @count bytes, which the kernel cuts into datagrams of @each. */
static void send_cut(int fd, const void *bytes, size_t count, uint16_t each)
{
	int value = each;

	cr_assert_eq(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &value, sizeof(value)), 0);
	datagram_send(fd, bytes, count);
	value = 0;
	cr_assert_eq(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &value, sizeof(value)), 0);
}

Test(datagram_batch, of_one_sender_is_cut_into_reads_without_a_copy)
{
	static unsigned char bytes[40 * 1000 + 300];
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	rig_fill(bytes, sizeof(bytes), 0);
	datagrams.keep = true;
	send_cut(fd, bytes, sizeof(bytes), 1000);
	datagram_until_reads(41);
	cr_expect_eq(datagram_counters()->datagram_receives, 1);
	cr_expect_eq(datagram_counters()->bytes_received, sizeof(bytes));
	cr_expect_eq(rig_channels(&datagram_rig)->datagrams->lent, 1);
	for (uint32_t i = 0; i < 41; i++) {
		const struct gyre_socket_address *peer = gyre_buffer_peer(datagrams.kept[i]);
		unsigned char part[1000];

		cr_assert_eq(datagrams.bytes[i], i < 40 ? 1000 : 300);
		(void)gyre_buffer_copy(datagrams.kept[i], 0, part, sizeof(part));
		cr_assert(rig_check(part, datagrams.bytes[i], i * 1000));
		cr_assert(gyre_socket_address_equal(peer, &datagrams.peer));
	}
	cr_expect_eq(rig_channels(&datagram_rig)->pools.addresses.used, 1, "they share it");
	(void)close(fd);
}

Test(datagram_batch, as_long_as_a_packet_is_received_whole)
{
	static unsigned char bytes[GYRE_DATAGRAM_BYTES_MAX];
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	datagrams.silent = true;
	send_cut(fd, bytes, sizeof(bytes), 1400);
	datagram_until_reads(47);
	cr_expect_eq(datagrams.bytes[46], GYRE_DATAGRAM_BYTES_MAX - 46 * 1400);
	cr_expect_eq(datagram_counters()->datagrams_truncated, 0);
	(void)close(fd);
}

Test(datagram_batch, is_received_singly_where_that_was_asked_for)
{
	static unsigned char bytes[10 * 1000];
	struct gyre_socket_address at = datagram_open_with(
		&(struct gyre_datagram_options){ .bind = "udp://127.0.0.1:0", .no_gro = true },
		NULL);
	int fd = datagram_client(&at, NULL);

	datagrams.silent = true;
	send_cut(fd, bytes, sizeof(bytes), 1000);
	datagram_until_reads(10);
	cr_expect_eq(datagram_counters()->datagram_receives, 10);
	(void)close(fd);
}

/* Writes @count datagrams of @bytes to @fd's socket, and receives them in order. */
static void write_to(int fd, uint32_t count, size_t bytes)
{
	struct gyre_socket_address own;
	static unsigned char got[1 << 16];

	cr_assert_eq(gy_socket_address_of(fd, &own), 0);
	for (uint32_t i = 0; i < count; i++) {
		struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&datagram_rig)->pools);

		rig_fill(got, bytes, i * bytes);
		cr_assert_eq(gyre_buffer_append(buffer, got, bytes), 0);
		cr_assert_eq(datagram_write(buffer, &own), 0);
	}
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(datagram_receive(fd, got, sizeof(got)), (ssize_t)bytes);
		cr_assert(rig_check(got, bytes, i * bytes));
	}
}

Test(datagram_batch, of_one_size_to_one_peer_leaves_by_one_send)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	write_to(fd, 64, 100);
	cr_expect_eq(datagram_counters()->datagram_sends, 1);
	cr_expect_eq(datagram_counters()->datagrams_sent, 64);
	cr_expect_eq(datagram_counters()->bytes_sent, 6400);
	write_to(fd, 65, 100);
	cr_expect_eq(datagram_counters()->datagram_sends, 3);
	write_to(fd, 47, 1452);
	cr_expect_eq(datagram_counters()->datagram_sends, 5, "64 KiB are too much for one");
	(void)close(fd);
}

Test(datagram_batch, ends_with_a_shorter_one_and_at_another_peer)
{
	static const size_t bytes[] = { 100, 100, 50, 100, 200, 0, 0, 100 };
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	struct gyre_socket_address own[2];
	unsigned char got[256];
	int fds[2];

	for (size_t i = 0; i < 2; i++) {
		fds[i] = datagram_client(&at, NULL);
		cr_assert_eq(gy_socket_address_of(fds[i], &own[i]), 0);
	}
	for (size_t i = 0; i < gy_countof(bytes); i++) {
		cr_assert_eq(datagram_write(datagram_buffer(bytes[i]), &own[0]), 0);
	}
	cr_assert_eq(datagram_write(datagram_buffer(100), &own[1]), 0);
	for (size_t i = 0; i < gy_countof(bytes); i++) {
		cr_assert_eq(datagram_receive(fds[0], got, sizeof(got)), (ssize_t)bytes[i]);
	}
	cr_assert_eq(datagram_receive(fds[1], got, sizeof(got)), 100);
	/* 100 100 50 | 100 | 200 | 0 | 0 | 100 | the other's */
	cr_expect_eq(datagram_counters()->datagram_sends, 7);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

Test(datagram_batch, leaves_singly_where_that_was_asked_for)
{
	struct gyre_socket_address at = datagram_open_with(
		&(struct gyre_datagram_options){ .bind = "udp://127.0.0.1:0", .no_gso = true },
		NULL);
	int fd = datagram_client(&at, NULL);

	write_to(fd, 100, 100);
	cr_expect_eq(datagram_counters()->datagram_sends, 100);
	(void)close(fd);
}

/* The kernel cuts nothing that goes without checksums. */
static void refuse_to_cut(void)
{
	const int on = 1;

	cr_assert_eq(setsockopt(datagrams.channel->endpoint.fd, SOL_SOCKET, SO_NO_CHECK, &on,
				sizeof(on)),
		     0);
}

Test(datagram_batch, that_the_kernel_will_not_cut_leaves_singly_and_teaches)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	refuse_to_cut();
	write_to(fd, 10, 100);
	cr_expect_eq(datagram_counters()->datagram_sends, 10);
	cr_expect_eq(datagram_counters()->datagrams_failed, 0);
	cr_expect_eq(datagrams.exceptions, 0);
	cr_expect_eq(gy_datagram_of(datagrams.channel)->segment_bytes_max, 99);
	(void)close(fd);
}

Test(datagram_batch, to_a_port_that_nobody_can_have_teaches_nothing)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	uint32_t before = gy_datagram_of(datagrams.channel)->segment_bytes_max;

	gy_socket_address_set_port(&at, 0);
	cr_expect_eq(datagram_write(datagram_buffer(100), &at), 0);
	cr_expect_eq(datagram_write(datagram_buffer(100), &at), 0);
	datagram_until_exceptions(2);
	cr_expect_eq(datagrams.error, -EINVAL);
	cr_expect_eq(gy_datagram_of(datagrams.channel)->segment_bytes_max, before);
}

/* A net of its own, whose packets are shorter than any Ethernet's; false without the right. */
static bool enter_narrow_net(int mtu)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd;
	bool done;

	if (unshare(CLONE_NEWNET) < 0) {
		return false;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	request.ifr_mtu = mtu;
	done = ioctl(fd, SIOCSIFMTU, &request) == 0;
	request.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
	done = ioctl(fd, SIOCSIFFLAGS, &request) == 0 && done;
	(void)close(fd);
	return done;
}

Test(datagram_batch, over_a_narrow_path_leaves_singly)
{
	struct gyre_socket_address at;
	int fd;

	if (!enter_narrow_net(700)) {
		cr_skip_test("a net of its own needs rights");
	}
	at = datagram_open_at("udp://127.0.0.1:0");
	fd = datagram_client(&at, NULL);
	write_to(fd, 10, 1400);
	cr_expect_eq(datagram_counters()->datagrams_failed, 0);
	cr_expect_lt(gy_datagram_of(datagrams.channel)->segment_bytes_max, 1400);
	write_to(fd, 10, 600);
	cr_expect_eq(datagram_counters()->datagram_sends, 11);
	(void)close(fd);
}

Test(datagram_batch, of_which_there_are_no_buffers_left_is_copied)
{
	static unsigned char bytes[20 * 1000];
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	rig_fill(bytes, sizeof(bytes), 0);
	datagrams.keep = true;
	for (uint32_t i = 1; i <= 30; i++) {
		send_cut(fd, bytes, sizeof(bytes), 1000);
		datagram_until_reads(i * 20);
	}
	cr_expect_leq(rig_channels(&datagram_rig)->datagrams->lent, 13);
	for (uint32_t i = 0; i < 600; i++) {
		unsigned char part[1000];

		cr_assert_eq(gyre_buffer_copy(datagrams.kept[i], 0, part, sizeof(part)), 1000);
		cr_assert(rig_check(part, sizeof(part), i % 20 * 1000));
	}
	(void)close(fd);
}

/* Sends 20 datagrams of 100 bytes and one of 50 as one, and receives them in order. */
static void expect_train_back(int fd)
{
	static unsigned char bytes[20 * 100 + 50];
	unsigned char got[256];

	rig_fill(bytes, sizeof(bytes), 0);
	send_cut(fd, bytes, sizeof(bytes), 100);
	for (uint32_t i = 0; i < 21; i++) {
		size_t count = i < 20 ? 100 : 50;

		cr_assert_eq(datagram_receive(fd, got, sizeof(got)), (ssize_t)count);
		cr_assert(rig_check(got, count, (size_t)i * 100));
	}
}

Test(datagram_batch, that_is_passed_on_as_it_came_takes_no_buffer_for_each)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);
	uint32_t before = rig_channels(&datagram_rig)->pools.buffers.total;

	expect_train_back(fd);
	cr_expect_eq(datagrams.reads, 21);
	cr_expect_eq(datagram_counters()->datagram_receives, 1);
	cr_expect_eq(datagram_counters()->datagram_sends, 1);
	cr_expect_eq(datagram_counters()->datagrams_sent, 21);
	cr_expect_leq(rig_channels(&datagram_rig)->pools.buffers.total, before + 8,
		      "one lot of them");
	(void)close(fd);
}

Test(datagram_batch, that_is_passed_on_and_refused_is_taken_apart)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	refuse_to_cut();
	for (uint32_t round = 1; round <= 3; round++) {
		expect_train_back(fd);
		cr_expect_eq(datagram_counters()->datagram_sends, round * 21);
		cr_expect_eq(gyre_channel_queued_bytes(datagrams.channel), 0);
	}
	cr_expect_eq(datagram_counters()->datagrams_failed, 0);
	cr_expect_eq(datagrams.exceptions, 0);
	(void)close(fd);
}

Test(datagram_batch, is_read_one_by_one_on_request_and_what_is_left_goes_with_the_channel)
{
	static unsigned char bytes[10 * 100];
	struct gyre_socket_address at = datagram_open_with(
		&(struct gyre_datagram_options){ .bind = "udp://127.0.0.1:0",
						 .channel = { .manual_read = true } },
		NULL);
	int fd = datagram_client(&at, NULL);

	datagrams.silent = true;
	send_cut(fd, bytes, sizeof(bytes), 100);
	for (uint32_t i = 1; i <= 4; i++) {
		gyre_context_read(gyre_channel_tail(datagrams.channel));
		datagram_until_reads(i);
		rig_settle(&datagram_rig);
		cr_expect_eq(datagrams.reads, i);
		cr_expect_eq(datagrams.bytes[i - 1], 100);
	}
	cr_expect_eq(rig_channels(&datagram_rig)->datagrams->lent, 1);
	gyre_channel_abort(datagrams.channel, 0);
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_eq(rig_channels(&datagram_rig)->datagrams->lent, 0);
	cr_expect_eq(rig_channels(&datagram_rig)->pools.addresses.used, 0);
	(void)close(fd);
}

/* Answers each with its first half, and its second. */
static void read_halves(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_buffer *half;

	cr_assert_eq(gyre_buffer_split(data, 50, &half), 0);
	cr_expect_eq(gyre_context_write(ctx, half), 0);
	cr_expect_eq(gyre_context_write(ctx, data), 0);
}

/* Answers with all that came, as one. */
static void read_joined(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	if (datagrams.kept_count == 0) {
		datagrams.kept[datagrams.kept_count++] = data;
		return;
	}
	cr_assert_eq(gyre_buffer_join(datagrams.kept[0], data), 0);
	if (gyre_buffer_bytes(datagrams.kept[0]) == 1000) {
		datagrams.kept_count = 0;
		cr_expect_eq(gyre_context_write(ctx, datagrams.kept[0]), 0);
	}
}

Test(datagram_batch, that_handlers_cut_or_joined_leaves_as_they_made_it)
{
	static const struct gyre_handler halving = { .read = read_halves };
	static const struct gyre_handler joining = { .read = read_joined };
	static unsigned char bytes[10 * 100];
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	rig_fill(bytes, sizeof(bytes), 0);
	cr_assert_eq(gyre_pipeline_add(datagrams.channel, GYRE_FIRST, &halving, NULL), 0);
	send_cut(fd, bytes, sizeof(bytes), 100);
	for (uint32_t i = 0; i < 20; i++) {
		unsigned char got[128];

		cr_assert_eq(datagram_receive(fd, got, sizeof(got)), 50);
		cr_assert(rig_check(got, 50, (size_t)i * 50));
	}
	cr_expect_eq(datagram_counters()->datagram_sends, 1);
	cr_assert_eq(gyre_pipeline_add(datagrams.channel, GYRE_FIRST, &joining, NULL), 0);
	send_cut(fd, bytes, sizeof(bytes), 100);
	cr_assert_eq(datagram_receive(fd, bytes, sizeof(bytes)), 1000);
	cr_assert(rig_check(bytes, 1000, 0));
	cr_expect_eq(datagram_counters()->datagram_sends, 2);
	(void)close(fd);
}
