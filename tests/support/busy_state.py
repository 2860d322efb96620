"""A database in which something of everything has happened, with words in it that would like to be more than words."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert

from fordjent.deciding.actions import Input
from fordjent.intake import delivery
from fordjent.models.messages import Message, ToolCall
from fordjent.store import counters, deliveries, waiting_issues
from fordjent.store.schema import (
    events,
    gate_results,
    inputs,
    issues,
    messages,
    model_calls,
    runs,
    sessions,
    tool_calls,
    transitions,
    waiting_merges,
)

REPOSITORY = "acme/widget"
KEY = f"{REPOSITORY}/issues/1"
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"&{{ 7*7 }}\u202e\x1b[31m"
SECRET = "a-token-of-the-bot"  # of tests.support.server's config
TITLES = (
    "The greeting does not say the name",
    HOSTILE,
    "Let people choose how they are greeted, in all languages that are spoken by at least a million people, whatever the script",
    "Speed up the import of large files",
    "Crash when the configuration is empty",
)
STATES = (
    ("working", "", "bob commented"),
    ("working", "", "it was opened"),
    ("waiting", "", f"It waits for pull request #7 {HOSTILE}"),
    ("blocked", "", "The repository has no commit yet: push a first one, then comment here."),
    ("failed", "max_turns", "All 50 turns are used up; what was done is on the branch fordjent/issue-5."),
    ("failed", "error", f"main: 401: the key is refused {HOSTILE} {SECRET}"),
    ("failed", "budget", "budget.session of $2.00 is reached"),
    ("completed", "", "Pull request #12 is open."),
    ("completed", "", "The review was written."),
    ("created", "", ""),
)
HOUR, DAY = 3600.0, 86400.0
EDIT = '{"path": "greeting.py", "old_text": "def greet(name):\\n    return \\"Hello!\\"\\n", "new_text": "def greet(name):\\n    return f\\"Hello, {name}!\\"\\n"}'
DIFF = "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-old </pre><b>\n+new\n same\n"


def fill(connection: Connection, now: float) -> None:
    for number, (state, failure, reason) in enumerate(STATES, 1):
        _session(connection, now, number, state, failure, reason)
    _conversation(connection, now)
    _calls(connection, now)
    _gates(connection, now)
    _around(connection, now)


def _session(connection: Connection, now: float, number: int, state: str, failure: str, reason: str) -> None:
    key = f"{REPOSITORY}/issues/{number}"
    at = now - number * HOUR / 3
    row = {
        "key": key, "repository": REPOSITORY, "kind": "issues", "number": number, "role": ("implementer", "tester", "pm")[number % 3],
        "state": state, "failure": failure, "reason": reason, "branch": f"fordjent/issue-{number}", "base": "main",
        "pull": 12 if state == "completed" else 0, "failures": 3 if failure else 0, "created_at": at - DAY, "changed_at": at,
        "ready_at": now - 5 if state == "created" else None, "first_input_at": now - 90 if state == "created" else None,
        "lease_owner": "here" if state == "working" else "", "lease_until": now + DAY if state == "working" else 0.0,
    }  # fmt: skip
    connection.execute(insert(sessions).values(row))
    about = {
        "repository": REPOSITORY,
        "number": number,
        "is_pull": False,
        "title": TITLES[number % len(TITLES)],
        "seen_at": at,
    }
    connection.execute(insert(issues).values(about))
    change = {"key": key, "from_state": "created", "to_state": state, "reason": reason, "at": at}
    connection.execute(insert(transitions).values(change))
    is_over = state not in ("working", "created")
    if state != "created":
        run = {
            "id": f"run{number}", "key": key, "role": row["role"], "agent_type": "builtin", "started_at": at - 300, "turns": 4,
            "running_seconds": 251.5, "ended_at": at if is_over else None, "outcome": state if is_over else "",
            "reason": reason if is_over else "", "start_commit": "1" * 40, "end_commit": "2" * 40 if is_over else "",
        }  # fmt: skip
        connection.execute(insert(runs).values(run))
    else:
        told = {
            "key": key,
            "kind": "comment",
            "source": f"comment:{number}",
            "content": "Please.",
            "at": now - 90,
        }
        connection.execute(insert(inputs).values(told))


def _conversation(connection: Connection, now: float) -> None:
    said = [
        Message("system", "You are an implementer."),
        Message("user", f"A comment, by bob:\n~~~~\n{HOSTILE}\n~~~~"),
        Message(
            "assistant", "I look at it.", (ToolCall("c1", "bash", '{"command": "python3 -m unittest\\nls"}'),)
        ),
        Message("tool", f"{HOSTILE}\n{SECRET}\n" + "x" * 5000, tool_call_id="c1", name="bash"),
        Message("assistant", "", (ToolCall("c2", "edit_file", EDIT), ToolCall("c3", HOSTILE, "no JSON <b>"))),
        Message("tool", DIFF, tool_call_id="c2", name="edit_file"),
        Message("assistant", "", (ToolCall("c4", "git", '{"args": ["commit", "-m", "<i>Say</i> it"]}'),)),
    ]
    for seq, message in enumerate(said):
        row = {
            "key": KEY, "seq": seq, "run": "run1", "turn": seq // 2, "message": msgspec.json.encode(message).decode(),
            "at": now - 200 + seq * 10,
        }  # fmt: skip
        connection.execute(insert(messages).values(row))
    for turn, (name, arguments, state) in enumerate(
        [("bash", '{"command": "python3 -m unittest"}', "done"), ("edit_file", EDIT, "done"), ("bash", f'{{"command": "make {HOSTILE} {SECRET}"}}', "begun")]
    ):  # fmt: skip
        call = {"key": KEY, "run": "run1", "turn": turn, "call": f"c{turn}", "name": name, "arguments": arguments, "state": state, "begun_at": now - 150 + turn * 20}  # fmt: skip
        connection.execute(insert(tool_calls).values(call))


def _calls(connection: Connection, now: float) -> None:
    for number in range(1, len(STATES)):
        for turn in range(1, 5):
            at = now - 202 + turn * 20 if number == 1 else now - number * 3.1 * DAY + turn * 60
            _call(connection, number, turn, at, ("answered", "failed")[turn == 4 and number == 6])
    _call(connection, 2, 5, now - 12, "reserved")


def _call(connection: Connection, number: int, turn: int, at: float, state: str) -> None:
    row = {
        "key": f"{REPOSITORY}/issues/{number}", "run": f"run{number}", "repository": REPOSITORY, "role": ("implementer", "tester", "pm")[number % 3],
        "turn": turn, "provider": "main", "model": ("large-model", "small-model")[number % 2], "state": state, "at": at,
        "tokens_in": 9000 * turn + number, "tokens_out": 350 + turn, "tokens_cached": 4000 * (turn > 1), "retries": turn // 4,
        "cost_microdollars": 31_000 * number * turn, "latency_seconds": 1.5 + turn, "error": "auth: refused <b>" if state == "failed" else "",
    }  # fmt: skip
    connection.execute(insert(model_calls).values(row))


def _gates(connection: Connection, now: float) -> None:
    for place, (gate, passed) in enumerate(
        [
            ("branch", True),
            ("stale", True),
            ("verify", False),
            ("verify", True),
            ("push", True),
            ("queue", False),
        ]
    ):
        reason = "" if passed else f"2 tests failed: {HOSTILE}"
        row = {
            "key": KEY,
            "gate": gate,
            "commit": "c" * 40,
            "passed": passed,
            "reason": reason,
            "seconds": 1.25,
            "at": now - 100 + place,
        }
        connection.execute(insert(gate_results).values(row))
    waiting = {
        "key": f"{REPOSITORY}/issues/3", "repository": REPOSITORY, "head": "fordjent/issue-3", "base": "main", "title": HOSTILE, "body": "",
        "waits_for": "[7, 9]", "since": now - HOUR,
    }  # fmt: skip
    connection.execute(insert(waiting_merges).values(waiting))
    for number, others in ((101, [102]), (102, [101]), (103, [102, 104])):
        key = f"{REPOSITORY}/issues/{number}"
        told = Input(kind="opened", source=f"issue:{number}", author="alice", text="Do it")
        waiting_issues.put(connection, key, "implementer", told, now - number, by_person=False)
        waiting_issues.note(connection, key, others, True)


def _around(connection: Connection, now: float) -> None:
    body = msgspec.json.encode(
        {
            "number": 1,
            "action": "opened",
            "repository": {"full_name": REPOSITORY},
            "sender": {"login": HOSTILE},
        }
    )
    for id, event in (("d1", "issues"), ("d2", "wiki"), ("d1", "issues"), ("d3", "issue_comment")):
        deliveries.accept(
            connection,
            delivery.trusted({"x-forgejo-event": event, "x-forgejo-delivery": id}, body),
            now - 120,
        )
    counters.add(connection, f"{counters.REJECTED}.401", 4)
    parked = {
        "repository": REPOSITORY,
        "number": 4,
        "kind": "issues",
        "state": "parked",
        "created_at": now - DAY,
        "error": f"no number {HOSTILE}",
    }
    connection.execute(insert(events).values(parked))
