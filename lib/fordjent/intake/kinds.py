"""The precise names of events, and which of them mean anything to us."""

from __future__ import annotations

KNOWN = frozenset(
    (
        "issues",
        "issue_assign",
        "issue_label",
        "issue_milestone",
        "issue_comment",
        "pull_request",
        "pull_request_assign",
        "pull_request_label",
        "pull_request_milestone",
        "pull_request_sync",
        "pull_request_review_request",
        "pull_request_review_approved",
        "pull_request_review_rejected",
        "pull_request_review_comment",
        "pull_request_comment",
        "push",
    )
)

_OF_EVENT = {
    "pull_request_approved": "pull_request_review_approved",
    "pull_request_rejected": "pull_request_review_rejected",
}
_OF_ACTION = {
    "label_updated": "label",
    "label_cleared": "label",
    "assigned": "assign",
    "unassigned": "assign",
    "milestoned": "milestone",
    "demilestoned": "milestone",
    "synchronized": "sync",
    "review_requested": "review_request",
    "review_request_removed": "review_request",
}


def precise(event: str, action: str) -> str:
    """The name that X-Forgejo-Event-Type would have, from X-Forgejo-Event, which lacks detail."""
    if event == "pull_request_comment" and action == "reviewed":  # else a comment under it
        return "pull_request_review_comment"
    if event in ("issues", "pull_request") and action in _OF_ACTION:
        return f"{event.removesuffix('s')}_{_OF_ACTION[action]}"
    return _OF_EVENT.get(event, event)
