"""`--format json`: every command's answer fits its schema, which is made from the shapes."""

from __future__ import annotations

import inspect
import json
import math
import os
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from attrs import fields
from hypothesis import given, settings
from hypothesis import strategies as st

import hwdsl
from hwdsl.base.units import Dim, Unit
from hwdsl.cli.answers import ANSWERS, Statistic, as_json
from hwdsl.cli.main import main
from hwdsl.codegen.runtime import Scale

ROOT = Path(__file__).parents[2]
WRITE = os.environ.get("HWDSL_WRITE_SCHEMAS") == "1"

MODEL = """edition 2026
use std.distributions: uniform

enum colour { red, green }
kind box {
    size  : length = 2 m
    price : money  = unknown "no public price"
    require known_price: price > 0 USD
}
box b { }

evaluator whole {
    param  width  : length = 2 m in 1 m .. 10 m
    param  rate   : data / time = 3 GB/s in 1 GB/s .. 8 GB/s ~ uniform(2 GB/s, 3 GB/s)
    param  count  : int    = 3   in 0 .. 8
    choice square : bool in [true, false]
    choice paint  : colour in [red, green]

    let height = if square then width else 2 * width
    let it = b
    let whole_area = count * width * height

    output area in m^2 = whole_area
    output time in ms = count * 1 MB / rate + 2 ms
    output turn in ms = 1 ms / (count - 1)
    output root = sqrt(count - 4)
    output least : colour = if count > 2 then paint else red
    output parts in m = [width, height]

    require small: whole_area <= 100 m^2
        else "{whole_area in m^2} is too much"
        help "make it smaller"
    warn odd: count > 2
}

table measured {
    of       = whole
    data     = "rows.csv"
    measured = time
    output   = time
}

claim it_is_so {
    source "a book" confidence high
    let p = whole(width = 3 m, count = 5)
    expect p.area == 45 m^2 within 1 %
    expect p.area >= 20 m^2
    expect p.time == 5 ms within 0.1 ms
}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.hw").write_text(MODEL)
    Path("bad.hw").write_text("edition 2026\nlet x = 1 m + 1 s\n")
    Path("rows.csv").write_text("width [m],count,time [ms]\n2,3,3\n4,2,2.5\n")


def schema(name: str) -> Any:
    return json.loads((files("hwdsl.cli.schemas") / f"{name}.json").read_text("utf-8"))


def checked(name: str, text: str) -> Any:
    """An answer held to its schema, and to the rules of JSON, which knows no NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    jsonschema.Draft202012Validator(schema(name)).validate(found)
    return found


CALLS = {
    "run": "run model.hw count=1 width=9 --tree all",
    "why": "why model.hw area width=3",
    "sensitivities": "why model.hw area --confidence all",
    "solve": "solve model.hw width for area=20 --draws 32",
    "optimize": "optimize model.hw maximize=area width=1..9",
    "sources": "explain --sources model.hw",
    "sample": "sample model.hw -n 500",
    "uncertainty": "uncertainty model.hw count=5 -n 64 --minimize time --against count=6",
    "validate": "validate model.hw",
    "verify": "verify model.hw",
    "doctor": "doctor",
    "explain": "explain die",
    "check": "check bad.hw",
    "failure": "run bad.hw",
    "needs": "check --needs model.hw:whole",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_fit_their_schemas(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*CALLS[name].split(), "--format", "json"])
    found = checked(name, capsys.readouterr().out)
    assert name in ("check", found.get("answer"))


def test_a_point_is_told_in_both_units(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["run", "model.hw", "count=1", "width=9", "paint=green", "--format", "json"]
    assert main(call) == 0
    masked = checked("run", capsys.readouterr().out)
    assert {o["value"] for o in masked["outputs"]} == {"NaN", None}  # `root` is NaN: infeasible
    assert main([*call, "--raw"]) == 0
    found = checked("run", capsys.readouterr().out)
    assert (masked["raw"], found["raw"]) == (False, True)
    result = hwdsl.load("model.hw").whole(count=1, width=9, paint="green").raw
    outputs = {o["name"]: o for o in found["outputs"]}
    assert outputs["time"]["value"] == result.time
    assert outputs["time"]["unit"] == "ms"
    assert outputs["time"]["base_value"] == pytest.approx(result.time / 1000)
    assert outputs["time"]["dimension"] == "time"
    assert (outputs["turn"]["value"], outputs["root"]["value"]) == ("Infinity", "NaN")
    assert (outputs["least"]["value"], outputs["least"]["base_value"]) == ("red", 0)
    assert outputs["parts.1"]["value"] == result["parts.1"]
    params = {p["name"]: p for p in found["params"]}
    assert params["rate"]["value"] == 3
    assert params["rate"]["base_value"] == 3e9
    assert (params["width"]["given"], params["rate"]["given"]) == (True, False)
    assert (params["paint"]["value"], params["square"]["value"]) == ("green", True)
    assert found["feasible"] is False
    assert {b["rule"]: b["severity"] for b in found["violations"]} == {
        "odd": "warn",
        "undefined": "require",
    }
    assert [u["rule"] for u in found["undecided"]] == ["box.known_price"]


def test_a_derivation_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    main(["why", "model.hw", "time", "--format", "json"])
    steps = checked("why", capsys.readouterr().out)["steps"]
    assert (steps[0]["name"], steps[0]["value"], steps[0]["unit"]) == ("time", 3, "ms")
    summed = [s for s in steps if s["terms"]]
    assert summed
    for step in summed:
        terms = [t["factor"] * steps[t["step"]]["base_value"] for t in step["terms"]]
        assert math.fsum(terms) == pytest.approx(step["base_value"])
    main(["why", "model.hw", "time", "--depth", "0", "--format", "json"])
    assert len(checked("why", capsys.readouterr().out)["steps"]) == 1


def test_explanations_have_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--format", "json"]) == 0
    found = checked("explain", capsys.readouterr().out)
    names = [row["name"] for row in found["sections"][0]["rows"]]
    assert "unit-mismatch" in names
    assert main(["explain", "unit-mismatch", "--format", "json"]) == 0
    found = checked("explain", capsys.readouterr().out)
    assert (found["what"], found["page"][:15]) == ("diagnostic", "# unit-mismatch")
    assert main(["explain", "die", "--format", "json"]) == 0
    found = checked("explain", capsys.readouterr().out)
    rows = {row["name"]: row for section in found["sections"] for row in section["rows"]}
    assert rows["process"]["type"]
    assert main(["explain", "nosuchname", "--format", "json"]) == 2
    assert checked("failure", capsys.readouterr().out)["code"] == 2


def test_errors_in_a_file_are_in_the_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "bad.hw", "--format", "json"]) == 1
    found = checked("failure", capsys.readouterr().out)
    assert found["diagnostics"][0]["name"] == "unit-mismatch"
    assert main(["sample", "model", "--format", "json"]) == 2
    found = checked("failure", capsys.readouterr().out)
    assert (found["code"], found["diagnostics"][0]["help"]) == (2, "did you mean `model.hw`?")


def test_a_claim_and_a_table_in_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "model.hw", "--format", "json"]) == 1
    ((first, order, missed),) = [
        c["expectations"] for c in checked("verify", capsys.readouterr().out)["claims"]
    ]
    assert (first["holds"], first["published"], first["computed"]) == (True, 45, 45)
    assert (order["published"], order["tolerance"]) == (None, None)
    assert (missed["as_expected"], missed["base_published"], missed["unit"]) == (False, 0.005, "ms")
    assert main(["validate", "model.hw", "--format", "json"]) == 0
    (table,) = checked("validate", capsys.readouterr().out)["tables"]
    assert [r["measured"] for r in table["rows"]] == [3, 2.5]
    assert [r["base_measured"] for r in table["rows"]] == [0.003, 0.0025]
    assert table["rows"][0]["error"] == 0
    assert table["all"]["rows"] == 2


@settings(max_examples=200, deadline=None)
@given(st.floats())
def test_every_float_comes_back(value: float) -> None:
    found = json.loads(as_json(Statistic(value, value)), parse_constant=pytest.fail)
    back = float(found["value"])
    assert back == value or (math.isnan(back) and math.isnan(value))


@settings(max_examples=200, deadline=None)
@given(
    st.floats(allow_nan=False),
    st.sampled_from(["1", "1/1000", "3600", "1/8", "1/3", f"1602176634/{10**28}"]),
    st.sampled_from(["0", "5463/20"]),
)
def test_commands_and_python_show_a_value_to_the_same_bit(
    base: float, factor: str, offset: str
) -> None:
    unit = Unit("u", Dim.base("x"), Fraction(factor), Fraction(offset))
    shown = (unit.from_base(base), Scale("u", factor, offset).from_base(base))
    assert repr(shown[0]) == repr(shown[1])


# --- schemas and their page ----------------------------------------------------------------------


def made(name: str) -> str:
    """The schema of an answer, from its class: every field is always there, and no other."""
    found = msgspec.json.schema(ANSWERS[name])
    for each in found["$defs"].values():
        each["required"] = list(each["properties"])
        each["additionalProperties"] = False
        each["description"] = inspect.cleandoc(each["description"])
        for value in each["properties"].values():
            value.pop("default", None)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"hwdsl {name}"}
    return json.dumps({**head, **found}, indent=1, ensure_ascii=False) + "\n"


def shapes() -> list[type]:
    """All classes of answers, those that a shape uses behind it."""
    found: dict[str, type] = {}

    def add(shape: type) -> None:
        if shape.__name__ not in found:
            found[shape.__name__] = shape
            used = msgspec.json.schema(shape)["$defs"]
            for name in used:
                add(getattr(hwdsl.cli.answers, name))

    for shape in ANSWERS.values():
        add(shape)
    return list(found.values())


def listing() -> Iterator[str]:
    for shape in shapes():
        schema_of = next((n for n, each in ANSWERS.items() if each is shape), "")
        yield f"### {shape.__name__}"
        yield "\n".join(textwrap.wrap(" ".join((shape.__doc__ or "").split()), 100))
        if schema_of:
            yield f"Schema: `hwdsl/cli/schemas/{schema_of}.json`."
        rows = [f"| `{f.name}` | {_type(str(f.type))} |" for f in fields(shape)]
        yield "\n".join(["| field | holds |", "| --- | --- |", *rows])


def _type(text: str) -> str:
    """An annotation in words."""
    for a, b in (("Sequence[", "list of "), ("Mapping[str, ", "object of "), ("]", "")):
        text = text.replace(a, b)
    if "Literal[" in text:
        head, _, cases = text.partition("Literal[")
        text = head + ", ".join(f"`{case}`" for case in cases.split(", "))
    return text.replace(" | None", " or null").replace(" | ", ", ").replace('"', "")


@pytest.mark.parametrize("name", ANSWERS)
def test_schemas_are_made_from_the_shapes(name: str) -> None:
    """After a change of the shapes: HWDSL_WRITE_SCHEMAS=1 pytest tests/product/test_json.py."""
    if WRITE:
        (ROOT / "hwdsl" / "cli" / "schemas" / f"{name}.json").write_text(made(name), "utf-8")
    assert schema(name) == json.loads(made(name))


def test_the_page_lists_the_shapes() -> None:
    page = ROOT / "docs" / "json.md"
    head, mark, _ = page.read_text("utf-8").partition("## Shapes\n")
    whole = head + mark + "\n" + "\n\n".join(listing()) + "\n"
    if WRITE:
        page.write_text(whole, "utf-8")
    assert page.read_text("utf-8") == whole
