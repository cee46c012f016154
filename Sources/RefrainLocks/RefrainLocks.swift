// SPDX-License-Identifier: MIT

// The locks and atomics of every target: `Mutex` and `Atomic` of the standard library. Under the
// thread sanitizer, another lock takes the place of `Mutex` (`PthreadMutex`). A module of its own,
// because a name of another module does not replace the standard library's in a file that imports
// both.
#if REFRAIN_THREAD_SANITIZER
  @_exported public import struct Synchronization.Atomic
  @_exported public import struct Synchronization.AtomicLoadOrdering
  @_exported public import struct Synchronization.AtomicStoreOrdering
  @_exported public import struct Synchronization.AtomicUpdateOrdering
#else
  @_exported public import Synchronization
#endif
