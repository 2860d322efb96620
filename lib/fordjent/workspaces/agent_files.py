"""Files that configure agent CLIs, which start programs by them: of a pull request's head they are a stranger's.

While a CLI works in a worktree that is only read, they are those of the base branch.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fordjent.workspaces.place import Place
from harness import folders
from harness.git import Git

_NAMES = re.compile(
    r"(?i)(?:CLAUDE|AGENTS?|GEMINI|HERMES|CODEX|COPILOT-INSTRUCTIONS)(?:\.local|\.override)?\.md"
    r"|\.hermes\.md|\.mcp\.json|mcp\.json|opencode\.jsonc?|\.(?:cursor|windsurf|cline|goose)(?:rules|hints|ignore)|\.aider.*|\.env(?:\..*)?"
    r"|\.(?:claude|codex|opencode|gemini|hermes|agents|pi|cursor|windsurf|cline|roo|kiro|vscode|husky|githooks)"
)
"""Of files and folders, at any depth: some CLIs look into every folder that they come by."""


@contextlib.contextmanager
def of_base(place: Place) -> Iterator[None]:
    """Where nothing is ever pushed from: the base's while it lasts, the head's own again afterwards.

    A kill in between leaves the base's, and the next `prepare` takes that for changes.
    """
    if not place.for_reading:
        yield
        return
    head = place.head()
    _lay(place.control, place.base_commit, place.path)
    try:
        yield
    finally:
        _lay(place.control, head, place.path, links=True)


def _lay(git: Git, commit: str, worktree: Path, *, links: bool = False) -> None:
    """Have those files as they are in `commit`, and no others of them. Without `links` the file that a link of it
    leads to stands in its place: here it would lead to another's."""
    for path in _found(worktree):
        if path.is_dir() and not path.is_symlink():
            folders.remove(path)
        else:
            path.unlink()
    listed = git.run("ls-tree", "-r", "-z", commit).stdout.split(b"\0")[:-1]
    for about, _, name in (line.partition(b"\t") for line in listed):
        mode, _, oid = about.decode().split(" ")
        named = PurePosixPath(os.fsdecode(name))
        if not any(_NAMES.fullmatch(part) for part in named.parts):
            continue
        if mode == "120000" and links:
            _link(worktree, named, git.objects.read(oid))
        elif mode == "120000":
            target = posixpath.normpath(named.parent / os.fsdecode(git.objects.read(oid)))
            [found] = git.objects.about_many([f"{commit}:{target}"])
            if found and found[0] == "blob":
                _write(worktree, named, git.objects.read(f"{commit}:{target}"), executable=False)
        elif mode.startswith("100"):
            _write(worktree, named, git.objects.read(oid), executable=mode == "100755")


def _found(worktree: Path) -> Iterator[Path]:
    for folder, inside, files in os.walk(worktree):
        if Path(folder) == worktree and ".git" in inside:
            inside.remove(".git")
        for name in [*inside, *files]:
            if _NAMES.fullmatch(name):
                yield Path(folder, name)
        inside[:] = [name for name in inside if not _NAMES.fullmatch(name)]


def _write(worktree: Path, path: PurePosixPath, data: bytes, *, executable: bool) -> None:
    if not _has_folder(worktree, path):
        return
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(
            worktree / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if executable else 0o644
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


def _link(worktree: Path, path: PurePosixPath, target: bytes) -> None:
    if _has_folder(worktree, path):
        with contextlib.suppress(FileExistsError):
            (worktree / path).symlink_to(os.fsdecode(target))


def _has_folder(worktree: Path, path: PurePosixPath) -> bool:
    """Made where there is none. False: a link or a file stands on the way, which is not the folder that was meant."""
    for folder in reversed(path.parents):
        place = worktree / folder
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return False
        place.mkdir(exist_ok=True)
    return True
