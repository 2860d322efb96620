"""The real agent CLIs for `make test-agents`: installed below one folder, in the versions that were tried.

As a program (`agent_clis.py FOLDER`) it installs what is missing and prints the folders for PATH.
"""

from __future__ import annotations

import shutil
import sys
import venv
from pathlib import Path

from harness import process

FROM_PYPI = ("hermes-agent[acp]==0.19.0",)
FROM_NPM = ("@openai/codex@0.171.0", "@anthropic-ai/claude-code@2.1.197")
INSTALL_SECONDS = 1500.0


def install(folder: Path) -> list[Path]:
    """The folders with the commands; what cannot be installed is said, and its tests are skipped by name."""
    python, npm = folder / "python", folder / "npm"
    if not (python / "installed").exists():
        venv.create(python, with_pip=True, clear=True)
        _run(python / "installed", python / "bin/python", "-m", "pip", "install", "--quiet", *FROM_PYPI)
    if not (npm / "installed").exists():
        npm.mkdir(parents=True, exist_ok=True)
        if shutil.which("npm"):
            _run(npm / "installed", "npm", "install", "--no-fund", "--no-audit", "--prefix", npm, *FROM_NPM)
        else:
            print("npm is not installed: codex and claude are left out", file=sys.stderr)
    return [python / "bin", npm / "node_modules/.bin"]


def _run(mark: Path, *words: str | Path) -> None:
    done = process.run(words, timeout_seconds=INSTALL_SECONDS)
    if done.ok:
        mark.touch()
    else:
        print(f"{words[0]}: {done.error_text}", file=sys.stderr)


if __name__ == "__main__":
    print(":".join(str(path.absolute()) for path in install(Path(sys.argv[1]))))
