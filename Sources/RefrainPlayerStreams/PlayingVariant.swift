// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// A variant of a stream, by the indices of its playlists.
struct PlayingVariant: Sendable, Hashable {
  var playlist: Int
  /// The peak in bits per second; 0 if the manifest does not state it.
  var bandwidth: Int64 = 0
  /// The renditions of its sound, the default one first; nil: the variant's own media contains it.
  var sounds: [Int?] = []

  /// The order in which variants are taken for the one that plays.
  struct Rank: Comparable {
    var lastOpening: Int
    var lastSound: Int
    var share: Double
    var bandwidth: Int64

    static func < (one: Self, other: Self) -> Bool {
      (one.lastOpening, one.lastSound, one.share, one.bandwidth)
        < (other.lastOpening, other.lastSound, other.share, other.bandwidth)
    }
  }
}

/// A media playlist as it is stored.
struct StoredPlaylist: Sendable {
  /// The segments that a live stream's playlist lists now.
  struct Window: Sendable, Hashable {
    var firstSequence: Int64
    var count: Int
  }

  /// Nil for a live stream.
  var timeline: StreamTimeline?
  /// Nil for a stream that is not live.
  var window: Window?
  /// The target duration of a live stream, a minute at most.
  var target: Duration?

  /// Nil if the body is no media playlist.
  ///
  /// - Parameters:
  ///   - url: the URL of the playlist after redirects.
  ///   - variables: those of the manifest.
  ///   - key: returns the key under which a URL is stored.
  init?(
    _ body: [UInt8], at url: URL, variables: [String: String] = [:], key: (URL) -> CacheKey
  ) {
    guard let playlist = HLSMediaPlaylist(body, url: url, imported: variables) else { return nil }
    if playlist.isLive {
      window = Window(firstSequence: playlist.mediaSequence, count: playlist.segments.count)
      target = .seconds(min(playlist.targetDuration, 60))
    } else {
      timeline = StreamTimeline(playlist, at: url, key: key)
    }
  }
}

extension HLSMultivariantPlaylist {
  /// Returns the renditions of a variant's sound, the one that plays by default first.
  func sounds(of variant: Variant) -> [Rendition] {
    guard let group = variant.audioGroup else { return [] }
    let all = renditions.filter { $0.type == .audio && $0.groupID == group }
    let first = all.firstIndex(where: \.isDefault) ?? all.firstIndex(where: \.isAutoselect)
    guard let first else { return all }
    return [all[first]] + all[..<first] + all[(first + 1)...]
  }
}

extension CacheEvent {
  /// The key of an event that changes what is known of a stream.
  var streamKey: CacheKey? {
    switch self {
    case .opened(let key), .fetchStarted(let key, _), .fetchFinished(let key, _, _),
      .generationChanged(let key), .evicted(let key, _), .failed(let key, _):
      key
    case .received, .retrying, .servedFromDisk, .committed, .streamTitle, .warning: nil
    }
  }

  /// Whether the event may change the stored bytes of its resource.
  var changesStored: Bool {
    switch self {
    case .fetchFinished, .generationChanged, .evicted: true
    default: false
    }
  }
}
