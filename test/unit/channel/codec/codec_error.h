/*
 * What codecs find wrong, in a word, for texts that tests compare.
 */
#ifndef TEST_UNIT_CHANNEL_CODEC_ERROR_H
#define TEST_UNIT_CHANNEL_CODEC_ERROR_H

#include <errno.h>

static inline const char *codec_error_text(int error)
{
	switch (error) {
	case -EMSGSIZE:
		return "size";
	case -EPROTO:
		return "proto";
	case -EINVAL:
		return "invalid";
	default:
		return "other";
	}
}

#endif
