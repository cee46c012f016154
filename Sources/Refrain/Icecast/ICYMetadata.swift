// SPDX-License-Identifier: MIT
import Foundation

/// One block of metadata between the audio of a stream:
/// `StreamTitle='Artist - Title';StreamUrl='http://…';`, padded with NULs. A pure value.
struct ICYMetadata: Sendable, Hashable {
  /// Empty if the block clears it; nil if the block does not mention it.
  var title: String?
  /// As sent: often relative, or no URL at all. Empty and nil as above.
  var url: String?

  /// - Parameter block: without its length byte. Invalid text is ignored.
  init(_ block: some Sequence<UInt8>) {
    var rest = Self.text(Array(block))[...]
    while let equals = rest.firstRange(of: "='") {
      let name = rest[..<equals.lowerBound].trimmingCharacters(in: .whitespaces).lowercased()
      rest = rest[equals.upperBound...]
      // A quote inside a title is literal: only one before a semicolon ends it.
      let end = rest.firstRange(of: "';")
      var value = rest[..<(end?.lowerBound ?? rest.endIndex)]
      // The last value may lack its semicolon.
      if end == nil, value.last == "'" { value.removeLast() }
      rest = rest[(end?.upperBound ?? rest.endIndex)...]
      switch name {
      case "streamtitle": title = title ?? Self.cleaned(value)
      case "streamurl": url = url ?? Self.cleaned(value)
      default: break
      }
    }
  }

  /// The encoding is unspecified: UTF-8 if valid, else Latin-1, which always is.
  private static func text(_ block: [UInt8]) -> String {
    let bytes = block.prefix { $0 != 0 }
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Returns the text without control characters: it will be shown, on terminals too.
  static func cleaned(_ value: some StringProtocol) -> String {
    let scalars = value.unicodeScalars.map { scalar -> Unicode.Scalar in
      scalar.properties.generalCategory == .control ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
  }
}
