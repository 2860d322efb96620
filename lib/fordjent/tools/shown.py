"""How issues, pull requests and comments are shown to a model: short, and their text marked as somebody's words."""

from __future__ import annotations

from fordjent.forge.types import Comment, Issue, Pull
from fordjent.marker import unmarked
from fordjent.tools.output import cut_whole

BODY = 12_000
"""Characters of an issue's own text."""
COMMENT = 3_000


def issue_line(issue: Issue) -> str:
    kind = "pull request" if issue.is_pull else "issue"
    labels = f" [{', '.join(issue.label_names)}]" if issue.labels else ""
    return f"#{issue.number} {kind}, {_state(issue)}{labels}: {issue.title} (by {issue.user.login})"


def issue_whole(issue: Issue, comments: list[Comment], left_out: int) -> str:
    parts = [issue_line(issue)]
    if issue.assignees:
        parts.append(f"assigned to {', '.join(user.login for user in issue.assignees)}")
    parts.append(words(issue.user.login, issue.body, BODY))
    if left_out:
        parts.append(f"[… {left_out} older comments are left out …]")
    parts += [f"comment {each.id}, " + words(each.user.login, each.body, COMMENT) for each in comments]
    return "\n\n".join(parts)


def pull_line(pull: Pull) -> str:
    state = "merged" if pull.merged else "draft" if pull.draft else pull.state
    return (
        f"#{pull.number} {state}: {pull.title} ({pull.head.ref} into {pull.base.ref}, by {pull.user.login})"
    )


def words(author: str, text: str, cap: int) -> str:
    """What somebody wrote, between lines that say so: information, whatever it asks for."""
    shown = cut_whole(unmarked(text), cap)
    return f"by {author}:\n" + "\n".join(f"> {line}" for line in shown.splitlines() or ["(no text)"])


def _state(issue: Issue) -> str:
    return "merged" if issue.pull_request and issue.pull_request.merged else issue.state
