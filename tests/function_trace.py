# SPDX-License-Identifier: Apache-2.0
"""Trace by breakpoints: the functions of the package that a call enters, in the order of their first entry.

A child process runs the call under ptrace. Every function in the symbol tables of the package's libraries gets a
breakpoint, which is removed when it is hit. Nothing is compiled for it; functions that the compiler inlined everywhere
have no symbol and are not seen. Functions of the package's Python files are reported by a profile function, as
"io/_files.py:open_file".
"""

import ctypes
import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

import dltensor as dl

PACKAGE = Path(dl.__file__).parent
PEEKUSER, POKEUSER, CONT, ATTACH, SETOPTIONS = 3, 6, 7, 16, 0x4200
TRACECLONE, WALL = 8, 0x40000000
RIP = 16 * 8  # of struct user, in bytes
BREAKPOINT = b"\xcc"
DENIED = 77

# The child stops itself before and after the call, and for each Python function, whose name it writes to a pipe first.
CHILD = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
{prepare}
def call():
    {call}
stop, me = os.kill, os.getpid()
if libc.ptrace(0, 0, None, None):
    os._exit({denied})
def report(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith({package!r}):
        name = frame.f_code.co_filename[{length}:] + ":" + frame.f_code.co_name
        os.write({pipe}, name.encode() + b"\\n")
        stop(me, signal.SIGUSR1)
stop(me, signal.SIGSTOP)
sys.setprofile(report)
result = call()
sys.setprofile(None)
stop(me, signal.SIGSTOP)
os._exit(0)
"""


class Denied(Exception):
    """The system does not let a process trace its child."""


def _functions(path):
    """Yield offset and symbol of each function in the symbol table of an ELF file."""
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        return
    start, size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * i) for i in range(count)]
    for _, kind, _, _, at, length, link, *_ in headers:
        if kind != 2:  # SHT_SYMTAB
            continue
        names = headers[link][4]
        for entry in range(at, at + length, 24):
            name, info, _, section, value, extent = struct.unpack_from("<IBBHQQ", data, entry)
            if info & 15 == 2 and section and extent:  # a function that is defined here
                end = data.index(b"\0", names + name)
                yield value, data[names + name : end].decode()


def identifiers(symbol):
    """Return the names in a symbol: ``_ZN3dlt11run_stridedEPv`` has "dlt" and "run_strided"."""
    if ".py:" in symbol:
        return [symbol]
    if not symbol.startswith("_Z"):
        return [symbol.partition(".")[0]]
    found, at = [], 2
    while at < len(symbol):
        number = re.compile(r"\d+").match(symbol, at)
        if number is None:
            at += 1
            continue
        end = number.end() + int(number[0])
        found.append(symbol[number.end() : end])
        at = end
    return found


def function_symbols():
    """Return the symbols of all functions of the package's libraries, by file."""
    paths = [path for path in PACKAGE.rglob("*.so*") if path.is_file() and not path.is_symlink()]
    return {path.resolve(): dict(_functions(path)) for path in paths}


class _Tracer:
    def __init__(self, child, symbols, pipe):
        self.child, self.symbols, self.pipe = child, symbols, pipe
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.restype = ctypes.c_long
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.names, self.originals, self.hits = {}, {}, []

    def _memory(self, address, data=None):
        with open(f"/proc/{self.child}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            return memory.read(1) if data is None else memory.write(data)

    def plant(self):
        """Put a breakpoint at the beginning of every function."""
        bases = {}
        for line in Path(f"/proc/{self.child}/maps").read_text().splitlines():
            words = line.split()
            if len(words) > 5 and words[2] == "00000000":
                bases.setdefault(Path(words[5]), int(words[0].partition("-")[0], 16))
        with open(f"/proc/{self.child}/mem", "r+b", buffering=0) as memory:
            for path, functions in self.symbols.items():
                for offset, symbol in functions.items() if path in bases else ():
                    address = bases[path] + offset
                    memory.seek(address)
                    self.originals[address] = memory.read(1)
                    self.names[address] = symbol
                    memory.seek(address)
                    memory.write(BREAKPOINT)

    def step_over(self, thread):
        """Note the function whose breakpoint a thread has hit, and let it run."""
        address = self.libc.ptrace(PEEKUSER, thread, RIP, None) - 1
        if address not in self.originals:
            return False
        if address in self.names:
            self.hits.append(self.names.pop(address))
            self._memory(address, self.originals[address])
        self.libc.ptrace(POKEUSER, thread, RIP, address)
        return True

    def run(self):
        """Follow the child between its two stops."""
        threads = [int(name) for name in os.listdir(f"/proc/{self.child}/task")]
        for thread in threads:
            if thread != self.child:
                self.libc.ptrace(ATTACH, thread, None, None)
                os.waitpid(thread, WALL)
            self.libc.ptrace(SETOPTIONS, thread, None, TRACECLONE)
        self.plant()
        for thread in threads:
            self.libc.ptrace(CONT, thread, None, None)
        while True:
            thread, status = os.waitpid(-1, WALL)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                assert thread != self.child, f"the traced process ended: {status:#x}"
                continue
            number, forwarded = os.WSTOPSIG(status), 0
            if number == signal.SIGSTOP and thread == self.child:
                return
            if number == signal.SIGTRAP:
                assert self.step_over(thread) or status >> 16, "a breakpoint of no function"
            elif number == signal.SIGUSR1:
                self.hits.append(self.pipe.readline().decode().strip())
            elif number != signal.SIGSTOP:  # by which a new thread begins
                forwarded = number
            self.libc.ptrace(CONT, thread, None, forwarded)


def follow(call, prepare):
    """Return the symbols of the functions that a statement enters, or None where that is denied."""
    reading, writing = os.pipe()
    package = f"{PACKAGE}/"
    program = CHILD.format(
        prepare=prepare, call=call, denied=DENIED, package=package, length=len(package), pipe=writing
    )
    process = subprocess.Popen([sys.executable, "-c", program], pass_fds=[writing])
    os.close(writing)
    _, status = os.waitpid(process.pid, 0)
    if os.WIFEXITED(status):
        process.returncode = os.WEXITSTATUS(status)
        assert process.returncode == DENIED, f"the program to trace ended with {process.returncode}"
        return None
    try:
        with open(reading, "rb") as pipe:
            tracer = _Tracer(process.pid, function_symbols(), pipe)
            tracer.run()
        return tracer.hits
    finally:
        os.kill(process.pid, signal.SIGKILL)
        while os.waitpid(-1, WALL)[0] != process.pid:  # its threads end before it
            pass
        process.returncode = 0


def trace(call, prepare="", **variables):
    """Return the names in the symbols of the functions that a statement enters, in the order of their first entry.

    Raises
    ------
    Denied
        The system does not allow it, or is none of Linux on x86-64.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Denied(f"breakpoints are those of Linux on x86-64, not of {sys.platform} on {platform.machine()}")
    command = [sys.executable, __file__, call, prepare]
    done = subprocess.run(command, env={**os.environ, **variables}, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    symbols = json.loads(done.stdout)
    if symbols is None:
        raise Denied("ptrace is not permitted")
    return [identifiers(symbol) for symbol in symbols]


if __name__ == "__main__":
    print(json.dumps(follow(*sys.argv[1:])))
