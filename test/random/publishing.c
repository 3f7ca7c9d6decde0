/*
 * The event stream: actors come to topics and leave them, publish, and hear. Topic 0 is that
 * without a key, to which all is published that is published to another.
 */
#include <errno.h>

#include "random.h"

enum { WAITING_FEW = 2 };

static struct gyre_event_key key_of(const uint32_t *topic)
{
	const struct gyre_event_key key = { topic, *topic == 0 ? 0 : sizeof(*topic) };

	return key;
}

void subscribe(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t topic = draw(&self->random, TOPICS);
	const struct gyre_subscribe_options options = { .waiting_max =
								topic % 2 == 0 ? 0 : WAITING_FEW,
							.tag = topic };
	int r = gyre_subscribe(stack, &gyre_type_rumour, key_of(&topic), &options);

	trace(self->life, "subscribes to", topic, (uint64_t)r);
	must(self->world, self->life, r == 0 || (r == -ENOMEM && self->world->plan.lean), "%d", r);
	if (r == 0) {
		self->topics |= 1U << topic;
		self->topics_ever |= 1U << topic;
	}
}

void unsubscribe(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t topic = draw(&self->random, TOPICS);
	bool has = (self->topics >> topic & 1) != 0;
	int r = gyre_unsubscribe(stack, &gyre_type_rumour, key_of(&topic));

	trace(self->life, "wants no more of", topic, (uint64_t)r);
	must(self->world, self->life, r == (has ? 0 : -ENOENT), "%d", r);
	self->topics &= ~(1U << topic);
}

void publish(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint32_t topic = draw(&self->random, TOPICS);
	int r = gyre_publish(stack,
			     gyre_new(stack, rumour, .topic = topic, .from = self->life,
				      .number = ++world->lives[self->life].published),
			     key_of(&topic));

	trace(self->life, "publishes to", topic, (uint64_t)r);
	must(world, self->life, r >= 0 || (r == -ENOMEM && world->plan.lean), "%d", r);
	if (r > 0) {
		(void)gy_add_relaxed(&world->rumours, (uint64_t)r);
	}
}

void rumour_ends(struct world *world)
{
	(void)gy_add_relaxed(&world->rumours, UINT64_MAX);
}

/* One that is known to come from the same publisher must not be older than the last. */
void expect_rumour(struct self *self, const struct rumour *rumour)
{
	uint32_t wanted = 1U | 1U << rumour->topic;
	struct heard *heard = &self->heard[rumour->from % HEARD];
	bool twice = (self->topics_ever & wanted) == wanted && rumour->topic != 0;

	rumour_ends(self->world);
	trace(self->life, "hears of", rumour->topic, rumour->number);
	must(self->world, self->life, (self->topics & wanted) != 0, "topic %u", rumour->topic);
	if (heard->from == rumour->from) {
		must(self->world, self->life,
		     rumour->number > heard->number || (twice && rumour->number == heard->number),
		     "%u after %u of %u", rumour->number, heard->number, rumour->from);
	}
	*heard = (struct heard){ rumour->from, rumour->number };
}

void expect_missed(struct self *self, const struct gyre_events_missed *missed)
{
	trace(self->life, "has missed", missed->tag, missed->count);
	must(self->world, self->life,
	     missed->count > 0 && missed->type_id == gyre_type_rumour.id && missed->tag < TOPICS &&
		     (self->topics >> missed->tag & 1) != 0);
}
