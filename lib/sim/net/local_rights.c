/*
 * Files that Unix sockets pass (SCM_RIGHTS): descriptors of the sender on the way in, and new ones
 * of the receiver on the way out. Both belong to the same host, whose files they are.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/net/local.h"

static int read_header(const struct cmsghdr *header, struct gy_sim_rights *rights)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	if (header->cmsg_level != SOL_SOCKET) {
		return 0;
	}
	if (header->cmsg_type == SCM_CREDENTIALS) {
		return 0; /* they are those of the host's process anyway */
	}
	if (header->cmsg_type != SCM_RIGHTS || count > GY_SIM_RIGHTS_MAX - rights->count) {
		return -EINVAL;
	}
	for (size_t i = 0; i < count; i++) {
		struct gy_sim_file *file;
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		file = gy_sim_file_at(fd);
		if (file == NULL) {
			return -EBADF;
		}
		rights->files[rights->count++] = file;
	}
	return 0;
}

int gy_sim_rights_read(const struct msghdr *message, struct gy_sim_rights *rights)
{
	struct msghdr *shape = (struct msghdr *)(uintptr_t)message; /* the macros only read it */
	int r = 0;

	rights->count = 0;
	for (struct cmsghdr *header = message->msg_control == NULL ? NULL : CMSG_FIRSTHDR(shape);
	     header != NULL && r == 0; header = CMSG_NXTHDR(shape, header)) {
		r = read_header(header, rights);
	}
	return r;
}

void gy_sim_rights_give(struct gy_sim_local_message *from, struct msghdr *message, int flags,
			size_t room)
{
	struct cmsghdr *header = (struct cmsghdr *)message->msg_control;
	size_t most = message->msg_control == NULL || room < CMSG_LEN(sizeof(int))
			      ? 0
			      : (room - CMSG_LEN(0)) / sizeof(int);
	uint32_t given = 0;

	while (given < from->files_count && given < most) {
		int fd = gy_sim_file_install(from->files[given], 0);

		if (fd < 0) {
			break;
		}
		gy_sim_slot_at(fd)->close_on_exec = (flags & MSG_CMSG_CLOEXEC) != 0;
		memcpy(CMSG_DATA(header) + given++ * sizeof(fd), &fd, sizeof(fd));
	}
	message->msg_flags |= given < from->files_count ? MSG_CTRUNC : 0;
	if (given > 0) {
		size_t space = CMSG_SPACE(given * sizeof(int));

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(given * sizeof(int));
		message->msg_controllen = space < room ? space : room;
	}
}

void gy_sim_rights_drop(struct gy_sim_local_message *message)
{
	uint32_t count = message->files_count;

	message->files_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		gy_sim_file_unref(message->files[i]);
	}
	gy_sim_put(message->files);
	message->files = NULL;
}

void gy_sim_rights_attach(struct gy_sim_local *to, const struct gy_sim_rights *rights)
{
	struct gy_sim_local_message *message =
		gy_container_of(to->queue.previous, struct gy_sim_local_message, item);

	if (rights->count == 0) {
		return;
	}
	message->files = (struct gy_sim_file **)gy_sim_get(rights->count * sizeof(*message->files));
	for (uint32_t i = 0; i < rights->count; i++) {
		message->files[i] = rights->files[i];
		gy_sim_file_ref(rights->files[i]);
	}
	message->files_count = rights->count;
}
