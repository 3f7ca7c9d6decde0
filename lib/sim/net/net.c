/*
 * The network: packets, and the links that take them from one host to another. What becomes of a
 * packet is settled when it is sent: it is lost, waits for a link that is clogged, or comes after
 * the delay of the link and a part of its jitter that is drawn. Packets of a host to itself have
 * come before anybody can look.
 */
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/memory/poison.h"
#include "sim/net/socket.h"

static const uint64_t own_delay_ns = 5000;
static const uint64_t ordinary_delay_ns = 50000;

enum { FIRST_PORT = 32768 };

struct gy_sim_link_state {
	struct gyre_sim_link link;
	struct gy_list waiting; /* packets, while it is clogged */
	uint64_t not_before_ns; /* those of connections come after those that have waited */
};

/* ---- links ---- */

static struct gy_sim_link_state *link_of(const struct gyre_sim *sim, uint32_t from, uint32_t to)
{
	gy_assert(from < sim->hosts_count && to < sim->hosts_count);
	return &sim->hosts[from]->net->links[to];
}

static uint64_t delay_of(const struct gy_sim_link_state *state)
{
	return state->link.delay_ns == 0 ? ordinary_delay_ns : state->link.delay_ns;
}

void gy_sim_net_init(struct gyre_sim *sim)
{
	sim->net = (struct gy_sim_net *)gy_sim_get(sizeof(*sim->net));
	gy_list_init(&sim->net->packets);
	gy_list_init(&sim->net->own);
	gy_list_init(&sim->net->spare);
}

/* Packets come and go all the time, and most of them are small. */
enum {
	SPARE_BYTES = 512,
	SPARE_PART_BYTES = sizeof(struct gy_sim_packet) + SPARE_BYTES - sizeof(struct gy_list),
};

static void free_packet(struct gy_sim_packet *packet)
{
	if (packet->count <= SPARE_BYTES) {
		gy_list_append(&packet->sim->net->spare, &packet->item);
		gy_poison(&packet->item + 1, SPARE_PART_BYTES);
	} else {
		gy_sim_put(packet);
	}
}

static struct gy_sim_packet *get_packet(struct gyre_sim *sim, size_t count)
{
	struct gy_list *spare = &sim->net->spare;
	struct gy_sim_packet *packet;

	if (count > SPARE_BYTES || gy_list_empty(spare)) {
		return (struct gy_sim_packet *)gy_sim_get(
			sizeof(*packet) + (count > SPARE_BYTES ? count : SPARE_BYTES));
	}
	packet = gy_container_of(spare->previous, struct gy_sim_packet, item);
	gy_list_remove(&packet->item);
	gy_unpoison(&packet->item + 1, SPARE_PART_BYTES);
	memset(packet, 0, sizeof(*packet)); /* its bytes are written by who sends it */
	return packet;
}

static void free_spare_packets(struct gyre_sim *sim)
{
	while (!gy_list_empty(&sim->net->spare)) {
		struct gy_sim_packet *packet =
			gy_container_of(sim->net->spare.next, struct gy_sim_packet, item);

		gy_list_remove(&packet->item);
		gy_unpoison(&packet->item + 1, SPARE_PART_BYTES);
		gy_sim_put(packet);
	}
}

static void destroy_packet(struct gy_sim_packet *packet)
{
	gy_sim_timer_stop(packet->sim, &packet->timer);
	gy_list_remove(&packet->item);
	free_packet(packet);
}

static void destroy_packets(struct gy_list *packets)
{
	while (!gy_list_empty(packets)) {
		destroy_packet(gy_container_of(packets->next, struct gy_sim_packet, item));
	}
}

void gy_sim_net_fini(struct gyre_sim *sim)
{
	if (sim->net == NULL) {
		return;
	}
	destroy_packets(&sim->net->packets);
	destroy_packets(&sim->net->own);
	free_spare_packets(sim);
	gy_sim_put(sim->net->connections);
	gy_sim_put(sim->net);
	sim->net = NULL;
}

/* ---- hosts ---- */

void gy_sim_net_host_init(struct gy_sim_host *host)
{
	host->net = (struct gy_sim_net_host *)gy_sim_get(sizeof(*host->net));
	host->net->links = (struct gy_sim_link_state *)gy_sim_get(GY_SIM_HOSTS_MAX *
								  sizeof(*host->net->links));
	for (uint32_t to = 0; to < GY_SIM_HOSTS_MAX; to++) {
		gy_list_init(&host->net->links[to].waiting);
	}
	gy_list_init(&host->net->sockets);
	gy_list_init(&host->net->ended);
	gy_list_init(&host->net->socket_files);
	gy_list_init(&host->net->asking);
	host->net->next_port = FIRST_PORT;
	host->net->crashed = true; /* it has not booted yet */
}

void gy_sim_net_host_down(struct gy_sim_host *host, bool crashed)
{
	host->net->crashed = crashed;
	gy_sim_lookups_drop(host);
	if (crashed) {
		gy_sim_streams_drop(host);
	}
}

void gy_sim_net_host_fini(struct gy_sim_host *host)
{
	gy_sim_streams_drop(host);
	gy_sim_socket_files_fini(host);
	for (uint32_t to = 0; to < GY_SIM_HOSTS_MAX; to++) {
		destroy_packets(&host->net->links[to].waiting);
	}
	gy_sim_put(host->net->links);
	gy_sim_put(host->net);
	host->net = NULL;
}

bool gy_sim_net_answers(const struct gy_sim_host *host)
{
	return host->up || !host->net->crashed;
}

/* ---- packets ---- */

static void arrive(struct gy_sim_timer *timer)
{
	struct gy_sim_packet *packet = gy_container_of(timer, struct gy_sim_packet, timer);
	struct gy_sim_host *host = packet->sim->hosts[packet->to];

	gy_list_remove(&packet->item);
	if (!gy_sim_net_answers(host)) {
		/* Nobody hears it. */
	} else if (packet->kind == GY_SIM_DATAGRAM || packet->kind == GY_SIM_REFUSAL) {
		gy_sim_datagram_arrive(host, packet);
	} else {
		gy_sim_stream_arrive(host, packet);
	}
	free_packet(packet);
}

struct gy_sim_packet *gy_sim_packet_create(struct gyre_sim *sim, enum gy_sim_packet_kind kind,
					   size_t count)
{
	struct gy_sim_packet *packet = get_packet(sim, count);

	packet->sim = sim;
	packet->kind = kind;
	packet->count = count;
	packet->timer.fire = arrive;
	gy_list_init(&packet->item);
	return packet;
}

static const char *text_of(enum gy_sim_packet_kind kind)
{
	static const char *const texts[] = {
		[GY_SIM_DATAGRAM] = "datagram", [GY_SIM_REFUSAL] = "refusal",
		[GY_SIM_SYN] = "SYN",		[GY_SIM_SYN_ACK] = "SYN+ACK",
		[GY_SIM_ACK] = "ACK",		[GY_SIM_DATA] = "segment",
		[GY_SIM_FIN] = "FIN",		[GY_SIM_PROBE] = "probe",
		[GY_SIM_RESET] = "RST",
	};

	return texts[kind];
}

static void start(struct gy_sim_packet *packet, uint64_t at_ns)
{
	gy_list_append(&packet->sim->net->packets, &packet->item);
	gy_sim_timer_start_in_row(packet->sim, &packet->timer, at_ns, GY_SIM_ROW_PACKETS);
}

static void lose(struct gy_sim_packet *packet, const char *how)
{
	char source[GY_SIM_ENDPOINT_TEXT_MAX];
	char target[GY_SIM_ENDPOINT_TEXT_MAX];

	gy_sim_endpoint_write(&packet->source, source);
	gy_sim_endpoint_write(&packet->target, target);
	gy_sim_trace(packet->sim, packet->sim->hosts[packet->from], "%s of %s to %s is %s",
		     text_of(packet->kind), source, target, how);
	free_packet(packet);
}

static void duplicate(const struct gy_sim_packet *packet, const struct gy_sim_link_state *state)
{
	struct gy_sim_packet *copy = gy_sim_packet_create(packet->sim, packet->kind, packet->count);

	copy->from = packet->from;
	copy->to = packet->to;
	copy->source = packet->source;
	copy->target = packet->target;
	copy->segment = packet->segment;
	memcpy(copy->bytes, packet->bytes, packet->count);
	start(copy, packet->sim->now_ns + delay_of(state) +
			    gy_sim_choose_time(packet->sim, state->link.jitter_ns));
}

static void send_over(struct gy_sim_packet *packet, struct gy_sim_link_state *state,
		      uint64_t *ordered_ns)
{
	struct gyre_sim *sim = packet->sim;
	uint64_t at_ns =
		sim->now_ns + delay_of(state) + gy_sim_choose_time(sim, state->link.jitter_ns);

	if (ordered_ns != NULL) {
		at_ns = at_ns > state->not_before_ns ? at_ns : state->not_before_ns;
		at_ns = at_ns > *ordered_ns ? at_ns : *ordered_ns;
		*ordered_ns = at_ns;
	}
	start(packet, at_ns);
	if (packet->kind == GY_SIM_DATAGRAM && gy_sim_happens(sim, state->link.duplicates)) {
		duplicate(packet, state);
	}
}

/*
 * The kernel takes a packet of a host to itself through both halves before the call returns that
 * sends it, or has a thread of its own do so where it has much to do: a fault here. Those of a
 * connection come in their order.
 */
static void send_to_self(struct gy_sim_packet *packet, uint64_t *ordered_ns)
{
	struct gyre_sim *sim = packet->sim;
	uint64_t late_ns = gy_sim_happens(sim, sim->faults) ? sim->now_ns + own_delay_ns : 0;

	if (ordered_ns != NULL) {
		late_ns =
			*ordered_ns > late_ns && *ordered_ns >= sim->now_ns ? *ordered_ns : late_ns;
		*ordered_ns = late_ns;
	}
	if (late_ns != 0) {
		start(packet, late_ns);
	} else {
		gy_list_append(&sim->net->own, &packet->item);
		sim->has_own_packets = true;
	}
}

void gy_sim_net_deliver_own(struct gyre_sim *sim)
{
	struct gy_sim_net *net = sim->net;

	if (net->delivering) {
		return;
	}
	net->delivering = true;
	while (!gy_list_empty(&net->own)) {
		arrive(&gy_container_of(net->own.next, struct gy_sim_packet, item)->timer);
	}
	net->delivering = false;
	sim->has_own_packets = false;
}

void gy_sim_packet_send(struct gy_sim_packet *packet, uint64_t *ordered_ns)
{
	struct gyre_sim *sim = packet->sim;
	struct gy_sim_link_state *state = link_of(sim, packet->from, packet->to);

	gy_assert(packet->to < sim->hosts_count);
	if (packet->from == packet->to) {
		send_to_self(packet, ordered_ns);
	} else if (state->link.cut) {
		lose(packet, "cut off");
	} else if (gy_sim_happens(sim, state->link.loss)) {
		lose(packet, "lost");
	} else if (state->link.clog) {
		gy_list_append(&state->waiting, &packet->item);
	} else {
		send_over(packet, state, ordered_ns);
	}
}

uint64_t gy_sim_net_round_trip_ns(const struct gyre_sim *sim, uint32_t from, uint32_t to)
{
	const struct gy_sim_link_state *there = link_of(sim, from, to);
	const struct gy_sim_link_state *back = link_of(sim, to, from);

	if (from == to) {
		return 2 * own_delay_ns;
	}
	return delay_of(there) + there->link.jitter_ns + delay_of(back) + back->link.jitter_ns;
}

bool gy_sim_net_is_undisturbed(const struct gyre_sim *sim, uint32_t from, uint32_t to)
{
	const struct gyre_sim_link *link = &link_of(sim, from, to)->link;

	if (!gy_sim_net_answers(sim->hosts[to])) {
		return false;
	}
	return from == to ? sim->faults == 0
			  : link->loss == 0 && link->jitter_ns == 0 && !link->clog && !link->cut;
}

/* ---- changes ---- */

/* What has waited comes in the order in which it was sent. */
static void unclog(struct gyre_sim *sim, struct gy_sim_link_state *state)
{
	uint64_t at_ns =
		sim->now_ns + delay_of(state) + gy_sim_choose_time(sim, state->link.jitter_ns);

	state->not_before_ns = at_ns;
	while (!gy_list_empty(&state->waiting)) {
		struct gy_sim_packet *packet =
			gy_container_of(state->waiting.next, struct gy_sim_packet, item);

		gy_list_remove(&packet->item);
		start(packet, at_ns);
	}
}

void gy_sim_net_link(struct gyre_sim *sim, uint32_t from, uint32_t to,
		     const struct gyre_sim_link *link)
{
	struct gy_sim_link_state *state = link_of(sim, from, to);
	bool was_cut = state->link.cut;

	state->link = *link;
	if (!link->clog) {
		unclog(sim, state);
	}
	if (was_cut && !link->cut) {
		gy_sim_streams_retry(sim->hosts[from], to);
		gy_sim_streams_retry(sim->hosts[to], from);
	}
}
