"""Rendering: carets under the right columns, colour only where wanted, stable machine formats."""

import io
import json
import subprocess
import sys

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.render import Palette, palette_for, printable, render_text
from hwdsl.base.source import Source, Span
from hwdsl.cli.jsons import render_json
from hwdsl.cli.sarif import render_sarif

TEXT = "edition 2026\nlet x = hbm.rate + hbm.size\nlet y = 1\n"


def sample() -> Diagnostics:
    source, diagnostics = Source("dir/pkg.hw", TEXT), Diagnostics()

    def span(text: str) -> Span:
        start = TEXT.index(text)
        return Span(source, start, start + len(text))

    diagnostics.error(
        "unit-mismatch",
        "cannot add a rate and a size",
        span("+"),
        others=[(span("hbm.rate"), "this is TB/s"), (span("hbm.size"), "this is GB")],
        help="divide the right side by a time",
    )
    diagnostics.warning("shadows-unit", "`y` is hidden", span("y"))
    return diagnostics


def test_text_has_carets_and_labels_in_their_columns() -> None:
    first, second = render_text(sample().items).split("\n\n")
    assert first.splitlines() == [
        "error[unit-mismatch]: cannot add a rate and a size",
        " --> dir/pkg.hw:2:18",
        "  |",
        "2 | let x = hbm.rate + hbm.size",
        "  |         -------- ^ -------- this is GB",
        "  |         |",
        "  |         this is TB/s",
        "  = help: divide the right side by a time",
    ]
    assert second.splitlines()[0] == "warning[shadows-unit]: `y` is hidden"
    assert second.splitlines()[4] == "  |     ^"


def test_places_on_several_lines_and_files() -> None:
    a, b = Source("a.hw", "one\ntwo\nthree\nfour\n"), Source("b.hw", "other\n")
    diagnostics = Diagnostics()
    diagnostics.error(
        "duplicate-name",
        "twice",
        Span(a, 14, 18),
        "again",
        others=[(Span(a, 0, 3), "first"), (Span(b, 0, 5), "here too")],
    )
    text = render_text(diagnostics.items)
    assert text.index("1 | one") < text.index("...") < text.index("4 | four")
    assert "::: b.hw:1:1" in text


def test_of_a_very_long_line_the_part_at_the_first_label_is_shown() -> None:
    line = "".join(f"<{i:04}>" for i in range(1_000))
    source, diagnostics = Source("a.hw", f"one\n{line}\n"), Diagnostics()
    for first, other in ((0, 3), (2_994, 5_994), (5_994, 2_994)):
        spans = [Span(source, 4 + at, 4 + at + 6) for at in (first, other)]
        diagnostics.error("x", "wrong", spans[0], "here", others=[(spans[1], "there")])
    blocks = render_text(diagnostics.items).split("\n\n")
    start, inside, end = (block.splitlines() for block in blocks)
    for rows, left, right in ((start, "<0000>", "…"), (inside, "…", "…"), (end, "…", "…")):
        text = rows[3].partition("| ")[2]
        assert (text.startswith(left), text.endswith(right)) == (True, True)
        assert len(text) < 250
        assert max(map(len, rows)) < 270
    column = inside[3].index("<0499>")
    assert inside[4].index("^^^^^^") == column
    assert end[3].index("<0499>") == column
    assert end[4].index("------") == column
    assert any(row.endswith(" there") for row in (*inside, *start))


def test_an_empty_place_at_the_end_of_the_text_is_shown() -> None:
    source, diagnostics = Source("a.hw", "let x ="), Diagnostics()
    diagnostics.error("syntax-error", "something is missing", Span(source, 7, 7))
    assert render_text(diagnostics.items).splitlines()[4] == "  |        ^"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\tc") == "a\\u{1b}[31mb    c"


def test_colour_only_on_a_terminal_without_no_color() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert palette_for(Terminal(), {}).enabled
    assert not palette_for(Terminal(), {"NO_COLOR": "1"}).enabled
    assert not palette_for(io.StringIO(), {}).enabled
    coloured = render_text(sample().items, Palette(True))
    assert "\x1b[1;31m" in coloured
    assert coloured.count("\x1b[0m") == coloured.count("\x1b[1")


def test_json_lines_give_positions_counted_from_one() -> None:
    first = json.loads(render_json(sample().items).splitlines()[0])
    assert first["name"] == "unit-mismatch"
    assert first["severity"] == "error"
    place = first["labels"][0]
    assert (place["file"], place["line"], place["column"]) == ("dir/pkg.hw", 2, 18)
    assert place["end_column"] == 19


def test_sarif_is_sorted_and_complete() -> None:
    found = sample().items
    log = json.loads(render_sarif(found, {"unit-mismatch": "summary"}, "9"))
    run = log["runs"][0]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert log["version"] == "2.1.0"
    assert rules == sorted(rules) == ["shadows-unit", "unit-mismatch"]
    result = run["results"][0]
    assert rules[result["ruleIndex"]] == result["ruleId"] == "unit-mismatch"
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 18, "endLine": 2, "endColumn": 19}
    assert len(result["relatedLocations"]) == 2
    assert render_sarif(found[::-1], {}, "9") == render_sarif(found, {}, "9")


def test_sarif_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import sys\nfrom hwdsl.base.diagnostics import Diagnostics\n"
        "from hwdsl.base.source import *\n"
        "from hwdsl.cli.sarif import render_sarif\n"
        "d, s = Diagnostics(), Source('a.hw', 'abc')\n"
        "for n in 'zeta', 'alpha', 'mid': d.error(n, n, Span(s, 0, 1))\n"
        "sys.stdout.write(render_sarif(d.items, {}, '1'))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "42")
    }
    assert len(texts) == 1
