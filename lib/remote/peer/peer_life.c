/*
 * Lives. A node has one from its start until another node declares it down; then it takes the next,
 * and goes on. An incarnation is both: the upper half is the process, the lower half the life, as
 * addresses carry it. Both are random: lives differ, but which came later only who saw them knows.
 *
 * A life of a peer that is over ends on each loop in two steps. First all loops cut: they end the
 * links of that life, give up what waits for it, fail asks to it, and hand over all mail that has
 * come. When the last of them has, each tells its actors that what they watched there has ended. So
 * nothing of that life comes after that, whichever loop its links were on. A life that ends while
 * the loops cut is cut in the next round. What a loop has to do stands in a task that each peer has
 * for each loop, so that none of it is lost for want of memory; and what its actors cannot be told
 * without, they are told a moment later.
 *
 * Which of two processes with one id is the later one, and so alive, is judged in peer_state.c.
 *
 * When this node takes another life, each loop ends its links that had said the former one, and
 * dials anew. Peers then meet the new life, and so learn that the former is over. What was asked in
 * the former one fails: nobody would take the answer to it.
 */
#include "remote/peer/peer_life.h"

#include <errno.h>
#include <inttypes.h>

#include "actor/life/node_loss.h"
#include "base/memory/memory.h"
#include "base/random.h"
#include "remote/link/link.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "remote/peer/one_way.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_state.h"

static const uint64_t again_ns = GYRE_MILLISECONDS(1);

/* ---- the lives of a peer ---- */

uint32_t gy_lives_find(const struct gy_lives *lives, uint32_t life)
{
	uint32_t count = gy_load_acquire(&lives->count);
	uint32_t kept = count < GY_LIVES_KEPT ? count : GY_LIVES_KEPT;

	for (uint32_t number = count; number > count - kept; number--) {
		if (gy_life_of(gy_load_relaxed(&lives->incarnations[gy_life_code(number)])) ==
		    life) {
			return number;
		}
	}
	return 0;
}

uint32_t gy_lives_watchers(const struct gy_lives *lives)
{
	uint32_t count = 0;

	for (uint32_t code = 1; code <= GY_LIVES_KEPT; code++) {
		count += gy_load_relaxed(&lives->watchers[code]);
	}
	return count;
}

void gy_lives_begin(struct gy_peer *peer, uint64_t incarnation)
{
	struct gy_lives *lives = &peer->lives;

	gy_store_relaxed(&lives->incarnations[gy_life_code(lives->count + 1)], incarnation);
	gy_store_release(&lives->count, lives->count + 1);
	gy_store_relaxed(&peer->incarnation, incarnation);
	gy_store_relaxed(&peer->unreached_ns, 0); /* which was another one */
}

/* On all loops, as many as there are. Under the mutex. */
static void request_everywhere(struct gy_peer *peer, uint32_t peer_tasks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gy_peer_task_request(&peer->nodes->links[i], peer, peer_tasks);
	}
}

static void begin_to_cut(struct gy_peer *peer)
{
	struct gy_lives *lives = &peer->lives;

	lives->cut = lives->over;
	lives->cutting = gy_homes_made(peer->nodes->homes);
	request_everywhere(peer, GY_PEER_TASK_CUT, lives->cutting);
}

void gy_lives_end(struct gy_peer *peer)
{
	struct gy_lives *lives = &peer->lives;

	gy_store_release(&lives->over, lives->count);
	lives->accused = gy_life_of(peer->incarnation);
	if (lives->cutting == 0) {
		begin_to_cut(peer);
	}
}

uint32_t gy_lives_accuse(struct gy_peer *peer, uint64_t incarnation)
{
	struct gy_lives *lives = &peer->lives;
	uint32_t number;
	uint32_t accused;

	(void)pthread_mutex_lock(&peer->nodes->mutex);
	number = incarnation == 0 ? 0 : gy_lives_find(lives, gy_life_of(incarnation));
	if (number != 0 && gy_lives_is_over(lives, number)) {
		lives->accused = gy_life_of(incarnation);
	}
	accused = lives->accused;
	(void)pthread_mutex_unlock(&peer->nodes->mutex);
	return accused;
}

/* ---- tasks ---- */

/* Whether the end of a life has been announced on this loop. A life that has not come has not
 * ended. */
static bool is_end_told(const void *arg, uint32_t life)
{
	const struct gy_peer_task *peer_task = (const struct gy_peer_task *)arg;
	uint32_t number = life == 0 ? 0 : gy_lives_find(&peer_task->peer->lives, life);

	return life == 0 || (number != 0 && number <= peer_task->ended_up_to);
}

/*
 * Under the mutex. What loops have handed over since the last round stands before this task in the
 * inbox, so one that is there already goes to its end first.
 */
static void post_end_of_watches(struct gy_peer_task *peer_task)
{
	if (peer_task->ending_up_to == 0) {
		peer_task->ending_up_to = peer_task->peer->lives.cut_everywhere;
		gy_loop_post_task(&peer_task->links->home->loop, &peer_task->end_watches);
	}
}

/* The last loop has all loops end watches, and begins again for a life that has ended since. */
static void cut_done(struct gy_peer *peer)
{
	struct gy_lives *lives = &peer->lives;

	(void)pthread_mutex_lock(&peer->nodes->mutex);
	gy_assert(lives->cutting > 0);
	if (--lives->cutting == 0) {
		lives->cut_everywhere = lives->cut;
		for (uint32_t i = 0; i < gy_homes_made(peer->nodes->homes); i++) {
			post_end_of_watches(&peer->peer_tasks[i]);
		}
		if (lives->cut != lives->over) {
			begin_to_cut(peer);
		}
	}
	(void)pthread_mutex_unlock(&peer->nodes->mutex);
}

static void start_again(struct gy_peer_task *peer_task)
{
	if (!gy_timer_is_started(&peer_task->again)) {
		gy_timer_start(&peer_task->links->home->loop.wheel, &peer_task->again, again_ns);
	}
}

static void notify_later(struct gy_peer_task *peer_task, uint32_t deeds)
{
	peer_task->lacking |= deeds;
	start_again(peer_task);
}

static void notify_actors(struct gy_peer_task *peer_task, uint32_t deeds)
{
	struct gy_home *home = peer_task->links->home;
	const struct gy_node_loss loss = { .node = peer_task->peer->id,
					   .deeds = (uint16_t)deeds,
					   .error = -EHOSTDOWN,
					   .is_over = is_end_told,
					   .arg = peer_task,
					   .asked_until = peer_task->asked_until };

	if (!gy_home_node_lost(home, &loss)) {
		notify_later(peer_task, deeds);
	}
}

static void try_again(struct gy_timer *timer)
{
	struct gy_peer_task *peer_task = gy_container_of(timer, struct gy_peer_task, again);
	uint32_t deeds = peer_task->lacking;

	peer_task->lacking = 0;
	if (deeds != 0) {
		notify_actors(peer_task, deeds);
	}
	if (peer_task->unexamined) {
		peer_task->unexamined = false;
		gy_link_examine(peer_task->links, peer_task->peer);
	}
}

static void cut(struct gy_peer_task *peer_task)
{
	struct gy_home *home = peer_task->links->home;

	gy_links_cut(peer_task->links, peer_task->peer);
	peer_task->asked_until = gy_home_number(home);
	notify_actors(peer_task, GY_NODE_LOSS_FAIL_ASKS);
	gy_loop_flush(&home->loop);
	cut_done(peer_task->peer);
}

static void end_watches(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_peer_task *peer_task = gy_container_of(task, struct gy_peer_task, end_watches);

	(void)loop;
	peer_task->ended_up_to = peer_task->ending_up_to;
	notify_actors(peer_task, GY_NODE_LOSS_END_WATCHES | GY_NODE_LOSS_FORGET_WATCHERS);
	(void)pthread_mutex_lock(&peer_task->peer->nodes->mutex);
	peer_task->ending_up_to = 0;
	if (peer_task->peer->lives.cut_everywhere != peer_task->ended_up_to) {
		post_end_of_watches(peer_task);
	}
	(void)pthread_mutex_unlock(&peer_task->peer->nodes->mutex);
}

static void carry_out(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_peer_task *peer_task = gy_container_of(task, struct gy_peer_task, task);
	uint32_t peer_tasks = gy_exchange(&peer_task->wanted, 0);

	(void)loop;
	if ((peer_tasks & GY_PEER_TASK_CUT) != 0) {
		cut(peer_task);
	}
	if ((peer_tasks & GY_PEER_TASK_ROUND) != 0) {
		gy_rounds_begin(peer_task);
	}
	if ((peer_tasks & GY_PEER_TASK_REACH) != 0) {
		gy_links_send_reach(peer_task->links, peer_task->peer);
	}
	if ((peer_tasks & GY_PEER_TASK_EXAMINE) != 0) {
		gy_link_examine(peer_task->links, peer_task->peer);
	}
}

void gy_peer_task_request(struct gy_links *links, struct gy_peer *peer, uint32_t peer_tasks)
{
	struct gy_peer_task *peer_task = &peer->peer_tasks[links - peer->nodes->links];
	uint32_t before = gy_fetch_or(&peer_task->wanted, peer_tasks | GY_PEER_TASK_POSTED);

	if ((before & GY_PEER_TASK_POSTED) == 0) {
		gy_loop_post_task(&links->home->loop, &peer_task->task);
	}
}

void gy_peer_task_examine_later(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_peer_task *peer_task = &peer->peer_tasks[links->home->loop.index];

	peer_task->unexamined = true;
	start_again(peer_task);
}

void gy_peer_task_run(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_peer_task *peer_task = &peer->peer_tasks[links->home->loop.index];

	if ((gy_load_acquire(&peer_task->wanted) & GY_PEER_TASK_CUT) != 0 &&
	    (gy_fetch_and(&peer_task->wanted, ~(uint32_t)GY_PEER_TASK_CUT) & GY_PEER_TASK_CUT) !=
		    0) {
		cut(peer_task);
	}
}

int gy_lives_init(struct gy_peer *peer)
{
	struct gy_nodes *nodes = peer->nodes;

	peer->lives.incarnations =
		(uint64_t *)gy_memory_get(GY_LIVES * sizeof(*peer->lives.incarnations));
	peer->peer_tasks =
		(struct gy_peer_task *)gy_memory_get(nodes->loops_max * sizeof(*peer->peer_tasks));
	if (peer->lives.incarnations == NULL || peer->peer_tasks == NULL) {
		gy_lives_fini(peer);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nodes->loops_max; i++) {
		peer->peer_tasks[i] = (struct gy_peer_task){
			.task = { .run = carry_out, .embedded = true },
			.end_watches = { .run = end_watches, .embedded = true },
			.links = &nodes->links[i],
			.peer = peer,
		};
		gy_timer_init(&peer->peer_tasks[i].again, try_again);
		gy_rounds_init(&peer->peer_tasks[i]);
	}
	return 0;
}

void gy_lives_fini(struct gy_peer *peer)
{
	gy_memory_put(peer->lives.incarnations);
	gy_memory_put(peer->peer_tasks);
	peer->lives.incarnations = NULL;
	peer->peer_tasks = NULL;
}

/* ---- addresses ---- */

struct gyre_address gy_lives_shown(const struct gy_nodes *nodes, struct gyre_address address)
{
	uint32_t code = address.slot >> GY_LIFE_SHIFT;
	const struct gy_peer *peer;

	if (address.life != 0 || code == 0) {
		return address;
	}
	address.slot &= gy_slot_mask;
	peer = gy_peer_find(nodes, address.node);
	if (peer != NULL) {
		address.life = gy_life_of(gy_load_relaxed(&peer->lives.incarnations[code]));
	}
	return address;
}

/* A loop that was added since has nothing to tell: all that were there have done so. */
static bool is_end_due(const struct gy_peer_task *peer_task, uint32_t number)
{
	struct gy_peer *peer = peer_task->peer;
	bool is;

	(void)pthread_mutex_lock(&peer->nodes->mutex);
	is = number > peer->lives.cut_everywhere || peer_task->ending_up_to != 0;
	(void)pthread_mutex_unlock(&peer->nodes->mutex);
	return is;
}

bool gy_lives_end_is_due(const struct gy_links *links, struct gyre_address address)
{
	const struct gy_peer *peer = gy_peer_find(links->nodes, address.node);
	const struct gy_peer_task *peer_task;
	uint32_t number;

	if (peer == NULL) {
		return false;
	}
	peer_task = &peer->peer_tasks[links->home->loop.index];
	number = address.life == 0 ? gy_load_acquire(&peer->lives.count)
				   : gy_lives_find(&peer->lives, address.life);
	return number > peer_task->ended_up_to && gy_lives_is_over(&peer->lives, number) &&
	       is_end_due(peer_task, number);
}

/* ---- the lives of this node ---- */

/* Who watches in the new life may have begun before the second time: so that is about asks alone.
 * A record that stays names a watch that nobody has any more. */
static void notify_of_own(struct gy_links *links, uint32_t deeds)
{
	const struct gy_node_loss loss = { .deeds = (uint16_t)deeds,
					   .error = -ECONNRESET,
					   .asked_until = links->new_life_asked_until };

	if (!gy_home_node_lost(links->home, &loss) &&
	    !gy_timer_is_started(&links->new_life_retry)) {
		gy_timer_start(&links->home->loop.wheel, &links->new_life_retry, again_ns);
	}
}

static void notify_of_own_again(struct gy_timer *timer)
{
	notify_of_own(gy_container_of(timer, struct gy_links, new_life_retry),
		      GY_NODE_LOSS_FAIL_ASKS);
}

void gy_links_adopt_new_life(struct gy_links *links)
{
	uint64_t incarnation = gy_load_acquire(&links->nodes->incarnation);

	if (gy_likely(links->incarnation == incarnation)) {
		return;
	}
	links->incarnation = incarnation;
	gy_store_relaxed(&links->home->life, gy_life_of(incarnation));
	gy_links_end_former(links);
	links->new_life_asked_until = gy_home_number(links->home);
	notify_of_own(links, GY_NODE_LOSS_FAIL_ASKS | GY_NODE_LOSS_FORGET_WATCHERS);
}

static void adopt_new_life(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_links *links = gy_container_of(task, struct gy_links, new_life);

	(void)loop;
	gy_store_release(&links->new_life_posted, 0);
	gy_links_adopt_new_life(links);
}

void gy_links_init_life(struct gy_links *links)
{
	links->incarnation = gy_load_acquire(&links->nodes->incarnation);
	gy_timer_init(&links->new_life_retry, notify_of_own_again);
	links->new_life = (struct gy_task){ .run = adopt_new_life, .embedded = true };
	gy_store_relaxed(&links->home->life, gy_life_of(links->incarnation));
}

/* Under the mutex. */
static uint64_t next_life(struct gy_links *links)
{
	uint64_t former = links->nodes->incarnation;
	uint32_t life;

	do {
		life = (uint32_t)gy_random_next(&links->random);
	} while (life == 0 || life == gy_life_of(former));
	return (former & ~(uint64_t)UINT32_MAX) | life;
}

/* Under the mutex. */
static void begin_next_life(struct gy_links *links, uint16_t by)
{
	struct gy_nodes *nodes = links->nodes;

	gy_store_release(&nodes->incarnation, next_life(links));
	gy_log(nodes->log, GYRE_LOG_WARNING,
	       "node %u: node %u had declared it down, while it was halted or cut off: it goes on "
	       "with a new life, and its names have to be looked up anew",
	       nodes->options.id, by);
	for (uint32_t i = 0; i < gy_homes_made(nodes->homes); i++) {
		struct gy_links *each = &nodes->links[i];

		if (gy_exchange(&each->new_life_posted, 1) == 0) {
			gy_loop_post_task(&each->home->loop, &each->new_life);
		}
	}
}

/* Under the mutex; once. */
static void end(struct gy_links *links, uint16_t by)
{
	struct gy_nodes *nodes = links->nodes;

	gy_log(nodes->log, GYRE_LOG_ERROR,
	       "node %u: node %u had declared it down, while it was halted or cut off: it ends, as "
	       "its options say",
	       nodes->options.id, by);
	nodes->declared_down(links->home->options.system);
}

bool gy_nodes_declared_down(struct gy_links *links, uint16_t by, uint32_t life)
{
	struct gy_nodes *nodes = links->nodes;
	bool is_over;

	(void)pthread_mutex_lock(&nodes->mutex);
	is_over = life != 0 && gy_life_of(nodes->incarnation) == life;
	if (is_over && !nodes->ending) {
		gy_nodes_announce_own(links, nodes->incarnation, GYRE_NODE_QUARANTINED);
		nodes->ending = nodes->options.end_when_declared_down;
		if (nodes->ending) {
			end(links, by);
		} else {
			begin_next_life(links, by);
			is_over = false;
		}
	}
	(void)pthread_mutex_unlock(&nodes->mutex);
	gy_links_adopt_new_life(links);
	return is_over;
}
