"""The unit is one that systemd takes, and the container file names what there is."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from fordjent import config as configuration
from fordjent.operations import unit
from tests.support.server import write_config

ROOT = Path(__file__).resolve().parents[3]
CONTAINER = (ROOT / "Containerfile").read_text("utf-8")


def test_the_unit_names_everything_by_its_path(place: Path) -> None:
    config = configuration.load(str(write_config(place)))
    text = unit.described(config)
    assert config.state_dir.is_dir()
    assert f'--config" "{config.path}"' in text and "ExecReload=/bin/kill -HUP $MAINPID" in text
    assert "TimeoutStopSec=35\n" in text and f'ReadWritePaths="{config.state_dir}"' in text
    assert config.webhook.secret not in text and config.forgejo.token not in text


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_systemd_takes_the_unit(place: Path) -> None:
    path = place / unit.NAME
    path.write_text(unit.described(configuration.load(str(write_config(place)))), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60
    )
    complaints = [line for line in done.stderr.splitlines() if unit.NAME in line]
    assert complaints == []


def test_the_container_file_copies_what_there_is() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", CONTAINER, re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert len(names) >= 7 and all((ROOT / name).exists() for name in names)
    mapped = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]
    assert set(mapped.values()) <= set(names)


def test_the_container_runs_as_nobody_special_and_is_healthy_when_it_is_ready() -> None:
    assert re.search(r"^USER fordjent$", CONTAINER, re.MULTILINE)
    assert "/healthz" in CONTAINER and 'ENTRYPOINT ["fordjent-serve"' in CONTAINER
