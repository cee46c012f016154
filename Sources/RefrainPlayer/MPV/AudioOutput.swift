// SPDX-License-Identifier: MIT
public import Foundation

/// The destination of the sound.
public enum AudioOutput: Sendable, Hashable {
  /// The system's sound device; if there is none, playback runs in real time without sound.
  case device
  /// No output, in real time.
  case silent
  /// A WAV file in the format of the media, written as fast as it can be decoded. An existing file
  /// is replaced; the file is complete once the engine is closed.
  case wavFile(URL)
}
