/*
 * The simulator, inside: a simulation has hosts, a host has tasks and descriptors, a task is a
 * thread of a host with a stack of its own, and all of them run in the one thread that called
 * gyre_sim_run(). A task runs until it waits or yields; then the scheduler draws the next one of
 * those that can go on, and when none can it moves the clock to the next timer.
 *
 * The calls of the kernel and of the threads library that hosts make come here because the linker
 * puts __wrap_name() in the place of name() (lib/sim/wrapped.h). Each of these functions first
 * looks whether a task is running; if not, the call is one of the program itself, and goes to
 * __real_name().
 *
 * All of a simulation belongs to one thread, so nothing here is atomic. There is no lack of memory
 * in the simulator: it ends the process, as what is to be tested is the program.
 */
#ifndef GY_SIM_SIM_H
#define GY_SIM_SIM_H

#include <gyre/sim.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/list.h"

struct gy_epoll_workers;
struct gy_sim_file;
struct gy_sim_host;
struct gy_sim_task;

enum {
	GY_SIM_HOSTS_MAX = 64,
	GY_SIM_NAME_BYTES = 32,
	GY_SIM_DESCRIPTORS_MAX = 65536,
	GY_SIM_SLOTS_OF_PAGE = 256,
	GY_SIM_SLOT_PAGES = GY_SIM_DESCRIPTORS_MAX / GY_SIM_SLOTS_OF_PAGE,
	GY_SIM_SIGNALS = 64
};

/* ---- memory: never NULL, and zero ---- */

void *gy_sim_get(size_t bytes);
void gy_sim_put(void *memory);
/* Makes room for @count elements in *@elements, which has room for *@room. */
void gy_sim_grow(void **elements, uint32_t *room, uint32_t count, size_t element_bytes);

/* A host has crashed: gives back the hash tables that liburcu has made for it, whose items must be
 * there still. */
void gy_sim_hash_tables_crash(struct gy_sim_host *host);
/* A host has crashed: gives back what gyre has allocated for it. */
void gy_sim_memory_crash(struct gy_sim_host *host);
/* The host is down: the pools for mail of its threads are freed. */
void gy_sim_foreign_pools_fini(struct gy_sim_host *host);
/* Whether something is in what gyre has allocated for a host. */
bool gy_sim_memory_has(const struct gy_sim_host *host, const void *at);
/* How many pieces gyre has allocated for a host, and not given back; and their bytes. */
uint32_t gy_sim_memory_out(const struct gy_sim_host *host, size_t *ret_bytes);

/* Which allocation of a host fails. Those of its main task do not count, nor those made while it is
 * @spared. */
struct gy_sim_allocations {
	uint64_t fails_in; /* 0: none does */
	bool failed;
	bool spared;
};

void gy_sim_allocations_fail(struct gy_sim_host *host, uint64_t number);
/* None fails any more; whether one has. */
bool gy_sim_allocations_recover(struct gy_sim_host *host);
void gy_sim_allocations_spare(struct gy_sim_host *host, bool spare);

/* ---- sim.c: the whole ---- */

/* Where a task may be put aside: where it calls, and between two steps of an algorithm without
 * locks. */
enum gy_sim_pause { GY_SIM_PAUSE_CALL, GY_SIM_PAUSE_STEP, GY_SIM_PAUSES };

struct gyre_sim {
	uint64_t now_ns;   /* since the begin of the simulation; never set back */
	uint64_t events;   /* tasks that had a turn, and timers that fired */
	uint32_t faults;   /* calls that meet one, in a million */
	uint32_t refusals; /* and that are refused */
	bool leaks;	   /* are failures */
	pid_t process;	   /* that has it: a child of that is no part of it */
	uint32_t cpus;
	bool calm; /* for tests that rely on it: files stay in memory, events keep their order */
	uint32_t hosts_count;
	struct gy_sim_host *hosts[GY_SIM_HOSTS_MAX];
	struct gy_sim_net *net;
	bool has_own_packets; /* of hosts to themselves, that are to come before anybody looks */
	struct gy_sim_decisions *decisions;
	uint64_t places_left[GY_SIM_PAUSES]; /* to be passed before the next pause */
	struct gy_sim_scheduler *scheduler;
	FILE *trace;
	uint64_t digest;
	struct gy_list checks;
	char failure[512]; /* empty: none */
};

/*
 * Writes a line to the trace, and adds it to the digest: what happened, without addresses and
 * anything else that differs between processes. @host may be NULL.
 */
__attribute__((format(printf, 3, 4))) void
gy_sim_trace(struct gyre_sim *sim, const struct gy_sim_host *host, const char *format, ...);
/* Adds two numbers and the time to the digest alone. */
void gy_sim_note(struct gyre_sim *sim, uint64_t a, uint64_t b);
/* Ends the run with what was found wrong; the first one counts. */
__attribute__((format(printf, 2, 3))) void gy_sim_fail(struct gyre_sim *sim, const char *format,
						       ...);

/* Closes a file of the options, which may be NULL, and says so if something is missing in it. */
void gy_sim_output_close(FILE *output, const char *what);

/* ---- decisions.c: all that can go one way or another ---- */

/* A number below @count, which is not 0. 0 is what happens where nothing special is asked for. */
uint32_t gy_sim_choose(struct gyre_sim *sim, uint32_t count);
/* Which of @count tasks goes on; other than the first only so many times of a million. */
uint32_t gy_sim_choose_task(struct gyre_sim *sim, uint32_t count, uint32_t of_a_million);
/* The task is at a place where it may be put aside, and none is left to be passed. Use
 * gy_sim_gives_way(). */
bool gy_sim_pause(struct gyre_sim *sim, enum gy_sim_pause pause);

/* Whether the running task is put aside at the place where it is. There are so many of them that
 * each may cost next to nothing. */
static inline bool gy_sim_gives_way(struct gyre_sim *sim, enum gy_sim_pause pause)
{
	if (sim->places_left[pause] > 0) {
		sim->places_left[pause]--;
		return false;
	}
	return gy_sim_pause(sim, pause);
}
/* Whether something happens that does so @of_a_million times; not is the ordinary case. */
bool gy_sim_happens(struct gyre_sim *sim, uint32_t of_a_million);
/* Whether the host of the running task, if any, is refused what it asks for. */
bool gy_sim_refuses(const char *what);
/* How many of @count bytes a call moves: all, or where it meets a fault at least one; often few. */
size_t gy_sim_shorten(struct gyre_sim *sim, size_t count);
/* A time from 0 to @most_ns; 0 is the ordinary case. */
uint64_t gy_sim_choose_time(struct gyre_sim *sim, uint64_t most_ns);
/* Bytes for keys and seeds of hosts. */
void gy_sim_random_bytes(struct gyre_sim *sim, void *memory, size_t bytes);

/* Has OpenSSL take those as well. */
void gy_sim_tls_random_init(void);

/* ---- timers.c ---- */

/* Timers that are mostly started in the order in which they fire. */
enum gy_sim_row { GY_SIM_ROW_PACKETS, GY_SIM_ROW_RETRIES, GY_SIM_ROWS };

struct gy_sim_timer {
	uint64_t at_ns;
	uint64_t number; /* of those of the same time the one that was started first fires first */
	uint32_t place;	 /* in the heap, from 1 on; 0: not started; UINT32_MAX: in a row */
	struct gy_list of_row;
	void (*fire)(struct gy_sim_timer *timer); /* in the scheduler: no task is running */
};

/* Starts a timer, or starts it anew. UINT64_MAX: it is only stopped. */
void gy_sim_timer_start(struct gyre_sim *sim, struct gy_sim_timer *timer, uint64_t at_ns);
/* The same, at less cost where no other one of the row fires later. */
void gy_sim_timer_start_in_row(struct gyre_sim *sim, struct gy_sim_timer *timer, uint64_t at_ns,
			       enum gy_sim_row row);
void gy_sim_timer_stop(struct gyre_sim *sim, struct gy_sim_timer *timer);

/* ---- scheduler.c, task.c: tasks ---- */

enum gy_sim_task_state {
	GY_SIM_TASK_READY,   /* in the scheduler's list */
	GY_SIM_TASK_RUNNING, /* it is gy_sim_here */
	GY_SIM_TASK_WAITING,
	GY_SIM_TASK_ENDED, /* waits to be joined */
};

/* Tasks that wait for the same thing. */
struct gy_sim_queue {
	struct gy_list tasks;
};

/* The task that runs in this thread; NULL outside of the simulation, and in its scheduler. */
extern _Thread_local struct gy_sim_task *gy_sim_here;

struct gy_sim_host *gy_sim_host_here(void);

/* Lets others go before; @always, or only as the seed will have it. In a task. */
void gy_sim_yield(bool always);

static inline void gy_sim_queue_init(struct gy_sim_queue *queue)
{
	gy_list_init(&queue->tasks);
}

/*
 * Has the running task wait in @queue until it is woken, or until the simulation's clock is at
 * @until_ns; UINT64_MAX for no limit. @what it waits for is for people. Returns whether it was
 * woken.
 */
bool gy_sim_wait(struct gy_sim_queue *queue, uint64_t until_ns, const char *what);
/* Wakes the task that waits longest, or all. */
void gy_sim_wake_one(struct gy_sim_queue *queue);
void gy_sim_wake_all(struct gy_sim_queue *queue);

/* ---- host.c ---- */

struct gy_sim_host {
	struct gyre_sim *sim;
	uint32_t index;
	uint32_t life; /* how often it has booted; also makes its process numbers differ */
	bool up;
	bool goes_down; /* gy_sim_host_down() is at work */
	char name[GY_SIM_NAME_BYTES];
	gyre_sim_boot_fn boot;
	void *arg;
	struct gy_list tasks; /* all of the host */
	uint32_t tasks_made;
	struct gy_sim_task *main; /* that runs @boot */
	struct gy_sim_rcu *rcu;
	uint64_t clock_base_ns; /* of its monotonic clock */
	uint64_t clock_rate;	/* how fast it runs: a fraction of 2^63 */
	uint64_t clock_inverse; /* 2^63 divided by that, likewise */
	struct gy_sim_slot
		*slots[GY_SIM_SLOT_PAGES]; /* descriptors by number; NULL: all are free */
	uint32_t descriptors_max;
	uid_t user;
	struct gy_list environment; /* process_calls.c */
	struct gy_list streams;	    /* stream_calls.c */
	uint64_t signals;	    /* pending, a bit by number */
	struct gy_list signal_files;
	struct gy_sim_queue signal_waiters;	   /* tasks */
	struct sigaction handlers[GY_SIM_SIGNALS]; /* that raise() and kill() call */
	struct gy_list hash_tables;		   /* of liburcu: hash_table_calls.c */
	struct gy_list memory;			   /* what gyre has allocated for it: memory.c */
	struct gy_sim_allocations allocations;
	struct gy_sim_net_host *net;		/* its addresses and ports: net.c */
	struct gy_sim_disk *disk;		/* survives crashes: disk.c */
	struct gy_epoll_workers *workers;	/* file_work.c; NULL until somebody asks for them */
	struct gy_foreign_pools *foreign_pools; /* memory.c; likewise */
};

/* Has the clocks of a host run faster by so many millionths, or slower. */
void gy_sim_host_set_skew(struct gy_sim_host *host, int32_t skew);
/* When so much time has passed by the host's clock, by which its time-outs go: never earlier. */
uint64_t gy_sim_host_after(const struct gy_sim_host *host, uint64_t ns);

/* ---- descriptor/file.c: open descriptors ---- */

/*
 * What descriptors stand for, as the kernel's open file descriptions: several descriptors can stand
 * for one. No operation waits: it is -EAGAIN where it would have to.
 */
struct gy_sim_file_ops {
	const char *name;
	mode_t type; /* S_IFSOCK, S_IFIFO, S_IFREG, 0 */
	/* What it is ready for now, of EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR, EPOLLRDHUP, EPOLLPRI.
	 * NULL: it cannot be polled, as a regular file. */
	uint32_t (*events)(const struct gy_sim_file *file);
	/* NULL: -EINVAL. @offset is GY_SIM_AT_POSITION or one of a file. */
	int64_t (*read)(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			uint64_t offset);
	int64_t (*write)(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			 uint64_t offset);
	/* Fills what it knows; the rest is 0. NULL: nothing. */
	void (*status)(struct gy_sim_file *file, struct stat *ret_status);
	/* The last descriptor is closed, or the host has crashed (@host->up is false then, and
	 * nobody hears of it unless by the network). Frees the file. */
	void (*close)(struct gy_sim_file *file);
};

#define GY_SIM_AT_POSITION UINT64_MAX

/* The first member of each kind of file. */
struct gy_sim_file {
	const struct gy_sim_file_ops *ops;
	struct gy_sim_host *host;
	uint32_t references;
	int flags; /* those of F_GETFL: the access mode, O_NONBLOCK, O_APPEND */
	struct gy_list watches;
};

/* Somebody who wants to hear of events: an epoll, or a task that waits. */
struct gy_sim_watch {
	struct gy_list of_file;
	void (*changed)(struct gy_sim_watch *watch, uint32_t events);
};

/* Sets up the common part; no descriptor stands for it yet. */
void gy_sim_file_init(struct gy_sim_file *file, const struct gy_sim_file_ops *ops,
		      struct gy_sim_host *host, int flags);
/*
 * Has a descriptor stand for @file, the lowest from @least on that is free. The descriptor, or
 * -EMFILE; then the file is as before.
 */
int gy_sim_file_install(struct gy_sim_file *file, int least);
/* Installs a file that was made just now, or closes it. */
int gy_sim_file_install_new(struct gy_sim_file *file);
/* The same; with O_CLOEXEC in @flags the descriptor is closed on exec. */
int gy_sim_file_install_flags(struct gy_sim_file *file, int flags);
/* What a descriptor of the running task's host stands for; NULL: none. */
struct gy_sim_file *gy_sim_file_at(int fd);
void gy_sim_file_ref(struct gy_sim_file *file);
void gy_sim_file_unref(struct gy_sim_file *file);
/* Something has happened, after which @events may be found: those who watch hear of it, also if
 * the file was ready before. */
void gy_sim_file_changed(struct gy_sim_file *file, uint32_t events);
/*
 * After -EAGAIN: waits until the file is ready for @events (or has an error), or until @until_ns.
 * 0; -EAGAIN at once if it is not to wait, as by O_NONBLOCK or @flags with MSG_DONTWAIT, and when
 * time is up.
 */
int gy_sim_file_wait(struct gy_sim_file *file, uint32_t events, int flags, uint64_t until_ns);

/* Bytes to and from slices: how many were copied. */
size_t gy_sim_scatter(const struct iovec *slices, uint32_t count, const void *bytes, size_t have);
size_t gy_sim_gather(const struct iovec *slices, uint32_t count, size_t skip, void *bytes,
		     size_t room);
size_t gy_sim_slices_bytes(const struct iovec *slices, uint32_t count);

/* How many descriptors a host has, but for those it began with. */
uint32_t gy_sim_table_count(const struct gy_sim_host *host);

/* ---- net/net.c: addresses, links ---- */

void gy_sim_net_init(struct gyre_sim *sim);
void gy_sim_net_fini(struct gyre_sim *sim);
void gy_sim_net_deliver_own(struct gyre_sim *sim);

/* What hosts have sent to themselves comes: before a call looks at a descriptor, and after each
 * event. */
static inline void gy_sim_net_deliver(struct gyre_sim *sim)
{
	if (sim->has_own_packets) {
		gy_sim_net_deliver_own(sim);
	}
}

/* A host comes into being, ends or crashes (its sockets are closed), and is destroyed. One that has
 * ended, as a process does, still refuses connections; one that has @crashed is silent. */
void gy_sim_net_host_init(struct gy_sim_host *host);
void gy_sim_net_host_down(struct gy_sim_host *host, bool crashed);
void gy_sim_net_host_fini(struct gy_sim_host *host);
/* All descriptors of a host are closed: what Unix sockets hold that only their own messages keep
 * open, in a circle, is let go. */
void gy_sim_local_drop_all(struct gy_sim_host *host);
void gy_sim_net_link(struct gyre_sim *sim, uint32_t from, uint32_t to,
		     const struct gyre_sim_link *link);
/* Ends connections with a host, @rate of a million, as if that had reset them; how many. */
int gy_sim_streams_reset(struct gy_sim_host *host, uint32_t peer, uint32_t rate);

/* A call ends with @error after it has moved some bytes, which is what it tells: the next one finds
 * the error. */
void gy_sim_socket_put_error(int fd, int64_t error);

/* The files of Unix sockets, for the calls that take paths; -ENOENT for any other. */
int gy_sim_socket_file_status(const struct gy_sim_host *host, const char *path,
			      struct stat *ret_status);
int gy_sim_socket_file_set_mode(struct gy_sim_host *host, const char *path, mode_t mode);
int gy_sim_socket_file_remove(struct gy_sim_host *host, const char *path);
/* Where nothing but such a file may be replaced. */
int gy_sim_socket_file_rename(struct gy_sim_host *host, const char *from, const char *to);

/* ---- disk/disk.c ---- */

void gy_sim_disk_init(struct gy_sim_host *host);
/* Whether the disk has something at a path. */
bool gy_sim_disk_has(const struct gy_sim_host *host, const char *path);
/* The host has crashed: what was not synced is lost, all or in part. */
void gy_sim_disk_crash(struct gy_sim_host *host);
void gy_sim_disk_fini(struct gy_sim_host *host);
/* The host is down, and its tasks have ended: the set of worker threads is forgotten. */
void gy_sim_workers_fini(struct gy_sim_host *host);

/* Results of calls as libc returns them, with errno set: of those that return an int, and of those
 * that return a count. */
static inline int gy_sim_result(int64_t result)
{
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return (int)result;
}

static inline ssize_t gy_sim_count(int64_t result)
{
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	return (ssize_t)result;
}

#endif
