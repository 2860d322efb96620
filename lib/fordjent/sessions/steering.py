"""What an administrator does to a session: stop it, have it tried again, let it go on."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection

from fordjent.deciding.actions import Input
from fordjent.store import inputs, sessions
from fordjent.store.sessions import Session
from harness.errors import BadData, Busy

What = Literal["stop", "retry", "unblock"]
WHO = "an administrator"
AT_REST = ("waiting", "failed", "blocked", "completed")


def possible(state: str, at_work: bool, waits: bool) -> list[What]:
    """What can be done to a session in that state; `waits`: something that it was told starts a run soon."""
    if at_work or state == "working":
        return ["stop"]
    found: list[What] = ["stop"] if waits else []
    if state == "blocked":
        return [*found, "unblock"]
    return [*found, "retry"] if state in AT_REST and not waits else found


def steer(connection: Connection, key: str, what: What, now: float) -> str:
    """Do it; what was done, in a person's words. The next look of the worker brings it about.

    Raises:
        BadData: there is no such session.
        Busy: it is in no state for that any more.
    """
    session = sessions.get(connection, key)
    if session is None:
        raise BadData(f"there is no session {key}")
    if what not in possible(session.state, session.lease_until > now, session.ready_at is not None):
        raise Busy(f"{key} is {session.state} now", hint="load the page anew")
    if what == "stop":
        ran = inputs.cancel(connection, key, f"stopped by {WHO}")
        return f"{key} is told to stop" if ran else f"{key} does not start for what waits"
    _tell(connection, session, what, now)
    return f"{key} is tried again" if what == "retry" else f"{key} goes on"


def _tell(connection: Connection, session: Session, what: What, now: float) -> None:
    """As if a person had said it on the forge: failures count anew, and it is not cancelled any more."""
    text = (
        f"{WHO.capitalize()} has it tried again: look at what failed the last time, and finish the work."
        if what == "retry"
        else f"{WHO.capitalize()} has cleared the way: see whether what blocked you is gone, and go on."
    )
    told = Input(kind="retry", source=f"admin:{what}:{now:.6f}", author=WHO, text=text, at=now)
    inputs.feed(connection, session.key, session.role, told, None, now, 0.0, by_person=True)
