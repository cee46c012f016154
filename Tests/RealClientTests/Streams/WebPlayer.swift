// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport

/// Players of HLS and DASH that are scripts of a web page: they fetch playlists and segments by
/// themselves, and pass the media to the browser.
enum WebPlayer: String, Sendable {
  case hlsJS = "hls.js"
  case videoJS = "video.js"

  var script: RequiredScript {
    switch self {
    case .hlsJS: .hlsJS
    case .videoJS: .videoJS
    }
  }

  /// The page's report on one stream.
  struct Played: Codable, Equatable {
    /// The position, and the picture, after each seek.
    var seen: [String]?
    /// The time at which playback ended, in seconds.
    var ended: Double?
    /// Whether sound was decoded.
    var hasSound: Bool?
    var error: String?
  }

  /// Plays the streams one after the other on a page of the server, in Chromium with empty caches.
  func play(_ streams: [URL], onPageOf server: OriginServer) async throws -> [Played] {
    server.serve(
      OriginResource(.bytes(try script.contents), contentType: "text/javascript"),
      at: "/" + rawValue)
    server.serve(
      OriginResource(.bytes(WebPlayerPage.html.utf8), contentType: "text/html"),
      at: WebPlayerPage.path)
    let page = server.url(WebPlayerPage.path).appending(queryItems: [
      URLQueryItem(name: "player", value: rawValue),
      URLQueryItem(name: "streams", value: streams.map(\.absoluteString).joined(separator: " ")),
    ])
    let target = try await Chromium.report(of: page, from: server)
    let json = URLComponents(string: target)?.queryItems?.first { $0.name == "played" }?.value
    return try JSONDecoder().decode([Played].self, from: Data((json ?? "").utf8))
  }
}
