/*
 * Pipes: channels on standard input and output, and on pipes, FIFOs, terminals and files. They have
 * a pipeline as connections do; what differs is said at struct gyre_pipe_options.
 *
 *	static int read_words(struct gyre_channel *channel, void *arg)
 *	{
 *		return gyre_pipeline_add_last(channel, &words, arg);
 *	}
 *
 *	gyre_system_pipe_open(system, &GYRE_VALUE(gyre_pipe_options, .init_channel = read_words),
 *NULL);
 *
 * Each has an actor of its own, which ends with its channel, so that gyre_watch() tells of that.
 */
#ifndef GYRE_PIPE_H
#define GYRE_PIPE_H

#include <gyre/actor.h>
#include <gyre/listen.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_pipe_options - what a pipe is between; by default standard input and output
 * @init_channel: gives the channel its handlers
 * @init_arg: for @init_channel
 * @channel: how the channel behaves; lingering, delay, keeping alive and sizes of buffers of the
 *   kernel are nothing to it
 * @input_fd: what is read, until its end; 0 is standard input, which has ended if it was closed
 *   when the system was created
 * @output_fd: what is written to; 0 is for standard output. If it is @input_fd, that is used both
 *   ways, and to shut it down tells nobody
 * @no_input: nothing is read: the channel lives until it is closed, or a write fails
 * @no_output: nothing can be written: the channel ends with its input
 * @keep: leave the descriptors open at the end. Those of standard input, output and error are
 *   always left
 * @loop: on which loop it is served, less than gyre_system_loops()
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

/**
 * gyre_system_pipe_open() - makes a channel of descriptors that are open
 * @system: the system
 * @options: what it is between
 * @ret_pipe: the actor that owns it, may be NULL. To stop it ends the channel in good order
 *
 * Regular files are read and written where their descriptors stand. A terminal, or whatever the
 * process shares with others, is used as it is: no flag of it is changed. A channel that closes
 * sends what is queued and takes no more of its input, which may be others' to read. Parts of files
 * can be sent where splice(2) can write, which is not to what was opened with O_APPEND.
 *
 * Return: 0, or a negative errno.
 * Errors:
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
GYRE_API int gyre_system_pipe_open(struct gyre_system *system,
				   const struct gyre_pipe_options *options,
				   struct gyre_address *ret_pipe);

GYRE_END_DECLS

#endif
