"""Repositories, their collaborators and the search for them."""

from __future__ import annotations

from typing import Any

from tests.support.forge import shapes
from tests.support.forge.bare import Bare
from tests.support.forge.calls import Answer, Call, answers, done
from tests.support.forge.errors import Refusal, not_found
from tests.support.forge.state import Repository, User, World, now

PERMISSIONS = ("read", "write", "admin")


def add_repository(
    world: World, owner: User, name: str, default_branch: str, *, description: str = "", private: bool = False
) -> Repository:
    """An empty one, with a bare repository on disk."""
    bare = Bare.create(world.folder / owner.login / f"{name}.git", default_branch)
    repository = Repository(
        world.next_id("repository"), owner, name, bare, default_branch, description, private
    )
    world.repositories[repository.full_name.lower()] = repository
    return repository


def show(call: Call, repository: Repository) -> dict[str, Any]:
    return shapes.repository(call.world, repository, repository.mode(call.user))


@answers("POST", "/orgs/{org}/repos")
def create_for_organization(call: Call) -> Answer:
    return _create(call, call.named_user(call.argument("org")))


@answers("POST", "/user/repos")
def create_for_me(call: Call) -> Answer:
    return _create(call, call.me())


@answers("GET", "/repos/{owner}/{repo}")
def one(call: Call) -> Answer:
    return Answer(body=show(call, call.repository()))


@answers("PATCH", "/repos/{owner}/{repo}")
def edit(call: Call) -> Answer:
    repository = call.repository("admin")
    for name, value in call.body.items():
        if name == "archived":
            repository.archived = now() if value else None
        elif name in ("description", "private", "default_branch"):
            setattr(repository, name, value)
        else:
            repository.settings[name] = value
    if "default_branch" in call.body:
        repository.bare.git("symbolic-ref", "HEAD", f"refs/heads/{repository.default_branch}")
    return Answer(body=show(call, repository))


@answers("GET", "/repos/search")
def search(call: Call) -> Answer:
    wanted = call.query.get("q", "").lower()
    found = [one for one in _readable(call) if wanted in one.name.lower()]
    page = call.page(found, lambda repository: show(call, repository))
    page.body = {"ok": True, "data": page.body}
    return page


@answers("GET", "/user/repos")
def mine(call: Call) -> Answer:
    me = call.me()
    found = [one for one in _readable(call) if one.owner is me or me.login in one.collaborators]
    return call.page(found, lambda repository: show(call, repository))


@answers("GET", "/repos/{owner}/{repo}/collaborators")
def collaborators(call: Call) -> Answer:
    repository = call.repository()
    call.me()
    found = [call.named_user(login) for login in repository.collaborators]
    return call.page(found, lambda user: shapes.user(call.world, user, call.user))


@answers("GET", "/repos/{owner}/{repo}/collaborators/{collaborator}")
def is_collaborator(call: Call) -> Answer:
    repository = call.repository()
    if call.argument("collaborator") not in repository.collaborators:
        raise not_found()
    return done()


@answers("PUT", "/repos/{owner}/{repo}/collaborators/{collaborator}")
def add_collaborator(call: Call) -> Answer:
    repository = call.repository("admin", change=True)
    user = call.named_user(call.argument("collaborator"))
    permission = call.body.get("permission") or "write"
    if permission not in PERMISSIONS:
        raise Refusal(422, f"invalid permission {permission}")
    repository.collaborators[user.login] = permission
    return done()


@answers("DELETE", "/repos/{owner}/{repo}/collaborators/{collaborator}")
def remove_collaborator(call: Call) -> Answer:
    call.repository("admin", change=True).collaborators.pop(call.argument("collaborator"), None)
    return done()


@answers("GET", "/repos/{owner}/{repo}/collaborators/{collaborator}/permission")
def permission(call: Call) -> Answer:
    """Of oneself, or of anyone for an admin of the repository; of others it is 403."""
    repository = call.repository()
    me, login = call.me(), call.argument("collaborator")
    if login.lower() != me.login.lower() and not repository.allows(me, "admin"):
        raise Refusal(
            403,
            "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own",
        )
    user = call.named_user(login)
    mode = repository.mode(user)
    shown = shapes.user(call.world, user, call.user)
    return Answer(body={"permission": mode, "role_name": mode, "user": shown})


@answers("GET", "/repos/{owner}/{repo}/assignees")
def assignees(call: Call) -> Answer:
    return Answer(body=[shapes.user(call.world, user, call.user) for user in writers(call)])


@answers("GET", "/repos/{owner}/{repo}/reviewers")
def reviewers(call: Call) -> Answer:
    return Answer(body=[shapes.user(call.world, user, call.user) for user in writers(call)])


def writers(call: Call) -> list[User]:
    repository = call.repository()
    return [
        user
        for user in call.world.users.values()
        if not user.is_organization
        and (user is repository.owner or repository.collaborators.get(user.login) in ("write", "admin"))
    ]


def _readable(call: Call) -> list[Repository]:
    return [one for one in call.world.repositories.values() if one.allows(call.user, "read")]


def _create(call: Call, owner: User) -> Answer:
    me, name = call.me(), call.required("name")
    if f"{owner.login}/{name}".lower() in call.world.repositories:
        raise Refusal(409, "The repository with the same name already exists.")
    branch, description = call.body.get("default_branch") or "main", call.body.get("description", "")
    repository = add_repository(
        call.world, owner, name, branch, description=description, private=bool(call.body.get("private"))
    )
    if owner is not me and not me.is_admin:
        repository.collaborators[me.login] = "admin"
    if call.body.get("auto_init"):
        text = f"# {name}\n\n{description}"
        repository.bare.commit_files(
            branch, {"README.md": text}, "Initial commit\n", me.login, me.email, None
        )
    return Answer(201, show(call, repository))
