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
    /// Whether it was found beside a local file, instead of given for the item.
    var isFound = false

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
      track.isForced = track.isForced || name.isForced
      return track
    }

    /// Returns the subtitles in files beside a local one. Reads its folder.
    static func beside(_ item: EngineItem) -> [MPVSubtitle] {
      let path = item.media.url.path(percentEncoded: false)
      guard item.media.url.isFileURL, item.streamURL == nil, let slash = path.lastIndex(of: "/")
      else { return [] }
      let folder = String(path[...slash])
      // Without the folder, the file itself may be readable.
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      let media = String(path[path.index(after: slash)...])
      return SidecarSubtitles.of(media, among: names).map { name in
        let url = URL(filePath: folder + name, directoryHint: .notDirectory)
        return MPVSubtitle(
          subtitle: Media.Subtitle(url), address: url.path(percentEncoded: false), isFound: true)
      }
    }
  }

  extension MediaTracks {
    /// Returns the tracks with the titles and languages of an item's external subtitles.
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

    /// Returns the subtitles among which the listener's language decides, the preferred ones first;
    /// none: libmpv decides, which does not know the languages of external ones.
    ///
    /// - Parameter files: the addresses of the external tracks.
    func candidates(
      among subtitles: [MPVSubtitle], opened files: [MediaTrack.ID: String]
    ) -> [MediaTrack] {
      let given = self.given(by: subtitles.filter { !$0.isFound }, opened: files)
      let found = self.given(by: subtitles.filter(\.isFound), opened: files)
      guard given.isEmpty, !found.isEmpty else { return given }
      // libmpv would prefer a found one in another language to one of the file.
      let all = found + tracks(of: .subtitle).filter { files[$0.id] == nil }
      return all.filter { !$0.isForced } + all.filter(\.isForced)
    }

    /// Returns the tracks of some of an item's external subtitles.
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
    /// Registers the external subtitles of an item: those given for it, then those found beside it.
    func externalSubtitles(of playback: MPVPlayback) -> [MPVSubtitle] {
      let given = playback.item.media.subtitles.map { subtitle -> MPVSubtitle in
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
      return given
        + MPVSubtitle.beside(playback.item).filter { found in
          !given.contains { $0.isOpened(as: found.address) }
        }
    }

    /// Reports the subtitles given for an item that could not be read, or of which libmpv made no
    /// track.
    func tellFailedSubtitles(of playback: MPVPlayback) {
      let subtitles = playing.currentSubtitles.filter { !$0.isFound }
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
