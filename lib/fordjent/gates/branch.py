"""Gate 1: the branch is the session's, everything is committed, and nothing in it must stay here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fordjent import threads
from fordjent.gates import prefix
from fordjent.gates.gate import Blocked, Passed, Proposal, listed, no_secret
from fordjent.gates.protection import default_branch, is_protected
from fordjent.workspaces.place import Place, changed_files
from harness.worktrees.leftovers import Withheld

GATE = "branch"

BUILD_OUTPUT = re.compile(
    r"(?:^|/)(?:node_modules|__pycache__|\.venv|venv|target|dist|build|\.tox|\.gradle|\.pytest_cache"
    r"|\.mypy_cache|\.ruff_cache|\.next|\.idea|\.DS_Store|Thumbs\.db)(?=/|$)"
    r"|\.(?:pyc|pyo|o|obj|class|orig|rej|swp|log|tmp)$"
)
"""What programs leave; where the base has such a folder or file, it is somebody's will."""


async def check(proposal: Proposal) -> Passed | Blocked:
    """
    Raises:
        TryLater: git failed, or the branch is gone.
    """
    return await threads.run_in(proposal.place.root, _check, proposal)


def stray(paths: Sequence[str], in_base: Sequence[str]) -> list[str]:
    """Those that look like what a program left, and are of a kind that the base does not have."""
    there = {match[0] for path in in_base if (match := BUILD_OUTPUT.search(path))}
    return [path for path in paths if (match := BUILD_OUTPUT.search(path)) and match[0] not in there]


def _check(proposal: Proposal) -> Passed | Blocked:
    place = proposal.place
    wrong = _wrong_names(proposal) or _wrong_standing(place)
    if wrong:
        return wrong
    tip = place.head()
    open_files = place.uncommitted()
    if open_files:
        return _blocked(
            f"not committed: {listed(open_files)}",
            "Commit what belongs to the work; delete the rest, or name it in .gitignore.",
            open_files,
            tip,
        )
    tip = prefix.put(place)
    if not place.control.text("rev-list", "--max-count=1", tip, "--not", place.base_commit):
        return _blocked(
            f"{place.branch} has no commit that {place.base} does not have",
            "Commit the work first. If there is nothing to change, say so in a comment instead.",
            [],
            tip,
        )
    return _objection(place, tip) or Passed(gate=GATE, commit=tip)


def _wrong_names(proposal: Proposal) -> Blocked | None:
    place = proposal.place
    head = proposal.head or place.branch
    protected = proposal.context.config.policy.protected_branches
    if place.for_reading:
        return _blocked("this session only reads", "Say what should change in a review or a comment.")
    if is_protected(head, protected, default_branch(place.control)) or head == place.base:
        return _blocked(
            f"{head} is a protected branch, to which nothing is pushed",
            f"Work on {place.branch}, and leave `head` out.",
        )
    if head != place.branch:
        return _blocked(f"head is {head}, not {place.branch}", "Leave `head` out.")
    if proposal.base not in ("", place.base):
        return _blocked(f"base is {proposal.base}, not {place.base}", "Leave `base` out.")
    return None


def _wrong_standing(place: Place) -> Blocked | None:
    standing = place.standing()
    if standing == "half-way":
        return _blocked(
            "a rebase, merge or the like is half-way",
            "Finish it, or end it: git status says how (git rebase --abort, git merge --abort).",
        )
    if standing == "elsewhere":
        return _blocked(
            f"HEAD is not on {place.branch}",
            f"git switch {place.branch}, and take over what you committed elsewhere (git merge or git cherry-pick).",
        )
    if standing == "not whole":
        return _blocked(
            "the worktree has lost its .git file or its registration",
            "End the run: the next one finds it mended.",
        )
    return None


def _objection(place: Place, tip: str) -> Blocked | None:
    found = place.objections(tip)
    changed = changed_files(place.control, place.base_commit, tip)
    in_base = place.control.lines("ls-tree", "-r", "--name-only", place.base_commit)
    found += [Withheld(path=path, rule="build output") for path in stray(changed, in_base)]
    if not found:
        return None
    names = [f"{one.path} ({one.rule})" for one in found]
    return _blocked(
        f"must not be pushed: {listed(names)}",
        "Take it out of every commit of the branch that has it, for example by "
        f"git reset --soft origin/{place.base} and committing anew without it; name it in .gitignore."
        f"{no_secret(found)}",
        [one.path for one in found],
        tip,
    )


def _blocked(reason: str, what_to_do: str, files: list[str] | None = None, commit: str = "") -> Blocked:
    return Blocked(gate=GATE, reason=reason, what_to_do=what_to_do, files=files or [], commit=commit)
