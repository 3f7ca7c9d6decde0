/*
 * Addresses as text, for lines of the log and for programs: see gyre_address_format().
 */
#ifndef GY_ACTOR_ADDRESS_TEXT_H
#define GY_ACTOR_ADDRESS_TEXT_H

#include <gyre/address.h>

/* Writes an address of any kind, and returns @text. */
const char *gy_address_text(struct gyre_address address, char text[GYRE_ADDRESS_TEXT_MAX]);

#endif
