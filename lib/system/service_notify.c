/*
 * What a supervisor hears of a system: that it serves, which process that is, and that it stops;
 * each as one datagram of lines, to the Unix socket whose name is in NOTIFY_SOCKET, as
 * sd_notify(3) says. Of libsystemd this would be one function, for which it would bring what the
 * rest of it needs.
 *
 * Nobody waits for a supervisor that does not read: what cannot be said is logged.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "ring/descriptor.h"
#include "ring/socket.h"
#include "system/service_notify.h"
#include "system/system.h"

int gy_service_notify_find(struct gyre_system *system)
{
	const char *name = gy_environment_value("NOTIFY_SOCKET");
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int r;

	if (!system->options.notify_supervisor || name == NULL || name[0] == '\0') {
		return 0;
	}
	(void)snprintf(text, sizeof(text), "unix+dgram:%s", name);
	r = name[0] == '/' || name[0] == '@' ? gyre_socket_address_parse(text, &system->supervisor)
					     : -EINVAL;
	if (r == 0) {
		system->supervisor_fd = gy_socket_open(AF_UNIX, SOCK_DGRAM, 0);
		r = system->supervisor_fd < 0 ? system->supervisor_fd : 0;
	}
	if (r < 0) {
		gy_log(&system->log, GYRE_LOG_ERROR,
		       "no supervisor can be notified at NOTIFY_SOCKET=%s: %s; it must be /PATH or "
		       "@NAME, or unset",
		       name, strerrordesc_np(-r));
	}
	return r;
}

void gy_service_notify_forget(struct gyre_system *system)
{
	if (system->supervisor_fd >= 0) {
		(void)gy_descriptor_close(system->supervisor_fd);
	}
}

static void tell(struct gyre_system *system, const char *lines)
{
	struct gyre_socket_address *to = &system->supervisor;
	struct iovec text = { .iov_base = (void *)(uintptr_t)lines, .iov_len = strlen(lines) };
	const struct msghdr message = { .msg_name = &to->storage,
					.msg_namelen = to->bytes,
					.msg_iov = &text,
					.msg_iovlen = 1 };
	int64_t r;

	if (system->supervisor_fd < 0) {
		return;
	}
	r = gy_socket_send_message(system->supervisor_fd, &message, MSG_DONTWAIT);
	if (r < 0) {
		gy_log(&system->log, GYRE_LOG_WARNING,
		       "the supervisor at NOTIFY_SOCKET cannot be told %s: %s", lines,
		       strerrordesc_np((int)-r));
	}
}

void gy_service_notify_ready(struct gyre_system *system, bool succeeds)
{
	char lines[64];

	(void)snprintf(lines, sizeof(lines), "READY=1\nMAINPID=%d", (int)gy_environment_process());
	tell(system, succeeds ? lines : "READY=1");
}

void gy_service_notify_stopping(struct gyre_system *system)
{
	tell(system, "STOPPING=1");
}
