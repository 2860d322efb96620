"""The real agent CLIs for `make test-agents`: installed below one folder, in the versions that were tried.

As a program (`agent_clis.py FOLDER`) it installs what is missing and prints the folders for PATH.
"""

from __future__ import annotations

import shutil
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from harness import process

FROM_PYPI = ("hermes-agent[acp]==0.19.0", "mini-swe-agent==2.4.6")
FROM_NPM = (
    "@openai/codex@0.171.0",
    "@anthropic-ai/claude-code@2.1.197",
    "opencode-ai@1.18.33",
    "@mariozechner/pi-coding-agent@0.73.1",
    "@google/gemini-cli@0.61.0",
    "@zed-industries/codex-acp@0.16.0",
    "@zed-industries/claude-code-acp@0.16.2",
)
INSTALL_SECONDS = 1500.0
MARK = "installed"


def install(folder: Path) -> list[Path]:
    """The folders with the commands; what cannot be installed is said, and its tests are skipped by name."""
    paths = []
    for package in FROM_PYPI:
        place = folder / package.partition("=")[0].partition("[")[0]
        if not _is_installed(place, package):
            venv.create(place, with_pip=True, clear=True)
            _run(place, [package], place / "bin/python", "-m", "pip", "install", "--quiet", package)
        paths.append(place / "bin")
    npm = folder / "npm"
    if not shutil.which("npm"):
        print(f"npm is not installed: {', '.join(FROM_NPM)} are left out", file=sys.stderr)
    elif not _is_installed(npm, *FROM_NPM):
        npm.mkdir(parents=True, exist_ok=True)
        _run(npm, FROM_NPM, "npm", "install", "--no-fund", "--no-audit", "--prefix", npm, *FROM_NPM)
    return [*paths, npm / "node_modules/.bin"]


def _is_installed(place: Path, *packages: str) -> bool:
    mark = place / MARK
    return mark.is_file() and mark.read_text().split() == list(packages)


def _run(place: Path, packages: Sequence[str], *words: str | Path) -> None:
    """Install, and note what is there now."""
    done = process.run(words, timeout_seconds=INSTALL_SECONDS)
    if done.ok:
        (place / MARK).write_text("\n".join(packages))
    else:
        print(f"{words[0]}: {done.error_text}", file=sys.stderr)


if __name__ == "__main__":
    print(":".join(str(path.absolute()) for path in install(Path(sys.argv[1]))))
