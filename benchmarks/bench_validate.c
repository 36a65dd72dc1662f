/* SPDX-License-Identifier: Apache-2.0 */
/* What one verdict costs: nanoseconds per dlt_check_tensor of a sound float32 tensor, by number of dimensions.
 *
 *   cc -O2 -std=gnu11 -Isrc/dltensor/include benchmarks/bench_validate.c -o /tmp/bench_validate && /tmp/bench_validate
 *
 * An argument sets the calls per round (100,000). The sizes take turns in each of 51 rounds, so that a busy moment of
 * the machine meets them all; the median and the quickest round are printed. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dltensor/validate.h"

#define ROUNDS 51

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static float data[256];
  static double rounds[4][ROUNDS];
  const int ndims[4] = {1, 2, 4, 8};
  const long calls = argc > 1 ? atol(argv[1]) : 100000;
  int64_t shape[8], strides[8];
  DLTensor tensors[4];
  if (calls < 1) {
    fprintf(stderr, "bench_validate: expected at least 1 call per round, got %ld\n", calls);
    return 2;
  }
  for (int axis = 0; axis < 8; axis++) {
    shape[axis] = 2;
    strides[axis] = (int64_t)1 << (7 - axis);
  }
  for (int i = 0; i < 4; i++) {
    tensors[i].data = data;
    tensors[i].device.device_type = kDLCPU;
    tensors[i].device.device_id = 0;
    tensors[i].ndim = ndims[i];
    tensors[i].dtype.code = kDLFloat;
    tensors[i].dtype.bits = 32;
    tensors[i].dtype.lanes = 1;
    tensors[i].shape = shape;
    tensors[i].strides = strides;
    tensors[i].byte_offset = 0;
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 4; i++) {
      int refused = 0;
      const double start = now();
      for (long call = 0; call < calls; call++) {
        const DLTensor* t = &tensors[i];
        __asm__ volatile("" : "+r"(t) : : "memory"); /* the compiler must not know what it has seen before */
        refused |= dlt_check_tensor(t);
      }
      rounds[i][round] = (now() - start) / (double)calls;
      if (refused) {
        fprintf(stderr, "bench_validate: a sound tensor was refused: %s\n", dlt_rules(NULL)[refused].id);
        return 1;
      }
    }
  }
  printf("ndim   median   quickest (ns)\n");
  for (int i = 0; i < 4; i++) {
    qsort(rounds[i], ROUNDS, sizeof(double), by_size);
    printf("%4d %8.1f %10.1f\n", ndims[i], rounds[i][ROUNDS / 2], rounds[i][0]);
  }
  return 0;
}
