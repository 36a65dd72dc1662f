# SPDX-License-Identifier: Apache-2.0
"""The data file of quirks: every row is complete, its condition can be true and false, and others are refused."""

import ast
import itertools

import pytest

import dltensor as dl
from dltensor.inspection import quirks as module
from dltensor.inspection.quirks import FACTS, OUTCOMES, Condition, load, version_key
from dltensor.inspection.reading import NEUTRAL
from dltensor.inspection.sections import headline, sections


def candidates(condition):
    """For every fact of a condition the values worth trying: both truths, every constant, and one beside each."""
    constants = [node.value for node in ast.walk(ast.parse(f"({condition.text})")) if isinstance(node, ast.Constant)]
    for name in sorted(condition.names):
        neutral = NEUTRAL[name]
        if isinstance(neutral, bool):
            yield name, [True, False]
        elif isinstance(neutral, str):
            yield name, [*[value for value in constants if isinstance(value, str)], "none of these"]
        else:
            yield name, sorted({n + d for n in constants if isinstance(n, int) for d in (-1, 0, 1)} | {neutral})


def assignments(condition):
    names = [name for name, _ in candidates(condition)]
    for values in itertools.product(*(values for _, values in candidates(condition))):
        yield NEUTRAL | dict(zip(names, values, strict=True))


@pytest.mark.parametrize("row", load().rows, ids=lambda row: row.id)
def test_the_condition_of_a_row_is_true_of_some_tensors_and_false_of_others(row):
    assert row.when.names <= set(FACTS)
    answers = set()
    for facts in assignments(row.when):
        answers.add(row.when(facts))
        if len(answers) == 2:
            return
    pytest.fail(f"{row.when.text} is always {answers}")


@pytest.mark.parametrize("row", load().rows, ids=lambda row: row.id)
def test_a_row_is_whole(row):
    assert row.id.startswith(f"{row.framework.name}.")
    assert row.effect
    assert row.remedy
    assert row.source == "measured" or "#" in row.source
    assert row.outcome in OUTCOMES
    assert set(row.adapt) <= {"legacy", "readonly", "contiguous", "byte_offset", "lanes", "dtype", "copy", "table"}
    assert {row.first, row.last} <= set(row.framework.measured)
    assert row.adapt.get("readonly") is not False  # dropping the flag is for the user to say


def test_a_plain_tensor_troubles_no_consumer():
    assert [row.id for row in load().about(NEUTRAL)] == ["jax.copy"]


def torch_of(monkeypatch, number):
    """As if that version of torch were installed, or none, and no other framework."""

    def version(distribution):
        if distribution != "torch" or number is None:
            raise module.PackageNotFoundError
        return number

    monkeypatch.setattr(module, "version", version)


def said_about_torch(x):
    report = dl.inspect(x)
    told = [text for _, rows in sections(report) for label, text, _ in rows if label == "torch"]
    return [text for text in told if "negative" in text], headline(report)[0]


@pytest.mark.parametrize(
    ("number", "rows", "worst"),
    [
        (
            "2.13.0+cpu",
            ["torch.negative_strides; seen with torch 2.13.0, no longer with 2.14.1; 2.13.0+cpu is installed;"],
            2,
        ),
        ("2.14.1", ["torch.negative_strides_refused; seen with torch 2.14.1; 2.14.1 is installed;"], 1),
        (
            "2.14.0",
            [
                "torch.negative_strides; seen with torch 2.13.0, no longer with 2.14.1; 2.14.0 is installed, which was "
                "not measured;",
                "torch.negative_strides_refused; seen with torch 2.14.1; 2.14.0 is installed, which was not measured;",
            ],
            2,
        ),
        (
            "2.20",
            ["torch.negative_strides_refused; seen with torch 2.14.1; 2.20 is installed, which was not measured;"],
            1,
        ),
        (
            None,
            [
                "torch.negative_strides; seen with torch 2.13.0, no longer with 2.14.1; not installed here;",
                "torch.negative_strides_refused; seen with torch 2.14.1; not installed here;",
            ],
            1,
        ),
    ],
)
def test_what_is_said_about_torch_is_true_of_the_installed_version(monkeypatch, number, rows, worst):
    torch_of(monkeypatch, number)
    told, head = said_about_torch(dl.arange(4)[::-1])
    assert len(told) == len(rows)
    assert all(words in text for words, text in zip(rows, told, strict=True)), told
    assert f"{worst} known consumer" in head  # paddle gives wrong values in each case


@pytest.mark.parametrize("number", ["2.13.0", "2.14.0", "2.14.1", "2.20", None])
def test_an_array_is_adapted_for_every_version_of_torch(monkeypatch, number):
    torch_of(monkeypatch, number)
    assert dl.adapt(dl.arange(4)[::-1], to="torch").changes == ("copied into C order",)


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("2.13.0", True),
        ("2.13", True),
        ("2.12", None),
        ("2.13.1", None),
        ("2.14.1rc2", None),
        ("2.14.1", False),
        ("2.14.1+cu130", False),
        ("2.14.1.post1", False),
        ("unknown", None),
        (None, None),
    ],
)
def test_a_version_is_known_to_be_affected_or_free_only_by_what_was_measured(number, answer):
    (row,) = [row for row in load().rows if row.id == "torch.negative_strides"]
    assert row.concerns(number) is answer


def test_versions_are_ordered_as_pip_orders_them():
    numbers = ["0.9", "1.0.dev3", "1.0a1", "1.0", "1.0.post1", "1.0.1", "1.2", "1.10", "2026.1"]
    assert sorted(numbers, key=version_key) == numbers


def test_widened_types_exist():
    assert len(load().widen) > 15
    for narrow, wide in load().widen.items():
        assert getattr(dl, narrow).itemsize <= getattr(dl, wide).itemsize


def test_producers_are_checked_against_their_own_rows_only():
    torch = NEUTRAL | {"producer": "torch", "negated": True}
    assert "torch.negated" in [row.id for row in load().about(torch, "torch")]
    assert "torch.negated" not in [row.id for row in load().about(torch | {"producer": "numpy"}, "torch")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unheard_of", "no fact is named"),
        ("readonly and", "invalid syntax"),
        ("print(1)", "not part of the language"),
        ("readonly.real", "not part of the language"),
        ("size + 1 == 2", "not part of the language"),
        ("lanes is 1", "not part of the language"),
        ("[x for x in dtype]", "not part of the language"),
        ("1.5 < size", "not part of the language"),
        ("lambda: 1", "not part of the language"),
        ("", "not part of the"),
    ],
)
def test_the_language_says_no_more_than_it_should(text, words):
    with pytest.raises(ValueError, match=words):
        Condition(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("lanes == 1", True),
        ("not lanes == 1", False),
        ("1 < ndim < 3", True),
        ("1 < ndim < 2", False),
        ("dtype in ['float32']", True),
        ("dtype not in ['float32']", False),
        ("byte_offset > -1", True),
        ("readonly or host", True),
        ("readonly and host", False),
        ("readonly or\n negated or\n conjugated", False),
    ],
)
def test_the_language_means_what_it_says(text, answer):
    assert Condition(text)(NEUTRAL) is answer


def test_a_broken_data_file_is_refused_with_the_row(tmp_path):
    head = '[framework.f]\ndistribution = "f"\nmodule = "f"\nmeasured = ["1", "2"]\n[widen]\n'
    row = (
        '[[quirk]]\nid = "f.x"\nrole = "consumer"\nwhen = "readonly"\noutcome = "ignored"\n'
        'effect = "e"\nremedy = "r"\nfirst = "1"\nlast = "2"\n'
    )
    path = tmp_path / "q.toml"
    for text, words in (
        (row.replace('"consumer"', '"eater"'), "role must be one of"),
        (row.replace('"ignored"', '"odd"'), "outcome must be one of"),
        (row.replace('"f.x"', '"g.x"'), "framework must be one of"),
        (row.replace('first = "1"', 'first = "0.9"'), "first and last must be among the measured versions"),
        (row.replace('last = "2"', 'last = "3"'), "first and last must be among the measured versions"),
        (row + row, "several quirks"),
    ):
        path.write_text(head + text)
        load.cache_clear()
        with pytest.raises(ValueError, match=words):
            load(path)
    load.cache_clear()
