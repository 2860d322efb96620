"""All of Fordjent over real HTTP and real git: from a person's issue to a pull request, and what happens on the way."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.scripts import (
    GREETING,
    ISSUE_TO_PULL,
    POLITE,
    REVIEW_TO_CHANGE,
    Rule,
    call,
    change_of,
    commit,
    heard,
    propose,
    then,
    write,
)
from tests.support.served import BOT, REPOSITORY, ROOT, SECRET, Served, until

Serve = Callable[..., Served]
BRANCH = "fordjent/issue-1"
EFFECTS = (
    "fordjent.decided",
    "run-begun",
    "repository-fetched",
    "worktree-registered",
    "worktree-placed",
    "labels-set",
    "fordjent.comment.begun",
    "fordjent.comment",
    "fordjent.comment.noted",
    "status-said",
    "run-briefed",
    "calls-kept",
    "gate-branch",
    "gate-verify",
    "branch-pushed",
    "gate-push",
    "fordjent.pull.begun",
    "fordjent.pull",
    "gate-opening",
    "outcome-written",
)
"""In the order in which a run comes to them."""


@pytest.fixture
def serve(place: Path) -> Any:
    """Makes a served forge, and takes it down."""
    made: list[Served] = []

    def make(rules: list[Rule], **more: Any) -> Served:
        made.append(Served(place, rules, **more))
        return made[-1]

    yield make
    for served in made:
        served.__exit__(None, None, None)


def opened(served: Served, title: str = "Greet by name") -> int:
    return served.bob.open_issue(REPOSITORY, title, "hello() should say the name.")


def said_by_bot(served: Served, number: int) -> list[str]:
    return [one["body"] for one in served.bob.comments(REPOSITORY, number) if one["user"]["login"] == BOT]


def commits(served: Served, pull: int) -> list[str]:
    listed = served.bob.do("GET", f"/repos/{REPOSITORY}/pulls/{pull}/commits")
    return [one["commit"]["message"].splitlines()[0] for one in listed]


def test_an_issue_becomes_a_pull_request_and_a_review_changes_it(serve: Serve) -> None:
    served = serve([*REVIEW_TO_CHANGE, *ISSUE_TO_PULL])
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "completed")
    (pull,) = served.bob.pulls(REPOSITORY)
    assert (pull["head"]["ref"], pull["base"]["ref"], pull["user"]["login"]) == (BRANCH, "main", BOT)
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == GREETING
    assert served.bob.labels(REPOSITORY, number) == ["review"]
    (status,) = said_by_bot(served, number)
    assert f"#{pull['number']}" in status
    assert set(served.bob.reactions(REPOSITORY, number)) == {(BOT, "eyes"), (BOT, "hooray")}

    remarks = [("hello.py", 2, "Say good day.")]
    served.bob.review(REPOSITORY, pull["number"], "request_changes", "More polite, please.", remarks)
    served.until_state(f"pulls/{pull['number']}", "completed")
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == POLITE
    assert [one["number"] for one in served.bob.pulls(REPOSITORY, "all")] == [pull["number"]]
    told = served.row(
        "SELECT message FROM messages WHERE key LIKE '%pulls%' AND message LIKE '%Say good day%'"
    )
    assert told and "hello.py, line 2" in told[0][0]
    assert served.stop() == 0
    assert served.forge.strange == []
    no_secret_is_anywhere(served)


def no_secret_is_anywhere(served: Served) -> None:
    """The token and the hook's secret stand in config.toml and in the credential's file, and nowhere else."""
    secrets = [served.forge.token(BOT).encode(), SECRET.encode()]
    allowed = (served.config_path, served.folder / "state/credentials", served.folder / "forge")
    for path in served.folder.rglob("*"):
        if path.is_file() and not any(path.is_relative_to(one) for one in allowed):
            data = path.read_bytes()
            assert not any(secret in data for secret in secrets), path


def test_two_issues_are_worked_at_once(serve: Serve) -> None:
    served = serve([*change_of(1), *change_of(2)])
    served.start()
    numbers = [opened(served, "Part one"), opened(served, "Part two")]
    for number in numbers:
        served.until_state(f"issues/{number}", "completed")
    times = {
        number: [
            at
            for (at,) in served.row(
                "SELECT at FROM transitions WHERE key = ? ORDER BY id", f"{REPOSITORY}/issues/{number}"
            )
        ]
        for number in numbers
    }
    assert times[1][1] < times[2][2] and times[2][1] < times[1][2]
    assert {pull["head"]["ref"] for pull in served.bob.pulls(REPOSITORY)} == {BRANCH, "fordjent/issue-2"}


def test_a_comment_during_the_run_is_told_before_the_next_turn(serve: Serve) -> None:
    served = serve(
        [
            heard("It was opened", write(), delay="1500ms"),
            heard(
                r"This came while you worked[\s\S]*Say good day instead",
                write(POLITE),
                *commit("Greet politely"),
            ),
            then(propose("Greet politely")),
        ]
    )
    served.start()
    number = opened(served)
    until(lambda: bool(served.row("SELECT 1 FROM model_calls")), "the model is asked")
    served.bob.comment(REPOSITORY, number, "Say good day instead.")
    served.until_state(f"issues/{number}", "completed")
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == POLITE
    assert served.row("SELECT count(*) FROM runs")[0][0] == 1


@pytest.mark.parametrize("what", ["closed", "reassigned"])
def test_an_issue_that_is_taken_away_stops_its_run(serve: Serve, what: str) -> None:
    served = serve([heard("It was opened", write(), delay="60s")])
    served.start()
    number = opened(served)
    until(lambda: served.bob.labels(REPOSITORY, number) == ["in_progress"], "it is labelled")
    if what == "closed":
        served.bob.close(REPOSITORY, number)
    else:
        served.bob.assign(REPOSITORY, number, "alice")
    served.until_state(f"issues/{number}", "waiting")
    until(lambda: served.bob.labels(REPOSITORY, number) == [], "it has no label of ours")
    assert f"{what}" in said_by_bot(served, number)[-1] and served.bob.pulls(REPOSITORY) == []


@pytest.mark.timeout(420)  # twenty starts of the server
@pytest.mark.parametrize("effects", [EFFECTS, ("fordjent.pull.noted", "outcome-written")], ids=len)
def test_killed_at_every_effect_it_does_everything_once(serve: Serve, effects: tuple[str, ...]) -> None:
    served = serve(ISSUE_TO_PULL)
    served.start(effects[0])
    number = opened(served)
    for following in (*effects[1:], ""):
        until(lambda: served.has_ended, f"killed, and then {following}")
        served.start(following)
    served.until_state(f"issues/{number}", "completed")
    (pull,) = served.bob.pulls(REPOSITORY, "all")
    assert commits(served, pull["number"]) == ["[agent-automation] Greet by name"]
    until(lambda: "Done" in said_by_bot(served, number)[0], "the status comment is brought level")
    assert served.bob.labels(REPOSITORY, number) == ["review"]
    assert len(said_by_bot(served, number)) == 1 and said_by_bot(served, pull["number"]) == []
    assert served.row("SELECT count(*) FROM runs")[0][0] == 1


def test_killed_while_it_fails_it_says_so_once(serve: Serve) -> None:
    served = serve(
        [heard("your last turn", write(), delay="2s")], more="[roles.implementer]\nmax_turns = 1\n"
    )
    effects = ("left-overs-committed", "branch-kept", "fordjent.comment", "outcome-written", "")
    served.start()
    number = opened(served)
    until(lambda: len(said_by_bot(served, number)) == 1, "it is being worked")
    served.kill()
    for stop_at in effects:
        served.start(stop_at)
        if stop_at:
            until(lambda: served.has_ended, f"killed at {stop_at}")
    served.until_state(f"issues/{number}", "failed")
    assert len([text for text in said_by_bot(served, number) if "I stopped" in text]) == 1
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == GREETING
    until(lambda: served.bob.labels(REPOSITORY, number) == ["fordjent/failed:max_turns"], "it is labelled")


def test_of_a_flood_of_comments_none_is_lost_and_few_runs_come(serve: Serve) -> None:
    served = serve(
        [
            heard("It was opened", write(), *commit("Greet by name"), delay="500ms"),
            {"last_role": "user", "last": "word \\d+", "times": 0, "text": "I read it."},
            then(propose("Greet by name"), times=0),
        ],
        sessions={"coalesce": "300ms"},
    )
    served.start()
    number = opened(served)
    for word in range(30):
        served.bob.comment(REPOSITORY, number, f"word {word}.")
    until(
        lambda: (
            not served.row("SELECT 1 FROM events WHERE state = 'new'")
            and not served.row("SELECT 1 FROM inputs WHERE run = ''")
        ),
        "all is told",
    )
    served.until_state(f"issues/{number}", "completed", "failed")
    told = " ".join(text for (text,) in served.row("SELECT message FROM messages"))
    assert all(f"word {word}." in told for word in range(30))
    assert served.row("SELECT count(*) FROM runs")[0][0] < 8


def test_while_the_forge_is_away_the_run_waits(serve: Serve) -> None:
    served = serve(
        [
            heard("It was opened", write(), *commit("Greet by name"), delay="1s"),
            then(propose("Greet by name"), times=0),
        ]
    )
    served.start()
    number = opened(served)
    until(lambda: bool(served.row("SELECT 1 FROM model_calls")), "the model is asked")
    served.forge.down()
    until(lambda: bool(served.row("SELECT 1 FROM tool_calls WHERE name = 'git'")), "it works without")
    served.forge.up()
    served.until_state(f"issues/{number}", "completed", seconds=60)
    assert len(served.bob.pulls(REPOSITORY)) == 1


def test_a_model_that_refuses_is_said_once_and_a_comment_goes_on(serve: Serve) -> None:
    served = serve([{"last": "It was opened", "failure": "auth", "text": "the key is wrong"}])
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "failed")
    assert served.bob.labels(REPOSITORY, number) == ["fordjent/failed:error"]
    failures = [text for text in said_by_bot(served, number) if "I stopped" in text]
    assert len(failures) == 1 and "the key is wrong" in failures[0]
    assert served.stop() == 0

    served.script(
        [heard("A comment, by bob", write(), *commit("Greet by name")), then(propose("Greet by name"))]
    )
    served.start()
    served.bob.comment(REPOSITORY, number, "The key is mended.")
    served.until_state(f"issues/{number}", "completed")
    assert served.bob.labels(REPOSITORY, number) == ["review"]


def test_term_ends_it_in_time_and_the_next_start_goes_on(serve: Serve) -> None:
    slow = [heard("It was opened", write(), *commit("Greet by name"), delay="60s"), *ISSUE_TO_PULL[2:]]
    served = serve(slow, sessions={"shutdown_grace": "300ms"})
    served.start()
    number = opened(served)
    until(lambda: bool(served.row("SELECT 1 FROM model_calls")), "the model is asked")
    assert served.stop() == 0
    assert served.state(f"issues/{number}") == "working"

    served.script([{**slow[0], "delay": "0s"}, *slow[1:]])
    served.start()
    served.until_state(f"issues/{number}", "completed")
    assert served.row("SELECT count(*) FROM runs")[0][0] == 1
    assert len(said_by_bot(served, number)) == 1


def test_at_the_end_of_its_turns_what_was_done_is_on_the_branch_and_said(serve: Serve) -> None:
    rules = [
        heard("It was opened", write()),
        {"last": "", "times": 0, "tool_calls": [call("read_file", path="README.md")]},
    ]
    served = serve(rules, more="[roles.implementer]\nmax_turns = 3\n")
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "failed")
    assert served.bob.labels(REPOSITORY, number) == ["fordjent/failed:max_turns"]
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == GREETING
    (failure,) = [text for text in said_by_bot(served, number) if "I stopped" in text]
    assert "All 3 turns" in failure and BRANCH in failure
    assert served.bob.pulls(REPOSITORY) == []


def test_a_question_waits_for_its_answer(serve: Serve) -> None:
    served = serve(
        [
            heard("A comment, by bob", write(), *commit("Greet by name")),
            then(propose("Greet by name"), anywhere=["A comment, by bob"]),
            heard("It was opened", call("forgejo_comment", body="In which language?")),
            then(text="I asked."),
        ]
    )
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "blocked")
    assert served.bob.labels(REPOSITORY, number) == ["blocked"] and served.bob.pulls(REPOSITORY) == []
    served.bob.comment(REPOSITORY, number, "In English.")
    served.until_state(f"issues/{number}", "completed")
    assert served.bob.labels(REPOSITORY, number) == ["review"]


def test_an_agent_that_only_says_that_it_is_done_is_reminded_and_then_fails(serve: Serve) -> None:
    served = serve([{"last": "", "times": 0, "text": "All done, the pull request is open."}])
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "failed")
    assert served.bob.labels(REPOSITORY, number) == ["fordjent/failed:no_progress"]
    told = served.row("SELECT message FROM messages WHERE message LIKE '%there is no pull request%'")
    assert len(told) == 2


def test_two_changes_of_one_file_go_one_after_the_other(serve: Serve) -> None:
    served = serve(
        [
            heard(
                "It was opened",
                write(GREETING + "# <n>\n"),
                *commit("Greet"),
                anywhere=[r"- Issue: #(?P<n>\d)"],
            ),
            then(propose("Greet")),
        ]
    )
    served.start()
    first = opened(served)
    served.until_state(f"issues/{first}", "completed")
    (pull,) = served.bob.pulls(REPOSITORY)
    second = opened(served)
    served.until_state(f"issues/{second}", "waiting")
    assert served.bob.labels(REPOSITORY, second) == ["blocked"]
    assert re.search(rf"#{pull['number']}\b", said_by_bot(served, second)[0])
    served.bob.do("PATCH", f"/repos/{REPOSITORY}/pulls/{pull['number']}", {"state": "closed"})
    served.until_state(f"issues/{second}", "completed")
    assert [one["head"]["ref"] for one in served.bob.pulls(REPOSITORY)] == [f"fordjent/issue-{second}"]


AGENT = """\
#!/bin/sh
cat > "$TMPDIR/prompt"
grep -q 'hello() should say the name' "$TMPDIR/prompt" || { echo 'I was told nothing'; exit 1; }
printf 'def hello(name: str) -> str:\\n    return f"hello, {name}"\\n' > hello.py
git commit --quiet -am 'Greet by name' || exit 1
echo '{"title": "Greet by name", "body": "Closes #1"}' | forgejo_create_pr
env > "$TMPDIR/env"; cp "$TMPDIR/env" "$HOME/.config/fordjent/cli/env"
echo 'I am done.'
"""


@pytest.mark.parametrize("sandbox", ["none", "auto"])
def test_an_agent_cli_works_the_session_with_the_tools_on_its_path(
    serve: Serve, place: Path, sandbox: str
) -> None:
    (place / "cli.toml").write_text('command = ["./cli"]\nprompt = "stdin"\n', encoding="utf-8")
    (place / "cli").write_text(AGENT, encoding="utf-8")
    (place / "cli").chmod(0o755)
    served = serve([], sessions={"agent_type": "cli.toml"}, more=f'[sandbox]\nbackend = "{sandbox}"\n')
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "completed")
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == GREETING
    (pull,) = served.bob.pulls(REPOSITORY)
    assert commits(served, pull["number"]) == ["[agent-automation] Greet by name"]
    seen = (Path.home() / ".config/fordjent/cli/env").read_text("utf-8")
    assert "FORDJENT_SOCKET=" in seen and served.forge.token(BOT) not in seen and SECRET not in seen


def test_an_idle_worktree_is_given_back_and_whole_again_on_the_next_event(serve: Serve) -> None:
    served = serve([*REVIEW_TO_CHANGE, *ISSUE_TO_PULL], sessions={"idle_timeout": "1s"})
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "completed")
    worktree = served.folder / "state/repositories/acme/widget/worktrees/issues-1"
    until(lambda: not worktree.exists(), "the worktree is given back")
    (pull,) = served.bob.pulls(REPOSITORY)
    served.bob.review(REPOSITORY, pull["number"], "request_changes", "More polite, please.")
    served.until_state(f"pulls/{pull['number']}", "completed")
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == POLITE


def test_the_time_for_a_run_ends_it_with_its_work_kept(serve: Serve) -> None:
    rules = [heard("It was opened", write()), then(call("read_file", path="README.md"), delay="60s")]
    served = serve(rules, sessions={"run_timeout": "3s"})
    served.start()
    number = opened(served)
    served.until_state(f"issues/{number}", "failed")
    assert served.bob.labels(REPOSITORY, number) == ["fordjent/failed:timeout"]
    assert served.bob.file(REPOSITORY, "hello.py", BRANCH) == GREETING


def test_a_pm_makes_sub_issues_that_are_worked_and_says_so(serve: Serve) -> None:
    served = serve(
        [
            heard(
                "It was opened",
                call("forgejo_create_issue", title="Greet by name", body="As said.", role="implementer"),
                call("forgejo_comment", body="One part: #2."),
                anywhere=["as its pm"],
            ),
            then(text="Done.", anywhere=["as its pm"]),
            heard(
                "It was opened", write(), *commit("Greet by name"), anywhere=["part of[\\s\\S]*Split this"]
            ),
            then(propose("Greet by name", "Closes #2")),
        ]
    )
    served.start()
    number = opened(served, "[pm] Split this")
    served.until_state(f"issues/{number}", "completed")
    served.until_state("issues/2", "completed")
    assert served.bob.labels(REPOSITORY, number) == []
    assert set(served.bob.labels(REPOSITORY, 2)) == {"role:implementer", "review"}
    assert len(served.bob.pulls(REPOSITORY)) == 1


def test_a_persons_pull_request_is_reviewed_and_not_changed(serve: Serve) -> None:
    served = serve(
        [
            heard(
                "new commits",
                call("forgejo_pr_diff"),
                call("read_file", path="hello.py"),
                call(
                    "forgejo_review",
                    event="REQUEST_CHANGES",
                    body="Not yet.",
                    comments=[{"path": "hello.py", "body": "No name here.", "line": 2}],
                ),
                anywhere=["as its reviewer"],
            ),
            then(text="Reviewed."),
        ]
    )
    served.start()
    head = served.bob.push(REPOSITORY, "greet", {"hello.py": 'def hello(name):\n    return "hi"\n'}, "Greet")
    number = served.bob.open_pull(REPOSITORY, "greet", "Greet")
    served.until_state(f"pulls/{number}", "completed")
    (review,) = served.bob.do("GET", f"/repos/{REPOSITORY}/pulls/{number}/reviews")
    assert (review["state"], review["user"]["login"], review["comments_count"]) == ("REQUEST_CHANGES", BOT, 1)
    assert served.bob.pull(REPOSITORY, number)["head"]["sha"] == head


def test_one_session_is_run_by_hand_and_shown(serve: Serve) -> None:
    served = serve(ISSUE_TO_PULL)
    number = opened(served)
    words = [sys.executable, str(ROOT / "bin/fordjent-session"), "--config", str(served.config_path)]
    ran = subprocess.run(
        [*words, f"{REPOSITORY}/issues/{number}"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert 'read_file {"path":"hello.py"}' in ran.stdout
    assert ran.stdout.splitlines()[-1].startswith(f"{REPOSITORY}/issues/{number} is completed")
    assert len(served.bob.pulls(REPOSITORY)) == 1


def test_term_ends_an_agent_cli_too_and_the_next_start_begins_it_again(serve: Serve, place: Path) -> None:
    (place / "cli.toml").write_text('command = ["./cli"]\nprompt = "stdin"\n', encoding="utf-8")
    (place / "cli").write_text('#!/bin/sh\necho $$ > "$HOME/pid"\nexec sleep 600\n', encoding="utf-8")
    (place / "cli").chmod(0o755)
    served = serve(
        [],
        sessions={"agent_type": "cli.toml", "shutdown_grace": "200ms"},
        more='[sandbox]\nbackend = "none"\n',
    )
    served.start()
    number = opened(served)
    note = Path.home() / "pid"
    until(lambda: note.exists() and note.read_text("utf-8").strip().isdecimal(), "the agent runs")
    assert served.stop() == 0
    assert not psutil.pid_exists(int(note.read_text("utf-8")))
    assert served.state(f"issues/{number}") == "working"

    (place / "cli").write_text(AGENT, encoding="utf-8")
    served.start()
    served.until_state(f"issues/{number}", "completed")
    assert len(served.bob.pulls(REPOSITORY)) == 1


def test_a_budget_that_is_reached_ends_the_calls_with_one_comment_and_goes_on_when_it_is_raised(
    serve: Serve,
) -> None:
    dollar = {"tokens_in": 0, "tokens_out": 100}
    served = serve(
        [
            heard("It was opened", call("read_file", path="hello.py"), usage=dollar),
            heard("Go on", write(), *commit("Greet by name")),
            then(propose("Greet by name", "Closes #1")),
        ],
        more="[budget]\nsession = 1.5",
    )
    changed(
        served, 'model = "scripted"', 'model = "scripted"\nmax_tokens = 100\noutput_usd_per_million = 1e4'
    )
    served.start()
    number = opened(served)
    key = f"issues/{number}"
    assert served.until_state(key, "failed", "completed") == "failed"
    status, told = said_by_bot(served, number)
    assert "Failed (budget)" in status and "comment here lets me go on" in told
    assert "budget.session of $1.50 is reached" in told
    assert served.bob.labels(REPOSITORY, number) == ["fordjent/failed:budget"]
    spent = served.row("SELECT state, cost_microdollars FROM model_calls")
    assert spent == [("answered", 1_000_000)]

    changed(served, "session = 1.5", "session = 9.0")
    until(lambda: "config.reloaded" in served.log, "the new budget is known")
    served.bob.comment(REPOSITORY, number, "Go on, please.")
    served.until_state(key, "completed")
    assert len(served.bob.pulls(REPOSITORY)) == 1
    assert served.bob.labels(REPOSITORY, number) == ["review"]
    assert served.stop() == 0


def test_a_session_that_ran_too_often_keeps_what_is_said_and_goes_on_when_the_hour_has_turned(
    serve: Serve,
) -> None:
    served = serve(
        [
            heard("It was opened", failure="auth"),
            heard("Anybody's", write(), *commit("Greet by name")),
            then(propose("Greet by name", "Closes #1")),
        ],
        sessions={"max_runs_per_hour": 1},
    )
    served.start()
    number = opened(served)
    key = f"issues/{number}"
    served.until_state(key, "failed")
    before = len(said_by_bot(served, number))
    served.bob.comment(REPOSITORY, number, "Anybody's.")
    until(lambda: ready_in(served) > 3000, "the session is held for the rest of the hour")
    assert served.row("SELECT count(*) FROM model_calls") == [(1,)]
    assert served.row("SELECT count(*) FROM runs") == [(1,)]
    assert len(said_by_bot(served, number)) == before
    assert served.stop() == 0

    with closing(sqlite3.connect(served.folder / "state/fordjent.db")) as connection, connection:
        connection.execute("UPDATE runs SET started_at = started_at - 3600")
        connection.execute("UPDATE sessions SET ready_at = ready_at - 3600")
    served.start()
    served.until_state(key, "completed")
    assert served.row("SELECT count(*) FROM runs") == [(2,)]
    assert len(served.bob.pulls(REPOSITORY)) == 1


def ready_in(served: Served) -> float:
    ((ready_at,),) = served.row("SELECT ready_at FROM sessions")
    return (ready_at or 0.0) - time.time()


def changed(served: Served, old: str, new: str) -> None:
    text = served.config_path.read_text("utf-8")
    assert old in text
    served.config_path.write_text(text.replace(old, new, 1), encoding="utf-8")
