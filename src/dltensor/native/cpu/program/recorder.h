// SPDX-License-Identifier: Apache-2.0
// An engine that computes nothing: it records the calls of the thread that has started a recording. Its tensors have a shape and
// no elements; their block tells which value they are.
#pragma once
#include "native/cpu/runtime/engine_table.h"
#include "native/export.h"
#include "native/memory/block.h"

namespace dlt {

struct Program;

// Begins a recording of the calling thread into `program`. False where the thread already records.
DLT_API bool start_recording(Program* program) noexcept;
DLT_API void end_recording() noexcept;
DLT_API bool is_recording() noexcept;
// Returns whether a call of this recording was none that a program has.
DLT_API bool was_refused() noexcept;

// Makes `block` the next argument, with the dtype and layout of `t`.
DLT_API void record_argument(const DLTensor& t, Block* block) noexcept;
// Makes `block` a constant: the one element of `t`, which is on the host. False where it has more.
DLT_API bool record_constant(const DLTensor& t, Block* block) noexcept;
// Makes every element of a tensor that the function has made this one.
DLT_API bool record_fill(const DLTensor& t, Block* block, const void* element) noexcept;
// Tells that a number is made `element` of dtype `type`, which a step will take: argument `index`, or -1 for any other number.
DLT_API void record_number(int index, int type, const void* element) noexcept;
// The index of an argument that was made an element and that no step has taken, or not surely that one; -1: there is none.
DLT_API int unclear_number() noexcept;
// Tells that code has read a shape, so that the program holds for these shapes alone.
DLT_API void record_shape_read() noexcept;
// Makes a tensor the next result. False where it is none of the values, as recorded.
DLT_API bool record_result(const DLTensor& t, const Block* block) noexcept;

DLT_API extern const EngineTable recording_engine;

}  // namespace dlt
