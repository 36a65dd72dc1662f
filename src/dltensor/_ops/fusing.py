# SPDX-License-Identifier: Apache-2.0
"""The decorator fuse: expressions whose steps run together, over parts of the operands that fit the caches."""

__all__ = ["fuse"]


def fuse(function=None, /, *, check=False):
    """Return a function that computes what `function` does in one pass, with the bits of its steps.

    The function is called once for each combination of dtypes and numbers of dimensions, with stand-ins for its
    arguments that record what is computed. Calls after that run the recorded steps over parts of the operands that stay
    in the caches, without results in memory between the steps. Nothing is compiled on the CPU. On a CUDA device a pass
    is one kernel, which NVRTC compiles at the first call.

    Parameters
    ----------
    function : callable, optional
        Function of tensors, of any framework, and numbers, which returns a tensor or a tuple of tensors. It calls
        element-wise functions, operators and methods, `where`, `astype`, `cast` and reductions, and has no other
        effects. Without it a decorator is returned.
    check : bool, default False
        Whether each call also runs the steps one by one, and compares the results.

    Returns
    -------
    callable
        The fused function; it also takes ``out=``. ``plan(*args)`` of it returns the steps as text. Empty tensors, and
        tensors on CUDA devices where no NVRTC is installed, are computed step by step.

    Raises
    ------
    TypeError
        `function` is not callable. By calls: the function reads values, computes with tensors that are no arguments, or
        calls what has no steps, such as `matmul` or `sort`; the message has the line.
    RuntimeError
        By calls with `check`: the results differ.

    {See Also: cast}

    Notes
    -----
    Numbers are operands: another value takes no other recording, unless the function reads it. Where a shape is read,
    or an extent is 1, the recording holds for these shapes. Others fuse by ``numexpr.evaluate`` and ``torch.compile``,
    which change results.

    Examples
    --------
    >>> @dl.fuse
    ... def normalise(x, mean, std):
    ...     return (x - mean) / std
    >>> normalise(dl.asarray([1.0, 2.0, 4.0]), 1.0, 2.0)
    Tensor([0. , 0.5, 1.5], shape=(3,), device=cpu, dtype=float32)
    """
    from .program import FusedFunction

    if function is None:
        return lambda function: fuse(function, check=check)
    if not callable(function):
        raise TypeError(f"fuse: expected a function, got {type(function).__qualname__}")
    return FusedFunction(function, check)
