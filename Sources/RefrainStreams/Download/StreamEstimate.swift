// SPDX-License-Identifier: MIT

/// The size of a stream: the lengths of its parts as far as they are known, and estimates by bit
/// rates for the others. A pure value.
struct StreamEstimate: Sendable, Hashable {
  /// In bytes, without the parts whose lengths nothing shows.
  private(set) var bytes: Int64 = 0
  /// Whether nothing shows the length of some track.
  private(set) var isIncomplete = false
  /// Parts whose lengths would show those of their tracks, as indices of `StreamPlan.parts`: one at
  /// the start of each track, then one in the middle.
  private(set) var samples: [Int] = []

  /// Nil if nothing shows the size of the stream.
  var total: Int64? { isIncomplete || bytes == 0 ? nil : bytes }

  /// The most samples of one stream.
  private static let mostSamples = 8
  /// In bytes per second, of sound whose rate nothing shows.
  private static let soundRate = 16_000.0
  private static let mostBytes = 9e18

  /// Takes time linear in the number of parts.
  ///
  /// - Parameter lengths: of the parts in bytes, as far as they are known.
  init(_ plan: StreamPlan, _ lengths: [Int64?]) {
    let tracks = plan.tracks.map { Measure($0, plan.parts, lengths) }
    let rates = Self.rates(of: tracks)
    var sum = 0.0
    var unmeasured: [Measure] = []
    for (track, rate) in zip(tracks, rates) {
      sum += track.knownBytes
      guard track.isUnknown else { continue }
      if let rate, track.unknownSeconds > 0 || rate == 0 {
        sum += rate * track.unknownSeconds
      } else {
        isIncomplete = true
      }
      let isStated = rate != nil && track.unknownSeconds > 0 && track.rate != .sound
      if !isStated, rate != 0, track.bytesPerSecond == nil { unmeasured.append(track) }
    }
    bytes = Int64(min(sum, Self.mostBytes))
    let samples = unmeasured.compactMap(\.first) + unmeasured.compactMap(\.middle)
    self.samples = Array(samples.prefix(Self.mostSamples))
  }

  /// Returns the rates of the unknown parts of tracks in bytes per second; nil where nothing shows
  /// it.
  private static func rates(of tracks: [Measure]) -> [Double?] {
    let beside = tracks.filter { $0.rate == .inVariant }.compactMap(\.bytesPerSecond)
    return tracks.map { track in
      switch track.rate {
      case .stated(let bits): return Double(bits) / 8
      case .ofVariant(let bits):
        let all = Double(bits) / 8
        let own = beside.reduce(all) { $0 - $1 }
        return own > 0 ? own : all
      case .inVariant: return track.bytesPerSecond ?? rest(of: tracks)
      case .sound: return track.bytesPerSecond ?? beside.first ?? soundRate
      case .subtitles: return track.bytesPerSecond ?? 0
      case .unstated: return track.bytesPerSecond
      }
    }
  }

  /// Returns the bytes per second that a variant's rate leaves for the tracks beside it, if all of
  /// the variant itself is known; otherwise 0, since its own unknown parts then count all of them.
  private static func rest(of tracks: [Measure]) -> Double {
    for track in tracks {
      guard case .ofVariant(let bits) = track.rate, !track.isUnknown,
        let own = track.bytesPerSecond
      else { continue }
      return max(0, Double(bits) / 8 - own)
    }
    return 0
  }
}

/// What is known of a track.
private struct Measure {
  let rate: StreamPlan.Rate
  /// Of the parts whose lengths are known or stated.
  var knownBytes = 0.0
  /// The playing time of the other parts.
  var unknownSeconds = 0.0
  /// Whether the length of a part that is neither a key nor an initialization is unknown.
  var isUnknown = false
  /// Parts of unknown length, as indices.
  var first: Int?
  var middle: Int?
  private var timedBytes = 0.0
  private var timedSeconds = 0.0

  /// Nil if no length is known.
  var bytesPerSecond: Double? { timedSeconds > 0 ? timedBytes / timedSeconds : nil }

  init(_ track: StreamPlan.Track, _ parts: [StreamPlan.Part], _ lengths: [Int64?]) {
    rate = track.rate
    // A file whose playing time is unknown is a track by itself.
    let isTimed = track.parts.contains { parts[$0].seconds > 0 }
    for index in track.parts {
      let part = parts[index]
      let range = part.range.map { $0.upperBound - $0.lowerBound }
      if let length = lengths[index] ?? range ?? part.statedBytes {
        knownBytes += Double(length)
        guard part.seconds > 0 else { continue }
        timedBytes += Double(length)
        timedSeconds += part.seconds
      } else if !part.isKey, part.seconds > 0 || !isTimed {
        isUnknown = true
        unknownSeconds += part.seconds
        if first == nil { first = index }
      }
    }
    guard let first else { return }
    let middle = track.parts.lowerBound + track.parts.count / 2
    let isOther = middle > first && lengths[middle] == nil && parts[middle].range == nil
    if isOther, parts[middle].statedBytes == nil, parts[middle].seconds > 0 {
      self.middle = middle
    }
  }
}
