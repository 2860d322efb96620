"""Fordjent's own pages, over those of harness.pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from harness.pages.rendering import Pages

LINKS = (
    ("/admin", "now"),
    ("/sessions", "sessions"),
    ("/activity", "activity"),
    ("/status", "status"),
    ("/metrics", "metrics"),
)


@cache
def of_fordjent() -> Pages:
    return Pages(Path(__file__).parent, "Fordjent", LINKS)
