// SPDX-License-Identifier: MIT
import RefrainLocks

/// The group of an entry, and how long it stays (`ResourcePolicy`), across its generations: the newest
/// that a reader gave, otherwise as recorded.
///
/// A reader without a group changes nothing, nor does one to which the resource is the first of its
/// group: a part that is opened by itself stays a part.
final class RecordedPolicy: Sendable {
  private struct State {
    var group: String?
    /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
    var keep: Int64?
    /// As marked on disk.
    var marked: Int64?
  }

  private let key: CacheKey
  private let state = Mutex(State())

  init(of key: CacheKey) { self.key = key }

  /// Adopts the group in a record, unless another one is known.
  func adopt(_ record: EntryRecord) {
    state.withLock { $0.group = $0.group ?? record.group }
  }

  /// Adopts how long an entry on disk is marked to stay.
  func adopt(keep: Int64?) { state.withLock { ($0.keep, $0.marked) = (keep, keep) } }

  /// Notes the policy of a resource that a reader opens: the record is often written after the
  /// reader has left.
  func note(_ resource: Resource) {
    state.withLock { state in
      _ = Self.group(of: resource, key, &state)
      state.keep = resource.policy.keep.map { max(0, $0.components.seconds) }
    }
  }

  /// Whether the entry stays only for a time after its last use.
  var isBrief: Bool { state.withLock { $0.keep != nil || $0.marked != nil } }

  /// Has the mark on disk replaced, if it is to be another one.
  func mark(_ replace: (_ keep: Int64?) throws(DiskError) -> Void) throws(DiskError) {
    let (keep, marked) = state.withLock { ($0.keep, $0.marked) }
    guard keep != marked else { return }
    try replace(keep)
    state.withLock { $0.marked = keep }
  }

  /// Returns the group of an entry that was opened for a resource.
  func group(of resource: Resource) -> String? {
    state.withLock { Self.group(of: resource, key, &$0) }
  }

  private static func group(
    of resource: Resource, _ key: CacheKey, _ state: inout State
  ) -> String? {
    if let first = resource.policy.group?.first, first != key { state.group = first.rawValue }
    return state.group
  }
}
