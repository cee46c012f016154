// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Glibc
  import RefrainLocks

  /// The libraries that libmpv uses to reach the sound device.
  package enum SoundLibraries {
    private static let isSilent = Atomic<Bool>(false)

    /// Keeps ALSA and PipeWire from writing a dozen lines to standard error if there is no device.
    /// For programs that report a missing device themselves. Affects the whole process: call it at
    /// the start, because it sets an environment variable and does not affect libraries already
    /// loaded.
    package static func silence() {
      isSilent.store(true, ordering: .relaxed)
      setenv("PIPEWIRE_DEBUG", "0", 0)
    }

    /// Silences ALSA, if libmpv was built with it and `silence()` was called.
    static func loaded(by libmpv: UnsafeMutableRawPointer) {
      // Libraries loaded locally are found only through the library that loaded them.
      guard isSilent.load(ordering: .relaxed),
        let setHandler = dlsym(libmpv, "snd_lib_error_set_handler")
      else { return }
      cmpv_silence_alsa(setHandler)
    }
  }
#endif
