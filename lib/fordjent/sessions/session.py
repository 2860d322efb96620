"""One run of a session: from what it is told, through the turns of its agent, to an outcome that can be seen.

    inputs -> worktree -> briefing -> turns (model <-> tools) -> evidence -> state, labels, comment, reactions

Everything that a run has done is in the database or on the branch before the next thing is begun. So a
run that was killed is simply run again: it goes on with its stored messages, under the same id.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import structlog
from sqlalchemy import Connection

from fordjent.context import Context
from fordjent.deciding.actions import Input
from fordjent.deciding.applying import SCHEDULE
from fordjent.forge.errors import Archived, NotFound
from fordjent.gates import checks
from fordjent.models.models import Models
from fordjent.roles import roles
from fordjent.sessions import ending, facts, placing
from fordjent.sessions.conversation import Progress
from fordjent.sessions.facts import Subject
from fordjent.sessions.identity import Identity
from fordjent.sessions.outcome import Outcome
from fordjent.sessions.surroundings import Surroundings
from fordjent.sessions.working import Work
from fordjent.store import events, inputs, runs, sessions, tool_calls, transitions, waiting_issues
from fordjent.store.runs import Run
from fordjent.store.sessions import Session
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import EmptyRepository, Workspaces
from harness.effects import reached

if TYPE_CHECKING:
    from fordjent.sessions.worker import Control


@dataclass
class Runs:
    """What the runs of one process share."""

    context: Context
    around: Surroundings = field(init=False)

    def __post_init__(self) -> None:
        self.around = Surroundings(self.context)
        self._config = self.context.config
        self._models = [Models(self._config, self.context.redactor.redact)]

    @property
    def models(self) -> Models:
        """Made anew when their configuration was changed; runs go on with those that they began with."""
        config, before = self.context.config, self._config
        if (config.providers, config.roles) != (before.providers, before.roles):
            self._models.append(Models(config, self.context.redactor.redact))
            self._config = config
        return self._models[-1]

    async def run(self, session: Session, control: Control) -> None:
        """Run a session whose lease the caller holds.

        Raises:
            TryLater: forge, git or disk failed for now; the run goes on later.
            Failure: it cannot go on before a person has mended something.
        """
        identity, workspaces = await self.around.identity(), await self.around.workspaces()
        await _OneRun(self, session, control, identity, workspaces).go()

    async def aclose(self) -> None:
        for models in self._models:
            await models.aclose()


@dataclass
class _OneRun:
    runs: Runs
    session: Session
    control: Control
    identity: Identity
    workspaces: Workspaces
    run: Run = field(init=False)
    progress: Progress = field(init=False)
    place: Place | None = None
    subject: Subject | None = None

    def __post_init__(self) -> None:
        self.context = self.runs.context
        self.database = self.context.database
        self.role = roles.configured(self.context.config, self.session.role)

    async def go(self) -> None:
        if not await self._begin():
            return
        self.context.bus.woke("changes")
        log = self.context.log
        structlog.contextvars.bind_contextvars(
            key=self.session.key, run=self.run.id, role=self.role.name, turn=self.run.turns
        )
        log.info("session.begun")
        reached("run-begun")
        try:
            outcome = await self._outcome()
            title = self.subject.title if self.subject else ""
            await ending.end(self.context, self.session, self.run, self.role, self.place, title, outcome)
            log.info("session.ended", state=outcome.state, why=outcome.why, reason=outcome.reason)
        finally:
            await asyncio.shield(self.progress.note(self.context, self.run.id))
            if self.place:
                await placing.rest(self.place)

    async def _begin(self) -> bool:
        """Note that it works; False: there is nothing to do."""
        key, agent_type = self.session.key, self.context.config.sessions.agent_type

        def write(connection: Connection, now: float) -> Run | None:
            waiting = inputs.waiting(connection, key)
            interrupted = runs.unfinished(connection, key)
            if not waiting and interrupted is None:
                inputs.close(connection, key)
                return None
            reason = _because(waiting[0]) if waiting else "it goes on where it was interrupted"
            transitions.change(connection, key, "working", reason, now)
            tool_calls.interrupt(connection, key, now)
            return runs.begin(connection, key, self.role.name, agent_type, now)

        begun = await self.database.write(write, time.time())
        if begun is None:
            return False
        self.run, self.progress = begun, Progress(begun.running_seconds, begun.turns)
        return True

    async def _outcome(self) -> Outcome:
        """Work, and see what came of it; what cannot be worked on at all is an outcome too."""
        try:
            return await self._work()
        except EmptyRepository:
            return await self._wait_for_ground()
        except Archived:
            await self._forget_inputs()
            return Outcome(state="blocked", reason="The repository is archived.")
        except NotFound as gone:
            await self._forget_inputs()
            return Outcome(state="waiting", reason=f"It is not there any more ({gone.message}).")

    async def _work(self) -> Outcome:
        forge, key = self.context.forge, self.session.session_key
        sources = [one.source for one in await self.database.read(inputs.waiting, self.session.key)]
        self.subject = subject = await facts.gather(forge, key, self.identity.logins, known=sources)
        if self.control.cancelled or subject.state != "open":
            return await self._unwanted(self.control.cancelled or f"it is {subject.state}")
        self.place = place = await placing.prepare(
            self.context, self.workspaces, self.session, self.role, subject
        )
        if place:
            await self.database.write(runs.started_at, self.run.id, place.seen or place.start)
            self.run = await self.database.read(runs.get, self.run.id)
        outcome = await Work(
            context=self.context,
            models=self.runs.models,
            identity=self.identity,
            session=self.session,
            role=self.role,
            run=self.run,
            progress=self.progress,
            subject=subject,
            place=place,
            cancelled=lambda: self.control.cancelled,
        ).outcome()
        return await self._until_checked(outcome)

    async def _until_checked(self, outcome: Outcome) -> Outcome:
        """A pull request is not ready before its checks are over: the session waits for them, not this run."""
        is_ready = outcome.state == "completed" and outcome.pull and self.role.makes_pull
        if not is_ready or self.place is None:
            return outcome
        waits = await checks.awaited(self.context, self.session.key, outcome.pull, self.place)
        if waits is None:
            return outcome
        return msgspec.structs.replace(outcome, state="waiting", reason=waits.reason, checks=waits)

    async def _unwanted(self, why: str) -> Outcome:
        await self._forget_inputs()
        if not self.session.cancel:
            await self.database.write(sessions.note, self.session.key, cancel=why)
        return Outcome(state="waiting", reason=f"Stopped: {why}.", pull=self.session.pull)

    async def _wait_for_ground(self) -> Outcome:
        """The scheduler lets it go on after the first commit."""
        told = Input(kind="resumed", source=f"ground:{self.run.id}")

        def write(connection: Connection, now: float) -> None:
            inputs.take(connection, self.session.key, self.run.id)
            waiting_issues.put(connection, self.session.key, self.role.name, told, now, by_person=False)
            events.ask(connection, SCHEDULE, self.session.repository, now)

        await self.database.write(write, time.time())
        self.context.bus.woke("events")
        return Outcome(state="waiting", reason="The repository has no commit yet: this begins after it.")

    async def _forget_inputs(self) -> None:
        await self.database.write(inputs.take, self.session.key, self.run.id)


def _because(first: Input) -> str:
    by = f" by {first.author}" if first.author else ""
    return f"{first.kind}{by}"
