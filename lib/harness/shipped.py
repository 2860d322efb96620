"""The files of ours that are not Python: agents/ and prompts/, in the checkout or as installed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def folder(name: Literal["agents", "prompts"]) -> Path:
    """Where `pip install .` put the folder (below this package), else the checkout's."""
    here = Path(__file__).resolve().parent
    installed = here / name
    return installed if installed.is_dir() else here.parents[1] / name
