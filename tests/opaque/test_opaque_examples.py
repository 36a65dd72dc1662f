# SPDX-License-Identifier: Apache-2.0
"""The example programs, built as a user would: with pkg-config and with CMake, from a package folder that was moved."""

import re
import shutil
import sys
from pathlib import Path

import native_building as build
import pytest

EXAMPLES = build.ROOT / "examples" / "native"
VERSION = re.search(r"version: '([\d.]+)'", (build.ROOT / "meson.build").read_text())[1]
WORDS = "every function called on three origins"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder laid out like the installed package, in a folder that is on no search path."""
    folder = tmp_path_factory.mktemp("site packages") / "dltensor"
    shutil.copytree(build.INCLUDE / "dltensor", folder / "include" / "dltensor")
    for name in ("libdltensor.so", build.LIBRARY):
        shutil.copy(build.engine() / name, folder)
    lib = build.SOURCE / "lib"
    places = {"dltensor.pc": "pkgconfig", "dltensorConfig.cmake": "cmake/dltensor"}
    places["dltensorConfigVersion.cmake"] = "cmake/dltensor"
    for name, place in places.items():
        text = (lib / f"{name}.in").read_text()
        (folder / "lib" / place).mkdir(parents=True, exist_ok=True)
        (folder / "lib" / place / name).write_text(
            text.replace("@version@", VERSION).replace("@library@", build.LIBRARY)
        )
    moved = folder.parent / "moved"
    folder.rename(moved)
    return moved


def compiled(package, language, flags, tmp_path, variant="plain"):
    compiler, sources = {
        "c": ("gcc", [EXAMPLES / "hold.c"]),
        "cpp": ("g++", [EXAMPLES / "hold.cpp"]),
        "fortran": ("gfortran", [package / "include" / "dltensor" / "dltensor.f90", EXAMPLES / "hold.f90"]),
    }[language]
    found = build.require(compiler, variant)
    build.run([found, "-O1", *sources, *flags, "-o", tmp_path / "hold"], cwd=tmp_path)
    return tmp_path / "hold"


@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
def test_49_examples_build_with_pkg_config(package, language, tmp_path):
    build.require("pkg-config")
    # pkg-config quotes the blank in the path for a shell, and here is none.
    link = tmp_path / "package"
    link.symlink_to(package)
    command = [build.tool("pkg-config"), "--cflags", "--libs", "dltensor"]
    flags = build.run(command, env={"PKG_CONFIG_PATH": str(link / "lib" / "pkgconfig")}).stdout.split()
    done = build.run([compiled(package, language, flags, tmp_path)], env={})
    assert WORDS in done.stdout
    assert "refused" in done.stdout or language != "cpp"


def test_49_examples_build_with_cmake(package, tmp_path):
    build.require("cmake")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    made = tmp_path / "build"
    build.run([build.tool("cmake"), "-S", tmp_path / "examples", "-B", made, f"-DCMAKE_PREFIX_PATH={package}"])
    build.run([build.tool("cmake"), "--build", made, "-j2"])
    done = build.run([build.tool("ctest"), "--test-dir", made, "-V"], env={})
    wanted = ["hold_c", "hold_cpp"] + (["hold_fortran"] if build.tool("gfortran") else [])
    assert all(re.search(rf"Test +#\d+: {name} \.+ +Passed", done.stdout) for name in wanted), done.stdout


@pytest.mark.parametrize(
    ("wanted", "found"), [("0.1", True), ("0.1.0", True), ("0", True), ("0.2", False), ("1.0", False)]
)
def test_49_cmake_takes_compatible_versions_only(package, tmp_path, wanted, found):
    build.require("cmake")
    project = f"cmake_minimum_required(VERSION 3.16)\nproject(p NONE)\nfind_package(dltensor {wanted} QUIET)\n"
    (tmp_path / "CMakeLists.txt").write_text(project + 'message(STATUS "found: ${dltensor_FOUND}")\n')
    command = [build.tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}"]
    assert f"found: {1 if found else 0}" in build.run(command).stdout


def told(*options):
    """What the installed package says of itself."""
    return build.run([sys.executable, "-m", "dltensor", "info", *options]).stdout.split()


@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
def test_49_examples_build_from_the_installed_package(language, tmp_path):
    if " " in told("--cmake")[0]:
        pytest.skip("needs an installation in a path without blanks")
    done = build.run([compiled(Path(*told("--cmake")), language, told("--cflags", "--libs"), tmp_path)], env={})
    assert WORDS in done.stdout


def test_49_the_installed_package_is_found_by_pkg_config_and_cmake(tmp_path):
    assert Path(*told("--fortran")).is_file()
    if build.tool("pkg-config"):
        found = build.run([build.tool("pkg-config"), "--modversion", "dltensor"],
                          env={"PKG_CONFIG_PATH": told("--pkgconfig")[0]})  # fmt: skip
        assert found.stdout.strip() == VERSION
    if build.tool("cmake"):
        shutil.copytree(EXAMPLES, tmp_path / "examples")
        made = tmp_path / "build"
        build.run(
            [build.tool("cmake"), "-S", tmp_path / "examples", "-B", made, f"-DCMAKE_PREFIX_PATH={told('--cmake')[0]}"]
        )
        build.run([build.tool("cmake"), "--build", made, "-j2"])
        assert WORDS in build.run([made / "hold_c"], env={}).stdout


@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
def test_50_examples_leak_nothing(package, language, tmp_path):
    flags = ["-fsanitize=address,undefined", f"-I{build.INCLUDE}", f"-L{build.engine('address')}", "-ldltensor"]
    flags.append(f"-Wl,-rpath,{build.engine('address')}")
    assert WORDS in build.run([compiled(package, language, flags, tmp_path, "address")], env={}).stdout


def test_49_the_rust_declarations_of_the_docs_hold(tmp_path):
    build.require("rustc")
    page = (build.ROOT / "docs" / "decisions" / "0020-opaque-arrays.md").read_text()
    (declarations,) = re.findall(r"```rust\n(.*?)```", page, re.DOTALL)
    main = """
fn main() {
    let mut id = 0u64;
    let mut tensor = DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 3 }, manager_ctx: std::ptr::null_mut(), deleter: None, flags: 0,
        dl_tensor: DLTensor {
            data: &mut id as *mut u64 as *mut c_void, device: DLDevice { device_type: 1, device_id: 0 }, ndim: 0,
            dtype: DLDataType { code: 1, bits: 64, lanes: 1 }, shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(), byte_offset: 0 } };
    unsafe {
        let mut array: DltArray = std::mem::zeroed();
        let name = b"example.rust\\0".as_ptr() as *const c_char;
        assert_eq!(dlt_array_from_dlpack(&mut tensor, name, std::ptr::null(), &mut array), 0);
        let mut dtype = DLDataType { code: 9, bits: 9, lanes: 9 };
        assert_eq!((array.dtype.unwrap())(array.ptr, &mut dtype), 0);
        assert_eq!((dtype.code, dtype.bits, dtype.lanes), (1, 64, 1));
        let (mut wanted, mut found) = (0u64, 0u64);
        assert_eq!(dlt_register_data_origin(name, &mut wanted), 0);
        assert_eq!((array.origin.unwrap())(array.ptr, &mut found), 0);
        assert_eq!(wanted, found);
        assert_eq!((array.swap_axes.unwrap())(array.ptr, 0, 1), 254);
        let mut message: *const c_char = std::ptr::null();
        assert_eq!(dlt_last_error(&mut message, std::ptr::null_mut(), std::ptr::null_mut()), 0);
        println!("{}", std::ffi::CStr::from_ptr(message).to_str().unwrap());
        (array.destroy.unwrap())(array.ptr);
    }
}
"""
    source = tmp_path / "declarations.rs"
    source.write_text("#![allow(dead_code)]\n" + declarations + main)
    library = build.engine()
    link = ["-L", library, "-C", f"link-arg=-Wl,-rpath,{library}", "-o", tmp_path / "declarations"]
    build.run([build.tool("rustc"), "--edition", "2021", source, *link])
    assert "swap_axes: expected axes below 0" in build.run([tmp_path / "declarations"]).stdout
