// SPDX-License-Identifier: Apache-2.0
// Finds whether two indices of a layout reach the same element: an exact search of the differences of two indices.
#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "native/layout/layout.h"

namespace dlt {
namespace {

using Wide = __int128;  // a stride of 63 bits by an extent of 63 bits
constexpr int step_limit = 20'000;

struct Dim {
  int64_t step, reach;  // the magnitude of the stride, and the largest difference of two of its indices
};

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

int64_t modulo(Wide value, int64_t divisor) {
  const int64_t rest = int64_t(value % divisor);
  return rest < 0 ? rest + divisor : rest;
}

// The modular inverse of `value`; `value` and `modulus` are coprime.
int64_t inverse(int64_t value, int64_t modulus) {
  int64_t a = value % modulus, b = modulus;
  Wide x = 1, y = 0;
  while (b != 0) {
    const int64_t quotient = a / b;
    a = std::exchange(b, a % b);
    x = std::exchange(y, x - quotient * y);
  }
  return modulo(x, modulus);
}

Wide floor_divide(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

struct GivenUp {};

class Search {
 public:
  Search(const Dim* dims, int count) : dims_(dims), count_(count) {
    spans_[count] = divisors_[count] = 0;
    for (int d = count - 1; d >= 0; --d) {
      spans_[d] = spans_[d + 1] + Wide(dims[d].step) * dims[d].reach;
      divisors_[d] = std::gcd(divisors_[d + 1], dims[d].step);
    }
  }

  // Returns whether the dimensions from `place` on can cancel a distance. `moved`: some difference is already not 0.
  bool comes_back(int place, Wide distance, bool moved) {
    if (place == count_) return moved && distance == 0;
    if (!tried_.emplace(place, distance, moved).second) return false;
    const auto [step, reach] = dims_[place];
    // The inner dimensions have a bounded span and a common divisor: other differences cannot be cancelled.
    const Wide span = spans_[place + 1];
    const int64_t divisor = divisors_[place + 1];
    Wide low = std::max<Wide>(-reach, -floor_divide(span + distance, step));
    const Wide high = std::min<Wide>(reach, floor_divide(span - distance, step));
    if (!moved) low = 0;  // the other sign is the same pair of indices
    int64_t stride = 1;
    if (divisor != 0) {
      const int64_t common = std::gcd(step, divisor);
      if (distance % common != 0) return false;
      stride = divisor / common;
      const Wide first = stride == 1 ? 0 : modulo(-(distance / common) % stride * inverse(step / common, stride), stride);
      low += modulo(first - low, stride);
    }
    for (Wide difference = low; difference <= high; difference += stride) {
      if (--left_ < 0) throw GivenUp();
      if (comes_back(place + 1, distance + difference * step, moved || difference != 0)) return true;
    }
    return false;
  }

 private:
  const Dim* dims_;
  int count_;
  int left_ = step_limit;
  Wide spans_[max_dims + 1];
  int64_t divisors_[max_dims + 1];
  std::set<std::tuple<int, Wide, bool>> tried_;
};

}  // namespace

Sharing find_sharing(int ndim, const int64_t* shape, const int64_t* strides) noexcept {
  Dim dims[max_dims];
  int count = 0;
  for (int d = 0; d < ndim; ++d)
    if (shape[d] == 0) return Sharing::none;
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == 1) continue;
    if (strides[d] == INT64_MIN) return Sharing::unknown;  // its magnitude overflows, and no tensor has it
    dims[count++] = {magnitude(strides[d]), shape[d] - 1};
  }
  // From the largest stride to the smallest, which are few: sorted by insertion.
  for (int d = 1; d < count; ++d)
    for (int at = d; at > 0 && dims[at].step > dims[at - 1].step; --at) std::swap(dims[at], dims[at - 1]);
  // The common case: each dimension steps over everything inside it.
  Wide span = 0;
  bool apart = true;
  for (int d = count - 1; d >= 0; --d) {
    apart &= dims[d].step > span;
    if (__builtin_add_overflow(span, Wide(dims[d].step) * dims[d].reach, &span)) return Sharing::unknown;
  }
  if (apart) return Sharing::none;
  if (dims[count - 1].step == 0) return Sharing::some;
  try {
    return Search(dims, count).comes_back(0, 0, false) ? Sharing::some : Sharing::none;
  } catch (...) {  // too many steps, or no memory for them
    return Sharing::unknown;
  }
}

}  // namespace dlt
