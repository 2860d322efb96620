"""Gate 3: the repository's own checks pass on the commit that is to be pushed. Before the push, deliberately."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shutil import which

from fordjent import threads
from fordjent.config import Config
from fordjent.gates.gate import Blocked, Passed, Proposal, listed
from fordjent.store import gate_results
from fordjent.tools import programs
from fordjent.tools.ground import Ground
from fordjent.workspaces.place import Place
from harness.config import seconds
from harness.git import Git

GATE = "verify"
NO_TESTS = 5
"""What pytest exits with where it finds no test (docs.pytest.org, exit codes)."""
LONGEST_OUTPUT = 12_000

_TEST_TARGET = re.compile(rb"^test[ \t]*:(?!=)", re.MULTILINE)
_PYTEST = re.compile(rb"^\[(?:tool\.pytest|pytest|tool:pytest)\b", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """`command` for a shell; `program`: what must be installed for it; `passes`: exit codes that will do."""

    command: str
    program: str = ""
    passes: tuple[int, ...] = (0,)


async def check(proposal: Proposal) -> Passed | Blocked:
    """
    Raises:
        BadConfig: the sandbox that was asked for cannot be had.
    """
    config, place, database = proposal.context.config, proposal.place, proposal.context.database
    tip = await threads.run_in(place.root, place.head)
    wanted = configured(config) or await threads.run(found_in, place.control, tip)
    runnable = [one for one in wanted if not one.program or which(one.program)]
    missing = sorted({one.program for one in wanted} - {one.program for one in runnable})
    note = summary(runnable, missing)
    if not runnable:
        return Passed(gate=GATE, commit=tip, note=note)
    known = await database.read(gate_results.last, str(place.key), GATE, tip)
    if known and known.passed and known.reason == note:
        return Passed(gate=GATE, commit=tip, note=note)
    ground = await threads.run(Ground.of_session, config, place, proposal.run, proposal.person)
    until = time.monotonic() + seconds(config.verify.timeout)
    for one in runnable:
        blocked = await _failure(proposal, ground, one, until, tip)
        if blocked:
            return blocked
    return await threads.run_in(place.root, _as_before, place, tip) or Passed(
        gate=GATE, commit=tip, note=note
    )


def configured(config: Config) -> list[Check]:
    """What `[verify] commands` says: the operator's own words, for a shell."""
    return [Check(command) for command in config.verify.commands]


def found_in(git: Git, commit: str) -> list[Check]:
    """What a repository's files say of how it is checked; a `test` target of make where nothing else does."""
    names = set(git.lines("ls-tree", "--name-only", commit))

    def read(name: str) -> bytes:
        return git.objects.read(f"{commit}:{name}") if name in names else b""

    return _by_language(names, read) or (
        [Check("make test", "make")]
        if any(_TEST_TARGET.search(read(name)) for name in ("Makefile", "makefile", "GNUmakefile"))
        else []
    )


def summary(checks: Sequence[Check], missing: Sequence[str]) -> str:
    """What was checked, in a sentence; the same words are the same checks."""
    done = f"passed: {', '.join(one.command for one in checks)}" if checks else "there was nothing to run"
    return f"{done}; not installed: {', '.join(missing)}" if missing else done


def _by_language(names: set[str], read: Callable[[str], bytes]) -> list[Check]:
    found: list[Check] = []
    if "go.mod" in names:
        found += [Check("go build ./...", "go"), Check("go test ./...", "go")]
        found.append(Check("golangci-lint run", "golangci-lint"))
    if "Cargo.toml" in names:
        found.append(Check("cargo test", "cargo"))
    if "package.json" in names and _has_test_script(read("package.json")):
        found.append(Check("npm test", "npm"))
    of_python = {"pytest.ini", "conftest.py"} & names or any(
        _PYTEST.search(read(name)) for name in ("pyproject.toml", "setup.cfg", "tox.ini")
    )
    is_python = {"pyproject.toml", "setup.py", "setup.cfg"} & names
    if of_python or (is_python and {"tests", "test"} & names):
        found.append(Check("pytest -q", "pytest", (0, NO_TESTS)))
    return found


def _has_test_script(package: bytes) -> bool:
    """npm's own default says that there is none, and fails."""
    try:
        script = json.loads(package)["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(script, str) and "no test specified" not in script


async def _failure(proposal: Proposal, ground: Ground, one: Check, until: float, tip: str) -> Blocked | None:
    left = until - time.monotonic()
    redactor = proposal.context.redactor
    if left <= 0:
        return _blocked(f"the time for all checks was over before `{one.command}`", "", tip)
    ran = await programs.run(ground, ["sh", "-c", one.command], redactor, left)
    if ran.ended_by == "exit" and ran.exit_code in one.passes:
        return None
    output = redactor.tail(ran.told(left), LONGEST_OUTPUT)
    how = "ran into its time limit" if ran.ended_by == "timeout" else "failed"
    return _blocked(f"`{one.command}` {how}", output, tip)


def _as_before(place: Place, tip: str) -> Blocked | None:
    """Checks that changed files, or committed, did not check what is to be pushed."""
    if place.standing() != "on branch" or place.head() != tip:
        return _blocked("the checks moved the branch", "", tip)
    changed = place.uncommitted()
    if not changed:
        return None
    return Blocked(
        gate=GATE,
        reason=f"the checks passed, and left changes: {listed(changed)}",
        what_to_do="Commit what belongs to the work; name the rest in .gitignore.",
        files=changed,
        commit=tip,
    )


def _blocked(reason: str, output: str, tip: str) -> Blocked:
    told = f"Its output ends:\n{output}\n" if output else ""
    return Blocked(gate=GATE, reason=reason, what_to_do=f"{told}Mend it, commit, and try again.", commit=tip)
