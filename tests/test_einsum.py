# SPDX-License-Identifier: Apache-2.0
"""einsum, outer, kron and cross against NumPy: subscripts of every kind, paths, dtypes, `out` and what is refused."""

import math
import string
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dltensor as dl

A, B, C = (np.random.default_rng(seed).integers(-3, 4, shape) for seed, shape in enumerate([(3, 4), (4, 5), (5, 3)]))


@st.composite
def problems(draw):
    """Subscripts, operands of small integers as float64, whose sums are exact in any order."""
    letters = "abcdef"
    extents = {letter: draw(st.integers(0, 3)) for letter in letters}
    hidden = draw(st.lists(st.integers(1, 3), max_size=2))
    dots = draw(st.booleans())
    terms, operands = [], []
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    for _ in range(draw(st.integers(1, 4))):
        term = draw(st.lists(st.sampled_from(letters), max_size=4))
        shape = [extents[letter] for letter in term]
        text = "".join(term)
        if dots:
            own = draw(st.integers(0, len(hidden)))
            part = [draw(st.sampled_from((1, size))) for size in hidden[len(hidden) - own :]]
            place = draw(st.integers(0, len(term)))
            shape[place:place] = part
            text = f"{text[:place]}...{text[place:]}"
        terms.append(text)
        operands.append(rng.integers(-3, 4, shape).astype("float64"))
    subscripts = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set(subscripts) & set(letters))
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        place = draw(st.integers(0, len(output)))
        output[place:place] = ["..."] * dots
        subscripts += "->" + "".join(output)
    return subscripts, operands


@given(problems(), st.sampled_from([True, False, "greedy"]))
def test_any_subscripts_give_what_numpy_gives(problem, optimize):
    subscripts, operands = problem
    true = np.einsum(subscripts, *operands)
    made = dl.einsum(subscripts, *operands, optimize=optimize)
    assert made.shape == true.shape
    assert np.array_equal(made.numpy(), true)
    out = dl.full(true.shape, 7.0, dtype="float64")
    assert dl.einsum(subscripts, *operands, out=out, optimize=optimize) is out
    assert np.array_equal(out.numpy(), true)


@given(problems())
def test_lists_of_labels_give_what_the_string_gives(problem):
    def labels(term):
        return [... if part == "." else string.ascii_uppercase.index(part) for part in term.replace("...", ".")]

    subscripts, operands = problem[0].upper(), problem[1]
    inputs, arrow, output = subscripts.partition("->")
    arguments = [part for term, x in zip(inputs.split(","), operands, strict=True) for part in (x, labels(term))]
    arguments += [labels(output)] if arrow else []
    result = dl.einsum(*arguments)
    assert result.tolist() == dl.einsum(subscripts, *operands).tolist() == np.einsum(*arguments).tolist()


def test_labels_are_integers_of_any_class_in_any_sequence():
    true = np.einsum(A, [26, 51], B, [51, 0], [0, 26])
    assert dl.einsum(A, (np.int8(26), dl.asarray(51)), B, [51, 0], range(0, 27, 26)).tolist() == true.tolist()
    out = dl.zeros((5, 3), dtype="int64")
    assert dl.einsum(A, [26, 51], B, [51, 0], [0, 26], out=out, optimize=False) is out
    assert out.tolist() == true.tolist()
    assert dl.einsum(A, np.array([26, 51]), B, dl.asarray([51, 0]), np.uint8([26, 0])).tolist() == (A @ B).tolist()
    assert dl.einsum(A.tolist(), [1, 0]).tolist() == A.T.tolist()


@pytest.mark.parametrize(
    "subscripts",
    ["ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk,kl->il", "ij,jk,ki->", "ij,kj->ik", "ij,ij->i", "ij,kl->ikjl",
     "ji,jk,lk->il", "lij,ljk->lik", "ilj,jlk->kil", "ilj,jlk->ilk"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "complex64"])
def test_products_of_every_dtype(subscripts, dtype):
    extents = dict(zip("ijkl", (3, 4, 5, 2), strict=True))
    rng = np.random.default_rng(1)
    shapes = [[extents[label] for label in term] for term in subscripts.partition("->")[0].split(",")]
    operands = [rng.integers(0, 3, shape).astype(dtype) for shape in shapes]
    true = np.einsum(subscripts, *operands)
    for t in (operands, [np.asfortranarray(x) for x in operands], [np.flip(np.flip(x).copy()) for x in operands]):
        made = dl.einsum(subscripts, *t)
        assert made.dtype == dtype
        assert np.array_equal(made.numpy(), true)


def test_dtypes_promote_before_the_products():
    made = dl.einsum("i,i", dl.full(9, 100, dtype="int8"), dl.full(9, 100, dtype="int32"))
    assert (made.dtype, made.item()) == ("int32", 90000)
    assert dl.einsum("i,i,i", np.int8([100]), np.int8([100]), np.float32([1])).item() == 10000
    assert dl.einsum("i->", dl.full(3, 100, dtype="int8")).item() == 44  # wraps, as products do


def test_bools_are_summed_as_logical_or():
    a, b = A > 0, B > 1
    assert dl.einsum("ij,jk->ik", a, b).dtype == "bool"
    assert np.array_equal(dl.einsum("ij,jk->ik", a, b).numpy(), np.einsum("ij,jk->ik", a, b))
    assert np.array_equal(dl.einsum("ij->i", a).numpy(), a.any(1))
    many = np.ones((300, 300), bool)
    assert dl.einsum("ij,ij", many[:256, :256], many[:256, :256]).item() is True
    out = dl.zeros((3, 5), dtype="bool")
    assert dl.einsum("ij,jk", a, b, out=out) is out
    assert np.array_equal(out.numpy(), np.einsum("ij,jk->ik", a, b))


def test_one_rearranged_operand_gives_a_view():
    t = dl.zeros((3, 3, 2))
    dl.einsum("iij->ij", t)[...] = 5
    assert np.array_equal(t.numpy(), np.eye(3)[..., None] * [5, 5])
    assert dl.einsum("ijk->kij", t).data_ptr == t.data_ptr
    assert dl.einsum("ij->ji", A > 0).tolist() == (A.T > 0).tolist()
    assert dl.einsum("ii->i", dl.broadcast_to(dl.asarray(1.0), (3, 3))).readonly


def test_operands_of_a_product_are_not_copied(monkeypatch):
    import dltensor._ops.einsum as module

    seen = []
    matmul = module.matmul
    monkeypatch.setattr(
        module, "matmul", lambda a, b, **out: seen.append((a.data_ptr, b.data_ptr)) or matmul(a, b, **out)
    )
    t, u = dl.ones((6, 4, 5)), dl.ones((4, 5, 7))
    dl.einsum("ijk,jkl->il", t, u)
    dl.einsum("ijk,jkl->li", t, u)
    dl.einsum("bij,bjk->bik", t, dl.ones((6, 5, 2)))
    assert seen[0] == (t.data_ptr, u.data_ptr)
    assert seen[1] == (u.data_ptr, t.data_ptr)
    assert seen[2][0] == t.data_ptr


@pytest.mark.parametrize("optimize", ["greedy", "optimal"])
def test_paths_of_numpy_are_taken(optimize):
    path, _ = np.einsum_path("ij,jk,kl,l->i", A, B, C, np.arange(3), optimize=optimize)
    true = np.einsum("ij,jk,kl,l->i", A, B, C, np.arange(3))
    for given_path in (path, path[1:], [(0, 1, 2, 3)], [(1, 2), (0, 1, 2)], [(3, 0)], []):
        made = dl.einsum("ij,jk,kl,l->i", A, B, C, np.arange(3), optimize=given_path)
        assert made.tolist() == true.tolist()


def test_a_path_is_followed(monkeypatch):
    import dltensor._ops.einsum as module

    seen = []
    pair = module._pair
    monkeypatch.setattr(module, "_pair", lambda a, b, *rest: seen.append((a[1], b[1])) or pair(a, b, *rest))
    dl.einsum("ij,jk,ki->", A, B, C, optimize=[(1, 2), (0, 1)])
    assert seen[0] == (("j", "k"), ("k", "i"))
    seen.clear()
    square = np.ones((3, 3))
    dl.einsum("ij,jk,kl,l->i", square, square, square, square[0])
    assert seen[0] == (("k", "l"), ("l",))  # as many elements are freed as by the others, with fewer multiplications


def test_out_may_be_an_operand_or_an_array():
    a = dl.asarray(A @ B @ C, dtype="float64")
    true = (a.numpy() @ a.numpy()).T.copy()
    assert dl.einsum("ij,jk->ki", a, a, out=a) is a
    assert np.array_equal(a.numpy(), true)
    out = np.zeros((3, 5), "int64")
    assert dl.einsum("ij,jk", A, B, out=out) is out
    assert np.array_equal(out, A @ B)
    t = dl.asarray(A[:, :3].copy())
    assert dl.einsum("ij,ji->ij", t, t, out=dl.copy(t)).tolist() == (A[:, :3] * A[:, :3].T).tolist()
    u = dl.copy(t)
    assert dl.einsum("ij,ji->ij", u, u, out=u).tolist() == (A[:, :3] * A[:, :3].T).tolist()
    assert dl.einsum("ij->ji", t, out=t).tolist() == A[:, :3].T.tolist()


def test_numpys_einsum_of_tensors_is_ours():
    made = np.einsum("ij,jk->ik", dl.asarray(A), B)
    assert type(made) is dl.Tensor
    assert made.tolist() == (A @ B).tolist()
    labelled = np.einsum(dl.asarray(A), [0, 1], B, [1, 2])
    assert type(labelled) is dl.Tensor
    assert labelled.tolist() == made.tolist()


READONLY = dl.broadcast_to(dl.asarray(1.0), (2,))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dl.einsum("ij,jk", A), ValueError, "einsum: 'ij,jk' has 2 terms, but there are 1 operands"),
        (lambda: dl.einsum("i"), ValueError, "einsum: 'i' has 1 terms, but there are 0 operands"),
        (lambda: dl.einsum("ijk", A), ValueError,
         "einsum: operand 0 has 2 dimensions, but its subscripts are 'ijk' in 'ijk'"),
        (lambda: dl.einsum("i", A), ValueError,
         "einsum: operand 0 has 2 dimensions, but its subscripts are 'i' in 'i'"),
        (lambda: dl.einsum("i1", A), ValueError, "einsum: expected letters, commas, '...' and '->', got 'i1'"),
        (lambda: dl.einsum("ij->i->j", A), ValueError,
         "einsum: expected letters, commas, '...' and '->', got 'ij->i->j'"),
        (lambda: dl.einsum("ij->ii", A), ValueError, "einsum: the result of 'ij->ii' has a letter twice"),
        (lambda: dl.einsum("ij->ik", A), ValueError, "einsum: the result of 'ij->ik' has 'k', which no operand has"),
        (lambda: dl.einsum("...j->j", A), ValueError,
         "einsum: the result of '...j->j' needs '...', because an operand has it"),
        (lambda: dl.einsum("ii", A), ValueError, "einsum: 'i' has extents [3, 4] in an operand of shape (3, 4)"),
        (lambda: dl.einsum("ij,jk", A, C), ValueError, "einsum: 'j' have extents 4 and 5, which do not broadcast"),
        (lambda: dl.einsum("...,...", A, B), ValueError,
         "einsum: the axes of '...' have extents 3 and 4, which do not broadcast"),
        (lambda: dl.einsum("ij,ij->ij", A.astype("int64"), A.astype("uint64")), TypeError,
         "einsum: int64 and uint64 have no dtype in common; convert one with astype()"),
        (lambda: dl.einsum("ij,kj->ik", A.astype("int64"), A.astype("uint64")), TypeError,
         "einsum: int64 and uint64 have no dtype in common; convert one with astype()"),
        (lambda: dl.einsum("ij->i", dl.zeros((2, 2), dtype="int4")), TypeError,
         "einsum: int4 has no arithmetic"),
        (
            lambda: dl.einsum(("ij",), 5),
            TypeError,
            "einsum: subscripts must be a string, or each operand be followed by a list of labels, got int",
        ),
        (lambda: dl.einsum(A, [0, 52]), ValueError, "einsum: labels must be from 0 to 51, got 52"),
        (lambda: dl.einsum(A, [0, "j"]), TypeError, "einsum: a label must be an integer, got 'j'"),
        (lambda: dl.einsum(A, [0, 1], [2]), ValueError, "einsum: the result of 'AB->C' has 'C', which no operand has"),
        (lambda: dl.einsum([0, 1]), ValueError, "einsum: '->AB' has 1 terms, but there are 0 operands"),
        (lambda: dl.einsum("ij", A, optimize="best"), ValueError,
         "einsum: optimize must be True, False, 'greedy', 'optimal' or a path, got 'best'"),
        (lambda: dl.einsum("ij,jk", A, B, optimize=[(0, 2)]), ValueError,
         "einsum: the path has (0, 2), but there are 2 operands at this step"),
        (lambda: dl.einsum("ij,jk", A, B, optimize=[(0, 0)]), ValueError,
         "einsum: a path is a list of tuples of different positions, got (0, 0)"),
        (lambda: dl.einsum("ij,jk", A, B, out=dl.zeros((3, 4))), ValueError,
         "einsum: the result has shape (3, 5), out has shape (3, 4); give an out of that shape"),
        (lambda: dl.einsum("ij,jk", A, B, out=dl.zeros((3, 5))), TypeError,
         "einsum: the result is int64, out is float32; give an out of that dtype, or convert the result with astype()"),
        (lambda: dl.einsum("i,i->i", READONLY, READONLY, out=READONLY), ValueError,
         "einsum: out is read-only; write to a copy()"),
        (lambda: dl.outer(A, B), ValueError,
         "outer: expected vectors, but x1 has shape (3, 4) and x2 has shape (4, 5)"),
        (lambda: dl.cross(A, A), ValueError,
         "cross: expected 3 elements along axis -1, but x1 has shape (3, 4), x2 (3, 4)"),
        (lambda: dl.cross(A, A[0], axis=0), IndexError,
         "cross: axis 0 of shapes (3, 4) and (4,) is ambiguous; count it from the end"),
        (lambda: dl.cross(A, A[0], axis=-2), IndexError,
         "cross: axis -2 is out of range for 1 dimensions; expected -1 to 0"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_operands_of_different_kinds_raise_type_error():
    with pytest.raises(TypeError):
        dl.einsum("i,i", dl.ones(2, dtype="int64"), dl.ones(2, dtype="uint64"))


def test_subscripts_of_a_subclass_are_not_kept():
    class Text(str):
        pass

    text = Text("ij,jk->ik")
    before = sys.getrefcount(text)
    for optimize in (True, False):
        assert dl.einsum(text, dl.ones((2, 5)), dl.ones((5, 3)), optimize=optimize).tolist() == [[5.0] * 3] * 2
    assert sys.getrefcount(text) == before


def test_outer_is_as_in_numpy():
    a, b = np.arange(4, dtype="int8"), np.array([0.5, 2.0, 3.0], "float32")
    made = dl.outer(a, b)
    assert made.dtype == "float32"
    assert np.array_equal(made.numpy(), np.outer(a, b))
    assert dl.outer(a[:0], b).shape == (0, 3)


@pytest.mark.parametrize(
    "shapes", [((2,), (3,)), ((2, 3), (4,)), ((3,), (2, 2)), ((2, 1, 3), (2, 2)), ((), (2,)), ((0, 2), (3, 2))]
)
def test_kron_is_as_in_numpy(shapes):
    a, b = (np.random.default_rng(1).integers(-5, 6, shape) for shape in shapes)
    assert np.array_equal(dl.kron(a, b).numpy(), np.kron(a, b))
    assert np.array_equal(dl.kron(a.T, b.T).numpy(), np.kron(a.T, b.T))


@pytest.mark.parametrize(("first", "second", "axis"), [((3,), (3,), -1), ((5, 3), (5, 3), -1), ((3, 5), (3, 5), 0),
    ((2, 3, 4), (3, 1), -2), ((5, 1, 3), (4, 3), -1), ((0, 3), (1, 3), 1)])  # fmt: skip
def test_cross_is_as_in_numpy(first, second, axis):
    a, b = (np.random.default_rng(1).integers(-5, 6, shape) for shape in (first, second))
    back = axis if axis < 0 else axis - len(first)
    true = np.cross(a, b, axisa=back, axisb=back, axisc=back)
    made = dl.cross(a, b, axis=axis)
    assert made.shape == true.shape
    assert np.array_equal(made.numpy(), true)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
@pytest.mark.parametrize(("text", "first", "second"), [
    ("ijk,ijk->k", (9, 40, 33), (9, 40, 33)), ("ijk,ijk->k", (99, 90, 70), (99, 90, 70)), ("ij,ij->j", (2, 9), (2, 9)),
    ("ij,ij->j", (70, 300), (70, 300)), ("ijk,ijk->i", (9, 40, 33), (9, 40, 33)), ("bij,bij->b", (5, 8, 9), (5, 8, 9)),
    ("ij,ij->", (40, 50), (40, 50)), ("ij,ji->", (40, 50), (50, 40)), ("ijk,kij->j", (4, 5, 6), (6, 4, 5)),
    ("i,i->", (3000,), (3000,)), ("ij,ij->j", (0, 3), (0, 3)), ("ij,ij->j", (5000, 1), (5000, 1)),
])  # fmt: skip
def test_products_of_vectors_have_the_bits_of_rows(text, first, second, dtype):
    rng = np.random.default_rng(2)
    a, b = (dl.asarray(rng.standard_normal(shape) * 9).astype(dtype) for shape in (first, second))
    terms, output = text.split("->")
    left, right = terms.split(",")
    order = [*output, *(label for label in left if label not in output)]
    x, y = (dl.permute_dims(t, [term.index(label) for label in order]) for t, term in ((a, left), (b, right)))
    kept = x.shape[: len(output)]
    x, y = (dl.copy(t).reshape((*kept, x.size // max(1, math.prod(kept)))) for t in (x, y))
    wanted = dl.matmul(x[..., None, :], y[..., None])[..., 0, 0]
    assert dl.einsum(text, a, b).tobytes() == wanted.tobytes()
    out = dl.zeros(kept, dtype=dtype)
    assert dl.einsum(text, a, b, out=out) is out
    assert out.tobytes() == wanted.tobytes()


def test_products_of_columns_of_parts_of_matrices():
    a, b = (dl.asarray(np.random.default_rng(k).standard_normal((9000, 75))) for k in (1, 2))
    for x, y in ((a[:, 3:70], b[:, 8:75]), (a[::2, :9], b[:4500, 66:]), (a[::-1], b), (a[:, ::-1], b)):
        wanted = dl.matmul(dl.copy(x.T)[:, None, :], dl.copy(y.T)[..., None])[:, 0, 0]
        assert dl.einsum("ij,ij->j", x, y).tobytes() == wanted.tobytes()
    special = dl.asarray([[dl.inf, 0.0, -0.0], [0.0, -0.0, -0.0], [1.0, 2.0, 0.0]])
    assert str(dl.einsum("ij,ij->j", special, special).tolist()) == "[inf, 4.0, 0.0]"
    assert dl.isnan(dl.einsum("ij,ij->j", special, dl.zeros((3, 3)))).tolist() == [True, False, False]


def test_products_of_complex_vectors_are_not_conjugated():
    a = dl.asarray([[1 + 2j, 3j], [2.0, 1 - 1j]])
    assert dl.einsum("ij,ij->i", a, a).tolist() == [(1 + 2j) ** 2 - 9, 4 + (1 - 1j) ** 2]
    assert dl.einsum("ij,ij->", a, a).item() == (1 + 2j) ** 2 - 9 + 4 + (1 - 1j) ** 2
    out = dl.zeros(2, dtype=a.dtype)
    assert dl.einsum("ij,ij->j", a, dl.ones((2, 2)), out=out).tolist() == [3 + 2j, 1 + 2j]


def test_the_names_of_numpys_orders_are_taken():
    a = dl.asarray([[1.0, 2.0], [3.0, 4.0]])
    results = [dl.einsum("ij,jk,kl->il", a, a, a, optimize=name).tolist() for name in (True, "greedy", "optimal")]
    assert results == [[[37.0, 54.0], [81.0, 118.0]]] * 3
