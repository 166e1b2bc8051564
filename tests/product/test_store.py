"""The store: kinds and their keys, values to the bit, and nothing that only looks like one."""

from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import pytest
from attrs import fields, frozen
from hypothesis import given
from hypothesis import strategies as st

from hwdsl.base import fingerprint, store
from hwdsl.base.structuring import Unfit, packed, unpacked
from hwdsl.base.units import Dim, Unit
from hwdsl.codegen.runtime import ParamSpec, Scale

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", store.KINDS, ids=lambda kind: kind.name)
def test_each_ingredient_of_a_kind_changes_its_key(kind: store.EntryKind) -> None:
    parts: dict[str, store.Ingredient] = dict.fromkeys(kind.ingredients, "text")
    others: list[store.Ingredient] = ["other", ["text"], ["te", "xt"], {"0": "text"}, [], b"texts"]
    keys = {kind.key(parts)}
    for name in kind.ingredients:
        keys.update(kind.key({**parts, name: other}) for other in others)
        with pytest.raises(AssertionError):
            kind.key({each: text for each, text in parts.items() if each != name})
    with pytest.raises(AssertionError):
        kind.key({**parts, "date": "today"})
    # A list is told from a mapping of the same parts by the kind alone: each says which it takes.
    assert len(keys) == 1 + (len(others) - 1) * len(kind.ingredients)
    assert all(kind.key(parts) != other.key(dict.fromkeys(other.ingredients, "text"))
               for other in store.KINDS if other is not kind)  # fmt: skip


INGREDIENTS = st.recursive(
    st.text("ab:0\n", max_size=4), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)


@given(INGREDIENTS, INGREDIENTS)
def test_two_lists_of_texts_have_one_key_only_if_they_are_equal(
    one: store.Ingredient, two: store.Ingredient
) -> None:
    assert (store.key({"a": one}) == store.key({"a": two})) is (one == two)


def test_the_internals_list_the_kinds() -> None:
    page = (ROOT / "docs" / "internals_codegen.md").read_text("utf-8")
    rows = [f"| `{k.name}` | {k.holds} | {', '.join(k.ingredients)} |" for k in store.KINDS]
    assert "\n".join(rows) in page


@given(st.floats(), st.fractions(), st.text(), st.floats())
def test_values_come_back_to_the_bit(low: float, factor: Fraction, doc: str, high: float) -> None:
    param = ParamSpec("p", scale=Scale(doc, dims={doc: high}), low=low, high=high, doc=doc)
    unit = Unit(doc, Dim.of({doc: factor}), factor)
    try:
        data = packed((param, unit))
    except Unfit:
        assert any("\ud800" <= c <= "\udfff" for c in doc)
        return
    found = unpacked(data, tuple[ParamSpec, Unit])
    assert repr(found) == repr((param, unit))


@frozen
class _Value:
    number: int
    by_name: Mapping[str, Fraction] = {}


@pytest.mark.parametrize(
    "other",
    [None, 1, [], {}, {"number": "1"}, {"number": 1.5}, {"number": 1, "by_name": {"a": "1/0"}},
     {"number": 1, "by_name": {"a": "b"}}, {"number": 1, "by_name": {"a": 3}}],
)  # fmt: skip
def test_what_does_not_fit_a_class_is_no_value(other: object, tmp_path: Path) -> None:
    with pytest.raises(Unfit):
        unpacked(packed(other), _Value)
    store.put(store.PARSED, "0" * 64, other, tmp_path)
    assert store.get(store.PARSED, "0" * 64, _Value, tmp_path) is None
    store.put(store.PARSED, "0" * 64, _Value(1), tmp_path)
    assert store.get(store.PARSED, "0" * 64, _Value, tmp_path) == _Value(1)


def test_what_has_no_bytes_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(store.CacheError, match="cannot be kept"):
        store.put(store.PARSED, "0" * 64, 1 << 70, tmp_path)
    with pytest.raises(TypeError, match="a module cannot be kept"):
        store.put(store.PARSED, "0" * 64, fingerprint, tmp_path)


@given(st.binary(max_size=40))
def test_no_bytes_make_anything_but_a_value(data: bytes) -> None:
    try:
        found = unpacked(data, _Value)
    except Unfit:
        return
    assert all(hasattr(found, field.name) for field in fields(_Value))


def test_every_file_of_the_library_and_of_the_compiler_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages in one another, as they are installed, count once; what Python keeps does not."""
    for name in ("top/__init__.py", "top/inner/__init__.py", "top/inner/rules.toml", "top/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"# {name}")
    monkeypatch.syspath_prepend(tmp_path)
    whole = fingerprint.code("top")
    assert fingerprint.code("top", "top.inner") == whole
    (tmp_path / "top" / "__pycache__").mkdir(exist_ok=True)
    (tmp_path / "top" / "__pycache__" / "a.pyc").write_text("")
    fingerprint.code.cache_clear()
    fingerprint._content.cache_clear()
    assert fingerprint.code("top") == whole
    (tmp_path / "top" / "inner" / "rules.toml").write_text("")
    fingerprint.code.cache_clear()
    fingerprint._content.cache_clear()
    assert fingerprint.code("top") != whole
    fingerprint.code.cache_clear()
    fingerprint._content.cache_clear()


@pytest.mark.parametrize("package", ["Cython", "lark", "numpy"])
def test_a_release_is_told_by_a_file_that_holds_its_version(package: str) -> None:
    assert len(fingerprint.release(package)) == 64
    text = (fingerprint.package_folder(package) / fingerprint._VERSION[package]).read_text("utf-8")
    assert version(package) in text


def test_what_the_compiler_stands_on_is_in_its_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = fingerprint.release, {fingerprint.compiler()}
    for package in ("lark", "numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(fingerprint, "release", lambda p, o=package: "2" if p == o else real(p))
            seen.add(fingerprint.compiler())
    assert len(seen) == 3
