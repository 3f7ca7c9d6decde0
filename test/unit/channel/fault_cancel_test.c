/*
 * A channel ends while each kind of its operations is under way: the operation is cancelled or
 * waited for, what it used is given back, and its handlers hear of the end once.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/stack/stack.h"
#include "channel/file/file.h"

#include "actor/mail/send.h"
#include "fault_rig.h"

TestSuite(fault_cancel, .timeout = 60);

enum ending { BY_ABORT, BY_ABORT_OF_ALL, BY_STOP, BY_STOP_AND_ABORT, ENDINGS };

static void stop_owner(void)
{
	cr_assert_eq(gy_send_signal(&fault.rig.home, gy_house_address(fault.rig.house),
				    &gy_type_stop, GY_MAIL_EVENT),
		     0);
}

/* Returns the reason that the channel is to have. */
static int end_by(enum ending ending)
{
	switch (ending) {
	case BY_ABORT:
		gyre_channel_abort(fault.channel, -ECANCELED);
		return -ECANCELED;
	case BY_STOP_AND_ABORT:
		stop_owner();
		rig_turn(&fault.rig);
		__attribute__((fallthrough));
	case BY_ABORT_OF_ALL:
		fault.rig.home.channel_ops->abort(&fault.rig.home);
		return -ESHUTDOWN;
	default:
		stop_owner();
		return -ETIMEDOUT; /* where there is output that the peer does not take */
	}
}

static void make_small(void)
{
	const int small = 4096;

	cr_assert_eq(setsockopt(fault.channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &small,
				sizeof(small)),
		     0);
	cr_assert_eq(setsockopt(fault.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
}

static void begin(void)
{
	fault_begin(&(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	fault_open(NULL);
	rig_settle(&fault.rig);
	make_small();
}

/* ---- receive ---- */

Test(fault_cancel, receive_ends_once)
{
	for (int ending = 0; ending < ENDINGS; ending++) {
		fault_begin_open(NULL);
		cr_assert(fault.channel->receive.armed);
		cr_assert(!fault.channel->send.armed);
		if (ending == BY_STOP) {
			stop_owner();
			fault_end(0); /* an idle peer is not waited for */
		} else if (ending != BY_STOP_AND_ABORT) {
			fault_end(end_by((enum ending)ending));
		} else {
			(void)end_by(BY_STOP_AND_ABORT);
			cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
			fault_end(fault.reason == 0 ? 0 : -ESHUTDOWN);
		}
	}
}

Test(fault_cancel, receive_delivers_nothing_that_has_come)
{
	begin();
	fault_send(100);
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_send(100);
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.reads, 0);
	fault_end(-ECANCELED);
}

Test(fault_cancel, receive_may_have_been_cancelled_before_by_a_pause)
{
	begin();
	gyre_channel_set_auto_read(fault.channel, false);
	fault_send(100);
	while (fault.channel->receive.armed && (fault.channel->state & GY_INPUT_CANCELLED) == 0) {
		rig_turn(&fault.rig);
	}
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_end(-ECANCELED);
}

Test(fault_cancel, receive_may_be_one_that_the_kernel_has_not_seen)
{
	fault_begin(NULL);
	fault_open(NULL);
	gyre_channel_abort(fault.channel, -ECANCELED);
	cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(fault.active, 0, "it was over before");
	fault.active = 1;
	fault_end(-ECANCELED);
}

/* ---- send ---- */

static struct gyre_buffer *one_page(void)
{
	struct gy_page *page = gy_page_get_of(&rig_channels(&fault.rig)->pools, 600000);

	cr_assert_not_null(page);
	rig_fill(page->memory, 600000, 0);
	page->used = 600000;
	return gy_buffer_of_page(&rig_channels(&fault.rig)->pools, page, page->memory, 600000);
}

static void expect_end_of_send(enum ending ending, bool gathered)
{
	begin();
	cr_assert_eq(gyre_context_write(gyre_channel_tail(fault.channel),
					gathered ? fault_buffer(600000) : one_page()),
		     0);
	rig_settle(&fault.rig);
	cr_assert(fault.channel->send.armed);
	cr_assert_eq((fault.channel->state & GY_OUTPUT_GATHERED) != 0, gathered);
	fault_end(end_by(ending));
}

Test(fault_cancel, send_ends_once_and_its_bytes_are_given_back)
{
	for (int ending = 0; ending < ENDINGS; ending++) {
		expect_end_of_send((enum ending)ending, false);
	}
}

Test(fault_cancel, send_of_many_pages_ends_once_and_they_are_given_back)
{
	for (int ending = 0; ending < ENDINGS; ending++) {
		expect_end_of_send((enum ending)ending, true);
	}
}

/* ---- shutdown and close ---- */

Test(fault_cancel, shutdown_is_waited_for)
{
	begin();
	gyre_context_shutdown(gyre_channel_tail(fault.channel));
	for (int i = 0; i < 100 && !fault.channel->control.armed &&
			(fault.channel->state & GY_OUTPUT_SHUTDOWN_DONE) == 0;
	     i++) {
		rig_turn(&fault.rig);
	}
	gyre_channel_abort(fault.channel, -ECANCELED);
	fault_end(-ECANCELED);
}

Test(fault_cancel, close_that_has_begun_stays_the_only_one)
{
	begin();
	gyre_channel_abort(fault.channel, -ECANCELED);
	while (fault.inactive == 0) {
		rig_turn(&fault.rig);
	}
	fault.rig.home.channel_ops->abort(&fault.rig.home);
	fault_end(-ECANCELED);
}

Test(fault_cancel, linger_does_not_hold_up_an_abort)
{
	begin();
	gyre_context_close(gyre_channel_tail(fault.channel));
	rig_settle(&fault.rig);
	cr_assert_eq(fault.inactive, 0);
	fault.rig.home.channel_ops->abort(&fault.rig.home);
	fault_end(-ESHUTDOWN);
}

/* ---- what a file goes through on its way ---- */

static uint32_t told;
static int result;

static void sent(struct gyre_channel *channel, void *arg, int what)
{
	(void)channel;
	(void)arg;
	told++;
	result = what;
}

static void expect_end_of_file(enum ending ending)
{
	const struct gyre_file_region what = { .bytes = 600000, .sent = sent };
	char path[] = "/tmp/gyre-fault-XXXXXX";
	struct gyre_file *file;
	int reason;
	int fd;

	begin();
	fd = mkostemp(path, O_CLOEXEC);
	cr_assert_geq(fd, 0);
	(void)unlink(path);
	cr_assert_eq(ftruncate(fd, 600000), 0);
	told = 0;
	cr_assert_eq(gyre_file_adopt(&rig_stack(&fault.rig)->head, fd, &file), 0);
	cr_assert_eq(gyre_context_send_file(gyre_channel_tail(fault.channel), file, &what), 0);
	rig_settle(&fault.rig);
	cr_assert_eq(told, 0);
	reason = end_by(ending);
	cr_assert(rig_until_later(&fault.rig, fault_is_closed, NULL));
	cr_expect_eq(told, 1);
	cr_expect_eq(result, reason, "%s", strerror(-result));
	fault_end(reason);
}

Test(fault_cancel, splice_ends_once_and_is_told)
{
	for (int ending = 0; ending < ENDINGS; ending++) {
		expect_end_of_file((enum ending)ending);
	}
}

/* ---- all at once, at any moment ---- */

Test(fault_cancel, everything_ends_once_at_any_moment)
{
	enum { TIMES = 300 };

	for (int i = 0; i < TIMES; i++) {
		fault_begin(NULL);
		fault_open(NULL);
		fault.echo = true;
		make_small();
		for (int turn = 0; turn < i % 10; turn++) {
			fault_send(4096 * (turn < 3));
			rig_turn(&fault.rig);
		}
		if (i % 3 == 0) {
			gyre_context_shutdown(gyre_channel_tail(fault.channel));
		} else if (i % 3 == 1) {
			gyre_context_close(gyre_channel_tail(fault.channel));
		}
		for (int turn = 0; turn < i / 10 % 4; turn++) {
			rig_turn(&fault.rig);
		}
		gyre_channel_abort(fault.channel, -ECANCELED);
		cr_assert(rig_until(&fault.rig, fault_is_closed, NULL));
		fault.active = 1;
		fault_end(-ECANCELED);
	}
}
