// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Follows the versions of a live media playlist, and finds the resources that may have other bytes
/// than before under the same URL. A pure value.
///
/// RFC 8216 §6.2.1 forbids that, and encoders do it: some use a few names in turn, and most begin
/// with the first name again when they are restarted. The bytes stored under a name are then those
/// of an earlier segment, and have to be confirmed. What stays listed is not named again.
package struct LiveListing: Sendable {
  /// A resource that is named again.
  package struct Named: Sendable, Hashable {
    /// The reference as in `HLSMediaPlaylist`.
    package var uri: String
    package var isOther: Bool
  }

  /// What a name stands for: a segment, or a range of one.
  private struct Place: Hashable {
    var sequence: Int64
    var duration: Double
    var range: ByteRange?
  }

  private struct Name {
    /// None: an initialization or a key, which many segments share.
    var places: [Place] = []
    /// The last version that has it.
    var version: Int
  }

  /// By the hashes of the references.
  private var names: [UInt64: Name] = [:]
  private var version = 0
  private var first: Int64 = 0
  /// The sequence number after the last segment.
  private var end: Int64 = 0

  /// Names that have left the playlist are forgotten when there are more.
  private static let mostLeft = 4096

  package init() {}

  /// Takes the next version of the playlist.
  ///
  /// - Returns: the resources that this version names again: none that the version before has named
  ///   for the same purpose. Of a playlist that is complete, only those that differ from an earlier
  ///   version.
  package mutating func follow(_ playlist: HLSMediaPlaylist) -> [Named] {
    let listed = Self.listed(in: playlist)
    let skippedEnd = playlist.mediaSequence.addingSaturated(playlist.skippedSegments)
    let newEnd = max(playlist.segments.last?.sequence.addingSaturated(1) ?? 0, skippedEnd)
    if isOlder(playlist, endingAt: newEnd, listed) { return [] }
    // A media sequence never goes back (RFC 8216 §6.2.1): the stream has begun again.
    let isRestarted = version > 0 && (playlist.mediaSequence < first || newEnd < end)
    (first, end) = (playlist.mediaSequence, newEnd)
    version += 1
    keepSkipped(playlist.mediaSequence..<skippedEnd, isDelta: playlist.skippedSegments > 0)
    let before = names
    for (uri, places) in listed {
      names[StreamParts.hash(uri.utf8)] = Name(places: places, version: version)
    }
    var named: [Named] = []
    for (uri, places) in listed where uri.last != Self.query {
      let known = before[StreamParts.hash(uri.utf8)]
      let isContinued =
        !isRestarted
        && [known, Self.withoutQuery(uri).flatMap { before[StreamParts.hash($0.utf8)] }].contains {
          $0.map { $0.version >= version - 1 && Self.isSame(places, $0.places) } ?? false
        }
      if !isContinued, known != nil || playlist.isLive {
        named.append(Named(uri: uri, isOther: known != nil))
      }
    }
    if names.count > listed.count + Self.mostLeft {
      names = names.filter { $0.value.version == version }
    }
    return named
  }

  /// Whether a version is the one before the last: another client, or another machine of the origin,
  /// may be a segment behind. The first version of a stream that begins again is not told apart from
  /// it while the sequence begins at zero.
  private func isOlder(
    _ playlist: HLSMediaPlaylist, endingAt newEnd: Int64, _ listed: [String: [Place]]
  ) -> Bool {
    guard newEnd < end, newEnd >= end - 1,
      (max(first - 1, 1)...max(first, 1))
        .contains(playlist.mediaSequence)
    else { return false }
    return listed.allSatisfy { uri, places in
      names[StreamParts.hash(uri.utf8)].map { Self.isSame(places, $0.places) } ?? false
    }
  }

  /// A delta update (draft-pantos-hls-rfc8216bis §6.2.5.1) leaves out what an earlier version has.
  private mutating func keepSkipped(_ skipped: Range<Int64>, isDelta: Bool) {
    guard isDelta else { return }
    for (hash, name) in names where name.version == version - 1 {
      let isListed =
        name.places.isEmpty || name.places.contains { skipped.contains($0.sequence) }
      if isListed { names[hash]?.version = version }
    }
  }

  private static func listed(in playlist: HLSMediaPlaylist) -> [String: [Place]] {
    var listed: [String: [Place]] = [:]
    for segment in playlist.segments where !segment.isGap {
      listed[segment.uri, default: []].append(
        Place(
          sequence: segment.sequence, duration: segment.duration, range: segment.byteRange))
    }
    let maps = playlist.maps.map(\.uri)
    let keys = playlist.keys.filter { $0.keyFormat == "identity" }.compactMap(\.uri)
    for uri in maps + keys where listed[uri] == nil { listed[uri] = [] }
    for (uri, places) in listed {
      if let path = withoutQuery(uri) { listed[path, default: []] += places }
    }
    return listed
  }

  private static let query: Character = "?"

  /// Returns a reference up to its query, with the question mark; nil if it has none. A query is
  /// often a token, with which each version names the same segments.
  private static func withoutQuery(_ uri: String) -> String? {
    uri.firstIndex(of: query).map { String(uri[...$0]) }
  }

  private static func isSame(_ places: [Place], _ known: [Place]) -> Bool {
    places.isEmpty ? known.isEmpty : places.contains(where: known.contains)
  }
}

extension LiveListing {
  /// Returns what distinguishes a live presentation of DASH from one that was started again with
  /// the same names of segments: when it began. Nil if the body is no MPD that changes.
  package static func beginning(ofDescription body: [UInt8]) -> String? {
    guard let root = Manifest.description(body), Manifest.value(of: "type", in: root) == "dynamic"
    else { return nil }
    return Manifest.value(of: "availabilityStartTime", in: root) ?? ""
  }
}
