"""One run of a session: from what it is told, through the turns of its agent, to an outcome that can be seen.

    inputs -> worktree -> briefing -> turns (model <-> tools) -> evidence -> state, labels, comment, reactions

Everything that a run has done is in the database or on the branch before the next thing is begun. So a
run that was killed is simply run again: it goes on with its stored messages, under the same id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection

from fordjent import threads
from fordjent.agent import turns
from fordjent.agent.protocols import Ended, Limits
from fordjent.context import Context
from fordjent.deciding.actions import Input
from fordjent.forge.errors import Archived, NotFound
from fordjent.forge.reactions import SEEN, WORKING
from fordjent.models.messages import answer_to, user
from fordjent.models.metering import MeteredModel, Payer
from fordjent.models.models import Models
from fordjent.roles import roles
from fordjent.sessions import briefing, ending, evidence, facts, placing, showing
from fordjent.sessions.briefing import Brief
from fordjent.sessions.conversation import Progress, SessionConversation
from fordjent.sessions.facts import Subject
from fordjent.sessions.identity import Identity
from fordjent.sessions.outcome import Outcome, judge
from fordjent.sessions.surroundings import Surroundings
from fordjent.store import inputs, notes, runs, sessions, tool_calls, transitions
from fordjent.store.runs import Run
from fordjent.store.sessions import Session
from fordjent.tools.ground import RunFolder
from fordjent.tools.scope import NotHere, Scope
from fordjent.tools.toolbox import Toolbox
from fordjent.workspaces.place import Place
from fordjent.workspaces.workspaces import EmptyRepository, Workspaces
from harness.config import seconds
from harness.effects import reached
from harness.errors import BadConfig, Missing

if TYPE_CHECKING:
    from fordjent.sessions.worker import Control

REMINDERS = 2
"""How often an agent that ended without what its role is for is told so."""


@dataclass
class Runs:
    """What the runs of one process share."""

    context: Context
    models: Models = field(init=False)
    around: Surroundings = field(init=False)

    def __post_init__(self) -> None:
        self.models = Models(self.context.config, self.context.redactor.redact)
        self.around = Surroundings(self.context)

    async def run(self, session: Session, control: Control) -> None:
        """Run a session whose lease the caller holds.

        Raises:
            TryLater: forge, git or disk failed for now; the run goes on later.
        """
        identity, workspaces = await self.around.identity(), await self.around.workspaces()
        await _OneRun(self, session, control, identity, workspaces).go()

    async def aclose(self) -> None:
        await self.models.aclose()


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
        self.config = self.context.config
        self.database = self.context.database
        self.key = self.session.session_key
        self.role = roles.configured(self.config, self.session.role)

    async def go(self) -> None:
        if not await self._begin():
            return
        self.context.bus.woke("changes")
        log = self.context.log.bind(session=self.session.key, run=self.run.id, role=self.role.name)
        log.info("session.begun", turns=self.run.turns)
        reached("run-begun")
        try:
            outcome = await self._outcome()
            title = self.subject.title if self.subject else ""
            await ending.end(self.context, self.session, self.run, self.role, self.place, title, outcome)
            log.info("session.ended", state=outcome.state, why=outcome.why, reason=outcome.reason)
            await threads.run(RunFolder.of(self.config, self.run.id).remove)
        finally:
            await asyncio.shield(self.progress.note(self.context, self.run.id))

    # ---- the parts, in order

    async def _begin(self) -> bool:
        """Note that it works; False: there is nothing to do."""

        def write(connection: Connection, now: float) -> Run | None:
            waiting = inputs.waiting(connection, self.session.key)
            interrupted = runs.unfinished(connection, self.session.key)
            if not waiting and interrupted is None:
                inputs.close(connection, self.session.key)
                return None
            reason = _because(waiting[0]) if waiting else "it goes on where it was interrupted"
            transitions.change(connection, self.session.key, "working", reason, now)
            tool_calls.interrupt(connection, self.session.key, now)
            return runs.begin(
                connection, self.session.key, self.role.name, self.config.sessions.agent_type, now
            )

        begun = await self.database.write(write, time.time())
        if begun is None:
            return False
        self.run, self.progress = begun, Progress(begun.running_seconds, begun.turns)
        return True

    async def _outcome(self) -> Outcome:
        """Work, and see what came of it; what cannot be worked on at all is an outcome too."""
        try:
            sources = [one.source for one in await self.database.read(inputs.waiting, self.session.key)]
            self.subject = await facts.gather(
                self.context.forge, self.key, self.identity.logins, known=sources
            )
            if self.control.cancelled or self.subject.state != "open":
                return await self._unwanted()
            self.place = await placing.prepare(
                self.context, self.workspaces, self.session, self.role, self.subject
            )
            if self.place:
                began_at = self.place.seen or self.place.start
                await self.database.write(runs.started_at, self.run.id, began_at)
                self.run = await self.database.read(runs.get, self.run.id)
            return await self._work(sources)
        except EmptyRepository as empty:
            await self._forget_inputs()
            return Outcome(state="blocked", reason=f"{empty.message}: {empty.hint}, then comment here.")
        except Archived:
            await self._forget_inputs()
            return Outcome(state="blocked", reason="The repository is archived.")
        except NotFound as gone:
            await self._forget_inputs()
            return Outcome(state="waiting", reason=f"It is not there any more ({gone.message}).")

    async def _unwanted(self) -> Outcome:
        assert self.subject
        await self._forget_inputs()
        why = self.control.cancelled or f"it is {self.subject.state}"
        if not self.session.cancel:
            await self.database.write(sessions.note, self.session.key, cancel=why)
        return Outcome(state="waiting", reason=f"Stopped: {why}.", pull=self.session.pull)

    async def _forget_inputs(self) -> None:
        await self.database.write(inputs.take, self.session.key, self.run.id)

    async def _work(self, sources: list[str]) -> Outcome:
        toolbox = Toolbox(await self._scope())

        async def on_turn() -> int:  # counted over all starts of the run: its budget is for the run
            self.progress.turns += 1
            toolbox.turn = self.progress.turns
            await self.progress.note(self.context, self.run.id)
            return self.progress.turns

        def meanwhile(new: Sequence[Input]) -> str:
            return briefing.meanwhile(self.config, new)

        conversation = SessionConversation(self.context, self.session.key, self.run.id, meanwhile, on_turn)
        await conversation.load()
        told, _ = await asyncio.gather(self._tell(conversation), showing.show(self.context, self.session.key))
        await showing.react(self.context, self.session.key, told or sources, on=SEEN)
        await showing.react(self.context, self.session.key, told or sources, on=WORKING)
        reached("run-briefed")
        ended = await self._finish_interrupted(conversation, toolbox)
        if self.config.sessions.agent_type != ending.BUILTIN:
            return await self._judged(ended or await self._by_cli(conversation, toolbox))
        for reminder in range(REMINDERS + 1):
            outcome = await self._judged(ended or await self._turns(conversation, toolbox))
            ended = None
            if not outcome.lacking or reminder == REMINDERS or self._turns_left <= 0:
                return outcome
            said = briefing.unfinished(self.config, outcome.lacking, outcome.way_out)
            await conversation.append(user(said))
        raise AssertionError("the last reminder returns")

    async def _tell(self, conversation: SessionConversation) -> list[str]:
        """Tell the agent what is wanted, unless that was done before an interruption; the inputs' sources."""
        assert self.subject
        if conversation.is_begun:
            return [
                one.source for one in await self.database.read(inputs.of_run, self.session.key, self.run.id)
            ]
        brief = await self._brief()
        rules = briefing.system(self.config, self.role, self.key.repository, self.identity.login)
        tell = briefing.task if conversation.is_new else briefing.again
        taken = await conversation.begin(rules, lambda new: tell(self.config, brief, new))
        return [one.source for one in taken]

    async def _brief(self) -> Brief:
        assert self.subject
        place, repository = self.place, self.key.repository
        noted = await self.database.read(notes.of_key, self.session.key)
        pull = await evidence.pull_of(self.context, self.session, place.branch) if place else None
        return Brief(
            repository=repository,
            subject=self.subject,
            place=await placing.look(place) if place else None,
            base=place.base if place else "",
            own_pull=pull.number if pull and not pull.merged and self.role.makes_pull else 0,
            notes=tuple(note.text for note in noted),
            instructions=await threads.run(briefing.instructions, place.control, place.base_commit)
            if place
            else "",
        )

    async def _finish_interrupted(self, conversation: SessionConversation, toolbox: Toolbox) -> Ended | None:
        """Answer the calls that a kill cut off, those that can be made again by making them."""
        ended = None
        for call in await conversation.unanswered():
            result = await toolbox.resume(call, self.run.id)
            await conversation.append(answer_to(call, result.text))
            if result.ends:
                ended = Ended("ended_by_tool", result.text, 0)
        return ended

    async def _turns(self, conversation: SessionConversation, toolbox: Toolbox) -> Ended:
        if self._turns_left <= 0:  # killed between the last turn and its outcome
            return await conversation.ended()
        payer = Payer(self.session.key, self.run.id, self.key.repository, self.role.name)
        model = MeteredModel(self.runs.models.of(self.role.name), self.database, self.config.budget, payer)
        limits = Limits(
            max_turns=self._turns_left,
            context_window=self.config.agent.context_window,
            compaction_threshold=self.config.agent.compaction_threshold,
            compaction=self.config.agent.compaction,
        )
        return await turns.run(conversation, model, toolbox, limits, self._watch)

    async def _by_cli(self, conversation: SessionConversation, toolbox: Toolbox) -> Ended:
        from fordjent.sessions import cli_agents

        left = seconds(self.config.sessions.run_timeout) - self.progress.seconds
        given = cli_agents.AgentRun(
            context=self.context,
            key=self.key,
            run=self.run.id,
            toolbox=toolbox,
            conversation=conversation,
            watch=self._watch,
            seconds_left=left,
            max_turns=self._turns_left,
        )
        try:
            return await cli_agents.run(given)
        except (BadConfig, Missing, NotHere) as failure:
            return Ended(
                "error", f"{failure.message} ({failure.hint})" if failure.hint else failure.message, 0
            )

    async def _judged(self, ended: Ended) -> Outcome:
        seen = await evidence.gather(self.context, self.session, self.run, self.role, self.place)
        return judge(self.role, ended, seen, self.control.cancelled)

    # ---- around them

    async def _scope(self) -> Scope:
        return await threads.run(
            Scope.of_session,
            self.context,
            key=self.key,
            role=self.role,
            run=self.run.id,
            place=self.place,
            branch=self.place.branch if self.place else "",
            base=self.place.base if self.place else "",
            person=self.identity.person,
        )

    @property
    def _turns_left(self) -> int:
        return self.role.max_turns - self.progress.turns

    def _watch(self) -> Literal["", "cancelled", "timeout"]:
        if self.control.cancelled:
            return "cancelled"
        over = self.progress.seconds > seconds(self.config.sessions.run_timeout)
        return "timeout" if over else ""


def _because(first: Input) -> str:
    by = f" by {first.author}" if first.author else ""
    return f"{first.kind}{by}"
