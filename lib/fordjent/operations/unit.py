"""A systemd unit for the server: absolute paths, a PATH on which git is found, and no more rights than it needs."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
from pathlib import Path

from fordjent.config import Config
from harness import systemd
from harness.config import seconds
from harness.errors import Missing

NAME = "fordjent.service"
STOPPING_SECONDS = 30
"""Beyond `sessions.shutdown_grace`."""
USUAL = ("/usr/local/bin", "/usr/bin", "/bin")

_UNIT = """\
[Unit]
Description=Fordjent: work the issues of {forge}
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User={user}
Environment={path} LC_ALL=C.UTF-8
# What config.toml takes from the environment, as NAME=value; mode 0600.
EnvironmentFile=-{secrets}
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
# TERM to the server alone: it ends what it runs itself, and that goes on after the next start.
KillMode=mixed
TimeoutStopSec={stop}
Restart=on-failure
RestartSec=5
# What the kernel takes for want of memory is an agent's program, not the server.
OOMPolicy=continue
# A wrong configuration or command line is for a person.
RestartPreventExitStatus=64 78
UMask=0077
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={state}
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
# Not RestrictNamespaces, ProtectKernelTunables or ProtectProc: bubblewrap makes the sandbox of namespaces and a /proc.

[Install]
WantedBy=multi-user.target
"""


def unit(config: Config) -> str:
    """
    Raises:
        Missing: git or fordjent-serve is not there.
    """
    git = shutil.which("git")
    if git is None:
        raise Missing("git is not installed", hint="sudo apt-get install git")
    folders = dict.fromkeys((str(Path(git).parent), str(Path(sys.executable).parent), *USUAL))
    command = " ".join(systemd.word(one) for one in (_server(), "--config", str(config.path)))
    return _UNIT.format(
        forge=systemd.plain(config.forgejo.url),
        user=systemd.plain(getpass.getuser()),
        path=systemd.quoted(f"PATH={systemd.plain(':'.join(folders))}"),
        secrets=systemd.plain(str(config.path.with_name("fordjent.env"))),
        command=command,
        stop=round(seconds(config.sessions.shutdown_grace)) + STOPPING_SECONDS,
        state=systemd.quoted(systemd.plain(str(config.state_dir))),
    )


def described(config: Config) -> str:
    """With what to do with it; makes the state folder, which the unit binds."""
    config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return (
        f"# save as /etc/systemd/system/{NAME}, then: sudo systemctl daemon-reload && "
        f"sudo systemctl enable --now {NAME}\n{unit(config)}"
    )


def _server() -> str:
    beside = Path(sys.executable).parent / "fordjent-serve"
    checkout = Path(__file__).resolve().parents[3] / "bin/fordjent-serve"
    found = next((path for path in (checkout, beside) if os.access(path, os.X_OK)), None)
    if found is None:
        raise Missing("fordjent-serve is not installed", hint="pip install .")
    return str(found)
