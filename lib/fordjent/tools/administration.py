"""Webhooks and tokens. Making and deleting them is only for a role that config.toml gives the tool by name."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from fordjent import threads
from fordjent.forge import hooks, users
from fordjent.forge.types import Hook
from fordjent.once import once
from fordjent.tools.arguments import Repository
from fordjent.tools.output import listed
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness import atomic
from harness.errors import BadData

SCOPES = ("read:repository", "read:issue")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ListHooks(Arguments, frozen=True):
    """List the webhooks of the repository."""

    repository: Repository = ""


class CreateHook(Arguments, frozen=True):
    """Make a webhook of the repository."""

    url: Annotated[
        str, Meta(description="Where deliveries go: http or https", min_length=1, max_length=2_000)
    ]
    secret: Annotated[str, Meta(description="What deliveries are signed with", min_length=16, max_length=200)]
    events: Annotated[
        list[str],
        Meta(description="Which ones; none named: issues, comments, pull requests, reviews, pushes"),
    ] = []
    repository: Repository = ""


class DeleteHook(Arguments, frozen=True):
    """Delete a webhook of the repository."""

    hook_id: Annotated[int, Meta(description="Its id, as forgejo_list_hooks shows it", ge=1)]
    repository: Repository = ""


class CreateToken(Arguments, frozen=True):
    """Make an access token that reads repositories and issues. It is put in a file, and shown to nobody."""

    username: Annotated[str, Meta(description="Whose", min_length=1, max_length=100)]
    token_name: Annotated[str, Meta(description="What it is called", min_length=1, max_length=100)]


async def list_hooks(scope: Scope, asked: ListHooks) -> str:
    found = await hooks.list_all(scope.session.forge, scope.repository(asked.repository))
    return listed((_line(hook) for hook in found), "no webhooks")


async def create_hook(scope: Scope, asked: CreateHook) -> Outcome:
    repository, session = scope.repository(asked.repository), scope.session
    parts = urlsplit(asked.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise BadData("url: must be http or https, without a name or password")
    before = {hook.id for hook in await hooks.list_all(session.forge, repository)}

    async def find() -> Hook | None:
        listing = await hooks.list_all(session.forge, repository)
        return next((hook for hook in listing if hook.url == asked.url), None)

    async def do() -> Hook:
        events = asked.events or hooks.EVENTS
        return await hooks.create(
            session.forge, repository, url=asked.url, secret=asked.secret, events=events
        )

    made = await once(session.context, scope.effect, "hook", str(session.key), find=find, do=do, result=Hook)
    return Outcome(f"{'it was there: ' if made.id in before else ''}{_line(made)}", changed=True)


async def delete_hook(scope: Scope, asked: DeleteHook) -> Outcome:
    await hooks.delete(scope.session.forge, scope.repository(asked.repository), asked.hook_id)
    return Outcome(f"webhook {asked.hook_id} is not there any more", changed=True)


async def create_token(scope: Scope, asked: CreateToken) -> Outcome:
    session = scope.session
    if not NAME.fullmatch(asked.username) or not NAME.fullmatch(asked.token_name):
        raise BadData("username, token_name: letters, digits, dots, dashes and underscores")
    made = await users.create_token(session.forge, asked.username, asked.token_name, SCOPES)
    place = session.context.config.state_dir / "tokens" / f"{asked.username}-{asked.token_name}"
    await threads.run(atomic.write_bytes, place, made.sha1.encode() + b"\n")
    return Outcome(f"token {made.id} of {asked.username}; it stands in {place}", changed=True)


TOOLS = (
    Tool("forgejo_list_hooks", ListHooks, list_hooks),
    Tool("forgejo_create_hook", CreateHook, create_hook, secret=frozenset(("secret",))),
    Tool("forgejo_delete_hook", DeleteHook, delete_hook),
    Tool("forgejo_create_token", CreateToken, create_token, again=False),
)


def _line(hook: Hook) -> str:
    url = urlsplit(hook.url)
    return f"webhook {hook.id} to {url.scheme}://{url.hostname}{url.path}: {', '.join(hook.events)}"
