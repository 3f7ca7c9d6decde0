/*
 * Protocols: the compiler knows what an account takes, and what its owner does.
 *
 * Another message does not compile, nor do routes of a class in which one is missing.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

struct balance {
	int64_t cents;
};
GYRE_MESSAGE(balance, 0x100);

GYRE_PROTOCOL(owner, balance);

struct deposit {
	int64_t cents;
};
GYRE_MESSAGE(deposit, 0x101);

struct report {
	struct owner_address to;
};
GYRE_MESSAGE(report, 0x102);

struct rate_of {
	uint32_t year;
};
GYRE_REQUEST(rate_of, 0x103, balance);

GYRE_PROTOCOL(account, deposit, report, rate_of);

static int take_deposit(struct gyre_stack *stack)
{
	*(int64_t *)gyre_state(stack) += gyre_message(stack, deposit)->cents;
	return gyre_return(stack);
}

static int send_report(struct gyre_stack *stack)
{
	return gyre_tell(stack, gyre_message(stack, report)->to, balance,
			 .cents = *(int64_t *)gyre_state(stack));
}

static int tell_rate(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, rate_of, .cents = gyre_message(stack, rate_of)->year % 7);
}

GYRE_SERVES(savings, account, GYRE_ON_NOTICE(deposit, take_deposit),
	    GYRE_ON_NOTICE(report, send_report), GYRE_ON_ASK(rate_of, tell_rate));

static const struct gyre_class savings_class = { .name = "savings",
						 .state_bytes = sizeof(int64_t),
						 .behaviour = { GYRE_ROUTES_OF(savings) } };

struct frame {
	struct account_address account;
	struct gyre_future rate;
};

static int run(struct gyre_stack *stack)
{
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	(void)gyre_spawn(stack, &savings_class, GYRE_NO_ARGUMENT, NULL, &frame->account.address);
	GYRE_AWAIT(stack,
		   gyre_ask_of(stack, frame->account, 0, &frame->rate, rate_of, .year = 2026));
	if (gyre_future_failed(&frame->rate)) {
		return gyre_throw(stack, gyre_future_error(&frame->rate));
	}
	printf("of 100 cents: %" PRId64 "\n", gyre_future_answer_to(&frame->rate, rate_of)->cents);
	(void)gyre_tell(stack, frame->account, deposit, .cents = 120);
	return gyre_tell(stack, frame->account, report,
			 .to = gyre_address_as(owner, gyre_self(stack)));
	GYRE_END(stack);
}

static int print_balance(struct gyre_stack *stack)
{
	printf("balance: %" PRId64 "\n", gyre_message(stack, balance)->cents);
	return gyre_stop(stack, gyre_self(stack));
}

GYRE_SERVES(person, owner, GYRE_ON_NOTICE(balance, print_balance));

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run,
					      .behaviour = { GYRE_ROUTES_OF(person) } };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
