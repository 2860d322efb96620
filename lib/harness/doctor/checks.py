"""One check after the other, each bounded in time, whatever goes wrong in it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator

from harness.doctor.findings import Finding, of_failure, problem
from harness.errors import Failure
from harness.redaction import Redactor

CHECK_SECONDS = 200.0
"""Of one check, whatever it waits for: a file system that hangs, say. What asks the network ends sooner."""

Check = Callable[[], Iterator[Finding]]


def bounded(name: str, check: Check) -> Iterator[Finding]:
    """What a check finds, in a thread of its own, so that nothing it waits for can hold up the rest."""
    found: queue.SimpleQueue[Finding | None] = queue.SimpleQueue()
    threading.Thread(target=_look, args=(name, check, found), name=name, daemon=True).start()
    while True:
        try:
            finding = found.get(timeout=CHECK_SECONDS)
        except queue.Empty:
            yield problem(name, f"no answer within {CHECK_SECONDS:.0f} s")
            return
        if finding is None:
            return
        yield finding


def without_secrets(findings: Iterable[Finding], redactor: Redactor) -> Iterator[Finding]:
    for finding in findings:
        yield Finding(
            check=finding.check,
            status=finding.status,
            message=redactor.redact(finding.message),
            fix=redactor.redact(finding.fix),
            missing=finding.missing,
        )


def _look(name: str, check: Check, found: queue.SimpleQueue[Finding | None]) -> None:
    """Put what the check finds, and None at the end of it. A bug is seen, and does not end the others."""
    finished = False
    try:
        for finding in check():
            found.put(finding)
        finished = True
    except Failure as failure:
        found.put(of_failure(name, failure))
        finished = True
    except OSError as error:
        found.put(problem(name, f"{error.filename or name}: {error.strerror or error}"))
        finished = True
    finally:
        if not finished:
            found.put(problem(name, "the check itself failed: this is a bug of ours"))
        found.put(None)
