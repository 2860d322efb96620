"""Stand-ins for the commands of the pipeline, so that the loop can be tested without their work.

`install(folder)` puts them there. `folder`/play.json says what they do, `folder`/calls what was done:

    ready      ids of the issues that selection finds ready, in order
    waiting    id to the id that has to be finalized before it is ready
    skipped    id to why selection passes it over
    steps      step name, or "step id", to what it does at each call in turn; the last one stays:
               ok, again (finalize: still ready), error CODE EXIT (the record goes on with it),
               fail CODE EXIT (nothing comes out), outcome NAME, sleep SECONDS, die

As a program (`steps.py CONFIG FOLDER OPTIONS…`) it runs the loop on them.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

STEPS = ("sync", "select", "worktree", "run", "finalize")


def install(folder: Path, **play: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "play.json").write_text(json.dumps(play))
    here = Path(__file__).resolve().parent
    for step in STEPS:
        (folder / f"ent-agent-{step}").write_text(
            f"import sys\nsys.path[:0] = {[str(here), str(here.parents[1] / 'lib')]!r}\n"
            f"import steps\nsteps.play({str(folder)!r}, {step!r})\n"
        )
    return folder


def calls(folder: Path) -> list[str]:
    """What was called so far: "step" or "step id", in order; "stopped step id" for one that was told to end."""
    path = folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


def play(folder: str, step: str) -> None:
    played = _Play(Path(folder), step)
    lines = [] if os.fstat(0).st_rdev else [json.loads(line) for line in sys.stdin]
    if step == "finalize" and "--pending" in sys.argv:
        played.call("--pending")
        return
    if step == "sync":
        _act(played, played.call(), lines[0] if lines else {"schema_version": 1})
        return
    if step == "select":
        action = played.call()
        if action != "ok":
            _act(played, action, lines[0])
            return
        for issue in played.ready():
            _write(lines[0] | _issue(issue))
        for issue, why in played.script.get("skipped", {}).items():
            _write(lines[0] | _issue(issue) | {"skipped": why})
        return
    for record in lines:
        _act(played, played.call(record["issue"]["id"]), record)


class _Play:
    def __init__(self, folder: Path, step: str) -> None:
        self.folder, self.step = folder, step
        self.script = json.loads((folder / "play.json").read_text())

    def call(self, about: str = "") -> str:
        """Note the call; returns what to do."""
        name = f"{self.step} {about}".rstrip()
        with (self.folder / "calls").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            turn = file.read().splitlines().count(name)
            file.write(name + "\n")
        scripted = self.script.get("steps", {})
        actions = scripted.get(name) or scripted.get(self.step) or ["ok"]
        return str(actions[min(turn, len(actions) - 1)])

    def note(self, line: str) -> None:
        with (self.folder / "calls").open("a") as file:
            file.write(line + "\n")

    def ready(self) -> list[str]:
        done = [line.split()[1] for line in calls(self.folder) if line.startswith("done ")]
        waiting = self.script.get("waiting", {})
        return [
            issue
            for issue in self.script.get("ready", [])
            if issue not in done and (issue not in waiting or waiting[issue] in done)
        ]


def _act(played: _Play, action: str, record: dict[str, Any]) -> None:
    word, *rest = action.split()
    about = record.get("issue", {}).get("id", "")
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "sleep":
        _sleep(played, about, float(rest[0]))
    if word in ("error", "fail"):
        error = {
            "code": rest[0],
            "message": f"{played.step} said {rest[0]}",
            "exit_code": int(rest[1]),
            "retry": rest[1] == "75",
        }
        sys.stderr.write(json.dumps(error) + "\n")
        if word == "error":
            _write(record | {"error": error})
        sys.exit(int(rest[1]))
    if played.step == "finalize" and "error" not in record:
        outcome = rest[0] if word == "outcome" else "completed"
        record["result"] = {"outcome": outcome, "commits": ["c0ffee"], "pushed": True, "handed_to": "alice"}
        if outcome in ("quota", "auth"):  # as finalize does it
            exit_code = 75 if outcome == "quota" else 77
            record["error"] = {
                "code": outcome,
                "message": "",
                "exit_code": exit_code,
                "retry": outcome == "quota",
            }
        if word != "again":
            played.note(f"done {about}")
    _write(record)


def _sleep(played: _Play, about: str, seconds: float) -> None:
    from harness import process

    def stopped(_number: int, _frame: object) -> None:
        played.note(f"stopped {played.step} {about}".rstrip())
        raise TimeoutError

    signal.signal(signal.SIGTERM, stopped)
    if parent := os.environ.get("ENT_AGENT_PARENT"):
        process.die_with_parent(int(parent))
    try:
        time.sleep(seconds)
    except TimeoutError:
        if played.step != "run":
            sys.exit(143)
        return
    played.note(f"slept {played.step} {about}".rstrip())


def _issue(issue: str) -> dict[str, Any]:
    return {"issue": {"id": issue, "title": f"Issue {issue}", "description": "", "state": "new"}}


def _write(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def main(config: str, folder: str, *options: str) -> int:
    from ent_agent.config import load
    from ent_agent.loop import loop, progress, telling
    from ent_agent.loop.pipeline import Steps

    loaded = load(config)
    said = progress.to(sys.stdout)
    steps = Steps(loaded.path, telling.of_steps(said), Path(folder))
    jobs = 2 if "--jobs" in options else 1
    chosen = loop.Options(forever="--forever" in options, interval_seconds=0.05, jobs=jobs)
    return loop.run(loaded, chosen, said, steps)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
