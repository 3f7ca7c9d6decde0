/*
 * Constants of kernels that are newer than liburing 2.3. Each is defined here under its own name,
 * so that the definition goes away by itself where the installed header knows it.
 */
#ifndef GY_RING_KERNEL_H
#define GY_RING_KERNEL_H

#include <stdint.h>

#ifndef IORING_CQE_F_BUF_MORE
#define IORING_CQE_F_BUF_MORE (1U << 4) /* 6.12 */
#endif

/* Enumerators in newer headers, which hide nothing here: the values are the kernel's. */
#define GY_KERNEL_PBUF_RING_INC		2U	   /* IOU_PBUF_RING_INC, 6.12 */
#define GY_KERNEL_SEND_ZC_REPORT_USAGE	8U	   /* IORING_SEND_ZC_REPORT_USAGE, 6.2 */
#define GY_KERNEL_NOTIF_USAGE_ZC_COPIED (1U << 31) /* IORING_NOTIF_USAGE_ZC_COPIED, 6.2 */
#define GY_KERNEL_OP_READ_MULTISHOT	49	   /* IORING_OP_READ_MULTISHOT, 6.7 */
#define GY_KERNEL_OP_FTRUNCATE		55	   /* IORING_OP_FTRUNCATE, 6.9 */
#define GY_KERNEL_OP_READV_FIXED	60	   /* IORING_OP_READV_FIXED, 6.15 */

#define GY_KERNEL_FEAT_MIN_TIMEOUT (1U << 15) /* IORING_FEAT_MIN_TIMEOUT, 6.12 */

#define GY_KERNEL_FEAT_NO_IOWAIT  (1U << 17) /* IORING_FEAT_NO_IOWAIT, 6.15 */
#define GY_KERNEL_ENTER_NO_IOWAIT (1U << 7)  /* IORING_ENTER_NO_IOWAIT, 6.15 */

/* struct io_uring_getevents_arg of 6.12: what was padding is the least time to wait. */
struct gy_kernel_wait {
	uint64_t signals;
	uint32_t signals_bytes;
	uint32_t min_wait_us;
	uint64_t timeout; /* the address of a struct __kernel_timespec, 0 for none */
};

/* A system call, of one number on all machines. */
#define GY_KERNEL_CACHESTAT 451 /* SYS_cachestat, 6.5 */

/* An errno within the kernel, which an open that was interrupted shows: ERESTARTSYS. */
#define GY_KERNEL_RESTART 512

#endif
