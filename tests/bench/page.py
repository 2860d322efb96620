"""docs/benchmarks.md, from what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness import git
from tests.bench.intake import Rate
from tests.bench.looping import StepRow
from tests.bench.measuring import Pair
from tests.bench.pages import Growth
from tests.bench.sessions import BARE_SESSIONS, Crowd

INTRODUCTION = """\
# Benchmarks

Written by `invoke bench` (`--large` adds 100,000 issues; `ENT_REAL` names a real `ent` to compare with). Each figure stands
beside its baseline, which was run in turn with it; what counts is the ratio, the median of the turns' own ratios. "cpu" is the
processor time of a process and all below it, which other work on the machine hardly changes.
"""

LOOPING = """\
## The loop's own time for an issue

With an agent that commits and ends at once; its own time is taken off on both sides. "of 5" is a pass with five issues,
by the issue: the loop's start is shared by them.

The script is `tests/bench/bare/issue`: what any loop has to do, as git commands. It asks for origin's default branch and
fetches; claims by a ref with a lease, fetches again and sees that claim and issue are still its own; checks a branch out as a
worktree of a repository without a remote; after the agent fetches its commits from there, commits what it left, looks at
origin once more; pushes branch, hand-back and the end of the claim in one go; and looks whether anything is left.

What the loop does beside that, on purpose, and pays for:

- a file of the run on disk, flushed, before each effect, and locks: so that kill -9 anywhere loses nothing;
- the claim swapped for a new value when the agent is started and when its run is finished, two pushes: so that no push of a
  step that was killed arrives later;
- the agent under a supervisor, a process that limits it and ends whatever it leaves running, found by the environment of
  all processes;
- a prompt, with the issue's history, and an `ent` of the agent's own on its PATH; its changes of the tracker taken over as
  far as it may make them;
- every file, file name and message that would be pushed looked through for secrets and sizes;
- the verdict, and who gets the issue, from the tracker's history; a comment that says what came of it;
- each step a process of its own, with records between them.
"""

OVER_SSH = """
### Over ssh

The same, with an sshd on this machine in between: each exchange with origin is a connection of its own, as it is in use. The
loop has eight for a single issue (a look before it and one after it; the claim, a fetch, two swaps of the claim, a fetch, the
hand-back), the script seven.

"""
WHERE = """\
### Where it goes

Per issue, without the agent's part. "Programs" are git, ssh-keygen and bwrap, beside the step's own Python. "Of it git": what the
loop's own git commands took by their own account (trace2, in the pass in which programs are counted), which is the other reading of
"the same git commands": not what any loop has to do, but what this one does.

"""
NO_SSHD = "There is no sshd on this machine, so this was not measured.\n"


@dataclass
class Results:
    """What a run of the benchmarks found. `turns`: how often each pair was run."""

    turns: int
    selecting: list[Pair] = field(default_factory=list)
    writing: list[Pair] = field(default_factory=list)
    idle: list[Pair] = field(default_factory=list)
    looping: list[Pair] = field(default_factory=list)
    over_ssh: list[Pair] = field(default_factory=list)
    """None where there is no sshd."""
    steps: list[StepRow] = field(default_factory=list)
    intake: list[Rate] = field(default_factory=list)
    pages: list[Pair] = field(default_factory=list)
    growth: Growth | None = None
    crowd: Crowd | None = None
    failed: list[str] = field(default_factory=list)
    """Sections that are not whole, by what they measure."""


def text(results: Results) -> str:
    parts = [
        INTRODUCTION,
        _machine(results.turns),
        *([f"Not measured, since it failed: {', '.join(results.failed)}.\n"] if results.failed else []),
        "## Choosing among many issues\n\n" + _pairs(results.selecting, peak=True),
        "## Writing\n\n" + _pairs(results.writing, peak=True),
        "## A look with nothing to do\n\nThe baseline is a fetch from the same origin.\n\n"
        + _pairs(results.idle),
        f"{LOOPING}\n{_pairs(results.looping, cpu=False)}"
        f"{OVER_SSH}{_pairs(results.over_ssh, cpu=False) if results.over_ssh else NO_SSHD}",
        WHERE + _steps(results.steps),
        "## Deliveries of a forge\n\nEach is verified, and on disk with its event before its answer, many to one commit. The baseline reads"
        " and answers,\nand keeps nothing. Whoever sends them has a processor of his own.\n\n"
        + _pairs([one.pair for one in results.intake], peak=True)
        + "".join(
            f"\n{one.pair.what}: {one.ours:,.0f} a second; the baseline {one.baseline:,.0f}.\n"
            for one in results.intake
        ),
        *([_crowd(results.crowd)] if results.crowd else []),
        "## Pages of Fordjent\n\nThe baseline is the same page of a server whose database is nearly empty.\n\n"
        + _pairs(results.pages, peak=True)
        + _growth(results.growth),
    ]
    return "\n".join(parts)


def _crowd(crowd: Crowd) -> str:
    each, bare = crowd.cpu_seconds / crowd.sessions, crowd.bare.cpu_seconds
    shell = crowd.bare.seconds * crowd.sessions
    return (
        f"## {crowd.sessions} sessions at once\n\nIssues of one repository, each in a worktree of its own, worked until they ask a person. "
        "The model is a script\nthat takes its time, so that all of them wait for it together; git and the forge have the same "
        "processors. The baseline is a\nshell that does one after the other what git has to do for them: a clone, and for each a "
        f"fetch, a worktree, a commit, a push; measured with {min(crowd.sessions, BARE_SESSIONS)}, by the session.\n\n"
        + _table(
            ["what", "measured", "to compare"],
            [
                ["sessions at the model at a time", f"{crowd.at_once}", f"{crowd.sessions} sessions"],
                [
                    "until each had its first answer",
                    _seconds(crowd.first_seconds),
                    f"{_seconds(crowd.turn_seconds)} for an answer",
                ],
                [
                    "until all were done",
                    _seconds(crowd.seconds),
                    f"{_seconds(crowd.model_seconds)} the model alone, {_seconds(shell)} the shell",
                ],
                ["processor, for each session", _seconds(each), f"{_seconds(bare)} the shell"],
                ["memory of the server", f"{crowd.memory_mb:.0f} MB", "300 MB allowed"],
                ["memory of the programs it started", f"{crowd.programs_mb:.0f} MB", ""],
                ["/healthz meanwhile, at most", _seconds(crowd.answer_seconds), ""],
            ],
        )
    )


def _machine(turns: int) -> str:
    version = ".".join(map(str, git.version()))
    return (
        f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, git {version}; "
        f"medians of {turns} turns.\n"
    )


def _growth(growth: Growth | None) -> str:
    if growth is None:
        return ""
    return (
        f"\n{growth.requests:,} more requests for `/admin`: {growth.before_mb:.0f} MB before them, "
        f"{growth.after_mb:.0f} MB after.\n"
    )


def _pairs(pairs: Sequence[Pair], *, peak: bool = False, cpu: bool = True) -> str:
    head = [
        "what",
        "took",
        "against",
        "took",
        "ratio",
        *(["cpu ratio"] if cpu else []),
        *(["memory"] if peak else []),
    ]
    rows = [
        [
            one.what,
            _seconds(one.ours.seconds),
            one.baseline_name,
            _seconds(one.baseline.seconds),
            f"**{_ratio(one.ratio)}**",
            *([_ratio(one.cpu_ratio)] if cpu else []),
            *([f"{one.ours.peak_mb:.0f} MB"] if peak else []),
        ]
        for one in pairs
    ]
    return _table(head, rows)


def _steps(steps: Sequence[StepRow]) -> str:
    rows = [
        [
            one.step,
            f"{one.times:.1f}",
            _seconds(one.seconds),
            f"{one.programs:.0f}",
            _seconds(one.git_seconds),
        ]
        for one in steps
    ]
    took, in_git = sum(one.seconds for one in steps), sum(one.git_seconds for one in steps)
    rows.append(
        [
            "all",
            f"{sum(one.times for one in steps):.1f}",
            _seconds(took),
            f"{sum(one.programs for one in steps):.0f}",
            _seconds(in_git),
        ]
    )
    ratio = (
        f"\nThe steps' time is **{_ratio(took / in_git)}** times that of their git commands.\n"
        if in_git
        else ""
    )
    return _table(["step", "times", "took", "programs", "of it git"], rows) + ratio


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 1 else f"1/{1 / ratio:.0f}" if ratio < 0.1 else f"{ratio:.2f}"
