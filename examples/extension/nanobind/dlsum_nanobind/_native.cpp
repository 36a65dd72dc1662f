// SPDX-License-Identifier: Apache-2.0
// A class that holds a tensor of any framework as a dlt::Array. Failures of the library become Python exceptions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <dltensor/array.hpp>

namespace nb = nanobind;

namespace {

// Takes the tensor out of the capsule that x.__dlpack__ gives.
dlt::Managed take(const nb::object& x) {
  nb::object capsule = x.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 3));
  void* managed = PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned");
  if (managed == nullptr || PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned") != 0) throw nb::python_error();
  return dlt::Managed(static_cast<DLManagedTensorVersioned*>(managed));
}

// The memory may be freed by a deleter that needs the GIL, which the destructor of a Python object holds.
class Held {
 public:
  explicit Held(const nb::object& x) : array_(dlt::Array::from_dlpack(take(x), "dlsum.nanobind")) {}
  std::vector<size_t> shape() const {
    const std::vector<uintptr_t> sizes = array_.shape();
    return {sizes.begin(), sizes.end()};
  }
  std::string origin() const { return array_.origin(); }
  void swap_axes(size_t first, size_t second) { array_.swap_axes(first, second); }

  double total() const {
    dlt::Managed t = array_.as_dlpack();
    if (t->dtype.code != kDLFloat || t->dtype.bits != 32) throw std::invalid_argument("total: expected float32");
    return sum(t.get()->dl_tensor, 0, t.data<float>());
  }

 private:
  static double sum(const DLTensor& t, int32_t axis, const float* p) {
    if (axis == t.ndim) return *p;
    double total = 0;
    for (int64_t i = 0; i < t.shape[axis]; ++i) total += sum(t, axis + 1, p + i * t.strides[axis]);
    return total;
  }
  dlt::Array array_;
};

}  // namespace

NB_MODULE(_native, m) {
  nb::class_<Held>(m, "Held", "A tensor of any framework, held until this object dies.")
      .def(nb::init<nb::object>(), nb::arg("x"))
      .def_prop_ro("shape", &Held::shape)
      .def_prop_ro("origin", &Held::origin)
      .def("swap_axes", &Held::swap_axes, nb::arg("first"), nb::arg("second"))
      .def("total", &Held::total);
}
