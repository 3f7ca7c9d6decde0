/*
 * The features of the kernel, and the reasons for its refusals.
 *
 * Features are probed, never derived from a version: sandboxes and vendors' kernels differ from
 * what their numbers say. A refusal becomes one line that names the cause and the remedy; several
 * causes share an errno, so the circumstances count too.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ring/ring_private.h"

enum {
	LINE_BYTES = 384,
	PROBE_GROUP = GY_RING_GROUPS,
	PROBED_OPS = 256,
	MAPPING_BYTES = 1 << 22,
	TRIAL_ENTRIES = 8,
	TRIAL_BUFFER_BYTES = 512
};

/* ---- features ---- */

/* Flags of a buffer ring can only be found by trying one. */
static bool has_incremental_buffers(struct gy_ring *ring)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct io_uring_buf_reg registration = {
		.ring_addr = (uint64_t)(uintptr_t)memory,
		.ring_entries = 1,
		.bgid = PROBE_GROUP,
		.pad = GY_KERNEL_PBUF_RING_INC,
	};
	bool has;

	if (memory == MAP_FAILED) {
		return false;
	}
	has = io_uring_register_buf_ring(&ring->uring, &registration, 0) == 0;
	if (has) {
		(void)io_uring_unregister_buf_ring(&ring->uring, PROBE_GROUP);
	}
	(void)munmap(memory, bytes);
	return has;
}

/*
 * The order of completions tells where in a shared buffer the bytes of a receive are. Before 6.15
 * completions of a multishot operation could overtake an earlier one that was not multishot. That
 * cannot be probed; an operation of the same version can.
 */
static bool completes_in_order(const struct io_uring_probe *probe)
{
	return io_uring_opcode_supported(probe, GY_KERNEL_OP_READV_FIXED) != 0;
}

int gy_ring_probe(struct gy_ring *ring)
{
	const uint32_t needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
	union {
		struct io_uring_probe head;
		unsigned char bytes[sizeof(struct io_uring_probe) +
				    PROBED_OPS * sizeof(struct io_uring_probe_op)];
	} whole = { 0 };
	const struct io_uring_probe *probe = &whole.head;
	bool new_enough;
	bool in_order;
	int r;

	if ((ring->uring.features & needed) != needed) {
		return -ENOSYS;
	}
	ring->call = GY_RING_CALL_REGISTER;
	r = io_uring_register_probe(&ring->uring, &whole.head, PROBED_OPS);
	if (r < 0) {
		return r;
	}
	/* SENDMSG_ZC came with 6.1; multishot receive, which cannot be probed, with 6.0. */
	new_enough = io_uring_opcode_supported(probe, IORING_OP_SENDMSG_ZC) != 0;
	ring->features.ring_messages = io_uring_opcode_supported(probe, IORING_OP_MSG_RING) != 0;
	ring->features.multishot_read =
		io_uring_opcode_supported(probe, GY_KERNEL_OP_READ_MULTISHOT) != 0;
	ring->features.truncate = io_uring_opcode_supported(probe, GY_KERNEL_OP_FTRUNCATE) != 0;
	in_order = completes_in_order(probe);
	if (!new_enough) {
		return -ENOSYS;
	}
	ring->features.multishot_receive = true;
	ring->features.incremental_buffers = in_order && has_incremental_buffers(ring);
	return 0;
}

/* ---- refusals ---- */

static const char *name_of(enum gy_ring_call call)
{
	return call == GY_RING_CALL_REGISTER ? "io_uring_register"
	       : call == GY_RING_CALL_ENTER  ? "io_uring_enter"
					     : "io_uring_setup";
}

static void say_forbidden(char *line, size_t line_bytes, const struct gy_ring_surroundings *around)
{
	/* The kernel looks at that in the setup alone. */
	int sysctl_disabled =
		around->call == GY_RING_CALL_REGISTER || around->call == GY_RING_CALL_ENTER
			? -1
			: around->sysctl_disabled;

	if (sysctl_disabled == 2) {
		(void)snprintf(line, line_bytes,
			       "io_uring is disabled by the sysctl kernel.io_uring_disabled = 2: "
			       "set it to 0 (sysctl -w kernel.io_uring_disabled=0)");
	} else if (sysctl_disabled == 1) {
		(void)snprintf(line, line_bytes,
			       "io_uring is kept from ordinary users by the sysctl "
			       "kernel.io_uring_disabled = 1: set it to 0 (sysctl -w "
			       "kernel.io_uring_disabled=0), or join the group "
			       "kernel.io_uring_group");
	} else {
		(void)snprintf(line, line_bytes,
			       "%s is forbidden by a seccomp filter or security module, as in many "
			       "containers: allow io_uring_setup, io_uring_enter and "
			       "io_uring_register there",
			       name_of(around->call));
	}
}

/* Returns whether a kernel of that release has all features that gyre needs, if no sandbox hides
 * them. */
static bool is_new_enough(const char *release)
{
	char *end;
	unsigned long major = strtoul(release, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return major > 6 || (major == 6 && minor >= 1);
}

static void say_unknown(char *line, size_t line_bytes, int error,
			const struct gy_ring_surroundings *around)
{
	if (is_new_enough(around->release)) {
		(void)snprintf(
			line, line_bytes,
			"%s fails with \"%s\" though this kernel (%s) has it: a sandbox, a "
			"seccomp filter or a build without CONFIG_IO_URING keeps it from the "
			"program; allow io_uring_setup, io_uring_enter and io_uring_register",
			name_of(around->call), strerrordesc_np(error), around->release);
	} else {
		(void)snprintf(
			line, line_bytes,
			"io_uring of Linux 6.1 or later is needed, and this kernel (%s) does "
			"not have it: run a newer kernel with CONFIG_IO_URING",
			around->release);
	}
}

static void say_no_memory(char *line, size_t line_bytes, const struct gy_ring_surroundings *around)
{
	if (around->no_addresses && around->address_bytes_max != RLIM_INFINITY) {
		(void)snprintf(
			line, line_bytes,
			"no address space is left for a loop's queues and buffers: raise the "
			"limit of virtual memory, now %" PRIu64 " KiB (ulimit -v, RLIMIT_AS), "
			"or ask for fewer ring entries and buffers",
			around->address_bytes_max / 1024);
	} else if (around->call == GY_RING_CALL_MEMORY || around->no_addresses ||
		   around->locked_bytes_max == RLIM_INFINITY) {
		(void)snprintf(
			line, line_bytes,
			"no memory is left for a loop's queues and buffers: raise the limits "
			"of its cgroups (memory.max), or ask for fewer ring entries and "
			"buffers");
	} else {
		(void)snprintf(line, line_bytes,
			       "%s could lock no memory: raise the limit of locked memory, now "
			       "%" PRIu64 " KiB (ulimit -l, RLIMIT_MEMLOCK), or ask for fewer ring "
			       "entries and buffers",
			       name_of(around->call), around->locked_bytes_max / 1024);
	}
}

void gy_ring_refusal(char *line, size_t line_bytes, int error,
		     const struct gy_ring_surroundings *around)
{
	switch (error) {
	case EPERM:
	case EACCES:
		say_forbidden(line, line_bytes, around);
		break;
	case ENOSYS:
	case EINVAL:
		say_unknown(line, line_bytes, error, around);
		break;
	case ENOMEM:
		say_no_memory(line, line_bytes, around);
		break;
	case EMFILE:
		(void)snprintf(line, line_bytes,
			       "no descriptor is left for a loop: raise the limit of open files, "
			       "now %" PRIu64 " (ulimit -n, RLIMIT_NOFILE)",
			       around->descriptors_max);
		break;
	case ENFILE:
		(void)snprintf(line, line_bytes,
			       "the system's table of open files is full: raise the sysctl "
			       "fs.file-max");
		break;
	default:
		(void)snprintf(line, line_bytes,
			       "the queues of a loop cannot be set up: %s (errno %d)",
			       strerrordesc_np(error), error);
		break;
	}
}

static int read_sysctl_disabled(void)
{
	char digit;
	ssize_t got;
	int fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		return -1;
	}
	got = read(fd, &digit, 1);
	(void)close(fd);
	return got == 1 && digit >= '0' && digit <= '9' ? digit - '0' : -1;
}

/* The kernel maps a ring for us, and says no more than ENOMEM of that either. */
static bool lacks_addresses(void)
{
	void *memory = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED) {
		return true;
	}
	(void)munmap(memory, MAPPING_BYTES);
	return false;
}

static void keep_cause(const struct gyre_log_line *line, void *arg)
{
	(void)snprintf((char *)arg, GY_RING_REFUSAL_BYTES, "%s", line->text);
}

int gy_ring_try_io_uring(char ret_cause[GY_RING_REFUSAL_BYTES])
{
	const struct gy_log log = { .write = keep_cause, .arg = ret_cause };
	const struct gy_ring_options options = {
		.entries = TRIAL_ENTRIES,
		.buffer_count = TRIAL_ENTRIES,
		.buffer_bytes = TRIAL_BUFFER_BYTES,
		.log = &log,
	};
	struct gy_ring *ring;
	int r = gy_ring_create(&options, &ring);

	if (r < 0) {
		return r;
	}
	r = gy_ring_enable(ring);
	gy_ring_destroy(ring);
	return r;
}

int gy_ring_refused(const struct gy_log *log, enum gy_ring_call call, int result)
{
	char line[LINE_BYTES];
	struct rlimit locked = { 0 };
	struct rlimit descriptors = { 0 };
	struct rlimit addresses = { 0 };
	struct utsname system = { 0 };
	struct gy_ring_surroundings around = {
		.call = call,
		.sysctl_disabled = read_sysctl_disabled(),
		.no_addresses = call == GY_RING_CALL_MEMORY || lacks_addresses(),
	};

	(void)getrlimit(RLIMIT_AS, &addresses);
	around.address_bytes_max = addresses.rlim_cur;
	(void)getrlimit(RLIMIT_MEMLOCK, &locked);
	(void)getrlimit(RLIMIT_NOFILE, &descriptors);
	(void)uname(&system);
	around.locked_bytes_max = locked.rlim_cur;
	around.descriptors_max = descriptors.rlim_cur;
	around.release = system.release;
	gy_ring_refusal(line, sizeof(line), -result, &around);
	gy_log(log, GYRE_LOG_ERROR, "%s", line);
	return result;
}
