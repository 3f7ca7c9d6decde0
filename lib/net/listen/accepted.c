/*
 * Connections on their way from an acceptor to a worker. The record of a connection belongs to the
 * acceptor's loop, and its descriptor to the record until a worker takes it: so whatever becomes of
 * the ask, the descriptor has an owner. A worker of another loop sends the record back to be freed.
 *
 * An acceptor that ends does not wait for the workers that it has asked. The records of these keep
 * their listener, and so the workers, until they come back.
 */
#include "net/listen/accepted.h"

#include "net/listen/admission.h"
#include "net/listen/listener.h"

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
	};
	gy_list_init(&accepted->item);
	gy_fd_transit_begin(channels, &accepted->transit);
	channels->unclaimed++;
	return accepted;
}

int gy_accepted_take(struct gy_accepted *accepted)
{
	return gy_fd_transit_end(accepted->channels, &accepted->transit);
}

void gy_accepted_destroy(struct gy_accepted *accepted)
{
	gy_assert(accepted->transit.fd < 0 || accepted->channels->unclaimed > 0);
	gy_list_remove(&accepted->item);
	accepted->channels->unclaimed -= accepted->transit.fd >= 0;
	discard(accepted->channels, accepted, !accepted->channels->home->draining);
}

void gy_accepted_ask(struct gy_accepted *accepted)
{
	accepted->asked = true;
	accepted->listener = NULL;
}

void gy_accepted_leave(struct gy_accepted *accepted, struct gy_listener *listener)
{
	if (!accepted->asked) {
		gy_accepted_drop(accepted);
		return;
	}
	gy_list_remove(&accepted->item);
	gy_list_init(&accepted->item);
	(void)gy_fetch_add(&listener->references, 1);
	accepted->listener = listener;
}

static void destroy_here(struct gy_loop *loop, struct gy_task *task)
{
	(void)loop;
	gy_accepted_destroy(gy_container_of(task, struct gy_accepted, freed));
}

void gy_accepted_free(struct gy_channels *channels, struct gy_accepted *accepted)
{
	if (channels == accepted->channels) {
		gy_accepted_destroy(accepted);
		return;
	}
	accepted->freed.run = destroy_here;
	gy_loop_post_task(&accepted->channels->home->loop, &accepted->freed);
}

void gy_accepted_drop(struct gy_accepted *accepted)
{
	struct gy_channels *channels = accepted->channels;

	if (accepted->admission != NULL) {
		gy_admission_leave(accepted->admission, accepted->worker.loop, channels->home);
	}
	gy_channels_drop(channels, gy_accepted_take(accepted));
	gy_accepted_destroy(accepted);
}
