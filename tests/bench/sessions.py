"""Hundreds of sessions at once, against a scripted model that takes its time: what they take of memory and processor."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench import measuring
from tests.bench.measuring import Figure
from tests.support.scripts import Rule, call, write
from tests.support.served import REPOSITORY, Served

TURNS = 3
LOOK_SECONDS = 0.5
LONGEST_SECONDS = 1800.0
BARE_SESSIONS = 100
UNDER_WAY = "SELECT count(*) FROM model_calls WHERE state = 'reserved'"
ANSWERED = "SELECT count(DISTINCT key) FROM model_calls WHERE state = 'answered'"
DONE = "SELECT count(*) FROM sessions WHERE state = 'blocked' AND lease_owner = ''"
BARE = """\
git clone --quiet --bare "$1" control.git
cd control.git
number=0
while [ $number -lt "$2" ]; do
  number=$((number + 1))
  git fetch --quiet origin
  git worktree add --quiet -b bare-$number ../$number
  for part in 0 1; do echo "part = $part" >../$number/part_$part.py; done
  git -C ../$number add --all
  git -C ../$number -c user.name=Bob -c user.email=bob@example.org commit --quiet --message=Work
  git -C ../$number push --quiet origin bare-$number
done
"""
"""What git has to do for so many sessions, one after the other: URL NUMBER."""
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
    """`at_once`: the most calls of the model under way at a time; `first_seconds`: until each session had an answer of it;
    `memory_mb`: the most of the server (RSS), `programs_mb`: of all that it had started, what they share once (PSS);
    `answer_seconds`: the longest that /healthz took meanwhile; `bare`: git alone, by a shell, for each."""

    sessions: int
    at_once: int
    turn_seconds: float
    first_seconds: float
    seconds: float
    model_seconds: float
    memory_mb: float
    programs_mb: float
    cpu_seconds: float
    answer_seconds: float
    bare: Figure


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
        memory, programs, at_once, slowest, done, first = 0.0, 0.0, 0, 0.0, 0, 0.0
        while done < sessions and time.monotonic() < began + LONGEST_SECONDS:
            time.sleep(LOOK_SECONDS)
            memory = max(memory, process.memory_info().rss / 2**20)
            programs = max(programs, _programs(process))
            asked = time.monotonic()
            served.answers()
            slowest = max(slowest, time.monotonic() - asked)
            at_once = max(at_once, _count(served, UNDER_WAY))
            if not first and _count(served, ANSWERED) == sessions:
                first = time.monotonic() - began
            done = _count(served, DONE)
        taken = process.cpu_times()
        seconds = time.monotonic() - began
        assert done == sessions, f"{done} of {sessions} sessions came to their end"
        served.stop()
        bare = _bare(served, folder / "bare", min(sessions, BARE_SESSIONS))
    cpu = taken.user + taken.system + taken.children_user + taken.children_system
    alone = (TURNS + 1) * turn_seconds
    return Crowd(sessions, at_once, turn_seconds, first, seconds, alone, memory, programs, cpu, slowest, bare)


def _count(served: Served, sql: str) -> int:
    return int(served.row(sql)[0][0])


def _bare(served: Served, folder: Path, sessions: int) -> Figure:
    """Of each of so many."""
    folder.mkdir()
    secret = base64.b64encode(f"bob:{served.forge.token('bob')}".encode()).decode()
    settings = {
        "http.extraHeader": f"Authorization: Basic {secret}",
        "gc.auto": "0",
        "maintenance.auto": "false",
    }
    env = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_TERMINAL_PROMPT": "0"}
    for number, (name, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    words = ["sh", "-e", "-c", BARE, "bare", served.forge.clone_url(REPOSITORY), str(sessions)]
    return measuring.process(words, folder, env=env) / sessions


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


def _programs(process: psutil.Process) -> float:
    """MB of all that a process has started; what they share counts once (PSS)."""
    found, own = 0.0, process.cmdline()
    for child in process.children(recursive=True):
        try:
            if child.cmdline() != own:  # else it is between fork and exec, and has nothing of its own
                found += child.memory_full_info().pss
        except psutil.Error:
            continue
    return found / 2**20
