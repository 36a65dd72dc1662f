// SPDX-License-Identifier: Apache-2.0
// The interface of the Python layers: arrays around a block with an owner, which differ from copies, and checked
// calls of any array.
#include "native/opaque/array.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "native/memory/managed.h"
#include "native/opaque/call.h"

using namespace dlt;
using namespace dlt::opaque;

namespace {

std::atomic<int> references{0};
void keep(void*) { ++references; }
void let(void*) noexcept { --references; }

int object;
dlt_array_t owned(uint64_t flags = 0) {
  int64_t shape[] = {2, 3}, strides[] = {3, 1};
  Block* block = allocate(48);
  auto* values = static_cast<double*>(block->data);
  for (int i = 0; i < 6; ++i) values[i] = i;
  DLTensor view = {block->data, {kDLCPU, 0}, 2, {kDLFloat, 64, 1}, shape, strides, 0};
  dlt_array_t array;
  references = 1;
  DetailedStatus status = make({&view, block, flags, origin_named("object"), nullptr, &object, let}, &array);
  CHECK(status.ok());
  return array;
}

void the_owner_stands_for_what_it_was() {
  dlt_array_t a = owned();
  CHECK(is_ours(a) && owner_of(a, keep) == &object && references == 2);
  let(&object);
  CHECK(call_swap_axes(a, nullptr, 1, 1).ok() && owner_of(a, nullptr) == &object);
  // Refused: nothing has changed, so it still is what it was.
  CHECK(!call_reshape(a, nullptr, nullptr, 0).ok() && owner_of(a, nullptr) == &object);
  CHECK(call_swap_axes(a, nullptr, 0, 1).ok());
  CHECK(references == 0 && owner_of(a, keep) == nullptr && references == 0);
  call_destroy(&a);
  CHECK(references == 0 && a.ptr == nullptr);
  call_destroy(&a);

  a = owned();
  dlt_array_t copy = {};
  CHECK(call_copy(a, nullptr, {kDLCPU, 0}, &copy).ok() && owner_of(copy, keep) == nullptr);
  dlt_array_t view = dlt_array_view(a);
  CHECK(owner_of(view, nullptr) == &object);
  call_destroy(&view);
  CHECK(references == 1);
  // An export holds the memory, not the owner.
  DLManagedTensorVersioned* t = nullptr;
  CHECK(export_tensor("test", a, nullptr, {kDLCPU, 0}, nullptr, {1, 3}, &t).ok());
  dlt_array_t again = a;
  call_destroy(&a);
  CHECK(references == 0 && static_cast<double*>(t->dl_tensor.data)[5] == 5);
  t->deleter(t);
  CHECK(!is_ours(again) && owner_of(again, keep) == nullptr);
  call_destroy(&copy);
}

void the_owner_is_released_once() {
  for (int round = 0; round < 200; ++round) {
    dlt_array_t a = owned();
    std::vector<std::thread> threads;
    for (int k = 0; k < 3; ++k)
      threads.emplace_back([&a] {
        if (owner_of(a, keep)) let(&object);
      });
    threads.emplace_back([&a] { (void)call_swap_axes(a, nullptr, 0, 1); });
    threads.emplace_back([&a] { a.destroy(a.ptr); });
    for (std::thread& thread : threads) thread.join();
    CHECK(references == 0);
  }
}

void nothing_leaks_through_the_table() {
  int64_t handles = live_handles(), blocks = memory_stats().live_blocks;
  std::vector<dlt_array_t> all;
  for (int i = 0; i < 5000; ++i) all.push_back(owned());
  CHECK(live_handles() == handles + 5000);
  for (dlt_array_t& a : all) call_destroy(&a);
  CHECK(live_handles() == handles && memory_stats().live_blocks == blocks);
}

void failures_leave_everything_with_the_caller() {
  int64_t blocks = memory_stats().live_blocks;
  Block* block = allocate(8);
  DLTensor view = {block->data, {static_cast<DLDeviceType>(19), 0}, 0, {kDLFloat, 64, 1}, nullptr, nullptr, 0};
  dlt_array_t a = {};
  references = 1;
  CHECK(!make({&view, block, 0, origin_named("object"), nullptr, &object, let}, &a).ok());
  view.device.device_type = kDLCPU;
  view.dtype.code = 18;
  CHECK(!make({&view, block, 0, origin_named("object"), nullptr, &object, let}, &a).ok());
  CHECK(references == 1 && a.ptr == nullptr && block->references == 1);
  release(block);
  CHECK(memory_stats().live_blocks == blocks);
}

void answers_and_calls_are_checked() {
  dlt_array_t a = owned(DLPACK_FLAG_BITMASK_READ_ONLY);
  ArrayInfo info;
  CHECK(read_info(a, nullptr, &info).ok());
  CHECK(info.origin_name == "object" && info.ndim == 2 && info.shape[1] == 3 && info.dtype.bits == 64);
  dlt_data_movement_t line = {0, 0, 0, 0, 3};
  DetailedStatus status = call_move_data(a, a, nullptr, &line, 1);
  CHECK(status.code() == DLT_CALLBACK_ERROR && status.message.find("read-only") != std::string::npos);
  CHECK(status.source == "dltensor");
  double seven = 7;
  uintptr_t shape[] = {4};
  dlt_array_t made = {}, imported = {};
  CHECK(call_create(a, nullptr, shape, 1, scalar_over(&seven, {kDLFloat, 64, 1}), &made).ok());
  DLManagedTensorVersioned* t = nullptr;
  CHECK(export_tensor("test", made, nullptr, {kDLCPU, 0}, nullptr, {1, 3}, &t).ok());
  CHECK(static_cast<double*>(t->dl_tensor.data)[3] == 7 && block_of(t) != nullptr);
  CHECK(call_from_dlpack(a, nullptr, t, &imported).ok() && is_ours(imported));
  // A struct that lacks what is called: the arguments that would have been used up are not lost.
  dlt_array_t empty = {};
  returned = 0;
  CHECK(!call_create(empty, nullptr, shape, 1, scalar_over(&seven, {kDLFloat, 64, 1}), &made).ok() && returned == 1);
  CHECK(!call_from_dlpack(empty, nullptr, tensor_over(&seven, {kDLFloat, 64, 1}, 0, nullptr, nullptr, 0), &made).ok());
  CHECK(returned == 2);
  status = call_move_data(a, empty, nullptr, &line, 1);
  CHECK(!status.ok() && status.message.find("another library") != std::string::npos);
  for (dlt_array_t* one : {&a, &made, &imported}) call_destroy(one);
}

}  // namespace

int main(int argc, char** argv) {
  static const test_case cases[] = {
#define CASE(name) {#name, name}
      CASE(the_owner_stands_for_what_it_was), CASE(the_owner_is_released_once), CASE(nothing_leaks_through_the_table),
      CASE(failures_leave_everything_with_the_caller), CASE(answers_and_calls_are_checked)};
  return run_cases(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
