"""What `hwdsl check` says of every file of the library and of broken ones, and how long it takes.

    python benchmarks/check_library.py OUT.json [--before OTHER.json] [--tree CHECKOUT] [FOLDER…]

Each file of the library is checked in a fresh process, first with an empty cache (cold), then again
(warm); both must say the same. Texts that are wrong are checked for what is said alone: the broken
compositions of the tests, the examples of the pages of diagnostics, and the files of FOLDERs. All
findings, undecided rules and exit codes go to OUT.json; with `--before` the findings must be those
of an earlier run, byte for byte. Seconds are of processor time.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from common import ROOT, children, table

WARM_LIMIT = 2.0


def main():
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout that Python imports")
    parser.add_argument("--only", choices=["library", "texts"])
    options = parser.parse_intermixed_args()
    found = {"library": {}, "texts": {}}
    if options.only != "texts":
        for path in sorted((options.tree / "library").rglob("*.hw")):
            name = str(path.relative_to(options.tree))
            found["library"][name] = timed_checks(name, options.tree)
    if options.only != "library":
        found["texts"] = texts(options.tree, options.folders)
    options.out.write_text(json.dumps(found, indent=1, sort_keys=True), "utf-8")
    before = json.loads(options.before.read_text("utf-8")) if options.before else None
    report(found, before)
    return compare(found, before) if before else 0


def timed_checks(name, tree):
    """What is said of one file, and the seconds that saying it takes cold and warm."""
    with tempfile.TemporaryDirectory() as cache:
        runs = [one_check(name, tree, cache) for _ in range(2)]
    (cold, said), (warm, again) = runs
    if said != again:
        raise SystemExit(f"{name}: a warm check says something else than a cold one")
    return {"cold": cold, "warm": warm, **said}


def one_check(name, tree, cache):
    """The processor seconds of a check, and its output."""
    before = children()
    done = subprocess.run(
        [sys.executable, "-m", "hwdsl", "check", "--format", "json", "--undecided", name],
        cwd=tree, capture_output=True, text=True,
        env={**os.environ, "HWDSL_CACHE_DIR": cache},
    )  # fmt: skip
    seconds = round(children() - before, 3)
    # What takes long says so, on some machine or other.
    errors = [line for line in done.stderr.splitlines() if "takes long" not in line]
    said = {"code": done.returncode, "said": clean(done.stdout, tree), "err": "\n".join(errors)}
    return seconds, said


def clean(text, tree):
    """The output without the path of the checkout."""
    return text.replace(f"{tree.resolve()}/", "").splitlines()


def texts(tree, folders):
    """What is said of texts that are wrong, checked one after the other in this process."""
    from hwdsl.cli.main import main as hwdsl

    found = {}
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name, files in wrong_texts(tree, folders):
            for file, data in files.items():
                Path(file).write_bytes(data)
            said, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
                code = hwdsl(["check", "--format", "json", "--undecided", "case.hw"])
            found[name] = {
                "code": code,
                "said": clean(said.getvalue(), tree),
                "err": errors.getvalue(),
            }
            for file in files:
                Path(file).unlink()
        os.chdir(tree)
    return found


def wrong_texts(tree, folders):
    """A name for each text, and the files it consists of; `case.hw` is the one to check."""
    cases = tomllib.loads((tree / "tests/library/broken_compositions.toml").read_text("utf-8"))
    for case in cases["case"]:
        head = f"edition 2026\n#! What is wrong: {case['mistake']}.\n"
        yield f"case {case['mistake']}", {"case.hw": (head + case["text"].lstrip()).encode()}
    for page in sorted((tree / "hwdsl/pages").glob("*.md")):
        others, examples = {}, []
        for info, text in blocks(page.read_text("utf-8")):
            file = info.partition("file=")[2]
            if file:
                others[file] = text.encode()
            elif info.startswith("hw"):
                examples.append(text.encode(info.partition("encoding=")[2] or "utf-8"))
        for k, data in enumerate(examples):
            yield f"page {page.stem} {k}", {**others, "case.hw": data}
    for folder in folders:
        for path in sorted(folder.rglob("*.hw")):
            yield f"file {path.relative_to(folder)}", {"case.hw": path.read_bytes()}


def blocks(text):
    """The fenced blocks of a page: what stands behind the fence, and the text."""
    parts = text.split("```")[1::2]
    return [part.partition("\n")[::2] for part in parts]


def report(found, before):
    """Print the seconds, slowest first."""
    rows, old = found["library"], before["library"] if before else {}
    if not rows:
        return
    slowest = sorted(rows, key=lambda n: -rows[n]["warm"])
    lines = []
    for name in slowest:
        was = [f"{old[name][k]:.2f}" if name in old else "" for k in ("cold", "warm")]
        now = [f"{rows[name][k]:.2f}" for k in ("cold", "warm")]
        lines.append([name, *was, *now])
    sums = [sum(r[k] for r in group.values()) for group in (old, rows) for k in ("cold", "warm")]
    lines.append(["all", *(f"{total:.1f}" if total else "" for total in sums)])
    head = ["file", "cold before", "warm before", "cold", "warm"]
    table("hwdsl check, processor seconds", head, lines)
    late = [n for n in rows if rows[n]["warm"] > WARM_LIMIT]
    print(f"  {len(rows)} files, {len(late)} above {WARM_LIMIT:g} s warm: {', '.join(late)}")


def compare(found, before):
    """Say which files are told something else than before; the exit code."""
    different = []
    for part in ("library", "texts"):
        for name in sorted({*found[part], *before[part]} if found[part] else ()):
            new, old = found[part].get(name), before[part].get(name)
            if any((new or {}).get(k) != (old or {}).get(k) for k in ("code", "said", "err")):
                different.append(name)
    print(f"  findings differ in {len(different)} of {sum(map(len, found.values()))} texts")
    for name in different:
        print(f"    {name}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
