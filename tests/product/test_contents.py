"""`hwdsl explain` says what the library and the language hold, and finds terms near a name."""

import re
from pathlib import Path

import pytest

from hwdsl.api import driver
from hwdsl.base.diagnostics import Diagnostics
from hwdsl.base.source import Source
from hwdsl.cli.explain_ import OF_THE_LIBRARY
from hwdsl.cli.main import main
from hwdsl.help import rule_docs
from hwdsl.help.explain import Page, explain, names, near, render
from hwdsl.help.library_index import FOLDERS, definitions, modules
from hwdsl.help.words import words
from hwdsl.semantics.builtins import declarations
from hwdsl.syntax import ast, parse
from hwdsl.syntax.grammar import keywords

KINDS = [
    (name, one.item)
    for name, found in definitions().items()
    for one in found[:1]
    if isinstance(one.item, ast.Kind) and one.module.startswith("std.")
]


def page(name: str) -> Page:
    found = explain(name)
    assert found is not None
    return found


def rows(of: Page) -> dict[str, str]:
    """What the rows of a page say, by the name they start with; rules by `rule NAME`."""
    listed = {}
    for row in (row for section in of.sections for row in section.rows):
        name = re.split(r"[ (\[]", row.name)[0]
        name = f"rule {name}" if row.role in ("require", "warn") else name
        listed[name] = f"{row.head} {row.said}"
    return listed


def test_there_are_pages() -> None:
    assert {"std", "vendor", "std.die", "vendor.nvidia", "die"} <= set(names())
    assert "vendor.nvidia" in rows(page("vendor"))


@pytest.mark.parametrize("module", modules())
def test_a_module_lists_what_it_declares(module: str) -> None:
    listed = rows(page(module))
    for item in modules()[module].items:
        if isinstance(item, ast.Part | ast.Kind | ast.Fn | ast.Enum | ast.Evaluator):
            assert item.name.name in listed


@pytest.mark.parametrize(("name", "kind"), KINDS, ids=[name for name, _ in KINDS])
def test_a_kind_tells_all_its_members_with_types(name: str, kind: ast.Kind) -> None:
    """Fields, parts, derived values and functions have types, rules what they say."""
    listed = rows(page(name))
    for member in kind.members:
        if isinstance(member, ast.Field | ast.Let | ast.Part):
            assert " : " in listed[member.name.name]
        elif isinstance(member, ast.Fn):
            assert "->" in listed[member.name.name]
        elif isinstance(member, ast.Rule):
            assert len(listed[f"rule {member.name.name}"]) > len(member.name.name) + 1
        elif isinstance(member, ast.Assign):
            assert listed[".".join(p.name for p in member.path)].endswith("]")


@pytest.mark.parametrize(("name", "kind"), KINDS, ids=[name for name, _ in KINDS])
def test_a_member_has_a_page(name: str, kind: ast.Kind) -> None:
    for member in kind.members:
        if isinstance(member, ast.Field | ast.Let | ast.Part | ast.Fn):
            assert member.span.text.split()[0] in page(f"{name}.{member.name.name}").text


@pytest.mark.parametrize("name", ["accelerator", "die", "node", "package", "topology", "B200"])
def test_std_comes_first_then_vendor(name: str) -> None:
    found = definitions()[name]
    order = [FOLDERS.index(one.module.partition(".")[0]) for one in found]
    assert order == sorted(order)
    assert len(order) > 1
    text = render(page(name))
    assert text.startswith(f"# {found[0].word} {name}: `{found[0].module}`")
    assert f"`{found[1].path}`" in text.rpartition("\n\n")[2]
    assert page(found[1].path).place.startswith(f"`{found[1].module}`")


def test_what_is_set_for_a_base_and_must_be_given_to_it() -> None:
    of = page("rail_optimized")
    sections = {s.title: [row.name for row in s.rows] for s in of.sections}
    assert {"rails", "endpoints"} <= set(sections["Sets, of its bases"])
    assert "nodes" in sections["Must be given"]
    assert not {"endpoints", "diameter"} & set(sections["Must be given"])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("training_step.exposed_communication", "time (s)"),
        ("inference_server.cost_per_token", "accelerator_hour_cost: cost_rate"),
        ("llm_training_step.throughput", "`llm_training_step` has it from `training_step`"),
        ("accelerator.tdp", "power (W)"),
        ("B200.tdp", "1000 W"),
        ("std.node.accelerator.mttf", "time (s)"),
        ("peers.epoch.B200", "peers.epoch"),
        ("GB", "1,000,000,000 B"),
        ("TB/s", "1,000,000,000,000 B/s"),
        ("%", "0.01"),
        ("lowest", "Where the value is least"),
        ("step()", "the last point not above x"),
        ("step", "A function of the language"),
        ("unit", "a word of the language"),
        ("bandwidth", "`GB/s`"),
        ("h100_sxm_80gb", "accelerator H100_SXM_80GB"),
        ("real", "without dimension"),
    ],
)
def test_members_units_and_functions(name: str, says: str) -> None:
    assert says in " ".join(render(page(name)).split())


@pytest.mark.parametrize(
    ("term", "among"),
    [
        ("exposed offload", "training_step.exposed_offload"),
        ("rating", "power_supply.rating"),
        ("Llama", "Llama3_70B"),
        ("throughput", "training_step.throughput"),
        ("stitched", "die.stitched_fields"),
        ("cost of a token", "inference_server.cost_per_token"),
    ],
)
def test_near_terms(term: str, among: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(term) is None
    assert main(["explain", *term.split()]) == 0
    assert f"  {among}" in capsys.readouterr().out


def test_a_term_names_products_that_begin_so() -> None:
    assert "`HBM3E`" in render(page("HBM"))
    text = render(page("H100"))  # one of a model
    assert text.index("`H100_SXM_80GB` (accelerator)") < text.index("`use peers.epoch: H100`")


@pytest.mark.parametrize("word", sorted({*keywords(), *words()}))
def test_every_word_of_the_language_has_a_page_whose_text_is_right(word: str) -> None:
    text = page(word).text if word in keywords() or word not in definitions() else ""
    if text:
        diagnostics = Diagnostics()
        parse(Source("t.hw", f"edition 2026\n{text}\n"), diagnostics)
        assert not diagnostics.items
        assert word in text or word in ("#", "##")


@pytest.mark.parametrize("name", sorted(declarations()))
def test_every_function_of_the_language_says_what_it_is(name: str) -> None:
    text = " ".join(render(page(f"{name}()")).split())
    assert declarations()[name].doc in text
    assert declarations()[name].signature in text
    assert "std.builtins" in render(page(name)) or name in words()
    assert "extern" not in render(page(f"{name}()"))  # which users cannot write


@pytest.mark.parametrize(
    ("name", "head", "others"),
    [
        ("distributions", "module std.distributions", ()),
        ("collectives", "module std.collectives", ("`studies.collectives` (module)",)),
        (
            "training",
            "module std.training",
            ("`peers.epoch.training` (evaluator)", "`studies.crossbow.training` (evaluator)"),
        ),
        ("std.chance", "module std.distributions", ()),
        ("models", "folder peers", ("`studies.lite_gpu.models` (let)",)),
        ("models.catch", "module peers.catch", ()),
        ("die", "kind die", None),
        ("fsdp", "term fully sharded data parallelism", None),
    ],
)
def test_a_module_is_found_without_its_folder_and_by_its_old_name(
    name: str, head: str, others: tuple[str, ...] | None
) -> None:
    found = page(name)
    assert f"{found.what} {found.name}" == head
    assert others in (None, found.others)
    renamed = f"`{name}` is called `{found.name}` now." in found.lead
    assert renamed == (name in ("std.chance", "models", "models.catch"))


def test_the_help_of_explain_names_each_folder() -> None:
    assert f"({', '.join(FOLDERS)})" in OF_THE_LIBRARY


@pytest.mark.parametrize(
    "name", ["..", "/etc", "vendor/../std", "", "std..die", "nothing_so_called", ".die", "die."]
)
def test_nothing_else_is_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name != "..":  # the sign of a range
        assert explain(name) is None
        assert near(name) is None or "." in name
        assert main(["explain", name]) == 2
        assert "is called" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("vendor.nvidea", "did you mean `vendor.nvidia`?"),
        ("training_step.step_tme", "did you mean `training_step.step_time`?"),
        ("B200.tpd", "did you mean `B200.tdp`?"),
        ("die.reticl", "did you mean `die.reticle`?"),
        ("acelerator", "did you mean `accelerator`?"),
        ("Merkle", "`hwdsl explain std` lists"),
    ],
)
def test_a_typo_is_told(name: str, help: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 2
    assert help in capsys.readouterr().err


def test_the_example_of_a_rule_imports_what_it_needs(tmp_path: Path) -> None:
    """Without any of its lines that import, it is not the example that it was."""
    example = rule_docs.example("die.reticle")
    assert example is not None
    lines = example.sound.splitlines()
    imports = [line for line in lines if line.startswith("use ")]
    assert imports
    for gone in (None, *imports):
        file = tmp_path / "case.hw"
        file.write_text("\n".join(line for line in lines if line != gone) + "\n")
        diagnostics = Diagnostics()
        driver.check(file, diagnostics)
        assert diagnostics.failed == (gone is not None)
