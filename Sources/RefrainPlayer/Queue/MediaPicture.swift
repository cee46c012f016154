// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Where the picture of a media is.
enum MediaPicture: Sendable, Hashable {
  /// As a list or the app states it (`Media.artwork`).
  case stated(URL)
  /// In the folder of a local file, which all files there share.
  case inFolder(URL)

  /// Returns nil for a media on the network of which nothing is stated.
  init?(of media: Media) {
    if let artwork = media.artwork {
      self = .stated(artwork)
    } else if media.url.isFileURL {
      self = .inFolder(media.url.deletingLastPathComponent())
    } else {
      return nil
    }
  }

  /// The names of pictures in a folder, the preferred one first.
  private static let names = ["cover.jpg", "folder.jpg", "Cover.jpg", "Folder.jpg"]

  /// Returns the URL of the picture; nil if the folder has none. Looks on a thread for blocking
  /// work.
  func url() async -> URL? {
    switch self {
    case .stated(let url): return url
    case .inFolder(let folder):
      return await IOThreads.background.run {
        Self.names.map { folder.appending(path: $0, directoryHint: .notDirectory) }
          .first(where: Self.isReadable)
      }
    }
  }

  /// Blocks.
  private static func isReadable(_ file: URL) -> Bool {
    (try? RegularFile(file)) != nil
  }
}
