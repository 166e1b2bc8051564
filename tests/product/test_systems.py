"""`docs/systems.md`: the published systems, what their claims come out at, and what they share.

HWDSL_WRITE_SYSTEMS=1 writes the page from `docs/systems.toml`, the claims and the imports.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hwdsl.base.diagnostics import Diagnostics
from hwdsl.semantics import load

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "systems.md"
STUDIES = ROOT / "library" / "studies"
DECLARED = tomllib.loads((ROOT / "docs" / "systems.toml").read_text(encoding="utf-8"))
SYSTEMS: list[dict[str, Any]] = DECLARED["system"]
WRITES = os.environ.get("HWDSL_WRITE_SYSTEMS") == "1"

HEAD = """# The published systems

The {count} published systems from which the library grew, each with the state of its claims, the
question that it is asked, the figure that says most and the modules of `std` that its files import.
A test writes this page from `docs/systems.toml`, the claims and the imports;
[studies.md](studies.md) has every claim.

*Reproduced* are claims that could have come out otherwise and lie nearer than their null model.
*Missed* are published numbers that the model does not give, whatever their mark, with a reason in
the file. *Calibrations* were fitted to, or restate what was; *identities* follow from the inputs:
those that hold. *Does not count* holds, but rests on assumptions or on sources of low confidence,
has no null model or is no better than it.
"""


@cache
def imports(study: str) -> frozenset[str]:
    """Modules of `std` that a study imports itself."""
    program = load(STUDIES / f"{study}.hw", Diagnostics())
    used = program.loaded[program.main].modules.values()
    return frozenset(name.removeprefix("std.") for name in used if name.startswith("std."))


def mechanisms(system: dict[str, Any]) -> set[str]:
    return set().union(*(imports(f) for f in system["files"]))


@cache
def verdicts() -> dict[str, list[str]]:
    """What each expectation comes out at, by study; `test_verdicts` holds the page current."""
    text = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    found = {}
    for chapter in text.split("\n## ")[1:]:
        title, _, rest = chapter.partition("\n")
        rows = [line.strip("|").split("|") for line in rest.splitlines() if line.startswith("|")]
        found[Path(title).stem] = [
            row[-1].strip() for row in rows if row[0].strip() not in ("expectation", "---")
        ]
    return found


def state(system: dict[str, Any]) -> Counter[str]:
    """Expectations by what they come out at; a calibration that fails is missed as any other."""
    found: Counter[str] = Counter()
    for study in system["files"]:
        for said in verdicts().get(study, []):
            if "missed" in said:
                found["missed"] += 1
            elif said == "reproduced":
                found["reproduced"] += 1
            else:
                marks = (s for s in ("identity", "calibration") if said.startswith(s))
                found[next(marks, "does not count")] += 1
    return found


def users() -> dict[str, list[str]]:
    """Systems that use each module of `std`, by name."""
    found = defaultdict(list)
    for system in SYSTEMS:
        for module in mechanisms(system):
            found[module].append(system["name"])
    return found


def studies_using(module: str) -> int:
    return sum(module in imports(path.stem) for path in STUDIES.glob("*.hw"))


def table() -> list[str]:
    names = ("reproduced", "missed", "does not count", "calibration", "identity")
    lines = [
        "| # | system | reproduced | missed | does not count | calibrations | identities |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    whole: Counter[str] = Counter()
    for system in SYSTEMS:
        found = state(system)
        whole += found
        counts = " | ".join(str(found[name]) for name in names)
        title = f"[{system['name']}](studies/{system['page']}.md)"
        lines.append(f"| {system['number']} | {title} | {counts} |")
    total = " | ".join(str(whole[name]) for name in names)
    return [*lines, f"|  | all | {total} |"]


def matrix() -> list[str]:
    """Systems by the modules that two or more of them use, the most used first."""
    by_module = {m: names for m, names in users().items() if len(names) > 1}
    numbers = [str(s["number"]) for s in SYSTEMS]
    lines = [
        f"| module | systems | {' | '.join(numbers)} |",
        f"|---|---:|{':-:|' * len(numbers)}",
    ]
    for module in sorted(by_module, key=lambda name: (-len(by_module[name]), name)):
        marks = ["x" if s["name"] in by_module[module] else "" for s in SYSTEMS]
        lines.append(f"| {module} | {len(by_module[module])} | {' | '.join(marks)} |")
    return lines


def chapter(system: dict[str, Any]) -> str:
    """What a system is asked, its files, its modules and its figure."""
    files = ", ".join(f"[`{name}.hw`](../library/studies/{name}.hw)" for name in system["files"])
    return (
        f"### {system['number']}. {system['name']}\n\n{system['question']}\n\n"
        f"![{system['caption']}](studies/{system['figure']}.svg)\n\n"
        f"{system['caption']}. Files: {files}. Modules of `std`: "
        f"{', '.join(sorted(mechanisms(system)))}.\n"
    )


def alone() -> list[str]:
    """Modules that one system uses, with the number of other studies and the reason."""
    return sorted(m for m, names in users().items() if len(names) == 1)


def counted(studies: int) -> str:
    return "1 study" if studies == 1 else f"{studies} studies"


def page() -> str:
    single = [
        f"- **{m}** ({users()[m][0]}; {counted(studies_using(m))} in all): {DECLARED['alone'][m]}"
        for m in alone()
    ]
    parts = [
        HEAD.format(count=len(SYSTEMS)),
        "\n".join(table()) + "\n",
        "## What is shared\n\nA system uses a module if one of its files imports it; numbers are "
        "those of the table above.\n",
        "\n".join(matrix()) + "\n",
        "Modules that one system uses, and why:\n",
        "\n".join(single) + "\n",
        "## What each is asked, and the figure that says most\n",
        "\n".join(chapter(s) for s in SYSTEMS),
    ]
    return "\n".join(parts)


def test_reasons_are_given_for_the_modules_of_one_system() -> None:
    assert sorted(DECLARED["alone"]) == alone()


def test_the_page_is_current() -> None:
    if WRITES:
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s["name"])
def test_a_system_has_its_files_page_and_figure(system: dict[str, Any]) -> None:
    assert all((STUDIES / f"{name}.hw").is_file() for name in system["files"])
    text = (ROOT / "docs" / "studies" / f"{system['page']}.md").read_text(encoding="utf-8")
    assert f"({system['figure']}.svg)" in text
    assert system["question"].endswith("?")
