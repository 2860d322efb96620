"""Paths that a model names: below one folder, through whatever links lie there, and never into git's own files.

A path is made real first, judged then, and opened step by step without following a link any more: what is
put in its place in between leads nowhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from harness.errors import Failure

LONGEST = 4096


class Forbidden(Failure):
    """The path leads out of the folder, or into git's own files."""

    code = "path_forbidden"


class NoFile(Failure):
    """There is no such file, or it is of a kind that cannot be read or written."""

    code = "no_file"


def real(folder: Path, named: str) -> Path:
    """Where `named` leads from `folder`, which is real itself; whether something is there or not.

    Raises:
        Forbidden: out of the folder, or into a `.git`.
    """
    if not named or "\0" in named or len(named.encode("utf-8", "replace")) > LONGEST:
        raise Forbidden("a path may be neither empty, nor longer than 4096 bytes, nor hold a NUL")
    try:
        found = Path(os.path.realpath(folder / named))
    except (OSError, ValueError) as error:
        raise Forbidden(f"{named!r} is no path: {error}") from error
    if not found.is_relative_to(folder):
        raise Forbidden(
            f"{named!r} leads out of the worktree", hint="name files by their path below the worktree"
        )
    if any(part.casefold() == ".git" for part in found.relative_to(folder).parts):
        raise Forbidden(f"{named!r} is git's own", hint="use the git tool")
    return found


def is_folder(folder: Path, named: str) -> bool:
    """
    Raises:
        Forbidden: as in `real`.
    """
    return stat.S_ISDIR(_about(real(folder, named)))


@contextlib.contextmanager
def reading(folder: Path, named: str) -> Iterator[IO[bytes]]:
    """A regular file.

    Raises:
        Forbidden: as in `real`.
        NoFile: it is missing, a folder, a pipe, or not readable.
    """
    path = real(folder, named)
    with _named(named), _parent(folder, path, make=False) as parent:
        descriptor = os.open(
            path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent
        )
        with os.fdopen(descriptor, "rb") as file:
            _check_regular(os.fstat(descriptor).st_mode, named)
            yield file


def listing(folder: Path, named: str) -> list[str]:
    """The names in a folder, folders with a slash.

    Raises:
        Forbidden, NoFile: as in `reading`.
    """
    path = real(folder, named)
    with _named(named), _opened(folder, path, make=False) as place, os.scandir(place) as entries:
        return sorted(each.name + ("/" if each.is_dir(follow_symlinks=False) else "") for each in entries)


def replace(folder: Path, named: str, data: bytes) -> bool:
    """Put `data` in a file's place, whole or not at all; its mode stays. Folders are made. Whether it was new.

    Raises:
        Forbidden: as in `real`.
        NoFile: something that is no file stands there, or it cannot be written.
    """
    path = real(folder, named)
    if path == folder:
        raise NoFile(f"{named!r} is a folder")
    with _named(named), _parent(folder, path, make=True) as parent:
        mode = _mode(parent, path.name, named)
        temporary = f".fordjent-{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600, dir_fd=parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o644 if mode is None else mode)
                file.write(data)
            os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)
            raise
        return mode is None


def _about(path: Path) -> int:
    """The mode of what stands at a path; 0: nothing that could be looked at."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _mode(parent: int, name: str, named: str) -> int | None:
    """Permissions of the file that stands there; None: none does."""
    try:
        about = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_regular(about.st_mode, named)
    return stat.S_IMODE(about.st_mode) & 0o777


def _check_regular(mode: int, named: str) -> None:
    if stat.S_ISDIR(mode):
        raise NoFile(f"{named!r} is a folder")
    if not stat.S_ISREG(mode):
        raise NoFile(f"{named!r} is no regular file")


@contextlib.contextmanager
def _parent(folder: Path, path: Path, *, make: bool) -> Iterator[int]:
    """A descriptor of the folder that `path` stands in."""
    if path == folder:
        raise NoFile("that is the worktree itself, a folder")
    with _opened(folder, path.parent, make=make) as descriptor:
        yield descriptor


@contextlib.contextmanager
def _opened(folder: Path, path: Path, *, make: bool) -> Iterator[int]:
    """A descriptor of a folder, reached step by step from `folder`; no step is a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder, flags)
    try:
        for part in path.relative_to(folder).parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=descriptor)
            inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _named(named: str) -> Iterator[None]:
    """What the system refuses, said with the path as it was named."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
            raise NoFile(f"{named!r}: {error.strerror}: this is the machine's trouble") from error
        what = {errno.ELOOP: "a link was put in its way", errno.ENXIO: "it is no regular file"}
        raise NoFile(f"{named!r}: {what.get(error.errno or 0, error.strerror)}") from error
