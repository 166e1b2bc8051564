"""Trees of library modules in the cache: found again, never trusted when spoilt, never required."""

import pytest
from trees import shape

from hwdsl.base import store
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.syntax import parse_cache
from hwdsl.syntax.read import parse

TEXT = "edition 2026\n## A length.\nlet span = 3 mm * (1 + 2)\nfn twice(x: real) -> real = 2 * x\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "cache"))
    return store.folder() / store.PARSED.name


def read(text=TEXT):
    return parse_cache.parse_cached(Source("x.hw", text), Diagnostics())


def forbid(monkeypatch):
    def refuse(*_):
        raise AssertionError("parsed again")

    monkeypatch.setattr(parse_cache, "parse", refuse)


def test_the_second_time_nothing_is_parsed(folder, monkeypatch):
    first = read()
    assert [f.stat().st_mode & 0o777 for f in folder.iterdir()] == [0o600]
    forbid(monkeypatch)
    assert shape(read()) == shape(first)
    with pytest.raises(AssertionError, match="parsed again"):
        read(TEXT + "\n")


def spoil(file, how):
    data = file.read_bytes()
    if how == "cut":
        file.write_bytes(data[:-3])
    elif how == "changed":
        file.write_bytes(data.replace(b"span", b"spin"))
    elif how == "writable":
        file.chmod(0o666)
    else:
        store.put(store.PARSED, file.name, {"edition": 2026})


@pytest.mark.parametrize("how", ["cut", "changed", "writable", "other data"])
def test_what_is_not_sound_is_parsed_again(folder, monkeypatch, how):
    read()
    (file,) = folder.iterdir()
    spoil(file, how)
    assert shape(read()) == shape(parse(Source("x.hw", TEXT), Diagnostics()))
    forbid(monkeypatch)
    read()


def test_a_text_with_findings_is_not_kept(folder):
    diagnostics = Diagnostics()
    parse_cache.parse_cached(Source("x.hw", "edition 2026\nlet = 3\n"), diagnostics)
    assert diagnostics.failed
    assert not folder.exists()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "file"))
    assert len(read().items) == 2
