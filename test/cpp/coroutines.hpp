/*
 * What the programs of coroutines share: checks that are counted, variables whose lives are, and a
 * question.
 */
#ifndef TEST_CPP_COROUTINES_HPP
#define TEST_CPP_COROUTINES_HPP

#include <atomic>
#include <cstdio>

#include <gyre/gyre.hpp>

inline std::atomic<int> failures;

inline void check(bool holds, const char *what)
{
	if (!holds) {
		(void)std::fprintf(stderr, "not so: %s\n", what);
		failures++;
	}
}

#define CHECK(condition) check((condition), #condition)

/* Variables of coroutines that live. */
inline std::atomic<int> alive;

struct variable {
	variable() noexcept
	{
		alive++;
	}
	variable(const variable &) = delete;
	variable &operator=(const variable &) = delete;
	~variable()
	{
		alive--;
	}
};

struct number {
	int value;
};
GYRE_MESSAGE(number, 0x201);

struct increment {
	int value;
};
GYRE_REQUEST(increment, 0x202, number);

#endif
