/*
 * Answers of the wrong type. The asker counts on the type that the question declares and reads no
 * other, so it is told that the question was not understood; and the fault is the answering
 * actor's, so it is named in the log, and with all assertions the program ends there.
 */
#include <errno.h>
#include <stdio.h>

#include "actor/stack.h"
#include "base/assert.h"

enum { TEXT_BYTES = 512 };

int gy_answer_refuse_type(struct gy_stack *stack, struct gyre_mail *ask, struct gyre_mail *mail)
{
	struct gy_home *home = stack->home;
	char text[TEXT_BYTES];

	(void)snprintf(text, sizeof(text), "answers %s with %s, but its answer is %s",
		       ask->type->name, mail->type->name, ask->type->answer->name);
	gy_class_warn(home, stack->house->class_info, "%s", text);
#if GY_ASSERT_LEVEL >= 2
	gy_assert_failed(text, __FILE__, __LINE__);
#else
	gy_mail_put(home, mail);
	(void)gy_answer_error(stack, ask, -EPROTO);
	return -EPROTO;
#endif
}
