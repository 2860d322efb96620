"""The one wrapper around git: a repository by its git dir, never by where we happen to stand.

Every call gets an environment without the caller's GIT_* (field case: a loop started
from a hook acted on the other repository), cannot prompt, takes no optional locks, and
runs no hooks. Objects are read through one `cat-file` process (`objects.py`), refs from their
files (`refs.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness import process, refs
from harness.errors import BadData, TryLater
from harness.process import Finished

if TYPE_CHECKING:
    from harness.objects import Objects

NETWORK_TIMEOUT_SECONDS = 600.0

# Never from the repository: these could run a program or change what a command does.
FORCED_CONFIG = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
    "protocol.ext.allow": "never",
    "core.quotePath": "false",
}


class GitFailed(TryLater):
    """git ended with an error; exit 75, since the next try may find the cause gone."""

    code = "git_failed"

    def __init__(self, finished: Finished, *, message: str = "", hint: str = "") -> None:
        said = finished.error_text.splitlines()
        last = "timed out" if finished.timed_out else _telling(said)
        verb = next((word for word in finished.argv[1:] if not word.startswith("-")), "")
        super().__init__(message or f"git {verb}: {last or f'exit {finished.exit_code}'}", hint=hint)
        self.finished = finished


_DISK = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system")


def _telling(said: Sequence[str]) -> str:
    """Of what git said, the line that a person can act on: the disk's refusal, which others follow, else the last."""
    return next((line for line in said if _DISK.search(line)), said[-1] if said else "")


@dataclass(frozen=True)
class Person:
    """A git identity."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


@dataclass(frozen=True)
class Git:
    """A repository, named by its git dir.

    `ssh_command` goes to GIT_SSH_COMMAND (already quoted for a shell), `person` is
    author and committer of what is written, `config` is added for each call; `base` is the
    environment that git's own is made from, None: that of this process.
    """

    git_dir: Path
    ssh_command: str = ""
    person: Person | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    base: Mapping[str, str] | None = None

    def run(
        self,
        *args: str | os.PathLike[str],
        stdin: bytes = b"",
        check: bool = True,
        timeout_seconds: float = NETWORK_TIMEOUT_SECONDS,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Finished:
        """Run `git --git-dir=… args`.

        Raises:
            GitFailed: with `check`, when git did not exit 0 in time.
        """
        words: list[str | os.PathLike[str]] = ["git", f"--git-dir={self.git_dir}", *args]
        finished = process.run(
            words,
            stdin=stdin,
            timeout_seconds=timeout_seconds,
            env={**self.environment, **(env or {})},
            cwd=cwd,
        )
        if check and not finished.ok:
            raise GitFailed(finished)
        return finished

    def text(self, *args: str | os.PathLike[str], stdin: bytes = b"") -> str:
        """stdout without the line end."""
        return self.run(*args, stdin=stdin).text.rstrip("\n")

    def lines(self, *args: str | os.PathLike[str]) -> list[str]:
        """stdout, line by line; names in it may hold what Unicode calls a line end."""
        return self.run(*args).text.split("\n")[:-1]

    @cached_property
    def environment(self) -> dict[str, str]:
        return environment(
            ssh_command=self.ssh_command,
            person=self.person,
            config={**FORCED_CONFIG, **self.config},
            base=self.base,
        )

    @cached_property
    def objects(self) -> Objects:
        """Read and write objects; one `git cat-file` process, started at the first read."""
        from harness.objects import Objects

        return Objects(self)

    def with_config(self, **more: str) -> Git:
        """The same repository with more settings; `a__b` stands for `a.b`."""
        added = {key.replace("__", "."): value for key, value in more.items()}
        return replace(self, config={**self.config, **added})

    # ---- facts

    def resolve(self, name: str) -> str | None:
        """The object id that a full ref name or id stands for; None when there is none."""
        if refs.is_name(name) and refs.are_files(self.git_dir):
            return refs.resolve(self.git_dir, name)
        return None if "\n" in name else self.objects.resolve(name)

    def symbolic(self, name: str) -> str:
        """The full name that a symbolic ref stands for; "": it is none, or not there."""
        if refs.are_files(self.git_dir):
            return refs.symbolic(self.git_dir, name)
        return self.run("symbolic-ref", "--quiet", name, check=False).text.strip()

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Ref name to object id, of all refs below the prefixes."""
        if refs.are_files(self.git_dir):
            return dict(
                pair for prefix in prefixes or ("refs/",) for pair in refs.below(self.git_dir, prefix).items()
            )
        listed = self.lines("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        return {name: oid for oid, name in (line.split(" ", 1) for line in listed)}

    def is_ancestor(self, older: str, newer: str) -> bool:
        if older == newer:
            return True
        found = self.run("merge-base", "--is-ancestor", older, newer, check=False)
        if found.exit_code not in (0, 1):
            raise GitFailed(found)
        return found.exit_code == 0

    def ahead_behind(self, ours: str, theirs: str) -> tuple[int, int]:
        """Commits that only `ours` has, and that only `theirs` has."""
        if ours == theirs:
            return 0, 0
        ahead, behind = self.text("rev-list", "--left-right", "--count", f"{ours}...{theirs}").split()
        return int(ahead), int(behind)

    # ---- refs

    def update_ref(self, name: str, new: str | None, old: str | None = None) -> bool:
        """Move, make or (`new` None) delete a ref; False when it is not at `old`.

        `old` None: whatever is there; `old` "" : must not be there (git-update-ref(1)).
        """
        expected = [] if old is None else [old]
        change = ["-d", name, *expected] if new is None else [name, new, *expected]
        return self.run("update-ref", *change, check=False).ok

    def update_refs(self, changes: Iterable[tuple[str, str | None]]) -> None:
        """Set or delete many refs in one transaction."""
        script = "".join(f"update {name} {oid}\n" if oid else f"delete {name}\n" for name, oid in changes)
        if script:
            self.run("update-ref", "--stdin", stdin=script.encode())


def environment(
    *,
    ssh_command: str = "",
    person: Person | None = None,
    config: Mapping[str, str] | None = None,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment for git: the caller's without any GIT_*, and ours."""
    source = os.environ if base is None else base
    env = {key: value for key, value in source.items() if not key.startswith("GIT_")}
    env |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_EDITOR": "/bin/false",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "",
    }
    if ssh_command:
        env["GIT_SSH_COMMAND"] = ssh_command
        env["GIT_SSH_VARIANT"] = "ssh"
    if person:
        env |= {
            "GIT_AUTHOR_NAME": person.name,
            "GIT_AUTHOR_EMAIL": person.email,
            "GIT_COMMITTER_NAME": person.name,
            "GIT_COMMITTER_EMAIL": person.email,
        }
    return env | config_environment(config or {})


def config_environment(config: Mapping[str, str]) -> dict[str, str]:
    """Settings for one call as GIT_CONFIG_* (git 2.31), so that no value stands in argv."""
    env = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def init_bare(git_dir: Path) -> None:
    """`git init --bare`, repeatable; templates (hooks) are not copied.

    Formats are fixed: objects by SHA-1 and refs as files, whatever git's defaults become. It needs
    nothing of the caller's environment, and so gets none of its secrets.
    """
    env = environment(base={"PATH": os.environ.get("PATH", os.defpath)})
    env |= {"GIT_DEFAULT_HASH": "sha1", "GIT_DEFAULT_REF_FORMAT": "files"}
    finished = process.run(["git", "init", "--quiet", "--bare", "--template=", git_dir], env=env)
    if not finished.ok:
        raise GitFailed(finished)


def check_branch_name(name: str) -> str:
    """`name`, when git takes it as a branch (git-check-ref-format(1)).

    Raises:
        BadData: it does not.
    """
    if not refs.is_name(f"refs/heads/{name}") or name.startswith("-") or name in ("@", "HEAD"):
        raise BadData(f"{name!r} is not a valid branch name")
    return name


def version() -> tuple[int, ...]:
    """git's version, e.g. (2, 39, 5)."""
    words = process.run(["git", "--version"]).text.split()
    return tuple(int(part) for part in words[2].split(".")[:3] if part.isdigit())


def parse_worktree_list(porcelain: bytes) -> list[dict[str, str]]:
    """The records of `git worktree list --porcelain -z`: attribute to value ("" where it has none)."""
    found: list[dict[str, str]] = []
    for block in porcelain.split(b"\0\0"):
        pairs: Sequence[str] = [os.fsdecode(line) for line in block.split(b"\0") if line]
        if pairs:
            found.append(dict((*pair.split(" ", 1), "")[:2] for pair in pairs))  # type: ignore[misc]
    return found
