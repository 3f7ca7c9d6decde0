/*
 * In the place of liburcu's inline functions, as the header beside this folder is of the others.
 */
#ifndef GY_TEST_MODEL_URCU_STATIC_QSBR_H
#define GY_TEST_MODEL_URCU_STATIC_QSBR_H

static inline void _urcu_qsbr_quiescent_state(void)
{
}

static inline void _urcu_qsbr_thread_offline(void)
{
}

static inline void _urcu_qsbr_thread_online(void)
{
}

#endif
