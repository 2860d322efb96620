"""plumbum's parser of command lines, `cli`, without the rest of plumbum.

`import plumbum` loads machines, paths and ssh, and with them urllib, http, email and logging:
half of the time in which a command starts, of which its parser needs nothing. Here the package
stands for itself, and is loaded as a whole when something else of it is asked for.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _load(self)
        return getattr(self, name)


class _Local:
    """`plumbum.local`, which the parser mentions and uses only for options that we do not have."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(sys.modules["plumbum"]).local, name)


def _load(package: ModuleType) -> ModuleType:
    """Execute the package as `import plumbum` would have done."""
    package.__class__ = ModuleType
    assert package.__spec__ and package.__spec__.loader
    package.__spec__.loader.exec_module(package)
    return package


def _stand_in() -> None:
    spec = importlib.util.find_spec("plumbum")
    if spec is None:
        return
    package = importlib.util.module_from_spec(spec)
    package.__class__ = _Package
    package.local = _Local()  # type: ignore[attr-defined]
    sys.modules["plumbum"] = package
    from plumbum.colorlib import ansicolors

    package.colors = ansicolors  # type: ignore[attr-defined]


if "plumbum" not in sys.modules:
    _stand_in()

import plumbum.cli as cli  # noqa: E402
from plumbum.cli.switches import SwitchError  # noqa: E402

__all__ = ["SwitchError", "cli"]
