// SPDX-License-Identifier: Apache-2.0
// Imports foreign tensors: validation is in dltensor/validate.h; added here are checks of values that make other
// libraries crash.
#include "native/opaque/import.h"

#include "dltensor/validate.h"
#include "native/layout/layout.h"
#include "native/tables.h"

namespace dlt::opaque {

DetailedStatus check_tensor(const char* function, const DLManagedTensorVersioned* tensor) {
  std::string_view name(function);
  if (!tensor) return failure(name, ": expected a DLPack tensor, got NULL");
  if (dlt_check_pointer(tensor) != DLT_RULE_NONE)
    return failure(name, ": expected a DLPack tensor, got an address that cannot be one");
  if (dlt_check_version(tensor->version) != DLT_RULE_NONE)
    return failure(name, ": expected a DLPack 1.x tensor, got one of version ", tensor->version.major, ".",
                   tensor->version.minor);
  const DLTensor& view = tensor->dl_tensor;
  if (dlt_check_tensor(&view) != DLT_RULE_NONE) {
    char text[512];
    dlt_explain_tensor(&view, text, sizeof(text));
    return failure(name, ": ", std::string_view(text));
  }
  if (!is_known(view.device.device_type)) return failure(name, ": expected a device of DLPack 1.3, got ", view.device);
  if (!is_known(view.dtype)) return failure(name, ": expected a dtype of DLPack 1.3, got ", view.dtype);
  // dlt_check_tensor accepts empty tensors with any other dimensions.
  if (int64_t count; !count_of(view.ndim, view.shape, &count))
    return failure(name, ": the shape ", Dims{view.shape, view.ndim}, " has dimensions beyond memory");
  return {};
}

DLTensor normalized(const DLTensor& tensor, int64_t (&strides)[DLT_ARRAY_MAX_NDIM]) noexcept {
  DLTensor view = tensor;
  if (!view.strides) {
    contiguous_strides(view.ndim, view.shape, strides);
    view.strides = strides;
  }
  if (view.data && !is_handle(view.device.device_type)) {
    view.data = static_cast<char*>(view.data) + view.byte_offset;
    view.byte_offset = 0;
  }
  return view;
}

void call_deleter(DLManagedTensorVersioned* tensor) noexcept {
  // An invalid pointer has no deleter to call either.
  if (tensor && dlt_check_pointer(tensor) == DLT_RULE_NONE && tensor->deleter) tensor->deleter(tensor);
}

Block* block_around(DLManagedTensorVersioned* tensor) noexcept {
  return adopt(tensor->dl_tensor.data, tensor, [](Block* block) noexcept {
    auto* owner = static_cast<DLManagedTensorVersioned*>(block->owner);
    recycle(block);
    call_deleter(owner);
  });
}

}  // namespace dlt::opaque
