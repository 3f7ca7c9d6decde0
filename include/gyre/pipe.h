/*
 * Pipes: channels on standard input and output, and on pipes, FIFOs, terminals and files. They have
 * a pipeline as connections do; for the differences see struct gyre_pipe_options.
 *
 *	static int read_words(struct gyre_channel *channel, void *arg)
 *	{
 *		return gyre_pipeline_add(channel, GYRE_LAST, &words, arg);
 *	}
 *
 *	gyre_system_pipe_open(system,
 *			      &GYRE_VALUE(gyre_pipe_options, .init_channel = read_words), NULL);
 *
 * Each has an actor of its own, which ends with its channel: gyre_watch() tells of that end, by the
 * address of the actor. There are no reports that could name the channel; the initialiser may ask
 * for its address.
 */
#ifndef GYRE_PIPE_H
#define GYRE_PIPE_H

#include <gyre/actor.h>
#include <gyre/listen.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_pipe_options - the two ends of a pipe; by default standard input and output
 * @init_channel: gives the channel its handlers
 * @init_arg: for @init_channel
 * @channel: how the channel behaves; lingering, delay, keep-alive and the sizes of the kernel's
 *   buffers do not apply
 * @input_fd: the descriptor that is read, until its end; 0 is standard input, which has ended if it
 *   was closed when the system was created
 * @output_fd: the descriptor that is written to; 0 stands for standard output. If it is not 0 and
 *   equals @input_fd, the descriptor is used both ways, and shutting it down tells nobody
 * @no_input: nothing is read: the channel lives until it is closed, or a write fails
 * @no_output: nothing can be written: the channel ends with its input
 * @keep: leave the descriptors open at the end. Those of standard input, output and error are
 *   always left
 * @loop: the loop that serves it, less than gyre_system_loops()
 */
struct gyre_pipe_options {
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
	int input_fd;
	int output_fd;
	bool no_input;
	bool no_output;
	bool keep;
	uint32_t loop;
};

/** gyre_system_pipe_open_sized() - gyre_system_pipe_open() with the size of @options */
GYRE_API int gyre_system_pipe_open_sized(struct gyre_system *system,
					 const struct gyre_pipe_options *options,
					 size_t options_bytes, struct gyre_address *ret_pipe);

/**
 * gyre_system_pipe_open() - makes a channel of open descriptors
 * @system: the system
 * @options: the two ends, and how they are used
 * @ret_pipe: the actor that owns the channel; may be NULL. Stopping it ends the channel in good
 *   order
 *
 * Regular files are read and written where their descriptors stand. A terminal, or anything that
 * the process shares with others, is used as it is: none of its flags is changed. A channel that
 * closes sends what is queued and takes no more of its input, which may be for others to read.
 * Parts of files can be sent where splice(2) can write, which excludes files opened with O_APPEND.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EBADF   a descriptor is not open
 *   -EINVAL  an argument or @init_channel is NULL, there is no such loop, a descriptor is negative,
 *     both directions are left out, or a mark of @channel is out of bounds
 *   -EMFILE  too many descriptors are open
 *   -ENOMEM  there is no memory
 *   -ESHUTDOWN  the system has ended
 * Ownership: @options stays the caller's; so does what @init_arg points to, as long as the pipe.
 *   Descriptors that are used and not kept are taken, whatever is returned.
 * Context: any thread, setup or later.
 * Since: 0.1
 */
static inline int gyre_system_pipe_open(struct gyre_system *system,
					const struct gyre_pipe_options *options,
					struct gyre_address *ret_pipe)
{
	return gyre_system_pipe_open_sized(system, options, sizeof(*options), ret_pipe);
}

GYRE_END_DECLS

#endif
