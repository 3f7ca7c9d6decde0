/*
 * How many actors of sockets are on their way, and what becomes of one that does not arrive.
 */
#include "net/pending_open.h"
#include "net/net_state.h"

#include <errno.h>
#include <string.h>

#include <gyre/socket_address.h>

int gy_pending_open_place(const struct gy_house *house, struct gyre_spawn_options *place)
{
	const struct gy_home *home = house->home;

	if (place->place == GYRE_PLACE_HERE) {
		place->loop = house->self.loop;
	} else if (place->place == GYRE_PLACE_ROUND_ROBIN) {
		place->loop = home->options.next_loop(home->options.system, true);
		place->place = GYRE_PLACE_LOOP;
	} else if (place->place != GYRE_PLACE_LOOP ||
		   place->loop >= gy_loops_count(home->loop.peers)) {
		return -EINVAL;
	}
	return 0;
}

static void end(struct gy_homes *homes)
{
	gy_assert(gy_load_relaxed(&homes->net->pending_opens) > 0);
	(void)gy_fetch_add(&homes->net->pending_opens, -1U);
	if (homes->net->opened != NULL) {
		homes->net->opened(homes);
	}
}

void gy_pending_open_may_begin(struct gy_homes *homes)
{
	if (homes->net->await_start != NULL) {
		homes->net->await_start(homes);
	}
}

void gy_pending_open_begin(struct gy_homes *homes)
{
	(void)gy_fetch_add(&homes->net->pending_opens, 1);
}

void gy_pending_open_end(struct gy_homes *homes)
{
	end(homes);
}

void gy_pending_open_fail(const struct gy_home *home, const char *what,
			  const struct gyre_socket_address *address, const char *text, int error)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);
	char found[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int none = 0;

	if (address != NULL && gyre_socket_address_format(address, sizeof(found), found) >= 0) {
		text = found;
	}
	gy_assert(error < 0);
	gy_log(homes->log, GYRE_LOG_ERROR, "loop %u: %s %s failed: %s%s",
	       (unsigned)home->loop.index, what, text, strerrordesc_np(-error),
	       error == -ENOMEM ? "; see `ulimit -v` and the limits of its cgroups" : "");
	(void)gy_compare_exchange(&homes->net->pending_open_error, &none, error);
	end(homes);
}
