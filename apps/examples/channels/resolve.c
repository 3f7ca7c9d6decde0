/*
 * Resolving: the addresses of hosts, looked up at the same time and without blocking.
 *
 *	gyre-example-resolve HOST ...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { HOSTS_MAX = 16, TEXT_BYTES = 300 };

struct frame {
	struct gyre_future found[HOSTS_MAX];
};

/* How many lookups have begun; each of the others has its error in its future. */
static int resolve_all(struct gyre_stack *stack, const struct gyre_arguments *arguments)
{
	struct frame *frame = gyre_frame(stack);
	char text[TEXT_BYTES];
	int begun = 0;

	for (int i = 1; i < arguments->argc; i++) {
		(void)snprintf(text, sizeof(text), "tcp://%s:80", arguments->argv[i]);
		begun += gyre_resolve(stack, text, NULL, 0, &frame->found[i - 1]) == 0;
	}
	return begun;
}

static void print_host(const char *host, const struct gyre_resolved *found, int error)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	printf("%s:%s%s", host, found == NULL ? " " : "", found == NULL ? strerror(-error) : "");
	for (uint32_t i = 0; found != NULL && i < found->count; i++) {
		if (gyre_socket_address_format(&found->addresses[i], sizeof(text), text) > 0) {
			printf(" %s", text);
		}
	}
	printf("\n");
}

static int run(struct gyre_stack *stack)
{
	const struct gyre_arguments *arguments = gyre_message(stack, gyre_arguments);
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (arguments->argc < 2 || arguments->argc > HOSTS_MAX + 1) {
		(void)fprintf(stderr, "usage: gyre-example-resolve HOST ...\n");
		gyre_exit(stack, EXIT_FAILURE);
		return gyre_return(stack);
	}
	GYRE_AWAIT(stack, resolve_all(stack, arguments) > 0 ? 0 : -ENOENT);
	for (int i = 1; i < arguments->argc; i++) {
		const struct gyre_future *future = &frame->found[i - 1];

		print_host(arguments->argv[i], gyre_future_get(future, gyre_resolved),
			   gyre_future_error(future));
		if (gyre_future_failed(future)) {
			gyre_exit(stack, EXIT_FAILURE);
		}
	}
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .frame_bytes = sizeof(struct frame),
					      .mount = run };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
