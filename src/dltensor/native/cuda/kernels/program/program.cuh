// SPDX-License-Identifier: Apache-2.0
// Kernels of the steps of a program. A group of steps is a class G, whose text native/cuda/program/text.cc writes:
//   Row, Item           the values that a row has once, and those of each element
//   tensors, reductions, phases    how many; reductions of phase p take what is known before those of p end
//   last                the last phase in which an element has a step or is stored
//   reduction<K>        its phase, body, the types of elements and of the result, of(item), set(row, result), initial();
//                       correction() and root of variances, center(row, part) of those of float64
//   load_row, row<P>, store_row    values of a row: from memory, by the steps of phase P, and to memory
//   load, item<P>, store<P>        the same of elements
#pragma once
#include "native/cuda/kernels/reduce/reduce.cuh"

namespace dlt::kernels::program {

inline constexpr int threads = 256;

// Places in all tensors, and the axes along which the index is not 0.
template <int TENSORS>
struct Places {
  int64_t at[TENSORS];
  uint32_t beyond;
  DLT_FN void start() {
#pragma unroll
    for (int k = 0; k < TENSORS; ++k) at[k] = 0;
    beyond = 0;
  }
  DLT_FN void add(const Steps& p, int d, uint64_t i) {
    if (i != 0) beyond |= 1u << d;
#pragma unroll
    for (int k = 0; k < TENSORS; ++k) at[k] += int64_t(i) * p.stride[k][d];
  }
  // Adds the places of an index of `count` axes from `first` on.
  DLT_FN void add_axes(const Steps& p, int first, int count, uint64_t index) {
#pragma unroll 1
    for (int d = first + count - 1; d >= first; --d) {
      uint64_t i = index;
      if (d > first) index = divide(p.extent[d], index, &i);
      add(p, d, i);
    }
  }
};

// Values of a row.
template <class G>
struct RowAccess {
  const Steps& p;
  const Places<G::tensors>& places;
  template <int K, class M>
  DLT_FN M load() const {
    return static_cast<const M*>(p.tensor[K])[places.at[K]];
  }
  template <int K, class M>
  DLT_FN void store(M value) const {
    if ((places.beyond & p.absent[K]) == 0) static_cast<M*>(p.tensor[K])[places.at[K]] = value;
  }
};

// VEC elements from one of index `first` along axis `axis`, of which `count` are there. MODES: two bits for each tensor.
template <class G, int VEC, unsigned MODES>
struct Access {
  const Steps* p;
  Places<G::tensors> places;
  int axis, count;
  uint64_t first;

  template <int K>
  static constexpr unsigned mode = MODES >> 2 * K & 3;

  template <int K, class M, class F>
  DLT_FN void load(typename G::Item* x, F field) const {
    const M* const from = static_cast<const M*>(p->tensor[K]) + places.at[K];
    if constexpr (VEC == 1) {
      field(x[0]) = *from;
    } else if constexpr (mode<K> == mode_repeat) {
      const M same = *from;
#pragma unroll
      for (int j = 0; j < VEC; ++j) field(x[j]) = same;
    } else if (mode<K> == mode_run && count == VEC) {
      const Pack<M, VEC> pack = *reinterpret_cast<const Pack<M, VEC>*>(from);
#pragma unroll
      for (int j = 0; j < VEC; ++j) field(x[j]) = pack.at[j];
    } else {
      const int64_t step = p->stride[K][axis];
#pragma unroll
      for (int j = 0; j < VEC; ++j) field(x[j]) = from[(j < count ? j : 0) * step];
    }
  }
  template <int K, class M, class F>
  DLT_FN void store(const typename G::Item* x, F field) const {
    M* const to = static_cast<M*>(p->tensor[K]) + places.at[K];
    const uint32_t absent = p->absent[K];
    if (VEC > 1 && mode<K> == mode_run && count == VEC && absent == 0) {
      Pack<M, VEC> pack;
#pragma unroll
      for (int j = 0; j < VEC; ++j) pack.at[j] = field(x[j]);
      *reinterpret_cast<Pack<M, VEC>*>(to) = pack;
      return;
    }
    const int64_t step = VEC == 1 ? 0 : p->stride[K][axis];
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
      const uint32_t beyond = places.beyond | (VEC > 1 && first + j != 0 ? 1u << axis : 0);
      if (j < count && (beyond & absent) == 0) to[j * step] = field(x[j]);
    }
  }
};

DLT_FN int left_of(uint64_t count, uint64_t first, int most) {
  return count - first < uint64_t(most) ? int(count - first) : most;
}

// Steps without reductions: rows along the last axis, in packs.
template <class G, int VEC, unsigned MODES>
__global__ void __launch_bounds__(256) elements(const __grid_constant__ Steps p) {
  using Item = typename G::Item;
  constexpr int UNROLL = VEC > 8 ? 1 : 2;
  Places<G::tensors> none;
  none.start();
  typename G::Row row;
  G::load_row(RowAccess<G>{p, none}, row);
  G::template row<0>(p, row);
  const uint64_t items = p.rows * p.packs, all = all_threads();
  if (first_item() == 0) G::store_row(RowAccess<G>{p, none}, row);
  if constexpr (G::last >= 0) {
#pragma unroll 1
    for (uint64_t i = first_item(); i < items; i += all * UNROLL) {
      Item x[UNROLL * VEC];
      Access<G, VEC, MODES> access[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (i + u * all >= items) continue;
        uint64_t pack = i + u * all;
        access[u].p = &p;
        access[u].axis = p.kept;
        access[u].places = none;
        if (p.kept > 0) access[u].places.add_axes(p, 0, p.kept, divide(p.row_packs, pack, &pack));
        access[u].first = pack * VEC;
        access[u].count = left_of(p.count, pack * VEC, VEC);
        access[u].places.add(p, p.kept, pack * VEC);
        G::load(access[u], x + u * VEC);
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        if (i + u * all >= items) continue;
#pragma unroll
        for (int j = 0; j < VEC; ++j) G::template item<0>(row, x[u * VEC + j]);
        G::template store<0>(access[u], x + u * VEC);
      }
    }
  }
}

// Bytes of the widest state, or result, of a group.
template <class G, int K = 0>
DLT_FN constexpr int state_bytes() {
  if constexpr (K == G::reductions) {
    return 16;
  } else {
    using R = typename G::template reduction<K>;
    constexpr int own = int(sizeof(typename R::body::word)) * R::body::members, rest = state_bytes<G, K + 1>();
    static_assert(own <= program_state_bytes && sizeof(typename R::result) <= 16);
    return own > rest ? own : rest;
  }
}
// A state for each reduction from K on.
template <class G, int K, bool END = K == G::reductions>
struct States {
  typename G::template reduction<K>::body::word words[G::template reduction<K>::body::members];
  States<G, K + 1> rest;
  template <int I>
  DLT_FN auto* get() {
    if constexpr (I == K) return words;
    else return rest.template get<I>();
  }
};
template <class G, int K>
struct States<G, K, true> {};

// A block takes rows, with `lanes` threads each, or parts of rows. A thread keeps PACKS packs of its row, or reads its part again in
// each phase where that is 0. Phases before FROM have been reduced by an earlier launch, whose states are in memory; this launch
// ends with phase TO, and leaves its states there unless it is the last one.
template <class G, int PACKS, int VEC, unsigned MODES, int FROM, int TO>
struct RowRun {
  using Item = typename G::Item;
  static constexpr bool is_kept = PACKS > 0;
  static constexpr int UNROLL = VEC > 4 ? 2 : 4;
  const Steps& p;
  char* const shared;
  unsigned lane, lanes, column, columns;
  uint64_t row, part, begin, end;  // begin, end: packs
  bool there;
  Places<G::tensors> base;
  typename G::Row values;
  Item kept[is_kept ? PACKS * VEC : 1];

  DLT_FN RowRun(const Steps& steps, char* memory) : p(steps), shared(memory) {}

  DLT_FN Access<G, VEC, MODES> access(uint64_t pack) const {
    Access<G, VEC, MODES> to{&p, base, p.kept, left_of(p.count, pack * VEC, VEC), pack * VEC};
    if (VEC > 1 || p.reduced == 1) to.places.add(p, p.kept, pack * VEC);
    else to.places.add_axes(p, p.kept, p.reduced, pack);
    return to;
  }
  template <int LEVEL>
  DLT_FN void compute(Item* x) const {
#pragma unroll
    for (int j = 0; j < VEC; ++j) G::template item<LEVEL>(values, x[j]);
  }
  template <int LEVEL>
  DLT_FN void compute_from_start(Item* x) const {
    if constexpr (LEVEL > 0) compute_from_start<LEVEL - 1>(x);
    compute<LEVEL>(x);
  }
  // Calls f(items, pack) with packs `from` to `to` of the row, as they are in phase LEVEL.
  template <int LEVEL, bool AGAIN, class F>
  DLT_FN void each_pack(uint64_t from, uint64_t to, F f) {
    if constexpr (is_kept) {
#pragma unroll
      for (int u = 0; u < PACKS; ++u) {
        const uint64_t pack = lane + u * lanes;
        if (pack >= to) continue;
        if constexpr (!AGAIN) compute<LEVEL>(kept + u * VEC);
        f(kept + u * VEC, pack);
      }
    } else {
#pragma unroll 1
      for (uint64_t pack = from + lane; pack < to; pack += lanes * UNROLL) {
        Item x[UNROLL * VEC];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
          if (pack + u * lanes < to) G::load(access(pack + u * lanes), x + u * VEC);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          if (pack + u * lanes >= to) continue;
          compute_from_start<LEVEL>(x + u * VEC);
          f(x + u * VEC, pack + u * lanes);
        }
      }
    }
  }

  template <int K>
  DLT_FN static auto reduced(const Item& x) {
    using R = typename G::template reduction<K>;
    const typename R::element value = R::of(x);
    return reduce::element<typename R::body::type, typename R::element>(&value);
  }
  // The arguments of the end of a reduction besides its state; `center` has room for both parts of one.
  template <int K>
  DLT_FN auto ending(double* center) const {
    using R = typename G::template reduction<K>;
    if constexpr (R::body::again == reduce::Again::deviations)
      for (int k = 0; k < R::body::parts::count; ++k) center[k] = R::center(values, k);
    return reduce::Ending{R::correction(), R::root, center};
  }
  // Adds a pack to the states of a phase.
  template <int LEVEL, int K = 0>
  DLT_FN void step(const Item* x, uint64_t first, int count, States<G, 0>& states) const {
    if constexpr (K < G::reductions) {
      if constexpr (G::template reduction<K>::phase == LEVEL) {
        using Body = typename G::template reduction<K>::body;
        auto* const w = states.template get<K>();
        double center[2] = {};
        ending<K>(center);
        if constexpr (Body::takes_packs && VEC > 1) {
          typename computed<typename Body::type>::type elements[VEC];
#pragma unroll
          for (int j = 0; j < VEC; ++j) elements[j] = reduced<K>(x[j]);
          if (count == VEC) {
            Body::template step_pack<VEC>(w, elements, first, 1);
          } else {
#pragma unroll 1
            for (int j = 0; j < count; ++j) reduce::step<Body>(w, reduced<K>(x[j]), first + j, center);
          }
        } else {
#pragma unroll
          for (int j = 0; j < VEC; ++j)
            if (j < count) reduce::step<Body>(w, reduced<K>(x[j]), first + j, center);
        }
      }
      step<LEVEL, K + 1>(x, first, count, states);
    }
  }
  template <int LEVEL, bool FIRST, int K = 0>
  DLT_FN void start_or_count(States<G, 0>& states, uint64_t taken) const {
    if constexpr (K < G::reductions) {
      if constexpr (G::template reduction<K>::phase == LEVEL) {
        using Body = typename G::template reduction<K>::body;
        if constexpr (FIRST) Body::start(states.template get<K>());
        else Body::counted(states.template get<K>(), taken);
      }
      start_or_count<LEVEL, FIRST, K + 1>(states, taken);
    }
  }

  // The state of a part of this row in memory.
  template <int K>
  DLT_FN auto* state_of(uint64_t number) const {
    return reinterpret_cast<typename G::template reduction<K>::body::word*>(
        static_cast<char*>(p.states) + ((K * p.rows + row) * p.parts + number) * program_state_bytes);
  }
  template <int K>
  DLT_FN void join_parts(typename G::template reduction<K>::body::word* w) const {
    using Body = typename G::template reduction<K>::body;
    Body::start(w);
#pragma unroll 1
    for (uint64_t number = lane; there && number < p.parts; number += lanes) {
      const auto* const from = state_of<K>(number);
      typename Body::word other[Body::members];
      for (int m = 0; m < Body::members; ++m) other[m] = from[m];
      Body::join(w, other);
    }
  }

  // The elements of row `row` of the block, for those that are read again.
  template <int LEVEL, int K>
  struct RowElements {
    RowRun* run;
    unsigned row;
    DLT_FN bool is_own() const { return run->column == row; }
    DLT_FN bool ends() const { return is_own() && run->lane == 0; }
    template <int COUNT, class F>
    DLT_FN void each(reduce::SharedSum*, F add) const {
      __syncthreads();
      if (is_own())
        run->template each_pack<LEVEL, true>(0, run->there ? run->p.packs : 0, [&](const Item* x, uint64_t pack) {
          for (int j = 0; j < left_of(run->p.count, pack * VEC, VEC); ++j) add(reduced<K>(x[j]));
        });
      __syncthreads();
    }
  };
  // Results that their states do not decide: the elements are read again, and added to integers of the whole range.
  template <int LEVEL, int K>
  DLT_FN void read_again(bool known, double count, typename G::template reduction<K>::result* value) {
    using R = typename G::template reduction<K>;
    __shared__ double undecided[threads];  // the number of elements of each row that is read again
    if (lane == 0) undecided[column] = known ? -1 : count;
    __syncthreads();
    double center[2] = {};
    const reduce::Ending by = ending<K>(center);
    const Immediate initial = R::initial();
#pragma unroll 1
    for (unsigned c = 0; c < columns; ++c)
      if (undecided[c] >= 0)
        reduce::reread<typename R::body>(RowElements<LEVEL, K>{this, c}, undecided[c], by, R::starts ? &initial : nullptr,
                                         value);
    __syncthreads();
  }

  template <int LEVEL, int K = 0>
  DLT_FN void end_phase(States<G, 0>& states) {
    if constexpr (K < G::reductions) {
      if constexpr (G::template reduction<K>::phase == LEVEL) {
        using R = typename G::template reduction<K>;
        using Body = typename R::body;
        auto* const w = states.template get<K>();
        if constexpr (LEVEL < FROM) join_parts<K>(w);
        __syncthreads();
        reduce::join_tree<Body>(reinterpret_cast<typename Body::word*>(shared), column * lanes + lane, lane, lanes, w);
        if constexpr (LEVEL == TO) {
          if (lane == 0 && there)
            for (int m = 0; m < Body::members; ++m) state_of<K>(part)[m] = w[m];
        } else {
          typename R::result value{};
          bool known = true;
          if (lane == 0 && there) {
            if constexpr (R::starts) {
              typename Body::word one[Body::members];
              Body::start(one);
              Body::put_first(one, R::initial());
              Body::counted(one, 1);
              Body::join(w, one);
            }
            double center[2] = {};
            known = Body::end(w, ending<K>(center), &value);
          }
          if constexpr (Body::again != reduce::Again::never) read_again<LEVEL, K>(known, double(w[Body::members - 1]), &value);
          __syncthreads();
          auto* const results = reinterpret_cast<typename R::result*>(shared);
          if (lane == 0) results[column] = value;
          __syncthreads();
          R::set(values, results[column]);
        }
      }
      end_phase<LEVEL, K + 1>(states);
    }
  }

  template <int LEVEL>
  DLT_FN void run_phase() {
    if constexpr (LEVEL <= TO) {
      States<G, 0> states;
      if constexpr (LEVEL >= FROM && (LEVEL < G::phases || LEVEL <= G::last)) {
        start_or_count<LEVEL, true>(states, 0);
        uint64_t taken = 0;
        each_pack<LEVEL, false>(begin, end, [&](const Item* x, uint64_t pack) {
          const int count = left_of(p.count, pack * VEC, VEC);
          step<LEVEL>(x, pack * VEC, count, states);
          taken += count;
          if constexpr (LEVEL <= G::last) G::template store<LEVEL>(access(pack), x);
        });
        start_or_count<LEVEL, false>(states, taken);
      }
      if constexpr (LEVEL < G::phases) end_phase<LEVEL>(states);
      if constexpr (LEVEL < TO) {
        G::template row<LEVEL + 1>(p, values);
        run_phase<LEVEL + 1>();
      }
    }
  }

  DLT_FN void run(uint64_t tile) {
    lanes = 1u << p.lane_bits;
    columns = threads >> p.lane_bits;
    lane = p.across ? threadIdx.x >> (8 - p.lane_bits) : threadIdx.x & (lanes - 1);
    column = p.across ? threadIdx.x & (columns - 1) : threadIdx.x >> p.lane_bits;
    uint64_t group;
    part = divide(p.groups, tile, &group);
    row = group * columns + column;
    there = row < p.rows;
    begin = there ? part * p.part : 0;
    end = !there ? 0 : p.packs - begin < p.part ? p.packs : begin + p.part;
    base.start();
    if (there) {
      base.add_axes(p, 0, p.kept, row);
      G::load_row(RowAccess<G>{p, base}, values);
    }
    G::template row<0>(p, values);
    if constexpr (is_kept) {
#pragma unroll
      for (int u = 0; u < PACKS; ++u)
        if (lane + u * lanes < end) G::load(access(lane + u * lanes), kept + u * VEC);
    }
    run_phase<0>();
    if constexpr (TO == G::phases)
      if (there && part == 0 && lane == 0) G::store_row(RowAccess<G>{p, base}, values);
  }
};

template <class G, int PACKS, int VEC, unsigned MODES, int FROM, int TO>
__global__ void __launch_bounds__(256) rows(const __grid_constant__ Steps p) {
  alignas(16) __shared__ char shared[threads * state_bytes<G>()];
#pragma unroll 1
  for (uint64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    RowRun<G, PACKS, VEC, MODES, FROM, TO> run(p, shared);
    run.run(tile);
    __syncthreads();
  }
}

}  // namespace dlt::kernels::program
