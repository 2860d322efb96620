"""What an agent can see and change: bubblewrap around its command, where that works (bwrap(1)).

Everything is readable but what is hidden, and nothing is writable but what is named;
/tmp is the run's own. The sandbox has its own process ids, so that nothing outlives it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from harness import process
from harness.errors import BadConfig

Backend = Literal["auto", "bwrap", "none"]

SHARED_PLACES = ("/tmp", "/var/tmp", "/run")
"""Where sockets of ssh-agents, of the session bus and of other users' programs lie."""

CREDENTIALS = (
    ".ssh",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/tea",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".bash_history",
    ".zsh_history",
)
"""Below HOME: what a person pushes, publishes, deploys or logs in with. `sandbox.writable` brings one back."""

# As root the sandbox would keep all capabilities, and CAP_SYS_ADMIN undoes every mount.
CAPABILITIES = (
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
)


@dataclass(frozen=True)
class View:
    """What of the file system there is for the agent. The deepest path that names a place decides.

    `temporary` stands in for /tmp. Paths that do not exist are left out.
    """

    writable: Sequence[Path]
    readable: Sequence[Path]
    hidden: Sequence[Path]
    temporary: Path
    network: bool = True


@dataclass(frozen=True)
class Sandbox:
    """`name` is what the record says; `why` is empty, or says why there is none."""

    name: Literal["bwrap", "none"]
    why: str = ""

    def wrap(self, command: Sequence[str], view: View, cwd: Path) -> list[str]:
        """The command that runs `command` with this view only."""
        if self.name == "none":
            return list(command)
        return [*_bwrap(), *_mounts(view), "--chdir", str(cwd), "--", *command]


def choose(backend: Backend, *, network: bool = True) -> Sandbox:
    """The sandbox that the configuration asks for, tested here and now.

    Raises:
        BadConfig: "bwrap", or no network, was asked for and cannot be had.
    """
    why = 'sandbox.backend = "none"' if backend == "none" else _why_not()
    if not why:
        return Sandbox("bwrap")
    if backend == "bwrap":
        raise BadConfig(
            f'sandbox.backend = "bwrap": {why}', hint="`apt install bubblewrap`, or see docs/safety.md"
        )
    if not network:
        raise BadConfig(
            f"sandbox.network = false cannot be kept without bubblewrap: {why}",
            hint="`apt install bubblewrap`, or see docs/safety.md",
        )
    return Sandbox("none", why)


def shared_part(path: Path) -> list[Path]:
    """What must stay visible for `path`, where it lies in a place that is hidden by default: the
    folder below that place. None, where it lies elsewhere."""
    found = []
    for real in {path.absolute(), path.resolve()}:
        for place in (Path(name).resolve() for name in SHARED_PLACES):
            if real.is_relative_to(place) and real != place:
                found.append(place / real.relative_to(place).parts[0])
    return found


def _bwrap() -> list[str]:
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid() == 0:
        words += ["--cap-drop", "ALL"]
        for capability in CAPABILITIES:
            words += ["--cap-add", capability]
    return words


def _mounts(view: View) -> list[str]:
    """bwrap's options, outer folders before inner ones."""
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if not view.network:
        words.append("--unshare-net")
    mounts: dict[Path, list[str]] = {}
    for place in SHARED_PLACES:
        mounts[Path(place).resolve()] = ["--tmpfs"]
    for place in ("/tmp", "/var/tmp"):
        mounts[Path(place).resolve()] = ["--bind", str(view.temporary)]
    for path in _existing(view.hidden):
        mounts[path] = ["--tmpfs"] if path.is_dir() else ["--ro-bind", "/dev/null"]
    for path in _existing([*view.readable, *_needed_by_programs()]):
        mounts[path] = ["--ro-bind", str(path)]
    for path in _existing(view.writable):
        mounts[path] = ["--bind", str(path)]
    for path, option in sorted(mounts.items(), key=lambda item: len(item[0].parts)):
        words += [*option, str(path)]
    for path, option in mounts.items():
        if option == ["--tmpfs"]:
            words += ["--remount-ro", str(path)]  # what is written there would be lost without a word
    return words


def _existing(paths: Iterable[Path]) -> list[Path]:
    """Without symbolic links, which would be followed in the sandbox's own view."""
    return [path.resolve() for path in paths if path.exists()]


def _needed_by_programs() -> list[Path]:
    """What lies in a shared place and is needed all the same: the resolver's file, and ourselves."""
    needed = [
        Path("/etc/resolv.conf"),
        Path(sys.executable),
        Path(sys.prefix),
        Path(sys.base_prefix),
        Path(__file__),
    ]
    ours = [part for place in needed for part in shared_part(place)]
    return [*ours, Path("/etc/resolv.conf").resolve()]


@cache
def _why_not() -> str:
    """Why bubblewrap cannot be used here; "" when a trial shows that it keeps what it promises."""
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for part in ("open", "hidden", "temporary"):
            (folder / part).mkdir()
        (folder / "hidden/key").write_text("secret")
        view = View(
            writable=[folder / "open"],
            readable=[],
            hidden=[folder / "hidden"],
            temporary=folder / "temporary",
        )
        script = 'test ! -e "$0/hidden/key" && test ! -w / && echo > "$0/open/file" && test $$ -lt 10'
        trial = Sandbox("bwrap").wrap(["sh", "-c", script, str(folder)], view, Path("/"))
        finished = process.run(trial, env={"PATH": os.environ.get("PATH", os.defpath)}, timeout_seconds=20)
        if finished.ok and (folder / "open/file").exists():
            return ""
        said = finished.error_text.splitlines()
        return f"bubblewrap does not work here: {said[-1] if said else f'exit {finished.exit_code}'}"
