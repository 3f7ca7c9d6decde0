/*
 * Outside: a program's own threads ask an actor instead of taking a lock.
 *
 * The account is an actor. Two threads deposit into it, and wait for each answer. The main thread
 * does not wait: the answer to its question goes to a callback.
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { THREADS = 2, DEPOSITS = 1000 };

struct balance {
	int64_t cents;
};
GYRE_MESSAGE(balance, 0x100);

struct deposit {
	int64_t cents;
};
GYRE_REQUEST(deposit, 0x101, balance);

struct bank {
	struct gyre_system *system;
	struct gyre_address account;
	sem_t told;
};

static int take_deposit(struct gyre_stack *stack)
{
	struct balance *balance = gyre_state(stack);

	balance->cents += gyre_message(stack, deposit)->cents;
	return gyre_reply_to(stack, deposit, balance->cents);
}

static const struct gyre_class account_class = { .name = "account",
						 .state_bytes = sizeof(struct balance),
						 .behaviour.ask = take_deposit };

static void *deposit_all(void *arg)
{
	struct bank *bank = arg;
	int r = 0;

	for (int i = 0; i < DEPOSITS && r == 0; i++) {
		r = gyre_system_ask(bank->system, bank->account,
				    gyre_system_new(bank->system, deposit, .cents = 1), 0, NULL);
	}
	printf("a thread has deposited: %s\n", r == 0 ? "all" : strerror(-r));
	return NULL;
}

static void tell_balance(struct gyre_mail *answer, int error, void *arg)
{
	const struct balance *balance = gyre_mail_answer_to(answer, deposit);

	printf("balance: %" PRId64 " (%d)\n", balance == NULL ? 0 : balance->cents, error);
	(void)sem_post(&((struct bank *)arg)->told);
}

static int run(struct bank *bank)
{
	pthread_t threads[THREADS];
	int started = 0;
	int r = gyre_system_start(bank->system);

	while (r == 0 && started < THREADS) {
		r = -pthread_create(&threads[started], NULL, deposit_all, bank);
		started += r == 0;
	}
	for (int i = 0; i < started; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	r = r < 0 ? r
		  : gyre_system_ask_callback(bank->system, bank->account,
					     gyre_system_new(bank->system, deposit, 0), 0,
					     tell_balance, bank);
	return r < 0 ? r : sem_wait(&bank->told);
}

int main(void)
{
	struct bank bank = { 0 };
	int r = gyre_system_create(NULL, &bank.system);

	(void)sem_init(&bank.told, 0, 0);
	r = r < 0 ? r
		  : gyre_system_spawn(bank.system, &account_class, GYRE_NO_ARGUMENT, NULL,
				      &bank.account);
	r = r < 0 ? r : run(&bank);
	gyre_system_destroy(bank.system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
