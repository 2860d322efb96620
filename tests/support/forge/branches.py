"""Branches, and the protection of branches."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

from tests.support.forge import shapes
from tests.support.forge.calls import Answer, Call, answers, done
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.refs import moved
from tests.support.forge.state import Repository, User, now

PLAIN: dict[str, Any] = {
    "enable_push": False, "enable_push_whitelist": False, "push_whitelist_usernames": [],
    "push_whitelist_teams": [], "push_whitelist_deploy_keys": False, "enable_merge_whitelist": False,
    "merge_whitelist_usernames": [], "merge_whitelist_teams": [], "enable_status_check": False,
    "status_check_contexts": None, "required_approvals": 0, "enable_approvals_whitelist": False,
    "approvals_whitelist_username": [], "approvals_whitelist_teams": [], "block_on_rejected_reviews": False,
    "block_on_official_review_requests": False, "block_on_outdated_branch": False,
    "dismiss_stale_approvals": False, "ignore_stale_approvals": False, "require_signed_commits": False,
    "protected_file_patterns": "", "unprotected_file_patterns": "", "apply_to_admins": False,
}  # fmt: skip


def protection(repository: Repository, branch: str) -> dict[str, Any] | None:
    """The rule that holds for a branch: an exact name wins over a pattern."""
    exact = repository.protections.get(branch)
    patterns = (rule for name, rule in repository.protections.items() if fnmatch(branch, name))
    return exact or next(patterns, None)


def may_push(repository: Repository, branch: str, user: User) -> bool:
    rule = protection(repository, branch)
    if rule is None:
        return True
    if not rule["enable_push"]:
        return False
    return not rule["enable_push_whitelist"] or user.login in rule["push_whitelist_usernames"]


@answers("GET", "/repos/{owner}/{repo}/branches")
def branches(call: Call) -> Answer:
    """`null`, not `[]`, where there is none."""
    repository = call.repository()
    heads = repository.bare.branches()
    page = call.page(list(heads), lambda name: _branch(call, repository, name, heads[name]))
    page.body = page.body or None
    return page


@answers("GET", "/repos/{owner}/{repo}/branches/{branch}")
def branch(call: Call) -> Answer:
    repository, name = call.repository(), call.argument("branch")
    head = repository.bare.head(name)
    if head is None:
        raise not_found(
            "The target couldn't be found.", f"branch does not exist [repo_id: {repository.id} name: {name}]"
        )
    return Answer(body=_branch(call, repository, name, head))


@answers("POST", "/repos/{owner}/{repo}/branches")
def create(call: Call) -> Answer:
    repository, name = call.repository("write", change=True), call.required("new_branch_name")
    source = call.body.get("old_ref_name") or call.body.get("old_branch_name") or repository.default_branch
    head = repository.bare.resolve(source)
    if head is None:
        raise not_found("The old branch does not exist")
    if repository.bare.head(name):
        raise Refusal(409, "The branch already exists.")
    before = repository.bare.refs()
    repository.bare.git("update-ref", f"refs/heads/{name}", head)
    moved(call.world, call.events, repository, before, repository.bare.refs(), call.me())
    return Answer(201, _branch(call, repository, name, head))


@answers("DELETE", "/repos/{owner}/{repo}/branches/{branch}")
def delete(call: Call) -> Answer:
    repository, name = call.repository("write", change=True), call.argument("branch")
    if repository.bare.head(name) is None:
        raise Refusal(500, "")
    if name == repository.default_branch:
        raise Refusal(403, "can not delete default branch")
    if protection(repository, name):
        raise Refusal(403, "branch protected")
    before = repository.bare.refs()
    repository.bare.git("update-ref", "-d", f"refs/heads/{name}")
    moved(call.world, call.events, repository, before, repository.bare.refs(), call.me())
    return done()


@answers("GET", "/repos/{owner}/{repo}/branch_protections")
def protections(call: Call) -> Answer:
    return Answer(body=list(call.repository("admin").protections.values()))


@answers("POST", "/repos/{owner}/{repo}/branch_protections")
def protect(call: Call) -> Answer:
    """The open pull requests onto the branch are checked anew: until then they cannot be merged."""
    repository = call.repository("admin", change=True)
    name = call.body.get("rule_name") or call.body.get("branch_name") or ""
    if not name:
        raise Refusal(422, "both rule_name and branch_name are empty")
    if name in repository.protections:
        raise Refusal(403, "Branch protection already exist")
    names: dict[str, object] = {"branch_name": name, "rule_name": name}
    wanted = {field: value for field, value in call.body.items() if field in PLAIN}
    times = {"created_at": now(), "updated_at": now()}
    repository.protections[name] = {**names, **PLAIN, **wanted, **times}
    for issue, pull in repository.pulls():
        if issue.state == "open" and fnmatch(pull.base_branch, name):
            call.world.start_checking(pull)
    return Answer(201, repository.protections[name])


@answers("GET", "/repos/{owner}/{repo}/branch_protections/{name}")
def one_protection(call: Call) -> Answer:
    return Answer(body=_rule(call, call.repository("admin")))


@answers("PATCH", "/repos/{owner}/{repo}/branch_protections/{name}")
def edit_protection(call: Call) -> Answer:
    rule = _rule(call, call.repository("admin", change=True))
    rule.update({**call.body, "updated_at": now()})
    return Answer(body=rule)


@answers("DELETE", "/repos/{owner}/{repo}/branch_protections/{name}")
def unprotect(call: Call) -> Answer:
    repository = call.repository("admin", change=True)
    _rule(call, repository)
    del repository.protections[call.argument("name")]
    return done()


def _rule(call: Call, repository: Repository) -> dict[str, object]:
    rule = repository.protections.get(call.argument("name"))
    if rule is None:
        raise not_found()
    return rule


def _branch(call: Call, repository: Repository, name: str, head: str) -> dict[str, Any]:
    rule = protection(repository, name)
    writes = repository.allows(call.user, "write")
    commit = repository.bare.commit(head)
    return {
        "name": name, "commit": shapes.payload_commit(call.world, repository, commit, None, verified=True),
        "protected": rule is not None, "required_approvals": rule["required_approvals"] if rule else 0,
        "enable_status_check": bool(rule and rule["enable_status_check"]),
        "status_check_contexts": (rule["status_check_contexts"] if rule else None) or [],
        "user_can_push": bool(writes and call.user and may_push(repository, name, call.user)),
        "user_can_merge": writes, "effective_branch_protection_name": rule["rule_name"] if rule else "",
    }  # fmt: skip
