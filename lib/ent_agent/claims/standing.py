"""Whether an issue is still the agent's to work, by origin's word."""

from __future__ import annotations

from ent_agent.config import Config
from ent_agent.tracker.model import OPEN_STATES, NotFound
from ent_agent.tracker.reader import Tracker
from harness.errors import BadData
from harness.git import Git


def not_ours(config: Config, git: Git, commit: str | None, issue_id: str) -> str:
    """Why the issue is not ours at a commit of the data branch; "": it is.

    An entry that cannot be read just now says nothing: a run goes on.
    """
    if commit is None:
        return f"is gone: origin has no branch {config.issues_branch}"
    try:
        issue = Tracker(git, commit).issue(issue_id)
    except NotFound:
        return "is gone"
    except BadData:
        return ""
    if issue.state not in OPEN_STATES:
        return f"is {issue.state}"
    if not config.is_agent(issue.assignee):
        return f"is assigned to {issue.assignee}" if issue.assignee else "is assigned to nobody"
    return ""


def issue_tree(git: Git, commit: str, issue_id: str) -> str:
    """The id of an issue's folder at a commit of the data branch; "" when it is not there."""
    root = git.objects.tree(git.objects.tree_of(commit))
    entry = root.get(issue_id.encode("utf-8", "surrogateescape"))
    return entry.oid if entry and entry.is_tree else ""
