/*
 * Handing over: a new process takes the place of an old one, and no connection is refused or lost.
 * All it takes is that both have the same @handover in struct gyre_system_options, the path of a
 * Unix socket, and that the new one is started while the old one runs:
 *
 *	struct gyre_system_options options = { .handover = "unix:/run/server.handover" };
 *
 * gyre_system_create() of the new process asks whoever is found there for its sockets that listen,
 * and for those of datagrams that are bound and not connected, and gets them with all that waits in
 * them. A gyre_system_listen() or gyre_system_datagram_open() with a @bind of the same text, letter
 *by letter, takes those instead of opening its own; with port 0, too. When the new system has
 *started the old one accepts and receives no more; what was not taken before the start is closed.
 *Connections that are open stay with the old process, which serves them on for half of its
 *drain_timeout_ns, or until there are none, and then stops as by gyre_system_stop(): so
 *gyre_system_run() returns there, with 0. A datagram is for whichever process has read it, and each
 *channel of datagrams closes when its handlers have had what was read, and what they have written
 *has been sent. Where nobody is found the new process is the first, and waits there for its own
 *successor.
 *
 * If the new process fails before it has started, nothing has changed for the old one. If the new
 * one ends later, while the old one still serves what is open, the next that is started is the
 * first, at once. If the old one ends, or is killed, before it has passed everything, the new one
 * is the first; if that happens when the new one has its sockets, that goes on alone, and the files
 * of Unix sockets stay for it. An old process that is being stopped hands over nothing more: the
 * new one waits for its end, and is the first then. Of processes that start at the same time one is
 * the first, and the others succeed it. Addresses of a process that was killed are the kernel's for
 * some time, until it has taken down the rings; who is the first after one waits for them for
 * GYRE_HANDOVER_SECONDS at most when it opens its own. Only processes of the same effective user,
 * or of the superuser, are talked to, either way. Successors are let in one after the other; few
 *may wait. Each side waits for the other for no longer than GYRE_HANDOVER_SECONDS, and the old one
 *for the start of the new one for ten times that; then the old one goes on, and the new one, should
 *it start after all, ends with -ECONNABORTED. What went wrong is in the log of both, with its cause
 * and remedy.
 *
 * Connections are not handed over, nor what is opened while a successor starts, nor sockets of
 * gyre_datagram_open(): an actor opens them in the midst of its work, when its system runs, and
 * they are a part of that work, which goes on until the old process ends. What is to go to the next
 * process is opened before the start: by gyre_system_datagram_open() with @one_loop, whose channel
 *an actor reaches by its gyre_channel_address(); or it is a supervisor's, see @bind. What the new
 * process opens only after its start finds the address taken until the old one has let go of it:
 * it tries again, as gyre_system_listen() does with @wait_ns, or both set @reuse_port.
 *
 * The options of the sockets that are taken become those of the new process when it has started,
 * also those that are 0 there and were not before: of streams @backlog, @mode, @allow_delay and
 * @keep_alive_ns, of datagrams @broadcast, @no_gro and what is said of groups, of both the sizes of
 * the kernel's buffers. What cannot be taken back stays: a size where the new process leaves the
 * choice to the kernel, @reuse_port, and groups that only the old one had joined. Over TCP,
 * connections that wait to be accepted have the options of before. An option that the kernel
 * refuses then is a warning in the log, and stays as it was. No loop comes or goes meanwhile:
 * gyre_system_resize() fails with -EBUSY. A supervisor has to know that the process it watches is
 * another one: with @notify_supervisor it is told, by MAINPID of sd_notify(3), before the old
 * process ends; systemd believes that if the unit has Type=notify and NotifyAccess=all.
 */
#ifndef GYRE_HANDOVER_H
#define GYRE_HANDOVER_H

#include <gyre/system.h>

/** GYRE_HANDOVER_SECONDS - how long one process waits for the other to say something */
#define GYRE_HANDOVER_SECONDS 6

#endif
