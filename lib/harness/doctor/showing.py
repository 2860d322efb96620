"""Findings as a table for a person, or as a JSON object a line; and the exit code that they make."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import msgspec

from harness.doctor.findings import Finding, exit_code
from harness.plain import plain


def told(findings: Iterable[Finding], *, as_json: bool) -> int:
    """On standard output, as they are found; the exit code."""
    return exit_code(_written(findings) if as_json else _shown(findings))


def _written(findings: Iterable[Finding]) -> list[Finding]:
    written = []
    for finding in findings:
        sys.stdout.buffer.write(msgspec.json.encode(finding) + b"\n")
        sys.stdout.buffer.flush()
        written.append(finding)
    return written


def _shown(findings: Iterable[Finding]) -> list[Finding]:
    """A table whose commands are never broken, so that they can be copied."""
    from rich.console import Console
    from rich.text import Text

    styles = {"ok": "green", "warning": "yellow", "problem": "bold red"}
    console = Console(highlight=False, markup=False, emoji=False)
    shown = []
    for finding in findings:
        status = Text(f"{finding.status:8}", styles[finding.status])
        line = Text.assemble(status, (f"{finding.check:17}", "cyan"), plain(finding.message))
        console.print(line, soft_wrap=True)
        if finding.fix:
            console.print(Text(f"{'':25}{plain(finding.fix)}", "bold"), soft_wrap=True)
        shown.append(finding)
    counts = [sum(finding.status == status for finding in shown) for status in ("problem", "warning")]
    console.print(f"\n{counts[0]} problems, {counts[1]} warnings")
    return shown
