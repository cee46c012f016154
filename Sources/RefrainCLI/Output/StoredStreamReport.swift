// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The stored part of one stream, as `ls` and `info` report it: the members of `EntryReport`, and
/// the number of parts.
struct StoredStreamReport: Sendable, Hashable, Encodable {
  /// The URL of the first manifest, or its key if none is known.
  var url: String
  var key: String
  /// The number of stored playlists, segments and keys, without the first manifest.
  var parts: Int
  /// The stored bytes of all of them.
  var cachedBytes: Int64
  var allocatedBytes: Int64
  /// Whether a quality is stored as a whole, and nothing in part; absent if that is unknown.
  var isComplete: Bool?
  /// The playing time of which segments are stored, in seconds; absent if that is unknown.
  var storedSeconds: Double?
  var isInUse: Bool
  var isPinned: Bool
  var isPartlyPinned: Bool
  var mimeType: String?
  var validator: String?
  var lastAccess: Date
  /// The file of the first manifest; absent if it is not stored.
  var file: String?
  /// Always empty.
  var spans: [[Int64]] = []

  init(_ stream: StreamSummary) {
    url = stream.url?.absoluteString ?? stream.key.rawValue
    key = stream.key.rawValue
    parts = stream.parts
    cachedBytes = stream.cachedBytes
    allocatedBytes = stream.allocatedBytes
    isInUse = stream.isInUse
    isPinned = stream.isPinned
    isPartlyPinned = stream.isPartlyPinned
    mimeType = stream.manifest?.mimeType
    validator = stream.manifest?.validator
    lastAccess = stream.lastAccess
    file = stream.manifest?.file.path(percentEncoded: false)
  }

  mutating func add(_ completeness: StreamCompleteness?) {
    isComplete = completeness?.isComplete
    storedSeconds = completeness?.seconds
  }

  /// `1 part`, `312 parts`
  static func partsText(_ count: Int) -> String { "\(count) \(count == 1 ? "part" : "parts")" }
}

/// One row of `ls`.
enum ListedItem: Sendable, Hashable, Encodable {
  case entry(EntryReport)
  case stream(StoredStreamReport)

  init(_ item: StoredItem) {
    switch item {
    case .entry(let entry): self = .entry(EntryReport(entry))
    case .stream(let stream): self = .stream(StoredStreamReport(stream))
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .entry(let entry): try entry.encode(to: encoder)
    case .stream(let stream): try stream.encode(to: encoder)
    }
  }

  /// `100%`, or the number of parts of a stream.
  var stored: String {
    switch self {
    case .entry(let entry): entry.percent
    case .stream(let stream): StoredStreamReport.partsText(stream.parts)
    }
  }

  var url: String {
    switch self {
    case .entry(let entry): entry.url
    case .stream(let stream): stream.url
    }
  }

  var allocatedBytes: Int64 {
    switch self {
    case .entry(let entry): entry.allocatedBytes
    case .stream(let stream): stream.allocatedBytes
    }
  }

  var lastAccess: Date {
    switch self {
    case .entry(let entry): entry.lastAccess
    case .stream(let stream): stream.lastAccess
    }
  }

  var mimeType: String? {
    switch self {
    case .entry(let entry): entry.mimeType
    case .stream(let stream): stream.mimeType
    }
  }

  /// `yes`, `partly`, or nothing.
  var pinned: String {
    switch self {
    case .entry(let entry): entry.isPinned ? "yes" : ""
    case .stream(let stream): stream.isPinned ? "yes" : stream.isPartlyPinned ? "partly" : ""
    }
  }
}
