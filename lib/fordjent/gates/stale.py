"""Gate 2: the branch holds what the forge has of it, and the newest base.

What is missing is put under it by merging trees in our own repository: no program that the
agent could have configured takes part, and a conflict leaves everything as it is.
"""

from __future__ import annotations

from fordjent import threads
from fordjent.gates.gate import Blocked, Passed, Proposal, listed
from fordjent.workspaces.place import Place
from harness.effects import reached
from harness.git import Git
from harness.worktrees import branches, published, replaying

GATE = "stale"


async def check(proposal: Proposal) -> Passed | Blocked:
    """
    Raises:
        TryLater: the forge or git failed; nothing is changed.
    """
    return await threads.run_in(proposal.place.root, _check, proposal.place)


def _check(place: Place) -> Passed | Blocked:
    place.fetch()
    note: list[str] = []
    blocked = _take_in_pushed(place, note) or _take_in_base(place, note)
    return blocked or Passed(gate=GATE, commit=place.head(), note="; ".join(note))


def _take_in_pushed(place: Place, note: list[str]) -> Blocked | None:
    """Have what others pushed to the branch."""
    remote, tip, git = place.remote_head, place.head(), place.control
    if not remote:
        place.saw("")
        return None
    if remote == place.seen:
        return None if git.is_ancestor(remote, tip) else _dropped(place, remote, tip)
    begin = branches.beginning(
        git,
        base=place.base_commit,
        remote=remote,
        local=tip,
        once=published.heads(git, place.namespace, place.branch),
    )
    if begin.kept:
        files = replaying.conflicts(git, tip, remote)
        return Blocked(
            gate=GATE,
            reason=f"somebody pushed to {place.branch}, and it conflicts in {listed(files)}",
            what_to_do=f"git merge origin/{place.branch}, resolve the conflicts, commit, and try again.",
            files=files,
            commit=tip,
        )
    if begin.start != tip:
        place.move_to(begin.start)
    place.saw(remote)
    reached("pushed-taken-in")
    note.append(f"what others pushed to {place.branch} is taken in: look at it with git log")
    return None


def _dropped(place: Place, remote: str, tip: str) -> Blocked | None:
    """Commits of others that the agent saw on the branch, and that it rewrote away."""
    found = place.control.lines(
        "log",
        "--cherry-pick",
        "--right-only",
        "--no-merges",
        "--format=%h %ce %s",
        f"{tip}...{remote}",
        "--not",
        place.base_commit,
    )
    person = place.control.person
    lost = [line for line in found if person is None or line.split(" ")[1] != person.email]
    if not lost:
        return None
    return Blocked(
        gate=GATE,
        reason=f"commits of others on {place.branch} would be lost: {listed(lost)}",
        what_to_do=f"git merge origin/{place.branch}, or cherry-pick them, and try again.",
        commit=tip,
    )


def _take_in_base(place: Place, note: list[str]) -> Blocked | None:
    """Have the newest base under the branch's commits."""
    git, base, tip = place.control, place.base_commit, place.head()
    if git.is_ancestor(base, tip):
        return None
    commits = own_commits(git, base, tip)
    rebased = replaying.put_on_top(git, commits, base)
    if rebased is None:
        files = replaying.conflicts_on_top(git, commits, base) or replaying.conflicts(git, base, tip)
        return Blocked(
            gate=GATE,
            reason=f"{place.base} has moved, and the work conflicts with it in {listed(files)}",
            what_to_do=f"git rebase origin/{place.base} (or git merge origin/{place.base}), resolve the "
            "conflicts, and try again.",
            files=files,
            commit=tip,
        )
    place.move_to(rebased)
    reached("branch-rebased")
    note.append(f"rebased onto {place.base} at {base[:12]}")
    if rebased == base:
        return Blocked(
            gate=GATE,
            reason=f"{place.base} has all of the work already",
            what_to_do="Nothing is left to propose: say so in a comment.",
            commit=tip,
        )
    return None


def own_commits(git: Git, base: str, tip: str) -> list[str]:
    """What the branch has and the base has not, oldest first, along first parents."""
    return git.lines("rev-list", "--first-parent", "--reverse", tip, "--not", base)
