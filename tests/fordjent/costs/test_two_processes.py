"""Servers that share a database share its budgets: they never spend more than what their calls in flight cost."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from fordjent.store.database import Database
from fordjent.store.schema import model_calls
from tests.support.model_endpoint import ModelEndpoint, says

ROOT = Path(__file__).resolve().parents[3]
AT_ONCE = 4
SPENDER = f"""
import asyncio, sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "lib")!r}]
from fordjent.config import Budget
from fordjent.models.messages import user
from fordjent.models.metering import MeteredModel, Payer
from fordjent.models.model import ModelFailure
from fordjent.models.models import Models
from fordjent.store.database import Database
from tests.support.model_providers import configured, provider

async def spend(database, models, number):
    payer = Payer(f"acme/widget/issues/{{number}}", "run", "acme/widget", "pm")
    model = MeteredModel(models.of("pm"), database, Budget(month=float(sys.argv[3])), payer)
    while True:
        try:
            await model.answer([user("Go on.")], [])
        except ModelFailure as failure:
            assert failure.kind == "budget", failure.message
            return

async def main():
    models = Models(configured({{"main": provider(sys.argv[2], max_concurrent={AT_ONCE}, timeout="60s")}}), str)
    async with Database.open(sys.argv[1]) as database:
        print("ready", flush=True)
        sys.stdin.readline()
        await asyncio.gather(*(spend(database, models, number) for number in range({AT_ONCE})))
    await models.aclose()

asyncio.run(main())
"""
"""Spends in several sessions at once until nothing is left of the month's budget."""

RESERVED = 2_000
"""Micro-dollars at least that a call may cost, by its longest answer."""


def spender(database: str, url: str, dollars: float) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", SPENDER, database, url, str(dollars)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def let_go(*spenders: subprocess.Popen[str]) -> None:
    """Both begin when both are ready."""
    for one in spenders:
        assert one.stdout and one.stdout.readline() == "ready\n"
    for one in spenders:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()


def spent(database: Database) -> tuple[int, int]:
    """Calls, and micro-dollars with what is reserved."""
    sums = select(func.count(), func.coalesce(func.sum(model_calls.c.cost_microdollars), 0))
    calls, cost = database.look(lambda connection: connection.execute(sums).one())
    return calls, cost


@pytest.mark.parametrize(
    ("usage", "each", "over_each"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 450}, 1_000, 0),
        ({"prompt_tokens": 7_000, "completion_tokens": 1_000}, 9_000, 9_000 - RESERVED),
    ],
    ids=["as estimated at most", "dearer than anybody could know"],
)
def test_two_servers_never_go_over_by_more_than_their_calls_in_flight(
    database: Database, place: Path, usage: dict[str, Any], each: int, over_each: int
) -> None:
    limit = 60_000
    with ModelEndpoint(says("Done.", usage=usage)) as endpoint, ExitStack() as stack:
        address = f"sqlite:///{place}/fordjent.db"
        both = [stack.enter_context(spender(address, endpoint.url, limit / 1e6)) for _ in range(2)]
        let_go(*both)
        assert [one.wait(60) for one in both] == [0, 0]
        calls, cost = spent(database)
        assert len(endpoint.requests) == calls and cost == calls * each
    assert cost <= limit + 2 * AT_ONCE * over_each
    assert cost > limit - 2 * AT_ONCE * (RESERVED + each), "and they spend what there is"


def test_what_a_killed_server_was_spending_stays_spent(database: Database, place: Path) -> None:
    address, limit = f"sqlite:///{place}/fordjent.db", 20_000
    with ModelEndpoint(says("Done.", way="held")) as endpoint, ExitStack() as stack:
        killed = stack.enter_context(spender(address, endpoint.url, limit / 1e6))
        other = stack.enter_context(spender(address, endpoint.url, limit / 1e6))
        let_go(killed)
        while endpoint.at_once < AT_ONCE:
            assert killed.poll() is None
        killed.kill()
        killed.wait(30)
        calls, reserved = spent(database)
        assert (calls, reserved >= AT_ONCE * RESERVED) == (AT_ONCE, True)
        endpoint.release.set()
        let_go(other)
        assert other.wait(60) == 0
    _, cost = spent(database)
    assert reserved < cost <= limit
