"""Archives damaged in hundreds of ways, described in a process of its own: no crash, and never a wrong description.

A description may always lack what it does not know, and an error of ours is always right. What it states of names, data
types, ranks and fixed sizes has to be true of the package that the damaged one was made of.
"""

import io
import json
import random
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from triton_pytorch.formats.kinds import identify
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.pt2_loader.archive import read_model
from triton_pytorch.pt2_loader.description import Description, describe
from triton_pytorch.tests.assets.packages import package_path, package_paths

ROOT = Path(__file__).resolve().parents[2]
BASES = ("relations", "scalar_inputs")
OTHER = "typed"
LIMIT_S = 300

Entries = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """A damaged archive; `base` is the package that it must not be described wrongly of."""

    kind: str
    what: str
    base: str
    content: bytes


def stripped(package: str) -> Entries:
    """Return the entries of a package without its machine code, which nobody reads for a description."""
    with zipfile.ZipFile(package_path(package)) as archive:
        return {name: b"\x7fELF" if name.endswith(".so") else archive.read(name) for name in archive.namelist()}


def packed(entries: Sequence[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # zipfile warns of names that are there twice
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def cases(base: str) -> Iterator[Case]:
    """Yield the damaged archives made of one package."""
    entries, dice = stripped(base), random.Random(base)
    whole = packed(list(entries.items()))
    made = {
        "whole": [("nothing", whole)],
        "flipped bytes": flipped(whole, dice),
        "truncated": [(f"at {size}", whole[:size]) for size in (*range(0, len(whole), 1024), len(whole) - 1)],
        "entries": damaged_entries(entries, dice),
        "metadata": other_metadata(entries),
        "wrapper lines": damaged_lines(entries, dice),
        "another wrapper": other_wrappers(entries),
        "hostile wrapper": hostile_wrappers(entries),
    }
    for kind, archives in made.items():
        for what, content in archives:
            yield Case(kind, what, base, content)


def flipped(whole: bytes, dice: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield the archive with some bytes changed, half of them in the listing at its end."""
    listing = whole.index(b"PK\x01\x02")
    for number in range(150):
        content = bytearray(whole)
        places = [dice.randrange(listing if number % 2 else 0, len(whole)) for _ in range(1 + number % 4)]
        for place in places:
            content[place] ^= 1 << dice.randrange(8)
        yield f"at {places}", bytes(content)


def damaged_entries(entries: Entries, dice: random.Random) -> Iterator[tuple[str, bytes]]:
    items = list(entries.items())
    for position, (name, content) in enumerate(items):
        others = items[:position] + items[position + 1 :]
        yield f"without {name}", packed(others)
        yield f"{name} twice", packed([*items, (name, content)])
        yield f"{name} twice, once empty", packed([(name, b""), *items])
        for renamed in (name + ".old", Path(name).name, name.upper(), "elsewhere/" + name, name.replace("/", "\\")):
            yield f"{name} as {renamed}", packed([*others, (renamed, content)])
        yield f"{name} empty", packed([*others, (name, b"")])
        yield f"{name} cut in half", packed([*others, (name, content[: len(content) // 2])])
        yield f"{name} of noise", packed([*others, (name, dice.randbytes(500))])
    for number in range(5):
        yield f"shuffled {number}", packed(dice.sample(items, len(items)))


_NO_DEVICES: list[object] = [None, 5, [], {}, "cpu", "cuda", "tpu\n"]


def other_metadata(entries: Entries) -> Iterator[tuple[str, bytes]]:
    texts = ["", "[]", "{}", "null", "1e999", '"cpu"', "NaN", "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "\0", "{"]
    texts += [json.dumps({"AOTI_DEVICE_KEY": value}) for value in _NO_DEVICES]
    texts += [json.dumps({"AOTI_CPU_ISA": value}) for value in (None, 5, ["AVX2"], "AVX2 " * 10_000)]
    for text in texts:
        yield text[:40], packed([(n, text.encode() if n.endswith("_metadata.json") else c) for n, c in entries.items()])


def with_wrapper(entries: Entries, text: str) -> bytes:
    return packed([(n, text.encode() if n.endswith(".wrapper.cpp") else c) for n, c in entries.items()])


def wrapper_of(entries: Entries) -> str:
    return next(content for name, content in entries.items() if name.endswith(".wrapper.cpp")).decode()


def damaged_lines(entries: Entries, dice: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield wrapper sources that lack lines, or have them twice or elsewhere, as another torch may write them."""
    text = wrapper_of(entries)
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if "AOTInductorModelBase(" in line)
    for _ in range(150):
        number, other = (dice.randrange(first, len(lines)) for _ in range(2))
        changed = list(lines)
        match dice.choice(("without", "twice", "swapped with the next", "block gone", "moved")):
            case "without" as how:
                del changed[number]
            case "twice" as how:
                changed.insert(number, lines[number])
            case "swapped with the next" as how:
                changed[number : number + 2] = reversed(changed[number : number + 2])
            case "block gone" as how:
                del changed[number : number + dice.randrange(2, 60)]
            case how:
                changed.insert(other, changed.pop(number))
        yield f"line {number} {how}: {lines[number].strip()}", with_wrapper(entries, "".join(changed))
    for size in range(0, len(text), 1024):
        yield f"ends at {size}", with_wrapper(entries, text[:size])


def other_wrappers(entries: Entries) -> Iterator[tuple[str, bytes]]:
    """Yield the archive with parts of another model, under that one's names."""
    others = stripped(OTHER)
    for suffix in (".wrapper.cpp", ".kernel.cpp", ".wrapper_metadata.json"):
        kept = [(name, content) for name, content in entries.items() if not name.endswith(suffix)]
        folder = next(name for name in entries if name.endswith(".so")).rpartition("/")[0]
        added = [(f"{folder}/{Path(n).name}", content) for n, content in others.items() if n.endswith(suffix)]
        yield f"{suffix} of another", packed([*kept, *added])


def hostile_wrappers(entries: Entries) -> Iterator[tuple[str, bytes]]:
    """Yield sources that keep a careless parser busy without end, or make it recurse too deep."""
    text, many = wrapper_of(entries), 20_000
    deep = "(" * many + "s1" + ")" * many
    terms = "(" + "+".join(f"a{i}" for i in range(300)) + ")*(" + "+".join(f"b{i}" for i in range(300)) + ")"
    for part in (
        "static void check_input_0(",
        "static void check_input_0(\nint",
        'in_spec_ = R"(',
        "AOTInductorModelBase(1, 1, 0, ",
        "assert_size_stride(arg0_1, {",
        "assert_size_stride(arg0_1, {}, {",
        "int64_t s1 = s2; ",
        "if (1 != arg0_1_size[0]) ",
    ):
        yield f"{part} again and again", with_wrapper(entries, text + part * many)
        yield f"only {part}", with_wrapper(entries, part * many)
    for size in (deep, "-" * many + "s1", "s1" + " + s1" * many, "9" * 10_000, terms, "s1*" * many + "s1"):
        asserted = f'assert_size_stride(arg0_1, {{{size}, }}, {{1L, }}, "input");'
        yield f"a size {size[:20]}", with_wrapper(entries, text.replace("assert_size_stride(arg0_1, ", asserted + "//"))
    for spec in ("[" * many, "9" * many, '[1, {"type": "builtins.tuple", "children_spec": ['):
        yield f"a spec {spec[:20]}", with_wrapper(entries, f'in_spec_ = R"({spec})";\nout_spec_ = R"([1, null])";\n')


def verdict(path: Path, true: Description) -> str:
    """Return `described`, `poorer`, `refused`, or what is wrong."""
    try:
        identify(path)
        description = describe(read_model(path, None))
    except BackendError as error:
        return "refused" if str(error) and "\n" not in str(error) else f"an error without one sentence: {error!r}"
    except Exception:
        return f"not our error: {traceback.format_exc()}"
    wrong = list(wrong_statements(description, true))
    if wrong:
        return f"wrong: {wrong}"
    return "described" if (description.inputs, description.outputs) == (true.inputs, true.outputs) else "poorer"


def wrong_statements(got: Description, true: Description) -> Iterator[str]:
    for leaves, true_leaves in ((got.inputs, true.inputs), (got.outputs, true.outputs)):
        if leaves is None or true_leaves is None:
            continue
        if [leaf.path for leaf in leaves] != [leaf.path for leaf in true_leaves]:
            yield f"names {[str(leaf) for leaf in leaves]}"
            continue
        for leaf, true_leaf in zip(leaves, true_leaves, strict=True):
            if leaf.dtype not in (None, true_leaf.dtype):
                yield f"{leaf} has dtype {leaf.dtype}"
            sizes, true_sizes = ([d.size.constant for d in each.shape or ()] for each in (leaf, true_leaf))
            if leaf.shape is not None and sizes != true_sizes:
                yield f"{leaf} has sizes {sizes}"


def main(packages: Sequence[str]) -> None:
    """Judge every case, and print kind, case and verdict of each as a line of JSON."""
    for base in packages:
        true = describe(read_model(package_path(base), None))
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.pt2"
            for case in cases(base):
                path.write_bytes(case.content)
                print(json.dumps([case.kind, f"{base}: {case.what}", verdict(path, true)]), flush=True)


def run_child(script: str, *arguments: str) -> list[list[str]]:
    """Run a script that prints lines of JSON, in a process whose death is noticed."""
    script = f"import runpy, sys; runpy.run_path(sys.argv[1]); {script}"
    command = [sys.executable, "-c", script, str(ROOT / "tests" / "conftest.py"), *arguments]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    assert child.returncode == 0, f"the process ended with {child.returncode} after {lines[-1:]}"
    return lines


@pytest.fixture(scope="module")
def verdicts() -> list[list[str]]:
    package_paths([*BASES, OTHER])
    return run_child("from triton_pytorch.tests.integration.test_fuzz import main; main(sys.argv[2:])", *BASES)


# What may come of the cases of each kind, and has to come of some of them.
EXPECTED = {
    "whole": {"described"},
    "flipped bytes": {"described", "poorer", "refused"},
    "truncated": {"refused"},
    "entries": {"described", "poorer", "refused"},
    "metadata": {"described"},
    "wrapper lines": {"described", "poorer"},
    "another wrapper": {"described", "poorer"},
    "hostile wrapper": {"described", "poorer", "refused"},
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_no_damage_makes_a_wrong_description(verdicts: list[list[str]], kind: str) -> None:
    of_kind = {what: found for case_kind, what, found in verdicts if case_kind == kind}
    assert {what: found for what, found in of_kind.items() if found not in EXPECTED[kind]} == {}
    assert set(of_kind.values()) == EXPECTED[kind]


@pytest.mark.parametrize(
    ("package", "old", "new", "statement"),
    [
        ("relations", "_dtype_float32()", "_dtype_float64()", "KWARGS[longer] has dtype float64"),
        ("aliases", "(3 != arg1_1_", "(7 != arg1_1_", "ARGS[1] has sizes [None, None, 7]"),
        ("relations", r"\"longer\"", r"\"longest\"", "names ['ARGS[0]', 'ARGS[1]', 'KWARGS[longest]'"),
    ],
)
def test_a_wrong_description_is_noticed(tmp_path: Path, package: str, old: str, new: str, statement: str) -> None:
    entries = stripped(package)
    path = tmp_path / "model.pt2"
    path.write_bytes(with_wrapper(entries, wrapper_of(entries).replace(old, new)))
    found = verdict(path, describe(read_model(package_path(package), None)))
    assert found.startswith("wrong: ")
    assert statement in found


def test_the_death_of_the_process_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"the process ended with -6 after \[\['last'\]\]"):
        run_child("import os; print('[\"last\"]', flush=True); os.abort()")
