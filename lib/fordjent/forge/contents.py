"""Files as they are on the forge, and the search in them."""

from __future__ import annotations

import msgspec

from fordjent.forge import paths
from fordjent.forge.answers import decode
from fordjent.forge.errors import NotFound, NotOffered, Refused
from fordjent.forge.forge import Forge
from fordjent.forge.types import Entry, Tree, TreeEntry


async def list_all(forge: Forge, repository: str, path: str = "", ref: str = "") -> list[Entry]:
    """What is in a folder, the root by default; of a file that one entry. Empty in an empty repository.

    `ref`: a branch, tag or commit; the default branch without one.

    Raises:
        NotFound: no such path or ref.
    """
    place = paths.of(repository, "contents")
    answer = await forge.request(
        "GET", f"{place}/{paths.tail(path.strip('/'))}" if path.strip("/") else place, params=_ref(ref)
    )
    if answer.body.lstrip()[:1] == b"{":
        return [decode(answer, Entry)]
    return decode(answer, list[Entry])


async def get(forge: Forge, repository: str, path: str, ref: str = "") -> Entry:
    """A file, with its `data`.

    Raises:
        NotFound: no such path or ref, or a folder.
    """
    found = await list_all(forge, repository, path, ref)
    if len(found) != 1 or found[0].type == "dir" or found[0].path != path.strip("/"):
        raise NotFound("GET", paths.of(repository, "contents"), 404, f"{path} is a folder")
    return found[0]


async def tree(
    forge: Forge, repository: str, ref: str, *, recursive: bool = True, pages: int = 20
) -> list[TreeEntry]:
    """The tree of a branch, tag or commit; empty where there is none, as in an empty repository.

    Of a huge repository only so many pages of 1,000.
    """
    found: list[TreeEntry] = []
    for page in range(1, pages + 1):
        try:
            part = await forge.get(
                paths.of(repository, "git", "trees", ref),
                Tree,
                {"recursive": recursive, "page": page, "per_page": 1000},
            )
        except (Refused, NotFound):
            return found  # 400 "sha not found"
        found += part.tree
        if not part.tree or not part.truncated:
            break
    return found


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    filename: str = ""
    path: str = ""


async def search(forge: Forge, repository: str, query: str) -> list[Hit]:
    """
    Raises:
        NotOffered: this server has no search in code by its API, as Forgejo has none.
    """
    path = paths.of(repository, "code", "search")
    try:
        return await forge.get(path, list[Hit], {"q": query})
    except NotFound as error:
        raise NotOffered(
            "GET",
            path,
            404,
            "this server does not offer a search in code",
            hint="search in the worktree: `git grep` finds it there",
        ) from error


def _ref(ref: str) -> dict[str, str]:
    return {"ref": ref} if ref else {}
