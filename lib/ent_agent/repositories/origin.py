"""Talking to origin: calls that end, and what its refusals mean to a person.

The texts are those of git, ssh and the forges, in English (`harness.git` sees to it).
They choose the hint only: what a refused push did is told by asking again, never by them.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable
from typing import TypeVar

from ent_agent.config import Config
from ent_agent.repositories import identity
from ent_agent.repositories.repositories import shown_url
from harness.errors import BadConfig, Failure, Missing, TryLater
from harness.git import Git, GitFailed
from harness.process import Finished

T = TypeVar("T")

LOCK_TRIES = 3
ANSWER_TIMEOUT_SECONDS = 120.0

FORMAT_HINT = (
    "ent-agent works on repositories with SHA-1 objects. A copy with the same branches and issues, for repo_url: "
    "git clone --mirror URL OLD.git && git init --bare --object-format=sha1 NEW.git && "
    "git -C OLD.git fast-export --all | git -C NEW.git fast-import"
)
"""git converts no objects between repositories of the two kinds, so that no fetch can bridge them."""

# Searched for by `re.search`, and compiled there: most commands never meet a refusal.
_LOCKED = r"cannot lock ref|[Uu]nable to create '.*\.lock'|unable to update local ref"
_NO_SSH = r"ssh: (?:command )?not found|cannot run ssh"
_HOST_KEY = r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|REVOKED HOST KEY"
_OFFENDING = r"Offending \S+ key in (/etc/.+):\d+"
_CHANGED_HOST = r"Host key for (\S+) has changed"
_OWNERSHIP = r"dubious ownership"
_DENIED = (
    r"Permission denied \(|Permission denied, please|Too many authentication failures|Authentication failed"
    r"|could not read (?:Username|Password)|terminal prompts disabled|error: 40[13]\b"
    r"|[Aa]ccess denied|denied to |not allowed to (?:push|upload)|not authorized|[Ww]rite access .*not granted"
    r"|Permission for .* denied|denied for writing|read[- ]only"
)
_NOT_THERE = (
    r"does not appear to be a git repository|[Rr]epository .*not found|not found: did you run|Could not find repository"
    r"|repository '.*' does not exist|Cannot find repository|project you were looking for could not be found"
    r"|Unable to find remote helper|is not a git command|transport '.*' not allowed|error: 404\b"
)
_REFUSED = (
    r"hook declined|\[(?:remote )?rejected\]|protected branch|denying (?:non-fast-forward|ref deletion)"
)
_FORMAT = (
    r"mismatched algorithms|unsupported object format|Server does not support.*object format"
    r"|does not support this repository's hash algorithm"
)
_FULL = r"No space left on device|[Dd]isk quota exceeded"
_NO_LINE = (
    "Please make sure",
    "and the repository exists",
    "hint:",
    "warning:",
    "@@@",
    "fatal: Could not read",
)


def ask(git: Git, config: Config, *args: str, timeout_seconds: float = ANSWER_TIMEOUT_SECONDS) -> Finished:
    """Run a git command that talks to origin, three times where another one holds the lock of a ref.

    Raises:
        TryLater: what `explain` makes of the failure.
    """
    for tries_left in reversed(range(LOCK_TRIES)):
        finished = git.run(*args, check=False, timeout_seconds=timeout_seconds)
        if finished.ok:
            return finished
        if not (tries_left and re.search(_LOCKED, finished.error_text)):
            raise explain(GitFailed(finished), config)
        time.sleep(0.3)
    raise AssertionError


def explained(config: Config, call: Callable[[], T]) -> T:
    """What `call` returns; a failure of git in it is raised as `explain` words it."""
    try:
        return call()
    except GitFailed as failed:
        raise explain(failed, config) from failed


def explain(failed: GitFailed, config: Config) -> Failure:
    """A failed exchange with origin as a person needs to hear it; exit code 75 but where only a person can help.

    `code` is one of git_unreachable, host_key_changed, permission_denied, push_refused,
    not_a_repository, ref_locked, disk_full, git_failed.
    """
    finished = failed.finished
    said = _without_secrets("\n".join([finished.error_text, *_refusals(finished)]))
    url = shown_url(config)
    line = _telling_line(said)
    if re.search(_NO_SSH, said):
        return Missing("ssh is not installed", hint="sudo apt-get install openssh-client")
    if re.search(_HOST_KEY, said):
        return TryLater(
            f"{url}: the host's key is not the known one",
            hint=_host_hint(said, config),
            code="host_key_changed",
        )
    if re.search(_OWNERSHIP, said):
        return TryLater(
            f"{url}: {line}",
            hint=f"the folder belongs to somebody else; trust it with `git config --global --add safe.directory {shlex.quote(config.repo_url)}`",
            code="permission_denied",
        )
    if re.search(_DENIED, said):
        return TryLater(f"{url}: {line}", hint=_key_hint(config), code="permission_denied")
    if re.search(_FORMAT, said):
        return BadConfig(f"{url}: {line}", hint=FORMAT_HINT)
    if re.search(_REFUSED, said):
        return TryLater(
            f"{url} refuses the push: {line}",
            hint="let the agent's key write to the branch that is named: look at origin's hooks and protected branches",
            code="push_refused",
        )
    if re.search(_NOT_THERE, said):
        return TryLater(
            f"{url}: {line}",
            hint="see that repo_url in config.toml is spelt right, and that the agent's key may read it",
            code="not_a_repository",
        )
    if re.search(_FULL, said):
        return TryLater(f"{url}: {line}", hint="make room on the disk", code="disk_full")
    if re.search(_LOCKED, said):
        return TryLater(f"another git is at the same ref: {line}", code="ref_locked")
    if finished.timed_out:
        return TryLater(
            f"{url} did not answer in time", hint="see that the network is up", code="git_unreachable"
        )
    if said:
        return TryLater(f"{url}: {line}", hint="see that the network is up", code="git_unreachable")
    return failed


def _refusals(finished: Finished) -> list[str]:
    """What `git push --porcelain` says on stdout of refs that were not taken."""
    return [line.replace("\t", " ") for line in finished.text.splitlines() if line.startswith("!\t")]


def _telling_line(said: str) -> str:
    """The line of git's and ssh's output that says most: the first that is no frame, no advice."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(_NO_LINE)]
    return (telling or lines or ["no answer"])[0]


def _host_hint(said: str, config: Config) -> str:
    offending = re.search(_OFFENDING, said)  # the whole machine's: /etc/ssh/ssh_known_hosts
    known = shlex.quote(offending[1] if offending else str(identity.known_hosts(config)))
    changed = re.search(_CHANGED_HOST, said)
    if changed is None:
        return f"look at the host's key in {known}"
    return f"ask who runs the host whether its key was changed; if so: ssh-keygen -R {shlex.quote(changed[1])} -f {known}"


def _key_hint(config: Config) -> str:
    if re.match(r"https?://", config.repo_url):
        return "store the login with a git credential helper, or use an ssh address for repo_url"
    public = identity.public_key_path(config)
    return f"register the public key in {public} where the repository lives, with write access (`ent-agent-identity` prints it)"


def _without_secrets(text: str) -> str:
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1", text)
