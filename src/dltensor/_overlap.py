# SPDX-License-Identifier: Apache-2.0
"""Whether several indices of a layout reach the same element, found out exactly. No memory is read."""

from math import gcd

LIMIT = 20_000
"""Steps of the search; the question is NP-hard, so that some layouts of many dimensions are given up on."""


def shares_elements(shape, strides, limit=LIMIT):
    """Tell whether two indices of a layout reach the same element.

    Parameters
    ----------
    shape, strides : sequence of int
        Strides count elements.
    limit : int, default 20,000
        Steps after which the search is given up.

    Returns
    -------
    bool or None
        None when the search was given up.

    Examples
    --------
    >>> from dltensor._overlap import shares_elements
    >>> shares_elements((3, 2), (2, 3)), shares_elements((4, 3), (2, 3)), shares_elements((3,), (0,))
    (False, True, True)
    """
    if 0 in shape:
        return False
    dims = sorted(((abs(step), size - 1) for size, step in zip(shape, strides, strict=True) if size > 1), reverse=True)
    # Two indices reach one element when some differences of theirs, not all 0, add up to no distance at all. What a
    # dimension and those of smaller strides can span, and what divides it, bounds the differences worth trying.
    spans, divisors = [0], [0]
    for step, reach in reversed(dims):
        spans.insert(0, spans[0] + step * reach)
        divisors.insert(0, gcd(divisors[0], step))
    if all(step > span for (step, _), span in zip(dims, spans[1:], strict=True)):
        return False  # each dimension steps over all that lies inside it
    search = _Search(dims, spans, divisors, limit)
    try:
        return search.comes_back(0, 0, False)
    except _GivenUp:
        return None


class _GivenUp(Exception):
    """The search has taken as many steps as it may."""


class _Search:
    """Looks for differences of two indices that lead to the same element, dimension by dimension."""

    def __init__(self, dims, spans, divisors, limit):
        self.dims, self.spans, self.divisors, self.left = dims, spans, divisors, limit
        self.tried = set()

    def comes_back(self, place, distance, moved):
        """Whether the dimensions from `place` on undo a distance; `moved` says whether a difference is not 0 yet."""
        if place == len(self.dims):
            return moved and distance == 0
        if (place, distance, moved) in self.tried:
            return False
        self.tried.add((place, distance, moved))
        step, reach = self.dims[place]
        low, high, stride = self._differences(distance, step, reach, self.spans[place + 1], self.divisors[place + 1])
        if not moved:
            # The first difference that is not 0 may be taken as positive: the other sign is the same pair of indices.
            low = 0
        for difference in range(low, high + 1, stride):
            self.left -= 1
            if self.left < 0:
                raise _GivenUp
            if self.comes_back(place + 1, distance + difference * step, moved or difference != 0):
                return True
        return False

    @staticmethod
    def _differences(distance, step, reach, span, divisor):
        """The differences after which the rest, of that span and divisor, can still come back: first, last, stride."""
        if step == 0:
            return -reach, reach, 1
        low, high = max(-reach, -((span + distance) // step)), min(reach, (span - distance) // step)
        if divisor == 0:
            return low, high, 1
        common = gcd(step, divisor)
        if distance % common:
            return 0, -1, 1
        stride = divisor // common
        wanted = -(distance // common) * pow(step // common, -1, stride) % stride
        return low + (wanted - low) % stride, high, stride
