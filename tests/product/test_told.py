"""Messages of a realistic file: each thing once, by the names and in the units its author used."""

import json
from pathlib import Path

import pytest

import hwdsl
from hwdsl.cli.main import main

HEAD = """edition 2026
use std.die: die
use std.package: package
use std.memory: memory
use vendor.processes: N5
use vendor.substrates: CoWoS_S
use vendor.memories: HBM3E

"""
PARTS = """package first {
    substrate = CoWoS_S
    test_time = 600 s
    die gpu[2]    : big
    memory hbm[2] : HBM3E
}

package second : first {
    memory hbm[4] : HBM3E
}

package third : first {
    gpu.width = 41 mm
}

die big {
    process   = N5
    width     = 40 mm
    area      = 1000 mm^2
    test_time = 60 s
}
"""


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(text: str, *words: str) -> str:
        path = tmp_path / "mine.hw"
        path.write_text(text)
        main(["check", str(path), *words])
        return capsys.readouterr().out

    return run


def test_a_part_in_two_places_is_told_of_once_by_its_own_name(check) -> None:
    out = check(HEAD + PARTS)
    assert out.count("error[die.reticle]: big is 40 mm") == 1
    assert "big, which is also `first.gpu`, `second.gpu`\n" in out
    assert "gpu is 40 mm" not in out


def test_a_part_that_was_amended_is_told_of_by_itself(check) -> None:
    out = check(HEAD + PARTS)
    assert out.count("error[die.reticle]") == 2
    assert "error[die.reticle]: gpu is 41 mm" in out
    assert "third.gpu\n" in out


def test_what_differs_by_the_place_is_told_of_each(check) -> None:
    out = check(
        "edition 2026\n"
        "kind box {\n    room : real\n    thing inside\n}\n"
        "kind thing {\n    size : real = 4\n"
        '    require fits: size <= outer_room()\n        else "{name} of {size} is too large"\n'
        "    fn outer_room() -> real = 3\n}\n"
        "thing small {\n    size = 5\n}\n"
        "box a {\n    room = 1\n    thing inside : small\n}\n"
        "box b {\n    room = 1\n    thing inside : small { size = 6 }\n}\n"
    )
    assert out.count("error[thing.fits]") == 2
    assert "small of 5 is too large" in out
    assert "inside of 6 is too large" in out


def test_rules_that_nobody_can_decide_are_counted_once_and_shortly(
    check, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEAD + PARTS.replace("40 mm", "20 mm").replace("41 mm", "21 mm").replace("1000", "500")
    # What no output reads would be told of, too.
    text += "evaluator cost {\n    param a : real = 1\n    let it = second\n"
    text += "    output b = a * (first.test_time + third.test_time + big.test_time)\n}\n"
    for package in ("first", "second", "third"):
        text += f'allow {package}.dies_joined "what joins them is not asked here"\n'
    summary = check(text).splitlines()[-1]
    count = int(summary.split("; ")[1].split()[0])
    assert summary.endswith(f"; {count} rules undecided (--undecided)")
    listed = check(text, "--undecided").partition("\n\n1 file, ")[0]
    groups = [group.splitlines() for group in listed.split("\n\n")]
    waiting = [int(head.split()[0]) for head, *_ in groups]
    assert waiting == sorted(waiting, reverse=True)
    assert waiting == [len(rows) for _, *rows in groups]
    assert sum(waiting) == count
    assert 'wait for `tdp`, unknown "state the TDP of the die"  ' in listed
    # A part of the library is told of where it stands: the process of the interposer.
    elsewhere = [row for _, *rows in groups for row in rows if str(tmp_path) not in row]
    assert {tuple(row.split()[:2]) for row in elsewhere} <= {
        ("process.mask_set_cost", "interposer_65")
    }
    assert check(text, "--format", "json") == ""
    lines = check(text, "--format", "json", "--undecided").splitlines()
    notes = [json.loads(line) for line in lines]
    assert [note["severity"] for note in notes] == ["note"] * count
    assert all(note["missing"] for note in notes)
    main(["run", str(tmp_path / "mine.hw")])
    out = capsys.readouterr().out
    assert out.count("rules undecided") == 1
    assert " rules undecided (hwdsl check --undecided)" in out


@pytest.mark.parametrize(("pick", "count"), [("known", 0), ("other", 1)])
def test_run_counts_the_rules_that_are_undecided_at_the_point(
    pick: str, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pick.hw").write_text("""edition 2026
kind slab { cost : real = unknown "ask", area : real }
slab known { area = 1, cost = 2 }
slab other { area = 5 }
evaluator e {
    choice p : slab in [known, other]
    output c = p.area
    require cheap : p.cost < 3
}
""")
    call = ["run", str(tmp_path / "pick.hw"), f"p={pick}"]
    for _ in ("cold", "warm"):
        assert main(call) == 0
        assert capsys.readouterr().out.count("; 1 rule undecided") == count
        assert main([*call, "--format", "json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["undecided"]) == count
    assert hwdsl.load(tmp_path / "pick.hw").e.undecided == (
        ("e.cheap", "not decided: `other.cost` is not known: ask"),
    )


FIELDS = """edition 2026
kind chip {
    bandwidth : real = 1
    memory    : real = 2
    volts     : real = 3
    let twice = 2 * memory
}
chip mine {
    %s = 3
}
let read = mine.%s
"""


@pytest.mark.parametrize(
    ("written", "read", "help"),
    [
        ("memori", "volts", "did you mean `memory`? there are also `bandwidth`, `volts`, `count`"),
        ("colour", "volts", "there are `bandwidth`, `memory`, `volts`, `count`"),
        ("volts", "twise", "did you mean `twice`? there are also `bandwidth`, `memory`, `volts`, "
                           "`name`, `count`, `parts`, `feasible`"),
        ("volts", "zz", "there are `bandwidth`, `memory`, `volts`, `twice`, `name`"),
    ],
)  # fmt: skip
def test_an_unknown_field_names_those_there_are(check, written: str, read: str, help: str) -> None:
    out = check(FIELDS % (written, read))
    assert "error[unknown-field]" in out
    assert f"= help: {help}" in out


def test_terms_that_are_written_alike_say_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "sum.hw"
    path.write_text(
        "edition 2026\nenum sort { wide, tall }\n"
        "kind step {\n    sort : sort = wide\n    size : data = 1 GB\n    other : real = 1\n}\n"
        "fn time_of(s: step, rate: bandwidth) -> time = s.size / rate\n"
        "evaluator total {\n    param rate : bandwidth = 1 GB/s\n"
        "    let steps = [step(size = 2 GB), step(sort = tall), step(size = 3 GB), step()]\n"
        "    output time in s = sum(80 * time_of(s, rate) for s in steps)\n"
        "    output plain in s = sum(k * 1 s for k in 1 .. 3)\n}\n"
    )
    total = hwdsl.load(path, compiled=False).total
    lines = [line.strip() for line in total.why("time").text().splitlines()]
    starts = [line.partition(" = 80 ×")[0] for line in lines if " = 80 ×" in line]
    assert starts == [
        "time_of(s, rate) [sort = wide, size = 3 GB]",
        "time_of(s, rate) [sort = wide, size = 2 GB]",
        "time_of(s, rate) [sort = tall, size = 1 GB]",
        "time_of(s, rate) [sort = wide, size = 1 GB]",
    ]


def test_money_for_time_has_the_unit_that_the_file_writes(tmp_path: Path) -> None:
    path = tmp_path / "rent.hw"
    path.write_text(
        "edition 2026\nevaluator rent {\n    param price : money = 30 kUSD\n"
        "    param share : real = 1e-9\n    let depreciation = price / 4 year\n"
        "    let little = depreciation * share\n"
        "    output hour in USD/h = 2 * depreciation + little\n}\n"
    )
    text = hwdsl.load(path, compiled=False).rent.why("hour").text()
    assert "depreciation = 2 × 0.8556 USD/h = 1.711 USD/h" in text
    assert "mUSD/s" not in text
