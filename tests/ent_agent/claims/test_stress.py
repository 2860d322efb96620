"""Five hosts of two agents, forty issues, kill -9 at random, and a person in between: `invoke stress`.

Too long for every run of the tests; STRESS_SECONDS, STRESS_ISSUES and STRESS_SEED change it.
The agents take part of a second, and the ttl is four, so that takeovers happen by the dozen.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ent_agent.claims.claim_value import TTL_VARIABLE
from ent_agent.tracker import sync, writer
from ent_agent.tracker.changes import AddComment, Change, SetAssignee, SetState
from ent_agent.tracker.model import Issue
from ent_agent.tracker.reader import Tracker
from harness.errors import Failure
from harness.git import Git, init_bare
from tests.ent_agent.claims.test_hosts import ROOT, assert_never_two_at_once, worked
from tests.support.sample import GOODBYE, SPELLING, WELSH, Sample, write_config
from tests.support.sample import shipped as names

AGENTS = ("Robo", "Nova")
HOSTS = ("Robo", "Robo", "Robo", "Nova", "Nova")
SECONDS = float(os.environ.get("STRESS_SECONDS", "120"))
ISSUES = int(os.environ.get("STRESS_ISSUES", "40"))
SEED = int(os.environ.get("STRESS_SEED") or int.from_bytes(os.urandom(4)))


class Person:
    """Comments and reassigns through a repository of her own, as with `ent` and `ent sync`."""

    def __init__(self, folder: Path, sample: Sample, chance: random.Random) -> None:
        init_bare(folder)
        self.git = Git(folder, person=names.ALICE)
        self.git.run("remote", "add", "origin", sample.url)
        self.chance = chance
        self.said: list[tuple[str, str]] = []
        self.asked: Counter[str] = Counter()
        self.level()

    def level(self) -> str:
        commit = sync.bring_level(self.git, names.DATA)
        assert commit
        return commit

    def interfere(self, ids: list[str]) -> None:
        one = self.chance.choice(ids)
        text = f"remark {len(self.said)}"
        changes: list[Change] = [AddComment(issue=one, text=text, author=names.ALICE)]
        if self.chance.random() < 0.5:
            agent = self.chance.choice(AGENTS)
            changes += [SetAssignee(one, agent), SetState(one, self.chance.choice(("new", "blocked")))]
        ref = f"refs/heads/{names.DATA}"
        writer.update(self.git, ref, lambda tip: writer.commit(self.git, tip, changes))
        self.said.append((one, text))
        if len(changes) > 1:
            self.asked[one] += 1
        try:
            self.level()
        except Failure as failure:  # it is there at the next attempt
            print(failure)


class Host:
    """One machine: a cron run is started whenever none is on."""

    def __init__(self, folder: Path, sample: Sample, log: Path, agent: str) -> None:
        folder.mkdir()
        loop = '[loop]\ninterval = "500ms"\n[limits]\nmax_runs_per_hour = 100000\n'
        keys = {"agent_name": agent, "agent_email": f"{agent.lower()}@example.org"}
        self.words = [sys.executable, "-m", "tests.support.host_loop"]
        self.words += [str(write_config(folder, sample.url, loop, **keys)), str(log), "0.3"]
        self.running: subprocess.Popen[bytes] | None = None

    def tick(self) -> None:
        if self.running is None or self.running.poll() is not None:
            env = os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}", TTL_VARIABLE: "4"}
            self.running = subprocess.Popen(
                self.words, cwd=ROOT, env=env, start_new_session=True, stderr=subprocess.DEVNULL
            )

    def kill(self) -> None:
        if self.running and self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()


@pytest.mark.stress
@pytest.mark.timeout(SECONDS + 1200)
def test_no_issue_is_worked_by_two_at_once_and_none_is_lost(place: Path, sample: Sample) -> None:
    print(f"STRESS_SEED={SEED}")
    chance = random.Random(SEED)
    sample.change({f"{other}/assignee": b"alice" for other in (WELSH, GOODBYE, SPELLING)})
    ids = [f"{number:02}" + "b" * 30 for number in range(ISSUES)]
    for number, one in enumerate(ids):
        sample.add(Issue(id=one, description=f"Issue {one[:2]}", author="alice", assignee=AGENTS[number % 2]))
    log = place / "log"
    person = Person(place / "alice.git", sample, chance)
    hosts = [Host(place / f"hôst {number}", sample, log, agent) for number, agent in enumerate(HOSTS)]
    kills = 0
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        for host in hosts:
            host.tick()
        time.sleep(chance.uniform(0.1, 0.5))
        person.interfere(ids)
        if chance.random() < 0.4:
            chance.choice(hosts).kill()
            kills += 1
    until = time.monotonic() + 900
    while time.monotonic() < until and _waiting(person, ids):
        for host in hosts:
            host.tick()
        time.sleep(1)
    for host in hosts:
        if host.running:
            host.running.wait(timeout=120)

    runs = Counter(issue for what, issue, _ in worked(log) if what == "begin")
    print(f"{sum(runs.values())} runs, {kills} kills, {len(person.said)} remarks of the person")
    assert_never_two_at_once(log)
    assert _waiting(person, ids) == []
    tracker = Tracker(person.git, person.level())
    for one in ids:
        issue = tracker.issue(one)
        texts = [comment.description for comment in issue.comments]
        assert issue.state == "blocked"
        assert sorted(text for text in texts if text.startswith("remark")) == sorted(
            text for where, text in person.said if where == one
        )
        handed_back = sum(text.startswith(("Handed back", "Needs a person")) for text in texts)
        assert 1 <= handed_back <= 1 + person.asked[one]
    assert sample.git.refs("refs/ent-agent/claims/") == {}
    assert sample.git.run("fsck", "--strict", check=False).ok


def _waiting(person: Person, ids: list[str]) -> list[str]:
    """The issues that are still an agent's."""
    tracker = Tracker(person.git, person.level())
    return [one for one in ids if tracker.issue(one).assignee in AGENTS]
