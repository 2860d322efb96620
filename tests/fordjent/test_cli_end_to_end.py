"""A session of an agent CLI, from a person's issue to its pull request: over the real server, and a kill of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fordjent.tools.local import LOCAL
from tests.support.scripts import GREETING
from tests.support.served import BOT, REPOSITORY, SECRET, Served, until

ADAPTER = Path(__file__).resolve().parents[1] / "support/agents/tools.toml"


@pytest.fixture
def served(place: Path) -> Iterator[Served]:
    with Served(place, [], sessions={"agent_type": str(ADAPTER)}) as made:
        yield made


@pytest.mark.timeout(180)  # two starts of the server, and of the CLI
def test_an_agent_cli_works_by_programs_and_by_mcp_and_what_a_kill_cuts_off_is_done_once(
    served: Served,
) -> None:
    served.start("fordjent.pull")  # killed when the pull request is there, and nobody has written that down
    number = served.bob.open_issue(REPOSITORY, "Greet by name", "hello() should say the name.")
    until(lambda: served.has_ended, "killed", seconds=60)
    served.start()
    served.until_state(f"issues/{number}", "completed", seconds=60)
    everything_is_there_once(served, number)
    it_was_refused_what_it_may_not(served)
    its_usage_is_in_the_books(served)
    secrets = (SECRET, served.forge.token(BOT))
    assert not any(secret in json.dumps(said) for secret in secrets for said in lines(served))


def everything_is_there_once(served: Served, number: int) -> None:
    (pull,) = served.bob.pulls(REPOSITORY, "all")
    assert (pull["head"]["ref"], pull["base"]["ref"], pull["user"]["login"]) == (
        f"fordjent/issue-{number}",
        "main",
        BOT,
    )
    listed = served.bob.do("GET", f"/repos/{REPOSITORY}/pulls/{pull['number']}/commits")
    assert [one["commit"]["message"].splitlines()[0] for one in listed] == [
        "[agent-automation] Greet by name"
    ]
    assert served.bob.file(REPOSITORY, "hello.py", pull["head"]["ref"]) == GREETING
    until(lambda: "Done" in served.bob.comments(REPOSITORY, number)[0]["body"], "the status is brought level")
    status, comment = [one["body"] for one in served.bob.comments(REPOSITORY, number)]
    assert f"#{pull['number']}" in status and "over MCP" in comment
    assert served.bob.comments(REPOSITORY, pull["number"]) == []
    assert served.row("SELECT count(*) FROM runs") == [(1,)]


def it_was_refused_what_it_may_not(served: Served) -> None:
    """Over MCP as by programs; and what it has itself (a shell, files) it is offered in neither way."""
    begun = [said["names"] for said in lines(served) if said["type"] == "listed"]
    assert len(begun) == 2 and "forgejo_create_pr" in begun[0] and not LOCAL.keys() & begun[0]
    used = [said for said in lines(served) if said["type"] == "used"]
    refused = [(said["how"], said["name"], said["text"]) for said in used if said["failed"]]
    merging, early, elsewhere = refused[:3]
    assert merging[:2] == ("mcp", "forgejo_merge_pr") and "people merge here" in merging[2]
    assert early[:2] == ("mcp", "forgejo_create_pr") and "not committed: hello.py" in early[2]
    assert elsewhere[:2] == ("program", "forgejo_create_pr") and "main is a protected branch" in elsewhere[2]
    passed = served.row("SELECT gate FROM gate_results WHERE passed ORDER BY id DESC LIMIT 6")
    assert [gate for (gate,) in reversed(passed)] == [
        "branch",
        "stale",
        "verify",
        "push",
        "merge_queue",
        "opening",
    ]


def its_usage_is_in_the_books(served: Served) -> None:
    """What the CLI said of its own tokens and money; of the start that was killed, only that there was one."""
    columns = "tokens_in, tokens_out, tokens_cached, cost_microdollars, role, provider"
    (told,) = served.row(f"SELECT {columns} FROM model_calls WHERE state = 'answered'")
    assert told == (1500, 45, 300, 12_500, "implementer", "tools")
    assert served.row("SELECT count(*) FROM model_calls WHERE state = 'reserved'") == [(1,)]
    assert served.row("SELECT cost_microdollars FROM spending") == [(12_500,)]


def lines(served: Served) -> list[dict[str, Any]]:
    """What the CLI printed, in all its starts."""
    logs = served.folder.rglob("agent/stdout.log")
    return [json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines()]
