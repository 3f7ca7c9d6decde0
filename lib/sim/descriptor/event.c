/*
 * Descriptors of counters and of times: eventfd and timerfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct event {
	struct gy_sim_file file;
	uint64_t count;
	bool semaphore;
};

struct clock_file {
	struct gy_sim_file file;
	struct gy_sim_timer timer;
	uint64_t period_ns; /* of the simulation's clock; 0: once */
	uint64_t fired;
	bool date;
};

/* Reads a number of 8 bytes, as both kinds do. */
static int64_t give(const struct iovec *slices, uint32_t count, uint64_t number)
{
	if (gy_sim_slices_bytes(slices, count) < sizeof(number)) {
		return -EINVAL;
	}
	return (int64_t)gy_sim_scatter(slices, count, &number, sizeof(number));
}

/* ---- eventfd ---- */

static struct event *event_of(struct gy_sim_file *file)
{
	return gy_container_of(file, struct event, file);
}

static uint32_t event_events(const struct gy_sim_file *file)
{
	uint64_t count = gy_container_of(file, const struct event, file)->count;

	return (count > 0 ? EPOLLIN : 0U) | (count < UINT64_MAX - 1 ? EPOLLOUT : 0U);
}

static int64_t event_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			  uint64_t offset)
{
	struct event *event = event_of(file);
	int64_t r;

	(void)offset;
	if (event->count == 0) {
		return -EAGAIN;
	}
	r = give(slices, count, event->semaphore ? 1 : event->count);
	if (r > 0) {
		event->count -= event->semaphore ? 1 : event->count;
		gy_sim_file_changed(file, EPOLLOUT);
	}
	return r;
}

static int64_t event_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset)
{
	struct event *event = event_of(file);
	uint64_t number = 0;

	(void)offset;
	if (gy_sim_gather(slices, count, 0, &number, sizeof(number)) < sizeof(number) ||
	    number == UINT64_MAX) {
		return -EINVAL;
	}
	if (number > UINT64_MAX - 1 - event->count) {
		return -EAGAIN;
	}
	event->count += number;
	gy_sim_file_changed(file, EPOLLIN);
	return sizeof(number);
}

static void event_close(struct gy_sim_file *file)
{
	gy_sim_put(event_of(file));
}

static const struct gy_sim_file_ops event_ops = {
	.name = "event",
	.events = event_events,
	.read = event_read,
	.write = event_write,
	.close = event_close,
};

int __wrap_eventfd(unsigned int count, int flags)
{
	struct event *event;

	if (gy_sim_here == NULL) {
		return __real_eventfd(count, flags);
	}
	event = (struct event *)gy_sim_get(sizeof(*event));
	gy_sim_file_init(&event->file, &event_ops, gy_sim_host_here(),
			 O_RDWR | (flags & O_NONBLOCK));
	event->count = count;
	event->semaphore = (flags & EFD_SEMAPHORE) != 0;
	return gy_sim_result(gy_sim_file_install_flags(&event->file, flags));
}

int __wrap_eventfd_read(int fd, eventfd_t *ret_count)
{
	if (gy_sim_here == NULL) {
		return __real_eventfd_read(fd, ret_count);
	}
	return __wrap_read(fd, ret_count, sizeof(*ret_count)) == sizeof(*ret_count) ? 0 : -1;
}

int __wrap_eventfd_write(int fd, eventfd_t count)
{
	if (gy_sim_here == NULL) {
		return __real_eventfd_write(fd, count);
	}
	return __wrap_write(fd, &count, sizeof(count)) == sizeof(count) ? 0 : -1;
}

/* ---- timerfd ---- */

static struct clock_file *clock_of(struct gy_sim_file *file)
{
	return gy_container_of(file, struct clock_file, file);
}

static void fire(struct gy_sim_timer *timer)
{
	struct clock_file *clock = gy_container_of(timer, struct clock_file, timer);

	clock->fired++;
	if (clock->period_ns > 0) {
		gy_sim_timer_start(clock->file.host->sim, timer, timer->at_ns + clock->period_ns);
	}
	gy_sim_file_changed(&clock->file, EPOLLIN);
}

static uint32_t clock_events(const struct gy_sim_file *file)
{
	return gy_container_of(file, const struct clock_file, file)->fired > 0 ? EPOLLIN : 0U;
}

static int64_t clock_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			  uint64_t offset)
{
	struct clock_file *clock = clock_of(file);
	int64_t r;

	(void)offset;
	if (clock->fired == 0) {
		return -EAGAIN;
	}
	r = give(slices, count, clock->fired);
	if (r > 0) {
		clock->fired = 0;
	}
	return r;
}

static void clock_close(struct gy_sim_file *file)
{
	struct clock_file *clock = clock_of(file);

	gy_sim_timer_stop(file->host->sim, &clock->timer);
	gy_sim_put(clock);
}

static const struct gy_sim_file_ops clock_ops = {
	.name = "timer",
	.events = clock_events,
	.read = clock_read,
	.close = clock_close,
};

int __wrap_timerfd_create(clockid_t id, int flags)
{
	struct clock_file *clock;

	if (gy_sim_here == NULL) {
		return __real_timerfd_create(id, flags);
	}
	clock = (struct clock_file *)gy_sim_get(sizeof(*clock));
	gy_sim_file_init(&clock->file, &clock_ops, gy_sim_host_here(),
			 O_RDWR | (flags & O_NONBLOCK));
	clock->timer.fire = fire;
	clock->date = id == CLOCK_REALTIME;
	return gy_sim_result(gy_sim_file_install_flags(&clock->file, flags));
}

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static int set_time(int fd, int flags, const struct itimerspec *time)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);
	struct gyre_sim *sim = gy_sim_here->sim;
	uint64_t at_ns = ns_of(&time->it_value);
	struct clock_file *clock;

	if (file == NULL || file->ops != &clock_ops) {
		return file == NULL ? -EBADF : -EINVAL;
	}
	clock = clock_of(file);
	clock->fired = 0;
	clock->period_ns = ns_of(&time->it_interval);
	if (at_ns == 0) {
		gy_sim_timer_stop(sim, &clock->timer);
		return 0;
	}
	if ((flags & TFD_TIMER_ABSTIME) == 0) {
		at_ns = gy_sim_host_after(file->host, at_ns);
	} else {
		at_ns = clock->date ? gy_sim_host_when_date(file->host, at_ns)
				    : gy_sim_host_when(file->host, at_ns);
	}
	gy_sim_timer_start(sim, &clock->timer, at_ns > sim->now_ns ? at_ns : sim->now_ns);
	return 0;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *time,
			   struct itimerspec *ret_before)
{
	if (gy_sim_here == NULL) {
		return __real_timerfd_settime(fd, flags, time, ret_before);
	}
	if (ret_before != NULL) {
		memset(ret_before, 0, sizeof(*ret_before));
	}
	return gy_sim_result(set_time(fd, flags, time));
}
