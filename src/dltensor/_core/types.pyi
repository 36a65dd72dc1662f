# SPDX-License-Identifier: Apache-2.0
# Types of types.pyx: element types, devices, flags. What stands between "rows" and "end" is written by tools/stubs.py.
import builtins
import enum
from typing import Any, Final, Literal, overload

import numpy

from ..typing import DeviceLike, DTypeLike

PACKAGE_VERSION: Final[str]
DLPACK_VERSION: Final[tuple[int, int]]
DTYPES: Final[dict[str, DType]]
COMPUTED: Final[tuple[str, ...]]
SPELLINGS: Final[tuple[str, ...]]

class DeviceError(RuntimeError): ...
class LinAlgError(ValueError): ...
class ConformanceWarning(UserWarning): ...

class DeviceType(enum.IntEnum):
    # rows: DeviceType
    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18
    kDLTPU = 19
    kDLTPUHost = 20
    kDLAscend = 21
    # end

class DataTypeCode(enum.IntEnum):
    # rows: DataTypeCode
    kDLInt = 0
    kDLUInt = 1
    kDLFloat = 2
    kDLOpaqueHandle = 3
    kDLBfloat = 4
    kDLComplex = 5
    kDLBool = 6
    kDLFloat8_e3m4 = 7
    kDLFloat8_e4m3 = 8
    kDLFloat8_e4m3b11fnuz = 9
    kDLFloat8_e4m3fn = 10
    kDLFloat8_e4m3fnuz = 11
    kDLFloat8_e5m2 = 12
    kDLFloat8_e5m2fnuz = 13
    kDLFloat8_e8m0fnu = 14
    kDLFloat6_e2m3fn = 15
    kDLFloat6_e3m2fn = 16
    kDLFloat4_e2m1fn = 17
    kDLBcomplex = 18
    # end

class Flags(enum.IntFlag):
    # rows: Flags
    READ_ONLY = 1
    IS_COPIED = 2
    IS_SUBBYTE_TYPE_PADDED = 4
    # end
    @property
    def c_contiguous(self) -> bool: ...
    @property
    def f_contiguous(self) -> bool: ...
    @property
    def writeable(self) -> bool: ...

class DType:
    @overload
    def __new__(cls, code: int, bits: int, lanes: int = 1) -> DType: ...
    @overload
    def __new__(cls, code: DTypeLike | builtins.str, bits: None = None, lanes: Literal[1] = 1) -> DType: ...
    @property
    def code(self) -> DataTypeCode | int: ...
    @property
    def bits(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def name(self) -> builtins.str: ...
    @property
    def dtype(self) -> numpy.dtype[Any]: ...
    @property
    def __numpy_dtype__(self) -> numpy.dtype[Any]: ...
    @property
    def kind(self) -> builtins.str: ...
    @property
    def type(self) -> builtins.type[numpy.generic]: ...
    @property
    def str(self) -> builtins.str: ...
    @property
    def char(self) -> builtins.str: ...
    @property
    def byteorder(self) -> builtins.str: ...
    @property
    def isnative(self) -> bool: ...
    @property
    def hasobject(self) -> bool: ...
    @property
    def fields(self) -> None: ...
    @property
    def names(self) -> None: ...
    @property
    def metadata(self) -> None: ...
    def __dlpack_data_type__(self) -> tuple[int, int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class Device:
    def __new__(cls, type: DeviceLike | str | int, id: int | None = None) -> Device: ...
    @property
    def type(self) -> DeviceType | int: ...
    @property
    def id(self) -> int: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def as_dtype(x: DTypeLike | str, where: str = "as_dtype") -> DType: ...
def as_device(x: DeviceLike | str, where: str = "as_device") -> Device: ...
