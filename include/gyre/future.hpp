/*
 * Futures in C++20: asks and other promises of a handler that is a coroutine. See gyre.hpp.
 *
 *	auto tea = gyre::ask(stack, shop, price_of{ .item = 1 });
 *	auto milk = gyre::ask(stack, shop, price_of{ .item = 2 });
 *
 *	co_await gyre::all(tea, milk);
 */
#ifndef GYRE_FUTURE_HPP
#define GYRE_FUTURE_HPP

#include <coroutine>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <gyre/frame.hpp>
#include <gyre/owner.hpp>

/* What differs without exceptions has names of its own: a program may have files of both kinds. */
#if defined(__cpp_exceptions)
#define GYRE_EXCEPTIONS_ 1
#define GYRE_VARIANT_	 with_exceptions
#else
#define GYRE_EXCEPTIONS_ 0
#define GYRE_VARIANT_	 without_exceptions
#endif

namespace gyre
{

/** failure - an exception that stands for a negative errno: throw gyre::failure(-ENOSPC) */
class failure : public std::exception
{
      public:
	explicit failure(int error) noexcept : error_(error < 0 ? error : -EINVAL)
	{
	}
	int error() const noexcept
	{
		return error_;
	}
	const char *what() const noexcept override
	{
		return "gyre::failure";
	}

      private:
	int error_;
};

namespace detail
{

/* ---- types ---- */

template <class Message>
concept message = requires(const Message *const *m)
{
	gyre_type_for(m);
};
template <class Message>
concept request = requires(const Message *const *m)
{
	gyre_answer_for(m);
};
template <class Message>
concept with_tail = requires(const Message *const *m)
{
	gyre_has_tail(m);
};
template <class To, class Message>
concept takes = requires(const To &to, const Message *const *m)
{
	gyre_takes(to, m);
};

template <class To> gyre_address address_of(const To &to) noexcept
{
	if constexpr (std::is_same_v<To, gyre_address>) {
		return to;
	} else {
		return to.address;
	}
}
template <class To, class Message> constexpr void check_receiver() noexcept
{
	static_assert(message<Message>, "this struct was not declared as a message");
	static_assert(std::is_same_v<To, gyre_address> || takes<To, Message>,
		      "the protocol of this address does not have this message");
}

template <class Message> gyre_mail *make_mail(gyre_stack *stack, Message &value) noexcept
{
	static_assert(!with_tail<Message>, "a message with a tail is made by gyre_new_tail()");
	const gyre_type *type = gyre_type_for(static_cast<const Message *const *>(nullptr));
	gyre_mail *made = gyre_mail_make(stack, type);

	if (made == nullptr) {
		if (type->destroy != nullptr) {
			type->destroy(&value);
		}
	} else if constexpr (!std::is_empty_v<Message>) {
		*static_cast<Message *>(gyre_payload(made)) = value;
	}
	return made;
}

} /* namespace detail */

/** answer_of - the type of the answer to a request */
template <detail::request Request>
using answer_of = std::remove_pointer_t<decltype(gyre_answer_for(
	static_cast<const Request *const *>(nullptr)))>;

/* ---- futures ---- */

inline namespace GYRE_VARIANT_
{

template <class... Futures> class some;
template <class... Futures> class enough;

/**
 * future - an ask, a sleep or another promise of the running stack, which co_await waits for
 *
 * It belongs to the coroutine that has made it. `co_await future` goes on when it has completed,
 * and so does a `co_await` of the call that makes it, whose value is the future: an answer is read
 * from there, for as long as it lives. A future that ends before its promise does gives that up, as
 * by gyre_cancel(). A stack has up to 16 at a time; one more fails with -ENOBUFS.
 */
template <class Answer = void> class future
{
      public:
	explicit future(int error) noexcept : error_(error)
	{
	}
	future(detail::frame *owner, gyre_future *place) noexcept : owner_(owner), place_(place)
	{
	}
	future(future &&other) noexcept
	    : owner_(other.owner_), place_(std::exchange(other.place_, nullptr)),
	      error_(std::exchange(other.error_, -ESTALE))
	{
	}
	future &operator=(future &&other) noexcept
	{
		std::swap(owner_, other.owner_);
		std::swap(place_, other.place_);
		std::swap(error_, other.error_);
		return *this;
	}
	~future()
	{
		if (place_ != nullptr) {
			if (!owner_->is_cut()) {
				(void)cancel();
			}
			owner_->put_future(place_);
		}
	}

	/* 0, -EINPROGRESS, or the errno that it has failed with, as by gyre_future_error(). */
	int error() const noexcept
	{
		return place_ != nullptr ? gyre_future_error(place_) : error_;
	}
	bool is_done() const noexcept
	{
		return error() != -EINPROGRESS;
	}
	/* Whether it has completed without an error, and with an answer if there is to be one. */
	explicit operator bool() const noexcept
	{
		if constexpr (std::is_void_v<Answer>) {
			return error() == 0;
		} else {
			return get() != nullptr;
		}
	}
	/* The answer if it is of type T, or NULL. */
	template <class T> const T *as() const noexcept
	{
		const gyre_type *type = gyre_type_for(static_cast<const T *const *>(nullptr));

		return place_ == nullptr ? nullptr
					 : static_cast<const T *>(gyre_future_answer(place_, type));
	}
	/* The message that it has failed with, by gyre_throw_with(), or NULL. */
	template <class T> const T *cause() const noexcept
	{
		const gyre_type *type = gyre_type_for(static_cast<const T *const *>(nullptr));

		return place_ == nullptr
			       ? nullptr
			       : static_cast<const T *>(gyre_future_cause_as(place_, type));
	}
	/* The answer, or NULL. */
	const Answer *get() const noexcept requires(!std::is_void_v<Answer>)
	{
		return as<Answer>();
	}
	const Answer *operator->() const noexcept requires(!std::is_void_v<Answer>)
	{
		return get();
	}
	/* Moves the answer out of its mail, as gyre_future_move(). */
	template <class T> int move_to(T &to) noexcept requires(std::is_same_v<T, Answer>)
	{
		return place_ == nullptr
			       ? -ENOENT
			       : gyre_future_move_payload(
					 place_,
					 gyre_type_for(static_cast<const T *const *>(nullptr)),
					 &to);
	}
	/* The mail of the answer, as gyre_future_take(). */
	mail take() noexcept
	{
		return place_ == nullptr ? mail() : mail(owner_->stack(), gyre_future_take(place_));
	}
	/* Gives it up, as gyre_cancel(). */
	int cancel() noexcept
	{
		int r = place_ == nullptr ? -EALREADY : gyre_cancel(owner_->stack(), place_);

		if (r == 0) {
			place_->promise = nullptr;
			place_->error = -ECANCELED;
		}
		return r;
	}
#if GYRE_EXCEPTIONS_
	/* The answer, or an exception if there is none. */
	decltype(auto) value() const
	{
		if (!*this) {
			throw failure(error() < 0 ? error() : -EPROTO);
		}
		if constexpr (!std::is_void_v<Answer>) {
			return *get();
		}
	}
#endif

	auto operator co_await() &noexcept
	{
		return awaiter<future &>{ *this };
	}
	auto operator co_await() &&noexcept
	{
		return awaiter<future>{ std::move(*this) };
	}

      private:
	template <class... Futures> friend class some;
	template <class... Futures> friend class enough;

	template <class Held> struct awaiter {
		Held held;

		bool await_ready() const noexcept
		{
			return held.is_done();
		}
		void await_suspend(std::coroutine_handle<> who) noexcept
		{
			detail::frame::wait(who, &held.place_, 1, false);
		}
		Held await_resume() noexcept
		{
			return static_cast<Held &&>(held);
		}
	};

	detail::frame *owner_ = nullptr;
	gyre_future *place_ = nullptr;
	int error_ = 0;
};

/** some - what all() and any() give to co_await */
template <class... Futures> class [[nodiscard]] some
{
	static_assert(sizeof...(Futures) > 0 && sizeof...(Futures) <= detail::frame::futures_max);

      public:
	some(bool any, Futures &...futures) noexcept : any_(any)
	{
		(add(futures), ...);
	}
	bool await_ready() const noexcept
	{
		return count_ == 0 || (any_ && count_ < sizeof...(Futures));
	}
	void await_suspend(std::coroutine_handle<> who) noexcept
	{
		detail::frame::wait(who, outstanding_, count_, any_);
	}
	void await_resume() const noexcept
	{
	}

      private:
	template <class Future> void add(Future &future) noexcept
	{
		if (!future.is_done()) {
			outstanding_[count_++] = future.place_;
		}
	}

	bool any_;
	unsigned count_ = 0;
	gyre_future *outstanding_[sizeof...(Futures)] = {};
};

/** enough - what quorum() gives to co_await */
template <class... Futures> class [[nodiscard]] enough
{
	static_assert(sizeof...(Futures) > 0 && sizeof...(Futures) <= detail::frame::futures_max);

      public:
	enough(unsigned wanted, Futures &...futures) noexcept : wanted_(wanted)
	{
		(add(futures), ...);
	}
	bool await_ready() const noexcept
	{
		return answered_ >= wanted_ || wanted_ - answered_ > count_;
	}
	void await_suspend(std::coroutine_handle<> who) noexcept
	{
		detail::frame::wait(who, outstanding_, count_, false, wanted_ - answered_);
	}
	bool await_resume() const noexcept
	{
		unsigned answered = answered_;

		for (unsigned i = 0; i < count_; i++) {
			answered += gyre_future_error(outstanding_[i]) == 0;
		}
		return answered >= wanted_;
	}

      private:
	template <class Future> void add(Future &future) noexcept
	{
		if (future.is_done()) {
			answered_ += future.error() == 0;
		} else {
			outstanding_[count_++] = future.place_;
		}
	}

	unsigned wanted_;
	unsigned answered_ = 0;
	unsigned count_ = 0;
	gyre_future *outstanding_[sizeof...(Futures)] = {};
};

/** all() - waits for all of some futures: co_await gyre::all(a, b) */
template <class... Answers> some<future<Answers>...> all(future<Answers> &...futures) noexcept
{
	return { false, futures... };
}
/** any() - waits for one of some futures, which is_done() tells: co_await gyre::any(a, b) */
template <class... Answers> some<future<Answers>...> any(future<Answers> &...futures) noexcept
{
	return { true, futures... };
}
/**
 * quorum() - waits until so many of some futures have completed without an error, or so many have
 * failed that the others are too few: bool enough = co_await gyre::quorum(2, a, b, c)
 *
 * Its value is whether so many have. The others stay outstanding until their futures end.
 */
template <class... Answers>
enough<future<Answers>...> quorum(unsigned wanted, future<Answers> &...futures) noexcept
{
	return { wanted, futures... };
}

/**
 * start() - the future of any call of gyre that has one for its last argument
 *
 *	auto size = co_await gyre::start<gyre_file_size>(stack, [&](gyre_future *future) {
 *		return gyre_file_...(stack, file, 0, future);
 *	});
 *
 * An exception that leaves the call goes on from here, and there is no future then.
 */
template <class Answer = void, class Call>
[[nodiscard]] future<Answer> start(gyre_stack *stack, Call &&call)
{
	detail::frame *owner = detail::frame::of(stack);
	gyre_future *place = owner == nullptr ? nullptr : owner->take_future();

	if (place == nullptr) {
		return future<Answer>(owner == nullptr ? -EINVAL : -ENOBUFS);
	}
	future<Answer> made(owner, place);
	const int r = call(place);

	if (r < 0 && place->promise == nullptr && place->error == 0) {
		place->error = r;
	}
	return made;
}

/** sleep() - a future that completes after a time, as by gyre_sleep() */
[[nodiscard]] inline future<> sleep(gyre_stack *stack, std::uint64_t delay_ns) noexcept
{
	return start(stack, [&](gyre_future *place) { return gyre_sleep(stack, delay_ns, place); });
}

/**
 * ask() - asks an actor, by its address or a typed one, as by gyre_ask()
 *
 * Does not compile if the protocol of a typed address does not have the request, or if what is
 * asked has no answer.
 */
template <class Request, class To>
[[nodiscard]] auto ask(gyre_stack *stack, const To &to, Request request,
		       std::uint64_t timeout_ns = 0) noexcept
{
	static_assert(detail::request<Request>, "this message has no answer: tell it");
	detail::check_receiver<To, Request>();
	mail asked(stack,
		   detail::make_mail(stack, request)); /* where there is no future, it goes */

	return start<answer_of<Request>>(stack, [&](gyre_future *place) {
		return gyre_ask(stack, detail::address_of(to), asked.release(), timeout_ns, place);
	});
}

/** tell() - sends a notice to an actor, by its address or a typed one, as by gyre_notify() */
template <class Message, class To>
int tell(gyre_stack *stack, const To &to, Message message) noexcept
{
	static_assert(!detail::request<Message>, "this message is a request: ask it");
	detail::check_receiver<To, Message>();
	return gyre_notify(stack, detail::address_of(to), detail::make_mail(stack, message));
}

/** state() - the state of the running actor, whose class has state_bytes = sizeof(State) */
template <class State> State &state(const gyre_stack *stack) noexcept
{
	return *static_cast<State *>(gyre_state(stack));
}

} // namespace GYRE_VARIANT_

} /* namespace gyre */

#endif
