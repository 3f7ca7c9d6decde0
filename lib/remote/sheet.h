/*
 * Where frames are written before the channel has them: a sheet is a page of its own for each link
 * that says something, large enough that many frames lie behind each other and that none but the
 * very large needs another one. What is on it goes to link->out as one slice; few bytes are copied
 * there, so that they do not hold the whole page.
 *
 * Pages are kept by the loop and go round among its links. The count of references tells whose a
 * page is: one is the keeper's, one the link's that writes, the rest are of slices that the channel
 * has.
 */
#ifndef GY_REMOTE_SHEET_H
#define GY_REMOTE_SHEET_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "channel/page.h"

struct gy_association;
struct gy_links;

enum { GY_SHEETS_KEPT = 8 };

/* The pages that a loop keeps. */
struct gy_sheets {
	struct gy_page *pages[GY_SHEETS_KEPT];
	uint32_t count;
};

struct gy_sheet {
	struct gy_page *page; /* NULL for none, and then all are */
	unsigned char *begin; /* of what link->out does not have */
	unsigned char *at;
	unsigned char *end;
	uint32_t references; /* of its page, when no slice has any */
};

/* A fresh one, or NULL without memory; what was written before is in link->out then. */
unsigned char *gy_sheet_turn(struct gy_association *link, struct gy_sheet *sheet, size_t bytes);
/* What has been written goes to the end of link->out. -ENOMEM, and it stays where it is. */
int gy_sheet_commit(struct gy_association *link, struct gy_sheet *sheet);
/* Its page goes, and what is written there. */
void gy_sheet_drop(struct gy_association *link, struct gy_sheet *sheet);
void gy_sheets_fini(struct gy_sheets *sheets);

/* Room for @bytes that lie together; NULL without memory. */
static inline unsigned char *gy_sheet_reserve(struct gy_association *link, struct gy_sheet *sheet,
					      size_t bytes)
{
	if (gy_unlikely((size_t)(sheet->end - sheet->at) < bytes)) {
		return gy_sheet_turn(link, sheet, bytes);
	}
	return sheet->at;
}

/* Nothing is written there, and no slice has any of it. */
static inline bool gy_sheet_is_idle(const struct gy_sheet *sheet)
{
	return sheet->page != NULL && sheet->begin == sheet->at &&
	       sheet->page->references == sheet->references;
}

/* Begins at the front again, if nobody has anything there any more: that is in the cache. */
static inline void gy_sheet_rewind(struct gy_sheet *sheet)
{
	if (gy_sheet_is_idle(sheet)) {
		sheet->begin = sheet->page->memory;
		sheet->at = sheet->page->memory;
	}
}

#endif
