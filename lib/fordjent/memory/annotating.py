"""Git notes on the agent's commits: which session, run, role and model made each, and what the run had cost.

    git fetch origin refs/notes/fordjent:refs/notes/fordjent
    git log --notes=fordjent

One line of JSON for each session that brought a commit. Notes of others are taken in by union, and no
note is ever taken away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fordjent import threads
from fordjent.store import memories, runs
from fordjent.workspaces import remote
from fordjent.workspaces.place import NAMESPACE, Place
from harness.effects import reached
from harness.errors import Failure, TryLater
from harness.git import Git

if TYPE_CHECKING:
    from fordjent.context import Context

REF = "refs/notes/fordjent"
THEIRS = f"{NAMESPACE}notes/origin"
"""What the forge had at last."""
COMMITS = 200
"""Of one branch, at most; the newest."""
TRIES = 4
SECONDS = 60.0

_PUSH = ("--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
_QUIET = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """`model`: the one that answered most of the run's calls; "": none was asked by us."""

    session: str
    run: str
    role: str
    model: str = ""
    cost_usd: float = 0.0


async def annotate(context: Context, place: Place) -> int:
    """Note on what is pushed of a session's branch who made it, and push that; how many notes are new.

    What cannot be pushed now goes with the next one: nothing depends on it.
    """
    key = str(place.key)
    last = await context.database.read(runs.last, key)
    if last is None or place.for_reading:
        return 0
    spent = await context.database.read(memories.spent, key, last.id)
    note = Note(
        session=key, run=last.id, role=last.role, model=spent.model, cost_usd=spent.cost_microdollars / 1e6
    )
    line = context.redactor.redact(msgspec.json.encode(note).decode())
    prefix = context.config.agent.commit_prefix
    try:
        return await threads.run_in(place.root, write, place, line, prefix)
    except Failure as failure:
        context.log.warning("notes.not_pushed", session=key, why=context.redactor.redact(failure.message))
        return 0


def write(place: Place, line: str, prefix: str) -> int:
    """Have `line` as a note on each commit of the session's that has none of the session yet, here and on the forge.

    Raises:
        TryLater: the forge or git refused.
    """
    git, pair = place.control, place.spot.pair
    with pair.locked():
        commits = _own(place, prefix)
        if commits and git.resolve(REF) is None:
            _take_in(git)
        added = _add(git, commits, line)
        reached("notes-added")
    with pair.locked():  # anew: of many that wait, one pushes for all
        for _ in range(TRIES):
            if _push(git):
                return added
            _take_in(git)
    raise TryLater(f"others push to {REF} all the time", code="notes_moving")


def _own(place: Place, prefix: str) -> list[str]:
    """The commits of what was pushed that nobody but the bot made: by its address, and with its prefix."""
    git, person = place.control, place.control.person
    tip = place.seen
    if not tip or person is None:
        return []
    listed = git.lines(
        "log",
        f"--max-count={COMMITS}",
        "--format=%H%x00%ae%x00%ce%x00%s",
        tip,
        "--not",
        place.base_commit,
    )
    made = [line.split("\0", 3) for line in listed]
    return [
        commit
        for commit, author, committer, subject in made
        if author == committer == person.email and subject.startswith(prefix)
    ]


def _missing(git: Git, commits: list[str], line: str) -> dict[str, str]:
    """Those that have no note of this session, each with the note that it has."""
    session = msgspec.json.decode(line, type=_Session).session
    noted: dict[str, str] = {}
    if git.resolve(REF):
        pairs = (found.split(" ") for found in git.lines("notes", "--ref", REF, "list"))
        noted = {commit: blob for blob, commit in pairs}
    texts = {
        commit: git.objects.read(noted[commit]).decode("utf-8", "replace") if commit in noted else ""
        for commit in commits
    }
    return {
        commit: text
        for commit, text in texts.items()
        if not any(_session(one) == session for one in text.splitlines())
    }


class _Session(msgspec.Struct):
    session: str


def _session(line: str) -> str:
    try:
        return msgspec.json.decode(line, type=_Session).session
    except msgspec.MsgspecError:
        return ""


def _add(git: Git, commits: list[str], line: str) -> int:
    missing = _missing(git, commits, line)
    for commit, text in missing.items():
        both = f"{text.rstrip()}\n{line}\n".lstrip()
        git.run("notes", "--ref", REF, "add", "--force", "--file=-", commit, stdin=both.encode())
    return len(missing)


def _take_in(git: Git) -> None:
    """Bring what the forge has of them into ours: by union, line by line."""
    told = remote.ask(git, "ls-remote", "--quiet", "origin", REF, timeout_seconds=SECONDS)
    theirs = told.text.split("\t", 1)[0]
    if not theirs:
        git.update_ref(THEIRS, None)
        return
    remote.ask(git, "fetch", *_QUIET, "origin", f"+{REF}:{THEIRS}", timeout_seconds=SECONDS)
    theirs, ours = git.resolve(THEIRS) or theirs, git.resolve(REF)
    if git.objects.about_many([theirs])[0] is None or git.objects.read(theirs)[:5] != b"tree ":
        raise TryLater(f"{REF} of the forge is no commit", code="notes_broken")
    if ours is None or git.is_ancestor(ours, theirs):
        git.update_ref(REF, theirs)
    elif not git.is_ancestor(theirs, ours):
        git.run("notes", "--ref", REF, "merge", "--quiet", "--strategy=cat_sort_uniq", THEIRS)
        reached("notes-merged")


def _push(git: Git) -> bool:
    """False: somebody else pushed meanwhile.

    Raises:
        TryLater: the forge refused, or did not answer.
    """
    ours, theirs = git.resolve(REF), git.resolve(THEIRS)
    if ours is None or ours == theirs:
        return True
    lease = f"--force-with-lease={REF}:{theirs or ''}"
    finished = git.run("push", *_PUSH, lease, "origin", f"{ours}:{REF}", check=False, timeout_seconds=SECONDS)
    reached("notes-pushed")
    there = ours
    if not finished.ok:
        told = remote.ask(git, "ls-remote", "--quiet", "origin", REF, timeout_seconds=SECONDS)
        there = told.text.split("\t", 1)[0]
    if there == ours:  # also where the answer was lost
        git.update_ref(THEIRS, ours)
        return True
    if there == (theirs or ""):
        raise remote.explain(finished)
    return False
