# SPDX-License-Identifier: Apache-2.0
"""Members of the package and of Tensor that come from tables: functions in Python, methods, and answers."""

import sys

from cpython.object cimport PyObject, PyTypeObject

from .tensor cimport Tensor

cdef extern from "_core/listed_functions.h" namespace "dlt":
    ctypedef struct ListedFunction:
        const char* name
        const char* module
        const char* text
    ctypedef struct OtherName:
        const char* name
        const char* call
    ctypedef struct Answer:
        const char* name
        const char* text
    const ListedFunction& listed_row(int)
    const OtherName same_rows[1]
    const OtherName method_rows[1]
    const Answer answer_rows[1]
    const int public_count, spelling_count, hidden_count, same_count, method_count, answer_count
    int add_listed(int, int, object, object, PyObject*) except -1
    int add_listed_methods(PyTypeObject*, dict) except -1
    PyObject* find_listed(const char*, const char*)

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject*)

FUNCTIONS = tuple([sys.intern(listed_row(i).name.decode()) for i in range(public_count)])
SPELLINGS = (*[sys.intern(listed_row(i).name.decode()) for i in range(public_count, public_count + spelling_count)],
             *[sys.intern(same_rows[i].name.decode()) for i in range(same_count)])


def add_functions(dict namespace):
    """Add the functions of the tables, whose modules are loaded by the first call of one of them.

    Parameters
    ----------
    namespace : dict
        Of the package that shows them.
    """
    shown_as = namespace["__name__"]
    package = sys.modules[shown_as]
    add_listed(0, public_count + spelling_count, package, shown_as, <PyObject*>namespace)
    add_listed(public_count + spelling_count, hidden_count, package, shown_as, NULL)


def add_other_names(dict namespace):
    """Add other names of functions to the namespace of the package."""
    for i in range(same_count):
        namespace[sys.intern(same_rows[i].name.decode())] = namespace[same_rows[i].call.decode()]


def add_to_tensor(dict namespace):
    """Add methods, which call functions of the namespace of the package as they are now, and answers to Tensor."""
    add_listed_methods(<PyTypeObject*>Tensor, namespace)
    for i in range(answer_count):
        (<dict>(<PyTypeObject*>Tensor).tp_dict)[sys.intern(answer_rows[i].name.decode())] = _missing(i)
    PyType_Modified(<PyTypeObject*>Tensor)


def listed_builtin(str module, str name):
    """Return the builtin of a function in Python, or None where the build lists none.

    >>> listed_builtin("dltensor._ops.padding", "pad") is dl.pad
    True
    """
    cdef PyObject* found = find_listed(module.encode(), name.encode())
    return None if found == NULL else <object>found


def described():
    """Return the module and the text of each listed function, its signature and docstring, by its name."""
    return {listed_row(i).name.decode(): (listed_row(i).module.decode(), listed_row(i).text.decode())
            for i in range(public_count + spelling_count + hidden_count)}


def methods():
    """Return what the methods of the table call, by their names."""
    return {method_rows[i].name.decode(): method_rows[i].call.decode() for i in range(method_count)}


cdef class Missing:
    """Descriptor of an attribute that Tensor does not have: the AttributeError of a tensor says what to write."""
    cdef int row

    def __get__(self, instance, owner):
        name = answer_rows[self.row].name.decode()
        raise AttributeError(f"Tensor has no {name}; {answer_rows[self.row].text.decode()}", name=name, obj=instance)

    def __repr__(self):
        return f"<no attribute; {answer_rows[self.row].text.decode()}>"


cdef object _missing(int row):
    cdef Missing result = Missing.__new__(Missing)
    result.row = row
    return result


def names_of(tensor):
    """Return the attributes of a tensor, for ``dir``: those that only raise are none."""
    members = vars(Tensor)
    return sorted([name for name in object.__dir__(tensor) if type(members.get(name)) is not Missing])
