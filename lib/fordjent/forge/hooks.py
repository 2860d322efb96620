"""Webhooks of a repository. They need an account that administrates it."""

from __future__ import annotations

from collections.abc import Sequence

from fordjent.forge import paths
from fordjent.forge.errors import NotFound
from fordjent.forge.forge import Forge
from fordjent.forge.types import Hook

EVENTS = (
    "push",
    "issues",
    "issue_label",
    "issue_comment",
    "pull_request",
    "pull_request_label",
    "pull_request_comment",
    "pull_request_review",
    "pull_request_sync",
)
"""What we make something of."""


async def list_all(forge: Forge, repository: str) -> list[Hook]:
    return await forge.all(paths.of(repository, "hooks"), Hook)


async def create(
    forge: Forge, repository: str, *, url: str, secret: str, events: Sequence[str] = EVENTS
) -> Hook:
    made = {
        "type": "forgejo",
        "active": True,
        "branch_filter": "*",
        "events": list(events),
        "config": {"url": url, "content_type": "json", "secret": secret},
    }
    return await forge.post(paths.of(repository, "hooks"), Hook, made)


async def edit(
    forge: Forge, repository: str, hook_id: int, *, url: str, secret: str, events: Sequence[str] = EVENTS
) -> Hook:
    """Bring one to what `create` would make."""
    wanted = {
        "active": True,
        "branch_filter": "*",
        "events": list(events),
        "config": {"url": url, "content_type": "json", "secret": secret},
    }
    return await forge.patch(paths.of(repository, "hooks", hook_id), Hook, wanted)


async def delete(forge: Forge, repository: str, hook_id: int) -> None:
    """One that is gone already is no error."""
    try:
        await forge.delete(paths.of(repository, "hooks", hook_id))
    except NotFound:
        return


async def test(forge: Forge, repository: str, hook_id: int) -> None:
    """Let the server send a push event of the default branch's head; empty repositories send none."""
    await forge.request("POST", paths.of(repository, "hooks", hook_id, "tests"))
