/*
 * Readers of RCU: threads that may look at what others free after a grace period. A thread can be
 * one for several reasons, as one that turns a loop inside the program's own loop and looks from
 * outside between its turns; liburcu wants each thread registered once.
 */
#ifndef GY_BASE_READER_H
#define GY_BASE_READER_H

#include <stdint.h>

/* For how many reasons the calling thread is a reader. A simulator keeps it for threads of its own.
 */
extern _Thread_local uint32_t gy_reader_reasons;

/* One reason more for the calling thread, which is online then. */
void gy_reader_get(void);
/* One less: without any the thread is no reader, else it is offline. */
void gy_reader_put(void);

#endif
