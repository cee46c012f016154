// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Glibc
  import Synchronization

  /// The libraries below libmpv that lead to the sound device.
  package enum SoundLibraries {
    private static let isSilent = Atomic<Bool>(false)

    /// Keeps ALSA and PipeWire from writing to standard error where there is no device: a dozen
    /// lines each time. For programs that report that themselves; it holds for the whole process.
    /// Call it at its start: it sets a variable of the environment, and what was loaded before is
    /// left as it is.
    package static func silence() {
      isSilent.store(true, ordering: .relaxed)
      setenv("PIPEWIRE_DEBUG", "0", 0)
    }

    /// libmpv was loaded, and ALSA with it where it was built with ALSA.
    static func loaded(by libmpv: UnsafeMutableRawPointer) {
      // Libraries that were loaded locally are only found through the one that loaded them.
      guard isSilent.load(ordering: .relaxed),
        let setHandler = dlsym(libmpv, "snd_lib_error_set_handler")
      else { return }
      cmpv_silence_alsa(setHandler)
    }
  }
#endif
