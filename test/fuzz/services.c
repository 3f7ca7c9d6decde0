/*
 * What other nodes may say of their services: reports of any bytes, of two nodes in two lives each,
 * with losses of nodes between them. What is no report changes nothing; what is known is where the
 * node was, where the report ends, or the beginning; a report that is taken twice is as one that is
 * taken once; all members are of the nodes and lives that told of them; and of a node that is lost
 * nothing is left.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "remote/message/service_report.h"
#include "system/directory/services.h"

enum { NODES = 2, LIVES = 2, LOST = 1 << 6, TWICE = 1 << 7 };

static struct gy_service_node *node_of(const struct gy_services *services, uint16_t id)
{
	for (struct gy_list *at = services->nodes.next; at != &services->nodes; at = at->next) {
		struct gy_service_node *node = gy_container_of(at, struct gy_service_node, item);

		if (node->id == id) {
			return node;
		}
	}
	return NULL;
}

/* The members of a node, each of which is found in its service. */
static uint32_t check_members(const struct gy_services *services,
			      const struct gy_service_node *node)
{
	uint32_t count = 0;

	for (struct gy_list *at = node->members.next; at != &node->members; at = at->next) {
		const struct gy_service_member *member =
			gy_container_of(at, const struct gy_service_member, mine);
		const struct gy_service_list *list = member->service->foreign;
		uint32_t times = 0;

		fuzz_require(member->address.node == node->id && member->address.life == node->life,
			     "a member of another life");
		fuzz_require(member->address.cookie != 0 && member->service->bytes > 0,
			     "nobody, or a service without a name");
		for (uint32_t i = 0; list != NULL && i < list->count; i++) {
			times += list->places[i].member == member &&
				 memcmp(&list->places[i].address, &member->address,
					sizeof(member->address)) == 0;
		}
		fuzz_require(times == 1, "a member is not listed once");
		count++;
	}
	fuzz_require(count == node->count, "members are miscounted");
	(void)services;
	return count;
}

static uint32_t check_all(const struct gy_services *services)
{
	uint32_t count = 0;

	for (struct gy_list *at = services->nodes.next; at != &services->nodes; at = at->next) {
		count += check_members(services, gy_container_of(at, struct gy_service_node, item));
	}
	fuzz_require(count == services->count, "a member of no node");
	return count;
}

static void take(struct gy_services *services, uint16_t id, uint32_t life, const uint8_t *bytes,
		 uint32_t bytes_count)
{
	const struct gy_service_node *node = node_of(services, id);
	struct gyre_decoder in = { .at = bytes, .left = bytes_count };
	struct gy_service_report_head head = { 0 };
	uint64_t before = node == NULL || node->life != life ? 0 : node->known;
	uint32_t count = check_all(services);
	uint64_t known = UINT64_MAX;
	int r = gy_services_take_report(services, id, life, bytes, bytes_count, &known);

	(void)gy_service_report_get_head(&in, &head);
	fuzz_require(r == 0 || r == -EPROTO, "no such result");
	if (r < 0) {
		fuzz_require(check_all(services) == count && known == UINT64_MAX,
			     "what is no report has changed something");
		return;
	}
	fuzz_require(known == before || known == head.to, "what is known is neither");
	node = node_of(services, id);
	fuzz_require(node != NULL && node->known == known && node->life == life, "it is not kept");
}

static void play(struct gy_services *services, struct fuzz *fuzz)
{
	while (fuzz->count > 0) {
		unsigned what = fuzz_byte(fuzz);
		uint16_t id = (uint16_t)(1 + what % NODES);
		uint32_t life = 1 + what / NODES % LIVES;
		uint32_t count = fuzz_byte(fuzz);

		count = count < fuzz->count ? count : (uint32_t)fuzz->count;
		if ((what & LOST) != 0) {
			gy_services_node_lost(services, id);
			fuzz_require(node_of(services, id) == NULL ||
					     node_of(services, id)->count == 0,
				     "something is left of a node that is lost");
		}
		take(services, id, life, fuzz->bytes, count);
		if ((what & TWICE) != 0) {
			uint32_t members = check_all(services);

			take(services, id, life, fuzz->bytes, count);
			fuzz_require(check_all(services) == members, "the second time changes it");
		}
		fuzz->bytes += count;
		fuzz->count -= count;
	}
}

/* Made once: a grace period at each end would take longer than all else. */
static struct gy_services *make(void)
{
	static struct gy_services services;
	static struct gy_rcu rcu;
	static bool is_made;

	if (!is_made) {
		gy_rcu_init(&rcu);
		fuzz_require(gy_services_init(&services, &rcu) == 0, "no memory");
		is_made = true;
	}
	return &services;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	struct gy_services *services = make();

	play(services, &fuzz);
	(void)check_all(services);
	gy_services_empty(services);
	fuzz_require(services->count == 0, "something is left");
	return 0;
}
