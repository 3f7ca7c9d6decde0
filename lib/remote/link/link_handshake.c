/*
 * How two nodes begin: hello both ways, the dialler first, and where a secret does not encrypt the
 * link itself a proof of it both ways, the dialler first again. A side that does not like what it
 * hears says why and closes; both log it, with what can be done.
 */
#include "remote/link/link_handshake.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include <gyre/socket_address.h>

#include "buffer/socket_address.h"
#include "channel/channel.h"
#include "remote/link/link.h"
#include "remote/link/link_flush.h"
#include "remote/link/link_order.h"
#include "remote/link/links.h"
#include "remote/node.h"
#include "remote/node_address.h"
#include "remote/peer/one_way.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"
#include "remote/secret.h"
#include "remote/wire.h"

static const char *const refusals[GY_REFUSALS] = {
	[GY_REFUSED_MALFORMED] = "it was not understood; is there a gyre node at that address, and "
				 "do both have a secret or certificates, or neither?",
	[GY_REFUSED_VERSION] =
		"no common version of the protocol; use builds of gyre that share one",
	[GY_REFUSED_CLUSTER] = "it belongs to another cluster; give both the same name",
	[GY_REFUSED_ID] = "the id is not the expected one; check ids and addresses of the peers",
	[GY_REFUSED_OVER] = "this life of it was declared down, while it was halted or cut off; it "
			    "takes a new one by itself",
	[GY_REFUSED_REPLACED] = "another process has come with this id since: this one was "
				"replaced, or two have the same id; give each node its own",
	[GY_REFUSED_SECRET] = "the secrets differ, or one encrypts links and the other does not; "
			      "give both nodes the same secret and options",
	[GY_REFUSED_BUSY] = "it takes no more links now",
	[GY_REFUSED_SELF] = "it leads back to the same node; check the address of the peer, and "
			    "what is between the two",
};

static const char other_user[] = " Or it does not allow the user of this process (users): its log "
				 "says so.";

static const char *refusal_text(unsigned refusal)
{
	return refusal > 0 && refusal < GY_REFUSALS ? refusals[refusal] : "for an unknown reason";
}

/* Whoever can connect can cause a line; a link that is dialled has its pauses. */
static bool may_log(const struct gy_link *link, char note[GY_LOG_NOTE_BYTES])
{
	struct gy_log_limit *limit = &link->links->nodes->refusals;

	note[0] = '\0';
	if (link->dialled) {
		return true;
	}
	if (!gy_log_limit_admit(limit, link->links->home->loop.now_ns)) {
		return false;
	}
	(void)gy_log_limit_note(limit, note);
	return true;
}

static void refuse(struct gy_link *link, enum gy_refusal refusal)
{
	uint8_t code = (uint8_t)refusal;
	char note[GY_LOG_NOTE_BYTES];

	if (may_log(link, note)) {
		gy_log(link->links->nodes->log, GYRE_LOG_WARNING,
		       "node %u: a link %s node %u is refused: %s%s",
		       link->links->nodes->options.id, link->dialled ? "to" : "from",
		       link->theirs.node, refusal_text(refusal), note);
	}
	gy_link_send_control(link, GY_WIRE_REFUSE, &code, sizeof(code));
	gy_link_set_stage(link, GY_LINK_STAGE_ENDED);
	gyre_context_close(link->ctx);
}

static int make_hello(struct gy_link *link, uint16_t expected)
{
	const struct gy_nodes *nodes = link->links->nodes;
	struct gy_peer *peer = gy_peer_find(nodes, expected);
	struct gy_hello *hello = &link->mine;

	gy_links_adopt_new_life(link->links);
	link->dials += link->dialled;
	*hello = (struct gy_hello){
		.version_min = GY_WIRE_VERSION_MIN,
		.version_max = GY_WIRE_VERSION,
		.node = nodes->options.id,
		.expected = expected,
		.incarnation = link->links->incarnation,
		.over = peer == NULL ? 0
				     : gy_lives_accuse(
					       peer, link->dialled ? 0 : link->theirs.incarnation),
		.loop = link->links->home->loop.index,
		.port = nodes->port,
		.dial = link->dials,
		.proves = gy_secrets_are_proved(nodes),
		.message_bytes_max = nodes->options.message_bytes_max,
		.window_bytes = nodes->options.link_bytes_max,
	};
	memcpy(hello->cluster, nodes->cluster, sizeof(hello->cluster));
	if (link->local) {
		memcpy(hello->address, nodes->told_address, sizeof(hello->address));
	}
	return gy_secret_random(hello->nonce, sizeof(hello->nonce));
}

static void send_hello(struct gy_link *link, uint16_t expected)
{
	unsigned char frame[GY_HELLO_BYTES_MAX];

	if (make_hello(link, expected) < 0) {
		gy_link_abort(link, -EIO);
		return;
	}
	gy_link_send_bytes(link, frame, gy_hello_put(&link->mine, frame));
}

void gy_link_handshake_begin(struct gy_link *link)
{
	gy_link_set_stage(link, GY_LINK_STAGE_AWAITS_HELLO);
	link->life = 0;
	if (link->dialled) {
		send_hello(link, link->peer->id);
	}
}

static enum gy_refusal check_hello(const struct gy_link *link)
{
	const struct gy_nodes *nodes = link->links->nodes;
	const struct gy_hello *hello = &link->theirs;

	if (hello->version_max < GY_WIRE_VERSION_MIN || hello->version_min > GY_WIRE_VERSION) {
		return GY_REFUSED_VERSION;
	}
	if (strcmp(hello->cluster, nodes->cluster) != 0) {
		return GY_REFUSED_CLUSTER;
	}
	if (hello->node == nodes->options.id &&
	    hello->incarnation >> 32 == gy_load_relaxed(&nodes->incarnation) >> 32) {
		return GY_REFUSED_SELF;
	}
	if (hello->expected != nodes->options.id || hello->node == 0 ||
	    hello->node == nodes->options.id || (link->dialled && hello->node != link->peer->id)) {
		return GY_REFUSED_ID;
	}
	if (hello->loop >= GY_LINK_ORDERS_MAX) {
		return GY_REFUSED_MALFORMED;
	}
	if (hello->proves != gy_secrets_are_proved(nodes)) {
		return GY_REFUSED_SECRET;
	}
	return 0;
}

/* The proof of that secret by this side, or the one that the peer has to show. */
static int prove(const struct gy_link *link, uint32_t secret, bool by_peer,
		 unsigned char ret_proof[GY_PROOF_BYTES])
{
	const struct gy_nodes *nodes = link->links->nodes;
	const struct gy_hello *prover = by_peer ? &link->theirs : &link->mine;
	const struct gy_hello *other = by_peer ? &link->mine : &link->theirs;
	unsigned char binding[GY_TLS_BINDING_BYTES] = { 0 };

	if (nodes->options.tls != NULL &&
	    gy_tls_bind(gyre_context_channel(link->ctx), binding) < 0) {
		gy_log(nodes->log, GYRE_LOG_WARNING,
		       "node %u: a link has certificates, and a secret besides, but not TLS 1.3; "
		       "give both nodes an OpenSSL that speaks it",
		       nodes->options.id);
		return -EPROTO;
	}
	return gy_secret_prove(&nodes->secrets[secret], binding, prover, other,
			       link->dialled != by_peer, ret_proof);
}

static void send_proof(struct gy_link *link)
{
	unsigned char proof[GY_PROOF_BYTES];
	int r = prove(link, link->secret, false, proof);

	if (r < 0) {
		gy_link_abort(link, r);
		return;
	}
	gy_link_send_control(link, GY_WIRE_PROOF, proof, sizeof(proof));
}

/* What came over a Unix socket has no address: it says where it listens. Only another Unix socket
 * is believed, where the user is checked again: without a secret nothing else would be. */
static void learn_told_address(const struct gy_link *link)
{
	const char *text = link->theirs.address;
	struct gyre_socket_address address;

	if (gy_node_address_is_unix(text) && gy_node_address_check(text) == 0 &&
	    gyre_socket_address_parse(text, &address) == 0) {
		gy_peer_learn_address(link->peer, text);
	}
}

/* A peer that nobody told of is dialled where it came from, at the port it listens on. */
static void learn_address(const struct gy_link *link)
{
	struct gyre_socket_address from;
	struct sockaddr *any = (struct sockaddr *)&from.storage;
	int fd = gyre_context_channel(link->ctx)->endpoint.fd;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	if (link->local) {
		learn_told_address(link);
		return;
	}
	if (link->theirs.port == 0 || gy_socket_address_of_peer(fd, &from) < 0) {
		return;
	}
	if (any->sa_family == AF_INET) {
		((struct sockaddr_in *)(void *)any)->sin_port = htons(link->theirs.port);
	} else if (any->sa_family == AF_INET6) {
		((struct sockaddr_in6 *)(void *)any)->sin6_port = htons(link->theirs.port);
	}
	if (gyre_socket_address_format(&from, sizeof(text), text) > 0) {
		gy_peer_learn_address(link->peer, text);
	}
}

void gy_link_handshake_admit(struct gy_link *link)
{
	gy_link_open(link);
	if (link->stage != GY_LINK_STAGE_OPEN) {
		return;
	}
	if (link->theirs.proves) {
		send_proof(link);
	} else {
		send_hello(link, link->theirs.node);
	}
	if (gy_peer_is_unreached(link->peer)) {
		gy_one_way_send_reach(link);
	}
}

/* Its life is over: it hears that in a hello, and why it has no link. */
static void refuse_former_life(struct gy_link *link)
{
	if (!link->dialled && !link->theirs.proves) {
		send_hello(link, link->theirs.node);
	}
	if (link->stage != GY_LINK_STAGE_ENDED) {
		refuse(link, GY_REFUSED_OVER);
	}
}

static void admit(struct gy_link *link)
{
	if (link->dialled) {
		gy_link_open(link);
	} else {
		learn_address(link);
		gy_link_order_enter(link);
	}
}

/*
 * Only now the peer is believed to be what it says. Who dialled hears of it when it is let in: what
 * it takes for open is. A link on which this node has said a life that is over is ended by that.
 */
static void accept_peer(struct gy_link *link)
{
	struct gy_links *links = link->links;

	if (link->peer == NULL) {
		link->peer = gy_peer_get(links->nodes, link->theirs.node);
	}
	if (link->peer == NULL) {
		refuse(link, GY_REFUSED_BUSY);
		return;
	}
	if (gy_nodes_declared_down(links, link->peer->id, link->theirs.over)) {
		gy_link_abort(link, -ESTALE);
	}
	if (link->stage == GY_LINK_STAGE_ENDED) {
		return;
	}
	switch (gy_peer_hello(links, link->peer, link->theirs.incarnation, &link->life)) {
	case GY_HELLO_WELCOME:
		admit(link);
		break;
	case GY_HELLO_OVER:
		refuse_former_life(link);
		break;
	case GY_HELLO_REPLACED:
		refuse(link, GY_REFUSED_REPLACED);
		break;
	}
}

static void receive_hello(struct gy_link *link, const struct gy_frame *frame)
{
	enum gy_refusal refusal = GY_REFUSED_MALFORMED;

	if (gy_hello_get(frame->body, frame->bytes, &link->theirs) == 0) {
		refusal = check_hello(link);
	}
	if (refusal != 0) {
		refuse(link, refusal);
		return;
	}
	if (!link->theirs.proves) {
		accept_peer(link);
		return;
	}
	if (!link->dialled) {
		send_hello(link, link->theirs.node);
	}
	gy_link_set_stage(link, GY_LINK_STAGE_AWAITS_PROOF);
	if (link->dialled) {
		send_proof(link);
	}
}

/* The side that was dialled answers with the secret that it was shown. */
static void receive_proof(struct gy_link *link, const struct gy_frame *frame)
{
	unsigned char proof[GY_PROOF_BYTES];

	for (uint32_t i = 0; i < link->links->nodes->secrets_count; i++) {
		if (frame->bytes == sizeof(proof) && prove(link, i, true, proof) == 0 &&
		    CRYPTO_memcmp(proof, frame->body, sizeof(proof)) == 0) {
			link->secret = (uint8_t)i;
			accept_peer(link);
			return;
		}
	}
	refuse(link, GY_REFUSED_SECRET);
}

static void receive_refusal(struct gy_link *link, const struct gy_frame *frame)
{
	unsigned code = frame->bytes == 0 ? 0 : frame->body[0];
	char note[GY_LOG_NOTE_BYTES];

	if (may_log(link, note)) {
		gy_log(link->links->nodes->log, GYRE_LOG_WARNING,
		       "node %u: node %u refuses a link: %s%s", link->links->nodes->options.id,
		       link->peer == NULL ? link->theirs.node : link->peer->id, refusal_text(code),
		       note);
	}
	gy_link_abort(link, -ECONNREFUSED);
}

void gy_link_handshake_receive(struct gy_link *link, const struct gy_frame *frame)
{
	if (gy_wire_head_bytes(frame->kind) + frame->bytes > GY_LINK_HANDSHAKE_BYTES_MAX) {
		gy_link_abort(link, -EMSGSIZE); /* as one that comes in parts */
	} else if (frame->kind == GY_WIRE_REFUSE) {
		receive_refusal(link, frame);
	} else if (frame->kind == GY_WIRE_HELLO && link->stage == GY_LINK_STAGE_AWAITS_HELLO) {
		receive_hello(link, frame);
	} else if (frame->kind == GY_WIRE_PROOF && link->stage == GY_LINK_STAGE_AWAITS_PROOF) {
		receive_proof(link, frame);
	} else {
		refuse(link, GY_REFUSED_MALFORMED);
	}
}

/* A record of a handshake or an alert, of any version. */
static bool is_tls(const unsigned char *bytes, size_t count)
{
	return count > 1 && (bytes[0] == SSL3_RT_HANDSHAKE || bytes[0] == SSL3_RT_ALERT) &&
	       bytes[1] == SSL3_VERSION_MAJOR;
}

/* TLS has its own lines. */
void gy_link_handshake_failed(const struct gy_link *link, const unsigned char *bytes, size_t count)
{
	const struct gy_nodes *nodes = link->links->nodes;
	char note[GY_LOG_NOTE_BYTES];

	if (link->stage != GY_LINK_STAGE_AWAITS_HELLO || link->links->draining ||
	    gy_secrets_tls(link) != NULL) {
		return;
	}
	if (is_tls(bytes, count) && may_log(link, note)) {
		gy_log(nodes->log, GYRE_LOG_WARNING,
		       "node %u: a link is refused: the other side encrypts, this node does not; "
		       "give it the secret or certificates%s",
		       nodes->options.id, note);
	} else if (link->dialled) {
		gy_log(nodes->log, GYRE_LOG_WARNING, "node %u: a link to node %u has failed: %s%s",
		       nodes->options.id, link->peer->id, refusal_text(GY_REFUSED_MALFORMED),
		       link->local && count == 0 ? other_user : "");
	}
}
