/*
 * Datagrams as the kernel puts them into a provided buffer: a head that tells the lengths, room for
 * the sender's name, room for control messages, and then the bytes. How much room there is was said
 * when the receive was prepared, and is the same for all.
 *
 * The one control message of interest tells that the bytes are several datagrams of one sender,
 * which the kernel received as one (GRO), and how long each is.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#include "ring/ring_private.h"

enum {
	NAME_BYTES = sizeof(struct sockaddr_storage),
	CONTROL_BYTES = CMSG_SPACE(sizeof(int)),
	HEAD_BYTES = sizeof(struct io_uring_recvmsg_out) + NAME_BYTES + CONTROL_BYTES,
	LINE_BYTES = 64,
};

struct msghdr *gy_ring_datagram_shape(void)
{
	static const struct msghdr shape = {
		.msg_namelen = NAME_BYTES,
		.msg_controllen = CONTROL_BYTES,
	};

	return (struct msghdr *)(uintptr_t)&shape; /* which liburing takes, and only reads */
}

int gy_ring_add_datagram_buffers(struct gy_ring *ring, uint32_t count, uint32_t bytes)
{
	/* An odd number of cache lines, so that the heads do not compete for the same few sets. */
	uint32_t lines = (HEAD_BYTES + bytes + LINE_BYTES - 1) / LINE_BYTES | 1;

	gy_assert(ring->enabled && ring->buffers[GY_RING_DATAGRAM_GROUP].count == 0);
	/* Datagrams never share a buffer: the part that does not fit into the rest of one would be
	 * cut off. */
	return gy_ring_buffers_init(
		ring, GY_RING_DATAGRAM_GROUP,
		&(struct gy_ring_buffers_shape){ .count = count, .bytes = lines * LINE_BYTES });
}

/* The bytes of each of several datagrams, or 0. */
static uint32_t segment_bytes_of(const unsigned char *control, uint32_t control_bytes)
{
	struct cmsghdr head;
	int bytes;

	if (control_bytes < CMSG_LEN(sizeof(bytes))) {
		return 0;
	}
	memcpy(&head, control, sizeof(head));
	if (head.cmsg_level != SOL_UDP || head.cmsg_type != UDP_GRO ||
	    head.cmsg_len < CMSG_LEN(sizeof(bytes))) {
		return 0;
	}
	memcpy(&bytes, control + CMSG_LEN(0), sizeof(bytes));
	return bytes > 0 ? (uint32_t)bytes : 0;
}

bool gy_ring_datagram(const struct gy_completion *completion, struct gy_ring_datagram *ret_datagram)
{
	unsigned char *memory = completion->bytes;
	const unsigned char *name = memory + sizeof(struct io_uring_recvmsg_out);
	struct io_uring_recvmsg_out head;

	if (gy_unlikely(completion->result < HEAD_BYTES)) {
		return false;
	}
	memcpy(&head, memory, sizeof(head));
	ret_datagram->bytes = memory + HEAD_BYTES;
	ret_datagram->count = (uint32_t)completion->result - HEAD_BYTES;
	ret_datagram->segment_bytes =
		gy_likely(head.controllen == 0)
			? 0
			: segment_bytes_of(name + NAME_BYTES, head.controllen);
	ret_datagram->truncated = (head.flags & MSG_TRUNC) != 0;
	ret_datagram->sender = name;
	ret_datagram->sender_bytes = head.namelen < NAME_BYTES ? head.namelen : NAME_BYTES;
	return true;
}
