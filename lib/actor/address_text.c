/*
 * The text names the loop before the slot, since that tells where an actor lives, and the cookie as
 * the last, since it only tells one actor from another that had the slot before.
 */
#include "actor/address_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

const char *gy_address_text(struct gyre_address address, char text[GYRE_ADDRESS_TEXT_MAX])
{
	int count;

	if (gyre_address_is_nobody(address)) {
		count = snprintf(text, GYRE_ADDRESS_TEXT_MAX, "[nobody]");
	} else if (address.node == 0) {
		count = snprintf(text, GYRE_ADDRESS_TEXT_MAX, "[%u:%u:%x]", (unsigned)address.loop,
				 (unsigned)address.slot, (unsigned)address.cookie);
	} else {
		count = snprintf(text, GYRE_ADDRESS_TEXT_MAX, "[%u/%u:%u:%x]",
				 (unsigned)address.node, (unsigned)address.loop,
				 (unsigned)address.slot, (unsigned)address.cookie);
	}
	gy_assert(count > 0 && count < GYRE_ADDRESS_TEXT_MAX);
	return text;
}

int gyre_address_format(struct gyre_address address, size_t bytes, char *ret_text)
{
	char text[GYRE_ADDRESS_TEXT_MAX];
	size_t count;

	if (ret_text == NULL) {
		return -EINVAL;
	}
	count = strlen(gy_address_text(address, text));
	if (count >= bytes) {
		return -EMSGSIZE;
	}
	memcpy(ret_text, text, count + 1);
	return (int)count;
}
