"""Have the database add up what is asked for often: calls of models in `spending`, calls of tools in `counters`.

Triggers, so that the sums are those of the rows whoever writes them, in the same transaction.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

AMOUNTS = ("calls", "failed", "retries", "tokens_in", "tokens_out", "tokens_cached", "cost_microdollars")


def upgrade() -> None:
    op.execute(
        f"INSERT INTO spending (key, day, role, provider, model, repository, {', '.join(AMOUNTS)}) "
        f"SELECT {_places('model_calls')}, {', '.join(f'sum({one})' for one in _amounts('model_calls').values())} "
        "FROM model_calls WHERE state <> 'reserved' GROUP BY 1, 2, 3, 4, 5, 6"
    )
    op.execute(
        "INSERT INTO counters (name, value) SELECT 'tool_calls', count(*) FROM tool_calls HAVING count(*) > 0"
    )
    for event, taken, added in (
        ("INSERT", "", _add("NEW", 1)),
        ("DELETE", _add("OLD", -1), ""),
        ("UPDATE", _add("OLD", -1), _add("NEW", 1)),
    ):
        op.execute(
            f"CREATE TRIGGER spending_{event.lower()} AFTER {event} ON model_calls BEGIN {taken}{added}END"
        )
    for event, amount in (("INSERT", 1), ("DELETE", -1)):
        op.execute(
            f"CREATE TRIGGER tool_calls_{event.lower()} AFTER {event} ON tool_calls BEGIN "
            f"INSERT INTO counters (name, value) VALUES ('tool_calls', {amount}) "
            "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value; END"
        )


def _places(row: str) -> str:
    return f"{row}.key, CAST({row}.at / 86400 AS INTEGER), {row}.role, {row}.provider, {row}.model, {row}.repository"


def _amounts(row: str) -> dict[str, str]:
    found = {name: f"{row}.{name}" for name in AMOUNTS}
    return found | {"calls": "1", "failed": f"({row}.state = 'failed')"}


def _add(row: str, sign: int) -> str:
    """A statement that counts a row, or takes it off again; one that is only reserved is not counted."""
    amounts = ", ".join(f"{sign} * {amount}" for amount in _amounts(row).values())
    summed = ", ".join(f"{name} = {name} + excluded.{name}" for name in AMOUNTS)
    return (
        f"INSERT INTO spending (key, day, role, provider, model, repository, {', '.join(AMOUNTS)}) "
        f"SELECT {_places(row)}, {amounts} WHERE {row}.state <> 'reserved' "
        f"ON CONFLICT (key, day, role, provider, model) DO UPDATE SET {summed}; "
    )
