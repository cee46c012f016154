// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import RefrainPlayer

  /// Properties of the item, of waiting, and of the program.
  extension ControlState {
    /// Returns the value of one of these properties; nil: it has none now.
    func detail(of property: ControlProperty) -> ControlValue? {
      switch property {
      case .metadata: player.item.map { .object(metadata(of: $0)) }
      case .filename: fileName.map(ControlValue.string)
      case .filenameWithoutExtension: fileName.map { .string(Self.withoutExtension($0)) }
      case .playbackTime: playbackTime.map { ControlValue($0) }
      case .timeRemaining: remaining.map { ControlValue($0) }
      case .playtimeRemaining: remaining.map { ControlValue($0 / player.rate) }
      case .isSeekable: isOccupied ? .bool(canSeek) : nil
      case .hasReachedEnd: player.status == .ended ? .bool(true) : isOccupied ? .bool(false) : nil
      case .isCoreIdle: .bool(player.status != .playing)
      case .isSeeking: isOccupied ? .bool(player.status == .buffering(.seek)) : nil
      case .waitsForCache: isOccupied ? .bool(waitsForCache) : nil
      case .chapter: currentChapter.map { ControlValue($0) }
      case .chapterCount: isOccupied ? ControlValue(chapters.count) : nil
      case .chapters: .array(chapters.map(chapter))
      case .volumeMaximum: .number(100)
      case .processID: .integer(Int64(ProcessInfo.processInfo.processIdentifier))
      case .version: .string("refrain \(RefrainCommand.configuration.version)")
      case .propertyNames: .array(ControlProperty.allCases.map { .string($0.rawValue) })
      case .commandNames:
        .array(
          ControlCommand.names.split(separator: ", ").map {
            .object(["name": .string(String($0))])
          })
      default: nil
      }
    }

    /// The tags of the item, else what its list says of it, by the names that mpv has for them. Of a
    /// part of a file, such as a track of a CUE sheet, the list knows better.
    private func metadata(of item: PlayQueue.Item) -> [String: ControlValue] {
      let (tags, media) = (player.metadata, item.media)
      func value(_ tag: String?, _ stated: String?) -> String? {
        media.part == nil ? tag ?? stated : stated ?? tag
      }
      let members = [
        "title": value(tags.title, media.title), "artist": value(tags.artist, media.artist),
        "album": value(tags.album, media.album), "icy-title": tags.streamTitle,
        "icy-name": tags.station,
      ]
      return members.compactMapValues { $0.map(ControlValue.string) }
    }

    /// The last part of the path, without the query of a URL.
    private var fileName: String? {
      guard let url = player.item?.media.url else { return nil }
      let name = url.lastPathComponent
      return name.isEmpty || name == "/" ? url.withoutUserInfo.absoluteString : name
    }

    /// Strips the text after the last dot, and the dot.
    private static func withoutExtension(_ name: String) -> String {
      guard let dot = name.lastIndex(of: ".") else { return name }
      return String(name[..<dot])
    }

    // MARK: Time

    private var playbackTime: Duration? {
      guard isOccupied else { return nil }
      return max(.zero, min(player.position, player.duration ?? player.position))
    }

    private var remaining: Duration? {
      guard isOccupied, let duration = player.duration else { return nil }
      return max(.zero, duration - player.position)
    }

    private var canSeek: Bool { !player.isLive || player.liveWindow != nil }

    private var waitsForCache: Bool {
      switch player.status {
      case .buffering(.bytes), .buffering(.network): true
      default: false
      }
    }

    private func chapter(_ chapter: Media.Chapter) -> ControlValue {
      var members: [String: ControlValue] = ["time": ControlValue(chapter.start)]
      if let title = chapter.title { members["title"] = .string(title) }
      return .object(members)
    }
  }
#endif
