! SPDX-License-Identifier: Apache-2.0
! The Fortran 2003 interface of array.h: its structs, its functions, and a few helper procedures.
! Compile this file with your program and link with libdltensor. Nothing here computes.
!
! Arrays have the axes in the order Fortran has them: element x(i, j) is element [i-1, j-1] of the array, and the
! strides say that i runs fastest. Axes and positions are counted from 0, as in C.
module dltensor_arrays  ! "dltensor" is DLTensor to Fortran, the struct
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: DLT_SUCCESS = 0, DLT_INVALID_PARAMETER_ERROR = 1, DLT_IO_ERROR = 2
  integer(c_int32_t), parameter :: DLT_SERIALIZATION_ERROR = 3, DLT_BUFFER_SIZE_ERROR = 4
  integer(c_int32_t), parameter :: DLT_CALLBACK_ERROR = 254, DLT_INTERNAL_ERROR = 255
  integer, parameter :: DLT_ARRAY_MAX_NDIM = 64
  character(len=*), parameter :: DLT_VERSION_STRING = '0.1.0'

  integer(c_int32_t), parameter :: kDLCPU = 1, kDLCUDA = 2
  integer(c_int8_t), parameter :: kDLInt = 0_c_int8_t, kDLUInt = 1_c_int8_t, kDLFloat = 2_c_int8_t
  integer(c_int8_t), parameter :: kDLBfloat = 4_c_int8_t, kDLComplex = 5_c_int8_t, kDLBool = 6_c_int8_t

  type, bind(C) :: DLDevice
    integer(c_int32_t) :: device_type = kDLCPU
    integer(c_int32_t) :: device_id = 0
  end type

  type, bind(C) :: DLDataType
    integer(c_int8_t) :: code
    integer(c_int8_t) :: bits  ! 128 reads as -128: take iand(int(bits), 255)
    integer(c_int16_t) :: lanes
  end type

  type, bind(C) :: DLPackVersion
    integer(c_int32_t) :: major = 1
    integer(c_int32_t) :: minor = 3
  end type

  type, bind(C) :: DLTensor
    type(c_ptr) :: data
    type(DLDevice) :: device
    integer(c_int32_t) :: ndim
    type(DLDataType) :: dtype
    type(c_ptr) :: shape
    type(c_ptr) :: strides
    integer(c_int64_t) :: byte_offset
  end type

  type, bind(C) :: DLManagedTensorVersioned
    type(DLPackVersion) :: version
    type(c_ptr) :: manager_ctx
    type(c_funptr) :: deleter
    integer(c_int64_t) :: flags
    type(DLTensor) :: dl_tensor
  end type

  type, bind(C) :: dlt_data_movement_t
    integer(c_size_t) :: sample_in, sample_out, properties_start_in, properties_start_out, properties_length
  end type

  type, bind(C) :: dlt_array_t
    type(c_ptr) :: ptr = c_null_ptr
    type(c_funptr) :: destroy = c_null_funptr
    type(c_funptr) :: origin = c_null_funptr
    type(c_funptr) :: device = c_null_funptr
    type(c_funptr) :: dtype = c_null_funptr
    type(c_funptr) :: as_dlpack = c_null_funptr
    type(c_funptr) :: from_dlpack = c_null_funptr
    type(c_funptr) :: shape = c_null_funptr
    type(c_funptr) :: reshape = c_null_funptr
    type(c_funptr) :: swap_axes = c_null_funptr
    type(c_funptr) :: create = c_null_funptr
    type(c_funptr) :: copy = c_null_funptr
    type(c_funptr) :: move_data = c_null_funptr
  end type

  type(DLDataType), parameter :: dlt_real32 = DLDataType(kDLFloat, 32_c_int8_t, 1_c_int16_t)
  type(DLDataType), parameter :: dlt_real64 = DLDataType(kDLFloat, 64_c_int8_t, 1_c_int16_t)
  type(DLDataType), parameter :: dlt_int32 = DLDataType(kDLInt, 32_c_int8_t, 1_c_int16_t)
  type(DLDataType), parameter :: dlt_int64 = DLDataType(kDLInt, 64_c_int8_t, 1_c_int16_t)

  ! The interfaces of the functions in the struct, for c_f_procpointer or for own implementations.
  abstract interface
    subroutine dlt_destroy_function(array) bind(C)
      import :: c_ptr
      type(c_ptr), value :: array
    end subroutine
    function dlt_origin_function(array, origin) bind(C) result(status)
      import :: c_ptr, c_int64_t, c_int32_t
      type(c_ptr), value :: array
      integer(c_int64_t), intent(out) :: origin
      integer(c_int32_t) :: status
    end function
    function dlt_device_function(array, device) bind(C) result(status)
      import :: c_ptr, DLDevice, c_int32_t
      type(c_ptr), value :: array
      type(DLDevice), intent(out) :: device
      integer(c_int32_t) :: status
    end function
    function dlt_dtype_function(array, dtype) bind(C) result(status)
      import :: c_ptr, DLDataType, c_int32_t
      type(c_ptr), value :: array
      type(DLDataType), intent(out) :: dtype
      integer(c_int32_t) :: status
    end function
    function dlt_as_dlpack_function(array, tensor, device, stream, max_version) bind(C) result(status)
      import :: c_ptr, DLDevice, DLPackVersion, c_int32_t
      type(c_ptr), value :: array
      type(c_ptr), intent(inout) :: tensor
      type(DLDevice), value :: device
      type(c_ptr), value :: stream
      type(DLPackVersion), value :: max_version
      integer(c_int32_t) :: status
    end function
    function dlt_from_dlpack_function(array, tensor, new_array) bind(C) result(status)
      import :: c_ptr, dlt_array_t, c_int32_t
      type(c_ptr), value :: array, tensor
      type(dlt_array_t), intent(inout) :: new_array
      integer(c_int32_t) :: status
    end function
    function dlt_shape_function(array, shape, shape_count) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: array
      type(c_ptr), intent(inout) :: shape
      integer(c_size_t), intent(inout) :: shape_count
      integer(c_int32_t) :: status
    end function
    function dlt_reshape_function(array, shape, shape_count) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: array
      integer(c_size_t), intent(in) :: shape(*)
      integer(c_size_t), value :: shape_count
      integer(c_int32_t) :: status
    end function
    function dlt_swap_axes_function(array, axis_1, axis_2) bind(C) result(status)
      import :: c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: array
      integer(c_size_t), value :: axis_1, axis_2
      integer(c_int32_t) :: status
    end function
    function dlt_create_function(array, shape, shape_count, fill_value, new_array) bind(C) result(status)
      import :: c_ptr, c_size_t, dlt_array_t, c_int32_t
      type(c_ptr), value :: array
      integer(c_size_t), intent(in) :: shape(*)
      integer(c_size_t), value :: shape_count
      type(dlt_array_t), value :: fill_value
      type(dlt_array_t), intent(inout) :: new_array
      integer(c_int32_t) :: status
    end function
    function dlt_copy_function(array, device, new_array) bind(C) result(status)
      import :: c_ptr, DLDevice, dlt_array_t, c_int32_t
      type(c_ptr), value :: array
      type(DLDevice), value :: device
      type(dlt_array_t), intent(inout) :: new_array
      integer(c_int32_t) :: status
    end function
    function dlt_move_data_function(output, input, movements, movements_count) bind(C) result(status)
      import :: c_ptr, c_size_t, dlt_data_movement_t, c_int32_t
      type(c_ptr), value :: output, input
      type(dlt_data_movement_t), intent(in) :: movements(*)
      integer(c_size_t), value :: movements_count
      integer(c_int32_t) :: status
    end function
    subroutine dlt_deleter_function(tensor) bind(C)
      import :: c_ptr
      type(c_ptr), value :: tensor
    end subroutine
  end interface

  ! The functions of the library. Texts end with c_null_char.
  interface
    function dlt_array_abi_version() bind(C) result(version)
      import :: c_int32_t
      integer(c_int32_t) :: version
    end function
    function dlt_array_struct_size() bind(C) result(bytes)
      import :: c_size_t
      integer(c_size_t) :: bytes
    end function
    function dlt_register_data_origin(name, origin) bind(C) result(status)
      import :: c_char, c_int64_t, c_int32_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(out) :: origin
      integer(c_int32_t) :: status
    end function
    function dlt_get_data_origin(origin, buffer, buffer_size) bind(C) result(status)
      import :: c_char, c_int64_t, c_int32_t, c_size_t
      integer(c_int64_t), value :: origin
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: buffer_size
      integer(c_int32_t) :: status
    end function
    function dlt_copy_last_error(buffer, buffer_size, length) bind(C) result(status)
      import :: c_char, c_int32_t, c_size_t
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: buffer_size
      integer(c_size_t), intent(out) :: length
      integer(c_int32_t) :: status
    end function
    function dlt_set_last_error(message, origin, data, data_deleter) bind(C) result(status)
      import :: c_char, c_ptr, c_funptr, c_int32_t
      character(kind=c_char), intent(in) :: message(*), origin(*)
      type(c_ptr), value :: data
      type(c_funptr), value :: data_deleter
      integer(c_int32_t) :: status
    end function
    function dlt_array_from_dlpack(tensor, origin, host, new_array) bind(C) result(status)
      import :: c_char, c_ptr, dlt_array_t, c_int32_t
      type(c_ptr), value :: tensor
      character(kind=c_char), intent(in) :: origin(*)
      type(c_ptr), value :: host
      type(dlt_array_t), intent(inout) :: new_array
      integer(c_int32_t) :: status
    end function
    function dlt_array_check(array, host) bind(C) result(status)
      import :: c_ptr, dlt_array_t, c_int32_t
      type(dlt_array_t), intent(in) :: array
      type(c_ptr), value :: host
      integer(c_int32_t) :: status
    end function
  end interface

  ! What a tensor of ours needs beside itself.
  type, private :: export_context
    type(DLManagedTensorVersioned) :: tensor
    integer(c_int64_t) :: shape(DLT_ARRAY_MAX_NDIM), strides(DLT_ARRAY_MAX_NDIM)
  end type

contains

  !> The message of the last error on this thread.
  function dlt_message() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char) :: none(1)
    character(kind=c_char), allocatable :: buffer(:)
    integer(c_size_t) :: length, capacity
    integer(c_int32_t) :: status
    integer :: i
    status = dlt_copy_last_error(none, 1_c_size_t, length)
    capacity = length + 1
    allocate (buffer(capacity))
    status = dlt_copy_last_error(buffer, capacity, length)
    allocate (character(len=length) :: text)
    do i = 1, int(length)
      text(i:i) = buffer(i)
    end do
  end function

  !> Destroys an array, once; it is empty afterwards.
  subroutine dlt_end(array)
    type(dlt_array_t), intent(inout) :: array
    procedure(dlt_destroy_function), pointer :: destroy
    type(dlt_array_t) :: gone
    gone = array
    array = dlt_array_t()
    if (.not. c_associated(gone%destroy)) return
    call c_f_procpointer(gone%destroy, destroy)
    call destroy(gone%ptr)
  end subroutine

  !> Releases a tensor that as_dlpack returned.
  subroutine dlt_give_back(tensor)
    type(c_ptr), intent(inout) :: tensor
    type(DLManagedTensorVersioned), pointer :: managed
    procedure(dlt_deleter_function), pointer :: deleter
    if (.not. c_associated(tensor)) return
    call c_f_pointer(tensor, managed)
    if (c_associated(managed%deleter)) then
      call c_f_procpointer(managed%deleter, deleter)
      call deleter(tensor)
    end if
    tensor = c_null_ptr
  end subroutine

  !> The dimensions of an array; empty for a single element, and when it fails (then status says so).
  subroutine dlt_get_shape(array, shape, status)
    type(dlt_array_t), intent(in) :: array
    integer(c_size_t), allocatable, intent(out) :: shape(:)
    integer(c_int32_t), intent(out) :: status
    procedure(dlt_shape_function), pointer :: ask
    type(c_ptr) :: address
    integer(c_size_t) :: count
    integer(c_size_t), pointer :: dims(:)
    allocate (shape(0))
    status = DLT_CALLBACK_ERROR
    if (.not. c_associated(array%shape)) return
    call c_f_procpointer(array%shape, ask)
    address = c_null_ptr
    count = 0
    status = ask(array%ptr, address, count)
    if (status /= DLT_SUCCESS .or. count == 0) return
    call c_f_pointer(address, dims, [count])
    shape = dims
  end subroutine

  !> A tensor over memory of the program's, columns first. `data` must outlive every array and tensor made from it.
  function dlt_tensor_over(data, dtype, shape) result(tensor)
    type(c_ptr), intent(in) :: data
    type(DLDataType), intent(in) :: dtype
    integer, intent(in) :: shape(:)
    type(c_ptr) :: tensor
    type(export_context), pointer :: context
    integer(c_int64_t) :: step
    integer :: axis
    tensor = c_null_ptr
    if (size(shape) > DLT_ARRAY_MAX_NDIM) return
    allocate (context)
    step = 1
    do axis = 1, size(shape)
      context%shape(axis) = shape(axis)
      context%strides(axis) = step
      step = step * max(shape(axis), 1)
    end do
    context%tensor%version = DLPackVersion()
    context%tensor%manager_ctx = c_loc(context)
    context%tensor%deleter = c_funloc(delete_export)
    context%tensor%flags = 0
    context%tensor%dl_tensor = DLTensor(data, DLDevice(), size(shape, kind=c_int32_t), dtype, c_loc(context%shape), &
                                     c_loc(context%strides), 0_c_int64_t)
    tensor = c_loc(context%tensor)
  end function

  !> An array over memory of the program's, columns first, of the given origin.
  subroutine dlt_array_over(data, dtype, shape, origin, array, status)
    type(c_ptr), intent(in) :: data
    type(DLDataType), intent(in) :: dtype
    integer, intent(in) :: shape(:)
    character(len=*), intent(in) :: origin
    type(dlt_array_t), intent(inout) :: array
    integer(c_int32_t), intent(out) :: status
    status = dlt_array_from_dlpack(dlt_tensor_over(data, dtype, shape), origin//c_null_char, c_null_ptr, array)
  end subroutine

  subroutine delete_export(tensor) bind(C)
    type(c_ptr), value :: tensor
    type(DLManagedTensorVersioned), pointer :: managed
    type(export_context), pointer :: whole
    if (.not. c_associated(tensor)) return
    call c_f_pointer(tensor, managed)
    call c_f_pointer(managed%manager_ctx, whole)
    deallocate (whole)
  end subroutine
end module
