/*
 * Handing over: a new process takes the place of an old one, and no connection is refused or lost.
 * Both need the same @handover in struct gyre_system_options, the path of a Unix socket, and the
 * new process is started while the old one runs:
 *
 *	struct gyre_system_options options = { .handover = "unix:/run/server.handover" };
 *
 * gyre_system_create() of the new process asks the process that it finds there for its listening
 * sockets, and for its sockets of datagrams that are bound and not connected, and gets them with
 * everything that waits in them. A gyre_system_listen() or gyre_system_datagram_open() with a @bind
 * of the same text, letter by letter, takes such a socket instead of opening its own, with port 0,
 * too. When the new system has started, the old one accepts and receives no more; sockets that were
 * not taken before the start are closed. Connections that are open stay with the old process, which
 * serves them on for half of its drain_timeout_ns, or until there are none, and then stops as by
 * gyre_system_stop(): so gyre_system_run() returns there, with 0. A datagram belongs to the process
 * that has read it, and each channel of datagrams closes when its handlers have got the datagrams
 * that were read, and everything they have written has been sent. A process that finds nobody is
 * the first, and waits there for its own successor.
 *
 * If the new process fails before it has started, nothing has changed for the old one. If the new
 * one ends later, while the old one still serves what is open, the next that is started is the
 * first, at once. If the old one ends, or is killed, before it has passed everything, the new one
 * is the first; if that happens when the new one has the sockets, the new one goes on alone, and
 * the files of Unix sockets stay for it. An old process that is being stopped hands over nothing
 * more: the new one waits for its end, and is the first then. Of processes that start at the same
 * time, one is the first, and the others succeed it. The kernel keeps the addresses of a killed
 * process for some time, until it has taken down the rings; a process that is the first after it
 * waits for them, at most GYRE_HANDOVER_SECONDS, when it opens its own. Each process talks only to
 * processes of the same effective user, or of the superuser. Successors are let in one after the
 * other; few may wait. Each side waits for the other for no longer than GYRE_HANDOVER_SECONDS, and
 * the old one waits for the start of the new one for ten times that. Then the old one goes on; the
 * new one, should it start after all, ends with -ECONNABORTED. Both log a failure, with its cause
 * and remedy.
 *
 * Connections are not handed over, nor are sockets that are opened while a successor starts, nor
 * sockets of gyre_datagram_open(): these are part of the work of an actor, which goes on until the
 * old process ends. Open a socket for the next process before the start: by
 * gyre_system_datagram_open() with @one_loop, whose channel an actor reaches by its
 * gyre_channel_address(); or get it from a supervisor, see @bind. A socket that the new process
 * opens only after its start finds the address taken until the old process has closed its own: try
 * again, as gyre_system_listen() does with @wait_ns, or set @reuse_port in both.
 *
 * When the new process has started, the sockets that were taken get its options, also those that
 * are 0 there and were not before: for streams @backlog, @mode, @allow_delay and @keep_alive_ns,
 * for datagrams @broadcast, @no_gro and the options of groups, for both the sizes of the kernel's
 * buffers. Settings that cannot be taken back stay: a size where the new process leaves the choice
 * to the kernel, @reuse_port, and groups that only the old process had joined. Over TCP,
 * connections that wait to be accepted keep the former options. An option that the kernel refuses
 * then is a warning in the log, and stays as it was. No loop comes or goes meanwhile:
 * gyre_system_resize() fails with -EBUSY. A supervisor has to know that it watches another process
 * now: with @notify_supervisor it is told, by MAINPID of sd_notify(3), before the old process ends.
 * systemd believes it if the unit has Type=notify and NotifyAccess=all.
 */
#ifndef GYRE_HANDOVER_H
#define GYRE_HANDOVER_H

#include <gyre/system.h>

/** GYRE_HANDOVER_SECONDS - how long one process waits for the other to say something */
#define GYRE_HANDOVER_SECONDS 6

#endif
