"""Where the real agent CLIs are: on PATH, or in the folders of $ENT_AGENT_CLIS_PATH."""

from __future__ import annotations

import os

if found := os.environ.get("ENT_AGENT_CLIS_PATH"):
    os.environ["PATH"] = os.pathsep.join([found, os.environ.get("PATH", os.defpath)])
