/*
 * What nodes tell each other about their services: an ask with a report, which is answered with a
 * receipt. Where nodes are in what they tell is a number that counts their changes in one life.
 *
 * The bytes of a report, little-endian: 64 bits each for the number of the change after which it
 * begins and of the last one that it has; 8 bits of flags; then changes, to the end. A change is 8
 * bits of flags, 32 bits each for slot and cookie of the member, 16 bits for its loop, and, unless
 * the service is that of the change before, 32 bits for the id of the service, 8 bits for the
 * length of its name, and the name. Node and life of a member are those of who tells. A report has
 * at most GY_SERVICE_REPORT_BYTES_MAX bytes.
 */
#ifndef GY_REMOTE_MESSAGE_SERVICE_REPORT_H
#define GY_REMOTE_MESSAGE_SERVICE_REPORT_H

#include <gyre/encode.h>
#include <gyre/tail.h>

enum {
	GY_SERVICE_REPORT_FIRST = 1, /* the node begins to tell all that it has */
	GY_SERVICE_REPORT_LAST = 2,  /* it has told all that it had when it began */
	GY_SERVICE_REPORT_FLAGS = 3,
	GY_SERVICE_REPORT_HEAD_BYTES = 8 + 8 + 1,
	GY_SERVICE_CHANGE_LEFT = 1, /* the member has left; else it has joined */
	GY_SERVICE_CHANGE_SAME = 2, /* the service of the change before */
	GY_SERVICE_CHANGE_FLAGS = 3,
	GY_SERVICE_CHANGE_BYTES = 1 + 4 + 4 + 2,
	GY_SERVICE_NAMED_BYTES = 4 + 1, /* before the name */
	GY_SERVICE_REPORT_BYTES_MAX = 16000,
};

/* Of one node to another. */
struct gy_service_report {
	uint32_t bytes;
	unsigned char body[];
};
GYRE_OWN_MESSAGE_TAIL_(gy_service_report, 0x74, body, bytes);

/* The answer: the number of the change up to which it is known what the node has told. */
struct gy_service_receipt {
	uint64_t known;
};
GYRE_OWN_MESSAGE_(gy_service_receipt, 0x75);

struct gy_service_report_head {
	uint64_t from;
	uint64_t to;
	uint32_t flags;
};

struct gy_service_change {
	uint32_t flags;
	uint32_t slot;
	uint32_t cookie;
	uint16_t loop;
	uint32_t id;
	uint32_t bytes; /* of the name, which stays where it is */
	const char *name;
};

void gy_service_report_put_head(struct gyre_encoder *out,
				const struct gy_service_report_head *head);
void gy_service_report_put_change(struct gyre_encoder *out, const struct gy_service_change *change);
/* -EPROTO */
int gy_service_report_get_head(struct gyre_decoder *in, struct gy_service_report_head *ret_head);
/* 1 for a change, 0 at the end, -EPROTO. @change is the one before, or zero, and becomes the next
 * one. */
int gy_service_report_get_change(struct gyre_decoder *in, struct gy_service_change *change);

#endif
