// SPDX-License-Identifier: Apache-2.0
// Elements: move_data, reshape, swap_axes, copy and create on random layouts of every element width, beside plain
// loops over indices; and that nothing is written when a movement is wrong. Through the C++ interface.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "check.h"
#include "dltensor/array.hpp"

namespace {

std::mt19937_64 random_bits(20240607);
int64_t below(int64_t n) { return static_cast<int64_t>(random_bits() % static_cast<uint64_t>(n)); }

// A tensor with a layout of its own, in memory with a guard margin on both sides.
struct Tensor {
  DLDataType dtype;
  int64_t width;  // bits
  std::vector<int64_t> shape, strides;
  int64_t first = 0;  // element number of the first element in memory
  std::vector<uint8_t> memory;

  int64_t size() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }
  int64_t place(const std::vector<int64_t>& index) const {
    int64_t at = first;
    for (size_t i = 0; i < shape.size(); ++i) at += index[i] * strides[i];
    return at;
  }
  std::vector<bool> get(int64_t at) const {
    std::vector<bool> bits;
    for (int64_t bit = at * width; bit < (at + 1) * width; ++bit) bits.push_back(memory[bit / 8] >> (bit % 8) & 1);
    return bits;
  }
  void set(int64_t at, const std::vector<bool>& bits) {
    for (int64_t i = 0; i < width; ++i) {
      int64_t bit = at * width + i;
      memory[bit / 8] = static_cast<uint8_t>((memory[bit / 8] & ~(1u << (bit % 8))) | (unsigned{bits[i]} << (bit % 8)));
    }
  }
  dlt::Array array(uint64_t flags = 0) {
    // Packed elements have no address: theirs begin at a whole byte, `first` is a multiple of 8 then.
    DLManagedTensorVersioned* made = tensor_over(memory.data() + first * width / 8, dtype, static_cast<int32_t>(shape.size()),
                                                 shape.data(), strides.data(), flags);
    return dlt::Array::from_dlpack(dlt::Managed(made), "test");
  }
};

// Dimensions in any order in memory, with gaps, some backwards.
Tensor tensor(DLDataType dtype, std::vector<int64_t> shape) {
  Tensor made{dtype, int64_t{dtype.bits} * dtype.lanes, std::move(shape), {}, 0, {}};
  size_t n = made.shape.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  if (below(2)) std::shuffle(order.begin(), order.end(), random_bits);
  made.strides.assign(n, 1);
  int64_t step = below(4) ? 1 : 1 + below(3), low = 0;
  for (size_t k = n; k-- > 0;) {
    size_t axis = order[k];
    bool back = below(4) == 0;
    made.strides[axis] = back ? -step : step;
    if (back && made.shape[axis] > 0) low += step * (made.shape[axis] - 1);
    step *= std::max<int64_t>(made.shape[axis], 1);
    if (below(3) == 0) step += below(4);
  }
  made.first = (low + 15) / 8 * 8;
  made.memory.resize(static_cast<size_t>((made.first + step + 64) * made.width / 8 + 16));
  for (uint8_t& byte : made.memory) byte = static_cast<uint8_t>(random_bits());
  return made;
}

template <class Visit>
void each(const std::vector<int64_t>& shape, Visit&& visit) {
  std::vector<int64_t> index(shape.size(), 0);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  for (;;) {
    visit(index);
    size_t axis = shape.size();
    for (; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

// What an array holds, element by element, in order.
std::vector<std::vector<bool>> values(const dlt::Array& array) {
  dlt::Managed t = array.as_dlpack();
  std::vector<int64_t> shape(t->shape, t->shape + t->ndim);
  int64_t width = int64_t{t->dtype.bits} * t->dtype.lanes;
  std::vector<std::vector<bool>> all;
  each(shape, [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t i = 0; i < shape.size(); ++i) at += index[i] * t->strides[i];
    std::vector<bool> bits;
    for (int64_t bit = at * width; bit < (at + 1) * width; ++bit) bits.push_back(t.data<uint8_t>()[bit >> 3] >> (bit & 7) & 1);
    all.push_back(std::move(bits));
  });
  return all;
}

const DLDataType dtypes[] = {{kDLInt, 2, 1},    {kDLFloat4_e2m1fn, 4, 1}, {kDLFloat6_e2m3fn, 6, 1}, {kDLInt, 8, 1},
                             {kDLInt, 4, 2},    {kDLBfloat, 16, 1},       {kDLInt, 8, 3},           {kDLFloat, 32, 1},
                             {kDLFloat, 64, 1}, {kDLComplex, 128, 1},     {kDLFloat, 64, 3},        {kDLFloat6_e3m2fn, 6, 3}};

using Movements = std::vector<dlt_data_movement_t>;
dlt_data_movement_t movement(int64_t in, int64_t out, int64_t from, int64_t to, int64_t length) {
  return {static_cast<uintptr_t>(in), static_cast<uintptr_t>(out), static_cast<uintptr_t>(from), static_cast<uintptr_t>(to),
          static_cast<uintptr_t>(length)};
}

void by_loops(Tensor& output, const Tensor& input, const Movements& movements) {
  std::vector<int64_t> between(output.shape.begin() + 1, output.shape.end() - 1);
  for (const auto& m : movements)
    each(between, [&](const std::vector<int64_t>& middle) {
      for (uintptr_t x = 0; x < m.properties_length; ++x) {
        std::vector<int64_t> to{static_cast<int64_t>(m.sample_out)}, from{static_cast<int64_t>(m.sample_in)};
        to.insert(to.end(), middle.begin(), middle.end());
        from.insert(from.end(), middle.begin(), middle.end());
        to.push_back(static_cast<int64_t>(m.properties_start_out + x));
        from.push_back(static_cast<int64_t>(m.properties_start_in + x));
        output.set(output.place(to), input.get(input.place(from)));
      }
    });
}

// Random lines, long runs of one pattern, and interleaved patterns: what is joined and what is not.
Movements some_movements(int64_t samples_in, int64_t samples_out, int64_t properties_in, int64_t properties_out) {
  Movements all;
  for (int64_t group = below(4); group >= 0; --group) {
    int64_t patterns = 1 + below(4), times = 1 + below(std::min(samples_in, samples_out));
    int64_t in = below(samples_in - times + 1), out = below(samples_out - times + 1);
    Movements lines;
    for (int64_t k = 0; k < patterns; ++k) {
      int64_t length = below(std::min(properties_in, properties_out) + 1);
      lines.push_back(movement(in, out, below(properties_in - length + 1), below(properties_out - length + 1), length));
      if (below(3) == 0) lines.back().sample_in = static_cast<uintptr_t>(below(samples_in - times + 1));
      if (below(4) == 0) lines.back().sample_out = static_cast<uintptr_t>(below(samples_out - times + 1));
    }
    for (int64_t i = 0; i < times; ++i)
      for (dlt_data_movement_t line : lines) {
        line.sample_in += static_cast<uintptr_t>(i);
        line.sample_out += static_cast<uintptr_t>(i);
        all.push_back(line);
      }
  }
  return all;
}

void move_data_is_the_plain_loop() {
  for (int round = 0; round < 3000; ++round) {
    DLDataType dtype = dtypes[below(12)];
    std::vector<int64_t> shape{1 + below(9)};
    for (int64_t k = below(3); k > 0; --k) shape.push_back(1 + below(4));
    shape.push_back(1 + below(7));
    std::vector<int64_t> other = shape;
    other.front() = 1 + below(9);
    other.back() = 1 + below(7);
    Tensor output = tensor(dtype, shape), input = tensor(dtype, other);
    Movements movements = some_movements(other.front(), shape.front(), other.back(), shape.back());
    Tensor expected = output;
    by_loops(expected, input, movements);
    dlt::Array to = output.array(), from = input.array();
    to.move_data(from, movements);
    CHECK(output.memory == expected.memory);  // the margins as well
  }
}

void move_data_within_one_array_is_as_if_through_a_temporary() {
  for (int round = 0; round < 1000; ++round) {
    DLDataType dtype = dtypes[below(12)];
    Tensor one = tensor(dtype, {2 + below(6), 1 + below(3), 2 + below(6)});
    Movements movements = some_movements(one.shape[0], one.shape[0], one.shape[2], one.shape[2]);
    Tensor expected = one, before = one;
    by_loops(expected, before, movements);
    dlt::Array array = one.array(), alias = one.array();
    if (round % 2) array.move_data(array, movements);
    else array.move_data(alias, movements);
    CHECK(one.memory == expected.memory);
  }
}

// Each wrong in its own way, alone and as the last of many good ones: nothing may be written.
void a_wrong_movement_writes_nothing() {
  DLDataType dtype = {kDLFloat, 64, 1};
  Tensor output = tensor(dtype, {4, 2, 5}), input = tensor(dtype, {3, 2, 6});
  dlt::Array to = output.array(), from = input.array();
  const uintptr_t top = UINTPTR_MAX;
  const struct {
    dlt_data_movement_t m;
    const char* words;
  } wrong[] = {{{3, 0, 0, 0, 1}, "sample_in below 3, got 3"},
               {{0, 4, 0, 0, 1}, "sample_out below 4, got 4"},
               {{top, 0, 0, 0, 1}, "sample_in below 3"},
               {{0, top, 0, 0, 1}, "sample_out below 4"},
               {{0, 0, 5, 0, 2}, "within the 6 of the input"},
               {{0, 0, 0, 4, 2}, "within the 5 of the output"},
               {{0, 0, top, 0, 2}, "within the 6 of the input"},
               {{0, 0, 0, top, 2}, "within the 5 of the output"},
               {{0, 0, 2, 0, top}, "within the 6"},
               {{0, 0, top - 1, top - 1, 3}, "within the 6"},
               {{0, 0, 7, 0, 0}, "within the 6"}};
  for (const auto& one : wrong)
    for (int good : {0, 1, 50}) {
      Movements movements;
      for (int i = 0; i < good; ++i) movements.push_back(movement(i % 3, i % 4, 0, 0, 5));
      movements.push_back(one.m);
      std::vector<uint8_t> before = output.memory;
      FAILS(to.get().move_data(to.get().ptr, from.get().ptr, movements.data(), movements.size()), one.words);
      CHECK(output.memory == before);
    }
  dlt_data_movement_t fine = {0, 0, 0, 0, 1};
  FAILS(to.get().move_data(to.get().ptr, from.get().ptr, nullptr, 1), "NULL");
  WORKS(to.get().move_data(to.get().ptr, from.get().ptr, nullptr, 0));
  auto refuses = [&](dlt::Array& output_array, const dlt::Array& input_array, const char* message_words) {
    std::vector<uint8_t> before = output.memory;
    FAILS(output_array.get().move_data(output_array.get().ptr, input_array.get().ptr, &fine, 1), message_words);
    CHECK(output.memory == before);
  };
  Tensor components = tensor(dtype, {3, 3, 6}), fewer = tensor(dtype, {3, 6}), narrow = tensor({kDLFloat, 32, 1}, {3, 2, 6});
  refuses(to, components.array(), "(3, 3, 6)");
  refuses(to, fewer.array(), "(3, 6)");
  refuses(to, narrow.array(), "float32");
  dlt::Array readonly = output.array(DLPACK_FLAG_BITMASK_READ_ONLY);
  refuses(readonly, from, "read-only");
  output.strides[1] = 0;
  dlt::Array repeated = output.array();
  refuses(repeated, from, "share memory");
  dlt::Array foreign = dlt::Array::from_dlpack(
      dlt::Managed(tensor_over(input.memory.data(), dtype, 3, input.shape.data(), nullptr, 0)), "another origin");
  refuses(to, foreign, "another origin");
  int number = 0;
  FAILS(to.get().move_data(to.get().ptr, &number, &fine, 1), "not a dltensor array");
  FAILS(to.get().move_data(to.get().ptr, nullptr, &fine, 1), "not a dltensor array");
  Tensor line = tensor(dtype, {4}), line_in = tensor(dtype, {3});
  dlt::Array flat = line.array();
  refuses(flat, line_in.array(), "at least 2");
  // Elements of no size and no lines at all.
  Tensor empty = tensor(dtype, {0, 2, 6}), none = tensor(dtype, {4, 0, 5}), none_in = tensor(dtype, {3, 0, 6});
  refuses(to, empty.array(), "sample_in below 0");
  dlt::Array nothing = none.array();
  nothing.move_data(none_in.array(), {fine});
}

void copies_reshapes_and_swaps_keep_the_elements() {
  for (int round = 0; round < 1500; ++round) {
    DLDataType dtype = dtypes[below(12)];
    std::vector<int64_t> shape;
    for (int64_t k = below(6); k > 0; --k) shape.push_back(below(12) ? 1 + below(4) : 0);
    Tensor one = tensor(dtype, shape);
    dlt::Array array = one.array();
    std::vector<std::vector<bool>> before = values(array);
    dlt::Array copied = array.copy();
    CHECK(values(copied) == before);
    // Flat and back, through one to three dimensions of the same size.
    int64_t size = one.size();
    std::vector<uintptr_t> to;
    for (int64_t k = 2, left = size; k < 6; ++k)
      while (left > 1 && left % k == 0 && to.size() < 6) {
        to.push_back(static_cast<uintptr_t>(k));
        left /= k;
      }
    uintptr_t product = std::accumulate(to.begin(), to.end(), uintptr_t{1}, std::multiplies<>());
    to.insert(to.begin() + below(static_cast<int64_t>(to.size()) + 1), size == 0 ? 0 : static_cast<uintptr_t>(size) / product);
    if (below(2)) to.insert(to.begin() + below(static_cast<int64_t>(to.size()) + 1), 1);
    dlt::Array reshaped = one.array();
    reshaped.reshape(to);
    CHECK(reshaped.shape() == to);
    CHECK(values(reshaped) == before);

    if (shape.size() < 2) continue;
    auto n = static_cast<int64_t>(shape.size());
    auto a = static_cast<uintptr_t>(below(n)), b = static_cast<uintptr_t>(below(n));
    array.swap_axes(a, b);
    std::vector<int64_t> swapped = shape;
    std::swap(swapped[a], swapped[b]);
    std::vector<std::vector<bool>> expected;
    each(swapped, [&](std::vector<int64_t> index) {
      std::swap(index[a], index[b]);
      expected.push_back(one.get(one.place(index)));
    });
    CHECK(values(array) == expected);
    CHECK(values(array.copy()) == expected);
  }
}

// Padded elements of fewer than 8 bits have a byte each.
void padded_types_are_bytes() {
  std::vector<uint8_t> memory{0x1, 0x2, 0x3, 0x4, 0x5, 0x6};
  int64_t shape[] = {2, 3};
  uint64_t padded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  auto over = [&] {
    return dlt::Array::from_dlpack(
        dlt::Managed(tensor_over(memory.data(), {kDLFloat4_e2m1fn, 4, 1}, 2, shape, nullptr, padded)), "test");
  };
  dlt::Array a = over(), copied = a.copy();
  dlt::Managed t = copied.as_dlpack();
  CHECK((t.get()->flags & padded) && std::memcmp(t.data<uint8_t>(), memory.data(), 6) == 0);
  uint8_t five = 5;
  auto scalar = [&](uint64_t flags) {
    return dlt::Array::from_dlpack(dlt::Managed(tensor_over(&five, {kDLFloat4_e2m1fn, 4, 1}, 0, nullptr, nullptr, flags)),
                                   "test");
  };
  dlt::Managed filled = a.create({3}, scalar(padded)).as_dlpack();
  CHECK(filled.data<uint8_t>()[0] == 5 && filled.data<uint8_t>()[2] == 5);
  FAILS(a.get().create(a.get().ptr, nullptr, 0, scalar(0).release(), nullptr), "NULL");
  dlt_array_t out = {};
  FAILS(a.get().create(a.get().ptr, nullptr, 0, scalar(0).release(), &out), "padded or packed");
}

// The C++ interface: a user's class, its exceptions, and what it refuses.
struct Odd : dlt::ArrayBase {
  std::vector<uintptr_t> dims{2, 3};
  static inline int alive = 0;
  Odd() { ++alive; }
  ~Odd() override { --alive; }
  const char* origin() const override { return "odd"; }
  DLDataType dtype() const override { throw std::out_of_range("no dtype today"); }
  const std::vector<uintptr_t>& shape() const override { return dims; }
  dlt::Managed as_dlpack(DLDevice, const int64_t*, DLPackVersion) override { throw 42; }
  std::unique_ptr<dlt::ArrayBase> from_dlpack(dlt::Managed) const override { return nullptr; }
  void reshape(const std::vector<uintptr_t>& shape) override { dims = shape; }
  void swap_axes(uintptr_t a, uintptr_t b) override { std::swap(dims.at(a), dims.at(b)); }
  std::unique_ptr<dlt::ArrayBase> create(const std::vector<uintptr_t>& shape, dlt::Array) const override {
    auto made = std::make_unique<Odd>();
    made->dims = shape;
    return made;
  }
  std::unique_ptr<dlt::ArrayBase> copy(DLDevice) const override { return std::make_unique<Odd>(*this); }
  Odd(const Odd& other) : dlt::ArrayBase(other), dims(other.dims) { ++alive; }
  void move_data(const dlt::ArrayBase& input, const Movements&) override { dims = input.shape(); }
};

template <class Error, class Body>
bool throws(Body&& body, const char* text) {
  try {
    body();
  } catch (const Error& error) {
    return std::strstr(error.what(), text) != nullptr;
  }
  return false;
}

void classes_are_arrays_and_exceptions_cross() {
  double x[6] = {};
  int64_t shape[] = {2, 3};
  auto plain = [&] { return dlt::Array::from_dlpack(dlt::Managed(tensor_over(x, f64, 2, shape, nullptr, 0))); };
  {
    dlt::Array odd = dlt::make_array<Odd>();
    CHECK(odd.origin() == "odd" && (odd.shape() == std::vector<uintptr_t>{2, 3}) && odd.device().device_type == kDLCPU);
    CHECK(throws<std::out_of_range>([&] { odd.dtype(); }, "no dtype today"));
    bool guard_exceptions = false;
    try {
      odd.as_dlpack();
    } catch (int number) {
      guard_exceptions = number == 42;
    }
    CHECK(guard_exceptions);
    CHECK(throws<std::out_of_range>([&] { odd.swap_axes(0, 7); }, ""));
    odd.swap_axes(0, 1);
    returned = 0;
    CHECK(throws<std::logic_error>([&] { odd.like(plain().as_dlpack()); }, "returned no array"));
    CHECK(returned == 1);
    dlt::Array second = odd.copy(), third = odd.create({7}, dlt::Array());
    second.move_data(third, {});
    CHECK(second.shape() == std::vector<uintptr_t>{7});
    CHECK(throws<dlt::ArrayError>([&] { odd.move_data(plain(), {}); }, "output's kind"));
    CHECK(throws<dlt::ArrayError>([&] { odd.check(); }, "no dtype today"));
    CHECK(Odd::alive == 3);
  }
  CHECK(Odd::alive == 0);
  dlt::Array a = plain();
  a.check();
  CHECK(a.origin() == "dltensor" && throws<dlt::ArrayError>([&] { a.swap_axes(0, 2); }, "axes below 2"));
  dlt::Array view = a.view(), moved = std::move(a);
  CHECK(!a.get().ptr && view.get().ptr == moved.get().ptr && throws<dlt::ArrayError>([&] { a.shape(); }, "NULL"));
  moved = dlt::Array();
  CHECK(throws<dlt::ArrayError>([&] { view.shape(); }, "destroyed"));
}

}  // namespace

int main(int argc, char** argv) {
  static const test_case cases[] = {
#define CASE(name) {#name, name}
      CASE(move_data_is_the_plain_loop),     CASE(move_data_within_one_array_is_as_if_through_a_temporary),
      CASE(a_wrong_movement_writes_nothing), CASE(copies_reshapes_and_swaps_keep_the_elements),
      CASE(padded_types_are_bytes),          CASE(classes_are_arrays_and_exceptions_cross)};
  return run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
