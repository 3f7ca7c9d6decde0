/*
 * The base of every public header: visibility, C linkage, and macros for units of time.
 */
#ifndef GYRE_API_H
#define GYRE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** GYRE_API - marks a symbol that the library exports */
#define GYRE_API __attribute__((visibility("default")))

/** GYRE_BEGIN_DECLS - opens the declarations of a header: they have C linkage in C++ too */
/** GYRE_END_DECLS - closes what GYRE_BEGIN_DECLS has opened */
#ifdef __cplusplus
#define GYRE_BEGIN_DECLS extern "C" {
#define GYRE_END_DECLS	 }
#else
#define GYRE_BEGIN_DECLS
#define GYRE_END_DECLS
#endif

/** GYRE_SECONDS() - a span of whole seconds in nanoseconds, the unit of every time in gyre */
#define GYRE_SECONDS(n) ((uint64_t)(n)*UINT64_C(1000000000))
/** GYRE_MILLISECONDS() - a span of whole milliseconds in nanoseconds */
#define GYRE_MILLISECONDS(n) ((uint64_t)(n)*UINT64_C(1000000))
/** GYRE_MICROSECONDS() - a span of whole microseconds in nanoseconds */
#define GYRE_MICROSECONDS(n) ((uint64_t)(n)*UINT64_C(1000))
/** GYRE_FOREVER - a time-out that never comes */
#define GYRE_FOREVER UINT64_MAX

/**
 * struct gyre_sizes - how large structures are in the program, for calls that take several
 * @options: the options of the call
 * @actor_class: struct gyre_class
 * @node: struct gyre_node_options
 * @membership: struct gyre_membership
 *
 * Programs never fill it: the inline functions that they call do.
 */
struct gyre_sizes {
	uint32_t options;
	uint32_t actor_class;
	uint32_t node;
	uint32_t membership;
};

#endif
