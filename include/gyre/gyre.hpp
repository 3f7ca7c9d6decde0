/*
 * gyre in C++20: handlers that are coroutines, and owners for what has a lifetime. It adds nothing
 * to gyre.h but these; all of that is used as it is. There is nothing to link besides libgyre.
 *
 *	static gyre::task<> buy(gyre_stack *stack)
 *	{
 *		auto price = co_await gyre::ask(stack, shop, price_of{ .item = 7 });
 *
 *		if (!price) {
 *			co_return price.error();
 *		}
 *		co_return gyre_reply_to(stack, order, .cents = 2 * price->cents);
 *	}
 *
 *	constexpr gyre_class buyer_class = gyre::with_coroutines({
 *		.name = "buyer",
 *		.behaviour = { .ask = gyre::handler<buy> },
 *	});
 *
 * The frame of a coroutine lies in the frame of its stack, or, where that is too small for it or
 * for the tasks that it awaits, in memory of a pool of the thread: in the steady state nothing is
 * allocated. When the actor stops while the coroutine waits, the coroutine is destroyed there: its
 * variables are, as at the end of a scope.
 *
 * No exception crosses into C. One that leaves a handler becomes the failure of its message, with
 * the errno that it stands for: that of gyre::failure or of std::system_error, -ENOMEM for
 * std::bad_alloc, and -ENOTRECOVERABLE for any other; its text goes to the log. One that leaves a
 * destructor while a stopped actor is cleaned ends the program, as destructors do. It compiles with
 * -fno-exceptions too.
 */
#ifndef GYRE_GYRE_HPP
#define GYRE_GYRE_HPP

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "gyre/gyre.hpp needs C++20; gyre/gyre.h does with C++17 and C11"
#endif

#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <gyre/future.hpp>
#include <gyre/gyre.h>
#include <gyre/owner.hpp>

namespace gyre
{
inline namespace GYRE_VARIANT_
{
template <class T> class task;
}
} /* namespace gyre */

namespace gyre::detail
{

inline namespace GYRE_VARIANT_
{

/* ---- errors ---- */

#if GYRE_EXCEPTIONS_
inline constexpr int errno_max = 4095;

inline int error_of(const std::system_error &error) noexcept
{
	const std::error_code &code = error.code();
	const bool is_errno = code.category() == std::generic_category() ||
			      code.category() == std::system_category();

	return is_errno && code.value() > 0 && code.value() <= errno_max ? -code.value()
									 : -ENOTRECOVERABLE;
}

/* The errno of the exception that is being handled, which is logged. */
inline int error_of_current(gyre_stack *stack) noexcept
{
	try {
		throw;
	} catch (const failure &thrown) {
		return thrown.error();
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (const std::system_error &thrown) {
		gyre_log(stack, GYRE_LOG_WARNING, "an exception left a handler: %s", thrown.what());
		return error_of(thrown);
	} catch (const std::exception &thrown) {
		gyre_log(stack, GYRE_LOG_WARNING, "an exception left a handler: %s", thrown.what());
		return -ENOTRECOVERABLE;
	} catch (...) {
		gyre_log(stack, GYRE_LOG_WARNING, "an exception left a handler");
		return -ENOTRECOVERABLE;
	}
}
#endif

/* ---- coroutines ---- */

class promise_base
{
      public:
	/* Neither is inlined into a coroutine: one that has moved to another thread must not use
	 * what a compiler has kept of the first. */
	[[gnu::noinline]] static void *operator new(std::size_t size) noexcept
	{
		return frame::current() == nullptr ? nullptr : frame::current()->get(size);
	}
	[[gnu::noinline]] static void operator delete(void *what, std::size_t) noexcept
	{
		frame::put(what);
	}
	std::suspend_always initial_suspend() const noexcept
	{
		return {};
	}
	auto final_suspend() const noexcept
	{
		return final_awaiter{ parent_ };
	}
	void unhandled_exception() noexcept
	{
#if GYRE_EXCEPTIONS_
		exception_ = std::current_exception();
#else
		std::terminate();
#endif
	}
	void set_parent(std::coroutine_handle<> parent) noexcept
	{
		parent_ = parent;
	}
	void rethrow() const
	{
#if GYRE_EXCEPTIONS_
		if (exception_) {
			std::rethrow_exception(exception_);
		}
#endif
	}

      private:
	struct final_awaiter {
		std::coroutine_handle<> parent;

		bool await_ready() const noexcept
		{
			return false;
		}
		std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept
		{
			return parent ? parent : std::noop_coroutine();
		}
		void await_resume() const noexcept
		{
		}
	};

	std::coroutine_handle<> parent_;
#if GYRE_EXCEPTIONS_
	std::exception_ptr exception_;
#endif
};

template <class T> class promise : public promise_base
{
      public:
	task<T> get_return_object() noexcept;
	static task<T> get_return_object_on_allocation_failure() noexcept;
	template <class Value> void return_value(Value &&value)
	{
		value_.emplace(std::forward<Value>(value));
	}
	T result()
	{
		rethrow();
		return std::move(*value_);
	}

      private:
	std::optional<T> value_;
};

template <> class promise<void> : public promise_base
{
      public:
	task<void> get_return_object() noexcept;
	static task<void> get_return_object_on_allocation_failure() noexcept;
	void return_void() const noexcept
	{
	}
	void result() const
	{
		rethrow();
	}
};

} // namespace GYRE_VARIANT_

} /* namespace gyre::detail */

namespace gyre
{

inline namespace GYRE_VARIANT_
{

/**
 * task - a coroutine that is a handler, as task<>, or is awaited by one: co_await part(stack)
 *
 * A handler returns what any handler does. A task begins when it is awaited, in the coroutine of a
 * handler, by which its exceptions go on. It is awaited once, where it is made or by
 * co_await std::move(task); another time throws gyre::failure(-EINVAL). Where there is no memory
 * for a task, co_await throws std::bad_alloc. Without exceptions both end the program.
 */
template <class T = int> class [[nodiscard]] task
{
      public:
	using promise_type = detail::promise<T>;
	using handle = std::coroutine_handle<promise_type>;

	task() noexcept = default;
	explicit task(handle made) noexcept : handle_(made)
	{
	}
	/* One that there is no coroutine for. */
	explicit task(int error) noexcept : error_(error)
	{
	}
	task(task &&other) noexcept : error_(other.error_), handle_(other.release())
	{
	}
	task &operator=(task &&other) noexcept
	{
		std::swap(error_, other.error_);
		std::swap(handle_, other.handle_);
		return *this;
	}
	~task()
	{
		if (handle_) {
			handle_.destroy();
		}
	}
	handle release() noexcept
	{
		error_ = -EINVAL;
		return std::exchange(handle_, {});
	}
	/* 0, or why there is nothing to await. */
	int error() const noexcept
	{
		return handle_ ? 0 : error_;
	}
	auto operator co_await() &&noexcept
	{
		return awaiter(std::move(*this));
	}

      private:
	class awaiter
	{
	      public:
		explicit awaiter(task &&held) noexcept : held_(std::move(held))
		{
		}
		bool await_ready() const noexcept
		{
			return !held_.handle_;
		}
		std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept
		{
			held_.handle_.promise().set_parent(parent);
			return held_.handle_;
		}
		T await_resume()
		{
			if (!held_.handle_) {
				held_.fail();
			}
			return held_.handle_.promise().result();
		}

	      private:
		task held_;
	};

	[[noreturn]] void fail() const
	{
#if GYRE_EXCEPTIONS_
		if (error_ != -ENOMEM) {
			throw failure(error_);
		}
		throw std::bad_alloc();
#else
		std::terminate();
#endif
	}

	int error_ = -EINVAL;
	handle handle_;
};

} // namespace GYRE_VARIANT_

} /* namespace gyre */

namespace gyre::detail
{

inline namespace GYRE_VARIANT_
{

template <class T> task<T> promise<T>::get_return_object() noexcept
{
	return task<T>(std::coroutine_handle<promise>::from_promise(*this));
}
template <class T> task<T> promise<T>::get_return_object_on_allocation_failure() noexcept
{
	return task<T>(-ENOMEM);
}
inline task<void> promise<void>::get_return_object() noexcept
{
	return task<void>(std::coroutine_handle<promise>::from_promise(*this));
}
inline task<void> promise<void>::get_return_object_on_allocation_failure() noexcept
{
	return task<void>(-ENOMEM);
}

/* Calls what may throw, and has the errno in place of an exception. */
template <class Call> int guarded(gyre_stack *stack, Call &&call) noexcept
{
#if GYRE_EXCEPTIONS_
	try {
		return call();
	} catch (...) {
		return error_of_current(stack);
	}
#else
	(void)stack;
	return call();
#endif
}

/* Runs a coroutine whose frame is there, and ends it when it has ended. */
inline int run(frame *owner, gyre_stack *stack, task<int>::handle root) noexcept
{
	int r = owner->run();

	if (r > 0) {
		return r; /* it waits */
	}
	if (r == 0) {
		r = guarded(stack, [&] { return root.promise().result(); });
	}
	owner->end();
	if (r > 0) { /* nobody may take that for a wait */
		gyre_log(stack, GYRE_LOG_WARNING, "a coroutine has returned %d, which is no errno",
			 r);
		return -EINVAL;
	}
	return r;
}

template <auto Coroutine> int run_coroutine(gyre_stack *stack) noexcept
{
	frame *owner = static_cast<frame *>(gyre_frame(stack));
	task<int>::handle root;

	if (gyre_stack_state(stack) != 0) {
		owner->resumed(stack);
		return run(owner, stack, task<int>::handle::from_address(owner->root_address()));
	}
	if (gyre_frame_bytes(stack) != frame::frame_bytes) {
		gyre_log(stack, GYRE_LOG_ERROR,
			 "a handler is a coroutine, and its class has no room for one: make the "
			 "class with gyre::with_coroutines()");
		return -EINVAL;
	}
	owner = new (gyre_frame(stack)) frame(stack);
	frame *before = std::exchange(frame::current(), owner);
	const int r = guarded(stack, [&] {
		task<int> made = Coroutine(stack);
		const int error = made.error();

		root = made.release();
		return error;
	});

	frame::current() = before;
	if (r < 0) {
		owner->end();
		return r;
	}
	owner->begin(root);
	return run(owner, stack, root);
}

} // namespace GYRE_VARIANT_

/* Not constexpr, so that a class that is does not compile. */
[[noreturn]] inline void class_has_a_frame_of_its_own() noexcept
{
	std::terminate();
}

} /* namespace gyre::detail */

namespace gyre
{

inline namespace GYRE_VARIANT_
{

/**
 * handler - a handler for classes and routes: of a coroutine, task<> (gyre_stack *), or of a
 * function int (gyre_stack *) that may throw
 *
 * The class of a handler that is a coroutine is made by with_coroutines(); in another the handler
 * fails with -EINVAL, and says so in the log. Such handlers may stand beside others, which then
 * have no frame of their own.
 */
template <auto Handler> int handler(gyre_stack *stack) noexcept
{
	using result = decltype(Handler(stack));

	if constexpr (std::is_same_v<result, int>) {
		return detail::guarded(stack, [&] { return Handler(stack); });
	} else {
		static_assert(std::is_same_v<result, task<int>>,
			      "a handler is int or gyre::task<>");
		return detail::run_coroutine<Handler>(stack);
	}
}

} // namespace GYRE_VARIANT_

/** frame_bytes - for @frame_bytes of a class with coroutines */
inline constexpr std::size_t frame_bytes = detail::frame::frame_bytes;

/** frame_clean() - for @frame_clean of a class with coroutines: destroys what still waits */
inline void frame_clean(void *frame, void *) noexcept
{
	detail::frame *owner = static_cast<detail::frame *>(frame);

	if (owner->is_live()) {
		owner->cut();
	}
}

/**
 * with_coroutines() - a class some of whose handlers are coroutines
 *
 * The frame is for those alone: a class that has @frame_bytes or @frame_clean of its own does not
 * compile if it is constexpr, and else ends the program.
 */
constexpr gyre_class with_coroutines(gyre_class made) noexcept
{
	if (made.frame_bytes != 0 || made.frame_clean != nullptr) {
		detail::class_has_a_frame_of_its_own();
	}
	made.frame_bytes = frame_bytes;
	made.frame_clean = frame_clean;
	return made;
}

} /* namespace gyre */

#endif
