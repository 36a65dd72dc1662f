// SPDX-License-Identifier: Apache-2.0
// Iteration over several strided tensors together, in tiles that fit L1, so that every loop sees contiguous runs.
// The caller supplies the computation.
#pragma once
#include <stdint.h>

#include "native/cpu/copy/cast_pipeline.h"
#include "native/cpu/runtime/dtype.h"
#include "native/layout/layout.h"

namespace dlt {

// One operand of a strided loop. `pipeline` brings an input to the type of the loop, and the loop's type to that of the
// output.
struct Operand {
  char* data;
  int64_t width;   // bytes of one element; of packed ones the byte they are unpacked to
  int bits;        // of one element when packed, more than 8 only where elements are moved; else 0
  CastPipeline pipeline;
  int64_t strides[max_dims];  // in elements; of packed ones in packed elements
};

struct StridedLoop {
  int ndim;
  int inputs;  // 1 to 3
  Operand out, in[3];
  int64_t loop_width;    // bytes of one element that the loop writes
  loop_t loop;           // null: the elements are only moved
  real_loop_t real_loop; // instead of `loop`, with `scalar`
  double scalar;
  int weight;            // work per byte relative to a float addition: lowers the size from which threads are used
  int64_t shape[max_dims];
};

// The address and width of a tensor's elements; the caller sets the strides.
void set_elements(Operand* operand, const DLTensor& tensor, bool padded);

// Runs the loop. Shape and strides are modified: dimensions are flipped, sorted and merged in place.
// Inputs may be the output itself, element for element, and must not overlap it otherwise.
void run_strided(StridedLoop* loop_nest) noexcept;

}  // namespace dlt
