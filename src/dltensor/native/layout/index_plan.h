// SPDX-License-Identifier: Apache-2.0
// The selection of a key of integers, slices, index arrays and masks: shapes, strides and offsets. No element is read here.
#pragma once
#include <stdint.h>

#include "native/export.h"
#include "native/layout/layout.h"

namespace dlt {

enum class KeyKind : int32_t { integer, slice, new_axis, ellipsis, array, mask, truth };

// One item of a key. A mask counts as one index array for each of its dimensions; a truth is a mask without dimensions.
struct KeyItem {
  KeyKind kind;
  int64_t start;         // of an integer its value, of a slice its start as Python unpacks it
  int64_t stop, step;    // of a slice
  int ndim;              // of an array or a mask
  const int64_t* shape;
  int64_t count;         // elements of a mask or a truth that are true
};

inline constexpr int max_items = 192;

// An axis that is indexed by an array. Dimensions of a mask that follow each other in memory are one axis.
struct IndexedAxis {
  int item;
  int part;  // the dimension of a mask; -1: all of them
  int axis;  // the first one
  int64_t size, stride;
};

enum class IndexFault {
  none,
  out_of_range,   // an integer; `axis` and `size` say of what
  too_many,       // items for the dimensions: `size` axes are named
  two_ellipses,
  mask_shape,     // dimension `axis` of the tensor has `size` elements, the mask another number
  no_broadcast,   // the shapes of the index arrays
  too_many_dims,
};

// Without arrays, masks and truths: nothing but a view. With them the result has the dimensions `outer`, those of the
// arrays, broadcast, and `inner`. Strides count elements.
struct IndexPlan {
  IndexFault fault;
  int item, axis;
  int64_t size;

  int64_t offset;  // of the first element
  int outer, inner;
  int64_t outer_shape[max_dims], outer_strides[max_dims];
  int64_t inner_shape[max_dims], inner_strides[max_dims];
  int spread;  // dimensions of the arrays
  int64_t spread_shape[max_dims];
  int arrays;
  IndexedAxis array[max_dims];
  int ndim;
  int64_t shape[max_dims];  // of the result
};

// NumPy's rule: index arrays next to each other, integers among them, leave their dimensions in place; else they go first.
// False with `fault` when the key does not fit.
DLT_API bool plan_index(int ndim, const int64_t* shape, const int64_t* strides, int count, const KeyItem* items,
                        IndexPlan* plan) noexcept;

}  // namespace dlt
