"""A disk that is full: the forge is told, the server goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
from sqlalchemy import Connection

from fordjent.intake.receiver import PATH, Receiver
from fordjent.intake.rejections import Rejections
from fordjent.store import deliveries
from tests.support import context, senders
from tests.support.server import SECRET


def limit(connection: Connection, pages: int) -> None:
    """SQLite's own way to be full."""
    connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


def test_a_delivery_that_cannot_be_stored_is_answered_503_and_the_next_one_is_stored(place: Path) -> None:
    document = senders.body().ljust(100_000)

    async def deliver(client: httpx2.AsyncClient, delivery: str) -> int:
        headers = {"X-Forgejo-Event": "issues", "X-Forgejo-Delivery": delivery}
        headers["X-Forgejo-Signature"] = senders.signed(document, SECRET)
        return (await client.post(PATH, content=document, headers=headers)).status_code

    async def scenario() -> list[int]:
        with context.opened(place) as shared:
            receiver = Receiver(shared, Rejections(shared.database))
            transport = httpx2.ASGITransport(app=receiver)
            async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
                await shared.database.write(limit, 1)
                several = await asyncio.gather(*(deliver(client, f"d{number}") for number in range(5)))
                await shared.database.write(limit, 1_000_000)
                after = await deliver(client, "d0")
            assert [one.id for one in shared.database.look(deliveries.last, 10)] == ["d0"]
            return [*several, after]

    assert asyncio.run(scenario()) == [503] * 5 + [200]
