"""Faults to plant in the library's code, each a mistake of a few lines that could have been made.

They were written by reading the code, before the simulator was tried on any of them, and are not
fitted to what it finds: plant.py says which it finds and after how many seeds. Those at the end are by
readers who had not seen the simulator either. @old occurs once in @file; @new stands there when the
fault is planted; @says is what is wrong then. In both parts the order is from the lower floors to the
upper ones.
"""

FAULTS = [
    # ---- loop ----
    {
        "name": "parks-without-a-second-look",
        "file": "lib/loop/park.c",
        "old": "\tif (!gy_inbox_empty(&loop->inbox) || gy_steal_is_possible(loop)) {\n"
               "\t\tleave_park(loop);",
        "new": "\tif (gy_steal_is_possible(loop)) {\n"
               "\t\tleave_park(loop);",
        "says": "A loop that has set its flag does not look at its inbox again, so mail that came just "
                "before wakes nobody.",
    },
    {
        "name": "timers-round-to-the-nearest-tick",
        "file": "lib/loop/wheel.c",
        "old": "\t    deadline_ns - wheel->start_ns > tick * wheel->tick_ns) {\n",
        "new": "\t    deadline_ns - wheel->start_ns > tick * wheel->tick_ns + wheel->tick_ns / 2) {\n",
        "says": "A deadline is rounded to the nearest tick, and timers fire up to half a tick early.",
    },
    {
        "name": "stolen-actors-go-before-their-mail",
        "file": "lib/loop/steal.c",
        "old": "\t/* Mail of a stolen actor must come after the mail that it has sent from here. */\n"
               "\tgy_loop_flush(loop);\n",
        "new": "",
        "says": "Actors are published while mail that they have sent still waits in the outboxes, so "
                "what they send from the thief overtakes it.",
    },
    # ---- ring ----
    {
        "name": "receive-stops-after-its-rounds",
        "file": "lib/ring/epoll_receive.c",
        "old": "\t\tif ((uint32_t)r < asked && !may_have_more) {\n"
               "\t\t\treturn GY_EPOLL_DRAINED;\n"
               "\t\t}\n"
               "\t}\n"
               "\treturn GY_EPOLL_MORE;\n",
        "new": "\t\tif ((uint32_t)r < asked && !may_have_more) {\n"
               "\t\t\treturn GY_EPOLL_DRAINED;\n"
               "\t\t}\n"
               "\t}\n"
               "\treturn GY_EPOLL_BLOCKED;\n",
        "says": "A receive that has had all its rounds waits for another edge, though the socket has "
                "more.",
    },
    {
        "name": "end-behind-bytes-goes-unseen",
        "file": "lib/ring/epoll_receive.c",
        "old": "\tbool may_have_more = (events & ~(uint32_t)(EPOLLIN | EPOLLOUT)) != 0 || "
               "is_local(sqe);\n",
        "new": "\tbool may_have_more = is_local(sqe);\n",
        "says": "A receive that brings fewer bytes than there was room for stops there, also when the "
                "same event has told of the end of the connection.",
    },
    {
        "name": "abandoned-open-keeps-its-descriptor",
        "file": "lib/ring/epoll_workers.c",
        "old": "\tif (work->result >= 0) {\n"
               "\t\t(void)close((int)work->result);\n"
               "\t}\n",
        "new": "",
        "says": "The descriptor of an open that was cancelled while a thread was at it is never closed.",
    },
    {
        "name": "spurious-wake-up-ends-a-worker",
        "file": "lib/ring/epoll_workers.c",
        "old": "\twhile (gy_list_empty(&workers.queue) && !workers.ending) {\n",
        "new": "\tif (gy_list_empty(&workers.queue) && !workers.ending) {\n",
        "says": "A worker that is woken for nothing takes the empty queue for the end, and is counted as "
                "there for ever.",
    },
    # ---- actor ----
    {
        "name": "late-answer-serves-the-next-ask",
        "file": "lib/actor/stack/promise_places.h",
        "old": "gy_unlikely(gy_load_relaxed(&promise->id) != id) ||\n",
        "new": "gy_unlikely(((gy_load_relaxed(&promise->id) ^ id) &\n"
               "\t\t\t\t\t\t    (gy_promise_use - 1)) != 0) ||\n",
        "says": "Of an ask's number only the place is compared, so an answer that comes after its "
                "time-out completes the actor's next ask that has the place.",
    },
    {
        "name": "any-stack-ends-a-barrier",
        "file": "lib/actor/stack/stack.c",
        "old": "\tif (house->extra == NULL || house->extra->barrier != stack) {\n",
        "new": "\tif (house->extra == NULL || house->extra->barrier == NULL) {\n",
        "says": "A barrier ends with the first suspended handler of its actor that ends, not with its "
                "own.",
    },
    {
        "name": "old-timeout-counts-for-the-new-timer",
        "file": "lib/actor/timer.c",
        "old": "\tif (timer == NULL || timer->generation != mail->ask_id) {\n",
        "new": "\tif (timer == NULL) {\n",
        "says": "An event of a timer that was started anew while the event waited is taken for one of "
                "the new timer, which never fires then.",
    },
    {
        "name": "watchers-hear-at-the-begin-of-a-stop",
        "file": "lib/actor/life/lifecycle.c",
        "old": "\tif (extra != NULL) {\n\t\tgy_shutdown_leave(house);\n",
        "new": "\tif (extra != NULL) {\n\t\tgy_shutdown_leave(house);\n"
               "\t\tgy_watch_end(house, reason_of(house));\n",
        "says": "Watchers are told of an end when the stop begins, while children and channels of the "
                "actor still run.",
    },
    {
        "name": "end-overtakes-mail-behind-a-barrier",
        "file": "lib/actor/life/watch.c",
        "old": "\tuint32_t lanes = watch == NULL ? 0 : lanes_before(house, from);\n",
        "new": "\tuint32_t lanes = watch == NULL ? 0 : lanes_before(house, from) & ~house->closed;\n",
        "says": "Mail in lanes that are closed does not hold back the event of an end, so a watcher "
                "hears of it before the last mail of the dead.",
    },
    {
        "name": "parent-ends-before-remote-children",
        "file": "lib/actor/life/children.c",
        "old": "\treturn children->ordered && children->reports == 0;\n",
        "new": "\treturn children->ordered;\n",
        "says": "A parent that stops waits for its orders to be sent, and not for its children to be "
                "gone.",
    },
    # ---- channel ----
    {
        "name": "second-cancel-is-never-sent",
        "file": "lib/channel/input/input.c",
        "old": "\t\tgy_channel_set_input(channel, 0, GY_INPUT_CANCELLED);\n",
        "new": "",
        "says": "A receive that was cancelled once counts as cancelled for ever, so a later one of the "
                "channel is not, and the channel cannot close.",
    },
    {
        "name": "reading-stays-paused",
        "file": "lib/channel/output/output.c",
        "old": "{\n\tgy_channel_remove_no_read(channel, GY_NO_READ_PAUSED);\n",
        "new": "{\n",
        "says": "A channel that has stopped reading since its output was full never reads again.",
    },
    {
        "name": "closes-before-its-output-is-sent",
        "file": "lib/channel/output/linger.c",
        "old": "\tif (channel->output.first == NULL && channel->zero_copies == NULL &&\n",
        "new": "\tif (channel->zero_copies == NULL &&\n",
        "says": "A channel whose peer has ended its side is closed at once, though output is queued.",
    },
    {
        "name": "failed-sync-is-tried-again",
        "file": "lib/channel/file/file.c",
        "old": "\treturn result == -EAGAIN || result == -EINTR || result == -GY_KERNEL_RESTART;\n",
        "new": "\treturn result == -EAGAIN || result == -EINTR || result == -EIO ||\n"
               "\t       result == -GY_KERNEL_RESTART;\n",
        "says": "A sync that has failed is made again, and the second one says that all is well though "
                "the writes are lost.",
    },
    {
        "name": "rest-of-a-short-write-goes-over-its-begin",
        "file": "lib/channel/file/file.c",
        "old": "\tif (operation->offset != GYRE_FILE_AT_POSITION) {\n"
               "\t\toperation->offset += count;\n"
               "\t}\n",
        "new": "",
        "says": "The rest of a short write to a file goes where its begin went.",
    },
    # ---- net ----
    {
        "name": "dial-ends-before-its-attempts",
        "file": "lib/net/connect/dial.c",
        "old": "\tif (gy_happy_eyeballs_end(&dial->happy_eyeballs) && looked_up) {\n"
               "\t\tset_end(dial, GY_DIAL_ENDED);\n",
        "new": "\t(void)gy_happy_eyeballs_end(&dial->happy_eyeballs);\n"
               "\tif (looked_up) {\n"
               "\t\tset_end(dial, GY_DIAL_ENDED);\n",
        "says": "A dial that is given up ends while its attempts to connect are still under way, and "
                "their descriptors are not closed.",
    },
    {
        "name": "acceptor-stays-paused",
        "file": "lib/net/listen/acceptor.c",
        "old": "\tset_obstacle(acceptor, GY_OBSTACLE_KERNEL, false);\n"
               "\tgy_endpoint_ready(&acceptor->endpoint);\n",
        "new": "\tset_obstacle(acceptor, GY_OBSTACLE_KERNEL, false);\n",
        "says": "When the pause of an acceptor is over nothing makes it accept again.",
    },
    # ---- remote ----
    {
        "name": "lookup-in-flight-is-taken-for-an-answer",
        "file": "lib/remote/link/in_flight.c",
        "old": "\tbool ask = frame->kind == GY_WIRE_ASK || frame->kind == GY_WIRE_LOOKUP;\n",
        "new": "\tbool ask = frame->kind == GY_WIRE_ASK;\n",
        "says": "When a link breaks, who has looked a name up over it is not told, and waits for its "
                "time-out.",
    },
    {
        "name": "older-link-goes-on-beside-the-newer",
        "file": "lib/remote/link/link_order.c",
        "old": "\tif (order.older == links) {\n\t\tend_older(links, &order);\n",
        "new": "\tif (order.older == links) {\n",
        "says": "A new link of a peer's loop is let in while the former one may still bring mail, which "
                "then comes after newer mail.",
    },
    {
        "name": "watches-are-not-renewed",
        "file": "lib/remote/link/link.c",
        "old": "\t} else if (gy_link_has(link, GY_LINK_FLAG_SUCCESSOR)) {\n"
               "\t\tgy_peer_link_returned(links, link->peer);\n"
               "\t}\n",
        "new": "\t}\n",
        "says": "The event of an end that was lost with a link of the peer is never asked for again.",
    },
    {
        "name": "length-in-two-pieces-is-read-anew",
        "file": "lib/remote/message/incoming.c",
        "old": "\t\tint64_t taken = link->partial_frame.at > 0 ? 0 : take_slice(link, bytes, count);\n",
        "new": "\t\tint64_t taken =\n"
               "\t\t\tlink->partial_frame.frame != NULL ? 0 : take_slice(link, bytes, count);\n",
        "says": "Where the first word of a frame comes in two pieces, the second is taken for the begin "
                "of a frame.",
    },
    {
        "name": "stale-address-from-another-node",
        "file": "lib/remote/message/receive_run.c",
        "old": "\treturn gy_likely(gy_load_acquire(&house->self.cookie) == head->to_cookie) &&\n"
               "\t\t\t       gy_likely(gy_house_is_occupied(house)) &&\n",
        "new": "\treturn gy_likely(gy_house_is_occupied(house)) &&\n",
        "says": "Mail of another node for an actor that has ended goes to the one that has its slot now.",
    },
    {
        "name": "life-is-shown-by-the-wrong-deadline",
        "file": "lib/remote/link/link_beat.c",
        "old": "\t\t   options->heartbeat_ns - options->heartbeat_ns / BEATS) {\n",
        "new": "\t\t   options->down_ns - options->down_ns / BEATS) {\n",
        "says": "A side that has nothing to say shows that it is alive only when it is nearly taken for "
                "dead.",
    },
    # ---- system and stream ----
    {
        "name": "group-keeps-its-dead",
        "file": "lib/system/directory/group_members.c",
        "old": "\t\tgy_group_remove(groups, first->group, gy_house_address(house));\n",
        "new": "\t\t(void)house;\n\t\t(void)groups;\n",
        "says": "An actor that stops forgets its groups without leaving them, and stays a member.",
    },
    {
        "name": "receipt-counts-for-the-whole-report",
        "file": "lib/system/directory/service_herald.c",
        "old": "\taudience->told = known;\n",
        "new": "\taudience->told = plan->to;\n",
        "says": "A node that says that it knows a part of a report of services counts as one that knows "
                "all of it.",
    },
    {
        "name": "end-of-a-stream-is-said-once",
        "file": "lib/stream/far.c",
        "old": "\tcase -ECONNRESET:\n\t\treturn what != GY_TELL_BLOCK;\n",
        "new": "\tcase -ECONNRESET:\n\t\treturn what != GY_TELL_BLOCK && what != GY_TELL_END;\n",
        "says": "The end of a stream to another node that is lost with its link is not said again, and "
                "the other side waits for ever.",
    },
    # ---- by readers who knew neither the worlds nor what they find ----
    {
        "name": "calls-are-cleared-after-they-are-served",
        "file": "lib/loop/retired.c",
        "old": "\tgy_store_full(&loops->calls, 0);\n"
               "\tfor (uint32_t i = 1; i < made; i++) {\n"
               "\t\tstruct gy_loop *loop = loops->loop[i];\n"
               "\n"
               "\t\tif (loop->retired && (all || gy_load_full(&loop->parked) == GY_AWAKE)) {\n"
               "\t\t\tserve(loop);\n"
               "\t\t}\n"
               "\t}\n",
        "new": "\tfor (uint32_t i = 1; i < made; i++) {\n"
               "\t\tstruct gy_loop *loop = loops->loop[i];\n"
               "\n"
               "\t\tif (loop->retired && (all || gy_load_full(&loop->parked) == GY_AWAKE)) {\n"
               "\t\t\tserve(loop);\n"
               "\t\t}\n"
               "\t}\n"
               "\tgy_store_full(&loops->calls, 0);\n",
        "says": "The deputy of retired loops forgets calls that come while it serves, and the mail that "
                "they were for waits until another retired loop is called for.",
    },
    {
        "name": "events-count-as-asked-for-when-they-are-not",
        "file": "lib/ring/epoll_descriptor.c",
        "old": "\tfile->watched = r == 0 ? events | ALWAYS : 0;\n",
        "new": "\tfile->watched = r == 0 ? file->watched | events | ALWAYS : 0;\n",
        "says": "Events that epoll is not asked for any longer seem to be asked for still, so the "
                "second send of a connection that finds no room waits for ever.",
    },
    {
        "name": "periodic-timer-needs-no-second-try",
        "file": "lib/actor/timer.c",
        "old": "\tif (r < 0) {\n"
               "\t\tgy_timer_start(&timer->house->home->loop.wheel, wheel_timer, "
               "GYRE_MILLISECONDS(1));\n",
        "new": "\tif (r < 0 && !again) {\n"
               "\t\tgy_timer_start(&timer->house->home->loop.wheel, wheel_timer, "
               "GYRE_MILLISECONDS(1));\n",
        "says": "A periodic timer whose event finds no memory counts the period as told, and no later "
                "period puts an event, since one seems to wait.",
    },
    {
        "name": "walk-goes-on-where-it-was-in-the-last-house",
        "file": "lib/actor/life/watch_walk.c",
        "old": "\t\twalk->place = (struct gy_watch_place){ 0 };\n",
        "new": "",
        "says": "A walk over watches takes the end of those of one actor for the place in those of the "
                "next, if that has a table of the same size: they are not named again, and the peer "
                "forgets them.",
    },
    {
        "name": "progress-is-measured-from-the-first-look",
        "file": "lib/channel/output/linger.c",
        "old": "\t\tchannel->untaken_bytes = (uint32_t)untaken;\n"
               "\t\tchannel->linger_end_ns = now_ns + channel->channels->options.linger_ns;\n",
        "new": "\t\tchannel->linger_end_ns = now_ns + channel->channels->options.linger_ns;\n",
        "says": "A peer that has taken something since a channel began to close seems to take more at "
                "each look, so one that then does nothing is waited for without end.",
    },
    {
        "name": "attempt-counts-as-cancelled-in-the-next-round",
        "file": "lib/net/connect/happy_eyeballs.c",
        "old": "\tattempt->running = true;\n\tattempt->cancelled = false;\n",
        "new": "\tattempt->running = true;\n",
        "says": "An attempt to connect in a place where one was cancelled in an earlier round is never "
                "cancelled itself, and no further round begins before the kernel gives it up.",
    },
    {
        "name": "end-of-a-frame-leaves-out-the-fragments",
        "file": "lib/remote/link/in_flight.c",
        "old": "\titem.end = link->queued_bytes - link->parcel_bytes + link->fragment_bytes;\n",
        "new": "\titem.end = link->queued_bytes - link->parcel_bytes;\n",
        "says": "An ask behind fragments counts as arrived when the peer has only taken these, and "
                "nobody is told when it is lost with the link.",
    },
    {
        "name": "ring-that-grows-is-copied-as-it-lies",
        "file": "lib/remote/link/in_flight.c",
        "old": "\t\titems[i] = *at(in_flight, i);\n",
        "new": "\t\titems[i] = in_flight->items[i];\n",
        "says": "When the ring of what is in flight grows, and does not begin at its first place, its "
                "newest come before its oldest: what has arrived counts as lost, and the reverse.",
    },
    {
        "name": "listing-waits-that-was-never-made",
        "file": "lib/system/directory/service_watch.c",
        "old": "\t\tgy_store_full(&watch->is_waiting, 0);\n\t\tretry_later(watch);\n",
        "new": "\t\tretry_later(watch);\n",
        "says": "A listing for which there was no memory counts as one that waits, so the watcher of "
                "the service never gets another.",
    },
    {
        "name": "demand-that-was-not-sent-counts",
        "file": "lib/stream/port.c",
        "old": "\tif (r == 0) {\n"
               "\t\tinlet->told = port->granted;\n"
               "\t\tinlet->told_bytes = port->granted_bytes;\n"
               "\t}\n",
        "new": "\tinlet->told = port->granted;\n"
               "\tinlet->told_bytes = port->granted_bytes;\n",
        "says": "Demand of a stream for which there was no memory counts as told to the actor that "
                "produces, so what is sent in its place asks for nothing.",
    },
]
