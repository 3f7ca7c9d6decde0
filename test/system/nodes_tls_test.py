#!/usr/bin/env python3
"""Nodes as processes whose links are encrypted: with certificates of one CA, of another, and without."""
import subprocess

from echo_support import PATIENCE_S, expect
from nodes_support import NODES, Node, Pair, free_port
from tls_support import Certificates


def answers(certificates, *more):
    pair = Pair(*certificates.options("one", "ca"), *more,
                client_options=(*certificates.options("two", "ca"), *more))
    pair.client.until("node 1 is up")
    pair.client.until("the counter is 5$")
    pair.stop()
    warnings = [line for line in pair.client.said + pair.server.said if "TLS" in line]
    expect(not warnings, f"nothing is said of TLS: {warnings}")


def killed_and_started_again(certificates):
    pair = Pair(*certificates.options("one", "ca"))
    pair.client.until("the counter is 3$")
    pair.server.kill()
    pair.client.until("node 1 is down$")
    pair.server = pair.start_server()
    pair.client.until("the counter is 1$")
    pair.stop()


def refused(options, client_options, server_says, client_says):
    pair = Pair(*options, client_options=client_options)
    if server_says is not None:
        pair.server.until(server_says)
    pair.client.until(client_says)
    pair.stop()
    expect("found the counter" not in pair.client.said, "it was refused")


def public(certificates):
    node = Node(1, f"tcp://0.0.0.0:{free_port()}", *certificates.options("one", "ca"))
    node.until("the counter is ready")
    node.stop()


def half_given(options):
    """Links must not be in the clear because a file is missing."""
    ran = subprocess.run([NODES, "--node", "1", "--listen", f"tcp://127.0.0.1:{free_port()}", *options],
                         capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    expect(ran.returncode == 1 and ran.stderr == "gyre-nodes: TLS needs --tls-cert and --tls-key\n", f"{ran}")


def main():
    certificates = Certificates()
    certificates.make_ca("other")
    certificates.make("one")
    certificates.make("two")
    certificates.make("stranger", "other")
    one = certificates.options("one", "ca")
    answers(certificates)
    answers(certificates, "--secret", "known to both, and long enough")
    killed_and_started_again(certificates)
    refused(one, certificates.options("stranger", "ca"), "its certificate is refused",
            "it does not know the CA of our certificate")
    refused(one, certificates.options("stranger", "other"), "it does not know the CA",
            "its certificate is refused")
    refused(one, (), "it does not speak TLS", "do both have a secret or certificates")
    refused((), one, "the other side encrypts, this node does not", "does it speak TLS")
    refused((*one, "--secret", "one that is long enough"), (*one, "--secret", "another that is long"),
            "the secrets differ", "the secrets differ")
    public(certificates)
    for name in ("ca", "cert", "key"):
        half_given((f"--tls-{name}", certificates.path("one.pem")))
    print("ok")


main()
