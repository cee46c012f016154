// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// The recordings of a proxy's streams, by the identifiers of their sessions. Their owners keep
/// them alive.
final class StreamRecordings: Sendable {
  private struct Weak: Sendable {
    weak var recording: StreamRecording?
  }

  private let recordings = Mutex<[String: Weak]>([:])

  func insert(_ recording: StreamRecording, session: String) {
    recordings.withLock { recordings in
      recordings = recordings.filter { $0.value.recording != nil }
      recordings[session] = Weak(recording: recording)
    }
  }

  subscript(session: StreamSession?) -> StreamRecording? {
    guard let session else { return nil }
    return recordings.withLock { $0[session.id]?.recording }
  }

  /// Ends all of them.
  func stop() {
    for weak in recordings.withLock({ Array($0.values) }) { weak.recording?.stop() }
  }
}
