"""What a repository has: branches, files, people; and the server's own words of itself."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fordjent import threads
from fordjent.forge import branches, contents, repositories, server, users
from fordjent.gates.protection import is_protected
from fordjent.tools import git, programs
from fordjent.tools.arguments import Repository
from fordjent.tools.output import listed
from fordjent.tools.scope import Scope
from fordjent.tools.tool import Arguments, Outcome, Tool
from harness.errors import BadData

SEARCH_SECONDS = 60.0
SHOWN = 500


class SearchCode(Arguments, frozen=True):
    """Search the files of the repository, as they are in the worktree, for a text."""

    query: Annotated[str, Meta(description="Text to find, as it stands there", min_length=1, max_length=500)]
    path: Annotated[str, Meta(description="Only below this path")] = ""
    repository: Repository = ""


class ListBranches(Arguments, frozen=True):
    """List the branches on the forge."""

    repository: Repository = ""


class DeleteBranch(Arguments, frozen=True):
    """Delete a branch on the forge. A pull request from it is closed by that."""

    branch: Annotated[str, Meta(description="Its name, without refs/heads/", min_length=1, max_length=250)]
    repository: Repository = ""


class ListFiles(Arguments, frozen=True):
    """List the files of a folder as a branch on the forge has them."""

    path: Annotated[str, Meta(description='The folder; "": the root')] = ""
    ref: Annotated[str, Meta(description='Branch, tag or commit; "": the default branch')] = ""
    repository: Repository = ""


class ListCollaborators(Arguments, frozen=True):
    """List who works in the repository."""

    repository: Repository = ""


class ServerVersion(Arguments, frozen=True):
    """Show the version of the forge."""


class OwnUser(Arguments, frozen=True):
    """Show the account that you act as on the forge."""


async def search_code(scope: Scope, asked: SearchCode) -> str:
    scope.repository(asked.repository)
    if "\0" in asked.query + asked.path:
        raise BadData("query, path: may hold no NUL")
    command = [
        "git",
        "grep",
        "--no-color",
        "-n",
        "-I",
        "-F",
        "--no-textconv",
        "--untracked",
        "-e",
        asked.query,
        "--",
    ]
    where = [f":(literal){asked.path}"] if asked.path.strip("/.") else []
    overrides = await threads.run(git.quiet, scope.ground)
    ran = await programs.run(scope.ground, [*command, *where], scope.redactor, SEARCH_SECONDS, overrides)
    if ran.exit_code == 1:
        return "found nowhere"
    return ran.output.rstrip() if ran.ok else ran.told(SEARCH_SECONDS)


async def list_branches(scope: Scope, asked: ListBranches) -> str:
    found = await branches.list_all(scope.session.forge, scope.repository(asked.repository))
    lines = [f"{each.name} {each.commit.id[:12]}{' (protected)' if each.protected else ''}" for each in found]
    return listed(_some(lines), "no branches: the repository is empty")


async def delete_branch(scope: Scope, asked: DeleteBranch) -> Outcome:
    repository, session = scope.repository(asked.repository), scope.session
    name = asked.branch.removeprefix("refs/heads/")
    about = await repositories.get(session.forge, repository)
    protected = (*session.context.config.policy.protected_branches, session.base)
    if is_protected(name, protected, about.default_branch):
        raise BadData(f"{name} is protected")
    await branches.delete(session.forge, repository, name)
    return Outcome(f"{name} is deleted", changed=True)


async def list_files(scope: Scope, asked: ListFiles) -> str:
    repository = scope.repository(asked.repository)
    found = await contents.list_all(scope.session.forge, repository, asked.path.strip("/"), asked.ref)
    lines = [f"{each.path}{'/' if each.type == 'dir' else f' ({each.size} bytes)'}" for each in found]
    return listed(_some(lines), "nothing there")


async def list_collabs(scope: Scope, asked: ListCollaborators) -> str:
    repository, forge = scope.repository(asked.repository), scope.session.forge
    found = await repositories.collaborators(forge, repository)
    return listed(_some([each.login for each in found]), "nobody besides its owner")


async def version(scope: Scope, _asked: ServerVersion) -> str:
    return f"Forgejo {await server.version(scope.session.forge)}"


async def user(scope: Scope, _asked: OwnUser) -> str:
    me = await users.me(scope.session.forge)
    return f"{me.login} ({me.full_name or 'no full name'})"


TOOLS = (
    Tool("forgejo_search_code", SearchCode, search_code),
    Tool("forgejo_list_branches", ListBranches, list_branches),
    Tool("forgejo_list_files", ListFiles, list_files),
    Tool("forgejo_list_collabs", ListCollaborators, list_collabs),
    Tool("forgejo_version", ServerVersion, version),
    Tool("forgejo_user", OwnUser, user),
    Tool("forgejo_delete_branch", DeleteBranch, delete_branch),
)


def _some(lines: list[str]) -> list[str]:
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"[… {len(lines) - SHOWN} more]"]
