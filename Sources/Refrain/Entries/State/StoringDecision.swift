// SPDX-License-Identifier: MIT
import Foundation

/// The decision of the entry's writer how to store a generation, given the contents of the disk.
///
/// The rule: a generation that another process has stored under the key, and that anybody could
/// still use, is continued or left alone. Only one that is known to be outdated or useless is
/// replaced.
enum StoringDecision: Sendable, Hashable {
  /// Continue with the stored files.
  case resume
  /// Make new files, replacing any stored ones.
  case start
  case stream(MediaCacheError)
}

extension GenerationState {
  /// - Parameter record: of the entry stored under the key; nil: nothing readable.
  func storingDecision(for record: EntryRecord?) -> StoringDecision {
    guard let record else { return .start }
    if generationID == record.generation { return .resume }
    // The readers hold bytes of files that another process has replaced.
    if generationID != nil { return .stream(.otherVersion) }
    if storage.replaced.contains(record.generation) { return .start }
    let isOutdated = record.freshness.isOutdated == true
    let match = validator.matches(record.validator)
    let isOtherLength = if let length, let other = record.length { length != other } else { false }
    if !isOtherLength {
      if match == .same || match == .weaklySame { return .resume }
      if match == .unknown { return isOutdated ? .start : .stream(.otherVersion) }
    }
    // Of two versions, the origin's most recently confirmed one wins.
    let confirmedAt = lastContact == nil ? nil : freshness?.confirmedAt
    let isNewer = confirmedAt.map { $0 > record.freshness.confirmedAt } ?? false
    return isOutdated || isNewer ? .start : .stream(.otherVersion)
  }
}

/// The reasons why bytes are not stored, for readers that want them stored.
extension MediaCacheError {
  /// The limit is reached by entries in use, or the disk is full.
  static let noRoom = {
    var error = Self(
      .storage, "The cache has no room to store the bytes.",
      remedy: "Raise the limit or free some disk space.")
    error.hasNoRoom = true
    return error
  }()

  static let inUse = Self(
    .inUse, "Another process is storing this resource.",
    remedy: "Try again when that process has ended.")

  static let otherVersion = Self(
    .storage, "Another process has stored another version of this resource.",
    remedy: "Try again; remove the entry if that does not help.")

  static let newerFormat = Self(
    .storage, "A later version of Refrain has stored this resource.",
    remedy: "Update Refrain, or remove the entry.")

  static let readOnly = Self(
    .storage, "The cache directory is read-only.",
    remedy: "Use another cache directory, or allow writing to this one.")

  static let forbidden = Self(
    .storage, "The origin forbids storing this resource.",
    remedy: "Play the resource instead: playback streams it.")

  package var isForbiddenStoring: Bool { self == .forbidden }

  /// The resource is a live stream, or may be one.
  static let endless = Self(
    .storage, "Live streams and resources that may have no end are not stored.",
    remedy: "Play the resource instead: playback streams it.")

  /// The entry was purged, and readers from before continue.
  static let purged = Self(
    .storage, "The resource was purged while its bytes arrived.",
    remedy: "Try again: the present version is then fetched.")

  static func disk(_ error: DiskError) -> Self {
    Self(
      .storage, "The bytes could not be written: \(error).",
      remedy: "Check the disk and its permissions.")
  }
}
