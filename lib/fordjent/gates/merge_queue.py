"""Gate 5: no open pull request changes the same files; one that does is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from fordjent import threads
from fordjent.forge import pulls
from fordjent.forge.types import ChangedFile, Pull
from fordjent.gates.gate import Passed, Proposal, Waiting
from fordjent.workspaces.place import NAMESPACE, Place
from harness.worktrees import replaying

GATE = "merge_queue"


async def check(proposal: Proposal) -> Passed | Waiting:
    """By what the forge shows; it must answer for every open pull request.

    Raises:
        ForgeError, TryLater: it does not.
    """
    place, forge, repository = proposal.place, proposal.forge, proposal.key.repository
    tip = await threads.run_in(place.root, place.head)
    ours = await threads.run_in(place.root, place.changed_files)
    others = [
        pull
        async for pull in pulls.list_open(forge, repository)
        if not (pull.is_from_here and pull.head.ref == place.branch)
    ]
    changed = await asyncio.gather(*(pulls.files(forge, repository, pull.number) for pull in others))
    theirs = {pull.number: names(files) for pull, files in zip(others, changed, strict=True)}
    overlaps = overlapping(ours, theirs)
    if proposal.context.config.policy.merge_queue == "conflict":
        chosen = [pull for pull in others if pull.number in overlaps]
        overlaps = await threads.run(_conflicting, place, tip, chosen)
    if not overlaps:
        return Passed(gate=GATE, commit=tip)
    files = sorted({name for overlap in overlaps.values() for name in overlap})
    return Waiting(gate=GATE, for_pulls=sorted(overlaps), files=files, commit=tip)


def names(files: Iterable[ChangedFile]) -> set[str]:
    """The files that a pull request touches; a renamed one by both its names."""
    return {name for file in files for name in (file.filename, file.previous_filename) if name}


def overlapping(ours: Iterable[str], theirs: Mapping[int, set[str]]) -> dict[int, list[str]]:
    """Of each pull request that touches them too, the files."""
    own = set(ours)
    return {number: sorted(own & other) for number, other in theirs.items() if own & other}


def _conflicting(place: Place, tip: str, others: list[Pull]) -> dict[int, list[str]]:
    """Those of them that git cannot merge with ours, each with the files."""
    if not others:
        return {}
    refs = {pull.number: f"{NAMESPACE}pulls/{pull.number}" for pull in others}
    place.fetch(*(f"+refs/pull/{number}/head:{ref}" for number, ref in refs.items()))
    found: dict[int, list[str]] = {}
    for number, ref in refs.items():
        commit = place.control.resolve(ref)
        files = replaying.conflicts(place.control, tip, commit) if commit else []
        if files:
            found[number] = files
    return found
