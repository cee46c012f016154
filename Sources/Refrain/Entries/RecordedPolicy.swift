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
  private let state: Mutex<State>

  /// - Parameter resource: the one that opens the entry.
  init(of key: CacheKey, for resource: Resource) {
    self.key = key
    state = Mutex(State(group: Self.group(of: resource, key)))
  }

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
      state.group = Self.group(of: resource, key) ?? state.group
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

  /// The key of the first resource of the group; nil if none is known.
  var group: String? { state.withLock(\.group) }

  private static func group(of resource: Resource, _ key: CacheKey) -> String? {
    guard let first = resource.policy.group?.first, first != key else { return nil }
    return first.rawValue
  }
}
