/*
 * Versions: what a program was compiled with, and what it runs with.
 *
 * A program that was built against gyre 0.1.x runs with every later library of the same soname,
 * libgyre.so.0.1: structures grow at their ends only, the calls tell the library how large the
 * program's are, and what headers compile into programs stays as it is. The soname changes when
 * that is broken.
 *
 * Calls that take or fill a structure are inline functions, which pass its size to the function of
 * the same name with _sized behind it. Structures inside of others have reserved members instead,
 * which must be 0. A program that was built against a newer library, and uses what an older one
 * does not know, is refused with -E2BIG and a line in the log, or by the dynamic linker.
 */
#ifndef GYRE_VERSION_H
#define GYRE_VERSION_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

/** GYRE_VERSION_MAJOR - the major version of these headers */
#define GYRE_VERSION_MAJOR 0
/** GYRE_VERSION_MINOR - the minor version of these headers */
#define GYRE_VERSION_MINOR 1
/** GYRE_VERSION_PATCH - the patch version of these headers */
#define GYRE_VERSION_PATCH 0
/** GYRE_VERSION_TEXT - the version of these headers as text */
#define GYRE_VERSION_TEXT "0.1.0"

/** GYRE_VERSION_NUMBER() - a version as a number; a later version is a larger number */
#define GYRE_VERSION_NUMBER(MAJOR, MINOR, PATCH) \
	((uint32_t)(MAJOR) << 16 | (uint32_t)(MINOR) << 8 | (uint32_t)(PATCH))

/** GYRE_VERSION - the version of these headers, to compare with GYRE_VERSION_NUMBER() */
#define GYRE_VERSION GYRE_VERSION_NUMBER(GYRE_VERSION_MAJOR, GYRE_VERSION_MINOR, GYRE_VERSION_PATCH)

/**
 * gyre_version() - the version of the library that runs
 *
 * Return: the version, made as by GYRE_VERSION_NUMBER().
 * Ownership: a value.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_version(void);

/**
 * gyre_version_text() - the version of the library that runs, as text
 *
 * Return: the version, such as "0.1.0".
 * Ownership: stays the library's, and lives for ever.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API const char *gyre_version_text(void);

GYRE_END_DECLS

#endif
