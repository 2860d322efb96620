"""fordjent-cost: what models have cost, and what is left of the budgets."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, cast

import msgspec

from fordjent.cli import Command
from harness.command_line import cli
from harness.errors import EX_OK, Usage

if TYPE_CHECKING:
    from rich.table import Table

    from fordjent.costs.report import By, Line, Report

WAYS = ("model", "role", "repository", "day", "session")


class Cost(Command):
    """Show what models have cost, by model, role, repository, day or session: a table on a terminal, JSON when piped.

    Days and months are those of UTC. Calls that are being made are not in the lines, but count in the budgets.
    """

    PROGNAME = "fordjent-cost"
    DESCRIPTION_MORE = (
        "Example:  fordjent-cost --by repository --since 2026-11-01 --json | jq '.lines[0].cost_usd'"
    )

    by = cli.SwitchAttr(["--by"], str, argname="|".join(WAYS), default="model", help="what to sum by")
    since = cli.SwitchAttr(
        ["--since"], str, argname="TIME", default="", help="2026-11-01, or 30d, or 24h; else the beginning"
    )
    json = cli.Flag(["--json"], help="JSON on a terminal too")

    def main(self) -> int:
        if self.by not in WAYS:
            raise Usage(f"--by: {self.by!r} is none of {', '.join(WAYS)}")
        config = self.load_config()

        from fordjent.context import open_database
        from fordjent.costs import report, since
        from fordjent.models import prices

        unknown = prices.unknown(config.providers) if self.by == "model" else []
        now = time.time()
        begins = since.read(self.since, now)
        database = open_database(config)
        try:
            found = database.look(report.report, cast("By", self.by), begins, config.budget, now)
        finally:
            database.close()
        if self.by == "model":
            for line in found.lines:
                line.price_unknown = not line.cost_microdollars and line.provider in unknown
        if sys.stdout.isatty() and not self.json:
            _show(found)
        else:
            sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        return EX_OK


def _show(found: Report) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.print(_sums(found))
    if found.being_made.calls:
        console.print(
            f"{found.being_made.calls} calls are being made; {_usd(found.being_made.cost_usd)} are reserved."
        )
    if found.budgets:
        console.print(_budgets(found))


def _sums(found: Report) -> Table:
    from rich.table import Table

    since = f" since {found.since}" if found.since else ""
    table = Table(title=f"Cost by {found.by}{since}", title_justify="left", show_footer=True)
    total = _cells(found.total)
    table.add_column(found.by, footer="total", overflow="fold")
    if found.by == "model":
        table.add_column("provider")
    for name, footer in zip(("calls", "failed", "in", "cached", "out", "cost"), total, strict=True):
        table.add_column(name, footer=footer, justify="right", no_wrap=True)
    for line in found.lines:
        provider = [line.provider] if found.by == "model" else []
        table.add_row(line.name, *provider, *_cells(line))
    return table


def _budgets(found: Report) -> Table:
    from rich.table import Table

    table = Table("budget", "repository", "spent", "limit", "left", "begins anew", title_justify="left")
    table.title = "Budgets"
    for one in found.budgets:
        amounts = (_usd(one.spent_usd), _usd(one.limit_usd), _usd(one.left_usd))
        table.add_row(one.name, one.repository, *amounts, one.begins_anew_at[:10])
    return table


def _cells(line: Line) -> list[str]:
    numbers = (line.calls, line.failed, line.tokens_in, line.tokens_cached, line.tokens_out)
    return [*(f"{number:,}" for number in numbers), "unknown" if line.price_unknown else _usd(line.cost_usd)]


def _usd(dollars: float) -> str:
    return f"${dollars:,.4f}"


def main() -> None:
    Cost.start()
