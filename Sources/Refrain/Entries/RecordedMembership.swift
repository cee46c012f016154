// SPDX-License-Identifier: MIT
import RefrainLocks

/// The stream of an entry, across its generations: the newest that a reader gave, otherwise the one
/// in its record.
///
/// A reader without a stream changes nothing, nor does one to which the resource is the first
/// manifest: a segment or a playlist that is opened by itself stays a part of its stream.
final class RecordedMembership: Sendable {
  private struct State {
    var stream: String?
    /// As in the record on disk.
    var recorded: String?
  }

  private let key: CacheKey
  private let state = Mutex(State())

  init(of key: CacheKey) { self.key = key }

  /// Adopts the stream in a record, unless another one is known.
  func adopt(_ record: EntryRecord) {
    state.withLock { state in
      state.recorded = record.stream
      state.stream = state.stream ?? record.stream
    }
  }

  /// Notes the stream of a resource that a reader opens: the record is often written after the
  /// reader has left.
  func note(_ resource: Resource) {
    state.withLock { _ = Self.stream(of: resource, key, &$0) }
  }

  /// Returns the stream of an entry that was opened for a resource.
  func stream(of resource: Resource) -> String? {
    state.withLock { Self.stream(of: resource, key, &$0) }
  }

  /// Returns the stream for a record that is about to be written.
  func record(_ resource: Resource) -> String? {
    state.withLock { state in
      state.recorded = Self.stream(of: resource, key, &state)
      return state.recorded
    }
  }

  /// Whether the record names another stream, or none.
  func isOutdated(for resource: Resource) -> Bool {
    state.withLock { Self.stream(of: resource, key, &$0) != $0.recorded }
  }

  private static func stream(
    of resource: Resource, _ key: CacheKey, _ state: inout State
  ) -> String? {
    if let stream = resource.membership?.stream, stream != key { state.stream = stream.rawValue }
    return state.stream
  }
}

extension Entry {
  /// The key of the first manifest of the stream to which the resource belongs; nil if none is
  /// known.
  var stream: String? { storage.membership.stream(of: resource) }
}
