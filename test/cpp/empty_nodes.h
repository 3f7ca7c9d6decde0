/*
 * Messages without members, which a program in C and one in C++ share: in both they have no bytes.
 */
#ifndef TEST_CPP_EMPTY_NODES_H
#define TEST_CPP_EMPTY_NODES_H

#include <gyre/gyre.h>

struct pong {
};
GYRE_MESSAGE(pong, 0x201);

struct ping {
};
GYRE_REQUEST(ping, 0x202, pong);

struct bell {
};
GYRE_MESSAGE(bell, 0x203);

#endif
