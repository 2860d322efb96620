"""The merge of two trackers by what their files mean. Pure: a store of objects and a clock are all it needs.

What one side alone changed is taken as it is. Where both changed the same thing:

    state, assignee, author   the later one
    done_time, creation_time  the last, the first
    description               the later one; the other becomes a comment
    tags, dependencies        sets of names: what was there must be kept by both, what was not is added by either
    comments                  a union; edited against removed: the edited one
    issue                     field by field; changed against removed: the changed one, whole
    other files               the later one keeps the name, the other goes beside as NAME.<id>
"""

from __future__ import annotations

from ent_agent.tracker.merge_cells import (
    Cell,
    Store,
    folder_first,
    merge_entries,
    place,
    write_folder,
)
from ent_agent.tracker.merge_clock import Clock
from ent_agent.tracker.merge_fields import Fields, Verdict
from harness.objects import FILE, GITLINK, TREE, Entry, Tree

DESCRIPTION = b"description"


def merge_trees(store: Store, base: str | None, ours: str, theirs: str, clock: Clock) -> str:
    """The id of the merged root tree; the same when `ours` and `theirs` are exchanged. No base: unrelated."""
    return store.write_tree(merge_entries(store, root_cell(base, ours, theirs), _Root(store, clock).entry))


def root_cell(base: str | None, ours: str, theirs: str) -> Cell:
    return Cell(b"", Entry(TREE, base) if base else None, Entry(TREE, ours), Entry(TREE, theirs))


class _Root:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._fields = Fields(store, clock)

    def entry(self, cell: Cell, beside: Tree) -> Entry | None:
        """A conflict at the top level: an issue, or a file that is none."""
        if cell.ours is None or cell.theirs is None:
            return cell.ours or cell.theirs
        if cell.is_folder:
            return _Issue(self._store, self._fields, cell).merged()
        if cell.ours.is_tree or cell.theirs.is_tree:
            return folder_first(cell, beside)
        if cell.name == b"config.toml":
            return self._fields.config(cell).winner
        verdict = self._fields.any(cell)
        # A submodule at the top is an issue that nobody can read.
        if cell.name != b"README.md" and verdict.loser and verdict.loser.mode != GITLINK:
            beside[cell.name] = verdict.loser
        return verdict.winner


class _Issue:
    """One issue that both sides changed; `_lost` has the comments made of descriptions that lost."""

    def __init__(self, store: Store, fields: Fields, cell: Cell) -> None:
        self._store = store
        self._fields = fields
        self._cell = cell
        self._lost: Tree = {}

    def merged(self) -> Entry | None:
        tree = merge_entries(self._store, self._cell, self._field)
        self._require_description(tree, self._cell)
        self._add_lost(tree)
        return write_folder(self._store, tree)

    # ---- conflicts, by place

    def _field(self, cell: Cell, beside: Tree) -> Entry | None:
        match cell.name:
            case b"tags" | b"dependencies" if cell.is_set:
                return write_folder(self._store, merge_entries(self._store, cell, self._name))
            case b"comments" if cell.is_set:
                return write_folder(self._store, merge_entries(self._store, cell, self._comment))
            case _ if cell.is_folder:
                return self._unknown(cell, beside)
            case b"state":
                return self._fields.state(cell).winner
            case b"assignee":
                return self._fields.text(cell).winner
            case b"done_time":
                return self._fields.done_time(cell)
            case _:
                return self._common_field(cell, beside, "description")

    def _comment_field(self, cell: Cell, beside: Tree) -> Entry | None:
        comment_id = cell.path.split(b"/")[-2].decode("utf-8", "replace")
        return self._common_field(cell, beside, f"comment {comment_id}")

    def _common_field(self, cell: Cell, beside: Tree, which: str) -> Entry | None:
        """The fields that issues and comments have in common, and files that neither knows."""
        match cell.name:
            case _ if cell.is_folder:
                return self._unknown(cell, beside)
            case b"author":
                return self._fields.text(cell).winner
            case b"creation_time":
                return self._fields.creation_time(cell)
            case b"description":
                return self._description(cell, beside, which)
            case _:
                return self._unknown(cell, beside)

    def _description(self, cell: Cell, beside: Tree, which: str) -> Entry | None:
        if cell.ours is None or cell.theirs is None:
            return cell.ours or cell.theirs
        verdict = self._fields.text(cell)
        self._keep_text(cell, beside, which, verdict)
        return verdict.winner

    def _name(self, cell: Cell, beside: Tree) -> Entry | None:
        """A tag or dependency is there or not; its content means nothing."""
        both = cell.ours is not None and cell.theirs is not None
        return Entry(FILE, self._store.write("blob", b"")) if both else None

    def _comment(self, cell: Cell, beside: Tree) -> Entry | None:
        if cell.is_folder:
            tree = merge_entries(self._store, cell, self._comment_field)
            self._require_description(tree, cell)
            return write_folder(self._store, tree)
        # Whatever else stood in `comments/` would make the issue unreadable.
        sides = [entry for entry in (cell.ours, cell.theirs) if entry is not None]
        return max(sides, key=lambda entry: (entry.is_tree, entry))

    def _unknown(self, cell: Cell, beside: Tree) -> Entry | None:
        if cell.is_folder:
            return write_folder(self._store, merge_entries(self._store, cell, self._unknown))
        if cell.ours is None or cell.theirs is None:
            return cell.ours or cell.theirs
        if cell.ours.is_tree != cell.theirs.is_tree:
            return folder_first(cell, beside)
        verdict = self._fields.any(cell)
        if verdict.loser:
            beside[cell.name] = verdict.loser
        return verdict.winner

    # ---- descriptions

    def _require_description(self, tree: Tree, cell: Cell) -> None:
        """Without a description an issue or comment is unreadable, so present wins over removed."""
        if DESCRIPTION in tree:
            return
        for side in (cell.ours, cell.theirs, cell.base):
            entry = self._store.tree(side.oid).get(DESCRIPTION) if side and side.is_tree else None
            if entry is not None:
                tree[DESCRIPTION] = entry
                return

    def _keep_text(self, cell: Cell, beside: Tree, which: str, verdict: Verdict) -> None:
        winner, loser = verdict.winner, verdict.loser
        if loser is None or loser.mode == GITLINK or (winner and winner.oid == loser.oid):
            return
        comment = self._fields.lost_text(self._cell.path, which, verdict)
        if comment:
            self._lost[comment[0]] = comment[1]
        else:
            beside[cell.name] = loser  # not text: a comment of it would be unreadable

    def _add_lost(self, tree: Tree) -> None:
        if not self._lost:
            return
        comments = tree.get(b"comments")
        if comments and not comments.is_tree:
            place(tree, b"comments", comments)
            comments = None
        there = self._store.tree(comments.oid) if comments else {}
        tree[b"comments"] = Entry(TREE, self._store.write_tree({**self._lost, **there}))
