/*
 * Handing over: a new process takes the place of an old one, and no connection is refused or lost.
 * All it takes is that both have the same @handover in struct gyre_system_options, the path of a
 * Unix socket, and that the new one is started while the old one runs:
 *
 *	struct gyre_system_options options = { .handover = "unix:/run/server.handover" };
 *
 * gyre_system_create() of the new process asks whoever is found there for its sockets that listen,
 * and gets them with all that waits in their backlogs. A gyre_listen() with a @bind of the same
 * text, letter by letter, takes those instead of opening its own; with port 0, too. When the new
 * system has started the old one accepts no more; what no gyre_listen() before the start has taken
 * is closed. Connections that are open stay with the old process, which serves them on for half of
 * its drain_timeout_ns, or until there are none, and then stops as by gyre_system_stop(): so
 * gyre_system_run() returns there, with 0. Where nobody is found the new process is the first, and
 * waits there for its own successor.
 *
 * If the new process fails before it has started, nothing has changed for the old one. Only a
 * process of the same effective user is talked to, either way. Each waits for the other for no
 * longer than GYRE_HANDOVER_SECONDS, and the old one for the start of the new one for ten times
 * that; what went wrong is in the log of both, with its cause and remedy.
 *
 * Sockets of datagrams and connections are not handed over. Options of sockets, as the length of
 * the backlog, stay as they were. Loops should not be added or retire while a successor starts. A
 * supervisor has to know that the process it watches is another one: under systemd that is told by
 * MAINPID of sd_notify(3).
 */
#ifndef GYRE_HANDOVER_H
#define GYRE_HANDOVER_H

#include <gyre/system.h>

/** GYRE_HANDOVER_SECONDS - how long a process waits for an answer of its predecessor */
#define GYRE_HANDOVER_SECONDS 6

#endif
