/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the package that these headers belong to, for the preprocessor. A test compares it with the package's.
 *
 *   #if DLT_VERSION >= DLT_MAKE_VERSION(0, 2, 0)
 *
 * The binary interface has a number of its own, DLT_ARRAY_ABI_VERSION in array.h: it is the number in the SONAME of the
 * library, and changes only when programs must be compiled again. */
#ifndef DLTENSOR_VERSION_H_
#define DLTENSOR_VERSION_H_

#define DLT_VERSION_MAJOR 0
#define DLT_VERSION_MINOR 1
#define DLT_VERSION_PATCH 0

/* One number that grows with the version; minor and patch are below 1000. */
#define DLT_MAKE_VERSION(major, minor, patch) ((major) * 1000000 + (minor) * 1000 + (patch))
#define DLT_VERSION DLT_MAKE_VERSION(DLT_VERSION_MAJOR, DLT_VERSION_MINOR, DLT_VERSION_PATCH)

#define DLT_TEXT_OF_(x) #x
#define DLT_TEXT_(x) DLT_TEXT_OF_(x)
#define DLT_VERSION_STRING DLT_TEXT_(DLT_VERSION_MAJOR) "." DLT_TEXT_(DLT_VERSION_MINOR) "." DLT_TEXT_(DLT_VERSION_PATCH)

#endif /* DLTENSOR_VERSION_H_ */
