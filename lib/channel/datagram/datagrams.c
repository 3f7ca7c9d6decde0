/*
 * The memory that the datagram channels of a loop share: the pages of the ring's large buffers, the
 * queue of channels that wait for one, and the pools of channels and sends. A loop that never opens
 * a datagram channel has none of it.
 *
 * The memory is bounded by the number of buffers times the size of the largest datagram; parts that
 * small datagrams never touched are not resident. As with streams the pages are lent, and when
 * three quarters of them are lent arriving datagrams are copied, so that a program that keeps
 * datagrams does not stop the others.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "channel/datagram/datagram.h"

enum { LENT_QUARTERS_MAX = 3 };

/*
 * Each page begins with the head that the kernel writes before a datagram: nothing is appended
 * there.
 */
static void make_pages(struct gy_channels *channels, struct gy_datagrams *datagrams)
{
	for (uint32_t i = 0; i < datagrams->count; i++) {
		uint16_t number = (uint16_t)(GY_RING_DATAGRAM_BUFFERS + i);

		datagrams->pages[i] = (struct gy_page){
			.number = number,
			.of_datagrams = true,
			.memory = (unsigned char *)gy_ring_buffer(channels->pools.ring, number),
		};
	}
}

static struct gy_datagrams *make(struct gy_channels *channels)
{
	uint32_t count = channels->options.datagram_buffer_count;
	struct gy_datagrams *datagrams =
		(struct gy_datagrams *)gy_memory_get(sizeof(struct gy_datagrams));
	struct gy_page *pages = (struct gy_page *)gy_memory_get(count * sizeof(struct gy_page));
	int r = datagrams == NULL || pages == NULL ? -ENOMEM : 0;

	if (r == 0) {
		r = gy_ring_add_datagram_buffers(channels->pools.ring, count,
						 channels->options.datagram_buffer_bytes);
	}
	if (r < 0) {
		gy_memory_put(pages);
		gy_memory_put(datagrams);
		return NULL;
	}
	datagrams->pages = pages;
	datagrams->count = count;
	datagrams->lent_max = count / 4 * LENT_QUARTERS_MAX;
	gy_list_init(&datagrams->waiters);
	gy_pool_init(&datagrams->channels, "datagram channel", sizeof(struct gy_datagram));
	gy_pool_init(&datagrams->sends, "datagram send", sizeof(struct gy_datagram_send));
	gy_pool_init(&datagrams->gathers, "datagram gather", sizeof(struct gy_datagram_gather));
	make_pages(channels, datagrams);
	return datagrams;
}

static void report(const struct gy_channels *channels, const char *name, uint32_t lost)
{
	if (lost > 0) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: objects of datagram channels never freed, of kind %s: %u; if no "
		       "buffers were lost that had them, it is a fault of gyre, please report it",
		       (unsigned)channels->home->loop.index, name, lost);
	}
}

static void fini(struct gy_channels *channels)
{
	struct gy_datagrams *datagrams = channels->datagrams;

	report(channels, "datagram channel", (uint32_t)gy_pool_fini(&datagrams->channels));
	report(channels, "datagram send", (uint32_t)gy_pool_fini(&datagrams->sends));
	report(channels, "datagram gather", (uint32_t)gy_pool_fini(&datagrams->gathers));
	report(channels, "datagram buffer", datagrams->lent);
	gy_memory_put(datagrams->pages);
	gy_memory_put(datagrams);
	channels->datagrams = NULL;
}

static bool trim(struct gy_channels *channels, uint32_t keep)
{
	struct gy_datagrams *datagrams = channels->datagrams;
	bool again = gy_pool_trim(&datagrams->channels, keep);

	again = gy_pool_trim(&datagrams->sends, keep) || again;
	return gy_pool_trim(&datagrams->gathers, keep) || again;
}

void gy_datagrams_wake_waiter(struct gy_datagrams *datagrams)
{
	struct gyre_channel *channel =
		gy_container_of(datagrams->waiters.next, struct gyre_channel, waiter);

	gy_channel_remove_no_read(channel, GY_NO_READ_WAITS_FOR_BUFFER);
	gy_list_remove(&channel->waiter);
	gy_channel_ready(channel);
}

/* The last slice of a page of theirs is gone. */
static void page_returned(struct gy_buffer_pools *pools, struct gy_page *page)
{
	struct gy_datagrams *datagrams =
		gy_container_of(pools, struct gy_channels, pools)->datagrams;

	gy_assert(datagrams->lent > 0 && page->of_datagrams);
	datagrams->lent--;
	if (gy_unlikely(!gy_list_empty(&datagrams->waiters))) {
		gy_datagrams_wake_waiter(datagrams); /* to try again in phase 2 */
	}
	gy_ring_buffer_return(pools->ring, page->number);
}

static const struct gy_datagrams_ops datagrams_ops = {
	.fini = fini,
	.trim = trim,
};

struct gy_datagrams *gy_datagrams_of(struct gy_channels *channels)
{
	if (channels->datagrams == NULL) {
		channels->pools.datagram_page_returned = page_returned;
		channels->datagrams_ops = &datagrams_ops;
		channels->datagrams = make(channels);
	}
	return channels->datagrams;
}
