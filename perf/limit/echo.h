/*
 * What the limit echo servers share: the command line, the listening socket, the signals that end
 * them and the line they print then.
 */
#ifndef PERF_LIMIT_ECHO_H
#define PERF_LIMIT_ECHO_H

#include <stdint.h>

struct echo_options {
	const char *host; /* an IPv4 address or unix:PATH; NULL: the server takes no such option */
	int64_t port;
	int64_t cpu;
	const char *mode;
};

struct echo_counts {
	uint64_t requests;     /* receives that brought data */
	uint64_t bytes;	       /* received */
	uint64_t connections;  /* accepted */
	uint64_t system_calls; /* of the serving loop */
	uint64_t enters;       /* those that were io_uring_enter */
};

/*
 * Reads the command line and binds this thread to its CPU. @modes is NULL, or the names of the ways
 * the server can work, divided by '|'; @options->mode is then the default. Ends the program on
 * misuse.
 */
void echo_options_parse(struct echo_options *options, int argc, char **argv, const char *purpose,
			const char *modes);

/* A socket that listens where the options say; @flags goes to socket(). The descriptor or a
 * negative errno. */
int echo_listen(const struct echo_options *options, int flags);

/* A descriptor that becomes readable when the server is to end, or a negative errno. */
int echo_signals(void);

/* One line of JSON on stdout: @counts and this process's CPU time. */
void echo_print(const char *program, const struct echo_options *options,
		const struct echo_counts *counts);

#endif
