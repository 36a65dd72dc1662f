// SPDX-License-Identifier: Apache-2.0
// An NVRTC that compiles nothing: its "machine code" is the source that the host driver takes, so that what surrounds
// NVRTC (options, the cache of kernels on disk) can be tested where there is none.
#include <string.h>

#include <string>

struct _nvrtcProgram {
  std::string header, expression, code;
};
using nvrtcProgram = _nvrtcProgram*;

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
FAKE nvrtcGetNumSupportedArchs(int* count) { return *count = 1, 0; }
FAKE nvrtcGetSupportedArchs(int* archs) { return *archs = 90, 0; }
FAKE nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int, const char* const*, const char* const*) {
  const char* first = strchr(source, '"');
  *program = new _nvrtcProgram{std::string(first + 1, strrchr(source, '"')), "", ""};
  return 0;
}
FAKE nvrtcDestroyProgram(nvrtcProgram* program) { return delete *program, *program = nullptr, 0; }
FAKE nvrtcAddNameExpression(nvrtcProgram program, const char* expression) { return program->expression = expression, 0; }
FAKE nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  program->code = "hostcuda source 1\n" + program->header + "\n" + program->expression + "\n";
  return 0;
}
FAKE nvrtcGetProgramLogSize(nvrtcProgram, size_t* bytes) { return *bytes = 0, 0; }
FAKE nvrtcGetProgramLog(nvrtcProgram, char*) { return 0; }
FAKE nvrtcGetLoweredName(nvrtcProgram, const char*, const char** name) { return *name = "kernel", 0; }
FAKE nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) { return *bytes = program->code.size(), 0; }
FAKE nvrtcGetCUBIN(nvrtcProgram program, char* image) { return memcpy(image, program->code.data(), program->code.size()), 0; }
FAKE nvrtcGetPTXSize(nvrtcProgram, size_t* bytes) { return *bytes = 0, 0; }
FAKE nvrtcGetPTX(nvrtcProgram, char*) { return 0; }
