"""Commits, comparisons, trees, blobs, refs and tags."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.forge import shapes
from tests.support.forge.bare import GitSaidNo
from tests.support.forge.calls import Answer, Call, answers
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import Repository

GIT = "/repos/{owner}/{repo}/git"


@answers("GET", "/repos/{owner}/{repo}/commits")
def commits(call: Call) -> Answer:
    repository = call.repository()
    start = repository.bare.resolve(call.query.get("sha") or repository.default_branch)
    if start is None:
        raise Refusal(409, "Git Repository is empty.")
    return call.page(repository.bare.commits(start), lambda sha: _commit(call, repository, sha))


@answers("GET", "/repos/{owner}/{repo}/compare/{basehead}")
def compare(call: Call) -> Answer:
    """What `head` has that `base` has not: `base...head`, newest first. Files once for each commit."""
    repository = call.repository()
    base, _, head = call.argument("basehead").partition("...")
    if not head:
        base, _, head = call.argument("basehead").partition("..")
    old, new = repository.bare.resolve(base), repository.bare.resolve(head)
    if old is None or new is None:
        raise not_found("BaseNotExist" if old is None else "HeadNotExist")
    shown = [_commit(call, repository, sha) for sha in repository.bare.commits(f"{old}..{new}")]
    files = [file for commit in shown for file in commit["files"]]
    return Answer(body={"total_commits": len(shown), "commits": shown, "files": files})


@answers("GET", GIT + "/commits/{sha}")
def commit(call: Call) -> Answer:
    repository = call.repository()
    sha = repository.bare.resolve(call.argument("sha"))
    if sha is None:
        raise not_found(call.argument("sha"))
    return Answer(body=_commit(call, repository, sha))


@answers("GET", GIT + "/trees/{sha}")
def tree(call: Call) -> Answer:
    """400, not 404, where nothing has that name: in an empty repository too."""
    repository, name = call.repository(), call.argument("sha")
    try:
        sha = repository.bare.git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{object}}"
        )
        deep = ["-r", "-t"] if call.query.get("recursive") in ("1", "true") else []
        lines = repository.bare.git("ls-tree", "-l", *deep, sha).splitlines()
    except GitSaidNo:
        raise Refusal(400, f"sha not found [{name}]") from None
    api = f"{call.world.url}/api/v1/repos/{repository.full_name}/git"
    entries = []
    for line in lines:
        facts, path = line.split("\t", 1)
        mode, kind, entry, size = facts.split()
        url = f"{api}/{kind}s/{entry}" if kind != "commit" else ""
        entries.append(
            {
                "path": path,
                "mode": mode,
                "type": kind,
                "size": int(size) if size.isdigit() else 0,
                "sha": entry,
                "url": url,
            }
        )
    body = {
        "sha": sha, "url": f"{api}/trees/{sha}", "tree": entries, "truncated": False, "page": 1,
        "total_count": len(entries),
    }  # fmt: skip
    return Answer(body=body, headers={"X-Total-Count": str(len(entries))})


@answers("GET", GIT + "/blobs/{sha}")
def blob(call: Call) -> Answer:
    repository, sha = call.repository(), call.argument("sha")
    try:
        content = repository.bare.raw("cat-file", "blob", sha)
    except GitSaidNo:
        raise Refusal(400, f"object does not exist [id: {sha}, rel_path: ]") from None
    url = f"{call.world.url}/api/v1/repos/{repository.full_name}/git/blobs/{sha}"
    encoded = base64.b64encode(content).decode()
    return Answer(
        body={"content": encoded, "encoding": "base64", "url": url, "sha": sha, "size": len(content)}
    )


@answers("GET", GIT + "/refs")
@answers("GET", GIT + "/refs/{ref}")
def refs(call: Call) -> Answer:
    """All whose name begins so."""
    repository = call.repository()
    wanted = f"refs/{call.argument('ref')}" if "ref" in call.arguments else "refs/"
    api = f"{call.world.url}/api/v1/repos/{repository.full_name}/git"
    found = [
        {
            "ref": ref, "url": f"{api}/{ref}",
            "object": {"type": "commit", "sha": sha, "url": f"{api}/commits/{sha}"},
        }
        for ref, sha in repository.bare.refs().items() if ref.startswith(wanted)
    ]  # fmt: skip
    if not found:
        raise not_found()
    return Answer(body=found)


@answers("GET", "/repos/{owner}/{repo}/tags")
def tags(call: Call) -> Answer:
    repository = call.repository()
    api, home = (
        f"{call.world.url}/api/v1/repos/{repository.full_name}",
        f"{call.world.url}/{repository.full_name}",
    )

    def shown(name: str) -> dict[str, Any]:
        sha = repository.bare.resolve(f"refs/tags/{name}") or ""
        made = shapes.utc(repository.bare.commit(sha).date)
        return {
            "name": name, "message": "", "id": sha,
            "commit": {"url": f"{api}/git/commits/{sha}", "sha": sha, "created": made},
            "zipball_url": f"{home}/archive/{name}.zip", "tarball_url": f"{home}/archive/{name}.tar.gz",
            "archive_download_count": {"zip": 0, "tar_gz": 0},
        }  # fmt: skip

    return call.page([ref.removeprefix("refs/tags/") for ref in repository.bare.refs("refs/tags")], shown)


def _commit(call: Call, repository: Repository, sha: str) -> dict[str, Any]:
    bare = repository.bare
    return shapes.full_commit(call.world, repository, bare.commit(sha), bare.changes_of(sha))
