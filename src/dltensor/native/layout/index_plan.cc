// SPDX-License-Identifier: Apache-2.0
// The dimensions of a result of indexing, one item of the key after the other.
#include "native/layout/index_plan.h"

namespace dlt {
namespace {

int axes_of(const KeyItem& item) {
  switch (item.kind) {
    case KeyKind::integer:
    case KeyKind::slice:
    case KeyKind::array: return 1;
    case KeyKind::mask: return item.ndim;
    default: return 0;
  }
}

// Strides of a foreign empty tensor may be anything: products wrap, and no element is read through them.
int64_t times(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
int64_t plus(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }

int64_t bounded(int64_t at, int64_t size, bool backward) {
  if (at < 0) {
    at += size;
    return at < 0 ? (backward ? -1 : 0) : at;
  }
  return at < size ? at : backward ? size - 1 : size;
}

struct Slice {
  int64_t start, count;
};
Slice slice_of(const KeyItem& item, int64_t size) {
  const bool backward = item.step < 0;
  const int64_t start = bounded(item.start, size, backward), stop = bounded(item.stop, size, backward);
  const int64_t way = backward ? start - stop : stop - start, step = backward ? -item.step : item.step;
  return {start, way > 0 ? (way - 1) / step + 1 : 0};
}

// Dimensions [first, first + count) can be stepped through with one stride, in C order.
bool join(const int64_t* shape, const int64_t* strides, int count, int64_t* size, int64_t* stride) {
  int64_t n = 1, step = 1, expected = 0;
  bool any = false;
  for (int d = count - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (!any) step = strides[d];
    else if (strides[d] != expected) return false;
    any = true;
    expected = times(strides[d], shape[d]);
    n = times(n, shape[d]);
  }
  *size = n;
  *stride = step;
  return true;
}

struct Builder {
  const int64_t *shape, *strides;
  IndexPlan* plan;
  bool indexed = false;  // the key has arrays, masks or truths, among which integers count
  int blocks = 0;        // runs of index arrays that were met
  bool open = false;     // the last item belongs to one
  int axis = 0;
  // The dimensions that are kept, and how many of them precede the first index array.
  int kept = 0, before = 0;
  int64_t kept_shape[max_dims], kept_strides[max_dims];

  Builder(const int64_t* shape, const int64_t* strides, IndexPlan* plan) : shape(shape), strides(strides), plan(plan) {}

  bool fail(IndexFault fault, int item, int at = 0, int64_t size = 0) {
    plan->fault = fault;
    plan->item = item;
    plan->axis = at;
    plan->size = size;
    return false;
  }
  bool keep(int64_t extent, int64_t stride) {
    open = false;
    if (kept == max_dims) return fail(IndexFault::too_many_dims, 0);
    kept_shape[kept] = extent;
    kept_strides[kept++] = stride;
    return true;
  }
  void enter() {
    if (!open && blocks++ == 0) before = kept;
    open = true;
  }
  bool broadcast(int item, int ndim, const int64_t* extents) {
    int64_t own[max_dims];
    for (int d = 0; d < plan->spread; ++d) own[d] = plan->spread_shape[d];
    const int ndims[2] = {plan->spread, ndim};
    const int64_t* const both[2] = {own, extents};
    const int spread = broadcast_shapes(2, ndims, both, Align::trailing, plan->spread_shape);
    if (spread < 0) return fail(IndexFault::no_broadcast, item);
    plan->spread = spread;
    return true;
  }
  bool add_array(int item, int part, int at, int64_t size, int64_t stride) {
    if (plan->arrays == max_dims) return fail(IndexFault::too_many_dims, item);
    plan->array[plan->arrays++] = {item, part, at, size, stride};
    return true;
  }

  bool take_mask(const KeyItem& item, int number) {
    bool none = false;
    for (int d = 0; d < item.ndim; ++d) none |= item.shape[d] == 0;
    for (int d = 0; d < item.ndim; ++d)
      if (item.shape[d] != shape[axis + d] && item.shape[d] != 0)
        return fail(IndexFault::mask_shape, number, axis + d, shape[axis + d]);
    enter();
    if (!broadcast(number, 1, &item.count)) return false;
    int64_t size, stride;
    if (!none && join(shape + axis, strides + axis, item.ndim, &size, &stride)) {
      if (!add_array(number, -1, axis, size, stride)) return false;
    } else {
      for (int d = 0; d < item.ndim; ++d)
        if (!add_array(number, d, axis + d, shape[axis + d], strides[axis + d])) return false;
    }
    axis += item.ndim;
    return true;
  }

  bool take(const KeyItem& item, int number, int rest) {
    switch (item.kind) {
      case KeyKind::integer: {
        const int64_t size = shape[axis], at = item.start < 0 ? item.start + size : item.start;
        if (at < 0 || at >= size) return fail(IndexFault::out_of_range, number, axis, size);
        plan->offset = plus(plan->offset, times(at, strides[axis++]));
        if (indexed) enter();
        return true;
      }
      case KeyKind::slice: {
        const Slice slice = slice_of(item, shape[axis]);
        if (slice.count > 0) plan->offset = plus(plan->offset, times(slice.start, strides[axis]));
        const int64_t stride = slice.count > 1 ? times(strides[axis], item.step) : strides[axis];
        ++axis;
        return keep(slice.count, stride);
      }
      case KeyKind::new_axis: return keep(1, 0);
      case KeyKind::ellipsis:
        open = false;
        for (; rest > 0; --rest, ++axis)
          if (!keep(shape[axis], strides[axis])) return false;
        return true;
      case KeyKind::array:
        enter();
        if (!broadcast(number, item.ndim, item.shape)) return false;
        ++axis;
        return add_array(number, 0, axis - 1, shape[axis - 1], strides[axis - 1]);
      case KeyKind::mask: return take_mask(item, number);
      default: {
        enter();
        const int64_t extent = item.count != 0;
        return broadcast(number, 1, &extent);
      }
    }
  }

  bool finish() {
    IndexPlan& p = *plan;
    if (blocks != 1) before = 0;
    p.outer = before;
    p.inner = kept - before;
    p.ndim = kept + p.spread;
    if (p.ndim > max_dims) return fail(IndexFault::too_many_dims, 0);
    for (int d = 0; d < p.outer; ++d) {
      p.shape[d] = p.outer_shape[d] = kept_shape[d];
      p.outer_strides[d] = kept_strides[d];
    }
    for (int d = 0; d < p.spread; ++d) p.shape[p.outer + d] = p.spread_shape[d];
    for (int d = 0; d < p.inner; ++d) {
      p.shape[p.outer + p.spread + d] = p.inner_shape[d] = kept_shape[before + d];
      p.inner_strides[d] = kept_strides[before + d];
    }
    return true;
  }
};

}  // namespace

bool plan_index(int ndim, const int64_t* shape, const int64_t* strides, int count, const KeyItem* items,
                IndexPlan* plan) noexcept {
  plan->fault = IndexFault::none;
  plan->offset = 0;
  plan->spread = plan->arrays = 0;
  Builder build(shape, strides, plan);
  int named = 0, ellipsis = -1;
  for (int i = 0; i < count; ++i) {
    named += axes_of(items[i]);
    build.indexed |= items[i].kind >= KeyKind::array;
    if (items[i].kind != KeyKind::ellipsis) continue;
    if (ellipsis >= 0) return build.fail(IndexFault::two_ellipses, i);
    ellipsis = i;
  }
  if (named > ndim) return build.fail(IndexFault::too_many, 0, 0, named);
  for (int i = 0; i < count; ++i)
    if (!build.take(items[i], i, ndim - named)) return false;
  while (build.axis < ndim) {
    if (!build.keep(shape[build.axis], strides[build.axis])) return false;
    ++build.axis;
  }
  return build.finish();
}

}  // namespace dlt
