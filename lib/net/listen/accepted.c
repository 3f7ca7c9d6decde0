/*
 * Connections on their way from an acceptor to a worker. The record of a connection belongs to the
 * acceptor's loop, and its descriptor to the record until a worker takes it: so whatever becomes of
 * the ask, the descriptor has an owner.
 *
 * Two hold the record: the acceptor, until it knows what has become of the ask, and the ask itself,
 * which may end with its answer or without, on whatever loop. Only the last of them knows that no
 * worker will take the connection any more. On another loop it sends the record back to be freed.
 *
 * An acceptor that ends does not wait for the workers that it has asked. The records of these keep
 * their listener, and so the workers, until they come back.
 */
#include "net/listen/accepted.h"

#include "net/listen/admission.h"
#include "net/listen/listener.h"
#include "net/listen/worker.h"

static void discard(struct gy_channels *channels, struct gy_accepted *accepted, bool loops_turn)
{
	if (gy_unlikely(accepted->asked && accepted->listener != NULL)) {
		gy_listener_unref(accepted->listener, loops_turn);
	}
	gy_sizes_delete(&channels->home->parts, accepted, sizeof(*accepted));
}

/* At the end of the loop. */
static void free_accepted(struct gy_channels *channels, struct gy_fd_transit *transit)
{
	discard(channels, gy_container_of(transit, struct gy_accepted, transit), false);
}

struct gy_accepted *gy_accepted_create(struct gy_channels *channels, int fd)
{
	struct gy_accepted *accepted =
		(struct gy_accepted *)gy_sizes_new(&channels->home->parts, sizeof(*accepted));

	gy_assert(fd >= 0);
	if (accepted == NULL) {
		gy_channels_drop(channels, fd);
		return NULL;
	}
	*accepted = (struct gy_accepted){
		.transit = { .discard = free_accepted, .fd = fd, .connection = true },
		.channels = channels,
		.holders = 1,
	};
	gy_list_init(&accepted->item);
	gy_fd_transit_begin(channels, &accepted->transit);
	channels->unclaimed++;
	return accepted;
}

int gy_accepted_take(struct gy_accepted *accepted)
{
	gy_assert(!accepted->taken);
	accepted->taken = true;
	return gy_fd_transit_end(accepted->channels, &accepted->transit);
}

int gy_accepted_ask(struct gy_accepted *accepted, struct gyre_stack *stack,
		    struct gyre_future *ret_future)
{
	accepted->asked = true;
	accepted->listener = NULL;
	(void)gy_fetch_add(&accepted->holders, 1);
	return gyre_ask(stack, accepted->worker, gyre_new(stack, gy_take_connection, accepted),
			GYRE_FOREVER, ret_future);
}

/* On the acceptor's loop: nobody holds it any more. */
static void end(struct gy_accepted *accepted)
{
	struct gy_channels *channels = accepted->channels;

	if (!accepted->taken) {
		if (accepted->admission != NULL) {
			gy_admission_leave(accepted->admission, accepted->worker.loop,
					   channels->home);
		}
		gy_channels_drop(channels, gy_accepted_take(accepted));
	}
	gy_assert(accepted->transit.fd < 0 || channels->unclaimed > 0);
	gy_list_remove(&accepted->item);
	channels->unclaimed -= accepted->transit.fd >= 0;
	discard(channels, accepted, !channels->home->draining);
}

static void end_here(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	end(gy_container_of(task, struct gy_accepted, ended));
}

void gy_accepted_let_go(const struct gy_channels *channels, struct gy_accepted *accepted)
{
	uint32_t before = gy_fetch_add(&accepted->holders, -1U);

	gy_assert(before > 0);
	if (before > 1) {
		return;
	}
	if (channels == accepted->channels) {
		end(accepted);
		return;
	}
	accepted->ended = (struct gy_task){ .embedded = true, .run = end_here };
	gy_loop_post_task(&accepted->channels->home->loop, &accepted->ended);
}

void gy_accepted_leave(struct gy_accepted *accepted, struct gy_listener *listener)
{
	gy_list_remove(&accepted->item);
	if (accepted->asked) {
		(void)gy_fetch_add(&listener->references, 1);
		accepted->listener = listener;
	}
	gy_accepted_let_go(accepted->channels, accepted);
}
