"""A run's tracker line brought together with the data branch, on which people went on meanwhile.

What a person made of the issue's state since the line began stands against the line's,
whatever the clocks say: a merge by itself would take the later one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ent_agent.claims import standing
from ent_agent.config import Config
from ent_agent.tracker import writer
from ent_agent.tracker.format import parse_state
from ent_agent.tracker.merge import merge, merge_bases
from ent_agent.tracker.model import OPEN_STATES, State
from ent_agent.tracker.writer import SetState
from harness.errors import BadData
from harness.git import Git


@dataclass(frozen=True)
class Joined:
    """`commit` has both; `persons_state`: what a person set meanwhile, where the issue is still open."""

    commit: str
    persons_state: State | None = None


def join(config: Config, git: Git, line: str, data: str, issue_id: str) -> Joined:
    """The line's end and the data branch's as one commit; one of the two when it has the other."""
    sign = config.sign_commits
    message = f"merge what was done on issue {issue_id}"
    commit = merge(git, line, data, message=message, sign=sign)
    persons = _persons_state(git, line, data, issue_id)
    if persons and _state(git, commit, issue_id) != persons:
        commit = writer.commit(git, commit, [SetState(issue_id, persons)], sign=sign)
    return Joined(commit, persons)


def _persons_state(git: Git, line: str, data: str, issue_id: str) -> State | None:
    """The state that was set on the data branch since it and the line had the same."""
    if git.is_ancestor(data, line):
        return None
    now = _state(git, data, issue_id)
    before = {_state(git, base, issue_id) for base in merge_bases(git, line, data)}
    return now if now in OPEN_STATES and now not in before else None


def _state(git: Git, commit: str, issue_id: str) -> State | None:
    """The issue's state at a commit; None: it is not there, or cannot be read."""
    folder = standing.issue_tree(git, commit, issue_id)
    if not folder:
        return None
    entry = git.objects.tree(folder).get(b"state")
    try:
        return parse_state(git.objects.read(entry.oid)) if entry else "new"
    except BadData:
        return None
