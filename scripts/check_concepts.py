#!/usr/bin/env python3
"""Concepts: what a newcomer needs for the tutorial's chat and for apps/kv, counted.

usage: check_concepts.py [ROOT] [--keep]

A name is a function, a type, a macro or a constant of include/gyre/*.h. IDEAS has all names that the two
programs use, each under the idea that it belongs to, and the ideas in an order to learn them in. A name
that stands there twice or that neither program uses is a fault, and so is one of theirs that does not
stand there. README.md and apps/tutorial/README.md have tables of it, between two comments each; --keep
writes these anew.
"""
import os
import re
import sys

import csource

CHAT = ["apps/tutorial/step5.c"]
STEPS = [[f"apps/tutorial/step{number}.c"] for number in range(1, 6)]
PAGES = ("README.md", "apps/tutorial/README.md")
BEGIN, END = "<!-- scripts/check_concepts.py: begin -->", "<!-- scripts/check_concepts.py: end -->"
NAME = re.compile(r"(?:gyre|GYRE)_\w*[^_\W]$")

# An idea: its name, itself in a sentence, and its names.
IDEAS = [
    ("System", "A loop for each CPU, places to listen, a run until a signal. Calls return a negative errno.",
     """gyre_system gyre_system_create gyre_system_options gyre_system_listen gyre_acceptor_options
     gyre_system_run gyre_system_loops gyre_system_destroy gyre_socket_address gyre_socket_address_format
     GYRE_SOCKET_ADDRESS_TEXT_MAX GYRE_LOG_ERROR"""),
    ("Channel", "A connection, with a pipeline of handlers that are told what happens to it.",
     """gyre_channel gyre_pipeline_add GYRE_LAST gyre_handler gyre_handler_context gyre_context_channel
     gyre_channel_tail gyre_context_write gyre_context_close gyre_channel_abort"""),
    ("Buffer", "Bytes that are given on, not copied; who writes them has given them away.",
     """gyre_buffer gyre_context_buffer gyre_buffer_create gyre_buffer_destroy gyre_buffer_append
     gyre_buffer_append_memory gyre_buffer_bytes gyre_buffer_copy gyre_buffer_join gyre_buffer_linear
     gyre_buffer_skip"""),
    ("Codec", "A handler in front of others, which cuts bytes into lines and bounds them.",
     "gyre_line_codec_add gyre_line_options GYRE_APPEND_LF"),
    ("Events of a channel", "Exceptions, the end of input and others go from handler to handler until one keeps them.",
     "gyre_context_fire_exception gyre_context_fire_event gyre_input_closed gyre_type GYRE_ID"),
    ("Actor", "A class with handlers, a state that nobody else touches, one message at a time.",
     """gyre_class gyre_route GYRE_ROUTE GYRE_ROUTE_END gyre_stack gyre_state gyre_message gyre_return
     gyre_throw gyre_self gyre_address gyre_address_equal"""),
    ("Actor of a channel", "Each connection has one: handlers and actor reach each other without a message.",
     "gyre_actor_channel gyre_channel_actor_state gyre_channel_attached gyre_context_stack"),
    ("Message", "A struct with a number; one that owns something says how it is freed and copied.",
     "GYRE_MESSAGE_OWNING gyre_new gyre_notify gyre_sender gyre_take gyre_move gyre_forward"),
    ("Shared bytes", "A block for many receivers, counted and never copied.",
     """gyre_bytes gyre_bytes_create gyre_bytes_printf gyre_bytes_ref gyre_bytes_unref
     gyre_buffer_append_shared"""),
    ("Event stream", "Who has subscribed to a type, and perhaps a key, hears what is published; the slow are told what they miss.",
     """gyre_subscribe gyre_subscribe_options gyre_unsubscribe gyre_publish
     gyre_event_key_of gyre_events_missed"""),
    ("Name", "Of all actors that want a name one gets it, until it ends.",
     "gyre_name_register gyre_name_unregister"),
    ("Place", "An actor is spawned on a loop, or a group with one on each; a loop has data of the program.",
     """gyre_system_spawn gyre_spawn_options GYRE_NO_ARGUMENT GYRE_PLACE_LOOP gyre_loop_data
     gyre_system_group_spawn gyre_group_options GYRE_ROUTING_BY_KEY"""),
    ("Back pressure", "A client that does not read makes its channel unwritable; one that types too fast is not read.",
     """gyre_channel_is_writable gyre_channel_queued_bytes gyre_channel_set_auto_read
     gyre_context_read"""),
    ("Timer", "An event after a time, or again and again.",
     "gyre_timer_start gyre_timer_options gyre_timeout GYRE_MILLISECONDS"),
]


def public_names(root):
    return {token.text for path in csource.find(root, ["include/gyre"])
            for token in csource.load(root, path).tokens
            if token.kind == "ident" and NAME.fullmatch(token.text)}


def used(root, paths, public):
    return {token.text for path in paths for token in csource.load(root, path).tokens
            if token.kind == "ident" and token.text in public}


def lines_of(root, paths):
    return sum(csource.load(root, path).text.count("\n") for path in paths)


def check_ideas(chat, kv, problems):
    """Each name of the programs belongs to one idea, and no idea has other names."""
    where = {}
    for idea, _, names in IDEAS:
        for name in names.split():
            if name in where:
                problems.append((__file__, 0, f"{name} stands under {where[name]} and under {idea}"))
            where[name] = idea
    for name in sorted((chat | kv) - where.keys()):
        problems.append((__file__, 0, f"{name} is used, and stands under no idea"))
    for name in sorted(where.keys() - (chat | kv)):
        problems.append((__file__, 0, f"{name} stands under {where[name]}, and is used nowhere"))


def concept_table(chat, kv):
    """The table of README.md: each idea, and how many of its names each program uses."""
    rows = ["| | concept | in a sentence | names in the chat | names in kv |", "|---|---|---|---|---|"]
    totals = [[0, 0], [0, 0]]
    for number, (idea, sentence, names) in enumerate(IDEAS, 1):
        counts = [len(program & set(names.split())) for program in (chat, kv)]
        for total, count in zip(totals, counts):
            total[0] += count > 0
            total[1] += count
        rows.append(f"| {number} | {idea} | {sentence} | {counts[0] or ''} | {counts[1] or ''} |")
    sums = " | ".join(f"{names} of {ideas} concepts" for ideas, names in totals)
    return rows + [f"| | together | | {sums} |"]


def step_table(root, public):
    """The table of the tutorial: what each step adds."""
    rows = ["| step | lines | names | new concepts |", "|---|---|---|---|"]
    known = set()
    for number, step in enumerate(STEPS, 1):
        names = used(root, step, public)
        ideas = [idea for idea, _, of_it in IDEAS if names & set(of_it.split())]
        new = ", ".join(idea.lower() for idea in ideas if idea not in known)
        known.update(ideas)
        rows.append(f"| {number} | {lines_of(root, step)} | {len(names)} | {new} |")
    return rows


def check_page(root, page, table, keep, problems):
    path = os.path.join(root, page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        problems.append((page, 0, "its table is not between the two comments"))
        return
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = "\n".join([before + BEGIN, *table, END + after])
    if wanted != text and keep:
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif wanted != text:
        problems.append((page, before.count("\n") + 1,
                         "its table is not what was counted: scripts/check_concepts.py --keep"))


def main(arguments):
    keep = "--keep" in arguments
    root = csource.root_of([argument for argument in arguments if argument != "--keep"])
    problems = []
    public = public_names(root)
    chat = used(root, CHAT, public)
    kv = used(root, csource.find(root, ["apps/kv"]), public)
    check_ideas(chat, kv, problems)
    for page, table in zip(PAGES, (concept_table(chat, kv), step_table(root, public))):
        check_page(root, page, table, keep, problems)
    return csource.report("concepts", problems, f"{len(chat | kv)} names")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
