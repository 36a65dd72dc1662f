// SPDX-License-Identifier: Apache-2.0
// Objects with a lock that exist before any code runs. The locks of MinGW's libstdc++ have no constant initializer.
#pragma once

#if defined(__MINGW32__)
#define DLT_CONSTINIT
#else
#define DLT_CONSTINIT constinit
#endif
