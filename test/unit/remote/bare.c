/*
 * The channel is that of the rig for codecs, with the link behind the handler that writes down. Its
 * home is a real one, whose ring has nothing to do.
 */
#include "bare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/class_log.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "remote/node.h"
#include "ring_engine.h"

enum {
	LOG_LINES_MAX = 100,
	TURNS = 4,
	STEP_NS = 5000000,
	RING_ENTRIES = 8,
	TEXT_BYTES_MAX = 1 << 12,
	SAID_BYTES_MAX = 1 << 16
};

static void require(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "bare link: %s\n", what);
		abort();
	}
}

/* ---- messages ---- */

static int encode_text(const void *payload, struct gyre_encoder *out)
{
	gyre_encode_text(out, ((const struct bare_text *)payload)->text);
	return 0;
}

static int decode_text(void *payload, struct gyre_decoder *in)
{
	size_t bytes;
	const char *text = gyre_decode_text(in, &bytes);

	((struct bare_text *)payload)->text =
		text == NULL || bytes > TEXT_BYTES_MAX ? NULL : strndup(text, bytes);
	return text == NULL || bytes > TEXT_BYTES_MAX ? -EPROTO : 0;
}

static void destroy_text(void *payload)
{
	free(((struct bare_text *)payload)->text);
}

static const struct gyre_encoding text_encoding = { .version = 1,
						    .encode = encode_text,
						    .decode = decode_text };
const struct gyre_type gyre_type_bare_text = { .name = "text",
					       .id = 0x1401,
					       .bytes = sizeof(struct bare_text),
					       .destroy = destroy_text,
					       .encoding = &text_encoding };

static const struct gyre_type *const types[] = { &gyre_type_bare_number, &gyre_type_bare_text,
						 &gyre_type_bare_values, NULL };

/* Reads all that there is of them. */
static uint64_t sum_of(const struct bare_values *values)
{
	uint64_t sum = values->serial;

	for (uint32_t i = 0; i < values->count; i++) {
		sum += values->values[i];
	}
	return sum;
}

static int add(struct gyre_stack *stack)
{
	const struct bare_number *number = gyre_message(stack, bare_number);
	const struct bare_values *values = gyre_message(stack, bare_values);

	if (values != NULL) {
		return gyre_reply(stack, gyre_new(stack, bare_number, sum_of(values)));
	}
	return number == NULL ? gyre_throw(stack, -EPROTO)
			      : gyre_reply(stack, gyre_new(stack, bare_number, number->value + 1));
}

static int ignore(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static struct bare *bare_of(const struct gyre_stack *stack)
{
	return (struct bare *)(void *)gyre_system_of(stack);
}

static int read_values(struct gyre_stack *stack)
{
	const struct bare_values *values = gyre_message(stack, bare_values);
	const struct bare_text *text = gyre_message_as(stack, &gyre_type_bare_text);

	if (text != NULL && text->text[0] == BARE_FAILS) {
		return gyre_throw_with(stack, -EIO, gyre_take(stack));
	}
	bare_of(stack)->sum += values == NULL ? 0 : sum_of(values);
	return gyre_return(stack);
}

static const struct gyre_class adder_class = {
	.name = "adder",
	.behaviour = { .ask = add, .notice = read_values, .event = ignore },
	.strategy = GYRE_STRATEGY_STOP
};

/* ---- the node ---- */

static struct bare *looked_up_in;

static int look_up(struct gyre_system *system, const char *name, struct gyre_address *ret)
{
	(void)system;
	if (strcmp(name, "adder") != 0) {
		return -ENOENT;
	}
	*ret = looked_up_in->adder;
	return 0;
}

static uint64_t read_clock(void *arg)
{
	return ((struct bare *)arg)->now_ns;
}

static void logged(const struct gyre_log_line *line, void *arg)
{
	((struct bare *)arg)->warnings += line->level >= GYRE_LOG_WARNING;
}

static void do_nothing(struct gy_loop *loop, struct gy_later *later)
{
	(void)loop;
	(void)later;
}

/* What is due now, without waiting for more. */
static void turn(struct bare *bare)
{
	struct gy_loop *loop = &bare->rig.home.loop;

	for (int i = 0; i < TURNS; i++) {
		bare->later.run = do_nothing;
		gy_loop_later(loop, &bare->later);
		gy_loop_turn(loop);
	}
}

static void make_home(struct bare *bare)
{
	struct gy_home *home = &bare->rig.home;
	const struct gy_loop_options loop = {
		.cpu = -1,
		.io_ratio = 100,
		.starvation_limit = 64,
		.min_budget_ns = 500000,
		.timer_tick_ns = 1000000,
		.spin_ns = GY_SPIN_NEVER,
		.ring = { .engine = engine_of_tests(),
			  .entries = RING_ENTRIES,
			  .buffer_count = RING_ENTRIES,
			  .buffer_bytes = 1024,
			  .log = &bare->log },
		.clock = { .read_ns = read_clock, .arg = bare },
		.log = &bare->log,
	};
	const struct gy_home_options options = {
		.run_budget = 256,
		.high_replies = 2,
		.high_events = 4,
		.ask_timeout_ns = GYRE_SECONDS(5),
		.cookie_seed = 1,
		.node = BARE_NODE,
		.system = (struct gyre_system *)(void *)bare,
		.remote = &gy_remote_ops,
	};

	bare->homes = (struct gy_homes){
		.count = 1, .node = BARE_NODE, .homes = home, .log = &bare->log
	};
	require(gy_home_init(home, &loop, &options) == 0, "no home");
	home->loop.own_channels = &bare->rig.channels;
	gy_class_logs_begin(&bare->homes, LOG_LINES_MAX);
	bare->loops =
		(struct gy_loops *)gy_memory_get(sizeof(*bare->loops) + sizeof(struct gy_loop *));
	bare->loops->count = 1;
	bare->loops->made = 1;
	bare->loops->max = 1;
	bare->loops->loop[0] = &home->loop;
	bare->homes.loops = bare->loops;
	require(gy_loop_join(&home->loop, bare->loops) == 0 && gy_loop_enter(&home->loop) == 0,
		"no loop");
}

void bare_init(struct bare *bare, const struct gyre_node_options *options)
{
	const struct gy_nodes_life life = {
		.loops_max = 1, .homes = &bare->homes, .log = &bare->log, .look_up = look_up
	};
	const struct gy_spawn_order order = { .class = &adder_class };
	struct gyre_node_options node = *options;

	memset(bare, 0, offsetof(struct bare, rig));
	bare->log = (struct gy_log){ .write = logged, .arg = bare, .level = GYRE_LOG_WARNING };
	bare->now_ns = GYRE_SECONDS(1000);
	looked_up_in = bare;
	codec_rig_init(&bare->rig);
	make_home(bare);
	node.id = BARE_NODE;
	node.listen = "tcp://127.0.0.1:1"; /* which nobody starts */
	node.types = types;
	require(gy_nodes_create(&node, &life, &bare->homes.nodes) == 0, "no node");
	gy_nodes_add_home(bare->homes.nodes, &bare->rig.home);
	require(gy_spawn(&bare->rig.home, &order, 0, &bare->adder) == 0, "no actor");
	turn(bare);
}

static void stop_houses(struct gy_home *home)
{
	home->draining = true;
	for (uint32_t slot = 0; slot < home->slots.used; slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (house->status >= GY_HOUSE_MOUNTING && house->status != GY_HOUSE_STOPPING) {
			gy_house_request_stop(house, 0);
		}
	}
}

static void end_channel(struct codec_rig *rig)
{
	struct gy_channels *channels = &rig->channels;
	struct gy_pool *pools[] = { &channels->pools.buffers, &channels->pools.slices,
				    &channels->pools.pages, &channels->pools.foreigns,
				    &channels->contexts };

	codec_rig_stage(rig, GY_CHANNEL_CLOSED);
	gy_pipeline_fini(&rig->channel.pipeline);
	gy_deferred_run_all(&rig->channel);
	codec_rig_end_owner(rig);
	for (size_t i = 0; i < gy_countof(pools); i++) {
		require(gy_pool_fini(pools[i]) == 0, pools[i]->name);
	}
}

void bare_fini(struct bare *bare)
{
	struct gy_home *home = &bare->rig.home;
	struct gy_leaks leaks = { 0 };
	uint32_t warnings;

	stop_houses(home);
	turn(bare);
	require(home->houses == 0, "an actor is left");
	gy_links_drain(gy_links_of(home));
	gy_loop_leave();
	gy_nodes_destroy(bare->homes.nodes);
	end_channel(&bare->rig);
	gy_home_fini(home, &leaks); /* it may tell how many lines of a class it dropped */
	warnings = bare->warnings;
	gy_leaks_log(&leaks, &bare->log);
	require(bare->warnings == warnings, "something of the home is left");
	gy_memory_put(bare->loops);
}

static void forget_peer(struct gy_peer *peer)
{
	peer->state = GYRE_NODE_UNKNOWN;
	peer->incarnation = 0;
	peer->lives.count = 0;
	peer->lives.over = 0;
	peer->lives.cut = 0;
	peer->lives.cut_everywhere = 0;
	peer->lives.accused = 0;
	peer->unreached_ns = 0;
	for (uint32_t link_order = 0; link_order < peer->link_orders_count; link_order++) {
		peer->link_orders[link_order] = (struct gy_link_order){ 0 };
	}
}

void bare_forget(struct bare *bare)
{
	const struct gy_list *all = &gy_links_of(&bare->rig.home)->all;

	for (struct gy_list *item = all->next; item != all; item = item->next) {
		gy_outgoing_drop_waiting(gy_container_of(item, struct gy_link, item), -EHOSTDOWN,
					 GY_WAITING_ALL);
	}
	for (uint32_t page = 0; page < GY_PEER_PAGE; page++) {
		void **peers = bare->homes.nodes->peers.pages[page];

		for (uint32_t i = 0; peers != NULL && i < GY_PEER_PAGE; i++) {
			struct gy_peer *peer = (struct gy_peer *)peers[i];

			if (peer != NULL) {
				forget_peer(peer);
			}
		}
	}
}

void bare_share(struct bare *bare, const char *secret)
{
	struct gy_nodes *nodes = bare->homes.nodes;

	nodes->options.no_encryption = true;
	nodes->secrets_count = secret[0] != '\0';
	require(gy_secret_derive(secret, "gyre", &nodes->secrets[0]) == 0, "no memory");
}

void bare_prove(const struct bare *bare, const char *secret, const struct gy_hello *hello,
		unsigned char proof[GY_PROOF_BYTES])
{
	static const unsigned char unbound[GY_TLS_BINDING_BYTES];
	struct gy_secret derived = { .tls = NULL };

	require(gy_secret_derive(secret, "gyre", &derived) == 0 &&
			gy_secret_prove(&derived, unbound, hello, &bare->link->mine,
					!bare->link->dialled, proof) == 0,
		"no proof");
}

/* ---- the connection ---- */

/* Events begin behind the handler that writes down. */
static struct gyre_handler_context *front_of(struct bare *bare)
{
	return &bare->rig.channel.pipeline.head.next->head;
}

/* What handlers of a channel find round them. */
static void enter(struct bare *bare)
{
	static struct gy_stack stack; /* only that there is one */

	bare->rig.channels.stack = &stack;
}

static void leave(struct bare *bare)
{
	bare->rig.channels.stack = NULL;
	turn(bare);
}

static void begin(struct bare *bare)
{
	enter(bare);
	gyre_context_fire_active(front_of(bare));
	leave(bare);
}

void bare_accept(struct bare *bare)
{
	struct gy_links *links = gy_links_of(&bare->rig.home);

	require(gy_link_accept(&bare->rig.channel, NULL) == 0, "it is not accepted");
	bare->link = gy_container_of(links->all.previous, struct gy_link, item);
	begin(bare);
}

void bare_dial(struct bare *bare)
{
	struct gy_links *links = gy_links_of(&bare->rig.home);
	int error;

	require(gy_peer_get(bare->homes.nodes, BARE_PEER) != NULL, "no memory");
	(void)gy_link_get(links, BARE_PEER, &error); /* it has no address */
	require(error == -EHOSTUNREACH || error == -EHOSTDOWN, "it can be dialled");
	bare->link = (struct gy_link *)gy_id_table_find(&links->dialled, BARE_PEER);
	require(gy_link_init_channel(&bare->rig.channel, bare->link) == 0, "no memory");
	begin(bare);
}

bool bare_is_alive(const struct bare *bare)
{
	return bare->link != NULL && bare->link->stage != GY_LINK_STAGE_ENDED &&
	       (bare->rig.channel.state & GY_CHANNEL_ENDING) == 0;
}

void bare_feed(struct bare *bare, const void *bytes, size_t count, size_t slice_bytes)
{
	struct gyre_buffer *data;

	if (!bare_is_alive(bare)) {
		return; /* a channel throws away what comes then */
	}
	data = codec_rig_buffer(&bare->rig, bytes, count, slice_bytes);
	enter(bare);
	gyre_context_fire_read(front_of(bare), data);
	leave(bare);
}

size_t bare_hear(struct bare *bare, void *to, size_t bytes_max)
{
	return codec_rig_output(&bare->rig, to, bytes_max);
}

uint32_t bare_count_said(struct bare *bare, enum gy_wire_kind info, uint32_t type)
{
	static unsigned char bytes[SAID_BYTES_MAX];
	size_t count = bare_hear(bare, bytes, sizeof(bytes));
	uint32_t last_sent = 0;

	for (size_t at = 0; at < count;) {
		struct gy_frame frame;

		gy_wire_get(bytes + at, &frame);
		last_sent += frame.kind == info && frame.type == type;
		at += (size_t)gy_wire_bytes(bytes + at, count - at);
	}
	return last_sent;
}

static void check_sums(const struct bare *bare)
{
	const struct bare_sums sums = bare_sums(bare);
	uint64_t ends = sums.handled + sums.to_nodes + sums.waiting;

	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += sums.dropped[i];
	}
	require(sums.sent == ends, "a message has vanished");
}

void bare_hang_up(struct bare *bare)
{
	struct gyre_channel *channel = &bare->rig.channel;

	codec_rig_stage(&bare->rig, GY_CHANNEL_CLOSED);
	enter(bare);
	gyre_context_fire_inactive(front_of(bare));
	gyre_context_remove(&channel->pipeline.tail.previous->head);
	gy_pipeline_sweep(&channel->pipeline);
	leave(bare);
	bare->link = NULL;
	codec_rig_reset(&bare->rig);
	check_sums(bare);
}

void bare_wait(struct bare *bare, uint64_t time_ns)
{
	for (uint64_t end_ns = bare->now_ns + time_ns; bare->now_ns < end_ns;) {
		uint64_t left_ns = end_ns - bare->now_ns;

		bare->now_ns += left_ns < STEP_NS ? left_ns : STEP_NS;
		enter(bare);
		turn(bare);
		bare->rig.channels.stack = NULL;
	}
}

/* ---- what the peer says ---- */

struct gy_hello bare_hello(void)
{
	static uint64_t dials;

	return (struct gy_hello){ .version_min = GY_WIRE_VERSION,
				  .version_max = GY_WIRE_VERSION,
				  .node = BARE_PEER,
				  .expected = BARE_NODE,
				  .incarnation = 1000,
				  .dial = ++dials,
				  .message_bytes_max = 1 << 24,
				  .window_bytes = 1 << 22,
				  .nonce = "a nonce",
				  .cluster = "gyre" };
}

uint32_t bare_greeting(unsigned char bytes[GY_HELLO_BYTES_MAX])
{
	const struct gy_hello hello = bare_hello();

	return gy_hello_put(&hello, bytes);
}

void bare_greet(struct bare *bare)
{
	unsigned char bytes[GY_HELLO_BYTES_MAX];

	bare_feed(bare, bytes, bare_greeting(bytes), sizeof(bytes));
	require(bare->link->stage == GY_LINK_STAGE_OPEN, "it does not like the greeting");
}

static struct gyre_mail *make_notice(struct bare *bare, uint64_t value)
{
	struct gyre_mail *mail = gy_mail_get(&bare->rig.home, &gyre_type_bare_number);

	require(mail != NULL, "no memory");
	*(struct bare_number *)gyre_payload(mail) = (struct bare_number){ value };
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	return mail;
}

void bare_tell(struct bare *bare, struct gyre_address to, uint64_t value)
{
	(void)gy_send(&bare->rig.home, to, make_notice(bare, value), GY_LANE_NOTICE);
}

int bare_notify(struct bare *bare, uint64_t value)
{
	const struct gyre_address to = { .slot = 5, .cookie = 6, .node = BARE_PEER };
	int r = gy_send_away(&bare->rig.home, to, make_notice(bare, value));

	turn(bare);
	return r;
}

static uint64_t count_waiting(const struct bare *bare)
{
	const struct gy_list *all = &gy_links_of(&bare->rig.home)->all;
	uint64_t count = 0;

	for (struct gy_list *item = all->next; item != all; item = item->next) {
		const struct gy_link *link = gy_container_of(item, struct gy_link, item);

		for (const struct gy_node *node = link->waiting; node != NULL; node = node->next) {
			count++;
		}
	}
	return count;
}

struct bare_sums bare_sums(const struct bare *bare)
{
	const struct gy_home *home = &bare->rig.home;
	struct bare_sums sums = { .sent = home->counters.sent,
				  .handled = home->counters.handled,
				  .to_nodes = home->counters.to_nodes };

	memcpy(sums.dropped, home->counters.dropped, sizeof(sums.dropped));
	for (const struct gy_class_info *info = home->class_infos.first; info != NULL;
	     info = info->next) {
		sums.handled += info->handled;
	}
	sums.waiting = count_waiting(bare);
	if (bare->link != NULL) {
		sums.bytes = bare->link->consumed_bytes;
		sums.frames = bare->link->consumed_frames;
	}
	return sums;
}
