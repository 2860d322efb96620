"""What stands when both sides changed the same thing: one test for each kind of file."""

from __future__ import annotations

import pytest

from ent_agent.tracker.merge_cells import MAX_DEPTH
from ent_agent.tracker.merge_clock import Given
from ent_agent.tracker.merge_issues import merge_trees
from harness.objects import EXECUTABLE, FILE, GITLINK, TREE, Entry
from tests.support.histories import MemoryObjects, at, read_files, write_files

Files = dict[str, str | bytes]

BASE: Files = {"README.md": "readme", "i/description": "Base", "i/state": "new"}
LATE = "o@x", 1_700_000_050
EARLY = "t@x", 1_700_000_000


def merged(base: Files | None, ours: Files, theirs: Files, *, tie: bool = False) -> dict[str, str]:
    """The files of the merge, where ours are the later ones; the same when the sides are exchanged."""
    objects = MemoryObjects()
    trees = [write_files(objects, files) for files in (ours, theirs)]
    start = None if base is None else write_files(objects, base)
    author, time = (EARLY[0], EARLY[1]) if tie else LATE
    ours_given, theirs_given = Given(time, f"O <{author}>"), Given(EARLY[1], f"T <{EARLY[0]}>")
    tree = merge_trees(
        objects, start, *trees, lambda side, path: ours_given if side == "ours" else theirs_given
    )
    exchanged = merge_trees(
        objects, start, *reversed(trees), lambda side, path: theirs_given if side == "ours" else ours_given
    )
    assert tree == exchanged
    return read_files(objects, tree)


def issue(files: Files) -> Files:
    return {"README.md": "readme", **{f"i/{path}": content for path, content in files.items()}}


def with_(path: str, content: str | bytes | None) -> Files:
    """The base, with one file changed; None: without it."""
    files = {**BASE, f"i/{path}": content}
    return {name: text for name, text in files.items() if text is not None}


# ---- single values


def test_what_one_side_changed_is_taken_as_it_is() -> None:
    result = merged(BASE, with_("state", "  Done\n"), with_("assignee", "bob"))
    assert result == {**BASE, "i/state": "  Done\n", "i/assignee": "bob"}


@pytest.mark.parametrize(
    ("path", "base", "later", "earlier", "stands"),
    [
        ("state", "new", "blocked", "done", "blocked"),
        ("state", "new", "in progress", "done", "done"),
        ("state", "new", "<<<<<<< ours", "done", "done"),
        ("state", "done", None, "blocked", None),
        ("state", "done", "blocked", None, "blocked"),
        ("assignee", "robo", "alice", "bob", "alice"),
        ("assignee", "robo", None, "bob", None),
        ("assignee", "robo", b"\xff", "bob", "bob"),
        ("author", "A <a>", "B <b>", "C <c>", "B <b>"),
        ("done_time", None, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00-01:00", "2026-01-01T00:00:00-01:00"),
        ("done_time", None, "2026-01-02 00:00:00Z\n", "2026-01-01T00:00:00Z", "2026-01-02 00:00:00Z\n"),
        ("done_time", None, "tomorrow", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("done_time", "2025-01-01T00:00:00Z", None, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("creation_time", None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("creation_time", None, "2026-01-01T00:00:00Z", "2026", "2026-01-01T00:00:00Z"),
    ],
)  # fmt: skip
def test_of_two_values_one_stands(
    path: str, base: str | None, later: str | bytes | None, earlier: str | None, stands: str | None
) -> None:
    result = merged(with_(path, base), with_(path, later), with_(path, earlier))
    assert result.get(f"i/{path}") == stands


@pytest.mark.parametrize(
    ("one", "other", "stands"),
    [
        ("wontdo", "done", "wontdo"),
        ("done", "blocked", "done"),
        ("blocked", "backlog", "blocked"),
        ("backlog", None, "backlog"),
        (None, "inprogress", None),
    ],
)
def test_states_of_the_same_second_have_a_fixed_order(
    one: str | None, other: str | None, stands: str | None
) -> None:
    base = with_("state", "NEW")
    assert merged(base, with_("state", one), with_("state", other), tie=True).get("i/state") == stands


# ---- descriptions


def test_a_description_that_lost_becomes_a_comment_by_who_wrote_it() -> None:
    result = merged(BASE, with_("description", "Ours"), with_("description", "Theirs\n"))
    assert result["i/description"] == "Ours"
    (comment,) = {path.split("/")[2] for path in result if "/comments/" in path}
    assert len(comment) == 32
    about = {name: result[f"i/comments/{comment}/{name}"] for name in ("author", "creation_time")}
    assert about == {"author": "T <t@x>", "creation_time": "2023-11-14T22:13:20+00:00"}
    assert result[f"i/comments/{comment}/description"].endswith("changed on two sides at once. "
        "The other side's text:\n\nTheirs\n")  # fmt: skip


def test_the_comment_of_a_lost_text_is_the_same_whichever_text_it_lost_to() -> None:
    lost = with_("description", "Theirs")
    first, second = (merged(BASE, with_("description", text), lost) for text in ("Ours", "Another"))
    assert [path for path in first if "/comments/" in path] == [
        path for path in second if "/comments/" in path
    ]


def test_a_description_that_is_no_text_is_kept_beside_the_one_that_is() -> None:
    result = merged(BASE, with_("description", b"\xff\xfe"), with_("description", "Theirs"))
    assert result["i/description"] == "Theirs"
    assert [path for path in result if path.startswith("i/description.")]
    assert not [path for path in result if "/comments/" in path]


def test_a_description_is_never_removed_by_a_merge() -> None:
    for gone in (with_("description", None), {**with_("description", None), "i/state": "done"}):
        result = merged(BASE, gone, with_("state", "blocked"))
        assert result["i/description"] == "Base"


# ---- tags, dependencies, comments


@pytest.mark.parametrize("folder", ["tags", "dependencies"])
def test_names_are_sets(folder: str) -> None:
    base = issue({"description": "D", f"{folder}/kept": "", f"{folder}/ours": "", f"{folder}/theirs": ""})
    ours = issue({"description": "D", f"{folder}/kept": "x", f"{folder}/theirs": "", f"{folder}/new": ""})
    theirs = issue({"description": "D", f"{folder}/kept": "y", f"{folder}/ours": "", f"{folder}/also": ""})
    result = merged(base, ours, theirs)
    assert {path: text for path, text in result.items() if folder in path} == {
        f"i/{folder}/{name}": "" for name in ("kept", "new", "also")
    }


def test_the_last_names_removed_on_both_sides_leave_no_folder() -> None:
    base = issue({"description": "D", "tags/a": "", "tags/b": ""})
    ours, theirs = (issue({"description": "D", f"tags/{name}": ""}) for name in "ab")
    assert merged(base, ours, theirs) == issue({"description": "D"})


def test_comments_of_both_sides_are_there() -> None:
    ours, theirs = (with_(f"comments/{name}/description", name) for name in ("c1", "c2"))
    assert merged(BASE, ours, theirs) == {**ours, **theirs}


def test_a_comment_removed_is_removed_and_one_edited_meanwhile_is_not() -> None:
    base = issue({"description": "D", "comments/c/description": "C", "comments/d/description": "D"})
    ours = issue({"description": "D"})
    theirs = issue({"description": "D", "comments/c/description": "C2", "comments/d/description": "D"})
    assert merged(base, ours, theirs) == issue({"description": "D", "comments/c/description": "C2"})


def test_a_comment_edited_on_both_sides_keeps_both_texts() -> None:
    base, ours, theirs = (with_("comments/c/description", text) for text in ("C", "Ours", "Theirs"))
    result = merged(base, ours, theirs)
    assert result["i/comments/c/description"] == "Ours"
    assert [text for text in result.values() if "The comment c was changed" in text and "Theirs" in text]


# ---- issues


def test_an_issue_that_one_side_removed_and_nobody_touched_is_removed() -> None:
    other = {"j/description": "Other"}
    assert merged({**BASE, **other}, BASE, {**BASE, **other, "k/description": "K"}) == {
        **BASE,
        "k/description": "K",
    }


def test_an_issue_removed_here_and_changed_there_is_kept_whole() -> None:
    changed = {**with_("state", "done"), "i/tags/a": ""}
    assert merged(BASE, {"README.md": "readme"}, changed) == changed


def test_unrelated_trackers_are_joined() -> None:
    ours = {"README.md": "readme", "i/description": "I", "same/description": "S", "same/state": "done"}
    theirs = {"README.md": "readme", "j/description": "J", "same/description": "S", "same/tags/t": ""}
    assert merged(None, ours, theirs) == {**ours, **theirs}


# ---- other files


def test_of_an_unknown_file_the_later_keeps_the_name_and_the_other_stays_beside() -> None:
    for prefix in ("i/notes", "i/comments/c/notes", "i/more/notes", "notes"):
        base, ours, theirs = ({**BASE, "i/comments/c/description": "C", prefix: text} for text in "bot")
        result = merged(base, ours, theirs)
        (beside,) = set(result) - set(base)
        assert (result[prefix], result[beside]) == ("o", "t")
        assert beside.startswith(f"{prefix}.") and len(beside) == len(prefix) + 9


def test_what_stands_beside_takes_no_place_that_is_taken() -> None:
    base, ours, theirs = (with_("notes", text) for text in "bot")
    (beside,) = set(merged(base, ours, theirs)) - set(base)
    result = merged({**base, beside: "mine"}, {**ours, beside: "mine"}, {**theirs, beside: "mine"})
    assert result[beside] == "mine"
    assert sorted(result.values()) == sorted(["Base", "mine", "new", "o", "readme", "t"])


def test_the_name_of_what_stands_beside_is_never_too_long_for_a_file_system() -> None:
    name = "n" * 255
    result = merged(*(with_(name, text) for text in "bot"))
    assert max(len(part) for path in result for part in path.split("/")) == 255
    assert {"o", "t"} < set(result.values())


@pytest.mark.parametrize("name", ["notes", "tags", "comments", "dependencies"])
def test_file_against_folder_leaves_the_folder_and_the_file_beside(name: str) -> None:
    result = merged(BASE, with_(name, "file"), with_(f"{name}/x/description", "inside"))
    assert result[f"i/{name}/x/description"] == "inside"
    assert [text for path, text in result.items() if path.startswith(f"i/{name}.")] == ["file"]


def test_an_issue_against_a_file_leaves_the_issue_and_the_file_beside() -> None:
    result = merged({}, {"thing": "file"}, {"thing/description": "D"})
    assert sorted(result.values()) == ["D", "file"]
    assert "thing/description" in result


def test_the_readme_is_the_later_one_alone() -> None:
    base, ours, theirs = ({"README.md": text} for text in "bot")
    assert merged(base, ours, theirs) == {"README.md": "o"}


def test_config_toml_is_one_that_can_be_parsed_and_never_joined() -> None:
    base, ours, theirs = ({"config.toml": text} for text in ("a = 1", "a = ", "a = 2"))
    assert merged(base, ours, theirs) == {"config.toml": "a = 2"}
    assert merged(base, {"config.toml": "a = 3"}, theirs) == {"config.toml": "a = 3"}


# ---- what no checkout makes


def test_a_submodule_at_the_top_gives_way_to_a_file() -> None:
    objects = MemoryObjects()
    text = Entry(FILE, objects.write("blob", b"text"))
    module = Entry(GITLINK, "1" * 40)
    trees = [objects.write_tree({b"x": entry}) for entry in (module, text)]
    result = merge_trees(objects, None, *trees, lambda side, path: Given(0, ""))
    assert objects.tree(result) == {b"x": text}


def test_of_two_modes_of_the_same_description_one_stands_alone() -> None:
    objects = MemoryObjects()
    oid = objects.write("blob", b"same")
    trees = [
        objects.write_tree(
            {b"i": Entry(TREE, objects.write_tree({b"description": Entry(mode, oid)}))}
        )
        for mode in (FILE, EXECUTABLE)
    ]  # fmt: skip
    result = merge_trees(objects, None, *trees, lambda side, path: Given(0, ""))
    assert read_files(objects, result) == {"i/description": "same"}


def test_folders_without_end_are_merged_to_a_depth_and_kept_whole_below() -> None:
    objects = MemoryObjects()

    def deep(text: str) -> str:
        entry = Entry(FILE, objects.write("blob", text.encode()))
        for _ in range(2000):
            entry = Entry(TREE, objects.write_tree({b"d": entry}))
        return entry.oid

    result = merge_trees(
        objects, deep("b"), deep("o"), deep("t"), lambda side, path: Given(side == "ours", "")
    )
    folder = at(objects, result, b"/".join([b"d"] * MAX_DEPTH))
    assert folder and len(objects.tree(folder.oid)) == 2
