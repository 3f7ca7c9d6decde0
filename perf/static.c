/*
 * A server of static files over HTTP/1.1, to be measured beside nginx: GET and HEAD of regular
 * files below a folder, connections that are kept, pipelined requests, bodies that are skipped.
 *
 * A decoder cuts requests; the handler behind it finds the file and answers with a head and the
 * file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gyre/gyre.h>

#include "common/options.h"
#include "server.h"

enum {
	HEAD_BYTES_MAX = 8192,
	REQUEST_BYTES_MAX = 65536, /* with its body */
	PATH_BYTES_MAX = 1024,
	ANSWER_BYTES_MAX = 512,
	DATE_BYTES_MAX = 32,
};

struct settings {
	struct perf_server server;
	const char *root;
	bool keep; /* files open */
	struct gyre_file_keeping keeping;
};

struct request {
	char path[PATH_BYTES_MAX];
	bool head_only;
	bool keep_alive;
	int status; /* 200 until something is wrong */
};

/* ---- requests ---- */

/* The value of a header, which ends at a CR; NULL if it is not there. */
static const char *header_of(const char *head, size_t bytes, const char *name)
{
	const size_t name_bytes = strlen(name);
	const char *end = head + bytes;
	const char *line = (const char *)memchr(head, '\n', bytes);

	while (line != NULL && (size_t)(end - ++line) > name_bytes + 1) {
		if (strncasecmp(line, name, name_bytes) == 0 && line[name_bytes] == ':') {
			line += name_bytes + 1;
			return line + strspn(line, " \t");
		}
		line = (const char *)memchr(line, '\n', (size_t)(end - line));
	}
	return NULL;
}

/* The length of the body, or -EINVAL. A body in chunks is not understood. */
static int64_t body_bytes_of(const char *head, size_t bytes)
{
	const char *text = header_of(head, bytes, "Content-Length");
	unsigned long long count;
	char *end;

	if (header_of(head, bytes, "Transfer-Encoding") != NULL) {
		return -EINVAL;
	}
	if (text == NULL) {
		return 0;
	}
	errno = 0;
	count = strtoull(text, &end, 10);
	return *text < '0' || *text > '9' || *end != '\r' || errno != 0 || count > REQUEST_BYTES_MAX
		       ? -EINVAL
		       : (int64_t)count;
}

static int64_t decode_request(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
			      struct gyre_decoded_frame *frame)
{
	char head[HEAD_BYTES_MAX + 1];
	int64_t end = gyre_buffer_find_bytes(bytes, frame->scanned, "\r\n\r\n", 4);
	size_t all = gyre_buffer_bytes(bytes);
	int64_t body;

	(void)ctx;
	if (end < 0) {
		frame->scanned = all > 3 ? all - 3 : 0;
		return all > HEAD_BYTES_MAX ? -EMSGSIZE : -EAGAIN;
	}
	if (end + 4 > HEAD_BYTES_MAX) {
		return -EMSGSIZE;
	}
	head[gyre_buffer_copy(bytes, 0, head, (size_t)end + 4)] = '\0';
	body = body_bytes_of(head, (size_t)end + 4);
	if (body < 0) {
		return body;
	}
	if (all < (size_t)(end + 4 + body)) {
		frame->scanned = (size_t)end;
		frame->needed = (size_t)(end + 4 + body);
		return -EAGAIN;
	}
	frame->back = (size_t)body;
	return end + 4 + body;
}

/* Paths have neither escapes nor queries here; one that climbs is refused. */
static int read_path(const char *target, size_t bytes, struct request *request)
{
	if (bytes < 2 || bytes > PATH_BYTES_MAX || target[0] != '/' || target[1] == '/') {
		return 404;
	}
	memcpy(request->path, target + 1, bytes - 1);
	request->path[bytes - 1] = '\0';
	return strstr(request->path, "..") != NULL || strlen(request->path) != bytes - 1 ? 404
											 : 200;
}

/* @head is a text. */
static void parse(const char *head, size_t bytes, struct request *request)
{
	const char *target = strchr(head, ' ');
	const char *version = target == NULL ? NULL : strpbrk(target + 1, " \r");
	const char *connection = header_of(head, bytes, "Connection");

	*request = (struct request){ .status = 400 };
	if (version == NULL || strncmp(version, " HTTP/1.", 8) != 0) {
		return;
	}
	request->keep_alive = version[8] != '0';
	if (connection != NULL) {
		request->keep_alive =
			strncasecmp(connection, "close", 5) != 0 &&
			(request->keep_alive || strncasecmp(connection, "keep-alive", 10) == 0);
	}
	request->head_only = strncmp(head, "HEAD ", 5) == 0;
	request->status = request->head_only || strncmp(head, "GET ", 4) == 0
				  ? read_path(target + 1, (size_t)(version - target - 1), request)
				  : 405;
}

/* ---- files ---- */

/*
 * Opens a file whose folders are not in memory, or that is not there: a call that waits, as that of
 * nginx does. A server that must not wait has an actor await gyre_file_open().
 */
static int open_slow(struct gyre_stack *stack, const char *path, struct gyre_file_found *ret_found)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		int error = fd < 0 ? errno : ENOENT;

		if (fd >= 0) {
			(void)close(fd);
		}
		return -error;
	}
	ret_found->status.bytes = (uint64_t)status.st_size;
	ret_found->status.mode = status.st_mode;
	ret_found->status.modified_ns =
		status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec;
	return gyre_file_adopt(stack, fd, &ret_found->file);
}

static int find_file(struct gyre_stack *stack, const struct settings *settings, const char *path,
		     struct gyre_file_found *ret_found)
{
	int r = gyre_file_find(stack, path, &settings->keeping, ret_found);

	return r == -EAGAIN ? open_slow(stack, path, ret_found) : r;
}

/* ---- answers ---- */

static const char *date_of_now(void)
{
	static _Thread_local char text[DATE_BYTES_MAX];
	static _Thread_local time_t shown;
	time_t now = time(NULL);
	struct tm parts;

	if (now != shown && gmtime_r(&now, &parts) != NULL) {
		(void)strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
		shown = now;
	}
	return text;
}

static const char *reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Service Unavailable";
	}
}

static void write_head(struct gyre_handler_context *ctx, const struct request *request,
		       const struct gyre_file_status *file)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	char text[ANSWER_BYTES_MAX];
	int count = snprintf(text, sizeof(text),
			     "HTTP/1.1 %d %s\r\nServer: gyre\r\nDate: %s\r\n"
			     "Content-Type: application/octet-stream\r\n"
			     "Content-Length: %" PRIu64 "\r\nETag: \"%" PRIx64 "-%" PRIx64 "\"\r\n"
			     "Connection: %s\r\n\r\n",
			     request->status, reason_of(request->status), date_of_now(),
			     file->bytes, (uint64_t)file->modified_ns, file->bytes,
			     request->keep_alive ? "keep-alive" : "close");

	(void)gyre_buffer_append(buffer, text, (size_t)count);
	(void)gyre_context_write(ctx, buffer);
}

static int status_of(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM ? 503 : 404;
}

static int send_file(struct gyre_handler_context *ctx, const struct request *request,
		     const struct gyre_file_found *found)
{
	const struct gyre_file_region all = { .bytes = found->status.bytes };

	write_head(ctx, request, &found->status);
	return request->head_only || all.bytes == 0
		       ? 0
		       : gyre_context_send_file(ctx, found->file, &all);
}

static void answer(struct gyre_handler_context *ctx, struct request *request)
{
	const struct settings *settings = (const struct settings *)gyre_context_arg(ctx);
	struct gyre_file_found found = { .file = NULL };
	int r = 0;

	if (request->status == 200) {
		r = find_file(gyre_context_stack(ctx), settings, request->path, &found);
	}
	if (r < 0) {
		request->status = status_of(r);
	}
	if (found.file == NULL) {
		write_head(ctx, request, &found.status);
	} else if (send_file(ctx, request, &found) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -EIO);
	}
	gyre_file_close(found.file);
	if (!request->keep_alive) {
		gyre_context_close(ctx);
	}
}

static void serve(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	char head[HEAD_BYTES_MAX + 1];
	struct request request;
	size_t bytes = gyre_buffer_copy(data, 0, head, HEAD_BYTES_MAX);

	head[bytes] = '\0';
	gyre_buffer_destroy(data);
	parse(head, bytes, &request);
	answer(ctx, &request);
}

/* What is no request. */
static void refuse(struct gyre_handler_context *ctx, int error)
{
	const struct gyre_file_status nothing = { 0 };
	const struct request request = { .status = 400 };

	if (error == -EINVAL || error == -EMSGSIZE) {
		write_head(ctx, &request, &nothing);
		gyre_context_close(ctx);
	} else {
		gyre_context_fire_exception(ctx, error);
	}
}

static const struct gyre_frame_decoder decoder = {
	.name = "requests",
	.frame_bytes_max = HEAD_BYTES_MAX + REQUEST_BYTES_MAX,
	.decode = decode_request,
};

static const struct gyre_handler handler = { .name = "static", .read = serve, .exception = refuse };

static int init_channel(struct gyre_channel *channel, void *settings)
{
	int r = gyre_frame_decoder_add(channel, GYRE_LAST, &decoder, NULL);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, settings);
}

int main(int argc, char **argv)
{
	struct settings settings = { .server = { .bind = "tcp://127.0.0.1:8080", .loops = 1 },
				     .root = "." };
	struct perf_option options[] = {
		[PERF_SERVER_OPTIONS] = { .name = "keep",
					  .kind = PERF_OPTION_FLAG,
					  .help = "keep files open",
					  .value = &settings.keep },
		{ .name = "root",
		  .kind = PERF_OPTION_STRING,
		  .help = "the folder of the files",
		  .value = &settings.root },
	};
	const struct gyre_acceptor_options acceptor = { .init_channel = init_channel,
							.init_arg = &settings };
	struct gyre_counters counters;

	perf_server_options(&settings.server, options);
	perf_options_parse(argc, argv, "A server of static files over HTTP.", options,
			   sizeof(options) / sizeof(*options));
	settings.keeping.files_max = settings.keep ? 1000 : 0;
	if (chdir(settings.root) < 0) {
		return perf_fail(settings.root, -errno);
	}
	return perf_serve(&settings.server, &acceptor, &counters);
}
