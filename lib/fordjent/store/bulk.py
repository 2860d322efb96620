"""Many new rows at once, past what SQLAlchemy does for each of them: half of the processor time of a delivery."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table


def insert(
    connection: Connection, table: Table, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Rows of the columns `names`, in that order; the others get their defaults.

    The values are the driver's own: text, bytes, numbers, None.
    """
    statement, rest = _statement(table, names)
    values = [row + rest for row in rows]
    if values:
        connection.exec_driver_sql(statement, values)


@cache
def _statement(table: Table, names: tuple[str, ...]) -> tuple[str, tuple[Any, ...]]:
    """With `?` for each value, as SQLite has them, and the values of the columns that are not named."""
    defaults = {
        column.name: getattr(column.default, "arg", None)  # a plain value in all of our tables
        for column in table.columns
        if column.name not in names and column.default is not None
    }
    columns = (*names, *defaults)
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", tuple(defaults.values())
