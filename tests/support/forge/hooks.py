"""Webhooks of a repository."""

from __future__ import annotations

from typing import Any

from tests.support.forge.calls import Answer, Call, answers, done, pick
from tests.support.forge.errors import Refusal
from tests.support.forge.state import Hook, World, now

# In the order in which the forge lists what a hook hears.
EVENTS = (
    "create", "delete", "fork", "push", "issues", "issue_assign", "issue_label", "issue_milestone", "issue_comment",
    "pull_request", "pull_request_assign", "pull_request_label", "pull_request_milestone", "pull_request_comment",
    "pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment",
    "pull_request_sync", "wiki", "repository", "release", "pull_request_review_request",
)  # fmt: skip


def heard(given: list[str]) -> list[str]:
    """`issues` and `pull_request` bring the finer ones with them; reviews are asked for as one."""
    asked = set(given)
    if "issues" in asked:
        asked |= {name for name in EVENTS if name.startswith("issue")}
    if "pull_request" in asked:
        asked |= {name for name in EVENTS if name.startswith("pull_request")}
    if "pull_request_review" in asked:
        asked |= {
            name
            for name in EVENTS
            if name.startswith("pull_request_review_") and "request_review_request" not in name
        }
    return [name for name in EVENTS if name in asked]


def add_hook(
    world: World,
    url: str,
    secret: str,
    events: list[str],
    content_type: str = "json",
    branch_filter: str = "*",
) -> Hook:
    return Hook(
        world.next_id("hook"), url, secret, content_type, heard(events), branch_filter=branch_filter or "*"
    )


@answers("GET", "/repos/{owner}/{repo}/hooks")
def hooks(call: Call) -> Answer:
    return call.page(call.repository("admin").hooks, _show)


@answers("POST", "/repos/{owner}/{repo}/hooks")
def create(call: Call) -> Answer:
    repository = call.repository("admin", change=True)
    config = call.body.get("config") or {}
    if call.body.get("type") not in ("forgejo", "gitea", "gogs"):
        raise Refusal(422, "Invalid hook type: " + str(call.body.get("type", "")))
    for name in ("url", "content_type"):
        if not config.get(name):
            raise Refusal(422, f"Missing config option: {name}")
    hook = add_hook(
        call.world, config["url"], config.get("secret", ""), call.body.get("events") or ["push"],
        config["content_type"], call.body.get("branch_filter", "*"),
    )  # fmt: skip
    hook.active = bool(call.body.get("active"))
    hook.authorization = call.body.get("authorization_header", "")
    repository.hooks.append(hook)
    return Answer(201, _show(hook))


@answers("GET", "/repos/{owner}/{repo}/hooks/{id}")
def one(call: Call) -> Answer:
    return Answer(body=_show(pick(call.repository("admin").hooks, call.arguments["id"])))


@answers("PATCH", "/repos/{owner}/{repo}/hooks/{id}")
def edit(call: Call) -> Answer:
    hook = pick(call.repository("admin", change=True).hooks, call.arguments["id"])
    config = call.body.get("config") or {}
    hook.url, hook.secret = config.get("url", hook.url), config.get("secret", hook.secret)
    hook.content_type = config.get("content_type", hook.content_type)
    hook.active = call.body.get("active", hook.active)
    hook.branch_filter = call.body.get("branch_filter") or hook.branch_filter
    hook.events = heard(call.body["events"]) if call.body.get("events") else hook.events
    return Answer(body=_show(hook))


@answers("DELETE", "/repos/{owner}/{repo}/hooks/{id}")
def delete(call: Call) -> Answer:
    repository = call.repository("admin", change=True)
    repository.hooks.remove(pick(repository.hooks, call.arguments["id"]))
    return done()


@answers("POST", "/repos/{owner}/{repo}/hooks/{id}/tests")
def test(call: Call) -> Answer:
    """Sends the hook a push of the newest commit onto itself."""
    repository = call.repository("write", change=True)
    hook = pick(repository.hooks, call.arguments["id"])
    head = repository.bare.head(repository.default_branch)
    if head:
        call.events.push(
            repository, f"refs/heads/{repository.default_branch}", head, head, call.me(), only=hook
        )
    return done()


def _show(hook: Hook) -> dict[str, Any]:
    return {
        "id": hook.id, "type": "forgejo", "branch_filter": hook.branch_filter, "url": hook.url,
        "config": {"content_type": hook.content_type, "url": hook.url}, "events": hook.events,
        "authorization_header": hook.authorization, "content_type": hook.content_type, "metadata": None,
        "active": hook.active, "updated_at": now(), "created_at": hook.created,
    }  # fmt: skip
