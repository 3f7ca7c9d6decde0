/*
 * What io_uring offers and Debian 12's liburing 2.3 does not name yet.
 */
#ifndef PERF_COMMON_URING_H
#define PERF_COMMON_URING_H

#include <stddef.h>
#include <string.h>

#include <liburing.h>

#ifndef IOU_PBUF_RING_INC
#define IOU_PBUF_RING_INC 2 /* flag of a buffer ring: buffers are consumed bit by bit (6.12) */
#endif

#ifndef IORING_CQE_F_BUF_MORE
#define IORING_CQE_F_BUF_MORE (1U << 4) /* the kernel will put more into this buffer (6.12) */
#endif

/* The field that was padding in 2.3 and is @flags since. */
static inline void perf_buf_reg_set_flags(struct io_uring_buf_reg *registration, uint16_t flags)
{
	size_t offset = offsetof(struct io_uring_buf_reg, bgid) + sizeof(registration->bgid);

	memcpy((char *)registration + offset, &flags, sizeof(flags));
}

#endif
