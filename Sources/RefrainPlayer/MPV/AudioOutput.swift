// SPDX-License-Identifier: MIT
public import Foundation

/// Where sound goes.
public enum AudioOutput: Sendable, Hashable {
  /// The system's sound device; where there is none, playing goes on in real time without a sound.
  case device
  /// Nowhere, in real time.
  case silent
  /// Into a WAV file, in the format of the media, as fast as it can be decoded. The file is
  /// replaced where it exists, and complete once the engine is closed.
  case wavFile(URL)
}
