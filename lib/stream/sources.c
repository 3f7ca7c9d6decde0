/*
 * Sources that always have what they are asked for: arrays and functions.
 */
#include <errno.h>

#include "base/memory/memory.h"
#include "stream/graph.h"

/* ---- arrays ---- */

struct vector {
	struct gy_stage stage;
	unsigned char *elements;
	size_t count;
	size_t next;
};

static int32_t pull_vector(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct vector *vector = (struct vector *)(void *)stage;
	size_t left = vector->count - vector->next;
	uint32_t count = left < max ? (uint32_t)left : max;

	gy_assert(outlet == 0);
	if (count == 0) {
		return GY_PULL_END;
	}
	memcpy(out, vector->elements + vector->next * stage->type->bytes,
	       gy_elements_bytes(stage->type, count));
	vector->next += count;
	return (int32_t)count;
}

static bool vector_is_dry(const struct gy_stage *stage, uint32_t outlet)
{
	const struct vector *vector = (const struct vector *)(const void *)stage;

	(void)outlet;
	return vector->next == vector->count;
}

static void drop_vector(struct vector *vector)
{
	const struct gyre_type *type = vector->stage.type;

	while (type->destroy != NULL && vector->next < vector->count) {
		type->destroy(vector->elements + vector->next++ * type->bytes);
	}
	vector->next = vector->count;
}

static void cancel_vector(struct gy_stage *stage, uint32_t outlet, int reason)
{
	(void)outlet;
	(void)reason;
	drop_vector((struct vector *)(void *)stage);
}

static void fini_vector(struct gy_stage *stage)
{
	struct vector *vector = (struct vector *)(void *)stage;

	drop_vector(vector);
	gy_memory_put(vector->elements);
}

static const struct gy_stage_ops vector_ops = {
	.name = "vector",
	.pull = pull_vector,
	.is_dry = vector_is_dry,
	.cancel = cancel_vector,
	.fini = fini_vector,
};

/* They are the graph's, which does not get as far as having them. */
static void destroy_given(const struct gyre_type *type, void *elements, size_t count)
{
	for (size_t i = 0; elements != NULL && type != NULL && type->destroy != NULL && i < count;
	     i++) {
		type->destroy((unsigned char *)elements + i * type->bytes);
	}
}

struct gyre_stream gyre_stream_vector(struct gyre_graph *graph, const struct gyre_type *type,
				      void *elements, size_t count)
{
	struct vector *vector;
	size_t bytes;

	if ((elements == NULL && count > 0) || !gy_element_type_is_good(type) ||
	    __builtin_mul_overflow(count, (size_t)type->bytes, &bytes)) {
		gy_graph_fail(graph, -EINVAL);
		destroy_given(type, elements, count);
		return gy_graph_stream(graph, NULL, 0);
	}
	vector = (struct vector *)gy_graph_add(graph, &vector_ops, sizeof(*vector), type, NULL, 0);
	if (vector != NULL && bytes > 0) {
		vector->elements = (unsigned char *)gy_memory_get_raw(bytes);
	}
	if (vector == NULL || (vector->elements == NULL && bytes > 0)) {
		gy_graph_fail(graph, -ENOMEM);
		destroy_given(type, elements, count);
		return gy_graph_stream(graph, vector, 0);
	}
	if (bytes > 0 && elements != NULL) {
		memcpy(vector->elements, elements, bytes);
	}
	vector->count = count;
	return gy_graph_stream(graph, vector, 0);
}

/* ---- functions ---- */

struct generator {
	struct gy_stage stage;
	gyre_generate_fn next;
	void *arg;
};

static int32_t pull_generated(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct generator *generator = (struct generator *)(void *)stage;
	uint32_t count = 0;
	int r = 1;

	gy_assert(outlet == 0);
	memset(out, 0, gy_elements_bytes(stage->type, max));
	while (count < max) {
		r = generator->next(generator->arg, gy_element_at(stage->type, out, count));
		if (r != 1) {
			break;
		}
		count++;
	}
	if (r == 1) {
		return (int32_t)count;
	}
	r = r == 0 ? GY_PULL_END : gy_errno_of(r);
	stage->pending = r;
	return count > 0 ? (int32_t)count : r;
}

static void cancel_generator(struct gy_stage *stage, uint32_t outlet, int reason)
{
	(void)stage;
	(void)outlet;
	(void)reason;
}

static const struct gy_stage_ops generator_ops = {
	.name = "generate",
	.pull = pull_generated,
	.cancel = cancel_generator,
	.fini = gy_stage_fini,
};

struct gyre_stream gyre_stream_generate(struct gyre_graph *graph, const struct gyre_type *type,
					gyre_generate_fn next, void *arg)
{
	struct generator *generator = (struct generator *)gy_graph_add(
		graph, &generator_ops, sizeof(*generator), type, NULL, 0);

	if (next == NULL) {
		gy_graph_fail(graph, -EINVAL);
	}
	if (generator != NULL) {
		generator->next = next;
		generator->arg = arg;
	}
	return gy_graph_stream(graph, generator, 0);
}
