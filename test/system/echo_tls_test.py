#!/usr/bin/env python3
"""gyre-echo over TLS with other people's clients: Python's ssl and the openssl command."""
import os
import signal
import socket
import ssl
import subprocess

from echo_support import (PATIENCE_S, Server, expect, expect_refusal, receive_all, run_echo,
                          without_stalls)
from tls_support import Certificates


def client_context(certificates, name=None):
    context = ssl.create_default_context(cafile=certificates.path("ca.pem"))
    if name is not None:
        context.load_cert_chain(certificates.path(f"{name}.pem"), certificates.path(f"{name}.key"))
    return context


def connect(server, context):
    return context.wrap_socket(server.connect(), server_hostname="localhost",
                               suppress_ragged_eofs=False)


def test_versions(server, certificates):
    for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
        context = client_context(certificates)
        context.minimum_version = version
        context.maximum_version = version
        with connect(server, context) as connection:
            expect(connection.version() == name, f"{connection.version()}, not {name}")
            connection.sendall(b"hello")
            expect(receive_all(connection, 5) == b"hello", "other bytes")


def test_much(server, certificates):
    """More than the buffers on the way hold, so that each side has to wait for the other."""
    data = os.urandom(3_000_000)
    with connect(server, client_context(certificates)) as connection:
        received = b""
        sent = 0
        while sent < len(data):
            sent += connection.send(data[sent:sent + 50_000])
            received += connection.recv(1 << 16)
        received += receive_all(connection, len(data) - len(received))
        expect(received == data, "other bytes")


def test_end(server, certificates):
    """It answers the client's end with its own; without that unwrap() fails."""
    connection = connect(server, client_context(certificates))
    connection.sendall(b"last")
    expect(receive_all(connection, 4) == b"last", "other bytes")
    plain = connection.unwrap()
    expect(plain.recv(1) == b"", "it does not close")
    plain.close()


def test_openssl(server, certificates):
    ran = subprocess.run(["openssl", "s_client", "-quiet", "-no_ign_eof", "-verify_return_error",
                          "-verify_hostname", "localhost", "-CAfile", certificates.path("ca.pem"),
                          "-connect", f"127.0.0.1:{server.port}"], input=b"Q\n",
                         capture_output=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 0, f"openssl s_client: {ran.stderr!r}")
    client = subprocess.Popen(["openssl", "s_client", "-quiet", "-verify_return_error", "-CAfile",
                               certificates.path("ca.pem"), "-connect", f"127.0.0.1:{server.port}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    client.stdin.write(b"a line\n")
    client.stdin.flush()
    expect(client.stdout.readline() == b"a line\n", "openssl s_client hears something else")
    client.kill()
    client.communicate()


def test_plain(server):
    """One that does not speak TLS hears nothing but the end."""
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        expect(connection.recv(1) == b"", "something came")


def test_mutual(certificates):
    server = Server("--loops", "2", *certificates.options("server", "ca"))
    with connect(server, client_context(certificates, "client")) as connection:
        connection.sendall(b"hello")
        expect(receive_all(connection, 5) == b"hello", "other bytes")
    try:
        with connect(server, client_context(certificates)) as connection:
            connection.sendall(b"hello")
            connection.recv(1)
        expect(False, "it was served without a certificate")
    except (ssl.SSLError, ConnectionError):
        pass
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S):
        pass  # one that says nothing is no reason to complain
    server.process.terminate()
    _, errors = server.process.communicate(timeout=PATIENCE_S)
    lines = without_stalls(errors)
    expect(len(lines) == 1 and "has shown no certificate" in lines[0], f"it said: {errors}")


def expect_shown(server, certificates, name):
    with connect(server, client_context(certificates)) as connection:
        subject = dict(part[0] for part in connection.getpeercert()["subject"])
        expect(subject["commonName"] == name, f"shown {subject}, not {name}")
        connection.sendall(b"hello")
        expect(receive_all(connection, 5) == b"hello", "other bytes")


def test_renewal(certificates):
    """On SIGHUP, for connections that begin then; a bad file changes nothing."""
    certificates.make("live")
    server = Server("--loops", "2", *certificates.options("live"))
    expect_shown(server, certificates, "live")
    with connect(server, client_context(certificates)) as before:
        for ending in ("pem", "key"):
            os.replace(certificates.path(f"client.{ending}"), certificates.path(f"live.{ending}"))
        server.process.send_signal(signal.SIGHUP)
        line = server.process.stdout.readline().strip()
        expect(line == "certificates are renewed", f"it says: {line}")
        expect_shown(server, certificates, "client")
        with open(certificates.path("live.pem"), "w", encoding="ascii") as file:
            file.write("half of it")
        server.process.send_signal(signal.SIGHUP)
        line = server.process.stderr.readline()
        expect("live.pem" in line and "PEM" in line, f"it says: {line}")
        expect_shown(server, certificates, "client")
        before.sendall(b"hello")
        expect(receive_all(before, 5) == b"hello", "other bytes")
    server.stop(silent=False)


def test_mistakes(certificates):
    expect_refusal(run_echo("--bind", "tcp://127.0.0.1:0", "--tls-cert", "nowhere.pem", "--tls-key",
                            "nowhere.key"), "nowhere.pem", "No such file", "check the path")
    expect_refusal(run_echo("--tls-cert", certificates.path("server.pem")), "--tls-key")
    expect_refusal(run_echo("--udp", *certificates.options("server")), "not for datagrams")


def main():
    certificates = Certificates()
    certificates.make("server")
    certificates.make("client")
    server = Server("--loops", "2", *certificates.options("server"))
    test_versions(server, certificates)
    test_much(server, certificates)
    test_end(server, certificates)
    test_openssl(server, certificates)
    test_plain(server)
    server.stop(silent=False)
    test_mutual(certificates)
    test_mistakes(certificates)
    test_renewal(certificates)
    print("ok")


main()
