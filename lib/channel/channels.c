/*
 * The life of a loop's channels as a whole, and what the system floor asks of them: to drain, to
 * end at once, to give back unused memory.
 */
#include "channel/channels.h"

#include <errno.h>
#include <string.h>

#include "buffer/buffer.h"
#include "channel/channel.h"
#include "channel/channel_actor.h"
#include "channel/endpoint.h"
#include "channel/output/output.h"
#include "channel/output/zero_copy.h"
#include "channel/pipeline/pipeline.h"
#include "ring/descriptor.h"

enum { LENT_QUARTERS_MAX = 3, SHARES = 8 };

/* A completion was for nobody, and there comes no other for that page. */
static void lose_ring_page(void *arg, uint16_t number)
{
	struct gy_channels *channels = (struct gy_channels *)arg;

	channels->pools.lent++;
	gy_page_unref(&channels->pools, &channels->ring_pages[number]);
}

/*
 * Where the pages of a ring are. Who shares one cannot grow: behind a slice stands what was
 * received after it.
 */
static void find_ring_pages(struct gy_channels *channels)
{
	uint32_t bytes = gy_ring_buffer_bytes(channels->pools.ring);

	for (uint32_t i = 0; i < channels->ring_pages_count; i++) {
		channels->ring_pages[i] = (struct gy_page){
			.references = 1,
			.bytes = bytes,
			.used = channels->pages_are_shared ? bytes : 0,
			.number = (uint16_t)i,
			.of_ring = true,
			.memory =
				(unsigned char *)gy_ring_buffer(channels->pools.ring, (uint16_t)i),
		};
	}
	gy_ring_on_stale(channels->pools.ring, lose_ring_page, channels);
}

static int make_ring_pages(struct gy_channels *channels)
{
	uint32_t count = gy_ring_buffer_count(channels->pools.ring);

	channels->pages_are_shared = gy_ring_buffers_are_shared(channels->pools.ring);
	channels->ring_pages = (struct gy_page *)gy_memory_get(count * sizeof(struct gy_page));
	if (channels->ring_pages == NULL) {
		return -ENOMEM;
	}
	channels->ring_pages_count = count;
	channels->lent_max = count / 4 * LENT_QUARTERS_MAX;
	channels->channel_share = count / SHARES;
	find_ring_pages(channels);
	return 0;
}

int gy_channels_init(struct gy_home *home, const struct gy_channels_options *options)
{
	struct gy_channels *channels = (struct gy_channels *)gy_memory_get(sizeof(*channels));

	if (channels == NULL) {
		return -ENOMEM;
	}
	channels->home = home;
	channels->options = *options;
	if (options->zero_copy_bytes == 0) {
		channels->options.zero_copy_bytes = UINT64_MAX;
	}
	gy_buffer_pools_init(&channels->pools, &home->loop);
	gy_pool_init(&channels->channels, "channel", sizeof(struct gyre_channel));
	gy_pool_init(&channels->contexts, "context", sizeof(struct gy_context));
	gy_pool_init(&channels->gathers, "gather", sizeof(struct gy_gather));
	gy_reset_watches_init(&channels->reset_watches);
	gy_zero_copies_init(channels);
	gy_buffer_waiters_init(channels);
	gy_list_init(&channels->owners);
	gy_list_init(&channels->transits);
	(void)pthread_mutex_init(&channels->mutex, NULL);
	home->loop.own_channels = channels;
	home->channel_ops = &gy_channel_ops;
	return make_ring_pages(channels);
}

static void report(const struct gy_channels *channels, const struct gy_pool *pool, uint32_t lost)
{
	if (lost > 0) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: objects of channels that were never freed, of kind %s: %u; "
		       "that is a fault of gyre, please report it",
		       (unsigned)channels->home->loop.index, pool->name, lost);
	}
}

/* A lost buffer takes its slices and pages with it: only the buffers are reported. */
static bool has_lost_buffers(const struct gy_channels *channels)
{
	return channels->pools.buffers.total != channels->pools.buffers.free_count;
}

static void report_lent(struct gy_channels *channels)
{
	if (channels->pools.lent > 0 && !has_lost_buffers(channels)) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: receive buffers that were never given back: %u; that is a fault "
		       "of gyre, please report it",
		       (unsigned)channels->home->loop.index, channels->pools.lent);
	}
	channels->pools.lent = 0;
}

/* With the addresses that datagrams have, of which those of lost buffers stay. */
static void fini_datagrams(struct gy_channels *channels)
{
	struct gy_address_table *addresses = &channels->pools.addresses;

	if (channels->datagrams != NULL) {
		channels->datagrams_ops->fini(channels);
		gy_assert(channels->datagrams == NULL);
	}
	if (addresses->used > 0) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: addresses of datagrams never freed: %u; if no buffers were lost "
		       "that had them, it is a fault of gyre, please report it",
		       (unsigned)channels->home->loop.index, addresses->used);
	}
	(void)gy_address_table_trim(addresses);
}

enum { POOLS = GY_BUFFER_POOLS + 4 };

static void pools_of(struct gy_channels *channels, struct gy_pool *pools[POOLS])
{
	gy_buffer_pools_list(&channels->pools, pools);
	pools[GY_BUFFER_POOLS] = &channels->channels;
	pools[GY_BUFFER_POOLS + 1] = &channels->contexts;
	pools[GY_BUFFER_POOLS + 2] = &channels->gathers;
	pools[GY_BUFFER_POOLS + 3] = &channels->zero_copies;
}

static void drop_kept_files(struct gy_channels *channels)
{
	if (channels->kept_files != NULL) {
		channels->kept_files_ops->drop_all(channels);
	}
}

/* Receivers of these descriptors will find none. */
static void close_transits(struct gy_channels *channels)
{
	(void)pthread_mutex_lock(&channels->mutex);
	for (struct gy_list *item = channels->transits.next; item != &channels->transits;
	     item = item->next) {
		struct gy_fd_transit *transit = gy_container_of(item, struct gy_fd_transit, item);

		if (transit->connection) {
			channels->unclaimed -= transit->fd >= 0;
			gy_channels_drop(channels, transit->fd);
		} else {
			gy_channels_close(channels, transit->fd);
		}
		transit->fd = -1;
	}
	(void)pthread_mutex_unlock(&channels->mutex);
}

void gy_channels_fini(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);
	struct gy_pool *pools[POOLS];
	bool buffers_lost;

	if (channels == NULL) {
		return;
	}
	if (channels->kept_files != NULL) {
		channels->kept_files_ops->fini(channels);
	}
	report_lent(channels);
	buffers_lost = has_lost_buffers(channels);
	if (buffers_lost) {
		gy_buffer_leaks_log(&channels->pools);
	}
	pools_of(channels, pools);
	for (size_t i = 0; i < gy_countof(pools); i++) {
		uint32_t lost = (uint32_t)gy_pool_fini(pools[i]);

		if (!buffers_lost) {
			report(channels, pools[i], lost);
		}
	}
	fini_datagrams(channels);
	close_transits(channels);
	while (!gy_list_empty(&channels->transits)) {
		struct gy_fd_transit *transit =
			gy_container_of(channels->transits.next, struct gy_fd_transit, item);

		gy_list_remove(&transit->item);
		transit->discard(channels, transit);
	}
	(void)pthread_mutex_destroy(&channels->mutex);
	gy_channel_mailboxes_fini(&channels->mailboxes);
	gy_memory_put(channels->file_memory);
	gy_memory_put(channels->ring_pages);
	gy_memory_put(channels);
	home->loop.own_channels = NULL;
}

/* ---- transits ---- */

void gy_channels_close(struct gy_channels *channels, int fd)
{
	int r = fd < 0 ? 0 : gy_descriptor_close(fd);

	if (r < 0) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_WARNING,
		       "loop %u: closing a socket failed: %s", (unsigned)channels->home->loop.index,
		       strerror(-r));
	}
}

void gy_channels_drop(struct gy_channels *channels, int fd)
{
	if (fd >= 0) {
		gy_channels_close(channels, fd);
		gy_channels_count_closed(channels);
	}
}

void gy_fd_transit_begin(struct gy_channels *channels, struct gy_fd_transit *transit)
{
	(void)pthread_mutex_lock(&channels->mutex);
	gy_list_append(&channels->transits, &transit->item);
	(void)pthread_mutex_unlock(&channels->mutex);
}

int gy_fd_transit_end(struct gy_channels *channels, struct gy_fd_transit *transit)
{
	int fd;

	(void)pthread_mutex_lock(&channels->mutex);
	gy_list_remove(&transit->item);
	fd = transit->fd;
	(void)pthread_mutex_unlock(&channels->mutex);
	return fd;
}

/* ---- what the floors below and above call ---- */

static bool trim(struct gy_loop *loop, uint32_t keep)
{
	struct gy_channels *channels = gy_channels_of(gy_home_of(loop));
	struct gy_pool *pools[POOLS];
	bool again = false;

	pools_of(channels, pools);
	for (size_t i = 0; i < gy_countof(pools); i++) {
		again = gy_pool_trim(pools[i], keep) || again;
	}
	if (channels->datagrams != NULL) {
		again = channels->datagrams_ops->trim(channels, keep) || again;
	}
	/* Addresses in use ask for no other look: an idle socket keeps that of its last sender. */
	(void)gy_address_table_trim(&channels->pools.addresses);
	return again;
}

typedef void (*endpoint_fn)(struct gy_endpoint *endpoint);

static void for_each(struct gy_channels *channels, endpoint_fn call)
{
	for (struct gy_list *owner = channels->owners.next; owner != &channels->owners;
	     owner = owner->next) {
		struct gy_endpoints *endpoints = gy_container_of(owner, struct gy_endpoints, item);

		for (struct gy_list *item = endpoints->open.next; item != &endpoints->open;
		     item = item->next) {
			struct gy_endpoint *endpoint =
				gy_container_of(item, struct gy_endpoint, item);

			if (!endpoint->ops->of_actor) {
				call(endpoint);
			}
		}
	}
}

static void drain_one(struct gy_endpoint *endpoint)
{
	endpoint->ops->drain(endpoint);
}

static void abort_one(struct gy_endpoint *endpoint)
{
	gy_endpoint_abort(endpoint, -ESHUTDOWN);
}

static void set_one_busy(struct gy_endpoint *endpoint)
{
	if (endpoint->ops->set_busy != NULL) {
		endpoint->ops->set_busy(endpoint, endpoint->owner->channels->busy);
	}
}

void gy_channels_update_limits(struct gy_home *home)
{
	for_each(gy_channels_of(home), set_one_busy);
}

void gy_channels_set_busy(struct gy_home *home, bool busy)
{
	gy_channels_of(home)->busy = busy;
	if (busy) {
		drop_kept_files(gy_channels_of(home));
	}
	gy_channels_update_limits(home);
}

static void close_door(struct gy_endpoint *endpoint)
{
	if (endpoint->ops->is_door) {
		endpoint->ops->drain(endpoint);
	}
}

static void close_doors(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);

	channels->doors_closed = true;
	for_each(channels, close_door);
}

static void drain(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);

	channels->doors_closed = true;
	channels->draining = true;
	for_each(channels, drain_one);
}

static void abort_all(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);

	channels->doors_closed = true;
	channels->draining = true;
	channels->aborted = true;
	close_transits(channels);
	for_each(channels, abort_one);
}

static void leave_one(struct gy_endpoint *endpoint)
{
	if (endpoint->ops->leave != NULL) {
		endpoint->ops->leave(endpoint);
	}
}

static void leave(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);

	channels->leaving = true;
	for_each(channels, leave_one);
}

static void rest(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);

	drop_kept_files(channels);
	fini_datagrams(channels); /* its buffers are the ring's */
	report_lent(channels);
	gy_ring_shut(channels->pools.ring);
}

static void resume(struct gy_home *home)
{
	struct gy_channels *channels = gy_channels_of(home);

	channels->doors_closed = false;
	channels->draining = false;
	channels->aborted = false;
	channels->leaving = false;
	find_ring_pages(channels);
}

static uint32_t open_count(const struct gy_home *home)
{
	const struct gy_channels *channels = gy_channels_of(home);

	return channels->open + channels->unclaimed + channels->zero_copies_count;
}

const struct gy_channel_ops gy_channel_ops = {
	.run = gy_endpoints_run,
	.stop = gy_endpoints_stop,
	.fini = gy_endpoints_fini,
	.came_home = gy_endpoints_came_home,
	.trim = trim,
	.close_doors = close_doors,
	.drain = drain,
	.abort = abort_all,
	.open_count = open_count,
	.leave = leave,
	.rest = rest,
	.resume = resume,
	.put = gy_channel_mailbox_put,
	.begin = gy_channel_actor_begin,
	.hold = gy_channel_actor_hold,
	.release = gy_channel_actor_release,
	.returned = gy_channel_actor_returned,
};
