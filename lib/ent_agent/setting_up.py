"""The first config.toml: six lines, asked for or given, written only when they load."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from ent_agent import config as configuration
from ent_agent.config import Config
from ent_agent.repositories import identity
from ent_agent.repositories.repositories import shown_url
from ent_agent.running import workplace
from harness import atomic
from harness.errors import BadConfig, Usage

Ask = Callable[[str, str], str]
"""Question and default to answer."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The six lines; "" where neither a flag nor an answer gave one."""

    ssh_key_dir: str = ""
    repo_url: str = ""
    agent_name: str = ""
    agent_email: str = ""
    agent_type: str = ""
    agent_config_dir: str = ""


QUESTIONS = {
    "repo_url": "Repository, anything that `git clone` takes",
    "agent_name": "The agent's name, as issues are assigned to it and commits are signed",
    "agent_email": "Its e-mail address, for commits",
    "agent_type": "The agent CLI: a name from agents/, or a path to such a file",
    "ssh_key_dir": "Folder of its ssh key, which is made when there is none",
    "agent_config_dir": "Folder of the agent CLI's own settings, credentials and memory",
}
REQUIRED = ("repo_url", "agent_name", "agent_email")


def complete(given: Answers, ask: Ask | None) -> Answers:
    """All six answers: those given, else asked for (`ask` None: nobody is there to be asked).

    Raises:
        Usage: one that has no default was not given; names its flag.
    """
    answers = given
    for key, question in QUESTIONS.items():
        if getattr(answers, key):
            continue
        default = _default(key, answers)
        answer = ask(question, default).strip() if ask else ""
        answers = msgspec.structs.replace(answers, **{key: answer or default})
        if key in REQUIRED and not getattr(answers, key):
            flag = f"--{key.replace('_', '-')}"
            raise Usage(f"{key} is not given", hint=f"give it as {flag}, or run `invoke init` on a terminal")
    return answers


def check_place(path: Path, *, force: bool = False) -> None:
    """
    Raises:
        Usage: there is a file already, and `force` does not say to replace it.
    """
    if path.exists() and not force:
        raise Usage(f"{path} is there already", hint="--force replaces it")


def write(path: Path, answers: Answers, *, force: bool = False) -> Config:
    """Write the file, once it loads; one that is there is replaced only with `force`.

    Raises:
        Usage: there is a file already.
        BadConfig: an answer cannot work, or there is no such adapter; nothing is written.
    """
    check_place(path, force=force)
    data = text(answers).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".toml") as trial:
        trial.write(data)
        trial.flush()
        try:
            workplace.load_adapter(configuration.load(trial.name))
        except BadConfig as error:
            raise BadConfig(error.message.replace(trial.name, str(path)), hint=error.hint) from error
    atomic.write_bytes(path, data, mode=0o600)
    return configuration.load(str(path))


def text(answers: Answers) -> str:
    """config.toml with these answers."""
    lines = [
        f"{key:16} = {json.dumps(getattr(answers, key), ensure_ascii=False)}"
        for key in answers.__struct_fields__
    ]
    return "\n".join(lines) + "\n\n# config.toml.example has every other key.\n"


def introduce(config: Config, root: Path) -> str:
    """Makes the key where there is none; returns what is to be done next. `root`: the checkout.

    The commands are as they can be pasted into a shell that stands in the current folder.
    """
    section = identity.ensure(config)
    say = "" if section.created else f"The public key of {config.agent_name} is\n\n{section.public_key}\n\n"
    here = Path.cwd()
    config_words = [] if config.path == here / "config.toml" else ["--config", str(config.path)]

    def called(program: Path, *words: str) -> str:
        near = program.relative_to(here) if program.is_relative_to(here) else program
        return shlex.join([str(near), *words])

    def task(name: str, *words: str) -> str:
        root_words = [] if here == root else ["-r", str(root)]
        return called(Path(sys.prefix) / "bin/invoke", *root_words, name, *words, *config_words)

    ent = shlex.quote(str(root / "bin/ent-agent-ent"))
    steps = {
        f"give that key write access to {shown_url(config)}, if it is reached by ssh": "",
        f"assign an issue to {config.agent_name}, and sync, in a clone of the repository": (
            f"{ent} assign ISSUE {shlex.quote(config.agent_name)} && {ent} sync"
        ),
        "see what would keep it from working": called(root / "bin/ent-agent-doctor", *config_words),
        "see what it would do": task("loop", "--dry-run"),
        "let it work": task("loop"),
        "let it work from cron or systemd: print the lines for it": task("cron"),
    }
    lines = [
        f"  {number}. {what}\n" + (f"     {command}\n" if command else "")
        for number, (what, command) in enumerate(steps.items(), 1)
    ]
    return f"{say}Next:\n{''.join(lines)}"


def on_terminal(question: str, default: str) -> str:
    """Ask a person; questions go to stderr.

    Raises:
        Usage: the input ended.
    """
    shown = f" [{default}]" if default else ""
    sys.stderr.write(f"{question}{shown}: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise Usage("the input ended before all was answered")
    return line


def _default(key: str, answers: Answers) -> str:
    if key == "agent_type":
        return "hermes"
    place = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "ent-agent"
    if key == "ssh_key_dir":
        return str(place / "identity")
    if key == "agent_config_dir":
        return str(place / Path(answers.agent_type).stem)
    return ""
