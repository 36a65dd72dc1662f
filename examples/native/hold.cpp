// SPDX-License-Identifier: Apache-2.0
// A C++ program that holds three arrays: over a std::vector, over memory of its own class, and a copy of either.
// Build: c++ -std=c++17 hold.cpp $(python -m dltensor info --cflags --libs) -o hold
#include <dltensor/array.hpp>
#include <iostream>
#include <numeric>

namespace {

constexpr DLDataType float64 = {kDLFloat, 64, 1};

// A tensor over a vector that it shares.
struct OwnedTensor {
  DLManagedTensorVersioned tensor{};
  std::vector<int64_t> shape, strides;
  std::shared_ptr<std::vector<double>> values;

  static dlt::Managed of(std::shared_ptr<std::vector<double>> values, const std::vector<uintptr_t>& shape) {
    auto owned = std::make_unique<OwnedTensor>();
    owned->values = std::move(values);
    owned->shape.assign(shape.begin(), shape.end());
    owned->strides.assign(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) owned->strides[i - 1] = owned->strides[i] * owned->shape[i];
    owned->tensor.version = dlt::dlpack_version;
    owned->tensor.manager_ctx = owned.get();
    owned->tensor.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<OwnedTensor*>(self->manager_ctx); };
    owned->tensor.dl_tensor = {owned->values->data(),
                               dlt::cpu_device,
                               static_cast<int32_t>(shape.size()),
                               float64,
                               owned->shape.data(),
                               owned->strides.data(),
                               0};
    return dlt::Managed(&owned.release()->tensor);
  }
};

// A class that is an array in its own right: matrices, row by row, that may only be doubles.
class Matrix : public dlt::ArrayBase {
 public:
  Matrix(std::vector<double> values, std::vector<uintptr_t> shape)
      : values_(std::make_shared<std::vector<double>>(std::move(values))), shape_(std::move(shape)) {}

  const char* origin() const override { return "example.matrix"; }
  DLDataType dtype() const override { return float64; }
  const std::vector<uintptr_t>& shape() const override { return shape_; }

  dlt::Managed as_dlpack(DLDevice device, const int64_t* stream, DLPackVersion max_version) override {
    if (device.device_type != kDLCPU || stream || max_version.major < 1)
      throw std::invalid_argument("a matrix is exported to the CPU, without a stream, for readers of DLPack 1.0 or later");
    return OwnedTensor::of(values_, shape_);
  }

  std::unique_ptr<dlt::ArrayBase> from_dlpack(dlt::Managed tensor) const override {
    if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 64 || tensor->ndim != 2)
      throw std::invalid_argument("a matrix is made of two dimensions of float64");
    std::vector<double> values;
    for (int64_t i = 0; i < tensor->shape[0]; ++i)
      for (int64_t j = 0; j < tensor->shape[1]; ++j)
        values.push_back(tensor.data<double>()[i * tensor->strides[0] + j * tensor->strides[1]]);
    return std::make_unique<Matrix>(std::move(values), std::vector<uintptr_t>(tensor->shape, tensor->shape + tensor->ndim));
  }

  void reshape(const std::vector<uintptr_t>& shape) override {
    if (shape.size() != 2 || shape[0] * shape[1] != values_->size())
      throw std::invalid_argument("a matrix keeps two dimensions and all its elements");
    shape_ = shape;
  }

  void swap_axes(uintptr_t axis_1, uintptr_t axis_2) override {
    if (axis_1 > 1 || axis_2 > 1) throw std::out_of_range("a matrix has axes 0 and 1");
    if (axis_1 == axis_2) return;
    auto turned = std::make_shared<std::vector<double>>();
    for (uintptr_t j = 0; j < shape_[1]; ++j)
      for (uintptr_t i = 0; i < shape_[0]; ++i) turned->push_back((*values_)[i * shape_[1] + j]);
    values_ = turned;
    std::swap(shape_[0], shape_[1]);
  }

  std::unique_ptr<dlt::ArrayBase> create(const std::vector<uintptr_t>& shape, dlt::Array fill) const override {
    size_t count = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
    return std::make_unique<Matrix>(std::vector<double>(count, *fill.as_dlpack().data<double>()), shape);
  }

  std::unique_ptr<dlt::ArrayBase> copy(DLDevice) const override { return std::make_unique<Matrix>(*values_, shape_); }

  void move_data(const dlt::ArrayBase& input, const std::vector<dlt_data_movement_t>& movements) override {
    const auto& from = static_cast<const Matrix&>(input);
    for (const auto& m : movements)
      for (uintptr_t x = 0; x < m.properties_length; ++x)
        values_->at(m.sample_out * shape_[1] + m.properties_start_out + x) = from.values_->at(m.sample_in * from.shape_[1] +
                                                                                              m.properties_start_in + x);
  }

 private:
  std::shared_ptr<std::vector<double>> values_;
  std::vector<uintptr_t> shape_;
};

double sum(const dlt::Array& array) {
  dlt::Managed t = array.as_dlpack();
  double total = 0;
  for (int64_t i = 0; i < t->shape[0]; ++i)
    for (int64_t j = 0; j < t->shape[1]; ++j) total += t.data<double>()[i * t->strides[0] + j * t->strides[1]];
  return total;
}

void print(const char* what, const dlt::Array& array) {
  std::cout << what << ": " << array.origin() << " on device " << array.device().device_type << ", " << int{array.dtype().bits}
            << " bits, shape (" << array.shape()[0] << ", " << array.shape()[1] << "), sum " << sum(array) << "\n";
}

// Works with any array.
void use(dlt::Array array) {
  array.check();
  print("as it came", array);
  dlt::Array copy = array.copy();
  copy.swap_axes(0, 1);
  copy.reshape({1, 6});
  dlt::Array zero = dlt::Array::from_dlpack(OwnedTensor::of(std::make_shared<std::vector<double>>(1, 0.0), {}));
  dlt::Array larger = array.create({4, 6}, std::move(zero));
  larger.move_data(copy, {{0, 1, 0, 0, 6}, {0, 3, 0, 0, 6}});
  print("moved", larger);
  print("imported", array.like(larger.as_dlpack()));
  try {
    array.swap_axes(0, 5);
  } catch (const std::exception& error) {
    std::cout << "refused: " << error.what() << "\n";
  }
}

}  // namespace

int main() {
  std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  auto shared = std::make_shared<std::vector<double>>(numbers);
  use(dlt::Array::from_dlpack(OwnedTensor::of(shared, {2, 3}), "example.vector"));
  use(dlt::make_array<Matrix>(numbers, std::vector<uintptr_t>{3, 2}));
  use(dlt::Array::from_dlpack(dlt::make_array<Matrix>(numbers, std::vector<uintptr_t>{2, 3}).as_dlpack()));
  std::cout << "every function called on three origins\n";
}
