// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import RefrainLocks

  /// The libraries that libmpv uses to reach the sound device.
  package enum SoundLibraries {
    private static let isSilent = Atomic<Bool>(false)

    /// Keeps ALSA, JACK and PipeWire from writing a dozen lines to standard error if there is no device.
    /// For programs that report a missing device themselves. Affects the whole process: call it at
    /// the start, because it sets an environment variable and does not affect libraries already
    /// loaded.
    package static func silence() {
      isSilent.store(true, ordering: .relaxed)
      setenv("PIPEWIRE_DEBUG", "0", 0)
    }

    /// Begins to load libmpv, and all libraries that it uses, on a thread of its own, while the
    /// program does what comes before the first player. A failure is reported when something plays,
    /// which loads it again. Meanwhile no thread starts (`MediaCache.startThreads`).
    package static func loadAhead() {
      Thread.detachNewThread { _ = try? MPVLibrary.load() }
    }

    /// Silences ALSA and JACK, if libmpv was built with them and `silence()` was called.
    static func loaded(by libmpv: UnsafeMutableRawPointer) {
      guard isSilent.load(ordering: .relaxed) else { return }
      // Libraries loaded locally are found only through the library that loaded them.
      if let setHandler = dlsym(libmpv, "snd_lib_error_set_handler") {
        cmpv_silence_alsa(setHandler)
      }
      for name in ["jack_set_error_function", "jack_set_info_function"] {
        if let setFunction = dlsym(libmpv, name) { cmpv_silence_jack(setFunction) }
      }
    }
  }
#endif
