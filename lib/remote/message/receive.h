/*
 * Frames to mail, and the credit for them; see receive.c.
 */
#ifndef GY_REMOTE_MESSAGE_RECEIVE_H
#define GY_REMOTE_MESSAGE_RECEIVE_H

#include <stddef.h>
#include <stdint.h>

#include "remote/wire.h"

struct gy_link;

/* Takes a frame that came over an open link, @bytes long there; a negative errno ends the link. */
int gy_receive(struct gy_link *link, struct gy_frame *frame, uint32_t bytes);
/*
 * Takes whole frames at @bytes, on an accepted link, that are messages of their bytes alone for
 * actors of this loop. How many bytes, up to the first frame that has to be taken by itself.
 */
size_t gy_receive_run(struct gy_link *link, const unsigned char *bytes, size_t count);
/* Tells the peer how much has been taken. */
void gy_receive_send_credit(struct gy_link *link);
/* The same once a part of the window has been taken: this side's, or the peer's if that is smaller.
 */
void gy_receive_credit_if_due(struct gy_link *link);

#endif
