"""All checks in their order, each bounded in time; what cannot be looked at any more is said."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ent_agent import config as configuration
from ent_agent.config import Config
from ent_agent.doctor import agent, content, machine, origin, programs, settings
from ent_agent.finalization import secrecy
from harness.doctor import programs as common
from harness.doctor.checks import bounded, without_secrets
from harness.doctor.findings import Finding, of_failure, ok, problem, warning
from harness.doctor.machine import clock
from harness.errors import BadConfig
from harness.git import Git


def examine(config_path: str | None) -> Iterator[Finding]:
    """Everything, as it is found. Secrets are taken out."""
    yield from bounded("python", common.python)
    yield from bounded("programs", programs.needed)
    yield from bounded("clock", clock)
    try:
        config = configuration.load(config_path)
    except BadConfig as failure:
        yield of_failure("config", failure)
        return
    yield from without_secrets(_with_config(config), secrecy.redactor(config))


def _with_config(config: Config) -> Iterator[Finding]:
    local: dict[str, Callable[[Config], Iterator[Finding]]] = {
        "config": settings.values,
        "key": settings.key,
        "agent": agent.command,
        "sandbox": agent.confinement,
        "notify": settings.notifier,
        "state_dir": machine.folder,
        "leavings": machine.leavings,
        "loop": machine.standing,
    }
    for name, check in local.items():
        yield from bounded(name, functools.partial(check, config))
    yield from bounded("hooks", content.hooks)
    with tempfile.TemporaryDirectory(prefix="ent-agent-doctor-", ignore_cleanup_errors=True) as folder:
        yield from _with_repository(config, Path(folder))


def _with_repository(config: Config, folder: Path) -> Iterator[Finding]:
    seen = origin.open_origin(config, folder / "probe.git")
    if config.sign_commits:
        yield from bounded("sign_commits", functools.partial(signature, seen.git))
    answered = list(bounded("origin", functools.partial(origin.answers, seen)))
    yield from answered
    if _has_problem(answered):
        yield warning("origin", "not looked at: write access, claims, the tracker, the code")
        return
    yield from bounded("host_key", functools.partial(origin.host_key, seen))
    yield from bounded("branches", functools.partial(origin.branches, seen))
    pushed = list(bounded("write_access", functools.partial(origin.write_access, seen)))
    yield from pushed
    if not _has_problem(pushed):
        yield from bounded("claims", functools.partial(origin.claims, seen))
    yield from bounded("tracker", functools.partial(content.tracker, seen))
    yield from bounded("code", functools.partial(content.code, seen))


def signature(git: Git) -> Iterator[Finding]:
    """A commit is signed with the key, as the loop signs its own."""
    tree = git.objects.write_tree({})
    commit = git.objects.write_commit(tree, [], "A trial of the signature", sign=True)
    if b"-----BEGIN SSH SIGNATURE-----" in git.objects.read(commit):
        yield ok("sign_commits", "commits are signed with the ssh key")
    else:
        yield problem("sign_commits", "the trial commit has no signature")


def _has_problem(findings: list[Finding]) -> bool:
    return any(finding.status == "problem" for finding in findings)
