/*
 * Lines about channels. A channel has no name but its address, by which a program can find it in
 * tables of its own, and that of its peer, by which people know it. The kernel is asked for the
 * peer, since a channel does not keep that, but only for lines that are logged.
 */
#include "channel/channel_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actor/actor_log.h"
#include "actor/address_text.h"
#include "actor/class_log.h"
#include "channel/channel.h"

/* "handler ", a name, " of ", a channel, ": ". */
enum { NAME_BYTES = GY_CLASS_NAME_BYTES + GY_CHANNEL_NAME_BYTES + 24 };

const char *gy_channel_name(struct gyre_channel *channel, char text[GY_CHANNEL_NAME_BYTES])
{
	char peer[GYRE_SOCKET_ADDRESS_TEXT_MAX] = "";
	char address[GYRE_ADDRESS_TEXT_MAX];
	struct gyre_socket_address from;
	/* A Unix socket without a name is nobody that people could know. */
	bool known = gyre_channel_peer_address(channel, &from) == 0 &&
		     gyre_socket_address_format(&from, sizeof(peer), peer) > 0 &&
		     strcmp(peer, "unix:") != 0;

	(void)snprintf(text, GY_CHANNEL_NAME_BYTES, "channel %s%s%s",
		       gy_address_text(gyre_channel_address(channel), address),
		       known ? " with " : "", known ? peer : "");
	return text;
}

void gy_channel_warn(struct gyre_channel *channel, const char *format, ...)
{
	const struct gy_class_info *info = channel->endpoint.owner->house->class_info;
	char name[GY_CHANNEL_NAME_BYTES];
	char before[NAME_BYTES];
	va_list args;

	if (!gy_class_warn_admit(channel->channels->home, info)) {
		return;
	}
	(void)snprintf(before, sizeof(before), "actor %s: %s ", info->name,
		       gy_channel_name(channel, name));
	va_start(args, format);
	gy_class_warn_admitted(channel->channels->home, info, before, format, args);
	va_end(args);
}

/* ---- lines of the program ---- */

/* Logs a line of the handler @name, or of the owner of the channel for NULL. */
GY_PRINTF(4, 0)
static void log_line(struct gyre_channel *channel, const char *handler, enum gyre_log_level level,
		     const char *format, va_list args)
{
	struct gy_home *home = channel->channels->home;
	const struct gy_class_info *owner = channel->endpoint.owner->house->class_info;
	struct gy_class_log *log = NULL;
	char name[GY_CHANNEL_NAME_BYTES];
	char before[NAME_BYTES];
	int error = errno;

	if (handler != NULL) {
		log = gy_handler_log_get(home, handler);
	}
	if (gy_class_log_admit(home, log != NULL ? log : owner->log)) {
		(void)snprintf(before, sizeof(before),
			       "%s %.*s of %s: ", handler != NULL ? "handler" : "actor",
			       GY_CLASS_NAME_BYTES - 1, handler != NULL ? handler : owner->name,
			       gy_channel_name(channel, name));
		errno = error; /* for %m */
		(void)gy_log_between(home->loop.options.log, level, before, "", format, args);
	}
	errno = error;
}

static bool is_written(const struct gyre_channel *channel, enum gyre_log_level level,
		       const char *format)
{
	return format != NULL && gy_log_takes(channel->channels->home->loop.options.log, level);
}

void gyre_context_log(const struct gyre_handler_context *ctx, enum gyre_log_level level,
		      const char *format, ...)
{
	const struct gyre_handler *handler;
	bool of_program;
	va_list args;

	if (!is_written(ctx->channel, level, format)) {
		return;
	}
	handler = gy_container_of(ctx, const struct gy_context, head)->handler;
	of_program = handler != &gy_head_handler && handler != &gy_tail_handler;
	va_start(args, format);
	log_line(ctx->channel, of_program ? handler->name : NULL, level, format, args);
	va_end(args);
}

void gyre_channel_log(struct gyre_channel *channel, enum gyre_log_level level, const char *format,
		      ...)
{
	va_list args;

	if (!is_written(channel, level, format)) {
		return;
	}
	va_start(args, format);
	log_line(channel, NULL, level, format, args);
	va_end(args);
}
