/*
 * Owners in C++20: what the calls of gyre make, and must be given back, in classes that do so at
 * the end of their scope. Each has get() for calls that use it and release() for those that take
 * it, and out() is for those that make it:
 *
 *	gyre::system system;
 *	int r = gyre_system_create(nullptr, gyre::out(system));
 */
#ifndef GYRE_OWNER_HPP
#define GYRE_OWNER_HPP

#include <memory>
#include <utility>

#include <gyre/gyre.h>

namespace gyre
{

/* ---- what has a lifetime ---- */

/** destroyer - for std::unique_ptr: calls a function of gyre */
template <auto Destroy> struct destroyer {
	template <class T> void operator()(T *what) const noexcept
	{
		Destroy(what);
	}
};

namespace detail
{
inline void destroy_kept(gyre_mail *mail) noexcept
{
	gyre_mail_destroy(nullptr, mail);
}
} /* namespace detail */

/** buffer - a buffer that was not written yet: gyre_context_write(ctx, buffer.release()) */
using buffer = std::unique_ptr<gyre_buffer, destroyer<gyre_buffer_destroy>>;
/** snapshot - a snapshot of a system: gyre_system_inspect(system, gyre::out(snapshot)) */
using snapshot = std::unique_ptr<gyre_snapshot, destroyer<gyre_snapshot_destroy>>;
/** system - a system: gyre_system_create(&options, gyre::out(system)) */
using system = std::unique_ptr<gyre_system, destroyer<gyre_system_destroy>>;
/** kept_mail - a mail that is free of its loop: of gyre_mail_keep(), gyre_system_new(), or the
 * answer of gyre_system_ask(); so one that a state may have */
using kept_mail = std::unique_ptr<gyre_mail, destroyer<detail::destroy_kept>>;

/** shared - a reference that is counted by a pair of functions of gyre */
template <class T, auto Ref, auto Unref> class shared
{
      public:
	using pointer = T *;

	shared() noexcept = default;
	/* takes over the reference that the caller has */
	explicit shared(T *what) noexcept : what_(what)
	{
	}
	shared(const shared &other) noexcept
	    : what_(other.what_ != nullptr ? Ref(other.what_) : nullptr)
	{
	}
	shared(shared &&other) noexcept : what_(other.release())
	{
	}
	shared &operator=(shared other) noexcept
	{
		std::swap(what_, other.what_);
		return *this;
	}
	~shared()
	{
		Unref(what_);
	}
	T *get() const noexcept
	{
		return what_;
	}
	T *release() noexcept
	{
		return std::exchange(what_, nullptr);
	}
	void reset(T *what = nullptr) noexcept
	{
		Unref(std::exchange(what_, what));
	}
	explicit operator bool() const noexcept
	{
		return what_ != nullptr;
	}

      private:
	T *what_ = nullptr;
};

/** bytes - a block of bytes that many channels share */
using bytes = shared<gyre_bytes, gyre_bytes_ref, gyre_bytes_unref>;
/** tls_context - certificates and keys that many channels share */
using tls_context = shared<gyre_tls_context, gyre_tls_context_ref, gyre_tls_context_unref>;

namespace detail
{
/* Lets an owner take what a call of C puts where its last argument points. */
template <class Owner> class out_pointer
{
      public:
	/* A call that fails leaves nothing, rather than what was there before. */
	explicit out_pointer(Owner &owner) noexcept : owner_(owner)
	{
		owner_.reset();
	}
	out_pointer(const out_pointer &) = delete;
	out_pointer &operator=(const out_pointer &) = delete;
	~out_pointer()
	{
		if (what_ != nullptr) {
			owner_.reset(what_);
		}
	}
	operator typename Owner::pointer *() noexcept
	{
		return &what_;
	}

      private:
	Owner &owner_;
	typename Owner::pointer what_ = nullptr;
};
} /* namespace detail */

/** out() - an owner as the last argument of a call that makes what it owns; empty if that fails */
template <class Owner> detail::out_pointer<Owner> out(Owner &owner) noexcept
{
	return detail::out_pointer<Owner>(owner);
}

/**
 * mail - a mail of a handler that was not sent yet: gyre_notify(stack, to, mail.release())
 *
 * It may stay where it is while the handler waits, since it is destroyed with its stack. What goes
 * to the state of an actor is for keep().
 */
class mail
{
      public:
	mail() noexcept = default;
	mail(gyre_stack *stack, gyre_mail *made) noexcept : stack_(stack), mail_(made)
	{
	}
	mail(mail &&other) noexcept : stack_(other.stack_), mail_(other.release())
	{
	}
	mail &operator=(mail &&other) noexcept
	{
		std::swap(stack_, other.stack_);
		std::swap(mail_, other.mail_);
		return *this;
	}
	~mail()
	{
		if (mail_ != nullptr) {
			gyre_mail_destroy(stack_, mail_);
		}
	}
	gyre_mail *get() const noexcept
	{
		return mail_;
	}
	gyre_mail *release() noexcept
	{
		return std::exchange(mail_, nullptr);
	}
	/* The message, or NULL when there is none or it is another. */
	template <class Message> const Message *as() const noexcept
	{
		const gyre_type *type = gyre_type_for(static_cast<const Message *const *>(nullptr));

		return static_cast<const Message *>(gyre_mail_message(mail_, type));
	}
	/* The same message in a mail for the state of the actor; NULL without memory. */
	kept_mail keep() noexcept
	{
		return kept_mail(mail_ == nullptr ? nullptr : gyre_mail_keep(stack_, release()));
	}
	explicit operator bool() const noexcept
	{
		return mail_ != nullptr;
	}

      private:
	gyre_stack *stack_ = nullptr;
	gyre_mail *mail_ = nullptr;
};

} /* namespace gyre */

#endif
