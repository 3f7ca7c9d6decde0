/*
 * Connections of TCP: what stream.c, tcp.c and listener.c share. See tcp.c.
 */
#ifndef GY_SIM_STREAM_H
#define GY_SIM_STREAM_H

#include "sim/net/socket.h"

enum gy_sim_stream_state {
	GY_SIM_STREAM_CLOSED, /* not connected yet, or not any more */
	GY_SIM_STREAM_LISTENS,
	GY_SIM_STREAM_ASKS,  /* for a connection */
	GY_SIM_STREAM_ASKED, /* and has said yes */
	GY_SIM_STREAM_OPEN,  /* also when one direction has ended, or both */
};

/* Bytes in a row. */
struct gy_sim_bytes {
	unsigned char *memory;
	size_t room;
	size_t from;
	size_t count;
};

struct gy_sim_stream {
	struct gy_sim_socket socket;
	enum gy_sim_stream_state state;
	bool has_file; /* a descriptor stands for it */
	bool was_connected;
	bool connecting; /* connect() has not told the outcome yet */
	bool is_client;
	uint64_t connection;
	uint32_t peer_host;
	uint64_t ordered_ns; /* when the last packet that was sent comes */

	struct gy_sim_bytes out; /* from @acknowledged on */
	uint64_t acknowledged;
	uint64_t next;	     /* to be sent */
	uint64_t window_end; /* that the peer has told */
	bool out_ended;	     /* no more is to be written */
	bool out_taken;	     /* the peer knows that */

	struct gy_sim_bytes in;
	uint64_t in_next;	/* that is expected */
	uint64_t in_window_end; /* that was told */
	bool in_ended;		/* the peer has ended */
	bool in_shut;		/* shutdown() */

	struct gy_sim_timer retry; /* what was sent is not acknowledged */
	uint32_t attempts;
	uint64_t patient_from_ns; /* since when nothing is heard */
	struct gy_sim_timer keep_alive;
	uint32_t probes;
	uint64_t heard_ns;
	struct gy_sim_timer rest; /* ends what has no descriptor */

	struct gy_sim_stream *listener; /* whose queue it is in */
	struct gy_list of_listener;
	struct gy_list waiting; /* connections, asked for or ready, of a listener */
	uint32_t ready_count;
	uint32_t backlog;
};

static inline struct gy_sim_stream *gy_sim_stream_of(const struct gy_sim_socket *socket)
{
	return (struct gy_sim_stream *)(uintptr_t)socket;
}

/* ---- bytes.c ---- */

void gy_sim_bytes_append(struct gy_sim_bytes *bytes, const void *more, size_t count);
void gy_sim_bytes_append_slices(struct gy_sim_bytes *bytes, const struct iovec *slices,
				uint32_t slices_count, size_t count);
void gy_sim_bytes_drop(struct gy_sim_bytes *bytes, size_t count);
void gy_sim_bytes_fini(struct gy_sim_bytes *bytes);

/* ---- stream.c ---- */

struct gy_sim_stream *gy_sim_stream_create(struct gy_sim_host *host, int domain);
/* Ends a stream that no descriptor stands for. */
void gy_sim_stream_destroy(struct gy_sim_stream *stream);
bool gy_sim_stream_is_writable(const struct gy_sim_stream *stream);
/* Tells who watches of @events. */
void gy_sim_stream_changed(struct gy_sim_stream *stream, uint32_t events);

static inline struct gyre_sim *gy_sim_stream_sim(const struct gy_sim_stream *stream)
{
	return stream->socket.file.host->sim;
}

/* ---- tcp_send.c ---- */

/* Sends a packet without bytes. */
void gy_sim_tcp_tell(struct gy_sim_stream *stream, enum gy_sim_packet_kind kind);
void gy_sim_tcp_trace(const struct gy_sim_stream *stream, const char *what);
/* Up to where the peer may send from now on, which it is told with what is sent now. */
uint64_t gy_sim_tcp_widen(struct gy_sim_stream *stream);
/* Sends what the window allows. */
void gy_sim_tcp_push(struct gy_sim_stream *stream);
/* Bytes were read: tells the peer of the room, if that is worth it. */
void gy_sim_tcp_made_room(struct gy_sim_stream *stream);
void gy_sim_tcp_start_keep_alive(struct gy_sim_stream *stream);
void gy_sim_tcp_init_retries(struct gy_sim_stream *stream);

/* ---- tcp.c ---- */

/* Asks for a connection with socket.peer at a host. */
void gy_sim_tcp_connect(struct gy_sim_stream *stream, uint32_t host);
/* A stream of @listener that says yes to a SYN. */
void gy_sim_tcp_accept(struct gy_sim_stream *stream, const struct gy_sim_packet *syn);
/* Ends a connection at once; the peer hears of it. */
void gy_sim_tcp_reset(struct gy_sim_stream *stream);
/* Ends a connection with a positive errno, without a word. */
void gy_sim_tcp_fail(struct gy_sim_stream *stream, int error);
/* Forgets the connection and stops what was to happen. */
void gy_sim_tcp_forget(struct gy_sim_stream *stream);
/* The file is closed, and the rest is to be sent; the stream may be gone after it. */
void gy_sim_tcp_leave(struct gy_sim_stream *stream);
/* Answers a packet that is for no connection. */
void gy_sim_tcp_refuse(struct gy_sim_host *host, const struct gy_sim_packet *packet);
void gy_sim_tcp_init(struct gy_sim_stream *stream);

/* ---- listener.c ---- */

int gy_sim_listener_start(struct gy_sim_socket *socket, uint32_t backlog);
int gy_sim_listener_next(struct gy_sim_socket *socket, struct gy_sim_socket **ret_next);
void gy_sim_listener_accepted(struct gy_sim_socket *socket, struct gy_sim_socket *next);
uint32_t gy_sim_listener_events(const struct gy_sim_stream *listener);
/* Ends those in the queue. */
void gy_sim_listener_stop(struct gy_sim_stream *listener);
/* One has come that was asked for, or has failed before. */
void gy_sim_listener_ready(struct gy_sim_stream *stream);
void gy_sim_listener_lose(struct gy_sim_stream *stream);
void gy_sim_listener_arrive(struct gy_sim_host *host, const struct gy_sim_packet *syn);

#endif
