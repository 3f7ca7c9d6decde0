/*
 * Unix sockets of nodes: a folder for their files, and strangers that dial and listen there.
 */
#ifndef GY_TEST_UNIX_RIG_H
#define GY_TEST_UNIX_RIG_H

#include <gyre/socket_address.h>

#include "remote/stranger.h"

enum { UNIX_PATH_BYTES = 96, UNIX_TEXT_BYTES = UNIX_PATH_BYTES + 8 };

struct unix_place {
	char path[UNIX_PATH_BYTES];
	char text[UNIX_TEXT_BYTES]; /* the same as an address */
};

/* A new folder, which every user may write to; and its end, which it has to be empty for. */
void unix_open(void);
void unix_close(void);
/* A file in it. */
struct unix_place unix_place(const char *name);
/* Whether something is there. */
bool unix_exists(const struct unix_place *place);

/* A stream socket that is bound there and listens; and one that is connected. -1 for a failure,
 * with errno. They may be called by children. */
int unix_listen(const struct unix_place *place);
int unix_connect(const struct unix_place *place);

/* As those of stranger.h, by a Unix socket. */
void unix_dial(struct stranger *stranger, const struct unix_place *place);
void unix_listen_as(struct stranger *stranger, const struct unix_place *place);

#endif
