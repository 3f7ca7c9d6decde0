/*
 * A report gathers its fields in order and is printed at the end, so that a program says everything
 * in one place and cannot print half an object.
 */
#include "common/report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

void perf_report_init(struct perf_report *report, const char *program)
{
	report->program = program;
	report->count = 0;
}

static struct perf_report_field *add(struct perf_report *report, const char *key)
{
	assert(report->count < PERF_REPORT_FIELDS_MAX);
	report->fields[report->count].key = key;
	return &report->fields[report->count++];
}

void perf_report_number(struct perf_report *report, const char *key, double number)
{
	struct perf_report_field *field = add(report, key);

	field->text = NULL;
	field->number = number;
}

void perf_report_string(struct perf_report *report, const char *key, const char *text)
{
	add(report, key)->text = text;
}

static void print_json_string(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\') {
			printf("\\%c", byte);
		} else if (byte < 0x20) {
			printf("\\u%04x", byte);
		} else {
			putchar(byte);
		}
	}
	putchar('"');
}

static void print_json(const struct perf_report *report)
{
	printf("{\"program\": ");
	print_json_string(report->program);
	for (size_t i = 0; i < report->count; i++) {
		const struct perf_report_field *field = &report->fields[i];

		printf(", \"%s\": ", field->key);
		if (field->text != NULL) {
			print_json_string(field->text);
		} else if (isfinite(field->number)) {
			printf("%.15g", field->number);
		} else {
			printf("null");
		}
	}
	printf("}\n");
}

static void print_line(const struct perf_report *report)
{
	printf("%s:", report->program);
	for (size_t i = 0; i < report->count; i++) {
		const struct perf_report_field *field = &report->fields[i];

		printf("%s %s ", i == 0 ? "" : ",", field->key);
		if (field->text != NULL) {
			printf("%s", field->text);
		} else {
			printf(fabs(field->number) >= 1000 ? "%.0f" : "%.4g", field->number);
		}
	}
	printf("\n");
}

void perf_report_print(const struct perf_report *report, bool json)
{
	if (json) {
		print_json(report);
	} else {
		print_line(report);
	}
	fflush(stdout);
}
