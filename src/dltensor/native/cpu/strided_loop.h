// SPDX-License-Identifier: Apache-2.0
// Walking strided tensors together: cut into tiles that fit the first cache, so that every loop sees plain runs.
// What is computed on a run is the caller's business.
#pragma once
#include <stdint.h>

#include "native/cpu/cast_pipeline.h"
#include "native/cpu/kernels.h"
#include "native/layout/layout.h"

namespace dlt {

// One tensor of a walk. `pipeline` brings an input to the type of the loop, and the loop's type to that of the output.
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
  int weight;            // work per byte beside an addition of floats: how much sooner a second thread pays
  int64_t shape[max_dims];
};

// Where the elements of a tensor are and how wide; strides are the caller's to set.
void set_elements(Operand* operand, const DLTensor& tensor, bool padded);

// Runs the walk. Shape and strides are the caller's to lose: dimensions are turned, sorted and joined in place.
// Inputs may be the output itself, element for element, and must not overlap it otherwise.
void run_strided(StridedLoop* loop_nest) noexcept;

}  // namespace dlt
