"""The end of a run: what was done is kept on the branch, and what came of it is written down and said."""

from __future__ import annotations

import time

import msgspec
from sqlalchemy import Connection

from fordjent import posting, threads
from fordjent.context import Context
from fordjent.deciding.applying import SCHEDULE
from fordjent.forge.reactions import DONE, FAILED, WORKING
from fordjent.gates import push
from fordjent.gates.gate import Blocked
from fordjent.memory import annotating
from fordjent.roles.roles import Role
from fordjent.scheduling import retries
from fordjent.scheduling.retries import Retry
from fordjent.sessions import showing, status_comment
from fordjent.sessions.outcome import Outcome
from fordjent.store import events, inputs, runs, sessions, transitions, waiting_checks
from fordjent.store.runs import Run
from fordjent.store.sessions import Session
from fordjent.tools.ground import RunFolder
from fordjent.workspaces.place import Place
from harness.effects import reached
from harness.errors import Failure

BUILTIN = "builtin"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`commits`: that the branch has beyond its base, on the forge; `withheld`: files that were not
    committed, with the reason; `failed`: why the branch could not be pushed."""

    commits: int = 0
    commit: str = ""
    withheld: tuple[str, ...] = ()
    failed: str = ""


async def end(
    context: Context,
    session: Session,
    run: Run,
    role: Role,
    place: Place | None,
    title: str,
    outcome: Outcome,
) -> None:
    """Bring a run to its outcome. Repeatable, after kill -9 anywhere too.

    Raises:
        TryLater: the forge does not answer; the next start comes here again.
    """
    kept = Kept()
    if place is not None and role.writes_code and outcome.state != "completed":
        kept = await keep(context, place, title)
    elif place is not None and role.writes_code:
        kept = Kept(commit=await _head(context, place))
    retry = await _retry(context, session, outcome)
    if outcome.state == "failed":
        text = failure_text(context, session, place, outcome, kept, retry)
        effect = f"{session.key}:{run.id}:failed"
        await posting.comment(context, context.forge, session.session_key, effect, text)
    await context.database.write(_write, session, run.id, outcome, kept.commit, retry, time.time())
    reached("outcome-written")
    for name in ("changes", "events", "sessions"):
        context.bus.woke(name)
    if run.agent_type == BUILTIN:  # of an agent CLI the transcript stays
        await threads.run(RunFolder.of(context.config, run.id).remove)
    await show(context, session.key, run.id, outcome)


async def show(context: Context, key: str, run: str, outcome: Outcome) -> None:
    """Labels, status comment and reactions for what is in the database already."""
    await showing.show(context, key)
    sources = [one.source for one in await context.database.read(inputs.of_run, key, run)]
    mark = {"completed": DONE, "failed": FAILED}.get(outcome.state, "")
    await showing.react(context, key, sources, on=mark, off=WORKING)


async def keep(context: Context, place: Place, title: str) -> Kept:
    """Commit what is not committed, and push the branch; what must not be pushed is named and stays."""
    try:
        left = await threads.run_in(place.root, place.commit_left_overs, title)
        withheld = tuple(f"{one.path} ({one.rule})" for one in left.withheld)
        head = await threads.run_in(place.root, place.head)
        if head == place.base_commit or head == place.remote_head:
            return Kept(commit=head, withheld=withheld)
        reached("left-overs-committed")
        protected = context.config.policy.protected_branches
        verdict = await threads.run_in(place.root, push.push, place, protected)
        if isinstance(verdict, Blocked):
            return Kept(commit=head, withheld=withheld, failed=context.redactor.redact(verdict.reason))
        head = verdict.commit or head
        reached("branch-kept")
        await annotating.annotate(context, place)
        ahead, _ = await threads.run(place.control.ahead_behind, head, place.base_commit)
        return Kept(commits=ahead, commit=head, withheld=withheld)
    except Failure as failure:
        context.log.warning("session.not_kept", path=str(place.path), why=failure.message)
        return Kept(failed=context.redactor.redact(failure.message))


async def _head(context: Context, place: Place) -> str:
    """What a run that needs nothing kept has come to; "" where git does not say."""
    try:
        return await threads.run_in(place.root, place.head)
    except Failure as failure:
        context.log.warning("session.head_unknown", path=str(place.path), why=failure.message)
        return ""


async def _retry(context: Context, session: Session, outcome: Outcome) -> Retry | None:
    if outcome.state != "failed":
        return None
    current = await context.database.read(sessions.get, session.key)
    failures = current.failures if current else 0
    config = context.config.sessions
    return retries.after(config, outcome.why, failures, time.time(), lasting=outcome.lasting)


def failure_text(
    context: Context,
    session: Session,
    place: Place | None,
    outcome: Outcome,
    kept: Kept,
    retry: Retry | None = None,
) -> str:
    """The one comment about a run that failed."""
    lines = [f"I stopped without finishing this: {outcome.reason}"]
    if place is not None and kept.commits:
        lines.append(f"What is done so far is on the branch `{place.branch}` ({kept.commits} commits).")
    if kept.withheld:
        files = "\n".join(f"- `{name}`" for name in kept.withheld)
        lines.append(f"These files were not committed, and are only on the server:\n{files}")
    if kept.failed:
        lines.append(f"The branch could not be pushed, and is only on the server: {kept.failed}")
    if retry:
        lines.append(f"{retry} A comment here lets me go on at once.")
    else:
        then = "After that, a" if outcome.why == "budget" else "A"
        lines.append(f"{then} comment here lets me go on from there.")
    link = status_comment.trace(context, session.key)
    if link:
        lines.append(link)
    return "\n\n".join(lines)


def _write(
    connection: Connection,
    about: Session,
    run: str,
    outcome: Outcome,
    commit: str,
    retry: Retry | None,
    now: float,
) -> None:
    key = about.key
    reason = f"{outcome.reason} {retry}" if retry else outcome.reason
    transitions.change(connection, key, outcome.state, reason, now, outcome.why)
    runs.end(connection, run, outcome.state, reason, now, end_commit=commit)
    session = sessions.get(connection, key)
    failures = session.failures + 1 if session and outcome.state == "failed" else 0
    sessions.note(connection, key, failures=failures)
    if retry:
        retries.plan(connection, key, run, outcome.reason, retry, now)
    if outcome.state == "completed" and not outcome.pull:  # a pm's parts may be done, or the ground is laid
        events.ask(connection, SCHEDULE, about.repository, now)
    if outcome.pull:
        sessions.note(connection, key, pull=outcome.pull)
    if outcome.checks:
        waiting_checks.put(connection, outcome.checks)
    else:
        waiting_checks.drop(connection, key)
