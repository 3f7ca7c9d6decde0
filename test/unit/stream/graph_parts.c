/*
 * Sources, stages and sinks for the tests of streams.
 */
#include "graph_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"

struct got got;
uint64_t produced;
uint32_t owned_alive;

void note_end(const struct gyre_future *done)
{
	const struct gyre_stream_done *said = gyre_future_get(done, gyre_stream_done);

	got.result = gyre_future_error(done);
	got.elements = said == NULL ? 0 : said->elements;
}

/* ---- parts ---- */

struct gyre_stream count_from(struct gyre_graph *graph, uint64_t from, uint32_t count)
{
	static struct number numbers[GOT_MAX];

	cr_assert(count <= GOT_MAX);
	for (uint32_t i = 0; i < count; i++) {
		numbers[i].value = from + i;
	}
	return gyre_stream_vector(graph, &gyre_type_number, numbers, count);
}

static int produce(void *arg, void *out)
{
	(void)arg;
	((struct number *)out)->value = produced++;
	return 1;
}

struct gyre_stream count_on(struct gyre_graph *graph)
{
	return gyre_stream_generate(graph, &gyre_type_number, produce, NULL);
}

static int keep(void *arg, void *in)
{
	(void)arg;
	if (got.count < GOT_MAX) {
		got.values[got.count++] = ((const struct number *)in)->value;
	}
	return 0;
}

void collect(struct gyre_stream from)
{
	gyre_stream_each(from, keep, NULL);
}

int is_odd(void *arg, const void *in)
{
	(void)arg;
	return ((const struct number *)in)->value % 2 == 1;
}

int add_arg(void *arg, void *in, void *out)
{
	((struct number *)out)->value = ((const struct number *)in)->value + *(const uint64_t *)arg;
	return 0;
}

int fail_at(void *arg, void *in, void *out)
{
	*(struct number *)out = *(const struct number *)in;
	return ((const struct number *)in)->value == *(const uint64_t *)arg ? -EIO : 0;
}

/* ---- what owns something ---- */

void owned_destroy(struct owned *owned)
{
	if (owned->value != NULL) {
		(void)gy_fetch_add(&owned_alive, UINT32_MAX);
		free(owned->value);
	}
}

static int own(struct owned *owned, uint64_t value)
{
	owned->value = (uint64_t *)malloc(sizeof(uint64_t));
	if (owned->value == NULL) {
		return -ENOMEM;
	}
	*owned->value = value;
	(void)gy_fetch_add(&owned_alive, 1);
	return 0;
}

int owned_copy(struct owned *owned)
{
	return owned->value == NULL ? 0 : own(owned, *owned->value);
}

int make_owned(void *arg, void *in, void *out)
{
	(void)arg;
	return own((struct owned *)out, ((const struct number *)in)->value);
}

int read_owned(void *arg, void *in, void *out)
{
	(void)arg;
	((struct number *)out)->value = *((const struct owned *)in)->value;
	return 0;
}

int next_owned(void *arg, void *out)
{
	(void)arg;
	return own((struct owned *)out, produced++) < 0 ? -ENOMEM : 1;
}

void expect_numbers(uint64_t from, uint64_t step, uint32_t count)
{
	cr_assert_eq(got.count, count, "%u numbers and not %u", got.count, count);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(got.values[i], from + i * step, "number %u is %lu", i,
			     (unsigned long)got.values[i]);
	}
}
