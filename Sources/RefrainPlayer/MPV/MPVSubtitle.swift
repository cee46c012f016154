// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// A subtitle of another resource, which libmpv opens with an item.
  struct MPVSubtitle {
    let subtitle: Media.Subtitle
    let address: String
    /// Its reading through the cache, and the number in the registry; nil for a file.
    var playback: MPVPlayback?
    var number: UInt64?

    var url: URL { subtitle.url }

    /// Returns whether this is the external file that libmpv opened. Versions of libmpv may name a
    /// file by its path without symbolic links.
    func isOpened(as file: String) -> Bool {
      file == address || Self.resolved(file) == Self.resolved(address)
    }

    /// Returns the path of a file without symbolic links; other addresses as they are.
    private static func resolved(_ address: String) -> String {
      guard address.hasPrefix("/") else { return address }
      return URL(filePath: address).resolvingSymlinksInPath().path(percentEncoded: false)
    }

    /// Returns a track of the subtitle with its title and language: those stated for it, else those
    /// of the track itself, else those of the file's name.
    func named(_ track: MediaTrack) -> MediaTrack {
      var track = track
      let name = SubtitleName(of: url)
      // Without a title in the file, libmpv takes the end of the address, or a part of that.
      let isOfAddress = track.title.map { $0.isEmpty || address.contains($0) } ?? true
      track.title = subtitle.title ?? (isOfAddress ? name.title : nil) ?? track.title
      let own = track.language.flatMap { $0.isEmpty ? nil : $0 }
      track.language = subtitle.language ?? own ?? name.language
      return track
    }
  }

  extension MediaTracks {
    /// Returns the tracks with the titles and languages of the subtitles given for an item.
    ///
    /// - Parameter files: the addresses of the external tracks.
    func named(
      after subtitles: [MPVSubtitle], opened files: [MediaTrack.ID: String]
    ) -> MediaTracks {
      guard !subtitles.isEmpty else { return self }
      var named = self
      named.all = all.map { track in
        guard track.kind == .subtitle, let file = files[track.id],
          let subtitle = subtitles.first(where: { $0.isOpened(as: file) })
        else { return track }
        return subtitle.named(track)
      }
      return named
    }

    /// Returns the tracks of the subtitles given for an item.
    ///
    /// - Parameter files: the addresses of the external tracks.
    func given(by subtitles: [MPVSubtitle], opened files: [MediaTrack.ID: String]) -> [MediaTrack] {
      tracks(of: .subtitle).filter { track in
        guard let file = files[track.id] else { return false }
        return subtitles.contains { $0.isOpened(as: file) }
      }
    }
  }

  extension MPVLoop {
    /// Registers the external subtitles of an item.
    func externalSubtitles(of playback: MPVPlayback) -> [MPVSubtitle] {
      playback.item.media.subtitles.map { subtitle in
        let url = subtitle.url
        guard !url.isFileURL else {
          return MPVSubtitle(subtitle: subtitle, address: url.path(percentEncoded: false))
        }
        let item = EngineItem(
          id: playback.item.id, media: Media(url, headers: subtitle.headers),
          fill: playback.item.fill)
        let reading = MPVPlayback(item: item, cache: playback.cache)
        let added = registry.add(reading, name: SubtitleName(of: url).addressPart)
        return MPVSubtitle(
          subtitle: subtitle, address: added.address, playback: reading, number: added.number)
      }
    }

    /// Reports the external subtitles of an item that could not be read, or of which libmpv made no
    /// track.
    func tellFailedSubtitles(of playback: MPVPlayback) {
      let subtitles = playing.currentSubtitles
      guard !subtitles.isEmpty else { return }
      let opened = externalFiles.values
      for subtitle in subtitles {
        let isOpened = opened.contains { subtitle.isOpened(as: $0) }
        guard let error = subtitle.playback?.error ?? (isOpened ? nil : subtitle.refusal) else {
          continue
        }
        tell(.subtitleFailed(playback.item.id, subtitle.url, error))
      }
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
