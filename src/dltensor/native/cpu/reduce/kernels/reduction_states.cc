// SPDX-License-Identifier: Apache-2.0
// States of reductions: start them, join them, and write results. Once per result and thread, so that these are
// compiled for the lowest level alone.
#include "native/cpu/reduce/kernels/reductions.h"

namespace dlt::DLT_LEVEL {
namespace {

template <class Body>
void start_states(void* states, int64_t capacity, int64_t n) {
  auto* const words = static_cast<typename Body::word*>(states);
  Words<Body> fresh;
  Body::start(fresh.w);
  for (int m = 0; m < Body::members; ++m)
    for (int64_t c = 0; c < n; ++c) words[m * capacity + c] = fresh.w[m];
}

template <class Body>
void join_states(void* states, int64_t capacity, const void* from, int64_t from_capacity, int64_t n) {
  auto* const words = static_cast<typename Body::word*>(states);
  const auto* const others = static_cast<const typename Body::word*>(from);
  for (int64_t c = 0; c < n; ++c) {
    Words<Body> local, other;
    local.load(words, capacity, c);
    other.load(others, from_capacity, c);
    Body::join(local.w, other.w);
    local.store(words, capacity, c);
  }
}

template <class Body>
void end_states(void* out, const void* states, int64_t capacity, int64_t n) {
  const auto* const words = static_cast<const typename Body::word*>(states);
  for (int64_t c = 0; c < n; ++c) {
    Words<Body> local;
    local.load(words, capacity, c);
    keep(out, c, Body::end(local.w));
  }
}

template <class R>
constexpr int type_of_result() {
  int found = -1;
#define DLT_COMPARE(name, storage, ...) \
  if (is_same<typename stored<R>::type, storage>::value) found = type_##name;
  DLT_COMPUTED_DTYPES(DLT_COMPARE)
#undef DLT_COMPARE
  return found;
}

template <class T>
void fill_type(ReduceKernels* kernels, int type) {
  each_reduction<T>([=]<class Body>(int body) {
    Reducer* const reducer = &kernels->reducers[body][type];
    reducer->members = Body::members;
    reducer->width = int(sizeof(typename Body::word));
    reducer->parts = 1;
    reducer->start = start_states<Body>;
    reducer->join = join_states<Body>;
    if constexpr (requires { typename Body::result; }) {
      reducer->result = type_of_result<typename Body::result>();
      reducer->end = end_states<Body>;
    } else {
      reducer->result = -1;
    }
  });
}

}  // namespace

void fill_reduction_states(ReduceKernels* kernels) {
#define DLT_FILL(type, name) fill_type<type>(kernels, type_##name);
  DLT_REDUCED_TYPES(DLT_FILL)
#undef DLT_FILL
}

}  // namespace dlt::DLT_LEVEL
