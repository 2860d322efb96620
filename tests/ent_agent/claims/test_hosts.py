"""Several hosts of one agent on one origin: each issue is worked once, whoever is killed when."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from ent_agent.claims.claim_value import TTL_VARIABLE
from ent_agent.tracker.model import Issue
from tests.support.sample import GOODBYE, SPELLING, WELSH, Sample, write_config

ROOT = Path(__file__).resolve().parents[3]


def add_issues(sample: Sample, count: int) -> list[str]:
    """So many issues for the agent, and none besides."""
    sample.change({f"{other}/assignee": b"alice" for other in (WELSH, GOODBYE, SPELLING)})
    ids = [f"{number:02}" + "a" * 30 for number in range(count)]
    for one in ids:
        sample.add(
            Issue(id=one, description=f"Issue {one[:2]}", author="alice", assignee="Robo", state="new")
        )
    return ids


def start(
    host: Path, sample: Sample, log: Path, *, seconds: float, ttl: float = 900
) -> subprocess.Popen[bytes]:
    """A cron run of the host whose state is in `host`, in a process group of its own."""
    host.mkdir(exist_ok=True)
    config = write_config(host, sample.url, '[loop]\ninterval = "500ms"\n')
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}", TTL_VARIABLE: str(ttl)}
    words = [sys.executable, "-m", "tests.support.host_loop", str(config), str(log), str(seconds)]
    return subprocess.Popen(words, cwd=ROOT, env=env, start_new_session=True, stderr=subprocess.DEVNULL)


def worked(log: Path) -> list[tuple[str, str, str]]:
    """What happened, in order: begin or end, the issue, the process."""
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [(what, issue, pid) for _, what, issue, pid in sorted(lines, key=lambda line: float(line[0]))]


def assert_never_two_at_once(log: Path) -> None:
    at_work: dict[str, str] = {}
    for what, issue, pid in worked(log):
        if what == "begin":
            assert at_work.get(issue, pid) == pid or not Path(f"/proc/{at_work[issue]}").exists()
            at_work[issue] = pid
        else:
            at_work.pop(issue, None)


def assert_all_handed_back_once(sample: Sample, ids: list[str]) -> None:
    for one in ids:
        assert (sample.read(f"{one}/state"), sample.read(f"{one}/assignee")) == ("blocked", "alice")
        said = [text.split(":")[0] for text in sample.comments(one)]
        assert sorted(said) == ["Handed back for review", "Looked at it."]
        assert "work.txt" in sample.files(f"robo/{one}")
    assert sample.git.refs("refs/ent-agent/claims/") == {}


def test_two_hosts_that_start_in_the_same_second_work_twenty_issues_once_each(
    place: Path, sample: Sample
) -> None:
    ids = add_issues(sample, 20)
    log = place / "log"
    hosts = [start(place / f"hôst {number}", sample, log, seconds=0) for number in (1, 2)]
    for host in hosts:
        host.wait(timeout=110)
    begun = Counter(issue for what, issue, _ in worked(log) if what == "begin")
    assert begun == Counter(ids)
    assert len({pid for _, _, pid in worked(log)}) == 2
    assert_all_handed_back_once(sample, ids)


def test_hosts_that_are_killed_at_random_hand_every_issue_back_once(place: Path, sample: Sample) -> None:
    ids = add_issues(sample, 6)
    log = place / "log"
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    chance = random.Random(seed)
    folders = [place / "one", place / "two"]
    for _ in range(4):
        hosts = [start(folder, sample, log, seconds=0.2, ttl=4) for folder in folders]
        for host in hosts:
            time.sleep(chance.uniform(0.3, 2.5))
            os.killpg(host.pid, signal.SIGKILL)
            host.wait()
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and any(sample.read(f"{one}/assignee") == "Robo" for one in ids):
        for host in [start(folder, sample, log, seconds=0.1, ttl=4) for folder in folders]:
            host.wait(timeout=60)
    assert_never_two_at_once(log)
    assert_all_handed_back_once(sample, ids)


def test_the_issues_of_a_host_that_is_gone_for_good_are_taken_over(place: Path, sample: Sample) -> None:
    [issue] = add_issues(sample, 1)
    log = place / "log"
    gone = start(place / "gone", sample, log, seconds=60, ttl=3)
    deadline = time.monotonic() + 30
    while not worked(log) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(gone.pid, signal.SIGKILL)
    gone.wait()
    assert sample.git.refs("refs/ent-agent/claims/")
    while time.monotonic() < deadline and sample.read(f"{issue}/assignee") == "Robo":
        start(place / "other", sample, log, seconds=0, ttl=3).wait(timeout=30)
        time.sleep(0.3)
    assert_all_handed_back_once(sample, [issue])
