/*
 * Pages for frames, taken from those that the loop keeps; see frame_page.h. The first of them that
 * is free is taken, so that few are in use and those are warm.
 */
#include "remote/link/frame_page.h"

#include <errno.h>

#include "buffer/buffer.h"
#include "channel/channels.h"
#include "remote/link/link.h"
#include "remote/link/links.h"

enum {
	SHEET_BYTES = 16 * 1024,
	COPY_BYTES_MAX = 1024, /* of what is not worth a page */
};

/* A page of which no slice is, and its references with that of the link. NULL without memory. */
static struct gy_page *take_page(struct gy_links *links, size_t bytes, uint32_t *ret_references)
{
	struct gy_frame_pages *frame_pages = &links->frame_pages;
	struct gy_page *page;

	for (uint32_t i = 0; bytes <= SHEET_BYTES && i < frame_pages->count; i++) {
		page = frame_pages->pages[i];
		if (page->references == 1) {
			gy_page_ref(page);
			*ret_references = 2;
			return page;
		}
	}
	page = gy_page_get_of(&gy_channels_of(links->home)->pools,
			      bytes <= SHEET_BYTES ? SHEET_BYTES : (uint32_t)bytes);
	if (page == NULL) {
		return NULL;
	}
	page->used = page->bytes; /* no slice grows there */
	*ret_references = 1;
	if (bytes <= SHEET_BYTES && frame_pages->count < GY_FRAME_PAGES_KEPT) {
		frame_pages->pages[frame_pages->count++] = page;
		gy_page_ref(page);
		*ret_references = 2;
	}
	return page;
}

static int add_slice(struct gy_link *link, const struct gy_frame_page *frame_page, size_t bytes)
{
	int r;

	gy_page_ref(frame_page->page);
	r = gy_buffer_add_slice(link->out, &(struct gy_slice){ .bytes = frame_page->begin,
							       .page = frame_page->page,
							       .count = (uint32_t)bytes });
	if (r < 0) {
		gy_page_unref(&gy_channels_of(link->links->home)->pools, frame_page->page);
	}
	return r;
}

int gy_frame_page_commit(struct gy_link *link, struct gy_frame_page *frame_page)
{
	size_t bytes = (size_t)(frame_page->at - frame_page->begin);
	int r;

	if (bytes == 0) {
		return 0;
	}
	if (link->out == NULL) {
		link->out = gy_buffer_get(&gy_channels_of(link->links->home)->pools);
	}
	if (link->out == NULL) {
		return -ENOMEM;
	}
	r = bytes <= COPY_BYTES_MAX ? gyre_buffer_append(link->out, frame_page->begin, bytes)
				    : add_slice(link, frame_page, bytes);
	if (r == 0) {
		frame_page->begin = frame_page->at;
	}
	return r;
}

void gy_frame_page_drop(struct gy_link *link, struct gy_frame_page *frame_page)
{
	link->direct_end = NULL;
	if (frame_page->page != NULL) {
		gy_page_unref(&gy_channels_of(link->links->home)->pools, frame_page->page);
		*frame_page = (struct gy_frame_page){ 0 };
	}
}

unsigned char *gy_frame_page_replace(struct gy_link *link, struct gy_frame_page *frame_page,
				     size_t bytes)
{
	struct gy_page *page;
	uint32_t references;

	if (gy_frame_page_commit(link, frame_page) < 0) {
		return NULL;
	}
	gy_frame_page_drop(link, frame_page);
	page = take_page(link->links, bytes, &references);
	if (page == NULL) {
		return NULL;
	}
	*frame_page = (struct gy_frame_page){ .page = page,
					      .begin = page->memory,
					      .at = page->memory,
					      .end = page->memory + page->bytes,
					      .references = references };
	return frame_page->at;
}

/* Channels have ended, and with them all slices; so have the links. */
void gy_frame_pages_fini(struct gy_frame_pages *frame_pages)
{
	while (frame_pages->count > 0) {
		gy_page_unref(NULL, frame_pages->pages[--frame_pages->count]);
	}
}
