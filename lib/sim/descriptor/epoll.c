/*
 * epoll, as the kernel has it: a descriptor that others are registered with, and that tells which
 * of them are ready. A registration for edges (EPOLLET) is told of each change, one for levels as
 * long as the file is ready.
 *
 * It is here that a loop of gyre looks for what has come, and waits. Whoever does so looks at
 * nothing that RCU protects, so it also counts as a quiescent state.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct epoll {
	struct gy_sim_file file;
	struct gy_list registrations;
	struct gy_list ready;
	struct gy_sim_queue waiters;
};

struct registration {
	struct gy_sim_watch watch;
	struct gy_list of_epoll;
	struct gy_list of_ready;
	struct epoll *epoll;
	struct gy_sim_file *file; /* NULL: it is closed */
	int fd;
	bool disarmed; /* by EPOLLONESHOT, until it is set anew */
	struct epoll_event event;
};

static void set_ready(struct registration *registration)
{
	struct epoll *epoll = registration->epoll;

	if (gy_list_empty(&registration->of_ready)) {
		gy_list_append(&epoll->ready, &registration->of_ready);
	}
	gy_sim_wake_one(&epoll->waiters);
	gy_sim_file_changed(&epoll->file, EPOLLIN);
}

static void remove_registration(struct registration *registration)
{
	gy_list_remove(&registration->watch.of_file);
	gy_list_remove(&registration->of_epoll);
	gy_list_remove(&registration->of_ready);
	gy_sim_put(registration);
}

/* Errors are told of without being asked for. */
static uint32_t wanted_events(const struct registration *registration)
{
	return registration->disarmed ? 0 : registration->event.events | EPOLLHUP | EPOLLERR;
}

static void changed(struct gy_sim_watch *watch, uint32_t events)
{
	struct registration *registration = gy_container_of(watch, struct registration, watch);

	if (events == 0) {
		remove_registration(registration);
	} else if ((events & wanted_events(registration)) != 0) {
		set_ready(registration);
	}
}

static uint32_t present_events(const struct registration *registration)
{
	return registration->file->ops->events(registration->file) & wanted_events(registration);
}

/* ---- the file ---- */

static uint32_t epoll_events(const struct gy_sim_file *file)
{
	const struct epoll *epoll = gy_container_of(file, const struct epoll, file);

	for (struct gy_list *item = epoll->ready.next; item != &epoll->ready; item = item->next) {
		if (present_events(gy_container_of(item, struct registration, of_ready)) != 0) {
			return EPOLLIN;
		}
	}
	return 0;
}

static void epoll_close(struct gy_sim_file *file)
{
	struct epoll *epoll = gy_container_of(file, struct epoll, file);

	while (!gy_list_empty(&epoll->registrations)) {
		remove_registration(
			gy_container_of(epoll->registrations.next, struct registration, of_epoll));
	}
	gy_sim_put(epoll);
}

static const struct gy_sim_file_ops epoll_ops = {
	.name = "epoll",
	.events = epoll_events,
	.close = epoll_close,
};

int __wrap_epoll_create1(int flags)
{
	struct epoll *epoll;

	if (gy_sim_here == NULL) {
		return __real_epoll_create1(flags);
	}
	epoll = (struct epoll *)gy_sim_get(sizeof(*epoll));
	gy_sim_file_init(&epoll->file, &epoll_ops, gy_sim_host_here(), O_RDWR);
	gy_list_init(&epoll->registrations);
	gy_list_init(&epoll->ready);
	gy_sim_queue_init(&epoll->waiters);
	return gy_sim_result(gy_sim_file_install_flags(&epoll->file, flags));
}

/* ---- registering ---- */

static struct epoll *epoll_at(int fd)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);

	return file == NULL || file->ops != &epoll_ops ? NULL
						       : gy_container_of(file, struct epoll, file);
}

static struct registration *find(const struct epoll *epoll, const struct gy_sim_file *file, int fd)
{
	for (struct gy_list *item = epoll->registrations.next; item != &epoll->registrations;
	     item = item->next) {
		struct registration *registration =
			gy_container_of(item, struct registration, of_epoll);

		if (registration->fd == fd && registration->file == file) {
			return registration;
		}
	}
	return NULL;
}

static void set(struct registration *registration, const struct epoll_event *event)
{
	registration->event = *event;
	registration->disarmed = false;
	if (present_events(registration) != 0) {
		set_ready(registration);
	}
}

static int add(struct epoll *epoll, struct gy_sim_file *file, int fd,
	       const struct epoll_event *event)
{
	struct registration *registration =
		(struct registration *)gy_sim_get(sizeof(*registration));

	*registration = (struct registration){
		.watch.changed = changed, .epoll = epoll, .file = file, .fd = fd
	};
	gy_list_init(&registration->of_ready);
	gy_list_append(&epoll->registrations, &registration->of_epoll);
	gy_list_append(&file->watches, &registration->watch.of_file);
	set(registration, event);
	return 0;
}

static int control(int epoll_fd, int what, int fd, const struct epoll_event *event)
{
	struct epoll *epoll = epoll_at(epoll_fd);
	struct gy_sim_file *file = gy_sim_file_at(fd);
	struct registration *registration;

	if (epoll == NULL || file == NULL) {
		return gy_sim_file_at(epoll_fd) == NULL || file == NULL ? -EBADF : -EINVAL;
	}
	if (file->ops->events == NULL) {
		return -EPERM;
	}
	registration = find(epoll, file, fd);
	if (what == EPOLL_CTL_ADD) {
		return registration != NULL ? -EEXIST : add(epoll, file, fd, event);
	}
	if (registration == NULL) {
		return -ENOENT;
	}
	if (what == EPOLL_CTL_MOD) {
		set(registration, event);
	} else {
		remove_registration(registration);
	}
	return 0;
}

int __wrap_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event)
{
	if (gy_sim_here == NULL) {
		return __real_epoll_ctl(epoll_fd, what, fd, event);
	}
	return gy_sim_result(control(epoll_fd, what, fd, event));
}

/* ---- waiting ---- */

/* Whether anything is ready still: what was given for a level has mostly been read since. */
static bool has_ready(struct epoll *epoll)
{
	while (!gy_list_empty(&epoll->ready)) {
		struct registration *registration =
			gy_container_of(epoll->ready.next, struct registration, of_ready);

		if (present_events(registration) != 0) {
			return true;
		}
		gy_list_remove(&registration->of_ready);
	}
	return false;
}

/* Gives events and keeps those that are for levels; which come first is drawn. */
static int take(struct epoll *epoll, struct epoll_event *ret_events, int room)
{
	struct gy_list again;
	int count = 0;

	gy_list_init(&again);
	while (!gy_list_empty(&epoll->ready) && count < room) {
		struct registration *registration =
			gy_container_of(epoll->ready.next, struct registration, of_ready);
		uint32_t events = present_events(registration);

		gy_list_remove(&registration->of_ready);
		if (events == 0) {
			continue;
		}
		ret_events[count] = registration->event;
		ret_events[count++].events = events;
		if ((registration->event.events & EPOLLONESHOT) != 0) {
			registration->disarmed = true;
		} else if ((registration->event.events & EPOLLET) == 0) {
			gy_list_append(&again, &registration->of_ready);
		}
	}
	gy_list_splice(&epoll->ready, &again);
	return count;
}

/* The kernel lists what is ready in the order in which it became so, which nobody may rely on. */
static void shuffle(struct gyre_sim *sim, struct epoll_event *events, int count)
{
	enum { SHUFFLED = 100000 };

	if (count < 2 || sim->calm || !gy_sim_happens(sim, SHUFFLED)) {
		return;
	}
	for (int i = count - 1; i > 0; i--) {
		uint32_t other = gy_sim_choose(sim, (uint32_t)i + 1);
		struct epoll_event moved = events[i];

		events[i] = events[other];
		events[other] = moved;
	}
}

static int wait_until(struct epoll *epoll, struct epoll_event *ret_events, int room,
		      uint64_t until_ns)
{
	struct gyre_sim *sim = gy_sim_here->sim;
	bool woken = true;
	int count;

	gy_sim_rcu_rest(true);
	if (until_ns <= sim->now_ns || has_ready(epoll)) {
		gy_sim_yield(true); /* who waits lets others go first anyway */
	}
	while ((count = take(epoll, ret_events, room)) == 0 && woken && until_ns > sim->now_ns) {
		woken = gy_sim_wait(&epoll->waiters, until_ns, "events");
		if (woken && gy_sim_happens(sim, sim->faults)) {
			break; /* for nothing: what is ready stays so */
		}
	}
	gy_sim_rcu_rest(false);
	shuffle(sim, ret_events, count);
	return count;
}

static int wait_for(int epoll_fd, struct epoll_event *ret_events, int room, uint64_t until_ns)
{
	struct epoll *epoll = epoll_at(epoll_fd);
	int count;

	if (epoll == NULL || room <= 0) {
		return epoll == NULL ? -EBADF : -EINVAL;
	}
	gy_sim_file_ref(&epoll->file); /* another task may close the descriptor meanwhile */
	gy_sim_here->file = &epoll->file;
	count = wait_until(epoll, ret_events, room, until_ns);
	gy_sim_here->file = NULL;
	gy_sim_file_unref(&epoll->file);
	return count;
}

int __wrap_epoll_wait(int epoll_fd, struct epoll_event *ret_events, int room, int timeout_ms)
{
	if (gy_sim_here == NULL) {
		return __real_epoll_wait(epoll_fd, ret_events, room, timeout_ms);
	}
	return gy_sim_result(wait_for(
		epoll_fd, ret_events, room,
		timeout_ms < 0
			? UINT64_MAX
			: gy_sim_host_after(gy_sim_host_here(), (uint64_t)timeout_ms * 1000000)));
}

int __wrap_epoll_pwait2(int epoll_fd, struct epoll_event *ret_events, int room,
			const struct timespec *timeout, const sigset_t *signals)
{
	uint64_t until_ns = UINT64_MAX;

	if (gy_sim_here == NULL) {
		return __real_epoll_pwait2(epoll_fd, ret_events, room, timeout, signals);
	}
	if (timeout != NULL) {
		until_ns = gy_sim_host_after(gy_sim_host_here(),
					     (uint64_t)timeout->tv_sec * 1000000000 +
						     (uint64_t)timeout->tv_nsec);
	}
	return gy_sim_result(wait_for(epoll_fd, ret_events, room, until_ns));
}
