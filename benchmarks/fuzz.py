"""Mutate files by the hundred thousand, and see that nothing raises: the campaign of broken files.

python benchmarks/fuzz.py --files 100000 --through 10000 --seed 1 --out FOLDER [--jobs 2]

Seeds are the items of the library's files and the blocks of the documentation, small enough to be
checked in milliseconds. A mutant is a seed or two with tokens, lines or characters taken out, put
in, doubled, exchanged or taken from another. Each goes through `check`, the renderers and, if it
parses, the formatter twice; what checks goes on, until `--through` have, through elaboration, the
verification of graphs, the passes and the interpreter. What raises is kept in FOLDER/raised. It goes
on where it stopped, chunk by chunk.
"""

import argparse
import json
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent
CHUNK = 1000
DRAWN = 800  # programs of the law, of which the small ones are seeds
USING = 100  # so many seeds use other modules
LARGEST = 1_500  # characters of a seed
SLOW = 5.0  # seconds of processor time beyond which a file counts as stuck
POINTS = 3
TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|\d[\d_.]*(?:[eE][+-]?\d+)?|\s+|[^\w\s]')
WORDS = (  # noqa: SIM905
    "0 1 -1 2 40 1e300 1e-300 0.5 9007199254740993 1_000_000 inf pi NaN self outer count parts name feasible "
    "true false known unknown sum max lowest quantile sort_by first_known iterate state next until let if then else match "
    "for in and or not with within .. => -> = == != <= < + - * / // ^ % . , : [ ] ( ) { } \" # ## ' @ \\ \t "
    "GB TB/s s degC param choice output require warn kind enum claim expect evaluator figure table use fn ref [real] "
    "int real bool allow source calibrated dimension unit type offset prefix edition 2026 \u00b5 \u00a0 \ufeff \u2028 \x00 \x1b é 日本"
).split(" ")


class Stuck(BaseException):
    """A file that takes too long."""


def seeds():
    """Small pieces of the library, the documentation, the pages and the tests, as whole files.

    First those that ask nothing, few of which use other modules, which takes time; then those with
    evaluators, programs of the law among them.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    from law.programs import MAIN, draw

    found = []
    for path in sorted(ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("hwdsl/help/pages/*.md")):
        found += re.findall(r"```hw[^\n]*\n(.*?)```", path.read_text("utf-8"), re.S)
    for path in sorted(ROOT.glob("docs/examples/*.hw")) + sorted(ROOT.glob("tests/**/*.hw")):
        found.append(path.read_text("utf-8"))
    for path in sorted((ROOT / "library").rglob("*.hw")):
        text = path.read_text("utf-8")
        uses = "\n".join(re.findall(r"^use .*$", text, re.M)) if "studies" not in str(path) else ""
        items = re.split(r"\n(?=(?:##|kind|enum|fn|let|evaluator|claim|[a-z_]+ \w+ *[:{]))", text)
        found += [f"edition 2026\n{uses}\n{item}\n" for item in items[1:] if len(item) > 40]
    found = sorted({text for text in found if 20 < len(text) < LARGEST})
    plain = [text for text in found if not re.search(r"^use ", text, re.M)]
    asking = [text for text in plain if re.search(r"^evaluator ", text, re.M)]
    drawn = [draw(f"seed {k}")[MAIN] for k in range(DRAWN)]
    drawn = [
        text for text in drawn if 20 < len(text) < LARGEST and not re.search(r"^use ", text, re.M)
    ]
    using = [text for text in found if text not in plain][:: len(found) // USING]
    return [*plain, *using], [*asking, *drawn]


def mutant(random, plain, asking):
    """A seed, or two of them, with a few changes; of one that asks something often gentle ones."""
    among = asking if random.random() < 0.6 else plain
    text = random.choice(among)
    if among is asking and random.random() < 0.7:
        for _ in range(1 + random.randrange(3)):
            text = gentle(random, text)
        return text
    if random.random() < 0.2:
        other = random.choice(among)
        text = text[: random.randrange(len(text))] + other[random.randrange(len(other)) :]
    for _ in range(1 + int(random.expovariate(0.7))):
        pick = random.random()
        if pick < 0.55:
            text = "".join(changed(random, TOKEN.findall(text), among))
        elif pick < 0.8:
            text = "\n".join(changed(random, text.split("\n"), among))
        else:
            text = "".join(changed(random, list(text), among))
    return text


def gentle(random, text):
    """A number, a name or an operator exchanged for another of its sort, so that much still checks."""
    tokens = TOKEN.findall(text)
    sorts = [
        [k for k, t in enumerate(tokens) if t[0].isdigit()],
        [k for k, t in enumerate(tokens) if t[0].isalpha() and any(c.isdigit() for c in t)],
        [k for k, t in enumerate(tokens) if t in "+-*/<>"],
    ]
    places = random.choice([s for s in sorts if s] or [[0]])
    at = random.choice(places)
    other = tokens[random.choice(places)]
    numbers = ("0", "1", "-1", "2", "0.5", "40", "1e300", "inf", "1e-300")
    tokens[at] = (
        random.choice(numbers) if tokens[at][0].isdigit() and random.random() < 0.7 else other
    )
    return "".join(tokens)


def changed(random, parts, among):
    """The parts with one taken out, doubled, exchanged, replaced or put in."""
    if not parts:
        return [random.choice(WORDS)]
    at, pick = random.randrange(len(parts)), random.random()
    if pick < 0.2:
        return parts[:at] + parts[at + 1 :]
    if pick < 0.35:
        return parts[: at + 1] + parts[at:]
    if pick < 0.5:
        other = random.randrange(len(parts))
        parts[at], parts[other] = parts[other], parts[at]
        return parts
    if pick < 0.7:
        return [*parts[:at], random.choice(WORDS), *parts[at + 1 :]]
    if pick < 0.85:
        return [*parts[:at], random.choice(WORDS), *parts[at:]]
    foreign = TOKEN.findall(random.choice(among))
    return [*parts[:at], random.choice(foreign), *parts[at + 1 :]]


def through_check(text, folder):
    """Check and render a text; what its evaluators are, or None if it has errors."""
    from hwdsl.api import driver
    from hwdsl.base import render
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.base.source import Source
    from hwdsl.cli.jsons import render_json

    diagnostics = Diagnostics()
    checked = driver.check(Source(str(folder / "mutant.hw"), text), diagnostics)
    render.render_text(diagnostics.items)
    render_json(diagnostics.items)
    return None if diagnostics.failed else checked


def formatted(text):
    """The formatter gives what it formats to itself; only for what parses."""
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.base.source import Source
    from hwdsl.syntax import format_module, parse

    diagnostics = Diagnostics()
    tree = parse(Source("mutant.hw", text), diagnostics)
    if diagnostics.failed:
        return
    once = format_module(tree)
    again = Diagnostics()
    twice = format_module(parse(Source("mutant.hw", once), again))
    assert not again.failed, f"formatted text does not parse: {[d.message for d in again.items]}"
    assert once == twice, "the formatter changes what it has formatted"


def through_elaboration(checked, random):
    """Elaborate, optimise and interpret all evaluators at a few points; how many there are."""
    from hwdsl.api import driver, interface
    from hwdsl.base import render
    from hwdsl.base.diagnostics import Diagnostics
    from hwdsl.codegen.ir.interpreter import interpret
    from hwdsl.codegen.ir.verifier import verify_graph as verify_graph
    from hwdsl.codegen.passes import optimise

    diagnostics, done = Diagnostics(), 0
    found = driver.elaborate(checked, diagnostics)
    render.render_text(diagnostics.items)
    driver.check_claims(checked, diagnostics)
    if diagnostics.failed:
        return 0
    for name, made in found.items():
        verify_graph(made.graph)
        graph = optimise(made.graph)
        verify_graph(graph)
        spec = interface.evaluator_spec(driver.evaluators(checked)[name], made)
        for _ in range(POINTS):
            point = [value(random, p) for p in spec.params]
            results = interpret(graph, point)
            for bit, rule in enumerate(made.rules):
                if int(results.rules.reshape(-1)[bit // 64]) >> bit % 64 & 1:
                    rule.message(point)
        done += 1
    return done


def value(random, param):
    """A value in a param's range, in base units."""
    if param.values:
        return random.choice(param.values)
    low, high = max(param.low, -1e9), min(param.high, 1e9)
    number = random.choice([low, high, random.uniform(low, high)])
    return float(int(number)) if param.kind in ("int", "choice", "bool") else number


def one(text, random, folder, want):
    """All stages for a text: 0 if it has errors, 1 if it checks, 2 if it was interpreted."""
    checked = through_check(text, folder)
    formatted(text)
    if checked is None:
        return 0
    return 1 + bool(want and through_elaboration(checked, random))


def chunk(first, seed, want, limit_mb, out):
    """A number of mutants; what was counted."""
    resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))
    warnings.simplefilter("ignore", RuntimeWarning)
    among, folder = seeds(), ROOT / "docs" / "examples"
    signal.signal(signal.SIGVTALRM, stuck)
    counts, raised, slowest, start = [0, 0, 0], [], (0.0, -1), time.process_time()
    for k in range(first, first + CHUNK):
        random = Random(f"{seed} {k}")
        text = mutant(random, *among)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
        try:
            counts[one(text, random, folder, want)] += 1
        except (Exception, Stuck) as error:
            counts[0] += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            raised.append([k, f"{type(error).__name__}: {str(error)[:200]}", place])
            (Path(out) / "raised" / f"{seed}_{k}.hw").write_text(text, "utf-8", "surrogatepass")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        slowest = max(slowest, (time.process_time() - began, k))
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"first": first, "counts": counts, "raised": raised, "slowest": slowest,
            "largest": largest, "cpu": time.process_time() - start}  # fmt: skip


def stuck(*_):
    raise Stuck(f"more than {SLOW} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument(
        "--through", type=int, default=10**9, help="files to take through elaboration"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--memory", type=int, default=4000, help="MB that a process may take")
    parser.add_argument(
        "--out", default="fuzz-campaign", help="folder of what was found; a run goes on in it"
    )
    options = parser.parse_args()
    out = Path(options.out)
    (out / "raised").mkdir(parents=True, exist_ok=True)
    lines = out / "fuzz.jsonl"
    rows = [json.loads(x) for x in lines.read_text().splitlines()] if lines.exists() else []
    done = {row["first"] for row in rows}
    left = [k for k in range(0, options.files, CHUNK) if k not in done]
    while left:
        now, left = left[: options.jobs], left[options.jobs :]
        want = sum(row["counts"][2] for row in rows) < options.through
        with ProcessPoolExecutor(len(now), max_tasks_per_child=1) as pool:
            same = [[x] * len(now) for x in (options.seed, want, options.memory, str(out))]
            for row in pool.map(chunk, now, *same):
                rows.append(row)
                with lines.open("a") as to:
                    to.write(json.dumps(row) + "\n")
                for k, error, place in row["raised"]:
                    print(f"  {options.seed}_{k}: {error} ({place})", flush=True)
    summary(rows)


def summary(rows):
    counts = [sum(row["counts"][i] for row in rows) for i in range(3)]
    files, cpu = sum(counts), sum(row["cpu"] for row in rows)
    slowest = max(tuple(row["slowest"]) for row in rows)
    largest = max(row["largest"] for row in rows)
    print(
        f"{files} files through check and rendering, {counts[1] + counts[2]} of them without an error, "
        f"{counts[2]} through elaboration and the interpreter; {cpu:.0f} s ({1000 * cpu / files:.1f} ms each)"
    )
    print(f"slowest {slowest[0]:.2f} s (number {slowest[1]}), largest process {largest:.0f} MB")
    print(f"exceptions: {sum(len(row['raised']) for row in rows)}")


if __name__ == "__main__":
    main()
