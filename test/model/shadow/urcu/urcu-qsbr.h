/*
 * In the place of liburcu's header for the code that is explored: the protocols of test/model free
 * nothing through RCU, so that what a loop tells it is of no account.
 */
#ifndef GY_TEST_MODEL_URCU_QSBR_H
#define GY_TEST_MODEL_URCU_QSBR_H

static inline void urcu_qsbr_register_thread(void)
{
}

static inline void urcu_qsbr_unregister_thread(void)
{
}

static inline void urcu_qsbr_quiescent_state(void)
{
}

static inline void urcu_qsbr_thread_offline(void)
{
}

static inline void urcu_qsbr_thread_online(void)
{
}

#endif
