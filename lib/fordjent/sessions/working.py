"""The middle of a run: the agent is told what is wanted, and takes turns until what it left can be judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from fordjent import threads
from fordjent.agent import turns
from fordjent.agent.protocols import Ended, Limits
from fordjent.context import Context
from fordjent.deciding.actions import Input
from fordjent.forge.reactions import SEEN, WORKING
from fordjent.memory import recall
from fordjent.models.messages import answer_to, user
from fordjent.models.metering import MeteredModel, Payer
from fordjent.models.models import Models
from fordjent.roles.roles import Role
from fordjent.sessions import briefing, ending, evidence, placing, showing
from fordjent.sessions.briefing import Brief
from fordjent.sessions.conversation import Progress, SessionConversation
from fordjent.sessions.facts import Subject
from fordjent.sessions.identity import Identity
from fordjent.sessions.outcome import Outcome, judge
from fordjent.store import inputs
from fordjent.store.runs import Run
from fordjent.store.sessions import Session
from fordjent.tools.scope import NotHere, Scope
from fordjent.tools.toolbox import Toolbox
from fordjent.workspaces.place import Place
from harness.config import seconds
from harness.effects import reached
from harness.errors import BadConfig, Missing

REMINDERS = 2
"""How often an agent that ended without what its role is for is told so."""


@dataclass
class Work:
    """One start of a run, with all that was found out for it. `cancelled`: why it is to stop; "": it is not."""

    context: Context
    models: Models
    identity: Identity
    session: Session
    role: Role
    run: Run
    progress: Progress
    subject: Subject
    place: Place | None
    cancelled: Callable[[], str]

    async def outcome(self) -> Outcome:
        """
        Raises:
            TryLater: the forge or git failed; the next start goes on from what is stored.
        """
        toolbox = Toolbox(await self._scope())
        conversation = await self._conversation(toolbox)
        sources, _ = await asyncio.gather(
            self._tell(conversation), showing.show(self.context, self.session.key)
        )
        await showing.react(self.context, self.session.key, sources, on=SEEN)
        await showing.react(self.context, self.session.key, sources, on=WORKING)
        reached("run-briefed")
        if self.place:
            await placing.rest(self.place)
        ended = await self._finish_interrupted(conversation, toolbox)
        if self.run.agent_type != ending.BUILTIN:
            return await self._judged(ended or await self._by_cli(conversation, toolbox))
        for reminder in range(REMINDERS + 1):
            outcome = await self._judged(ended or await self._by_turns(conversation, toolbox))
            ended = None
            if not outcome.lacking or reminder == REMINDERS or self._turns_left <= 0:
                return outcome
            said = briefing.unfinished(self.context.config, outcome.lacking, outcome.way_out)
            await conversation.append(user(said))
        raise AssertionError("the last reminder returns")

    # ---- before the turns

    async def _scope(self) -> Scope:
        return await threads.run(
            Scope.of_session,
            self.context,
            key=self.session.session_key,
            role=self.role,
            run=self.run.id,
            place=self.place,
            branch=self.place.branch if self.place else "",
            base=self.place.base if self.place else "",
            person=self.identity.person,
        )

    async def _conversation(self, toolbox: Toolbox) -> SessionConversation:
        async def on_turn() -> int:  # counted over all starts of the run: its budget is for the run
            self.progress.turns += 1
            toolbox.turn = self.progress.turns
            await self.progress.note(self.context, self.run.id)
            return self.progress.turns

        def meanwhile(new: Sequence[Input]) -> str:
            return briefing.meanwhile(self.context.config, new)

        conversation = SessionConversation(self.context, self.session.key, self.run.id, meanwhile, on_turn)
        await conversation.load()
        return conversation

    async def _tell(self, conversation: SessionConversation) -> list[str]:
        """Tell the agent what is wanted, unless that was done before an interruption; the inputs' sources."""
        config, key = self.context.config, self.session.session_key
        if conversation.is_begun:
            known = await self.context.database.read(inputs.of_run, self.session.key, self.run.id)
            return [one.source for one in known]
        brief = await self._brief()
        rules = briefing.system(config, self.role, key.repository, self.identity.login)
        tell = briefing.task if conversation.is_new else briefing.again
        taken = await conversation.begin(rules, lambda new: tell(config, brief, new))
        return [one.source for one in taken]

    async def _brief(self) -> Brief:
        place = self.place
        brief = Brief(
            repository=self.session.repository,
            subject=self.subject,
            past=await recall.of(self.context, self.session, place),
        )
        if place is None:
            return brief
        pull = await evidence.pull_of(self.context, self.session, place.branch)
        return Brief(
            repository=brief.repository,
            subject=brief.subject,
            past=brief.past,
            place=await placing.look(place),
            base=place.base,
            own_pull=pull.number if pull and not pull.merged and self.role.makes_pull else 0,
            instructions=await threads.run(briefing.instructions, place.control, place.base_commit),
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

    # ---- the turns, and what came of them

    async def _by_turns(self, conversation: SessionConversation, toolbox: Toolbox) -> Ended:
        if self._turns_left <= 0:  # killed between the last turn and its outcome
            return await conversation.ended()
        config = self.context.config
        payer = Payer(self.session.key, self.run.id, self.session.repository, self.role.name)
        line = self.models.of(self.role.name)
        model = MeteredModel(line, self.context.database, config.budget, payer)
        limits = Limits(
            max_turns=self._turns_left,
            context_window=config.agent.context_window,
            compaction_threshold=config.agent.compaction_threshold,
            compaction=config.agent.compaction,
        )
        return await turns.run(conversation, model, toolbox, limits, self._watch)

    async def _by_cli(self, conversation: SessionConversation, toolbox: Toolbox) -> Ended:
        from fordjent.sessions import cli_agents

        given = cli_agents.AgentRun(
            context=self.context,
            key=self.session.session_key,
            run=self.run.id,
            toolbox=toolbox,
            conversation=conversation,
            watch=self._watch,
            seconds_left=self._most_seconds - self.progress.seconds,
            max_turns=self._turns_left,
        )
        try:
            return await cli_agents.run(given)
        except (BadConfig, Missing, NotHere) as failure:
            hint = f" ({failure.hint})" if failure.hint else ""
            return Ended("error", f"{failure.message}{hint}", 0)

    async def _judged(self, ended: Ended) -> Outcome:
        seen = await evidence.gather(self.context, self.session, self.run, self.role, self.place)
        return judge(self.role, ended, seen, self.cancelled())

    @property
    def _turns_left(self) -> int:
        return self.role.max_turns - self.progress.turns

    @property
    def _most_seconds(self) -> float:
        return seconds(self.context.config.sessions.run_timeout)

    def _watch(self) -> Literal["", "cancelled", "timeout"]:
        if self.cancelled():
            return "cancelled"
        return "timeout" if self.progress.seconds > self._most_seconds else ""
