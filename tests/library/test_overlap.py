"""Laws of work that runs side by side."""

import random
from pathlib import Path

import pytest

import hwdsl
from hwdsl.cli.main import main
from hwdsl.diagnostics import Diagnostics
from hwdsl.elaborate import check_rules
from hwdsl.evaluator import Evaluator, Module
from hwdsl.semantics import check, load

TEXT = """edition 2026
use std.overlap

let guess = guessed

evaluator both {
    param work     : time      = 10 ms    in 1 us .. 10 s
    param size     : data      = 400 MB   in 1 kB .. 1 TB
    param rate     : bandwidth = 50 GB/s  in 1 GB/s .. 10 TB/s
    param memory   : bandwidth = 5 TB/s   in 10 GB/s .. 100 TB/s
    param busy     : real      = 0.3      in 0 .. 1
    param units    : real      = 1        in 0 .. 1
    param sends    : real      = 0.1      in 0 .. 1
    param friction : real      = 0        in 0 .. 1
    param engine   : real      = 1        in 1 .. 10
    param room     : real      = 1        in 0 .. 1
    param share    : int       = 8        in 1 .. 63
    choice how : strategy in [
        serial, concurrent, prioritised, partitioned, offloaded, fused, prefetched
    ] = concurrent

    let both = pair(
        compute = demand(alone = work, units = units, memory = busy),
        transfer = demand(
            alone = size / rate, units = sends, memory = min(1, 2 * rate / memory), link = 1
        ),
        losing = guess with { friction = friction, engine = engine },
        room = room,
    )
    let slow  = sharing(both.compute, both.transfer, 1, both.losing)
    let still = both.compute with { units = 0 }
    let moved = both.transfer with { units = 0 }

    output serial     in ms = both.serial
    output ideal      in ms = both.ideal
    output time       in ms = both.time_by(how)
    output exposed    in ms = both.exposed(how)
    output efficiency       = both.efficiency(how)
    output best       in ms = both.partitioned_time
    output split      in ms = both.split_time(share / 64)
    output offloaded  in ms = both.offloaded_time
    output two        in ms = two_phases(work, slow, size / rate, slow)
    output many       in ms = fluid([still, moved], both.losing)
    output more       in ms = fluid([still, moved, moved], both.losing)

    allow both.measured "laws hold for any coefficients"
}
"""
STRATEGIES = [
    "serial",
    "concurrent",
    "prioritised",
    "partitioned",
    "offloaded",
    "fused",
    "prefetched",
]
Point = dict[str, float]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    path = tmp_path_factory.mktemp("overlap") / "both.hw"
    path.write_text(TEXT, encoding="utf-8")
    return hwdsl.load(path)


@pytest.fixture(scope="module")
def both(module: Module) -> Evaluator:
    return module.both


def points(count: int, seed: int) -> list[Point]:
    draw = random.Random(seed)
    return [
        {
            "work": 10 ** draw.uniform(-1, 2),
            "size": 10 ** draw.uniform(0, 4),
            "rate": 10 ** draw.uniform(1, 3),
            "memory": 10 ** draw.uniform(-0.5, 1),
            "busy": draw.random(),
            "units": draw.random(),
            "sends": draw.random(),
            "friction": draw.choice([0, draw.random()]),
            "engine": 1 + draw.random(),
            "room": draw.random(),
            "share": draw.randint(1, 63),
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("how", STRATEGIES)
def test_what_is_realised_lies_between_ideal_and_serial(both: Evaluator, how: str) -> None:
    for point in points(200, 1):
        answer = both(how=how, **point)
        assert answer.ideal * (1 - 1e-12) <= answer.time <= answer.serial * (1 + 1e-12), point
        assert -1e-9 <= answer.efficiency <= 1 + 1e-9, point
        assert answer.exposed == pytest.approx(answer.time - point["work"], abs=1e-9)


def test_the_best_split_is_no_worse_than_any(both: Evaluator) -> None:
    for point in points(300, 2):
        answer = both(**point)
        assert answer.best <= answer.split, point


@pytest.mark.parametrize("how", STRATEGIES)
def test_quicker_links_are_never_slower(both: Evaluator, how: str) -> None:
    for point in points(200, 3):
        point["friction"] = 0
        quick = point | {"rate": 1.5 * point["rate"]}
        before, after = both(how=how, **point), both(how=how, **quick)
        if 2 * quick["rate"] <= 1000 * point["memory"]:
            assert after.time <= before.time * (1 + 1e-12), point


def test_copy_engines_take_no_units(both: Evaluator) -> None:
    for point in points(200, 4):
        other = both(**point | {"sends": 1 - point["sends"], "units": 1})
        assert both(**point).offloaded == other.offloaded, point


def test_two_streams_of_a_fluid_are_two_phases(both: Evaluator) -> None:
    for point in points(200, 5):
        answer = both(**point)
        assert answer.many == pytest.approx(answer.two, rel=1e-9), point
        assert answer.more >= answer.many * (1 - 1e-12), point


def test_a_guess_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "guess.hw"
    path.write_text(
        "edition 2026\nuse std.overlap\n"
        "pair p {\n compute = demand(alone = 1 ms)\n transfer = demand(alone = 1 ms)\n}\n",
        encoding="utf-8",
    )
    found = Diagnostics()
    check_rules(check(load(path, found), found), found)
    assert [d.severity.value for d in found.items] == ["warning"]
    assert "not measured" in found.items[0].message


@pytest.mark.parametrize(
    ("study", "name", "rule"),
    [
        ("conccl", "means", "pair.measured"),
        ("conccl", "scenario", "pair.measured"),
        ("fsdp", "fsdp_training", "step.contention"),
        ("language_training", "dense_training", "step.contention"),
        ("language_training", "mixture_training", "step.contention"),
        ("language_training", "latent_training", "step.contention"),
        ("maxtext", "tpu_training", "step.contention"),
    ],
)
def test_a_study_says_that_contention_is_not_measured(
    study: str, name: str, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(__file__).parents[2] / "library" / "studies" / f"{study}.hw"
    assert main(["run", f"{path}:{name}"]) == 0
    said = capsys.readouterr()
    assert rule in said.out + said.err
    assert "not measured" in said.out + said.err
