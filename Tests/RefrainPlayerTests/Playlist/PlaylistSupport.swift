// SPDX-License-Identifier: MIT
import Foundation

@testable import RefrainPlayer

extension Playlist {
  /// - Parameter origin: a URL, or a path that begins with a slash.
  static func reading(
    _ text: String, from origin: String = "https://music.example/lists/list.m3u",
    mimeType: String? = nil
  ) throws -> Playlist {
    try Playlist(Data(text.utf8), from: .of(origin), mimeType: mimeType)
  }

  var locations: [String] { entries.map(\.url.absoluteString) }
  var titles: [String?] { entries.map(\.title) }
  var artists: [String?] { entries.map(\.artist) }
}

extension URL {
  static func of(_ text: String) -> URL {
    text.hasPrefix("/")
      ? URL(fileURLWithPath: text) : URL(string: text) ?? URL(fileURLWithPath: "/nothing")
  }
}
