"""What a tool call may touch: a folder to work in, a session on the forge, or both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.errors import BadData, Failure
from harness.redaction import Redactor

if TYPE_CHECKING:
    from fordjent.context import Context
    from fordjent.forge.forge import Forge
    from fordjent.roles.roles import Role
    from fordjent.session_key import SessionKey
    from fordjent.tools.ground import Ground
    from fordjent.workspaces.place import Place
    from harness.git import Person


class NotHere(Failure):
    """The tool needs what this use of it does not have."""

    code = "not_here"


@dataclass(frozen=True)
class Session:
    """What a call is bound to on the forge. `forge` acts as the role; `branch` "": it has none."""

    context: Context
    forge: Forge
    key: SessionKey
    branch: str = ""
    base: str = ""
    place: Place | None = None
    person: Person | None = None

    @property
    def repository(self) -> str:
        return self.key.repository


@dataclass(frozen=True)
class Scope:
    """Of one run. `tools`: the names that may be used; `call`: the id of the call that is being done."""

    role: str
    run: str
    tools: tuple[str, ...]
    redactor: Redactor
    log: Any
    on_ground: Ground | None = None
    in_session: Session | None = None
    call: str = ""

    @classmethod
    def of_session(
        cls,
        context: Context,
        *,
        key: SessionKey,
        role: Role,
        run: str,
        place: Place | None,
        branch: str = "",
        base: str = "",
        person: Person | None = None,
    ) -> Scope:
        """What a run of a session may touch. Looks at files and tries the sandbox: in a thread.

        Raises:
            BadConfig: the sandbox that was asked for cannot be had.
        """
        from fordjent.tools.ground import Ground
        from fordjent.tools.permission import names

        token = context.config.roles[role.name].token if role.name in context.config.roles else ""
        forge = context.forge.as_role(token) if token else context.forge
        return cls(
            role=role.name,
            run=run,
            tools=names(role, context.config),
            redactor=context.redactor,
            log=context.log,
            on_ground=Ground.of_session(context.config, place, run, person) if place else None,
            in_session=Session(context, forge, key, branch, base, place, person),
        )

    @classmethod
    def of_folder(
        cls, ground: Ground, redactor: Redactor, log: Any, *, run: str, tools: Iterable[str] | None = None
    ) -> Scope:
        """A folder without a forge: every local tool, or those of `tools`."""
        from fordjent.tools.local import LOCAL

        chosen = tuple(LOCAL if tools is None else tools)
        return cls(role="", run=run, tools=chosen, redactor=redactor, log=log, on_ground=ground)

    def during(self, call: str, name: str, arguments: str) -> Scope:
        """The scope of one call. Models give ids twice, so the call is known by what it says too."""
        digest = hashlib.sha256("\0".join((call, name, arguments)).encode("utf-8", "replace")).hexdigest()
        return replace(self, call=digest[:20])

    @property
    def ground(self) -> Ground:
        """
        Raises:
            NotHere: there is no folder.
        """
        if self.on_ground is None:
            raise NotHere("there is no checkout of the repository in this session")
        return self.on_ground

    @property
    def session(self) -> Session:
        """
        Raises:
            NotHere: there is no forge.
        """
        if self.in_session is None:
            raise NotHere(
                "this needs a repository on the forge", hint="name it with --repository or --session"
            )
        return self.in_session

    @property
    def effect(self) -> str:
        """The id of what the call does to the forge: a restart that does it again finds it done."""
        return f"{self.session.key}:{self.run}:{self.call}"

    def repository(self, named: str) -> str:
        """The session's repository, also when it was named.

        Raises:
            BadData: another was named.
        """
        own = self.session.repository
        if named and named.strip("/").casefold() != own.casefold():
            raise BadData(f"repository: this session works on {own} only", hint="leave `repository` out")
        return own
