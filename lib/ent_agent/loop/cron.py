"""How cron and systemd are to start the loop: absolute paths, and a PATH on which everything is found.

Cron's own PATH has neither the agent CLI nor the interpreter that its first line names.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.running import workplace
from harness import invocation, systemd
from harness.errors import Missing, Usage

NEEDED = ("git", "ssh")


def search_path(config: Config, path: str) -> str:
    """PATH with just the folders of `path` that are needed: git, ssh, the agent CLI, its interpreter.

    Raises:
        Missing: one of them is not on `path`.
        BadConfig: there is no such adapter.
    """
    folders: list[str] = []
    for program in NEEDED:
        found = shutil.which(program, path=path)
        if found is None:
            raise Missing(f"{program} is not installed", hint=f"install {program} and see that PATH has it")
        folders.append(str(Path(found).parent))
    adapter = workplace.load_adapter(config)
    agent = invocation.program(adapter, adapter.command[0], path)
    for named in (agent, shutil.which(invocation.interpreter(agent) or agent, path=path)):
        if named:
            folders.append(str(Path(named).parent))
    usual = ["/usr/local/bin", "/usr/bin", "/bin"]
    return ":".join(dict.fromkeys([*folders, *usual]))


def crontab_line(config: Config, root: Path, minutes: int, path: str) -> str:
    """A line for `crontab -e`; a percent sign stands for a line end there, so it is escaped."""
    log = state.of(config).root / "loop.log"
    command = (
        f"PATH={shlex.quote(path)} LC_ALL=C.UTF-8 {shlex.join(_command(config, root))}"
        f" >>{shlex.quote(str(log))} 2>&1"
    )
    every = "*" if minutes == 1 else f"*/{minutes}"
    return f"{every} * * * * {command}".replace("%", r"\%")


def systemd_units(config: Config, root: Path, minutes: int, path: str) -> dict[str, str]:
    """File name to content of a service and its timer, for ~/.config/systemd/user."""
    name = f"ent-agent-{config.id}"
    command = " ".join(systemd.word(word) for word in _command(config, root))
    service = f"""[Unit]
Description=ent-agent: work what is assigned to {systemd.plain(config.agent_name)}
After=network-online.target

[Service]
Type=oneshot
Environment={systemd.quoted(f"PATH={systemd.plain(path)}")} LC_ALL=C.UTF-8
ExecStart={command}
# TERM to the loop alone: it stops its agents by their ladder, and keeps what they did.
KillMode=mixed
TimeoutStopSec=120
"""
    timer = f"""[Unit]
Description=ent-agent: look every {minutes} minutes

[Timer]
OnBootSec=1min
OnUnitInactiveSec={minutes}min

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": timer}


def described(config: Config, root: Path, minutes: int) -> str:
    """All of it as a text to read and to copy from.

    Raises:
        Usage: cron cannot count so many minutes.
        Missing, BadConfig: as `search_path`.
    """
    if not 1 <= minutes <= 59:
        raise Usage("--minutes must be from 1 to 59", hint="cron counts minutes within the hour")
    path = search_path(config, os.environ.get("PATH", os.defpath))
    state.of(config).root.mkdir(mode=0o700, parents=True, exist_ok=True)
    parts = [
        "# cron: add this line with `crontab -e`",
        crontab_line(config, root, minutes, path),
        "",
        "# or systemd: save these below ~/.config/systemd/user, then",
        f"#   systemctl --user enable --now ent-agent-{config.id}.timer && loginctl enable-linger",
    ]
    for name, content in systemd_units(config, root, minutes, path).items():
        parts += ["", f"# ---- {name}", content.rstrip()]
    return "\n".join(parts) + "\n"


def _command(config: Config, root: Path) -> list[str]:
    return [sys.executable, "-m", "invoke", "-r", str(root), "loop", "--config", str(config.path)]
