/*
 * Simulation: servers, unchanged, on machines, a network and a clock that are made up, in one
 * thread of one process. A program that links with gyre-sim in the place of gyre makes hosts, each
 * of which boots as its process would, and lets time pass. It does to them what happens once in a
 * year: it cuts links or slows them, crashes machines and starts them again.
 *
 *	static int boot(void *arg)
 *	{
 *		struct gyre_system *system;
 *		int r = gyre_system_create(NULL, &system);
 *
 *		...
 *		r = gyre_system_run(system);
 *		gyre_system_destroy(system);
 *		return r;
 *	}
 *
 *	r = gyre_sim_create(&(struct gyre_sim_options){ .seed = 7 }, &sim);
 *	r = gyre_sim_host(sim, "alpha", boot, NULL, &alpha);
 *	r = gyre_sim_host(sim, "beta", boot, NULL, &beta);
 *	r = gyre_sim_run(sim, GYRE_SECONDS(10));
 *	r = gyre_sim_link_set(sim, alpha, beta, &(struct gyre_sim_link){ .cut = true });
 *	...
 *
 * All that can go one way or another follows from the seed: which thread goes on next, how long a
 * packet takes, which is lost. The same seed gives the same run, in any process, and the same
 * gyre_sim_digest(). Time is virtual: it stands still while a host computes, but for a little at
 * each look at a clock, and jumps when nothing can run.
 *
 * Simulated are the calls that a program makes of the kernel and of the threads library, not the
 * program itself: the linker puts the simulator's functions in their place, by options that come
 * with gyre-sim's pkg-config file. Outside of gyre_sim_run() they are the kernel's as ever.
 *
 * Hosts share the memory of one process. So
 *
 * - what is global in a program belongs to all of them, and survives crashes: state lives in the
 *   system, or in what boot makes;
 * - a crash gives back what gyre has allocated, and what the program has by malloc() stays lost;
 * - a thread of a host is not a thread of the kernel: thread-local variables are shared by all.
 */
#ifndef GYRE_SIM_H
#define GYRE_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gyre/api.h>

GYRE_BEGIN_DECLS

struct gyre_sim;

/**
 * struct gyre_sim_options - what a simulation is to be like
 * @seed: all that is random follows from it
 * @trace: a file for what happens, a line an event; NULL for none. It is written anew
 * @record: a file for the decisions that are out of the ordinary, a line each; NULL for none. It is
 *   whole when the simulation is destroyed, and up to there when the process ends before
 * @replay: such a file, whose decisions are taken in the place of those of the seed; NULL for none
 * @faults: how often calls of hosts meet what a kernel may do to them though nothing is broken:
 *   short reads and writes, a wake-up for nothing; in a million calls. 0 for none
 * @refusals: how often hosts are refused what they ask for: gyre gets no memory, a descriptor is
 *   -EMFILE, a datagram -ENOBUFS; in a million calls. 0 for none
 * @cpus: how many CPUs each host has; 0 is 2
 * @leaks: what a host has not given back when its boot function returns is a failure, as of a
 *   check: descriptors, threads, and memory of gyre. Threads that nobody joins have a second of the
 *   simulation to end in, or four times the @delay_ns of the disk if that is more
 */
struct gyre_sim_options {
	uint64_t seed;
	const char *trace;
	const char *record;
	const char *replay;
	uint32_t faults;
	uint32_t refusals;
	uint32_t cpus;
	bool leaks;
};

/**
 * gyre_sim_boot_fn() - what a host does, from its start to its end, as main() of a process
 * @arg: that of gyre_sim_host()
 *
 * Called when the simulation first goes on after the host was made, and after each restart; in no
 * phase of a loop, and not re-entered for the same host. It may block, as in gyre_system_run().
 * When it returns the host is down, and whatever it has left is ended as by exit(). The
 * simulation's last call is before gyre_sim_destroy() returns.
 *
 * Return: a status, which goes to the trace.
 */
typedef int (*gyre_sim_boot_fn)(void *arg);

/**
 * gyre_sim_when_fn() - a question that gyre_sim_run_until() asks after each event
 * @arg: that of gyre_sim_run_until()
 *
 * Called between two events: in no phase of a loop, and not re-entered. It may look at systems from
 * outside, by what does not wait. The last call is the one that returns true, or the one at the end
 * of the time.
 *
 * Return: whether it has become so.
 */
typedef bool (*gyre_sim_when_fn)(void *arg);

/**
 * gyre_sim_check_fn() - what must be true after each event
 * @arg: that of gyre_sim_check()
 *
 * Called between two events: in no phase of a loop, and not re-entered. What comes for a task and
 * lets it go on is one event with the turn that it has then. It may look at systems from outside,
 * by what does not wait. The last call is before gyre_sim_destroy().
 *
 * Return: NULL, or a text of what is wrong, which ends the run.
 */
typedef const char *(*gyre_sim_check_fn)(void *arg);

/**
 * struct gyre_sim_link - how packets get from one host to another; one way
 * @delay_ns: that each takes at least; 0 is 50 microseconds
 * @jitter_ns: that it may take longer. Datagrams overtake one another; the bytes of a connection do
 *   not
 * @loss: packets that are lost, in a million. What a connection has lost is sent again, which takes
 *   time
 * @duplicates: datagrams that come twice, in a million
 * @clog: packets wait, and come when the link is no longer clogged
 * @cut: packets are lost, all of them. A connection lives on until it has lost patience, as in life
 */
struct gyre_sim_link {
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint32_t loss;
	uint32_t duplicates;
	bool clog;
	bool cut;
};

/**
 * struct gyre_sim_disk - what the disk of a host is like
 * @capacity_bytes: that all files together can have; 0 is 1 GiB. Writes beyond it are -ENOSPC
 * @delay_ns: that an operation which has to wait for the disk takes at least; it may take as much
 *   again. 0 is 100 microseconds
 * @errors: reads, writes and syncs that are -EIO, in a million. A sync that fails has lost the
 *   writes that it was to sync: they are read until the host crashes, and no later sync helps
 */
struct gyre_sim_disk {
	uint64_t capacity_bytes;
	uint64_t delay_ns;
	uint32_t errors;
};

/**
 * gyre_sim_create() - makes a simulation without hosts, at time 0
 * @options: what it is to be like; NULL for a simulation of seed 0
 * @ret_sim: the simulation
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EBADMSG  @replay is no file of decisions
 *   -EBUSY    another thread has a simulation that it has not destroyed
 *   -EINVAL   @ret_sim is NULL, a rate is above a million, or there are more than 64 CPUs
 *   other     a file of the options cannot be opened
 * Ownership: the caller has the simulation until gyre_sim_destroy().
 * Context: any thread, which is the simulation's from then on; not inside of a host.
 * Since: 0.1
 */
GYRE_API int gyre_sim_create(const struct gyre_sim_options *options, struct gyre_sim **ret_sim);

/**
 * gyre_sim_destroy() - ends a simulation, as if all hosts that are up crashed
 * @sim: the simulation; NULL is allowed
 *
 * Ownership: @sim is freed, and the files of its options are closed.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API void gyre_sim_destroy(struct gyre_sim *sim);

/**
 * gyre_sim_host() - adds a host, which boots as soon as the simulation goes on
 * @sim: the simulation
 * @name: of the host, at most 31 bytes, and no other's: others look it up under this name
 * @boot: what it does
 * @arg: the argument of @boot
 * @ret_host: its number, from 0 on; may be NULL
 *
 * Its addresses are 10.0.0.1 and fd00::1 for the first host, 10.0.0.2 and fd00::2 for the next, and
 * so on; 127.0.0.1 and ::1 are its own.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EEXIST   there is a host of this name
 *   -EINVAL   an argument is NULL, or the name is empty or too long
 *   -ENOBUFS  there are 64 hosts
 * Ownership: @name is copied; what @arg leads to stays until the end of the simulation.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_host(struct gyre_sim *sim, const char *name, gyre_sim_boot_fn boot, void *arg,
			   uint32_t *ret_host);

/**
 * gyre_sim_run() - lets time pass
 * @sim: the simulation
 * @ns: how long, in the simulation's nanoseconds
 *
 * Return: 0 when the time has passed, or a negative errno.
 * Errors:
 *   -EDEADLK  called inside of a host, a check or a condition
 *   -EINVAL   @sim is NULL
 *   -ENOTRECOVERABLE  a check has found something wrong, see gyre_sim_failure(): the simulation can
 *     only be looked at and destroyed
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_run(struct gyre_sim *sim, uint64_t ns);

/**
 * gyre_sim_run_until() - lets time pass until something is so
 * @sim: the simulation
 * @when: is asked before the first event and after each
 * @arg: the argument of @when
 * @ns: how long at most, in the simulation's nanoseconds
 *
 * Return: 0 when @when has said so, or a negative errno.
 * Errors:
 *   -EDEADLK  called inside of a host, a check or a condition
 *   -EINVAL   an argument is NULL
 *   -ENOTRECOVERABLE  as of gyre_sim_run()
 *   -ETIMEDOUT  it has not become so
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_run_until(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg,
				uint64_t ns);

/**
 * gyre_sim_crash() - ends a host where it stands, as when its power fails
 * @sim: the simulation
 * @host: its number
 *
 * Nobody on other hosts hears of it: they notice that it does not answer, or, when it has booted
 * again, that it does not know their connections any more.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EALREADY  the host is down
 *   -EDEADLK   called inside of a host, a check or a condition
 *   -EINVAL    there is no such host
 * Ownership: what gyre has allocated for the host is freed.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_crash(struct gyre_sim *sim, uint32_t host);

/**
 * gyre_sim_restart() - boots a host that has crashed or ended
 * @sim: the simulation
 * @host: its number
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EALREADY  the host is up
 *   -EDEADLK   called inside of a host, a check or a condition
 *   -EINVAL    there is no such host
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_restart(struct gyre_sim *sim, uint32_t host);

/**
 * gyre_sim_signal() - sends a signal to a host, as SIGTERM to have it drain
 * @sim: the simulation
 * @host: its number
 * @signo: the signal, from 1 to 63
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  there is no such host or signal
 *   -EOPNOTSUPP  the host reads this signal from no descriptor, as gyre_system_run() does:
 *     handlers and the default actions of signals are not simulated
 *   -ESRCH   the host is down
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_signal(struct gyre_sim *sim, uint32_t host, int signo);

/**
 * gyre_sim_link_set() - says how packets get from one host to another, from now on
 * @sim: the simulation
 * @from: the number of one host
 * @to: that of another; the way back is a link of its own
 * @link: how; NULL for as at the begin
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  there is no such host, both are the same, or a rate is above a million
 * Ownership: @link is copied.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_link_set(struct gyre_sim *sim, uint32_t from, uint32_t to,
			       const struct gyre_sim_link *link);

/**
 * gyre_sim_link_reset() - ends the connections of a host with another one, for one of the two
 * @sim: the simulation
 * @host: the number of the host whose connections end
 * @peer: that of the other one
 * @rate: which part of them ends, in a million; 1000000 is all. Which ones is a decision of the
 *   test, as by gyre_sim_choose()
 *
 * Something between the two, such as a firewall or a translator of addresses, has forgotten the
 * connections and answers in the name of the peer: calls of @host fail with -ECONNRESET, or -EPIPE
 * where the peer has ended its direction, and what @host has written and not sent is lost. Packets
 * under way still arrive. The peer learns of it when it sends something. Connections that are being
 * asked for go on, and those that both sides have ended are left alone.
 *
 * Return: how many connections have ended, or a negative errno.
 * Errors:
 *   -EINVAL  there is no such host, both are the same, or the rate is above a million
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_link_reset(struct gyre_sim *sim, uint32_t host, uint32_t peer, uint32_t rate);

/**
 * gyre_sim_disk_set() - says what the disk of a host is like from now on
 * @sim: the simulation
 * @host: the host, up or down
 * @disk: copied; NULL for a disk without trouble
 *
 * Each host has a disk, which is empty at first and outlives its crashes. A crash keeps what was
 * synced. Of each write that was not it keeps all, nothing, or the bytes before a border of 512; of
 * the names that were made, changed and removed since their folder was synced it keeps the first so
 * many.
 *
 * Hosts reach their disk by open(), fopen(), opendir(), mkstemp() and the calls on paths and
 * descriptors. Under /proc there is only self/fd, and nothing under /sys; there are no links and no
 * permissions.
 *
 * Return: 0 or a negative errno.
 * Errors:
 *   -EINVAL  @sim is NULL, there is no such host, or more than all operations would fail
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_disk_set(struct gyre_sim *sim, uint32_t host,
			       const struct gyre_sim_disk *disk);

/**
 * gyre_sim_disk_write() - puts a file on the disk of a host
 * @sim: the simulation
 * @host: the host, up or down
 * @path: where, from "/" on; folders that are missing are made. What is there is replaced
 * @bytes: what is to be in the file
 * @count: how many
 *
 * The file is synced, and so are all names of the disk.
 *
 * Return: 0 or a negative errno.
 * Errors:
 *   -EINVAL  @sim or @path is NULL, there is no such host, the path is relative or too long, or
 *     @bytes is NULL though there are some
 *   -EISDIR  a folder, or something else that is no file, is there
 *   -ENAMETOOLONG  a name of the path has more than 255 bytes
 *   -ENOSPC  the disk has no room for so many
 *   -ENOTDIR  something on the way is no folder
 * Ownership: @bytes are copied.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_disk_write(struct gyre_sim *sim, uint32_t host, const char *path,
				 const void *bytes, size_t count);

/**
 * gyre_sim_disk_read() - looks at a file on the disk of a host
 * @sim: the simulation
 * @host: the host, up or down
 * @path: where, from "/" on
 * @memory: for the bytes; NULL if @bytes is 0
 * @bytes: how many at most are copied
 *
 * What the host itself would read: also what it has not synced. After a crash it is what has
 * survived.
 *
 * Return: how many bytes the file has, which may be more than were copied; or a negative errno.
 * Errors:
 *   -EINVAL  @sim or @path is NULL, there is no such host, the path is relative, or @memory is NULL
 *     though @bytes is not 0
 *   -EISDIR  a folder, or something else that is no file, is there
 *   -ENAMETOOLONG  the path, or a name of it, is too long
 *   -ENOENT  there is no such file
 *   -ENOTDIR  something on the way is no folder
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; also a condition or a check of it.
 * Since: 0.1
 */
GYRE_API int64_t gyre_sim_disk_read(const struct gyre_sim *sim, uint32_t host, const char *path,
				    void *memory, size_t bytes);

/**
 * gyre_sim_heal() - ends all that was done to the hosts: from here on they must make progress
 * @sim: the simulation
 *
 * All links are as at the begin, no call meets a fault or is refused any more, disks have no
 * errors, and hosts that are down boot.
 *
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API void gyre_sim_heal(struct gyre_sim *sim);

/**
 * gyre_sim_check() - adds something that must be true after each event
 * @sim: the simulation
 * @name: stands before what the check finds wrong
 * @check: the function
 * @arg: its argument
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 * Ownership: @name and what @arg leads to stay until the end of the simulation.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API int gyre_sim_check(struct gyre_sim *sim, const char *name, gyre_sim_check_fn check,
			    void *arg);

/**
 * gyre_sim_random() - a random number for what the test itself does, which follows from the seed
 * @sim: the simulation
 *
 * Return: the next number.
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; inside and outside of hosts.
 * Since: 0.1
 */
GYRE_API uint64_t gyre_sim_random(struct gyre_sim *sim);

/**
 * gyre_sim_choose() - a decision of the test, such as whether it cuts a link now
 * @sim: the simulation
 * @count: how many ways there are; below 2 the answer is 0
 *
 * Unlike a random number it is one of the decisions that are recorded, replayed and shrunk: 0
 * should be the dull way, as to do nothing, since the shorter a list of decisions gets the more of
 * them are 0.
 *
 * Return: a number below @count.
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; inside and outside of hosts.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_sim_choose(struct gyre_sim *sim, uint32_t count);

/**
 * gyre_sim_point() - whether a point of the program is to take its rare way; see GYRE_SIM_POINT()
 * @name: of the point, for the trace
 *
 * Return: true in a host, as often as the simulation's @faults say; false anywhere else.
 * Ownership: nothing changes hands.
 * Context: any thread; any phase of a loop.
 * Since: 0.1
 */
GYRE_API bool gyre_sim_point(const char *name);

/**
 * GYRE_SIM_POINT() - a point of a program where something rare may happen, as a full cache or a
 *   slow answer
 * @name: its name, a string
 *
 * In programs that are built for the simulation (GYRE_SIM is defined, as by gyre-sim's pkg-config
 * file) it is gyre_sim_point(@name); in all others it is false, and costs nothing.
 *
 * Since: 0.1
 */
#ifdef GYRE_SIM
#define GYRE_SIM_POINT(name) gyre_sim_point(name)
#else
#define GYRE_SIM_POINT(name) false
#endif

/**
 * gyre_sim_now() - the time since the begin of the simulation, in nanoseconds
 * @sim: the simulation
 *
 * Return: the time. The clocks of hosts begin elsewhere, and run up to 100 millionths faster or
 *   slower.
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; inside and outside of hosts.
 * Since: 0.1
 */
GYRE_API uint64_t gyre_sim_now(const struct gyre_sim *sim);

/**
 * gyre_sim_digest() - a number of all that has happened: the same for the same run
 * @sim: the simulation
 *
 * Return: the number.
 * Ownership: nothing changes hands.
 * Context: any thread, which is the simulation's; inside and outside of hosts.
 * Since: 0.1
 */
GYRE_API uint64_t gyre_sim_digest(const struct gyre_sim *sim);

/**
 * gyre_sim_failure() - what a check has found wrong
 * @sim: the simulation
 *
 * Return: the text, or NULL.
 * Errors:
 *   NULL      no check has found anything
 * Ownership: the text is the simulation's.
 * Context: any thread, which is the simulation's; outside of hosts.
 * Since: 0.1
 */
GYRE_API const char *gyre_sim_failure(const struct gyre_sim *sim);

GYRE_END_DECLS

#endif
