"""Findings as a SARIF 2.1.0 log; it depends on no time, path of the checkout or hash seed."""

import json
import os
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from hwdsl.base.diagnostics import Diagnostic, Label
from hwdsl.cli.jsons import place

Json = dict[str, object]


def render_sarif(
    diagnostics: Iterable[Diagnostic], summaries: Mapping[str, str], version: str
) -> str:
    """Render findings as a SARIF 2.1.0 log; `summaries` describes the names that have a page."""
    found = sorted(diagnostics, key=_order)
    names = sorted({d.name for d in found})
    rules = [
        {"id": n, "shortDescription": {"text": summaries.get(n, "a rule of the description")}}
        for n in names
    ]
    driver = {"name": "hwdsl", "version": version, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(d, names.index(d.name)) for d in found],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _order(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    span = diagnostic.span
    place = ("", 0, 0) if span is None else (span.source.name, span.start, span.end)
    return (*place, diagnostic.name, diagnostic.message)


def _result(diagnostic: Diagnostic, rule: int) -> Json:
    message = diagnostic.message
    if diagnostic.help:
        message += f"\nhelp: {diagnostic.help}"
    result: Json = {
        "ruleId": diagnostic.name,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": message},
    }
    if diagnostic.labels:
        result["locations"] = [_location(diagnostic.labels[0])]
    if len(diagnostic.labels) > 1:
        result["relatedLocations"] = [
            {"id": i, **_location(la)} for i, la in enumerate(diagnostic.labels[1:], 1)
        ]
    return result


def _location(label: Label) -> Json:
    at = place(label.span)
    uri = quote(at.file.replace(os.sep, "/"))
    location: Json = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {
                "startLine": at.line,
                "startColumn": at.column,
                "endLine": at.end_line,
                "endColumn": at.end_column,
            },
        }
    }
    if label.text:
        location["message"] = {"text": label.text}
    return location
