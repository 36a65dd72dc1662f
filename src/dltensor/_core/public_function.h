// SPDX-License-Identifier: Apache-2.0
// A public function as a builtin that calls it. The errors of functions written in Python are answered without a cost for
// calls that succeed, and their modules can be loaded by the first call. Keywords that NumPy or PyTorch spell otherwise, such
// as `dim` for `axis`, are renamed.
#pragma once
#include <Python.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "immortal.h"

namespace dlt {

struct Renaming {
  PyObject *spelling, *name;
};
inline constexpr Py_ssize_t most_renamings = 6;

using KeywordFunction = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

struct PublicFunction {
  PyObject* function;  // null before the first call of one whose module is loaded then
  const char* module;  // that has it, or null: then `load`, called without arguments, returns it
  PyObject* load;
  PyObject*
      answer;  // called with the function and an exception that left it, whose text it may change; null: call_errors.answer
  PyMethodDef method;
  PyObject* find_renamings;  // called with the text of the builtin when the first keyword is passed; null: naming.renamings_of
  Renaming renamings[most_renamings];
  Py_ssize_t renaming_count;  // -1 before that
};

inline PublicFunction* public_function_of(PyObject* self) { return static_cast<PublicFunction*>(PyModule_GetState(self)); }

// The parameter that a keyword stands for, borrowed.
inline PyObject* renamed_keyword(const PublicFunction* here, PyObject* keyword) {
  for (Py_ssize_t i = 0; i < here->renaming_count; i++) {
    PyObject* const spelling = here->renamings[i].spelling;
    if (keyword == spelling ||
        (PyUnicode_GET_LENGTH(keyword) == PyUnicode_GET_LENGTH(spelling) && PyUnicode_Compare(keyword, spelling) == 0))
      return here->renamings[i].name;
  }
  return keyword;
}

// Takes a tuple of spellings, each followed by the name of a parameter, which must live as long as the process.
inline void set_renamings(PublicFunction* here, PyObject* renamings) {
  const Py_ssize_t count = PyTuple_GET_SIZE(renamings) / 2 < most_renamings ? PyTuple_GET_SIZE(renamings) / 2 : most_renamings;
  for (Py_ssize_t i = 0; i < count; i++)
    here->renamings[i] = {PyTuple_GET_ITEM(renamings, 2 * i), PyTuple_GET_ITEM(renamings, 2 * i + 1)};
  __atomic_store_n(&here->renaming_count, count, __ATOMIC_RELEASE);
}

// A function of a module, which is loaded if it is not yet; a new reference.
inline PyObject* imported(const char* module, const char* name) {
  // Not by the macro of loaded_modules.h: another thread may be running the module.
  PyObject* const loaded = (PyImport_ImportModule)(module);
  PyObject* const function = loaded ? PyObject_GetAttrString(loaded, name) : nullptr;
  Py_XDECREF(loaded);
  return function;
}

// Finds the renamings where no call has needed them. An error leaves none: the function then refuses the keyword.
[[gnu::noinline]] inline void find_renamings(PublicFunction* here) {
  PyObject* const find = here->find_renamings ? Py_NewRef(here->find_renamings)
                                              : imported("dltensor._core.naming", "renamings_of");
  PyObject* const found = find ? PyObject_CallFunction(find, "s", here->method.ml_doc) : nullptr;
  Py_XDECREF(find);
  if (found && PyTuple_CheckExact(found)) set_renamings(here, found);  // the reference is kept
  else PyErr_Clear();
}

// The names of the keyword arguments of a call with spellings replaced, as a new tuple; null where there is none.
inline PyObject* renamed_keywords(const PublicFunction* here, PyObject* keywords) {
  PyObject* renamed = nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < count; k++) {
    PyObject* const name = renamed_keyword(here, PyTuple_GET_ITEM(keywords, k));
    if (name == PyTuple_GET_ITEM(keywords, k)) continue;
    // Both spellings of a parameter: the function refuses the one that it does not know.
    const int is_there = PySequence_Contains(keywords, name);
    if (is_there != 0) {
      PyErr_Clear();
      continue;
    }
    if (!renamed) {
      renamed = PyTuple_New(count);
      if (!renamed) return PyErr_Clear(), nullptr;  // the call then refuses the keyword
      for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(renamed, i, Py_NewRef(PyTuple_GET_ITEM(keywords, i)));
    }
    PyObject* const old = PyTuple_GET_ITEM(renamed, k);
    PyTuple_SET_ITEM(renamed, k, Py_NewRef(name));
    Py_DECREF(old);
  }
  return renamed;
}

// Test for an argument that PyTorch's functions have and that changes nothing here.
inline bool changes_nothing(PyObject* keyword, PyObject* value) {
  const auto is = [](PyObject* text, const char* other) { return PyUnicode_CompareWithASCIIString(text, other) == 0; };
  if (is(keyword, "requires_grad") || is(keyword, "pin_memory")) return value == Py_False;
  return is(keyword, "memory_format") && PyUnicode_Check(value) &&
         (is(value, "preserve_format") || is(value, "contiguous_format"));
}

// Calls a function that makes tensors, by its signature, and that has refused its keywords, again without those that change
// nothing. Null with the error as it was where there is none.
template <class Call>
[[gnu::noinline]] PyObject* retry_without_options(const char* text, PyObject* const* arguments, Py_ssize_t count,
                                                  PyObject* keywords, Call call) {
  constexpr Py_ssize_t most = 24;
  const std::string_view signature(text, std::strcspn(text, "\n"));
  const Py_ssize_t named = PyTuple_GET_SIZE(keywords);
  const bool is_for_devices = signature.find("device=") != signature.npos;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) || !is_for_devices || count + named > most) return nullptr;
  PyObject *all[most], *names[most];
  Py_ssize_t left = 0;
  for (Py_ssize_t i = 0; i < count; i++) all[i] = arguments[i];
  for (Py_ssize_t k = 0; k < named; k++) {
    if (changes_nothing(PyTuple_GET_ITEM(keywords, k), arguments[count + k])) continue;
    names[left] = PyTuple_GET_ITEM(keywords, k);
    all[count + left++] = arguments[count + k];
  }
  PyObject* const kept = left < named ? PyTuple_New(left) : nullptr;
  if (!kept) return nullptr;
  for (Py_ssize_t k = 0; k < left; k++) PyTuple_SET_ITEM(kept, k, Py_NewRef(names[k]));
  PyErr_Clear();
  PyObject* const result = call(all, count, kept);
  Py_DECREF(kept);
  return result;
}

// Test whether a text begins with a signature that has one of the parameters which others name otherwise: see naming.renamings_of.
inline bool has_renamed_parameter(const char* text) {
  const char* const end = text + std::strcspn(text, "\n");
  for (const char* name : {"axis", "axes", "shift", "keepdims", "correction", "k=0"}) {
    const size_t length = std::strlen(name);
    for (const char* at = std::strstr(text, name); at && at < end; at = std::strstr(at + 1, name))
      if (at > text && std::strchr(" (", at[-1]) && std::strchr(",=)", at[length])) return true;
  }
  return false;
}

// A function that Cython compiled, which answers its errors itself, is called by a function of its own: a jump.
struct CompiledFunction : PublicFunction {
  KeywordFunction body;
};
inline constexpr int most_compiled = 64;
inline CompiledFunction compiled_functions[most_compiled];
inline int compiled_count = 0;

[[gnu::noinline]] inline PyObject* call_renamed(CompiledFunction& here, PyObject* const* arguments, Py_ssize_t count,
                                                PyObject* keywords) {
  if (__atomic_load_n(&here.renaming_count, __ATOMIC_ACQUIRE) < 0) find_renamings(&here);
  PyObject* const renamed = renamed_keywords(&here, keywords);
  PyObject* result = here.body(nullptr, arguments, count, renamed ? renamed : keywords);
  if (!result) [[unlikely]]
    result = retry_without_options(here.method.ml_doc, arguments, count, renamed ? renamed : keywords,
                                   [&](auto... rest) { return here.body(nullptr, rest...); });
  Py_XDECREF(renamed);
  return result;
}

template <int slot>
PyObject* call_compiled(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  if (!keywords) [[likely]]
    return compiled_functions[slot].body(nullptr, arguments, count, nullptr);
  return call_renamed(compiled_functions[slot], arguments, count, keywords);
}

// How many arguments at the beginning are integers.
inline Py_ssize_t count_extents(PyObject* const* arguments, Py_ssize_t count) {
  Py_ssize_t extents = 0;
  while (extents < count && PyIndex_Check(arguments[extents]) && !PyBool_Check(arguments[extents])) extents++;
  return extents;
}

// Extents one by one, as PyTorch takes them, become one tuple: zeros(2, 3).
[[gnu::noinline]] inline PyObject* call_with_joined_extents(const CompiledFunction& here, PyObject* const* arguments,
                                                            Py_ssize_t count, Py_ssize_t extents, PyObject* keywords) {
  const Py_ssize_t others = count - extents + (keywords ? PyTuple_GET_SIZE(keywords) : 0);
  PyObject* const shape = PyTuple_New(extents);
  PyObject** const joined = static_cast<PyObject**>(PyMem_Malloc(size_t(1 + others) * sizeof(PyObject*)));
  PyObject* result = nullptr;
  if (shape && joined) {
    for (Py_ssize_t i = 0; i < extents; i++) PyTuple_SET_ITEM(shape, i, Py_NewRef(arguments[i]));
    joined[0] = shape;
    for (Py_ssize_t i = 0; i < others; i++) joined[1 + i] = arguments[extents + i];
    result = here.body(nullptr, joined, 1 + count - extents, keywords);
  } else if (shape) {
    PyErr_NoMemory();
  }
  Py_XDECREF(shape);
  PyMem_Free(joined);
  return result;
}

// Functions with a shape have no renamings.
template <int slot>
PyObject* call_shaped(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  CompiledFunction& here = compiled_functions[slot];
  const auto call = [&](PyObject* const* all, Py_ssize_t positional, PyObject* names) {
    if (positional > 1) [[unlikely]]
      if (const Py_ssize_t extents = count_extents(all, positional); extents > 1)
        return call_with_joined_extents(here, all, positional, extents, names);
    return here.body(nullptr, all, positional, names);
  };
  PyObject* const result = call(arguments, count, keywords);
  if (!result && keywords) [[unlikely]]
    return retry_without_options(here.method.ml_doc, arguments, count, keywords, call);
  return result;
}

template <int... slots>
KeywordFunction compiled_call(int slot, bool joins_extents, std::integer_sequence<int, slots...>) {
  static const KeywordFunction calls[] = {call_compiled<slots>...}, shaped[] = {call_shaped<slots>...};
  return joins_extents ? shaped[slot] : calls[slot];
}

// The function, borrowed. Several threads may load it at the same time, and get the same one.
[[gnu::noinline]] inline PyObject* load_function(PublicFunction* here) {
  PyObject* const function = here->module ? imported(here->module, here->method.ml_name) : PyObject_CallNoArgs(here->load);
  if (function) __atomic_store_n(&here->function, function, __ATOMIC_RELEASE);  // the reference is kept
  return function;
}

inline PyObject* call_public_function(PublicFunction* here, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  PyObject* function = __atomic_load_n(&here->function, __ATOMIC_ACQUIRE);
  if (!function && !(function = load_function(here))) return nullptr;
  if (keywords && __atomic_load_n(&here->renaming_count, __ATOMIC_ACQUIRE) < 0) find_renamings(here);
  PyObject* const renamed = keywords ? renamed_keywords(here, keywords) : nullptr;
  PyObject* result = PyObject_Vectorcall(function, arguments, count, renamed ? renamed : keywords);
  if (!result && keywords) [[unlikely]]
    result = retry_without_options(here->method.ml_doc, arguments, count, renamed ? renamed : keywords,
                                   [&](auto... rest) { return PyObject_Vectorcall(function, rest...); });
  Py_XDECREF(renamed);
  if (result) [[likely]]
    return result;
  PyObject *kind, *value, *traceback;
  PyErr_Fetch(&kind, &value, &traceback);
  PyErr_NormalizeException(&kind, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  PyObject* const answer = here->answer ? Py_NewRef(here->answer) : imported("dltensor._core.call_errors", "answer");
  PyObject* const done = answer ? PyObject_CallFunctionObjArgs(answer, function, value, nullptr) : nullptr;
  if (!done) PyErr_Clear();
  Py_XDECREF(answer);
  Py_XDECREF(done);
  PyErr_Restore(kind, value, traceback);
  return nullptr;
}

inline PyObject* call_of_module(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  return call_public_function(public_function_of(self), arguments, count, keywords);
}

// The `self` of a builtin must be a module, or the builtin could not be pickled by its name.
inline PublicFunction* new_entry(PyObject** self) {
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "dltensor", nullptr, sizeof(PublicFunction), nullptr, nullptr, nullptr, nullptr, nullptr};
  *self = PyModule_Create(&definition);
  return *self ? public_function_of(*self) : nullptr;
}

inline PyObject* new_builtin(PublicFunction* here, PyObject* self, const char* name, const char* text, KeywordFunction call,
                             PyObject* shown_as = nullptr) {
  if (!name || !text) return nullptr;
  here->method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call)), METH_FASTCALL | METH_KEYWORDS, text};
  PyObject* const builtin = PyCFunction_NewEx(&here->method, self, shown_as);
  if (builtin) make_immortal(builtin);
  return builtin;
}

// `text` is bytes: the signature and the docstring. All of this lives as long as the process. `function` may be None: then `load`
// returns what the builtin calls.
inline PyObject* new_python_function(PyObject* name, PyObject* function, PyObject* load, PyObject* text, PyObject* answer,
                                     PyObject* find_renamings) {
  PyObject* self;
  PublicFunction* const here = new_entry(&self);
  if (!here) return nullptr;
  here->function = function == Py_None ? nullptr : Py_NewRef(function);
  here->load = Py_NewRef(load);
  here->answer = answer == Py_None ? nullptr : Py_NewRef(answer);
  here->find_renamings = Py_NewRef(find_renamings);
  here->renaming_count = -1;
  return new_builtin(here, self, PyUnicode_AsUTF8(Py_NewRef(name)), PyBytes_AsString(Py_NewRef(text)), call_of_module);
}

// `function` is one that Cython compiled, whose signature and docstring the builtin has; `module` is its self.
inline PyObject* new_compiled_function(PyObject* function, PyObject* module, bool joins_extents) {
  if (compiled_count == most_compiled)
    return PyErr_SetString(PyExc_RuntimeError, "public_function: too many compiled functions"), nullptr;
  CompiledFunction& here = compiled_functions[compiled_count];
  const PyMethodDef& method = *reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  here.body = reinterpret_cast<KeywordFunction>(reinterpret_cast<void*>(PyCFunction_GET_FUNCTION(function)));
  here.function = Py_NewRef(function);
  here.renaming_count = -1;
  const KeywordFunction call = compiled_call(compiled_count++, joins_extents, std::make_integer_sequence<int, most_compiled>{});
  return new_builtin(&here, module, method.ml_name, method.ml_doc, call);
}

}  // namespace dlt
