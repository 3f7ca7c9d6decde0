/* Datagram channels: what comes, from whom, and what leaves, to whom. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/codec.h>
#include <gyre/tls.h>

#include "actor/stack/stack.h"

#include "actor/mail/send.h"
#include "net/datagram_rig.h"

TestSuite(datagram, .timeout = 60, .init = datagram_begin, .fini = datagram_end);

static void expect_text(int fd, const char *text)
{
	char bytes[64] = { 0 };

	cr_expect_eq(datagram_receive(fd, bytes, sizeof(bytes)), (ssize_t)strlen(text));
	cr_expect_str_eq(bytes, text);
}

static void expect_echo(int fd, const char *text)
{
	datagram_send(fd, text, strlen(text));
	expect_text(fd, text);
}

/* ---- whom it hears ---- */

static void expect_sender(int fd)
{
	struct gyre_socket_address own;

	cr_assert_eq(gy_socket_address_of(fd, &own), 0);
	cr_expect(gyre_socket_address_equal(&own, &datagrams.peer));
}

Test(datagram, comes_with_its_sender_over_ipv4_and_goes_back_to_it)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int one = datagram_client(&at, NULL);
	int two = datagram_client(&at, NULL);

	cr_assert_neq(gyre_socket_address_port(&at), 0);
	expect_echo(one, "one");
	expect_sender(one);
	expect_echo(two, "two");
	expect_sender(two);
	expect_echo(one, "three");
	expect_sender(one);
	(void)close(one);
	(void)close(two);
}

Test(datagram, comes_with_its_sender_over_ipv6)
{
	struct gyre_socket_address at = datagram_open_at("udp://[::1]:0");
	int fd = datagram_client(&at, NULL);

	expect_echo(fd, "six");
	expect_sender(fd);
	(void)close(fd);
}

Test(datagram, comes_from_both_versions_of_ip_to_the_address_of_all)
{
	struct gyre_socket_address at = datagram_open_at("udp://[::]:0");
	struct gyre_socket_address four;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int fd;

	(void)snprintf(text, sizeof(text), "udp://127.0.0.1:%u",
		       (unsigned)gyre_socket_address_port(&at));
	cr_assert_eq(gyre_socket_address_parse(text, &four), 0);
	fd = datagram_client(&four, NULL);
	expect_echo(fd, "four");
	cr_expect_eq(datagrams.peer.storage.ss_family, AF_INET6, "as a mapped address");
	/* Those who are known by their own address are reached too. */
	cr_assert_eq(gy_socket_address_of(fd, &four), 0);
	cr_expect_eq(datagram_write(datagram_buffer(9), &four), 0);
	cr_expect_eq(datagram_receive(fd, text, sizeof(text)), 9);
	(void)close(fd);
}

Test(datagram, comes_with_its_sender_over_unix_sockets)
{
	struct gyre_socket_address at = datagram_open_at(datagram_name("datagram"));
	int fd = datagram_client(&at, datagram_name("client"));

	expect_echo(fd, "unix");
	expect_sender(fd);
	(void)close(fd);
}

Test(datagram, comes_without_a_sender_from_a_unix_socket_without_a_name)
{
	struct gyre_socket_address at = datagram_open_at(datagram_name("datagram"));
	int fd = datagram_client(&at, NULL);

	datagram_send(fd, "x", 1);
	datagram_until_reads(1);
	cr_expect_eq(datagrams.peer.bytes, 0);
	cr_expect_eq(datagram_counters()->datagrams_failed, 1, "there is nobody to answer");
	(void)close(fd);
}

Test(datagram, binds_a_unix_path_whose_file_goes_with_it)
{
	char path[64];
	char bind[80];
	struct gyre_address actor;
	struct gyre_socket_address at;
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/gyre-datagram-%d.socket", (int)getpid());
	(void)snprintf(bind, sizeof(bind), "unix+dgram:%s", path);
	at = datagram_open_with(&(struct gyre_datagram_options){ .bind = bind }, &actor);
	fd = datagram_client(&at, datagram_name("client"));
	expect_echo(fd, "file");
	(void)close(fd);
	cr_expect_eq(access(path, F_OK), 0);
	(void)gy_send_signal(&datagram_rig.home, actor, &gy_type_stop, GY_MAIL_EVENT);
	datagram_until_closed();
	rig_settle(&datagram_rig);
	cr_expect_eq(access(path, F_OK), -1);
}

/* ---- what it takes and gives ---- */

Test(datagram, may_be_empty)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);
	char byte;

	datagram_send(fd, "", 0);
	cr_expect_eq(datagram_receive(fd, &byte, 1), 0);
	cr_expect_eq(datagrams.reads, 1);
	cr_expect_eq(datagrams.bytes[0], 0);
	expect_echo(fd, "full");
	(void)close(fd);
}

Test(datagram, may_be_as_long_as_a_packet)
{
	static unsigned char bytes[GYRE_DATAGRAM_BYTES_MAX];
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	rig_fill(bytes, sizeof(bytes), 0);
	datagram_send(fd, bytes, sizeof(bytes));
	memset(bytes, 0, sizeof(bytes));
	cr_expect_eq(datagram_receive(fd, bytes, sizeof(bytes)), GYRE_DATAGRAM_BYTES_MAX);
	cr_expect(rig_check(bytes, sizeof(bytes), 0));
	cr_expect_eq(datagrams.bytes[0], GYRE_DATAGRAM_BYTES_MAX);
	(void)close(fd);
}

Test(datagram, is_refused_over_that_length_or_without_a_peer)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	struct gyre_handler_context *tail = gyre_channel_tail(datagrams.channel);
	struct gyre_buffer *buffer = datagram_buffer(5);

	cr_expect_eq(datagram_write(datagram_buffer(GYRE_DATAGRAM_BYTES_MAX + 1), &at), -EMSGSIZE);
	cr_expect_eq(datagram_write(datagram_buffer(5), NULL), -EDESTADDRREQ);
	cr_expect_eq(datagram_write(NULL, NULL), -ENOMEM);
	cr_expect_eq(gyre_context_try_write(tail, buffer), -EDESTADDRREQ);
	cr_expect_eq(gyre_channel_queued_bytes(datagrams.channel), 0);
	cr_expect_eq(gyre_buffer_set_peer(buffer, &at), 0);
	cr_expect_eq(gyre_context_try_write(tail, buffer), 0);
	datagram_until_reads(1);
	cr_expect_eq(datagram_counters()->datagrams_failed, 2);
	cr_expect_eq(datagrams.closed, 0);
	datagrams.silent = true; /* it has been talking to itself */
	rig_settle(&datagram_rig);
}

Test(datagram, is_never_a_part_of_a_file)
{
	const struct gyre_file_region what = { .bytes = 1 };
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int source = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = datagram_client(&at, NULL);
	struct gyre_file *file;

	cr_assert_eq(gyre_file_adopt(&rig_stack(&datagram_rig)->head, source, &file), 0);
	cr_expect_eq(gyre_context_send_file(gyre_channel_tail(datagrams.channel), file, &what),
		     -EOPNOTSUPP);
	gyre_file_close(file);
	expect_echo(fd, "still");
	(void)close(fd);
}

Test(datagram, of_more_slices_than_a_send_takes_leaves_whole)
{
	unsigned char bytes[512];
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);
	struct gyre_buffer *whole = datagram_buffer(200);
	struct gyre_buffer *many;
	struct gyre_socket_address own;

	cr_assert_eq(gyre_buffer_split(whole, 1, &many), 0);
	for (uint32_t i = 1; i < 200; i++) {
		struct gyre_buffer *more;

		cr_assert_eq(gyre_buffer_split(whole, 1, &more), 0);
		cr_assert_eq(gyre_buffer_join(many, more), 0);
	}
	gyre_buffer_destroy(whole);
	cr_assert_eq(gy_socket_address_of(fd, &own), 0);
	cr_expect_eq(datagram_write(many, &own), 0);
	cr_expect_eq(datagram_receive(fd, bytes, sizeof(bytes)), 200);
	cr_expect(rig_check(bytes, 200, 0));
	(void)close(fd);
}

Test(datagram, keeps_the_order)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 50; i++) {
			uint32_t number = round * 50 + i;

			/* Of many lengths, so that they leave singly and together. */
			unsigned char bytes[100] = { 0 };

			memcpy(bytes, &number, sizeof(number));
			datagram_send(fd, bytes, 4 + number / 7 % 90);
		}
		for (uint32_t i = 0; i < 50; i++) {
			uint32_t number = 0;

			(void)datagram_receive(fd, &number, sizeof(number));
			cr_assert_eq(number, round * 50 + i);
		}
	}
	(void)close(fd);
}

Test(datagram, longer_than_a_buffer_is_thrown_away_and_counted)
{
	static const unsigned char bytes[1500];
	struct gyre_socket_address at;
	int fd;

	datagram_begin_with(&(struct rig_options){ .datagram_buffer_bytes = 1024 });
	at = datagram_open_at("udp://127.0.0.1:0");
	fd = datagram_client(&at, NULL);
	datagram_send(fd, bytes, 1400);
	datagram_send(fd, bytes, 1024);
	datagram_until_reads(1);
	cr_expect_eq(datagrams.bytes[0], 1024);
	cr_expect_eq(datagram_counters()->datagrams_truncated, 1);
	(void)close(fd);
}

Test(datagram, waits_for_buffers_when_there_are_none)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	datagrams.keep = true;
	for (uint32_t i = 0; i < 100; i++) {
		datagram_send(fd, &i, sizeof(i));
	}
	datagram_until_reads(100);
	cr_expect_gt(datagram_counters()->buffer_stalls, 0);
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(datagrams.numbers[i], i);
	}
	(void)close(fd);
}

Test(datagram, that_a_handler_keeps_does_not_stop_others)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	datagrams.keep = true;
	for (uint32_t i = 0; i < 100; i++) {
		datagram_send(fd, &i, sizeof(i));
		datagram_until_reads(i + 1);
	}
	cr_expect_leq(rig_channels(&datagram_rig)->datagrams->lent, 13);
	cr_expect_eq(datagram_counters()->buffer_stalls, 0);
	(void)close(fd);
}

Test(datagram, is_read_on_request)
{
	struct gyre_socket_address at = datagram_open_with(
		&(struct gyre_datagram_options){ .bind = "udp://127.0.0.1:0",
						 .channel = { .manual_read = true } },
		NULL);
	int fd = datagram_client(&at, NULL);

	for (uint32_t i = 0; i < 3; i++) {
		datagram_send(fd, &i, sizeof(i));
	}
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 0);
	for (uint32_t i = 1; i <= 3; i++) {
		gyre_context_read(gyre_channel_tail(datagrams.channel));
		datagram_until_reads(i);
		rig_settle(&datagram_rig);
		cr_expect_eq(datagrams.reads, i);
	}
	(void)close(fd);
}

/* ---- with other handlers ---- */

static void ask_again(struct gyre_handler_context *ctx)
{
	gyre_context_read(ctx);
	gyre_context_fire_read_complete(ctx);
}

Test(datagram, may_hold_several_frames_which_have_its_sender)
{
	static const struct gyre_handler asking = { .read_complete = ask_again };
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	datagrams.silent = true; /* nothing else brings the channel into another run */
	cr_assert_eq(gyre_pipeline_add(datagrams.channel, GYRE_FIRST, &asking, NULL), 0);
	cr_assert_eq(gyre_line_codec_add(datagrams.channel, GYRE_FIRST, NULL), 0);
	gyre_channel_set_auto_read(datagrams.channel, false);
	gyre_context_read(gyre_channel_tail(datagrams.channel));
	datagram_send(fd, "one\ntwo\nthree\n", 14);
	datagram_until_reads(3);
	cr_expect_eq(datagrams.bytes[2], strlen("three"));
	expect_sender(fd);
	(void)close(fd);
}

/* A channel that cuts frames, and answers nothing; a client of it. */
static int open_silent(struct gyre_socket_address *ret_at)
{
	*ret_at = datagram_open_at("udp://127.0.0.1:0");
	datagrams.silent = true;
	return datagram_client(ret_at, NULL);
}

static int open_with_lines(const struct gyre_line_options *options,
			   struct gyre_socket_address *ret_at)
{
	int fd = open_silent(ret_at);

	cr_assert_eq(gyre_line_codec_add(datagrams.channel, GYRE_FIRST, options), 0);
	return fd;
}

Test(datagram, that_ends_within_a_frame_adds_nothing_to_those_of_other_senders)
{
	static const struct gyre_line_options late = { .frame_bytes_max = 4, .fail_late = true };
	struct gyre_socket_address at;
	int one = open_with_lines(&late, &at);
	int other = datagram_client(&at, NULL);

	datagram_send(one, "a\nbc", 4);
	datagram_until_exceptions(1);
	cr_expect_eq(datagrams.error, -EPROTO);
	datagram_send(other, "de\n", 3);
	datagram_until_reads(2);
	cr_expect_eq(datagrams.bytes[1], 2);
	expect_sender(other);
	datagram_send(one, "much too long", 13);
	datagram_until_exceptions(2);
	cr_expect_eq(datagrams.error, -EMSGSIZE);
	datagram_send(other, "fgh\n", 4);
	datagram_until_reads(3);
	cr_expect_eq(datagrams.bytes[2], 3);
	expect_sender(other);
	cr_expect_eq(datagrams.exceptions, 2);
	(void)close(one);
	(void)close(other);
}

Test(datagram, that_cannot_be_understood_is_the_fault_of_no_other)
{
	static const struct gyre_length_options options = { .length_adjustment = -4,
							    .frame_bytes_max = 100 };
	struct gyre_socket_address at;
	int one = open_silent(&at);
	int other = datagram_client(&at, NULL);

	cr_assert_eq(gyre_length_codec_add(datagrams.channel, GYRE_FIRST, &options), 0);
	datagram_send(one, "\0\0\0\3", 4); /* ends within its own length */
	datagram_until_exceptions(1);
	cr_expect_eq(datagrams.error, -EPROTO);
	datagram_send(other, "\0\0\0\5a", 5);
	datagram_until_reads(1);
	datagram_send(one, "\177\0\0\0\0\0\0\5b", 9);
	datagram_until_exceptions(2);
	cr_expect_eq(datagrams.error, -EMSGSIZE);
	datagram_send(other, "\0\0\0\5c", 5);
	datagram_until_reads(2);
	expect_sender(other);
	cr_expect_eq(datagrams.exceptions, 2);
	(void)close(one);
	(void)close(other);
}

Test(datagram, that_is_empty_is_no_frame_and_not_what_was_asked_for)
{
	struct gyre_socket_address at;
	int fd = open_with_lines(NULL, &at);

	gyre_channel_set_auto_read(datagrams.channel, false);
	gyre_context_read(gyre_channel_tail(datagrams.channel));
	datagram_send(fd, "", 0);
	datagram_send(fd, "one\n", 4);
	datagram_until_reads(1);
	cr_expect_eq(datagrams.bytes[0], 3);
	(void)close(fd);
}

/* Asks for the next read before the first frame of two has been followed by the second. */
static void ask_meanwhile(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	gyre_context_read(ctx);
}

Test(datagram, that_comes_while_frames_of_another_wait_stays_apart)
{
	static const struct gyre_handler asking = { .name = "asking", .timer = ask_meanwhile };
	struct gyre_socket_address at;
	int one = open_with_lines(NULL, &at);
	int other = datagram_client(&at, NULL);

	cr_assert_eq(gyre_pipeline_add(datagrams.channel, GYRE_LAST, &asking, NULL), 0);
	gyre_channel_set_auto_read(datagrams.channel, false);
	gyre_context_read(gyre_channel_tail(datagrams.channel));
	datagram_send(one, "a\nbc\ndef", 8);
	datagram_until_reads(1);
	datagram_send(other, "ghij\n", 5);
	rig_settle(&datagram_rig);
	cr_expect_eq(datagrams.reads, 1);
	cr_assert_eq(gyre_context_timer_start(gyre_pipeline_get(datagrams.channel, "asking"), 0, 0),
		     0);
	rig_pass(&datagram_rig, GYRE_MILLISECONDS(5));
	datagram_until_reads(2);
	cr_expect_eq(datagrams.bytes[1], 2);
	gyre_context_read(gyre_channel_tail(datagrams.channel));
	datagram_until_reads(3);
	cr_expect_eq(datagrams.bytes[2], 4);
	expect_sender(other);
	(void)close(one);
	(void)close(other);
}

static uint32_t pages_used(void)
{
	const struct gy_pool *pages = &rig_channels(&datagram_rig)->pools.pages;

	return pages->total - pages->free_count;
}

static void read_prefixed(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	uint32_t before = pages_used();

	cr_assert_eq(gyre_buffer_prepend(data, "to ", 3), 0);
	*(uint32_t *)ctx->arg += pages_used() - before;
	gyre_context_fire_read(ctx, data);
}

Test(datagram, has_room_for_a_header_where_it_came)
{
	static const struct gyre_handler prefixing = { .read = read_prefixed };
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);
	uint32_t pages = 0;

	cr_assert_eq(gyre_pipeline_add(datagrams.channel, GYRE_FIRST, &prefixing, &pages), 0);
	datagram_send(fd, "you", 3);
	expect_text(fd, "to you");
	cr_expect_eq(pages, 0);
	datagram_send(fd, "", 0);
	expect_text(fd, "to ");
	cr_expect_eq(pages, 1);
	datagram_send(fd, "him", 3);
	expect_text(fd, "to him");
	(void)close(fd);
}

/* ---- with one peer ---- */

Test(datagram, of_a_connected_channel_goes_to_its_peer_alone)
{
	struct gyre_socket_address any;
	struct gyre_socket_address own;
	struct gyre_socket_address at;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int stranger;

	cr_assert_eq(gyre_socket_address_parse("udp://127.0.0.1:0", &any), 0);
	cr_assert_eq(bind(peer, (struct sockaddr *)&any.storage, any.bytes), 0);
	cr_assert_eq(gy_socket_address_of(peer, &own), 0);
	cr_assert_geq(gyre_socket_address_format(&own, sizeof(text), text), 0);
	own = datagram_open_with(&(struct gyre_datagram_options){ .connect = text }, NULL);
	cr_assert_eq(gyre_channel_local_address(datagrams.channel, &at), 0);
	cr_expect(gyre_socket_address_equal(&at, &own));
	cr_assert_eq(gyre_channel_peer_address(datagrams.channel, &at), 0);
	cr_assert_eq(gy_socket_address_of(peer, &any), 0);
	cr_expect(gyre_socket_address_equal(&at, &any));
	stranger = datagram_client(&own, NULL);
	datagram_send(stranger, "no", 2);
	cr_expect_eq(datagram_write(datagram_buffer(7), NULL), 0);
	cr_expect_eq(datagram_receive(peer, text, sizeof(text)), 7);
	cr_assert_eq(connect(peer, (struct sockaddr *)&own.storage, own.bytes), 0);
	expect_echo(peer, "yes");
	cr_expect_eq(datagrams.reads, 1);
	(void)close(stranger);
	(void)close(peer);
}

Test(datagram, channel_that_is_open_to_all_has_no_peer)
{
	struct gyre_socket_address at;

	(void)datagram_open_at("udp://127.0.0.1:0");
	cr_expect_eq(gyre_channel_peer_address(datagrams.channel, &at), -ENOTCONN);
}

Test(datagram, of_a_connected_unix_channel_has_a_name_to_be_answered_at)
{
	struct gyre_socket_address at;
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);
	int peer = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte;

	cr_assert_eq(gyre_socket_address_parse(datagram_name("peer"), &at), 0);
	cr_assert_eq(bind(peer, (struct sockaddr *)&at.storage, at.bytes), 0);
	(void)datagram_open_with(
		&(struct gyre_datagram_options){ .connect = datagram_name("peer") }, NULL);
	cr_expect_eq(datagram_write(datagram_buffer(1), NULL), 0);
	rig_settle(&datagram_rig);
	cr_assert_eq(recvfrom(peer, &byte, 1, MSG_DONTWAIT, (struct sockaddr *)&from, &bytes), 1);
	cr_assert_eq(sendto(peer, "ab", 2, 0, (struct sockaddr *)&from, bytes), 2);
	datagrams.silent = true;
	datagram_until_reads(1);
	cr_expect_eq(datagrams.bytes[0], 2);
	(void)close(peer);
}

Test(datagram, that_nobody_takes_is_an_exception_and_the_channel_stays)
{
	struct gyre_socket_address at;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	char byte;
	int peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	cr_assert_eq(gyre_socket_address_parse("udp://127.0.0.1:0", &at), 0);
	cr_assert_eq(bind(peer, (struct sockaddr *)&at.storage, at.bytes), 0);
	cr_assert_eq(gy_socket_address_of(peer, &at), 0);
	(void)close(peer);
	cr_assert_geq(gyre_socket_address_format(&at, sizeof(text), text), 0);
	(void)datagram_open_with(&(struct gyre_datagram_options){ .connect = text }, NULL);
	cr_expect_eq(datagram_write(datagram_buffer(1), NULL), 0);
	datagram_until_exceptions(1);
	cr_expect_eq(datagrams.error, -ECONNREFUSED);
	cr_expect_eq(datagrams.closed, 0);
	/* When the peer comes it is heard. */
	peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cr_assert_eq(bind(peer, (struct sockaddr *)&at.storage, at.bytes), 0);
	cr_expect_eq(datagram_write(datagram_buffer(1), NULL), 0);
	cr_expect_eq(datagram_receive(peer, &byte, 1), 1);
	(void)close(peer);
}

Test(datagram, that_the_kernel_refuses_is_an_exception_and_counted)
{
	struct gyre_socket_address broadcast;

	(void)datagram_open_at("udp://127.0.0.1:0");
	cr_assert_eq(gyre_socket_address_parse("udp://255.255.255.255:9", &broadcast), 0);
	cr_expect_eq(datagram_write(datagram_buffer(1), &broadcast), 0);
	datagram_until_exceptions(1);
	cr_expect_lt(datagrams.error, 0);
	cr_expect_eq(datagram_counters()->datagrams_failed, 1);
	cr_expect_eq(gyre_channel_queued_bytes(datagrams.channel), 0);
	cr_expect_eq(datagrams.closed, 0);
}

/* ---- opening ---- */

static int try_open(const struct gyre_datagram_options *options)
{
	return gyre_system_datagram_open((struct gyre_system *)(void *)&datagram_rig.homes, options,
					 NULL);
}

static int init_nothing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

Test(datagram, is_not_opened_where_it_cannot_be)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0" };
	const struct gyre_multicast nowhere = { .group = "224.0.0.251", .interface = "nowhere" };
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	cr_expect_eq(gyre_system_datagram_open(NULL, &options, NULL), -EINVAL);
	cr_expect_eq(try_open(NULL), -EINVAL);
	cr_expect_eq(try_open(&options), -EINVAL, "it has no handlers");
	options.init_channel = init_nothing;
	options.groups_count = 1;
	cr_expect_eq(try_open(&options), -EINVAL);
	options.groups = &nowhere;
	cr_expect_eq(try_open(&options), -ENODEV);
	options.groups_count = 0;
	options.multicast_hops = 256;
	cr_expect_eq(try_open(&options), -EINVAL);
	options.multicast_hops = 0;
	options.channel.write_high_bytes = 1023;
	cr_expect_eq(try_open(&options), -EINVAL);
	cr_expect_not_null(strstr(datagram_rig.last_log, "write_high_bytes"));
	options.channel.write_high_bytes = 0;
	options.bind = "tcp://127.0.0.1:0";
	cr_expect_eq(try_open(&options), -EINVAL);
	options.bind = "udp://192.0.2.1:0";
	cr_expect_eq(try_open(&options), -EADDRNOTAVAIL);
	cr_assert_geq(gyre_socket_address_format(&at, sizeof(text), text), 0);
	options.bind = text;
	cr_expect_eq(try_open(&options), -EADDRINUSE);
	options.bind = NULL;
	options.connect = datagram_name("nobody");
	cr_expect_eq(try_open(&options), -ECONNREFUSED);
	datagram_rig.warnings_expected = 9;
}

Test(datagram, leaves_no_file_of_a_socket_whose_peer_is_not_there)
{
	struct gyre_datagram_options options = { .init_channel = init_nothing };
	char text[64];

	(void)snprintf(text, sizeof(text), "unix+dgram:/tmp/gyre-datagram-%d", (int)getpid());
	options.bind = text;
	options.connect = datagram_name("nobody");
	cr_expect_eq(try_open(&options), -ECONNREFUSED);
	cr_expect_eq(access(strchr(text, '/'), F_OK), -1);
	datagram_rig.warnings_expected = 1;
}

Test(datagram, shares_an_address_when_it_is_told_to)
{
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0", .reuse_port = true };
	struct gyre_socket_address at = datagram_open_with(&options, NULL);
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	cr_assert_geq(gyre_socket_address_format(&at, sizeof(text), text), 0);
	options.bind = text;
	(void)datagram_open_with(&options, NULL);
}

Test(datagram, has_any_port_when_none_is_named)
{
	struct gyre_socket_address at =
		datagram_open_with(&(struct gyre_datagram_options){ 0 }, NULL);

	cr_expect_neq(gyre_socket_address_port(&at), 0);
}

/* ---- writes that are waited for ---- */

static uint32_t gone;

static void hear_of_it(struct gyre_channel *channel, int error, void *arg)
{
	(void)channel;
	cr_expect_eq(error, 0);
	cr_expect_eq(arg, &gone);
	gone++;
}

static void answer_and_hear(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	cr_expect_eq(gyre_context_write_then(ctx, data, hear_of_it, &gone), 0);
}

static const struct gyre_handler hearing = { .read = answer_and_hear };

static int init_hearing(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &hearing, arg);
}

Test(datagram, that_was_written_to_be_heard_of_is_heard_of_when_it_has_left)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_hearing };
	struct gyre_socket_address at = datagram_open_with(&options, NULL);
	int fd = datagram_client(&at, NULL);
	char text[8];

	for (uint32_t i = 1; i <= 3; i++) {
		datagram_send(fd, "datagram", i - 1);
		cr_expect_eq(datagram_receive(fd, text, sizeof(text)), (ssize_t)i - 1);
		while (gone < i) {
			rig_turn(&datagram_rig);
		}
	}
	(void)close(fd);
}

enum { OUTCOMES_MAX = 8 };

static int outcomes[OUTCOMES_MAX];
static uint32_t outcomes_count;

static void note_outcome(struct gyre_channel *channel, int error, void *arg)
{
	(void)channel;
	cr_assert_eq(arg, &outcomes[outcomes_count], "they come in the order of the writes");
	outcomes[outcomes_count++] = error;
}

/* As those that are written in one run. */
static void write_and_note(uint32_t which, const char *to)
{
	struct gyre_buffer *buffer = datagram_buffer(1);
	struct gyre_socket_address address;

	cr_assert_eq(gyre_socket_address_parse(to, &address), 0);
	cr_assert_eq(gyre_buffer_set_peer(buffer, &address), 0);
	cr_assert_eq(gyre_context_write_then(gyre_channel_tail(datagrams.channel), buffer,
					     note_outcome, &outcomes[which]),
		     0);
}

static void until_outcomes(uint32_t count)
{
	while (outcomes_count < count) {
		rig_turn(&datagram_rig);
	}
}

Test(datagram, that_the_kernel_refuses_is_told_to_who_wants_to_hear_of_it_and_to_nobody_else)
{
	(void)datagram_open_at("udp://127.0.0.1:0");
	write_and_note(0, "udp://127.0.0.1:9");
	write_and_note(1, "udp://255.255.255.255:9");
	write_and_note(2, "udp://255.255.255.255:9");
	write_and_note(3, "udp://127.0.0.1:9");
	until_outcomes(4);
	cr_expect_eq(outcomes[0], 0);
	cr_expect_lt(outcomes[1], 0);
	cr_expect_eq(outcomes[2], outcomes[1]);
	cr_expect_eq(outcomes[3], 0);
	cr_expect_eq(datagram_counters()->datagrams_failed, 2);
	write_and_note(4, "udp://[::1]:9");
	write_and_note(5, "udp://127.0.0.1:9");
	until_outcomes(6);
	cr_expect_lt(outcomes[4], 0);
	cr_expect_eq(outcomes[5], 0);
}

Test(datagram, is_nothing_that_tls_can_encrypt)
{
	struct gyre_tls_options options = { .any_name = true };
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	cr_assert_eq(gyre_tls_context_create(NULL, &(struct gyre_tls_context_options){ 0 },
					     &options.context),
		     0);
	cr_expect_eq(gyre_tls_client_add(datagrams.channel, GYRE_FIRST, &options), -EOPNOTSUPP);
	gyre_tls_context_unref(options.context);
	expect_echo(fd, "plain");
	(void)close(fd);
}
