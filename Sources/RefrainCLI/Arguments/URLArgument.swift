// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A URL on the command line.
enum URLArgument {
  /// Reads an http or https URL and keeps its spelling: percent-encoding is unchanged, and
  /// characters that a URL cannot contain are encoded once. As for curl and browsers, the path is
  /// without `.` and `..` (RFC 3986 §5.2.4).
  static func parse(_ text: String) throws -> URL {
    if let suggestion = suggestion(for: text) {
      throw InvalidArgument("the scheme is missing. Did you mean \(suggestion)?")
    }
    guard let url = URL(text: text), let scheme = url.scheme?.lowercased() else {
      throw InvalidArgument("a complete URL is required, as in https://example.org/song.flac")
    }
    guard scheme == "http" || scheme == "https" else {
      throw InvalidArgument("only http and https are supported, not '\(printable(scheme))'")
    }
    guard let host = url.host(percentEncoded: true), !host.isEmpty else {
      throw InvalidArgument("the URL has no host")
    }
    return URL(text: text, relativeTo: url) ?? url
  }

  /// Returns the URL meant by text that begins with a host, as typed into a browser:
  /// `127.0.0.1:8801/a.mp3`, `example.org/a.mp3`. Nil if the text does not look like one.
  static func suggestion(for text: String) -> String? {
    let end = text.firstIndex { "/?#".contains($0) } ?? text.endIndex
    var host = text[..<end]
    var hasPort = false
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
      let port = host[host.index(after: colon)...]
      guard let number = UInt16(port), number > 0 else { return nil }
      host = host[..<colon]
      hasPort = true
    }
    let isHere = host == "localhost" || isAddress(host)
    guard isHere || isName(host), isHere || hasPort || end < text.endIndex else { return nil }
    // Servers on this computer or with an explicit port seldom use TLS.
    let suggestion = "\(isHere || hasPort ? "http" : "https")://\(text)"
    return URL(text: suggestion) == nil ? nil : suggestion
  }

  /// `127.0.0.1`, `[::1]`.
  private static func isAddress(_ host: Substring) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") { return host.contains(":") }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
  }

  /// `example.org`: labels of letters, digits and hyphens, the last one of letters only.
  private static func isName(_ host: Substring) -> Bool {
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 1, let last = labels.last, last.count > 1, last.allSatisfy(\.isLetter)
    else { return false }
    return labels.allSatisfy { label in
      !label.isEmpty && label.allSatisfy { $0.isLetter || $0.isASCII && $0.isNumber || $0 == "-" }
    }
  }

  /// Returns a short name for a URL: its last path component, else its host.
  static func name(of url: URL) -> String {
    let last = url.lastPathComponent
    return printable(last.isEmpty || last == "/" ? url.host() ?? url.absoluteString : last)
  }
}

/// An argument of `play`: a file, a folder, a URL, or `-`.
enum PlayArgument {
  /// The URL that stands for a list on standard input.
  static let standardInput = URL(filePath: "/dev/stdin", directoryHint: .notDirectory)

  /// Reads a URL if the text has a scheme, else the path of a file or a folder. `problem(with:)`
  /// checks that it exists.
  static func parse(_ text: String) throws -> URL {
    guard !text.isEmpty else { throw InvalidArgument("the argument is empty") }
    guard text != "-" else { return standardInput }
    guard text.contains("://") else {
      if !FileManager.default.fileExists(atPath: text),
        let suggestion = URLArgument.suggestion(for: text)
      {
        throw InvalidArgument("the file does not exist. Did you mean \(suggestion)?")
      }
      return file(text)
    }
    guard text.lowercased().hasPrefix("file://") else { return try URLArgument.parse(text) }
    guard let url = URL(text: text), url.isFileURL else {
      throw InvalidArgument("the argument is not the URL of a file")
    }
    return file(url.path(percentEncoded: false))
  }

  private static func file(_ path: String) -> URL {
    URL(filePath: path, directoryHint: .notDirectory).standardizedFileURL
  }

  /// Returns why a URL does not name a file; nil for URLs of the web, and if no problem is known.
  static func problem(with url: URL) -> MediaCacheError? {
    guard url.isFileURL else { return nil }
    let path = url.path(percentEncoded: false)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      return MediaCacheError(
        .badURL, "\(path) does not exist.",
        remedy: "Check its name; write a URL in full, as in https://example.org/song.flac.")
    }
    guard !isFolder.boolValue else {
      return MediaCacheError(.badURL, "\(path) is a folder.", remedy: "Name the files in it.")
    }
    return nil
  }
}

extension URL {
  /// Whether scheme, host and port are equal (RFC 6454 §4).
  func isSameOrigin(as other: URL) -> Bool {
    func port(_ url: URL) -> Int? { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
    return scheme?.lowercased() == other.scheme?.lowercased()
      && host()?.lowercased() == other.host()?.lowercased() && port(self) == port(other)
  }
}
