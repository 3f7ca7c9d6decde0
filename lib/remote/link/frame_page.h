/*
 * Where frames are written before the channel has them: a frame page is a page of its own for each
 * link that says something, large enough that many frames lie behind each other and that none but
 * the very large needs another one. What is on it goes to link->out as one slice; few bytes are
 * copied there, so that they do not hold the whole page.
 *
 * Pages are kept by the loop and go round among its links. The count of references tells whose a
 * page is: one is the keeper's, one the link's that writes, the rest are of slices that the channel
 * has.
 */
#ifndef GY_REMOTE_LINK_FRAME_PAGE_H
#define GY_REMOTE_LINK_FRAME_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "buffer/page.h"

struct gy_link;
struct gy_links;

enum { GY_FRAME_PAGES_KEPT = 8 };

/* The pages that a loop keeps. */
struct gy_frame_pages {
	struct gy_page *pages[GY_FRAME_PAGES_KEPT];
	uint32_t count;
};

struct gy_frame_page {
	struct gy_page *page; /* NULL for none, and then all are */
	unsigned char *begin; /* of what link->out does not have */
	unsigned char *at;
	unsigned char *end;
	uint32_t references; /* of its page, when no slice has any */
};

/* A fresh one, or NULL without memory; what was written before is in link->out then. */
unsigned char *gy_frame_page_replace(struct gy_link *link, struct gy_frame_page *frame_page,
				     size_t bytes);
/* Moves what was written to the end of link->out. On -ENOMEM it stays where it is. */
int gy_frame_page_commit(struct gy_link *link, struct gy_frame_page *frame_page);
/* Its page goes, and what is written there. */
void gy_frame_page_drop(struct gy_link *link, struct gy_frame_page *frame_page);
void gy_frame_pages_fini(struct gy_frame_pages *frame_pages);

/* Room for @bytes that lie together; NULL without memory. */
static inline unsigned char *gy_frame_page_reserve(struct gy_link *link,
						   struct gy_frame_page *frame_page, size_t bytes)
{
	if (gy_unlikely((size_t)(frame_page->end - frame_page->at) < bytes)) {
		return gy_frame_page_replace(link, frame_page, bytes);
	}
	return frame_page->at;
}

/* Nothing is written there, and no slice has any of it. */
static inline bool gy_frame_page_is_idle(const struct gy_frame_page *frame_page)
{
	return frame_page->page != NULL && frame_page->begin == frame_page->at &&
	       frame_page->page->references == frame_page->references;
}

/* Begins at the front again, if nobody has anything there any more: that is in the cache. */
static inline void gy_frame_page_rewind(struct gy_frame_page *frame_page)
{
	if (gy_frame_page_is_idle(frame_page)) {
		frame_page->begin = frame_page->page->memory;
		frame_page->at = frame_page->page->memory;
	}
}

#endif
