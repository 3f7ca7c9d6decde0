/*
 * Taps: what passes a place of a pipeline, in a test of gyre/test.h. A tap is a handler that keeps
 * what comes to it, for the test to expect, and passes all of it on. At the end of a pipeline it
 * sees the frames that codecs have cut, the errors, the events and the end; and the test writes
 * from there, or has the tap do what only handlers can. With the peer of the channel at the other
 * end, both ends of a pipeline are the test's.
 *
 *	static int init_lines(struct gyre_channel *channel, void *arg)
 *	{
 *		return gyre_line_codec_add(channel, GYRE_LAST, NULL);
 *	}
 *
 *	static void it_cuts_lines(struct gyre_test *test, void *arg)
 *	{
 *		const struct gyre_acceptor_options options = { .init_channel = init_lines };
 *		struct gyre_test_channel *peer;
 *		struct gyre_tap *tap = gyre_tap_open(test, &options, &peer);
 *
 *		gyre_test_channel_write_text(peer, "one\ntw");
 *		gyre_tap_expect_text(tap, "one");
 *		gyre_tap_expect_none(tap, GYRE_SECONDS(60));
 *		gyre_tap_write_text(tap, "an answer");
 *		gyre_test_channel_expect_text(peer, "an answer");
 *	}
 *
 * The functions that can fail a test have macros of their names without _at, as in gyre/test.h.
 */
#ifndef GYRE_TAP_H
#define GYRE_TAP_H

#include <gyre/pipeline.h>
#include <gyre/test_channel.h>

GYRE_BEGIN_DECLS

struct gyre_tap;

/* ---- life ---- */

/**
 * gyre_tap_create() - makes a tap, which is in no pipeline yet
 * @test: the test
 *
 * Most tests make one by gyre_tap_open(), together with a channel.
 *
 * Return: the tap.
 * Ownership: stays the test's, until gyre_test_run() returns.
 * Context: any thread of the test's host, but not one of the loops.
 * Since: 0.1
 */
GYRE_API struct gyre_tap *gyre_tap_create(struct gyre_test *test);

/**
 * gyre_tap_add() - puts a tap into a pipeline, as the handler "tap"
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @tap: the tap
 *
 * A tap is in one pipeline at a time. It may be added again when it has left, and keeps what it has
 * got.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EBUSY  @tap is in a pipeline
 *   others  as gyre_pipeline_add()
 * Ownership: @tap stays the test's.
 * Context: loop thread, phase 2: in @init_channel of the channel, in a handler, or in
 *   gyre_tap_do().
 * Since: 0.1
 */
GYRE_API int gyre_tap_add(struct gyre_channel *channel, struct gyre_position position,
			  struct gyre_tap *tap);

/**
 * gyre_tap_open_at() - makes a channel with a tap at its end, and has the test be its peer
 * @test: the test
 * @options: as for gyre_test_channel_open(); NULL, or one without @init_channel, for a pipeline of
 *   the tap alone
 * @ret_peer: the peer
 * @place: GYRE_TEST_HERE
 *
 * The tap goes behind what @init_channel has added. Others may be added in front of it later, by
 * gyre_tap_do() with GYRE_BEFORE("tap").
 *
 * Return: the tap, whose channel is open; NULL if it could not be made, and then the test has
 *   failed.
 * Errors:
 *   NULL  see gyre_test_channel_open(); or @init_channel has failed
 * Ownership: both stay the test's, until gyre_test_run() returns. What @init_arg and @report_arg
 *   point to stays the caller's, as long.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API struct gyre_tap *gyre_tap_open_at(struct gyre_test *test,
					   const struct gyre_acceptor_options *options,
					   struct gyre_test_channel **ret_peer, const char *place);

/** gyre_tap_open() - makes a channel with a tap at its end, and has the test be its peer */
#define gyre_tap_open(TEST, OPTIONS, RET_PEER) \
	gyre_tap_open_at((TEST), (OPTIONS), (RET_PEER), GYRE_TEST_HERE)

/* ---- what a tap does ---- */

/**
 * gyre_tap_do_fn - what a tap is to do
 * @ctx: the place of the tap
 * @arg: that of gyre_tap_do()
 *
 * Runs in phase 2, on the channel's loop, while gyre_tap_do() waits; it is not re-entered. Its
 * first call is the last call. Returns 0 or more, or a negative errno.
 */
typedef int (*gyre_tap_do_fn)(struct gyre_handler_context *ctx, void *arg);

/**
 * gyre_tap_do_at() - has a tap do what only handlers can, as change the pipeline, or stop reading
 * @tap: the tap
 * @function: what it does
 * @arg: for @function
 * @place: GYRE_TEST_HERE
 *
 * It comes to the tap as an event, through the handlers in front of it, which must pass on what
 * they do not know. A tap that was never in a pipeline is waited for, as its channel is made by the
 * loop.
 *
 * Return: what @function does, or a negative errno.
 * Errors:
 *   -EPIPE  the tap is in no pipeline any more, the channel closes, or a handler in front has kept
 *     the event; then the test has failed
 *   -ETIME  the loop has not come to it in a minute; then the test has failed
 *   others  as @function; they do not fail the test
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_tap_do_at(struct gyre_tap *tap, gyre_tap_do_fn function, void *arg,
			    const char *place);

/** gyre_tap_do() - has a tap do what only handlers can */
#define gyre_tap_do(TAP, FUNCTION, ARG) gyre_tap_do_at((TAP), (FUNCTION), (ARG), GYRE_TEST_HERE)

/**
 * gyre_tap_write_at() - writes bytes from the place of a tap, towards the peer
 * @tap: the tap
 * @bytes: the bytes
 * @count: how many, or GYRE_TEST_TEXT
 * @place: GYRE_TEST_HERE
 *
 * Return: what gyre_context_write() does, or a negative errno.
 * Errors:
 *   -EPIPE  as for gyre_tap_do(), and then the test has failed; or as gyre_context_write()
 *   -ETIME  as for gyre_tap_do(); then the test has failed
 *   others  as gyre_context_write(); they do not fail the test
 * Ownership: @bytes are copied.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_tap_write_at(struct gyre_tap *tap, const void *bytes, size_t count,
			       const char *place);

/** gyre_tap_write() - writes bytes from the place of a tap, towards the peer */
#define gyre_tap_write(TAP, BYTES, COUNT) gyre_tap_write_at((TAP), (BYTES), (COUNT), GYRE_TEST_HERE)

/** gyre_tap_write_text() - writes a text from the place of a tap, towards the peer */
#define gyre_tap_write_text(TAP, TEXT) \
	gyre_tap_write_at((TAP), (TEXT), GYRE_TEST_TEXT, GYRE_TEST_HERE)

/* ---- what has come ---- */

/**
 * enum gyre_tapped_kind - what has come to a tap
 * @GYRE_TAPPED_READ: bytes of one @read: a frame, behind a codec
 * @GYRE_TAPPED_READ_END: the peer has ended its side
 * @GYRE_TAPPED_EVENT: an event
 * @GYRE_TAPPED_WRITABILITY: output is unwelcome, or welcome again
 * @GYRE_TAPPED_EXCEPTION: an error
 * @GYRE_TAPPED_INACTIVE: the channel has closed
 */
enum gyre_tapped_kind {
	GYRE_TAPPED_READ,
	GYRE_TAPPED_READ_END,
	GYRE_TAPPED_EVENT,
	GYRE_TAPPED_WRITABILITY,
	GYRE_TAPPED_EXCEPTION,
	GYRE_TAPPED_INACTIVE,
};

/**
 * struct gyre_tapped - one thing that has come to a tap
 * @kind: which
 * @error: of GYRE_TAPPED_EXCEPTION; of GYRE_TAPPED_INACTIVE what gyre_channel_reason() said; of
 *   GYRE_TAPPED_WRITABILITY 1 where output is welcome; 0 otherwise
 * @type: of GYRE_TAPPED_EVENT; NULL otherwise
 * @bytes: of GYRE_TAPPED_READ; of GYRE_TAPPED_EVENT its payload, or NULL where the payload owns
 *   something or has a tail, and so cannot be kept; NULL otherwise
 * @count: of @bytes
 */
struct gyre_tapped {
	enum gyre_tapped_kind kind;
	int error;
	const struct gyre_type *type;
	const void *bytes;
	size_t count;
};

/**
 * gyre_tap_take() - takes the next thing that has come to a tap, whatever it is
 * @tap: the tap
 * @within_ns: how long to wait for it at most, in the simulation's nanoseconds; 0 for what has come
 *   by now
 *
 * It never fails the test.
 *
 * Return: what has come; NULL when there is nothing.
 * Errors:
 *   NULL  nothing came
 * Ownership: stays the tap's, until the next one is taken.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API const struct gyre_tapped *gyre_tap_take(struct gyre_tap *tap, uint64_t within_ns);

/**
 * gyre_tap_expect_at() - takes the next thing that has come to a tap, which must be of a kind
 * @tap: the tap
 * @kind: the kind
 * @error: what @error of struct gyre_tapped must be; of other kinds than those it tells of 0
 * @within_ns: how long to wait for it at most, in the simulation's nanoseconds; 0 for what has come
 *   by now
 * @place: GYRE_TEST_HERE
 *
 * Another thing is taken too, and fails the test.
 *
 * Return: what has come; NULL when it is not there, and then the test has failed.
 * Errors:
 *   NULL  nothing came, or something else
 * Ownership: stays the tap's, until the next one is taken.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API const struct gyre_tapped *gyre_tap_expect_at(struct gyre_tap *tap,
						      enum gyre_tapped_kind kind, int error,
						      uint64_t within_ns, const char *place);

/** gyre_tap_expect_read_end() - takes the next thing, which must be the end of the peer's side */
#define gyre_tap_expect_read_end(TAP, WITHIN_NS) \
	gyre_tap_expect_at((TAP), GYRE_TAPPED_READ_END, 0, (WITHIN_NS), GYRE_TEST_HERE)

/** gyre_tap_expect_writability() - takes the next thing: whether output is welcome now */
#define gyre_tap_expect_writability(TAP, WRITABLE, WITHIN_NS)                               \
	gyre_tap_expect_at((TAP), GYRE_TAPPED_WRITABILITY, (WRITABLE) ? 1 : 0, (WITHIN_NS), \
			   GYRE_TEST_HERE)

/** gyre_tap_expect_exception() - takes the next thing, which must be an error with this errno */
#define gyre_tap_expect_exception(TAP, ERROR, WITHIN_NS) \
	gyre_tap_expect_at((TAP), GYRE_TAPPED_EXCEPTION, (ERROR), (WITHIN_NS), GYRE_TEST_HERE)

/** gyre_tap_expect_inactive() - takes the next thing: the channel has closed for this reason */
#define gyre_tap_expect_inactive(TAP, REASON, WITHIN_NS) \
	gyre_tap_expect_at((TAP), GYRE_TAPPED_INACTIVE, (REASON), (WITHIN_NS), GYRE_TEST_HERE)

/**
 * gyre_tap_expect_read_at() - takes the next thing, which must be a read of just these bytes
 * @tap: the tap
 * @bytes: the bytes
 * @count: how many, or GYRE_TEST_TEXT
 * @within_ns: how long to wait for it at most, in the simulation's nanoseconds; 0 for what has come
 *   by now
 * @place: GYRE_TEST_HERE
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG    other bytes, or something else, came
 *   -ETIMEDOUT  nothing came
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_tap_expect_read_at(struct gyre_tap *tap, const void *bytes, size_t count,
				     uint64_t within_ns, const char *place);

/** gyre_tap_expect_read() - takes the next thing, which must be a read of just these bytes */
#define gyre_tap_expect_read(TAP, BYTES, COUNT, WITHIN_NS) \
	gyre_tap_expect_read_at((TAP), (BYTES), (COUNT), (WITHIN_NS), GYRE_TEST_HERE)

/** gyre_tap_expect_text() - takes the next thing, which must be a read of this text, in a second */
#define gyre_tap_expect_text(TAP, TEXT) \
	gyre_tap_expect_read_at((TAP), (TEXT), GYRE_TEST_TEXT, GYRE_SECONDS(1), GYRE_TEST_HERE)

/**
 * gyre_tap_expect_event_at() - takes the next thing, which must be an event of a type
 * @tap: the tap
 * @type: the type
 * @within_ns: how long to wait for it at most, in the simulation's nanoseconds; 0 for what has come
 *   by now
 * @place: GYRE_TEST_HERE
 *
 * Return: the payload; NULL when it is not there, and then the test has failed.
 * Errors:
 *   NULL  nothing came, something else came, or the payload cannot be kept
 * Ownership: stays the tap's, until the next thing is taken.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API const void *gyre_tap_expect_event_at(struct gyre_tap *tap, const struct gyre_type *type,
					      uint64_t within_ns, const char *place);

/** gyre_tap_expect_event() - takes the next thing, as const struct NAME *, or fails with NULL */
#define gyre_tap_expect_event(TAP, NAME, WITHIN_NS)                                           \
	((const struct NAME *)gyre_tap_expect_event_at((TAP), &gyre_type_##NAME, (WITHIN_NS), \
						       GYRE_TEST_HERE))

/**
 * gyre_tap_expect_none_at() - lets time pass in which nothing may come to a tap
 * @tap: the tap
 * @for_ns: how long, in the simulation's nanoseconds; 0 for what has come by now
 * @place: GYRE_TEST_HERE
 *
 * What came before and was not taken counts. Returns at once when there is something, which stays
 * the next to be taken.
 *
 * Return: 0, or a negative errno, and then the test has failed.
 * Errors:
 *   -EBADMSG  something came
 * Ownership: nothing changes hands.
 * Context: any thread of the test's host, but not one of the loops; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_tap_expect_none_at(struct gyre_tap *tap, uint64_t for_ns, const char *place);

/** gyre_tap_expect_none() - lets time pass in which nothing may come to a tap */
#define gyre_tap_expect_none(TAP, FOR_NS) gyre_tap_expect_none_at((TAP), (FOR_NS), GYRE_TEST_HERE)

GYRE_END_DECLS

#endif
