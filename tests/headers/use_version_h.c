/* SPDX-License-Identifier: Apache-2.0 */
#include "dltensor/version.h"

#if DLT_VERSION < DLT_MAKE_VERSION(0, 1, 0) || DLT_MAKE_VERSION(0, 2, 0) <= DLT_MAKE_VERSION(0, 1, 999)
#error "a later version is not a greater number"
#endif

const char* version_of_the_headers(void);
const char* version_of_the_headers(void) { return DLT_VERSION_STRING; }
