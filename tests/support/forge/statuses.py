"""Statuses of commits."""

from __future__ import annotations

from tests.support.forge import shapes
from tests.support.forge.calls import Answer, Call, answers
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.repositories import show
from tests.support.forge.state import Repository, Status

STATES = ("pending", "success", "error", "failure", "warning")
# The worst decides.
ORDER = ("error", "failure", "warning", "pending", "success")


@answers("POST", "/repos/{owner}/{repo}/statuses/{sha}")
def create(call: Call) -> Answer:
    repository = call.repository("write", change=True)
    sha, state = call.argument("sha"), call.body.get("state", "")
    if state not in STATES:
        raise Refusal(422, f"unknown state: {state}")
    if repository.bare.resolve(sha) is None:
        raise not_found("object does not exist", f"object does not exist [id: {sha}, rel_path: ]")
    status = Status(
        call.world.next_id("status"), sha, call.body.get("context") or "default", state, call.me(),
        call.body.get("description") or "", call.body.get("target_url") or "",
    )  # fmt: skip
    repository.statuses.append(status)
    return Answer(201, shapes.status(call.world, repository, status))


@answers("GET", "/repos/{owner}/{repo}/commits/{ref}/statuses")
@answers("GET", "/repos/{owner}/{repo}/statuses/{sha}")
def listed(call: Call) -> Answer:
    """Newest first."""
    repository = call.repository()
    found = [one for one in repository.statuses if one.sha == _sha(call, repository)]
    return call.page(found[::-1], lambda one: shapes.status(call.world, repository, one))


@answers("GET", "/repos/{owner}/{repo}/commits/{ref}/status")
def combined(call: Call) -> Answer:
    """The newest of each context."""
    repository = call.repository()
    sha = _sha(call, repository)
    newest = {one.context: one for one in repository.statuses if one.sha == sha}
    states = {one.state for one in newest.values()}
    page = call.page(list(newest.values()), lambda one: shapes.status(call.world, repository, one))
    page.body = {
        "state": next((state for state in ORDER if state in states), ""), "sha": sha,
        "total_count": len(newest), "statuses": page.body or None, "repository": show(call, repository),
        "commit_url": "", "url": "",
    }  # fmt: skip
    return page


def _sha(call: Call, repository: Repository) -> str:
    name = call.argument("ref" if "ref" in call.arguments else "sha")
    sha = repository.bare.resolve(name)
    if sha is None:
        raise not_found("object does not exist")
    return sha
