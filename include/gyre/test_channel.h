/*
 * The peers of channels, in a test of gyre/test.h: the test writes the bytes that a pipeline reads,
 * and reads what it writes.
 *
 *	static int init_lines(struct gyre_channel *channel, void *arg)
 *	{
 *		return gyre_line_codec_add(channel, GYRE_LAST, NULL) < 0
 *			       ? -ENOMEM
 *			       : gyre_pipeline_add(channel, GYRE_LAST, &greeter, NULL);
 *	}
 *
 *	static void it_greets(struct gyre_test *test, void *arg)
 *	{
 *		const struct gyre_acceptor_options options = { .init_channel = init_lines };
 *		struct gyre_test_channel *peer = gyre_test_channel_open(test, &options);
 *
 *		gyre_test_channel_write_text(peer, "Ada\n");
 *		gyre_test_channel_expect_text(peer, "good day, Ada\n");
 *	}
 *
 * The functions that can fail a test have macros of their names without _at, as in gyre/test.h.
 */
#ifndef GYRE_TEST_CHANNEL_H
#define GYRE_TEST_CHANNEL_H

#include <gyre/listen.h>
#include <gyre/test.h>

GYRE_BEGIN_DECLS

struct gyre_test_channel;

/** GYRE_TEST_TEXT - as a number of bytes: those of a text, up to its end */
#define GYRE_TEST_TEXT SIZE_MAX

/**
 * gyre_test_channel_open_at() - makes a channel with a pipeline, and has the test be its peer
 * @test: the test
 * @options: how connections are treated, above all @init_channel, as for gyre_system_listen().
 *   @bind is not used, and may be NULL
 * @place: GYRE_TEST_HERE
 *
 * The system listens at an address of its own, where the test connects by TCP. Options that a
 * server has are good as they are, so that several channels of them are clients of one server.
 *
 * Return: the peer; NULL if it could not be made, and then the test has failed.
 * Errors:
 *   NULL  see gyre_system_listen()
 * Ownership: stays the test's, until gyre_test_run() returns. What @init_arg and @report_arg point
 *   to stays the caller's, as long.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API struct gyre_test_channel *
gyre_test_channel_open_at(struct gyre_test *test, const struct gyre_acceptor_options *options,
			  const char *place);

/** gyre_test_channel_open() - makes a channel with a pipeline, and has the test be its peer */
#define gyre_test_channel_open(TEST, OPTIONS) \
	gyre_test_channel_open_at((TEST), (OPTIONS), GYRE_TEST_HERE)

/**
 * gyre_test_channel_connect_at() - connects to a port that the system listens on
 * @test: the test
 * @port: the port of TCP
 * @place: GYRE_TEST_HERE
 *
 * Return: the peer; NULL if nobody listens there, and then the test has failed.
 * Errors:
 *   NULL  the connection was refused
 * Ownership: stays the test's, until gyre_test_run() returns.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API struct gyre_test_channel *gyre_test_channel_connect_at(struct gyre_test *test,
								uint16_t port, const char *place);

/** gyre_test_channel_connect() - connects to a port that the system listens on */
#define gyre_test_channel_connect(TEST, PORT) \
	gyre_test_channel_connect_at((TEST), (PORT), GYRE_TEST_HERE)

/**
 * gyre_test_channel_write_at() - sends bytes as the peer
 * @channel: the peer
 * @bytes: the bytes
 * @count: how many, or GYRE_TEST_TEXT
 * @within_ns: how long it may take until the system's host has room for all of them, in the
 *   simulation's nanoseconds
 * @place: GYRE_TEST_HERE
 *
 * A pipeline that does not read stops the peer when the buffers of both sockets are full.
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADF      the peer has closed the connection
 *   -EPIPE      the peer has half closed it
 *   -ECONNRESET  the channel is closed
 *   -ETIMEDOUT  there was no room
 * Ownership: @bytes are copied.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_test_channel_write_at(struct gyre_test_channel *channel, const void *bytes,
					size_t count, uint64_t within_ns, const char *place);

/** gyre_test_channel_write() - sends bytes as the peer */
#define gyre_test_channel_write(CHANNEL, BYTES, COUNT, WITHIN_NS) \
	gyre_test_channel_write_at((CHANNEL), (BYTES), (COUNT), (WITHIN_NS), GYRE_TEST_HERE)

/** gyre_test_channel_write_text() - sends a text as the peer, which has room within a second */
#define gyre_test_channel_write_text(CHANNEL, TEXT)                                    \
	gyre_test_channel_write_at((CHANNEL), (TEXT), GYRE_TEST_TEXT, GYRE_SECONDS(1), \
				   GYRE_TEST_HERE)

/**
 * gyre_test_channel_try_write() - sends as the peer the bytes that there is room for
 * @channel: the peer
 * @bytes: the bytes
 * @count: how many, at least 1, or GYRE_TEST_TEXT
 * @within_ns: how long to wait for room at most, in the simulation's nanoseconds
 *
 * It never fails the test. So a test can see that a pipeline stops reading: there is room for no
 * more bytes than the buffers of both sockets hold.
 *
 * Return: how many bytes, the first ones, were sent; or a negative errno, and then none was.
 * Errors:
 *   -EAGAIN     there was no room
 *   -EBADF      the peer has closed the connection
 *   -EPIPE      the peer has half closed it
 *   -ECONNRESET  the channel is closed
 * Ownership: @bytes are copied.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int64_t gyre_test_channel_try_write(struct gyre_test_channel *channel, const void *bytes,
					     size_t count, uint64_t within_ns);

/**
 * gyre_test_channel_read() - reads as the peer what the pipeline has written
 * @channel: the peer
 * @memory: for the bytes
 * @bytes: how many at most
 * @within_ns: how long to wait for the first one at most, in the simulation's nanoseconds
 *
 * It never fails the test. What nobody reads stops the pipeline when the buffers of both sockets
 * are full.
 *
 * Return: how many bytes; 0 when the channel has ended; or a negative errno.
 * Errors:
 *   -EAGAIN     none came
 *   -EBADF      the peer has closed the connection
 *   -ECONNRESET  the channel was closed with bytes that it had not read, or was reset
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int64_t gyre_test_channel_read(struct gyre_test_channel *channel, void *memory,
					size_t bytes, uint64_t within_ns);

/**
 * gyre_test_channel_expect_at() - reads as the peer the next bytes, which must be these
 * @channel: the peer
 * @bytes: the bytes
 * @count: how many, or GYRE_TEST_TEXT
 * @within_ns: how long it may take until the last one, in the simulation's nanoseconds
 * @place: GYRE_TEST_HERE
 *
 * Bytes behind them stay to be read. The first byte that differs ends the call.
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG    other bytes came
 *   -ENODATA    the channel has ended before
 *   -ETIMEDOUT  too few came
 *   others      as gyre_test_channel_read()
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_test_channel_expect_at(struct gyre_test_channel *channel, const void *bytes,
					 size_t count, uint64_t within_ns, const char *place);

/** gyre_test_channel_expect() - reads as the peer the next bytes, which must be these */
#define gyre_test_channel_expect(CHANNEL, BYTES, COUNT, WITHIN_NS) \
	gyre_test_channel_expect_at((CHANNEL), (BYTES), (COUNT), (WITHIN_NS), GYRE_TEST_HERE)

/** gyre_test_channel_expect_text() - reads as the peer a text, which must be this, in a second */
#define gyre_test_channel_expect_text(CHANNEL, TEXT)                                    \
	gyre_test_channel_expect_at((CHANNEL), (TEXT), GYRE_TEST_TEXT, GYRE_SECONDS(1), \
				    GYRE_TEST_HERE)

/**
 * gyre_test_channel_expect_none_at() - lets time pass in which no byte may come, nor the end
 * @channel: the peer
 * @for_ns: how long, in the simulation's nanoseconds
 * @place: GYRE_TEST_HERE
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG  a byte came, which stays to be read
 *   -ENODATA  the channel has ended
 *   others    as gyre_test_channel_read()
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_test_channel_expect_none_at(struct gyre_test_channel *channel, uint64_t for_ns,
					      const char *place);

/** gyre_test_channel_expect_none() - lets time pass in which no byte may come, nor the end */
#define gyre_test_channel_expect_none(CHANNEL, FOR_NS) \
	gyre_test_channel_expect_none_at((CHANNEL), (FOR_NS), GYRE_TEST_HERE)

/**
 * gyre_test_channel_expect_end_at() - waits until the pipeline sends no more
 * @channel: the peer
 * @within_ns: how long at most, in the simulation's nanoseconds
 * @place: GYRE_TEST_HERE
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG    a byte came, which stays to be read
 *   -ETIMEDOUT  it has not ended
 *   others      as gyre_test_channel_read()
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_test_channel_expect_end_at(struct gyre_test_channel *channel, uint64_t within_ns,
					     const char *place);

/** gyre_test_channel_expect_end() - waits until the pipeline sends no more */
#define gyre_test_channel_expect_end(CHANNEL, WITHIN_NS) \
	gyre_test_channel_expect_end_at((CHANNEL), (WITHIN_NS), GYRE_TEST_HERE)

/**
 * gyre_test_channel_half_close() - has the peer send no more; it still reads
 * @channel: the peer
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EBADF     the peer has closed the connection
 *   -ENOTCONN  the connection has ended
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API int gyre_test_channel_half_close(struct gyre_test_channel *channel);

/**
 * gyre_test_channel_close() - has the peer close the connection
 * @channel: the peer; one that is closed already is allowed
 *
 * With bytes that it has not read the connection is reset, as by each socket.
 *
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API void gyre_test_channel_close(struct gyre_test_channel *channel);

/**
 * gyre_test_channel_reset() - has the peer reset the connection, as when its process is killed
 * @channel: the peer; one that is closed already is allowed
 *
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API void gyre_test_channel_reset(struct gyre_test_channel *channel);

GYRE_END_DECLS

#endif
