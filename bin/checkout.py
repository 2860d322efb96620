"""Lets a command in bin/ run from the checkout: with its .venv, whoever calls it and from where.

Imported first by each; re-executes under .venv/bin/python once, then puts lib/ on the path.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"

if Path(sys.prefix).resolve() != VENV.resolve():
    python = VENV / "bin/python"
    if not python.exists():
        print(f"{ROOT}: not set up yet; run `make -C {ROOT} setup`", file=sys.stderr)
        sys.exit(69)
    os.execv(python, [str(python), *sys.argv])
sys.path.insert(0, str(ROOT / "lib"))
