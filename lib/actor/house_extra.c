/*
 * Building the extra parts of houses and pulling them down. They come from the pools, so that a
 * house that needs one again and again asks the heap once.
 */
#include "actor/house_extra.h"

#include "actor/home.h"
#include "actor/stack/cause.h"

struct gy_house_extra *gy_house_extra_build(struct gy_house *house)
{
	struct gy_house_extra *extra = house->extra;

	if (extra == NULL) {
		extra = (struct gy_house_extra *)gy_sizes_new(&house->home->parts, sizeof(*extra));
	}
	if (extra != NULL && house->extra == NULL) {
		*extra = (struct gy_house_extra){ 0 };
		house->extra = extra;
	}
	return extra;
}

void gy_house_extra_fini(struct gy_house *house)
{
	if (house->extra != NULL) {
		gy_cause_unref(house->extra->cause);
		gy_sizes_delete(&house->home->parts, house->extra, sizeof(*house->extra));
		house->extra = NULL;
	}
}
