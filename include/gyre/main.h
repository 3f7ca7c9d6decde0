/*
 * A program that is one main actor. The actor gets the program's arguments and spawns what it
 * needs; when it stops, the system stops, and the program ends with its exit status.
 *
 *	int main(int argc, char **argv)
 *	{
 *		return gyre_main(&main_class, argc, argv, NULL);
 *	}
 *
 * A main actor that runs for long does its work in a notice that its mount sends to itself, since
 * no event is dispatched before the mount has ended, neither signals nor the ends of children.
 */
#ifndef GYRE_MAIN_H
#define GYRE_MAIN_H

#include <gyre/system.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_arguments - the message of the main actor's mount hook
 * @argc: from main()
 * @argv: from main(); valid as long as the program
 */
struct gyre_arguments {
	int argc;
	char **argv;
};
GYRE_OWN_MESSAGE_(gyre_arguments, 0x18);

/** gyre_main_sized() - gyre_main() with the sizes in the program */
GYRE_API int gyre_main_sized(const struct gyre_class *main_class, int argc, char **argv,
			     const struct gyre_system_options *options, struct gyre_sizes sizes);

/**
 * gyre_main() - runs a system for a main actor until that has stopped
 * @main_class: the class of the main actor, which lives on loop 0. All that it spawns are its
 *   children, unless it detaches them. The message of its mount is struct gyre_arguments
 * @argc: of main()
 * @argv: of main()
 * @options: the options of the system; NULL for the defaults. What main() has for the main actor
 *   besides goes into @user: see gyre_system_user()
 *
 * The system ends when the main actor stops, by gyre_exit(), by gyre_system_stop(), or by SIGINT or
 * SIGTERM, each with the drain that gyre_system_run() describes.
 *
 * Return: the exit status for main(): that of the first gyre_exit(), else 0;
 *   GYRE_NODE_EXIT_DECLARED_DOWN where the options of its node say so, or 1 when the system could
 *   not be made or run, the main actor failed, an actor failed whose strategy shuts the system
 *   down, or the drain ran out of time.
 * Errors:
 *   none; what went wrong is in the log
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, setup; blocks.
 * Since: 0.1
 */
static inline int gyre_main(const struct gyre_class *main_class, int argc, char **argv,
			    const struct gyre_system_options *options)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options), (uint32_t)sizeof(*main_class),
					  (uint32_t)sizeof(struct gyre_node_options),
					  (uint32_t)sizeof(struct gyre_membership) };

	return gyre_main_sized(main_class, argc, argv, options, sizes);
}

/**
 * gyre_exit() - ends the program that gyre_main() runs, with an exit status
 * @stack: the stack of the running handler, of any actor
 * @status: 0 to 255; the first call counts
 *
 * The system drains and stops, as by gyre_system_stop(). A system that gyre_main() did not make
 * stops too, and the status is dropped.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API void gyre_exit(struct gyre_stack *stack, int status);

GYRE_END_DECLS

#endif
