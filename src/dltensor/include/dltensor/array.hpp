// SPDX-License-Identifier: Apache-2.0
// The C++17 interface of array.h: RAII arrays, failures as exceptions, and arrays implemented by a C++ class.
// Header only; link with libdltensor.
//
//   dlt::Array a = dlt::Array::from_dlpack(tensor);        around a DLPack tensor
//   dlt::Array b = dlt::make_array<Mine>(arguments...);    around an object of a class derived from dlt::ArrayBase
//   dlt::Array c = dlt::Array::adopt(struct_of_others);    dlt_array_t, or mts_array_t of metatensor.h
//   a.shape(); a.copy(); a.move_data(b, movements);        throw dlt::ArrayError, or what `Mine` threw
//   mts_array_t d = a.release<mts_array_t>();              hand it over
#ifndef DLTENSOR_ARRAY_HPP_
#define DLTENSOR_ARRAY_HPP_

#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dltensor/array.h"

namespace dlt {

inline constexpr DLDevice cpu_device = {kDLCPU, 0};
inline constexpr DLPackVersion dlpack_version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};

/// The functions of libdltensor, as the library an array reports to.
inline dlt_host_t own_host() noexcept {
  return {dlt_register_data_origin, dlt_get_data_origin, dlt_last_error, dlt_set_last_error};
}

/// A function of an array, or of the library, failed.
class ArrayError : public std::runtime_error {
 public:
  ArrayError(dlt_status_t status, const std::string& message) : std::runtime_error(message), status_(status) {}
  dlt_status_t status() const noexcept { return status_; }

 private:
  dlt_status_t status_;
};

namespace detail {

// The origin of errors that carry a std::exception_ptr.
inline constexpr const char* exception_origin = "dltensor C++ exception";

/// Throws unless `status` is success: the exception of the C++ array, else the text of the error.
inline void check(dlt_status_t status, const dlt_host_t& host, const char* function) {
  if (status == DLT_SUCCESS) return;
  const char *message = nullptr, *origin = nullptr;
  void* data = nullptr;
  host.last_error(&message, &origin, &data);
  if (data && origin && std::strcmp(origin, exception_origin) == 0) {
    std::exception_ptr thrown = *static_cast<std::exception_ptr*>(data);
    std::rethrow_exception(thrown);
  }
  std::string text = message && *message ? message : "failed without a message";
  // Our own messages begin with the function already.
  if (text.rfind(function, 0) != 0) text = std::string(function) + ": " + text;
  throw ArrayError(status, text);
}

template <class Function>
Function present(Function function, const char* name) {
  if (function) return function;
  throw ArrayError(DLT_CALLBACK_ERROR, std::string(name) + ": this function of the array is NULL");
}

/// Between equal layouts under other names.
template <class To, class From>
To same_layout(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From), "not an array of the 104-byte layout");
  static_assert(std::is_trivially_copyable_v<To> && std::is_trivially_copyable_v<From>, "not a plain struct");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace detail

/// A DLPack tensor that calls its deleter.
class Managed {
 public:
  Managed() = default;
  explicit Managed(DLManagedTensorVersioned* tensor) noexcept : tensor_(tensor) {}
  Managed(Managed&& other) noexcept : tensor_(other.release()) {}
  Managed& operator=(Managed&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Managed() { reset(nullptr); }

  explicit operator bool() const noexcept { return tensor_ != nullptr; }
  DLManagedTensorVersioned* get() const noexcept { return tensor_; }
  const DLTensor* operator->() const noexcept { return &tensor_->dl_tensor; }
  bool readonly() const noexcept { return (tensor_->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }
  /// The first element. On the host only.
  template <class T>
  T* data() const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(tensor_->dl_tensor.data) + tensor_->dl_tensor.byte_offset);
  }

  DLManagedTensorVersioned* release() noexcept { return std::exchange(tensor_, nullptr); }
  void reset(DLManagedTensorVersioned* tensor) noexcept {
    DLManagedTensorVersioned* old = std::exchange(tensor_, tensor);
    if (old && old->deleter) old->deleter(old);
  }

 private:
  DLManagedTensorVersioned* tensor_ = nullptr;
};

/// Any array. Owns it, unless its struct has no `destroy`.
class Array {
 public:
  Array() noexcept : array_{}, host_(own_host()) {}
  explicit Array(dlt_array_t array, dlt_host_t host = own_host()) noexcept : array_(array), host_(host) {}
  Array(Array&& other) noexcept : array_(other.release()), host_(other.host_) {}
  Array& operator=(Array&& other) noexcept {
    if (this != &other) {
      reset();
      host_ = other.host_;
      array_ = other.release();
    }
    return *this;
  }
  ~Array() { reset(); }

  /// A struct of the same layout: dlt_array_t or mts_array_t. `host` is the library it came from.
  template <class Other>
  static Array adopt(const Other& other, dlt_host_t host = own_host()) noexcept {
    return Array(detail::same_layout<dlt_array_t>(other), host);
  }

  static Array from_dlpack(Managed tensor, const char* origin = nullptr) {
    dlt_array_t array = {};
    dlt_host_t host = own_host();
    detail::check(dlt_array_from_dlpack(tensor.release(), origin, nullptr, &array), host, "from_dlpack");
    return Array(array, host);
  }

  const dlt_array_t& get() const noexcept { return array_; }

  /// Releases the struct: the new owner calls `destroy`.
  template <class Other = dlt_array_t>
  Other release() noexcept {
    dlt_array_t array = array_;
    array_ = {};
    return detail::same_layout<Other>(array);
  }

  /// The same array without owning it; valid while this one is.
  Array view() const noexcept { return Array(dlt_array_view(array_), host_); }

  std::string origin() const {
    dlt_data_origin_t id = 0;
    call(array_.origin, "origin", array_.ptr, &id);
    std::string name(255, '\0');
    dlt_status_t status = host_.get_data_origin(id, name.data(), name.size() + 1);
    if (status == DLT_BUFFER_SIZE_ERROR) {
      name.resize(65535);
      status = host_.get_data_origin(id, name.data(), name.size() + 1);
    }
    detail::check(status, host_, "origin");
    name.resize(std::strlen(name.c_str()));
    return name;
  }

  DLDevice device() const {
    DLDevice device = cpu_device;
    call(array_.device, "device", array_.ptr, &device);
    return device;
  }

  DLDataType dtype() const {
    DLDataType dtype = {};
    call(array_.dtype, "dtype", array_.ptr, &dtype);
    return dtype;
  }

  std::vector<uintptr_t> shape() const {
    const uintptr_t* shape = nullptr;
    uintptr_t count = 0;
    call(array_.shape, "shape", array_.ptr, &shape, &count);
    if (count > DLT_ARRAY_MAX_NDIM || (count && !shape))
      throw ArrayError(DLT_CALLBACK_ERROR, "shape: the array returned an invalid shape");
    return std::vector<uintptr_t>(shape, shape + count);
  }

  Managed as_dlpack(DLDevice device = cpu_device, const int64_t* stream = nullptr,
                    DLPackVersion max_version = dlpack_version) const {
    DLManagedTensorVersioned* tensor = nullptr;
    call(array_.as_dlpack, "as_dlpack", array_.ptr, &tensor, device, stream, max_version);
    if (!tensor) throw ArrayError(DLT_CALLBACK_ERROR, "as_dlpack: success without a tensor");
    return Managed(tensor);
  }

  /// An array of the same origin around another tensor.
  Array like(Managed tensor) const {
    auto function = detail::present(array_.from_dlpack, "from_dlpack");
    dlt_array_t result = {};
    detail::check(function(array_.ptr, tensor.release(), &result), host_, "from_dlpack");
    return Array(result, host_);
  }

  void reshape(const std::vector<uintptr_t>& shape) { call(array_.reshape, "reshape", array_.ptr, shape.data(), shape.size()); }

  void swap_axes(uintptr_t axis_1, uintptr_t axis_2) { call(array_.swap_axes, "swap_axes", array_.ptr, axis_1, axis_2); }

  /// `fill` has no dimensions and the dtype of this array; it is consumed.
  Array create(const std::vector<uintptr_t>& shape, Array fill) const {
    auto function = detail::present(array_.create, "create");
    dlt_array_t result = {};
    detail::check(function(array_.ptr, shape.data(), shape.size(), fill.release(), &result), host_, "create");
    return Array(result, host_);
  }

  Array copy(DLDevice device) const {
    dlt_array_t result = {};
    call(array_.copy, "copy", array_.ptr, device, &result);
    return Array(result, host_);
  }
  Array copy() const { return copy(device()); }

  void move_data(const Array& input, const std::vector<dlt_data_movement_t>& movements) {
    if (input.array_.move_data != array_.move_data)
      throw ArrayError(DLT_INVALID_PARAMETER_ERROR, "move_data: expected an input of the output's kind");
    call(array_.move_data, "move_data", array_.ptr, input.array_.ptr, movements.data(), movements.size());
  }

  /// Calls every query function and compares the results; throws the first error.
  void check() const { detail::check(dlt_array_check(&array_, &host_), own_host(), "check"); }

 private:
  template <class Function, class... Arguments>
  void call(Function function, const char* name, Arguments... arguments) const {
    detail::check(detail::present(function, name)(arguments...), host_, name);
  }
  void reset() noexcept {
    dlt_array_t old = release();
    if (old.destroy) old.destroy(old.ptr);
  }

  dlt_array_t array_;
  dlt_host_t host_;
};

/// Derive from this, implement, and make_array<Yours>() is an array for every consumer. Functions may throw and must be
/// safe to call from several threads at once. `input` of move_data is the object behind another array of your class.
class ArrayBase {
 public:
  virtual ~ArrayBase() = default;
  /// The same text for all compatible arrays.
  virtual const char* origin() const = 0;
  virtual DLDevice device() const { return cpu_device; }
  virtual DLDataType dtype() const = 0;
  /// Must stay as it is until the shape changes.
  virtual const std::vector<uintptr_t>& shape() const = 0;
  virtual Managed as_dlpack(DLDevice device, const int64_t* stream, DLPackVersion max_version) = 0;
  virtual std::unique_ptr<ArrayBase> from_dlpack(Managed tensor) const = 0;
  virtual void reshape(const std::vector<uintptr_t>& shape) = 0;
  virtual void swap_axes(uintptr_t axis_1, uintptr_t axis_2) = 0;
  virtual std::unique_ptr<ArrayBase> create(const std::vector<uintptr_t>& shape, Array fill) const = 0;
  virtual std::unique_ptr<ArrayBase> copy(DLDevice device) const = 0;
  virtual void move_data(const ArrayBase& input, const std::vector<dlt_data_movement_t>& movements) = 0;
};

namespace detail {

/// The exception in flight becomes the last error, with the exception as its data.
inline dlt_status_t keep_exception() noexcept {
  const char* text = "an exception that is not a std::exception";
  try {
    try {
      throw;
    } catch (const std::exception& error) {
      text = error.what();
      auto* thrown = new std::exception_ptr(std::current_exception());
      dlt_set_last_error(text, exception_origin, thrown, [](void* data) { delete static_cast<std::exception_ptr*>(data); });
    } catch (...) {
      auto* thrown = new std::exception_ptr(std::current_exception());
      dlt_set_last_error(text, exception_origin, thrown, [](void* data) { delete static_cast<std::exception_ptr*>(data); });
    }
  } catch (...) {
    dlt_set_last_error(text, "C++", nullptr, nullptr);
  }
  return DLT_CALLBACK_ERROR;
}

template <class Body>
dlt_status_t guarded(Body&& body) noexcept {
  try {
    body();
    return DLT_SUCCESS;
  } catch (...) {
    return keep_exception();
  }
}

inline ArrayBase& object(void* ptr) { return *static_cast<ArrayBase*>(ptr); }
inline const ArrayBase& object(const void* ptr) { return *static_cast<const ArrayBase*>(ptr); }

template <class T>
T& place(T* out) {
  if (!out) throw std::invalid_argument("expected a pointer for the result, got NULL");
  return *out;
}

inline std::vector<uintptr_t> shape_from(const uintptr_t* shape, uintptr_t count) {
  if (count > DLT_ARRAY_MAX_NDIM) throw std::invalid_argument("expected at most 64 dimensions");
  if (count && !shape) throw std::invalid_argument("expected a shape, got NULL");
  return std::vector<uintptr_t>(shape, shape + count);
}

inline dlt_array_t struct_around(std::unique_ptr<ArrayBase> owned) {
  if (!owned) throw std::logic_error("the class returned no array");
  dlt_array_t array = {};
  array.ptr = owned.release();
  array.destroy = [](void* ptr) { delete static_cast<ArrayBase*>(ptr); };
  array.origin = [](const void* ptr, dlt_data_origin_t* out) {
    return guarded([&] {
      dlt_host_t host = own_host();
      check(host.register_data_origin(object(ptr).origin(), &place(out)), host, "origin");
    });
  };
  array.device = [](const void* ptr, DLDevice* out) { return guarded([&] { place(out) = object(ptr).device(); }); };
  array.dtype = [](const void* ptr, DLDataType* out) { return guarded([&] { place(out) = object(ptr).dtype(); }); };
  array.as_dlpack = [](void* ptr, DLManagedTensorVersioned** out, DLDevice device, const int64_t* stream,
                       DLPackVersion max_version) {
    return guarded([&] { place(out) = object(ptr).as_dlpack(device, stream, max_version).release(); });
  };
  array.from_dlpack = [](const void* ptr, DLManagedTensorVersioned* tensor, dlt_array_t* out) {
    return guarded([&] {
      Managed owned_tensor(tensor);
      if (!tensor) throw std::invalid_argument("expected a tensor, got NULL");
      place(out) = struct_around(object(ptr).from_dlpack(std::move(owned_tensor)));
    });
  };
  array.shape = [](const void* ptr, const uintptr_t** shape, uintptr_t* count) {
    return guarded([&] {
      const std::vector<uintptr_t>& dims = object(ptr).shape();
      place(count) = dims.size();
      place(shape) = dims.empty() ? nullptr : dims.data();
    });
  };
  array.reshape = [](void* ptr, const uintptr_t* shape, uintptr_t count) {
    return guarded([&] { object(ptr).reshape(shape_from(shape, count)); });
  };
  array.swap_axes = [](void* ptr, uintptr_t axis_1, uintptr_t axis_2) {
    return guarded([&] { object(ptr).swap_axes(axis_1, axis_2); });
  };
  array.create = [](const void* ptr, const uintptr_t* shape, uintptr_t count, dlt_array_t fill, dlt_array_t* out) {
    return guarded([&] {
      Array owned_fill(fill);
      place(out) = struct_around(object(ptr).create(shape_from(shape, count), std::move(owned_fill)));
    });
  };
  array.copy = [](const void* ptr, DLDevice device, dlt_array_t* out) {
    return guarded([&] { place(out) = struct_around(object(ptr).copy(device)); });
  };
  array.move_data = [](void* ptr, const void* input, const dlt_data_movement_t* movements, uintptr_t count) {
    return guarded([&] {
      if (count && !movements) throw std::invalid_argument("expected movements, got NULL");
      object(ptr).move_data(object(input), std::vector<dlt_data_movement_t>(movements, movements + count));
    });
  };
  return array;
}

}  // namespace detail

template <class Mine, class... Arguments>
Array make_array(Arguments&&... arguments) {
  static_assert(std::is_base_of_v<ArrayBase, Mine>, "derive the class from dlt::ArrayBase");
  return Array(detail::struct_around(std::make_unique<Mine>(std::forward<Arguments>(arguments)...)));
}

}  // namespace dlt

#endif  // DLTENSOR_ARRAY_HPP_
