// SPDX-License-Identifier: MIT
#if REFRAIN_THREAD_SANITIZER
  import PthreadMutex

  /// The thread sanitizer does not see `Synchronization.Mutex`.
  typealias Mutex<Value: ~Copyable> = PthreadMutex<Value>
#endif
