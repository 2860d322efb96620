"""Finished sessions become summaries in their repository, brought by one standing pull request.

    finished topics -> summaries (database) -> one commit on the default branch -> branch -> pull request

What is done is in the database or on the forge before the next thing is begun; the model is asked once
for each state of a topic. What people merged, changed after that or declined is not proposed again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Literal

import msgspec

from fordjent import threads
from fordjent.context import Context
from fordjent.forge import pulls
from fordjent.forge.errors import Archived, ForgeError, NotAllowed, NotFound
from fordjent.forge.types import Pull
from fordjent.marker import mark
from fordjent.memory import standing, summary
from fordjent.memory.naming import BRANCH, SUBJECT, name_of, path_of
from fordjent.memory.standing import Ground
from fordjent.models.metering import MeteredModel, Payer
from fordjent.models.models import Models
from fordjent.once import once
from fordjent.sessions.surroundings import Surroundings
from fordjent.store import summaries
from fordjent.store.summaries import Compaction, Summary, Topic
from harness import lock
from harness.effects import reached
from harness.errors import BadConfig, Failure

MOST = 50
"""Summaries that are written in one go for a repository; the others the next time."""
LISTED = 200
ROLE = "memory"
"""Under which the model's calls are counted."""


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one repository. `retry`: it may go well by itself later."""

    repository: str
    state: Literal["nothing", "proposed", "failed"]
    written: int = 0
    proposed: int = 0
    pull: int = 0
    left: int = 0
    reason: str = ""
    retry: bool = False


class Compactor:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._around = Surroundings(context)
        self._folder = context.config.memory.compaction_path

    async def all(self, only: str = "") -> list[Done]:
        """Every repository that sessions worked on, or this one. One that fails keeps no other from it."""
        repositories = await self._context.database.read(summaries.repositories)
        chosen = [name for name in repositories if only.lower() in ("", name.lower())]
        return [await self._one(name) for name in chosen]

    async def _one(self, repository: str) -> Done:
        log, redact = self._context.log, self._context.redactor.redact
        try:
            done = await self.compact(repository)
        except (Failure, ForgeError) as failure:
            hint = f" ({failure.hint})" if failure.hint else ""
            for_good = isinstance(failure, (NotFound, NotAllowed, Archived))
            reason = redact(failure.message + hint)
            done = Done(
                repository=repository,
                state="failed",
                reason=reason,
                retry=failure.retry and not for_good,
            )
        log.info("memory.compacted", **msgspec.structs.asdict(done))
        return done

    async def compact(self, repository: str) -> Done:
        """Bring one repository up to date. Repeatable, after kill -9 anywhere too.

        Raises:
            Busy: another compaction is at it, or others have commits on the branch.
            BadData: the folder for summaries is none in this repository.
            ForgeError, TryLater: forge or git failed.
        """
        name = repository.lower().replace("/", "+")
        path = self._context.config.state_dir / "memory" / f"compaction-{name}.lock"
        async with AsyncExitStack() as stack:
            stack.enter_context(lock.held(path, what=f"the compaction of {repository}"))
            written, left = await self._write(repository)
            before = await self._settle(repository)
            ground = await self._fetch(repository)
            wanted = await self._wanted(repository, ground, merged=bool(before and before.merged))
            if not wanted:
                await self._close(repository, before)
                return Done(repository=repository, state="nothing", written=written, left=left)
            pull = await self._propose(repository, ground, before, wanted)
            return Done(
                repository=repository,
                state="proposed",
                written=written,
                proposed=len(wanted),
                pull=pull.number,
                left=left,
            )

    # ---- summaries

    async def _write(self, repository: str) -> tuple[int, int]:
        """Write what is missing or older than its sessions; how many, and how many are left for later."""
        database = self._context.database
        topics = await database.read(summaries.finished, repository, BRANCH)
        known = await database.read(summaries.of, repository)
        due = [one for one in topics if one.number not in known or known[one.number].through < one.through]
        if not due:
            return 0, 0
        models = self._models()
        try:
            for topic in due[:MOST]:
                model = self._model(models, repository, topic) if models else None
                made = await summary.write(self._context, model, topic)
                await database.write(summaries.put, repository, made, time.time())
                reached("summary-written")
        finally:
            if models:
                await models.aclose()
        return len(due[:MOST]), len(due[MOST:])

    def _models(self) -> Models | None:
        try:
            return Models(self._context.config, self._context.redactor.redact)
        except BadConfig as error:
            self._context.log.warning("memory.no_model", why=error.message)
            return None

    def _model(self, models: Models, repository: str, topic: Topic) -> MeteredModel:
        payer = Payer(topic.keys[0], summary.RUN, repository, ROLE)
        config = self._context.config
        return MeteredModel(models.of("reviewer"), self._context.database, config.budget, payer)

    # ---- the pull request

    async def _settle(self, repository: str) -> Pull | None:
        """The pull request that we opened last: an open one goes on, one that is merged or closed is past."""
        standing_now = await self._context.database.read(summaries.compaction, repository)
        if not standing_now.pull:
            return None
        try:
            pull = await pulls.get(self._context.forge, repository, standing_now.pull)
        except NotFound:
            pull = None
        if pull is None or pull.state != "open":
            declined = pull is not None and not pull.merged
            await self._context.database.write(summaries.settle, repository, declined, time.time())
            reached("memory-settled")
        return pull

    async def _wanted(self, repository: str, ground: Ground, *, merged: bool) -> list[Summary]:
        """Summaries that the default branch does not have, and that nobody declined.

        `merged`: the pull request was: what it proposed is there as people wanted it.
        """
        known = await self._context.database.read(summaries.of, repository)
        open_ones = [one for one in known.values() if one.state in ("made", "proposed")]

        def look() -> set[int]:
            texts = {one.number: ground.text(self._folder, one.number) for one in open_ones}
            taken = {one.number for one in open_ones if merged and one.state == "proposed"}
            return {
                one.number
                for one in open_ones
                if texts[one.number] == one.text or (one.number in taken and texts[one.number])
            }

        there = await threads.run(look)
        await self._context.database.write(summaries.mark, repository, there, "merged")
        return [one for one in open_ones if one.number not in there]

    async def _propose(
        self, repository: str, ground: Ground, before: Pull | None, wanted: Sequence[Summary]
    ) -> Pull:
        config, database = self._context.config, self._context.database
        files = {name_of(one.number): one.text for one in wanted}
        commit = await threads.run(standing.build, ground, self._folder, files, config.agent.commit_prefix)
        against = await threads.run(standing.objections, ground, commit, self._context.redactor)
        if against:
            raise Failure(f"must not be pushed: {', '.join(against[:20])}", code="memory_withheld")
        known = await database.read(summaries.compaction, repository)
        settled = [before.head.sha] if before and before.state != "open" else []
        workspaces = await self._around.workspaces()
        await threads.run_in(
            workspaces.root(repository),
            standing.push,
            workspaces,
            repository,
            ground,
            commit,
            config.policy.protected_branches,
            ours=[one for one in (known.commit, *settled) if one],
        )
        is_open = before is not None and before.state == "open"
        pull = before if before and is_open else await self._open(repository, ground, commit, wanted)
        await database.write(summaries.note, repository, Compaction(pull.number, commit), time.time())
        await database.write(summaries.mark, repository, [one.number for one in wanted], "proposed")
        reached("memory-proposed")
        body = self._body(repository, wanted)
        if pull.body.strip() != body.strip():
            pull = await pulls.edit(self._context.forge, repository, pull.number, body=body)
        return pull

    async def _open(self, repository: str, ground: Ground, commit: str, wanted: Sequence[Summary]) -> Pull:
        """Opened once; one that is open from the branch is taken up."""
        forge, base = self._context.forge, ground.default_branch

        async def find() -> Pull | None:
            return await pulls.find(forge, repository, BRANCH, base)

        async def do() -> Pull:
            body = self._body(repository, wanted)
            return await pulls.create(forge, repository, head=BRANCH, base=base, title=SUBJECT, body=body)

        existing = await find()
        if existing:
            return existing
        effect = f"{repository}:memory:{commit}"
        return await once(
            self._context, effect, "pull", f"{repository}:memory", find=find, do=do, result=Pull
        )

    async def _close(self, repository: str, before: Pull | None) -> None:
        """Nothing is left to propose: the default branch has it all."""
        if before is None or before.state != "open":
            return
        if (await pulls.get(self._context.forge, repository, before.number)).state == "open":
            await pulls.close(self._context.forge, repository, before.number)
        await self._context.database.write(summaries.settle, repository, False, time.time())

    def _body(self, repository: str, wanted: Sequence[Summary]) -> str:
        """Paths only: no title or text of others, and no number that would link to an issue or close it."""
        files = [f"- `{path_of(self._folder, one.number)}`" for one in wanted[:LISTED]]
        more = [f"- and {len(wanted) - LISTED} more"] if len(wanted) > LISTED else []
        about = (
            "What came of finished issues, for people and for agents who work here later. This pull request is "
            "brought up to date by itself; merge it when you like. Closed unmerged, what it has is not proposed again."
        )
        return mark("\n".join([about, "", *files, *more]), f"{repository}:memory")

    async def _fetch(self, repository: str) -> Ground:
        workspaces = await self._around.workspaces()
        return await threads.run_in(workspaces.root(repository), standing.fetch, workspaces, repository)
