// SPDX-License-Identifier: MIT
package import Foundation

/// The state of one open entry at one moment, for programs that show it.
package struct EntryActivity: Sendable, Hashable {
  package var key: CacheKey
  package var url: URL
  /// The key of the first resource of its group; nil if it belongs to none.
  package var group: CacheKey?
  package var mimeType: String?
  /// The length in bytes; nil while unknown.
  package var length: Int64?
  /// The stored ranges.
  package var spans: RangeSet<Int64>
  /// The bytes still to arrive of running requests, in order.
  package var fetching: [ByteRange]
  /// The positions of the readers that play, in order. A prefetch is none of them.
  package var readers: [Int64]
  /// The bytes received from the origin since the entry was opened.
  package var received: Int64
}

extension MediaCache {
  /// Returns the state of every entry that this process has open. Reads no file.
  package func activity() -> [EntryActivity] {
    table.openEntries.compactMap(\.activity)
  }
}

extension Entry {
  /// Nil while it is being closed.
  fileprivate var activity: EntryActivity? {
    guard let current else { return nil }
    let (url, group) = (resource.url.withoutUserInfo, group.map { CacheKey(rawValue: $0) })
    let received = requests.sums.received
    return current.withState { state in
      EntryActivity(
        key: key, url: url, group: group, mimeType: state.info?.mimeType, length: state.length,
        spans: state.stored, fetching: state.arriving, readers: state.playing, received: received)
    }
  }
}

extension GenerationState {
  fileprivate var arriving: [ByteRange] {
    fetches.values.filter(\.bringsBytes).map { fetch in
      let end = min(fetch.announcedEnd ?? fetch.range.upperBound, length ?? .max)
      // Of a stream without a length, the next byte alone is known to arrive.
      let known = end == .max ? fetch.position + 1 : end
      return fetch.position..<max(fetch.position, known)
    }
    .filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }
  }

  fileprivate var playing: [Int64] {
    readers.values.filter { $0.isActive && !$0.isBackground }.map(\.position).sorted()
  }
}
