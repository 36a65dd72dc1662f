// SPDX-License-Identifier: Apache-2.0
// Groups of steps as text for kernels. Chooses no launch.
#pragma once
#include <string>
#include <vector>

#include "native/cpu/program/program.h"

namespace dlt::cuda {

// A group as the class G of kernels/program/program.cuh. Members are numbered as in ProgramGroup.
struct GroupText {
  std::string text;               // "" where no kernel computes it
  std::vector<int> tensors;       // members in memory: operands, then results
  int results = 0;                // how many of them are results
  std::vector<int> numbers;       // values that are numbers
  std::vector<int> reduced;       // members that reductions take
  std::vector<bool> of_elements;  // of each member: it has more than one value in a row
  int phases = 0, last = -1;      // as G has them
};

GroupText print_group(const Program& program, const ProgramGroup& group);

}  // namespace dlt::cuda
