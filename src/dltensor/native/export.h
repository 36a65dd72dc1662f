// SPDX-License-Identifier: Apache-2.0
// What libdltensor.so shows to the outside. Everything else in it is hidden.
#pragma once
#define DLT_API __attribute__((visibility("default")))
