/*
 * All of gyre: the one header that a program needs to include.
 *
 * The headers stand in an order in which a newcomer can read them. Their headings and titles here
 * are those of the reference, which takes its order from this file. Every header compiles alone, so
 * the order means nothing to the compiler.
 */
#ifndef GYRE_GYRE_H
#define GYRE_GYRE_H

/* ---- Start here ---- */

/* a program that is one main actor */
#include <gyre/main.h>

/* a system: its options, its start and its end */
#include <gyre/system.h>

/* data of the program for each loop */
#include <gyre/loop_data.h>

/* classes, spawning, notices, stopping */
#include <gyre/actor.h>

/* declaring messages and making mail */
#include <gyre/message.h>

/* reading a message, replying, asking, waiting */
#include <gyre/stack.h>

/* addresses of actors and channels */
#include <gyre/address.h>

/* linkage, and units of time */
#include <gyre/api.h>

/* which version this is */
#include <gyre/version.h>

/* ---- Actors ---- */

/* handlers, tables of routes, state machines, the stash */
#include <gyre/behaviour.h>

/* questions that declare the type of their answer */
#include <gyre/request.h>

/* messages that end in an array */
#include <gyre/tail.h>

/* what an actor takes, and addresses that know it */
#include <gyre/protocol.h>

/* taking over what a message owns */
#include <gyre/move.h>

/* timers and receive time-outs */
#include <gyre/timer.h>

/* what parents do about failures of their children */
#include <gyre/supervision.h>

/* hearing of the end of other actors */
#include <gyre/watch.h>

/* finding actors by name */
#include <gyre/name.h>

/* messages for whoever has subscribed to them */
#include <gyre/event.h>

/* finding actors on all nodes by what they do */
#include <gyre/service.h>

/* many actors behind one address */
#include <gyre/group.h>

/* many messages in one call */
#include <gyre/batch.h>

/* a system inside a program with a loop of its own */
#include <gyre/embed.h>

/* asks from threads that run no loop */
#include <gyre/outside.h>

/* work that blocks or takes long */
#include <gyre/offload.h>

/* the phases of a shutdown, and holding them */
#include <gyre/shutdown.h>

/* signals of the process as events */
#include <gyre/signal.h>

/* the expansion of the macros that declare messages */
#include <gyre/declare.h>

/* the expansion of lists in macros */
#include <gyre/each.h>

/* ---- Channels ---- */

/* reading, writing and closing a connection */
#include <gyre/channel.h>

/* actors of the program that own a channel each */
#include <gyre/channel_actor.h>

/* handlers between the head and the tail of a channel */
#include <gyre/pipeline.h>

/* bytes on their way through a pipeline */
#include <gyre/buffer.h>

/* numbers in buffers */
#include <gyre/number.h>

/* blocks of bytes that many channels share */
#include <gyre/bytes.h>

/* addresses of sockets, and their text */
#include <gyre/socket_address.h>

/* servers */
#include <gyre/listen.h>

/* clients */
#include <gyre/connect.h>

/* names of hosts */
#include <gyre/resolve.h>

/* cutting a stream of bytes into frames */
#include <gyre/codec.h>

/* codecs of the program */
#include <gyre/frame_decoder.h>

/* idle and slow peers */
#include <gyre/idle.h>

/* encryption */
#include <gyre/tls.h>

/* requests and answers on a connection */
#include <gyre/exchange.h>

/* UDP, and Unix sockets of datagrams */
#include <gyre/datagram.h>

/* reading and writing files */
#include <gyre/file.h>

/* finding files at once, and keeping them open */
#include <gyre/file_find.h>

/* waiting for descriptors of other libraries */
#include <gyre/descriptor.h>

/* standard input and output, pipes and terminals */
#include <gyre/pipe.h>

/* ---- Nodes ---- */

/* systems that exchange messages over a network */
#include <gyre/node.h>

/* encodings of messages that hold pointers */
#include <gyre/encode.h>

/* ---- Streams ---- */

/* sources, stages and sinks, and what runs them */
#include <gyre/stream.h>

/* actors, files, channels and other nodes as ends of streams */
#include <gyre/stream_ends.h>

/* ---- Operations ---- */

/* the hook for messages of the library */
#include <gyre/log.h>

/* the count of every message, and of its fate */
#include <gyre/counters.h>

/* a snapshot of a running system */
#include <gyre/inspect.h>

/* behaviour when memory gets scarce */
#include <gyre/overload.h>

/* adding and retiring loops */
#include <gyre/resize.h>

/* a new process takes over from an old one */
#include <gyre/handover.h>

#endif
