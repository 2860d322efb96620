"""What a run left in its worktree without committing it, as a tree.

git runs with control.git as its git dir and an index of its own: nothing that an agent
planted (filters, hooks, settings, a repository inside) runs that way. `.gitignore` counts.
What must not be published stays where it is, and is told by file and rule.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.git import Git, GitFailed
from harness.process import Finished
from harness.redaction import KNOWN, Redactor
from harness.worktrees import lfs, obstacles
from harness.worktrees.crowds import crowded, is_inside, without

LARGE = "over limits.max_file_bytes"
MANY = "new files, over limits.max_left_over_files"
NESTED = "nested repository"
SUBMODULE = "submodule change"
SPECIAL = "special file"
UNREADABLE = "unreadable file"
REFUSED = "refused by git"

_NOT_THE_FILES_FAULT = re.compile(
    "No space left|quota exceeded|Read-only file system|Input/output error|insufficient permission"
)
"""What git says when it cannot write what it would take."""

STAYS = frozenset((NESTED, SUBMODULE, SPECIAL, UNREADABLE, REFUSED))
"""What cannot be committed even where a person lets it pass: then it stays where it is, and that is fine."""


class Withheld(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not committed or pushed, and the rule that says so; never its content."""

    path: str
    rule: str

    @property
    def is_known_secret(self) -> bool:
        return self.rule.startswith(KNOWN)

    @property
    def has_fingerprint(self) -> bool:
        return "[fingerprint " in self.rule


@dataclass(frozen=True)
class Rules:
    """What decides whether a file may be committed or pushed. `allowed`: paths that a person let pass;
    a folder lets the number of its files pass, not each of them."""

    max_file_bytes: int
    redactor: Redactor
    allowed: frozenset[str] = frozenset()
    max_left_over_files: int = 10_000
    """New ones, of one run."""


@dataclass(frozen=True)
class LeftOvers:
    """`tree`: the worktree's content but for what is withheld; `paths`: what of it HEAD does not have."""

    tree: str
    paths: tuple[str, ...]
    withheld: tuple[Withheld, ...]


def gather(git: Git, worktree: Path, head: str, index: Path, rules: Rules) -> LeftOvers:
    """The content of a worktree whose files stem from the commit `head`.

    `index` is a file of ours; afterwards it is what the worktree's own index would be.
    A folder that is not there, or has nothing in it at all, left nothing.
    """
    lock = index.with_name(f"{index.name}.lock")
    for ours in (index, lock):  # of a killed git
        ours.unlink(missing_ok=True)
    files = _Files(git, worktree, index)
    files.git_run("read-tree", head)
    if worktree.is_symlink() or not worktree.is_dir() or not any(worktree.iterdir()):
        return LeftOvers(git.objects.tree_of(head), (), ())
    if files.git_run("update-index", "-q", "--refresh", check=False).timed_out:
        lock.unlink(missing_ok=True)
    taken: list[bytes] = []
    withheld: list[Withheld] = []
    for path, rule in sorted(files.differing(rules)):
        if rule and not may_pass(shown(path), rule, rules):
            withheld.append(Withheld(path=shown(path), rule=rule))
        elif rule not in STAYS:
            taken.append(path)
    if not taken:
        return LeftOvers(git.objects.tree_of(head), (), tuple(withheld))
    withheld += (Withheld(path=shown(path), rule=REFUSED) for path in files.add(taken))
    tree = files.git_run("write-tree").text.strip()
    return LeftOvers(tree, tuple(shown(path) for path in taken), tuple(withheld))


def may_pass(path: str, rule: str, rules: Rules) -> bool:
    """Whether a person let it pass; a secret of this machine never does."""
    return path in rules.allowed and not rule.startswith(KNOWN)


def shown(path: bytes) -> str:
    """A path for people and for `--allow`."""
    return path.decode("utf-8", "backslashreplace").rstrip("/")


@dataclass(frozen=True)
class _Files:
    """A worktree, seen through an index of ours."""

    git: Git
    worktree: Path
    index: Path

    def git_run(self, *args: str | Path, stdin: bytes = b"", check: bool = True) -> Finished:
        return self.git.run(
            f"--work-tree={self.worktree}",
            *args,
            stdin=stdin,
            check=check,
            cwd=self.worktree if self.worktree.is_dir() else None,
            env={"GIT_INDEX_FILE": str(self.index)},
        )

    def differing(self, rules: Rules) -> Iterator[tuple[bytes, str]]:
        """Paths that are not as the index has them, each with the rule against it ("": none)."""
        listed = self.git_run("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=all")
        fields = listed.stdout.split(b"\0")
        changed = [
            (path, *about.split(b" ")[1:3]) for about, path in zip(fields[::2], fields[1::2], strict=False)
        ]
        pointers = self._pointers([oid.decode() for _, _, oid in changed])
        for path, mode, oid in changed:
            pointer = pointers.get(oid.decode())
            if mode == b"160000":
                yield path, NESTED
            elif pointer is None or mode == b"000000":
                yield path, self._rule_against(path, rules)
            elif not lfs.is_content_of(self.worktree / os.fsdecode(path), pointer):
                yield path, self._rule_against(path, rules) or lfs.NOT_UPLOADED
        listed = self.git_run("ls-files", "-z", "--others", "--exclude-standard")
        others = listed.stdout.split(b"\0")[:-1]
        allowed = {os.fsencode(name) for name in rules.allowed}
        crowds = crowded(list(without(others, allowed)), rules.max_left_over_files)
        yield from ((folder, f"{count:,} {MANY}") for folder, count in crowds.items())
        for path in others:
            if is_inside(path, allowed) or not is_inside(path, crowds):
                yield path, NESTED if path.endswith(b"/") else self._rule_against(path, rules)
        yield from ((path, SUBMODULE) for path in self._changed_submodules())

    def add(self, paths: list[bytes]) -> list[bytes]:
        """Have the index take paths as they are now; returns those that git refuses.

        Halved until what is refused stands alone: the number of programs grows with that, not with the paths.

        Raises:
            GitFailed: git cannot write, or gave no answer.
        """
        words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        finished = self.git_run(*words, stdin=b"".join(path + b"\0" for path in paths), check=False)
        if finished.ok:
            return []
        if finished.timed_out or _NOT_THE_FILES_FAULT.search(finished.error_text):
            raise GitFailed(finished)
        if len(paths) == 1:
            return paths
        middle = len(paths) // 2
        return [*self.add(paths[:middle]), *self.add(paths[middle:])]

    def _pointers(self, oids: Sequence[str]) -> dict[str, bytes]:
        """Those of these blobs that are pointers of LFS."""
        about = zip(oids, self.git.objects.about_many(oids), strict=True)
        small = [oid for oid, found in about if found and found[1] < lfs.POINTER_BYTES]
        read = zip(small, self.git.objects.read_many(small), strict=True)
        return {oid: data for oid, data in read if lfs.is_pointer(data)}

    def _rule_against(self, path: bytes, rules: Rules) -> str:
        full = self.worktree / os.fsdecode(path)
        try:
            about = full.lstat()
        except OSError:
            return ""  # deleted
        if in_name := rules.redactor.objection(path):
            return f"{in_name} in its name"
        if stat.S_ISLNK(about.st_mode) or stat.S_ISDIR(about.st_mode):
            return ""
        if not stat.S_ISREG(about.st_mode):
            return SPECIAL
        most = about.st_size if shown(path) in rules.allowed else rules.max_file_bytes
        if about.st_size > most:
            return LARGE
        try:
            with full.open("rb") as file:
                return rules.redactor.objection(file.read(most + 1))
        except OSError:
            return UNREADABLE

    def _changed_submodules(self) -> Iterator[bytes]:
        """Submodules whose checked-out commit is another; told from files, since git would run theirs."""
        for line in self.git_run("ls-files", "-z", "--stage").stdout.split(b"\0"):
            if line.startswith(b"160000 "):
                about, path = line.split(b"\t", 1)
                commit = _checked_out(self.worktree / os.fsdecode(path))
                if commit and commit.encode() != about.split(b" ")[1]:
                    yield path


def _checked_out(submodule: Path) -> str:
    """The commit that a repository's HEAD is at, read from its files; "" where they do not tell."""
    git_dir = obstacles.git_dir(submodule / ".git")
    head = obstacles.first_line(git_dir / "HEAD")
    if head.startswith("ref: "):
        head = obstacles.first_line(git_dir / head.removeprefix("ref: "))
    return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else ""
