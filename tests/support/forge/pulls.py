"""Pull requests: opened, listed, edited, their files and their diff."""

from __future__ import annotations

from typing import Any

from tests.support.forge import issue_shapes, shapes
from tests.support.forge.bare import GitSaidNo
from tests.support.forge.calls import Answer, Call, answers
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.issues import assignable, change, labels_by_id, next_number, opened
from tests.support.forge.refs import remember_head, settle
from tests.support.forge.state import Issue, Pull, Repository, now


def show(call: Call, repository: Repository, issue: Issue) -> dict[str, Any]:
    assert issue.pull
    settle(repository, issue.pull)
    return issue_shapes.pull(call.world, repository, issue, issue.pull, call.user, repository.mode(call.user))


@answers("GET", "/repos/{owner}/{repo}/pulls")
def listed(call: Call) -> Answer:
    repository, state = call.repository(), call.query.get("state", "open")
    found = [
        issue
        for issue, _ in repository.pulls()
        if state in ("all", issue.state) and call.query.get("poster", issue.user.login) == issue.user.login
    ]
    found.sort(key=lambda issue: issue.number, reverse=call.query.get("sort") != "oldest")
    return call.page(found, lambda issue: show(call, repository, issue))


@answers("POST", "/repos/{owner}/{repo}/pulls")
def create(call: Call) -> Answer:
    repository, me = call.repository(change=True), call.me()
    head_branch, base_branch = call.required("head"), call.required("base")
    head_branch = head_branch.removeprefix(f"{repository.owner.login}:")
    title = call.required("title")
    if head_branch == base_branch:
        raise Refusal(422, "Invalid PullRequest: There are no changes between the head and the base")
    head, base = repository.bare.head(head_branch), repository.bare.head(base_branch)
    if head is None or base is None:
        raise not_found("IsRefExist")
    _refuse_duplicate(repository, head_branch, base_branch)
    pull = Pull(
        call.world.next_id("pull"),
        head_branch,
        base_branch,
        head,
        repository.bare.merge_base(base, head) or base,
    )
    writes = repository.allows(me, "write")
    issue = Issue(
        call.world.next_id("issue"), next_number(repository), me, title, call.body.get("body") or "", pull=pull,
        labels=labels_by_id(call, repository, call.body.get("labels")) if writes else [],
        assignees=assignable(call, repository, call.body) if writes else [],
    )  # fmt: skip
    repository.issues[issue.number] = issue
    remember_head(repository, issue, pull)
    settle(repository, pull, at_once=True)
    opened(call, repository, issue)
    return Answer(201, show(call, repository, issue))


@answers("GET", "/repos/{owner}/{repo}/pulls/{index}")
def one(call: Call) -> Answer:
    repository = call.repository()
    issue, _ = call.pull(repository)
    return Answer(body=show(call, repository, issue))


@answers("PATCH", "/repos/{owner}/{repo}/pulls/{index}")
def edit(call: Call) -> Answer:
    repository = call.repository(change=True)
    issue, pull = call.pull(repository)
    if call.body.get("state") == "open" and issue.state == "closed" and not pull.merged_at:
        head = repository.bare.head(pull.head_branch)
        if head is None:
            raise Refusal(404, "head branch does not exist", [])
        pull.head, pull.head_deleted = head, False
        _refuse_duplicate(repository, pull.head_branch, pull.base_branch)
    change(call, repository, issue)
    base = call.body.get("base")
    if base and base != pull.base_branch:
        _retarget(call, repository, issue, pull, base)
    if "labels" in call.body and repository.allows(call.user, "write"):
        issue.labels = labels_by_id(call, repository, call.body["labels"])
        call.events.issue(repository, issue, call.me(), "label_updated", "label")
    return Answer(201, show(call, repository, issue))


@answers("GET", "/repos/{owner}/{repo}/pulls/{base}/{head}")
def of_branches(call: Call) -> Answer:
    repository = call.repository()
    wanted = (call.argument("head"), call.argument("base"))
    for issue, pull in reversed(list(repository.pulls())):
        if (pull.head_branch, pull.base_branch) == wanted:
            return Answer(body=show(call, repository, issue))
    raise not_found()


@answers("GET", "/repos/{owner}/{repo}/commits/{sha}/pull")
def of_commit(call: Call) -> Answer:
    repository = call.repository()
    for issue, pull in repository.pulls():
        if call.argument("sha") == pull.merge_commit:
            return Answer(body=show(call, repository, issue))
    raise not_found()


@answers("GET", "/repos/{owner}/{repo}/pulls/{index}.{diffType}")
def diff(call: Call) -> Answer:
    repository = call.repository()
    _, pull = call.pull(repository)
    kind = call.argument("diffType")
    if kind == "diff":
        text = repository.bare.raw("diff", pull.merge_base, pull.head)
    elif kind == "patch":
        text = repository.bare.raw("format-patch", "--stdout", f"{pull.merge_base}..{pull.head}")
    else:
        raise not_found()
    return Answer(text=text, headers={"Content-Type": "text/plain; charset=utf-8"})


@answers("GET", "/repos/{owner}/{repo}/pulls/{index}/files")
def files(call: Call) -> Answer:
    repository = call.repository()
    _, pull = call.pull(repository)
    bare, names = repository.bare, {"A": "added", "M": "changed", "D": "deleted"}
    changes, counts = bare.changes(pull.merge_base, pull.head), bare.counts(pull.merge_base, pull.head)
    home = f"{call.world.url}/{repository.full_name}"
    api = f"{call.world.url}/api/v1/repos/{repository.full_name}"

    def shown(path: str) -> dict[str, Any]:
        added, deleted = counts.get(path, (0, 0))
        return {
            "filename": path, "status": names.get(changes[path], "changed"), "additions": added,
            "deletions": deleted, "changes": added + deleted,
            "html_url": f"{home}/src/commit/{pull.head}/{path}",
            "contents_url": f"{api}/contents/{path}?ref={pull.head}",
            "raw_url": f"{home}/raw/commit/{pull.head}/{path}",
        }  # fmt: skip

    page = call.page(sorted(changes), shown)
    page.headers["X-HasMore"] = "true" if 'rel="next"' in page.headers.get("Link", "") else "false"
    return page


@answers("GET", "/repos/{owner}/{repo}/pulls/{index}/commits")
def commits(call: Call) -> Answer:
    repository = call.repository()
    _, pull = call.pull(repository)
    bare = repository.bare
    found = bare.commits(f"{pull.merge_base}..{pull.head}")
    return call.page(
        found, lambda sha: shapes.full_commit(call.world, repository, bare.commit(sha), bare.changes_of(sha))
    )


@answers("POST", "/repos/{owner}/{repo}/pulls/{index}/update")
def update(call: Call) -> Answer:
    """Merges the base into the head."""
    from tests.support.forge.refs import moved

    repository, me = call.repository("write", change=True), call.me()
    _, pull = call.pull(repository)
    bare, base = repository.bare, repository.bare.head(pull.base_branch) or ""
    if bare.is_ancestor(base, pull.head):
        return Answer(200, empty=True)
    before = bare.refs()
    if call.query.get("style") == "rebase":
        new = bare.rebased(base, pull.head, me.login, me.email)
    else:
        tree = bare.merged_tree(pull.head, base)
        message = f"Merge branch '{pull.base_branch}' into {pull.head_branch}\n"
        new = tree and bare.write_commit(tree, [pull.head, base], message, me.login, me.email)
    if not new:
        raise Refusal(409, "merge failed because of conflict")
    try:
        bare.git("update-ref", f"refs/heads/{pull.head_branch}", new, pull.head)
    except GitSaidNo:
        raise Refusal(409, "merge failed because of conflict") from None
    moved(call.world, call.events, repository, before, bare.refs(), me)
    return Answer(200, empty=True)


def _refuse_duplicate(repository: Repository, head: str, base: str) -> None:
    for issue, pull in repository.pulls():
        if issue.state == "open" and (pull.head_branch, pull.base_branch) == (head, base):
            raise Refusal(
                409,
                f"pull request already exists for these targets [id: {pull.id}, issue_id: {issue.id}, "
                f"head_repo_id: {repository.id}, base_repo_id: {repository.id}, head_branch: {head}, base_branch: {base}]",
            )


def _retarget(call: Call, repository: Repository, issue: Issue, pull: Pull, base: str) -> None:
    head = repository.bare.head(base)
    if head is None:
        raise not_found("branch not found")
    _refuse_duplicate(repository, pull.head_branch, base)
    was, pull.base_branch = pull.base_branch, base
    pull.merge_base = repository.bare.merge_base(head, pull.head) or head
    issue.updated = now()
    call.world.start_checking(pull)
    call.events.issue(repository, issue, call.me(), "edited", changes={"ref": {"from": was}})
