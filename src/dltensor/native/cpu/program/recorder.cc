// SPDX-License-Identifier: Apache-2.0
#include "native/cpu/program/recorder.h"

#include <string.h>

#include "native/cpu/elementwise/element_loop.h"
#include "native/layout/layout.h"
#include "native/cpu/program/program.h"

namespace dlt {
namespace {

// A number that was made an element, until a step takes it. The index is that of an argument, or -1.
struct Pending {
  int index, type;
  unsigned char element[16];
  bool unclear;  // another number was the same
};

struct Recording {
  Program* program;
  std::vector<Block*> owners;   // of each value; null for numbers. Held, so that no later tensor gets the same block
  std::vector<Pending> pending;
  bool refused = false;
  std::vector<Block*> held;     // of values that were written again
  ~Recording() {
    for (const auto* blocks : {&owners, &held})
      for (Block* block : *blocks)
        if (block) release(block);
  }
};

thread_local Recording* current = nullptr;

Status refuse(const char* what) {
  current->refused = true;
  return fail(Fault::type, "%s cannot be part of a fused function; call it outside", what);
}

int find_value(const Block* block) {
  for (size_t v = 0; v < current->owners.size(); ++v)
    if (current->owners[v] == block && block != nullptr) return int(v);
  return -1;
}

int add_value(ProgramValue value, Block* block) {
  if (block) retain(block);
  current->owners.push_back(block);
  current->program->values.push_back(value);
  return int(current->program->values.size()) - 1;
}

void describe(const DLTensor& t, ProgramValue* value) {
  value->ndim = t.ndim;
  for (int d = 0; d < t.ndim; ++d) value->shape[d] = t.shape[d], value->strides[d] = t.strides[d];
}

// Returns whether the tensor has the dimensions of the value as they are.
bool is_same(const DLTensor& t, const ProgramValue& value) {
  if (t.ndim != value.ndim) return false;
  for (int d = 0; d < t.ndim; ++d)
    if (t.shape[d] != value.shape[d] || (t.shape[d] > 1 && t.strides[d] != value.strides[d])) return false;
  return true;
}

// Finds the dimensions of a tensor among those of a value, of which it leaves out, or has more, of one element.
bool match(const DLTensor& t, const ProgramValue& value, ProgramOperand* operand) {
  operand->ndim = t.ndim;
  if (is_same(t, value)) {
    for (int d = 0; d < t.ndim; ++d) operand->axes[d] = int8_t(d);
    return true;
  }
  if (t.ndim == value.ndim - __builtin_popcountll(value.reduced)) {  // what a reduction leaves without keepdims
    int d = 0;
    bool fits = true;
    for (int axis = 0; axis < value.ndim; ++axis) {
      if (value.reduced >> axis & 1) continue;
      fits &= t.shape[d] == value.shape[axis] && (t.shape[d] <= 1 || t.strides[d] == value.strides[axis]);
      operand->axes[d++] = int8_t(axis);
    }
    if (fits) return true;
  }
  current->program->fixed = true;
  int axis = 0;
  for (int d = 0; d < t.ndim; ++d) {
    operand->axes[d] = -1;
    if (t.shape[d] == 1) continue;
    while (axis < value.ndim && value.shape[axis] == 1) ++axis;
    if (axis == value.ndim || value.shape[axis] != t.shape[d] || value.strides[axis] != t.strides[d]) return false;
    operand->axes[d] = int8_t(axis++);
  }
  while (axis < value.ndim && value.shape[axis] == 1) ++axis;
  return axis == value.ndim;
}

int64_t offset_in(const DLTensor& t, const Block* block) {
  const char* data = static_cast<const char*>(t.data) + t.byte_offset;
  return data - static_cast<const char*>(block->data);
}

Status take_tensor(const DLTensor& t, const Block* block, ProgramOperand* operand) {
  const int number = find_value(block);
  if (number < 0) return refuse("a tensor that is neither an argument nor computed in the function");
  if (t.ndim > most_axes) return refuse("a tensor of more than 8 dimensions");
  const ProgramValue value = current->program->values[size_t(number)];
  const int64_t offset = offset_in(t, block);
  operand->value = number;
  if (offset == 0 && find_type(t.dtype) == value.type && match(t, value, operand)) return success;
  if (value.origin != Origin::argument || find_type(t.dtype) != value.type)
    return refuse("a view of what the function has computed, in another shape or order,");
  // A view of an argument is an argument with a layout of its own.
  current->program->fixed = true;
  ProgramValue view = value;
  describe(t, &view);
  view.fixed = true;
  view.offset = offset / type_table[value.type].bytes;
  operand->value = add_value(view, nullptr);
  operand->ndim = t.ndim;
  for (int d = 0; d < t.ndim; ++d) operand->axes[d] = int8_t(d);
  return success;
}

int take_number(int type, const void* element) {
  ProgramValue value{};
  value.origin = Origin::constant;
  value.type = type;
  memcpy(value.element, element, size_t(type_table[type].bytes));
  auto& pending = current->pending;
  for (size_t k = 0; k < pending.size(); ++k) {
    if (pending[k].type != type || memcmp(pending[k].element, value.element, 16) != 0) continue;
    if (pending[k].index >= 0 && !pending[k].unclear) {
      value.origin = Origin::number;
      value.index = current->program->numbers++;
      current->program->number_of.push_back(pending[k].index);
      pending.erase(pending.begin() + int64_t(k));
    } else if (pending[k].index < 0) {
      pending.erase(pending.begin() + int64_t(k));
    }
    break;
  }
  return add_value(value, nullptr);
}

Status take(const EngineOperand& in, ProgramStep* step) {
  ProgramOperand* operand = &step->in[step->inputs++];
  if (in.padded) return refuse("a tensor of elements below a byte");
  if (in.tensor != nullptr) return take_tensor(*in.tensor, in.block, operand);
  operand->value = take_number(in.type, in.value);
  return success;
}

// Returns whether all of a tensor that the function has made is written again; the block then stands for the new value.
bool is_rewritten(const DLTensor& t, Block* block, int value) {
  const ProgramValue& old = current->program->values[size_t(value)];
  if (old.origin == Origin::argument || offset_in(t, block) != 0 || find_type(t.dtype) != old.type || !is_same(t, old))
    return false;
  current->owners[size_t(value)] = nullptr;
  current->held.push_back(block);
  return true;
}

Status finish(ProgramStep* step, const EngineOperand& out) {
  const DLTensor& t = *out.tensor;
  const int before = find_value(out.block);
  if (before >= 0 && !is_rewritten(t, out.block, before)) return refuse("a write to an argument, or to a part of a tensor,");
  if (t.ndim > most_axes || current->program->values.size() >= most_values) return refuse("so long a function");
  ProgramValue value{};
  value.origin = Origin::step;
  value.type = find_type(t.dtype);
  if (value.type < 0 || type_table[value.type].dtype.bits < 8) return refuse("a tensor of elements below a byte");
  describe(t, &value);
  if (step->kind == StepKind::reduce) value.reduced = step->axes;
  step->out = add_value(value, out.block);
  current->program->steps.push_back(*step);
  return success;
}

Status element(const ElementCall& call, const EngineOperand* in, int count, const EngineOperand& out,
               const LaunchContext&) noexcept {
  ProgramStep step{};
  step.kind = StepKind::element;
  step.op = call.op;
  step.saturate = call.saturate;
  step.type = call.type;
  int from[3];
  for (int k = 0; k < count; ++k) {
    DLT_TRY(take(in[k], &step));
    from[k] = current->program->values[size_t(step.in[k].value)].type;
  }
  ElementLoop found;  // dtypes that the engine refuses are refused here
  DLT_TRY(find_element_loop(step.op, step.saturate ? run_saturate : 0, step.type, from, find_type(out.tensor->dtype), &found));
  return finish(&step, out);
}

Status real(Real form, double number, const EngineOperand& x, const EngineOperand* c, const EngineOperand& out,
            const LaunchContext&) noexcept {
  ProgramStep step{};
  step.kind = StepKind::real;
  step.op = form;
  step.number = number;
  DLT_TRY(take(x, &step));
  if (c != nullptr) DLT_TRY(take(*c, &step));
  return finish(&step, out);
}

Status cast(const EngineOperand& x, const EngineOperand& out, const CastOptions& options, const LaunchContext&) noexcept {
  ProgramStep step{};
  step.kind = StepKind::cast;
  step.cast = options;
  DLT_TRY(take(x, &step));
  const int from = current->program->values[size_t(step.in[0].value)].type, to = find_type(out.tensor->dtype);
  if (from < 0 || to < 0 || (options.scaled && scaling_type(from, to) < 0)) return undefined_for(from);
  return finish(&step, out);
}

Status choose(const EngineOperand& condition, const EngineOperand& a, const EngineOperand& b, const EngineOperand& out,
              const LaunchContext&) noexcept {
  ProgramStep step{};
  step.kind = StepKind::choose;
  for (const EngineOperand* in : {&condition, &a, &b}) DLT_TRY(take(*in, &step));
  return finish(&step, out);
}

// Fails for the dtypes that the engine refuses.
Status reduce_nothing(const ProgramStep& step, DLDataType result) {
  int64_t none = 0, one = 1;
  alignas(16) char element[16], into[16];
  const DLDataType dtype = type_table[current->program->values[size_t(step.in[0].value)].type].dtype;
  const DLTensor in{element, {kDLCPU, 0}, 1, dtype, &none, &one, 0}, out{into, {kDLCPU, 0}, 1, result, &one, &one, 0};
  return dlt::reduce(step.op, step.reduce, step.type, in, nullptr, 1, out);
}

Status reduce(int reduction, const ReduceOptions& options, int type, const EngineOperand& x, const EngineOperand* mask,
              uint64_t axes, const EngineOperand& out, const LaunchContext&) noexcept {
  if (mask != nullptr) return refuse("a reduction with where=");
  ProgramStep step{};
  step.kind = StepKind::reduce;
  step.op = reduction;
  step.type = type;
  step.reduce = options;
  step.axes = axes;
  if (options.initial_type >= 0) memcpy(step.initial, options.initial, size_t(type_table[options.initial_type].bytes));
  step.reduce.initial = nullptr;
  DLT_TRY(take(x, &step));
  DLT_TRY(reduce_nothing(step, out.tensor->dtype));
  return finish(&step, out);
}

// A constant of a shape, whatever the operands are.
Status fill(const void* element, const EngineOperand& out, const LaunchContext&) noexcept {
  const DLTensor& t = *out.tensor;
  const int type = find_type(t.dtype);
  if (find_value(out.block) >= 0 || t.ndim > most_axes || type < 0 || t.dtype.bits < 8) return refuse("an assignment");
  ProgramValue value{};
  value.origin = Origin::constant;
  value.type = type;
  describe(t, &value);
  memcpy(value.element, element, size_t(type_table[type].bytes));
  add_value(value, out.block);
  current->program->fixed |= t.ndim > 0;
  return success;
}

// The slots of functions that are no steps.
template <class... Arguments>
Status refuse_call(Arguments...) noexcept {
  return refuse("this function");
}

}  // namespace

bool start_recording(Program* program) noexcept {
  if (current != nullptr) return false;
  current = new (std::nothrow) Recording{program, {}, {}, false, {}};
  return current != nullptr;
}

void end_recording() noexcept {
  delete current;
  current = nullptr;
}

bool is_recording() noexcept { return current != nullptr; }

bool was_refused() noexcept { return current != nullptr && current->refused; }

void record_argument(const DLTensor& t, Block* block) noexcept {
  ProgramValue value{};
  value.origin = Origin::argument;
  value.index = current->program->arguments++;
  value.type = find_type(t.dtype);
  describe(t, &value);
  for (int d = 0; d < t.ndim; ++d) current->program->fixed |= t.shape[d] < 2;
  add_value(value, block);
}

bool record_constant(const DLTensor& t, Block* block) noexcept {
  const int type = find_type(t.dtype);
  if (t.ndim > most_axes || numel(t.ndim, t.shape) != 1 || type < 0 || t.dtype.bits < 8) return false;
  ProgramValue value{};
  value.origin = Origin::constant;
  value.type = type;
  describe(t, &value);
  memcpy(value.element, static_cast<const char*>(t.data) + t.byte_offset, size_t(type_table[type].bytes));
  add_value(value, block);
  return true;
}

void record_number(int index, int type, const void* element) noexcept {
  if (current == nullptr) return;
  Pending next{index, type, {}, false};
  memcpy(next.element, element, size_t(type_table[type].bytes));
  for (Pending& other : current->pending) {
    if (other.type != type || memcmp(other.element, next.element, 16) != 0 || (index < 0 && other.index < 0)) continue;
    other.unclear = next.unclear = true;
  }
  current->pending.push_back(next);
}

int unclear_number() noexcept {
  for (const Pending& each : current->pending)
    if (each.index >= 0) return each.index;
  return -1;
}

void record_shape_read() noexcept {
  if (current != nullptr) current->program->fixed = true;
}

bool record_fill(const DLTensor& t, Block* block, const void* element) noexcept {
  return current != nullptr && fill(element, EngineOperand(&t, block), LaunchContext()).ok();
}

// A constant, or a value that is a result already, becomes the result of a step that copies it.
void copy_value(ProgramOperand* operand) {
  ProgramStep step{};
  step.kind = StepKind::cast;
  step.inputs = 1;
  step.in[0].value = operand->value;
  ProgramValue value = current->program->values[size_t(operand->value)];
  step.in[0].ndim = value.ndim;
  for (int d = 0; d < value.ndim; ++d) step.in[0].axes[d] = int8_t(d);
  value.origin = Origin::step;
  operand->value = step.out = add_value(value, nullptr);
  current->program->steps.push_back(step);
}

bool record_result(const DLTensor& t, const Block* block) noexcept {
  ProgramOperand operand;
  if (t.ndim > most_axes || !take_tensor(t, block, &operand).ok()) return false;
  const Origin origin = current->program->values[size_t(operand.value)].origin;
  if (origin == Origin::argument) return false;
  bool copied = origin == Origin::constant;
  for (const ProgramOperand& result : current->program->results) copied |= result.value == operand.value;
  if (copied) copy_value(&operand);
  current->program->results.push_back(operand);
  return true;
}

// Slots at the end are composed of the others, or make tensors of numbers.
const EngineTable recording_engine = {element,     real,        cast,        choose,      fill,        refuse_call,
                                      reduce,      refuse_call, refuse_call, refuse_call, refuse_call, refuse_call,
                                      refuse_call, refuse_call, 65536,       refuse_call, refuse_call, refuse_call,
                                      refuse_call, nullptr,     nullptr,     nullptr,     nullptr,     nullptr};

}  // namespace dlt
