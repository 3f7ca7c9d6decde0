/*
 * The server as a node of a cluster: what it has in common with others, and where they are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat.h"

enum { HEARTBEATS_PER_DOWN = 10, SUSPECT_AFTER = 3 };

static const struct gyre_type *const types[] = {
	&gyre_type_text,  &gyre_type_told,  &gyre_type_join,	 &gyre_type_rename,
	&gyre_type_leave, &gyre_type_done,  &gyre_type_who,	 &gyre_type_rooms,
	&gyre_type_find,  &gyre_type_found, &gyre_type_sent_off, NULL,
};

/* ---- text on its way ---- */

int encode_text(const void *payload, struct gyre_encoder *out)
{
	const struct gyre_bytes *bytes = ((const struct text *)payload)->bytes;

	if (bytes == NULL) {
		return -ENOMEM; /* it could not be made */
	}
	gyre_encode_bytes(out, gyre_bytes_data(bytes), gyre_bytes_count(bytes));
	return 0;
}

int decode_text(void *payload, struct gyre_decoder *in)
{
	size_t count = in->left;
	const void *bytes = gyre_decode_view(in, count);

	((struct text *)payload)->bytes = gyre_bytes_create(bytes, count);
	return ((struct text *)payload)->bytes == NULL ? -ENOMEM : 0;
}

/* ---- options ---- */

/* Takes ID=ADDRESS apart. */
static bool read_peer(char *text, struct gyre_node_peer *ret_peer)
{
	char *end;
	unsigned long id = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || id == 0 || id > UINT16_MAX || *end != '=') {
		return false;
	}
	*ret_peer = (struct gyre_node_peer){ (uint16_t)id, end + 1 };
	return true;
}

static bool is_named(const struct node_settings *settings, size_t count, uint16_t id)
{
	for (size_t i = 0; i < count; i++) {
		if (settings->peers[i].id == id) {
			return true;
		}
	}
	return false;
}

/* Says what is wrong with one peer. */
static bool refuse_peer(const struct gyre_node_peer *peer, const char *why)
{
	(void)fprintf(stderr, "gyre-chat: --peers: %s: %u=%s\n", why, (unsigned)peer->id,
		      peer->address);
	return false;
}

static bool say_what_peers_are(const struct node_settings *settings)
{
	(void)fprintf(stderr,
		      "gyre-chat: --peers %s: up to %d nodes, as 2=tcp://10.0.0.2:9001, with "
		      "commas between them\n",
		      settings->peers_text, NODES_MAX - 1);
	return false;
}

/* A line on standard error says what is wrong. */
static bool read_peers(struct node_settings *settings)
{
	const char *from = settings->peers_text == NULL ? "" : settings->peers_text;
	char *rest = settings->text;
	size_t count = 0;
	char *one;

	if (strlen(from) >= sizeof(settings->text)) {
		return say_what_peers_are(settings);
	}
	(void)snprintf(settings->text, sizeof(settings->text), "%s", from);
	while ((one = strsep(&rest, ",")) != NULL && *from != '\0') {
		struct gyre_node_peer *peer = &settings->peers[count];

		if (count == NODES_MAX - 1 || !read_peer(one, peer)) {
			return say_what_peers_are(settings);
		}
		if (is_named(settings, count, peer->id)) {
			return refuse_peer(peer, "a node has one address, and this is another one");
		}
		count++;
	}
	return true;
}

bool make_node(struct node_settings *settings, struct gyre_node_options *ret_node)
{
	const uint64_t down_ns = GYRE_MILLISECONDS(settings->down_ms);

	if (settings->listen == NULL) {
		(void)fputs("gyre-chat: with --node, --listen is needed; see --help\n", stderr);
		return false;
	}
	if (!read_peers(settings)) {
		return false;
	}
	*ret_node = (struct gyre_node_options){
		.id = (uint16_t)settings->id,
		.cluster = settings->cluster,
		.listen = settings->listen,
		.peers = settings->peers,
		.types = types,
		.secret = settings->secret,
		.no_encryption = settings->no_encryption,
		.heartbeat_ns = down_ns / HEARTBEATS_PER_DOWN,
		.suspect_ns = down_ns / HEARTBEATS_PER_DOWN * SUSPECT_AFTER,
		.down_ns = down_ns,
	};
	return true;
}
