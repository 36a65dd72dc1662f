# SPDX-License-Identifier: Apache-2.0
"""The default dtype: who chooses it, where a choice holds, and every function that follows it."""

import asyncio
import contextvars
import gc
import threading
from fractions import Fraction

import numpy as np
import pytest
from children import output_of

import dltensor as dl

WIDER = {dl.float32: dl.float64, dl.complex64: dl.complex128}


@pytest.fixture(autouse=True)
def _unchanged():
    before = dl.get_default_dtype()
    yield
    assert dl.get_default_dtype() == before, "the test leaves another default dtype"


@pytest.fixture
def float64():
    dl.set_default_dtype("float64")
    yield
    dl.set_default_dtype("float32")


# -- the choice -------------------------------------------------------------------------------------------------------


def test_without_a_choice_it_is_float32():
    assert dl.get_default_dtype() is dl.float32


@pytest.mark.parametrize("dtype", ["float64", dl.float64, np.float64, np.dtype("f8"), float])
def test_it_is_chosen_by_anything_that_names_a_dtype(dtype, float64):
    dl.set_default_dtype("float32")
    dl.set_default_dtype(dtype)
    assert dl.get_default_dtype() is dl.float64
    with dl.default_dtype("float32"):
        assert dl.zeros(1).dtype == dl.float32


@pytest.mark.parametrize("choose", [dl.set_default_dtype, dl.default_dtype])
@pytest.mark.parametrize("dtype", ["float16", dl.bfloat16, "int64", "complex128", dl.DType("float32x4")])
def test_other_dtypes_are_refused(choose, dtype):
    with pytest.raises(ValueError, match=f"{choose.__name__}: expected float32 or float64, got {dl.as_dtype(dtype)}"):
        choose(dtype)


@pytest.mark.parametrize("choose", [dl.set_default_dtype, dl.default_dtype])
def test_what_is_no_dtype_is_refused(choose):
    with pytest.raises(TypeError, match=f"{choose.__name__}: "):
        choose(64)


@pytest.mark.parametrize("value", ["float64", "float32", ""])
def test_a_variable_sets_the_first_choice(value):
    program = "import dltensor as dl; print(dl.get_default_dtype(), dl.zeros(2).dtype)"
    assert output_of(program, DLTENSOR_DEFAULT_DTYPE=value) == " ".join([value or "float32"] * 2)


# -- where a choice holds ---------------------------------------------------------------------------------------------


def test_a_block_has_its_own_and_ends_with_the_one_before():
    with dl.default_dtype("float64"):
        assert dl.zeros(1).dtype == dl.float64
    assert dl.zeros(1).dtype == dl.float32


def test_blocks_nest():
    with dl.default_dtype("float64"):
        with dl.default_dtype("float32"):
            assert dl.ones(1).dtype == dl.float32
        assert dl.ones(1).dtype == dl.float64


def test_a_block_that_raises_restores_it():
    with pytest.raises(ZeroDivisionError), dl.default_dtype("float64"):
        raise ZeroDivisionError
    assert dl.zeros(1).dtype == dl.float32


def test_one_object_may_be_entered_again_and_inside_itself():
    wide = dl.default_dtype("float64")
    for _ in range(2):
        with wide, dl.default_dtype("float32"):
            with wide:
                assert dl.zeros(1).dtype == dl.float64
            assert dl.zeros(1).dtype == dl.float32
    assert dl.zeros(1).dtype == dl.float32


def test_the_choice_for_the_process_does_not_change_a_block(float64):
    with dl.default_dtype("float32"):
        dl.set_default_dtype("float64")
        assert dl.get_default_dtype() is dl.float32
    assert dl.get_default_dtype() is dl.float64


def test_it_decorates_functions():
    @dl.default_dtype("float64")
    def call(n, *, scale):
        """Docstring."""
        return dl.ones(n) * scale

    assert call(2, scale=3.0).dtype == dl.float64
    assert (call.__name__, call.__doc__) == ("call", "Docstring.")


def test_functions_that_run_after_their_call_are_not_decorated():
    async def coroutine():
        pass

    def generator():
        yield

    for function in (coroutine, generator):
        with pytest.raises(TypeError, match="runs after its call; write the with block inside it"):
            dl.default_dtype("float64")(function)


def in_thread(call):
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


def test_a_block_does_not_change_other_threads():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with dl.default_dtype("float64"):
            entered.set()
            leave.wait(30)
            return dl.zeros(1).dtype

    results = []
    thread = threading.Thread(target=lambda: results.append(other()))
    thread.start()
    entered.wait(30)
    here = dl.zeros(1).dtype, dl.asarray(1.5).dtype
    leave.set()
    thread.join()
    assert (here, results) == ((dl.float32, dl.float32), [dl.float64])


def test_the_choice_for_the_process_holds_in_every_thread(float64):
    assert in_thread(lambda: dl.zeros(1).dtype) == dl.float64


def test_one_object_may_be_used_by_several_threads():
    wide = dl.default_dtype("float64")
    failures = []

    def work():
        for _ in range(500):
            with wide:
                inside = dl.get_default_dtype()
            if (inside, dl.get_default_dtype()) != (dl.float64, dl.float32):
                failures.append(inside)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_tasks_do_not_see_the_blocks_of_others():
    async def task(dtype):
        with dl.default_dtype(dtype):
            await asyncio.sleep(0)
            first = dl.zeros(1).dtype
            await asyncio.sleep(0)
            return first, dl.zeros(1).dtype

    async def main():
        return await asyncio.gather(*map(task, ["float64", "float32"] * 3)), dl.zeros(1).dtype

    results, after = asyncio.run(main())
    assert results == [(dl.float64, dl.float64), (dl.float32, dl.float32)] * 3
    assert after == dl.float32


def test_a_task_that_is_started_in_a_block_keeps_the_choice_after_it():
    async def task():
        await asyncio.sleep(0)
        return dl.zeros(1).dtype

    async def main():
        with dl.default_dtype("float64"):
            started = asyncio.create_task(task())
        return await started, dl.zeros(1).dtype

    assert asyncio.run(main()) == (dl.float64, dl.float32)


def suspended(dtype):
    with dl.default_dtype(dtype):
        yield dl.zeros(1).dtype


def test_a_generator_that_is_abandoned_in_a_block_restores_it():
    generator = suspended("float64")
    assert next(generator) == dl.float64
    del generator
    gc.collect()
    assert dl.zeros(1).dtype == dl.float32


def test_blocks_may_end_in_another_order_than_they_began():
    with dl.default_dtype("float32"):
        generator = suspended("float64")
        next(generator)
    assert dl.zeros(1).dtype == dl.float64  # the generator is in its block yet
    generator.close()
    assert dl.zeros(1).dtype == dl.float32


def test_a_generator_that_is_closed_in_another_context_restores_it():
    generator = suspended("float64")
    next(generator)
    in_thread(generator.close)
    assert dl.zeros(1).dtype == dl.float32


def test_a_copied_context_keeps_its_choice():
    with dl.default_dtype("float64"):
        context = contextvars.copy_context()
    assert dl.zeros(1).dtype == dl.float32
    assert context.run(lambda: dl.zeros(1).dtype) == dl.float64


# -- who follows it ---------------------------------------------------------------------------------------------------


def constant(elements, dtype):
    """A read-only tensor, which no call changes for the next one."""
    array = np.asarray(elements, dtype)
    array.setflags(write=False)
    return dl.asarray(array)


INTS = constant([1, 2, 3], "int64")
MATRIX = constant([[1, 2], [3, 4]], "int64")
SMALL = constant([[1, 2], [3, 4]], "int8")
BOOLS = constant([True, False, True], "bool")
# Arguments that hold no float tensor; every function is called with those that it takes.
ARGUMENTS = [
    (), (3,), (3, 2), ((2, 3),), (1, 2, 3), (0.5, 2.5), (0.5, 2.5, 4), (1.5,), (1j,), (True,), ([1.5, 2],), ([[1j]],),
    ([],), (Fraction(1, 2),), ((2,), 1.5), ((2,), 1j), ((2,), 1), (0, 1j, 3),
    *[(x, *rest) for x in (INTS, MATRIX, SMALL, BOOLS) for rest in ((), (2,), (0.5,), (1j,), (x,), (x, x), (0, 1))],
    (BOOLS, 0.5, 1), (BOOLS, INTS, 0.5), (0.5, INTS), ([INTS, INTS],), (INTS, [0.5, 1.5]), ([1, 2], [0.5, 1.5]),
    (MATRIX, [1, 2]), ("i,i", INTS, INTS), (INTS, (1, 2), None),
]  # fmt: skip
# They change the state of the process, write files, or are about objects, not elements.
LEFT_OUT = {
    "set_default_dtype", "set_printoptions", "set_num_threads", "set_cache_limit", "empty_cache", "default_dtype",
    "get_default_dtype", "get_blas", "set_blas",
    "save", "savez", "savez_compressed", "fromfile", "load", "open_file", "memmap", "loadtxt", "genfromtxt", "savetxt",
    "errstate", "seterr",
    "manual_seed", "no_grad", "inference_mode", "set_grad_enabled",
    "inspect", "validate", "adapt", "help", "wrap", "cpu_features",
    "num_threads",
    "into",
}  # fmt: skip


def functions():
    for module in (dl, dl.fft, dl.linalg, dl.random.Generator(1), dl.shared):
        names = dir(module) if isinstance(module, dl.random.Generator) else module.__all__
        for name in names:
            thing = getattr(module, name)
            if isinstance(thing, (type, dl.DType)) or name[0] == "_" or name in LEFT_OUT:
                continue
            if callable(thing):
                yield f"{getattr(module, '__name__', 'Generator')}.{name}".removeprefix("dltensor."), thing
    for name in dir(dl.Tensor):
        if (name[0] != "_" and name not in LEFT_OUT) or name in ("__truediv__", "__rtruediv__", "__pow__", "__mul__"):
            thing = getattr(dl.Tensor, name, None)
            if callable(thing):
                yield f"Tensor.{name}", thing


FUNCTIONS = dict(functions())
# Methods of PyTorch that convert to one dtype, a function that takes as many bytes as the dtype has, and those that are
# defined in float32.
FIXED = {"FloatTensor", "Tensor.float", "frombuffer", "dequantize", "quantized_matmul"}


def dtypes_of(call, arguments):
    """The dtypes of the tensors of a result; None where the call is refused."""
    try:
        result = call(*arguments)
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError, BufferError, dl.DeviceError):
        return None
    if isinstance(result, dict):
        result = tuple(result.values())
    return [t.dtype for t in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(t, dl.Tensor)]


def results_by_default(call, dtype):
    with dl.default_dtype(dtype):
        return [dtypes_of(call, arguments) for arguments in ARGUMENTS]


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - FIXED))
@pytest.mark.filterwarnings("ignore")
def test_results_without_a_float_tensor_have_the_default_dtype(name):
    narrow, wide = (results_by_default(FUNCTIONS[name], dtype) for dtype in ("float32", "float64"))
    for arguments, before, after in zip(ARGUMENTS, narrow, wide, strict=True):
        expected = before if before is None else [WIDER.get(dtype, dtype) for dtype in before]
        assert after == expected, f"{name}{arguments}"


def test_a_buffer_is_read_as_the_default_dtype(float64):
    assert dl.frombuffer(np.asarray([0.1])).tolist() == [0.1]


def test_the_table_above_calls_most_functions():
    followed = [name for name in FUNCTIONS if any(results_by_default(FUNCTIONS[name], "float32"))]
    assert len(followed) > 0.8 * len(FUNCTIONS), sorted(FUNCTIONS.keys() - set(followed))


@pytest.mark.parametrize("name", sorted(dl.OPS))
def test_functions_of_float_tensors_do_not_follow_it(name):
    operands = [dl.asarray([[0.5, 0.25]] * 2, dtype="float32")] * dl.OPS[name]["operands"]
    with dl.default_dtype("float64"):
        for arguments in (operands, [*operands[:-1], 0.5] if len(operands) > 1 else operands):
            result = dtypes_of(getattr(dl, name), arguments)
            assert result is None or result[0] in (dl.float32, dl.bool), arguments


@pytest.mark.parametrize(
    ("x", "number", "dtype"),
    [
        ("float32", 1.5, "float32"), ("float16", 1.5, "float16"), ("bfloat16", 2, "bfloat16"), ("int8", 2, "int8"),
        ("float32", 1j, "complex64"), ("float16", 1j, "complex64"), ("float64", 1j, "complex128"),
        ("complex64", 1j, "complex64"), ("complex64", 1.5, "complex64"), ("int8", 1.5, "float64"),
        ("bool", 1.5, "float64"), ("int64", 1j, "complex128"), ("bool", 2, "int64"),
    ],
)  # fmt: skip
def test_a_number_beside_a_tensor_has_its_default_dtype_only_if_the_tensor_is_of_a_lower_kind(
    x, number, dtype, float64
):
    t = dl.ones(2, dtype=x)
    assert (t + number).dtype == (number + t).dtype == dl.result_type(t, number) == dtype
    assert dl.asarray([t[0], number]).dtype == dtype


def test_typed_scalars_do_not_follow_it(float64):
    assert dl.asarray([np.float32(1.5), 2.5]).dtype == dl.float32
    assert dl.asarray(np.float32(1.5)).dtype == dl.float32
    assert dl.asarray([[np.uint8(1)], [2]]).dtype == dl.uint8
    assert dl.asarray([[np.uint64(2**64 - 1)]]).tolist() == [[2**64 - 1]]


def test_the_namespace_tells_it(float64):
    kinds = dl.__array_namespace_info__().default_dtypes()
    assert kinds == {
        "real floating": dl.float64, "complex floating": dl.complex128, "integral": dl.int64, "indexing": dl.int64,
    }  # fmt: skip


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (dl.zeros, (3,)), (dl.ones, (3,)), (dl.full, (3, 0.1)), (dl.eye, (3,)), (dl.arange, (0.1, 2.3, 0.1)),
        (dl.linspace, (0.1, 0.7, 9)), (dl.logspace, (0, 1, 7)), (dl.geomspace, (0.1, 3, 7)), (dl.tri, (3,)),
        (dl.asarray, ([0.1, 2, True],)), (dl.array, (0.1,)), (dl.fft.fftfreq, (7, 0.3)), (dl.fft.rfftfreq, (7, 0.3)),
        (dl.mean, (SMALL,)), (dl.var, (SMALL,)), (dl.std, (SMALL, 0)), (dl.median, (SMALL,)), (dl.average, (SMALL,)),
        (dl.quantile, (SMALL, 0.3)), (dl.percentile, (SMALL, 30)), (dl.nanmean, (SMALL,)), (dl.nanstd, (SMALL,)),
    ],
)  # fmt: skip
def test_its_bits_are_those_of_a_dtype_that_is_passed(call, arguments, float64):
    by_default, passed = call(*arguments), call(*arguments, dtype="float64")
    assert same_bits(by_default, passed)
    assert by_default.dtype == dl.float64


@pytest.mark.parametrize("name", [name for name, row in dl.OPS.items() if "integers" not in row["kinds"]])
def test_functions_of_integers_compute_in_it(name, float64):
    operands = [dl.asarray([[1, 0], [1, 1]], dtype="int8")] * dl.OPS[name]["operands"]
    function = getattr(dl, name)
    assert same_bits(function(*operands), function(*[t.astype("float64") for t in operands]))


@pytest.mark.parametrize("name", ["random", "uniform", "normal", "exponential"])
def test_random_numbers_are_those_of_a_dtype_that_is_passed(name, float64):
    by_default, passed = (getattr(dl.random.Generator(3), name)(shape=5, **how) for how in ({}, {"dtype": "float64"}))
    assert same_bits(by_default, passed)


@pytest.mark.parametrize("name", ["random", "uniform", "normal", "exponential"])
def test_random_numbers_have_the_dtype_of_an_output(name, float64):
    out = dl.zeros(5, dtype="float32")
    getattr(dl.random.Generator(3), name)(out=out)
    assert same_bits(out, getattr(dl.random.Generator(3), name)(shape=5, dtype="float32"))


@pytest.mark.parametrize("name", [name for name in dl.fft.__all__ if "fft" in name and "shift" not in name])
def test_transforms_of_integers_are_those_of_its_floats(name, float64):
    call = getattr(dl.fft, name)
    if "freq" not in name:
        assert same_bits(call(SMALL), call(SMALL.astype("float64")))


@pytest.mark.parametrize("rows", [1, 3, 40000])
@pytest.mark.parametrize("keepdims", [False, True])
def test_means_of_narrow_integers_of_any_size_have_it(rows, keepdims, float64):
    x = dl.reshape(dl.arange(rows * 3), (rows, 3)).astype("int16")
    for axis in (None, 0, 1):
        assert same_bits(
            dl.mean(x, axis=axis, keepdims=keepdims), dl.mean(x, axis=axis, keepdims=keepdims, dtype="float64")
        )
    assert x.mean(axis=0).dtype == x.T.std().dtype == dl.float64


def test_an_output_of_float32_is_still_written(float64):
    out = dl.zeros(3, dtype="float32")
    assert dl.sqrt(INTS, out=out) is out
    assert dl.mean(SMALL, axis=0, out=out[:2]).tolist() == [2.0, 3.0]


# -- lists beside arrays ----------------------------------------------------------------------------------------------

X = np.array([0.1, 0.2, 0.3])
LIST = [0.1, 0.2, 0.7]
BESIDE = {
    "==": lambda x, y: x == y,
    "add": lambda x, y: dl.add(x, y),
    "maximum": lambda x, y: dl.maximum(x, y),
    "where": lambda x, y: dl.where([True, False, False], x, y),
    "clip": lambda x, y: dl.clip(x, y, 9),
    "matmul": lambda x, y: dl.matmul(x, y),
    "vecdot": lambda x, y: dl.vecdot(x, y),
    "tensordot": lambda x, y: dl.tensordot(x, y, axes=1),
    "einsum": lambda x, y: dl.einsum("i,i->i", x, y),
    "outer": lambda x, y: dl.outer(x, y),
    "kron": lambda x, y: dl.kron(x, y),
    "cross": lambda x, y: dl.cross(x, y),
    "convolve": lambda x, y: dl.convolve(x, y),
    "polyval": lambda x, y: dl.polyval(y, x),
    "interp": lambda x, y: dl.interp(x, y, [1.0, 2.0, 3.0]),
    "trapezoid": lambda x, y: dl.trapezoid(x, y),
    "gradient": lambda x, y: dl.gradient(x, y),
    "digitize": lambda x, y: dl.digitize(x, y),
    "searchsorted": lambda x, y: dl.searchsorted(y, x),
    "isin": lambda x, y: dl.isin(x, y),
    "histogram": lambda x, y: dl.histogram(x, y)[0],
    "isclose": lambda x, y: dl.isclose(x, y, rtol=0, atol=0),
    "average": lambda x, y: dl.average(x, weights=y),
    "concat": lambda x, y: dl.concat([y, x]),
    "append": lambda x, y: dl.append(x, y),
    "insert": lambda x, y: dl.insert(x, 0, y),
    "union1d": lambda x, y: dl.union1d(x, y),
    "diff": lambda x, y: dl.diff(x, prepend=y),
    "fmax": lambda x, y: dl.fmax(x, y),
    "choose": lambda x, y: dl.choose([0, 1, 1], [x, y]),
    "place": lambda x, y: (lambda target: (dl.place(target, [True] * 3, y), target)[1])(dl.asarray(x, copy=True)),
    "solve": lambda x, y: dl.linalg.solve(dl.diag(x), y),
    "lstsq": lambda x, y: dl.linalg.lstsq(dl.diag(x), y)[0],
}


@pytest.mark.parametrize("library", [np.asarray, dl.asarray])
@pytest.mark.parametrize("name", BESIDE)
def test_floats_in_a_list_keep_their_digits_beside_float64(name, library):
    x = library(X)
    result, expected = (BESIDE[name](x, y) for y in (LIST, np.array(LIST)))
    assert result.dtype == expected.dtype
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "bool", "complex64"])
def test_the_dtype_beside_a_list_is_that_of_the_default_dtype(dtype):
    x = dl.ones(3, dtype=dtype)
    assert dl.multiply(x, LIST).dtype == dl.result_type(x.dtype, "float32")
    assert dl.multiply(x, LIST).tolist() == dl.multiply(x, dl.asarray(LIST, dtype="float32")).tolist()
    assert dl.concat([x, LIST]).dtype == dl.result_type(x.dtype, "float32")


def test_complex_numbers_in_a_list_beside_float64():
    assert (dl.asarray(X) * [0.1j] * 3).tolist()[0] == 0.1 * 0.1j * 3
    assert dl.append(dl.asarray(X), [0.1j]).tolist()[-1] == 0.1j


def test_a_list_is_read_once_and_after_the_other_operands():
    calls = []

    class Number:
        def __float__(self):
            calls.append("number")
            return 0.1

    class Producer:
        def __dlpack__(self, **_):
            calls.append("array")
            return dl.asarray(X).__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    assert dl.add([Number()], Producer()).tolist() == (X + 0.1).tolist()
    assert calls == ["array", "number"]
