/*
 * Switching from one stack to another. The C library's way (swapcontext) asks the kernel for the
 * mask of signals each time, and the address sanitizer takes it over and warns of it. So on x86-64
 * it is done here: what the calling convention has a function preserve is pushed, the stack pointer
 * is exchanged, and the same is popped from the other stack. Other machines take the C library's.
 */
#include "sim/context.h"

#include <stdint.h>

#include "base/assert.h"

#if defined(__x86_64__)

enum { SAVED = 6, WORD = 8, ALIGNED = 16 };

void gy_sim_context_exchange(void **ret_from, void *to);

__asm__(".text\n"
	".hidden gy_sim_context_exchange\n"
	".globl gy_sim_context_exchange\n"
	".type gy_sim_context_exchange, @function\n"
	"gy_sim_context_exchange:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size gy_sim_context_exchange, .-gy_sim_context_exchange\n");

void gy_sim_context_init(struct gy_sim_context *context, void *memory, size_t bytes,
			 void (*run)(void))
{
	uintptr_t top = ((uintptr_t)memory + bytes) & ~(uintptr_t)(ALIGNED - 1);
	/* The function finds the stack as if it had been called: a word below an aligned place. */
	uintptr_t *at = (uintptr_t *)(top - (uintptr_t)(ALIGNED + (SAVED + 1) * WORD - WORD));

	gy_assert(bytes > ALIGNED + (SAVED + 1) * WORD);
	for (uint32_t i = 0; i < SAVED; i++) {
		at[i] = 0;
	}
	at[SAVED] = (uintptr_t)run;
	at[SAVED + 1] = 0; /* where it would return to */
	context->stack = at;
}

void gy_sim_context_switch(struct gy_sim_context *from, struct gy_sim_context *to)
{
	gy_sim_context_exchange(&from->stack, to->stack);
}

#else

void gy_sim_context_init(struct gy_sim_context *context, void *memory, size_t bytes,
			 void (*run)(void))
{
	(void)getcontext(&context->context);
	context->context.uc_stack.ss_sp = memory;
	context->context.uc_stack.ss_size = bytes;
	makecontext(&context->context, run, 0);
}

void gy_sim_context_switch(struct gy_sim_context *from, struct gy_sim_context *to)
{
	int r = swapcontext(&from->context, &to->context);

	gy_assert(r == 0);
	(void)r;
}

#endif
