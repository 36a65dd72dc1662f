// SPDX-License-Identifier: Apache-2.0
// The cost of a call from native code: queries, export, creation, data movement. Compared with metatensor's own C++
// array in the same run where its headers are given (-DBESIDE_METATENSOR). Each line is the best of several rounds,
// ours and theirs in turn.
//   g++ -O2 -std=c++17 -Isrc/dltensor/include bench_opaque_native.cc -ldltensor
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#ifdef BESIDE_METATENSOR
#include <metatensor.hpp>
#endif
#include "dltensor/array.hpp"

namespace {

double seconds(const std::function<void()>& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Row {
  const char* name;
  int64_t calls;
  std::function<void()> ours, theirs;
};

void print(const Row& row) {
  double best[2] = {1e9, 1e9};
  for (int round = 0; round < 15; ++round) {
    best[0] = std::min(best[0], seconds(row.ours));
    if (row.theirs) best[1] = std::min(best[1], seconds(row.theirs));
  }
  double ours = best[0] / row.calls * 1e9, theirs = best[1] / row.calls * 1e9;
  if (row.theirs) std::printf("%-34s %12.1f ns %12.1f ns   %6.2f x\n", row.name, ours, theirs, ours / theirs);
  else std::printf("%-34s %12.1f ns\n", row.name, ours);
}

template <class A>
void export_and_return(const A& array, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    DLManagedTensorVersioned* t = nullptr;
    array.as_dlpack(array.ptr, &t, dlt::cpu_device, nullptr, dlt::dlpack_version);
    t->deleter(t);
  }
}

struct Tensor {
  DLManagedTensorVersioned managed{};
  int64_t dims[8];
};

DLManagedTensorVersioned* tensor_over(double* data, std::vector<int64_t> shape) {
  auto* made = new Tensor;
  size_t n = shape.size();
  std::copy(shape.begin(), shape.end(), made->dims);
  for (size_t i = n; i-- > 0;) made->dims[n + i] = i + 1 == n ? 1 : made->dims[n + i + 1] * shape[i + 1];
  made->managed.version = dlt::dlpack_version;
  made->managed.manager_ctx = made;
  made->managed.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Tensor*>(self->manager_ctx); };
  made->managed.dl_tensor = {data, dlt::cpu_device, static_cast<int32_t>(n), {kDLFloat, 64, 1}, made->dims, made->dims + n, 0};
  return &made->managed;
}

dlt_array_t array_over(double* data, const std::vector<int64_t>& shape) {
  return dlt::Array::from_dlpack(dlt::Managed(tensor_over(data, shape))).release();
}

}  // namespace

int main() {
  constexpr int64_t many = 200000;
  std::vector<double> values(24);
  dlt_array_t a = array_over(values.data(), {4, 3, 2});
  std::function<void()> none;
  auto theirs = [&](auto make) {
#ifdef BESIDE_METATENSOR
    static mts_array_t b = metatensor::DataArrayBase::to_mts_array(
                               std::make_unique<metatensor::SimpleDataArray<double>>(std::vector<uintptr_t>{4, 3, 2}, 0.0))
                               .release();
    return std::function<void()>(make(b));
#else
    (void)make;
    return none;
#endif
  };
  std::printf("%-34s %15s %15s\n", "", "dltensor", "SimpleDataArray");

#define QUESTION(name, type)                                            \
  print({#name, many,                                                   \
         [&] {                                                          \
           type answer{};                                               \
           for (int64_t i = 0; i < many; ++i) a.name(a.ptr, &answer);   \
         },                                                             \
         theirs([&](auto& b) {                                          \
           return [&] {                                                 \
             type answer{};                                             \
             for (int64_t i = 0; i < many; ++i) b.name(b.ptr, &answer); \
           };                                                           \
         })})
  QUESTION(origin, uint64_t);
  QUESTION(device, DLDevice);
  QUESTION(dtype, DLDataType);
  auto shape = [](auto& array) {
    return [&] {
      const uintptr_t* dims;
      uintptr_t count;
      for (int64_t i = 0; i < many; ++i) array.shape(array.ptr, &dims, &count);
    };
  };
  print({"shape", many, shape(a), theirs([&](auto& b) { return shape(b); })});
  print({"as_dlpack and its deleter", many, [&] { export_and_return(a, many); },
         theirs([&](auto& b) { return [&] { export_and_return(b, many); }; })});
  print({"make (tensor, array) and destroy", many,
         [&] {
           for (int64_t i = 0; i < many; ++i) {
             dlt_array_t made = array_over(values.data(), {4, 3, 2});
             made.destroy(made.ptr);
           }
         },
         theirs([&](auto&) {
           return [&] {
#ifdef BESIDE_METATENSOR
             for (int64_t i = 0; i < many; ++i)
               metatensor::DataArrayBase::to_mts_array(
                   std::make_unique<metatensor::SimpleDataArray<double>>(std::vector<uintptr_t>{4, 3, 2}, 0.0));
#endif
           };
         })});
  auto copy = [](auto& array) {
    return [&] {
      for (int64_t i = 0; i < many; ++i) {
        std::decay_t<decltype(array)> made{};
        array.copy(array.ptr, dlt::cpu_device, &made);
        made.destroy(made.ptr);
      }
    };
  };
  print({"copy 192 bytes and destroy", many, copy(a), theirs([&](auto& b) { return copy(b); })});

  // 20,000 movements between two arrays of 3.8 MB: one line a sample, permuted samples, two lines a sample.
  constexpr int64_t samples = 20000, components = 3, properties = 8;
  std::vector<double> in(samples * components * properties), out(in.size());
  dlt_array_t from = array_over(in.data(), {samples, components, properties});
  dlt_array_t to = array_over(out.data(), {samples, components, properties});
  std::vector<dlt_data_movement_t> straight, permuted, two;
  for (uintptr_t i = 0; i < samples; ++i) {
    straight.push_back({i, i, 0, 0, properties});
    permuted.push_back({i, (i * 7919) % samples, 0, 0, properties});
    two.push_back({i / 2, i / 2, i % 2 ? 4u : 0u, i % 2 ? 0u : 4u, 4});
  }
  auto move = [&](const char* name, const std::vector<dlt_data_movement_t>& movements) {
    std::function<void()> beside = none;
#ifdef BESIDE_METATENSOR
    auto make = [&] {
      return metatensor::DataArrayBase::to_mts_array(std::make_unique<metatensor::SimpleDataArray<double>>(
                                                         std::vector<uintptr_t>{samples, components, properties}, 1.0))
          .release();
    };
    static mts_array_t their_from = make(), their_to = make();
    beside = [&] {
      their_to.move_data(their_to.ptr, their_from.ptr, reinterpret_cast<const mts_data_movement_t*>(movements.data()),
                         movements.size());
    };
#endif
    print({name, 1, [&] { to.move_data(to.ptr, from.ptr, movements.data(), movements.size()); }, beside});
  };
  move("move_data 20000, in order", straight);
  move("move_data 20000, permuted", permuted);
  move("move_data 20000, two patterns", two);
  for (dlt_array_t* one : {&a, &from, &to}) one->destroy(one->ptr);
}
