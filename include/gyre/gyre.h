/*
 * All of gyre: the one header that a program needs to include.
 */
#ifndef GYRE_GYRE_H
#define GYRE_GYRE_H

#include <gyre/actor.h>
#include <gyre/address.h>
#include <gyre/api.h>
#include <gyre/batch.h>
#include <gyre/behaviour.h>
#include <gyre/buffer.h>
#include <gyre/bytes.h>
#include <gyre/channel.h>
#include <gyre/codec.h>
#include <gyre/connect.h>
#include <gyre/counters.h>
#include <gyre/datagram.h>
#include <gyre/declare.h>
#include <gyre/encode.h>
#include <gyre/exchange.h>
#include <gyre/file.h>
#include <gyre/group.h>
#include <gyre/handover.h>
#include <gyre/idle.h>
#include <gyre/inspect.h>
#include <gyre/listen.h>
#include <gyre/log.h>
#include <gyre/main.h>
#include <gyre/message.h>
#include <gyre/move.h>
#include <gyre/name.h>
#include <gyre/node.h>
#include <gyre/number.h>
#include <gyre/offload.h>
#include <gyre/outside.h>
#include <gyre/overload.h>
#include <gyre/pipe.h>
#include <gyre/pipeline.h>
#include <gyre/request.h>
#include <gyre/resize.h>
#include <gyre/resolve.h>
#include <gyre/signal.h>
#include <gyre/socket_address.h>
#include <gyre/stack.h>
#include <gyre/system.h>
#include <gyre/timer.h>
#include <gyre/tls.h>
#include <gyre/version.h>
#include <gyre/watch.h>

#endif
