/*
 * Pages for frames, taken from those that the loop keeps; see sheet.h. The first of them that is
 * free is taken, so that few are in use and those are warm.
 */
#include "remote/sheet.h"

#include <errno.h>

#include "channel/buffer.h"
#include "remote/remote.h"

enum {
	SHEET_BYTES = 16 * 1024,
	COPY_BYTES_MAX = 1024, /* of what is not worth a page */
};

/* A page of which no slice is, and its references with that of the link. NULL without memory. */
static struct gy_page *take_page(struct gy_links *links, size_t bytes, uint32_t *ret_references)
{
	struct gy_sheets *sheets = &links->sheets;
	struct gy_page *page;

	for (uint32_t i = 0; bytes <= SHEET_BYTES && i < sheets->count; i++) {
		page = sheets->pages[i];
		if (page->references == 1) {
			gy_page_ref(page);
			*ret_references = 2;
			return page;
		}
	}
	page = gy_page_get_of(gy_channels_of(links->home),
			      bytes <= SHEET_BYTES ? SHEET_BYTES : (uint32_t)bytes);
	if (page == NULL) {
		return NULL;
	}
	page->used = page->bytes; /* no slice grows there */
	*ret_references = 1;
	if (bytes <= SHEET_BYTES && sheets->count < GY_SHEETS_KEPT) {
		sheets->pages[sheets->count++] = page;
		gy_page_ref(page);
		*ret_references = 2;
	}
	return page;
}

static int add_slice(struct gy_association *link, const struct gy_sheet *sheet, size_t bytes)
{
	int r;

	gy_page_ref(sheet->page);
	r = gy_buffer_add_slice(link->out, &(struct gy_slice){ .bytes = sheet->begin,
							       .page = sheet->page,
							       .count = (uint32_t)bytes });
	if (r < 0) {
		gy_page_unref(gy_channels_of(link->links->home), sheet->page);
	}
	return r;
}

int gy_sheet_commit(struct gy_association *link, struct gy_sheet *sheet)
{
	size_t bytes = (size_t)(sheet->at - sheet->begin);
	int r;

	if (bytes == 0) {
		return 0;
	}
	if (link->out == NULL) {
		link->out = gy_buffer_get(gy_channels_of(link->links->home));
	}
	if (link->out == NULL) {
		return -ENOMEM;
	}
	r = bytes <= COPY_BYTES_MAX ? gyre_buffer_append(link->out, sheet->begin, bytes)
				    : add_slice(link, sheet, bytes);
	if (r == 0) {
		sheet->begin = sheet->at;
	}
	return r;
}

void gy_sheet_drop(struct gy_association *link, struct gy_sheet *sheet)
{
	if (sheet->page != NULL) {
		gy_page_unref(gy_channels_of(link->links->home), sheet->page);
		*sheet = (struct gy_sheet){ 0 };
	}
}

unsigned char *gy_sheet_turn(struct gy_association *link, struct gy_sheet *sheet, size_t bytes)
{
	struct gy_page *page;
	uint32_t references;

	if (gy_sheet_commit(link, sheet) < 0) {
		return NULL;
	}
	gy_sheet_drop(link, sheet);
	page = take_page(link->links, bytes, &references);
	if (page == NULL) {
		return NULL;
	}
	*sheet = (struct gy_sheet){ .page = page,
				    .begin = page->memory,
				    .at = page->memory,
				    .end = page->memory + page->bytes,
				    .references = references };
	return sheet->at;
}

/* Channels have ended, and with them all slices; so have the links. */
void gy_sheets_fini(struct gy_sheets *sheets)
{
	while (sheets->count > 0) {
		gy_page_unref(NULL, sheets->pages[--sheets->count]);
	}
}
