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
figure that says most and the modules of `std` that its files import. A test writes this page from
`docs/systems.toml`, the claims and the imports.

*Reproduced* are claims that could have come out otherwise and that their null model does not meet.
*Missed* are published numbers that the model does not give, with a reason in the file. Identities
follow from the inputs; calibrations were fitted to. *Does not count* is what rests on assumptions
or on sources of low confidence, has no null model or is no better than it.
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
    """Expectations by what they come out at."""
    found: Counter[str] = Counter()
    for study in system["files"]:
        for said in verdicts().get(study, []):
            status = next((s for s in ("identity", "calibration") if said.startswith(s)), "")
            if not status:
                status = "missed" if "missed" in said else "does not count"
                status = "reproduced" if said == "reproduced" else status
            found[status] += 1
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
    lines = [
        "| # | system | reproduced | missed | does not count | calibrations | identities "
        "| modules of `std` |",
        "|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for system in SYSTEMS:
        found = state(system)
        names = ("reproduced", "missed", "does not count", "calibration", "identity")
        counts = " | ".join(str(found[name]) for name in names)
        title = f"[{system['name']}](studies/{system['page']}.md)"
        lines.append(
            f"| {system['number']} | {title} | {counts} | {', '.join(sorted(mechanisms(system)))} |"
        )
    return lines


def matrix() -> list[str]:
    by_module = users()
    numbers = [str(s["number"]) for s in SYSTEMS]
    lines = [f"| module | {' | '.join(numbers)} |", f"|---|{':-:|' * len(numbers)}"]
    for module in sorted(by_module, key=lambda name: (-len(by_module[name]), name)):
        marks = ["x" if s["name"] in by_module[module] else "" for s in SYSTEMS]
        lines.append(f"| {module} | {' | '.join(marks)} |")
    return lines


def alone() -> list[str]:
    """Modules that one system uses, with the number of other studies and the reason."""
    return sorted(m for m, names in users().items() if len(names) == 1)


def page() -> str:
    single = [
        f"- **{m}** ({users()[m][0]}; {studies_using(m)} studies in all): {DECLARED['alone'][m]}"
        for m in alone()
    ]
    figures = [
        f"### {s['number']}. {s['name']}\n\n![{s['caption']}](studies/{s['figure']}.svg)\n"
        for s in SYSTEMS
        if s["figure"]
    ]
    parts = [
        HEAD.format(count=len(SYSTEMS)),
        "\n".join(table()) + "\n",
        "## What is shared\n\nA system uses a module if one of its files imports it.\n",
        "\n".join(matrix()) + "\n",
        "Modules that one system uses:\n",
        "\n".join(single) + "\n",
        "## The figure that says most\n",
        "\n".join(figures),
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
    assert not system["figure"] or f"({system['figure']}.svg)" in text
