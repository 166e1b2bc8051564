"""The cache against bad files, other processes, killed builds and full disks."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from hwdsl.base import fingerprint, store
from hwdsl.codegen.build import toolchain as building
from hwdsl.codegen.build.toolchain import BuildError, build, file_name
from hwdsl.codegen.ir.builder import GraphBuilder


def square(constant=2.0):
    b = GraphBuilder()
    x = b.param("x")
    return b.finish([("y", b.op("add", b.op("mul", x, x), b.const(constant)))])


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A cache with the kernel of `square()` and the module half."""
    path = tmp_path_factory.mktemp("full")
    build({"square": square()}, cache_dir=path)
    return path


@pytest.fixture
def own(full, tmp_path):
    """A copy of it that may be spoilt."""
    path = tmp_path / "cache"
    shutil.copytree(full, path)
    return path


def kernel_entry(path):
    return next(e for e in store.entries(path) if e.kind is store.KERNELS)


def check(path, constant=2.0):
    kernels = build({"square": square(constant)}, cache_dir=path)
    assert kernels["square"].point([3.0]) == ([9.0 + constant], [0])
    return kernels


def forbidden(path):
    """Whether the cache refuses to give the kernel when compiling is forbidden."""
    key = store.KERNELS.key(building.cache_key_inputs({"square": square()}))
    return store.find(key, path) is None


def test_a_sound_entry_is_loaded_without_compiling(own, monkeypatch):
    monkeypatch.setenv("HWDSL_NO_COMPILE", "1")
    monkeypatch.setenv("HWDSL_ABORT_ON_CACHE_MISS", "1")
    check(own)


def test_folders_are_the_owners_alone(own):
    root = store.folder(own)
    for path in (root, root / "kernels", kernel_entry(own).path):
        assert path.stat().st_mode & 0o077 == 0
    store.workspace(own / "new")
    fresh = store.folder(own / "new")
    assert fresh.stat().st_mode & 0o777 == 0o700


def test_a_corrupt_module_is_rebuilt(own):
    module = kernel_entry(own).path / file_name()
    data = bytearray(module.read_bytes())
    data[len(data) // 2] ^= 1
    module.write_bytes(data)
    assert forbidden(own)
    check(own)
    assert not forbidden(own)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "files": {}}'])
def test_a_bad_manifest_is_not_trusted(own, text):
    (kernel_entry(own).path / store.MANIFEST).write_text(text)
    assert forbidden(own)
    check(own)


def test_a_manifest_that_points_elsewhere_is_not_trusted(own):
    path = kernel_entry(own).path
    text = (path / store.MANIFEST).read_text().replace(file_name(), "../../x.so")
    (path / store.MANIFEST).write_text(text)
    assert forbidden(own)


@pytest.mark.parametrize("what", ["module", "manifest", "entry", "root"])
def test_what_others_can_write_is_not_trusted(own, what):
    path = kernel_entry(own).path
    target = {"module": path / file_name(), "manifest": path / store.MANIFEST, "entry": path,
              "root": path.parent}[what]  # fmt: skip
    target.chmod(0o777)
    assert forbidden(own)


def test_a_link_is_not_trusted(own, tmp_path):
    module = kernel_entry(own).path / file_name()
    shutil.move(module, tmp_path / "elsewhere.so")
    module.symlink_to(tmp_path / "elsewhere.so")
    assert forbidden(own)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_strangers_file_is_not_trusted(own):
    os.chown(kernel_entry(own).path / file_name(), 12345, 12345)
    assert forbidden(own)


def test_a_full_disk_names_the_folder(tmp_path, monkeypatch):
    def full_disk(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store.Path, "write_bytes", full_disk)
    with pytest.raises(BuildError, match="No space left") as caught:
        build({"square": square(7.0)}, cache_dir=tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "HWDSL_CACHE_DIR" in str(caught.value)
    assert list(store.entries(tmp_path)) == []


def test_a_cache_that_is_a_file_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="file"):
        build({"square": square(7.0)}, cache_dir=tmp_path / "file")


BUILD = """
import sys
from test_cache import square
from hwdsl.codegen.build.toolchain import build
print(build({"square": square(11.0)}, cache_dir=sys.argv[1])["square"].point([3.0]))
"""


def start(path):
    here = os.path.dirname(__file__)
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(path)], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": here}, start_new_session=True,
    )  # fmt: skip


def test_eight_processes_at_once_all_succeed(own):
    running = [start(own) for _ in range(8)]
    texts = [process.communicate()[0] for process in running]
    assert texts == ["([20.0], [0])\n"] * 8
    assert len(list(store.entries(own))) == 3
    assert list((store.folder(own) / "work").iterdir()) == []


def test_a_killed_build_leaves_nothing_trusted(own):
    process = start(own)
    until = time.monotonic() + 20
    before = set((store.folder(own) / "work").iterdir())
    while not set((store.folder(own) / "work").iterdir()) - before and time.monotonic() < until:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(list(store.entries(own))) == 2
    check(own, 11.0)
    for left in (store.folder(own) / "work").iterdir():
        os.utime(left, (0, 0))
    store.sweep_leftovers(own)
    assert list((store.folder(own) / "work").iterdir()) == []


def test_each_input_changes_the_key(monkeypatch):
    graphs = {"square": square()}

    def key():
        return store.KERNELS.key(building.cache_key_inputs(graphs))

    keys = [key(), store.KERNELS.key(building.cache_key_inputs({"square": square(3.0)})),
            store.KERNELS.key(building.cache_key_inputs({"a": square(), "b": square()})),
            store.KERNELS.key(building.cache_key_inputs(graphs, ["-g"]))]  # fmt: skip
    for part in building.cache_key_inputs(graphs):
        changed = {**building.cache_key_inputs(graphs), part: "other"}
        keys.append(store.KERNELS.key(changed))
    monkeypatch.setenv("CC", "gcc -m64")
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_the_key_has_all_it_should():
    parts = building.cache_key_inputs({"square": square()})
    assert {"graphs", "flags", "cython", "compiler", "python", "cpu", "generator"} <= set(parts)


def test_every_file_of_a_generator_is_in_its_fingerprint(tmp_path, monkeypatch):
    package = tmp_path / "generator"
    (package / "templates").mkdir(parents=True)
    files = [package / n for n in ("__init__.py", "emit.py", "templates/kernel.c.j2")]
    for file in files:
        file.write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    seen = {fingerprint.code("generator")}
    for file in files:
        file.write_text("# changed")
        fingerprint.code.cache_clear()
        fingerprint._content.cache_clear()
        seen.add(fingerprint.code("generator"))
    fingerprint.code.cache_clear()
    fingerprint._content.cache_clear()
    assert len(seen) == len(files) + 1


def test_parts_of_a_key_do_not_run_together():
    assert store.key({"a": "bc", "d": ""}) != store.key({"a": "b", "cd": ""})
    assert store.key({"a": "1", "b": "2"}) == store.key({"b": "2", "a": "1"})


def test_entries_size_and_clear(own):
    assert sum(e.size for e in store.entries(own)) > 10_000
    assert store.clear(own) == 2
    assert list(store.entries(own)) == []
    check(own)


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / "here"))
    assert store.folder() == tmp_path / "here" / store.NAME
    assert store.folder(tmp_path) == tmp_path / store.NAME
    monkeypatch.delenv("HWDSL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert sys.platform != "linux" or store.folder() == tmp_path / "caches" / store.NAME


def test_a_relative_folder_is_that_of_its_first_use(own, monkeypatch):
    monkeypatch.chdir(own.parent)
    own.rename(f"-{own.parent.name}")
    monkeypatch.setenv("HWDSL_CACHE_DIR", f"-{own.parent.name}")
    first = check(None, 12.0)
    monkeypatch.chdir("/")
    assert first.path.is_relative_to(own.parent)
    assert check(None, 12.0).path == first.path


def test_loading_twice_gives_one_module(own):
    first, second = check(own), check(own)
    assert first["square"].module is second["square"].module
    assert np.isnan(first["square"].point([np.nan])[0][0])


# --- nothing but the cache is touched ------------------------------------------------------------


def tree(folder):
    """All that is in a folder: texts, modes and ages."""
    return {
        path.relative_to(folder): (path.lstat().st_mode, path.lstat().st_mtime_ns,
                                   path.is_file() and path.read_bytes())
        for path in sorted(folder.rglob("*")) if store.NAME not in path.parts
    }  # fmt: skip


def test_a_folder_in_use_keeps_what_it_holds(tmp_path):
    for name in ("work", "work/build-house", "kernels", "loaded", "parsed", "work/old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").write_text("mine")
    (tmp_path / "kernels" / ("0" * 64)).mkdir()
    for path in tmp_path.rglob("*"):
        os.utime(path, (0, 0))
    tmp_path.chmod(0o755)
    before = tree(tmp_path)
    store.publish("1" * 64, [tmp_path / "work" / "mine.txt"], {}, tmp_path)
    store.sweep_leftovers(tmp_path)
    assert store.clear(tmp_path) == 1
    assert tree(tmp_path) == before
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_folder_of_that_name_that_is_none_of_ours_is_refused(tmp_path, monkeypatch, capsys):
    root = store.folder(tmp_path)
    (root / "work" / "build-house").mkdir(parents=True)
    (root / "work" / "build-house" / "mine.txt").write_text("mine")
    os.utime(root / "work" / "build-house", (0, 0))
    root.chmod(0o755)
    with pytest.raises(BuildError, match=f"{root} is there and is no cache of hwdsl.*remove it"):
        build({"square": square()}, cache_dir=tmp_path)
    store.sweep_leftovers(tmp_path)
    with pytest.raises(store.CacheError, match=f"no {store.TAG} in it"):
        store.clear(tmp_path)
    from hwdsl.cli.main import main

    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path))
    assert (main(["cache"]), main(["doctor"])) == (2, 0)
    assert [text.count("is no cache of hwdsl") for text in capsys.readouterr()] == [1, 1]
    assert main(["doctor", "--format", "json"]) == 0
    assert "is no cache of hwdsl" in json.loads(capsys.readouterr().out)["cache_refused"]
    assert (root / "work" / "build-house" / "mine.txt").read_text() == "mine"
    assert root.stat().st_mode & 0o777 == 0o755
    assert os.listdir(tmp_path) == [store.NAME]


def test_an_empty_folder_of_that_name_becomes_the_cache(tmp_path):
    store.folder(tmp_path).mkdir(mode=0o755)
    store.put(store.PARSED, "0" * 64, "text", tmp_path)
    assert store.get(store.PARSED, "0" * 64, str, tmp_path) == "text"


def test_the_tag_is_that_of_the_convention(own):
    text = (store.folder(own) / store.TAG).read_bytes()
    assert text.startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    (store.folder(own) / store.TAG).write_bytes(text[:40])
    assert forbidden(own)


def test_only_our_names_are_removed(own):
    root = store.folder(own)
    store.put(store.LOADED, "1" * 64, "text", own)
    kept = [root / "kernels" / "mine", root / "loaded" / "mine.json", root / "work" / "mine"]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        os.utime(path, (0, 0))
    (root / "work" / "build-old").mkdir()
    os.utime(root / "work" / "build-old", (0, 0))
    store.sweep_leftovers(own)
    assert not (root / "work" / "build-old").exists()
    store.clear(own)
    assert {path for path in root.rglob("*") if path.is_file()} == {*kept, root / store.TAG}


@pytest.mark.parametrize("spoil", [
    lambda root: root.chmod(0o777), lambda root: root.parent.chmod(0o777),
    lambda root: os.chown(root, 12345, 12345), lambda root: os.chown(root.parent, 12345, 12345),
])  # fmt: skip
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_cache_where_strangers_can_swap_is_not_read(own, spoil):
    store.put(store.PARSED, "0" * 64, "text", own)
    spoil(store.folder(own))
    assert forbidden(own)
    assert store.get(store.PARSED, "0" * 64, str, own) is None
    own.chmod(0o1777)  # as that for temporary files
    os.chown(own, 0, 0)
    os.chown(store.folder(own), 0, 0)
    store.folder(own).chmod(0o700)
    assert not forbidden(own)


@pytest.mark.parametrize(("compiler", "said"), [
    ('gcc "', 'CC is `gcc "`, which is no command: No closing quotation'),
    ("true", r"true is no C compiler: it made no (kernels|module)\.o"),
    ("{}/text", "cannot run the C compiler .*text: Exec format error"),
])  # fmt: skip
def test_what_is_no_compiler_is_said_to_be_none(compiler, said, own, monkeypatch):
    (own / "text").write_text("no program")
    (own / "text").chmod(0o755)
    monkeypatch.setenv("CC", compiler.format(own))
    with pytest.raises(BuildError, match=said):
        build({"square": square(17.0)}, cache_dir=own)


@pytest.mark.parametrize("name", ["a" * 300, "file/below"])
def test_places_that_cannot_be_are_named(name, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HWDSL_CACHE_DIR", str(tmp_path / name))
    with pytest.raises(BuildError, match=r"cannot write to the cache folder .*HWDSL_CACHE_DIR"):
        build({"square": square()})
    assert store.get(store.PARSED, "0" * 64, str) is None
    assert store.clear() == 0
