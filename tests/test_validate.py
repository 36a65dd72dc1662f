# SPDX-License-Identifier: Apache-2.0
"""Tests of validate.h, compiled without warnings in every supported language standard. No package is imported here."""

import re
import subprocess

import pytest
from native_tools import INCLUDE, ROOT, compile_program, original_headers

MODES = ["c99", "c11", "gnu17", "c++17", "c++20"]


def run(program, *arguments):
    done = subprocess.run([program, *arguments], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows_passed(output):
    """The figures of the last line; a run that examined nothing is a failure."""
    rows, rules, failures = map(int, re.fullmatch(r"(\d+) rows, (\d+) rules, (\d+) failures", output.strip()).groups())
    assert failures == 0
    assert rows >= 140
    assert rules >= 32


@pytest.mark.parametrize("arithmetic", ["builtin", "portable"])
@pytest.mark.parametrize("mode", MODES)
def test_every_rule_is_kept_in_every_language(mode, arithmetic, tmp_path):
    define = ["-DDLT_PORTABLE"] if arithmetic == "portable" else []
    rows_passed(run(compile_program(tmp_path, ROOT / "tests/test_validate.c", mode, *define)))


def test_no_undefined_behaviour_on_hostile_values(tmp_path):
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    rows_passed(run(compile_program(tmp_path, ROOT / "tests/test_validate.c", "c99", *flags)))


@pytest.mark.parametrize("mode", ["c99", "c++17"])
@pytest.mark.parametrize("header", original_headers())
def test_works_beside_the_original_header(header, mode, tmp_path):
    rows_passed(run(compile_program(tmp_path, ROOT / "tests/test_validate.c", mode, "-include", str(header))))


def test_two_files_of_one_program_may_include_it(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(
            f'#include "dltensor/validate.h"\nint {name}(const DLTensor* t) {{ return dlt_check_tensor(t); }}\n'
        )
    (tmp_path / "main.c").write_text("int one(void*);\nint main(void) { return 0; }\n")
    sources = [str(tmp_path / f"{name}.c") for name in ("one", "two", "main")]
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", *sources, "-o", tmp_path / "x"], check=True
    )


def test_the_benchmark_runs_and_reports_each_size(tmp_path):
    program = compile_program(tmp_path, ROOT / "benchmarks/bench_validate.c", "gnu11", "-O2")
    lines = run(program, "100").splitlines()
    assert [int(line.split()[0]) for line in lines[1:]] == [1, 2, 4, 8]


REPLAY = """
#include <stdint.h>
#include <stdio.h>
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int main(int argc, char** argv) {
  static uint8_t data[1 << 16];
  for (int i = 1; i < argc; i++) {
    FILE* file = fopen(argv[i], "rb");
    if (file == NULL) return 2;
    LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
    fclose(file);
  }
  printf("%d inputs\\n", argc - 1);
  return 0;
}
"""


def test_the_fuzzer_s_corpus_holds_without_a_fuzzer(tmp_path):
    (tmp_path / "replay.c").write_text(REPLAY)
    corpus = sorted((ROOT / "fuzz/corpus/validate").iterdir())
    assert len(corpus) > 100
    sanitize = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = compile_program(tmp_path, ROOT / "fuzz/validate_fuzzer.c", "gnu11", *sanitize, str(tmp_path / "replay.c"))
    assert run(program, *map(str, corpus)) == f"{len(corpus)} inputs\n"
