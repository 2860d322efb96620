"""Files of LFS stay pointers for the loop: content over one is no change, and none goes out without its object."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ent_agent.records import ResultSection
from harness.worktrees import lfs
from tests.support.bench import Bench
from tests.support.sample import WELSH, Sample, configuration

CONTENT = b"a large file\0" * 20
ATTRIBUTES = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"


def pointer(content: bytes) -> bytes:
    digest = hashlib.sha256(content).hexdigest().encode()
    return lfs.POINTER + b"oid sha256:" + digest + b"\nsize %d\n" % len(content)


@pytest.fixture
def bench(place: Path, sample: Sample) -> Bench:
    sample.commit({".gitattributes": ATTRIBUTES, "model.bin": pointer(CONTENT)})
    bench = Bench(sample, configuration(place, sample.url))
    bench.start(WELSH)
    return bench


def finish(bench: Bench) -> ResultSection:
    bench.ended(message="Done: it.")
    result = bench.finalize().result
    assert result
    return result


def withheld(bench: Bench) -> list[tuple[str, str]]:
    return [(one.path, one.rule) for one in bench.run.withheld]


def test_a_pointer_is_known_by_its_first_line_and_its_size() -> None:
    assert lfs.is_pointer(pointer(CONTENT))
    assert not lfs.is_pointer(pointer(CONTENT) + b"x" * 2000)
    assert not lfs.is_pointer(b"# " + pointer(CONTENT))


def test_what_was_fetched_over_a_pointer_is_no_change(bench: Bench) -> None:
    bench.write("model.bin", CONTENT)
    bench.write("fine.txt")
    finish(bench)
    branch = bench.record.worktree.branch  # type: ignore[union-attr]
    assert bench.sample.read("model.bin", branch) == pointer(CONTENT).decode()
    assert bench.sample.read("fine.txt", branch) == "something\n"
    assert withheld(bench) == []


def test_other_content_over_a_pointer_is_not_committed_as_an_ordinary_file(bench: Bench) -> None:
    bench.write("model.bin", CONTENT + b"more")
    bench.write("fine.txt")
    finish(bench)
    branch = bench.record.worktree.branch  # type: ignore[union-attr]
    assert bench.sample.read("model.bin", branch) == pointer(CONTENT).decode()
    assert withheld(bench) == [("model.bin", lfs.NOT_UPLOADED)]


def test_a_new_pointer_is_not_pushed_without_its_object(bench: Bench) -> None:
    bench.commit("new.bin", pointer(b"nowhere"))
    assert finish(bench).pushed is False
    assert withheld(bench) == [("new.bin", lfs.NOT_UPLOADED)]


def test_a_renamed_or_deleted_pointer_is_fine(bench: Bench) -> None:
    bench.git("mv", "model.bin", "renamed.bin")
    bench.git("commit", "--quiet", "-m", "Rename")
    assert finish(bench).pushed is True
    assert withheld(bench) == []
