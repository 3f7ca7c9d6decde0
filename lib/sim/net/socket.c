/*
 * What all kinds of sockets have: a place in the list of their host, options, an error that waits
 * to be told, and that they can be read and written as other files.
 */
#include "sim/net/socket.h"

#include <errno.h>
#include <fcntl.h>

#include "base/macros.h"

enum { KEEP_IDLE_S = 7200, KEEP_INTERVAL_S = 75, KEEP_COUNT = 9 };

void gy_sim_socket_init(struct gy_sim_socket *socket, const struct gy_sim_socket_ops *ops,
			struct gy_sim_host *host, int domain, int type)
{
	gy_sim_file_init(&socket->file, &ops->file, host, O_RDWR);
	socket->domain = domain;
	socket->type = type;
	socket->options.keep_idle_s = KEEP_IDLE_S;
	socket->options.keep_interval_s = KEEP_INTERVAL_S;
	socket->options.keep_count = KEEP_COUNT;
	socket->options.receive_bytes = GY_SIM_BUFFER_BYTES;
	socket->options.send_bytes = GY_SIM_BUFFER_BYTES;
	gy_list_append(&host->net->sockets, &socket->of_host);
}

void gy_sim_socket_fini(struct gy_sim_socket *socket)
{
	gy_list_remove(&socket->of_host);
}

int gy_sim_socket_take_error(struct gy_sim_socket *socket)
{
	int error = socket->error;

	socket->error = 0;
	return -error;
}

/* Others are no errors of the connection, or are found anew by each call. */
static bool is_told_once(int64_t error)
{
	return error < 0 && error != -EAGAIN && error != -EPIPE && error != -EBADF;
}

void gy_sim_socket_put_error(int fd, int64_t error)
{
	int ignored = 0;
	struct gy_sim_socket *socket = gy_sim_socket_at(fd, &ignored);

	if (socket != NULL && socket->error == 0 && is_told_once(error)) {
		socket->error = (int)-error;
	}
}

struct gy_sim_socket *gy_sim_socket_at(int fd, int *ret_error)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);

	if (file == NULL || file->ops->type != S_IFSOCK) {
		*ret_error = file == NULL ? -EBADF : -ENOTSOCK;
		return NULL;
	}
	return gy_container_of(file, struct gy_sim_socket, file);
}

/* The bytes of a read or a write, as a message without a name. */
static struct msghdr message_of(const struct iovec *slices, uint32_t count)
{
	return (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)slices, .msg_iovlen = count };
}

int64_t gy_sim_socket_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset)
{
	struct gy_sim_socket *socket = gy_container_of(file, struct gy_sim_socket, file);
	struct msghdr message = message_of(slices, count);

	return offset == GY_SIM_AT_POSITION
		       ? gy_sim_socket_ops_of(socket)->receive(socket, &message, 0)
		       : -ESPIPE;
}

int64_t gy_sim_socket_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			    uint64_t offset)
{
	struct gy_sim_socket *socket = gy_container_of(file, struct gy_sim_socket, file);
	const struct msghdr message = message_of(slices, count);

	return offset == GY_SIM_AT_POSITION
		       ? gy_sim_socket_ops_of(socket)->send(socket, &message, 0)
		       : -ESPIPE;
}
