// SPDX-License-Identifier: MIT
import Foundation

/// The references of an HLS playlist: its lines that are no tags, and the attributes `URI`. Found
/// independently of the proxy, for comparison.
struct StreamReferences {
  private let text: String

  init(playlist text: String) { self.text = text }

  /// The forms of a reference (RFC 3986 §4.2).
  enum Spelling {
    case relative
    /// With a scheme and a host.
    case absolute
    /// A path that begins with `/`.
    case rooted
    /// `//host/path`.
    case networkPath

    func spell(_ url: URL) -> String {
      let absolute = url.absoluteString
      let networkPath = absolute.drop { $0 != "/" }
      switch self {
      case .relative, .absolute: return absolute
      case .rooted: return String(networkPath.dropFirst(2).drop { $0 != "/" })
      case .networkPath: return String(networkPath)
      }
    }
  }

  /// The references in the order of the playlist.
  var all: [String] {
    var all: [String] = []
    _ = replaced {
      all.append($0)
      return $0
    }
    return all
  }

  /// Returns the playlist with each reference spelled otherwise.
  func spelled(_ spelling: Spelling, base: URL) -> String {
    replaced { reference in
      guard let url = URL(string: reference, relativeTo: base) else { return reference }
      return spelling.spell(url.absoluteURL)
    }
  }

  /// Returns the playlist with a query at the end of each reference, none of which has one.
  func appending(query: String) -> String { replaced { "\($0)?\(query)" } }

  private func replaced(_ body: (String) -> String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard !line.isEmpty else { return "" }
      guard line.hasPrefix("#") else { return body(String(line)) }
      return String(line).replacing(/([:,]URI=")([^"]*)"/) { match in
        match.1 + body(String(match.2)) + "\""
      }
    }.joined(separator: "\n")
  }
}
