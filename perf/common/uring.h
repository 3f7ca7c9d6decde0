/*
 * What io_uring offers and Debian 12's liburing 2.3 does not name yet.
 */
#ifndef PERF_COMMON_URING_H
#define PERF_COMMON_URING_H

#include <liburing.h>

#ifndef IOU_PBUF_RING_INC
#define IOU_PBUF_RING_INC 2 /* flag of a buffer ring: buffers are consumed bit by bit (6.12) */
#endif

#ifndef IORING_CQE_F_BUF_MORE
#define IORING_CQE_F_BUF_MORE (1U << 4) /* the kernel will put more into this buffer (6.12) */
#endif

#endif
