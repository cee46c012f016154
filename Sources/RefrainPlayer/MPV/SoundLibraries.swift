// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Glibc

  /// The libraries below libmpv that lead to the sound device.
  package enum SoundLibraries {
    /// Keeps ALSA and PipeWire from writing to standard error where there is no device: a dozen
    /// lines each time. For programs that tell that themselves; it holds for the whole process, and
    /// is to be called at its start, for it sets a variable of the environment.
    package static func silence() {
      cmpv_silence_alsa()
      setenv("PIPEWIRE_DEBUG", "0", 0)
    }
  }
#endif
