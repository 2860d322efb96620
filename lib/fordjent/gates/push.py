"""Gate 4: the forge's branch is the session's, never over commits that the session has not seen."""

from __future__ import annotations

from collections.abc import Sequence

from fordjent import threads
from fordjent.gates import prefix
from fordjent.gates.gate import Blocked, Passed, Proposal, listed, no_secret
from fordjent.gates.protection import default_branch, is_protected
from fordjent.workspaces import remote
from fordjent.workspaces.place import Place
from harness.effects import reached
from harness.process import Finished
from harness.worktrees import published

GATE = "push"

_OPTIONS = ("--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")


async def check(proposal: Proposal) -> Passed | Blocked:
    """
    Raises:
        TryLater: the forge did not answer, so that it is not known what became of it.
    """
    place = proposal.place
    protected = proposal.context.config.policy.protected_branches
    return await threads.run_in(place.root, push, place, protected)


def push(place: Place, protected: Sequence[str]) -> Passed | Blocked:
    """Push the branch as it is committed, from our own repository and by its full name. Repeatable.

    Raises:
        TryLater: the forge did not answer.
    """
    if place.for_reading or is_protected(place.branch, protected, default_branch(place.control)):
        return _blocked(
            f"nothing is pushed to {place.branch}", f"Work on another branch than {place.branch}."
        )
    if place.begins_at and place.is_first:  # it would become the default branch
        return _blocked("the repository has no commit yet", "Its first one goes by forgejo_create_pr.")
    tip = prefix.put(place)
    objection = _objection(place, tip)
    if objection:
        return objection
    seen = place.seen
    if seen == tip == place.remote_head:
        return Passed(gate=GATE, commit=tip, note="it was there already")
    return _pushed(place, tip, seen)


def first(place: Place) -> Passed | Blocked:
    """Push the branch as the base, of which the forge has nothing; never over anything.

    Raises:
        TryLater: the forge did not answer.
    """
    tip, ref = prefix.put(place), f"refs/heads/{place.base}"
    objection = _objection(place, tip)
    if objection:
        return objection
    with place.spot.pair.locked():
        finished = _push(place, tip, ref, "")
        reached("first-pushed")
        there = tip if finished.ok else _there(place, ref)
        if there == tip:
            place.control.update_refs([(f"refs/remotes/origin/{place.base}", tip)])
            return Passed(gate=GATE, commit=tip)
    if there:
        return _blocked(
            f"somebody pushed a first commit to {place.base} meanwhile",
            "Call this again: it becomes a pull request.",
            tip,
        )
    return _refused(finished, tip)


def _objection(place: Place, tip: str) -> Blocked | None:
    objections = place.objections(tip)
    if not objections:
        return None
    return _blocked(
        f"must not be pushed: {listed([f'{one.path} ({one.rule})' for one in objections])}",
        f"Take it out of every commit of the branch that has it.{no_secret(objections)}",
        tip,
    )


def _pushed(place: Place, tip: str, seen: str) -> Passed | Blocked:
    ref = place.spot.ref
    finished = _push(
        place, tip, ref, seen
    )  # without the lock: it may take long, and others prepare meanwhile
    reached("branch-pushed")
    there = tip if finished.ok else _there(place, ref)
    if there == tip:  # also where the answer was lost
        with place.spot.pair.locked():
            place.control.update_refs([(f"refs/remotes/origin/{place.branch}", tip)])
            published.remember(place.control, place.namespace, place.branch)
            place.saw(tip)
        return Passed(gate=GATE, commit=tip)
    if there != seen:
        return _blocked(
            f"somebody pushed to {place.branch} meanwhile", "Try again: it is taken in first.", tip
        )
    return _refused(finished, tip)


def _push(place: Place, tip: str, ref: str, seen: str) -> Finished:
    return place.control.run(
        "push",
        *_OPTIONS,
        f"--force-with-lease={ref}:{seen}",
        "origin",
        f"{tip}:{ref}",
        check=False,
        timeout_seconds=remote.PUSH_SECONDS,
    )


def _refused(finished: Finished, tip: str) -> Blocked:
    failure = remote.explain(finished)
    if failure.code in ("permission_denied", "push_refused", "archived"):
        return _blocked(failure.message, f"Nothing that the work can mend: {failure.hint}.", tip)
    raise failure


def _there(place: Place, ref: str) -> str:
    """What the forge's branch is at just now; "": there is none.

    Raises:
        TryLater: no answer.
    """
    listed_refs = remote.ask(place.control, "ls-remote", "--quiet", "origin", ref)
    return listed_refs.text.split("\t", 1)[0] if listed_refs.text else ""


def _blocked(reason: str, what_to_do: str, commit: str = "") -> Blocked:
    return Blocked(gate=GATE, reason=reason, what_to_do=what_to_do, commit=commit)
