/*
 * Trouble: what a world may meet, one thing after the other. Each is a decision of the simulation,
 * so that a run can be made shorter by leaving out what does not matter.
 */
#include <errno.h>
#include <signal.h>

#include "world.h"

enum { PAUSES = 8, KINDS = 8, KINDS_WITH_RESETS = 14 };

enum what {
	NOTHING,
	LINK_CUT,
	LINK_CLOG,
	LINK_LOSS,
	LINK_HEAL,
	CRASH,
	DISK,
	SIGNAL,
	RESET,
	DETOUR
};

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

/* All connections or some, of both sides or one. */
static int reset(struct gyre_sim *sim, uint32_t host, uint32_t peer)
{
	uint32_t rate = 1000000 >> gyre_sim_choose(sim, 3);
	int r = gyre_sim_link_reset(sim, host, peer, rate);

	r = r < 0 || gyre_sim_choose(sim, 2) == 0 ? r : gyre_sim_link_reset(sim, peer, host, rate);
	return r < 0 ? r : 0;
}

/*
 * A link is bad for a while, though never so long that a node of it is declared down, and the
 * connections do not survive that: what was under way is lost, or, where the way was only a longer
 * one, comes after what is sent by the way that there is then.
 */
static int reset_link(struct gyre_sim *sim, uint32_t hosts, enum what what)
{
	uint32_t from = gyre_sim_choose(sim, hosts);
	uint32_t to = (from + 1 + gyre_sim_choose(sim, hosts - 1)) % hosts;
	struct gyre_sim_link link = { 0 };
	int r;

	if (what == DETOUR) {
		link.delay_ns = gyre_sim_choose(sim, PAUSES) * GYRE_MILLISECONDS(50);
	} else {
		link.cut = true;
	}
	r = gyre_sim_link_set(sim, from, to, &link);
	r = r < 0 ? r : gyre_sim_run(sim, gyre_sim_choose(sim, PAUSES) * GYRE_MILLISECONDS(300));
	r = r < 0 ? r : reset(sim, from, to);
	return r < 0 ? r : gyre_sim_link_set(sim, from, to, NULL);
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

/* Where connections are reset that is done often: most else has a node declared down, and hides
 * what has gone wrong with it. */
static enum what choose_what(struct gyre_sim *sim, const struct world *world)
{
	bool resets = (world->trouble & TROUBLE_RESETS) != 0 && world->hosts > 1;
	uint32_t kind = gyre_sim_choose(sim, resets ? KINDS_WITH_RESETS : KINDS);

	return kind < KINDS ? (enum what)kind : kind % 2 == 0 ? RESET : DETOUR;
}

static int do_one(struct gyre_sim *sim, const struct world *world)
{
	enum what what = choose_what(sim, world);

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
	case RESET:
	case DETOUR:
		return reset_link(sim, world->hosts, what);
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
