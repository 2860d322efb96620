"""git over HTTP: `git http-backend`, with who may read and push, and what follows a push."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Mapping
from urllib.parse import unquote

from tests.support.forge.bare import environment
from tests.support.forge.branches import may_push
from tests.support.forge.calls import Answer
from tests.support.forge.errors import Refusal
from tests.support.forge.events import Events
from tests.support.forge.refs import moved
from tests.support.forge.state import Repository, User, World

PATH = re.compile(r"/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|HEAD|git-upload-pack|git-receive-pack|objects/.+)")
_ONE_PUSH = threading.Lock()


def is_git(path: str) -> bool:
    return PATH.fullmatch(path) is not None


def unauthorized() -> Refusal:
    """git then asks its credential helper."""
    return Refusal(401, "Unauthorized", WWW_Authenticate='Basic realm="Gitea"')


def serve(
    world: World,
    events: Events,
    user: User | None,
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
) -> Answer:
    """One request of git's. Nobody signed in: 401, so that git asks its credential helper."""
    match = PATH.fullmatch(unquote(path))
    assert match
    owner, name, rest = match.groups()
    repository = world.repositories.get(f"{owner}/{name}".lower())
    push = rest == "git-receive-pack" or "service=git-receive-pack" in query
    if user is None and (push or repository is None or repository.private):
        raise unauthorized()
    if repository is None or not repository.allows(user, "read"):
        raise Refusal(404, "Repository not found")
    if push and not repository.allows(user, "write"):
        raise Refusal(403, "User permission denied for writing.")
    if push and repository.archived:
        raise Refusal(403, "You have no permission to write to an archived repository.")
    variables = {
        "GIT_PROJECT_ROOT": str(repository.bare.path), "PATH_INFO": f"/{rest}", "REQUEST_METHOD": method,
        "GIT_HTTP_EXPORT_ALL": "1", "QUERY_STRING": query, "CONTENT_TYPE": headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
        "GIT_PROTOCOL": headers.get("git-protocol", ""), "REMOTE_USER": user.login if user else "",
        "REMOTE_ADDR": "127.0.0.1", "FORGE_PROTECTED": _protected(repository, user) if push else "",
    }  # fmt: skip
    if rest != "git-receive-pack":
        return _backend(variables, body)
    with _ONE_PUSH:
        named = _named_refs(body)
        before = _only(named, repository.bare.refs())
        answer = _backend(variables, body)
        with world.lock:
            assert user
            moved(world, events, repository, before, _only(named, repository.bare.refs()), user)
    return answer


def _named_refs(body: bytes) -> set[str]:
    """The refs that a push asks to move: its lines of `<old> <new> <ref>` up to the first flush."""
    found: set[str] = set()
    position = 0
    while (length := int(body[position : position + 4] or b"0", 16)) > 4:
        command = body[position + 4 : position + length].split(b"\0")[0].decode("utf-8", "replace").split()
        if len(command) == 3:
            found.add(command[2])
        position += length
    return found


def _only(names: set[str], refs: Mapping[str, str]) -> dict[str, str]:
    return {ref: sha for ref, sha in refs.items() if ref in names}


def _protected(repository: Repository, user: User | None) -> str:
    if user is None:
        return ""
    names = set(repository.bare.branches()) | set(repository.protections)
    return " ".join(f"refs/heads/{name}" for name in names if not may_push(repository, name, user))


def _backend(variables: dict[str, str], body: bytes) -> Answer:
    finished = subprocess.run(
        ["git", "http-backend"], input=body, capture_output=True, env=environment(variables)
    )
    head, _, content = finished.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    return Answer(status, headers=headers, text=content)
