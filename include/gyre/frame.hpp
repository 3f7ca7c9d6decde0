/*
 * The frame of a stack whose handler is a coroutine of C++20, and the pool of what does not fit
 * into it: nothing here is for direct use. See gyre.hpp.
 */
#ifndef GYRE_FRAME_HPP
#define GYRE_FRAME_HPP

#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <gyre/gyre.h>

namespace gyre::detail
{

/* Blocks for coroutines that find no room in the frame of their stack, a list for each size. */
class pool
{
      public:
	pool() noexcept = default;
	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;
	~pool()
	{
		for (block *&list : lists_) {
			while (list != nullptr) {
				::operator delete(std::exchange(list, list->next));
			}
		}
	}
	void *get(std::size_t size) noexcept
	{
		const unsigned at = class_of(size);

		if (at == classes) {
			return ::operator new(size, std::nothrow);
		}
		if (lists_[at] == nullptr) {
			return ::operator new(least << at, std::nothrow);
		}
		counts_[at]--;
		return std::exchange(lists_[at], lists_[at]->next);
	}
	void put(void *what, std::size_t size) noexcept
	{
		const unsigned at = class_of(size);

		if (at == classes || counts_[at] == kept_max) {
			::operator delete(what);
			return;
		}
		counts_[at]++;
		lists_[at] = new (what) block{ lists_[at] };
	}

      private:
	struct block {
		block *next;
	};
	static constexpr std::size_t least = 128;
	static constexpr unsigned classes = 8;
	static constexpr unsigned kept_max = 256;

	static unsigned class_of(std::size_t size) noexcept
	{
		unsigned at = 0;

		while (at < classes && least << at < size) {
			at++;
		}
		return at;
	}

	block *lists_[classes] = {};
	unsigned counts_[classes] = {};
};

inline pool &thread_pool() noexcept
{
	static thread_local pool blocks;

	return blocks;
}

/*
 * What stands in the frame of a stack whose handler is a coroutine. Futures must stand there, so
 * gyre::future has but a place of one. Coroutines take their memory from the rest, one behind the
 * other; those that wait end in the reverse order, mostly.
 */
class frame
{
      public:
	static constexpr std::size_t frame_bytes = 1536;
	static constexpr unsigned futures_max = 16;

	explicit frame(gyre_stack *stack) noexcept : self_(this), stack_(stack)
	{
	}
	frame(const frame &) = delete;
	frame &operator=(const frame &) = delete;

	static frame *of(const gyre_stack *stack) noexcept
	{
		frame *found = static_cast<frame *>(gyre_frame(stack));

		return found->self_ == found ? found : nullptr;
	}
	gyre_stack *stack() const noexcept
	{
		return stack_;
	}
	bool is_cut() const noexcept
	{
		return cut_;
	}

	/* ---- futures ---- */

	gyre_future *take_future() noexcept
	{
		for (unsigned at = 0; at < futures_max; at++) {
			if ((taken_ & 1U << at) == 0) {
				taken_ |= 1U << at;
				return new (&futures_[at]) gyre_future{};
			}
		}
		return nullptr;
	}
	void put_future(const gyre_future *future) noexcept
	{
		taken_ &= ~(1U << (future - futures_));
	}

	/* ---- waiting ---- */

	/* For the coroutine that runs, whoever has made the futures: gyre refuses those of others.
	 * Not inlined into a coroutine, as promise_base::operator new is not. */
	[[gnu::noinline]] static void wait(std::coroutine_handle<> who, gyre_future *const *futures,
					   unsigned count, bool any, unsigned quorum = 0) noexcept
	{
		frame *running = current();

		running->inner_ = who;
		running->awaited_ = futures;
		running->awaited_count_ = count;
		running->any_ = any;
		running->quorum_ = quorum;
	}

	/* Runs the coroutine until it waits, and asks gyre to wait; 0 once it has ended. */
	int run() noexcept
	{
		int r = 0;

		while (!root_.done()) {
			if (is_over()) {
				resume();
			}
			r = root_.done() ? 0 : suspend();
			if (r != 0) {
				return r;
			}
		}
		return 0;
	}
	void begin(std::coroutine_handle<> root) noexcept
	{
		root_ = root;
		inner_ = root;
	}
	void *root_address() const noexcept
	{
		return root_.address();
	}
	bool is_live() const noexcept
	{
		return self_ == this;
	}
	void resumed(gyre_stack *stack) noexcept
	{
		stack_ = stack;
	}
	/* Destroys the coroutine, if it was made, and all that it awaits. */
	void end() noexcept
	{
		self_ = nullptr;
		if (root_) {
			std::exchange(root_, {}).destroy();
		}
	}
	void cut() noexcept
	{
		cut_ = true;
		end();
	}

	void *get(std::size_t size) noexcept
	{
		const std::size_t all = rounded(size + sizeof(header));
		const bool inside = all <= sizeof(room_) - room_used_;
		void *memory = inside ? room_ + room_used_ : thread_pool().get(all);

		if (memory == nullptr) {
			return nullptr;
		}
		if (inside) {
			room_used_ += static_cast<std::uint32_t>(all);
			room_blocks_++;
		}
		return new (memory) header{ inside ? this : nullptr, all } + 1;
	}
	static void put(void *what) noexcept
	{
		header *block = static_cast<header *>(what) - 1;
		frame *owner = block->owner;

		if (owner == nullptr) {
			thread_pool().put(block, block->size);
			return;
		}
		if (--owner->room_blocks_ == 0) {
			owner->room_used_ = 0;
		} else if (reinterpret_cast<std::byte *>(block) + block->size ==
			   owner->room_ + owner->room_used_) {
			owner->room_used_ -= static_cast<std::uint32_t>(block->size);
		}
	}

	/* That of the coroutine which runs on this thread; else NULL. */
	static frame *&current() noexcept
	{
		static thread_local frame *running = nullptr;

		return running;
	}

      private:
	struct alignas(16) header {
		frame *owner;
		std::size_t size;
	};
	static constexpr std::size_t head_bytes = 64 + futures_max * sizeof(gyre_future);

	static std::size_t rounded(std::size_t size) noexcept
	{
		return (size + sizeof(header) - 1) & ~(sizeof(header) - 1);
	}

	/* Whether enough have answered, or too many have failed. */
	bool quorum_is_decided() const noexcept
	{
		unsigned answered = 0;
		unsigned failed = 0;

		for (unsigned i = 0; i < awaited_count_; i++) {
			const int error = gyre_future_error(awaited_[i]);

			answered += error == 0;
			failed += error != 0 && error != -EINPROGRESS;
		}
		return answered >= quorum_ || awaited_count_ - failed < quorum_;
	}
	/* Any promise resumes a stack that keeps other answers: it may have been the wrong one. */
	bool is_over() const noexcept
	{
		if (quorum_ != 0) {
			return quorum_is_decided();
		}
		for (unsigned i = 0; any_ && i < awaited_count_; i++) {
			if (gyre_future_error(awaited_[i]) != -EINPROGRESS) {
				return true;
			}
		}
		return !any_;
	}
	void resume() noexcept
	{
		frame *before = std::exchange(current(), this);

		awaited_count_ = 0;
		any_ = false;
		quorum_ = 0;
		inner_.resume();
		current() = before;
	}
	/* The futures that are awaited, and those that have completed and may still be read. */
	unsigned gather(const gyre_future **to) const noexcept
	{
		unsigned count = 0;

		for (unsigned i = 0; i < awaited_count_; i++) {
			to[count++] = awaited_[i];
		}
		for (unsigned at = 0; at < futures_max; at++) {
			const gyre_future *future = &futures_[at];

			if ((taken_ & 1U << at) != 0 && future->promise != nullptr &&
			    gyre_future_error(future) != -EINPROGRESS) {
				to[count++] = future;
			}
		}
		return count;
	}
	/* What has completed before is kept by being asked for too; each answer there is wanted. */
	int suspend_for_quorum(const gyre_future *const *futures, unsigned count) const noexcept
	{
		gyre_asked asked[2 * futures_max] = {};
		unsigned wanted = quorum_;

		for (unsigned i = 0; i < count; i++) {
			asked[i].future = *futures[i];
			wanted += i >= awaited_count_ && gyre_future_error(futures[i]) == 0;
		}
		return gyre_await_quorum(stack_, 1, asked, count, wanted);
	}
	int suspend() noexcept
	{
		const gyre_future *futures[2 * futures_max];
		const unsigned count = gather(futures);

		if (awaited_count_ == 0) {
			return -EDEADLK; /* it waits for what is not gyre's */
		}
		if (quorum_ != 0) {
			return suspend_for_quorum(futures, count);
		}
		if (!any_) {
			return gyre_await_all(stack_, 1, futures, count);
		}
		if (count > awaited_count_) {
			const int r = gyre_await_all(stack_, 1, futures, count);

			/* All that is read no more is gone now; the wait itself is for any. */
			return r <= 0 ? r : gyre_suspend_any(stack_, 1);
		}
		return gyre_await_any(stack_, 1, futures, awaited_count_);
	}

	frame *self_;
	gyre_stack *stack_;
	std::coroutine_handle<> root_;
	std::coroutine_handle<> inner_;
	gyre_future *const *awaited_ = nullptr;
	unsigned awaited_count_ = 0;
	unsigned taken_ = 0;
	std::uint32_t room_used_ = 0;
	std::uint32_t room_blocks_ = 0;
	unsigned quorum_ = 0; /* answers that the wait needs; 0: it is no such wait */
	bool any_ = false;
	bool cut_ = false;
	gyre_future futures_[futures_max];
	alignas(16) std::byte room_[frame_bytes - head_bytes];
};
static_assert(sizeof(frame) == frame::frame_bytes);
static_assert(std::is_trivially_destructible_v<frame>);

} /* namespace gyre::detail */

#endif
