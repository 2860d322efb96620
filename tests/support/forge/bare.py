"""A bare repository on disk, asked and changed by git's plumbing."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ZERO = "0" * 40

# Reads `<old> <new> <ref>` lines; FORGE_PROTECTED names the branches that this pusher may not touch.
PRE_RECEIVE = """#!/bin/sh
while read -r old new ref; do
    case "$ref" in refs/pull/*) echo "Forgejo: The deletion or change of $ref is skipped as it's an internal reference." >&2; exit 1;; esac
    case " $FORGE_PROTECTED " in
        *" $ref "*) echo "Forgejo: Not allowed to push to protected branch ${ref#refs/heads/}" >&2; exit 1;;
    esac
done
"""


@dataclass(frozen=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    author_email: str
    author_date: str
    committer: str
    committer_email: str
    date: str
    message: str


class GitSaidNo(Exception):
    """git ended with an error; the text is what it said."""


class Bare:
    """What a commit id says never changes, so it is asked once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._commits: dict[str, Commit] = {}
        self._changes: dict[str, dict[str, str]] = {}
        self._counts: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
        self._has_branches = False

    @classmethod
    def create(cls, path: Path, default_branch: str) -> Bare:
        path.parent.mkdir(parents=True, exist_ok=True)
        bare = cls(path)
        subprocess.run(
            ["git", "init", "-q", "--bare", "-b", default_branch, str(path)], check=True, env=environment()
        )
        config = path / "config"
        config.write_text(
            config.read_text()
            + "[http]\n\treceivepack = true\n[gc]\n\tauto = 0\n[uploadpack]\n\tallowAnySHA1InWant = true\n"
        )
        (path / "hooks").mkdir(exist_ok=True)
        hook = path / "hooks" / "pre-receive"
        hook.write_text(PRE_RECEIVE)
        hook.chmod(0o755)
        return bare

    def git(self, *arguments: str, stdin: bytes = b"", extra: Mapping[str, str] | None = None) -> str:
        return self.raw(*arguments, stdin=stdin, extra=extra).decode("utf-8", "replace").rstrip("\n")

    def raw(self, *arguments: str, stdin: bytes = b"", extra: Mapping[str, str] | None = None) -> bytes:
        finished = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            input=stdin,
            capture_output=True,
            env=environment(extra or {}),
        )
        if finished.returncode:
            raise GitSaidNo((finished.stderr or finished.stdout).decode("utf-8", "replace").strip())
        return finished.stdout

    def refs(self, prefix: str = "refs") -> dict[str, str]:
        lines = self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix).splitlines()
        return {ref: sha for sha, ref in (line.split(" ", 1) for line in lines)}

    def branches(self) -> dict[str, str]:
        return {ref.removeprefix("refs/heads/"): sha for ref, sha in self.refs("refs/heads").items()}

    def is_empty(self) -> bool:
        """No branch yet: a repository that had one is never empty again."""
        self._has_branches = self._has_branches or bool(self.branches())
        return not self._has_branches

    def head(self, branch: str) -> str | None:
        loose = self.path / "refs" / "heads" / branch
        with suppress(OSError):
            return loose.read_text().strip() or None
        return self.resolve(f"refs/heads/{branch}")

    def resolve(self, name: str) -> str | None:
        """The commit that a branch, tag or commit id names."""
        try:
            return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except GitSaidNo:
            return None

    def commit(self, sha: str) -> Commit:
        if sha in self._commits:
            return self._commits[sha]
        wanted = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        fields = self.git("show", "-s", f"--format={wanted}", sha).split("\0")
        author, committer = fields[3:6], fields[6:9]
        found = Commit(
            fields[0], fields[1], tuple(fields[2].split()), author[0], author[1], author[2],
            committer[0], committer[1], committer[2], fields[9] + "\n",
        )  # fmt: skip
        return self._commits.setdefault(sha, found)

    def commits(self, revisions: str, limit: int = 0) -> list[str]:
        return self.git("rev-list", *([f"-n{limit}"] if limit else []), revisions).split()

    def changes(self, old: str, new: str) -> dict[str, str]:
        """Path to A, M or D."""
        lines = self.git("diff", "--name-status", "--no-renames", old, new).splitlines()
        return {path: letter[0] for letter, path in (line.split("\t", 1) for line in lines)}

    def changes_of(self, sha: str) -> dict[str, str]:
        """What one commit changed against its first parent."""
        if sha in self._changes:
            return self._changes[sha]
        lines = self.git(
            "diff-tree", "-r", "--root", "-m", "--first-parent", "--no-commit-id", "--name-status", sha
        )
        found = {path: letter[0] for letter, path in (line.split("\t", 1) for line in lines.splitlines())}
        return self._changes.setdefault(sha, found)

    def counts(self, old: str, new: str) -> dict[str, tuple[int, int]]:
        """Path to lines added and deleted, between two commits by id."""
        if (old, new) in self._counts:
            return self._counts[old, new]
        result: dict[str, tuple[int, int]] = {}
        for line in self.git("diff", "--numstat", "--no-renames", old, new).splitlines():
            added, deleted, path = line.split("\t", 2)
            result[path] = (int(added.replace("-", "0")), int(deleted.replace("-", "0")))
        return self._counts.setdefault((old, new), result)

    def merge_base(self, one: str, other: str) -> str | None:
        try:
            return self.git("merge-base", one, other)
        except GitSaidNo:
            return None

    def is_ancestor(self, old: str, new: str) -> bool:
        return self.merge_base(old, new) == old

    def merged_tree(self, ours: str, theirs: str) -> str | None:
        """The tree of a merge; None when they conflict."""
        try:
            return self.git("merge-tree", "--write-tree", "--no-messages", ours, theirs)
        except GitSaidNo:
            return None

    def write_commit(self, tree: str, parents: list[str], message: str, name: str, email: str) -> str:
        flags = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", tree, *flags, stdin=message.encode(), extra=person(name, email))

    def rebased(self, base: str, head: str, name: str, email: str) -> str | None:
        """The commits of head on top of base; None on a conflict."""
        with tempfile.TemporaryDirectory(dir=self.path.parent) as folder:
            tree = Path(folder) / "tree"
            self.git("worktree", "add", "-q", "--detach", str(tree), head)
            try:
                work = Bare(tree)
                work.git("rebase", "-q", base, extra=person(name, email))
                return work.git("rev-parse", "HEAD")
            except GitSaidNo:
                return None
            finally:
                self.git("worktree", "remove", "--force", str(tree))

    def commit_files(
        self,
        branch: str,
        files: Mapping[str, str | bytes | None],
        message: str,
        name: str,
        email: str,
        start: str | None,
    ) -> str:
        """A commit on `branch` (begun at `start` where it is not there) that writes files; None deletes one."""
        parent = self.head(branch) or start
        lines = [
            f"commit refs/heads/{branch}\ncommitter {name} <{email}> now\n".encode(),
            _data(message.encode()),
        ]
        if parent:
            lines.append(f"from {parent}\n".encode())
        for path, content in files.items():
            if content is None:
                lines.append(f"D {path}\n".encode())
            else:
                content = content.encode() if isinstance(content, str) else content
                lines.append(f"M 100644 inline {path}\n".encode() + _data(content))
        self.raw("fast-import", "--quiet", "--force", "--date-format=now", stdin=b"".join(lines))
        return self.git("rev-parse", f"refs/heads/{branch}")


def person(name: str, email: str) -> dict[str, str]:
    return {
        "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email,
    }  # fmt: skip


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """git without the caller's variables and configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        **(extra or {}),
    }


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"
