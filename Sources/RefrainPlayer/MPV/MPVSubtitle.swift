// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// A subtitle of another resource, which libmpv opens with an item.
  struct MPVSubtitle {
    let url: URL
    var address: String
    /// Its reading through the cache, and the number in the registry; nil for a file.
    var playback: MPVPlayback?
    var number: UInt64?
  }

  extension MPVLoop {
    /// Registers the external subtitles of an item.
    func externalSubtitles(of playback: MPVPlayback) -> [MPVSubtitle] {
      playback.item.media.subtitles.map { subtitle in
        let url = subtitle.url
        guard !url.isFileURL else {
          return MPVSubtitle(url: url, address: url.path(percentEncoded: false))
        }
        let item = EngineItem(
          id: playback.item.id, media: Media(url, headers: subtitle.headers),
          fill: playback.item.fill)
        let reading = MPVPlayback(item: item, cache: playback.cache)
        let added = registry.add(reading)
        return MPVSubtitle(
          url: url, address: added.address, playback: reading, number: added.number)
      }
    }

    /// Reports the external subtitles of an item that could not be read, or of which libmpv made no
    /// track.
    func tellFailedSubtitles(of playback: MPVPlayback) {
      let subtitles = playing.currentSubtitles
      guard !subtitles.isEmpty else { return }
      let opened = Set(externalFiles.map(Self.resolved))
      for subtitle in subtitles {
        let isOpened = opened.contains(Self.resolved(subtitle.address))
        guard let error = subtitle.playback?.error ?? (isOpened ? nil : subtitle.refusal) else {
          continue
        }
        tell(.subtitleFailed(playback.item.id, subtitle.url, error))
      }
    }

    /// Returns the path of a file without symbolic links, by which versions of libmpv may name it;
    /// other addresses as they are.
    private static func resolved(_ address: String) -> String {
      guard address.hasPrefix("/") else { return address }
      return URL(filePath: address).resolvingSymlinksInPath().path(percentEncoded: false)
    }
  }

  extension MPVSubtitle {
    fileprivate var refusal: MediaCacheError {
      let name =
        url.isFileURL
        ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
      return MediaCacheError(
        .invalidResponse, "\(name) is not a subtitle that can be shown.",
        remedy: "Check that the file exists, and is a text of SRT, WebVTT or ASS, or the like.")
    }
  }
#endif
