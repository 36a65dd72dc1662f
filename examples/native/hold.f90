! SPDX-License-Identifier: Apache-2.0
! A Fortran program that holds three arrays and calls every function they have. Its own arrays are columns first, and
! element x(i, j) is element [i-1, j-1] in every language.
! Build: gfortran $(python -m dltensor info --fortran) hold.f90 $(python -m dltensor info --libs) -o hold
module holding
  use, intrinsic :: iso_c_binding
  use dltensor_arrays
  implicit none
contains

  subroutine need(status)
    integer(c_int32_t), intent(in) :: status
    if (status == DLT_SUCCESS) return
    print '(a, i0, 2a)', 'error ', status, ': ', dlt_message()
    stop 1
  end subroutine

  ! The weighted sum tells a swapped array from one that is only said to be.
  function weighted(array) result(total)
    type(dlt_array_t), intent(in) :: array
    real(c_double) :: total
    procedure(dlt_as_dlpack_function), pointer :: as_dlpack
    type(DLManagedTensorVersioned), pointer :: tensor
    type(c_ptr) :: exported
    integer(c_int64_t), pointer :: shape(:), strides(:)
    real(c_double), pointer :: x(:)
    integer(c_int64_t) :: i, j, last
    call c_f_procpointer(array%as_dlpack, as_dlpack)
    exported = c_null_ptr
    call need(as_dlpack(array%ptr, exported, DLDevice(), c_null_ptr, DLPackVersion()))
    call c_f_pointer(exported, tensor)
    call c_f_pointer(tensor%dl_tensor%shape, shape, [2])
    call c_f_pointer(tensor%dl_tensor%strides, strides, [2])
    last = (shape(1) - 1) * strides(1) + (shape(2) - 1) * strides(2) + 1
    call c_f_pointer(tensor%dl_tensor%data, x, [last])
    total = 0
    do i = 0, shape(1) - 1
      do j = 0, shape(2) - 1
        total = total + (10 * i + j) * x(i * strides(1) + j * strides(2) + 1)
      end do
    end do
    call dlt_give_back(exported)
  end function

  subroutine show(what, array)
    character(len=*), intent(in) :: what
    type(dlt_array_t), intent(in) :: array
    procedure(dlt_origin_function), pointer :: origin
    procedure(dlt_device_function), pointer :: device
    procedure(dlt_dtype_function), pointer :: dtype
    integer(c_int64_t) :: id
    character(kind=c_char) :: name(64)
    type(DLDevice) :: place
    type(DLDataType) :: kind_of
    integer(c_size_t), allocatable :: shape(:)
    integer(c_int32_t) :: status
    integer :: length
    call c_f_procpointer(array%origin, origin)
    call c_f_procpointer(array%device, device)
    call c_f_procpointer(array%dtype, dtype)
    call need(origin(array%ptr, id))
    call need(dlt_get_data_origin(id, name, size(name, kind=c_size_t)))
    call need(device(array%ptr, place))
    call need(dtype(array%ptr, kind_of))
    call dlt_get_shape(array, shape, status)
    call need(status)
    length = findloc(name, c_null_char, dim=1) - 1
    print '(a12, 1x, *(a))', what, name(1:length)
    print '(13x, "device ", i0, ", ", i0, " bits, shape", *(1x, i0))', place%device_type, kind_of%bits, shape
    print '(13x, "weighted sum ", f0.1)', weighted(array)
  end subroutine

  subroutine use_array(array)
    type(dlt_array_t), intent(inout) :: array
    procedure(dlt_copy_function), pointer :: copy
    procedure(dlt_swap_axes_function), pointer :: swap_axes
    procedure(dlt_reshape_function), pointer :: reshape_array
    procedure(dlt_create_function), pointer :: create
    procedure(dlt_move_data_function), pointer :: move_data
    procedure(dlt_as_dlpack_function), pointer :: as_dlpack
    procedure(dlt_from_dlpack_function), pointer :: from_dlpack
    type(dlt_array_t) :: copied, larger, fill, imported
    type(dlt_data_movement_t) :: movements(2)
    type(c_ptr) :: exported
    integer(c_int32_t) :: status
    real(c_double), target, save :: zero = 0
    integer, parameter :: none(0) = [integer ::]

    call need(dlt_array_check(array, c_null_ptr))
    call show('as it came', array)
    call c_f_procpointer(array%copy, copy)
    call need(copy(array%ptr, DLDevice(), copied))
    call c_f_procpointer(copied%swap_axes, swap_axes)
    call need(swap_axes(copied%ptr, 0_c_size_t, 1_c_size_t))
    call show('swapped', copied)
    call c_f_procpointer(copied%reshape, reshape_array)
    call need(reshape_array(copied%ptr, [1_c_size_t, 6_c_size_t], 2_c_size_t))
    call show('flat', copied)

    call dlt_array_over(c_loc(zero), dlt_real64, none, 'example.fill', fill, status)
    call need(status)
    call c_f_procpointer(array%create, create)
    call need(create(array%ptr, [4_c_size_t, 6_c_size_t], 2_c_size_t, fill, larger))  ! ends `fill`
    movements(1) = dlt_data_movement_t(0, 1, 0, 0, 6)
    movements(2) = dlt_data_movement_t(0, 3, 0, 0, 6)
    call c_f_procpointer(larger%move_data, move_data)
    call need(move_data(larger%ptr, copied%ptr, movements, 2_c_size_t))
    call show('moved', larger)

    exported = c_null_ptr
    call c_f_procpointer(larger%as_dlpack, as_dlpack)
    call need(as_dlpack(larger%ptr, exported, DLDevice(), c_null_ptr, DLPackVersion()))
    call c_f_procpointer(array%from_dlpack, from_dlpack)
    call need(from_dlpack(array%ptr, exported, imported))  ! takes the tensor
    call dlt_end(larger)
    call show('imported', imported)
    call dlt_end(imported)
    call dlt_end(copied)
    call dlt_end(array)
  end subroutine
end module

program hold
  use, intrinsic :: iso_c_binding
  use dltensor_arrays
  use holding
  implicit none
  real(c_double), target :: matrix(2, 3), column(6)
  real(c_double), allocatable, target :: heap(:, :)
  type(dlt_array_t) :: array
  integer(c_int32_t) :: status
  integer :: i
  if (dlt_array_struct_size() /= c_sizeof(array)) stop 2
  column = [(real(i, c_double), i = 1, 6)]
  matrix = reshape(column, [2, 3])
  heap = transpose(matrix)
  call dlt_array_over(c_loc(matrix), dlt_real64, [2, 3], 'example.matrix', array, status)
  call need(status)
  call use_array(array)
  call dlt_array_over(c_loc(heap), dlt_real64, [3, 2], 'example.heap', array, status)
  call need(status)
  call use_array(array)
  call dlt_array_over(c_loc(column), dlt_real64, [6, 1], 'example.column', array, status)
  call need(status)
  call use_array(array)
  deallocate (heap)
  print '(a)', 'every function called on three origins'
end program
