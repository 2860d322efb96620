"""The prefix of an agent's commits, which tells them from people's: put before what came without, ahead of a push.

The hook that writes it can be passed by (`git -c core.hooksPath=`), and this cannot. Only what the forge
has never had is worded anew; content, author and times stay.
"""

from __future__ import annotations

import re

from fordjent.workspaces.place import Place
from harness.effects import reached
from harness.git import Git
from harness.worktrees import outgoing, published

_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)
_LEFT_OUT = re.compile(rb"^(?:gpgsig(?:-sha256)?|mergetag) .*\n(?: .*\n)*", re.MULTILINE)
"""What vouches for the bytes of a commit, which change."""


def put(place: Place) -> str:
    """The commit that the branch is at, with the prefix in all that is to be pushed. Repeatable.

    Raises:
        TryLater: the branch is gone, or the worktree is not on it.
    """
    tip = place.head()
    if not place.commit_prefix:
        return tip
    git, wanted = place.control, place.commit_prefix.encode()
    new = outgoing.commits(git, tip, outgoing.on_origin(place.namespace, place.branch))
    read = dict(zip(new, git.objects.read_many(new), strict=True))
    if all(_message(data).startswith(wanted) for data in read.values()):
        return tip
    peoples = _known(git, place)
    worded: dict[bytes, bytes] = {}
    for commit, data in read.items():  # parents come first
        now = _again(data, worded, b"" if _told(data) in peoples else wanted)
        if now != data:
            worded[commit.encode()] = git.objects.write("commit", now).encode()
    if tip.encode() in worded:
        tip = worded[tip.encode()].decode()
        place.move_to(tip)
        reached("branch-worded")
    return tip


def _again(data: bytes, worded: dict[bytes, bytes], prefix: bytes) -> bytes:
    """The commit on its reworded parents, and with the prefix where it has none."""
    header, _, message = data.partition(b"\n\n")
    on = _PARENT.sub(lambda match: b"parent " + worded.get(match[1], match[1]), header)
    if prefix and not message.startswith(prefix):
        message = prefix + b" " + message.lstrip()
    if (on, message) == (header, _message(data)):
        return data
    return _LEFT_OUT.sub(b"", on + b"\n").rstrip(b"\n") + b"\n\n" + message


def _known(git: Git, place: Place) -> set[tuple[bytes, bytes]]:
    """Author and message of what the forge has, or had, of the branch: put elsewhere by a rebase it is theirs still."""
    heads = published.heads(git, place.namespace, place.branch)
    if place.remote_head:
        heads.append(place.remote_head)
    if not heads:
        return set()
    had = git.lines("rev-list", *heads, "--not", place.base_commit)
    return {_told(data) for data in git.objects.read_many(had)}


def _told(data: bytes) -> tuple[bytes, bytes]:
    header, _, message = data.partition(b"\n\n")
    author = re.search(rb"^author .*$", header, re.MULTILINE)
    return (author[0] if author else b"", message)


def _message(data: bytes) -> bytes:
    return data.partition(b"\n\n")[2]
