# SPDX-License-Identifier: Apache-2.0
"""Set-up that is done once, by whichever thread needs it first."""

import os
from _thread import RLock  # threading.RLock, without loading threading

_all = []


class Once:
    """A function that is called once; threads that come meanwhile wait until it has returned.

    Parameters
    ----------
    function : callable
        The set-up, with the arguments of the call that runs it. It is tried again at the next call if it raises. While
        it runs, calls in its own thread return None at once. It must not wait for other threads.

    Notes
    -----
    Objects of this class are never freed; they belong to modules.

    Examples
    --------
    >>> greet = Once(lambda: print("once") or 3)
    >>> greet(), greet()
    once
    (3, 3)
    """

    __slots__ = ("_function", "_is_running", "_lock", "is_done", "result")

    def __init__(self, function):
        self._function = function
        self._lock = RLock()
        self._is_running = False
        self.is_done = False
        self.result = None
        _all.append(self)

    def __call__(self, *arguments):
        if self.is_done:
            return self.result
        with self._lock:
            if self.is_done or self._is_running:
                return self.result
            self._is_running = True
            try:
                self.result = self._function(*arguments)
                self.is_done = True
            finally:
                self._is_running = False
        return self.result


def _renew():
    # In a forked process the thread that held a lock does not exist.
    for once in _all:
        if not once.is_done:
            once._lock = RLock()
            once._is_running = False


os.register_at_fork(after_in_child=_renew)
