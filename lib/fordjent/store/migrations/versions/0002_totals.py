"""Have the database add up what is asked for often: calls of models in `spending` and `daily_spending`, of tools in `counters`.

Triggers, so that the sums are those of the rows whoever writes them, in the same transaction.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

AMOUNTS = ("calls", "failed", "retries", "tokens_in", "tokens_out", "tokens_cached", "cost_microdollars")
TABLES = {
    "spending": (("key", "day", "role", "provider", "model"), ("repository",)),
    "daily_spending": (("day", "repository", "role", "provider", "model"), ()),
}
"""What makes a row, and what else stands in it."""


def upgrade() -> None:
    for table in TABLES:
        op.execute(_begin(table))
    op.execute(
        "INSERT INTO counters (name, value) SELECT 'tool_calls', count(*) FROM tool_calls HAVING count(*) > 0"
    )
    taken, added = (
        "".join(_add(table, row, sign) for table in TABLES) for row, sign in (("OLD", -1), ("NEW", 1))
    )
    for event, statements in (("INSERT", added), ("DELETE", taken), ("UPDATE", taken + added)):
        name = f"spending_{event.lower()}"
        op.execute(f"CREATE TRIGGER {name} AFTER {event} ON model_calls BEGIN {statements}END")
    for event, amount in (("INSERT", 1), ("DELETE", -1)):
        op.execute(
            f"CREATE TRIGGER tool_calls_{event.lower()} AFTER {event} ON tool_calls BEGIN "
            f"INSERT INTO counters (name, value) VALUES ('tool_calls', {amount}) "
            "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value; END"
        )


def _begin(table: str) -> str:
    """A statement that adds up the calls that are there already."""
    places = _places(table, "model_calls")
    amounts = ", ".join(f"sum({amount})" for amount in _amounts("model_calls"))
    by = ", ".join(str(place) for place in range(1, len(places) + 1))
    return (
        f"INSERT INTO {table} ({_columns(table)}) SELECT {', '.join(places)}, {amounts} "
        f"FROM model_calls WHERE state <> 'reserved' GROUP BY {by}"
    )


def _add(table: str, row: str, sign: int) -> str:
    """A statement that counts a call, or takes it off again; one that is only reserved is not counted."""
    amounts = ", ".join(f"{sign} * {amount}" for amount in _amounts(row))
    summed = ", ".join(f"{name} = {name} + excluded.{name}" for name in AMOUNTS)
    return (
        f"INSERT INTO {table} ({_columns(table)}) SELECT {', '.join(_places(table, row))}, {amounts} "
        f"WHERE {row}.state <> 'reserved' ON CONFLICT ({', '.join(TABLES[table][0])}) DO UPDATE SET {summed}; "
    )


def _columns(table: str) -> str:
    makes, stands = TABLES[table]
    return ", ".join((*makes, *stands, *AMOUNTS))


def _places(table: str, row: str) -> list[str]:
    makes, stands = TABLES[table]
    day = f"CAST({row}.at / 86400 AS INTEGER)"
    return [day if name == "day" else f"{row}.{name}" for name in (*makes, *stands)]


def _amounts(row: str) -> list[str]:
    special = {"calls": "1", "failed": f"({row}.state = 'failed')"}
    return [special.get(name, f"{row}.{name}") for name in AMOUNTS]
