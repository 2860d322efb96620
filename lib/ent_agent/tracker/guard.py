"""What an agent may do to a tracker, and nothing else of what it did.

Taken: new issues, new comments on any issue, and state, assignee, tags, dependencies,
description and done_time of its own issue, each well-formed. The rest is dropped path by
path. Only the two trees are compared, so that a rewritten or unrelated history, or one
that is no history at all, comes to the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ent_agent.tracker.admissible import Contents
from ent_agent.tracker.admission import Admission, Dropped, IsAgent
from ent_agent.tracker.merge_clock import given_by
from ent_agent.tracker.pending import Pending
from harness.errors import BadData
from harness.git import Git

__all__ = ["Admitted", "Dropped", "admit"]


@dataclass(frozen=True)
class Admitted:
    """A commit on top of the base (the base itself when nothing was taken), and what is not in it."""

    commit: str
    dropped: tuple[Dropped, ...]


def admit(git: Git, base: str, agent_tip: str, issue_id: str, is_agent: IsAgent) -> Admitted:
    """Of the changes from `base` to `agent_tip`, those that an agent on `issue_id` may make.

    `git` must have the objects of both. The commit is by `git.person`, in whose name
    new issues and comments are taken too; the same input gives the same commit.
    """
    base_tree = git.objects.tree_of(base)
    before = git.objects.tree(base_tree)
    contents = Contents(git)
    try:
        after = contents.root(agent_tip)
    except BadData as error:
        return Admitted(base, (Dropped("", f"the agent's last commit {error.message}"),))
    store = Pending(git, base_tree)
    admission = Admission(store, contents, issue_id.encode(), is_agent, git.person)
    taken = admission.root(before, after)
    if taken == before:
        return Admitted(base, admission.dropped())
    tree = store.write_tree(taken)
    store.store()
    written = given_by(git.objects.read(agent_tip)).time
    commit = git.objects.write_commit(
        tree,
        [base],
        f"take over what {git.person.name if git.person else 'the agent'} did on issue {issue_id}",
        timestamp=max(min(written, int(time.time())), given_by(git.objects.read(base)).time),
    )
    return Admitted(commit, admission.dropped())
