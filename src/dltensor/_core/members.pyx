# SPDX-License-Identifier: Apache-2.0
"""Members of Tensor that come from tables: methods that call a function, and answers for names of other libraries."""

from cpython.object cimport PyTypeObject

from .tensor cimport Tensor

cdef extern from "_core/members.h" namespace "dlt":
    int add_method(PyTypeObject*, bytes, object, bytes) except -1

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject*)


cdef class Missing:
    """Descriptor of an attribute that Tensor does not have: the AttributeError of a tensor says what to write."""
    cdef str name, answer

    def __cinit__(self, str name, str answer):
        self.name, self.answer = name, answer

    def __get__(self, instance, owner):
        raise AttributeError(f"Tensor has no {self.name}; {self.answer}", name=self.name, obj=instance)

    def __repr__(self):
        return f"<no attribute; {self.answer}>"


def add_methods(dict methods):
    """Add methods to Tensor, each of which calls a function with the tensor first.

    Parameters
    ----------
    methods : dict
        The function and the text of each method, its signature and docstring, by its name.

    Raises
    ------
    RuntimeError
        There are too many.
    """
    for name, (function, text) in methods.items():
        add_method(<PyTypeObject*>Tensor, name.encode(), function, text.encode())
    PyType_Modified(<PyTypeObject*>Tensor)


def add_answers(dict answers, names):
    """Let attributes that Tensor does not have raise AttributeError with an answer, which is the value by the name.

    `names` is what ``dir`` calls with a tensor.
    """
    members = <dict>(<PyTypeObject*>Tensor).tp_dict
    members["__dir__"] = names
    for name, answer in answers.items():
        members[name] = Missing(name, answer)
    PyType_Modified(<PyTypeObject*>Tensor)
