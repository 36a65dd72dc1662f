# SPDX-License-Identifier: Apache-2.0
# Parts of stubs that neither signatures nor docstrings say: overloads whose result depends on an argument, dictionaries
# with fixed keys, named tuples, protocols. They replace definitions of the same name, by module.

# -- _core/types
DLPACK_VERSION: Final[tuple[int, int]]
DTYPES: Final[dict[str, DType]]
PACKAGE_VERSION: Final[str]
SPELLINGS: Final[tuple[str, ...]]

class Flags:
    @property
    def c_contiguous(self) -> bool: ...
    @property
    def f_contiguous(self) -> bool: ...
    @property
    def fnc(self) -> bool: ...
    @property
    def forc(self) -> bool: ...
    @property
    def writeable(self) -> bool: ...

class DType:
    @overload
    def __new__(cls, code: int, bits: int, lanes: int = 1) -> DType: ...
    @overload
    def __new__(cls, code: DTypeLike | str, bits: None = None, lanes: Literal[1] = 1) -> DType: ...

class Device:
    def __new__(cls, type: DeviceLike | str | int, id: int | None = None) -> Device: ...

# -- _core/default_dtype
_F = TypeVar("_F", bound=Callable[..., Any])

class default_dtype:
    def __call__(self, function: _F, /) -> _F: ...

# -- _core/reproducible
_F = TypeVar("_F", bound=Callable[..., Any])

class reproducible:
    def __call__(self, function: _F, /) -> _F: ...

# -- _core/tensor
class ElementCount(int):
    @overload
    def __call__(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def __call__(self, dim: SupportsIndex) -> int: ...
    def __reduce__(self) -> tuple[type[int], tuple[int]]: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any: ...

class Tensor:
    requires_grad: Final = False
    def __new__(cls, *data: TensorLike | Sequences | SupportsIndex) -> Tensor: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    __array_priority__: float
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    @overload
    def __round__(self, ndigits: None = None) -> int: ...
    @overload
    def __round__(self, ndigits: int) -> Tensor: ...
    @overload
    def numpy(self, copy: bool | None = None, *, non_blocking: Literal[False] = False) -> NDArray[Any]: ...
    @overload
    def numpy(self, copy: bool | None = None, *, non_blocking: Literal[True]) -> Transfer: ...
    def __divmod__(self, other: Operand, /) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Operand, /) -> tuple[Tensor, Tensor]: ...
    def __matmul__(self, other: Operand, /) -> Tensor: ...
    def __rmatmul__(self, other: Operand, /) -> Tensor: ...
    def __imatmul__(self, other: Operand, /) -> Tensor: ...

# -- _core/convert
_T = TypeVar("_T")
_U = TypeVar("_U")

@overload
def into(t: TensorLike | CapsuleType, kind: type[_T], /, *, default: None = None) -> _T: ...
@overload
def into(t: TensorLike | CapsuleType, kind: type[_T], /, *, default: type[_U]) -> _T | _U: ...

# -- _ops/array_api
class NamespaceInfo:
    def capabilities(self) -> dict[str, Any]: ...
    def default_device(self) -> Device: ...
    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, DType]: ...
    def dtypes(self, *, device: DeviceLike | None = None, kind: _Kind | None = None) -> dict[str, DType]: ...
    def devices(self) -> tuple[Device, ...]: ...

# -- _ops/casting
@overload
def cast(
    tensor: TensorLike,
    dtype_or_out: _Out,
    *,
    rounding: Literal["truncate", "nearest"] = "truncate",
    saturate: bool | None = None,
    scale: float | None = None,
    offset: float | None = None,
) -> _Out: ...
@overload
def cast(
    tensor: TensorLike,
    dtype_or_out: DTypeLike,
    *,
    rounding: Literal["truncate", "nearest"] = "truncate",
    saturate: bool | None = None,
    scale: float | None = None,
    offset: float | None = None,
) -> Tensor: ...
@overload
def where(condition: TensorLike, x1: Operand, x2: Operand, /) -> Tensor: ...
@overload
def where(condition: TensorLike, x1: None = None, x2: None = None, /) -> tuple[Tensor, ...]: ...
@overload
def copy(src: TensorLike, dst: None = None) -> Tensor: ...
@overload
def copy(src: TensorLike, dst: _Out) -> _Out: ...
def fill(scalar: Scalar, dst: _Out, *, saturate: bool = False) -> _Out: ...

# -- _ops/creation
@overload
def linspace(
    start: complex, stop: complex, /, num: SupportsIndex = 50, *, dtype: DTypeLike | None = None,
    device: DeviceLike | None = None, endpoint: bool = True, retstep: Literal[False] = False,
) -> Tensor: ...
@overload
def linspace(
    start: complex, stop: complex, /, num: SupportsIndex = 50, *, dtype: DTypeLike | None = None,
    device: DeviceLike | None = None, endpoint: bool = True, retstep: Literal[True],
) -> tuple[Tensor, complex]: ...

# -- _ops/dtypes
_KindName: TypeAlias = Literal[
    "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"
]
_Kind: TypeAlias = DTypeLike | _KindName | tuple[DTypeLike | _KindName, ...]

class iinfo:
    def __init__(self, type: DTypeLike | TensorLike, /) -> None: ...

class finfo:
    def __init__(self, type: DTypeLike | TensorLike, /) -> None: ...

def isdtype(dtype: DTypeLike, kind: _Kind) -> bool: ...

# -- _ops/elementwise
class _Row(TypedDict):
    name: str
    row: str
    operands: int
    kinds: list[str]
    result: str
    symbol: str
    text: str
    doc: str
    saturating: bool
    swapped: bool

OPS: Final[dict[str, _Row]]

@overload
def round(
    a: Operand, /, out: int | None = None, *, decimals: SupportsIndex = 0, launch: Launch | None = None
) -> Tensor: ...
@overload
def round(a: Operand, /, out: _Out, *, decimals: SupportsIndex = 0, launch: Launch | None = None) -> _Out: ...

# -- _ops/take
def add_at(x: _Out, indices: Index, values: Operand, /) -> _Out: ...
def maximum_at(x: _Out, indices: Index, values: Operand, /) -> _Out: ...
def minimum_at(x: _Out, indices: Index, values: Operand, /) -> _Out: ...

# -- _ops/matmul
@overload
def gemm(a: TensorLike, b: TensorLike, c: None = None, alpha: Scalar = 1.0, beta: Scalar = 0.0) -> Tensor: ...
@overload
def gemm(a: TensorLike, b: TensorLike, c: _Out, alpha: Scalar = 1.0, beta: Scalar = 0.0) -> _Out: ...

# -- _ops/promotion
class _Features(TypedDict):
    used: str
    supported: tuple[str, ...]
    compiled: tuple[str, ...]
    threads: int

# -- _ops/order
@overload
def intersect1d(
    x1: TensorLike, x2: TensorLike, /, assume_unique: bool = False, *, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def intersect1d(
    x1: TensorLike, x2: TensorLike, /, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor, Tensor]: ...

# -- _ops/sets
class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor

class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor

class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor

# -- _ops/quantization
class Quantized(NamedTuple):
    values: Tensor
    scale: Tensor
    scale2: Tensor | None

class QuantizationError(NamedTuple):
    largest: float
    relative_rms: float
    decibels: float
    clamped: int
    flushed: int

# -- _ops/fusing
class _Fused(Protocol):
    def __call__(self, *args: Any, out: TensorLike | None = None, **keywords: Any) -> Any: ...
    def plan(self, *args: Any, **keywords: Any) -> str: ...

@overload
def fuse(function: Callable[..., Any], /, *, check: bool = False) -> _Fused: ...
@overload
def fuse(function: None = None, /, *, check: bool = False) -> Callable[[Callable[..., Any]], _Fused]: ...

# -- _ops/statistics
@overload
def average(
    x: TensorLike,
    /,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    weights: TensorLike | None = None,
    *,
    returned: Literal[False] = False,
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def average(
    x: TensorLike,
    /,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    weights: TensorLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
    out: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> tuple[Tensor, Tensor]: ...

# -- cuda/_backend
class Transfer:
    def __new__(cls, no: Never, /) -> Never: ...

# -- debug
class Event(NamedTuple):
    event: Literal["allocated", "adopted", "exported", "returned", "freed", "released"]
    block: int
    export: int
    bytes: int
    thread: int
    gil: bool | None
    time: int

# -- io/_files
class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...

class _Writable(Protocol):
    def write(self, data: memoryview, /) -> int: ...

class TensorFile:
    @property
    def format(self) -> Literal["npy", "npz", "safetensors"]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str) -> Tensor: ...

class TensorInfo(NamedTuple):
    dtype: DType | None
    shape: tuple[int, ...]
    nbytes: int
    offset: int | None

# The file says what is loaded. A checker takes the type that the caller expects, or Any: `-> dict[str, Tensor]` is
# accepted of a .safetensors file, and other types are refused. Overloads would print all dtypes in every error.
_Loaded = TypeVar("_Loaded", bound=Tensor | dict[str, Tensor], default=Any)

def load(
    file: str | bytes | PathLike[str] | PathLike[bytes] | _Readable | bytearray | memoryview,
    *,
    mmap: bool | Literal["auto"] = "auto",
    names: Sequence[str] | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    packed: bool = False,
) -> _Loaded: ...

# -- linalg/_factorizations
@overload
def svd(x: TensorLike, /, full_matrices: bool = True, *, compute_uv: Literal[True] = True) -> SVDResult: ...
@overload
def svd(x: TensorLike, /, full_matrices: bool = True, *, compute_uv: Literal[False]) -> Tensor: ...

# -- random/_generator
class _State(TypedDict):
    algorithm: str
    key: int
    stream: int
    position: int
    children: int

# -- random/_default
default_generator: Generator
def seed(seed: SupportsIndex | Sequence[SupportsIndex] | None = None) -> None: ...
def rand(*shape: SupportsIndex) -> Tensor: ...
def randn(*shape: SupportsIndex) -> Tensor: ...
def randint(
    low: SupportsIndex, high: SupportsIndex | None = None, size: ShapeLike | None = (), dtype: DTypeLike | None = None
) -> Tensor: ...

# -- shared/_tensors
def pack(tensors: Mapping[str, TensorLike | Sequences]) -> dict[str, Tensor]: ...

# -- _spellings/float_warnings
def errstate(
    *, all: Literal["ignore"] | None = None, divide: Literal["ignore"] | None = None,
    over: Literal["ignore"] | None = None, under: Literal["ignore"] | None = None,
    invalid: Literal["ignore"] | None = None,
) -> AbstractContextManager[None]: ...
