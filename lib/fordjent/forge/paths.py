"""Paths of the API. Each segment is encoded once: a slash in a branch's name is %2F, and stays that."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

from fordjent.session_key import is_repository
from harness.errors import BadData


def of(repository: str, *segments: str | int) -> str:
    """`/repos/owner/name/…`.

    Raises:
        BadData: no `owner/name`, or a segment that would lead elsewhere.
    """
    if not is_repository(repository):
        raise BadData(f"{repository!r} is no repository", hint="like owner/name")
    return "/repos/" + "/".join((repository, *(segment(part) for part in segments)))


def segment(part: str | int) -> str:
    """
    Raises:
        BadData: empty, `.` or `..`: the path would be another one; or no text at all.
    """
    text = str(part)
    if text not in ("", ".", ".."):
        with suppress(UnicodeEncodeError):
            return quote(text, safe="", errors="surrogateescape")  # git's names may be any bytes
    raise BadData(f"{text!r} cannot stand in a path of the forge")


def tail(path: str) -> str:
    """A file's path, or a branch where the server takes all the rest of the path: the slashes stay.

    Raises:
        BadData: absolute, or with `.` or `..` in it.
    """
    return "/".join(segment(part) for part in path.split("/"))
