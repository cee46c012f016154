// SPDX-License-Identifier: MIT

/// The group of an entry, and how long it stays (`ResourcePolicy`), across its generations: the newest
/// that a reader gave, otherwise as recorded. A pure value.
///
/// A reader without a group changes nothing, nor does one to which the resource is the first of its
/// group: a part that is opened by itself stays a part.
struct RecordedPolicy: Sendable {
  private let key: CacheKey
  /// The key of the first resource of the group; nil if none is known.
  private(set) var group: String?
  /// The seconds for which the entry stays after its last use; nil: for as long as there is room.
  private(set) var keep: Int64?
  /// As marked on disk.
  private(set) var marked: Int64?

  init(of key: CacheKey, for resource: Resource) {
    self.key = key
    note(resource)
  }

  /// Adopts the group in a record, unless another one is known.
  mutating func adopt(_ record: EntryRecord) { group = group ?? record.group }

  /// Adopts the group in a stored entry, and how long it is marked to stay.
  mutating func adopt(_ contents: EntryDirectory.Contents) {
    adopt(contents.record)
    (keep, marked) = (contents.files.keep, contents.files.keep)
  }

  /// Notes the policy of a resource that a reader opens: the record is often written after the
  /// reader has left.
  mutating func note(_ resource: Resource) {
    if let first = resource.policy.group?.first, first != key { group = first.rawValue }
    keep = resource.policy.keep.map { max(0, $0.components.seconds) }
  }
}
