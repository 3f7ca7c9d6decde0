"""Certificates for system tests, made by the openssl command; without it a test is skipped."""
import os
import shutil
import subprocess
import tempfile

from echo_support import PATIENCE_S, expect, skip


class Certificates:
    """A folder with a CA, and what it has signed; goes with the process that made it."""

    def __init__(self):
        if not shutil.which("openssl"):
            skip("there is no openssl")
        self.folder = tempfile.TemporaryDirectory(prefix="gyre-tls-system.")
        self.make_ca("ca")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, *command):
        ran = subprocess.run(["openssl", *command], capture_output=True, timeout=PATIENCE_S,
                             check=False, stdin=subprocess.DEVNULL)
        expect(ran.returncode == 0, f"{command}: {ran.stderr!r}")

    def make_ca(self, name):
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-days", "2", "-subj", f"/CN={name}", "-keyout", self.path(f"{name}.key"),
                 "-out", self.path(f"{name}.pem"))

    def make(self, name, ca="ca"):
        """A certificate for localhost."""
        extensions = self.path(f"{name}.extensions")
        with open(extensions, "w", encoding="ascii") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 f"/CN={name}", "-keyout", self.path(f"{name}.key"), "-out",
                 self.path(f"{name}.request"))
        self.run("x509", "-req", "-in", self.path(f"{name}.request"), "-CA", self.path(f"{ca}.pem"),
                 "-CAkey", self.path(f"{ca}.key"), "-CAcreateserial", "-days", "2", "-extfile",
                 extensions, "-out", self.path(f"{name}.pem"))

    def options(self, name, ca=None):
        """Those that the programs take."""
        own = ("--tls-cert", self.path(f"{name}.pem"), "--tls-key", self.path(f"{name}.key"))
        return own if ca is None else (*own, "--tls-ca", self.path(f"{ca}.pem"))
