"""The one comment of a session that says how it stands: made once, edited ever after."""

from __future__ import annotations

from fordjent import posting
from fordjent.context import Context
from fordjent.forge import comments
from fordjent.forge.errors import NotFound
from fordjent.marker import mark
from fordjent.store import sessions
from fordjent.store.sessions import Session


async def follow(context: Context, session: Session) -> None:
    """Bring the comment to the session's state. One that a person deleted stays deleted."""
    said, effect = text(context, session), effect_of(session.key)
    comment = session.status_comment
    if not comment:
        made = await posting.comment(context, context.forge, session.session_key, effect, said)
        await context.database.write(sessions.note, session.key, status_comment=made.id)
        comment = made.id
    try:
        there = await comments.get(context.forge, session.repository, comment)
        if there.body != mark(posting.readable(context, said), effect):
            await posting.edit(context, context.forge, session.repository, comment, said, effect)
    except NotFound:
        return


def effect_of(key: str) -> str:
    """Under which name it is made, and known again among other comments."""
    return f"{key}:status"


def text(context: Context, session: Session) -> str:
    """How it stands, in a line or two."""
    said = _said(session)
    link = trace(context, session.key)
    return f"{said}\n\n{link}" if link else said


def trace(context: Context, key: str) -> str:
    """A link to what the session did; "": pages have no public address."""
    url = context.config.server.public_url.rstrip("/")
    return f"[What it did]({url}/trace/{key})" if url else ""


def _said(session: Session) -> str:
    reason = " ".join(session.reason.split())
    branch = f" on the branch `{session.branch}`" if session.branch else ""
    if session.state == "working":
        return f"⏳ **Working on this** as {session.role}{branch}."
    if session.state == "completed":
        return f"✅ **Done.** {reason}"
    if session.cancel and session.state == "waiting":
        return f"⏹ **Stopped:** {session.cancel}. A comment here lets it go on."
    if session.state == "waiting":
        return f"⏸ **Waiting.** {reason}"
    if session.state == "blocked":
        return f"✋ **Needs a person.** {reason}"
    if session.state == "failed":
        kept = f" What was done is{branch}." if session.branch else ""
        return f"❌ **Failed ({session.failure}).** {reason}{kept}"
    return "👀 **Seen.** It waits for its turn."
