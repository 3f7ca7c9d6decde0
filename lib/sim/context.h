/*
 * Where a task stands on its stack while another one runs; see context.c.
 */
#ifndef GY_SIM_CONTEXT_H
#define GY_SIM_CONTEXT_H

#include <stddef.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

struct gy_sim_context {
#if defined(__x86_64__)
	void *stack; /* its pointer: what the task goes on with lies there */
#else
	ucontext_t context;
#endif
};

/* Has @context begin with @run, which never returns, on a stack of @bytes at @memory. */
void gy_sim_context_init(struct gy_sim_context *context, void *memory, size_t bytes,
			 void (*run)(void));
/* Leaves @from where it is, and goes on with @to. Returns when somebody goes on with @from. */
void gy_sim_context_switch(struct gy_sim_context *from, struct gy_sim_context *to);

#endif
