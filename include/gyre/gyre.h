/*
 * All of gyre: the one header that a program needs to include.
 */
#ifndef GYRE_GYRE_H
#define GYRE_GYRE_H

#include <gyre/actor.h>
#include <gyre/address.h>
#include <gyre/api.h>
#include <gyre/batch.h>
#include <gyre/buffer.h>
#include <gyre/channel.h>
#include <gyre/counters.h>
#include <gyre/listen.h>
#include <gyre/log.h>
#include <gyre/message.h>
#include <gyre/pipeline.h>
#include <gyre/stack.h>
#include <gyre/system.h>
#include <gyre/timer.h>

#endif
