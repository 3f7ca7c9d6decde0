/*
 * Atomic operations, store buffers, and what vector clocks learn from them.
 *
 * A store to a shared location goes into the thread's buffer. It is committed by the thread itself
 * when it must be, which is a step of its own; or before a step of another thread that accesses the
 * same location, which then has the choice of how many of the waiting stores it sees. To commit at
 * any other moment would make no difference to anybody.
 */
#include "memory.h"

#include <string.h>

#include "engine.h"

static struct location locations[LOCATIONS_MAX];
static struct location *shared[LOCATIONS_MAX];
static uint32_t shared_count;

/* ---- locations ---- */

static struct location *find(uintptr_t address)
{
	uint32_t place = (uint32_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 52);

	for (uint32_t i = 0; i < LOCATIONS_MAX; i++) {
		struct location *location = &locations[(place + i) % LOCATIONS_MAX];

		if (location->address == 0) {
			location->address = address;
		}
		if (location->address == address) {
			return location;
		}
	}
	model_failed("too many locations");
}

/* The current thread accesses it. */
static struct location *meet(const void *place, uint32_t bytes, bool writes)
{
	struct location *location = find((uintptr_t)place);
	struct thread *self = engine.current;

	if (location->run != engine.run) {
		location->run = engine.run;
		location->readers = 0;
		location->changed_at = 0;
		location->release = (struct clock){ 0 };
	}
	location->threads |= (uint8_t)(1U << self->index);
	if (!location->shared && (location->threads & (location->threads - 1U)) != 0) {
		engine.more_shared = true;
	}
	location->readers |= (uint8_t)(1U << self->index);
	races_atomic((uintptr_t)place, bytes, writes);
	return location;
}

void memory_forget(void)
{
	memset(locations, 0, sizeof(locations));
	shared_count = 0;
}

void memory_begin(void)
{
	if (!engine.more_shared) {
		return;
	}
	engine.more_shared = false;
	shared_count = 0;
	for (uint32_t i = 0; i < LOCATIONS_MAX; i++) {
		struct location *location = &locations[i];

		location->shared = (location->threads & (location->threads - 1U)) != 0;
		if (location->shared) {
			shared[shared_count++] = location;
		}
	}
}

/* ---- values and clocks ---- */

static uint64_t get(uintptr_t address, uint32_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)address, bytes);
	return value;
}

static void put(struct thread *thread, struct location *location, uint32_t bytes, uint64_t value)
{
	uint8_t others = location->readers & (uint8_t) ~(1U << thread->index);

	location->before = get(location->address, bytes);
	location->changed_at = engine.steps;
	memcpy((void *)location->address, &value, bytes);
	for (uint32_t i = 0; i < engine.threads_count; i++) {
		engine.threads[i].changed = engine.threads[i].changed || (others >> i & 1) != 0;
	}
}

static void join(struct clock *clock, const struct clock *other)
{
	for (uint32_t i = 0; i < MODEL_THREADS_MAX; i++) {
		clock->time[i] = other->time[i] > clock->time[i] ? other->time[i] : clock->time[i];
	}
}

/* What the thread has done so far is before what an acquiring load of this store sees. */
static struct clock released(struct thread *self, bool releases)
{
	struct clock clock = { 0 };

	if (releases) {
		clock = self->clock;
		self->clock.time[self->index]++;
	}
	return clock;
}

/* ---- faults ---- */

static enum model_fault fault_at(const struct model_site *site)
{
	const struct model_plant *plant = engine.plant;

	return plant != NULL && plant->kind == site->kind &&
			       strcmp(plant->function, site->function) == 0
		       ? plant->fault
		       : MODEL_NO_FAULT;
}

/* ---- store buffers ---- */

static void commit_first(struct thread *thread)
{
	struct pending_store *store = &thread->buffer[0];

	put(thread, store->location, store->bytes, store->value);
	store->location->release = store->clock;
	trace_add(thread, "  is committed:", &store->site, store->value);
	thread->buffered--;
	memmove(&thread->buffer[0], &thread->buffer[1], thread->buffered * sizeof(*store));
}

void memory_commit(struct thread *thread, uint32_t count)
{
	while (count-- > 0) {
		commit_first(thread);
	}
}

static void commit_one(struct thread *self)
{
	struct model_site site = self->buffer[0].site;

	engine_step(self->buffer[0].location, true, &site);
	/* It may have been committed for another thread meanwhile. */
	if (self->buffered > 0) {
		commit_first(self);
	}
}

static void drain(struct thread *self)
{
	while (self->buffered > 0) {
		commit_one(self);
	}
}

void memory_settle(uintptr_t address, uint32_t bytes)
{
	struct thread *self = engine.current;

	for (uint32_t i = self->buffered; i > 0; i--) {
		uintptr_t at = self->buffer[i - 1].location->address;

		if (at < address + bytes && address < at + self->buffer[i - 1].bytes) {
			memory_commit(self, i);
			return;
		}
	}
}

static void store_now(struct thread *self, const struct pending_store *store)
{
	if (!store->location->shared) {
		put(self, store->location, store->bytes, store->value);
		store->location->release = store->clock;
		return;
	}
	while (self->buffered >= BUFFER_MAX) {
		commit_one(self);
	}
	trace_add(self, "", &store->site, store->value);
	self->buffer[self->buffered++] = *store;
}

/* After an operation that came after one that is held back. */
static void let_go(struct thread *self, bool held)
{
	if (held && self->holds) {
		self->holds = false;
		store_now(self, &self->held);
	}
}

/* ---- the operations ---- */

uint64_t model_load(const void *place, uint32_t bytes, const struct model_site *site)
{
	struct thread *self = engine.current;
	enum model_fault fault = fault_at(site);
	struct location *location;
	uint64_t value;
	bool held;

	if (self == NULL) {
		return get((uintptr_t)place, bytes);
	}
	location = meet(place, bytes, false);
	if (fault == MODEL_OMITTED) {
		return 0;
	}
	held = self->holds;
	for (uint32_t i = self->buffered; i > 0; i--) {
		if (self->buffer[i - 1].location == location) {
			return self->buffer[i - 1].value;
		}
	}
	if (location->shared) {
		uint32_t before = self->earlier_step;

		engine_step(location, false, site);
		location->readers |= (uint8_t)(1U << self->index);
		value = fault == MODEL_EARLY && location->changed_at > before
				? location->before
				: get(location->address, bytes);
		trace_add(self, "", site, value);
	} else {
		value = get(location->address, bytes);
	}
	if (site->kind != MODEL_LOAD_RELAXED && fault != MODEL_RELAXED) {
		join(&self->clock, &location->release);
	}
	let_go(self, held);
	return value;
}

void model_store(void *place, uint32_t bytes, uint64_t value, const struct model_site *site)
{
	struct thread *self = engine.current;
	enum model_fault fault = fault_at(site);
	struct pending_store store;
	bool held;

	if (self == NULL) {
		memcpy(place, &value, bytes);
		return;
	}
	if (fault == MODEL_OMITTED) {
		return;
	}
	store = (struct pending_store){
		.location = meet(place, bytes, true),
		.bytes = bytes,
		.value = value,
		.clock =
			released(self, site->kind != MODEL_STORE_RELAXED && fault != MODEL_RELAXED),
		.site = *site,
	};
	if (fault == MODEL_SWAPPED && !self->holds) {
		self->held = store;
		self->holds = true;
		return;
	}
	held = self->holds;
	store_now(self, &store);
	if (site->kind == MODEL_STORE_FULL && fault != MODEL_RELAXED) {
		drain(self);
	}
	let_go(self, held);
}

static uint64_t added(uint64_t old, uint64_t value)
{
	return old + value;
}

static uint64_t replaced(uint64_t old, uint64_t value)
{
	(void)old;
	return value;
}

static uint64_t masked(uint64_t value, uint32_t bytes)
{
	return bytes == 8 ? value : value & ((UINT64_C(1) << (bytes * 8)) - 1);
}

/*
 * Reads, and writes what @change makes of it, in one step; or in two where that is the fault. If
 * @wanted is not NULL only where that stands there.
 */
static uint64_t change(void *place, uint32_t bytes, const uint64_t *wanted, uint64_t value,
		       uint64_t (*how)(uint64_t, uint64_t), const struct model_site *site)
{
	struct thread *self = engine.current;
	enum model_fault fault = fault_at(site);
	bool orders = fault != MODEL_RELAXED && site->kind != MODEL_ADD_RELAXED &&
		      site->kind != MODEL_COMPARE_RELAXED;
	struct location *location = meet(place, bytes, true);
	bool held = self->holds;
	struct clock clock;
	uint64_t old;

	drain(self);
	if (location->shared) {
		engine_step(location, fault != MODEL_TORN, site);
		location->readers |= (uint8_t)(1U << self->index);
	}
	old = get(location->address, bytes);
	trace_add(self, "", site, old);
	if (orders) {
		join(&self->clock, &location->release);
	}
	if (wanted == NULL || *wanted == old) {
		if (fault == MODEL_TORN && location->shared) {
			engine_step(location, true, site);
		}
		clock = released(self, orders);
		put(self, location, bytes, masked(how(old, value), bytes));
		join(&location->release, &clock); /* it goes on with a release before it */
	}
	let_go(self, held);
	return old;
}

static uint64_t change_alone(void *place, uint32_t bytes, uint64_t value)
{
	uint64_t old = get((uintptr_t)place, bytes);

	memcpy(place, &value, bytes);
	return old;
}

uint64_t model_exchange(void *place, uint32_t bytes, uint64_t value, const struct model_site *site)
{
	return engine.current == NULL ? change_alone(place, bytes, value)
				      : change(place, bytes, NULL, value, replaced, site);
}

uint64_t model_add(void *place, uint32_t bytes, uint64_t value, const struct model_site *site)
{
	return engine.current == NULL
		       ? change_alone(place, bytes, get((uintptr_t)place, bytes) + value)
		       : change(place, bytes, NULL, value, added, site);
}

bool model_compare(void *place, uint32_t bytes, void *expected, uint64_t value,
		   const struct model_site *site)
{
	uint64_t wanted = get((uintptr_t)expected, bytes);
	uint64_t old;

	if (engine.current != NULL) {
		old = change(place, bytes, &wanted, value, replaced, site);
	} else {
		old = get((uintptr_t)place, bytes);
		if (old == wanted) {
			memcpy(place, &value, bytes);
		}
	}
	if (old != wanted) {
		memcpy(expected, &old, bytes);
	}
	return old == wanted;
}

/* ---- waiting ---- */

void model_await(const uint32_t *flag)
{
	const struct model_site site = { __func__, __FILE__, "flag", __LINE__, MODEL_AWAIT };
	struct thread *self = engine.current;
	struct location *location = meet(flag, sizeof(*flag), false);

	drain(self);
	engine_step(location, false, &site);
	trace_add(self, "", &site, *flag);
	join(&self->clock, &location->release);
}

void model_pause(void)
{
	const struct model_site site = { __func__, __FILE__, "", __LINE__, MODEL_PAUSE };
	struct thread *self = engine.current;

	engine_step(NULL, false, &site);
	self->changed = false;
	for (uint32_t i = 0; i < shared_count; i++) {
		shared[i]->readers &= (uint8_t) ~(1U << self->index);
	}
}
