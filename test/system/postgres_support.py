"""A private PostgreSQL for system tests: a cluster in a folder of its own, reached by a Unix socket only."""
import glob
import os
import pwd
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from echo_support import PATIENCE_S, expect, skip

READY = "database system is ready to accept connections"


def binaries():
    """The folder of the newest server that is installed; None without one."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    newest = max(found, key=lambda path: int(re.search(r"/(\d+)", path).group(1)), default=shutil.which("initdb"))
    return newest and os.path.dirname(newest)


def server_user():
    """The account that the server runs as, for it refuses to be root's; None: ours."""
    if os.geteuid() != 0:
        return None
    names = [account.pw_name for account in pwd.getpwall()]
    return next((name for name in ("postgres", "nobody") if name in names), None) or skip("there is only root")


class Cluster:
    """A running server, whose superuser is gyre; ends with this process at the latest."""

    def __init__(self):
        self.binaries = binaries() or skip("there is no PostgreSQL server")
        self.user = server_user()
        # Not in TMPDIR: that may lead through folders of root, and be too long for a socket.
        self.folder = tempfile.TemporaryDirectory(prefix="gyre-postgres.", dir="/tmp")
        if self.user:
            shutil.chown(self.folder.name, self.user)
        self.server = self.log = self.reader = None
        ran = subprocess.run(self.command("initdb", "--username=gyre", "--auth=trust", "--no-sync", "--locale=C",
                                          "--encoding=UTF8"),
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd="/")
        expect(ran.returncode == 0, f"initdb: {ran.stdout}{ran.stderr}")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    @property
    def conninfo(self):
        return f"host={self.folder.name} user=gyre dbname=postgres"

    @property
    def socket(self):
        return os.path.join(self.folder.name, ".s.PGSQL.5432")

    def command(self, name, *arguments):
        switch = ["--reuid", self.user, "--regid", str(pwd.getpwnam(self.user).pw_gid), "--clear-groups"] \
            if self.user else []
        return ["setpriv", "--pdeathsig", "QUIT", *switch, "--", os.path.join(self.binaries, name),
                "-D", os.path.join(self.folder.name, "data"), *arguments]

    def start(self):
        """Returns when the server takes connections."""
        settings = {"listen_addresses": "", "port": "5432", "unix_socket_directories": self.folder.name, "fsync": "off",
                    "log_statement": "all", "max_connections": "10", "shared_buffers": "1MB"}
        options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
        self.server = subprocess.Popen(self.command("postgres", *options), stderr=subprocess.PIPE, text=True, cwd="/")
        self.log = queue.SimpleQueue()
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        self.until(READY)

    def read_log(self):
        """Reads on while nobody looks, so that the server never waits to write."""
        for line in self.server.stderr:
            self.log.put(line)
        self.log.put(None)

    def until(self, text):
        """Takes lines of the server's log up to one with @text."""
        lines = [""]
        while text not in lines[-1]:
            try:
                line = self.log.get(timeout=PATIENCE_S)
            except queue.Empty:
                line = None
            expect(line is not None, f"PostgreSQL never said {text!r}: {''.join(lines)}")
            lines.append(line)

    def stop(self, number=signal.SIGINT):
        """Ends the server and waits for the last of its processes, all of which hold the log open."""
        if self.server is not None:
            self.server.send_signal(number)
            self.server.wait(PATIENCE_S)
            self.reader.join(PATIENCE_S)
            expect(not self.reader.is_alive(), "a process of PostgreSQL does not end")
            self.server.stderr.close()
            self.server = None
