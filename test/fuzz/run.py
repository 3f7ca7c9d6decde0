#!/usr/bin/env python3
"""Runs a fuzzer for a bounded number of inputs, beginning with seeds that are made here.

usage: run.py PROGRAM [RUNS]

The seeds are streams as a peer would send them, behind option bytes of every kind, or texts as a user
would write them, so that the fuzzer need not find out by itself what those look like. What it finds is left in its folder, which is
named, and can be given to PROGRAM again.
"""
import itertools
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile

RUNS = 20000
# What comes from other nodes takes a minute in all; a count, so that a busy machine tries no fewer.
RUNS_OF = {"frames": 4000000, "link": 45000, "link_handshake": 4400000, "socket_address": 300000, "tls": 3000}
INPUT_BYTES_MAX = 600
INPUT_BYTES_MAX_OF = {"link": 3000}


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def client_hello():
    """What a client begins with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def frame(kind, head, body, index=0):
    """A frame of a link; see lib/remote/wire.h."""
    word = index >> 7 << 29 | kind << 24 | (index & 0x7F) << 17 | len(body)
    return struct.pack("<I", word) + head + body


def hello(version=8, node=7, expected=1, incarnation=1000, flags=0, cluster=b"gyre", dial=1,
          over=0, address=b""):
    body = struct.pack("<IHHHHQIHHHIIQ", 0x65727967, version, version, node, expected, incarnation,
                       over, 0, 0, flags, 1 << 24, 1 << 22, dial)
    told = bytes([len(address)]) + address if flags & 2 else b""
    return frame(1, b"", body + b"n" * 32 + bytes([len(cluster)]) + cluster + told)


def message(kind, type_id, layout, body, slot=0, cookie=1, ask=9, index=0):
    head = struct.pack("<HHIIIIIHH", 0, 0, slot, cookie, 5, 6, type_id, layout, 100)
    return frame(kind, head if kind == 6 else head + struct.pack("<Q", ask), body, index)


def layout_of(version, size):
    return ((version << 32 | size) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 48


def table_mix(key):
    """gy_table_mix() of lib/base/table.h."""
    key ^= key >> 32
    key = key * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    return key ^ key >> 32


def tail_layout_of(version, size, at, unit, count_at):
    layout = 0xFFFFFFFF
    for part in (version, size, at, unit, count_at):
        layout = table_mix(layout ^ part)
    return layout >> 48


def values(count, said=None):
    """A message with a tail, which says that it has so many elements."""
    return struct.pack("<QI", 5, count if said is None else said) + b"v" * max(4, 2 * count)


def fragments(stream, whole, piece):
    return [frame(12, struct.pack("<II", stream, len(whole) - at), whole[at:at + piece])
            for at in range(0, len(whole), piece)]


def interleaved(ones, others):
    return b"".join(one + other for one, other in itertools.zip_longest(ones, others, fillvalue=b""))


def end(cause=b""):
    """The end of an actor that is watched."""
    return message(7, 0x08, 0, struct.pack("<IIIi", 3, 4, 0, -5) + cause)


def service_report(first, last, flags, *changes):
    """What a node tells of its services; see lib/remote/message/service_report.h."""
    body = struct.pack("<QQB", first, last, flags)
    for flags_of, slot, cookie, loop, name in changes:
        body += struct.pack("<BIIH", flags_of, slot, cookie, loop)
        if not flags_of & 2:
            body += struct.pack("<IB", 5, len(name)) + name
    return body


def service_reports():
    yield service_report(0, 2, 3, (0, 1, 1, 0, b"one"), (2, 2, 1, 0, b""))
    yield service_report(2, 3, 0, (1, 1, 1, 0, b"one"))
    yield service_report(0, 0, 3)
    yield service_report(0, 1, 1, (0, 1, 1, 1, b"two"))
    yield service_report(1, 9, 2, (0, 3, 1, 1, b"three"), (0, 1, 1, 0, b"one"))
    yield service_report(3, 4, 0, (2, 1, 1, 0, b""))
    yield service_report(3, 4, 0, (0, 1 << 30, 1, 0, b"one"))


def link_streams():
    """From the first byte, and from where the link is open on."""
    number = struct.pack("<Q", 41)
    text = struct.pack("<I", 300) + b"t" * 300
    sizes = (0x1400, layout_of(0, 8))
    texts = (0x1401, layout_of(1, 0xFFFFFFFF))
    tails = (0x1402, tail_layout_of(0, 16, 12, 2, 8))
    again = frame(14, b"", number)
    with_tails = [message(kind, *tails, values(count)) for kind in (6, 8) for count in (0, 1, 2, 3, 100)]
    with_tails += [frame(14, b"", values(count)) for count in (3, 0, 50)]
    with_tails += [message(kind, *tails, values(3, said)) for kind in (6, 8)
                   for said in (0, 2, 4, 0x7FFFFFFF, 0x80000003, 0xFFFFFFFF)]
    with_tails += [message(6, *tails, values(3)[:size]) for size in (0, 8, 11, 12, 15, 17)]
    whole_tail = struct.pack("<I", 6 << 24) + message(6, *tails, values(200))[4:]
    all_kinds = [message(6, *sizes, number), again, again, message(8, *sizes, number), message(9, *sizes, number),
                 message(10, 2, 0, struct.pack("<i", -5)), message(11, 0x4B, 0, b"adder"),
                 message(6, *texts, text), message(6, 0x2000, 0, b"unknown"), frame(4, b"", b""),
                 message(6, *sizes, number, slot=1), message(8, *sizes, number, cookie=2)]
    services = [message(8, 0x74, tail_layout_of(0, 4, 4, 1, 0), struct.pack("<I", len(report)) + report)
                for report in service_reports()]
    services += [message(9, 0x75, layout_of(0, 8), number), message(6, 0x74, tail_layout_of(0, 4, 4, 1, 0), b"\0\0\0\0")]
    ask = struct.pack("<Q", 10)
    heads = [frame(14, b"", number, 300), message(6, *sizes, number, index=300), frame(14, b"", number, 300),
             frame(14, b"", number, 300), message(8, *sizes, number, index=1022), frame(16, ask, number, 1022),
             frame(16, ask, number, 1022), message(6, *sizes, number, index=1023), message(8, *sizes, number, index=1023),
             message(6, *texts, text, index=1023), message(6, *sizes, number, index=1023), frame(14, b"", number, 300),
             frame(14, b"", number, 1023), frame(14, b"", number, 301)]
    rounds = [struct.pack("<I", round) for round in (1, 2, 0xFFFFFFFF)]
    orders = [message(7, 0x0A, 0, rounds[0]), message(7, 0x0A, 0, rounds[1])]
    orders += [message(7, order, 0, b"") for order in (0x0B, 4, 3)]
    sweeps = [message(7, 0x0A, 0, rounds[0], ask=ask) for ask in (1, 2, 3)]
    sweeps += [message(7, 0x0A, 0, rounds[1], ask=2), message(7, 0x1D, 0, rounds[1]), message(7, 0x1D, 0, rounds[2]),
               message(7, 0x0A, 0, rounds[0], ask=4), message(7, 0x1D, 0, rounds[0]), message(7, 0x0A, 0, b""),
               message(7, 0x1D, 0, b""), message(7, 0x1D, 0, b"12345"), message(6, 0x1D, 0, rounds[0])]
    causes = [struct.pack("<II", *one) + body
              for one, body in ((sizes, number), (texts, text), (tails, values(3)), (tails, values(3, 4)),
                                (sizes, number[:7]), ((0x2000, 0), b"unknown"), ((0x08, 0), b"x" * 16))]
    ends = [end(cause) for cause in causes] + [end(), end(b"abc"), end(causes[0][:8])]
    ends += [message(10, *one, struct.pack("<i", -5) + body)
             for one, body in ((sizes, number), (texts, text), (tails, values(3)), (sizes, b""))]
    fails = message(6, *texts, struct.pack("<I", 4) + b"!why")
    whole = struct.pack("<I", 6 << 24) + message(6, *texts, text)[4:]
    credit = frame(5, b"", struct.pack("<QQ", 40, 1))
    no_way_back = frame(15, b"", struct.pack("<iI", -111, 60) + b"tcp://10.0.0.1:9000")
    way_back = frame(15, b"", struct.pack("<iI", 0, 0))
    return [hello(), hello(version=2), hello(version=9), again, hello(node=1), hello(flags=1), hello(cluster=b"other"),
            hello(flags=2, address=b"unix:/run/node"), hello(flags=3, address=b"a" * 160), hello(flags=2),
            hello() + b"".join(all_kinds), b"".join(all_kinds), b"".join(all_kinds + orders),
            b"".join(sweeps), b"".join(orders[:2] + sweeps + all_kinds), b"".join(ends), b"".join(ends + all_kinds), orders[0] + fails, b"".join(orders[:3]) + fails + all_kinds[3],
            b"".join(services), b"".join(services + all_kinds),
            b"".join(with_tails), b"".join(with_tails + all_kinds), b"".join(heads[1:]), b"".join(heads[1:9] + all_kinds),
            heads[1] + heads[4] + 40 * (heads[2] + heads[5]), heads[0],
            b"".join(fragments(1, whole, 70)), b"".join(fragments(1, whole_tail, 70)),
            interleaved(fragments(1, whole, 100), fragments(2, whole, 90)),
            no_way_back, no_way_back + way_back + credit + no_way_back,
            credit + credit, frame(13, b"", b""), frame(3, b"", b"\3"), frame(2, b"", b"p" * 32),
            hello(flags=1) + frame(2, b"", b"p" * 32)]


def streams(name):
    """What a peer might send to the codec @name."""
    bodies = [b"", b"a", b"hello", b"x" * 15, b"y" * 64, b"z" * 200]
    if name == "frame_decoder":
        frames = b"".join(bytes([kind | len(b[:63]) << 2]) + b[:63] for b in bodies for kind in (0, 1))
        return [frames + b"\x06abcdef\x02" + frames, frames + b"\x03", frames + b"\x50cut off"]
    if name == "line":
        return [b"".join(b + end for b in bodies for end in (b"\n", b"\r\n"))]
    if name == "delimiter":
        return [b"abcabcaabbccab" * 6, b"aaaabcbcbabacab" * 6]
    if name == "varint":
        return [b"".join(varint(len(b)) + b for b in bodies), b"\xff" * 12, b"\x80\x80\x80\x80\x10a"]
    if name == "length":
        forms = ["B", ">H", ">I", "<I", ">Q", "<H"]
        return [b"".join(struct.pack(f, len(b)) + b for b in bodies) for f in forms] + [b"\xff" * 20]
    if name == "tls":
        return [client_hello(), client_hello()[:50], b"\x17\x03\x03\x00\x05hello", b"\x15\x03\x03\x00\x02\x01\x00"]
    if name == "resp":
        return [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n*1\r\n$4\r\nPING\r\n",
                b"PING\r\nget  k \n\n*0\r\n*-1\r\nx",
                b"*2\r\n$0\r\n\r\n$12\r\nhello world!\r\n", b"*1\r\n$-1\r\n", b"*70000\r\n", b"*1\r\n:5\r\n",
                b"*" + b"1" * 30, b"*1\r\n$99999999999\r\n", b"*00002\r\n$0001\r\na\r\n$1\r\nb\r\n"]
    if name == "buffer":
        return [bytes((i * step) % 256 for i in range(200)) for step in (1, 7, 31, 97)]
    return [b"".join(bodies)]


def socket_addresses():
    """Addresses as text, and as the kernel has them behind a byte for the kind of socket."""
    path = b"/run/" + b"p" * 110
    hosts = [b"127.0.0.1", b"*", b"[::1]", b"[fe80::1%lo]", b"[::ffff:1.2.3.4]", b"localhost",
             b"1.2.3", b"0x7f.1", b"a.0X", b"1.a", b"1.2.3.4."]
    texts = [kind + host + b":" + port for kind in (b"tcp://", b"udp://", b"TCP://", b"Udp://") for host in hosts
             for port in (b"0", b"65535", b"70000")]
    texts += [kind + where for kind in (b"unix:", b"unix+dgram:", b"UNIX:")
              for where in (b"/tmp/a", b"@name", path[:107], path)]
    names = [struct.pack("=H", family) + rest for family, rest in (
        (socket.AF_INET, struct.pack(">HI8x", 80, 0x7F000001)),
        (socket.AF_INET6, struct.pack(">HI16sI", 80, 0, b"\xfe\x80" + b"\1" * 14, 1)),
        (socket.AF_UNIX, b""), (socket.AF_UNIX, b"/tmp/a\0"), (socket.AF_UNIX, b"\0name"))]
    return texts + [bytes([kind]) + name for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)
                    for name in names]


def fd_messages():
    """How messages with descriptors are made: right ones of each kind, and such of which a part is wrong."""
    for how in (1, 2, 4, 9, 0):
        for what in (0, 1, 2, 3, 4, 0x20, 0x40, 0x80, 0xE3):
            yield bytes([how] + [how, what, 1, 0] + [how, what, 2, 0] + [how, what, 3, 0] + [how, what, 4, 0])
            yield bytes([how, how, what, 2, 3] + [0, 0, 0xFF, 0, 12, 7, 0, 4, 9] * 4)


def seeds(name):
    """What the fuzzer of @name begins with."""
    if name == "fd_passing":
        yield from fd_messages()
        return
    if name == "socket_address":
        yield from socket_addresses()
        return
    if name == "services":
        reports = list(service_reports())
        for what in range(0, 256, 5):
            yield b"".join(bytes([what + at & 0xFF, len(report)]) + report for at, report in enumerate(reports))
        return
    if name == "link_handshake":
        yield from (stream[4:] for stream in link_streams() if stream[3] == 1)
        return
    if name == "frames":
        yield from link_streams()
        return
    if name == "link":
        yield from (bytes([9, mode]) + stream for stream in link_streams() for mode in range(32))
        return
    for stream in streams(name):
        for options in range(0, 256, 5):
            yield bytes((options * factor) % 256 for factor in (1, 1, 3, 0, 0, 7)) + stream


def write_seeds(name, folder):
    for count, seed in enumerate(seeds(name)):
        with open(os.path.join(folder, f"seed{count}"), "wb") as file:
            file.write(seed[:INPUT_BYTES_MAX_OF.get(name, INPUT_BYTES_MAX)])


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(arguments[0])
    name = os.path.basename(program).removeprefix("fuzz-")
    folder = tempfile.mkdtemp(prefix=f"gyre-fuzz-{name}.")
    corpus = os.path.join(folder, "corpus")
    os.mkdir(corpus)
    write_seeds(name, corpus)
    runs = arguments[1] if len(arguments) > 1 else RUNS_OF.get(name, RUNS)
    ran = subprocess.run([program, f"-runs={runs}", "-seed=1",
                          f"-max_len={INPUT_BYTES_MAX_OF.get(name, INPUT_BYTES_MAX)}", "-timeout=20",
                          "-print_final_stats=1", corpus],
                         cwd=folder, check=False, stdin=subprocess.DEVNULL)
    if ran.returncode != 0:
        print(f"{name}: exit status {ran.returncode}; what it found is in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
