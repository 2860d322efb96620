"""The commands as processes, and the records that pass between them: what a shell's pipe does."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from ent_agent import records
from ent_agent.records import ErrorSection, Record
from harness.command import PARENT_VARIABLE
from harness.errors import EX_SOFTWARE, EX_TEMPFAIL, BadData
from harness.nursery import Child, Nursery

TO_BE_STOPPED = frozenset(("sync", "select", "run"))
"""Steps that are told to end when the loop is; worktree and finalize are short, and finish."""

ENDING_SECONDS = 60.0
"""What a step that is told to end has for it: an agent's own ladder and sweep are within it."""


LOADED = (
    *(f"ent_agent.commands.{step}" for step in ("sync", "select", "worktree", "run", "finalize")),
    "ent_agent.claims.heartbeat",
    "ent_agent.claims.stale_claims",
    "ent_agent.finalization.finalization",
    "ent_agent.repositories.mirroring",
    "ent_agent.repositories.syncing",
    "ent_agent.running.running",
    "ent_agent.selection.selection",
    "ent_agent.tracker.sync",
    "ent_agent.worktrees.starting",
)
"""What the steps import, some of it only when they work."""

COMPILED = ("ent_agent.loop.compiled",)
"""What only a run needs: loaded while its worktree is made, so that a look with nothing to do does without."""


@dataclass
class Ran:
    """What a step left."""

    step: str
    exit_code: int
    records: list[Record] = field(default_factory=list)
    errors: list[ErrorSection] = field(default_factory=list)
    """What it said on stderr as JSON; errors of records are among them."""

    overdue: bool = False
    """Whether it was ended because it took too long."""

    @property
    def error(self) -> ErrorSection | None:
        """Why the step as a whole brought nothing; None when it did."""
        if self.exit_code == 0 or self.records:
            return None
        if self.overdue:
            message = f"{self.step} did not end in time, and was ended"
            return ErrorSection(code="step_overdue", message=message, retry=True, exit_code=EX_TEMPFAIL)
        if self.errors:
            return self.errors[-1]
        ended = f"ended by signal {-self.exit_code}" if self.exit_code < 0 else f"exit {self.exit_code}"
        return ErrorSection(code="step_failed", message=f"{self.step}: {ended}", exit_code=EX_SOFTWARE)


@dataclass
class Steps:
    """Starts the commands, with `config_path`, so that they end when this process does.

    `said` gets each line of their stderr that is not an error object, with the step's name.
    """

    config_path: Path
    said: Callable[[str, str], None]
    folder: Path | None = None
    _nursery: Nursery | None = None
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _running: dict[Child, str] = field(default_factory=dict)

    def __enter__(self) -> Steps:
        self._nursery = Nursery(LOADED)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._nursery:
            self._nursery.close()

    def run(
        self, step: str, *options: str, feed: Sequence[Record] | None = None, timeout_seconds: float
    ) -> Ran:
        """Run `ent-agent-<step>` to its end, on `feed`, or from the configuration when there is none."""
        words = [str(self._executable(step)), "--config", str(self.config_path), *options]
        with contextlib.ExitStack() as stack:
            if feed is None:
                stdin: IO[bytes] = stack.enter_context(Path(os.devnull).open("rb"))
            else:
                stdin = stack.enter_context(tempfile.TemporaryFile())
                stdin.write(b"".join(records.encode(record) for record in feed))
                stdin.seek(0)
            child = self._start(words, stdin)
        if step == "worktree" and self._nursery:
            self._nursery.load(COMPILED)
        self._running[child] = step
        try:
            with child.stdout, child.stderr:
                return self._follow(child, step, timeout_seconds)
        finally:
            child.send_signal(signal.SIGKILL)
            del self._running[child]

    def stop(self, *, everything: bool = False) -> None:
        """Tell the running steps to end; from a signal handler too. worktree and finalize: `everything`."""
        for child, step in list(self._running.items()):
            if everything or step in TO_BE_STOPPED:
                child.send_signal(signal.SIGTERM)

    def _start(self, words: list[str], stdin: IO[bytes]) -> Child:
        with self._starting:
            if self._nursery is None or not self._nursery.is_alive:  # somebody killed it
                self._nursery = Nursery(LOADED)
            return self._nursery.start(words, stdin, PARENT_VARIABLE)

    def _follow(self, child: Child, step: str, timeout_seconds: float) -> Ran:
        ran = Ran(step, 0)
        reader = threading.Thread(target=self._listen, args=(child.stderr, ran), daemon=True)
        reader.start()

        def end_overdue() -> None:
            ran.overdue = True
            child.send_signal(signal.SIGTERM)

        ends = [threading.Timer(timeout_seconds, end_overdue)]
        ends.append(threading.Timer(timeout_seconds + ENDING_SECONDS, child.send_signal, [signal.SIGKILL]))
        for end in ends:
            end.daemon = True
            end.start()
        try:
            for line in child.stdout:
                _take(line, ran)
            ran.exit_code = child.wait()
        finally:
            for end in ends:
                end.cancel()
        reader.join(timeout=1.0)
        return ran

    def _listen(self, stderr: IO[bytes], ran: Ran) -> None:
        for line in stderr:
            try:
                ran.errors.append(msgspec.json.decode(line, type=ErrorSection))
            except (msgspec.DecodeError, UnicodeDecodeError):
                text = line.decode("utf-8", "replace").rstrip()
                if text:
                    self.said(ran.step, text)

    def _executable(self, step: str) -> Path:
        """The checkout's bin/, else where `pip install` put the commands."""
        checkout = Path(__file__).resolve().parents[3] / "bin"
        folder = self.folder or (checkout if checkout.is_dir() else Path(sys.prefix) / "bin")
        return folder / f"ent-agent-{step}"


def _take(line: bytes, ran: Ran) -> None:
    try:
        ran.records.append(records.decode(line))
    except BadData as error:  # cut off by a kill, or no record at all
        ran.errors.append(
            ErrorSection(code=error.code, message=f"{ran.step}: {error.message}", exit_code=error.exit_code)
        )
