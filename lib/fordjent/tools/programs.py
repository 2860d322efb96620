"""Run a program of an agent's: in its sandbox, with nothing to read, within its time, and nothing left of it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fordjent import threads
from fordjent.tools.ground import Ground
from fordjent.tools.output import MARGIN, fit, fit_parts
from harness import supervision
from harness.redaction import Redactor
from harness.supervision import EndedBy, Limits

GRACE_SECONDS = 2.0
WHOLE_BYTES = 512 * 1024
"""So much output is redacted as a whole; of more, the two ends."""
END_BYTES = 96 * 1024


@dataclass(frozen=True)
class Ran:
    """How it ended. `output`: of both its streams, for the model; `signal` without SIG."""

    exit_code: int | None
    signal: str | None
    ended_by: EndedBy
    output: str
    seconds: float
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and self.ended_by == "exit"

    def told(self, timeout_seconds: float) -> str:
        """Output, and how it ended where that is worth a word."""
        if self.ended_by == "timeout":
            end = f"[ended after {timeout_seconds:g} s, its time limit; what it had begun was killed]"
        elif self.ended_by == "bounds":
            end = f"[ended: {self.error}; what it had begun was killed]"
        elif self.signal == "XFSZ" or self.exit_code == 128 + signal.SIGXFSZ:
            end = "[ended: a file grew beyond what one may have (sandbox.max_file_bytes); delete it]"
        elif self.ended_by == "start_failed":
            end = f"[could not be started: {self.error}]"
        elif self.signal:
            end = f"[ended by signal {self.signal}]"
        else:
            end = f"[exit code {self.exit_code}]"
        return f"{self.output.rstrip()}\n{end}".lstrip("\n")


async def run(
    ground: Ground,
    command: Sequence[str],
    redactor: Redactor,
    timeout_seconds: float,
    variables: Mapping[str, str] | None = None,
) -> Ran:
    """Run `command` in the ground's folder, to its end or until `timeout_seconds`.

    It ends with all that it started. Cancelling waits until that is so.
    """
    cancelled = threading.Event()
    task = asyncio.ensure_future(
        threads.run(_run, ground, command, redactor, timeout_seconds, variables or {}, cancelled)
    )
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([task])
        raise


def _run(
    ground: Ground,
    command: Sequence[str],
    redactor: Redactor,
    timeout_seconds: float,
    variables: Mapping[str, str],
    cancelled: threading.Event,
) -> Ran:
    marker = f"{ground.run_folder.root.name}:{uuid.uuid4().hex}"  # of this call: others of the run go on
    transcript = ground.run_folder.outputs / f"{uuid.uuid4().hex}.log"
    begun = time.monotonic()
    try:
        ended = supervision.supervise(
            ground.wrap(command),
            cwd=ground.folder,
            env={**ground.environment, **variables},
            transcript=transcript,
            limits=Limits(timeout_seconds, grace_seconds=GRACE_SECONDS, bounds=ground.bounds),
            marker=marker,
            watch=lambda: "cancelled" if cancelled.is_set() else None,
            wrapped=ground.sandbox.name != "none",
        )
        output = _told(transcript, redactor)
    finally:
        transcript.unlink(missing_ok=True)
    seconds = time.monotonic() - begun
    return Ran(ended.exit_code, ended.signal, ended.ended_by, output, seconds, ended.error)


def _told(transcript: Path, redactor: Redactor) -> str:
    """What was printed, fit for a model; the file may be large."""
    if not transcript.exists():
        return ""
    with transcript.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= WHOLE_BYTES:
            return fit(_text(file.read()), redactor)
        head = _text(file.read(END_BYTES))
        file.seek(size - END_BYTES)
        return fit_parts(head, _text(file.read()), redactor, size - 2 * END_BYTES)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


assert END_BYTES > 4 * MARGIN
