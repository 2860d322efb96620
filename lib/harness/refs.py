"""Where refs stand, read from their files (gitrepository-layout(5)) instead of by a git process for each.

Half of all that git was asked in a run were such questions. Loose files come first, then
packed-refs: git packs a ref before it takes its file away, so none is missed between. A
file that an agent planted is data like any other: links and pipes are not read, and names
that git would not take do not come out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

SYMBOLIC_DEPTH = 5
"""As many symbolic refs in a row as git follows."""
LONGEST_FILE = 4096

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|[./]$")
"""What git-check-ref-format(1) forbids below refs/."""


def are_files(git_dir: Path) -> bool:
    """Whether this repository keeps its refs so: not as a reftable, nor partly elsewhere (a linked worktree)."""
    return (git_dir / "refs").is_dir() and not any(
        (git_dir / name).exists() for name in ("reftable", "commondir")
    )


def is_name(name: str) -> bool:
    """Whether it is the full name of a ref, as git takes it."""
    return name.startswith("refs/") and not _NO_NAME.search(name)


def resolve(git_dir: Path, name: str) -> str | None:
    """The object id that a full ref name stands for; None: there is no such ref, or it is broken."""
    for _ in range(SYMBOLIC_DEPTH):
        if not is_name(name):
            return None
        text = _read(git_dir / name)
        if text is None:
            return _packed_refs(git_dir).get(name)
        target = _target(text)
        if not target:
            found = _OID.match(text)
            return found[0] if found else None
        name = target
    return None


def symbolic(git_dir: Path, name: str) -> str:
    """The full name that a symbolic ref stands for; "": it is none, or not there."""
    return _target(_read(git_dir / name) or "")


def below(git_dir: Path, prefix: str) -> dict[str, str]:
    """Ref name to object id, of the ref `prefix` and all below it, by name."""
    folder = prefix.rstrip("/")
    names = {name for name in _packed_refs(git_dir) if name == prefix or name.startswith(f"{folder}/")}
    names.update(name for name in _loose(git_dir, folder) if is_name(name))
    if not prefix.endswith("/"):
        names.add(prefix)
    found = {name: resolve(git_dir, name) for name in sorted(names)}
    return {name: oid for name, oid in found.items() if oid}


def _target(text: str) -> str:
    return text[4:].strip() if text.startswith("ref:") else ""


def _read(path: Path) -> str | None:
    """The beginning of a regular file; None: there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, LONGEST_FILE).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def _loose(git_dir: Path, folder: str) -> Iterator[str]:
    """Without recursion: an agent can make thousands of folders in folders."""
    pending = [folder]
    while pending:
        inner = pending.pop()
        try:
            entries = list(os.scandir(git_dir / inner))
        except OSError:
            continue
        for entry in entries:
            name = f"{inner}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append(name)
            else:
                yield os.fsencode(name).decode("utf-8", "replace")


def _packed_refs(git_dir: Path) -> dict[str, str]:
    path = git_dir / "packed-refs"
    try:
        about = path.stat()
    except OSError:
        return {}
    if not stat.S_ISREG(about.st_mode):
        return {}
    return _parsed(path, about.st_ino, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=4)
def _parsed(path: Path, _inode: int, _mtime_ns: int, _size: int) -> dict[str, str]:
    """git-pack-refs(1) replaces the file as a whole, so that one with the same facts is the same."""
    pairs = (line.split(" ", 1) for line in path.read_text("utf-8", "replace").split("\n"))
    return {
        pair[1]: pair[0] for pair in pairs if len(pair) == 2 and _OID.fullmatch(pair[0]) and is_name(pair[1])
    }
