// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// The resources of a stream besides its manifests: segments, initializations and keys. A pure
/// value.
package struct StreamPlan: Sendable {
  /// A resource, or a range of one.
  package struct Part: Sendable, Hashable {
    package var url: URL
    /// Nil: all of the resource.
    package var range: ByteRange?
    /// The time that the part plays; 0 for keys and initializations.
    package var seconds: Double
    /// Whether the part is a key that decrypts segments.
    package var isKey: Bool
    /// The approximate length that the manifest states of this part; nil if it states none.
    var statedBytes: Int64?

    package init(url: URL, range: ByteRange? = nil, seconds: Double = 0, isKey: Bool = false) {
      (self.url, self.range, self.seconds, self.isKey) = (url, range, seconds, isKey)
    }
  }

  /// The parts of one playlist, or of one Representation.
  struct Track: Sendable, Hashable {
    /// Indices of `StreamPlan.parts`. A part of several tracks belongs to the first.
    var parts: Range<Int>
    var rate: Rate
  }

  /// What the manifests state about the bit rate of a track.
  package enum Rate: Sendable, Hashable {
    /// In bits per second.
    case stated(Int64)
    /// That of a variant of HLS in bits per second, with the tracks that play at the same time.
    case ofVariant(Int64)
    /// The rate of a variant contains this track's.
    case inVariant
    /// Nothing, of sound beside that of a variant.
    case sound
    /// Nothing, of subtitles, which are short.
    case subtitles
    /// Nothing.
    case unstated
  }

  private(set) var tracks: [Track] = []
  /// In the order of the manifests, without repetitions. Adjacent ranges are one part.
  package private(set) var parts: [Part] = []
  /// The parts that the origin may not have, as indices of `parts`
  /// (`DASHSegments.Reference`).
  private(set) var absentable: Set<Int> = []
  /// The sum of the durations of all playlists, or of all Representations.
  package private(set) var seconds = 0.0
  /// The duration of the longest playlist, or of all periods, in seconds.
  package private(set) var duration = 0.0
  /// References that are neither http nor https, for a message.
  package private(set) var skipped: [String] = []

  private static let mostSkipped = 20

  private struct Identity: Hashable {
    var url: URL
    var range: ByteRange?
  }

  private var known: Set<Identity> = []

  package init() {}

  /// Appends the parts of a playlist, or only some of them if the task is cancelled.
  ///
  /// - Parameters:
  ///   - url: the URL of the playlist after redirects.
  ///   - rate: what the multivariant playlist states about it.
  package mutating func append(
    _ playlist: HLSMediaPlaylist, at url: URL, rate: Rate = .unstated
  ) {
    let first = parts.count
    defer { tracks.append(Track(parts: first..<parts.count, rate: rate)) }
    var maps = Set<Int>()
    var keys = Set<Int>()
    for segment in playlist.segments where !segment.isGap {
      if Task.isCancelled { return }
      for key in segment.keys where keys.insert(key).inserted {
        append(playlist.keys[key], at: url)
      }
      if let index = segment.map, maps.insert(index).inserted {
        let map = playlist.maps[index]
        append(map.uri, map.byteRange, seconds: 0, at: url)
      }
      let stated = segment.bitRate.flatMap { StreamVariant.bytes($0, segment.duration) }
      append(
        segment.uri, segment.byteRange, seconds: segment.duration, statedBytes: stated, at: url)
    }
    duration = max(duration, playlist.totalDuration)
  }

  /// The keys of content protection systems come from a license server.
  private mutating func append(_ key: HLSKey, at url: URL) {
    guard key.keyFormat == "identity", let uri = key.uri else { return }
    append(uri, nil, seconds: 0, isKey: true, at: url)
  }

  /// Appends the parts of Representations that play at the same time, or only some of them if the
  /// task is cancelled.
  ///
  /// - Parameter duration: of their period, in seconds; nil if unknown.
  /// - Throws: `DASHProblem`, if their segments are not known, or too many.
  package mutating func append(
    _ representations: [DASHPresentation.Representation], duration: Double?,
    _ allowance: inout DASHPresentation.Allowance
  ) throws(DASHProblem) {
    var longest = 0.0
    for representation in representations {
      let references = try representation.references(duration: duration, &allowance)
      guard let base = representation.base else {
        throw .hasLongURLs
      }
      let first = parts.count
      let rate = representation.bandwidth
      defer {
        let stated = rate > 0 ? Rate.stated(rate) : .unstated
        tracks.append(Track(parts: first..<parts.count, rate: stated))
      }
      for reference in references {
        if Task.isCancelled { return }
        let count = parts.count
        append(reference.text, reference.range, seconds: reference.seconds, at: base)
        if reference.mayBeAbsent, parts.count > count { absentable.insert(count) }
      }
      longest = max(longest, references.reduce(0) { $0 + $1.seconds })
    }
    self.duration += duration ?? longest
  }

  private mutating func append(
    _ reference: String, _ range: ByteRange?, seconds: Double, isKey: Bool = false,
    statedBytes: Int64? = nil, at base: URL
  ) {
    guard let url = URL(text: reference, relativeTo: base), WebURL(url.absoluteString) != nil
    else { return skip(reference) }
    guard known.insert(Identity(url: url, range: range)).inserted else { return }
    self.seconds += seconds
    if let range, let last = parts.last, last.url == url, let before = last.range,
      before.upperBound == range.lowerBound
    {
      parts[parts.count - 1].range = before.lowerBound..<range.upperBound
      parts[parts.count - 1].seconds += seconds
    } else {
      var part = Part(url: url, range: range, seconds: seconds, isKey: isKey)
      part.statedBytes = statedBytes
      parts.append(part)
    }
  }

  private mutating func skip(_ reference: String) {
    // The playlist contains the data itself.
    guard !reference.lowercased().hasPrefix("data:") else { return }
    guard skipped.count < Self.mostSkipped, !skipped.contains(reference) else { return }
    skipped.append(reference)
  }
}
