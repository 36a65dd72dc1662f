# SPDX-License-Identifier: Apache-2.0
"""Gives public functions and classes the name of the public module that has them. Imports nothing."""


def set_module(namespace):
    """Set ``__module__`` of everything in ``__all__`` of a module's namespace to the name of that module.

    Messages, documentation and pickles then name the place that users import from, wherever the code lies.

    Parameters
    ----------
    namespace : dict
        What ``globals()`` returns in a public module.

    Raises
    ------
    KeyError
        A name in ``__all__`` is not in the namespace.

    Examples
    --------
    >>> dl.reshape.__module__, dl.DeviceError.__module__
    ('dltensor', 'dltensor')
    """
    module = namespace["__name__"]
    for name in namespace["__all__"]:
        thing = namespace[name]
        # Extension types have the module in their name; what the package itself shows keeps its name elsewhere.
        if callable(thing) and thing.__module__ not in (module, __package__):
            thing.__module__ = module
