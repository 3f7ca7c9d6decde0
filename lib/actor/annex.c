/*
 * Building annexes and pulling them down. They come from the pools, so that a house that needs one
 * again and again asks the heap once.
 */
#include "actor/annex.h"

struct gy_annex *gy_annex_build(struct gy_house *house)
{
	struct gy_annex *annex = house->annex;

	if (annex == NULL) {
		annex = (struct gy_annex *)gy_sizes_new(&house->home->parts, sizeof(*annex));
	}
	if (annex != NULL && house->annex == NULL) {
		*annex = (struct gy_annex){ 0 };
		house->annex = annex;
	}
	return annex;
}

void gy_annex_fini(struct gy_house *house)
{
	if (house->annex != NULL) {
		gy_sizes_delete(&house->home->parts, house->annex, sizeof(*house->annex));
		house->annex = NULL;
	}
}
