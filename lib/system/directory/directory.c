/*
 * The life of a directory, the entries of actors in it, and what homes call.
 */
#include "system/directory/directory.h"

#include <errno.h>

#include "base/memory/memory.h"
#include "system/directory/group_keeper.h"
#include "system/system.h"

/* ---- the directory ---- */

struct gy_directory *gy_directory_create(const struct gy_homes *homes)
{
	struct gy_directory *directory = (struct gy_directory *)gy_memory_get(sizeof(*directory));

	if (directory == NULL) {
		return NULL;
	}
	gy_rcu_init(&directory->rcu);
	gy_groups_init(&directory->groups, homes, &directory->rcu);
	if (gy_names_init(&directory->names, &directory->rcu) < 0 ||
	    gy_topics_init(&directory->topics, &directory->rcu) < 0 ||
	    gy_services_init(&directory->services, &directory->rcu) < 0) {
		gy_directory_destroy(directory);
		return NULL;
	}
	return directory;
}

void gy_directory_destroy(struct gy_directory *directory)
{
	if (directory == NULL) {
		return;
	}
	gy_services_empty(&directory->services);
	gy_rcu_fini(&directory->rcu);
	gy_names_fini(&directory->names);
	gy_topics_fini(&directory->topics);
	gy_services_fini(&directory->services);
	gy_groups_fini(&directory->groups);
	gy_memory_put(directory);
}

/* ---- entries ---- */

int gy_directory_entry_get(struct gy_house *house, struct gy_directory_entry **ret_entry)
{
	struct gy_house_extra *extra;

	if (house->status == GY_HOUSE_STOPPING) {
		return -ESHUTDOWN; /* its channels still run handlers, but it has left */
	}
	extra = gy_house_extra_get(house);
	if (extra != NULL && extra->directory_entry == NULL) {
		extra->directory_entry = (struct gy_directory_entry *)gy_memory_get(
			sizeof(struct gy_directory_entry));
	}
	if (extra == NULL || extra->directory_entry == NULL) {
		return -ENOMEM;
	}
	*ret_entry = extra->directory_entry;
	return 0;
}

void gy_directory_entry_withdraw(struct gy_house *house)
{
	struct gy_directory *directory = house->home->options.system->directory;
	struct gy_directory_entry *directory_entry = gy_directory_entry_of(house);
	bool was_member = directory_entry->services.next != NULL &&
			  !gy_list_empty(&directory_entry->services);

	gy_names_withdraw(&directory->names, directory_entry->names);
	gy_groups_withdraw(&directory->groups, house, directory_entry->memberships);
	gy_subscriptions_withdraw(&directory->topics, house, &directory_entry->subscriptions);
	gy_services_withdraw(&directory->services, directory_entry);
	if (was_member) {
		gy_services_tell(house->home->options.system, house->home);
	}
	gy_memory_put(directory_entry);
	house->extra->directory_entry = NULL;
}

/* ---- what is published ---- */

/* Listings are not published, but wait as what is. */
static bool claim(struct gy_house *house, struct gyre_mail *mail)
{
	return mail->type->id == GYRE_ID(gyre_listing) ? gy_listing_claim(mail)
						       : gy_event_claim(house, mail);
}

static void lose(const struct gyre_mail *mail)
{
	if (mail->type->id == GYRE_ID(gyre_listing)) {
		gy_listing_lost(mail);
	} else {
		gy_event_lost(mail);
	}
}

const struct gy_directory_ops gy_directory_ops = {
	.route = gy_group_route,
	.enlist = gy_group_enlist,
	.refuse = gy_group_refuse,
	.crowded = gy_group_crowded,
	.withdraw = gy_directory_entry_withdraw,
	.name = gy_name_reserve,
	.take_name = gy_name_take,
	.name_of = gy_name_of,
	.claim_event = claim,
	.lose_event = lose,
	.publish = gy_publish_own,
};
