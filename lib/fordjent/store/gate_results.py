"""Rows of `gate_results`: each verdict of a gate, bound to the commit that it was about."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, select

from fordjent.store.schema import gate_results


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    gate: str
    commit: str
    passed: bool
    reason: str
    seconds: float
    at: float


def add(connection: Connection, result: GateResult) -> None:
    connection.execute(insert(gate_results).values(msgspec.structs.asdict(result)))


def last(connection: Connection, key: str, gate: str, commit: str) -> GateResult | None:
    """The newest verdict of a gate on a commit."""
    row = connection.execute(
        select(*(gate_results.c[name] for name in GateResult.__struct_fields__))
        .where(gate_results.c.key == key, gate_results.c.gate == gate, gate_results.c.commit == commit)
        .order_by(gate_results.c.id.desc())
    ).first()
    return GateResult(**row._mapping) if row else None


def of_key(connection: Connection, key: str) -> list[GateResult]:
    """All of a session, in order."""
    rows = connection.execute(
        select(*(gate_results.c[name] for name in GateResult.__struct_fields__))
        .where(gate_results.c.key == key)
        .order_by(gate_results.c.id)
    )
    return [GateResult(**row._mapping) for row in rows]
