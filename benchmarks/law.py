"""Draw programs and points by the thousand, and compare all ways to ask: the campaign of the law.

python benchmarks/law.py --programs 10000 --points 10 --seed 1 --out FOLDER [--jobs 2]
python benchmarks/law.py --mutants [NAME …]

The first goes on where it stopped: each chunk of programs leaves a line in FOLDER/law.jsonl, and what
it found as a file in FOLDER/found, shrunk, with the point and the ways that disagree. The second takes
each mend back in a copy of the tree, and says whether the law finds the bug again.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # before this folder: `law` is the package there

CHUNK = 25


def chunk(first, count, points, seed, compiled, but):
    """Judge some programs; what is found and counted, as data."""
    from law.coverage import productions
    from law.evaluations import judge
    from law.programs import draw

    warnings.simplefilter("ignore", RuntimeWarning)
    start, wall = time.process_time(), time.time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    names = {f"p{seed}_{k}": f"{seed} {k}" for k in range(first, first + count)}
    programs = {name: draw(drawn) for name, drawn in names.items() if name not in but}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HWDSL_CACHE_DIR"] = str(Path(folder) / "cache")
        found = judge(programs, Path(folder), points=points, seed=seed, compiled=compiled)
    used, called = productions(programs.values())
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    compiler = spent.ru_utime + spent.ru_stime - children.ru_utime - children.ru_stime
    return {
        "first": first, "count": count, "evaluators": found.evaluators, "points": found.points,
        "skipped": found.skipped, "compared": found.compared, "cpu": time.process_time() - start,
        "compiler": compiler, "wall": time.time() - wall,
        "findings": [[x.program, x.evaluator, x.way, dict(x.point), x.said] for x in found.findings],
        "productions": used, "builtins": called,
    }  # fmt: skip


def shrunk(name, evaluator, way, point, said, seconds):
    """The smallest program found that still shows a disagreement, as text."""
    from law.evaluations import judge
    from law.programs import MAIN, draw
    from law.shrink import shrink

    compiled = any(word in way for word in ("kernel", "folder")) or way == "sweep"

    def look(files):
        with tempfile.TemporaryDirectory() as folder:
            found = judge({name: files}, Path(folder), points=1, compiled=compiled, at=point)
        return found, [x for x in found.findings if (x.way, x.evaluator) == (way, evaluator)]

    files = draw(" ".join(name[1:].split("_")))
    found, alike = look(files)
    if not alike:
        return f"# {way}: not seen again at this point alone\n" + files[MAIN]
    files = found.repaired.get(name, files)
    best = shrink(files, lambda trial: bool(look(trial)[1]), seconds=seconds)
    last = look(best)[1][0]
    head = [
        f"# {evaluator}, {way}: {last.said}",
        f"# at {json.dumps(dict(last.point))}",
        f"# from program {name}",
    ]
    return "\n".join(head) + "\n" + best[MAIN]


def kind(way, said):
    """What two findings have in common that are probably one."""
    return way, "".join(c for c in said if not c.isdigit())[:30]


def campaign(options):
    folder = Path(options.out)
    (folder / "found").mkdir(parents=True, exist_ok=True)
    lines = folder / "law.jsonl"
    rows = [json.loads(x) for x in lines.read_text().splitlines()] if lines.exists() else []
    done = {row["first"] for row in rows}
    left = [k for k in range(0, options.programs, CHUNK) if k not in done]
    left = left[: options.chunks] if options.chunks else left
    sizes = [min(CHUNK, options.programs - k) for k in left]
    same = [
        [x] * len(left)
        for x in (options.points, options.seed, not options.interpreted, options.but)
    ]
    # A process for each chunk, so that what one has loaded and leaked ends with it.
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
        for row in pool.map(chunk, left, sizes, *same):
            rows.append(row)
            with lines.open("a") as to:
                to.write(json.dumps(row) + "\n")
            if options.until_found and row["findings"]:
                pool.shutdown(cancel_futures=True)
                break
            print(
                f"{row['first'] + row['count']} of {options.programs}: {row['points']} points, "
                f"{len(row['findings'])} findings, {row['cpu']:.0f} + {row['compiler']:.0f} s",
                flush=True,
            )
    summary(rows, folder, options)


def summary(rows, folder, options):
    from law.coverage import ERRORS, wanted

    from hwdsl.semantics.builtins import declarations

    total = {
        k: sum(r[k] for r in rows) for k in ("count", "evaluators", "points", "skipped", "compared")
    }
    cpu, compiler = (sum(r[k] for r in rows) for k in ("cpu", "compiler"))
    print(
        f"{total['count']} programs, {total['skipped']} of them with an error; {total['evaluators']} evaluators, "
        f"{total['points']} points, {total['compared']} comparisons; {cpu:.0f} s, and {compiler:.0f} s of gcc"
    )
    used, called = Counter(), Counter()
    for row in rows:
        used.update(row["productions"])
        called.update(row["builtins"])
    never = sorted(wanted() - used.keys())
    print(
        f"productions drawn: {len(wanted()) - len(never)} of {len(wanted())} ({len(ERRORS)} lead to errors only)",
        *never,
        sep="\n  never: " if never else "",
    )
    print(f"builtins drawn: {len(declarations().keys() & called.keys())} of {len(declarations())}")
    kinds = {}
    for row in rows:
        for finding in row["findings"]:
            kinds.setdefault(kind(finding[2], finding[4]), []).append(finding)
    print(f"disagreements: {sum(map(len, kinds.values()))} of {len(kinds)} kinds")
    for (way, _), found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        name, evaluator, _, point, said = found[0]
        print(f"  {len(found):5} [{way}] {name} {evaluator} at {point}: {said[:200]}")
        file = folder / "found" / f"{name}_{way.replace(' ', '_').replace(',', '')}.hw"
        if options.shrink and "texts" not in way and not file.exists():
            file.write_text(shrunk(*found[0], options.shrink) + "\n", "utf-8")


# --- mends taken back ----------------------------------------------------------------------------


def mutants(options):
    from law.mutants import MUTANTS

    chosen = [m for m in MUTANTS if not options.names or m.name in options.names]
    open_, _ = look(ROOT / "none", options, compiled=any(m.compiled for m in chosen))
    if open_:
        print(f"left out, as they show disagreements without a mutant: {' '.join(open_)}")
        options.but = open_
    for mutant in MUTANTS:
        if options.names and mutant.name not in options.names:
            continue
        start = time.time()
        found = mutated(mutant, options)
        word = f"found: {found}" if found else "NOT FOUND"
        print(
            f"{mutant.name:<4} {mutant.said}\n     {word[:300]} ({time.time() - start:.0f} s)",
            flush=True,
        )


def mutated(mutant, options):
    """The first disagreement that the law finds in drawn programs without a mend."""
    from law.mutants import plant

    with tempfile.TemporaryDirectory() as scratch:
        packages = Path(scratch) / "packages"
        plant(ROOT, packages, [mutant])
        return look(packages, options, compiled=mutant.compiled, stop=True)[1]


def look(packages, options, *, compiled, stop=False):
    """The programs that show disagreements, and the first of these, by the package in a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, str(Path(__file__).resolve()), "--programs", str(options.programs),
                   "--points", str(options.points), "--seed", str(options.seed), "--out", str(Path(scratch) / "out"),
                   *([] if compiled else ["--interpreted"]), *(["--until-found"] if stop else []),
                   "--but", *options.but]  # fmt: skip
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": str(packages)}, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        rows = map(
            json.loads, (Path(scratch) / "out" / "law.jsonl").read_text("utf-8").splitlines()
        )
        found = [finding for row in rows for finding in row["findings"]]
        said = "[{2}] {0} {1} at {3}: {4}".format(*found[0]) if found else ""
        return sorted({name for name, *_ in found}), said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument(
        "--chunks", type=int, default=0, help=f"stop after so many chunks of {CHUNK} programs"
    )
    parser.add_argument(
        "--out", default="law-campaign", help="folder of what was found; a run goes on in it"
    )
    parser.add_argument(
        "--interpreted", action="store_true", help="leave out what gcc has to compile"
    )
    parser.add_argument(
        "--shrink", type=float, default=0.0, help="seconds to make each kind of finding smaller"
    )
    parser.add_argument("--but", nargs="*", default=[], help="programs to leave out")
    parser.add_argument("--until-found", action="store_true", help="stop at the first disagreement")
    parser.add_argument(
        "--mutants", action="store_true", help="take mends back, and look for the bugs"
    )
    parser.add_argument("names", nargs="*", help="the mutants; all if none is named")
    options = parser.parse_args()
    (mutants if options.mutants else campaign)(options)


if __name__ == "__main__":
    main()
