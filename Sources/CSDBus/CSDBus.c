// SPDX-License-Identifier: MIT
// A target in C needs a file; this one has only declarations.
#include "CSDBus.h"
