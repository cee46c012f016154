// SPDX-License-Identifier: MIT
import Foundation

/// A URL as it is written on the command line.
enum URLArgument {
  static func parse(_ text: String) throws -> URL {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased() else {
      throw InvalidArgument("a whole URL is needed, as in https://example.org/song.flac")
    }
    guard scheme == "http" || scheme == "https" else {
      throw InvalidArgument("only http and https can be cached, not '\(printable(scheme))'")
    }
    guard let host = url.host(percentEncoded: true), !host.isEmpty else {
      throw InvalidArgument("the URL names no host")
    }
    return url
  }

  /// What to call a URL in a line: its last path component, else its host.
  static func name(of url: URL) -> String {
    let last = url.lastPathComponent
    return printable(last.isEmpty || last == "/" ? url.host() ?? url.absoluteString : last)
  }
}
