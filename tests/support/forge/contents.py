"""Files as the API shows and changes them."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.forge import shapes
from tests.support.forge.bare import GitSaidNo
from tests.support.forge.branches import may_push
from tests.support.forge.calls import Answer, Call, answers
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.refs import moved
from tests.support.forge.state import Repository

ROOT = "/repos/{owner}/{repo}/contents"
FILE = ROOT + "/{filepath}"


@answers("GET", ROOT)
@answers("GET", FILE)
def contents(call: Call) -> Answer:
    """A list for a folder (without contents), one object for a file."""
    repository = call.repository()
    path = call.argument("filepath").strip("/") if "filepath" in call.arguments else ""
    ref = call.query.get("ref") or repository.default_branch
    commit = repository.bare.resolve(ref)
    if commit is None:
        if repository.bare.is_empty():
            return Answer(body=[])
        raise not_found("GetContentsOrList", f"object does not exist [id: {ref}, rel_path: ]")
    entries = listing(repository, commit, path)
    if path and (own := next((one for one in entries if one[4] == path), None)) and own[1] == "blob":
        return Answer(body=_entry(call, repository, ref, commit, own, whole=True))
    if path:
        entries = listing(repository, commit, path + "/")
    if not entries and path:
        raise not_found("GetContentsOrList", f"object does not exist [id: , rel_path: {path}]")
    return Answer(body=[_entry(call, repository, ref, commit, one) for one in entries])


@answers("GET", "/repos/{owner}/{repo}/raw/{filepath}")
def raw(call: Call) -> Answer:
    repository = call.repository()
    ref = call.query.get("ref") or repository.default_branch
    try:
        text = repository.bare.raw("cat-file", "blob", f"{ref}:{call.argument('filepath')}")
    except GitSaidNo:
        raise not_found() from None
    return Answer(text=text, headers={"Content-Type": "text/plain; charset=utf-8"})


@answers("POST", FILE)
def create(call: Call) -> Answer:
    return _write(call, 201, new=True)


@answers("PUT", FILE)
def change(call: Call) -> Answer:
    return _write(call, 200, new=False)


@answers("DELETE", FILE)
def delete(call: Call) -> Answer:
    return _write(call, 200, new=False, gone=True)


def listing(repository: Repository, commit: str, path: str) -> list[tuple[str, str, str, int, str]]:
    """(mode, type, id, size, path) of what lies at a path; a path that ends with `/` lists the folder."""
    found = []
    for line in repository.bare.git("ls-tree", "-l", commit, *([path] if path else [])).splitlines():
        facts, name = line.split("\t", 1)
        mode, kind, sha, size = facts.split()
        found.append((mode, kind, sha, int(size) if size.isdigit() else 0, name))
    return found


def _write(call: Call, status: int, *, new: bool, gone: bool = False) -> Answer:
    repository, me, path = call.repository("write", change=True), call.me(), call.argument("filepath")
    branch = call.body.get("branch") or repository.default_branch
    target = call.body.get("new_branch") or branch
    if not may_push(repository, target, me):
        raise Refusal(403, "branch is protected")
    bare, start = repository.bare, repository.bare.head(branch)
    if start is None and bare.branches():
        raise not_found(f"branch does not exist [name: {branch}]")
    present = listing(repository, start, path) if start else []
    if new and present:
        raise Refusal(422, f"repository file already exists [path: {path}]")
    if not new and (not present or call.body.get("sha") != present[0][2]):
        given = call.body.get("sha")
        raise Refusal(
            422, f"sha does not match [given: {given}, expected: {present[0][2] if present else ''}]"
        )
    content = None if gone else base64.b64decode(call.body.get("content", ""))
    verb = "Delete" if gone else "Add" if new else "Update"
    message = call.body.get("message") or f"{verb} {path}"
    before = bare.refs()
    sha = bare.commit_files(target, {path: content}, message + "\n", me.login, me.email, start)
    moved(call.world, call.events, repository, before, bare.refs(), me)
    commit = shapes.full_commit(call.world, repository, bare.commit(sha), {})
    shown = (
        None if gone else _entry(call, repository, target, sha, listing(repository, sha, path)[0], whole=True)
    )
    return Answer(
        status, {"content": shown, "commit": commit, "verification": commit["commit"]["verification"]}
    )


def _entry(
    call: Call,
    repository: Repository,
    ref: str,
    commit: str,
    entry: tuple[str, str, str, int, str],
    *,
    whole: bool = False,
) -> dict[str, Any]:
    mode, kind, sha, size, path = entry
    home = f"{call.world.url}/{repository.full_name}"
    api = f"{call.world.url}/api/v1/repos/{repository.full_name}"
    file, is_file = f"{api}/contents/{path}?ref={ref}", kind == "blob"
    blob = f"{api}/git/{'blobs' if is_file else 'trees'}/{sha}"
    page = f"{home}/src/branch/{ref}/{path}"
    last = repository.bare.git("rev-list", "-1", commit, "--", path)
    encoded = base64.b64encode(repository.bare.raw("cat-file", "blob", sha)).decode() if whole else None
    return {
        "name": path.rsplit("/", 1)[-1], "path": path, "sha": sha, "last_commit_sha": last,
        "last_commit_when": shapes.utc(repository.bare.commit(last).date),
        "type": {"120000": "symlink", "160000": "submodule"}.get(mode, "file" if is_file else "dir"), "size": size,
        "encoding": "base64" if whole else None, "content": encoded, "target": None, "url": file, "html_url": page,
        "git_url": blob, "download_url": f"{home}/raw/branch/{ref}/{path}" if is_file else None,
        "submodule_git_url": None, "_links": {"self": file, "git": blob, "html": page},
    }  # fmt: skip
