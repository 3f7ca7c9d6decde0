/*
 * Pipes: for each an actor whose only channel it is. The actor's argument brings the descriptors,
 * and closes them should it be lost on the way, which then is told as of other sockets. Descriptors
 * that are to stay open are duplicated, so that what the channel has is always its own.
 */
#include <gyre/move.h>
#include <gyre/pipe.h>

#include <errno.h>
#include <unistd.h>

#include "actor/life/lifecycle.h"
#include "actor/log_of.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "base/sized.h"
#include "channel/channel.h"
#include "channel/file/pipe.h"
#include "channel/output/water_marks.h"
#include "net/pending_open.h"
#include "ring/descriptor.h"

struct gy_pipe_argument {
	gyre_init_channel_fn init_channel;
	void *init_arg;
	struct gyre_channel_options channel;
	uint32_t ends;	      /* what @fds[0] is used for */
	bool open;	      /* the descriptors are its own */
	int fds[2];	      /* the second is for output, or -1 */
	struct gy_home *home; /* of the actor, while it is on its way there; else NULL */
};

static void close_pair(const int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0) {
			(void)gy_descriptor_close(fds[i]);
		}
	}
}

/* The actor has come, or could not be made for @r. */
static void end_opening(const struct gy_home *home, int r)
{
	if (r == -ENOMEM && !home->draining && !gy_channels_of(home)->draining) {
		gy_pending_open_fail(home, "opening", NULL, "a pipe", r);
	} else {
		gy_pending_open_end(gy_homes_of(home->options.system));
	}
}

static void close_argument(struct gy_pipe_argument *argument)
{
	if (argument->open) {
		close_pair(argument->fds);
	}
	if (argument->home != NULL) {
		end_opening(argument->home, -ENOMEM);
	}
}
GYRE_OWN_MESSAGE_OWNING_(gy_pipe_argument, 0x47, close_argument);

/* ---- the actor ---- */

/* The actor ends with its channel. */
static void unregistered(struct gyre_handler_context *ctx)
{
	gy_house_request_stop((struct gy_house *)ctx->arg, gyre_channel_reason(ctx->channel));
}

static const struct gyre_handler end_handler = { .unregistered = unregistered };

struct init {
	struct gy_house *house;
	struct gy_pipe_argument *argument;
	bool attached; /* the second descriptor is taken */
};

static int init_channel(struct gyre_channel *channel, void *arg)
{
	struct init *init = (struct init *)arg;
	const struct gy_pipe_argument *argument = init->argument;
	int r = gy_pipe_attach(channel, argument->ends, argument->fds[1]);

	init->attached = true;
	if (r == 0) {
		r = argument->init_channel(channel, argument->init_arg);
	}
	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &end_handler, init->house);
}

static int mount(struct gyre_stack *stack)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_channels *channels = gy_channels_of(s->home);
	struct gy_pipe_argument argument;
	struct init init = { .house = s->house, .argument = &argument };
	struct gy_channel_opening opening = {
		.options = &argument.channel,
		.init = init_channel,
		.init_arg = &init,
	};
	int r = gyre_move(stack, gy_pipe_argument, &argument);

	if (r < 0) {
		return gyre_throw(stack, r);
	}
	gy_count(&channels->counters.accepted, 1);
	opening.fd = argument.fds[0];
	r = gy_channel_open(s->house, s, &opening);
	if (!init.attached) {
		gy_channels_close(channels, argument.fds[1]);
	}
	end_opening(s->home, r);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class pipe_class = { .name = "pipe", .mount = mount };

/* ---- opening ---- */

static bool is_kept(const struct gyre_pipe_options *options, int fd)
{
	return options->keep || fd <= STDERR_FILENO;
}

/* A descriptor for the channel's own use, taken from the caller or duplicated; or the errno. */
static int own(const struct gyre_pipe_options *options, int fd)
{
	int r;

	if (is_kept(options, fd)) {
		return gy_descriptor_duplicate(fd, STDERR_FILENO + 1);
	}
	r = gy_descriptor_close_on_exec(fd);
	return r < 0 ? r : fd;
}

static int output_fd(const struct gyre_pipe_options *options)
{
	return options->output_fd == 0 ? STDOUT_FILENO : options->output_fd;
}

/* The descriptors of the options, and what the first is used for; the second is for output. */
struct ends {
	int first;  /* -1 for none */
	int second; /* likewise */
	uint32_t uses;
};

static struct ends ends_of(const struct gyre_pipe_options *options)
{
	int input = options->input_fd;
	int output = output_fd(options);

	if (options->no_input && options->no_output) {
		return (struct ends){ -1, -1, 0 };
	}
	if (options->no_input) {
		return (struct ends){ output, -1, GY_PIPE_OUTPUT };
	}
	if (options->no_output) {
		return (struct ends){ input, -1, GY_PIPE_INPUT };
	}
	if (input == output) {
		return (struct ends){ input, -1, GY_PIPE_INPUT | GY_PIPE_OUTPUT };
	}
	return (struct ends){ input, output, GY_PIPE_INPUT };
}

/* Gives the argument its descriptors; on failure the argument closes those that it has. */
static int own_all(const struct gyre_pipe_options *options, struct gy_pipe_argument *argument)
{
	const struct ends ends = ends_of(options);

	gy_assert(ends.first >= 0 && ends.uses != 0);
	argument->ends = ends.uses;
	argument->fds[0] = own(options, ends.first);
	argument->fds[1] = ends.second < 0 ? -1 : own(options, ends.second);
	argument->open = true;
	if (argument->fds[0] < 0) {
		return argument->fds[0];
	}
	return ends.second >= 0 && argument->fds[1] < 0 ? argument->fds[1] : 0;
}

static int spawn(struct gy_home *home, struct gyre_mail *mail, struct gyre_address *ret_pipe)
{
	const struct gy_spawn_order order = {
		.class = &pipe_class,
		.argument = mail,
		.channels_actor = true,
		.lent = true,
	};
	struct gy_pipe_argument *argument = (struct gy_pipe_argument *)gyre_payload(mail);
	struct gyre_address pipe;
	int r;

	argument->home = home;
	gy_pending_open_may_begin(gy_homes_of(home->options.system));
	gy_pending_open_begin(gy_homes_of(home->options.system));
	r = gy_spawn_from_outside(home, &order, &pipe);
	if (r < 0) { /* the caller is told */
		argument->home = NULL;
		gyre_mail_destroy(NULL, mail);
		gy_pending_open_end(gy_homes_of(home->options.system));
	}
	if (r == 0 && ret_pipe != NULL) {
		*ret_pipe = pipe;
	}
	return r;
}

static void close_unless_kept(const struct gyre_pipe_options *options, int fd)
{
	if (fd >= 0 && !is_kept(options, fd)) {
		(void)gy_descriptor_close(fd);
	}
}

/* The call fails before the descriptors have an owner, and takes them all the same. */
static void close_given(const struct gyre_pipe_options *options)
{
	const struct ends ends = ends_of(options);

	close_unless_kept(options, ends.first);
	close_unless_kept(options, ends.second);
}

static int open_pipe(struct gyre_system *system, const struct gyre_pipe_options *options,
		     struct gyre_address *ret_pipe)
{
	struct gy_homes *homes;
	struct gyre_mail *mail;
	struct gy_pipe_argument *argument;
	int r;

	if (system == NULL || options == NULL) {
		return -EINVAL;
	}
	homes = gy_homes_of(system);
	if (options->init_channel == NULL || options->loop >= gy_loops_count(homes->loops) ||
	    (options->no_input && options->no_output) ||
	    (!options->no_input && options->input_fd < 0) ||
	    (!options->no_output && options->output_fd < 0) ||
	    gy_water_marks_check(gy_channels_of(&homes->homes[0]), &options->channel, NULL) < 0) {
		close_given(options);
		return -EINVAL;
	}
	mail = gy_mail_get_outside(&gyre_type_gy_pipe_argument);
	if (mail == NULL) {
		close_given(options);
		return -ENOMEM;
	}
	argument = (struct gy_pipe_argument *)gyre_payload(mail);
	argument->init_channel = options->init_channel;
	argument->init_arg = options->init_arg;
	argument->channel = options->channel;
	r = own_all(options, argument);
	if (r < 0) {
		gyre_mail_destroy(NULL, mail);
		return r;
	}
	return spawn(&homes->homes[options->loop], mail, ret_pipe);
}

int gyre_system_pipe_open_sized(struct gyre_system *system, const struct gyre_pipe_options *options,
				size_t options_bytes, struct gyre_address *ret_pipe)
{
	struct gyre_pipe_options whole;
	int r = GY_SIZED_READ(gyre_pipe_options, &whole, options, options_bytes,
			      gy_log_of_system(system));

	if (r == 0) {
		r = GY_SIZED_RESERVED(gyre_channel_options, &whole.channel,
				      gy_log_of_system(system));
	}
	if (r < 0) {
		close_given(&whole);
		return r;
	}
	return open_pipe(system, options == NULL ? NULL : &whole, ret_pipe);
}
