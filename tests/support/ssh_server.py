"""A real OpenSSH server on loopback, with a folder of its own: what `repo_url = "ssh://…"` meets.

It serves git repositories by path to whoever holds an authorized key. `MuteServer`
accepts connections and never says a word.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType

import psutil

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class SshServer:
    """`with SshServer(folder) as server: server.url(repository)`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authorized_keys = folder / "authorized_keys"
        self.port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        self.authorized_keys.touch(0o600)
        self.new_host_key()

    def url(self, repository: Path) -> str:
        user = pwd.getpwuid(os.getuid()).pw_name
        return f"ssh://{user}@127.0.0.1:{self.port}{repository}"

    def new_host_key(self) -> None:
        """Another host key from the next start on, as after a reinstallation or an attack."""
        host_key = self.folder / "host_key"
        host_key.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key], check=True)

    def authorize(self, public_key: str) -> None:
        with self.authorized_keys.open("a", encoding="utf-8") as file:
            file.write(public_key.strip() + "\n")

    def refuse_all(self) -> None:
        self.authorized_keys.write_text("", encoding="utf-8")

    def start(self) -> None:
        assert SSHD
        configuration = self.folder / "sshd_config"
        configuration.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {quoted(self.folder / 'host_key')}\n"
            f"AuthorizedKeysFile {quoted(self.authorized_keys)}\nPidFile none\nUsePAM no\nStrictModes no\n"
            f"SetEnv HOME={quoted(self.folder)}\n"  # no start-up files of the person's shell
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n",
            encoding="utf-8",
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # privilege separation wants it
        self._server = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", configuration],
            stdin=subprocess.DEVNULL,
            stderr=(self.folder / "sshd.log").open("ab"),
        )
        self._await_port()

    def stop(self) -> None:
        if self._server:
            sessions = self.sessions()
            self._server.terminate()
            for process in sessions:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            self._server.wait(timeout=10)
            self._server = None

    def sessions(self) -> list[psutil.Process]:
        """The processes that serve the connections of the moment."""
        return psutil.Process(self._server.pid).children(recursive=True) if self._server else []

    def __enter__(self) -> SshServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _await_port(self) -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError((self.folder / "sshd.log").read_text(errors="replace"))


class MuteServer:
    """Takes connections on `port` and keeps silent: a server that hangs after connecting."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for connection in self._taken:
            connection.close()

    def _take(self) -> None:
        while True:
            try:
                self._taken.append(self._listener.accept()[0])
            except OSError:
                return


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def quoted(path: Path) -> str:
    return f'"{path}"'
