/*
 * The program's data of each loop; on the loop's own thread.
 */
#ifndef GY_SYSTEM_LOOP_DATA_H
#define GY_SYSTEM_LOOP_DATA_H

#include <gyre/loop_data.h>

struct gy_worker;

/* Before the loop turns: 0, or the negative errno of the program's constructor, which is logged. */
int gy_loop_data_init(struct gy_worker *worker);
/* After its last turn, if that succeeded. */
void gy_loop_data_fini(struct gy_worker *worker);

#endif
