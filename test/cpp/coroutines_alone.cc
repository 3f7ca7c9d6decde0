/*
 * Coroutines without exceptions, on several loops: actors that wait are stolen, so that coroutines
 * begin on one thread, go on on another, and are destroyed on a third. It is compiled with
 * -fno-exceptions; exits with 0 when everything came as it should.
 */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>

#include "coroutines.hpp"

namespace
{

enum { ACTORS = 64, ROUNDS = 200, LOOPS = 3 };

struct work {
	gyre_address to;
	gyre_address owner;
};
GYRE_MESSAGE(work, 0x203);

struct done {
	int rounds;
};
GYRE_MESSAGE(done, 0x204);

/* ---- who is asked ---- */

/* As large as no frame of a stack. */
gyre::task<int> add_slowly(gyre_stack *stack, int value)
{
	const variable here;
	char large[3000];

	std::memset(large, value & 0x7f, sizeof(large));
	co_await gyre::sleep(stack, GYRE_MICROSECONDS(value & 7));
	CHECK(large[2999] == (value & 0x7f));
	co_return value + 1;
}

gyre::task<> on_increment(gyre_stack *stack)
{
	const variable here;
	const int value = co_await add_slowly(stack, gyre_message(stack, increment)->value);

	co_return value < 0 ? -ERANGE : gyre_reply_to(stack, increment, value);
}

/* ---- who asks ---- */

gyre::task<> on_work(gyre_stack *stack)
{
	const variable here;
	const work order = *gyre_message(stack, work);
	int value = 0;

	for (int round = 0; round < ROUNDS; round++) {
		auto first = gyre::ask(stack, order.to, increment{ value });
		auto second = gyre::ask(stack, order.to, increment{ value });

		if (round % 2 == 0) {
			co_await gyre::any(first, second);
		} else {
			CHECK(co_await gyre::quorum(1, first, second));
		}
		CHECK(first.is_done() || second.is_done());
		co_await gyre::all(first, second);
		CHECK(first && second && first->value == second->value);
		value = first ? first->value : -1;
	}
	auto refused = co_await gyre::ask(stack, order.to, increment{ -2 });

	CHECK(!refused && refused.error() == -ERANGE);
	CHECK(gyre::tell(stack, order.owner, done{ value }) == 0);
	co_await gyre::sleep(stack, GYRE_SECONDS(1000)); /* until it is cut off */
	CHECK(false);
	co_return 0;
}

constexpr gyre_route work_routes[] = { GYRE_ROUTE(work, gyre::handler<on_work>), GYRE_ROUTE_END };
constexpr gyre_route ask_routes[] = { GYRE_ROUTE(increment, gyre::handler<on_increment>),
				      GYRE_ROUTE_END };

constexpr gyre_class worker_class = gyre::with_coroutines({
	.name = "worker",
	.behaviour = { .notice_routes = work_routes, .ask_routes = ask_routes },
});

/* ---- who waits for all ---- */

int begin(gyre_stack *stack)
{
	auto workers = std::make_unique<gyre_address[]>(ACTORS);

	for (int i = 0; i < ACTORS; i++) {
		CHECK(gyre_spawn(stack, &worker_class, GYRE_NO_ARGUMENT, nullptr, &workers[i]) ==
		      0);
	}
	for (int i = 0; i < ACTORS; i++) {
		CHECK(gyre::tell(stack, workers[i],
				 work{ workers[(i + 1) % ACTORS], gyre_self(stack) }) == 0);
	}
	return gyre_return(stack);
}

int count(gyre_stack *stack)
{
	CHECK(gyre_message(stack, done)->rounds == ROUNDS);
	if (++gyre::state<int>(stack) == ACTORS) {
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

constexpr gyre_class main_class = {
	.name = "main",
	.state_bytes = sizeof(int),
	.behaviour = { .notice = gyre::handler<count> },
	.mount = gyre::handler<begin>,
};

} /* namespace */

int main()
{
	const gyre_system_options options = { .loops = LOOPS };
	gyre::system system;
	gyre_address first;
	int r = gyre_system_create(&options, gyre::out(system));

	CHECK(r == 0);
	r = gyre_system_spawn(system.get(), &main_class, GYRE_NO_ARGUMENT, nullptr, &first);
	CHECK(r == 0);
	CHECK(gyre_system_run(system.get()) == 0);
	system.reset();
	CHECK(alive == 0);
	return failures == 0 ? 0 : 1;
}
