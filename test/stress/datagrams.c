/*
 * Systems that echo datagrams on several loops, change their number and are stopped at a random
 * moment, while threads send to them, and while another opens sockets that end soon. Each socket
 * has an actor of the program. Actors of all loops, threads, and these actors themselves, notify
 * and ask them while datagrams flow: what one sender sends to one of them comes in order, each ask
 * has one outcome, which is its own, and a state is there from its initialiser to its end. Nothing
 * may be left over.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel_actor.h>
#include <gyre/datagram.h>
#include <gyre/outside.h>
#include <gyre/resize.h>

#include "board.h"

enum {
	SYSTEMS = 25,
	LOOPS = 3,
	ASKERS = LOOPS + 1, /* the last one is a thread */
	THREADS = 4,
	BONDS = 4,
	RESIZES = 2,
	LASTING_MAX = 10, /* sockets that do not end at once, besides those that echo first */
	DELAY_US_MAX = 20000,
};

static struct gyre_socket_address address;
static struct gyre_system *current;
static uint32_t outside_may_run;
static struct board board = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static uint64_t begun;	  /* atomic: states, of all systems */
static uint64_t cleaned;  /* atomic: of these */
static uint64_t notified; /* atomic: notices that came */
static uint64_t answered; /* atomic: asks */

/* ---- the actors of sockets ---- */

/* Of a state, from the initialiser to @clean. */
static const uint64_t alive = UINT64_C(0x616c697665);

struct owner {
	uint64_t alive;
	uint64_t random;
	uint64_t last[ASKERS]; /* number of the latest notice of each */
	bool is_brief;
};

/* A notice is told by who sends it, from 0 on, and a number; those of ASKERS are in no order. */
static uint64_t value_of(uint64_t asker, uint64_t number)
{
	return asker << 48 | number;
}

static int mount(struct gyre_stack *stack)
{
	struct owner *owner = (struct owner *)gyre_state(stack);

	check(owner->alive == alive);
	check(gyre_message(stack, gyre_channel_attached)->channel == gyre_actor_channel(stack));
	check(gyre_channel_actor_state(gyre_actor_channel(stack)) == owner);
	if (!owner->is_brief || stress_random(&owner->random, 8) == 0) {
		board_put(&board, gyre_self(stack));
	}
	return gyre_return(stack);
}

static void clean(void *state)
{
	struct owner *owner = (struct owner *)state;

	check(owner->alive == 0 || owner->alive == alive);
	(void)gy_fetch_add(&cleaned, owner->alive == alive);
	owner->alive = ~alive;
}

static int take_notice(struct gyre_stack *stack)
{
	struct owner *owner = (struct owner *)gyre_state(stack);
	struct gyre_channel *channel = gyre_actor_channel(stack);
	uint64_t value = load_check(gyre_message(stack, load));
	uint64_t asker = value >> 48;

	check(owner->alive == alive);
	check(channel == NULL || gyre_channel_actor_state(channel) == owner);
	if (asker < ASKERS) {
		check(value > owner->last[asker]);
		owner->last[asker] = value;
	}
	(void)gy_fetch_add(&notified, 1);
	switch (stress_random(&owner->random, 500)) {
	case 0:
		return gyre_stop(stack, gyre_self(stack));
	case 1:
		if (channel != NULL) {
			gyre_context_close(gyre_channel_tail(channel));
		}
		break;
	default:
		break;
	}
	return gyre_return(stack);
}

static int take_ask(struct gyre_stack *stack)
{
	check(((const struct owner *)gyre_state(stack))->alive == alive);
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static const struct gyre_class owner_class = { .name = "owner",
					       .state_bytes = sizeof(struct owner),
					       .mount = mount,
					       .clean = clean,
					       .behaviour = { .notice = take_notice,
							      .ask = take_ask } };

/* Some are told on, to another socket's actor. */
static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct owner *owner = (struct owner *)gyre_channel_actor_state(gyre_context_channel(ctx));
	struct gyre_stack *stack = gyre_context_stack(ctx);

	if (owner != NULL) {
		check(owner->alive == alive);
		if (stress_random(&owner->random, 16) == 0) {
			(void)gyre_notify(stack, board_pick(&board, &owner->random),
					  load_new(stack, value_of(ASKERS, 0)));
		}
	}
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_echo(struct gyre_channel *channel, void *arg)
{
	struct owner *owner = (struct owner *)gyre_channel_actor_state(channel);

	check(owner != NULL && owner->alive == 0);
	owner->alive = alive;
	owner->random = gy_fetch_add(&begun, 1);
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

/* One that ends as soon as it has begun. */
static int init_brief(struct gyre_channel *channel, void *arg)
{
	((struct owner *)gyre_channel_actor_state(channel))->is_brief = true;
	gyre_context_close(gyre_channel_tail(channel));
	return init_echo(channel, arg);
}

/* ---- those who notify and ask them ---- */

struct asker {
	uint64_t random;
	uint64_t number;
};

struct asking_frame {
	struct gyre_future future;
	struct gyre_future nap;
	uint64_t value;
};

static int begin_asking(struct gyre_stack *stack)
{
	struct asker *asker = (struct asker *)gyre_state(stack);

	asker->random = load_check(gyre_message(stack, load));
	return gyre_notify(stack, gyre_self(stack), load_new(stack, asker->random % LOOPS));
}

static uint64_t any_timeout(uint64_t *random)
{
	return GYRE_MICROSECONDS(stress_random(random, 3000) + 1);
}

static void look_at(const struct load *load, int error, uint64_t value)
{
	if (error == 0) {
		check(load_check(load) == value + 1);
		(void)gy_fetch_add(&answered, 1);
	} else {
		check(error == -ETIMEDOUT || error == -ESRCH || error == -ESHUTDOWN);
	}
}

static int ask_often(struct gyre_stack *stack)
{
	struct asking_frame *frame = (struct asking_frame *)gyre_frame(stack);
	struct asker *asker = (struct asker *)gyre_state(stack);
	uint64_t index;

	GYRE_BEGIN(stack);
	index = load_check(gyre_message(stack, load));
	for (uint32_t i = stress_random(&asker->random, 8); i > 0; i--) {
		(void)gyre_notify(stack, board_pick(&board, &asker->random),
				  load_new(stack, value_of(index, ++asker->number)));
	}
	frame->value = gy_random_next(&asker->random) >> 8;
	GYRE_AWAIT(stack, gyre_ask(stack, board_pick(&board, &asker->random),
				   load_new(stack, frame->value), any_timeout(&asker->random),
				   &frame->future));
	look_at(gyre_future_get(&frame->future, load), gyre_future_error(&frame->future),
		frame->value);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(50), &frame->nap));
	(void)gyre_notify(stack, gyre_self(stack),
			  load_new(stack, load_check(gyre_message(stack, load))));
	GYRE_END(stack);
}

static const struct gyre_class asker_class = {
	.name = "asker",
	.state_bytes = sizeof(struct asker),
	.frame_bytes = sizeof(struct asking_frame),
	.mount = begin_asking,
	.behaviour.notice = ask_often,
};

static void *ask_from_outside(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;
	uint64_t number = 0;

	while (gy_load_acquire(&outside_may_run) != 0) {
		uint64_t value = gy_random_next(&random) >> 8;
		struct gyre_mail *end = NULL;
		int r;

		(void)gyre_system_notify(current, board_pick(&board, &random),
					 load_new_outside(current, value_of(ASKERS - 1, ++number)));
		r = gyre_system_ask(current, board_pick(&board, &random),
				    load_new_outside(current, value), any_timeout(&random), &end);
		look_at(r == 0 ? gyre_mail_get(end, load) : NULL, r, value);
		gyre_mail_destroy(NULL, end);
		stress_dawdle(&random, 3000);
	}
	return NULL;
}

/* ---- other threads ---- */

static void *send_often(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;
	static const char bytes[20000];
	char answer[2000];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	check(connect(fd, (struct sockaddr *)&address.storage, address.bytes) == 0);
	while (gy_load_acquire(&outside_may_run) != 0) {
		int each = (int)stress_random(&random, 1400) + 400;

		(void)setsockopt(fd, SOL_UDP, UDP_SEGMENT, &each, sizeof(each));
		(void)send(fd, bytes, stress_random(&random, sizeof(bytes)), MSG_DONTWAIT);
		while (recv(fd, answer, sizeof(answer), MSG_DONTWAIT) >= 0) {
		}
	}
	(void)close(fd);
	return NULL;
}

static void *open_often(void *arg)
{
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						 .actor_class = &owner_class };
	uint64_t random = *(const uint64_t *)arg;
	uint32_t lasting = 0;

	while (gy_load_acquire(&outside_may_run) != 0) {
		bool is_brief = lasting == LASTING_MAX || stress_random(&random, 2) == 0;
		int r;

		lasting += !is_brief;
		options.bond = (enum gyre_channel_bond)stress_random(&random, BONDS);
		options.init_channel = is_brief ? init_brief : init_echo;
		r = gyre_system_datagram_open(current, &options, NULL);

		check(r == 0 || r == -ESHUTDOWN);
		stress_dawdle(&random, 30000);
	}
	return NULL;
}

static void wait_us(uint64_t us)
{
	uint64_t end_ns = gy_clock_machine_ns() + us * 1000;

	while (gy_clock_machine_ns() < end_ns) {
		gy_pause();
	}
}

/* ---- a system ---- */

static struct gyre_system *create(uint64_t *random)
{
	const struct gyre_datagram_options options = {
		.bind = "udp://127.0.0.1:0",
		.init_channel = init_echo,
		.actor_class = &owner_class,
		.bond = (enum gyre_channel_bond)stress_random(random, BONDS),
		.ret_address = &address,
	};
	struct gyre_system *system = stress_create(LOOPS);

	check(gyre_system_datagram_open(system, &options, NULL) == 0);
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		(void)stress_spawn(
			system, &asker_class, loop,
			load_new_outside(system, (gy_random_next(random) >> 8) * LOOPS + loop));
	}
	return system;
}

static void resize_and_wait(uint64_t *random, uint64_t delay_us)
{
	for (uint32_t i = 0; i < RESIZES; i++) {
		wait_us(delay_us / RESIZES);
		check(gyre_system_resize(current, 1 + stress_random(random, LOOPS)) == 0);
	}
}

static void run_one(uint64_t *random)
{
	static void *(*const functions[THREADS])(void *) = { send_often, send_often, open_often,
							     ask_from_outside };
	uint64_t delay_us = stress_random(random, DELAY_US_MAX);
	uint64_t seeds[THREADS];
	pthread_t threads[THREADS];

	board = (struct board){ .mutex = PTHREAD_MUTEX_INITIALIZER };
	current = create(random);
	gy_store_release(&outside_may_run, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		seeds[i] = gy_random_next(random);
		check(pthread_create(&threads[i], NULL, functions[i], &seeds[i]) == 0);
	}
	check(gyre_system_start(current) == 0);
	resize_and_wait(random, delay_us);
	gyre_system_stop(current);
	wait_us(delay_us % 2000);
	gy_store_release(&outside_may_run, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	(void)stress_end(current);
	check(gy_load_acquire(&begun) == gy_load_acquire(&cleaned));
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < SYSTEMS; i++) {
		run_one(&random);
	}
	check(notified > 0 && answered > 0);
	(void)printf("%llu actors, %llu notices came, %llu asks were answered\n",
		     (unsigned long long)begun, (unsigned long long)notified,
		     (unsigned long long)answered);
	return 0;
}
