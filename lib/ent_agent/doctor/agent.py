"""Whether the agent CLI can be started as the loop will start it, and what it could see."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from ent_agent.config import Config
from ent_agent.finalization import secrecy
from ent_agent.running import workplace
from harness import agent_environment, invocation, process, sandbox
from harness.adapter import Adapter
from harness.doctor.findings import Finding, ok, problem, warning

LOGIN_SECONDS = 30.0
SAID_CHARACTERS = 200


def command(config: Config) -> Iterator[Finding]:
    """The adapter loads; its program, and that one's interpreter, are on the agent's PATH; it is logged in.

    Raises:
        Failure: one of them does not hold.
    """
    adapter = workplace.load_adapter(config)
    yield ok("adapter", f"{adapter.name}, {adapter.path}")
    found = invocation.program(adapter, adapter.command[0], environment(config, adapter)["PATH"])
    yield ok("agent", found)

    yield from _home(config, adapter)
    yield from _login(config, adapter)


def confinement(config: Config) -> Iterator[Finding]:
    """Which sandbox the agents get, tried here and now.

    Raises:
        BadConfig: the one that is asked for cannot be had.
    """
    chosen = sandbox.choose(config.sandbox.backend, network=config.sandbox.network)
    if chosen.name == "none":
        yield warning(
            "sandbox",
            f"none ({chosen.why}): an agent can read all that {os.environ.get('USER', 'this user')} can, the key too",
            "sudo apt-get install bubblewrap" if "not installed" in chosen.why else "",
        )
    else:
        network = "" if config.sandbox.network else ", without network"
        yield ok("sandbox", f"{chosen.name}: agents see neither the key nor others' work{network}")


def environment(config: Config, adapter: Adapter) -> dict[str, str]:
    """The variables that a run's agent gets from the caller and from config.toml."""
    passed = agent_environment.inherited(
        os.environ, adapter.pass_environment, f"{adapter.path}: pass_environment"
    ) | agent_environment.inherited(
        os.environ, config.agent_environment.pass_, f"{config.path}: agent_environment.pass"
    )
    home = {}
    if adapter.config_dir_variable and config.agent_config_dir:
        home = {adapter.config_dir_variable: str(config.folder(config.agent_config_dir))}
    return {**passed, **home, **config.agent_environment.set}


def _home(config: Config, adapter: Adapter) -> Iterator[Finding]:
    """agent_config_dir, where the agent keeps its login."""
    if not (config.agent_config_dir and adapter.config_dir_variable):
        return
    folder = config.folder(config.agent_config_dir)
    quoted = shlex.quote(str(folder))
    if not folder.exists():
        yield warning(
            "agent_config_dir",
            f"{folder} is not there; a run makes it, but nobody is logged in",
            f"mkdir -p -m 700 {quoted} && {adapter.config_dir_variable}={quoted} {adapter.command[0]}",
        )
    elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield problem(
            "agent_config_dir",
            f"{folder} cannot be read and written",
            f'sudo chown -R "$(id -u)" {quoted} && chmod -R u+rwX {quoted}',
        )
    else:
        yield ok("agent_config_dir", str(folder))


def _login(config: Config, adapter: Adapter) -> Iterator[Finding]:
    """What the adapter's `login_check` says; it need not know of every way to log in, so it warns only."""
    if not adapter.login_check:
        return
    env = environment(config, adapter)
    words = [invocation.program(adapter, adapter.login_check[0], env["PATH"]), *adapter.login_check[1:]]
    finished = process.run(words, env=env, cwd=config.path.parent, timeout_seconds=LOGIN_SECONDS)
    if finished.ok:
        yield ok("login", f"{adapter.name} is logged in")
        return
    said = " ".join((finished.text + " " + finished.error_text).split())
    said = secrecy.redactor(config).tail(said, SAID_CHARACTERS)
    home = env.get(adapter.config_dir_variable)
    where = f"{adapter.config_dir_variable}={shlex.quote(home)} " if home else ""
    answer = "does not answer" if finished.timed_out else said or f"exit {finished.exit_code}"
    yield warning("login", f"{adapter.name} may not be logged in: {answer}", f"{where}{adapter.command[0]}")
