"""Our webhook on a repository: one, found by its address, as it must be."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from fordjent.forge import hooks
from fordjent.forge.forge import Forge
from fordjent.forge.types import Hook
from fordjent.intake.receiver import PATH

NEEDED = frozenset(
    (
        "push",
        "issues",
        "issue_assign",
        "issue_label",
        "issue_comment",
        "pull_request",
        "pull_request_label",
        "pull_request_comment",
        "pull_request_review_approved",
        "pull_request_review_rejected",
        "pull_request_review_comment",
        "pull_request_sync",
    )
)
"""As the server lists them: what is asked for as `issues` brings the finer ones with it."""
ALLOWED_HOSTS = "[webhook] ALLOWED_HOST_LIST"


def address(public_url: str) -> str:
    return public_url.rstrip("/") + PATH


async def find(forge: Forge, repository: str, url: str) -> list[Hook]:
    """Those that deliver to that address, oldest first.

    Raises:
        NotAllowed: the account does not administrate the repository.
    """
    found = [one for one in await hooks.list_all(forge, repository) if one.url.rstrip("/") == url.rstrip("/")]
    return sorted(found, key=lambda one: one.id)


def faults(hook: Hook) -> list[str]:
    """What is wrong with it; its secret is not told by any forge."""
    wrong = [] if hook.active else ["is not active"]
    if hook.config.get("content_type", "json") != "json":
        wrong.append(f"sends {hook.config['content_type']}")
    if lacking := sorted(NEEDED - set(hook.events)):
        wrong.append(f"lacks {', '.join(lacking)}")
    if hook.branch_filter not in ("", "*"):
        wrong.append(f"leaves out branches ({hook.branch_filter})")
    return wrong


async def ensure(forge: Forge, repository: str, url: str, secret: str) -> str:
    """Make it, or mend it: its secret is set anew each time. What was done, for a person.

    Raises:
        NotAllowed: the account does not administrate the repository.
    """
    there = await find(forge, repository, url)
    if not there:
        made = await hooks.create(forge, repository, url=url, secret=secret)
        return f"made hook {made.id}: {url}"
    first, *doubled = there
    for one in doubled:
        await hooks.delete(forge, repository, one.id)
    wrong = faults(first)
    await hooks.edit(forge, repository, first.id, url=url, secret=secret)
    if doubled:
        wrong.append(f"was there {len(there)} times")
    return (
        f"mended hook {first.id}: it {'; it '.join(wrong)}" if wrong else f"hook {first.id} is as it must be"
    )


def refusal(url: str) -> str:
    """What a stock forge says to that address, and what lets it through; "": it delivers there."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return f"app.ini of the forge: {ALLOWED_HOSTS} = external,loopback"
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if ip.is_loopback:
        return f"app.ini of the forge: {ALLOWED_HOSTS} = external,loopback"
    return f"app.ini of the forge: {ALLOWED_HOSTS} = external,private" if ip.is_private else ""
