"""What a run has used, by what its agent's output says: at its end, while it runs, and after it was killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from ent_agent.config import Config
from ent_agent.records import EndedBy, Record, Usage, derive
from ent_agent.running import workplace
from ent_agent.running.runs import Run
from ent_agent.running.workplace import RunFolder
from harness import agent_output, invocation, placeholders, process
from harness.adapter import Adapter
from harness.agent_output import Said
from harness.diagnostics import say
from harness.errors import Failure
from harness.invocation import Setting

USAGE_SECONDS = 30.0
LOOK_SECONDS = 30.0
"""How often a limit is compared with what was spent."""


@dataclass(frozen=True)
class Meter:
    """Reads the output of one run. `env`: what its agent gets."""

    adapter: Adapter
    places: RunFolder
    setting: Setting
    env: dict[str, str]

    def file(self, text: str) -> Path:
        """The file that "stdout", "stderr" or a path of the adapter means."""
        known = {"stdout": self.places.stdout, "stderr": self.places.stderr}
        return known.get(text) or self.setting.worktree / placeholders.fill(text, self.setting.values())

    def said(self, exit_code: int | None) -> Said:
        """What the agent says of its run, which ended so (None: by a signal, or not yet)."""
        source = self.file(self.adapter.output.source)
        now = datetime.now().astimezone()
        return agent_output.read(self.adapter, source, self.places.stderr, exit_code, now)

    def usage(self, said: Said) -> Usage:
        """What the output says, or the adapter's usage command; its failure is no error."""
        found = said.usage
        if self.adapter.output.usage_command:
            found = agent_output.usage_from(self._printed(), found)
        return Usage(
            input_tokens=found.input_tokens,
            output_tokens=found.output_tokens,
            cached_tokens=found.cached_tokens,
            cost_usd=found.cost_usd,
        )

    def _printed(self) -> bytes:
        words = [placeholders.fill(word, self.setting.values()) for word in self.adapter.output.usage_command]
        try:
            words[0] = invocation.program(self.adapter, words[0], self.env["PATH"])
            return process.run(
                words, cwd=self.places.root, env=self.env, timeout_seconds=USAGE_SECONDS
            ).stdout
        except (Failure, OSError) as error:
            say(f"usage is not known: {error}")
            return b""


def limited(
    watch: Callable[[], EndedBy | None], meter: Meter, limit_usd: float
) -> Callable[[], EndedBy | None]:
    """`watch`, which also ends a run that has cost more than `limit_usd` (0: no limit).

    Only what the CLI tells while it runs can be seen; some tell their cost at the end.
    """
    if not limit_usd:
        return watch
    next_look = time.monotonic() + LOOK_SECONDS

    def look() -> EndedBy | None:
        nonlocal next_look
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + LOOK_SECONDS
            if (meter.usage(meter.said(None)).cost_usd or 0.0) > limit_usd:
                return "budget"
        return watch()

    return look


def counted(record: Record, config: Config, run: Run) -> Record:
    """The record of a run that was killed, with what it had used until then, as far as that can be read."""
    if not (record.run and record.issue and record.worktree):
        return record
    try:
        adapter = workplace.load_adapter(config)
        setting = workplace.setting(config, adapter, run, record.issue, record.worktree, "")
        home = {adapter.config_dir_variable: str(setting.config_dir)} if adapter.config_dir_variable else {}
        env = workplace.environment(config, adapter, run, record.issue.id, home)
    except (Failure, OSError) as error:
        say(f"what run {run.id} used is not known: {error}")
        return record
    meter = Meter(adapter, workplace.folder(config, run), setting, env)
    usage = meter.usage(meter.said(None))
    return derive(record, run=msgspec.structs.replace(record.run, usage=usage))
