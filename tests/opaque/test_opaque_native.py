# SPDX-License-Identifier: Apache-2.0
"""Arrays without Python: headers, the C and C++ programs of this folder, sanitizers, and the real libmetatensor.

The numbers in the names are those of the acceptance list: 1-8 the ABI, 9-25 arrays, 26-34 threads and late calls,
35-38 other people's arrays, 39-46 the real library, 50 leaks.
"""

import os
import re

import native_building as build
import pytest

pytestmark = pytest.mark.skipif(not (build.tool("gcc") and build.tool("g++")), reason="no gcc and g++ that run")
needs_metatensor = pytest.mark.skipif(build.metatensor() is None, reason="needs metatensor-core")
SANITIZED = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
EXITS = ["atexit", "destructor", "exit_in_thread", "thread_ends", "fork"]
HEADERS = ["array.h", "array.hpp"]
OTHER = "#include <metatensor.h>\n"
# The numbers of the acceptance list that each case of the programs stands for.
NUMBERS = {
    "array.c": {
        "layout_and_values": [1], "one_name_has_one_number": [4], "names_never_leave_the_buffer": [5],
        "odd_names_get_a_status": [6], "errors_belong_to_threads": [7], "a_deleter_runs_once": [7],
        "a_deleter_may_set_errors": [7], "texts_stay_legible": [6], "questions_are_answered_for_every_dtype": [9],
        "an_export_is_the_same_memory": [10], "an_export_is_no_newer_than_asked": [11],
        "streams_and_devices_are_not_ignored": [12, 13], "an_export_outlives_its_array": [14],
        "a_foreign_tensor_keeps_its_dtype_and_flag": [15], "reshape_keeps_or_copies": [16],
        "swap_axes_refuses_what_is_not_there": [17], "a_copy_is_apart": [18], "create_fills_every_dtype": [19],
        "create_converts_nothing": [20], "nothing_ends_twice": [30], "layouts_convert_both_ways": [3],
        "an_old_array_of_others_works": [3], "making_an_array_takes_the_tensor": [15],
        "a_given_host_is_told_and_nothing_is_guessed": [8],
    },
    "moves.cc": {
        "move_data_is_the_plain_loop": [21], "move_data_within_one_array_is_as_if_through_a_temporary": [23],
        "a_wrong_movement_writes_nothing": [22], "copies_reshapes_and_swaps_keep_the_elements": [16, 17, 18],
        "padded_types_are_bytes": [19, 21], "classes_are_arrays_and_exceptions_cross": [26],
    },
    "broken.c": {
        "each_missing_function_is_named": [36], "an_honest_array_passes": [35], "each_lie_is_named": [36],
        "old_errors_are_not_blamed": [8], "a_lying_fill_is_refused_and_given_back": [20],
        "swapped_functions_are_found": [36], "a_swapped_origin_of_number_one_is_found": [36],
        "a_struct_of_zeros_is_no_array": [3], "a_host_may_have_no_message_at_all": [8],
    },
    "object_arrays.cc": {
        "the_owner_stands_for_what_it_was": [37], "the_owner_is_released_once": [30],
        "nothing_leaks_through_the_table": [50], "failures_leave_everything_with_the_caller": [44],
        "answers_and_calls_are_checked": [36],
    },
}  # fmt: skip


def everything(*programs):
    return [(name, case) for name in programs for case in build.cases(name)]


@pytest.mark.parametrize("order", ["alone", "after", "before", "names"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c2x", "c++11", "c++17", "c++20"])
def test_02_header_compiles_without_a_warning(standard, order, tmp_path):
    ours = '#include "dltensor/array.h"\n'
    text = {
        "alone": ours,
        "after": OTHER + ours,
        "before": ours + OTHER,
        "names": "#define DLT_ARRAY_MTS_NAMES\n"
        + ours
        + "mts_status_t f(struct mts_array_t a, mts_data_origin_t* o);\n"
        "mts_status_t f(struct mts_array_t a, mts_data_origin_t* o) {\n"
        '  return a.origin(a.ptr, o) == MTS_SUCCESS ? mts_register_data_origin("x", o) : MTS_CALLBACK_ERROR;\n}\n',
    }[order]
    if order in ("after", "before") and build.metatensor() is None:
        pytest.skip("needs metatensor-core")
    c = not standard.startswith("c++")
    source = tmp_path / ("header.c" if c else "header.cc")
    source.write_text(text)
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{build.INCLUDE}"]
    if build.metatensor():
        flags += ["-isystem", build.metatensor() / "include"]
    build.run([build.tool("gcc" if c else "g++"), *flags, "-c", source, "-o", tmp_path / "header.o"])


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_02_cpp_header_compiles_without_a_warning(standard, tmp_path):
    source = tmp_path / "header.cc"
    source.write_text('#include "dltensor/array.hpp"\nint f(dlt::Array a) { return int(a.shape().size()); }\n')
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{build.INCLUDE}"]
    build.run([build.tool("g++"), *flags, "-c", source, "-o", tmp_path / "header.o"])


@needs_metatensor
def test_02_both_sets_of_names_at_once_are_refused(tmp_path):
    source = tmp_path / "header.c"
    source.write_text(OTHER + '#define DLT_ARRAY_MTS_NAMES\n#include "dltensor/array.h"\n')
    command = [build.tool("gcc"), f"-I{build.INCLUDE}", "-isystem", build.metatensor() / "include", "-c", source]
    with pytest.raises(AssertionError, match="leave one of them out"):
        build.run([*command, "-o", tmp_path / "header.o"])


@pytest.mark.parametrize("variant", ["plain", "address"])
@pytest.mark.parametrize(("name", "case"), everything("array.c", "moves.cc", "broken.c", "object_arrays.cc"))
def test_native_case(name, case, variant):
    build.run([build.program(name, variant), case], timeout=300, env=SANITIZED)


@pytest.mark.parametrize("variant", ["plain", "address", "thread"])
@pytest.mark.parametrize(
    ("name", "case"), [*everything("threads.c"), ("object_arrays.cc", "the_owner_is_released_once")]
)
def test_29_30_threads(name, case, variant):
    done = build.run([build.program(name, variant), case], timeout=300, env=SANITIZED)
    assert "WARNING: ThreadSanitizer" not in done.stderr


@pytest.mark.parametrize("variant", ["plain", "address"])
@pytest.mark.parametrize("mode", EXITS)
def test_31_32_late_calls(mode, variant):
    build.run([build.program("exits.c", variant), mode], timeout=120, env=SANITIZED)


@pytest.mark.parametrize("program", ["array.c", "moves.cc", "broken.c", "threads.c"])
def test_a_program_that_is_asked_for_nothing_known_fails(program):
    with pytest.raises(AssertionError, match="nothing ran"):
        build.run([build.program(program), "no such case"])


@pytest.mark.skipif(not build.tool("valgrind"), reason="no valgrind that runs")
@pytest.mark.parametrize("program", ["array.c", "broken.c"])
def test_50_valgrind(program):
    options = ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    build.run([build.tool("valgrind"), *options, build.program(program)], timeout=600)


def beside_metatensor(variant="plain"):
    folder = build.metatensor()
    more = (f"-isystem{folder}/include", f"-L{folder}/lib", "-lmetatensor", f"-Wl,-rpath,{folder}/lib")
    return build.program("beside_metatensor.c", variant, *more)


@needs_metatensor
@pytest.mark.parametrize("variant", ["plain", "address"])
@pytest.mark.parametrize("case", build.cases("beside_metatensor.c"))
def test_08_39_46_beside_the_real_library(case, variant):
    build.run([beside_metatensor(variant), case], timeout=120, env=SANITIZED)


def test_only_marked_functions_are_exported():
    done = build.run(["nm", "-D", "--defined-only", "-C", build.engine() / build.LIBRARY])
    names = [line.split(maxsplit=2)[2] for line in done.stdout.splitlines() if line.split()[1] in "TDB"]
    assert {"dlt_array_from_dlpack", "dlt_last_error"} <= set(names)
    foreign = [name for name in names if not re.match(r"dlt_|dlt::|_init|_fini", name)]
    assert not foreign
