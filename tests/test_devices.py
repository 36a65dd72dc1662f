# SPDX-License-Identifier: Apache-2.0
"""Device and DType as values: what a device argument takes, and what is equal and hashes alike."""

import sys
from types import ModuleType

import numpy as np
import pytest

import dltensor as dl


class FakeDevice:
    """A device of another package, whose class that package holds under a name."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@pytest.fixture
def place(monkeypatch):
    """Put a class where a package has its devices."""

    def put(package, name):
        kind = type(name, (FakeDevice,), {"__module__": package})
        module = ModuleType(package)
        setattr(module, name, kind)
        monkeypatch.setitem(sys.modules, package, module)
        return kind

    return put


FOREIGN = [
    ("torch", "device", {"type": "cuda", "index": 1}, "cuda:1"),
    ("torch", "device", {"type": "cpu", "index": None}, "cpu"),
    ("jax", "Device", {"platform": "gpu", "id": 2}, "cuda:2"),
    ("jax", "Device", {"platform": "cpu", "id": 0}, "cpu"),
    ("cupy.cuda", "Device", {"id": 3}, "cuda:3"),
]


@pytest.mark.parametrize(("package", "name", "fields", "text"), FOREIGN)
def test_devices_of_other_packages_are_devices(place, package, name, fields, text):
    foreign = place(package, name)(**fields)
    assert str(dl.Device(foreign)) == text
    assert dl.Device(text) == foreign
    assert foreign == dl.Device(text)
    assert dl.Device("vulkan") != foreign


@pytest.mark.parametrize("module", ["torch", "jax", "jaxlib", "jax.numpy", "cupy"])
def test_other_objects_of_those_packages_are_no_devices(module):
    kind = type("Generator", (FakeDevice,), {"__module__": module})
    for x in (kind(), kind(type="cuda", index=0), kind(platform="gpu", id=0)):
        for call in (dl.Device, dl.as_device, lambda x: dl.zeros(2, device=x), dl.zeros(2).to):
            with pytest.raises(TypeError, match=r"device must be a dltensor\.Device"):
                call(x)


@pytest.mark.parametrize("number", [0, 1, 2, True, False, np.int64(1), 2**70])
@pytest.mark.parametrize(
    "call",
    [
        dl.Device,
        dl.as_device,
        lambda n: dl.zeros(2, device=n),
        lambda n: dl.asarray([1], device=n),
        lambda n: dl.from_dlpack(dl.zeros(2), device=n),
        lambda n: dl.arange(2, device=n),
        lambda n: dl.wrap(4096, (), "int8", device=n),
        lambda n: dl.random.Generator(1).random(2, device=n),
        dl.zeros(2).to,
        dl.zeros(2).to_device,
    ],
)
def test_an_integer_alone_is_no_device(call, number):
    with pytest.raises(TypeError, match="device must"):
        call(number)


@pytest.mark.parametrize("spelling", ["cpu", "cpu:0", (1, 0), dl.DeviceType.kDLCPU, dl.Device("cpu"), dl.zeros(1)])
def test_names_pairs_device_types_and_tensors_are_devices(spelling):
    assert dl.zeros(2, device=spelling).device == dl.Device("cpu")


def test_a_device_type_and_a_number_are_two_arguments():
    assert dl.Device(dl.DeviceType.kDLCUDA, 1) == dl.Device(2, 1) == dl.Device("cuda:1")
    assert str(dl.Device(dl.DeviceType.kDLCUDA)) == "cuda:0"
    for bad in (0, -1, 2**31):
        with pytest.raises((ValueError, TypeError), match="device"):
            dl.Device(bad, 0)


def test_a_device_type_names_a_cuda_device_where_a_number_would():
    from dltensor.cuda._device import ordinal_of

    devices = (dl.DeviceType.kDLCUDA, 3, "cuda:2", None)
    assert [ordinal_of(device, "synchronize") for device in devices] == [0, 3, 2, 0]


def test_a_device_equals_its_names():
    device = dl.zeros(2).device
    assert device == "cpu"
    assert device == "cpu:0"
    assert dl.Device("cuda") == "cuda:0"
    assert dl.Device("cuda") == "cuda"
    assert device != "cuda"
    assert device != "no device"
    for other in (None, 1, (1, 0), dl.DeviceType.kDLCPU, object(), dl.float32):
        assert (device == other) is False
        assert (device != other) is True


def test_an_object_may_answer_the_comparison_itself():
    class Anything:
        def __eq__(self, other):
            return True

    assert dl.Device("cpu") == Anything()


def test_equal_names_hash_alike():
    for device in (dl.Device("cpu"), dl.Device("cuda:1"), dl.Device("vulkan")):
        assert hash(device) == hash(str(device))
        assert {str(device): 1}[device] == 1
        assert {device: 1}[str(device)] == 1
    for dtype in (*dl.DTYPES.values(), dl.DType("float32x4")):
        assert hash(dtype) == hash(dtype.name)
        assert {dtype.name: 1}[dtype] == 1
    assert len({dl.Device("cuda"), dl.Device("cuda:0"), dl.as_device((2, 0))}) == 1


def test_to_takes_a_dtype_too():
    t = dl.asarray([1.5, 2.5])
    assert t.to("cpu") is t
    assert t.to(dl.float32) is t
    for dtype in (dl.int32, "int32", np.int32, np.dtype("int32")):
        made = t.to(dtype)
        assert (made.dtype, made.tolist()) == (dl.int32, [1, 2])
    with pytest.raises(ValueError, match="device must be one of"):
        t.to("cdua")
