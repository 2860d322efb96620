"""Pages of a server whose database has seen very much, against the same pages of one that has seen hardly anything."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import Connection, create_engine, insert, literal_column, select, text

from fordjent import config as configuration
from fordjent.store.database import Database
from fordjent.store.schema import metadata
from tests.bench.measuring import Figure, Pair, pair
from tests.support import server
from tests.support.server import Server

KEY = "acme/widget-1/issues/1"
PATHS = ("/admin", "/sessions?state=failed", f"/trace/{KEY}", "/activity", "/status", "/metrics")
WARM = 3
FEW_SESSIONS, FEW_TURNS = 10, 100

PREPARE = (
    "PRAGMA synchronous = OFF",
    "PRAGMA cache_size = -400000",
    "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < max({sessions}, {turns})) SELECT i FROM n",
    "CREATE TEMP TABLE keys (i INTEGER PRIMARY KEY, key TEXT, repository TEXT, number INTEGER, at REAL)",
    "INSERT INTO keys SELECT i, 'acme/widget-' || (1 + i % 50) || '/issues/' || i, 'acme/widget-' || (1 + i % 50), i, {now} - (i * 97) % 2592000 - 60 FROM n WHERE i <= {sessions}",
    "UPDATE keys SET key = '{key}', repository = 'acme/widget-1', number = 1 WHERE i = 1",
)
TURNS = "FROM n JOIN keys ON keys.i = 1 + n.i % {sessions}"
ROWS = {
    "sessions": """SELECT key, repository, 'issues' AS kind, number, CASE WHEN i % 1000 = 1 THEN 'working' WHEN i % 20 = 2 THEN 'failed' WHEN i % 20 = 3
        THEN 'blocked' WHEN i % 20 = 4 THEN 'waiting' ELSE 'completed' END AS state, 'all turns are used up' AS reason,
        CASE WHEN i % 20 = 2 THEN 'max_turns' ELSE '' END AS failure, 'fordjent/issue-' || i AS branch, 'main' AS base, i % 7 AS pull,
        CASE WHEN i % 1000 = 1 THEN {now} + 3600 ELSE 0 END AS lease_until, at AS created_at, at AS changed_at,
        CASE WHEN i % 500 = 5 THEN at END AS ready_at, CASE WHEN i % 500 = 5 THEN at END AS first_input_at FROM keys""",
    "issues": "SELECT repository, number, 0 AS is_pull, 'A title like most of them, number ' || i AS title, 'bob' AS author, at AS seen_at FROM keys",
    "transitions": """SELECT key, 'created' AS from_state, 'working' AS to_state, 'it was opened' AS reason, at FROM keys UNION ALL
        SELECT key, 'working', 'completed', 'the pull request is open', at + 600 FROM keys""",
    "runs": """SELECT 'run' || i AS id, key, 'implementer' AS role, 'builtin' AS agent_type, at AS started_at, at + 600 AS ended_at, 600 AS running_seconds,
        {turns} / {sessions} AS turns, CASE WHEN i % 1000 = 1 THEN '' ELSE 'completed' END AS outcome FROM keys""",
    "deliveries": """SELECT 'd' || i AS id, 'e' || i AS event_id, 'issue_comment' AS event_type, 'created' AS action, 'acme/widget' AS repository, i AS number,
        'bob' AS sender, CASE i % 5 WHEN 0 THEN 'filtered' ELSE 'accepted' END AS status, zeroblob(1000) AS body, i AS body_hash, {now} AS received_at
        FROM n WHERE i <= 10 * {sessions}""",
    "events": """SELECT 'd' || i AS delivery, 'acme/widget' AS repository, i AS number, 'issue_comment' AS kind, 'decided' AS state, {now} AS created_at
        FROM n WHERE i <= 10 * {sessions}""",
    "gate_results": """SELECT key, gate, 'c' AS "commit", i % 9 > 0 AS passed, 'two tests failed' AS reason, 1 AS seconds, at FROM keys,
        (SELECT 'branch' AS gate UNION SELECT 'stale' UNION SELECT 'verify' UNION SELECT 'push' UNION SELECT 'queue')""",
    "model_calls": f"""SELECT keys.key, 'run' || keys.i AS run, repository, 'implementer' AS role, n.i / {{sessions}} AS turn, 'main' AS provider,
        'model-' || (n.i % 3) AS model, CASE WHEN n.i % 211 = 0 THEN 'failed' ELSE 'answered' END AS state, 9000 + n.i % 999 AS tokens_in,
        300 AS tokens_out, 100 AS tokens_cached, 4000 + n.i % 77 AS cost_microdollars, n.i % 50 = 0 AS retries, 2.5 AS latency_seconds,
        keys.at + n.i / {{sessions}} AS at {TURNS} WHERE n.i <= {{turns}}""",
    "tool_calls": f"""SELECT keys.key, 'run' || keys.i AS run, n.i / {{sessions}} AS turn, 'c' || n.i AS call, 'bash' AS name,
        '{{{{"command": "make test"}}}}' AS arguments, 'done' AS state, 'all is well' AS result, keys.at AS begun_at, keys.at AS ended_at
        {TURNS} WHERE n.i <= {{turns}}""",
    "messages": f"""SELECT keys.key, n.i / {{sessions}} * 2 + side AS seq, 'run' || keys.i AS run, n.i / {{sessions}} AS turn, CASE side WHEN 0 THEN
        '{{{{"role":"assistant","content":"I look at it.","tool_calls":[{{{{"id":"c","name":"bash","arguments":"{{{{}}}}"}}}}]}}}}'
        ELSE '{{{{"role":"tool","content":"all is well","tool_call_id":"c","name":"bash"}}}}' END AS message, keys.at AS at
        {TURNS}, (SELECT 0 AS side UNION SELECT 1) WHERE n.i <= {{turns}}""",
}
"""What is in each table; columns that are not named have their defaults."""


@dataclass(frozen=True)
class Growth:
    """What many requests in a row did to the server: megabytes of memory before and after."""

    requests: int
    before_mb: float
    after_mb: float


def measure(folder: Path, sessions: int, turns: int, repeats: int) -> tuple[list[Pair], Growth]:
    """A pair for each page: seconds of a request, from the first byte asked to the last one read."""
    full, bare = _filled(folder / "full", sessions, turns), _filled(folder / "bare", FEW_SESSIONS, FEW_TURNS)
    with server.started(full) as ours, server.started(bare) as theirs:
        measured = [
            pair(
                f"`{path.partition('?')[0]}`, {sessions:,} sessions and {turns:,} turns",
                lambda path=path: _asked(ours, path),  # type: ignore[misc]
                f"with {FEW_SESSIONS} and {FEW_TURNS}",
                lambda path=path: _asked(theirs, path),  # type: ignore[misc]
                repeats,
            )
            for path in PATHS
        ]
        return measured, _growth(ours, repeats * 40)


def _growth(one: Server, requests: int) -> Growth:
    watched = psutil.Process(one.process.pid)
    before = watched.memory_info().rss
    for _ in range(requests):
        _asked(one, "/admin")
    return Growth(requests, before / 2**20, watched.memory_info().rss / 2**20)


def _asked(one: Server, path: str) -> Figure:
    watched = psutil.Process(one.process.pid)
    cpu, started = watched.cpu_times(), time.perf_counter()
    connection = http.client.HTTPConnection(*one.address, timeout=60)
    connection.request("GET", path, headers={"Accept": "text/html"})
    answer = connection.getresponse()
    body = answer.read()
    seconds, after = time.perf_counter() - started, watched.cpu_times()
    connection.close()
    assert answer.status == 200 and len(body) > 100, (path, answer.status)
    used = after.user + after.system - cpu.user - cpu.system
    return Figure(seconds, used, watched.memory_info().rss / 2**20)


def _filled(folder: Path, sessions: int, turns: int) -> Path:
    folder.mkdir(parents=True)
    config = server.write_config(folder)
    loaded = configuration.load(str(config))
    Database.open(loaded.database_url).close()
    sizes = {"sessions": sessions, "turns": turns, "now": time.time(), "key": KEY}
    engine = create_engine(f"sqlite:///{loaded.state_dir / 'fordjent.db'}")
    with engine.connect() as connection:
        for statement in PREPARE:
            connection.exec_driver_sql(statement.format(**sizes))
        for name, chosen in ROWS.items():
            _insert(connection, name, chosen.format(**sizes))
        connection.commit()
        _check(connection, sessions, turns)
    engine.dispose()
    return config


def _insert(connection: Connection, name: str, chosen: str) -> None:
    table = metadata.tables[name]
    names = list(connection.exec_driver_sql(f"SELECT * FROM ({chosen}) LIMIT 0").keys())
    rows: Any = select(*(literal_column(f'"{one}"') for one in names)).select_from(text(f"({chosen})"))
    connection.execute(insert(table).from_select(names, rows))


def _check(connection: Connection, sessions: int, turns: int) -> None:
    """It is all there, and the sums are those of the rows."""
    tables: Sequence[tuple[str, int]] = (
        ("sessions", sessions),
        ("model_calls", turns),
        ("tool_calls", turns),
        ("messages", 2 * turns),
    )
    for table, rows in tables:
        assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == rows, table
    summed = connection.exec_driver_sql("SELECT sum(calls), sum(cost_microdollars) FROM spending").one()
    assert (
        summed == connection.exec_driver_sql("SELECT count(*), sum(cost_microdollars) FROM model_calls").one()
    )
