"""Derivations: what is shown of a value, and that what is added up adds up."""

import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import shipped

import hwdsl
from hwdsl.base.source import Source, Span
from hwdsl.cli.main import main
from hwdsl.explain.derivation import place
from hwdsl.explain.explanation import Explanation

TEXT = """edition 2026

enum style { slow, quick }

kind chip {
    dies   : int   = 2
    die    : money = 1000 USD
    hbm    : money = 300 USD
    stacks : int   = 6
    yield  : real  = 95 %

    let cost = (dies * die + stacks * hbm) / yield
}

kind board {
    price : money = 500 USD
    chip chip

    let cost = chip.cost * chip.count + price
}

kind system {
    lifetime : time         = 4 year
    energy   : energy_price = 0.08 USD/kWh

    let boards = sum(b.cost * b.count for b in parts.board)
    let cost   = boards + 20_000 USD
    let rate   = cost / lifetime + 10 kW * energy
}

chip plain {
}

board big {
    chip chip[8] : plain
}

board small : big {
    chip.count = 4
}

system pod {
    board first[16] : big
    board second[2] : small
}

fn moved(size: data, rate: bandwidth) -> time {
    let fixed = 5 us
    fixed + size / rate
}

evaluator questions {
    param  n    : int       = 16       in 1 .. 64
    param  rate : bandwidth = 100 GB/s in 1 GB/s .. 1 TB/s
    choice way  : style     in [slow, quick] = quick

    let machine = pod with {
        first.count = n
    }
    let wait  = moved(40 MB, rate)
    let work  = match way {
        slow  => 2 ms
        quick => 1 ms + wait
    }
    let best  = lowest(k * 1 ms + 6 ms / k for k in 1 .. 6)
    let waits = [wait, 2 * work]
    let queue = iterate k in 1 .. n {
        state t : time = wait
        next t = t / 2 + 1 us
    }

    output cost   in USD   = machine.cost
    output rent   in USD/h = machine.rate
    output total  in ms    = max(work, 10 us) + 3 * best.value - wait / 2
    output each   in ms    = waits
    output worst  in ms    = max(t for t in waits)
    output queued in us    = queue.t
    output speed           = 1 s / work
    output gain   in %     = 2 ms / work - 1
    output rounds          = 2 * best.k + 1
    output picked in ms    = waits[n - 1]
    output chosen          = way
}
"""


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> hwdsl.Evaluator:
    path = tmp_path_factory.mktemp("why") / "questions.hw"
    path.write_text(TEXT)
    return hwdsl.load(path, compiled=False).questions


def walk(step: Explanation) -> Iterator[Explanation]:
    yield step
    for below in [*(t.step for t in step.terms), *step.inputs]:
        yield from walk(below)


def named(step: Explanation, name: str) -> Explanation:
    return next(s for s in walk(step) if name in (s.name, s.name.rpartition(".")[2]))


OUTPUTS = ["cost", "rent", "total", "each.0", "each.1", "worst", "queued", "speed",
           "gain"]  # fmt: skip


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("given", [{}, {"n": 3, "rate": "7 GB/s", "way": "slow"}])
def test_terms_add_up_to_the_value_that_a_call_gives(
    questions: hwdsl.Evaluator, output: str, given: dict[str, object]
) -> None:
    top = questions.why(output, **given)
    assert top.unit is not None
    called = questions(**given).raw[output]  # `picked` is undefined, and `why` explains formulas
    assert top.unit.from_base(top.value) == pytest.approx(called, rel=1e-12)
    for step in walk(top):
        if step.terms:
            assert sum(t.value for t in step.terms) == pytest.approx(step.value, rel=1e-12)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_breakdown_adds_up_at_every_level(questions: hwdsl.Evaluator, output: str) -> None:
    rows = questions.why(output).breakdown(depth=9, least=0.0)
    for i, row in enumerate(rows):
        inside = []
        for below in rows[i + 1 :]:
            if below.level <= row.level:
                break
            if below.level == row.level + 1:
                inside.append(below.value)
        if inside:
            assert sum(inside) == pytest.approx(row.value, rel=1e-12)


def test_multiplicities_are_seen_on_the_way_down(questions: hwdsl.Evaluator) -> None:
    rows = questions.why("cost").breakdown(depth=9, least=0.0)
    found = [(r.level, r.times, r.name, round(r.value)) for r in rows]
    assert found == [
        (0, "", "cost", 573000),
        (1, "", "boards", 553000),
        (2, "16 ×", "first.cost", 520000),
        (3, "8 ×", "chip.cost", 512000),
        (4, "2/0.95 ×", "die", round(16 * 8 * 2000 / 0.95)),
        (4, "6/0.95 ×", "hbm", round(16 * 8 * 1800 / 0.95)),
        (3, "", "price", 8000),
        (2, "2 ×", "second.cost", 33000),
        (3, "4 ×", "chip.cost", 32000),
        (4, "2/0.95 ×", "die", round(2 * 4 * 2000 / 0.95)),
        (4, "6/0.95 ×", "hbm", round(2 * 4 * 1800 / 0.95)),
        (3, "", "price", 1000),
        (1, "", "20_000 USD", 20000),
    ]


def test_small_terms_are_one_row(questions: hwdsl.Evaluator) -> None:
    rows = questions.why("cost").breakdown(depth=1, least=0.97)
    assert [r.name for r in rows] == ["cost"]
    rows = questions.why("rent").breakdown(depth=3, least=0.05)
    assert [r.name for r in rows if r.level == 2] == ["boards", "20_000 USD"]
    assert [r.name for r in rows if r.level == 3] == ["first.cost", "second.cost"]


def test_a_price_over_time_is_split_as_the_price_is(questions: hwdsl.Evaluator) -> None:
    rows = questions.why("rent").breakdown(depth=2)
    assert [(r.level, r.name) for r in rows] == [
        (0, "rent"),
        (1, "cost / lifetime"),
        (2, "boards"),
        (2, "20_000 USD"),
        (1, "10 kW * energy"),
    ]


def test_what_was_not_taken_is_no_term(questions: hwdsl.Evaluator) -> None:
    quick, slow = questions.why("total"), questions.why("total", way="slow")
    assert "quick => 1 ms + wait" in named(quick, "work").formula
    assert [t.step.name for t in named(quick, "work").terms] == ["1 ms", "wait"]
    assert [t.step.name for t in named(slow, "work").terms] == ["2 ms"]
    assert [t.text for t in quick.terms] == ["", "3 ×", "-1/2 ×"]


def test_the_best_candidate_is_the_one_shown(questions: hwdsl.Evaluator) -> None:
    best = named(questions.why("total"), "best.value")
    assert best.value == pytest.approx(5e-3)
    assert best.formula == "k * 1 ms + 6 ms / k"
    assert named(questions.why("rounds"), "best.k").value == 2


def test_arguments_lead_to_what_was_given_for_them(questions: hwdsl.Evaluator) -> None:
    wait = named(questions.why("total"), "wait")
    assert wait.formula == "moved(40 MB, rate)"
    rate = named(wait, "rate")
    assert (rate.shown(), rate.role) == ("100 GB/s", "default")
    assert named(wait, "size").shown() == "40 MB"


def test_defaults_and_what_was_given_are_told_apart(questions: hwdsl.Evaluator) -> None:
    text = questions.why("cost", n=3).text(depth=9)
    assert next(x for x in text.splitlines() if "n = 3" in x or "count = 3" in x).count("given")
    text = questions.why("speed").text(depth=9)
    assert "way = quick" in text
    assert "default" in next(x for x in text.splitlines() if "way = quick" in x)


def test_constants_have_a_place_and_the_librarys_is_short(questions: hwdsl.Evaluator) -> None:
    library = Path(str(files("hwdsl.library")))
    for path in (library, library / "std" / ".."):
        span = Span(Source(str(path / "std" / "units.hw"), "a\nb"), 2, 3)
        assert place(span) == "std/units.hw:2"
    energy = named(questions.why("rent"), "energy")
    line = next(i for i, x in enumerate(TEXT.splitlines(), 1) if "energy   :" in x)
    assert energy.place.endswith(f"questions.hw:{line}")
    assert energy.shown() == "0.08 USD/kWh"


def test_the_formula_of_a_sum_over_parts_is_whole(questions: hwdsl.Evaluator) -> None:
    boards = named(questions.why("cost"), "boards")
    assert boards.formula == "sum(b.cost * b.count for b in parts.board)"


def test_terms_of_one_sum_share_a_unit(questions: hwdsl.Evaluator) -> None:
    lines = questions.why("total").text(depth=2, least=0).splitlines()
    terms = [x for x in lines[1:] if "%" in x]
    assert len(terms) == 3
    assert all(" ms " in x for x in terms)


def test_the_largest_term_comes_first(questions: hwdsl.Evaluator) -> None:
    lines = questions.why("cost").text(depth=3, least=0).splitlines()
    at = [next(i for i, x in enumerate(lines) if w in x) for w in ("first.cost", "second.cost")]
    assert at == sorted(at)
    assert "90.8 %" in lines[at[0]]


def test_depth_cuts_the_tree(questions: hwdsl.Evaluator) -> None:
    assert len(questions.why("cost").text(depth=1).splitlines()) == 2
    deep = questions.why("total").text(depth=9)
    assert "more below" not in deep
    assert deep.count("(see above)") >= 1


def test_an_enum_is_shown_by_its_case(questions: hwdsl.Evaluator) -> None:
    assert questions.why("chosen").shown() == "quick"


def test_why_without_an_output_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.hw").write_text(TEXT)
    assert main(["why", "questions.hw"]) == 2
    err = capsys.readouterr().err
    assert "cost" in err
    assert "each.1" in err


def test_what_is_asked_about_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "asked.hw"
    path.write_text("""edition 2026
kind part { price : money = unknown "no price" }
part free { }
evaluator ask {
    param base : money = 2 USD in 1 USD .. 9 USD
    let more = if known(free.price) then free.price else 3 USD
    output total in USD = base + more
}
""")
    found = hwdsl.load(path, compiled=False).ask.why("total")
    assert sum(t.value for t in found.terms) == found.value == 5.0
    assert not [s for s in walk(found) if s.name == "free.price"]


def test_of_the_first_known_only_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "first.hw"
    path.write_text(
        """edition 2026
kind memory { price : money = unknown "secret", fee : money = 3 USD }
memory cheap { price = 5 USD }
memory dear { fee = 4 USD }
evaluator e {
    choice m : memory in [cheap, dear] = cheap
    output cost in USD = first_known(m.price, m.fee)
}
"""
    )
    evaluator = hwdsl.load(path, compiled=False).e
    assert [s.name for s in walk(evaluator.why("cost"))] == ["cost", "cheap.price"]
    assert [s.name for s in walk(evaluator.why("cost", m="dear"))] == ["cost", "dear.fee"]


def test_a_number_is_no_part_of_a_ratio(questions: hwdsl.Evaluator) -> None:
    assert questions.why("gain").terms == ()
    assert len(questions.why("gain").breakdown()) == 1


def test_what_has_no_value_at_a_point_says_why(questions: hwdsl.Evaluator) -> None:
    assert questions.why("picked", n=2).terms
    assert not questions(n=9).feasible
    text = questions.why("picked", n=9).text()
    assert "there is no element 8: the list has 2" in text
    assert set(questions.derivations(n=9)) == {o.name for o in questions.spec.outputs}


def test_a_list_that_is_read_shows_its_elements(tmp_path: Path) -> None:
    path = tmp_path / "list.hw"
    path.write_text(
        "edition 2026\nevaluator e {\n  param a : data = 26 GB in 1 GB .. 100 GB\n"
        "  let sizes = [a, 2 * a]\n  output mid in GB = geomean(sizes)\n}\n"
    )
    top = hwdsl.load(path, compiled=False).e.why("mid")
    assert [s.name for s in top.inputs] == ["a", "2 * a"]


def test_terms_have_the_unit_of_their_whole(tmp_path: Path) -> None:
    path = tmp_path / "units.hw"
    path.write_text(
        "edition 2026\nevaluator e {\n  param n : int = 50 in 1 .. 100\n"
        "  let short = 100 ms * 1.5\n  let rest = 2 s * 2\n"
        "  output long in s = n * short + rest\n}\n"
    )
    text = hwdsl.load(path, compiled=False).e.why("long").text()
    assert "short = 50 × 0.15 s = 7.5 s" in text
    assert "rest = 4 s" in text


def test_a_single_line_is_shown_not_counted(questions: hwdsl.Evaluator) -> None:
    for output in questions.spec.outputs:
        for depth in (1, 2, 3):
            lines = questions.why(output.name).text(depth).splitlines()
            for at, line in enumerate(lines):
                if "… 1 more below" in line:  # what is hidden has more below it
                    deeper = questions.why(output.name).text(depth + 1).splitlines()
                    assert len(deeper) > len(lines), lines[at - 1]


def test_a_very_large_derivation_stops_somewhere(
    questions: hwdsl.Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {o.name: questions.why(o.name) for o in questions.spec.outputs}
    monkeypatch.setattr("hwdsl.explain.derivation.MOST_STEPS", 0)
    for name, found in whole.items():
        cut = questions.why(name)
        assert cut.value == pytest.approx(found.value, nan_ok=True)
        assert not cut.terms
        assert len(distinct(cut)) <= 2
    assert questions.why("cost").formula.endswith("(not followed further)")


SLOW = {"copa_gpu"}  # two minutes for the derivations of thousands of operators
FILES = [path for path in shipped.LIBRARY + shipped.EXAMPLES if path.stem not in SLOW]


@pytest.mark.parametrize("path", FILES, ids=shipped.name_of)
def test_every_output_of_the_library_is_followed_to_the_ground(path: Path) -> None:
    for evaluator in shipped.of(path).evaluators.values():
        needed = {
            p.name: p.scale.from_base(p.low) for p in evaluator.spec.params if p.default is None
        }
        result = evaluator(**needed).raw  # derivations are of the formulas, feasible or not
        for name, top in evaluator.derivations(**needed).items():
            if not top.label:
                assert top.unit is not None
                value = top.unit.from_base(top.value)
                assert value == result[name] or (math.isnan(value) and math.isnan(result[name]))
            for step in distinct(top):
                size = sum(abs(t.value) for t in step.terms)
                if step.terms and math.isfinite(size):
                    assert sum(t.value for t in step.terms) == pytest.approx(
                        step.value, abs=1e-9 * size
                    )


def test_the_terms_of_a_sum_in_a_product_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "starter.hw"
    assert main(["new", str(path)]) == 0
    top = hwdsl.load(path, compiled=False).decode.why("step_time")
    assert [row.name for row in top.breakdown()] == ["step_time", "weights", "kv_cache"]
    assert "    weights = 9.701 ms" in top.text()
    assert "    kv_cache = 5.97 ms" in top.text()


ALIKE = """
edition 2026
enum format { wide, narrow }

fn word(format: format) -> real {
    match format {
        wide   => 2
        narrow => 1
    }
}

kind model {
    format : format = wide
    let stream = if word(format) < 2 then format.wide else format
}

kind kernel {
    format : format
    let size = 3 * word(format)
}

model small

evaluator read {
    param count : real = 2 in 1 .. 9
    output all = count * kernel(format = small.stream).size
}
"""


def test_what_a_call_is_given_may_come_of_a_call_like_it(tmp_path: Path) -> None:
    path = tmp_path / "alike.hw"
    path.write_text(ALIKE)
    top = hwdsl.load(path, compiled=False).read.why("all")
    assert top.value == 12
    (stream,) = [step for step in distinct(top) if "if word(format) < 2" in step.formula]
    assert stream.label == "wide"


def distinct(top: Explanation) -> list[Explanation]:
    found: dict[int, Explanation] = {}
    todo = [top]
    while todo:
        step = todo.pop()
        if id(step) not in found:
            found[id(step)] = step
            todo += [*(t.step for t in step.terms), *step.inputs]
    return list(found.values())


CALLING = """edition 2026
evaluator inner {
    param x : real = 2 in 0 .. 9
    choice c : int in [1, 2] = 1
    let a = x * 3
    output z = a + (if c == 1 then 4 else x)
}
evaluator asking {
    param p : real = 1 in 0 .. 4
    let r = inner(x = p * 2, c = 2)
    output t = r.z + p
}
"""


def test_a_call_of_an_evaluator_is_opened_at_its_arguments(tmp_path: Path) -> None:
    path = tmp_path / "calling.hw"
    path.write_text(CALLING)
    top = hwdsl.load(path, compiled=False).asking.why("t", p=2)
    values = {step.name: step.value for step in distinct(top)}
    assert (top.value, values["z"], values["a"], values["x"]) == (18.0, 16.0, 12.0, 4.0)


RATES = """edition 2026
kind thing {
    mttf : time
    many : int
}
evaluator failing {
    param a : time = 80_000 h
    let long = 10_000_000 s * 29
    let all  = [thing(mttf = a, many = 3), thing(mttf = long, many = 2)]
    let rate = sum(p.many / p.mttf for p in all)
    output mtbf in h = 1 / rate
}
"""


def test_places_are_the_same_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inner").mkdir()
    path = tmp_path / "inner" / "ask.hw"
    path.write_text("edition 2026\nevaluator e {\n    param x : int = 1\n    output o = x + 1\n}\n")
    monkeypatch.chdir(path.parent)
    for named in ("ask.hw", "ask.hw", str(path), "../inner/ask.hw"):
        assert main(["why", named, "o"]) == 0
        assert capsys.readouterr().out.splitlines()[0].endswith("x + 1  ask.hw:4")
    monkeypatch.chdir(tmp_path)
    assert main(["why", "inner/ask.hw", "o"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("x + 1  inner/ask.hw:4")


def test_what_happens_seldom_is_a_rate_and_long_times_are_years(tmp_path: Path) -> None:
    path = tmp_path / "rates.hw"
    path.write_text(RATES)
    text = hwdsl.load(path, compiled=False).failing.why("mtbf").text()
    assert "rate = 6.233e-05 1/h" in text
    assert "mttf = 9.19 year" in text
    assert "mHz" not in text


def test_a_sum_that_nobody_asked_for_has_limits_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lone.hw"
    path.write_text(
        "edition 2026\nevaluator e {\n  param a : real = 2 in 0 .. 9\n  let b = a + 1\n"
        "  let c = b + a\n  output d = c + b\n}\n"
    )

    def rows(*words: str) -> int:
        assert main(["run", str(path), *words]) == 0
        return capsys.readouterr().out.partition("is the sum of")[2].count("\n")

    whole = rows()
    monkeypatch.setattr("hwdsl.cli.run_.UNASKED_STEPS", 1)
    assert 1 < rows() < whole <= rows("--tree", "d")
    monkeypatch.setattr("hwdsl.cli.run_.UNASKED_OPERATIONS", 2)
    assert rows() == 0
    assert rows("--tree", "d") >= whole
