/*
 * Signals. A host hears of them by descriptors (signalfd) or by waiting for them. There is no
 * kernel that could interrupt a task, so a handler is called only by the task that sends the signal
 * to its own host, and calls that wait are never -EINTR.
 */
#include "sim/process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct signal_file {
	struct gy_sim_file file;
	struct gy_list of_host;
	sigset_t signals;
};

static struct signal_file *signal_file_of(struct gy_sim_file *file)
{
	return gy_container_of(file, struct signal_file, file);
}

/* The lowest pending signal of a set; 0: none. */
static int find_pending(const struct gy_sim_host *host, const sigset_t *signals)
{
	for (int signo = 1; signo < 64; signo++) {
		if ((host->signals >> signo & 1) != 0 && sigismember(signals, signo) == 1) {
			return signo;
		}
	}
	return 0;
}

static void take(struct gy_sim_host *host, int signo)
{
	host->signals &= ~(UINT64_C(1) << signo);
}

/* Whether a task waits for it, which goes on then. */
static bool wake_waiters(struct gy_sim_host *host, int signo)
{
	for (struct gy_list *item = host->tasks.next; item != &host->tasks; item = item->next) {
		const struct gy_sim_task *task = gy_container_of(item, struct gy_sim_task, of_host);

		if (task->awaited != NULL && sigismember(task->awaited, signo) == 1) {
			gy_sim_wake_all(&host->signal_waiters);
			return true;
		}
	}
	return false;
}

/* What is blocked stays pending, and may be waited for: by the task that sends it to its own host,
 * or else by the host's first one. */
static bool is_blocked(const struct gy_sim_host *host, int signo)
{
	const struct gy_sim_task *task = gy_sim_host_here() == host ? gy_sim_here : host->main;

	return task != NULL && sigismember(&task->blocked, signo) == 1;
}

int gy_sim_signal_send(struct gy_sim_host *host, int signo)
{
	bool heard = false;

	gy_sim_trace(host->sim, host, "gets signal %d", signo);
	host->signals |= UINT64_C(1) << signo;
	for (struct gy_list *item = host->signal_files.next; item != &host->signal_files;
	     item = item->next) {
		struct signal_file *file = gy_container_of(item, struct signal_file, of_host);

		if (sigismember(&file->signals, signo) == 1) {
			heard = true;
			gy_sim_file_changed(&file->file, EPOLLIN);
		}
	}
	heard = wake_waiters(host, signo) || heard || is_blocked(host, signo);
	if (!heard) {
		take(host, signo);
	}
	return heard ? 0 : -EOPNOTSUPP;
}

/* ---- descriptors ---- */

static uint32_t signal_events(const struct gy_sim_file *file)
{
	const struct signal_file *one = gy_container_of(file, const struct signal_file, file);

	return find_pending(file->host, &one->signals) != 0 ? EPOLLIN : 0U;
}

static int64_t signal_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset)
{
	struct signalfd_siginfo info = { 0 };
	int signo = find_pending(file->host, &signal_file_of(file)->signals);

	(void)offset;
	if (gy_sim_slices_bytes(slices, count) < sizeof(info)) {
		return -EINVAL;
	}
	if (signo == 0) {
		return -EAGAIN;
	}
	take(file->host, signo);
	info.ssi_signo = (uint32_t)signo;
	return (int64_t)gy_sim_scatter(slices, count, &info, sizeof(info));
}

static void signal_close(struct gy_sim_file *file)
{
	gy_list_remove(&signal_file_of(file)->of_host);
	gy_sim_put(signal_file_of(file));
}

static const struct gy_sim_file_ops signal_ops = {
	.name = "signals",
	.events = signal_events,
	.read = signal_read,
	.close = signal_close,
};

static int open_signals(int fd, const sigset_t *signals, int flags)
{
	struct gy_sim_file *there = fd < 0 ? NULL : gy_sim_file_at(fd);
	struct signal_file *file;

	if (fd >= 0) {
		if (there == NULL || there->ops != &signal_ops) {
			return there == NULL ? -EBADF : -EINVAL;
		}
		signal_file_of(there)->signals = *signals;
		return fd;
	}
	file = (struct signal_file *)gy_sim_get(sizeof(*file));
	gy_sim_file_init(&file->file, &signal_ops, gy_sim_host_here(),
			 O_RDWR | (flags & O_NONBLOCK));
	file->signals = *signals;
	gy_list_append(&gy_sim_host_here()->signal_files, &file->of_host);
	return gy_sim_file_install_flags(&file->file, flags);
}

int __wrap_signalfd(int fd, const sigset_t *signals, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_signalfd(fd, signals, flags);
	}
	return gy_sim_result(open_signals(fd, signals, flags));
}

/* ---- the rest ---- */

static int await_signal(const sigset_t *signals, siginfo_t *ret_info, uint64_t until_ns)
{
	struct gy_sim_host *host = gy_sim_host_here();
	int signo = find_pending(host, signals);
	bool woken = true;

	while (signo == 0 && woken) {
		gy_sim_here->awaited = signals;
		woken = gy_sim_wait(&host->signal_waiters, until_ns, "a signal");
		gy_sim_here->awaited = NULL;
		signo = find_pending(host, signals);
	}
	if (signo == 0) {
		return -EAGAIN;
	}
	take(host, signo);
	if (ret_info != NULL) {
		*ret_info = (siginfo_t){ .si_signo = signo };
	}
	return signo;
}

int __wrap_sigtimedwait(const sigset_t *signals, siginfo_t *ret_info,
			const struct timespec *timeout)
{
	uint64_t until_ns = UINT64_MAX;

	if (gy_sim_here == NULL) {
		return __real_sigtimedwait(signals, ret_info, timeout);
	}
	if (timeout != NULL) {
		until_ns = gy_sim_host_after(gy_sim_host_here(),
					     (uint64_t)timeout->tv_sec * 1000000000 +
						     (uint64_t)timeout->tv_nsec);
	}
	return gy_sim_result(await_signal(signals, ret_info, until_ns));
}

int __wrap_sigwaitinfo(const sigset_t *signals, siginfo_t *ret_info)
{
	if (gy_sim_here == NULL) {
		return __real_sigwaitinfo(signals, ret_info);
	}
	return gy_sim_result(await_signal(signals, ret_info, UINT64_MAX));
}

int __wrap_sigwait(const sigset_t *signals, int *ret_signo)
{
	if (gy_sim_here == NULL) {
		return __real_sigwait(signals, ret_signo);
	}
	*ret_signo = await_signal(signals, NULL, UINT64_MAX);
	return 0;
}

/* ---- handlers ---- */

/* That a fault raises, or an abort(): the kernel's, in hosts too. */
static bool is_of_fault(int signo)
{
	return signo == SIGABRT || signo == SIGBUS || signo == SIGFPE || signo == SIGILL ||
	       signo == SIGSEGV || signo == SIGTRAP;
}

static int set_handler(int signo, const struct sigaction *action, struct sigaction *ret_before)
{
	struct sigaction *handler;

	if (signo < 1 || signo >= GY_SIM_SIGNALS) {
		return -EINVAL;
	}
	handler = &gy_sim_host_here()->handlers[signo];
	if (ret_before != NULL) {
		*ret_before = *handler;
	}
	if (action != NULL) {
		*handler = *action;
	}
	return 0;
}

int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *ret_before)
{
	if (gy_sim_here == NULL || is_of_fault(signo)) {
		return __real_sigaction(signo, action, ret_before);
	}
	return gy_sim_result(set_handler(signo, action, ret_before));
}

__sighandler_t __wrap_signal(int signo, __sighandler_t handler)
{
	const struct sigaction action = { .sa_handler = handler };
	struct sigaction before;

	if (gy_sim_here == NULL || is_of_fault(signo)) {
		return __real_signal(signo, handler);
	}
	return gy_sim_result(set_handler(signo, &action, &before)) < 0 ? SIG_ERR
								       : before.sa_handler;
}

/* The running task has sent a signal to its own host: who does so calls the handler itself. */
static int send_to_self(int signo)
{
	const struct sigaction *handler;

	if (signo < 0 || signo >= GY_SIM_SIGNALS) {
		return -EINVAL;
	}
	if (signo == 0 || gy_sim_signal_send(gy_sim_host_here(), signo) == 0 ||
	    sigismember(&gy_sim_here->blocked, signo) == 1) {
		return 0;
	}
	handler = &gy_sim_host_here()->handlers[signo];
	if ((handler->sa_flags & SA_SIGINFO) == 0 && handler->sa_handler == SIG_DFL) {
		(void)__real_raise(signo); /* which ends the program, as a rule */
	} else if ((handler->sa_flags & SA_SIGINFO) != 0) {
		siginfo_t info = { .si_signo = signo };

		handler->sa_sigaction(signo, &info, NULL);
	} else if (handler->sa_handler != SIG_IGN) {
		handler->sa_handler(signo);
	}
	return 0;
}

int __wrap_raise(int signo)
{
	if (gy_sim_here == NULL || is_of_fault(signo)) {
		return __real_raise(signo);
	}
	return gy_sim_result(send_to_self(signo));
}

int __wrap_kill(pid_t process, int signo)
{
	if (gy_sim_here == NULL) {
		return __real_kill(process, signo);
	}
	return gy_sim_result(process == __wrap_getpid() ? send_to_self(signo) : -ESRCH);
}

int __wrap_pthread_kill(pthread_t thread, int signo)
{
	return gy_sim_here == NULL ? __real_pthread_kill(thread, signo) : 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *signals, sigset_t *ret_before)
{
	struct gy_sim_task *task = gy_sim_here;

	if (task == NULL) {
		return __real_pthread_sigmask(how, signals, ret_before);
	}
	if (ret_before != NULL) {
		*ret_before = task->blocked;
	}
	for (int signo = 1; signals != NULL && signo < 64; signo++) {
		bool given = sigismember(signals, signo) == 1;

		if (given && how != SIG_UNBLOCK) {
			(void)sigaddset(&task->blocked, signo);
		} else if (how == SIG_SETMASK || (given && how == SIG_UNBLOCK)) {
			(void)sigdelset(&task->blocked, signo);
		}
	}
	return 0;
}
