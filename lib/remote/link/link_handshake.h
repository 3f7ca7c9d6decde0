/*
 * How two nodes begin on a connection; see link_handshake.c.
 */
#ifndef GY_REMOTE_LINK_LINK_HANDSHAKE_H
#define GY_REMOTE_LINK_LINK_HANDSHAKE_H

#include <stddef.h>

#include "remote/wire.h"

struct gy_link;

/* A connection is there: the side that dialled says hello. */
void gy_link_handshake_begin(struct gy_link *link);
/* HELLO, PROOF and REFUSE. */
void gy_link_handshake_receive(struct gy_link *link, const struct gy_frame *frame);
/* The first bytes that came are no greeting, or none came (@bytes is NULL): says so, if there was
 * to be one from who was dialled, or if it is TLS. */
void gy_link_handshake_failed(const struct gy_link *link, const unsigned char *bytes, size_t count);
/* A link of another node may be used. */
void gy_link_handshake_admit(struct gy_link *link);

#endif
