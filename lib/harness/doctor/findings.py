"""What a check found, and what that means for the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from harness.errors import EX_CONFIG, EX_OK, EX_UNAVAILABLE, Failure, Missing

Status = Literal["ok", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the doctor's. `fix`: the command, or the change, that mends it.

    `missing`: what is wrong is a program that is not installed.
    """

    check: str
    status: Status
    message: str
    fix: str = ""
    missing: bool = False


def ok(check: str, message: str) -> Finding:
    return Finding(check=check, status="ok", message=message)


def warning(check: str, message: str, fix: str = "") -> Finding:
    return Finding(check=check, status="warning", message=message, fix=fix)


def problem(check: str, message: str, fix: str = "", *, missing: bool = False) -> Finding:
    return Finding(check=check, status="problem", message=message, fix=fix, missing=missing)


def of_failure(check: str, failure: Failure) -> Finding:
    """The problem that a failure of one of our own functions is."""
    return problem(check, failure.message, failure.hint, missing=isinstance(failure, Missing))


def exit_code(findings: Iterable[Finding]) -> int:
    """0 without problems, 69 when a program is missing, 78 otherwise."""
    problems = [finding for finding in findings if finding.status == "problem"]
    if any(finding.missing for finding in problems):
        return EX_UNAVAILABLE
    return EX_CONFIG if problems else EX_OK
