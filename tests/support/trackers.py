"""Repositories with a tracker of any shape, and both `ent`s run on them."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
A, B, C, D = ("a" * 32, "b" * 32, "c" * 32, "d" * 32)
BRANCH = "entomologist-data"
MESSAGE = b"create entomologist issue branch"

REAL = os.environ.get("ENT_REAL", "")
"""Path of a real `ent` to compare with, where there is one."""

OURS = (sys.executable, "-I", "-c")
PROGRAM = (
    f"import sys; sys.path.insert(0, {str(ROOT / 'lib')!r}); sys.argv[0] = 'ent'; "
    "from ent_agent.commands.ent import main; main()"
)

Content = str | bytes | tuple[str, str]
"""A file's content, or (mode, content or object id)."""


class Ran(NamedTuple):
    exit_code: int
    out: str
    err: str


def issue(
    description: str = "issue", created: str = "2025-01-01T00:00:00+00:00", **files: Content
) -> dict[str, Content]:
    """The files of the smallest issue, and more; `a__b` stands for a/b."""
    least: dict[str, Content] = {
        "author": "A <a@x>",
        "creation_time": created,
        "description": description,
    }
    return least | {name.replace("__", "/"): content for name, content in files.items()}


def tree(**issues: Mapping[str, Content]) -> dict[str, Content]:
    """The files of several issues, by id: A, B, C, D or a name."""
    ids = {"A": A, "B": B, "C": C, "D": D}
    return {
        f"{ids.get(name, name)}/{path}": content
        for name, files in issues.items()
        for path, content in files.items()
    }


@dataclass
class Repository:
    """A repository with a work tree in `path`, a commit on main, and a data branch where `plant` was called."""

    path: Path
    env: dict[str, str] = field(default_factory=lambda: {"TZ": "UTC"})

    @classmethod
    def make(cls, path: Path) -> Repository:
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "--quiet", "--initial-branch=main")
        made.git("config", "user.name", "Ada Lovelace")
        made.git("config", "user.email", "ada@example.org")
        (path / "code.txt").write_text("code\n")
        made.git("add", "code.txt")
        made.git("commit", "--quiet", "-m", "first")
        return made

    @property
    def git_dir(self) -> Path:
        return self.path / ".git"

    def plant(self, files: Mapping[str, Content], *, branch: str = BRANCH, message: str = "plant") -> str:
        """Make the data branch hold exactly these files."""
        script = f"commit refs/heads/{branch}\ncommitter P <p@x> 1700000000 +0000\ndata {len(message)}\n{message}\n"
        if self.tip(branch):
            script += f"from refs/heads/{branch}^0\n"
        stream = script.encode() + b"deleteall\n"
        for path, content in files.items():
            stream += _file(path, content)
        self.git("fast-import", "--quiet", "--force", stdin=stream)
        return self.tip(branch)

    def tip(self, branch: str = BRANCH) -> str:
        return self.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False).out.strip()

    def files(self, branch: str = BRANCH) -> dict[str, str]:
        """All paths of the branch with their content."""
        listed = self.git("ls-tree", "-r", "-z", "--name-only", f"refs/heads/{branch}").out.split("\0")[:-1]
        return {path: self.git("cat-file", "-p", f"refs/heads/{branch}:{path}").out for path in listed}

    def log(self, branch: str = BRANCH) -> list[str]:
        """Subjects, newest first."""
        return self.git("log", "--format=%s", f"refs/heads/{branch}").out.splitlines()

    def copy(self, path: Path) -> Repository:
        shutil.copytree(self.path, path, symlinks=True)
        return Repository(path, dict(self.env))

    def ent(self, *words: str, cwd: Path | None = None, **env: str) -> Ran:
        """Run ours."""
        return _run([*OURS, PROGRAM, *words], cwd or self.path, {**self.env, **env})

    def real(self, *words: str, cwd: Path | None = None, **env: str) -> Ran:
        """Run the real one."""
        return _run([REAL, *words], cwd or self.path, {**self.env, **env})

    def on_terminal(self, program: list[str], *words: str, **env: str) -> tuple[int, str]:
        """Run a program with a terminal for stdin, stdout and stderr: exit code and what it shows."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.path)
            os.execve(program[0], [*program, *words], {**os.environ, **self.env, **env})
        shown = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            shown += data
            if not data:
                break
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n")

    def git(self, *words: str, stdin: bytes = b"", check: bool = True, **env: str) -> Ran:
        ran = _run(["git", *words], self.path, env, stdin)
        assert ran.exit_code == 0 or not check, ran
        return ran


def _file(path: str, content: Content) -> bytes:
    name = b'"' + path.encode("utf-8", "surrogateescape").replace(b"\n", b"\\n") + b'"'
    mode, data = content if isinstance(content, tuple) else ("100644", content)
    if mode == "160000":
        return f"M 160000 {data.decode() if isinstance(data, bytes) else data} ".encode() + name + b"\n"
    raw = data if isinstance(data, bytes) else data.encode()
    return f"M {mode} inline ".encode() + name + b"\ndata %d\n" % len(raw) + raw + b"\n"


def _run(words: list[str], cwd: Path, env: Mapping[str, str], stdin: bytes = b"") -> Ran:
    ran = subprocess.run(
        words, cwd=cwd, env={**os.environ, "RUST_BACKTRACE": "0", **env}, input=stdin, capture_output=True
    )
    return Ran(
        ran.returncode, ran.stdout.decode("utf-8", "surrogateescape"), ran.stderr.decode("utf-8", "replace")
    )
