/*
 * Listings. Whoever changes a service posts the task of each of its watches, which needs no memory,
 * to the watcher's loop; that makes a listing of what is there then, unless one still waits in the
 * mailbox. When a listing has its turn and the service has changed since it was made, the task is
 * posted again. So one listing waits at most, and the last one is of the present members.
 */
#include <errno.h>

#include "actor/home.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "system/directory/directory.h"
#include "system/system.h"

static const uint64_t retry_ns = GYRE_MILLISECONDS(1);

/* ---- references ---- */

/* The last one takes it out of what the registry holds. */
static void release(struct gy_service_watch *watch)
{
	struct gy_services *services = watch->services;

	if (gy_fetch_add(&watch->references, UINT32_MAX) != 1) {
		return;
	}
	gy_assert(gy_load_relaxed(&watch->has_ended) != 0);
	(void)pthread_mutex_lock(&services->mutex);
	gy_list_remove(&watch->all);
	gy_service_put(services, watch->service);
	(void)pthread_mutex_unlock(&services->mutex);
	gy_rcu_retire(services->rcu, &watch->item);
}

void gy_service_watch_post(struct gy_service_watch *watch)
{
	if (gy_exchange_full(&watch->is_posted, 1) == 0) {
		(void)gy_fetch_add(&watch->references, 1);
		gy_loop_post_task(&watch->home->loop, &watch->task);
	}
}

/* ---- on the watcher's loop ---- */

/* Members may come meanwhile, for which it has no room: the next listing has them, since the
 * version of this one is from before. NULL without memory. */
static struct gyre_mail *make_listing(struct gy_service_watch *watch)
{
	struct gy_home *home = watch->home;
	struct gyre_system *system = home->options.system;
	uint64_t version = gy_load_acquire(&watch->service->version);
	uint32_t count = gy_service_members(system, home, watch->service, 0, NULL);
	struct gyre_listing *listing;
	struct gyre_mail *mail;

	count = count < GYRE_LISTING_MEMBERS_MAX ? count : GYRE_LISTING_MEMBERS_MAX;
	mail = gy_mail_get_tail(home, &gyre_type_gyre_listing, count);
	if (mail == NULL) {
		return NULL;
	}
	listing = (struct gyre_listing *)gyre_payload(mail);
	listing->version = version;
	listing->tag = gy_load_relaxed(&watch->tag);
	listing->service_id = watch->service->id;
	listing->reserved = 0;
	listing->total = gy_service_members(system, home, watch->service, count, listing->members);
	listing->count = listing->total < count ? listing->total : count;
	if (count < GYRE_LISTING_MEMBERS_MAX) {
		listing->total = listing->count;
	}
	gy_store_relaxed(&watch->told, version);
	return mail;
}

static void retry_later(struct gy_service_watch *watch)
{
	if (!gy_timer_is_started(&watch->retry)) {
		(void)gy_fetch_add(&watch->references, 1);
		gy_timer_start(&watch->home->loop.wheel, &watch->retry, retry_ns);
	}
}

static bool has_news(const struct gy_service_watch *watch)
{
	return gy_load_full(&watch->service->version) != gy_load_relaxed(&watch->told);
}

/* Whether a listing is to be made, which waits from now on. Where one waits already, who takes that
 * looks whether there is news. */
static bool begin_listing(struct gy_service_watch *watch)
{
	if (gy_load_relaxed(&watch->has_ended) != 0) {
		return false;
	}
	while (gy_exchange_full(&watch->is_waiting, 1) == 0) {
		if (has_news(watch)) {
			return true;
		}
		/* It was told already. Who has seen that one waits relies on this look. */
		(void)gy_exchange_full(&watch->is_waiting, 0);
		if (!has_news(watch)) {
			return false;
		}
	}
	return false;
}

static void list(struct gy_service_watch *watch)
{
	struct gyre_mail *mail;
	bool entered;

	if (!begin_listing(watch)) {
		return;
	}
	entered = gy_rcu_enter();
	mail = make_listing(watch);
	gy_rcu_leave(entered);
	if (mail == NULL) {
		gy_store_full(&watch->is_waiting, 0);
		retry_later(watch);
		return;
	}
	(void)gy_fetch_add(&watch->references, 1);
	gy_mail_from_nobody(mail);
	mail->ask_id = (uintptr_t)watch;
	mail->node.kind = GY_MAIL_PUBLISHED;
	(void)gy_send(watch->home, watch->actor, mail, GY_LANE_EVENT);
}

static void run_task(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_service_watch *watch = gy_container_of(task, struct gy_service_watch, task);

	(void)loop;
	(void)gy_exchange_full(&watch->is_posted, 0);
	list(watch);
	release(watch);
}

static void retry(struct gy_timer *timer)
{
	struct gy_service_watch *watch = gy_container_of(timer, struct gy_service_watch, retry);

	list(watch);
	release(watch);
}

/* ---- listings that wait ---- */

/* NULL for one that has had its turn. */
static struct gy_service_watch *watch_of(const struct gyre_mail *mail)
{
	return (struct gy_service_watch *)(uintptr_t)mail->ask_id;
}

/* Whoever changes the service writes its version and posts the task, which looks whether a listing
 * waits; this says that none does, and then looks at the version. One of them sees the other. */
bool gy_listing_claim(struct gyre_mail *mail)
{
	struct gy_service_watch *watch = watch_of(mail);
	bool wanted = gy_load_relaxed(&watch->has_ended) == 0;

	mail->ask_id = 0;
	(void)gy_exchange_full(&watch->is_waiting, 0);
	if (wanted && has_news(watch)) {
		gy_service_watch_post(watch);
	}
	release(watch);
	return wanted;
}

void gy_listing_lost(const struct gyre_mail *mail)
{
	struct gy_service_watch *watch = watch_of(mail);

	if (watch != NULL) {
		(void)gy_exchange_full(&watch->is_waiting, 0);
		release(watch);
	}
}

/* ---- of an actor ---- */

static bool is_of(const struct gy_service *service, const struct gy_service_key *key)
{
	return service->id == key->id && service->bytes == key->bytes &&
	       memcmp(service->name, key->name, key->bytes) == 0;
}

/* Where that of the actor hangs, or NULL. */
static struct gy_service_watch **find_mine(struct gy_directory_entry *entry,
					   const struct gy_service_key *key)
{
	struct gy_service_watch **link = entry == NULL ? NULL : &entry->listings;

	while (link != NULL && *link != NULL && !is_of((*link)->service, key)) {
		link = &(*link)->next;
	}
	return link == NULL || *link == NULL ? NULL : link;
}

static int begin(struct gy_house *house, const struct gy_service_key *key, uint64_t tag,
		 struct gy_directory_entry *entry)
{
	struct gy_services *services = &house->home->options.system->directory->services;
	struct gy_service_watch *watch = (struct gy_service_watch *)gy_memory_get(sizeof(*watch));

	if (watch == NULL) {
		return -ENOMEM;
	}
	gy_assert(entry != NULL);
	watch->services = services;
	watch->actor = gy_house_address(house);
	watch->home = &house->home->options.system->homes.homes[watch->actor.loop]; /* no thief */
	watch->tag = tag;
	watch->told = UINT64_MAX;
	watch->references = 1;
	watch->task = (struct gy_task){ .run = run_task, .embedded = true };
	gy_timer_init(&watch->retry, retry);
	(void)pthread_mutex_lock(&services->mutex);
	watch->service = gy_service_get(services, key);
	if (watch->service != NULL) {
		gy_list_append(&services->watches, &watch->all);
		gy_list_append(&watch->service->watches, &watch->watcher);
		gy_service_watch_post(watch);
	}
	(void)pthread_mutex_unlock(&services->mutex);
	if (watch->service == NULL) {
		gy_memory_put(watch);
		return -ENOMEM;
	}
	watch->next = entry->listings;
	entry->listings = watch;
	return 0;
}

static void end(struct gy_services *services, struct gy_service_watch *watch)
{
	gy_store_relaxed(&watch->has_ended, 1);
	(void)pthread_mutex_lock(&services->mutex);
	gy_list_remove(&watch->watcher);
	(void)pthread_mutex_unlock(&services->mutex);
	release(watch);
}

int gyre_service_watch(struct gyre_stack *stack, const struct gyre_service *service, uint64_t tag)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_directory_entry *entry = NULL;
	struct gy_service_watch **mine;
	struct gy_service_key key;
	int r = gy_service_key_make(&house->home->options.system->directory->services, service,
				    &key);

	if (r == 0) {
		r = gy_directory_entry_get(house, &entry);
	}
	if (r == 0) {
		r = gy_services_take_part(house->home->options.system);
	}
	if (r < 0) {
		return r;
	}
	mine = find_mine(entry, &key);
	if (mine != NULL) {
		gy_store_relaxed(&(*mine)->tag, tag);
		return 0;
	}
	return begin(house, &key, tag, entry);
}

int gyre_service_unwatch(struct gyre_stack *stack, const struct gyre_service *service)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_service_watch **mine;
	struct gy_service_watch *watch;
	struct gy_service_key key;

	if (gy_service_key_make(&house->home->options.system->directory->services, service, &key) <
	    0) {
		return -EINVAL;
	}
	mine = find_mine(gy_directory_entry_of(house), &key);
	if (mine == NULL) {
		return -ENOENT;
	}
	watch = *mine;
	*mine = watch->next;
	end(&house->home->options.system->directory->services, watch);
	return 0;
}

void gy_service_watches_withdraw(struct gy_services *services, struct gy_service_watch *first)
{
	while (first != NULL) {
		struct gy_service_watch *next = first->next;

		end(services, first);
		first = next;
	}
}

void gy_service_watches_free(struct gy_services *services)
{
	while (!gy_list_empty(&services->watches)) {
		struct gy_service_watch *watch =
			gy_container_of(services->watches.next, struct gy_service_watch, all);

		gy_assert(watch->has_ended != 0);
		gy_list_remove(&watch->all);
		gy_service_put(services, watch->service);
		gy_rcu_retire(services->rcu, &watch->item);
	}
}
