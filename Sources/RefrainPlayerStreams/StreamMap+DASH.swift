// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

extension StreamMap {
  /// Nil if the body is no MPD, describes a live stream or too many Representations, or does not
  /// say which segments there are.
  ///
  /// Of several periods, the longest one counts: libmpv plays that one alone.
  ///
  /// - Parameters:
  ///   - body: the stream's manifest.
  ///   - base: the URL of the manifest after redirects.
  ///   - isSoundOnly: whether the engine plays no pictures.
  ///   - key: returns the key under which a URL is stored.
  init?(
    presentation body: [UInt8], at base: URL, isSoundOnly: Bool, key: (URL) -> CacheKey
  ) {
    // An MPD whose segments are not known is played all the same.
    guard let presentation = (try? DASHPresentation(body, url: base)) ?? nil,
      !presentation.isDynamic, let period = presentation.mainPeriod
    else { return nil }
    // Of equals, the first one is taken for the one that plays: libmpv plays the highest bit rate.
    let pictures = period.pictures.sorted { $0.bandwidth > $1.bandwidth }
    let sounds = period.audio.sorted { $0.isDefault && !$1.isDefault }.flatMap { track in
      track.content.representations.filter { !$0.isDependent }
        .sorted { $0.bandwidth > $1.bandwidth }
    }
    let all = pictures + sounds
    guard !all.isEmpty, all.count <= Self.mostChoices else { return nil }
    var allowance = DASHPresentation.Allowance()
    var playlists: [Playlist] = []
    for representation in all {
      guard
        let parts = try? representation.timedParts(duration: period.duration, &allowance)
      else { return nil }
      var playlist = Playlist(url: nil, timeline: StreamTimeline(parts, key: key))
      (playlist.isLive, playlist.hasChanged) = (false, false)
      playlist.unindexed = representation.indexPart.map {
        UnindexedFile(representation: representation, index: $0)
      }
      playlists.append(playlist)
    }
    let tracks: [Int?] = sounds.indices.map { pictures.count + $0 }
    let variants =
      pictures.isEmpty
      ? sounds.enumerated().map { number, sound in
        PlayingVariant(playlist: number, bandwidth: sound.bandwidth)
      }
      : pictures.enumerated().map { number, picture in
        PlayingVariant(playlist: number, bandwidth: picture.bandwidth, sounds: tracks)
      }
    self.init(playlists, variants, isSoundOnly: isSoundOnly, key: key)
  }
}
