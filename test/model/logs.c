/*
 * The log: threads put lines into the buffer of one loop while the writer takes them, and goes to
 * sleep when it finds none. A line must arrive whole, those of one thread in their order, and a
 * line that is lost must be told of. A writer that sleeps beside a line never writes it.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/log/log_writer.h"
#include "base/macros.h"
#include "model.h"

enum { PUTTERS = 2, BUFFER_BYTES = 1100, SHORT_BYTES = 10, LONG_BYTES = 600 };

static struct gy_log_writer *writer;
static uint32_t line_bytes; /* of each line; one of LONG_BYTES fills the buffer */
static uint32_t put[PUTTERS];
static uint32_t next[PUTTERS]; /* the least number that may be heard next */
static uint32_t heard;
static uint32_t told; /* lines that are said to be lost */

/* ---- what the model has in the place of the log's end, and of a semaphore ---- */

uint64_t gy_log_date_ns(uint64_t time_ns)
{
	return time_ns;
}

/* A line is its putter's letter, its number, and the letter again up to its length. */
void gy_log_write(const struct gy_log *log, const struct gyre_log_line *line)
{
	const char letter[2] = { line->text[0], '\0' };
	uint32_t putter = (uint32_t)(line->text[0] - 'a');
	uint32_t number = (uint32_t)(line->text[1] - '0');

	(void)log;
	if (strstr(line->text, "of the log lost") != NULL) {
		told += (uint32_t)(line->text[0] - '0');
		return;
	}
	model_check(putter < PUTTERS);
	model_check(number >= next[putter]);
	model_check(strlen(line->text) == line_bytes);
	model_check(strspn(line->text + 2, letter) == line_bytes - 2);
	next[putter] = number + 1;
	heard++;
}

void gy_wakeup_init(struct gy_wakeup *wakeup)
{
	memset(wakeup, 0, sizeof(*wakeup));
}

void gy_wakeup_fini(struct gy_wakeup *wakeup)
{
	(void)wakeup;
}

static uint32_t *posted(struct gy_wakeup *wakeup)
{
	return (uint32_t *)(void *)wakeup;
}

void gy_wakeup_wait(struct gy_wakeup *wakeup)
{
	model_await(posted(wakeup));
	gy_store_full(posted(wakeup), 0);
}

void gy_wakeup_post(struct gy_wakeup *wakeup)
{
	gy_store_full(posted(wakeup), 1);
}

/* ---- the protocols ---- */

static void setup(void)
{
	const struct gy_log sink = { .level = GYRE_LOG_DEBUG };

	writer = gy_log_writer_create(&sink, BUFFER_BYTES);
	writer->started = 1; /* the thread is one of the model */
	for (uint32_t i = 0; i < PUTTERS; i++) {
		put[i] = 0;
		next[i] = 0;
	}
	heard = 0;
	told = 0;
}

static void put_line(uint32_t putter)
{
	char text[LONG_BYTES];

	memset(text, 'a' + (int)putter, sizeof(text));
	text[1] = (char)('0' + put[putter]++);
	gy_log_writer_put(gy_log_writer_outside(writer)->buffer, GYRE_LOG_INFO, text, line_bytes);
}

static void setup_short(void)
{
	line_bytes = SHORT_BYTES;
	setup();
}

static void setup_long(void)
{
	line_bytes = LONG_BYTES;
	setup();
}

static void setup_full(void)
{
	setup_long();
	put_line(0);
}

static void put_one(void)
{
	put_line(0);
}

static void put_two(void)
{
	put_line(0);
	put_line(0);
}

static void put_one_as_second(void)
{
	put_line(1);
}

static void put_three(void)
{
	put_two();
	put_line(0);
}

static void write_lines(void)
{
	gy_log_writer_run(writer);
}

static void check_all_heard(void)
{
	model_check(heard == put[0] + put[1] && told == 0);
	model_check(writer->asleep == 1);
}

static void check_losses_told(void)
{
	model_check(heard + told == put[0] + put[1] && heard > 0);
	model_check(writer->outside.lines == heard && writer->outside.lost == told);
	model_check(writer->asleep == 1);
}

int main(void)
{
	static const struct model_protocol protocols[] = {
		{
			.title = "a writer that goes to sleep writes each of two lines",
			.setup = setup_short,
			.check = check_all_heard,
			.threads = { { "writer", write_lines }, { "putter", put_two } },
		},
		{
			.title = "lines of two threads arrive whole",
			.setup = setup_short,
			.check = check_all_heard,
			.threads = { { "writer", write_lines },
				     { "first", put_one },
				     { "second", put_one_as_second } },
			.preemptions_max = 3,
		},
		{
			.title = "a line that finds no room is told of",
			.setup = setup_long,
			.check = check_losses_told,
			.threads = { { "writer", write_lines }, { "putter", put_three } },
			.preemptions_max = 4,
		},
		{
			.title = "lines of two threads of which one fits are heard or told of",
			.setup = setup_long,
			.check = check_losses_told,
			.threads = { { "writer", write_lines },
				     { "first", put_one },
				     { "second", put_one_as_second } },
			.preemptions_max = 3,
		},
		{
			.title = "lines of two threads of which none fits are both told of",
			.setup = setup_full,
			.check = check_losses_told,
			.threads = { { "first", put_one },
				     { "second", put_one_as_second },
				     { "writer", write_lines } },
			.preemptions_max = 3,
		},
	};
	static const struct model_plant plants[] = {
		{ "a line that is whole before its bytes are there", "gy_log_buffer_put",
		  MODEL_STORE_FULL, MODEL_RELAXED, 0 },
		{ "a writer that says that it sleeps after its last look", "sleep_until_woken",
		  MODEL_STORE_FULL, MODEL_SWAPPED, 0 },
		{ "a writer that does not say that it sleeps", "sleep_until_woken",
		  MODEL_STORE_FULL, MODEL_OMITTED, 0 },
		{ "a line whose putter does not look whether the writer sleeps", "wake",
		  MODEL_LOAD_FULL, MODEL_OMITTED, 0 },
		{ "a line whose putter looks before it is there", "wake", MODEL_LOAD_FULL,
		  MODEL_EARLY, 0 },
		{ "a place that two threads reserve", "reserve", MODEL_COMPARE, MODEL_TORN, 1 },
		{ "a place that is free before its words are cleared", "gy_log_buffer_take",
		  MODEL_STORE_RELEASE, MODEL_RELAXED, 2 },
		{ "a loss that is not counted", "gy_log_buffer_put", MODEL_ADD, MODEL_TORN, 4 },
	};

	return model_main(protocols, gy_countof(protocols), plants, gy_countof(plants));
}
