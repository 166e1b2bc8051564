"""The glossary explains terms of the field, and names what the library declares of each."""

from pathlib import Path

import pytest

from hwdsl.cli.main import main
from hwdsl.help.explain import Page, explain, render
from hwdsl.help.glossary import GlossaryEntry, entries_of, glossary, heading
from hwdsl.help.library_index import FOLDERS, definitions

ENTRIES = glossary().entries
ABBREVIATIONS = [
    "1F1B", "2.5D", "BOM", "C4", "CI", "CP", "CPA", "CUDA-graph", "CoWoS", "D0", "D2D", "DP",
    "DPW", "DRAM", "ECC", "EDP", "EMIB", "EP", "E2E", "FFN", "FIT", "FP4", "FP8", "FSDP", "GBS",
    "GEMM", "GPipe", "GQA", "HBM", "HFU", "HSDP", "ISL", "ITL", "IT-power", "KGD", "KV-cache",
    "LL", "LLC", "MBS", "MFU", "MHA", "MLA", "MoE", "MQA", "MRM", "MTBF", "MTTF", "MTTR", "NIC",
    "NRE", "NVL72", "NVLS", "NVLink", "NVSwitch", "NoC", "OSL", "P2P", "PCIe", "PHY", "PP",
    "PUE", "QPS", "RoPE", "SHARP", "SM", "SP", "SRAM", "TCO", "TDP", "TP", "TPOT", "TSV",
    "TTFT", "UCIe", "VPP", "ZB-H1", "ZB-H2", "ZeRO", "algbw", "busbw", "capex", "opex", "wgrad",
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "occupancy", "yield",
    "interposer", "goodput", "roofline",
]  # fmt: skip


def page(name: str) -> Page:
    found = explain(name)
    assert found is not None
    return found


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.concept for entry in ENTRIES])
def test_what_an_entry_names_is_declared(entry: GlossaryEntry) -> None:
    for name in entry.declared:
        of = page(name)
        assert of.what == "module" or of.place
        assert heading(entry) in [row.name for s in of.sections for row in s.rows]
    places = [page(name).place or name for name in entry.declared]
    order = [FOLDERS.index(place.strip("`").partition(".")[0]) for place in places]
    assert order == sorted(order)  # std first


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.concept for entry in ENTRIES])
def test_an_entry_is_found_by_each_of_its_terms(entry: GlossaryEntry) -> None:
    for term in (entry.concept, *entry.terms):
        text = " ".join(render(page(term), 10_000).split())
        assert entry.definition in text or f"`{entry.concept}`" in text
    assert set(entry.sources) <= set(glossary().sources)
    assert entry.definition.endswith(".")


@pytest.mark.parametrize("term", ABBREVIATIONS)
def test_abbreviations_of_the_field_are_found(term: str) -> None:
    assert entries_of(term)
    assert entries_of(term)[0].definition in render(page(term), 10_000)


@pytest.mark.parametrize(
    ("term", "concept", "declared"),
    [
        ("TTFT", "time to first token", "inference_server.ttft"),
        ("ttft", "time to first token", "static_batch.ttft"),
        ("KV cache", "KV cache", "language_model.kv_cache_per_token"),
        ("KV-caches", "KV cache", "deployment.kv_cache_per_token"),
        ("fsdp", "fully sharded data parallelism", "plan.sharding"),
        ("NVL72", "scale-up domain", "GB200_NVL72"),
        ("MFU", "model FLOPs utilization", "training_step.mfu"),
        ("TCO", "total cost of ownership", "cluster.tco_rate"),
        ("yield", "die yield", "die.yield"),
        ("Yields", "die yield", "die_yield"),
        ("1F1B", "one forward, one backward", "pipeline_schedule"),
        ("all-reduce", "all-reduce", "all_reduce"),
        ("All Reduces", "all-reduce", "tree_all_reduce"),
        ("TPOT", "time per output token", "inference_server.tpot"),
        ("occupancy", "occupancy", "kernel_efficiency"),
        ("GEMM", "general matrix multiplication", "gemm_time"),
        ("Goodput (training)", "goodput (training)", "cluster.goodput"),
    ],
)
def test_a_term_shows_its_entry_and_what_is_declared(
    term: str, concept: str, declared: str, capsys: pytest.CaptureFixture[str]
) -> None:
    of = page(term)
    assert (of.name, of.what) == (concept, "term")
    assert declared in [row.name for s in of.sections for row in s.rows if row.doc]
    assert main(["explain", *term.split()]) == 0
    assert capsys.readouterr().out.startswith(f"# term {concept}\n")


@pytest.mark.parametrize("name", ["interposer", "hbm", "inference_server.ttft", "prefill"])
def test_what_is_declared_shows_its_entry(name: str) -> None:
    of = page(name)
    assert of.place
    assert "## In the glossary" in render(of)


def test_terms_are_unlike_each_other() -> None:
    """A term leads to one entry; a name that is two concepts says which in parentheses."""
    terms = [t for entry in ENTRIES for t in (entry.concept, *entry.terms)]
    assert len({t.lower() for t in terms}) == len(terms)
    for term in terms:
        if len(entries_of(term)) > 1:
            assert all(entry.concept.endswith(")") for entry in entries_of(term))


def test_each_source_is_named() -> None:
    assert {s for entry in ENTRIES for s in entry.sources} == set(glossary().sources)


def test_all_terms_are_listed() -> None:
    text = render(page("glossary"), 10_000)
    assert all(entry.definition in text for entry in ENTRIES)
    assert "glossary" not in definitions()


def test_the_page_of_the_documentation_is_the_glossary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "glossary", "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    docs = Path(__file__).parents[2] / "docs" / "glossary.md"
    if docs.read_text(encoding="utf-8") != printed:
        pytest.fail("run `hwdsl explain glossary --format markdown > docs/glossary.md`")
    links = {text.partition(")")[0] for text in printed.split("](")[1:]}
    assert links
    assert all((docs.parent / link).is_file() for link in links)


def test_only_the_glossary_is_printed_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "die", "--format", "markdown"]) == 2
    assert "hwdsl explain glossary" in capsys.readouterr().err
