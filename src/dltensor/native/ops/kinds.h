// SPDX-License-Identifier: Apache-2.0
// The kinds of element that a row of operations or reductions takes, as bits; read by the preprocessor alone, too.
#pragma once

#define DLT_BOOLEANS 1
#define DLT_INTEGERS 2
#define DLT_FLOATS 4
#define DLT_COMPLEXES 8
#define DLT_ANY (DLT_BOOLEANS | DLT_INTEGERS | DLT_FLOATS | DLT_COMPLEXES)
#define DLT_NUMBERS (DLT_INTEGERS | DLT_FLOATS | DLT_COMPLEXES)
#define DLT_ORDERED (DLT_BOOLEANS | DLT_INTEGERS | DLT_FLOATS)
#define DLT_REALS (DLT_INTEGERS | DLT_FLOATS)
#define DLT_BITS (DLT_BOOLEANS | DLT_INTEGERS)
#define DLT_FLOATING (DLT_FLOATS | DLT_COMPLEXES)
