# SPDX-License-Identifier: Apache-2.0
"""`dl.reproducible`: errors of functions that a library computes; other results are the same with it and without."""

import asyncio
import contextvars
import threading

import pytest
from children import output_of

import dltensor as dl

BY_A_LIBRARY = {
    "eigh": lambda: dl.linalg.eigh(dl.eye(9)),
    "eigvalsh": lambda: dl.linalg.eigvalsh(dl.eye(9)),
    "eig": lambda: dl.linalg.eig(dl.eye(2)),
    "eigvals": lambda: dl.linalg.eigvals(dl.eye(2)),
    "svd": lambda: dl.linalg.svd(dl.ones((3, 9))),
    "svdvals": lambda: dl.linalg.svdvals(dl.ones((9, 3))),
    "pinv": lambda: dl.linalg.pinv(dl.eye(9)),
    "matrix_rank": lambda: dl.linalg.matrix_rank(dl.eye(9)),
    "fft": lambda: dl.fft.fft(dl.ones(4)),
    "ifft": lambda: dl.fft.ifft(dl.ones(4)),
    "rfft": lambda: dl.fft.rfft(dl.ones(4)),
    "irfft": lambda: dl.fft.irfft(dl.ones(4)),
    "fftn": lambda: dl.fft.fftn(dl.ones((2, 2))),
    "hfft": lambda: dl.fft.hfft(dl.ones(4)),
}


def is_inside():
    """Return whether the caller is inside a block: a function that a library computes then raises."""
    try:
        dl.fft.fft(dl.ones(2))
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize("name", BY_A_LIBRARY)
def test_what_a_library_computes_raises_inside_the_block_only(name):
    BY_A_LIBRARY[name]()
    with pytest.raises(RuntimeError) as caught, dl.reproducible():
        BY_A_LIBRARY[name]()
    assert str(caught.value).startswith(f"{name}: computed by ")
    assert str(caught.value).endswith(" inside dl.reproducible(); call it outside the block")
    BY_A_LIBRARY[name]()


def test_what_the_package_computes_has_the_same_bits_inside():
    a = dl.random.Generator(5).normal(size=(70, 70), dtype="float64")

    def results():
        return [
            t.tobytes()
            for t in (
                a @ a,
                dl.einsum("ij,kj->ik", a, a),
                *dl.linalg.qr(a),
                dl.linalg.inv(a),
                dl.linalg.svdvals(a[:8, :8]),
            )
        ]

    outside = results()
    with dl.reproducible():
        assert results() == outside
        assert dl.linalg.eigvalsh(dl.eye(8)).tolist() == [1.0] * 8


def test_blocks_are_nested_and_end_in_any_order():
    block, other = dl.reproducible(), dl.reproducible()
    with block:
        with block, other:
            assert is_inside()
        assert is_inside()
    assert not is_inside()
    block.__enter__()
    other.__enter__()
    block.__exit__(None, None, None)
    assert is_inside()
    other.__exit__(None, None, None)
    assert not is_inside()


def test_a_block_that_raises_is_left():
    with pytest.raises(ZeroDivisionError), dl.reproducible():
        raise ZeroDivisionError
    assert not is_inside()


def test_a_decorated_function_runs_inside():
    @dl.reproducible()
    def inside():
        """Say so."""
        return is_inside()

    assert inside()
    assert inside.__doc__ == "Say so."
    assert not is_inside()


def test_what_runs_after_its_call_is_not_decorated():
    def generator():
        yield

    async def coroutine():
        pass

    for function in (generator, coroutine):
        with pytest.raises(
            TypeError, match=f"^reproducible: .*{function.__name__} is a coroutine or generator function"
        ):
            dl.reproducible()(function)


def test_other_threads_and_tasks_are_outside():
    found = []
    with dl.reproducible():
        thread = threading.Thread(target=lambda: found.append(contextvars.Context().run(is_inside)))
        thread.start()
        thread.join()
    assert found == [False]

    async def main():
        entered, leave = asyncio.Event(), asyncio.Event()

        async def reproducible():
            with dl.reproducible():
                entered.set()
                await leave.wait()
                return is_inside()

        task = asyncio.create_task(reproducible())
        await entered.wait()
        outside = is_inside()
        leave.set()
        return outside, await task

    assert asyncio.run(main()) == (False, True)


def test_a_generator_that_is_closed_in_another_context_ends_its_block():
    def suspended():
        with dl.reproducible():
            yield

    generator = suspended()
    context = contextvars.copy_context()
    context.run(next, generator)
    assert context.run(is_inside)
    assert not is_inside()
    generator.close()
    assert not context.run(is_inside)


@pytest.mark.parametrize(("value", "said"), [("1", "True"), ("0", "False"), ("", "False")])
def test_a_variable_makes_the_process_reproducible(value, said):
    program = """
import dltensor as dl
try:
    dl.linalg.eigvals(dl.eye(2))
    print(False)
except RuntimeError:
    print(True)
"""
    assert output_of(program, DLTENSOR_REPRODUCIBLE=value) == said


# -- bits on several instruction sets ---------------------------------------------------------------------------------

HASHES = """
import hashlib, dltensor as dl
for dtype in ("float32", "float64", "complex64", "complex128"):
    for n in (12, 33, 70, 200):
        g = dl.random.Generator(n)
        a = g.normal(size=(n, n), dtype="float64")
        if dtype[0] == "c":
            a = a + 1j * g.normal(size=(n, n), dtype="float64")
        a = a.astype(dtype)
        h = a @ dl.conj(a.mT) + n * dl.eye(n, dtype=dtype)
        results = [*dl.linalg.qr(a), dl.linalg.solve(a, a[:, :5]), dl.linalg.inv(a), dl.linalg.det(a),
                   dl.linalg.cholesky(h), a @ a[0], a[0] @ a, dl.einsum("ij,ij->i", a, a)]
        print(dtype, n, [hashlib.sha256(t.tobytes()).hexdigest()[:6] for t in results])
"""


def test_factorizations_and_products_have_the_same_bits_on_every_instruction_set_with_a_fused_multiply_add():
    levels = [level for level in dl.cpu_features()["supported"] if level != "v2"]
    found = [
        output_of(HASHES, DLTENSOR_CPU=level, DLTENSOR_NUM_THREADS=threads)
        for level in levels
        for threads in ("1", "2")
    ]
    assert len(set(found)) <= 1, "\n".join(found)
