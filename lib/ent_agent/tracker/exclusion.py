"""Alone on a branch while it is written: a file lock among ourselves, and a claim that keeps a real `ent` out.

entomologist checks the branch out to write it, and what it started from wins: a
compare-and-swap alone loses our change when it commits, or while its `git worktree add`
still resets the branch. Its own lock is git's "branch is checked out elsewhere", so that
is what the claim looks like: an entry below `worktrees/`. It is there for milliseconds.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import lock
from harness.errors import BadConfig, Busy
from harness.git import Git, parse_worktree_list

NAME = "ent-agent-is-writing"
TIMEOUT_SECONDS = 20.0
LOCK_TIMEOUT_SECONDS = 60.0
# A real ent that has passed git's check may not show yet.
SETTLE_SECONDS = 0.015
# An entry without a folder for this long is left over; git removes the folder first, then the entry.
STALE_SECONDS = 2.0


@contextlib.contextmanager
def alone(git: Git, ref: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold a ref of a repository against our own processes, and a branch against a real `ent` too.

    Raises:
        Busy: somebody else has it for longer than `timeout_seconds`; says who.
    """
    common = common_folder(git.git_dir)
    try:
        with lock.held(
            common / "ent-agent.lock", timeout_seconds=LOCK_TIMEOUT_SECONDS, what=f"the tracker in {common}"
        ):
            if not ref.startswith("refs/heads/"):
                yield
                return
            deadline = time.monotonic() + timeout_seconds
            claim = _official if (common / "reftable").exists() else _by_hand
            with claim(git, common, ref, deadline):
                time.sleep(SETTLE_SECONDS)
                _wait_for_others(git, common, ref, deadline)
                yield
    except PermissionError as error:
        raise BadConfig(f"{error.filename or common}: no permission to write") from error


def common_folder(git_dir: Path) -> Path:
    """The git dir that the linked worktrees of a repository share (gitrepository-layout(5))."""
    try:
        return (git_dir / (git_dir / "commondir").read_text().strip()).resolve()
    except FileNotFoundError:
        return git_dir


@dataclass(frozen=True)
class Other:
    """An entry of `worktrees/` that has, or may be about to have, our branch."""

    entry: Path
    path: Path
    half: bool
    """git is still making it, or already taking it away."""

    @property
    def is_left_over(self) -> bool:
        """Whether nobody can be working there; git, too, takes such an entry away (`git worktree prune`)."""
        return not (self.path / ".git").exists() and not (self.entry / "locked").exists()

    @property
    def is_passing(self) -> bool:
        """Whether it goes away by itself: a real `ent` at work, in a temporary folder of its own."""
        return self.half or self.is_left_over or re.fullmatch(r"\.tmp\w{6}", self.path.name) is not None


def others(common: Path, ref: str) -> list[Other]:
    """Who else has the branch checked out, or may be about to."""
    found = []
    for entry in sorted((common / "worktrees").glob("*")):
        if entry.name == NAME:
            continue
        head, gitdir, locked = (_read(entry / name) for name in ("HEAD", "gitdir", "locked"))
        # git writes zeros first; what has another HEAD by then will not move our branch
        if not head.strip("0\n") or head == f"ref: {ref}\n":
            half = not (head.strip("0\n") and gitdir) or locked.startswith("initializing")
            found.append(Other(entry, (entry / (gitdir.rstrip("\n") or "nowhere/.git")).parent, half))
    return found


@contextlib.contextmanager
def _by_hand(git: Git, common: Path, ref: str, deadline: float) -> Iterator[None]:
    """The claim made by us: 1 ms. Whoever finds it left over holds the lock, so its owner is dead."""
    made, place = common / f"{NAME}.new", common / "worktrees" / NAME
    _discard(made, place)
    made.mkdir()
    (made / "HEAD").write_text(f"ref: {ref}\n")
    (made / "commondir").write_text("../..\n")
    (made / "gitdir").write_text(f"/{NAME}-try-again/.git\n")
    _move_in(made, place)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):  # a `git worktree prune` of somebody
            place.rename(made)
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def _official(git: Git, common: Path, ref: str, deadline: float) -> Iterator[None]:
    """The claim made by git, where refs are not files: 20 ms. A branch that is yet to be made needs none."""
    if git.resolve(ref) is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as folder:
        path = Path(folder) / NAME
        branch = ref.removeprefix("refs/heads/")
        while not git.run("worktree", "add", "--no-checkout", path, branch, check=False).ok:
            _clear_listed(git, ref, deadline)
        try:
            while _listed(git, ref)[1:]:  # git looks and takes in two steps; two may have passed
                _clear_listed(git, ref, deadline, path)
            yield
        finally:
            git.run("worktree", "remove", "--force", path, check=False)


def _listed(git: Git, ref: str) -> list[dict[str, str]]:
    """The worktrees that have the branch, as git lists them."""
    listed = parse_worktree_list(git.run("worktree", "list", "--porcelain", "-z").stdout)
    return [one for one in listed if one.get("branch") == ref]


def _clear_listed(git: Git, ref: str, deadline: float, ours: Path | None = None) -> None:
    """Take away what nobody works in any more, and wait a little for the others.

    Raises:
        Busy: one goes on for too long.
    """
    for one in _listed(git, ref):
        path = Path(one["worktree"])
        if path == ours:
            continue
        if path.name == NAME:  # we hold the lock, so its owner is dead
            git.run("worktree", "remove", "-f", "-f", path, check=False)
        elif "prunable" in one:
            git.run("worktree", "prune", check=False)
        if time.monotonic() > deadline:
            raise _checked_out(ref, path)
    time.sleep(0.05)


def _wait_for_others(git: Git, common: Path, ref: str, deadline: float) -> None:
    seen_left_over: dict[Path, float] = {}
    while True:
        _check_main_worktree(git, common, ref)
        present = [other for other in others(common, ref) if not _is_ours(other)]
        for other in present:
            since = seen_left_over.setdefault(other.entry, time.monotonic())
            if not other.is_left_over:
                del seen_left_over[other.entry]
            elif time.monotonic() - since > STALE_SECONDS:
                shutil.rmtree(other.entry, ignore_errors=True)
        if not present:
            return
        lasting = next((other for other in present if not other.is_passing), None)
        if lasting or time.monotonic() > deadline:
            raise _checked_out(ref, (lasting or present[0]).path)
        time.sleep(0.01)


def _is_ours(other: Other) -> bool:
    """Whether it is the claim that git made for us (`_official`)."""
    return other.path.name == NAME


def _check_main_worktree(git: Git, common: Path, ref: str) -> None:
    if _read(common / "HEAD") == f"ref: {ref}\n":
        listed = parse_worktree_list(git.run("worktree", "list", "--porcelain", "-z").stdout)
        if listed and "bare" not in listed[0]:
            raise _checked_out(ref, Path(listed[0]["worktree"]))


def _checked_out(ref: str, path: Path) -> Busy:
    return Busy(
        f"'{ref.removeprefix('refs/heads/')}' is already checked out at '{path}'",
        hint=f"wait for the program that works there; if none does: git worktree remove -f -f '{path}'",
    )


def _move_in(made: Path, place: Path) -> None:
    for _ in range(100):
        place.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # git has removed worktrees/, as it does when empty
            made.rename(place)
            return
    raise Busy(f"{place.parent} would not stay")


def _discard(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return ""
