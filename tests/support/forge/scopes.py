"""What a token with few scopes may do."""

from __future__ import annotations

from tests.support.forge.errors import Refusal
from tests.support.forge.state import Token


def check(token: Token, method: str, template: str) -> None:
    """403 where none of the token's scopes covers the path: `write:` covers `read:`."""
    wanted = needed(method, template)
    if "all" in token.scopes or wanted is None or wanted in token.scopes:
        return
    if wanted.startswith("read:") and wanted.replace("read:", "write:") in token.scopes:
        return
    raise Refusal(403, f"token does not have at least one of required scope(s): [{wanted}]")


def needed(method: str, template: str) -> str | None:
    verb = "read" if method in ("GET", "HEAD") else "write"
    parts = template.strip("/").split("/")
    if parts[0] in ("version", "settings"):
        return None
    if parts[0] == "repos" and any(part in ("issues", "labels", "milestones") for part in parts[1:4]):
        return f"{verb}:issue"
    names = {"repos": "repository", "user": "user", "users": "user", "orgs": "organization", "admin": "admin"}
    return f"{verb}:{names.get(parts[0], 'misc')}"
