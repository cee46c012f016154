// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The recordings of the streams that an engine plays now or next, by their resources. A stream that
/// is loaded again keeps its recording.
@MainActor
struct StreamRecordings {
  typealias Record = @Sendable (Resource, Duration) async throws -> RecordedStream

  private var recordings: [(resource: Resource, recording: RecordedStream)] = []

  /// Returns the recording of a stream; nil if there is none.
  func recording(of resource: Resource) -> RecordedStream? {
    recordings.first { $0.resource == resource }?.recording
  }

  mutating func insert(_ recording: RecordedStream, of resource: Resource) {
    recordings.append((resource, recording))
  }

  /// Ends the recordings of other streams than these.
  mutating func keep(_ resources: [Resource?]) {
    for (resource, recording) in recordings where !resources.contains(resource) { recording.stop() }
    recordings.removeAll { !resources.contains($0.resource) }
  }
}
