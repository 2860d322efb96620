"""All benchmarks in one run, in a temporary folder: `invoke bench`."""

from __future__ import annotations

import compileall
import os
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import intake, looping, page, pages, selecting, sessions, writing
from tests.bench.page import Results
from tests.bench.places import BigTracker, Work
from tests.support.ssh_server import SSHD, SshServer

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Sizes:
    """`trackers`: numbers of issues; `turns`: how often each pair is run; `issues`: worked in one pass of the loop;
    `deliveries`: sent in a turn; `sessions`, `model_turns`: in the database that pages are shown from; `at_once`:
    sessions at work together, whose model takes `turn_seconds` for each answer."""

    trackers: tuple[int, ...] = (100, 1_000, 10_000)
    turns: int = 5
    issues: int = 5
    deliveries: int = 6_000
    at_once: int = 500
    turn_seconds: float = 30.0
    sessions: int = 10_000
    model_turns: int = 1_000_000


LARGE = Sizes(trackers=(100, 1_000, 10_000, 100_000))
QUICK = Sizes(
    trackers=(20,),
    turns=1,
    issues=1,
    deliveries=100,
    sessions=20,
    model_turns=200,
    at_once=3,
    turn_seconds=0.1,
)
"""So that a test can see the whole of it run."""


def run(sizes: Sizes, target: Path) -> None:
    """Measure, and write the page, which says what could not be measured. ENT_REAL names a real ent to compare with."""
    compileall.compile_dir(ROOT / "lib", quiet=2)  # a start that compiles is not a usual one
    real = os.environ.get("ENT_REAL", "")
    results = Results(sizes.turns)
    with tempfile.TemporaryDirectory(prefix="ent-agent-bench-") as name:
        folder = Path(name)
        for size in sizes.trackers:
            with _section(results, f"select, comment and state among {size:,}"):
                tracker = BigTracker.make(folder / f"tracker {size}", size)
                results.selecting += selecting.measure(tracker, real, sizes.turns)
                results.writing += writing.measure(tracker, real, sizes.turns)
        with _section(results, "nothing to do"):
            results.idle += looping.idle(Work.make(folder / "idle", 0), sizes.turns)
        for issues in sorted({1, sizes.issues}):
            with _section(results, f"{issues} to work"):
                results.looping.append(looping.per_issue(folder / f"{issues} to work", issues, sizes.turns))
        if SSHD:
            _over_ssh(results, folder, sizes)
        with _section(results, "steps"):
            results.steps = looping.steps(folder / "steps", sizes.issues)
        with _section(results, f"{sizes.deliveries:,} deliveries"):
            results.intake.append(intake.measure(folder / "intake", sizes.deliveries, sizes.turns))
        with _section(results, f"{sizes.at_once} sessions at once"):
            results.crowd = sessions.measure(folder / "sessions", sizes.at_once, sizes.turn_seconds)
        with _section(results, f"pages of {sizes.sessions:,} sessions"):
            results.pages, results.growth = pages.measure(
                folder / "pages", sizes.sessions, sizes.model_turns, sizes.turns
            )
    target.write_text(page.text(results), encoding="utf-8")
    print(f"wrote {target}")
    if results.failed:
        raise SystemExit(f"not measured: {', '.join(results.failed)}")


def _over_ssh(results: Results, folder: Path, sizes: Sizes) -> None:
    with _section(results, "over ssh"), SshServer(folder / "sshd") as server:
        for issues in sorted({1, sizes.issues}):
            print(f"{issues} to work, over ssh", flush=True)
            place = folder / f"{issues} over ssh"
            results.over_ssh.append(looping.per_issue(place, issues, sizes.turns, server))


@contextmanager
def _section(results: Results, name: str) -> Iterator[None]:
    """What fails in it is told, and loses no other section."""
    print(name, flush=True)
    try:
        yield
    except Exception:
        traceback.print_exc()
        results.failed.append(name)
