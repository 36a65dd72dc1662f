// SPDX-License-Identifier: Apache-2.0
// array.hpp alone, every template of it. Compiled by test_headers.py.
#include "dltensor/array.hpp"

namespace {

class Mine final : public dlt::ArrayBase {
 public:
  const char* origin() const override { return "mine"; }
  DLDataType dtype() const override { return {kDLFloat, 32, 1}; }
  const std::vector<uintptr_t>& shape() const override { return shape_; }
  dlt::Managed as_dlpack(DLDevice, const int64_t*, DLPackVersion) override { return {}; }
  std::unique_ptr<ArrayBase> from_dlpack(dlt::Managed) const override { return nullptr; }
  void reshape(const std::vector<uintptr_t>& shape) override { shape_ = shape; }
  void swap_axes(uintptr_t, uintptr_t) override {}
  std::unique_ptr<ArrayBase> create(const std::vector<uintptr_t>&, dlt::Array) const override { return nullptr; }
  std::unique_ptr<ArrayBase> copy(DLDevice) const override { return nullptr; }
  void move_data(const ArrayBase&, const std::vector<dlt_data_movement_t>&) override {}

 private:
  std::vector<uintptr_t> shape_;
};

}  // namespace

float use(const dlt::Array& a, const dlt::Array& b);
float use(const dlt::Array& a, const dlt::Array& b) {
  dlt::Array made = dlt::make_array<Mine>(), adopted = dlt::Array::adopt(a.get());
  made = a.like(b.as_dlpack());
  made.reshape(a.shape());
  made.swap_axes(0, 1);
  made.move_data(b, {});
  made.check();
  adopted = a.create({1}, b.copy()).view();
  const dlt::Array taken(made.release());
  const dlt::Managed tensor = dlt::Array::from_dlpack(taken.as_dlpack()).as_dlpack(taken.device());
  return a.origin().empty() || tensor.readonly() || a.dtype().bits != 32 ? 0 : *tensor.data<float>();
}
