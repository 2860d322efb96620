"""Deliveries a second: verified, and on disk before the answer, against an answer that does nothing at all."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.measuring import Figure, Pair, pair
from tests.support import senders, server

CONNECTIONS = 32


@dataclass(frozen=True)
class Rate:
    """Deliveries a second."""

    pair: Pair
    ours: float
    baseline: float


def measure(folder: Path, deliveries: int, turns: int) -> Rate:
    """So many deliveries over 32 connections, to a server that stores them and to one that forgets them."""
    folder.mkdir(parents=True)
    numbers = itertools.count()
    with server.started(server.write_config(folder)) as ours, _forgetting() as (bare, address):

        def to(process: subprocess.Popen[bytes], where: tuple[str, int]) -> Figure:
            ids = [f"bench-{next(numbers)}" for _ in range(deliveries)]
            watched = psutil.Process(process.pid)
            before = watched.cpu_times()
            sent = senders.send(where, server.SECRET, ids, connections=CONNECTIONS)
            after = watched.cpu_times()
            assert len(sent.acknowledged) == deliveries, sent.refused[:1]
            cpu = after.user + after.system - before.user - before.system
            return Figure(sent.seconds, cpu, watched.memory_info().rss / 2**20)

        measured = pair(
            f"{deliveries:,} deliveries of {len(senders.body()):,} bytes over {CONNECTIONS} connections",
            lambda: to(ours.process, ours.address),
            "Starlette answering, nothing kept",
            lambda: to(bare, address),
            turns,
        )
    _check(folder / "state/fordjent.db")
    return Rate(measured, deliveries / measured.ours.seconds, deliveries / measured.baseline.seconds)


def _check(database: Path) -> None:
    """What was acknowledged is there, and an event for each."""
    with sqlite3.connect(database) as connection:
        stored, different, events = connection.execute(
            "SELECT count(*), count(DISTINCT id), (SELECT count(*) FROM events) FROM deliveries"
        ).fetchone()
    assert stored == different == events > 0


@contextmanager
def _forgetting() -> Iterator[tuple[subprocess.Popen[bytes], tuple[str, int]]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.bare.answering"], cwd=server.ROOT, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout
        yield process, ("127.0.0.1", int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait(10)
        if process.stdout:
            process.stdout.close()
