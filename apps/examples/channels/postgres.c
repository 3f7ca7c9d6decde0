/*
 * PostgreSQL: a query by libpq, while the loop of its actor is free for others.
 *
 *	gyre-example-postgres [CONNINFO [QUERY [MILLISECONDS]]]
 *
 * libpq says what its socket must be ready for; the actor waits, at most so long for each step. The
 * socket may be another one after a step. Give hosts as hostaddr=: libpq blocks to resolve names.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

struct frame {
	PGconn *database;
	struct gyre_future ready;
	int events; /* that the next step waits for; 0: there is none, -1: libpq failed */
};

/* Also called when the actor is stopped: its wait is over by then, so the socket may close. */
static void disconnect(void *frame, void *state)
{
	(void)state;
	PQfinish(((struct frame *)frame)->database);
}

/* Sends what the socket takes of the query, and prints the rows that have come. */
static int query_step(PGconn *database)
{
	int unsent = PQconsumeInput(database) == 1 ? PQflush(database) : -1;

	while (unsent >= 0 && !PQisBusy(database)) {
		PGresult *result = PQgetResult(database);
		ExecStatusType status = PQresultStatus(result);

		PQprint(stdout, result, &(PQprintOpt){ .fieldSep = (char[]){ "\t" } });
		PQclear(result);
		if (status > PGRES_TUPLES_OK && status != PGRES_SINGLE_TUPLE) {
			return result == NULL ? 0 : -1;
		}
	}
	return unsent < 0 ? -1 : unsent > 0 ? POLLIN | POLLOUT : POLLIN;
}

/* Begins the query when there is a connection; its rows come one by one, so there may be many. */
static int connect_step(PGconn *database, const char *query)
{
	PostgresPollingStatusType wants = PQconnectPoll(database);

	if (wants == PGRES_POLLING_READING || wants == PGRES_POLLING_WRITING) {
		return wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
	}
	return PQsetnonblocking(database, 1) < 0 || PQsendQuery(database, query) == 0 ? -1
	       : PQsetSingleRowMode(database) == 1 ? query_step(database)
						   : -1;
}

static int run(struct gyre_stack *stack)
{
	const struct gyre_arguments *given = gyre_message(stack, gyre_arguments);
	const char *query = given->argc > 2 ? given->argv[2] : "select version()";
	struct frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->database = PQconnectStart(given->argc > 1 ? given->argv[1] : "");
	for (frame->events = PQsocket(frame->database) < 0 ? -1 : POLLOUT; frame->events > 0;) {
		GYRE_AWAIT(stack, gyre_descriptor_wait(stack, PQsocket(frame->database),
						       (uint32_t)frame->events, 0, &frame->ready));
		if (gyre_future_failed(&frame->ready)) {
			break;
		}
		frame->events = PQstatus(frame->database) == CONNECTION_OK
					? query_step(frame->database)
					: connect_step(frame->database, query);
	}
	if (frame->events != 0) {
		(void)fprintf(stderr, "%s%s\n", PQerrorMessage(frame->database),
			      gyre_future_error(&frame->ready) == -ETIMEDOUT
				      ? "no answer; allow a slow server more MILLISECONDS"
			      : *PQerrorMessage(frame->database) == '\0'
				      ? "no result; COPY is not supported here"
				      : "");
	}
	gyre_exit(stack, frame->events == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	disconnect(frame, NULL);
	GYRE_END(stack);
}

static const struct gyre_class main_class = {
	.name = "main", .frame_bytes = sizeof(struct frame), .mount = run, .frame_clean = disconnect
};

int main(int argc, char **argv)
{
	uint64_t step_ns = GYRE_MILLISECONDS(argc > 3 ? strtoul(argv[3], NULL, 10) : 10000);
	struct gyre_system_options options = { .loops = 1, .ask_timeout_ns = step_ns };

	return gyre_main(&main_class, argc, argv, &options);
}
