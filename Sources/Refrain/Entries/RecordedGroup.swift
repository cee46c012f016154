// SPDX-License-Identifier: MIT
import RefrainLocks

/// The group of an entry, across its generations: the newest that a reader gave, otherwise the one
/// in its record.
///
/// A reader without a group changes nothing, nor does one to which the resource is the first of its
/// group: a part that is opened by itself stays a part.
final class RecordedGroup: Sendable {
  private struct State {
    var group: String?
    /// As in the record on disk.
    var recorded: String?
  }

  private let key: CacheKey
  private let state = Mutex(State())

  init(of key: CacheKey) { self.key = key }

  /// Adopts the group in a record, unless another one is known.
  func adopt(_ record: EntryRecord) {
    state.withLock { state in
      state.recorded = record.group
      state.group = state.group ?? record.group
    }
  }

  /// Notes the group of a resource that a reader opens: the record is often written after the
  /// reader has left.
  func note(_ resource: Resource) {
    state.withLock { _ = Self.group(of: resource, key, &$0) }
  }

  /// Returns the group of an entry that was opened for a resource.
  func group(of resource: Resource) -> String? {
    state.withLock { Self.group(of: resource, key, &$0) }
  }

  /// Returns the group for a record that is about to be written.
  func record(_ resource: Resource) -> String? {
    state.withLock { state in
      state.recorded = Self.group(of: resource, key, &state)
      return state.recorded
    }
  }

  /// Whether the record names another group, or none.
  func isOutdated(for resource: Resource) -> Bool {
    state.withLock { Self.group(of: resource, key, &$0) != $0.recorded }
  }

  private static func group(
    of resource: Resource, _ key: CacheKey, _ state: inout State
  ) -> String? {
    if let first = resource.policy.group?.first, first != key { state.group = first.rawValue }
    return state.group
  }
}

extension Entry {
  /// The key of the first resource of the group to which the resource belongs; nil if none is known.
  var group: String? { storage.group.group(of: resource) }
}
