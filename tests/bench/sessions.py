"""Hundreds of sessions at once, against a scripted model that takes its time: what they take of memory and processor."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support.scripts import Rule, call, write
from tests.support.served import REPOSITORY, Served

TURNS = 3
LOOK_SECONDS = 0.5
LONGEST_SECONDS = 1800.0
MORE = """\
[roles.implementer]
provider = "many"
[providers.many]
base_url = "scripted:model.json"
model = "scripted"
max_concurrent = {sessions}
[sandbox]
backend = "none"
"""


@dataclass(frozen=True)
class Crowd:
    """`at_once`: the most calls of the model under way at a time; `memory_mb`: the most of the server and all that
    it had started, what they share once; `answer_seconds`: the longest that /healthz took meanwhile."""

    sessions: int
    at_once: int
    seconds: float
    model_seconds: float
    memory_mb: float
    cpu_seconds: float
    answer_seconds: float


def measure(folder: Path, sessions: int, turn_seconds: float) -> Crowd:
    """So many issues of one repository, each worked to its question to a person. The model alone would take
    `model_seconds`."""
    rules = _rules(turn_seconds)
    with Served(
        folder, rules, sessions={"max_sessions": sessions}, more=MORE.format(sessions=sessions)
    ) as served:
        served.start()
        assert served.server
        process = psutil.Process(served.server.pid)
        began = time.monotonic()
        for number in range(sessions):
            served.bob.open_issue(REPOSITORY, f"Part {number}", "Do it.")
        memory, at_once, slowest, done = 0.0, 0, 0.0, 0
        while done < sessions and time.monotonic() < began + LONGEST_SECONDS:
            time.sleep(LOOK_SECONDS)
            memory = max(memory, _memory(process))
            asked = time.monotonic()
            served.answers()
            slowest = max(slowest, time.monotonic() - asked)
            at_once = max(
                at_once, served.row("SELECT count(*) FROM model_calls WHERE state = 'reserved'")[0][0]
            )
            done = served.row("SELECT count(*) FROM sessions WHERE state = 'blocked' AND lease_owner = ''")[
                0
            ][0]
        taken = process.cpu_times()
        seconds = time.monotonic() - began
        assert done == sessions, f"{done} of {sessions} sessions came to their end"
    cpu = taken.user + taken.system + taken.children_user + taken.children_system
    return Crowd(sessions, at_once, seconds, (TURNS + 1) * turn_seconds, memory, cpu, slowest)


def _rules(turn_seconds: float) -> list[Rule]:
    delay = f"{turn_seconds * 1000:.0f}ms"
    found: list[Rule] = [
        {"last": "", "tool_calls": [write(path=f"part_{turn}.py")], "delay": delay}
        for turn in range(TURNS - 1)
    ]
    question = call("forgejo_comment", body="Which one?")
    return [
        *found,
        {"last": "", "tool_calls": [question], "delay": delay},
        {"last": "", "text": "I asked.", "delay": delay},
    ]


def _memory(process: psutil.Process) -> float:
    """MB of a process and of all that it has started; what they share counts once (PSS)."""
    found, own = process.memory_full_info().pss, process.cmdline()
    for child in process.children(recursive=True):
        try:
            if child.cmdline() != own:  # else it is between fork and exec, and has nothing of its own
                found += child.memory_full_info().pss
        except psutil.Error:
            continue
    return float(found) / 2**20
