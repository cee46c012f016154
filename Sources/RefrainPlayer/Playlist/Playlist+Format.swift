// SPDX-License-Identifier: MIT
public import Foundation

extension Playlist {
  /// A format, which can be read and written.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// Also M3U8, the same format in UTF-8.
    case m3u
    case pls

    /// Returns the format by its mark; nil for any other content, also for a plain list of
    /// locations, which has no mark.
    ///
    /// - Parameter text: a list, or its beginning, without white space before it.
    package init?(beginning text: some StringProtocol) {
      let mark = text.prefix(16).lowercased()
      if mark.hasPrefix("#extm3u") {
        self = .m3u
      } else if mark.hasPrefix("[playlist]") {
        self = .pls
      } else {
        return nil
      }
    }
  }

  /// Returns the format by the MIME type if it is a playlist's, otherwise by the extension; nil if
  /// neither is a playlist's. An HTTP Live Stream also has the format `.m3u`.
  public static func format(of url: URL, mimeType: String? = nil) -> Format? {
    let type = mimeType?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    switch type {
    case "audio/x-mpegurl", "audio/mpegurl", "application/x-mpegurl", "application/mpegurl",
      "application/vnd.apple.mpegurl", "application/vnd.apple.mpegurl.audio":
      return .m3u
    case "audio/x-scpls", "audio/scpls", "application/pls+xml", "application/pls": return .pls
    default: break
    }
    switch url.pathExtension.lowercased() {
    case "m3u", "m3u8": return .m3u
    case "pls": return .pls
    default: return nil
    }
  }
}
