/*
 * The functions of the C library and others that hosts call and the simulator answers. Each NAME of
 * this list is --wrap=NAME of the linker: lib/sim/meson.build takes the names from here, so each
 * stands on the line that begins with GY_SIM_WRAPPED(.
 */
#ifndef GY_SIM_WRAPPED_H
#define GY_SIM_WRAPPED_H

#include <ares.h>
#include <dirent.h>
#include <net/if.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <urcu/urcu-qsbr.h>

#include <urcu/rculfhash.h>

#include "base/clock.h"
#include "base/delay.h"

struct gy_epoll_workers;
struct gy_foreign_pools;
struct gy_loop;
struct io_uring_sqe;

#define GY_SIM_WRAPPED(TYPE, NAME, ...)  \
	TYPE __real_##NAME(__VA_ARGS__); \
	__attribute__((visibility("default"))) TYPE __wrap_##NAME(__VA_ARGS__)

/* ---- threads: thread_calls.c ---- */

GY_SIM_WRAPPED(int, pthread_create, pthread_t *ret_thread, const pthread_attr_t *attributes,
	       void *(*run)(void *), void *arg);
GY_SIM_WRAPPED(int, pthread_join, pthread_t thread, void **ret_value);
GY_SIM_WRAPPED(int, pthread_detach, pthread_t thread);
GY_SIM_WRAPPED(pthread_t, pthread_self, void);
GY_SIM_WRAPPED(int, raise, int signo);
GY_SIM_WRAPPED(int, kill, pid_t process, int signo);
GY_SIM_WRAPPED(int, pthread_kill, pthread_t thread, int signo);
GY_SIM_WRAPPED(int, pthread_sigmask, int how, const sigset_t *signals, sigset_t *ret_before);
GY_SIM_WRAPPED(int, pthread_setname_np, pthread_t thread, const char *name);
GY_SIM_WRAPPED(int, pthread_setaffinity_np, pthread_t thread, size_t bytes, const cpu_set_t *cpus);
GY_SIM_WRAPPED(int, sched_yield, void);
GY_SIM_WRAPPED(int, sched_getaffinity, pid_t process, size_t bytes, cpu_set_t *ret_cpus);
GY_SIM_WRAPPED(int, pthread_mutex_lock, pthread_mutex_t *mutex);
GY_SIM_WRAPPED(int, pthread_mutex_trylock, pthread_mutex_t *mutex);
GY_SIM_WRAPPED(int, pthread_mutex_unlock, pthread_mutex_t *mutex);
GY_SIM_WRAPPED(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex);
GY_SIM_WRAPPED(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_cond_signal, pthread_cond_t *condition);
GY_SIM_WRAPPED(int, pthread_cond_broadcast, pthread_cond_t *condition);
GY_SIM_WRAPPED(int, pthread_barrier_init, pthread_barrier_t *barrier,
	       const pthread_barrierattr_t *attributes, unsigned int count);
GY_SIM_WRAPPED(int, pthread_barrier_wait, pthread_barrier_t *barrier);
GY_SIM_WRAPPED(int, pthread_barrier_destroy, pthread_barrier_t *barrier);
GY_SIM_WRAPPED(int, pthread_key_create, pthread_key_t *ret_key, void (*destroy)(void *));
GY_SIM_WRAPPED(int, pthread_key_delete, pthread_key_t key);
GY_SIM_WRAPPED(void *, pthread_getspecific, pthread_key_t key);
GY_SIM_WRAPPED(int, pthread_setspecific, pthread_key_t key, const void *value);

GY_SIM_WRAPPED(int, pthread_getname_np, pthread_t thread, char *ret_name, size_t bytes);
GY_SIM_WRAPPED(int, sem_wait, sem_t *semaphore);
GY_SIM_WRAPPED(int, sem_clockwait, sem_t *semaphore, clockid_t id, const struct timespec *until);
GY_SIM_WRAPPED(int, sem_timedwait, sem_t *semaphore, const struct timespec *until);
GY_SIM_WRAPPED(int, sem_post, sem_t *semaphore);
GY_SIM_WRAPPED(void, pthread_exit, void *value);
GY_SIM_WRAPPED(int, pthread_once, pthread_once_t *control, void (*call)(void));
GY_SIM_WRAPPED(int, pthread_mutex_timedlock, pthread_mutex_t *mutex, const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_mutex_clocklock, pthread_mutex_t *mutex, clockid_t id,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_cond_clockwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
	       clockid_t id, const struct timespec *until);

/* ---- what is not simulated, and ends the process: refused_calls.c ---- */

GY_SIM_WRAPPED(int, pthread_rwlock_rdlock, pthread_rwlock_t *lock);
GY_SIM_WRAPPED(int, pthread_rwlock_tryrdlock, pthread_rwlock_t *lock);
GY_SIM_WRAPPED(int, pthread_rwlock_timedrdlock, pthread_rwlock_t *lock,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_rwlock_clockrdlock, pthread_rwlock_t *lock, clockid_t id,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_rwlock_wrlock, pthread_rwlock_t *lock);
GY_SIM_WRAPPED(int, pthread_rwlock_trywrlock, pthread_rwlock_t *lock);
GY_SIM_WRAPPED(int, pthread_rwlock_timedwrlock, pthread_rwlock_t *lock,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_rwlock_clockwrlock, pthread_rwlock_t *lock, clockid_t id,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_spin_lock, pthread_spinlock_t *lock);
GY_SIM_WRAPPED(int, pthread_cancel, pthread_t thread);
GY_SIM_WRAPPED(int, pthread_tryjoin_np, pthread_t thread, void **ret_value);
GY_SIM_WRAPPED(int, pthread_timedjoin_np, pthread_t thread, void **ret_value,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, pthread_clockjoin_np, pthread_t thread, void **ret_value, clockid_t id,
	       const struct timespec *until);
GY_SIM_WRAPPED(int, select, int count, fd_set *inputs, fd_set *outputs, fd_set *others,
	       struct timeval *timeout);
GY_SIM_WRAPPED(int, pselect, int count, fd_set *inputs, fd_set *outputs, fd_set *others,
	       const struct timespec *timeout, const sigset_t *signals);
GY_SIM_WRAPPED(int, sigsuspend, const sigset_t *signals);
GY_SIM_WRAPPED(int, pause, void);

/* Ends what a task has under a key. */
void gy_sim_key_end(pthread_key_t key, const void *value);

/* ---- RCU: rcu_calls.c ---- */

GY_SIM_WRAPPED(void, urcu_qsbr_call_rcu, struct rcu_head *head,
	       void (*call)(struct rcu_head *head));
GY_SIM_WRAPPED(void, urcu_qsbr_register_thread, void);
GY_SIM_WRAPPED(void, urcu_qsbr_unregister_thread, void);
GY_SIM_WRAPPED(void, urcu_qsbr_thread_online, void);
GY_SIM_WRAPPED(void, urcu_qsbr_thread_offline, void);
GY_SIM_WRAPPED(int, urcu_qsbr_read_ongoing, void);
GY_SIM_WRAPPED(void, gy_loop_sleep, struct gy_loop *loop, uint64_t timeout_ns);
GY_SIM_WRAPPED(struct call_rcu_data *, urcu_qsbr_get_default_call_rcu_data, void);

/* ---- hash tables of liburcu: hash_table_calls.c ---- */

GY_SIM_WRAPPED(struct cds_lfht *, _cds_lfht_new, unsigned long first, unsigned long least,
	       unsigned long most, int flags, const struct cds_lfht_mm_type *memory,
	       const struct rcu_flavor_struct *flavor, pthread_attr_t *attributes);
GY_SIM_WRAPPED(int, cds_lfht_destroy, struct cds_lfht *table, pthread_attr_t **ret_attributes);

/* ---- memory of gyre: memory.c ---- */

GY_SIM_WRAPPED(void *, gy_memory_get, size_t bytes);
GY_SIM_WRAPPED(void *, gy_memory_get_raw, size_t bytes);
GY_SIM_WRAPPED(void *, gy_memory_get_lasting, size_t bytes);
GY_SIM_WRAPPED(void *, gy_memory_resize, void *memory, size_t old_bytes, size_t bytes);
GY_SIM_WRAPPED(void, gy_memory_put, void *memory);
GY_SIM_WRAPPED(struct gy_foreign_pools *, gy_foreign_pools_here, void);

/* ---- clocks, random numbers: clock_calls.c ---- */

GY_SIM_WRAPPED(int, clock_gettime, clockid_t id, struct timespec *ret_time);
GY_SIM_WRAPPED(time_t, time, time_t *ret_time);
GY_SIM_WRAPPED(int, gettimeofday, struct timeval *ret_time, void *zone);
GY_SIM_WRAPPED(int, clock_nanosleep, clockid_t id, int flags, const struct timespec *time,
	       struct timespec *ret_left);
GY_SIM_WRAPPED(int, nanosleep, const struct timespec *time, struct timespec *ret_left);
GY_SIM_WRAPPED(int, usleep, useconds_t microseconds);
GY_SIM_WRAPPED(unsigned int, sleep, unsigned int seconds);
GY_SIM_WRAPPED(struct gy_clock, gy_clock_machine, void);
GY_SIM_WRAPPED(bool, gy_thread_may_poll, void);
#if GY_PLANTED_DELAYS
GY_SIM_WRAPPED(void, gy_delay, void);
#endif
GY_SIM_WRAPPED(ssize_t, getrandom, void *memory, size_t bytes, unsigned int flags);

/* ---- the process: process_calls.c ---- */

GY_SIM_WRAPPED(void, exit, int status);
GY_SIM_WRAPPED(void, _exit, int status);
GY_SIM_WRAPPED(void, _Exit, int status);
GY_SIM_WRAPPED(pid_t, getpid, void);
GY_SIM_WRAPPED(pid_t, gettid, void);
GY_SIM_WRAPPED(uid_t, geteuid, void);
GY_SIM_WRAPPED(int, seteuid, uid_t user);
GY_SIM_WRAPPED(char *, getenv, const char *name);
GY_SIM_WRAPPED(int, setenv, const char *name, const char *value, int replaces);
GY_SIM_WRAPPED(int, unsetenv, const char *name);
GY_SIM_WRAPPED(int, getrlimit, __rlimit_resource_t resource, struct rlimit *ret_limit);
GY_SIM_WRAPPED(int, getrlimit64, __rlimit_resource_t resource, struct rlimit *ret_limit);
GY_SIM_WRAPPED(int, setrlimit, __rlimit_resource_t resource, const struct rlimit *limit);
GY_SIM_WRAPPED(int, setrlimit64, __rlimit_resource_t resource, const struct rlimit *limit);
GY_SIM_WRAPPED(int, uname, struct utsname *ret_name);

/* ---- the signal of gyre's watchdog: process_calls.c ---- */

GY_SIM_WRAPPED(int, gy_stall_signal_get, void);
GY_SIM_WRAPPED(void, gy_stall_signal_put, void);

/* ---- descriptors: descriptor_calls.c, epoll.c, event.c, signals.c ---- */

GY_SIM_WRAPPED(ssize_t, read, int fd, void *memory, size_t bytes);
GY_SIM_WRAPPED(ssize_t, readv, int fd, const struct iovec *slices, int count);
GY_SIM_WRAPPED(ssize_t, write, int fd, const void *bytes, size_t count);
GY_SIM_WRAPPED(ssize_t, writev, int fd, const struct iovec *slices, int count);
GY_SIM_WRAPPED(int, close, int fd);
GY_SIM_WRAPPED(int, dup, int fd);
GY_SIM_WRAPPED(int, dup2, int fd, int to);
GY_SIM_WRAPPED(int, dup3, int fd, int to, int flags);
GY_SIM_WRAPPED(int, fcntl, int fd, int command, ...);
GY_SIM_WRAPPED(int, fcntl64, int fd, int command, ...);
GY_SIM_WRAPPED(int, fstat, int fd, struct stat *ret_status);
GY_SIM_WRAPPED(int, fstat64, int fd, struct stat *ret_status);
GY_SIM_WRAPPED(int, poll, struct pollfd *polled, nfds_t count, int timeout_ms);
GY_SIM_WRAPPED(int, ppoll, struct pollfd *polled, nfds_t count, const struct timespec *timeout,
	       const sigset_t *signals);
GY_SIM_WRAPPED(int, epoll_create1, int flags);
GY_SIM_WRAPPED(int, epoll_ctl, int epoll_fd, int what, int fd, struct epoll_event *event);
GY_SIM_WRAPPED(int, epoll_wait, int epoll_fd, struct epoll_event *ret_events, int room,
	       int timeout_ms);
GY_SIM_WRAPPED(int, epoll_pwait2, int epoll_fd, struct epoll_event *ret_events, int room,
	       const struct timespec *timeout, const sigset_t *signals);
GY_SIM_WRAPPED(int, eventfd, unsigned int count, int flags);
GY_SIM_WRAPPED(int, eventfd_read, int fd, eventfd_t *ret_count);
GY_SIM_WRAPPED(int, eventfd_write, int fd, eventfd_t count);
GY_SIM_WRAPPED(int, timerfd_create, clockid_t id, int flags);
GY_SIM_WRAPPED(int, timerfd_settime, int fd, int flags, const struct itimerspec *time,
	       struct itimerspec *ret_before);
GY_SIM_WRAPPED(int, signalfd, int fd, const sigset_t *signals, int flags);
GY_SIM_WRAPPED(int, sigtimedwait, const sigset_t *signals, siginfo_t *ret_info,
	       const struct timespec *timeout);
GY_SIM_WRAPPED(int, sigwaitinfo, const sigset_t *signals, siginfo_t *ret_info);
GY_SIM_WRAPPED(int, sigwait, const sigset_t *signals, int *ret_signo);
GY_SIM_WRAPPED(__sighandler_t, signal, int signo, __sighandler_t handler);
GY_SIM_WRAPPED(int, sigaction, int signo, const struct sigaction *action,
	       struct sigaction *ret_before);

/* ---- files by their paths: path_calls.c ---- */

GY_SIM_WRAPPED(int, open, const char *path, int flags, ...);
GY_SIM_WRAPPED(int, open64, const char *path, int flags, ...);
GY_SIM_WRAPPED(int, openat, int folder, const char *path, int flags, ...);
GY_SIM_WRAPPED(int, openat64, int folder, const char *path, int flags, ...);
GY_SIM_WRAPPED(int, mkstemp, char *path);
GY_SIM_WRAPPED(int, mkstemp64, char *path);
GY_SIM_WRAPPED(int, mkostemp, char *path, int flags);
GY_SIM_WRAPPED(int, mkostemp64, char *path, int flags);
GY_SIM_WRAPPED(char *, mkdtemp, char *path);
GY_SIM_WRAPPED(int, stat, const char *path, struct stat *ret_status);
GY_SIM_WRAPPED(int, stat64, const char *path, struct stat *ret_status);
GY_SIM_WRAPPED(int, lstat, const char *path, struct stat *ret_status);
GY_SIM_WRAPPED(int, lstat64, const char *path, struct stat *ret_status);
GY_SIM_WRAPPED(int, fstatat, int folder, const char *path, struct stat *ret_status, int flags);
GY_SIM_WRAPPED(int, fstatat64, int folder, const char *path, struct stat *ret_status, int flags);
GY_SIM_WRAPPED(int, statx, int folder, const char *path, int flags, unsigned int what,
	       struct statx *ret_status);
GY_SIM_WRAPPED(int, access, const char *path, int what);
GY_SIM_WRAPPED(int, chmod, const char *path, mode_t mode);
GY_SIM_WRAPPED(int, truncate, const char *path, off_t bytes);
GY_SIM_WRAPPED(int, truncate64, const char *path, off_t bytes);
GY_SIM_WRAPPED(int, unlink, const char *path);
GY_SIM_WRAPPED(int, rename, const char *from, const char *to);
GY_SIM_WRAPPED(int, mkdir, const char *path, mode_t mode);
GY_SIM_WRAPPED(int, rmdir, const char *path);
GY_SIM_WRAPPED(long, syscall, long number, ...);

/* ---- folders: folder_calls.c ---- */

GY_SIM_WRAPPED(DIR *, opendir, const char *path);
GY_SIM_WRAPPED(struct dirent *, readdir, DIR *folder);
GY_SIM_WRAPPED(struct dirent *, readdir64, DIR *folder);
GY_SIM_WRAPPED(int, closedir, DIR *folder);

/* ---- streams of the C library: stream_calls.c ---- */

GY_SIM_WRAPPED(FILE *, fopen, const char *path, const char *mode);
GY_SIM_WRAPPED(FILE *, fopen64, const char *path, const char *mode);
GY_SIM_WRAPPED(FILE *, tmpfile, void);
GY_SIM_WRAPPED(FILE *, tmpfile64, void);
GY_SIM_WRAPPED(int, fileno, FILE *stream);

/* ---- files that OpenSSL reads: tls_files.c ---- */

GY_SIM_WRAPPED(int, SSL_CTX_use_certificate_chain_file, SSL_CTX *context, const char *path);
GY_SIM_WRAPPED(int, SSL_CTX_use_PrivateKey_file, SSL_CTX *context, const char *path, int type);
GY_SIM_WRAPPED(STACK_OF(X509_NAME) *, SSL_load_client_CA_file, const char *path);
GY_SIM_WRAPPED(int, SSL_CTX_load_verify_file, SSL_CTX *context, const char *path);

/* ---- open files: file_calls.c, splice_calls.c ---- */

GY_SIM_WRAPPED(ssize_t, pread, int fd, void *memory, size_t bytes, off_t offset);
GY_SIM_WRAPPED(ssize_t, pread64, int fd, void *memory, size_t bytes, off_t offset);
GY_SIM_WRAPPED(ssize_t, preadv, int fd, const struct iovec *slices, int count, off_t offset);
GY_SIM_WRAPPED(ssize_t, preadv64, int fd, const struct iovec *slices, int count, off_t offset);
GY_SIM_WRAPPED(ssize_t, preadv2, int fd, const struct iovec *slices, int count, off_t offset,
	       int flags);
GY_SIM_WRAPPED(ssize_t, preadv64v2, int fd, const struct iovec *slices, int count, off_t offset,
	       int flags);
GY_SIM_WRAPPED(ssize_t, pwrite, int fd, const void *bytes, size_t count, off_t offset);
GY_SIM_WRAPPED(ssize_t, pwrite64, int fd, const void *bytes, size_t count, off_t offset);
GY_SIM_WRAPPED(ssize_t, pwritev, int fd, const struct iovec *slices, int count, off_t offset);
GY_SIM_WRAPPED(ssize_t, pwritev64, int fd, const struct iovec *slices, int count, off_t offset);
GY_SIM_WRAPPED(ssize_t, pwritev2, int fd, const struct iovec *slices, int count, off_t offset,
	       int flags);
GY_SIM_WRAPPED(ssize_t, pwritev64v2, int fd, const struct iovec *slices, int count, off_t offset,
	       int flags);
GY_SIM_WRAPPED(off_t, lseek, int fd, off_t offset, int from);
GY_SIM_WRAPPED(off_t, lseek64, int fd, off_t offset, int from);
GY_SIM_WRAPPED(int, ftruncate, int fd, off_t bytes);
GY_SIM_WRAPPED(int, ftruncate64, int fd, off_t bytes);
GY_SIM_WRAPPED(int, fsync, int fd);
GY_SIM_WRAPPED(int, fdatasync, int fd);
GY_SIM_WRAPPED(int, fchmod, int fd, mode_t mode);
GY_SIM_WRAPPED(int, fchown, int fd, uid_t user, gid_t group);
GY_SIM_WRAPPED(int, posix_fadvise, int fd, off_t offset, off_t bytes, int what);
GY_SIM_WRAPPED(int, posix_fadvise64, int fd, off_t offset, off_t bytes, int what);
GY_SIM_WRAPPED(int, flock, int fd, int what);
GY_SIM_WRAPPED(ssize_t, sendfile, int to, int from, off_t *offset, size_t bytes);
GY_SIM_WRAPPED(ssize_t, sendfile64, int to, int from, off_t *offset, size_t bytes);
GY_SIM_WRAPPED(ssize_t, splice, int from, off_t *from_offset, int to, off_t *to_offset,
	       size_t bytes, unsigned int flags);

/* ---- pipes: pipe.c ---- */

GY_SIM_WRAPPED(int, pipe, int ret_fds[2]);
GY_SIM_WRAPPED(int, pipe2, int ret_fds[2], int flags);

/* ---- worker threads of gyre's epoll engine: file_work.c ---- */

GY_SIM_WRAPPED(struct gy_epoll_workers *, gy_epoll_workers_here, void);
GY_SIM_WRAPPED(int64_t, gy_epoll_do_blocking, const struct io_uring_sqe *sqe);

/*
 * Defines __wrap_name64() as __wrap_name(): where offsets have 64 bits the two are the same, and a
 * program calls the one or the other by how it was compiled.
 */
#define GY_SIM_WRAPPED_SAME(NAME64, NAME) \
	extern __typeof(__wrap_##NAME) __wrap_##NAME64 __attribute__((alias("__wrap_" #NAME)))

/* ---- sockets: socket_calls.c ---- */

GY_SIM_WRAPPED(int, socket, int domain, int type, int protocol);
GY_SIM_WRAPPED(int, socketpair, int domain, int type, int protocol, int ret_fds[2]);
GY_SIM_WRAPPED(int, bind, int fd, const struct sockaddr *name, socklen_t bytes);
GY_SIM_WRAPPED(int, listen, int fd, int backlog);
GY_SIM_WRAPPED(int, connect, int fd, const struct sockaddr *to, socklen_t bytes);
GY_SIM_WRAPPED(int, accept, int fd, struct sockaddr *ret_name, socklen_t *bytes);
GY_SIM_WRAPPED(int, accept4, int fd, struct sockaddr *ret_name, socklen_t *bytes, int flags);
GY_SIM_WRAPPED(int, shutdown, int fd, int how);
GY_SIM_WRAPPED(int, getsockname, int fd, struct sockaddr *ret_name, socklen_t *bytes);
GY_SIM_WRAPPED(int, getpeername, int fd, struct sockaddr *ret_name, socklen_t *bytes);
GY_SIM_WRAPPED(int, getsockopt, int fd, int level, int name, void *ret_value, socklen_t *bytes);
GY_SIM_WRAPPED(int, setsockopt, int fd, int level, int name, const void *value, socklen_t bytes);
GY_SIM_WRAPPED(ssize_t, send, int fd, const void *bytes, size_t count, int flags);
GY_SIM_WRAPPED(ssize_t, sendto, int fd, const void *bytes, size_t count, int flags,
	       const struct sockaddr *to, socklen_t to_bytes);
GY_SIM_WRAPPED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags);
GY_SIM_WRAPPED(ssize_t, recv, int fd, void *memory, size_t bytes, int flags);
GY_SIM_WRAPPED(ssize_t, recvfrom, int fd, void *memory, size_t bytes, int flags,
	       struct sockaddr *ret_from, socklen_t *from_bytes);
GY_SIM_WRAPPED(ssize_t, recvmsg, int fd, struct msghdr *message, int flags);
GY_SIM_WRAPPED(int, ioctl, int fd, unsigned long what, ...);

/* ---- names: lookups.c ---- */

GY_SIM_WRAPPED(int, getaddrinfo, const char *host, const char *service,
	       const struct addrinfo *hints, struct addrinfo **ret_found);
GY_SIM_WRAPPED(void, freeaddrinfo, struct addrinfo *found);
GY_SIM_WRAPPED(void, ares_getaddrinfo, ares_channel channel, const char *host, const char *service,
	       const struct ares_addrinfo_hints *hints, ares_addrinfo_callback callback, void *arg);
GY_SIM_WRAPPED(int, ares_set_servers_ports_csv, ares_channel channel, const char *servers);
GY_SIM_WRAPPED(void, ares_destroy, ares_channel channel);
GY_SIM_WRAPPED(void, ares_freeaddrinfo, struct ares_addrinfo *found);
GY_SIM_WRAPPED(unsigned int, if_nametoindex, const char *name);
GY_SIM_WRAPPED(char *, if_indextoname, unsigned int index, char *ret_name);

#endif
