# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases 102 to 119: launch control, utilities, streams, memory, threads; and that no number is missing."""

import re
import threading
from pathlib import Path

import pytest
from case_tools import values

import dltensor as dl

# -- launch control and utilities ------------------------------------------------------------------------------------


def blocks(cuda, numel, multiprocessors, **options):
    made = cuda.blocks_values_1d(numel, **{"num_threads": 512, "multiprocessors": multiprocessors} | options)
    return made[1], made[0], made[2]


def test_case_102_blocks_of_a_million(cuda):
    assert blocks(cuda, 10**6, 80) == (4, 489, 10**6)


def test_case_103_blocks_by_options(cuda):
    got = [
        blocks(cuda, 10**6, 132),
        blocks(cuda, 10**6, 80, values_per_thread=8),
        blocks(cuda, 10**6, 80, blocks_per_sm=0),
        blocks(cuda, 10**6, 80, num_threads=64),
    ]
    assert [one[:2] for one in got] == [(2, 977), (8, 245), (25, 79), (25, 625)]


def test_case_104_few_and_very_many(cuda):
    assert [blocks(cuda, *numbers)[:2] for numbers in ((1, 80), (100, 80), (2**33, 132))] == [
        (1, 1),
        (1, 1),
        (15888, 1056),
    ]


def test_case_105_none_at_all(cuda):
    assert blocks(cuda, 0, 80)[2] == 0


def grid(cuda, shape, **options):
    made = cuda.blocks_values_nd(shape, **{"num_threads": 512, "multiprocessors": 80} | options)
    return made[1], tuple(made[0]), made[2]


def test_case_106_a_grid(cuda):
    assert grid(cuda, (3, 224, 224)) == (1, (3, 98, 1), 50176)


def test_case_107_grids(cuda):
    assert grid(cuda, (256, 1000, 1000))[:2] == (256, (1, 1954, 1))
    assert grid(cuda, (64, 3, 224, 224))[:2] == (30, (3, 294, 1))
    assert grid(cuda, (1000, 700), values_per_thread=3)[1] == (334, 2, 1)


def test_case_108_a_grid_beyond_the_limit(gpu, device):
    memory = dl.zeros((2, 40_000_000), dtype="int8", device=device)
    assert (memory + 1)[1, -1].to("cpu").item() == 1


def test_case_109_threads(gpu):
    assert gpu.calc_threads(96) == 96
    assert gpu.calc_threads(0) > 0


def test_case_110_launches_do_not_change_results(cuda, t):
    x = t("float32", [1, 2, 3])
    for per_sm in (1, 8, 32):
        for threads in (1, 32, 96, 512, 1024):
            assert values(dl.add(x, x, launch=cuda.Launch(blocks_per_sm=per_sm, num_threads=threads))) == [2, 4, 6]
    with pytest.raises(ValueError, match="1025"):
        dl.add(x, x, launch=cuda.Launch(num_threads=1025))


def test_case_111_coalesce():
    join = dl.layout.coalesce
    assert join((2, 3, 4), [(12, 4, 1)] * 3) == ((24,), ((1,),) * 3)
    assert join((4, 5), [(1, 0)])[0] == (4, 5)
    assert join((4, 5, 2), [(10, 2, 1), (30, 6, 1)]) == ((20, 2), ((2, 1), (6, 1)))
    assert join((4, 5), [(0, 0)]) == ((20,), ((0,),))
    assert join((2, 3, 4), [(12, 4, 1), (3, 1, 0)]) == ((6, 4), ((4, 1), (1, 0)))


def test_case_112_contiguity():
    contiguous = dl.layout.is_contiguous
    assert contiguous((2, 3), (3, 1))
    assert not contiguous((2, 3), (1, 2))
    assert contiguous((2, 3), (1, 2), order="F")
    assert not contiguous((3,), (-1,))
    assert not contiguous((3,), (2,))


def test_case_113_checks(device):
    with pytest.raises(ValueError, match="got None"):
        dl.checks.check_tensor(None)
    with pytest.raises(ValueError, match="at least 5"):
        dl.checks.check_tensor(dl.zeros(4, device=device), min_size=5)
    with pytest.raises(ValueError):
        dl.checks.check_tensor(dl.zeros(4, device=device)[::2], contiguous=True)


def test_case_114_strides_and_sizes():
    assert dl.layout.contiguous_strides((2, 3, 4)) == (12, 4, 1)
    assert (dl.layout.numel(()), dl.layout.numel((2, 0)), dl.layout.nbytes((2, 3), "float64")) == (1, 0, 48)


# -- streams and memory ----------------------------------------------------------------------------------------------


def test_case_115_streams(gpu, device):
    before = gpu.current_stream()
    with gpu.Stream():
        made = dl.ones(4, device=device) + 1
    assert gpu.current_stream() == before
    assert values(made) == [2.0] * 4


def test_case_116_memory_in_flight(gpu, device):
    x = dl.ones(1 << 22, device=device)
    with gpu.Stream():
        made = x + 1
        for _ in range(20):
            made = made + 1
    del x
    dl.full(1 << 22, 7.0, device=device)
    assert (made.to("cpu").numpy() == 22).all()


def test_case_117_memory_told(gpu):
    used, free, total = gpu.mem_info()
    assert used + free == total


def test_case_118_errors_leave_nothing_behind(device):
    a, b = dl.zeros((2, 3), device=device), dl.zeros((4,), device=device)
    before = dl.debug.live_blocks()
    for _ in range(100):
        with pytest.raises(ValueError):
            a + b
    assert dl.debug.live_blocks() == before


def test_case_119_two_threads(device):
    wrong = []

    def work(start):
        x = dl.full((100,), start, dtype="int64", device=device)
        for _ in range(1000):
            x = x + 1
        if values(x) != [start + 1000] * 100:
            wrong.append(start)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def test_all_cases_are_here():
    texts = [path.read_text() for path in Path(__file__).parent.glob("test_cases_*.py")]
    numbers = [int(number) for text in texts for number in re.findall(r"^def test_case_(\d+)_", text, re.M)]
    assert sorted(numbers) == list(range(1, 121))
