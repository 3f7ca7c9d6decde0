/*
 * The handler of TLS: one connection, between the head and handlers that need not know of it.
 *
 * Received bytes are given to OpenSSL, and the plain bytes that it makes of them are passed on;
 * until the handshake is done there are none. Plain bytes are reads, and obey the rules of reads:
 * while the channel is paused, or no read was asked for, they stay where they are, and a deferred
 * call goes on later. The handshake itself asks for the reads it needs.
 *
 * The peer's close_notify is the end of its bytes; from then on the channel is one whose peer has
 * ended. The channel has half-closing all the while, so that an end without close_notify is noticed
 * too, and this handler does at the end of input what the program has chosen.
 *
 * Writes, and a close behind them, wait for the handshake; and so does a shutdown, for the rest of
 * the handshake is output too. That wait is bounded in time, and waiting bytes count as output.
 */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "channel/output/output.h"
#include "channel/tls/tls.h"

enum {
	LINE_BYTES_MAX = 256,
	/* The bytes that records add: a share of the plain bytes, and some for the last record. */
	EXPAND_SHARE = 128,
	EXPAND_BYTES = 64,
	LAYERS_MAX = 3, /* of TLS in TLS, for which that is reckoned exactly */
};

static const uint64_t handshake_default_ns = GYRE_SECONDS(10);
static const uint64_t handshake_min_ns = GYRE_MILLISECONDS(1);
static const uint64_t handshake_max_ns = GYRE_SECONDS(3600);

static struct gy_tls *tls_of(const struct gyre_handler_context *ctx)
{
	return (struct gy_tls *)ctx->arg;
}

static struct gy_loop *loop_of(const struct gy_tls *tls)
{
	return &tls->channel->channels->home->loop;
}

static bool is_ending(const struct gy_tls *tls)
{
	return (tls->channel->state & GY_CHANNEL_ENDING) != 0;
}

/* The nearest of the channel's handlers of TLS from @context on towards the head; NULL for none. */
static struct gy_tls *find_from(struct gy_context *context)
{
	while (context != NULL && context->handler != &gy_tls_server_handler &&
	       context->handler != &gy_tls_client_handler) {
		context = context->previous;
	}
	return context == NULL ? NULL : tls_of(&context->head);
}

static struct gy_tls *next_outwards(const struct gy_tls *tls)
{
	return find_from(gy_context_of(tls->place)->previous);
}

struct gy_tls *gy_tls_of(struct gyre_channel *channel)
{
	return find_from(channel->pipeline.tail.previous);
}

static void drop(struct gyre_buffer **buffer)
{
	gyre_buffer_destroy(*buffer);
	*buffer = NULL;
}

/* ---- the end ---- */

static void release_withheld(struct gy_tls *tls, int error)
{
	uint32_t bytes = tls->withheld_bytes;

	tls->withheld_bytes = 0;
	gy_output_release(tls->channel, bytes, error);
}

/* @reason is for those who wait for what was written, and goes no further. */
static void stop(struct gy_tls *tls, int reason)
{
	gy_timer_stop(&loop_of(tls)->wheel, &tls->timer);
	gy_deferred_drop(&tls->deferred);
	drop(&tls->in);
	gy_tls_drop_page(tls);
	if (tls->withheld != NULL) {
		drop(&tls->withheld);
		release_withheld(tls, reason);
	}
}

static void dispose(struct gy_tls *tls)
{
	gy_assert(tls->removed && tls->busy == 0);
	stop(tls, -ECANCELED);
	drop(&tls->out);
	SSL_free(tls->ssl);
	gy_memory_put(tls->subject);
	gyre_tls_context_unref(tls->context);
	gy_sizes_delete(&tls->channel->channels->home->parts, tls, sizeof(*tls));
}

/* Handlers may be called until leave(), and this one be removed by them. */
static void enter(struct gy_tls *tls)
{
	tls->busy++;
}

static void leave(struct gy_tls *tls)
{
	gy_assert(tls->busy > 0);
	if (--tls->busy == 0 && tls->removed) {
		dispose(tls);
	}
}

/* What the handshake has to say is none of what the cap is for: nobody has written it, and others
 * wait for it. */
static void flush_uncapped(struct gy_tls *tls)
{
	tls->channel->uncapped = true;
	(void)gy_tls_flush(tls);
	tls->channel->uncapped = false;
}

/* The peer may still be told why; nothing else goes on. */
static void fail(struct gy_tls *tls, int error)
{
	tls->failed = true;
	stop(tls, error);
	flush_uncapped(tls);
	if (is_ending(tls)) {
		return;
	}
	gyre_context_fire_exception(tls->place, error);
	if (!tls->removed && !is_ending(tls)) {
		gy_channel_set_reason(tls->channel, error);
		gyre_context_close(tls->place);
	}
}

static void send_close(struct gy_tls *tls)
{
	if (tls->established && !tls->failed && !tls->sent_close) {
		tls->sent_close = true;
		ERR_clear_error();
		(void)SSL_shutdown(tls->ssl);
		(void)gy_tls_flush(tls);
	}
}

/* ---- the handshake ---- */

static void too_late(struct gy_timer *timer)
{
	struct gy_tls *tls = gy_container_of(timer, struct gy_tls, timer);

	gy_tls_complain(tls, "the handshake takes too long");
	tls->failed = true;
	gy_channel_fail(tls->channel, -ETIMEDOUT);
}

static void send_withheld(struct gy_tls *tls)
{
	struct gyre_buffer *withheld = tls->withheld;

	if (withheld != NULL) {
		int error;

		tls->withheld = NULL;
		tls->channel->uncapped = true; /* it was let in when it came */
		error = gy_tls_encrypt(tls, withheld);
		tls->channel->uncapped = false;
		/* Handlers hear of a failure. */
		release_withheld(tls, error);
	}
}

/* Does what was asked for before the handshake was done. */
static void catch_up(struct gy_tls *tls)
{
	if (tls->closing || tls->shutting) {
		send_close(tls);
	}
	if (tls->closing) {
		gyre_context_close(tls->place);
	} else if (tls->shutting) {
		gyre_context_shutdown(tls->place);
	}
}

static void establish(struct gy_tls *tls)
{
	struct gyre_tls_session session;

	gy_assert(!tls->established && !tls->failed && tls->busy > 0);
	tls->established = true;
	gy_timer_stop(&loop_of(tls)->wheel, &tls->timer);
	if (gy_tls_session_keep(tls) < 0) {
		fail(tls, -ENOMEM);
		return;
	}
	send_withheld(tls);
	if (!tls->closing) {
		gy_tls_session_get(tls, &session);
		gyre_context_fire_event(tls->place, &gyre_type_gyre_tls_session, &session);
	}
	if (!tls->removed) {
		catch_up(tls);
	}
}

static void shake_hands(struct gy_tls *tls)
{
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(tls->ssl);
	if (r == 1 && gy_tls_context_is_keyed(tls->context) && !gy_tls_psk_was_used(tls)) {
		gy_tls_complain(tls, "it has not used the secret; give both the same one");
		fail(tls, -EKEYREJECTED);
		return;
	}
	if (r == 1) {
		flush_uncapped(tls);
		establish(tls);
		return;
	}
	if (SSL_get_error(tls->ssl, r) != SSL_ERROR_WANT_READ) {
		fail(tls, gy_tls_explain(tls));
		return;
	}
	flush_uncapped(tls);
}

/* ---- reading ---- */

static bool may_deliver(const struct gy_tls *tls)
{
	uint32_t state = tls->channel->state;

	if ((state & GY_INPUT_MANUAL) != 0 && !tls->requested) {
		return false;
	}
	return (state & GY_CHANNEL_NO_DELIVERY & ~(uint32_t)GY_NO_READ_NOT_ASKED) == 0;
}

static void deliver(struct gy_tls *tls, struct gyre_buffer *plain)
{
	if (tls->closing) {
		gy_buffer_put(plain);
		return;
	}
	gy_assert(tls->established);
	tls->requested = false;
	if ((tls->channel->state & GY_INPUT_MANUAL) != 0) {
		gy_channel_add_no_read(tls->channel, GY_NO_READ_NOT_ASKED);
	}
	gyre_context_fire_read(tls->place, plain);
}

/* The peer has ended its side; what it may still send is none of ours. */
static void end_input(struct gy_tls *tls)
{
	tls->peer_closed = true;
	drop(&tls->in);
	gy_channel_set_input(tls->channel, GY_INPUT_ENDED, 0);
	gy_channel_ready(tls->channel);
}

/* More can be decrypted, but the channel does not want it now. */
static void wait(struct gy_tls *tls)
{
	if ((tls->channel->state & GY_INPUT_MANUAL) != 0) {
		gy_channel_add_no_read(tls->channel, GY_NO_READ_NOT_ASKED);
	}
	if (tls->in != NULL && tls->in->bytes > 0 &&
	    gy_page_is_kernel_provided(tls->in->first.page)) {
		gy_buffer_copy_out_of_ring(tls->in);
	}
	gy_deferred_queue(tls->channel, &tls->deferred);
}

static bool goes_on(const struct gy_tls *tls)
{
	return !tls->removed && !tls->failed && !tls->peer_closed && !is_ending(tls);
}

static bool has_input(const struct gy_tls *tls)
{
	return tls->in != NULL && tls->in->bytes > 0;
}

static bool is_failure(int error)
{
	return error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ &&
	       error != SSL_ERROR_ZERO_RETURN;
}

enum read_step {
	READ_ON,	  /* there may be more */
	READ_NEEDS_INPUT, /* all that has come is read */
	READ_WAITS,	  /* the channel does not want more now */
};

/* Decrypts as much as makes one buffer, and passes it on. */
static enum read_step read_step(struct gy_tls *tls)
{
	struct gyre_buffer *plain;
	int failure = 0;
	int error;

	if (!may_deliver(tls)) {
		wait(tls);
		return READ_WAITS;
	}
	error = gy_tls_decrypt(tls, &plain);
	if (is_failure(error)) {
		/* OpenSSL tells why only until it is used again, also for another connection. */
		failure = gy_tls_explain(tls);
		tls->failed = true;
	}
	(void)gy_tls_flush(tls);
	if (plain != NULL) {
		deliver(tls, plain);
	}
	if (error == SSL_ERROR_WANT_READ && !has_input(tls)) {
		return READ_NEEDS_INPUT;
	}
	/* The handler of what was delivered may have removed this one. */
	if (failure < 0 && !tls->removed && !is_ending(tls)) {
		fail(tls, failure);
	} else if (goes_on(tls) && error == SSL_ERROR_ZERO_RETURN) {
		end_input(tls);
	}
	return READ_ON;
}

/* Passes on all that can be decrypted. Returns whether more input is needed for the rest. */
static bool read_plain(struct gy_tls *tls)
{
	enum read_step step = READ_ON;

	while (step == READ_ON && goes_on(tls)) {
		step = read_step(tls);
	}
	return step == READ_NEEDS_INPUT && goes_on(tls);
}

/* Does what can be done with what is there. */
static void advance(struct gy_tls *tls)
{
	bool hungry = true;

	enter(tls);
	if (!tls->established) {
		shake_hands(tls);
	}
	if (tls->established) {
		hungry = read_plain(tls);
	}
	if (hungry && goes_on(tls) && (tls->channel->state & GY_INPUT_MANUAL) != 0 &&
	    (!tls->established || tls->requested)) {
		gyre_context_read(tls->place);
	}
	leave(tls);
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gy_tls *tls = tls_of(ctx);

	if (!goes_on(tls)) {
		gy_buffer_put(data);
		return;
	}
	if (tls->in == NULL || tls->in->bytes == 0) {
		drop(&tls->in);
		tls->in = data;
	} else if (gyre_buffer_join(tls->in, data) < 0) {
		gy_channel_fail(tls->channel, -ENOMEM);
		return;
	}
	if (tls->busy == 0) {
		advance(tls);
	}
}

/* Goes on with what has waited. */
static void resume(struct gy_deferred *deferred)
{
	struct gy_tls *tls = gy_container_of(deferred, struct gy_tls, deferred);
	struct gyre_channel *channel = tls->channel;

	if (is_ending(tls)) {
		return;
	}
	if (!may_deliver(tls)) {
		wait(tls);
		return;
	}
	advance(tls);
	if ((channel->state & GY_TRAIT_READ_COMPLETE) != 0 &&
	    (channel->state & GY_CHANNEL_ENDING) == 0) {
		gyre_context_fire_read_complete(&channel->pipeline.head.head);
	}
}

static void read_request(struct gyre_handler_context *ctx)
{
	tls_of(ctx)->requested = (ctx->channel->state & GY_INPUT_MANUAL) != 0;
	gyre_context_read(ctx);
}

/* ---- the end of input ---- */

static void close_channel(struct gyre_handler_context *ctx)
{
	struct gy_tls *tls = tls_of(ctx);

	if (tls->closing) {
		return;
	}
	tls->closing = tls->withheld != NULL;
	if (!tls->closing) {
		send_close(tls);
		gyre_context_close(ctx);
	}
}

/* A listener often sees connections that only probe it; a client wanted something. */
static void complain_of_end(struct gy_tls *tls, int reason)
{
	char text[LINE_BYTES_MAX];

	if (tls->client && tls->started && !tls->established && !tls->failed) {
		(void)snprintf(text, sizeof(text),
			       "it ended the connection in the handshake (%s); does it speak TLS?",
			       strerror(-reason));
		gy_tls_complain(tls, text);
	}
}

/* What the user has said of half-closing: all but the first handler found it allowed. */
static bool may_half_close(struct gyre_channel *channel)
{
	const struct gy_tls *tls = gy_tls_of(channel);
	bool allowed = true;

	while (tls != NULL) {
		allowed = allowed && tls->half_close;
		tls = next_outwards(tls);
	}
	return allowed;
}

/*
 * Only a close_notify tells that nothing has been cut off what the peer has sent. That of the
 * innermost stream is enough, for nobody reads what else the others carry.
 */
static bool is_announced(const struct gy_tls *tls)
{
	return tls->peer_closed || gy_tls_of(tls->channel)->peer_closed;
}

static void take_end(struct gy_tls *tls, const struct gyre_input_closed *event)
{
	const struct gy_tls *innermost = gy_tls_of(tls->channel);
	/* A handler inside this one has an end of its own to look for. */
	bool tells = innermost != tls || may_half_close(tls->channel);

	if (event->draining != 0) {
		if (tells) {
			gyre_context_fire_event(tls->place, &gyre_type_gyre_input_closed, event);
		}
		send_close(tls);
	} else if (!is_announced(tls)) {
		complain_of_end(tls, -ECONNABORTED);
		fail(tls, -ECONNABORTED);
	} else if (tells) {
		gyre_context_fire_event(tls->place, &gyre_type_gyre_input_closed, event);
	} else {
		close_channel(tls->place);
	}
}

static void read_end(struct gyre_handler_context *ctx)
{
	const struct gy_tls *tls = tls_of(ctx);

	if (is_announced(tls) && !tls->failed && !tls->closing) {
		gyre_context_fire_read_end(ctx);
	}
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	struct gy_tls *tls = tls_of(ctx);

	if (type->id != GYRE_ID(gyre_input_closed)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	if (!tls->failed) {
		enter(tls);
		take_end(tls, (const struct gyre_input_closed *)event);
		leave(tls);
	}
}

/* ---- writing ---- */

static int hold(struct gy_tls *tls, struct gyre_buffer *data)
{
	int r = 0;

	if (data->bytes > 0) {
		size_t bytes = gy_output_expanded(tls->channel, data->bytes);

		r = gy_output_withhold(tls->channel, bytes);
		tls->withheld_bytes += r < 0 ? 0 : (uint32_t)bytes;
	}
	if (r < 0 || data->bytes == 0) {
		gy_buffer_put(data);
		return r;
	}
	if (tls->withheld == NULL) {
		tls->withheld = data;
		return 0;
	}
	r = gyre_buffer_join(tls->withheld, data);
	if (r < 0) {
		gy_channel_fail(tls->channel, r);
	}
	return r;
}

static int write_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gy_tls *tls = tls_of(ctx);

	if (tls->failed || tls->closing || tls->shutting || tls->sent_close ||
	    (tls->channel->state & GY_CHANNEL_NO_OUTPUT) != 0) {
		gy_buffer_put(data);
		return -EPIPE;
	}
	return tls->established ? gy_tls_encrypt(tls, data) : hold(tls, data);
}

static void shut_down(struct gyre_handler_context *ctx)
{
	struct gy_tls *tls = tls_of(ctx);

	tls->shutting = true;
	if (tls->established) {
		send_close(tls);
		gyre_context_shutdown(ctx);
	}
}

/* ---- the beginning ---- */

static void start(struct gy_tls *tls)
{
	if (tls->started) {
		return;
	}
	tls->started = true;
	gy_timer_start(&loop_of(tls)->wheel, &tls->timer, tls->handshake_ns);
	advance(tls); /* a client says hello, a server asks for what a client says */
}

static bool is_valid(const struct gyre_tls_options *options, bool client)
{
	if (options->context == NULL ||
	    (options->handshake_ns != 0 && (options->handshake_ns < handshake_min_ns ||
					    options->handshake_ns > handshake_max_ns))) {
		return false;
	}
	if (!client) {
		return gy_tls_context_serves(options->context, options->mutual);
	}
	if (options->server_name == NULL) {
		return options->any_name || options->no_verify;
	}
	return options->server_name[0] != '\0' &&
	       strlen(options->server_name) <= GYRE_TLS_NAME_BYTES_MAX;
}

/* Each handler of TLS adds to what those behind it write. */
static void set_expansion(struct gyre_channel *channel)
{
	const struct gy_tls *tls = gy_tls_of(channel);
	uint32_t count = 0;

	while (tls != NULL && count < LAYERS_MAX) {
		count++;
		tls = next_outwards(tls);
	}
	channel->expand_share = (uint8_t)(count == 0 ? 0 : EXPAND_SHARE / count);
	channel->expand_bytes = (uint8_t)(EXPAND_BYTES * count);
}

static int add(struct gyre_handler_context *ctx, bool client)
{
	const struct gyre_tls_options *options = (const struct gyre_tls_options *)ctx->arg;
	struct gyre_channel *channel = ctx->channel;
	struct gy_tls *tls;
	int r;

	if (!is_valid(options, client)) {
		return -EINVAL;
	}
	if (gy_channel_is_datagram(channel)) {
		return -EOPNOTSUPP;
	}
	tls = (struct gy_tls *)gy_sizes_new(&channel->channels->home->parts, sizeof(*tls));
	if (tls == NULL) {
		return -ENOMEM;
	}
	*tls = (struct gy_tls){
		.channel = channel,
		.place = ctx,
		.context = gyre_tls_context_ref(options->context),
		.handshake_ns =
			options->handshake_ns == 0 ? handshake_default_ns : options->handshake_ns,
		.client = client,
		.half_close = channel->half_close,
	};
	gy_timer_init(&tls->timer, too_late);
	gy_deferred_init(&tls->deferred, resume);
	r = gy_tls_prepare(tls, options);
	if (r < 0) {
		tls->removed = true; /* it was never added */
		dispose(tls);
		return r;
	}
	ctx->arg = tls;
	channel->half_close = true;
	set_expansion(channel);
	if ((channel->state & GY_EVENT_ACTIVE) == 0) {
		start(tls);
	}
	return 0;
}

static int added_server(struct gyre_handler_context *ctx)
{
	return add(ctx, false);
}

static int added_client(struct gyre_handler_context *ctx)
{
	return add(ctx, true);
}

/* What the channel had before goes to another handler of TLS, or is put back. */
static void leave_channel(struct gy_tls *tls)
{
	struct gy_tls *other = gy_tls_of(tls->channel);

	if (other == NULL) {
		tls->channel->half_close = tls->half_close;
	} else {
		other->half_close = other->half_close && tls->half_close;
	}
	set_expansion(tls->channel);
}

static void removed(struct gyre_handler_context *ctx)
{
	struct gy_tls *tls = tls_of(ctx);

	if (!tls->established && !tls->failed && !is_ending(tls)) {
		catch_up(tls);
	}
	leave_channel(tls);
	tls->removed = true;
	stop(tls, -ECANCELED);
	if (tls->busy == 0) {
		dispose(tls);
	}
}

static void active(struct gyre_handler_context *ctx)
{
	struct gy_tls *tls = tls_of(ctx);

	enter(tls);
	start(tls);
	if (!is_ending(tls)) {
		gyre_context_fire_active(ctx);
	}
	leave(tls);
}

static void inactive(struct gyre_handler_context *ctx)
{
	struct gy_tls *tls = tls_of(ctx);
	int reason = ctx->channel->reason;

	if (reason < 0 && reason != -ESHUTDOWN) {
		complain_of_end(tls, reason);
	}
	stop(tls, gy_channel_failure(ctx->channel));
	gyre_context_fire_inactive(ctx);
}

const struct gyre_handler gy_tls_server_handler = {
	.name = "tls",
	.added = added_server,
	.removed = removed,
	.active = active,
	.read = read_bytes,
	.event = on_event,
	.read_end = read_end,
	.inactive = inactive,
	.write = write_bytes,
	.read_request = read_request,
	.shutdown = shut_down,
	.close = close_channel,
};

const struct gyre_handler gy_tls_client_handler = {
	.name = "tls",
	.added = added_client,
	.removed = removed,
	.active = active,
	.read = read_bytes,
	.event = on_event,
	.read_end = read_end,
	.inactive = inactive,
	.write = write_bytes,
	.read_request = read_request,
	.shutdown = shut_down,
	.close = close_channel,
};

int gyre_tls_server_add_sized(struct gyre_channel *channel, struct gyre_position position,
			      const struct gyre_tls_options *options, size_t options_bytes)
{
	struct gyre_tls_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_tls_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_tls_server_handler, &ours);
}

int gyre_tls_client_add_sized(struct gyre_channel *channel, struct gyre_position position,
			      const struct gyre_tls_options *options, size_t options_bytes)
{
	struct gyre_tls_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_tls_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &gy_tls_client_handler, &ours);
}

static int get_session(struct gyre_channel *channel, struct gyre_tls_session *ret_session)
{
	const struct gy_tls *tls = channel == NULL ? NULL : gy_tls_of(channel);

	if (channel == NULL || ret_session == NULL) {
		return -EINVAL;
	}
	if (tls == NULL) {
		return -ENOENT;
	}
	if (!tls->established) {
		return -EAGAIN;
	}
	gy_tls_session_get(tls, ret_session);
	return 0;
}

int gyre_tls_session_of_sized(struct gyre_channel *channel, struct gyre_tls_session *ret_session,
			      size_t ret_session_bytes)
{
	struct gyre_tls_session whole;
	int r = get_session(channel, ret_session == NULL ? NULL : &whole);

	if (r == 0) {
		gy_sized_write(ret_session, ret_session_bytes, &whole, sizeof(whole));
	}
	return r;
}
