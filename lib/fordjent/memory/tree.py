"""A folder of a commit, by git's objects: what is a symbolic link there leads nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.errors import BadData
from harness.git import Git
from harness.objects import FILE, TREE, Entry


def entry_at(git: Git, commit: str, path: str) -> Entry | None:
    """What stands at a path; None: nothing, or something on the way is no folder.

    Raises:
        BadData: there is no such commit.
    """
    entry = Entry(TREE, git.objects.tree_of(commit))
    for name in path.encode("utf-8").split(b"/"):
        inside = git.objects.tree(entry.oid).get(name) if entry.is_tree else None
        if inside is None:
            return None
        entry = inside
    return entry


def text_at(git: Git, commit: str, path: str) -> str:
    """The text of a regular file; "": there is none."""
    entry = entry_at(git, commit, path)
    return git.objects.read(entry.oid).decode("utf-8", "replace") if entry and entry.is_file else ""


def with_files(git: Git, tree: str, folder: Sequence[str], files: Mapping[str, str]) -> str:
    """A tree that has these files (name to text) in `folder`, made where it is not there; its id.

    Raises:
        BadData: what stands at the folder, or at a name on the way or in it, is something else: a
            symbolic link, a submodule or the like. Nothing is put in its place, nor where it leads.
    """
    entries = git.objects.tree(tree)
    if not folder:
        for name, text in files.items():
            file = entries.get(name.encode("utf-8"))
            if file and not file.is_file:
                raise BadData(f"{name} is no regular file")
            oid = git.objects.write("blob", text.encode("utf-8"))
            entries[name.encode("utf-8")] = Entry(file.mode if file else FILE, oid)
        return git.objects.write_tree(entries)
    inner = folder[0].encode("utf-8")
    there = entries.get(inner)
    if there and not there.is_tree:
        raise BadData(f"{folder[0]} is no folder of the repository")
    below = there.oid if there else git.objects.write_tree({})
    entries[inner] = Entry(TREE, with_files(git, below, folder[1:], files))
    return git.objects.write_tree(entries)
