# SPDX-License-Identifier: Apache-2.0
"""The generator of the process: seeds, threads, forks, and functions of NumPy and PyTorch that draw from it."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dltensor as dl
from dltensor.random import Generator, default_generator

PACKAGE = Path(dl.__file__).parent
# Functions that draw, without a shape of their own; each gives one tensor.
DRAWS = {
    "rand": lambda: dl.random.rand(3),
    "torch's rand": lambda: dl.rand(3),
    "randn": lambda: dl.random.randn(2, 3),
    "torch's randn": lambda: dl.randn((2, 3)),
    "rand_like": lambda: dl.rand_like(dl.zeros(3)),
    "randn_like": lambda: dl.randn_like(dl.zeros(3)),
    "randint": lambda: dl.random.randint(0, 100, 5),
    "torch's randint": lambda: dl.randint(100, (5,)),
    "randperm": lambda: dl.randperm(30),
    "torch's normal": lambda: dl.normal(dl.zeros(3), 2.0),
    "bernoulli": lambda: dl.bernoulli(dl.full(50, 0.5)),
    "torch's multinomial": lambda: dl.multinomial(dl.ones((3, 40)), 5),
    "dropout": lambda: dl.dropout(dl.ones(50)),
    "random": lambda: dl.random.random((2, 2)),
    "random_sample": lambda: dl.random.random_sample(3),
    "uniform": lambda: dl.random.uniform(-1, 1, 3),
    "normal": lambda: dl.random.normal(0, 1, 3),
    "choice": lambda: dl.random.choice(100, 9, False),
    "permutation": lambda: dl.random.permutation(30),
}


@pytest.fixture(autouse=True)
def _state_is_restored():
    before = default_generator.state
    yield
    default_generator.state = before


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_seed_determines_what_is_drawn(draw):
    dl.random.seed(7)
    first, next_one = draw().tolist(), draw().tolist()
    dl.manual_seed(7)
    assert draw().tolist() == first != next_one
    assert draw().tolist() == next_one
    dl.random.seed(8)
    assert draw().tolist() != first


def test_functions_are_methods_of_one_generator():
    for name in ("normal", "choice", "shuffle", "random_sample"):
        assert getattr(dl.random, name).__self__ is default_generator
    assert dl.manual_seed(3) is default_generator
    dl.random.seed(3)
    assert dl.random.normal(0, 1, 4).tolist() == Generator(3).normal(shape=4).tolist()
    dl.random.seed([1, 2])
    assert default_generator.state == Generator([1, 2]).state


def test_a_seed_of_the_system_is_another_each_time():
    states = [dl.random.seed() or default_generator.state["key"] for _ in range(3)]
    assert len(set(states)) == 3


@pytest.mark.parametrize("seed", [1.5, "a", object(), [1.5], None])
def test_a_wrong_seed_leaves_the_state(seed):
    dl.manual_seed(5)
    before = dl.random.rand(1).item(), default_generator.state
    if seed is not None:
        with pytest.raises(TypeError, match=r"^seed: "):
            dl.random.seed(seed)
    with pytest.raises(TypeError, match=r"^manual_seed: seed must be an integer"):
        dl.manual_seed(seed)
    assert default_generator.state == before[1]


def test_a_generator_that_is_passed_leaves_that_of_the_process():
    dl.random.seed(1)
    before = default_generator.state
    for draw in (
        lambda g: dl.rand(3, generator=g),
        lambda g: dl.randn(2, 2, generator=g),
        lambda g: dl.randint(9, (3,), generator=g),
        lambda g: dl.randperm(9, generator=g),
        lambda g: dl.normal(0.0, 1.0, size=3, generator=g),
        lambda g: dl.bernoulli([0.5] * 9, generator=g),
        lambda g: dl.multinomial([1.0, 2.0], 9, True, generator=g),
    ):
        assert draw(Generator(4)).tolist() == draw(Generator(4)).tolist()
        with pytest.raises(TypeError, match=r"expected a dl.random.Generator or None, got int"):
            draw(4)
    assert default_generator.state == before


def test_nothing_else_in_the_package_draws_from_it():
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "default_generator" in path.read_text()
    ]
    assert sorted(found) == ["_spellings/helpers.py", "random/__init__.py", "random/_default.py"]
    helpers = (PACKAGE / "_spellings" / "helpers.py").read_text()
    assert len(re.findall(r"\bdefault_generator\b", helpers)) == 2


def test_the_package_does_not_load_it():
    program = "import sys, dltensor; print([name for name in sys.modules if name.startswith('dltensor.random.')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


# -- threads and processes --------------------------------------------------------------------------------------------


def test_threads_get_different_numbers():
    dl.random.seed(11)
    drawn = [[] for _ in range(4)]
    start = threading.Barrier(4)

    def draw(into):
        start.wait()
        for _ in range(300):
            into += dl.random.randint(0, 2**62, 8).tolist()

    threads = [threading.Thread(target=draw, args=(into,)) for into in drawn]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    together = [number for into in drawn for number in into]
    assert len(set(together)) == len(together) == 4 * 2400
    dl.random.seed(11)
    assert sorted(together) == sorted(dl.random.randint(0, 2**62, 9600).tolist()), "the sequence, shared out"


def test_seeds_in_other_threads_give_whole_states():
    """A draw takes the key and the position of one state, never those of two."""
    stop = threading.Event()
    firsts = {number: Generator(number).random(64).tolist() for number in range(2)}
    known = {value for values in firsts.values() for value in values}

    def seed():
        while not stop.is_set():
            for number in range(2):
                dl.random.seed(number)

    thread = threading.Thread(target=seed)
    thread.start()
    try:
        assert all(dl.random.random().item() in known for _ in range(2000) if default_generator.state["position"] < 60)
    finally:
        stop.set()
        thread.join()


def in_children(seed):
    """Return the values that two forked processes and their parent draw."""
    program = f"""
import os, dltensor as dl
{seed}
dl.random.rand(3)
for _ in range(2):
    child = os.fork()
    if not child:
        print(dl.random.randint(0, 2**62).item(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print(dl.random.randint(0, 2**62).item())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize(
    ("seed", "count"), [("", 3), ("dl.random.seed()", 3), ("dl.random.seed(1)", 1), ("dl.manual_seed(1)", 1)]
)
def test_forked_processes_draw_other_numbers_unless_there_was_a_seed(seed, count):
    drawn = in_children(seed)
    assert (len(drawn), len(set(drawn))) == (3, count)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_state_that_was_set_is_a_seed():
    drawn = in_children("dl.random.default_generator.state = dl.random.Generator(2).state")
    assert len(set(drawn)) == 1


# -- forms of NumPy and PyTorch ---------------------------------------------------------------------------------------


def test_shapes_may_come_one_by_one_or_together():
    for draw in (dl.rand, dl.randn):
        for arguments in ((2, 3), ((2, 3),), ([2, 3],), (np.int64(2), dl.asarray(3))):
            assert draw(*arguments).shape == (2, 3)
        assert draw().shape == ()
        assert draw(0).shape == (0,)
        assert draw(size=(2, 3)).shape == (2, 3)
        assert draw(2, dtype="float64", device="cpu").dtype == dl.float64
        out = dl.zeros((2, 2))
        assert draw(2, 2, out=out) is out
        with pytest.raises(TypeError, match=r"expected extents or size, got both"):
            draw(2, size=3)
        with dl.default_dtype("float64"):
            assert draw(2).dtype == dl.float64


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-1,), ValueError),
        ((2, -3), ValueError),
        ((2.0,), TypeError),
        ((True,), None),
        (("a",), TypeError),
        ((None,), TypeError),
        ((2**70,), (ValueError, OverflowError, MemoryError, TypeError)),
        ((2**40, 2**40), (ValueError, OverflowError, MemoryError)),
        ((2**45,), MemoryError),
        ((*(1,) * 65,), ValueError),
    ],
)
def test_wrong_extents_are_refused(arguments, error):
    for name, draw in (("rand", dl.rand), ("randn", dl.randn), ("rand", dl.random.rand), ("randn", dl.random.randn)):
        if error is None:
            assert draw(*arguments).shape == dl.zeros(arguments).shape
            continue
        before = default_generator.state
        with pytest.raises(error, match=f"^{name}: "):
            draw(*arguments)
        assert default_generator.state == before


def test_randint_takes_the_arguments_of_both():
    assert (
        dl.randint(7, (2, 3)).shape == dl.randint(0, 7, (2, 3)).shape == dl.randint(high=7, size=(2, 3)).shape == (2, 3)
    )
    assert dl.randint(5, size=4).shape == dl.random.randint(5, size=4).shape == (4,)
    assert dl.random.randint(10).shape == ()
    values = dl.randint(3, 6, (500,))
    assert set(values.tolist()) == {3, 4, 5}
    assert dl.randint(0, 200, (2,), dtype=dl.uint8).dtype == dl.uint8
    for draw in (dl.randint, dl.random.randint):
        for arguments, error in (((0,), ValueError), ((5, 5), ValueError), ((1.5,), TypeError), (("a", 3), TypeError)):
            with pytest.raises(error, match=r"^randint: "):
                draw(*arguments)
    with pytest.raises(TypeError, match=r"^randint: high must be an integer"):
        dl.random.randint(1, [3, 5])  # bounds of each in NumPy


def test_normal_takes_tensors_of_means_and_deviations():
    drawn = dl.normal(dl.asarray([0.0, 100.0]), dl.asarray([[0.0], [1e-3]]))
    assert drawn.shape == (2, 2)
    assert drawn[0].tolist() == [0.0, 100.0]
    assert dl.normal(dl.zeros(3, dtype="float64"), 1.0).dtype == dl.float64
    assert dl.normal(dl.asarray([1, 2]), 1).dtype == dl.float32
    assert dl.normal(dl.zeros(3), 1.0, dtype="float16").dtype == dl.float16
    assert dl.normal(2.0, dl.zeros(3)).tolist() == [2.0] * 3
    with pytest.raises(ValueError, match=r"^normal: expected std of at least 0"):
        dl.normal(0.0, dl.asarray([1.0, -1.0]))


def test_multinomial_draws_by_the_weights_of_rows():
    dl.manual_seed(1)
    weights = dl.asarray([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    drawn = dl.multinomial(weights, 400, True)
    assert set(drawn[0].tolist()) == {1}
    assert set(drawn[1].tolist()) == {0, 2}
    assert drawn.dtype == dl.int64
    assert sorted(weights[1].multinomial(2).tolist()) == [0, 2]
    assert dl.multinomial(dl.zeros((0, 3)), 2).shape == (0, 2)
    for wrong in (lambda: dl.multinomial(weights, 2), lambda: dl.multinomial(dl.ones((1, 1, 1)), 1)):
        with pytest.raises(ValueError, match=r"^multinomial: "):
            wrong()


def test_bernoulli_and_dropout_have_their_probabilities():
    dl.manual_seed(2)
    assert abs(dl.bernoulli(dl.full(20000, 0.3)).mean().item() - 0.3) < 0.02
    assert dl.bernoulli(dl.asarray([0.0, 1.0] * 20)).tolist() == [0.0, 1.0] * 20
    dropped = dl.dropout(dl.ones(20000), 0.25)
    assert set(dl.unique(dropped).tolist()) == {0.0, dl.asarray(4 / 3).item()}
    assert abs(dropped.mean().item() - 1) < 0.02
    assert dl.dropout(dl.ones(9), 1.0).tolist() == [0.0] * 9
    assert dl.dropout(dl.ones(9), training=False).tolist() == [1.0] * 9
    for wrong in (lambda: dl.bernoulli([1.5]), lambda: dl.bernoulli([float("nan")]), lambda: dl.dropout([1.0], 2.0)):
        with pytest.raises(ValueError, match=r"^(bernoulli|dropout): expected (a )?probabilit"):
            wrong()


def test_refused_arguments_are_answered():
    for call in (lambda: dl.randn(3, requires_grad=True), lambda: dl.rand(3, foo=1)):
        with pytest.raises(TypeError, match=r"^rand.*unexpected keyword argument"):
            call()
    assert dl.rand(3, requires_grad=False, pin_memory=False).shape == (3,)
    assert dl.rand_like(dl.zeros(2), memory_format=dl.preserve_format).shape == (2,)
