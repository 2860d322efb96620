"""Run the agent CLI of an issue in its worktree. Facts only: what came of it is finalize's to say."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from ent_agent.config import Config
from ent_agent.finalization import secrecy
from ent_agent.records import EndedBy, Record, RunSection, derive
from ent_agent.repositories import repositories
from ent_agent.running import briefing, runs, spending, workplace
from ent_agent.running.runs import Run
from ent_agent.running.spending import Meter
from ent_agent.running.workplace import RunFolder
from ent_agent.worktrees import worktree_setup
from harness import agent_output, clock, invocation, sandbox, supervision, sweeping
from harness import config as toml
from harness.adapter import Adapter
from harness.agent_output import Said
from harness.config import seconds
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import BadData
from harness.invocation import Invocation, Setting
from harness.sandbox import Sandbox, View
from harness.supervision import Ended, Limits

TAIL_CHARACTERS = 2000

Watch = Callable[[], EndedBy | None]


def run(record: Record, config: Config, watch: Watch) -> Record:
    """Start the agent of `agent_type` in the issue's worktree, wait for its end, add section `run`.

    `watch` is called about once a second; an answer stops the agent, and says why. A run
    that was begun and killed is begun again, what it left running ended; one that ran
    already is given back as it is. The caller holds the issue's lock.

    Raises:
        BadConfig: the adapter, a template, the sandbox or the environment cannot be as configured.
        BadData: the record does not belong to a run of this state folder.
        Missing: the agent's CLI is not installed.
    """
    assert record.issue and record.worktree and record.claim
    current = runs.load(config, record.claim.run)
    if current.issue != record.issue.id or current.phase in ("claiming", "finalized"):
        raise BadData(
            f"run {current.id} of issue {current.issue} is {current.phase}; there is nothing to run",
            hint=f"begin a new one with `ent-agent-worktree --issue {record.issue.id}`",
        )
    if current.phase == "ran":
        return derive(record, run=runs.record(current).run)
    sweeping.sweep(current.id)
    attempt = _Attempt.prepare(record, config, current)
    return attempt.go(watch)


def render_prompt(record: Record, config: Config) -> str:
    """What the agent is told, for a record that has an issue.

    Raises:
        BadConfig: a template is wrong; names file and line.
    """
    return briefing.task(record, config)


@dataclass
class _Attempt:
    """Everything that one start of the agent needs."""

    record: Record
    config: Config
    run: Run
    adapter: Adapter
    places: RunFolder
    setting: Setting
    invocation: Invocation
    env: dict[str, str]
    sandbox: Sandbox
    view: View
    section: RunSection

    @classmethod
    def prepare(cls, record: Record, config: Config, current: Run) -> _Attempt:
        """All that can go wrong before the agent starts goes wrong here."""
        assert record.issue and record.worktree
        adapter = workplace.load_adapter(config)
        with toml.naming(config.path):
            chosen = sandbox.choose(config.sandbox.backend, network=config.sandbox.network)
        places = workplace.folder(config, current)
        _show_tracker(config, current)
        prompt = briefing.task(record, config)
        setting = workplace.setting(config, adapter, current, record.issue, record.worktree, prompt)
        places.make()
        path = workplace.environment(config, adapter, current, record.issue.id, {})["PATH"]
        invoked = invocation.prepare(adapter, setting, path)
        env = workplace.environment(config, adapter, current, record.issue.id, invoked.variables)
        return cls(
            record=record,
            config=config,
            run=current,
            adapter=adapter,
            places=places,
            setting=setting,
            invocation=invoked,
            env=env,
            sandbox=chosen,
            view=workplace.view(config, adapter, setting, invoked.program),
            section=RunSection(
                id=current.id,
                agent_type=config.agent_type,
                started_at=clock.timestamp(),
                transcript=str(places.stdout),
                sandbox=chosen.name,
            ),
        )

    def go(self, watch: Watch) -> Record:
        if self.sandbox.why:
            say(
                f"no sandbox ({self.sandbox.why}): what runs as this user can read the key; see docs/safety.md"
            )
        self._save("running")
        reached("agent-about-to-start")
        for log in (self.places.stdout, self.places.stderr, self.places.setup):
            log.unlink(missing_ok=True)
        try:
            ended = self._set_up(watch)
            if ended is None:
                ended = self._start(watch)
                self._note(ended, self.meter.said(ended.exit_code))
            reached("agent-ended")
        finally:
            self.places.remove_temporary()
        return self._save("ran")

    # ---- the agent

    def _start(self, watch: Watch) -> Ended:
        limits = self.config.limits
        return supervision.supervise(
            self.sandbox.wrap(self.invocation.argv, self.view, self.setting.worktree),
            cwd=self.setting.worktree,
            env=self.env,
            stdin=self.invocation.stdin,
            transcript=self.places.stdout,
            stderr=self.places.stderr,
            limits=Limits(
                timeout_seconds=seconds(limits.agent_timeout),
                silence_seconds=seconds(limits.silence_timeout),
                grace_seconds=seconds(limits.kill_grace),
                bounds=self.config.sandbox.bounds,
            ),
            progress=[self.meter.file(text) for text in self.adapter.progress],
            stop_signal=self.adapter.stop_signal,
            marker=self.run.id,
            watch=spending.limited(watch, self.meter, limits.max_cost_usd),
            wrapped=self.sandbox.name != "none",
        )

    @property
    def meter(self) -> Meter:
        return Meter(self.adapter, self.places, self.setting, self.env)

    def _note(self, ended: Ended, said: Said) -> None:
        section = self.section
        section.started_at, section.ended_at = ended.started_at, ended.ended_at
        section.exit_code, section.signal = ended.exit_code, ended.signal
        section.ended_by = ended.ended_by
        section.reported, section.resume_at = said.reported, said.resume_at
        if section.reported == "success" and ended.ended_by != "exit":
            section.reported = ""  # a CLI that was stopped may well say so all the same
        section.usage = self.meter.usage(said)
        redactor = secrecy.redactor(self.config)
        section.message = redactor.redact("\n".join(filter(None, (said.message, ended.error))))

    # ---- before it

    def _set_up(self, watch: Watch) -> Ended | None:
        """Run worktree.setup, once in a worktree; how it ended when the agent is not to be started."""
        if not worktree_setup.is_due(self.config, self.setting.worktree):
            return None
        for command in worktree_setup.commands(self.config):
            ended = supervision.supervise(
                self.sandbox.wrap(command, self.view, self.setting.worktree),
                cwd=self.setting.worktree,
                env=self.env,
                transcript=self.places.setup,
                limits=Limits(
                    seconds(self.config.worktree.setup_timeout),
                    grace_seconds=5.0,
                    bounds=self.config.sandbox.bounds,
                ),
                marker=self.run.id,
                watch=watch,
                wrapped=self.sandbox.name != "none",
            )
            if ended.ended_by != "exit" or ended.exit_code != 0:
                self._note_setup_failure(command, ended)
                return ended
        worktree_setup.note_done(self.config, self.setting.worktree)
        return None

    def _note_setup_failure(self, command: list[str], ended: Ended) -> None:
        tail = secrecy.redactor(self.config).tail(agent_output.end(self.places.setup), TAIL_CHARACTERS)
        how = f"ended by {ended.ended_by}" if ended.exit_code is None else f"exit {ended.exit_code}"
        self.section.ended_at = ended.ended_at
        self.section.exit_code, self.section.signal = ended.exit_code, ended.signal
        told = ended.ended_by in ("cancelled", "claim_lost", "interrupted")
        self.section.ended_by = ended.ended_by if told else "start_failed"
        self.section.message = f"worktree.setup: {shlex.join(command)}: {how}\n{ended.error}{tail}"
        self.section.transcript = str(self.places.setup)

    # ---- on disk

    def _save(self, phase: runs.Phase) -> Record:
        record = derive(self.record, run=self.section)
        runs.update(self.config, self.run, record, phase=phase)
        return record


def _show_tracker(config: Config, current: Run) -> None:
    """The agent's line of the data branch in work.git, and the branch itself for a foreign `ent`.

    What a killed start of this run wrote on its line stays there.
    """
    work, start = repositories.work(config), current.tracker_start
    with repositories.locked(config):
        written = work.resolve(current.line_ref)
        changes: list[tuple[str, str | None]] = [(config.data_ref, start)]
        if written is None or not work.is_ancestor(start, written):
            changes.append((current.line_ref, start))
        work.update_refs(changes)
