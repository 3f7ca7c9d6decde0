/*
 * The version of the library, which a program compares with that of the headers it was built with.
 */
#include <gyre/version.h>

#include "gyre_config.h"

_Static_assert(GYRE_VERSION_MAJOR == GY_VERSION_MAJOR, "gyre/version.h and meson.build differ");
_Static_assert(GYRE_VERSION_MINOR == GY_VERSION_MINOR, "gyre/version.h and meson.build differ");
_Static_assert(GYRE_VERSION_PATCH == GY_VERSION_PATCH, "gyre/version.h and meson.build differ");

uint32_t gyre_version(void)
{
	return GYRE_VERSION;
}

const char *gyre_version_text(void)
{
	return GY_VERSION;
}
