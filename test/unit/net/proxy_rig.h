/*
 * A rig for tests of clients that reach their server through a proxy: SOCKS 5 (RFC 1928), as far as
 * one without passwords needs it. The handler is written as a user of the library would; the proxy
 * is a thread with sockets that block.
 */
#ifndef TEST_UNIT_NET_PROXY_RIG_H
#define TEST_UNIT_NET_PROXY_RIG_H

#include <pthread.h>

#include <gyre/channel.h>
#include <gyre/pipeline.h>

enum { PROXY_NAME_BYTES = 256 };

/* Adds a handler that reaches what is ordered through the proxy at @proxy, which stays in place. */
int proxy_add(struct gyre_channel *channel, const char *proxy);

enum proxy_manner {
	PROXY_SERVES,
	PROXY_REFUSES,
	PROXY_IS_SILENT,
	PROXY_TALKS_NONSENSE,
};

struct proxy {
	enum proxy_manner manner;
	uint16_t target; /* the port of 127.0.0.1 that it connects to; 0 for what it is asked for */
	char address[64];
	char asked_host[PROXY_NAME_BYTES]; /* read when it is closed */
	uint16_t asked_port;
	uint32_t asked;
	int fd;
	pthread_t thread;
};

/* @manner and @target are set. It serves one connection after the other. */
void proxy_open(struct proxy *proxy);
void proxy_close(struct proxy *proxy);

#endif
