/*
 * Trouble: what a world may meet, one thing after the other. Each is a decision of the simulation,
 * so that a run can be made shorter by leaving out what does not matter.
 */
#include <errno.h>
#include <signal.h>

#include "world.h"

enum { PAUSES = 8, KINDS = 8 };

enum what { NOTHING, LINK_CUT, LINK_CLOG, LINK_LOSS, LINK_HEAL, CRASH, DISK, SIGNAL };

/* ---- links ---- */

/* Both ways or one of the links between two hosts. */
static int set_link(struct gyre_sim *sim, uint32_t hosts, const struct gyre_sim_link *link)
{
	uint32_t from = gyre_sim_choose(sim, hosts);
	uint32_t to = (from + 1 + gyre_sim_choose(sim, hosts - 1)) % hosts;
	int r = gyre_sim_link_set(sim, from, to, link);

	return r < 0 || gyre_sim_choose(sim, 2) == 0 ? r : gyre_sim_link_set(sim, to, from, link);
}

static int trouble_link(struct gyre_sim *sim, uint32_t hosts, enum what what)
{
	struct gyre_sim_link link = { .cut = what == LINK_CUT, .clog = what == LINK_CLOG };

	if (what == LINK_LOSS) {
		link.delay_ns = gyre_sim_choose(sim, 20) * GYRE_MILLISECONDS(1);
		link.jitter_ns = gyre_sim_choose(sim, 20) * GYRE_MILLISECONDS(1);
		link.loss = 10000 * gyre_sim_choose(sim, 20);
		link.duplicates = 10000 * gyre_sim_choose(sim, 20);
	}
	return set_link(sim, hosts, what == LINK_HEAL ? NULL : &link);
}

/* ---- hosts ---- */

/* One that crashed boots again at once, after a while, or when all is healed. */
static int crash(struct gyre_sim *sim, uint32_t hosts)
{
	uint32_t host = gyre_sim_choose(sim, hosts);
	uint32_t pause = gyre_sim_choose(sim, PAUSES);
	int r = gyre_sim_crash(sim, host);

	if (r == -EALREADY) {
		return gyre_sim_restart(sim, host);
	}
	if (r == 0 && pause < PAUSES - 1) {
		r = gyre_sim_run(sim, pause * GYRE_SECONDS(1));
		r = r < 0 ? r : gyre_sim_restart(sim, host);
	}
	return r;
}

/* Asked to end, it has some time for it. */
static int signal_host(struct gyre_sim *sim, uint32_t hosts)
{
	uint32_t host = gyre_sim_choose(sim, hosts);
	int r = gyre_sim_signal(sim, host, SIGTERM);

	if (r == -EOPNOTSUPP || r == -ESRCH) {
		return 0; /* it begins just now, or is down */
	}
	r = r < 0 ? r : gyre_sim_run(sim, GYRE_SECONDS(20));
	if (r == 0) {
		r = gyre_sim_restart(sim, host);
	}
	return r == -EALREADY ? 0 : r; /* it ends yet */
}

static int trouble_disk(struct gyre_sim *sim, uint32_t hosts)
{
	const struct gyre_sim_disk disk = {
		.delay_ns = gyre_sim_choose(sim, 20) * GYRE_MILLISECONDS(1),
		.errors = 5000 * gyre_sim_choose(sim, 20),
	};

	return gyre_sim_disk_set(sim, gyre_sim_choose(sim, hosts), &disk);
}

static int do_one(struct gyre_sim *sim, const struct world *world)
{
	enum what what = (enum what)gyre_sim_choose(sim, KINDS);

	switch (what) {
	case LINK_CUT:
	case LINK_CLOG:
	case LINK_LOSS:
	case LINK_HEAL:
		return (world->trouble & TROUBLE_LINKS) != 0 && world->hosts > 1
			       ? trouble_link(sim, world->hosts, what)
			       : 0;
	case CRASH:
		return (world->trouble & TROUBLE_CRASHES) != 0 ? crash(sim, world->hosts) : 0;
	case DISK:
		return (world->trouble & TROUBLE_DISKS) != 0 ? trouble_disk(sim, world->hosts) : 0;
	case SIGNAL:
		return (world->trouble & TROUBLE_SIGNALS) != 0 ? signal_host(sim, world->hosts) : 0;
	case NOTHING:
	default:
		return 0;
	}
}

int world_make_trouble(struct gyre_sim *sim, const struct world *world)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < world->steps; i++) {
		r = do_one(sim, world);
		r = r < 0 ? r
			  : gyre_sim_run(sim,
					 gyre_sim_choose(sim, PAUSES) * GYRE_MILLISECONDS(800));
	}
	return r;
}
