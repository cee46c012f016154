// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The source of a response's bytes, determined when it begins.
struct ResponseSource: Sendable {
  var source: ServedRequest.Source
  /// RFC 9211.
  var cacheStatus: CacheStatus

  /// - Parameter isStale: whether a stale response is served because the origin must not be asked
  ///   now.
  init(
    reader: MediaReader, known: StoredResponse, wanted: [ByteRange], since started: Date,
    isStale: Bool
  ) {
    let before = reader.spansBefore
    let bounded = wanted.map { range in
      range.lowerBound..<min(range.upperBound, known.information.length ?? range.upperBound)
    }
    let there = bounded.reduce(into: Int64(0)) { sum, range in
      sum += before.intersection(RangeSet(range)).ranges.reduce(0) {
        $0 + ($1.upperBound - $1.lowerBound)
      }
    }
    let all = bounded.reduce(into: Int64(0)) { $0 += $1.upperBound - $1.lowerBound }
    let asked = reader.statistics.requests > 0
    let isNews = known.freshness.confirmedAt >= started
    if there == all, !(wanted.isEmpty && before.isEmpty && asked) {
      switch (asked, isNews) {
      case (false, _) where isStale:
        source = .stale
        cacheStatus = CacheStatus(detail: "stale, because the origin asked for a pause")
      case (false, _):
        source = .hit
        cacheStatus = CacheStatus.hit
      case (true, true):
        source = .revalidated
        cacheStatus = CacheStatus(forwarded: Self.reason(reader) ?? .stale)
      case (true, false):
        source = .stale
        cacheStatus = CacheStatus(detail: "stale, because the origin could not be asked")
      }
    } else if there > 0 {
      source = .partial
      cacheStatus = .forwarded(.partial, isStored: reader.isStoring)
    } else {
      source = .miss
      cacheStatus = .forwarded(Self.reason(reader) ?? .uriMiss, isStored: reader.isStoring)
      cacheStatus.isCollapsed = !asked
    }
  }

  /// Returns why the request was forwarded although a response was stored; nil if none was, or if
  /// it could be used.
  private static func reason(_ reader: MediaReader) -> CacheStatus.Forwarded? {
    switch reader.obstacle {
    case .stale: .stale
    case .request: .request
    case nil: nil
    }
  }
}
