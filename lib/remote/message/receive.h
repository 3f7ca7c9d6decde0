/*
 * Frames to mail, and the credit for them; see receive.c.
 */
#ifndef GY_REMOTE_MESSAGE_RECEIVE_H
#define GY_REMOTE_MESSAGE_RECEIVE_H

#include <stdint.h>

#include "remote/wire.h"

struct gy_link;

/* The part of the window that is credited at once. */
enum { GY_CREDIT_SHARE = 16 };

/* Takes a frame that came over an open link, @bytes long there; a negative errno ends the link. */
int gy_receive(struct gy_link *link, struct gy_frame *frame, uint32_t bytes);
/* Tells the peer how much has been taken. */
void gy_receive_send_credit(struct gy_link *link);
/* The same once a part of the window has been taken: this side's, or the peer's if that is smaller.
 */
void gy_receive_credit_if_due(struct gy_link *link);

#endif
