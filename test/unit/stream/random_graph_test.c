/*
 * Graphs that are drawn from seeds, and a model of them: while a graph is built, the elements of
 * each of its streams are worked out one after the other, as far as they are determined. What the
 * sinks have got is compared: the sequence and the end, or, behind a stage that takes elements in
 * the order in which they come, which elements they were. Where even that is left to time, as below
 * a stage that takes some of those, the graph must end, and no more.
 *
 * A zip stands still if its streams come from one broadcast at different rates. So streams that
 * depend on each other in any way have one kin, and only such of different kin are paired.
 */
#include "graph_rig.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

TestSuite(random_graph, .timeout = 120);

enum {
	SEEDS = 150,
	LINES_MAX = 10,
	SINKS_MAX = 24,
	ARGS_MAX = 200,
	VALUES_MAX = 1 << 18,
	COUNT_MAX = 1500,
	ENDLESS = 700, /* of those without an end the model knows so many */
	TAKEN_MAX = 300,
	STEPS = 25,
	BRANCHES_MAX = 4,
	WINDOW_DEFAULT = 4096,
};

enum certainty {
	SURE_NOTHING,  /* only that it ends */
	SURE_ELEMENTS, /* and which, but not their order; it completes */
	SURE_ORDER,    /* and how it ends */
};

/* A stream, and what is known of it. */
struct line {
	struct gyre_stream stream;
	uint64_t *values;
	uint32_t count;
	int result;
	enum certainty sure;
	bool is_endless;
	uint32_t kin;
	uint32_t source; /* an argument that counts what was asked for, if nothing but stages that
			    ask for what they are asked for is below; or 0 */
	uint64_t ahead;	 /* how much more than that may be asked for */
};

/* What a function of a stage is given. */
struct arg {
	uint64_t number;
	uint64_t calls;
	uint64_t calls_max; /* unless UINT64_MAX */
	uint64_t base;
	int result; /* after these */
};

/* A sink, or several that share what comes by a balance. */
struct sink {
	struct line line;
	uint64_t *got[BRANCHES_MAX];
	uint32_t counts[BRANCHES_MAX];
	uint32_t branches;
};

struct part {
	struct sink *sink;
	uint32_t branch;
	uint64_t end_at;
};

static uint64_t seed;
static uint64_t random_state;
static uint32_t loops_count;
static struct line lines[LINES_MAX];
static uint32_t lines_count;
static struct sink sinks[SINKS_MAX];
static uint32_t sinks_count;
static struct part parts[SINKS_MAX * BRANCHES_MAX];
static uint32_t parts_count;
static struct arg args[ARGS_MAX];
static uint32_t args_count;
static uint64_t values[VALUES_MAX];
static uint32_t values_count;
static uint32_t kins;
static uint32_t compared[SURE_ORDER + 1]; /* sinks, in all graphs */

static void wrong(const char *what, uint64_t one, uint64_t other)
{
	(void)fprintf(stderr, "seed %" PRIu64 ": %s: %" PRIu64 " and %" PRIu64 "\n", seed, what,
		      one, other);
	expect(false);
}

static uint32_t pick(uint32_t limit)
{
	return (uint32_t)(gy_random_next(&random_state) >> 33) % limit;
}

static struct arg *new_arg(uint64_t number)
{
	expect(args_count < ARGS_MAX);
	args[args_count] = (struct arg){ .number = number, .calls_max = UINT64_MAX };
	return &args[args_count++];
}

static uint64_t *new_values(uint32_t count)
{
	uint64_t *made = &values[values_count];

	expect(values_count + count <= VALUES_MAX);
	values_count += count;
	return made;
}

/* ---- functions of stages ---- */

static uint64_t value_of(const void *element)
{
	return ((const struct number *)element)->value;
}

static int count_up(void *context, void *out)
{
	struct arg *arg = (struct arg *)context;

	if (arg->calls >= arg->number) {
		return arg->result;
	}
	((struct number *)out)->value = arg->base + arg->calls++;
	return 1;
}

static int add(void *arg, void *in, void *out)
{
	((struct number *)out)->value = value_of(in) + ((struct arg *)arg)->number;
	return 0;
}

static int fail_later(void *context, void *in, void *out)
{
	struct arg *arg = (struct arg *)context;

	((struct number *)out)->value = value_of(in);
	return arg->calls++ == arg->number ? -EDOM : 0;
}

static int is_no_multiple(void *arg, const void *in)
{
	return value_of(in) % ((struct arg *)arg)->number != 0;
}

static int sum_up(void *arg, void *in, void *out)
{
	(void)arg;
	((struct number *)out)->value += value_of(in);
	return 0;
}

static int sum_of(void *arg, void *in, uint32_t count, void *out)
{
	uint64_t sum = 0;

	(void)arg;
	for (uint32_t i = 0; i < count; i++) {
		sum += ((const struct number *)in)[i].value;
	}
	((struct number *)out)->value = sum;
	return 0;
}

static uint64_t of_two(uint64_t left, uint64_t right)
{
	return left * 31 + right;
}

static int pair(void *arg, void *left, void *right, void *out)
{
	(void)arg;
	((struct number *)out)->value = of_two(value_of(left), value_of(right));
	return 0;
}

static int last_words(void *arg, int error, void *out)
{
	(void)arg;
	((struct number *)out)->value = (uint64_t)-error;
	return 1;
}

static int get(void *arg, void *in)
{
	struct part *part = (struct part *)arg;
	struct sink *sink = part->sink;
	uint32_t at = sink->counts[part->branch]++;

	if (at < COUNT_MAX) {
		sink->got[part->branch][at] = value_of(in);
	}
	return at + 1 == part->end_at ? 1 : 0;
}

/* ---- sources ---- */

static void add_source(struct gyre_graph *graph)
{
	static struct number numbers[TAKEN_MAX];
	struct line *line = &lines[lines_count++];
	uint64_t base = pick(1000);
	uint32_t kind = pick(4);
	struct arg *arg = new_arg(pick(TAKEN_MAX));

	*line = (struct line){ .count = (uint32_t)arg->number, .sure = SURE_ORDER, .kin = kins++ };
	if (kind == 1) {
		arg->number = UINT64_MAX;
		line->count = ENDLESS;
		line->is_endless = true;
	} else if (kind == 2) {
		line->result = arg->result = -EIO;
	}
	line->values = new_values(line->count);
	for (uint32_t i = 0; i < line->count; i++) {
		line->values[i] = base + i;
	}
	arg->base = base;
	if (kind > 0) {
		line->source = (uint32_t)(arg - args);
		line->stream = gyre_stream_generate(graph, &gyre_type_number, count_up, arg);
		return;
	}
	for (uint32_t i = 0; i < line->count; i++) {
		numbers[i].value = base + i;
	}
	line->stream = gyre_stream_vector(graph, &gyre_type_number, numbers, line->count);
}

/* ---- stages ---- */

static struct gyre_stream cross(struct gyre_stream stream, uint64_t *ahead)
{
	static const uint32_t windows[] = { 0, 1, 2, 5, 64, 300 };
	const struct gyre_boundary_options options = {
		.place = (enum gyre_place)pick(GYRE_PLACE_PINNED),
		.loop = pick(loops_count),
		.elements_max = windows[pick(6)],
		.bytes_max = pick(6) == 0 ? 1 + pick(100) : 0,
	};

	*ahead += options.elements_max == 0 ? WINDOW_DEFAULT : options.elements_max;
	return gyre_stream_boundary(stream, &options);
}

/* Something that the order of elements decides. */
static void depend_on_order(struct line *line)
{
	if (line->sure < SURE_ORDER) {
		line->sure = SURE_NOTHING;
	}
}

static void add_map(struct line *line)
{
	struct arg *arg = new_arg(pick(100));
	uint64_t *to = new_values(line->count);

	line->stream = gyre_stream_map(line->stream, &gyre_type_number, add, arg);
	for (uint32_t i = 0; i < line->count; i++) {
		to[i] = line->values[i] + arg->number;
	}
	line->values = to;
}

static void add_failure(struct line *line)
{
	struct arg *arg = new_arg(pick(TAKEN_MAX));

	line->stream = gyre_stream_map(line->stream, &gyre_type_number, fail_later, arg);
	if (arg->number < line->count) {
		depend_on_order(line);
		line->count = (uint32_t)arg->number;
		line->result = -EDOM;
		line->is_endless = false;
	}
	line->source = 0;
}

static void add_filter(struct line *line)
{
	struct arg *arg = new_arg(2 + pick(4));
	uint64_t *to = new_values(line->count);
	uint32_t kept = 0;

	line->stream = gyre_stream_filter(line->stream, is_no_multiple, arg);
	for (uint32_t i = 0; i < line->count; i++) {
		if (line->values[i] % arg->number != 0) {
			to[kept++] = line->values[i];
		}
	}
	line->values = to;
	line->count = kept;
	line->source = 0;
}

static void add_scan(struct line *line)
{
	uint64_t *to = new_values(line->count);
	uint64_t sum = 0;

	line->stream = gyre_stream_scan(line->stream, &gyre_type_number, NULL, sum_up, NULL);
	for (uint32_t i = 0; i < line->count; i++) {
		to[i] = sum += line->values[i];
	}
	line->values = to;
	depend_on_order(line);
}

static void add_take(struct line *line)
{
	uint64_t count = pick(TAKEN_MAX);

	line->stream = gyre_stream_take(line->stream, count);
	if (line->source != 0) {
		args[line->source].calls_max = count + line->ahead;
	}
	if (line->count >= count) { /* also if it would fail behind these */
		if (line->count > count) {
			depend_on_order(line);
		}
		line->count = (uint32_t)count;
		line->result = 0;
	}
	line->is_endless = false;
	line->source = 0;
}

static void add_batch(struct line *line)
{
	const struct gyre_batch_options options = { .count_max = 1 + pick(200) };
	uint64_t *to = new_values(line->count);
	uint32_t made = 0;

	line->stream = gyre_stream_batch(line->stream, &gyre_type_number, &options, sum_of, NULL);
	for (uint32_t i = 0; i < line->count; i++) {
		if (i % options.count_max == 0) {
			to[made++] = 0;
		}
		to[made - 1] += line->values[i];
	}
	line->values = to;
	line->count = made;
	line->source = 0;
	if (options.count_max > 1) {
		depend_on_order(line);
	}
}

static void add_recovery(struct line *line)
{
	uint64_t *to = new_values(line->count + 1);

	line->stream = gyre_stream_recover(line->stream, last_words, NULL);
	if (line->result == 0) {
		return;
	}
	memcpy(to, line->values, line->count * sizeof(*to));
	to[line->count++] = (uint64_t)-line->result;
	line->values = to;
	line->result = 0;
}

static void add_boundary(struct line *line)
{
	line->stream = cross(line->stream, &line->ahead);
}

/* By way of elements that own something. */
static void add_owned(struct line *line)
{
	line->stream = gyre_stream_map(line->stream, &gyre_type_owned, make_owned, NULL);
	line->stream = cross(line->stream, &line->ahead);
	line->stream = gyre_stream_map(line->stream, &gyre_type_number, read_owned, NULL);
}

/* Each element by one of several ways, and then all together. */
static void add_workers(struct line *line)
{
	struct gyre_stream branches[BRANCHES_MAX];
	uint32_t count = 1 + pick(BRANCHES_MAX);
	struct arg *arg = new_arg(pick(100));
	uint64_t *to = new_values(line->count);

	gyre_stream_balance(line->stream, count, branches);
	for (uint32_t i = 0; i < count; i++) {
		branches[i] = pick(2) == 0 ? branches[i] : cross(branches[i], &line->ahead);
		branches[i] = gyre_stream_map(branches[i], &gyre_type_number, add, arg);
		branches[i] = pick(2) == 0 ? branches[i] : cross(branches[i], &line->ahead);
	}
	line->stream = gyre_stream_merge(branches, count);
	for (uint32_t i = 0; i < line->count; i++) {
		to[i] = line->values[i] + arg->number;
	}
	line->values = to;
	line->source = 0;
	if (count > 1 && line->sure != SURE_NOTHING) {
		line->sure = line->result == 0 ? SURE_ELEMENTS : SURE_NOTHING;
	}
}

/* ---- several streams ---- */

static void make_kin(uint32_t one, uint32_t other)
{
	for (uint32_t i = 0; i < lines_count; i++) {
		if (lines[i].kin == other) {
			lines[i].kin = one;
		}
	}
}

static void remove_line(uint32_t at)
{
	lines[at] = lines[--lines_count];
}

static void add_zip(struct line *left, struct line *right)
{
	uint32_t count = left->count < right->count ? left->count : right->count;
	uint64_t *to = new_values(count);

	left->stream = gyre_stream_zip(left->stream, right->stream, &gyre_type_number, pair, NULL);
	for (uint32_t i = 0; i < count; i++) {
		to[i] = of_two(left->values[i], right->values[i]);
	}
	left->result = right->count < left->count ? right->result : left->result;
	left->sure =
		left->sure == SURE_ORDER && right->sure == SURE_ORDER ? SURE_ORDER : SURE_NOTHING;
	left->values = to;
	left->count = count;
	left->source = 0;
}

static void add_merge(struct line *one, struct line *other)
{
	const struct gyre_stream both[2] = { one->stream, other->stream };
	uint64_t *to = new_values(one->count + other->count);
	bool sure = one->sure != SURE_NOTHING && other->sure != SURE_NOTHING && one->result == 0 &&
		    other->result == 0;

	one->stream = gyre_stream_merge(both, 2);
	memcpy(to, one->values, one->count * sizeof(*to));
	memcpy(to + one->count, other->values, other->count * sizeof(*to));
	one->values = to;
	one->count += other->count;
	one->sure = sure ? SURE_ELEMENTS : SURE_NOTHING;
	one->source = 0;
}

static void join_two(void)
{
	uint32_t one = pick(lines_count);
	uint32_t other = pick(lines_count);
	bool zips = pick(2) == 0;

	if (one == other || lines[one].is_endless || lines[other].is_endless ||
	    (zips && lines[one].kin == lines[other].kin) ||
	    lines[one].count + lines[other].count > COUNT_MAX) {
		return;
	}
	if (zips) {
		add_zip(&lines[one], &lines[other]);
	} else {
		add_merge(&lines[one], &lines[other]);
	}
	make_kin(lines[one].kin, lines[other].kin);
	remove_line(other);
}

static void add_broadcast(uint32_t at)
{
	struct gyre_stream branches[BRANCHES_MAX];
	uint32_t count = 1 + pick(BRANCHES_MAX);
	uint32_t waiting = pick(3) == 0 ? 0 : 1 + pick(20);

	if (lines_count + count > LINES_MAX || lines[at].is_endless) {
		return;
	}
	gyre_stream_broadcast(lines[at].stream, count, waiting, branches);
	lines[at].source = 0;
	lines[at].stream = branches[0];
	for (uint32_t i = 1; i < count; i++) {
		lines[lines_count] = lines[at];
		lines[lines_count++].stream = branches[i];
	}
}

/* ---- sinks ---- */

static void add_part(struct sink *sink, struct gyre_stream stream, uint64_t end_at)
{
	struct part *part = &parts[parts_count++];

	*part = (struct part){ sink, sink->branches, end_at };
	sink->got[sink->branches++] = new_values(COUNT_MAX);
	gyre_stream_each(stream, get, part);
}

static void add_sink(struct line *line)
{
	struct sink *sink = &sinks[sinks_count++];
	struct gyre_stream branches[BRANCHES_MAX];
	uint64_t end_at = pick(4) == 0 ? 1 + pick(TAKEN_MAX) : 0;
	uint32_t count = pick(4) == 0 ? 2 + pick(BRANCHES_MAX - 1) : 1;

	if (line->is_endless) {
		add_take(line);
	}
	*sink = (struct sink){ .line = *line };
	if (count > 1) {
		gyre_stream_balance(line->stream, count, branches);
		for (uint32_t i = 0; i < count; i++) {
			add_part(sink,
				 pick(2) == 0 ? branches[i] : cross(branches[i], &line->ahead), 0);
		}
		if (sink->line.sure == SURE_ORDER) { /* a failure may overtake what crosses */
			sink->line.sure = line->result == 0 ? SURE_ELEMENTS : SURE_NOTHING;
		}
		return;
	}
	add_part(sink, line->stream, end_at);
	if (end_at > 0 && line->count >= end_at) {
		sink->line.count = (uint32_t)end_at;
		sink->line.result = 0;
		if (line->count > end_at) {
			depend_on_order(&sink->line);
		}
	}
}

/* ---- graphs ---- */

static void add_stage(uint32_t at)
{
	static void (*const stages[])(struct line * line) = {
		add_map,      add_scan,	   add_boundary, add_owned, add_take,	 add_recovery,
		add_boundary, add_failure, add_filter,	 add_batch, add_workers,
	};
	/* Endless streams meet only stages that pass each element on, until one takes some. */
	uint32_t kinds = lines[at].is_endless ? 5 : sizeof(stages) / sizeof(stages[0]);

	stages[pick(kinds)](&lines[at]);
}

static void draw(struct gyre_graph *graph)
{
	random_state = seed;
	lines_count = sinks_count = parts_count = values_count = kins = 0;
	args_count = 1; /* 0 is none */
	for (uint32_t i = 1 + pick(4); i > 0; i--) {
		add_source(graph);
	}
	for (uint32_t i = pick(STEPS); i > 0; i--) {
		uint32_t what = pick(8);

		if (what == 0) {
			add_broadcast(pick(lines_count));
		} else if (what == 1) {
			join_two();
		} else {
			add_stage(pick(lines_count));
		}
	}
	for (uint32_t i = 0; i < lines_count; i++) {
		add_sink(&lines[i]);
	}
}

/* ---- comparing ---- */

static int by_value(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one;
	uint64_t b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static void compare_values(const struct sink *sink, uint64_t *got_values, uint32_t count)
{
	uint64_t *wanted = new_values(sink->line.count); /* other sinks may have these too */

	if (count != sink->line.count) {
		wrong("elements of a sink", count, sink->line.count);
		return;
	}
	memcpy(wanted, sink->line.values, count * sizeof(*wanted));
	if (sink->line.sure == SURE_ELEMENTS) {
		qsort(got_values, count, sizeof(*got_values), by_value);
		qsort(wanted, count, sizeof(*wanted), by_value);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (got_values[i] != wanted[i]) {
			wrong("an element", got_values[i], wanted[i]);
			return;
		}
	}
}

static void compare_sink(const struct sink *sink)
{
	uint64_t *all = new_values(COUNT_MAX);
	uint32_t count = 0;

	compared[sink->line.sure]++;
	if (sink->line.sure == SURE_NOTHING) {
		return;
	}
	for (uint32_t i = 0; i < sink->branches; i++) {
		if (count + sink->counts[i] > COUNT_MAX) {
			wrong("too many elements", count + sink->counts[i], sink->line.count);
			return;
		}
		memcpy(all + count, sink->got[i], sink->counts[i] * sizeof(*all));
		count += sink->counts[i];
	}
	compare_values(sink, all, count);
}

/* Of several sinks that fail the first in time tells. */
static void compare_result(int result)
{
	bool may_be = false;
	bool sure = true;

	for (uint32_t i = 0; i < sinks_count; i++) {
		const struct line *line = &sinks[i].line;

		sure = sure && line->sure != SURE_NOTHING;
		may_be = may_be || line->result == result;
		if (result == 0 && line->sure == SURE_ORDER && line->result != 0) {
			wrong("completes instead of", 0, (uint64_t)-line->result);
		}
	}
	if (sure ? !may_be : result != 0 && result != -EIO && result != -EDOM) {
		wrong("ends with", (uint64_t)-result, (uint64_t)-sinks[0].line.result);
	}
}

static void compare(int result, uint64_t elements)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; i < sinks_count; i++) {
		compare_sink(&sinks[i]);
		for (uint32_t j = 0; j < sinks[i].branches; j++) {
			taken += sinks[i].counts[j];
		}
	}
	compare_result(result);
	if (result == 0 && elements != taken) {
		wrong("says that sinks have taken", elements, taken);
	}
	for (uint32_t i = 1; i < args_count; i++) {
		if (args[i].calls > args[i].calls_max) {
			wrong("a source was asked for", args[i].calls, args[i].calls_max);
		}
	}
}

struct frame {
	struct gyre_future done;
};

/* One after the other, until one was wrong. */
static int run_graphs(struct gyre_stack *stack)
{
	static const struct gyre_graph_options options = { .timeout_ns = GYRE_SECONDS(20) };
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct gyre_stream_done *done;
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	seed = loops_count * 1000;
	while (seed < loops_count * 1000 + SEEDS && fixture.failure == NULL) {
		graph = gyre_graph_create();
		draw(graph);
		GYRE_AWAIT(stack, gyre_graph_run(stack, graph, &options, &frame->done));
		done = gyre_future_get(&frame->done, gyre_stream_done);
		compare(gyre_future_error(&frame->done), done == NULL ? 0 : done->elements);
		seed++;
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_on(uint32_t loops)
{
	loops_count = loops;
	play(loops, run_graphs);
	cr_assert_eq(owned_alive, 0);
	cr_assert_gt(compared[SURE_ORDER], SEEDS / 2);
	cr_assert_gt(compared[SURE_ELEMENTS], SEEDS / 10);
}

Test(random_graph, on_one_loop_does_as_its_model)
{
	play_on(1);
}

Test(random_graph, on_two_loops_does_as_its_model)
{
	play_on(2);
}

Test(random_graph, on_three_loops_does_as_its_model)
{
	play_on(3);
}
