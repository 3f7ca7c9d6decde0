/*
 * Handlers that are coroutines of C++20: what they wait for, what becomes of their variables when
 * they end, fail, or are cut off, and where their memory comes from. Each part runs in a system of
 * its own, at whose end no variable may live. It exits with 0 when everything came as it should.
 */
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "coroutines.hpp"

namespace
{

struct parcel {
	char *goods;
};

int parcels;

void parcel_destroy(parcel *what)
{
	if (what->goods != nullptr) {
		parcels--;
		delete[] what->goods;
	}
}
GYRE_MESSAGE_OWNING(parcel, 0x203, parcel_destroy);

parcel pack()
{
	parcels++;
	return { new char[16] };
}

struct fail_as {
	int how;
};
GYRE_REQUEST(fail_as, 0x204, number);

struct wait_for {
	uint64_t delay_ns;
};
GYRE_REQUEST(wait_for, 0x205, number);

struct bell {
};
GYRE_MESSAGE(bell, 0x206);

struct fetch {
	int value;
};
GYRE_REQUEST(fetch, 0x208, parcel);

/* A request that owns something, as a parcel does. */
struct offer {
	char *goods;
};

void offer_destroy(offer *what)
{
	parcels--;
	delete[] what->goods;
}
GYRE_REQUEST_OWNING(offer, 0x209, number, offer_destroy);

GYRE_PROTOCOL(server, increment, fail_as, wait_for, fetch, offer, bell);

/* ---- the server ---- */

gyre::task<> on_increment(gyre_stack *stack)
{
	const variable here;

	co_return gyre_reply_to(stack, increment, gyre_message(stack, increment)->value + 1);
}

gyre::task<> on_fetch(gyre_stack *stack)
{
	co_return gyre_reply(stack, gyre_new(stack, parcel, pack()));
}

gyre::task<> on_offer(gyre_stack *stack)
{
	co_return gyre_reply_to(stack, offer, 1);
}

enum {
	FAILURE,
	NO_MEMORY,
	SYSTEM_ERROR,
	OTHER,
	NO_EXCEPTION,
	RETURNED,
	AFTER_WAIT,
	POSITIVE,
	SUSPENDED,
};

struct odd {
};

void throw_as(int how)
{
	switch (how) {
	case FAILURE:
	case AFTER_WAIT:
		throw gyre::failure(-ENOSPC);
	case NO_MEMORY:
		throw std::bad_alloc();
	case SYSTEM_ERROR:
		throw std::system_error(EDOM, std::generic_category(), "planted");
	case OTHER:
		throw std::runtime_error("planted");
	case NO_EXCEPTION:
		throw odd();
	default:
		return;
	}
}

gyre::task<> on_fail_as(gyre_stack *stack)
{
	const variable here;
	const int how = gyre_message(stack, fail_as)->how;

	if (how == AFTER_WAIT) {
		co_await gyre::sleep(stack, GYRE_MILLISECONDS(1));
	}
	throw_as(how);
	if (how == SUSPENDED) {
		auto asleep = gyre::sleep(stack, GYRE_SECONDS(100));

		co_return gyre_suspend(stack, 1);
	}
	co_return how == POSITIVE ? 1 : -EXDEV;
}

gyre::task<> on_wait_for(gyre_stack *stack)
{
	const variable here;

	co_await gyre::sleep(stack, gyre_message(stack, wait_for)->delay_ns);
	co_return gyre_reply_to(stack, wait_for, 1);
}

int on_bell(gyre_stack *)
{
	throw gyre::failure(-EBADMSG);
}

GYRE_SERVES(all, server, GYRE_ON_ASK(increment, gyre::handler<on_increment>),
	    GYRE_ON_ASK(fail_as, gyre::handler<on_fail_as>),
	    GYRE_ON_ASK(wait_for, gyre::handler<on_wait_for>),
	    GYRE_ON_ASK(fetch, gyre::handler<on_fetch>),
	    GYRE_ON_ASK(offer, gyre::handler<on_offer>),
	    GYRE_ON_NOTICE(bell, gyre::handler<on_bell>));

int restarts;

int count_restart(gyre_stack *stack)
{
	restarts++;
	return gyre_return(stack);
}

constexpr gyre_class server_class = gyre::with_coroutines({
	.name = "server",
	.behaviour = { GYRE_ROUTES_OF(all) },
	.restart = count_restart,
});

server_address open_server(gyre_stack *stack)
{
	server_address made = {};

	CHECK(gyre_spawn(stack, &server_class, GYRE_NO_ARGUMENT, nullptr, &made.address) == 0);
	return made;
}

int end(gyre_stack *stack)
{
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

/* ---- waiting ---- */

gyre::task<> ask_one_and_many(gyre_stack *stack)
{
	const variable here;
	const server_address server = open_server(stack);
	auto one = co_await gyre::ask(stack, server, increment{ .value = 1 });

	CHECK(one && one.error() == 0 && one->value == 2);
	auto slow = gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) }, GYRE_FOREVER);
	auto quick = gyre::ask(stack, server, wait_for{ GYRE_MILLISECONDS(1) });

	CHECK(slow.error() == -EINPROGRESS && !slow && slow.get() == nullptr);
	co_await gyre::any(slow, quick);
	CHECK(quick && quick->value == 1 && !slow.is_done());
	CHECK(one->value == 2); /* an answer that was there before stays */
	auto more = gyre::ask(stack, server, increment{ .value = 6 });
	auto most = gyre::ask(stack, server, increment{ .value = 7 });

	co_await gyre::all(more, most);
	CHECK(more->value == 7 && most->value == 8 && one->value == 2 && quick->value == 1);
	co_await gyre::all(more, most); /* goes on at once */
	co_await gyre::any(slow, most);
	CHECK(slow.cancel() == 0 && slow.error() == -ECANCELED && slow.cancel() == -EALREADY);
	co_await slow;
	CHECK(more.as<bell>() == nullptr && more.value().value == 7);
	number moved = {};

	CHECK(more.move_to(moved) == 0 && moved.value == 7 && more.get() == nullptr);
	gyre::mail answer = most.take();

	CHECK(answer.as<number>()->value == 8);
	CHECK(gyre_notify(stack, gyre_self(stack), answer.release()) == 0);
	co_return end(stack);
}

/* Two of three answer, or two fail; what is decided when the wait begins is no wait. */
gyre::task<> await_quorums(gyre_stack *stack)
{
	const variable here;
	const server_address server = open_server(stack);
	auto held = co_await gyre::ask(stack, server, increment{ .value = 1 });
	auto slow = gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) }, GYRE_FOREVER);
	auto first = gyre::ask(stack, server, wait_for{ GYRE_MILLISECONDS(1) });
	auto second = gyre::ask(stack, server, wait_for{ GYRE_MILLISECONDS(2) });

	CHECK(co_await gyre::quorum(2, slow, first, second));
	CHECK(first && second && !slow.is_done() && held->value == 2);
	auto failed = gyre::ask(stack, server, fail_as{ AFTER_WAIT });
	auto late = gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) }, GYRE_MILLISECONDS(3));

	CHECK(!co_await gyre::quorum(3, slow, failed, first, late)); /* one may fail */
	CHECK(failed.error() == -ENOSPC && late.error() == -ETIMEDOUT && !slow.is_done());
	CHECK(held->value == 2 && first->value == 1 && second->value == 1);
	auto never = gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) }, GYRE_FOREVER);

	CHECK(co_await gyre::quorum(0, never, slow));
	CHECK(!co_await gyre::quorum(3, never, slow));
	CHECK(co_await gyre::quorum(1, never, second));
	CHECK(!co_await gyre::quorum(2, failed, slow));
	CHECK(!never.is_done() && !slow.is_done());
	co_return end(stack);
}

gyre::task<> wait_too_briefly(gyre_stack *stack)
{
	const server_address server = open_server(stack);
	auto late = co_await gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) },
				       GYRE_MILLISECONDS(1));

	CHECK(!late && late.error() == -ETIMEDOUT);
	try {
		(void)late.value();
		CHECK(false);
	} catch (const gyre::failure &failure) {
		CHECK(failure.error() == -ETIMEDOUT);
	}
	co_return end(stack);
}

gyre::task<> have_too_many(gyre_stack *stack)
{
	const server_address server = open_server(stack);
	auto first = gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) });
	std::optional<gyre::future<number>> others[15];

	for (auto &other : others) {
		other.emplace(gyre::ask(stack, server, wait_for{ GYRE_SECONDS(100) }));
		CHECK(other->error() == -EINPROGRESS);
	}
	auto one_more = co_await gyre::ask(stack, server, increment{ 1 });

	CHECK(one_more.error() == -ENOBUFS && one_more.get() == nullptr);
	parcels++;
	auto refused = co_await gyre::ask(stack, server, offer{ new char[16] });

	CHECK(refused.error() == -ENOBUFS && parcels == 0);
	others[7].reset();
	one_more = co_await gyre::ask(stack, server, increment{ 1 });
	CHECK(one_more && one_more->value == 2);
	others[8].reset();
	parcels++;
	refused = co_await gyre::ask(stack, server, offer{ new char[16] });
	CHECK(refused && refused->value == 1 && parcels == 0);
	co_return end(stack);
}

/* A call that throws has no future, and leaves its place to others. */
gyre::task<> throw_in_start(gyre_stack *stack)
{
	int caught = 0;

	for (int i = 0; i < 20; i++) {
		try {
			auto made = gyre::start(stack, [&](gyre_future *place) -> int {
				if (i % 2 == 0) {
					CHECK(gyre_sleep(stack, GYRE_SECONDS(100), place) == 0);
				}
				throw gyre::failure(-EIO);
			});

			CHECK(made.error() == 0 && false);
		} catch (const gyre::failure &failure) {
			caught += failure.error() == -EIO;
		}
	}
	CHECK(caught == 20);
	auto last = co_await gyre::sleep(stack, GYRE_MICROSECONDS(10)); /* alone: it ends at once */

	CHECK(last.error() == 0);
	co_return end(stack);
}

/* In a loop without end nothing may pile up, neither futures nor promises. */
gyre::task<> wait_often(gyre_stack *stack)
{
	const server_address server = open_server(stack);
	int value = 0;

	while (value < 10000) {
		auto next = co_await gyre::ask(stack, server, increment{ value });

		CHECK(next && next->value == value + 1);
		value = next->value;
	}
	co_return end(stack);
}

/* Nor in one that has an answer all the time, and waits for any of others. */
gyre::task<> wait_often_for_any(gyre_stack *stack)
{
	const server_address server = open_server(stack);
	auto held = co_await gyre::ask(stack, server, fetch{ 0 });
	auto slow = gyre::ask(stack, server, wait_for{ GYRE_SECONDS(1000) }, GYRE_FOREVER);
	int most = 0;

	for (int round = 0; round < 10000; round++) {
		auto next = gyre::ask(stack, server, fetch{ round });

		co_await gyre::any(slow, next);
		CHECK(next && next->goods != nullptr && !slow.is_done());
		CHECK(held && held->goods != nullptr);
		most = parcels > most ? parcels : most;
	}
	CHECK(most >= 2 && most <= 4);
	co_return end(stack);
}

/* A future is awaited by the handler that has made it, and by no other. */
gyre::future<> *lent;

gyre::task<> lend(gyre_stack *stack)
{
	auto mine = gyre::sleep(stack, GYRE_SECONDS(1000));

	lent = &mine;
	co_await mine;
	co_return 0;
}

gyre::task<> borrow(gyre_stack *stack)
{
	const variable here;

	const int how = gyre_message(stack, increment)->value;

	if (how == 0) {
		co_await *lent;
	} else {
		auto held = co_await gyre::sleep(stack, 0);

		if (how == 1) {
			co_await gyre::any(*lent);
		} else {
			(void)co_await gyre::quorum(1, *lent);
		}
	}
	CHECK(false);
	co_return 0;
}

constexpr gyre_class borrower_class = gyre::with_coroutines({
	.name = "borrower",
	.behaviour = { .notice = gyre::handler<lend>, .ask = gyre::handler<borrow> },
});

gyre::task<> await_another(gyre_stack *stack)
{
	gyre_address borrower;

	CHECK(gyre_spawn(stack, &borrower_class, GYRE_NO_ARGUMENT, nullptr, &borrower) == 0);
	CHECK(gyre::tell(stack, borrower, bell{}) == 0);
	while (lent == nullptr) {
		co_await gyre::sleep(stack, GYRE_MICROSECONDS(100));
	}
	for (int i = 0; i < 3; i++) {
		auto refused = co_await gyre::ask(stack, borrower, increment{ i });

		CHECK(refused.error() == -EINVAL && alive == 0);
	}
	co_return end(stack);
}

/* ---- tasks ---- */

gyre::task<std::string> name_of(gyre_stack *stack, int depth)
{
	const variable here;
	char room[64] = {};

	co_await gyre::sleep(stack, GYRE_MICROSECONDS(10));
	(void)std::snprintf(room, sizeof(room), "%d", depth);
	if (depth == 0) {
		co_return room;
	}
	std::string below = co_await name_of(stack, depth - 1);

	co_return below + room;
}

gyre::task<void> fail_below(gyre_stack *stack, int depth)
{
	const variable here;

	if (depth == 0) {
		co_await gyre::sleep(stack, GYRE_MICROSECONDS(10));
		throw gyre::failure(-EILSEQ);
	}
	co_await fail_below(stack, depth - 1);
	CHECK(false);
}

gyre::task<> await_tasks(gyre_stack *stack)
{
	const variable here;
	auto later = name_of(stack, 1); /* begins when it is awaited */

	CHECK(alive == 1);
	CHECK(co_await name_of(stack, 9) == "0123456789");
	CHECK(alive == 1);
	try {
		co_await fail_below(stack, 5);
		CHECK(false);
	} catch (const gyre::failure &failure) {
		CHECK(failure.error() == -EILSEQ);
	}
	CHECK(alive == 1);
	CHECK(co_await std::move(later) == "01");
	for (int i = 0; i < 2; i++) {
		try {
			(void)co_await std::move(later); /* again, where nothing is left */
			CHECK(false);
		} catch (const gyre::failure &failure) {
			CHECK(failure.error() == -EINVAL);
		}
	}
	auto never = name_of(stack, 3);

	co_return end(stack);
}

/* ---- exceptions ---- */

gyre::task<> see_failures(gyre_stack *stack)
{
	const server_address server = open_server(stack);
	const struct {
		int how;
		int error;
	} cases[] = {
		{ FAILURE, -ENOSPC },
		{ NO_MEMORY, -ENOMEM },
		{ SYSTEM_ERROR, -EDOM },
		{ OTHER, -ENOTRECOVERABLE },
		{ NO_EXCEPTION, -ENOTRECOVERABLE },
		{ RETURNED, -EXDEV },
		{ AFTER_WAIT, -ENOSPC },
		{ POSITIVE, -EINVAL },
		{ SUSPENDED, -EINVAL },
	};

	for (const auto &each : cases) {
		auto failed = co_await gyre::ask(stack, server, fail_as{ each.how });

		CHECK(!failed && failed.error() == each.error);
		CHECK(alive == 0);
	}
	/* A notice that fails is for the strategy of the class: it restarts. */
	CHECK(gyre::tell(stack, server, bell{}) == 0);
	while (restarts == 0) {
		co_await gyre::ask(stack, server, increment{ 1 });
	}
	co_return end(stack);
}

gyre::task<> fail_to_mount(gyre_stack *stack)
{
	const variable here;

	co_await gyre::sleep(stack, GYRE_MICROSECONDS(10));
	throw std::runtime_error("planted");
}

constexpr gyre_class failing_class = gyre::with_coroutines({
	.name = "failing",
	.mount = gyre::handler<fail_to_mount>,
});

gyre::task<> watch_mount_fail(gyre_stack *stack)
{
	gyre_address failing;

	CHECK(gyre_spawn(stack, &failing_class, GYRE_NO_ARGUMENT, nullptr, &failing) == 0);
	CHECK(gyre_watch(stack, failing) == 0);
	co_return gyre_return(stack);
}

int see_end(gyre_stack *stack)
{
	const gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	CHECK(terminated != nullptr && terminated->reason == -ENOTRECOVERABLE);
	return end(stack);
}

/* ---- being cut off ---- */

/* Waits without end with all that a coroutine may have. */
gyre::task<int> wait_inside(gyre_stack *stack, int depth)
{
	const variable here;
	char large[2048];

	std::memset(large, depth, sizeof(large));
	if (depth > 0) {
		co_return co_await wait_inside(stack, depth - 1) + large[0];
	}
	auto asleep = gyre::sleep(stack, GYRE_SECONDS(1000));
	auto other = gyre::sleep(stack, GYRE_SECONDS(2000));

	co_await gyre::all(asleep, other);
	co_return 0;
}

gyre::task<> on_hold(gyre_stack *stack)
{
	const variable here;
	const gyre::mail unsent(stack, gyre_new(stack, parcel, pack()));
	gyre::mail to_keep(stack, gyre_new(stack, parcel, pack()));
	const gyre::kept_mail kept = to_keep.keep();
	const gyre::buffer unwritten(gyre_buffer_create(stack));
	auto answered = co_await gyre::ask(
		stack, gyre_message(stack, number)->value == 0 ? GYRE_NOBODY : gyre_self(stack),
		increment{ 1 });

	CHECK(unsent.as<parcel>() != nullptr && kept != nullptr);
	co_return co_await wait_inside(stack, 3);
}

gyre::task<> hold_increment(gyre_stack *stack)
{
	co_return gyre_reply_to(stack, increment, 1);
}

int cleaned;

void clean(void *)
{
	CHECK(alive == 0);
	cleaned++;
}

int fail_event(gyre_stack *stack)
{
	return gyre_throw(stack, -EBADF);
}

constexpr gyre_class holder_class = gyre::with_coroutines({
	.name = "holder",
	.behaviour = { .notice = gyre::handler<on_hold>,
		       .ask = gyre::handler<hold_increment>,
		       .event = fail_event },
	.clean = clean,
	.restart = count_restart,
});

gyre_address hold(gyre_stack *stack)
{
	gyre_address holder;

	CHECK(gyre_spawn(stack, &holder_class, GYRE_NO_ARGUMENT, nullptr, &holder) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(gyre::tell(stack, holder, number{ i % 2 }) == 0);
	}
	return holder;
}

/* Three handlers wait, each with four tasks, and have 15 variables between them. */
enum { HELD = 15 };

gyre::task<> stop_holder(gyre_stack *stack)
{
	const gyre_address holder = hold(stack);

	while (alive < HELD) {
		co_await gyre::sleep(stack, GYRE_MICROSECONDS(100));
	}
	CHECK(parcels == 6);
	CHECK(gyre_stop(stack, holder) == 0);
	while (cleaned == 0) {
		co_await gyre::sleep(stack, GYRE_MICROSECONDS(100));
	}
	CHECK(alive == 0 && parcels == 0);
	co_return end(stack);
}

/* The system ends while they wait, and the one that ends it waits too. */
gyre::task<> stop_system(gyre_stack *stack)
{
	const variable here;

	(void)hold(stack);
	while (alive < HELD + 1) {
		co_await gyre::sleep(stack, GYRE_MICROSECONDS(100));
	}
	gyre_system_stop(gyre_system_of(stack));
	co_await gyre::sleep(stack, GYRE_SECONDS(1000));
	CHECK(false);
	co_return 0;
}

struct fail_now {
	int value;
};
GYRE_MESSAGE(fail_now, 0x207);

gyre::task<> keep_or_fail(gyre_stack *stack)
{
	const variable here;

	if (gyre_message(stack, fail_now) != nullptr) {
		throw gyre::failure(-EBADF);
	}
	co_await gyre::sleep(stack, GYRE_MILLISECONDS(5));
	CHECK(restarts > 0); /* it has gone on after the restart */
	cleaned++;
	co_return 0;
}

constexpr gyre_class restarting_class = gyre::with_coroutines({
	.name = "restarting",
	.behaviour = { .notice = gyre::handler<keep_or_fail> },
	.restart = count_restart,
});

/* A restart leaves handlers that wait where they are. */
gyre::task<> restart_holder(gyre_stack *stack)
{
	gyre_address restarting;

	CHECK(gyre_spawn(stack, &restarting_class, GYRE_NO_ARGUMENT, nullptr, &restarting) == 0);
	CHECK(gyre::tell(stack, restarting, number{ 1 }) == 0);
	CHECK(gyre::tell(stack, restarting, number{ 2 }) == 0);
	CHECK(gyre::tell(stack, restarting, fail_now{ 1 }) == 0);
	while (cleaned < 2) {
		co_await gyre::sleep(stack, GYRE_MICROSECONDS(100));
	}
	CHECK(restarts == 1 && alive == 0);
	co_return end(stack);
}

/* A class that was made by hand has no room for a coroutine, which fails before it begins. */
gyre::task<> have_no_room(gyre_stack *stack)
{
	const variable here;

	CHECK(false);
	co_return end(stack);
}

constexpr gyre_class roomless_class = {
	.name = "roomless",
	.state_bytes = 8,
	.frame_bytes = 64,
	.behaviour = { .ask = gyre::handler<have_no_room> },
};

gyre::task<> ask_who_has_no_room(gyre_stack *stack)
{
	gyre_address roomless;

	CHECK(gyre_spawn(stack, &roomless_class, GYRE_NO_ARGUMENT, nullptr, &roomless) == 0);
	const auto answer = co_await gyre::ask(stack, roomless, increment{ 1 }, GYRE_FOREVER);

	CHECK(answer.error() == -EINVAL);
	co_return end(stack);
}

/* ---- owners ---- */

int fail_to_make(gyre_mail **)
{
	return -EIO;
}

gyre::task<> own(gyre_stack *stack)
{
	gyre::bytes block(gyre_bytes_create("abc", 3));
	gyre::bytes same = block;
	gyre::bytes moved = std::move(same);
	gyre::mail first(stack, gyre_new(stack, parcel, pack()));
	gyre::mail second(stack, gyre_new(stack, parcel, pack()));

	CHECK(block.get() == moved.get() && !same && gyre_bytes_count(moved.get()) == 3);
	block.reset();
	same = moved;
	CHECK(same.get() == moved.get());
	first = std::move(second);
	CHECK(first && first.as<number>() == nullptr && first.as<parcel>() != nullptr);
	gyre::kept_mail kept = first.keep();

	CHECK(kept != nullptr && parcels == 2);
	CHECK(fail_to_make(gyre::out(kept)) == -EIO && kept == nullptr && parcels == 1);
	co_return end(stack);
}

/* ---- the parts ---- */

template <auto Script>
constexpr gyre_class script_class = gyre::with_coroutines({
	.name = "script",
	.behaviour = { .notice = end, .event = see_end },
	.mount = gyre::handler<Script>,
});

template <auto Script> void play(const char *name, uint32_t loops = 1)
{
	const gyre_system_options options = { .loops = loops, .log_level = GYRE_LOG_ERROR };
	gyre::system system;
	gyre::snapshot snapshot;
	gyre_address script;
	const int before = failures;

	CHECK(gyre_system_create(&options, gyre::out(system)) == 0);
	CHECK(gyre_system_spawn(system.get(), &script_class<Script>, GYRE_NO_ARGUMENT, nullptr,
				&script) == 0);
	CHECK(gyre_system_run(system.get()) == 0);
	CHECK(gyre_system_inspect(system.get(), gyre::out(snapshot)) == 0);
	CHECK(snapshot != nullptr && snapshot->loops_count == loops);
	system.reset();
	CHECK(alive == 0);
	CHECK(parcels == 0);
	if (failures > before) {
		(void)std::fprintf(stderr, "coroutines: in %s\n", name);
	}
	cleaned = 0;
	restarts = 0;
}

/* An answer outside of any actor has an owner too. */
void ask_from_outside()
{
	const gyre_system_options options = { .loops = 1 };
	gyre::system system;
	gyre::kept_mail answer;
	server_address server;

	CHECK(gyre_system_create(&options, gyre::out(system)) == 0);
	CHECK(gyre_system_spawn(system.get(), &server_class, GYRE_NO_ARGUMENT, nullptr,
				&server.address) == 0);
	CHECK(gyre_system_start(system.get()) == 0);
	CHECK(gyre_system_ask_of(system.get(), server, 0, gyre::out(answer), increment, 4) == 0);
	CHECK(gyre_mail_answer_to(answer.get(), increment)->value == 5);
	gyre_system_stop(system.get());
	CHECK(gyre_system_wait(system.get()) == 0);
}

} /* namespace */

int main()
{
	play<ask_one_and_many>("ask_one_and_many");
	play<await_quorums>("await_quorums");
	play<wait_too_briefly>("wait_too_briefly");
	play<have_too_many>("have_too_many");
	play<throw_in_start>("throw_in_start");
	play<wait_often>("wait_often");
	play<wait_often_for_any>("wait_often_for_any");
	play<await_another>("await_another");
	play<await_tasks>("await_tasks");
	play<see_failures>("see_failures");
	play<watch_mount_fail>("watch_mount_fail");
	play<stop_holder>("stop_holder");
	play<stop_system>("stop_system");
	play<restart_holder>("restart_holder");
	play<ask_who_has_no_room>("ask_who_has_no_room");
	play<own>("own");
	ask_from_outside();
	return failures == 0 ? 0 : 1;
}
